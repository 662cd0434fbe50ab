"""The turns of a run's agents, and their pause between turns.

Rules of this file:

- A pause ends no turn: turns that run go on to their end, and none begins. An agent that wants one waits.
- It is quiet when no turn runs and none may begin.
"""

from .containers import SetOf
from .ir import Scope
from .machine import Inside, Machine, Output
from .properties import leads_to, never
from .sorts import TurnId
from .table import Refuse, State, Table, choose, columns, go, ignore, row, stay


class Agents(Machine):
    """The turns of a run's agents: they flow, or are paused where none runs."""

    FLOWING, PAUSING, QUIET, CLOSED = State(), State(), State(), State()

    turns = SetOf(TurnId)

    # fmt: off
    class TurnBegins(Inside):
        """An agent asks the model."""
        turn: TurnId
    class TurnEnds(Inside):
        """The agent has its answer, or will have none."""
        turn: TurnId
    class Pause(Inside):
        """No turn begins any more; those that run go on to their end."""
    class Resume(Inside):
        """Turns may begin again."""
    class Close(Inside):
        """No turn begins again."""

    class Rests(Output):
        """No turn runs, and none begins before the pause is over."""
    class Flows(Output):
        """Turns may begin again: those who wait are let in."""
    # fmt: on

    paused = Refuse("the agents are paused", retry=True)
    closed = Refuse("the agents are closed")

    begins = stay().do(turns.add(TurnBegins.turn))
    ends = stay().do(turns.remove(TurnEnds.turn))
    ends_pausing = choose(
        go(QUIET)
        .when(turns.has(TurnEnds.turn), turns.size() == 1)
        .do(turns.remove(TurnEnds.turn))
        .emit(Rests()),
        stay().when(turns.has(TurnEnds.turn), turns.size() != 1).do(turns.remove(TurnEnds.turn)),
        orelse=ignore,
    )
    pauses = go(QUIET).when(turns.is_empty()).emit(Rests()).orelse(go(PAUSING))
    resumes = go(FLOWING).emit(Flows())

    # fmt: off
    table = Table(
        columns(         FLOWING, PAUSING,      QUIET,   CLOSED),
        row(TurnBegins,  begins,  paused,       paused,  closed),
        row(TurnEnds,    ends,    ends_pausing, ignore,  ends),
        row(Pause,       pauses,  ignore,       ignore,  closed),
        row(Resume,      ignore,  resumes,      resumes, closed),
        row(Close,       CLOSED,  CLOSED,       CLOSED,  ignore),
    )
    # fmt: on
    quiet_is_quiet = never(QUIET & ~turns.is_empty())
    pausing_waits = never(PAUSING & turns.is_empty())
    pause_ends = leads_to(PAUSING, QUIET | FLOWING | CLOSED, fair=(TurnEnds,))
    scope = Scope(nat=1, ids=(("TurnId", 2),))
