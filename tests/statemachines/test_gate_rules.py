"""Rules of the gate that a single cell does not show: whole operations, outputs in order, failures seen.

The numbers are those of the catalogue of failures that real systems had.
"""

from typing import Any

import pytest

from sluicegate.statemachines import (
    Event,
    Machine,
    Nat,
    Note,
    Outcome,
    Refuse,
    SetOf,
    State,
    Table,
    columns,
    go,
    row,
    stay,
)
from sluicegate.statemachines.compiler import predicate
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode, Rank

RANKS = ("r1", "r2")
DIGESTS = {"r1": "d1", "r2": "d2"}


class Operation:
    """A live gate and its controller's fences, to write a sync down as a run."""

    def __init__(self, ranks: tuple[str, ...] = RANKS) -> None:
        self.gate = Gate.Live(ranks=frozenset(ranks))
        self.epoch = 0

    def seal(self, mode: Mode = Mode.WAIT) -> Outcome:
        self.epoch += 1
        return self.gate.seal(term=0, epoch=self.epoch, mode=mode, window=50)

    def control(self, name: str, **arguments: Any) -> Outcome:
        return getattr(self.gate, name)(term=0, epoch=self.epoch, **arguments)

    def quiesce(self) -> None:
        for rank in sorted(self.gate.ranks):
            assert self.gate.quiesced(epoch=self.epoch, rank=rank).kind == "stay"

    def install(self, version: int) -> Outcome:
        return self.control("install", version=version, digests=DIGESTS)

    def prove(self) -> None:
        for rank, digest in DIGESTS.items():
            assert self.gate.installed(epoch=self.epoch, rank=rank, digest=digest).kind == "stay"

    def close_on(self, version: int, mode: Mode = Mode.WAIT) -> None:
        """A whole sync without trouble and without leases."""
        self.seal(mode)
        self.control("drain")
        self.quiesce()
        assert self.install(version).kind == "go"
        self.prove()
        self.control("reopen")
        self.control("close")
        assert (self.gate.state, self.gate.version) == ("OPEN", version)


@pytest.fixture
def op() -> Operation:
    """A gate that is open at version 1."""
    operation = Operation()
    operation.close_on(1)
    return operation


def admitted(op: Operation, *leases: str) -> None:
    for lease in leases:
        assert op.gate.admit(lease=lease, pin=None).kind == "stay"


def test_a_newborn_gate_serves_nothing_before_its_first_install() -> None:
    """R60: a recovered engine served old weights before its first update."""
    gate = Gate.Live(ranks=frozenset(RANKS))
    assert gate.state == "SEALED"
    assert gate.admit(lease="l", pin=None).reason == "closed"
    assert gate.resume(term=0, epoch=0).reason == "not_resident"
    assert gate.deadline(epoch=0, timer=0).kind == "ignore"
    assert gate.state == "SEALED"


def test_a_second_update_goes_like_the_first(op: Operation) -> None:
    """R59: everything worked once, the second update gave garbage."""
    for version in (2, 3, 7):
        op.close_on(version)
        assert op.gate.verified == set(RANKS)
    op.seal()
    assert (op.gate.quiet, op.gate.verified, op.gate.target, op.gate.digests) == (set(), set(), None, {})


def test_an_idle_gate_can_be_sealed_and_drained(op: Operation) -> None:
    """R45: pausing an idle engine crashed it. The device is asked at once."""
    (timer,) = op.seal(Mode.ABORT).outputs
    assert timer == Gate.StartTimer(epoch=2, timer=0, window=50)
    drained = op.control("drain")
    assert drained.outputs == (Gate.StartDrain(epoch=2, mode=Mode.ABORT), Gate.AskQuiesce(epoch=2))


