"""What ranks agree on: all or none goes on, who differs or is missing is named, and no wait is endless."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.runtime.training import group

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
RANK = Path(__file__).with_name("agree_rank.py")


class Rank:
    """A process of `agree_rank.py`."""

    def __init__(self, number: int, ranks: int, port: int) -> None:
        described = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
        self.process = subprocess.Popen(
            [sys.executable, str(RANK)], env={**os.environ, **described, "RANK": str(number)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, *command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def end(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = [Rank(number, 2, port) for number in range(2)]
    try:
        assert [each.end() for each in made] == ["joined"] * 2
        yield made
    finally:
        for each in made:
            each.process.kill()
            each.process.communicate()


def all_do(ranks: list[Rank], *commands: tuple[Any, ...]) -> list[Any]:
    for rank, command in zip(ranks, commands, strict=True):
        rank.begin(*command)
    return [rank.end() for rank in ranks]


def test_all_ranks_go_on_or_none_does(ranks: list[Rank]) -> None:
    same = all_do(ranks, ("agree", "save kept", 20.0), ("agree", "save kept", 20.0))
    assert [each["error"] for each in same] == ["", ""]

    for each in all_do(ranks, ("agree", "train on a", 20.0), ("agree", "publish 3", 20.0)):
        assert "rank 0: agree 'train on a'; rank 1: agree 'publish 3'" in each["error"]
    for each in all_do(ranks, ("agree", "save kept", 20.0), ("outcome", "", 20.0)):
        assert "rank 1: outcome" in each["error"]

    told = all_do(ranks, ("outcome", "", 20.0), ("outcome", "no space left", 20.0))
    assert [each["answer"] for each in told] == ["rank 1: no space left"] * 2
    assert [each["answer"] for each in all_do(ranks, *[("outcome", "", 20.0)] * 2)] == ["", ""]

    # Rank 0 gives up before rank 1 comes: rank 1 does not go on alone, and is not waited for again.
    ranks[0].begin("agree", "load kept", 0.5)
    early = ranks[0].end()
    assert "rank 1 did not come within 0.5 s" in early["error"]
    assert early["seconds"] < 3
    ranks[1].begin("agree", "load kept", 60.0)
    late = ranks[1].end()
    assert "rank 1 did not come within 0.5 s, so rank 0 gave up" in late["error"]
    assert late["seconds"] < 3

    # The next is none of the failed ones' business, and nothing of all is kept.
    counts = []
    for _ in range(3):
        for _ in range(20):
            for each in all_do(ranks, *[("agree", "train on b", 20.0)] * 2):
                assert not each["error"]
        counts.append(all_do(ranks, ("keys",), ("keys",))[0]["answer"])
    assert counts[0] == counts[1] == counts[2]


def test_a_rank_that_has_ended_is_named_in_time(ranks: list[Rank]) -> None:
    ranks[1].process.kill()
    ranks[1].process.wait()
    ranks[0].begin("agree", "publish 7", 1.0)
    found = ranks[0].end()
    assert "rank 1 did not come within 1 s" in found["error"]
    assert "'publish 7'" in found["error"]
    assert found["seconds"] < 4


@pytest.mark.parametrize(("sign", "says"), [(signal.SIGSTOP, "has stopped"), (signal.SIGKILL, "cannot be reached")])
def test_no_rank_waits_for_ever_on_a_store_that_is_gone(ranks: list[Rank], sign: signal.Signals, says: str) -> None:
    # Without a launcher rank 0 serves the store.
    ranks[0].process.send_signal(sign)
    time.sleep(0.2)
    ranks[1].begin("agree", "publish 7", 1.0)
    found = ranks[1].end()
    assert says in found["error"]
    assert found["seconds"] < 10


def test_a_rank_alone_agrees_with_itself_and_opens_no_port() -> None:
    rank, world = group.join_group()
    assert (rank, world) == (0, 1)
    group.agree("train on a", 0.001)
    assert group.agree_outcome("", 0.001) == ""
    assert group.agree_outcome("no space left", 0.001) == "rank 0: no space left"


def test_a_rank_that_meets_nobody_says_so() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = "from sluicegate.runtime.training import group; group.join_group(1.0)"
    described = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "RANK": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **described}, capture_output=True, text=True, timeout=60
    )
    assert "GroupError: rank 0 of 2 did not meet the others" in ended.stderr
