"""Whatever comes over the wire, in any order: a live worker stands where its table says, and leaks nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from live_case import Case
from live_worker import Troubles, Worker
from messages import cases
from rollout_kit import Weights

pytestmark = pytest.mark.timeout(300)

CELLS = 50
"""At least so many (event, state, rule) of the gate's table are met by the cases of the ordinary suite."""


class Told:
    """What the cases of one run came to."""

    def __init__(self) -> None:
        self.cases, self.met, self.worker = 0, Counter[str](), Counter[tuple[str, str, str]]()
        self.lives, self.began = 0, time.monotonic()

    def __str__(self) -> str:
        states, kinds = {state for _, state, _ in self.worker}, dict(sorted(self.met.items()))
        return (
            f"{self.cases} cases in {time.monotonic() - self.began:.0f} s over {self.lives} lives; "
            f"{sum(self.worker.values())} steps of the gate in {len(states)} states, {len(self.worker)} of its "
            f"(event, state, rule); {kinds}"
        )


@pytest.fixture
def troubles() -> Iterator[Troubles]:
    found = Troubles()
    logging.getLogger().addHandler(found)
    yield found
    logging.getLogger().removeHandler(found)


def hold(folder: Path, troubles: Troubles, wanted: settings) -> Told:
    """Runs so many cases against a live worker."""
    told = Told()
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(troubles.unhandled)
        limits = {
            "per_client": 6, "hold_limit": 3, "hold_ms": 300, "proceed_ms": 100, "remember_ms": 500, "lease_ms": 20_000,
        }  # fmt: skip
        worker = Worker(Weights("messages", folder), troubles, limits)

        async def one(case: list[Any], opened: bool) -> None:
            told.cases += 1
            if told.cases % 500 == 0:
                print(f"\n{told.cases} cases, {time.monotonic() - told.began:.0f} s", flush=True)
            life = await worker.life()
            try:
                await Case(worker, life, told.met).run(case, opened=opened)
            except BaseException:
                troubles.found.clear()
                await worker.end()
                raise

        @settings(
            wanted,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(cases, st.sampled_from([True, True, True, False]))
        def each(case: list[Any], opened: bool) -> None:
            runner.run(one(case, opened))

        each()
        runner.run(worker.end())
    assert not troubles.found
    told.worker, told.lives = worker.met, worker.lives
    return told


def test_a_live_worker_stands_where_its_table_says_whatever_comes(tmp_path: Path, troubles: Troubles) -> None:
    told = hold(tmp_path, troubles, settings(max_examples=120, derandomize=True, phases=[Phase.generate]))
    assert {state for _, state, _ in told.worker} == {
        "OPEN",
        "SEALED",
        "DRAINING",
        "INSTALLING",
        "REOPENED",
        "POISONED",
    }
    assert len(told.worker) >= CELLS, str(told)
    assert min(told.met[kind] for kind in ("OK", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "answers")) > 20, str(told)
    assert min(told.met[kind] for kind in ("never went on", "proceeds: True", "proceeds: False")) > 3, str(told)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_five_thousand_cases_of_messages(tmp_path: Path, troubles: Troubles) -> None:
    told = hold(tmp_path, troubles, settings(max_examples=5000, phases=[Phase.generate]))
    print(f"\n{told}")
    assert told.cases >= 5000