def test_the_device_is_asked_only_when_the_last_lease_is_gone(op: Operation) -> None:
    """R02, R03: drained is an answer of every device, given after the last lease ended."""
    admitted(op, "a", "b", "c")
    op.seal()
    assert op.control("drain").outputs == (Gate.StartDrain(epoch=2, mode=Mode.WAIT),)
    assert op.gate.quiesced(epoch=2, rank="r1").kind == "ignore"
    assert op.gate.settle(lease="a").outputs == ()
    assert op.gate.orphan(lease="b", why="engine lost").outputs == ()
    assert op.gate.settle(lease="c").outputs == ()
    assert op.install(2).reason == "not_drained"
    assert op.gate.settle(lease="b").outputs == (Gate.AskQuiesce(epoch=2),)
    assert op.install(2).reason == "not_drained"
    op.quiesce()
    assert op.install(2).outputs == (Gate.StartInstall(epoch=2, version=2),)


def test_one_rank_that_is_still_busy_holds_the_install(op: Operation) -> None:
    """R01, R04: quiet covers every rank."""
    op.seal()
    op.control("drain")
    op.gate.quiesced(epoch=2, rank="r1")
    op.gate.quiesced(epoch=2, rank="r1")
    assert op.install(2).reason == "not_drained"
    op.gate.quiesced(epoch=2, rank="r2")
    assert op.install(2).kind == "go"


def test_an_answer_of_an_earlier_drain_does_not_count(op: Operation) -> None:
    """R01: a stale wake-up message woke a peer."""
    op.seal()
    op.control("drain")
    op.quiesce()
    op.control("resume")
    op.control("close")
    op.seal()
    op.control("drain")
    for rank in RANKS:
        assert op.gate.quiesced(epoch=2, rank=rank).kind == "ignore"
    assert op.gate.quiet == set()
    assert op.install(2).reason == "not_drained"


def test_a_request_that_comes_while_the_gate_is_closed_counts_nowhere(op: Operation) -> None:
    """R02, R11: late requests do not touch the drain, and are refused in words."""
    op.seal()
    for advance in ("drain", None):
        outcome = op.gate.admit(lease="late", pin=None)
        assert (outcome.reason, outcome.retry) == ("closed", True)
        if advance:
            op.control(advance)
    assert (op.gate.active, op.gate.suspended, op.gate.orphaned) == (set(), set(), set())


def test_a_lease_is_never_admitted_twice(op: Operation) -> None:
    """R21: a request id was used again after an abort, and the old abort killed the new request."""
    admitted(op, "a")
    assert op.gate.admit(lease="a", pin=None).reason == "reused"
    op.gate.orphan(lease="a", why="")
    assert op.gate.admit(lease="a", pin=None).reason == "reused"


def test_a_second_settlement_and_a_late_orphan_do_nothing(op: Operation) -> None:
    """R12, R20: nothing after settlement; a late second abort is a no-op."""
    admitted(op, "a")
    op.gate.settle(lease="a")
    assert op.gate.settle(lease="a").kind == "ignore"
    assert op.gate.orphan(lease="a", why="late").kind == "ignore"
    assert op.gate.give_up(lease="a").kind == "ignore"
    assert op.gate.state == "OPEN"


def test_a_failed_rank_poisons_and_nothing_reopens_it(op: Operation) -> None:
    """R25, R31: a `finally` resumed everyone on mixed weights under the old label."""
    op.seal(Mode.KEEP)
    op.control("drain")
    op.quiesce()
    op.install(2)
    op.gate.installed(epoch=2, rank="r1", digest="d1")
    assert op.gate.install_failed(epoch=2, rank="r2", why="out of memory").kind == "go"
    assert (op.gate.state, op.gate.version) == ("POISONED", 1)
    for name, arguments in (("reopen", {}), ("resume", {}), ("close", {}), ("drain", {})):
        assert op.control(name, **arguments).reason == "poisoned"
    assert op.install(3).reason == "poisoned"
    assert op.seal().reason == "poisoned"
    assert op.gate.admit(lease="l", pin=None).reason == "poisoned"
    assert op.gate.state == "POISONED"


def test_a_rank_that_holds_other_weights_poisons(op: Operation) -> None:
    """R32: the engine said 200 and had received nothing; the answer carries what is held."""
    op.seal()
    op.control("drain")
    op.quiesce()
    op.install(2)
    assert op.gate.installed(epoch=2, rank="r1", digest="d2").kind == "go"
    assert (op.gate.state, op.gate.version, op.gate.verified) == ("POISONED", 1, set())


