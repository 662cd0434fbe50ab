"""Requests that hardly mean anything, written by hand on sockets, and what a session server may answer them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from json_bodies import bodies

from sluicegate.runtime.serving.errors import CASES

OPENAI: dict[str, Any] = {
    "model": "m", "max_tokens": 2, "temperature": 1.0, "top_p": 1.0, "n": 1, "seed": 3, "stream": False,
    "messages": [{"role": "system", "content": "short"}, {"role": "user", "content": "hello"}],
}  # fmt: skip
ANTHROPIC: dict[str, Any] = {
    "model": "m", "max_tokens": 2, "system": "short", "messages": [{"role": "user", "content": "hello"}],
}  # fmt: skip
GENERATE = {"/v1/chat/completions": OPENAI, "/v1/messages": ANTHROPIC}
SESSION = b"SESSION"
"""Stands for the session of a case."""
MOST_CHOICES = 4
"""What a case may ask for: a call for many answers is no malformed one, and takes its time."""


@dataclass(frozen=True)
class Sent:
    """What goes over a connection, with a pause of so many seconds where it is cut, and how the client ends.

    `end` is `wait` (for all answers), `fin` or `rst` once `answer` bytes of the answer were read.
    """

    data: bytes
    end: str = "wait"
    cut: int = 0
    pause: float = 0.0
    answer: int = 0

    def by(self, session: str) -> Sent:
        """The same in a session, whose name is as long as `SESSION`."""
        assert len(session) == len(SESSION)
        return replace(self, data=self.data.replace(SESSION, session.encode()))


class Strange(AssertionError):
    """An answer that the rules do not have."""


async def talk(port: int, sent: Sent, within: float) -> bytes:
    """What came back. Raises TimeoutError where the server neither answers to an end nor hangs up."""
    async with asyncio.timeout(within):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        got = b""
        try:
            with contextlib.suppress(ConnectionError):
                if sent.cut:
                    writer.write(sent.data[: sent.cut])
                    await writer.drain()
                    await asyncio.sleep(sent.pause)
                writer.write(sent.data[sent.cut :])
                await writer.drain()
                if sent.end == "wait":
                    while piece := await reader.read(65536):
                        got += piece
                else:
                    while len(got) < sent.answer and (piece := await reader.read(sent.answer - len(got))):
                        got += piece
        finally:
            if sent.end == "rst":
                held: socket.socket = writer.get_extra_info("socket")
                with contextlib.suppress(OSError):
                    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    return got


def answers(got: bytes, *, is_all: bool = True) -> list[tuple[int, bytes]]:
    """Status and body of each answer, which may be given so; without `is_all` the last may be cut. Raises Strange."""
    found: list[tuple[int, bytes]] = []
    while got:
        head, ended, rest = got.partition(b"\r\n\r\n")
        if not ended and not is_all:
            break
        if not head.startswith(b"HTTP/1.1 "):
            raise Strange(f"no answer of HTTP: {got[:200]!r}")
        status, fields = int(head[9:12]), head.lower()
        if status == 100:
            got = rest
            continue
        if b"transfer-encoding: chunked" in fields:
            body, got, is_whole = _chunks(rest)
        elif b"\r\ncontent-length: " in fields:
            size = int(fields.partition(b"\r\ncontent-length: ")[2].split(b"\r\n")[0])
            # An answer to HEAD has no body.
            is_head = rest[:9] == b"HTTP/1.1 " or not rest
            body, got = (b"", rest) if is_head else (rest[:size], rest[size:])
            is_whole = is_head or len(body) == size
        else:
            body, got, is_whole = rest, b"", True
        if not is_whole:
            if is_all:
                raise Strange(f"an answer that does not end: {head!r} {body[-200:]!r}")
            break
        judge(status, body)
        found.append((status, body))
    return found


def _chunks(rest: bytes) -> tuple[bytes, bytes, bool]:
    """A body in chunks, what follows it, and whether it has ended."""
    body = b""
    # An answer to HEAD has none.
    if not rest or rest[:9] == b"HTTP/1.1 ":
        return b"", rest, True
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        if not (length := int(size or b"0", 16)):
            return body, rest[2:], rest[:2] == b"\r\n"
        body, rest = body + rest[:length], rest[length + 2 :]
    return body, b"", False


def judge(status: int, body: bytes) -> None:
    """Raises Strange for an answer that is not declared."""
    if status < 400:
        return
    # It ends with the connection, anywhere where that is reset.
    if status == 400 and b"Invalid HTTP request received.".startswith(body):
        return
    if not body and status < 500:
        return
    try:
        error = json.loads(body)["error"]
        code = error.get("code") or error["details"]["error_code"]
        case = CASES[code]
    except (ValueError, LookupError, TypeError, AttributeError) as wrong:
        raise Strange(f"{status} is none of the cases: {body[:300]!r}") from wrong
    if case.status != status or status == 500:
        raise Strange(f"{code} was answered {status}")


# -- strategies --------------------------------------------------------------------------------------

_LATIN = st.binary(max_size=24).map(lambda b: bytes(c for c in b if c not in b"\r\n\0"))
_BYTES = st.one_of(st.binary(max_size=40), st.sampled_from([b"\0", b"\xff" * 30, b"\xc3\x28", b"\xed\xa0\x80", b"\r"]))
METHODS = st.one_of(
    st.sampled_from(
        [b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"PATCH", b"DELETE", b"CONNECT", b"post", b"PRI", b"P\0ST", b""]
    ),
    _LATIN,
)
PLACES = (
    "/v1/sessions", "/v1/sessions/retire", "/v1/sessions/{}", "/v1/sessions/{}/finish", "/v1/sessions/{}/retire",
    "/v1/sessions/{}/take", "/v1/sessions/{}/trace", "/v1/sessions/{}/release", "/v1/consumers/{}/renew",
    "/v1/consumers/{}/lost", "/v1/models", "/v1/responses", "/health", "/v1/sessions/{}/{}", "/{}", "/v1/messages/{}",
)  # fmt: skip
_PLACES = st.sampled_from(PLACES)
IDS = st.one_of(
    st.sampled_from(
        ["%00", "%2F", "..%2f..", ".", "..", "a%0Ab", "%ff%fe", "%ed%a0%80", "%", "%zz", "x" * 4000, "retire", "sg-1",
        "%",
         "sg-1-2-3", "sg-zz-00-ff", "%F0%9F%98%80", "a?b", "a;b=c", "a//b", "*", "%25", "{}", "_" * 129, "sg-", "'--"]
    ),
    st.text("abc:-._%/\\09", max_size=12),
)  # fmt: skip
QUERIES = st.sampled_from(
    ["", "", "", "?limit=0", "?limit=x", "?limit=-1", "?limit=" + "9" * 6000, "?limit=%D9%A1", "?consumer=%00", "?",
     "?state=%ff", "?consumer=" + "x" * 3000, "?limit=1&limit=2", "?limit=1e3", "?state=BOUND&state=", "?&&=&=a"]
)  # fmt: skip
TARGETS = st.one_of(
    st.builds(lambda place, name, query: f"{place.replace('{}', name)}{query}".encode(), _PLACES, IDS, QUERIES),
    st.sampled_from(
        [b"*", b"http://x/v1/models", b"//v1/models", b"/v1/chat/completions/", b"/v1/chat/completions%0A", b"/",
        b"x", b"",
         b"/v1/../v1/models", b"/v1/chat%2Fcompletions", b"\xff", b"/" + b"a" * 70_000, b"/?" + b"a=1&" * 9000, b"[",
         b"host:1"]
    ),
)  # fmt: skip
HEADERS = st.one_of(
    st.sampled_from(
        [
            [b"X-Session-ID: other"], [b"X-Session-ID: "], [b"X-Session-ID: a b"], [b"X-Session-ID: \xff\xfe"],
            [b"X-Session-ID: " + b"x" * 129], [b"X-Session-ID: sg-1-2-3"], [b"X-Session-ID: a,b"],
            [b"X-Session-ID: ../a"],
            [b"x-stainless-retry-count: -1"], [b"x-stainless-retry-count: \xb2"], [b"x-stainless-retry-count: 1"],
            [b"x-stainless-retry-count: " + b"9" * 5000], [b"x-stainless-retry-count: 1e9"],
            [b"idempotency-key: " + b"k" * 10_000], [b"idempotency-key: \xe9\xff"], [b"idempotency-key: same"],
            [b"idempotency-key: a", b"idempotency-key: b"], [b"x-task-id: " + b"t" * 9000], [b"x-task-id: \xff\x01"],
            [b"content-type: text/plain"], [b"content-type: application/x-www-form-urlencoded"],
            [b"content-type: \xff"],
            [b"content-type: multipart/form-data; boundary=" + b"-" * 300], [b"content-encoding: gzip"],
            [b"host: ["], [b"host: [::1"], [b"host: a b:c:d"], [b"host: \xff"], [b"host: x:99999999999"], [b"host: y"],
            [b"expect: 100-continue"], [b"expect: everything"], [b"upgrade: websocket", b"connection: upgrade"],
            [b"upgrade: h2c", b"connection: Upgrade, HTTP2-Settings", b"http2-settings: AAMAAABkAAQCAAAAAAIAAAAA"],
            [b"connection: keep-alive, close"], [b"te: trailers"], [b"trailer: x"], [b"range: bytes=0-1"],
            [b"authorization: Bearer"], [b"authorization: \xff\xfe"], [b"authorization: Basic Og=="],
            [b"x-sluicegate-forwarded: x"], [b"x-http-method-override: DELETE"], [b"accept: nothing/*;q=9"],
            [b"a: " + b"b" * 65_000], [b"a: " + b"b" * 200_000], [b"h%d: v" % i for i in range(3000)],
            [b"a" * 60_000 + b": b"], [b": nameless"], [b"no colon"], [b"a : b"], [b" folded"], [b"a: b\0c"],
            [b"transfer-encoding: gzip"], [b"transfer-encoding: chunked, chunked"], [b"content-length: 5, 5"],
        ]
    ),
    st.lists(st.builds(lambda n, v: n + b": " + v, _LATIN, _LATIN), max_size=3),
)  # fmt: skip
_WHOLE_NUMBERS = st.sampled_from(
    [b"-1", b"+5", b"0x10", b"", b" ", b"5 5", b"\xb2", b"1e3", b"9" * 30, b"9" * 5000, b"0" * 30 + b"5"]
)
_BAD_CHUNKS = st.sampled_from(
    [b"zz\r\n", b"-5\r\n", b"f" * 24 + b"\r\n", b"5;" + b"x" * 70_000, b"5\r\nab", b"\r\n", b"5 \r\n12345\r\n"]
)
_MANY = json.dumps([f"n{i}" for i in range(900)]).encode()
_RAW = st.one_of(
    _BYTES,
    st.sampled_from(
        [b"[" * 100_000, b'{"a":' * 3000 + b"1" + b"}" * 3000, b"{}", b"[]", b"null", b"1" * 5000,
        b'{"max_tokens":1e999}',
         b'{"max_tokens":' + b"9" * 5000 + b"}", b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1,"a":2}', b'"\\ud800"',
         b"\xef\xbb\xbf{}",
         b'{"messages":[{"role":"user","content":"\\ud800"}]}', b'{"\xff":1}', b" " * 70_000,
         b"{" + b'"a":0,' * 9000 + b'"b":0}',
         b'{"consumer":"\\u0000"}', b'{"consumer":""}', b'{"consumer":7}', b'{"ids":["sg-1-2-3"]}',
         b'{"ids":["\\u0000","' +
         b"x" * 256 + b'"]}', b'{"ids":[]}', b'{"ids":' + _MANY + b"}",
         b'{"policy":"always"}', b'{"task":"\\u0000"}', b'{"ids":["a","a"]}', b'{"consumer":"c"}', b'{"ids":null}']
    ),
)  # fmt: skip


def _bounded(body: bytes) -> bool:
    try:
        held = json.loads(body)
        return held.get("n") is None or not isinstance(held["n"], int) or held["n"] <= MOST_CHOICES
    except (ValueError, AttributeError, RecursionError):
        return True


def good(path: str, **changes: Any) -> bytes:
    return json.dumps({**GENERATE[path], **changes}).encode()


@st.composite
def generation_bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """A path of a generation call, and a body that is almost one, or none at all."""
    path = draw(st.sampled_from(sorted(GENERATE)))
    tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}]
    whole = GENERATE[path] | ({"tools": tools, "stop": ["x"], "logprobs": True} if path.endswith("completions") else {})
    almost = bodies(whole | {"stream": draw(st.booleans())}).filter(_bounded)
    return path, draw(st.one_of(almost, almost, _RAW))


def lines(*given: bytes) -> bytes:
    return b"\r\n".join([*given, b"", b""])


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@st.composite
def _framed(draw: st.DrawFn, body: bytes) -> tuple[list[bytes], bytes]:
    """Headers that say how long a body is, and the body as it is sent; more or less wrong."""
    match draw(st.sampled_from(["length"] * 3 + ["chunks", "short", "long", "odd", "both", "none", "bad chunk"])):
        case "length":
            return [b"content-length: %d" % len(body)], body
        case "chunks":
            return [b"transfer-encoding: chunked"], chunked(body, draw(st.sampled_from([7, 100_000])))
        case "short":
            return [b"content-length: %d" % max(0, len(body) - draw(st.integers(1, 20)))], body
        case "long":
            return [b"content-length: %d" % (len(body) + draw(st.sampled_from([1, 1000, 17 * 2**20, 10**15])))], body
        case "odd":
            return [b"content-length: " + draw(_WHOLE_NUMBERS)], body
        case "both":
            return [b"content-length: %d" % len(body), b"transfer-encoding: chunked"], chunked(body, 50)
        case "none":
            return [], body
        case _:
            return [b"transfer-encoding: chunked"], draw(_BAD_CHUNKS) + body


@st.composite
def wild(draw: st.DrawFn) -> Sent:
    """What is sent for a case."""
    if draw(st.booleans()):
        path, body = draw(generation_bodies())
        target, method = path.encode(), b"POST"
        if draw(st.integers(0, 2)) == 0:
            body = good(path, stream=draw(st.booleans()))
        if draw(st.integers(0, 9)) == 0:
            method = draw(METHODS)
    else:
        target, method = draw(TARGETS), draw(st.one_of(st.sampled_from([b"GET", b"POST", b"POST", b"DELETE"]), METHODS))
        body = draw(st.one_of(st.just(b""), _RAW))
    framing, data = draw(_framed(body))
    version = draw(st.sampled_from([b"HTTP/1.1"] * 8 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9", b"http/1.1", b""]))
    named = b"X-Session-ID: " + SESSION
    own = draw(st.sampled_from([[named]] * 4 + [[], [named, named]]))
    more = draw(HEADERS) if draw(st.booleans()) else []
    closes = [] if draw(st.integers(0, 19)) == 0 else [b"connection: close"]
    request = lines(b" ".join([method, target, version]), b"host: x", *own, *framing, *more, *closes) + data
    if draw(st.integers(0, 5)) == 0:
        # The next request comes before the first is answered.
        health = lines(b"GET /health HTTP/1.1", b"host: x", b"connection: close")
        request += draw(st.sampled_from([request, health, b"\0" * 50]))
    if draw(st.integers(0, 15)) == 0:
        request = draw(st.binary(max_size=200)) + request[draw(st.integers(0, 60)) :]
    if draw(st.integers(0, 3)) == 0:
        # Cut off anywhere.
        request = request[: draw(st.integers(0, len(request)))]
    end = draw(st.sampled_from(["wait"] * 6 + ["fin", "rst"]))
    cut = draw(st.integers(0, min(len(request), 600)))
    return Sent(request, end, cut, draw(st.sampled_from([0.0, 0.0, 0.01])), draw(st.integers(0, 900)))


@st.composite
def plain(draw: st.DrawFn) -> tuple[str, str, bytes, list[tuple[bytes, bytes]]]:
    """A request as a client of HTTP sends it: method, target, body and headers besides that of the session."""
    if draw(st.booleans()):
        path, body = draw(generation_bodies())
        method = "POST"
    else:
        place, query = draw(st.sampled_from(PLACES)), draw(QUERIES)
        path = place.replace("{}", draw(IDS).replace("#", "")) + query
        method, body = draw(st.sampled_from(["GET", "POST", "DELETE", "HEAD", "OPTIONS"])), draw(_RAW)
    keys = draw(st.sampled_from([[], [], [b"a"], [b"a", b"a"], [b"\xff"], [b"k" * 10_000]]))
    retry = draw(st.sampled_from([[], [], [b"1"], [b"-1"], [b"\xb2"], [b"1" * 5000]]))
    headers = [(b"idempotency-key", k) for k in keys] + [(b"x-stainless-retry-count", r) for r in retry]
    return method, path, body, headers
