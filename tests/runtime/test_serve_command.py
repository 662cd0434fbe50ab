"""`sluicegate serve` as a process, and the page that shows it: an upstream, agents, a trainer, an end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from chat_kit import make_tokenizer
from relay_kit import judged
from stand_in import StandIn

from sluicegate import cli
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.tracelog import merge_stopped
from sluicegate.spec.traces import validate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "other-trainers.md"


@asynccontextmanager
async def serve(*words: str, ends: int = 0) -> AsyncIterator[list[str]]:
    """The command, ready; its lines. It is ended as by Ctrl-C, and must end with this status."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sluicegate", "serve", *words,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            lines = [(await process.stdout.readline()).decode().rstrip()]
            while lines[-1] and "trainers" not in lines[-1] and "--upstream" in words:
                lines.append((await process.stdout.readline()).decode().rstrip())
        yield lines
        if process.returncode is None and ends == 0:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            _, errors = await process.communicate()
        assert (process.returncode, b"Traceback" in errors) == (ends, False), errors.decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def command(*words: str) -> str:
    """Another command; what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sluicegate", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        output, errors = await process.communicate()
    assert process.returncode == 0, (output + errors).decode()
    return output.decode()


def shown(ports: dict[str, str]) -> dict[str, Any]:
    """What the page defines, with other addresses."""
    code = "\n".join(re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    for given, real in ports.items():
        code = code.replace(f"127.0.0.1:{given}", real)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


async def test_the_page_for_other_trainers_works_as_it_is_shown(tmp_path: Path) -> None:
    first, second = StandIn(), StandIn()
    (line,) = re.findall(r"^sluicegate serve (.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    async with first.serving() as url, second.serving() as url_2:
        given = line.replace("\\\n", " ").replace("--state serve", f"--state {tmp_path / 'serve'}")
        given = given.replace("http://127.0.0.1:8000", url).replace("http://127.0.0.1:8001", url_2)
        words = given.replace("--port 9000", "--port 0").replace("--control-port 9001", "--control-port 0").split()
        async with serve(*words, "--trace", str(tmp_path / "trace"), "--metrics-port", "0") as lines:
            http, control = lines[0].split()[1], lines[-1].split()[-1]
            metrics = lines[1].split()[-1]
            page = shown({"9000": http.removeprefix("http://"), "9001": control})

            async def load(url: str, checkpoint: str) -> None:
                async with httpx.AsyncClient() as client:
                    (await client.post(f"{url}/load", json={"weights": checkpoint})).raise_for_status()

            page["load"] = load
            assert await page["ask"]("one") == ("[base] the gate is open ", 1)
            assert await page["publish"](1, "step-1") == 2
            assert await page["ask"]("one") == ("[step-1] the gate is open ", 2)
            status = json.loads(await command("status", str(tmp_path / "serve"), "--format", "json"))
            assert (status["published"], len(status["replicas"])) == (2, 2)
            async with httpx.AsyncClient() as client:
                assert "sluicegate_published_version 2.0" in (await client.get(f"http://{metrics}/metrics")).text
            await command("pause", str(tmp_path / "serve"))
            held = asyncio.create_task(page["ask"]("two"))
            await command("resume", str(tmp_path / "serve"))
            assert (await held)[1] == 2
        # Its next life goes on.
        async with serve(*words, "--trace", str(tmp_path / "trace")) as lines:
            page = shown({"9000": lines[0].split()[1].removeprefix("http://")})
            assert await page["ask"]("one") == ("[step-1] the gate is open ", 2)
    verdict = judged(tmp_path)
    assert verdict.valid, verdict.refusal


async def test_a_server_that_is_killed_goes_on_in_its_next_life(tmp_path: Path) -> None:
    upstream = StandIn()
    async with upstream.serving() as url:
        words = ("--upstream", url, "--state", str(tmp_path / "state"), "--trace", str(tmp_path / "trace"))
        async with serve(*words, ends=-signal.SIGKILL) as lines, asyncio.timeout(60):
            page = shown({"9000": lines[0].split()[1].removeprefix("http://"), "9001": lines[-1].split()[-1]})
            assert (await page["ask"]("one"))[1] == 1
            upstream.goes.clear()
            broken = asyncio.create_task(page["ask"]("one"))
            while not upstream.running:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
            os.kill(int((tmp_path / "state" / "serve.lock").read_text()), signal.SIGKILL)
            with pytest.raises(openai.APIConnectionError):
                await broken
            upstream.goes.set()
        async with serve(*words) as lines:
            page = shown({"9000": lines[0].split()[1].removeprefix("http://")})
            assert await page["ask"]("one") == ("[base] the gate is open ", 1)
            async with httpx.AsyncClient(base_url=lines[0].split()[1]) as http:
                shown_now = (await http.get("/v1/sessions/one")).json()
            assert (shown_now["generations"], shown_now["turns"]) == (2, 0)
    logs = sorted((tmp_path / "trace").glob("*.ndjson"))
    merge_stopped(tmp_path / "trace", tmp_path / "trace.ndjson")
    assert len(logs) >= 8
    verdict = validate(tmp_path / "trace.ndjson")
    assert verdict.valid, verdict.refusal


async def test_a_session_server_of_a_run_is_served_by_its_config(tmp_path: Path) -> None:
    make_tokenizer(tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text('{"max_position_embeddings": 128}')
    config = {
        "name": "sessions-0", "run": "chat", "register": str(tmp_path / "register.db"),
        "store": str(tmp_path / "sessions.db"), "model": str(tmp_path / "model"),
    }  # fmt: skip
    with Roster(tmp_path / "register.db"):
        pass
    (tmp_path / "sessions.json").write_text(json.dumps(config))
    async with (
        serve("--config", str(tmp_path / "sessions.json")) as lines,
        httpx.AsyncClient(base_url=lines[0].split()[1]) as http,
    ):
        assert (await http.get("/health")).json()["tier"] == "exact"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--upstream", "ftp://x", "--state", "s"], "give URLs as http://host:port"),
        (["--upstream", "http://x"], "--state is missing"),
        (["--upstream", "http://x", "--state", "s", "--upstream-key-env", "NOT_THERE"], "no variable NOT_THERE"),
        (["--upstream", "http://x", "--state", "s", "--address", "0.0.0.0"], "reachable from other machines"),
        (["--upstream", "http://x", "--state", "s", "--tokens", "none.txt"], "none.txt"),
        (["--config", "none.json"], "none.json"),
    ],
)
def test_a_wrong_use_is_told_in_one_line(
    words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["serve", *words]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1


def test_a_folder_of_other_things_is_not_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    assert cli.main(["serve", "--upstream", "http://127.0.0.1:1", "--state", str(tmp_path)]) == 2
    assert "holds other things" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_processes_do_not_share_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sluicegate.protocol.sqlite import claim

    state = tmp_path / "state"
    state.mkdir()
    with claim(state / "serve"):
        assert cli.main(["serve", "--upstream", "http://127.0.0.1:1", "--state", str(state)]) == 2
    assert "end that one" in capsys.readouterr().err
