"""The trainer: a group of ranks that train, publish, save or load together, one thing at a time.

Rules of this file:

- One thing at a time: what comes meanwhile is refused busy. What is done is a job, and jobs are numbered:
  an answer of an earlier one counts for none.
- A job is over when every rank has answered it. Ranks of which some did it and some did not, and ranks
  that published different weights, are no longer one trainer: that is final for this incarnation.
- A version is published once, and only a newer one after it.
- A job that no rank could do changes nothing; any other failure is final for this incarnation.
- A rank alone goes by the same table, as a group of itself.
"""

from .containers import Opt, SetOf
from .expressions import Nat, Note
from .ir import Scope
from .machine import Event, Inside, Machine, Output
from .sorts import BatchId, Digest, Rank
from .table import Refuse, State, Table, choose, columns, fence, go, ignore, row, stay


class Trainer(Machine):
    """The trainer: a group of ranks that train, publish, save or load together, one thing at a time."""

    IDLE, TRAINING, PUBLISHING, SAVING, LOADING, FAILED = State(), State(), State(), State(), State(), State()

    ranks = SetOf(Rank).given()
    term = Nat(0)
    version = Opt(Nat)
    job = Nat(0)
    publishing = Opt(Nat)
    batch = Opt(BatchId)
    done = SetOf(Rank)
    unable = SetOf(Rank)
    digest = Opt(Digest)

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

    class Answer(Inside):
        """What became of the job of this number on a rank."""
        rank: Rank
        job: Nat
    class Trained(Answer):
        """The rank has taken the step."""
    class Published(Answer):
        """Manifest and bytes of the version are durable, and the rank's weights have this digest."""
        digest: Digest
    class Saved(Answer):
        """The checkpoint is durable, with the rank's part."""
    class Loaded(Answer):
        """The rank has read its part of the checkpoint."""
    class Undone(Answer):
        """The rank could not do it, and has changed nothing."""
        why: Note
    class Failed(Inside):
        """The rank's state is in doubt, or the rank has gone."""
        rank: Rank
        why: Note

    class StartTraining(Output):
        """Train one step on the batch, on every rank."""
        job: Nat
        batch: BatchId
    class StartPublishing(Output):
        """Publish the weights, on every rank."""
        job: Nat
        version: Nat
    class StartSaving(Output):
        """Save a checkpoint, on every rank."""
        job: Nat
        path: Note
    class StartLoading(Output):
        """Load a checkpoint, on every rank."""
        job: Nat
        path: Note
    # fmt: on

    stale_term = Refuse("a controller of a higher term rules")
    unclaimed = Refuse("this term has not claimed the trainer")
    busy = Refuse("the trainer does one thing at a time", retry=True)
    not_newer = Refuse("the version is not newer than the last one published")
    failed = Refuse("the trainer has failed: replace it")

    claims = stay().when(Claim.term > term).do(term.set(Claim.term)).orelse(ignore)
    trains = (
        go(TRAINING)
        .do(job.set(job + 1), batch.set(Train.batch))
        .emit(StartTraining(job=job + 1, batch=Train.batch))
    )
    trains_again = ignore.when(batch == Train.batch).orelse(busy)
    newer = ~version.is_some() | (version.or_else(0) < Publish.version)
    publishes = choose(
        go(PUBLISHING)
        .when(newer)
        .do(job.set(job + 1), publishing.set(Publish.version))
        .emit(StartPublishing(job=job + 1, version=Publish.version)),
        ignore.when(version == Publish.version),
        orelse=not_newer,
    )
    publishes_again = ignore.when(publishing == Publish.version).orelse(busy)
    saves = go(SAVING).do(job.set(job + 1)).emit(StartSaving(job=job + 1, path=Save.path))
    loads = go(LOADING).do(job.set(job + 1)).emit(StartLoading(job=job + 1, path=Load.path))

    all_did = unable.is_empty()
    none_did = done.is_empty()
    trained = choose(
        go(IDLE)
        .when(ranks.has(Trained.rank), all_did, done.including(Trained.rank) == ranks)
        .do(batch.clear(), done.clear()),
        stay()
        .when(ranks.has(Trained.rank), all_did, done.including(Trained.rank) != ranks)
        .do(done.add(Trained.rank)),
        go(FAILED).when(ranks.has(Trained.rank), ~all_did),
        orelse=ignore,
    )
    # The first rank that answers says which digest the others must have.
    agrees = all_did & (~digest.is_some() | (digest == Published.digest))
    published = choose(
        go(IDLE)
        .when(ranks.has(Published.rank), agrees, done.including(Published.rank) == ranks)
        .do(version.set(publishing), publishing.clear(), done.clear(), digest.clear()),
        stay()
        .when(ranks.has(Published.rank), agrees, done.including(Published.rank) != ranks)
        .do(done.add(Published.rank), digest.set(Published.digest)),
        go(FAILED).when(ranks.has(Published.rank), ~agrees),
        orelse=ignore,
    )
    saved = choose(
        go(IDLE).when(ranks.has(Saved.rank), all_did, done.including(Saved.rank) == ranks).do(done.clear()),
        stay().when(ranks.has(Saved.rank), all_did, done.including(Saved.rank) != ranks).do(done.add(Saved.rank)),
        go(FAILED).when(ranks.has(Saved.rank), ~all_did),
        orelse=ignore,
    )
    loaded = choose(
        go(IDLE).when(ranks.has(Loaded.rank), all_did, done.including(Loaded.rank) == ranks).do(done.clear()),
        stay().when(ranks.has(Loaded.rank), all_did, done.including(Loaded.rank) != ranks).do(done.add(Loaded.rank)),
        go(FAILED).when(ranks.has(Loaded.rank), ~all_did),
        orelse=ignore,
    )
    undoes = choose(
        go(IDLE)
        .when(ranks.has(Undone.rank), none_did, unable.including(Undone.rank) == ranks)
        .do(batch.clear(), publishing.clear(), unable.clear()),
        stay()
        .when(ranks.has(Undone.rank), none_did, unable.including(Undone.rank) != ranks)
        .do(unable.add(Undone.rank)),
        go(FAILED).when(ranks.has(Undone.rank), ~none_did),
        orelse=ignore,
    )
    fails = go(FAILED).when(ranks.has(Failed.rank)).orelse(ignore)

    # fmt: off
    table = Table(
        fence(Claim,   stale_term.when(Claim.term < term)),
        fence(Control, stale_term.when(Control.term < term), unclaimed.when(Control.term > term)),
        fence(Answer,  ignore.when(Answer.job != job)),
        columns(        IDLE,      TRAINING,     PUBLISHING,      SAVING, LOADING, FAILED),
        row(Claim,      claims,    claims,       claims,          claims, claims,  claims),
        row(Train,      trains,    trains_again, busy,            busy,   busy,    failed),
        row(Publish,    publishes, busy,         publishes_again, busy,   busy,    failed),
        row(Save,       saves,     busy,         busy,            busy,   busy,    failed),
        row(Load,       loads,     busy,         busy,            busy,   busy,    failed),
        row(Trained,    ignore,    trained,      ignore,          ignore, ignore,  ignore),
        row(Published,  ignore,    ignore,       published,       ignore, ignore,  ignore),
        row(Saved,      ignore,    ignore,       ignore,          saved,  ignore,  ignore),
        row(Loaded,     ignore,    ignore,       ignore,          ignore, loaded,  ignore),
        row(Undone,     ignore,    undoes,       undoes,          undoes, undoes,  ignore),
        row(Failed,     fails,     fails,        fails,           fails,  fails,   ignore),
    )
    # fmt: on
    scope = Scope(
        nat=1, nats=(("version", 2), ("publishing", 2), ("job", 2)), ids=(("BatchId", 2), ("Rank", 2), ("Digest", 2))
    )  # fmt: skip