def test_the_version_changes_with_the_last_proof_and_not_before(op: Operation) -> None:
    """R54, R55: the label was bumped before the update succeeded."""
    op.seal()
    op.control("drain")
    op.quiesce()
    op.install(2)
    op.gate.installed(epoch=2, rank="r1", digest="d1")
    assert op.gate.version == 1
    assert op.control("reopen").reason == "not_verified"
    op.gate.installed(epoch=2, rank="r2", digest="d2")
    assert (op.gate.version, op.gate.state) == (2, "INSTALLING")


def test_nothing_resumes_an_install_that_runs(op: Operation) -> None:
    """R06: a resume fired between the check and the update."""
    op.seal()
    op.control("drain")
    op.quiesce()
    op.install(2)
    assert op.control("resume").reason == "installing"
    assert op.gate.state == "INSTALLING"


def test_a_second_resume_or_reopen_is_answered_and_does_nothing(op: Operation) -> None:
    """R15: resume was called twice; some ranks entered a collective."""
    op.seal()
    op.control("resume")
    assert op.gate.state == "REOPENED"
    assert op.control("resume").kind == "ignore"
    assert op.control("reopen").kind == "ignore"
    op.control("close")
    assert op.control("resume").kind == "ignore"
    assert op.control("close").kind == "ignore"


def test_kept_leases_continue_with_the_epoch_of_the_gate(op: Operation) -> None:
    """R47, R50: preserved requests go on after the version has changed, each exactly once."""
    admitted(op, "a", "b")
    op.seal(Mode.KEEP)
    op.control("drain")
    assert op.gate.frozen(lease="a", epoch=2).outputs == ()
    assert op.gate.frozen(lease="b", epoch=2).outputs == (Gate.AskQuiesce(epoch=2),)
    op.quiesce()
    op.install(2)
    op.prove()
    reopened = op.control("reopen")
    assert reopened.outputs == (
        Gate.ThawAll(epoch=2, leases=frozenset({"a", "b"})),
        Gate.StartTimer(epoch=2, timer=0, window=50),
    )
    assert op.control("close").reason == "still_suspended"
    op.gate.thawed(epoch=2, lease="a")
    op.gate.settle(lease="b")
    assert op.control("close").kind == "go"
    assert (op.gate.active, op.gate.suspended) == ({"a"}, set())


def test_a_lease_that_froze_too_late_is_continued_in_its_own_epoch(op: Operation) -> None:
    """A freeze of an older drain must not leave a lease frozen for ever (R49)."""
    admitted(op, "a")
    op.seal(Mode.KEEP)
    op.control("drain")
    op.control("resume")
    assert op.gate.frozen(lease="a", epoch=2).outputs == (Gate.Thaw(epoch=2, lease="a"),)
    op.control("close")
    op.seal()
    assert op.gate.frozen(lease="a", epoch=2).outputs == (Gate.Thaw(epoch=2, lease="a"),)
    assert op.gate.active == {"a"}


def test_suspended_leases_of_a_poisoned_gate_end_as_aborted(op: Operation) -> None:
    """R49: aborted requests returned nothing, and the callers waited for ever."""
    admitted(op, "a", "b", "c")
    op.seal(Mode.KEEP)
    op.control("drain")
    op.gate.frozen(lease="a", epoch=2)
    op.gate.frozen(lease="b", epoch=2)
    assert op.gate.fault(why="device lost").outputs == (Gate.AbortSuspended(leases=frozenset({"a", "b"})),)
    assert op.gate.frozen(lease="c", epoch=2).outputs == (Gate.AbortLate(lease="c"),)
    for lease in ("a", "b"):
        assert op.gate.settle(lease=lease).kind == "stay"
    assert (op.gate.active, op.gate.suspended, op.gate.orphaned) == (set(), set(), set())


