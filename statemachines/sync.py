"""The controller's operation: a sync of a cohort of replicas, with barriers over its members.

Rules of this file:

- No drain before every member has acknowledged the seal; no install before all are drained; no
  reopen before all have installed and `published` is durable; announced after all have closed.
- A member that fails or does not answer in time leaves the cohort (`Drop`). Before the first install
  the operation goes on while `minimum` members remain, else all are resumed and closed on the old
  version. Once installing, those that remain go on.
- While the machine is not IDLE no session is bound and no new work is scheduled.
- One instance lives as long as its controller's term; FAILED is left by a new controller.
"""

from .containers import Opt, SetOf
from .expressions import Bool, EnumOf, Nat, Note
from .ir import Scope
from .machine import Inside, Machine, Output
from .properties import never
from .sorts import Mode, ReplicaId
from .table import Refuse, State, Table, choose, columns, go, ignore, row, stay


class Sync(Machine):
    """The controller's operation: a sync of a cohort of replicas, with barriers over its members."""

    IDLE, SEALING, DRAINING, LENT, INSTALLING, RECORDING, REOPENING, ROLLING_BACK, FAILED = (
        State(), State(), State(), State(), State(), State(), State(), State(), State(),
    )  # fmt: skip

    term = Nat(0).given()
    minimum = Nat(1).given()
    epoch = Nat(0)
    published = Opt(Nat)
    version = Opt(Nat)
    mode = EnumOf(Mode.WAIT)
    lend = Bool(False)
    members = SetOf(ReplicaId)
    answered = SetOf(ReplicaId)
    refusing = SetOf(ReplicaId)

    # fmt: off
    class Restore(Inside):
        """What the durable counter and register say when the controller begins."""
        epoch: Nat
        published: Opt[Nat]
    class Begin(Inside):
        """Start an operation: install `version` on `members`; with `lend`, lend them out first."""
        epoch: Nat
        version: Nat
        members: SetOf[ReplicaId]
        mode: EnumOf[Mode]
        lend: Bool
    class Sealed(Inside):
        """The member has acknowledged the seal."""
        replica: ReplicaId
    class Drained(Inside):
        """The member's gate is drained."""
        replica: ReplicaId
    class Trained(Inside):
        """The trainer no longer uses the lent devices."""
    class Installed(Inside):
        """Every rank of the member has proved the version."""
        replica: ReplicaId
    class Declined(Inside):
        """The member's gate refused the install: it still holds what it held."""
        replica: ReplicaId
    class Recorded(Inside):
        """The register says `published = version`, durably."""
    class Overruled(Inside):
        """A controller of a higher term rules."""
    class Closed(Inside):
        """The member's gate is open again."""
        replica: ReplicaId
    class Drop(Inside):
        """The member failed or did not answer in time: it leaves the cohort."""
        replica: ReplicaId
        why: Note

    class SendSeal(Output):
        """Seal every member."""
        epoch: Nat
        members: SetOf[ReplicaId]
        mode: EnumOf[Mode]
    class SendDrain(Output):
        """Drain every member, and watch until its gate is drained."""
        epoch: Nat
        members: SetOf[ReplicaId]
    class SendLend(Output):
        """Lend every member's device to the trainer, and renew while it trains."""
        epoch: Nat
        members: SetOf[ReplicaId]
    class SendInstall(Output):
        """Install on every member."""
        epoch: Nat
        members: SetOf[ReplicaId]
        version: Nat
    class Record(Output):
        """Write `published = version` durably, conditional on the term."""
        version: Nat
    class SendReopen(Output):
        """Reopen and close every member."""
        epoch: Nat
        members: SetOf[ReplicaId]
    class SendResume(Output):
        """Resume and close every member on the old version."""
        epoch: Nat
        members: SetOf[ReplicaId]
    class Announce(Output):
        """The version is published and every member is open."""
        version: Nat
    class Report(Output):
        """The operation has failed; the members are open on the old version."""
        epoch: Nat
    # fmt: on

    busy = Refuse("an operation is running", retry=True)
    not_later = Refuse("the epoch was used before: take one from the counter")
    not_newer = Refuse("the version is not newer than the published one")
    too_few = Refuse("fewer members than the minimum of the cohort", retry=True)
    out_of_step = Refuse("the operation is not waiting for this")
    failed = Refuse("this controller has failed: a new one takes over")

    is_newer = ~published.is_some() | (published.or_else(0) < Begin.version)
    is_same = Begin.lend & (published == Begin.version)
    later = Begin.epoch > epoch
    enough = (minimum <= Begin.members.size()) & ~Begin.members.is_empty()
    begins = choose(
        go(SEALING)
        .when(later, enough, is_newer | is_same)
        .do(epoch.set(Begin.epoch), version.set(Begin.version), mode.set(Begin.mode), lend.set(Begin.lend),
            members.set(Begin.members), answered.clear(), refusing.clear())
        .emit(SendSeal(epoch=Begin.epoch, members=Begin.members, mode=Begin.mode)),
        not_later.when(~later),
        too_few.when(later, ~enough),
        orelse=not_newer,
    )  # fmt: skip
    restores = stay().when(Restore.epoch >= epoch).do(epoch.set(Restore.epoch), published.set(Restore.published)).orelse(ignore)

    sealed_all = members <= answered.including(Sealed.replica)
    seals = choose(
        stay().when(members.has(Sealed.replica), ~sealed_all).do(answered.add(Sealed.replica)),
        go(DRAINING)
        .when(members.has(Sealed.replica), sealed_all)
        .do(answered.clear())
        .emit(SendDrain(epoch=epoch, members=members)),
        orelse=ignore,
    )

    target = version.or_else(0)
    drained_all = members <= answered.including(Drained.replica)
    drains = choose(
        stay().when(members.has(Drained.replica), ~drained_all).do(answered.add(Drained.replica)),
        go(INSTALLING)
        .when(members.has(Drained.replica), drained_all, ~lend)
        .do(answered.clear())
        .emit(SendInstall(epoch=epoch, members=members, version=target)),
        go(LENT)
        .when(members.has(Drained.replica), drained_all, lend)
        .do(answered.clear())
        .emit(SendLend(epoch=epoch, members=members)),
        orelse=ignore,
    )
    trains = go(INSTALLING).emit(SendInstall(epoch=epoch, members=members, version=target))

    proved_all = members <= (answered.including(Installed.replica) | refusing)
    installs = choose(
        stay().when(members.has(Installed.replica), ~proved_all).do(answered.add(Installed.replica)),
        go(RECORDING)
        .when(members.has(Installed.replica), proved_all)
        .do(members.set(answered.including(Installed.replica)), answered.clear(), refusing.clear())
        .emit(Record(version=target)),
        orelse=ignore,
    )
    decided_all = members <= (refusing.including(Declined.replica) | answered)
    declines = choose(
        stay().when(members.has(Declined.replica), ~decided_all).do(refusing.add(Declined.replica)),
        go(RECORDING)
        .when(members.has(Declined.replica), decided_all, ~answered.is_empty())
        .do(members.set(answered), answered.clear(), refusing.clear())
        .emit(Record(version=target)),
        go(ROLLING_BACK)
        .when(members.has(Declined.replica), decided_all, answered.is_empty())
        .do(refusing.clear())
        .emit(SendResume(epoch=epoch, members=members)),
        orelse=ignore,
    )
    overruled = go(FAILED)

    records = choose(
        go(REOPENING)
        .when(~members.is_empty())
        .do(published.set(version))
        .emit(SendReopen(epoch=epoch, members=members)),
        orelse=go(IDLE).do(published.set(version)).emit(Announce(version=target)),
    )
    closed_all = members <= answered.including(Closed.replica)
    closes = choose(
        stay().when(members.has(Closed.replica), ~closed_all).do(answered.add(Closed.replica)),
        go(IDLE)
        .when(members.has(Closed.replica), closed_all)
        .do(answered.clear(), members.clear())
        .emit(Announce(version=target)),
        orelse=ignore,
    )
    closes_old = choose(
        stay().when(members.has(Closed.replica), ~closed_all).do(answered.add(Closed.replica)),
        go(IDLE)
        .when(members.has(Closed.replica), closed_all)
        .do(answered.clear(), members.clear())
        .emit(Report(epoch=epoch)),
        orelse=ignore,
    )

    rest = members.excluding(Drop.replica)
    kept = answered.excluding(Drop.replica)
    is_member = members.has(Drop.replica)
    enough_left = (minimum <= rest.size()) & ~rest.is_empty()
    waiting = ~(rest <= kept)
    leaves = stay().when(is_member, enough_left, waiting).do(members.remove(Drop.replica), answered.remove(Drop.replica))
    gives_up = (
        go(ROLLING_BACK)
        .when(is_member, ~enough_left, ~rest.is_empty())
        .do(members.remove(Drop.replica), answered.clear())
        .emit(SendResume(epoch=epoch, members=rest))
    )
    nobody_left = (
        go(IDLE)
        .when(is_member, ~enough_left, rest.is_empty())
        .do(members.clear(), answered.clear(), refusing.clear())
        .emit(Report(epoch=epoch))
    )
    drops_sealing = choose(
        leaves,
        go(DRAINING)
        .when(is_member, enough_left, ~waiting)
        .do(members.remove(Drop.replica), answered.clear())
        .emit(SendDrain(epoch=epoch, members=rest)),
        gives_up,
        nobody_left,
        orelse=ignore,
    )
    drops_draining = choose(
        leaves,
        go(INSTALLING)
        .when(is_member, enough_left, ~waiting, ~lend)
        .do(members.remove(Drop.replica), answered.clear())
        .emit(SendInstall(epoch=epoch, members=rest, version=target)),
        go(LENT)
        .when(is_member, enough_left, ~waiting, lend)
        .do(members.remove(Drop.replica), answered.clear())
        .emit(SendLend(epoch=epoch, members=rest)),
        gives_up,
        nobody_left,
        orelse=ignore,
    )
    drops_lent = choose(
        stay().when(is_member, ~rest.is_empty()).do(members.remove(Drop.replica)),
        go(IDLE).when(is_member, rest.is_empty()).do(members.clear()).emit(Report(epoch=epoch)),
        orelse=ignore,
    )
    undecided = ~(rest <= (kept | refusing))
    drops_installing = choose(
        stay()
        .when(is_member, undecided)
        .do(members.remove(Drop.replica), answered.remove(Drop.replica), refusing.remove(Drop.replica)),
        go(RECORDING)
        .when(is_member, ~undecided, ~kept.is_empty())
        .do(members.set(kept), answered.clear(), refusing.clear())
        .emit(Record(version=target)),
        go(ROLLING_BACK)
        .when(is_member, ~undecided, kept.is_empty(), ~rest.is_empty())
        .do(members.remove(Drop.replica), answered.clear(), refusing.clear())
        .emit(SendResume(epoch=epoch, members=rest)),
        go(IDLE)
        .when(is_member, ~undecided, kept.is_empty(), rest.is_empty())
        .do(members.clear(), answered.clear(), refusing.clear())
        .emit(Report(epoch=epoch)),
        orelse=ignore,
    )
    drops_recording = stay().when(is_member).do(members.remove(Drop.replica)).orelse(ignore)
    still_closing = stay().when(is_member, waiting).do(members.remove(Drop.replica), answered.remove(Drop.replica))
    drops_reopening = choose(
        still_closing,
        go(IDLE).when(is_member, ~waiting).do(members.clear(), answered.clear()).emit(Announce(version=target)),
        orelse=ignore,
    )
    drops_back = choose(
        still_closing,
        go(IDLE).when(is_member, ~waiting).do(members.clear(), answered.clear()).emit(Report(epoch=epoch)),
        orelse=ignore,
    )

    # fmt: off
    table = Table(
        columns(        IDLE,        SEALING,       DRAINING,       LENT,        INSTALLING,       RECORDING,       REOPENING,       ROLLING_BACK, FAILED),
        row(Restore,    restores,    busy,          busy,           busy,        busy,             busy,            busy,            busy,         failed),
        row(Begin,      begins,      busy,          busy,           busy,        busy,             busy,            busy,            busy,         failed),
        row(Sealed,     ignore,      seals,         ignore,         ignore,      ignore,           ignore,          ignore,          ignore,       ignore),
        row(Drained,    ignore,      out_of_step,   drains,         ignore,      ignore,           ignore,          ignore,          ignore,       ignore),
        row(Trained,    ignore,      out_of_step,   out_of_step,    trains,      ignore,           ignore,          ignore,          ignore,       ignore),
        row(Installed,  ignore,      out_of_step,   out_of_step,    out_of_step, installs,         ignore,          ignore,          ignore,       ignore),
        row(Declined,   ignore,      out_of_step,   out_of_step,    out_of_step, declines,         ignore,          ignore,          ignore,       ignore),
        row(Recorded,   ignore,      out_of_step,   out_of_step,    out_of_step, out_of_step,      records,         ignore,          ignore,       ignore),
        row(Overruled,  overruled,   overruled,     overruled,      overruled,   overruled,        overruled,       overruled,       overruled,    ignore),
        row(Closed,     ignore,      out_of_step,   out_of_step,    out_of_step, out_of_step,      out_of_step,     closes,          closes_old,   ignore),
        row(Drop,       ignore,      drops_sealing, drops_draining, drops_lent,  drops_installing, drops_recording, drops_reopening, drops_back,   ignore),
    )
    # fmt: on
    asks = SEALING | DRAINING | LENT | INSTALLING | REOPENING | ROLLING_BACK
    asks_somebody = never(asks & members.is_empty())
    scope = Scope(nat=1, nats=(("epoch", 1), ("version", 1), ("published", 1), ("term", 0)), ids=(("ReplicaId", 2),))
