"""Who may do what at a session server: tokens with roles and rates, whose a session is, TLS, and where it listens."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from certificates import Authority

from sluicegate.protocol.server import ServerError
from sluicegate.protocol.sqlite import open_store
from sluicegate.protocol.store import Durability
from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.serving.process import require_listening, serving

from ..support.serving_kit import Chat, chatting, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LOOP = pytest.mark.asyncio(loop_scope="module")
ALICE, BOB, RULER, BOTH = (f"{name}-" + "5" * 24 for name in ("alice", "bob", "ruler", "both"))
TOKENS = f"alice data {ALICE}\nbob data {BOB}\nruler control {RULER}\nboth data,control {BOTH}\n"
BODY = {"model": "m", "max_tokens": 2, "messages": [{"role": "user", "content": "hello"}]}
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chat]:
    """One replica for all servers; a task of its own holds it: a fixture ends in another task than it began in."""
    ready: asyncio.Future[Chat] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with chatting(tmp_path_factory.mktemp("access")) as made:
            ready.set_result(made)
            await over.wait()
        verdict = made.judged()
        assert verdict.valid, verdict.refusal

    held = asyncio.create_task(hold())
    await asyncio.wait((held, ready), return_when=asyncio.FIRST_COMPLETED)
    if held.done():
        await held
    yield await ready
    over.set()
    await held


class Guarded:
    """A server that knows its callers by tokens."""

    def __init__(self, http: httpx.AsyncClient, tokens: Path) -> None:
        self.http, self.tokens = http, tokens

    async def __call__(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        who = {"authorization": f"Bearer {token}"} if token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.request(method, path, json=body, headers={**who, **named})

    async def says(self, token: str, session: str, path: str = CHAT) -> httpx.Response:
        """One turn of a session."""
        return await self(token, "POST", path, BODY, x_session_id=session)


@asynccontextmanager
async def guarded(chat: Chat, folder: Path, **http: Any) -> AsyncIterator[Guarded]:
    """A server of the folder's name."""
    tokens, name = folder / "tokens", folder.name.replace("_", "-")
    tokens.write_text(TOKENS)
    async with chat.server(name, http={"tokens": str(tokens), **http}), chat.http(name) as client:
        yield Guarded(client, tokens)


def leases(chat: Chat) -> set[str]:
    store = open_store(chat.folder / "state-rollout-0" / "leases.sqlite", Durability.STRICT)
    try:
        return set(store.keys("leases"))
    finally:
        store.close()


