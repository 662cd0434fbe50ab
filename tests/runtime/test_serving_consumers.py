"""A consumer lives, or has died, for all servers of the host, whichever of them is told."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from scripted_server import scripted_server
from session_kit import host

TOKEN = "r" * 40


async def test_a_consumer_lives_and_dies_for_all_servers_and_who_did_not_hear_it_is_named(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ruler control {TOKEN}\n")
    tokens.chmod(0o600)
    urls = dict[str, str]()
    async with AsyncExitStack() as stack:
        on = await stack.enter_async_context(host(tmp_path))
        on.cohort.lives[0].go.set()
        served = {name: await stack.enter_async_context(on.server(name)) for name in ("a", "b")}
        http = None
        for name, one in served.items():
            there = await stack.enter_async_context(
                scripted_server(one, tmp_path, tokens=str(tokens), where=lambda name: urls.get(name, ""),
                                living=lambda: ("b", "a", "gone"))
            )  # fmt: skip
            urls[name], http = there.url, there.http
            await one.sessions.open(name)
            await one.turn(name)
            await one.sessions.finish(name)
            await one.sessions.take(name, "c.1")
        assert http is not None
        http.headers["authorization"] = f"Bearer {TOKEN}"
        heard = {name: one.sessions._consumers["c.1"] for name, one in served.items()}
        # Server b is called.
        answer = await http.post("/v1/consumers/c.1/renew")
        assert answer.json() == {"consumer": "c.1", "unanswered": ["gone"]}
        assert all(one.sessions._consumers["c.1"] > heard[name] for name, one in served.items())
        answer = await http.post("/v1/consumers/c.1/lost")
        assert answer.json() == {"consumer": "c.1", "given_back": ["b", "a"], "unanswered": ["gone"]}
        assert [one.state(name) for name, one in served.items()] == ["FINISHED", "FINISHED"]
