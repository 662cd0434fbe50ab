"""A run over HTTP as somebody uses it: its agents and theirs are clients of it, through updates and a cold resume."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openai
import pytest
from resumed_kit import ROOT, playing

from sluicegate.runtime.runs.steps import read_steps
from sluicegate.runtime.tracelog import merge_stopped
from sluicegate.spec.traces import validate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

RUN: dict[str, Any] = {
    "replicas": 1, "agents": {"kind": "http", "in_flight": 5, "waiting": 1}, "http": {"port": 0},
    "checkpoints": {"every": 2}, "task": {"kind": "recall", "settings": {"turns": 4}},
}  # fmt: skip
URL = r"agents of your own may call (http\S+)"


def say(client: openai.OpenAI, session: str, messages: list[Any]) -> int:
    """One turn of a conversation, which is added; the version that began it."""
    messages.append({"role": "user", "content": "ab>"})
    raw = client.chat.completions.with_raw_response.create(
        model="policy", messages=messages, max_tokens=2, extra_headers={"x-session-id": session}
    )
    messages.append({"role": "assistant", "content": raw.parse().choices[0].message.content})
    return int(raw.headers["x-model-version"])


def live_through(client: openai.OpenAI, session: str, updates: int) -> tuple[list[int], list[Any]]:
    """The versions of the turns of one conversation that goes on until it has seen so many updates."""
    messages: list[Any] = []
    versions = [say(client, session, messages)]
    until = time.monotonic() + 120
    while versions[-1] - versions[0] < updates:
        assert time.monotonic() < until, f"no {updates} updates came: {versions}"
        versions.append(say(client, session, messages))
        time.sleep(0.05)
    return versions, messages


def test_a_conversation_over_http_lives_through_updates_and_a_run_that_was_killed_goes_on_over_http(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    with playing(folder, **RUN) as run:
        url = run.until(URL)[1]
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=60) as client:
            versions, messages = live_through(client, "mine", 2)
        assert versions == sorted(versions)
        before = run.step(3)
        run.kill_all()
    # What the run's own agents said over HTTP was trained on.
    assert len(before["sessions"]) == 16
    with playing(folder, **RUN) as run:
        at = int(run.until(r"resumed from \S+: step (\d+)")[1])
        url = run.until(URL)[1]
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=60) as client:
            with pytest.raises(openai.APIStatusError) as gone:
                say(client, "mine", messages)
            assert gone.value.status_code == 410
        agent = [sys.executable, "-m", "examples.agent", url, "--turns", "6", "--pause", "0.5", "--letters", "abcd"]
        done = subprocess.run(agent, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "turn 6: " in done.stdout
        assert run.step(at + 3)["version"] > before["version"]
        run.end()
    steps = read_steps(folder / "steps.ndjson")
    assert sorted(steps) == list(range(1, len(steps) + 1))
    groups = [number for step in steps.values() for number in step["groups"]]
    assert len(groups) == len(set(groups))
    merge_stopped(folder / "trace", folder / "trace.ndjson")
    verdict = validate(folder / "trace.ndjson")
    assert verdict.valid, verdict.refusal
