"""One incarnation of a replica, as the controller sees it.

Rules of this file:

- A replica serves only after the ordinary path has brought it to the published version.
- A probe that is missed makes it suspect, a run of them dead; while it said that it installs, missed
  probes do not count until the window of the install is over.
- Dead is for ever: what comes back is a new incarnation.
"""

from .containers import Opt
from .expressions import Bool, Nat, Note
from .ir import Scope
from .machine import Event, Inside, Machine, Output
from .table import Refuse, State, Table, choose, columns, go, ignore, row, stay


class Replica(Machine):
    """One incarnation of a replica, as the controller sees it."""

    STARTING, SYNCING, SERVING, SUSPECT, LEAVING, DEAD = State(), State(), State(), State(), State(), State()

    patience = Nat(1).given()
    version = Opt(Nat)
    missed_probes = Nat(0)
    installing = Bool(False)

    # fmt: off
    class Leave(Event):
        """The replica is to leave as planned."""
    class Started(Inside):
        """Its process answers, and its gate was claimed."""
    class Synced(Inside):
        """Its gate is open at the published version."""
        version: Nat
    class LeftBehind(Inside):
        """It left the cohort of an operation: it has to catch up."""
        why: Note
    class Answered(Inside):
        """It answered a probe, and said whether it installs."""
        installing: Bool
    class Missed(Inside):
        """It did not answer a probe."""
    class Overdue(Inside):
        """The window of its install is over."""
    class Poisoned(Inside):
        """Its gate is poisoned."""
        why: Note
    class Exited(Inside):
        """Its process has ended."""
        why: Note
    class Evacuated(Inside):
        """No session needs it any more."""

    class StopProcess(Output):
        """End its process, and prove that it has ended."""
    class Replace(Output):
        """Its sessions are lost; start a new incarnation."""
    class Evacuate(Output):
        """Bind nothing to it; move or end its sessions."""
    # fmt: on

    dead = Refuse("this incarnation is dead")

    starts = go(SYNCING)
    syncs = go(SERVING).do(version.set(Synced.version), missed_probes.set(0), installing.set(False))
    updates = stay().do(version.set(Synced.version), missed_probes.set(0), installing.set(False))
    falls_behind = go(SYNCING)
    answers = stay().do(missed_probes.set(0), installing.set(Answered.installing))
    recovers = go(SERVING).do(missed_probes.set(0), installing.set(Answered.installing))
    is_last = patience <= missed_probes + 1
    misses = choose(
        stay().when(~installing, ~is_last).do(missed_probes.set(missed_probes + 1)),
        go(DEAD).when(~installing, is_last).emit(StopProcess(), Replace()),
        orelse=ignore,
    )
    misses_serving = choose(
        go(SUSPECT).when(~installing, ~is_last).do(missed_probes.set(missed_probes + 1)),
        go(DEAD).when(~installing, is_last).emit(StopProcess(), Replace()),
        orelse=ignore,
    )
    misses_leaving = choose(
        stay().when(~installing, ~is_last).do(missed_probes.set(missed_probes + 1)),
        go(DEAD).when(~installing, is_last).emit(StopProcess()),
        orelse=ignore,
    )
    overdue = stay().do(installing.set(False))
    dies = go(DEAD).emit(StopProcess(), Replace())
    dies_leaving = go(DEAD).emit(StopProcess())
    leaves = go(LEAVING).emit(Evacuate())
    leaves_unused = go(DEAD).emit(StopProcess())

    # fmt: off
    table = Table(
        columns(         STARTING,      SYNCING,      SERVING,        SUSPECT,      LEAVING,        DEAD),
        row(Started,     starts,        ignore,       ignore,         ignore,       ignore,         dead),
        row(Synced,      ignore,        syncs,        updates,        syncs,        ignore,         dead),
        row(LeftBehind,  ignore,        ignore,       falls_behind,   falls_behind, ignore,         ignore),
        row(Answered,    answers,       answers,      answers,        recovers,     answers,        ignore),
        row(Missed,      misses,        misses,       misses_serving, misses,       misses_leaving, ignore),
        row(Overdue,     overdue,       overdue,      overdue,        overdue,      overdue,        ignore),
        row(Poisoned,    dies,          dies,         dies,           dies,         dies_leaving,   ignore),
        row(Exited,      dies,          dies,         dies,           dies,         dies_leaving,   ignore),
        row(Leave,       leaves_unused, leaves,       leaves,         leaves,       ignore,         dead),
        row(Evacuated,   ignore,        ignore,       ignore,         ignore,       dies_leaving,   ignore),
    )
    # fmt: on
    scope = Scope(nat=1, nats=(("patience", 2), ("missed_probes", 2)))
