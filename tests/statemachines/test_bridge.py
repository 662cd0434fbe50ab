"""A declared machine run by the `transitions` library."""

import subprocess
import sys

import transitions

from sluicegate.statemachines.bridge import Reference, to_transitions
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode


def test_the_library_runs_the_table_by_its_own_triggers() -> None:
    library = to_transitions(Gate)
    assert isinstance(library, transitions.Machine)
    assert set(library.events) == {e.name for e in Gate.ir.events}
    one, two = Reference(Gate, library, ranks=frozenset({"r"})), Reference(Gate, library, ranks=frozenset({"r"}))
    assert library.events["Seal"].trigger(one, Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=9)) is True
    assert one.outcome is not None
    assert one.outcome.rule == "reseals"
    assert (one.fields["epoch"], two.fields["epoch"]) == (1, 0)


def test_without_the_library_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['transitions'] = None\n"
        "from sluicegate.statemachines.bridge import to_transitions\n"
        "from sluicegate.statemachines.gate import Gate\n"
        "to_transitions(Gate)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(
        "ImportError: this needs the transitions library: pip install 'sluicegate[dev]'"
    )
