"""What the Replica table says of probes."""

from __future__ import annotations

import pytest

from sluicegate.statemachines.replica import Replica

ANSWERED = Replica.Answered(installing=False)


def after(*events: object) -> str:
    live = Replica.Live(patience=3)
    for event in events:
        live.step(event)
    return live.state


@pytest.mark.parametrize(
    "before",
    [(), (Replica.Started(),), (Replica.Started(), Replica.Synced(version=0))],
    ids=["new", "syncing", "serving"],
)
def test_only_misses_in_a_row_make_a_replica_dead(before: tuple[object, ...]) -> None:
    missed = Replica.Missed()
    assert after(*before, *[missed, missed, ANSWERED] * 5) != "DEAD"
    assert after(*before, missed, missed, ANSWERED, missed, missed, missed) == "DEAD"


def test_a_replica_that_said_that_it_installs_is_not_missed_until_its_window_is_over() -> None:
    installs = Replica.Answered(installing=True)
    silent = [Replica.Missed()] * 9
    assert after(Replica.Started(), installs, *silent) == "SYNCING"
    assert after(Replica.Started(), installs, *silent, Replica.Overdue(), *silent) == "DEAD"
