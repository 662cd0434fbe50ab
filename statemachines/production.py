"""The production of a run: which groups of samples are begun, complete, and taken for training.

Rules of this file:

- A group is in one set at most: to be begun again, in flight, ready, or claimed for the step that is being trained.
  What is in none was trained on, or dropped for good.
- Numbers rise by one. Those that are to be begun again come before anything new, the lowest first, which whoever
  begins them sees to; also while production is stopped, since whoever waits for rest waits for them.
- A claimed group is trained on or given back, and so is never in two steps.
- A trainer that went back to a checkpoint lacks what was trained on since: that is begun again. What runs goes on.
"""

from .containers import SetOf
from .expressions import Nat
from .ir import Scope
from .machine import Inside, Machine
from .properties import always
from .table import Refuse, State, Table, choose, columns, ignore, row, stay


class Production(Machine):
    """The groups of samples of one run: in flight, ready, and claimed for training."""

    STOPPED, RUNNING, CLOSED = State(), State(), State()

    next_group = Nat(0)
    again = SetOf(Nat)
    in_flight = SetOf(Nat)
    ready = SetOf(Nat)
    claimed = SetOf(Nat)

    # fmt: off
    class Restore(Inside):
        """The run goes on from a checkpoint: these were in flight, and are begun again."""
        next_group: Nat
        again: SetOf[Nat]
    class Start(Inside):
        """New groups may begin."""
    class Stop(Inside):
        """No new group begins; what runs goes on, and what is to be begun again still is."""
    class Begin(Inside):
        """A group begins: one that is to be begun again, else the next."""
        group: Nat
    class Completed(Inside):
        """All samples of the group are there."""
        group: Nat
    class Failed(Inside):
        """The group came to nothing, and is to be begun again."""
        group: Nat
    class Dropped(Inside):
        """The group will never be trained on."""
        group: Nat
    class Claim(Inside):
        """The group goes into the step that is being trained."""
        group: Nat
    class Trained(Inside):
        """The step is done, with all that was claimed."""
    class GiveBack(Inside):
        """The step was not done: what was claimed is ready still."""
    class Rewind(Inside):
        """The trainer went back, and lacks these: what does not run and is not ready is begun again."""
        lacking: SetOf[Nat]
    class Close(Inside):
        """Nothing begins any more."""
    # fmt: on

    stopped = Refuse("no new group begins now", retry=True)
    not_next = Refuse("this group is neither to be begun again nor the next one")
    not_in_flight = Refuse("the group is not in flight")
    not_ready = Refuse("the group is not ready")
    not_held = Refuse("the group is neither in flight nor ready")
    in_use = Refuse("groups are in use: restore before anything begins")
    closed = Refuse("production is closed")

    is_unused = in_flight.is_empty() & ready.is_empty() & claimed.is_empty()
    restores = stay().when(is_unused).do(next_group.set(Restore.next_group), again.set(Restore.again)).orelse(in_use)

    is_again = again.has(Begin.group)
    taken_up = (
        stay()
        .when(is_again)
        .do(
            again.remove(Begin.group),
            in_flight.add(Begin.group),
            next_group.set(next_group.max(Begin.group + 1)),
        )
    )
    begins_again = taken_up.orelse(stopped)
    begins = choose(
        taken_up,
        stay()
        .when(again.is_empty(), Begin.group == next_group)
        .do(in_flight.add(Begin.group), next_group.set(next_group + 1)),
        orelse=not_next,
    )

    completes = (
        stay()
        .when(in_flight.has(Completed.group))
        .do(in_flight.remove(Completed.group), ready.add(Completed.group))
        .orelse(not_in_flight)
    )
    fails = (
        stay()
        .when(in_flight.has(Failed.group))
        .do(in_flight.remove(Failed.group), again.add(Failed.group))
        .orelse(not_in_flight)
    )
    drops = (
        stay()
        .when(in_flight.has(Dropped.group) | ready.has(Dropped.group))
        .do(in_flight.remove(Dropped.group), ready.remove(Dropped.group))
        .orelse(not_held)
    )
    claims = (
        stay().when(ready.has(Claim.group)).do(ready.remove(Claim.group), claimed.add(Claim.group)).orelse(not_ready)
    )
    trains = stay().do(claimed.clear())
    gives_back = stay().do(ready.set(ready | claimed), claimed.clear())
    rewinds = stay().do(
        again.set(again | (Rewind.lacking - in_flight - ready - claimed)),
        ready.set(ready | claimed),
        claimed.clear(),
    )

    # fmt: off
    table = Table(
        columns(        STOPPED,      RUNNING,    CLOSED),
        row(Restore,    restores,     in_use,     closed),
        row(Start,      RUNNING,      ignore,     closed),
        row(Stop,       ignore,       STOPPED,    ignore),
        row(Begin,      begins_again, begins,     closed),
        row(Completed,  completes,    completes,  completes),
        row(Failed,     fails,        fails,      fails),
        row(Dropped,    drops,        drops,      drops),
        row(Claim,      claims,       claims,     closed),
        row(Trained,    trains,       trains,     trains),
        row(GiveBack,   gives_back,   gives_back, gives_back),
        row(Rewind,     rewinds,      rewinds,    closed),
        row(Close,      CLOSED,       CLOSED,     ignore),
    )
    # fmt: on
    waits_once = always((again - in_flight - ready - claimed) == again)
    runs_once = always(((in_flight - ready - claimed) == in_flight) & ((ready - claimed) == ready))
    scope = Scope(nat=1, nats=(("next_group", 2),))
