"""The gate in front of one replica: it admits requests, and closes while weights are installed.

Rules of this file:

- Above the table, what a cell can be; in the table, one row per event and one column per state.
- Events of control carry (term, epoch); the fences refuse stale and unknown ones before any cell.
- Events of the engine and the timer carry the epoch that they answer; others are ignored.
- Drained means none active, none orphaned, every rank quiet. `quiet`, `verified` and `target` are
  cleared by a seal that closes the gate, and by nothing else.
- Windows are in milliseconds.
"""

from .containers import MapOf, Opt, SetOf
from .expressions import Bool, EnumOf, Nat, Note
from .ir import Scope
from .machine import Event, Inside, Machine, Output
from .sorts import Digest, LeaseId, Mode, OperationId, Rank
from .table import Refuse, State, Table, choose, columns, fence, go, ignore, row, stay


class Gate(Machine):
    """Admits requests to one replica, and closes while weights are installed."""

    SEALED, DRAINING, INSTALLING, REOPENED, OPEN, POISONED = State(), State(), State(), State(), State(), State()

    ranks = SetOf(Rank).given()
    term = Nat(0)
    epoch = Nat(0)
    version = Opt(Nat)
    target = Opt(Nat)
    digests = MapOf(Rank, Digest)
    mode = EnumOf(Mode.WAIT)
    timer = Nat(0)
    window = Nat(0)
    active = SetOf(LeaseId)
    suspended = SetOf(LeaseId)
    orphaned = SetOf(LeaseId)
    quiet = SetOf(Rank)
    verified = SetOf(Rank)
    resident = Bool(False)
    lent = Opt(OperationId)

    # fmt: off
    class Claim(Event):
        """A controller of a higher term takes the gate over."""
        term: Nat
    class Poison(Event):
        """A controller gives the replica up."""
        term: Nat
        why: Note
    class Control(Event):
        """A command of the controller that holds the term."""
        term: Nat
        epoch: Nat
    class Step(Control):
        """A command within the epoch that the gate is in."""
    class Seal(Control):
        """Admit nothing more; the window bounds how long the gate may stay closed."""
        mode: EnumOf[Mode]
        window: Nat
    class Resume(Control):
        """Reopen on the weights that are resident."""
    class Escalate(Step):
        """Stop waiting for leases: abort or keep them."""
        mode: EnumOf[Mode]
    class Drain(Step):
        """Bring the leases to an end by the mode, then the device to rest."""
    class Lend(Step):
        """Give the device to the trainer."""
        lend: OperationId
    class Returned(Step):
        """The trainer no longer uses the device."""
        lend: OperationId
    class Renew(Step):
        """Replace the timer by a new one."""
        window: Nat
    class Install(Step):
        """Load a version; digests name what every rank must hold afterwards."""
        version: Nat
        digests: MapOf[Rank, Digest]
    class Reopen(Step):
        """Serve again after an install."""
    class Close(Step):
        """The operation is over: from reopened to open."""

    class Admit(Inside):
        """A request asks to enter; a pin names the one version that it accepts."""
        lease: LeaseId
        pin: Opt[Nat]
    class Settle(Inside):
        """The lease has ended and its record is stored."""
        lease: LeaseId
    class Orphan(Inside):
        """Nobody knows what became of the lease."""
        lease: LeaseId
        why: Note
    class GiveUp(Inside):
        """The orphaned lease was not reconciled in time."""
        lease: LeaseId
    class Frozen(Inside):
        """The engine froze the lease for the drain of this epoch."""
        lease: LeaseId
        epoch: Nat
    class Fault(Inside):
        """The process itself finds its device or weights in doubt."""
        why: Note
    class Answer(Inside):
        """What the engine and the timer say in answer to an epoch."""
        epoch: Nat
    class Thawed(Answer):
        """The engine continued the lease."""
        lease: LeaseId
    class Quiesced(Answer):
        """The rank's device is idle."""
        rank: Rank
    class Installed(Answer):
        """The rank holds weights of this digest."""
        rank: Rank
        digest: Digest
    class InstallFailed(Answer):
        """The rank could not install."""
        rank: Rank
        why: Note
    class Deadline(Answer):
        """The timer of this number ran out."""
        timer: Nat

    class StartTimer(Output):
        """Raise Deadline(epoch, timer) after the window, if no other timer was started since."""
        epoch: Nat
        timer: Nat
        window: Nat
    class StartDrain(Output):
        """Tell the engine to end (abort) or freeze (keep) what runs."""
        epoch: Nat
        mode: EnumOf[Mode]
    class AskQuiesce(Output):
        """Ask every rank to answer once its device is idle; earlier questions no longer count."""
        epoch: Nat
    class StartInstall(Output):
        """Load the version on every rank and answer with what each then holds."""
        epoch: Nat
        version: Nat
    class ReleaseMemory(Output):
        """Free the device for the trainer."""
        lend: OperationId
    class ThawAll(Output):
        """Continue these leases in the engine."""
        epoch: Nat
        leases: SetOf[LeaseId]
    class Thaw(Output):
        """Continue a lease that was frozen too late."""
        epoch: Nat
        lease: LeaseId
    class AbortSuspended(Output):
        """End these frozen leases as aborted, with the tokens that they have."""
        leases: SetOf[LeaseId]
    class AbortLate(Output):
        """End a lease that froze after the poison as aborted."""
        lease: LeaseId
    # fmt: on

    stale_term = Refuse("a controller of a higher term rules")
    unclaimed = Refuse("this term has not claimed the gate")
    stale_epoch = Refuse("a later operation has begun")
    unknown_epoch = Refuse("the gate has not been sealed for this epoch")
    closed = Refuse("the gate is closed", retry=True)
    poisoned = Refuse("weights or device are in doubt: replace the replica")
    other_version = Refuse("the gate does not serve the pinned version", retry=True)
    reused = Refuse("this lease is already in the gate")
    not_sealed = Refuse("the gate is not sealed")
    not_draining = Refuse("the gate is not draining")
    not_keeping = Refuse("this drain freezes nothing")
    not_drained = Refuse("not drained: leases or ranks are still busy", retry=True)
    not_verified = Refuse("not every rank has proved what it holds", retry=True)
    not_newer = Refuse("the version is not newer than the one that is resident")
    incomplete = Refuse("the digests do not name exactly the ranks of this replica")
    not_resident = Refuse("no weights are resident: install some")
    not_closed = Refuse("the last operation was not closed", retry=True)
    not_reopened = Refuse("the gate has not reopened")
    still_suspended = Refuse("leases are still suspended", retry=True)
    lent_out = Refuse("the device is lent to the trainer", retry=True)
    installing = Refuse("an install is running", retry=True)
    not_installing = Refuse("no install is running")
    busy = Refuse("another operation is draining this gate", retry=True)

    idle = active.is_empty() & orphaned.is_empty()
    drained = idle & (quiet == ranks)
    is_lent = lent.is_some()
    newer = (
        ~version.is_some()
        | (version.or_else(0) < Install.version)
        | (~resident & (version.or_else(0) == Install.version))
    )
    complete = Install.digests.keys() == ranks
    is_proof = digests.get(Installed.rank) == Installed.digest
    is_last_proof = verified.including(Installed.rank) == ranks
    all_verified = verified == ranks

    claims = stay().when(Claim.term > term).do(term.set(Claim.term)).orelse(ignore)

    pin_unmet = Admit.pin.is_some() & (Admit.pin != version)
    known = active.has(Admit.lease) | suspended.has(Admit.lease) | orphaned.has(Admit.lease)
    admits = choose(
        stay().when(~known, ~pin_unmet).do(active.add(Admit.lease)),
        other_version.when(~known, pin_unmet),
        orelse=reused,
    )

    runs = active.has(Settle.lease) | orphaned.has(Settle.lease)
    settles = (
        stay()
        .when(runs | suspended.has(Settle.lease))
        .do(active.remove(Settle.lease), suspended.remove(Settle.lease), orphaned.remove(Settle.lease))
        .orelse(ignore)
    )
    is_last = runs & (active.size() + orphaned.size() == 1)
    settles_draining = choose(
        stay()
        .when((runs & ~is_last) | (~runs & suspended.has(Settle.lease)))
        .do(active.remove(Settle.lease), suspended.remove(Settle.lease), orphaned.remove(Settle.lease)),
        stay()
        .when(is_last)
        .do(active.remove(Settle.lease), orphaned.remove(Settle.lease))
        .emit(AskQuiesce(epoch=epoch)),
        orelse=ignore,
    )

    orphans = (
        stay()
        .when(active.has(Orphan.lease) | suspended.has(Orphan.lease))
        .do(active.remove(Orphan.lease), suspended.remove(Orphan.lease), orphaned.add(Orphan.lease))
        .orelse(ignore)
    )
    orphans_installing = (
        go(POISONED).when(suspended.has(Orphan.lease)).emit(AbortSuspended(leases=suspended)).orelse(ignore)
    )
    drops = stay().do(active.remove(Orphan.lease), suspended.remove(Orphan.lease), orphaned.remove(Orphan.lease))
    gives_up = go(POISONED).when(orphaned.has(GiveUp.lease)).emit(AbortSuspended(leases=suspended)).orelse(ignore)

    thaws = stay().emit(Thaw(epoch=Frozen.epoch, lease=Frozen.lease))
    thaws_older = (
        stay().when(Frozen.epoch < epoch).emit(Thaw(epoch=Frozen.epoch, lease=Frozen.lease)).orelse(not_keeping)
    )
    freezable = (Frozen.epoch == epoch) & (mode == Mode.KEEP) & active.has(Frozen.lease)
    is_last_active = orphaned.is_empty() & (active.size() == 1)
    suspends = choose(
        stay().when(freezable, ~is_last_active).do(active.remove(Frozen.lease), suspended.add(Frozen.lease)),
        stay()
        .when(freezable, is_last_active)
        .do(active.remove(Frozen.lease), suspended.add(Frozen.lease))
        .emit(AskQuiesce(epoch=epoch)),
        stay().when(Frozen.epoch < epoch).emit(Thaw(epoch=Frozen.epoch, lease=Frozen.lease)),
        orelse=not_keeping,
    )
    aborts_late = (
        stay()
        .do(active.remove(Frozen.lease), suspended.remove(Frozen.lease), orphaned.remove(Frozen.lease))
        .emit(AbortLate(lease=Frozen.lease))
    )
    continues = (
        stay()
        .when(suspended.has(Thawed.lease))
        .do(suspended.remove(Thawed.lease), active.add(Thawed.lease))
        .orelse(ignore)
    )

    seals = (
        go(SEALED)
        .when(Seal.epoch > epoch)
        .do(epoch.set(Seal.epoch), mode.set(Seal.mode), timer.set(0), window.set(Seal.window),
            quiet.clear(), verified.clear(), target.clear(), digests.clear())
        .emit(StartTimer(epoch=Seal.epoch, timer=0, window=Seal.window))
        .orelse(ignore)
    )  # fmt: skip
    reseals = (
        stay()
        .when(Seal.epoch > epoch)
        .do(epoch.set(Seal.epoch), mode.set(Seal.mode), timer.set(0), window.set(Seal.window))
        .emit(StartTimer(epoch=Seal.epoch, timer=0, window=Seal.window))
        .orelse(ignore)
    )
    # Nothing reopens a gate without weights but an install: a later operation may begin it anew.
    reseals_bare = choose(
        go(SEALED)
        .when(Seal.epoch > epoch, ~resident, ~is_lent)
        .do(epoch.set(Seal.epoch), mode.set(Seal.mode), timer.set(0), window.set(Seal.window),
            quiet.clear(), verified.clear(), target.clear(), digests.clear())
        .emit(StartTimer(epoch=Seal.epoch, timer=0, window=Seal.window)),
        ignore.when(Seal.epoch == epoch),
        orelse=busy,
    )  # fmt: skip

    escalating = (mode == Mode.WAIT) & (Escalate.mode != Mode.WAIT)
    escalates = stay().when(escalating).do(mode.set(Escalate.mode)).orelse(ignore)
    escalates_draining = (
        stay()
        .when(escalating)
        .do(mode.set(Escalate.mode))
        .emit(StartDrain(epoch=epoch, mode=Escalate.mode))
        .orelse(ignore)
    )

    drains = choose(
        go(DRAINING).when(~idle).emit(StartDrain(epoch=epoch, mode=mode)),
        go(DRAINING).when(idle).emit(StartDrain(epoch=epoch, mode=mode), AskQuiesce(epoch=epoch)),
        orelse=ignore,
    )
    quiets = stay().when(idle, ranks.has(Quiesced.rank)).do(quiet.add(Quiesced.rank)).orelse(ignore)

    lends = choose(
        stay()
        .when(drained, suspended.is_empty(), ~is_lent)
        .do(lent.set(Lend.lend), resident.set(False))
        .emit(ReleaseMemory(lend=Lend.lend)),
        lent_out.when(is_lent),
        orelse=not_drained,
    )
    returns = stay().when(lent == Returned.lend).do(lent.clear()).orelse(ignore)
    renews = (
        stay()
        .do(timer.set(timer + 1), window.set(Renew.window))
        .emit(StartTimer(epoch=epoch, timer=timer + 1, window=Renew.window))
    )

    installs = choose(
        go(INSTALLING)
        .when(drained, ~is_lent, newer, complete)
        .do(target.set(Install.version), digests.set(Install.digests), verified.clear())
        .emit(StartInstall(epoch=epoch, version=Install.version)),
        not_newer.when(drained, ~is_lent, ~newer),
        incomplete.when(drained, ~is_lent, newer, ~complete),
        lent_out.when(is_lent),
        orelse=not_drained,
    )
    same_target = ignore.when((target == Install.version) & (digests == Install.digests)).orelse(installing)
    proves = choose(
        stay().when(is_proof, ~is_last_proof).do(verified.add(Installed.rank)),
        stay()
        .when(is_proof, is_last_proof)
        .do(verified.add(Installed.rank), version.set(target), resident.set(True)),
        orelse=go(POISONED).emit(AbortSuspended(leases=suspended)),
    )
    fails = go(POISONED).emit(AbortSuspended(leases=suspended))

    thaw_all = ThawAll(epoch=epoch, leases=active | suspended)
    last_window = StartTimer(epoch=epoch, timer=timer, window=window)
    reopens = go(REOPENED).when(all_verified).emit(thaw_all, last_window).orelse(not_verified)
    resumes_open = stay().when(Resume.epoch > epoch).do(epoch.set(Resume.epoch)).orelse(ignore)
    resumes = choose(
        go(REOPENED).when(Resume.epoch == epoch, resident).emit(thaw_all, last_window),
        unknown_epoch.when(Resume.epoch > epoch),
        orelse=not_resident,
    )
    resumes_draining = choose(
        go(REOPENED).when(Resume.epoch == epoch, resident, ~is_lent).emit(thaw_all, last_window),
        unknown_epoch.when(Resume.epoch > epoch),
        lent_out.when(Resume.epoch == epoch, is_lent),
        orelse=not_resident,
    )
    resumes_again = unknown_epoch.when(Resume.epoch > epoch).orelse(ignore)
    closes = go(OPEN).when(suspended.is_empty()).orelse(still_suspended)

    expires_sealed = go(REOPENED).when(resident).emit(thaw_all, last_window).orelse(ignore)
    expires_draining = choose(
        go(REOPENED).when(resident, ~is_lent).emit(thaw_all, last_window),
        go(POISONED).when(is_lent).emit(AbortSuspended(leases=suspended)),
        orelse=ignore,
    )
    expires_installing = (
        go(REOPENED).when(all_verified).emit(thaw_all, last_window).orelse(go(POISONED).emit(AbortSuspended(leases=suspended)))
    )
    expires_reopened = (
        stay().when(~suspended.is_empty()).do(orphaned.set(orphaned | suspended), suspended.clear()).orelse(ignore)
    )
    poisons = go(POISONED).emit(AbortSuspended(leases=suspended))

    # fmt: off
    table = Table(
        fence(Claim,   stale_term.when(Claim.term < term)),
        fence(Poison,  stale_term.when(Poison.term < term), unclaimed.when(Poison.term > term)),
        fence(Control, stale_term.when(Control.term < term), unclaimed.when(Control.term > term),
                       stale_epoch.when(Control.epoch < epoch)),
        fence(Step,    unknown_epoch.when(Step.epoch > epoch)),
        fence(Answer,  ignore.when(Answer.epoch != epoch)),
        fence(Deadline, ignore.when(Deadline.timer != timer)),
        columns(            OPEN,           SEALED,         DRAINING,           INSTALLING,         REOPENED,         POISONED),
        row(Claim,          claims,         claims,         claims,             claims,             claims,           claims),
        row(Admit,          admits,         closed,         closed,             closed,             admits,           poisoned),
        row(Settle,         settles,        settles,        settles_draining,   settles,            settles,          settles),
        row(Orphan,         orphans,        orphans,        orphans,            orphans_installing, orphans,          drops),
        row(GiveUp,         gives_up,       gives_up,       gives_up,           gives_up,           gives_up,         ignore),
        row(Frozen,         thaws,          thaws_older,    suspends,           thaws_older,        thaws,            aborts_late),
        row(Thawed,         ignore,         ignore,         ignore,             ignore,             continues,        ignore),
        row(Seal,           seals,          reseals,        reseals_bare,       installing,         not_closed,       poisoned),
        row(Escalate,       ignore,         escalates,      escalates_draining, ignore,             ignore,           poisoned),
        row(Drain,          not_sealed,     drains,         ignore,             installing,         not_sealed,       poisoned),
        row(Quiesced,       ignore,         ignore,         quiets,             ignore,             ignore,           ignore),
        row(Lend,           not_draining,   not_draining,   lends,              installing,         not_draining,     poisoned),
        row(Returned,       ignore,         ignore,         returns,            ignore,             ignore,           ignore),
        row(Renew,          ignore,         renews,         renews,             renews,             ignore,           ignore),
        row(Install,        not_drained,    not_drained,    installs,           same_target,        not_drained,      poisoned),
        row(Installed,      not_installing, not_installing, not_installing,     proves,             ignore,           ignore),
        row(InstallFailed,  not_installing, not_installing, not_installing,     fails,              not_installing,   ignore),
        row(Reopen,         ignore,         not_verified,   not_verified,       reopens,            ignore,           poisoned),
        row(Resume,         resumes_open,   resumes,        resumes_draining,   installing,         resumes_again,    poisoned),
        row(Close,          ignore,         not_reopened,   not_reopened,       not_reopened,       closes,           poisoned),
        row(Deadline,       ignore,         expires_sealed, expires_draining,   expires_installing, expires_reopened, ignore),
        row(Poison,         poisons,        poisons,        poisons,            poisons,            poisons,          ignore),
        row(Fault,          poisons,        poisons,        poisons,            poisons,            poisons,          ignore),
    )
    # fmt: on
    scope = Scope(nat=1, nats=(("window", 0), ("timer", 0)), ids=(("LeaseId", 1), ("Rank", 2), ("Digest", 2)))
