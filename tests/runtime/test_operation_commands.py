"""`sluicegate status, pause, resume, poison` against a run of real processes, and where there is none."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from controller_kit import WITHIN_S, Run, running

from sluicegate.cli.status import as_text, is_well
from sluicegate.runtime.controller.roster import Roster


async def command(*words: str) -> tuple[int, str, str]:
    """A command of the command line, to its end: exit status, output, errors."""
    async with begun(*words) as process:
        async with asyncio.timeout(WITHIN_S):
            output, errors = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode(), errors.decode()


@asynccontextmanager
async def begun(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sluicegate", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def status(run: Run, expected: int = 0) -> dict[str, Any]:
    code, output, errors = await command("status", str(run.folder), "--format", "json", "--within", "20")
    assert code == expected, output + errors
    return json.loads(output)


async def line_with(stream: asyncio.StreamReader | None, text: str) -> str:
    """Read on until a line has this in it."""
    assert stream is not None
    async with asyncio.timeout(WITHIN_S):
        while line := (await stream.readline()).decode():
            if text in line:
                return line
    raise AssertionError(f"it never said {text!r}")


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_run_is_looked_at_paused_and_poisoned_also_while_nobody_rules(tmp_path: Path) -> None:
    async with running(tmp_path, "r0", "r1") as run:
        found = await status(run, expected=1)
        assert not found["controller"]["answers"]
        assert [(r["incarnation"], r["gate"]) for r in found["replicas"]] == [("r0.1", "SEALED"), ("r1.1", "SEALED")]
        assert all(r["waits_for"] == "its controller" for r in found["replicas"])
        controller = await run.start_controller()
        run.publish(0)
        await run.status_until(lambda s: not s.taking_over)
        assert (await run.client.sync(0)).result == "published"
        found = await status(run)
        assert (found["controller"]["incarnation"], found["published"]) == ("controller.1", 0)
        assert [(r["state"], r["gate"], r["version"]) for r in found["replicas"]] == [("SERVING", "OPEN", 0)] * 2
        code, output, errors = await command("status", str(run.folder), "--digests", "--within", "20")
        assert code == 0, output + errors
        held = [line.partition(" holds: 0 ")[2] for line in output.splitlines() if " holds: 0 " in line]
        assert (len(held), len({*held}), len(held[0])) == (2, 1, 64)

        # A pause waits for a request, says so, and is paused once that has ended.
        first = await run.replica("r0")
        async with run.request(first) as abort, begun("pause", str(run.folder), "--mode", "wait") as pausing:
            line = await line_with(pausing.stderr, "r0 (1 requests to end")
            assert "DRAINING" in line
            found = await status(run)
            assert found["operation"]["awaited"] == ["r0"]
            row = next(r for r in found["replicas"] if r["replica"] == "r0")
            assert (row["gate"], row["active"], row["at_door"]) == ("DRAINING", 1, 0)
            await abort()
            assert pausing.stdout is not None
            async with asyncio.timeout(WITHIN_S):
                said = (await pausing.stdout.readline()).decode()
                assert await pausing.wait() == 0
            assert said.startswith("paused by the controller of term 1, epoch "), said
        found = await status(run)
        assert found["paused"]
        assert {r["gate"] for r in found["replicas"]} == {"DRAINING"}
        code, _, errors = await command("pause", str(run.folder))
        assert (code, "already (paused)" in errors) == (1, True), errors
        code, output, errors = await command("resume", run.controllers[0].ready["control"])
        assert (code, output.startswith("resumed by")) == (0, True), errors
        await run.status_until(lambda s: {r.gate for r in s.replicas} == {"OPEN"})

        # Nobody rules: the gates are asked, and an operation is asked on about until someone answers.
        await run.kill(controller)
        code, output, errors = await command("status", str(run.folder), "--within", "1")
        assert code == 1, errors
        head = "no controller answers: term 1, the last was controller.1; version 0 is published\n"
        assert output.startswith(head), output
        assert [line.split()[2] for line in output.splitlines() if line.startswith("r")] == ["OPEN", "OPEN"]
        code, _, errors = await command("status", controller.ready["control"], "--within", "0.5")
        assert (code, "give the run's folder" in errors) == (2, True), errors
        code, _, errors = await command("resume", str(run.folder), "--within", "0.5", "--operation-id", "late")
        assert (code, "--operation-id late" in errors) == (1, True), errors
        words = ("poison", str(run.folder), "r1", "--why", "its answers make no sense", "--operation-id", "p1")
        async with begun(*words) as poisoning:
            await line_with(poisoning.stderr, "no answer yet")
            await run.start_controller()
            assert poisoning.stdout is not None
            async with asyncio.timeout(WITHIN_S):
                said = (await poisoning.stdout.readline()).decode()
                assert await poisoning.wait() == 0
        assert said == "poisoned by the controller of term 2: r1.1 is poisoned, and will be replaced\n"
        code, output, _ = await command(*words)
        assert code == 0
        assert "as an earlier call was answered" in output
        code, _, errors = await command("poison", str(run.folder), "r0", "--why", "x", "--operation-id", "p1")
        assert (code, "another request" in errors) == (2, True), errors
        await run.replica("r1", 2)
        await run.status_until(lambda s: [(r.incarnation, r.gate) for r in s.replicas][1:] == [("r1.2", "OPEN")])
        assert is_well(await status(run))
        code, _, errors = await command("poison", str(run.folder), "r9", "--why", "x")
        assert (code, "no replica named 'r9' lives (unknown_replica)" in errors) == (1, True), errors

        # It is looked at again and again, until it is told to end.
        async with begun("status", str(run.folder), "--watch", "--every", "0.1", "--format", "json") as watching:
            assert watching.stdout is not None
            async with asyncio.timeout(WITHIN_S):
                lines = [json.loads(await watching.stdout.readline()) for _ in range(3)]
            assert all(line["controller"]["term"] == 2 for line in lines)
            watching.send_signal(2)
            async with asyncio.timeout(WITHIN_S):
                assert await watching.wait() == 130
            assert watching.stderr is not None
            assert b"Traceback" not in await watching.stderr.read()


async def test_what_cannot_be_asked_is_told_with_its_mend(tmp_path: Path) -> None:
    nothing, text = tmp_path / "nothing", tmp_path / "text"
    text.write_text("this is no register, but long enough to be looked at as one" * 30)
    for where, told in {
        str(nothing): f"there is no {nothing}: give the folder of a run",
        str(tmp_path): "has no register.db and no state/register.db",
        str(text): str(text),
    }.items():
        for words in (("status", where), ("pause", where), ("resume", where), ("poison", where, "r0", "--why", "x")):
            code, output, errors = await command(*words)
            assert (code, output) == (2, ""), errors
            assert told in errors
            assert len(errors.splitlines()) == 1, errors


async def test_a_run_without_a_controller_or_replicas_is_said_to_be_so(tmp_path: Path) -> None:
    with Roster(tmp_path / "register.db") as roster:
        roster.hold("r0", "5 lives of r0 ended")
    code, output, errors = await command("status", str(tmp_path))
    assert code == 1, errors
    assert "no controller has ruled this run yet" in output
    assert "no replica lives" in output
    assert "r0 is held, no new life is started: 5 lives of r0 ended" in output


def test_text_names_what_is_waited_for_and_what_is_behind() -> None:
    replica = {
        "replica": "r0", "incarnation": "r0.2", "state": "SYNCING", "gate": "DRAINING", "unanswered": "", "epoch": 7,
        "term": 3, "version": 4, "target": 5, "active": 2, "suspended": 0, "orphaned": 1,
        "waits_for": "2 requests to end", "why_behind": "it was left behind", "at_door": 4, "why_poisoned": "",
        "storage": "the disk is full",
    }  # fmt: skip
    found = {
        "controller": {"answers": True, "term": 3, "incarnation": "controller.3", "why": ""}, "taking_over": False,
        "published": 4, "paused": False, "held": {}, "replicas": [replica, {**replica, "unanswered": "silence"}],
        "operation": {"epoch": 7, "version": 5, "phase": "DRAINING", "members": ["r0"], "awaited": ["r0"], "left": 9.5,
                      "left_behind": {"r1": "it ended"}},
    }  # fmt: skip
    lines = as_text(found).splitlines()
    assert lines[:4] == [
        "controller.3 rules, term 3; version 4 is published",
        "operation of epoch 7: DRAINING, version 5, 9.5 s left",
        "  waits for r0",
        "  without r1: it ended",
    ]
    assert lines[6].split()[:12] == ["r0.2", "SYNCING", "DRAINING", "3", "7", "4", "->", "5", "2", "0", "1", "4"]
    assert lines[6].endswith("2 requests to end")
    assert lines[7].endswith("no answer: silence")
    assert {"r0.2 is behind: it was left behind", "r0.2 admits nothing: the disk is full"} <= set(lines)
    poisoned = {**replica, "gate": "POISONED", "waits_for": "its replacement", "why_poisoned": "a rank failed"}
    assert as_text({**found, "replicas": [poisoned]}).splitlines()[6].endswith("its replacement: a rank failed")
    assert not is_well(found)
