"""The trainer group: it trains, publishes, saves or loads, one at a time.

Rules of this file:

- One thing at a time: what comes meanwhile is refused busy.
- A version is published once, and only a newer one after it.
- A save or load that could not be done changes nothing; any other failure is final for this
  incarnation.
"""

from .containers import Opt
from .expressions import Nat, Note
from .ir import Scope
from .machine import Event, Inside, Machine, Output
from .sorts import BatchId
from .table import Refuse, State, Table, choose, columns, fence, go, ignore, row, stay


class Trainer(Machine):
    """The trainer group: it trains, publishes, saves or loads, one at a time."""

    IDLE, TRAINING, PUBLISHING, SAVING, LOADING, FAILED = State(), State(), State(), State(), State(), State()

    term = Nat(0)
    version = Opt(Nat)
    publishing = Opt(Nat)
    batch = Opt(BatchId)

    # fmt: off
    class Claim(Event):
        """A controller of a higher term takes the trainer over."""
        term: Nat
    class Control(Event):
        """A command of the controller that holds the term."""
        term: Nat
    class Train(Control):
        """Train one step on the batch of this id."""
        batch: BatchId
    class Publish(Control):
        """Write the weights as this version, durably, with its manifest."""
        version: Nat
    class Save(Control):
        """Write a checkpoint."""
        path: Note
    class Load(Control):
        """Read a checkpoint."""
        path: Note
    class Trained(Inside):
        """The step is done."""
        batch: BatchId
    class Published(Inside):
        """Manifest and bytes of the version are durable."""
        version: Nat
    class Saved(Inside):
        """The checkpoint is durable."""
    class Loaded(Inside):
        """The checkpoint is read."""
    class Undone(Inside):
        """The save or load could not be done, and has changed nothing."""
        why: Note
    class Failed(Inside):
        """The trainer's state is in doubt."""
        why: Note

    class StartTraining(Output):
        """Train one step on the batch."""
        batch: BatchId
    class StartPublishing(Output):
        """Publish the weights."""
        version: Nat
    class StartSaving(Output):
        """Save a checkpoint."""
        path: Note
    class StartLoading(Output):
        """Load a checkpoint."""
        path: Note
    # fmt: on

    stale_term = Refuse("a controller of a higher term rules")
    unclaimed = Refuse("this term has not claimed the trainer")
    busy = Refuse("the trainer does one thing at a time", retry=True)
    not_newer = Refuse("the version is not newer than the last one published")
    failed = Refuse("the trainer has failed: replace it")

    claims = stay().when(Claim.term > term).do(term.set(Claim.term)).orelse(ignore)
    trains = go(TRAINING).do(batch.set(Train.batch)).emit(StartTraining(batch=Train.batch))
    trains_again = ignore.when(batch == Train.batch).orelse(busy)
    newer = ~version.is_some() | (version.or_else(0) < Publish.version)
    publishes = choose(
        go(PUBLISHING)
        .when(newer)
        .do(publishing.set(Publish.version))
        .emit(StartPublishing(version=Publish.version)),
        ignore.when(version == Publish.version),
        orelse=not_newer,
    )
    publishes_again = ignore.when(publishing == Publish.version).orelse(busy)
    saves = go(SAVING).emit(StartSaving(path=Save.path))
    loads = go(LOADING).emit(StartLoading(path=Load.path))
    trained = go(IDLE).when(batch == Trained.batch).do(batch.clear()).orelse(ignore)
    published = go(IDLE).when(publishing == Published.version).do(version.set(publishing), publishing.clear()).orelse(ignore)
    fails = go(FAILED)

    # fmt: off
    table = Table(
        fence(Claim,   stale_term.when(Claim.term < term)),
        fence(Control, stale_term.when(Control.term < term), unclaimed.when(Control.term > term)),
        columns(        IDLE,      TRAINING,     PUBLISHING,      SAVING, LOADING, FAILED),
        row(Claim,      claims,    claims,       claims,          claims, claims,  claims),
        row(Train,      trains,    trains_again, busy,            busy,   busy,    failed),
        row(Publish,    publishes, busy,         publishes_again, busy,   busy,    failed),
        row(Save,       saves,     busy,         busy,            busy,   busy,    failed),
        row(Load,       loads,     busy,         busy,            busy,   busy,    failed),
        row(Trained,    ignore,    trained,      ignore,          ignore, ignore,  ignore),
        row(Published,  ignore,    ignore,       published,       ignore, ignore,  ignore),
        row(Saved,      ignore,    ignore,       ignore,          IDLE,   ignore,  ignore),
        row(Loaded,     ignore,    ignore,       ignore,          ignore, IDLE,    ignore),
        row(Undone,     ignore,    ignore,       ignore,          IDLE,   IDLE,    ignore),
        row(Failed,     fails,     fails,        fails,           fails,  fails,   ignore),
    )
    # fmt: on
    scope = Scope(nat=1, nats=(("version", 2), ("publishing", 2)), ids=(("BatchId", 2),))
