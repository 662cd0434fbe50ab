"""A session server under calls that mean nothing, are cut anywhere or come too slowly: what it answers is declared,
nothing of what it refuses reaches a replica, and nothing of it stays.

One server answers all cases; at the end its logs are judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from wild_http import GENERATE, SESSION, Sent, Strange, answers, good, judge, lines, plain, talk, wild

from sluicegate.protocol.sqlite import open_store
from sluicegate.protocol.store import Durability
from sluicegate.runtime.workers.records import LeaseStore

from ..support.serving_kit import Chat, chatting, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]
READ_S, GRACE_S, BOUND_S = 0.4, 0.1, 40.0
CASES = 100
EVERYWHERE = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
    "phases": [Phase.generate],
}


class Live:
    """The server, and what has been asked of it."""

    def __init__(self, chat: Chat, http: httpx.AsyncClient) -> None:
        self.chat, self.http = chat, http
        self.cases = 0
        self.refused = set[str]()
        """Sessions of the cases of which everything was refused."""
        self.met = Counter[int]()
        """Answers, by status."""
        self.idle: Counter[str] | None = None
        """The tasks of a server that nobody calls."""
        self._begun, self._told = time.monotonic(), 0

    @property
    def port(self) -> int:
        return urlsplit(self.chat.url).port or 0

    def session(self) -> str:
        self.cases += 1
        return f"c{self.cases:06d}"

    def tell(self) -> None:
        """Print how far it is, each 500 cases."""
        if self.cases // 500 > self._told:
            self._told = self.cases // 500
            met = dict(sorted(self.met.items()))
            print(f"{self.cases} cases, {time.monotonic() - self._begun:.0f} s: {met}", flush=True)

    async def hold(self, sent: Sent) -> list[tuple[int, bytes]]:
        """What a case was answered, which is what may be answered."""
        session = self.session()
        try:
            got = await talk(self.port, sent.by(session), BOUND_S)
        except TimeoutError:
            raise Strange(f"neither answered nor hung up on: {sent}") from None
        found = answers(got, is_all=sent.end == "wait")
        self.note(session, [status for status, _ in found] if sent.end == "wait" else [])
        return found

    def note(self, session: str, statuses: list[int]) -> None:
        self.met.update(statuses)
        if statuses and all(400 <= status < 500 for status in statuses):
            self.refused.add(session)

    def leases(self) -> set[str]:
        """All that were ever admitted."""
        store = open_store(self.chat.folder / "state-rollout-0" / "leases.sqlite", Durability.STRICT)
        try:
            return set(store.keys("leases"))
        finally:
            store.close()

    async def settled(self) -> None:
        """Return once nothing runs and nothing is left of what was asked."""

        async def is_quiet() -> bool:
            if (await self.http.get("/health")).json()["calls"]:
                return False
            for state in ("TURN", "BINDING", "RETIRING"):
                if (await self.http.get("/v1/sessions", params={"state": state})).json()["data"]:
                    return False
            if self.idle is not None and tasks() - self.idle:
                return False
            store = LeaseStore(self.chat.folder / "state-rollout-0" / "leases.sqlite")
            try:
                return not store.open_leases()
            finally:
                store.close()

        await until(is_quiet, BOUND_S)
        admitted = {lease.rpartition(".")[0] for lease in self.leases()}
        assert not admitted & self.refused
        answer = await self.http.post(
            "/v1/chat/completions", json=GENERATE["/v1/chat/completions"], headers={"x-session-id": self.session()}
        )
        assert answer.status_code == 200, answer.text


def tasks() -> Counter[str]:
    """What runs here besides the tests, by name."""
    found: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
    own = {"pytest_asyncio", "tests"}
    return Counter(c.__qualname__ for c in found if own.isdisjoint(c.cr_code.co_filename.split("/")))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    """One server for all; a task of its own holds it, since a fixture ends in another task than it began in."""
    folder = tmp_path_factory.mktemp("malformed")
    ready: asyncio.Future[Live] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with chatting(folder) as chat:
            http = {"read": READ_S, "grace": GRACE_S}
            # Connections that are kept idle are hung up on after `READ_S`: here none is used again.
            none_kept = httpx.Limits(max_keepalive_connections=0)
            async with (
                chat.server(http=http),
                httpx.AsyncClient(base_url=chat.url, timeout=60, limits=none_kept) as client,
            ):
                live = Live(chat, client)
                await live.settled()
                live.idle = tasks()
                ready.set_result(live)
                await over.wait()
        verdict = chat.judged()
        assert verdict.valid, verdict.refusal

    held = asyncio.create_task(hold())
    await asyncio.wait((held, ready), return_when=asyncio.FIRST_COMPLETED)
    if held.done():
        await held
    yield await ready
    over.set()
    await held


@pytest_asyncio.fixture(loop_scope="module")
async def live(shared: Live, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Live]:
    """The server; after each test nothing of it is left, and the server answers."""
    yield shared
    await shared.settled()
    failed = [r for r in caplog.records if r.exc_info or "exception" in r.getMessage().lower()]
    assert not failed, failed[0].getMessage()


async def hold_plain(live: Live, request: tuple[str, str, bytes, list[tuple[bytes, bytes]]]) -> None:
    """One request of a client of HTTP, and its answer."""
    method, path, body, headers = request
    session = live.session()
    url = live.http.base_url.copy_with(raw_path=path.encode())
    asked = live.http.build_request(
        method, url, content=body, headers=[(b"x-session-id", session.encode()), *headers]
    )
    answer = await live.http.send(asked)
    judge(answer.status_code, answer.content if method != "HEAD" else b"")
    live.note(session, [answer.status_code])


@settings(max_examples=CASES, derandomize=True, **EVERYWHERE)
@given(sent=wild())
async def test_whatever_is_written_on_a_connection_is_answered_as_declared_or_hung_up_on(
    live: Live, sent: Sent
) -> None:
    await live.hold(sent)


@settings(max_examples=CASES, derandomize=True, **EVERYWHERE)
@given(request=plain())
async def test_whatever_a_client_asks_is_answered_as_declared(live: Live, request: Any) -> None:
    await hold_plain(live, request)


@pytest.mark.parametrize("end", ["fin", "rst"])
@pytest.mark.parametrize("path", GENERATE)
async def test_a_call_cut_at_any_byte_reaches_no_replica(live: Live, path: str, end: str) -> None:
    whole = call(path, stream=True)
    before = live.leases()
    # The last byte makes it a call.
    for upto in range(len(whole)):
        await live.hold(Sent(whole[:upto], end))
    await live.settled()
    assert len(live.leases() - before) == 1, "that of the call which looks whether the server answers"


@pytest.mark.parametrize("end", ["fin", "rst"])
@pytest.mark.parametrize("path", GENERATE)
async def test_who_leaves_in_an_answer_leaves_nothing_behind(live: Live, path: str, end: str) -> None:
    whole = await talk(live.port, Sent(call(path, stream=True)).by(live.session()), BOUND_S)
    for upto in range(0, len(whole), max(1, len(whole) // 12)):
        await live.hold(Sent(call(path, stream=True), end, answer=upto))


async def test_who_says_nothing_whole_is_hung_up_on(live: Live) -> None:
    whole = call("/v1/messages")
    kept = whole.replace(b"connection: close\r\n", b"")
    sends = (b"", b"\r\n", b"P", whole[:30], whole[:-1], kept, kept + b"P", kept + whole[:30])
    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        silent = [group.create_task(live.hold(Sent(data))) for data in sends]
    assert time.monotonic() - begun >= READ_S
    met = [[status for status, _ in each.result()] for each in silent]
    assert met == [[], [400], [], [], [408], [200], [200], [200]]


async def test_a_body_that_comes_byte_by_byte_is_given_up_in_time(live: Live) -> None:
    session, whole = live.session(), call("/v1/messages")
    head, body = whole[: whole.index(b"\r\n\r\n") + 4], whole[whole.index(b"\r\n\r\n") + 4 :]
    reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
    writer.write(head.replace(SESSION, session.encode()))
    drips = asyncio.create_task(_drip(writer, body))
    got = b""
    # What still comes after the answer is hung up on, with a reset.
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(BOUND_S):
            while piece := await reader.read(4096):
                got += piece
    drips.cancel()
    await asyncio.gather(drips, return_exceptions=True)
    writer.close()
    found = answers(got)
    assert [status for status, _ in found] == [408]
    live.note(session, [408])


async def _drip(writer: asyncio.StreamWriter, body: bytes) -> None:
    for byte in body:
        if writer.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(READ_S / 20)


async def test_a_body_that_says_it_is_too_large_is_not_waited_for(live: Live) -> None:
    head = call("/v1/messages").partition(b"\r\n\r\n")[0].splitlines()
    head = [line for line in head if not line.startswith(b"content-length")]
    (found,) = await live.hold(Sent(lines(*head, b"content-length: 99999999999")))
    assert found[0] == 413


async def test_who_goes_on_slowly_with_what_was_answered_is_hung_up_on(live: Live) -> None:
    head = lines(b"POST /nowhere HTTP/1.1", b"host: x", b"content-length: 1000")
    (found,) = await live.hold(Sent(head + b"{", cut=len(head), pause=READ_S / 4))
    assert found[0] == 404


async def test_calls_that_follow_each_other_on_one_connection_are_answered_in_order(live: Live) -> None:
    kept = call("/v1/messages").replace(b"connection: close\r\n", b"")
    bad = kept.replace(b'"m"', b"'m'")
    found = await live.hold(Sent(kept + bad + kept + bad + call("/v1/messages")))
    assert [status for status, _ in found] == [200, 400, 200, 400, 200]


async def test_what_is_not_named_is_not_there_and_what_a_path_takes_is_told(live: Live) -> None:
    for path in ("/v1/models/", "/v1/sessions/", "//v1/models", "/v1/messages/", "/generate", "/update_weights"):
        url = live.http.base_url.copy_with(raw_path=path.encode())
        answer = await live.http.get(url, headers={"host": "elsewhere"})
        assert answer.status_code == 404, path
        judge(404, answer.content)
    for method, path, takes in (("PUT", "/v1/sessions", "GET, HEAD, POST"), ("GET", "/v1/messages", "POST")):
        answer = await live.http.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, takes)


@pytest.mark.parametrize("name", ["x-session-id", "idempotency-key", "authorization", "x-api-key", "x-task-id"])
async def test_a_header_with_two_values_is_refused(live: Live, name: str) -> None:
    answer = await live.http.post(
        "/v1/messages", json=GENERATE["/v1/messages"],
        headers=[("x-session-id", live.session()), (name, "one"), (name, "two")],
    )  # fmt: skip
    assert (answer.status_code, answer.json()["error"]["details"]) == (400, {"error_code": "malformed"})


async def test_a_key_of_another_body_is_refused_and_one_that_is_too_long(live: Live) -> None:
    body, headers = GENERATE["/v1/messages"], {"x-session-id": live.session(), "idempotency-key": "k"}
    first = await live.http.post("/v1/messages", json=body, headers=headers)
    again = await live.http.post("/v1/messages", json=body, headers=headers)
    assert first.json() == again.json()
    for changes in ({"idempotency-key": "k"}, {"idempotency-key": "k" * 10_000}):
        answer = await live.http.post("/v1/messages", json=body | {"max_tokens": 3}, headers=headers | changes)
        assert answer.status_code == 400, answer.text
        assert "Idempotency-Key" in answer.text


@pytest.mark.parametrize("path", GENERATE)
async def test_a_server_without_grace_ends_calls_that_nobody_hears_and_no_others(live: Live, path: str) -> None:
    async with live.chat.server("hasty", http={"grace": 0.0}), live.chat.http("hasty") as http:
        body, headers = GENERATE[path] | {"stream": True}, {"x-session-id": f"hasty-{path[4]}"}
        for _ in range(3):
            answer = await http.post(path, json=body, headers=headers)
            assert answer.status_code == 200
            assert "given_up" not in answer.text


async def test_ids_of_any_kind_are_retired_or_named(live: Live) -> None:
    ids = ["sg-1-2-3", "\0", "/", "é", "x" * 256, "never"]
    answer = await live.http.post("/v1/sessions/retire", json={"ids": ids})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"retired": 0, "refused": {"sg-1-2-3": "malformed", **dict.fromkeys(ids[1:], "unknown")}}


# Of the cases of a batch each waits for its own answer.
BATCH = 10


@pytest.mark.soak
@pytest.mark.timeout(3000)
@settings(max_examples=250, **EVERYWHERE)
@given(batch=st.lists(wild(), min_size=BATCH, max_size=BATCH))
async def test_thousands_of_cases_on_connections(live: Live, batch: list[Sent]) -> None:
    await asyncio.gather(*map(live.hold, batch))
    live.tell()


@pytest.mark.soak
@pytest.mark.timeout(3000)
@settings(max_examples=250, **EVERYWHERE)
@given(batch=st.lists(plain(), min_size=BATCH, max_size=BATCH))
async def test_thousands_of_cases_of_a_client(live: Live, batch: list[Any]) -> None:
    await asyncio.gather(*(hold_plain(live, request) for request in batch))
    live.tell()


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("path", GENERATE)
async def test_an_answer_cut_at_every_byte(live: Live, path: str) -> None:
    whole = await talk(live.port, Sent(call(path, stream=True)).by(live.session()), BOUND_S)
    for upto in range(0, len(whole), BATCH):
        ends = [(("fin", "rst")[at % 2], at) for at in range(upto, min(upto + BATCH, len(whole)))]
        await asyncio.gather(*(live.hold(Sent(call(path, stream=True), end, answer=at)) for end, at in ends))
        live.tell()


def call(path: str, **changes: Any) -> bytes:
    """A whole call, after which the connection is closed."""
    body = good(path, **changes)
    return lines(
        f"POST {path} HTTP/1.1".encode(), b"host: x", b"X-Session-ID: " + SESSION,
        b"content-length: %d" % len(body), b"connection: close",
    ) + body  # fmt: skip