def test_an_unknown_outcome_blocks_the_update_and_not_the_service(op: Operation) -> None:
    admitted(op, "a")
    op.gate.orphan(lease="a", why="connection lost")
    admitted(op, "b")
    op.seal()
    op.control("drain")
    op.gate.settle(lease="b")
    assert {op.gate.quiesced(epoch=2, rank=r).kind for r in RANKS} == {"ignore"}
    assert op.install(2).reason == "not_drained"
    op.gate.settle(lease="a")
    op.quiesce()
    assert op.install(2).kind == "go"


def test_an_orphan_that_is_given_up_poisons(op: Operation) -> None:
    admitted(op, "a")
    op.gate.orphan(lease="a", why="")
    assert op.gate.give_up(lease="a").kind == "go"
    assert op.gate.state == "POISONED"


def test_a_lent_device_is_not_resident_and_blocks_resume_and_install(op: Operation) -> None:
    """R10, R37: releasing memory is not reopening, and is refused unless drained."""
    op.seal()
    assert op.control("lend", lend="o").reason == "not_draining"
    op.control("drain")
    assert op.control("lend", lend="o").reason == "not_drained"
    op.quiesce()
    assert op.control("lend", lend="o").outputs == (Gate.ReleaseMemory(lend="o"),)
    assert (op.gate.state, op.gate.lent, op.gate.resident) == ("DRAINING", "o", False)
    assert op.control("resume").reason == "lent_out"
    assert op.install(1).reason == "lent_out"
    assert op.control("returned", lend="p").kind == "ignore"
    op.control("returned", lend="o")
    assert op.control("resume").reason == "not_resident"
    assert op.install(1).kind == "go"
    op.prove()
    op.control("reopen")
    assert (op.gate.state, op.gate.version, op.gate.resident) == ("REOPENED", 1, True)


def test_a_deadline_of_a_timer_that_was_replaced_is_ignored(op: Operation) -> None:
    """M12: a timer fired after its state had been left."""
    op.seal()
    (timer,) = op.control("renew", window=70).outputs
    assert timer == Gate.StartTimer(epoch=2, timer=1, window=70)
    assert op.gate.deadline(epoch=2, timer=0).kind == "ignore"
    assert op.gate.deadline(epoch=1, timer=1).kind == "ignore"
    assert op.gate.state == "SEALED"
    expired = op.gate.deadline(epoch=2, timer=1)
    assert expired.outputs == (Gate.ThawAll(epoch=2, leases=frozenset()), Gate.StartTimer(epoch=2, timer=1, window=70))
    assert op.gate.state == "REOPENED"
    op.control("close")
    assert op.gate.deadline(epoch=2, timer=1).kind == "ignore"
    op.seal()
    assert op.gate.deadline(epoch=2, timer=1).kind == "ignore"
    assert op.gate.state == "SEALED"


def test_every_closed_gate_has_a_way_out_by_its_own_deadline(op: Operation) -> None:
    """R17, R27: "update in progress" stayed on for ever."""
    op.seal()
    op.control("drain")
    assert op.gate.snapshot().live().deadline(epoch=2, timer=0).kind == "go"
    op.quiesce()
    op.install(2)
    half = op.gate.snapshot()
    unverified, verified = half.live(), half.live()
    unverified.deadline(epoch=2, timer=0)
    assert unverified.state == "POISONED"
    for rank, digest in DIGESTS.items():
        verified.installed(epoch=2, rank=rank, digest=digest)
    verified.deadline(epoch=2, timer=0)
    assert (verified.state, verified.version) == ("REOPENED", 2)


def test_a_gate_that_its_deadline_reopened_refuses_the_install_of_that_epoch(op: Operation) -> None:
    """G9: the controller comes late; the gate has given up waiting for it."""
    op.seal()
    op.control("drain")
    op.quiesce()
    op.gate.deadline(epoch=2, timer=0)
    assert op.install(2).reason == "not_drained"
    assert op.control("drain").reason == "not_sealed"
    assert op.gate.state == "REOPENED"