def code(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    return error.get("code") or error["details"]["error_code"]


# -- tokens and roles --------------------------------------------------------------------------------


@LOOP
async def test_who_has_no_token_of_the_server_may_only_see_how_it_stands(chat: Chat, tmp_path: Path) -> None:
    before = leases(chat)
    async with guarded(chat, tmp_path) as call:
        for token in ("", "nobody-" + "5" * 24, ALICE[:-1], ALICE + "5", ALICE.upper(), "é" * 20):
            for method, path in ENDPOINTS:
                headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
                answer = await call.http.request(method, path.format("s"), json=BODY, headers=headers)
                assert (answer.status_code, code(answer)) == (401, "unauthenticated"), (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
                assert ALICE not in answer.text
        assert (await call("", "GET", "/health")).status_code == 200
        answer = await call.http.post(CHAT, json=BODY, headers={"x-api-key": ALICE, "x-session-id": "by-key"})
        assert answer.status_code == 200
    assert {lease.partition(".")[0] for lease in leases(chat) - before} == {"by-key"}


ENDPOINTS = [
    ("POST", CHAT), ("POST", MESSAGES), ("GET", "/v1/models"), ("POST", "/v1/sessions"), ("GET", "/v1/sessions"),
    ("POST", "/v1/sessions/retire"), ("GET", "/v1/sessions/{}"), ("DELETE", "/v1/sessions/{}"),
    ("POST", "/v1/sessions/{}/finish"), ("POST", "/v1/sessions/{}/retire"), ("POST", "/v1/sessions/{}/take"),
    ("GET", "/v1/sessions/{}/trace"), ("POST", "/v1/sessions/{}/release"), ("POST", "/v1/consumers/{}/renew"),
    ("POST", "/v1/consumers/{}/lost"),
]  # fmt: skip
"""All that need a token."""
TRAINER = [end for end in ENDPOINTS if end[1].rpartition("/")[2] in ("take", "trace", "release", "renew", "lost")]
AGENT = [("POST", CHAT), ("POST", MESSAGES), ("POST", "/v1/sessions")]


@LOOP
async def test_each_role_has_its_endpoints(chat: Chat, tmp_path: Path) -> None:
    async with guarded(chat, tmp_path) as call:
        for token, closed in ((ALICE, TRAINER), (RULER, AGENT), (BOTH, [])):
            named = f"roles-{token[:5]}"
            for method, path in ENDPOINTS:
                answer = await call(token, method, path.format("x"), BODY | {"consumer": "c"}, x_session_id=named)
                is_forbidden = answer.status_code == 403 and code(answer) == "forbidden"
                assert is_forbidden == ((method, path) in closed), (token[:5], method, path, answer.text)
                # Whoever is let in meets a session that was never begun, a body of something else, or an answer.
                assert is_forbidden or answer.status_code in (200, 201, 400, 404), (method, path, answer.text)


@LOOP
async def test_an_agent_reads_and_changes_its_own_sessions_alone(chat: Chat, tmp_path: Path) -> None:
    async with guarded(chat, tmp_path) as call:
        first = await call.says(ALICE, "hers")
        assert first.status_code == 200
        before = leases(chat)
        for method, path in (e for e in ENDPOINTS if "{}" in e[1] and "consumers" not in e[1]):
            answer = await call(BOB, method, path.format("hers"), {"consumer": "c"})
            assert (answer.status_code, code(answer)) == (403, "forbidden"), (method, path)
            assert "alice" not in answer.text
        for path in (CHAT, MESSAGES):
            answer = await call.says(BOB, "hers", path)
            assert (answer.status_code, code(answer)) == (403, "forbidden")
        # Nor is a repeat of her call told to him.
        answer = await call(BOB, "POST", CHAT, BODY, x_session_id="hers", x_stainless_retry_count="1")
        assert answer.status_code == 403
        answer = await call(BOB, "POST", "/v1/sessions/retire", {"ids": ["hers", "hers"]})
        assert answer.json() == {"retired": 0, "refused": {"hers": "not_yours"}}
        assert [s["id"] for s in (await call(BOB, "GET", "/v1/sessions")).json()["data"]] == []
        assert [s["id"] for s in (await call(ALICE, "GET", "/v1/sessions")).json()["data"]] == ["hers"]
        assert "hers" in [s["id"] for s in (await call(RULER, "GET", "/v1/sessions")).json()["data"]]
        shown = (await call(ALICE, "GET", "/v1/sessions/hers")).json()
        assert (shown["state"], shown["generations"]) == ("BOUND", 1)
        assert leases(chat) == before
        # Who rules acts on any: also on the agent's behalf.
        assert (await call(BOTH, "POST", CHAT, BODY, x_session_id="hers")).status_code == 200
        assert (await call(ALICE, "POST", "/v1/sessions/hers/finish")).status_code == 200
        assert (await call(RULER, "POST", "/v1/sessions/hers/take", {"consumer": "t.1"})).status_code == 200
        assert (await call(RULER, "GET", "/v1/sessions/hers/trace?consumer=t.1")).status_code == 200
        assert (await call(ALICE, "DELETE", "/v1/sessions/hers")).status_code == 409
        assert (await call(RULER, "POST", "/v1/sessions/hers/release", {"consumer": "t.1"})).status_code == 200
        assert (await call.says(ALICE, "hers")).status_code == 410
        assert (await call.says(BOB, "hers")).status_code == 410


@LOOP
async def test_whose_a_session_is_outlives_the_server(chat: Chat, tmp_path: Path) -> None:
    async with guarded(chat, tmp_path) as call:
        issued = (await call(ALICE, "POST", "/v1/sessions", {"task": "t"})).json()["id"]
        assert (await call.says(ALICE, "kept")).status_code == 200
    async with guarded(chat, tmp_path) as call:
        for session in ("kept", issued):
            assert (await call.says(BOB, session)).status_code == 403
            assert (await call.says(ALICE, session)).status_code == 200


@LOOP
async def test_tokens_are_read_again_when_their_file_changes(chat: Chat, tmp_path: Path) -> None:
    new = "carol-" + "6" * 24
    async with guarded(chat, tmp_path) as call:
        assert (await call(new, "GET", "/v1/models")).status_code == 401
        call.tokens.write_text(f"{TOKENS}carol data {new}\n".replace(f"bob data {BOB}\n", ""))
        assert (await call(new, "GET", "/v1/models")).status_code == 200
        assert (await call(BOB, "GET", "/v1/models")).status_code == 401
        # A file that cannot be used changes nothing.
        call.tokens.write_text("what is this")
        assert (await call(new, "GET", "/v1/models")).status_code == 200
        call.tokens.unlink()
        assert (await call(new, "GET", "/v1/models")).status_code == 200
        call.tokens.write_text(TOKENS)
        assert (await call(new, "GET", "/v1/models")).status_code == 401


# -- how much ----------------------------------------------------------------------------------------


@LOOP
async def test_a_token_that_calls_too_often_is_told_when_to_come_again(chat: Chat, tmp_path: Path) -> None:
    async with guarded(chat, tmp_path, rate=0.01, burst=2) as call:
        # What is refused counts too; looking does not.
        assert (await call(ALICE, "POST", CHAT, {"messages": 1}, x_session_id="often")).status_code == 400
        assert (await call.says(ALICE, "often")).status_code == 200
        before = leases(chat)
        for path in (CHAT, MESSAGES):
            answer = await call.says(ALICE, "often", path)
            assert (answer.status_code, code(answer)) == (429, "rate_limited")
            assert 1 < int(answer.headers["retry-after"]) <= 100
            assert answer.headers.get("x-should-retry") != "false"
        assert leases(chat) == before
        assert (await call(ALICE, "GET", "/v1/sessions/often")).status_code == 200
        assert (await call.says(BOB, "not-often")).status_code == 200
    async with guarded(chat, tmp_path, rate=20, burst=1) as call:

        async def is_let_in() -> bool:
            return (await call.says(ALICE, "often")).status_code == 200

        await until(is_let_in)
        await until(is_let_in)


@LOOP
async def test_a_token_has_as_many_sessions_as_it_may(chat: Chat, tmp_path: Path) -> None:
    async with guarded(chat, tmp_path, sessions_per_token=2) as call:
        for session in ("few-1", "few-2"):
            assert (await call.says(ALICE, session)).status_code == 200
        for answer in (await call.says(ALICE, "few-3"), await call(ALICE, "POST", "/v1/sessions", {"task": "t"})):
            assert (answer.status_code, code(answer)) == (503, "too_many_sessions")
            assert int(answer.headers["retry-after"]) >= 1
        assert (await call.says(ALICE, "few-1")).status_code == 200
        assert (await call.says(BOB, "few-3")).status_code == 200
        assert (await call(ALICE, "DELETE", "/v1/sessions/few-1")).status_code == 200

        async def is_let_in() -> bool:
            return (await call.says(ALICE, "few-4")).status_code == 200

        await until(is_let_in)


# -- TLS ---------------------------------------------------------------------------------------------


@LOOP
async def test_calls_go_over_tls_also_to_the_server_that_has_the_session(chat: Chat, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "secrets")
    pair, tokens = authority.issue("server"), tmp_path / "tokens"
    tokens.write_text(TOKENS)
    http: dict[str, Any] = {"certificate": pair.certificate, "key": pair.key, "tokens": str(tokens)}
    knows, headers = ssl.create_default_context(cafile=authority.path), {"authorization": f"Bearer {ALICE}"}
    async with chat.server("tls-0", http=dict(http)) as url, chat.server("tls-1", http=dict(http)) as other:
        assert url.startswith("https://")
        async with httpx.AsyncClient(verify=knows, headers=headers, timeout=60) as client:
            client.headers["x-session-id"] = "tls"
            assert (await client.post(f"{url}{CHAT}", json=BODY)).status_code == 200
            answer = await client.post(f"{other}{CHAT}", json=BODY)
            assert answer.status_code == 200, answer.text
            assert (await client.get(f"{other}/v1/sessions/tls")).json()["generations"] == 2
        async with httpx.AsyncClient(timeout=60) as stranger:
            with pytest.raises(httpx.ConnectError):
                await stranger.get(f"{url}/health")
            with pytest.raises(httpx.RemoteProtocolError):
                await stranger.get(f"{url.replace('https', 'http')}/health")


# -- what cannot begin -------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", ""])
def test_a_server_that_others_reach_knows_who_calls_or_is_told_in_words(address: str) -> None:
    bare = HttpSettings(address=address)
    for given in (bare, replace(bare, tokens="t"), replace(bare, certificate="c", key="k")):
        with pytest.raises(ServerError, match="i_accept_plaintext_beyond_loopback"):
            require_listening(given)
    require_listening(replace(bare, certificate="c", key="k", tokens="t"))
    require_listening(HttpSettings(address=address, i_accept_plaintext_beyond_loopback=True))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.8.0.1"])
def test_a_server_on_loopback_needs_no_tokens(address: str) -> None:
    require_listening(HttpSettings(address=address))


@LOOP
async def test_a_name_that_a_living_server_has_is_refused_and_that_one_goes_on(chat: Chat) -> None:
    async with chat.server("taken"), chat.http("taken") as http:
        with pytest.raises(Exception, match=f"taken.*{os.getpid()}"):
            async with serving(chat.config("taken")):
                pass
        assert (await http.post(CHAT, json=BODY, headers={"x-session-id": "taken"})).status_code == 200


FORKS = """
import json, os, sys
from sluicegate.cli import main
import sluicegate.runtime.serving.process, sluicegate.runtime.workers.main
from transformers import AutoTokenizer, PreTrainedTokenizerFast
for path in sys.argv[1:]:
    if not (child := os.fork()):
        os.dup2(os.open(path + ".err", os.O_CREAT | os.O_WRONLY), 2)
        os.dup2(os.open(path + ".out", os.O_CREAT | os.O_WRONLY), 1)
        os._exit(main(["worker", "sessions", path]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Gives the command each config in a process of its own, which has imported already."""


@LOOP
async def test_a_config_that_cannot_be_used_is_told_in_one_line_and_with_status_2(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "hooked.py").write_text("class Half:\n    async def before(self, *given): ...\n")
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in chat.weights.model.iterdir():
        if file.is_file() and file.name != "config.json":
            (bare / file.name).write_bytes(file.read_bytes())
    bad = {
        "model": ({"model": str(tmp_path / "empty")}, "tokenizer.json"),
        "context": ({"model": str(bare)}, "context:"),
        "negative": ({"context": -1}, "context is at least 0"),
        "no-module": ({"hooks": "nowhere:at_all"}, "hooks: 'nowhere:at_all' cannot be loaded"),
        "no-name": ({"hooks": "json"}, "hooks: 'json' cannot be loaded"),
        "no-object": ({"hooks": "json:nothing"}, "hooks: 'json:nothing' cannot be loaded"),
        "half": ({"hooks": "hooked:Half"}, "needs the async methods before and after"),
        "no-hooks": ({"hooks": "json:loads"}, "needs the async methods before and after"),
        "beyond": ({"http": {"address": "0.0.0.0"}}, "i_accept_plaintext_beyond_loopback"),
        "no-tokens": ({"http": {"tokens": str(tmp_path / "none.tokens")}}, "none.tokens"),
        "half-tls": ({"http": {"certificate": "x.pem"}}, "certificate and key are given together"),
        "no-tls": ({"http": {"certificate": str(tmp_path / "x.pem"), "key": str(tmp_path / "x.pem")}}, "x.pem"),
        "port": ({"http": {"port": 70000}}, "port is 70000"),
        "taken": ({"name": "lives"}, "lives"),
        "unknown": ({"colour": 1}, "colour"),
    }
    paths = []
    for name, (changes, _) in bad.items():
        config = json.loads(json.dumps(asdict(chat.config(name)), default=str)) | changes
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(config))
    async with chat.server("lives"):
        ran = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", FORKS, *map(str, paths)], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False, timeout=200,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    said = {p.stem: p.with_name(f"{p.name}.err").read_text() for p in paths}
    assert dict(zip(bad, ran.stdout.split(), strict=True)) == dict.fromkeys(bad, "2"), said
    for name, (_, words) in bad.items():
        assert words in said[name], (name, said[name])
        assert said[name].count("\n") == 1, (name, said[name])
        assert (tmp_path / f"{name}.json.out").read_text() == ""
