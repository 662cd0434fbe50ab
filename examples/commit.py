"""Two-phase commit with a coordinator that can crash: atomic always, and blocked sometimes.

    sluicegate check examples.commit

A coordinator asks all participants to prepare, decides when all have said yes, and tells them. Each
participant may fail before it has prepared, and not after. `TwoPhaseCommit.tla` beside this file puts
a coordinator and its participants together, over the tables below.
"""

from pathlib import Path
from typing import Any

from sluicegate import (
    Event,
    Id,
    Inside,
    Machine,
    Refuse,
    Scope,
    SetOf,
    State,
    Table,
    columns,
    go,
    ignore,
    leads_to,
    never,
    reachable,
    row,
    stay,
)
from sluicegate.spec.models import Config, SystemModel


class Member(Id):
    """One participant."""


class Coordinator(Machine):
    """Decides once: to commit when every member said yes, to abort when one did not in time."""

    ASKING, COMMITTED, ABORTED, CRASHED = State(), State(), State(), State()
    members = SetOf(Member).given()
    said_yes = SetOf(Member)

    class Yes(Event):
        """A member has prepared."""

        member: Member

    class No(Event):
        """A member has aborted."""

    class Timeout(Inside):
        """It has waited long enough for answers."""

    class Crash(Inside):
        """Its process ends, and does not come back."""

    counts = (
        go(COMMITTED)
        .when(members <= said_yes.including(Yes.member))
        .do(said_yes.add(Yes.member))
        .orelse(stay().do(said_yes.add(Yes.member)))
    )

    # fmt: off
    table = Table(
        columns(     ASKING,   COMMITTED, ABORTED, CRASHED),
        row(Yes,     counts,   ignore,    ignore,  ignore),
        row(No,      ABORTED,  ignore,    ignore,  ignore),
        row(Timeout, ABORTED,  ignore,    ignore,  ignore),
        row(Crash,   CRASHED,  CRASHED,   CRASHED, ignore),
    )
    # fmt: on

    unanimous = never(COMMITTED & ~(members <= said_yes))
    commits = reachable(COMMITTED & ~members.is_empty())

    scope = Scope(ids=(("Member", 2),))


class Participant(Machine):
    """Does its part of the work, then does what the coordinator decides."""

    WORKING, PREPARED, COMMITTED, ABORTED = State(), State(), State(), State()

    class Prepare(Event):
        """The coordinator asks whether this member can commit."""

    class Fail(Inside):
        """The work cannot be done."""

    class Commit(Event):
        """The coordinator has decided to commit."""

    class Abort(Event):
        """The coordinator has decided to abort."""

    not_prepared = Refuse("it was never asked to prepare")
    broken_promise = Refuse("what is committed stays committed")

    # fmt: off
    table = Table(
        columns(      WORKING,      PREPARED,  COMMITTED,      ABORTED),
        row(Prepare,  PREPARED,     ignore,    ignore,         ignore),
        row(Fail,     ABORTED,      ignore,    ignore,         ignore),
        row(Commit,   not_prepared, COMMITTED, ignore,         not_prepared),
        row(Abort,    ABORTED,      ABORTED,   broken_promise, ignore),
    )
    # fmt: on

    commits = reachable(COMMITTED)
    ends = leads_to(PREPARED, COMMITTED | ABORTED, fair=(Commit, Abort))


def _model(name: str, about: str, crashes: bool, **rest: Any) -> SystemModel:
    constants = {"Member": '{"m1", "m2"}', "Crashes": str(crashes).upper()}
    return SystemModel(
        name,
        about,
        module="TwoPhaseCommit",
        config=Config(constants=constants, **rest.pop("config")),
        folder=Path(__file__).parent,
        machines=(Coordinator, Participant),
        **rest,
    )


MODELS = (
    _model("atomic", "with crashes", True, config={"invariants": ("Atomic", "Agreed")}, distinct=547),
    _model("ends", "without crashes", False, config={"spec": "FairSpec", "properties": ("Decides",)}, distinct=291),
    _model(
        "blocks",
        "a member that has prepared waits for a coordinator that has crashed",
        True,
        config={"spec": "FairSpec", "properties": ("Decides",)},
        violates="Decides",
    ),
)
"""The system as a whole; that `Decides` fails with crashes is the known price of the protocol."""