def test_a_superseded_controller_changes_nothing(op: Operation) -> None:
    """G8: once a gate has accepted a term, no lower term changes it, by no event."""
    op.gate.claim(term=4)
    before = op.gate.snapshot()
    other = {"mode": Mode.ABORT, "window": 9, "lend": "o", "version": 9, "digests": DIGESTS, "why": "", "epoch": 9}
    for event in Gate.ir.events:
        names = {f.name for f in event.fields}
        if "term" in names:
            made = getattr(Gate, event.name)(**{k: v for k, v in other.items() if k in names}, term=3)
            assert op.gate.step(made).reason == "stale_term"
    assert op.gate.snapshot() == before


def test_one_illegal_event_leaves_those_behind_it_alone(op: Operation) -> None:
    """M03, M05, M06: each sender gets its own verdict; nothing is erased or answered for another."""
    verdicts = [op.gate.admit(lease=name, pin=pin).kind for name, pin in (("a", None), ("a", None), ("b", 7), ("c", 1))]
    assert verdicts == ["stay", "refuse", "refuse", "stay"]
    assert op.gate.active == {"a", "c"}


def test_a_step_that_fails_half_way_has_changed_nothing(op: Operation) -> None:
    """M09: an exception between exit and entry left no state at all. A value of a wrong type is the only way."""
    before = op.gate.snapshot()
    with pytest.raises(TypeError):
        op.gate.seal(term=0, epoch="2", mode=Mode.WAIT, window=5)
    assert op.gate.snapshot() == before
    op.seal()
    op.control("drain")
    op.quiesce()
    before = op.gate.snapshot()
    with pytest.raises(TypeError):
        op.control("install", version=2, digests=None)
    assert op.gate.snapshot() == before


def test_a_value_that_cannot_be_made_comes_before_every_change() -> None:
    """M09, where the failing value stands behind another update."""

    class Pair(Machine):
        ONE, TWO = State(), State()
        count = Nat(0)
        names = SetOf(Rank)

        class Load(Event):
            names: SetOf[Rank]

        loads = go(TWO).do(count.set(count + 1), names.set(Load.names))
        table = Table(columns(ONE, TWO), row(Load, loads, loads))

    live = Pair.Live()
    with pytest.raises(TypeError):
        live.load(names=7)
    assert live == Pair.Live()


def test_the_answer_of_a_cell_does_not_depend_on_where_it_is_declared() -> None:
    """M13: the order of declaration changed behaviour. Columns and states may stand in any order."""

    class One(Machine):
        A, B = State(), State()

        class Flip(Event): ...

        class Rest(Event): ...

        table = Table(columns(A, B), row(Flip, B, A), row(Rest, A, B))

    class Two(Machine):
        A, B = State(), State()

        class Rest(Event): ...

        class Flip(Event): ...

        table = Table(row(Rest, B, A), row(Flip, A, B), columns(B, A))

    first, second = One.Live(), Two.Live()
    for name in ("flip", "rest", "flip", "flip"):
        assert getattr(first, name)().kind == getattr(second, name)().kind
        assert first.state == second.state


def test_a_declaration_is_data_and_no_text_is_evaluated() -> None:
    """M17: a definition file was evaluated as code. Text in a declaration stays text in the compiled step."""
    evil = "'); raise SystemExit(' {0} %s"

    class Odd(Machine):
        A, B = State(), State()
        why = Note()
        no = Refuse(evil)

        class Ask(Event):
            """'''); raise SystemExit"""

        class Say(Event): ...

        says = stay().do(why.set(evil))
        table = Table(columns(A, B), row(Ask, no, no), row(Say, says, says))

    live = Odd.Live()
    assert live.ask().text == evil
    live.say()
    assert live.why == evil


def test_a_declared_bool_is_asked_of_a_snapshot_as_the_table_asks_it(op: Operation) -> None:
    drained = predicate(Gate, "drained")
    op.seal()
    op.control("drain")
    assert drained(op.gate.snapshot()) is False
    op.quiesce()
    assert drained(op.gate.snapshot()) is True
    for name in ("newer", "epoch"):
        with pytest.raises(TypeError, match=f"Gate.{name} is not a Bool over the fields alone"):
            predicate(Gate, name)
