"""The life of a training run: what it does now, and what comes next.

Rules of this file:

- One thing at a time. What comes of it is the next event; what could not be done and changed nothing is asked again.
- `update` is the step that is being made, from 1. Whether a checkpoint is due after it is known before anything is
  produced for it: after every `save_every` steps, and after the last, where anything is saved.
- New weights are published every `sync_every` steps, and after the last one. On other steps a device that was lent
  goes back to the version that it had.
- A trainer that is lost takes what it trained since the last checkpoint with it: a new life goes back to that, and
  its weights are published under a new number.
- A failure is told before anything is taken down, and what comes of that does not hide it.
"""

from .containers import Opt
from .expressions import Bool, EnumOf, Nat, Note
from .ir import Scope
from .machine import Inside, Machine, Output
from .properties import always, never
from .sorts import Stage
from .table import Refuse, State, Table, choose, columns, go, ignore, row, stay


class Run(Machine):
    """The life of a training run, step by step."""

    STARTING, PRODUCING, LENDING, TRAINING, PUBLISHING, SYNCING, SAVING, RESTORING, ENDING, ENDED, FAILED = (
        State(), State(), State(), State(), State(), State(), State(), State(), State(), State(), State(),
    )  # fmt: skip

    colocated = Bool().given()
    stage = EnumOf(Stage.WHOLE).given()
    goal = Opt(Nat).given()
    save_every = Nat().given()
    sync_every = Nat().given()

    update = Nat(0)
    kept = Nat(0)
    renewed = Nat(0)
    version = Opt(Nat)
    due = Bool(False)
    reason = Note()

    # fmt: off
    class Started(Inside):
        """Every process is there, and the version is served; so many updates were made before."""
        update: Nat
        version: Nat
    class Gathered(Inside):
        """The step has its groups."""
    class Lent(Inside):
        """Every device is the trainer's."""
    class Trained(Inside):
        """The trainer has taken the step."""
    class Published(Inside):
        """The weights are durable under this version."""
        version: Nat
    class Synced(Inside):
        """The version is served, and what was lent is returned."""
        version: Nat
    class Saved(Inside):
        """The checkpoint of the step is durable."""
    class NotSaved(Inside):
        """There is no checkpoint of the step, and the run goes on without."""
        why: Note
    class Undone(Inside):
        """What was asked for was not done, and has changed nothing."""
        why: Note
    class TrainerLost(Inside):
        """The trainer has ended or failed: what it trained since the last checkpoint is lost."""
        why: Note
    class Restored(Inside):
        """A new life of the trainer has the weights of the checkpoint of this step, durable under this version."""
        update: Nat
        version: Nat
    class Stop(Inside):
        """Somebody wants the run to end."""
    class Failed(Inside):
        """The run cannot go on."""
        why: Note
    class Ended(Inside):
        """Nothing of the run is left but its files."""

    class StartGather(Output):
        """Produce and gather the groups of this step; a checkpoint is due after it, or not."""
        update: Nat
        due: Bool
    class StartLend(Output):
        """Seal, drain, and have every device lent."""
    class StartTrain(Output):
        """Train the step on what was gathered for it."""
        update: Nat
    class StartPublish(Output):
        """Publish the weights after the step under a new number."""
        update: Nat
    class StartSync(Output):
        """Have this version served: by the return of what is lent, else by a sync."""
        version: Nat
    class StartSave(Output):
        """Save a checkpoint of the step."""
        update: Nat
    class StartRestore(Output):
        """Have a new life of the trainer go back to the last checkpoint, and publish its weights."""
    class StartEnd(Output):
        """Stop agents and processes, and remove what they leave."""
    # fmt: on

    out_of_step = Refuse("this is not what the run waits for")
    not_newer = Refuse("the version is not newer than the one before")
    ahead = Refuse("the run has not made this update yet: the checkpoint is of another run")
    other_version = Refuse("another version is to be served")

    is_whole = stage == Stage.WHOLE
    saves_any = save_every >= 1
    last = goal.or_else(0)
    is_last = goal.is_some() & (last <= update)
    ends = go(ENDING).emit(StartEnd())

    next_due = saves_any & ((kept + save_every <= update + 1) | (last == update + 1))
    goes_on = (
        go(PRODUCING)
        .do(update.set(update + 1), due.set(next_due))
        .emit(StartGather(update=update + 1, due=next_due))
    )
    saves = go(SAVING).emit(StartSave(update=update))

    restored_due = saves_any & ((save_every <= 1) | (last == Restored.update + 1))
    first_due = saves_any & ((save_every <= 1) | (last == Started.update + 1))
    starts = choose(
        go(ENDING)
        .when(goal.is_some(), last <= Started.update)
        .do(update.set(Started.update), version.set(Started.version))
        .emit(StartEnd()),
        orelse=go(PRODUCING)
        .do(
            update.set(Started.update + 1),
            kept.set(Started.update),
            renewed.set(Started.update),
            version.set(Started.version),
            due.set(first_due),
        )
        .emit(StartGather(update=Started.update + 1, due=first_due)),
    )

    is_rollout = stage == Stage.ROLLOUT_ONLY
    gathers = choose(
        go(LENDING).when(is_whole, colocated).emit(StartLend()),
        saves.when(is_rollout, due),
        ends.when(is_rollout, ~due, is_last),
        goes_on.when(is_rollout, ~due, ~is_last),
        orelse=go(TRAINING).emit(StartTrain(update=update)),
    )
    lends = go(TRAINING).emit(StartTrain(update=update))
    renews = is_whole & ((renewed + sync_every <= update) | is_last)
    returns = is_whole & ~renews & colocated
    trains = choose(
        go(PUBLISHING).when(renews).emit(StartPublish(update=update)),
        go(SYNCING).when(returns).emit(StartSync(version=version.or_else(0))),
        saves.when(~renews, ~returns, due),
        ends.when(~renews, ~returns, ~due, is_last),
        orelse=goes_on,
    )
    publishes = (
        go(SYNCING)
        .when(version.or_else(0) < Published.version)
        .do(version.set(Published.version), renewed.set(update))
        .emit(StartSync(version=Published.version))
        .orelse(not_newer)
    )
    is_it = version == Synced.version
    syncs = choose(
        saves.when(is_it, due),
        ends.when(is_it, ~due, is_last),
        goes_on.when(is_it, ~due, ~is_last),
        orelse=other_version,
    )
    due_after_save = (save_every <= 1) | (last == update + 1)
    was_saved = choose(
        go(ENDING).when(is_last).do(kept.set(update), due.set(False)).emit(StartEnd()),
        orelse=go(PRODUCING)
        .do(update.set(update + 1), kept.set(update), due.set(due_after_save))
        .emit(StartGather(update=update + 1, due=due_after_save)),
    )
    was_not_saved = ends.when(is_last).orelse(goes_on)

    loses = go(RESTORING).emit(StartRestore())
    is_ahead = update < Restored.update
    was_last = goal.is_some() & (last <= Restored.update)
    restores = choose(
        ahead.when(is_ahead),
        not_newer.when(~is_ahead, is_whole, Restored.version <= version.or_else(0)),
        go(SYNCING)
        .when(~is_ahead, is_whole, version.or_else(0) < Restored.version)
        .do(
            update.set(Restored.update),
            kept.set(Restored.update),
            renewed.set(Restored.update),
            version.set(Restored.version),
            due.set(False),
        )
        .emit(StartSync(version=Restored.version)),
        go(ENDING)
        .when(~is_ahead, ~is_whole, was_last)
        .do(update.set(Restored.update), kept.set(Restored.update), due.set(False))
        .emit(StartEnd()),
        orelse=go(PRODUCING)
        .do(update.set(Restored.update + 1), kept.set(Restored.update), due.set(restored_due))
        .emit(StartGather(update=Restored.update + 1, due=restored_due)),
    )

    lends_again = stay().emit(StartLend())
    trains_again = stay().emit(StartTrain(update=update))
    publishes_again = stay().emit(StartPublish(update=update))
    syncs_again = stay().emit(StartSync(version=version.or_else(0)))
    saves_again = stay().emit(StartSave(update=update))
    restores_again = stay().emit(StartRestore())
    gathers_again = stay().emit(StartGather(update=update, due=due))

    fails = go(FAILED).do(reason.set(Failed.why)).emit(StartEnd())
    fails_ending = go(FAILED).do(reason.set(Failed.why))

    # fmt: off
    table = Table(
        columns(         STARTING,    PRODUCING,     LENDING,     TRAINING,     PUBLISHING,      SYNCING,     SAVING,        RESTORING,      ENDING,       ENDED,  FAILED),
        row(Started,     starts,      out_of_step,   out_of_step, out_of_step,  out_of_step,     out_of_step, out_of_step,   out_of_step,    ignore,       ignore, ignore),
        row(Gathered,    out_of_step, gathers,       out_of_step, out_of_step,  out_of_step,     out_of_step, out_of_step,   out_of_step,    ignore,       ignore, ignore),
        row(Lent,        out_of_step, out_of_step,   lends,       out_of_step,  out_of_step,     out_of_step, out_of_step,   out_of_step,    ignore,       ignore, ignore),
        row(Trained,     out_of_step, out_of_step,   out_of_step, trains,       out_of_step,     out_of_step, out_of_step,   out_of_step,    ignore,       ignore, ignore),
        row(Published,   out_of_step, out_of_step,   out_of_step, out_of_step,  publishes,       out_of_step, out_of_step,   out_of_step,    ignore,       ignore, ignore),
        row(Synced,      out_of_step, out_of_step,   out_of_step, out_of_step,  out_of_step,     syncs,       out_of_step,   out_of_step,    ignore,       ignore, ignore),
        row(Saved,       out_of_step, out_of_step,   out_of_step, out_of_step,  out_of_step,     out_of_step, was_saved,     out_of_step,    ignore,       ignore, ignore),
        row(NotSaved,    out_of_step, out_of_step,   out_of_step, out_of_step,  out_of_step,     out_of_step, was_not_saved, out_of_step,    ignore,       ignore, ignore),
        row(Undone,      out_of_step, gathers_again, lends_again, trains_again, publishes_again, syncs_again, saves_again,   restores_again, ignore,       ignore, ignore),
        row(TrainerLost, out_of_step, loses,         loses,       loses,        loses,           loses,       loses,         restores_again, ignore,       ignore, ignore),
        row(Restored,    out_of_step, out_of_step,   out_of_step, out_of_step,  out_of_step,     out_of_step, out_of_step,   restores,       ignore,       ignore, ignore),
        row(Stop,        ends,        ends,          ends,        ends,         ends,            ends,        ends,          ends,           ignore,       ignore, ignore),
        row(Failed,      fails,       fails,         fails,       fails,        fails,           fails,       fails,         fails,          fails_ending, ignore, ignore),
        row(Ended,       out_of_step, out_of_step,   out_of_step, out_of_step,  out_of_step,     out_of_step, out_of_step,   out_of_step,    ENDED,        ignore, ignore),
    )
    # fmt: on
    works = PRODUCING | LENDING | TRAINING | PUBLISHING | SYNCING | SAVING
    only_its_own_devices = never(LENDING & ~(colocated & is_whole))
    saves_what_is_due = never(SAVING & ~due)
    serves_something = never((PUBLISHING | SYNCING) & ~version.is_some())
    kept_before = always(kept <= update)
    stops_at_the_goal = never(works & goal.is_some() & (last < update))
    scope = Scope(
        nat=1,
        nats=(("update", 2), ("kept", 2), ("renewed", 2), ("goal", 2), ("save_every", 2), ("sync_every", 2)),
    )
