"""What a run's report counts, from the logs of its processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluicegate.runtime.demo.figures import count
from sluicegate.runtime.tracelog import TraceLog, merge
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_lease_that_a_later_life_found_was_admitted_whether_that_was_logged_or_not(
    tmp_path: Path, is_logged: bool
) -> None:
    first = TraceLog(tmp_path / "1", run="test", process="rollout", incarnation="r0.1")
    gate = Gate.initial(ranks={"0"}).replace(state="OPEN", version=0).live()
    first.of("Gate").lives("r0", gate, True)
    outcome = gate.admit("a", None)
    if is_logged:
        first.of("Gate")("r0", 0, Gate.Admit(lease="a", pin=None), "OPEN", gate.state, outcome, "a")
    # Killed: the log is not closed.
    first.flush()
    with TraceLog(tmp_path / "2", run="test", process="rollout", incarnation="r0.2") as second:
        lease = Lease.initial(session="s").replace(state="FORWARDED").live()
        second.of("Lease").lives("a", lease, True)
        second.of("Lease")("a", 0, Lease.Gone(), "FORWARDED", "LOST", lease.step(Lease.Gone()), "")
    merged = merge([tmp_path / "1", tmp_path / "2"], {"r0.1": "signal 9"}, tmp_path / "trace")
    figures = count(merged, {})
    assert (figures.admissions, figures.receipts, figures.lost) == (1, 0, 1)
    assert (figures.unlogged, figures.unsettled) == (0, 0)
