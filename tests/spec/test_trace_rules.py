"""Runs in which every step is what its own table says, and that no system of the machines could make.

Each is refused by the one rule that speaks of it; together they ask every rule that there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from traced_group import Group
from traced_run import RANK, Process, World, digest, eventful_run, published, small_run

from sluicegate.spec.traces import validate
from sluicegate.spec.traces.rules import RULES
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.replica import Replica
from sluicegate.statemachines.session import Rebinding, Session
from sluicegate.statemachines.sorts import Ending, Mode
from sluicegate.statemachines.sync import Sync
from sluicegate.statemachines.trainer import Trainer


def ready(world: World) -> None:
    """Two replicas at version 0, and a session."""
    world.start("r0")
    world.start("r1")
    world.update(0)
    world.open("s0")


def begun(world: World) -> str:
    """`ready`, and a turn on r0 whose request runs."""
    ready(world)
    return world.turn("s0", 1, "r0")


WRONG: dict[str, Callable[[World], None]] = {}


def wrong(rule: str) -> Callable[[Callable[[World], None]], Callable[[World], None]]:
    def add(run: Callable[[World], None]) -> Callable[[World], None]:
        WRONG[rule] = run
        return run

    return add


# -- leases ----------------------------------------------------------------------------------------


@wrong("lease_is_admitted")
def a_request_past_the_gate(world: World) -> None:
    ready(world)
    world.sessions.step("s0", Session.BeginTurn(lease="x"), "x")
    world.workers["r0"].born(Lease, "x", session="s0")
    world.workers["r0"].on_lease("x", Lease.Cancel())
    world.workers["r0"].close("x")
    world.end_turn("s0", "x")


@wrong("admitted_is_leased")
def an_admission_without_a_lease(world: World) -> None:
    ready(world)
    world.workers["r0"].on_gate(Gate.Admit(lease="x", pin=None), "x")


@wrong("admitted_once")
def a_lease_admitted_twice(world: World) -> None:
    lease = begun(world)
    world.finish_turn("s0", "r0", lease)
    world.workers["r0"].on_gate(Gate.Admit(lease=lease, pin=None), lease)


@wrong("lease_ends")
def a_lease_that_never_ends(world: World) -> None:
    begun(world)
    world.kill_agents()


@wrong("settled_has_receipt")
def a_settled_lease_without_a_receipt(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].on_lease(lease, Lease.Ended(ending=Ending.COMPLETED), Lease.Recorded())
    world.end_turn("s0", lease)


@wrong("one_receipt")
def two_receipts(world: World) -> None:
    lease = begun(world)
    world.finish_turn("s0", "r0", lease)
    world.workers["r0"].log.fact("Lease", lease, "receipt", session="s0", ending=Ending.COMPLETED, spans={0: 2})


@wrong("receipt_is_true")
def a_receipt_of_other_tokens(world: World) -> None:
    lease = begun(world)
    worker = world.workers["r0"]
    worker.on_lease(lease, Lease.Ended(ending=Ending.COMPLETED), Lease.Recorded())
    worker.log.fact("Lease", lease, "receipt", session="s0", ending=Ending.COMPLETED, spans={0: 1})
    worker.on_gate(Gate.Settle(lease=lease), lease)
    world.end_turn("s0", lease)


@wrong("over_leaves_gate")
def a_lease_that_is_over_stays_in_the_gate(world: World) -> None:
    lease = begun(world)
    worker = world.workers["r0"]
    worker.on_lease(lease, Lease.Unknown(why="the stream broke"))
    worker.on_gate(Gate.Orphan(lease=lease, why="the stream broke"), lease)
    worker.on_lease(lease, Lease.GiveUp())
    world.end_turn("s0", lease)


@wrong("gate_settles_what_is_over")
def a_gate_lets_go_of_a_lease_that_runs(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].on_gate(Gate.Settle(lease=lease), lease)
    world.kill("r0")
    world.end_turn("s0", lease)


@wrong("gate_orphans_what_is_unknown")
def a_gate_orphans_a_lease_that_is_known(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].on_gate(Gate.Orphan(lease=lease, why="?"), lease)
    world.finish_turn("s0", "r0", lease)


@wrong("gate_suspends_what_is_frozen")
def a_gate_suspends_a_lease_that_goes_on(world: World) -> None:
    lease = begun(world)
    worker = world.workers["r0"]
    world.publish(1)
    world.begin(1, Mode.KEEP)
    world.command(worker, Gate.Drain(term=1, epoch=world.epoch))
    worker.on_gate(Gate.Frozen(lease=lease, epoch=world.epoch), lease)
    world.finish_turn("s0", "r0", lease)


@wrong("lease_freezes_for_gate")
def a_lease_freezes_for_nobody(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].on_lease(lease, Lease.Frozen(), Lease.Thawed())
    world.finish_turn("s0", "r0", lease)


@wrong("labels_are_true")
def tokens_with_the_label_of_another_version(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].on_lease(lease, Lease.Progress(count=1, version=1))
    world.finish_turn("s0", "r0", lease)


# -- sessions --------------------------------------------------------------------------------------


@wrong("lease_has_turn")
def a_request_of_no_turn(world: World) -> None:
    ready(world)
    worker = world.workers["r0"]
    worker.admit("x", "s0")
    worker.on_lease("x", Lease.Cancel())
    worker.close("x")


@wrong("turn_leases")
def two_turns_of_one_lease(world: World) -> None:
    lease = begun(world)
    world.finish_turn("s0", "r0", lease)
    world.open("s1")
    world.sessions.step("s1", Session.BeginTurn(lease=lease), lease)
    world.end_turn("s1", lease)


@wrong("bound_where_admitted")
def a_session_bound_to_another_replica(world: World) -> None:
    ready(world)
    lease, worker = "s0.1", world.workers["r0"]
    world.sessions.step("s0", Session.BeginTurn(lease=lease), lease)
    worker.admit(lease, "s0")
    world.sessions.step("s0", Session.Bound(replica="r1", incarnation="r1.1"), lease)
    worker.on_lease(lease, Lease.Cancel())
    worker.close(lease)
    world.end_turn("s0", lease)


@wrong("bound_at_published")
def a_session_bound_before_the_version_was_published(world: World) -> None:
    world.publish(0)
    world.start("r0")
    members = world.begin(0)
    world.drain(members)
    world.install(members[0], 0)
    members[0].deadline()
    world.open("s0")
    lease = world.turn("s0", 1, "r0")
    world.finish_turn("s0", "r0", lease)


@wrong("forwarded_where_bound")
def a_turn_that_runs_on_another_replica(world: World) -> None:
    lease = begun(world)
    world.finish_turn("s0", "r0", lease)
    lease = world.turn("s0", 2, "r1")
    world.finish_turn("s0", "r1", lease)


@wrong("turns_end")
def a_turn_that_never_ends(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].finish(lease)


@wrong("turn_ends_with_lease")
def a_turn_that_ends_before_its_lease(world: World) -> None:
    """The next turn is over before an install; the lease of the one before has tokens of after it."""
    lease = begun(world)
    world.end_turn("s0", lease)
    later = world.turn("s0", 2, "r0")
    world.finish_turn("s0", "r0", later)
    world.update(1)
    world.tokens("r0", lease, 1)
    world.workers["r0"].finish(lease)


@wrong("lost_with_its_replica")
def a_session_lost_with_a_replica_that_lives(world: World) -> None:
    lease = begun(world)
    world.finish_turn("s0", "r0", lease)
    world.sessions.step("s0", Session.Lose(incarnation="r0.1"), "r0.1")


# -- gates and operations --------------------------------------------------------------------------


@wrong("operation_is_named")
def a_command_under_the_id_of_another(world: World) -> None:
    world.start("r0")
    world.publish(0)
    (worker,) = world.begin(0)
    worker.on_gate(Gate.Drain(term=1, epoch=1), "1.1.r0.1.seal.99")


@wrong("trainer_operation_is_named")
def a_training_step_that_nobody_ordered(world: World) -> None:
    world.trainer.step("trainer", Trainer.Train(term=1, batch="b"), "")


@wrong("operation_steps_once")
def a_repeat_that_steps_again(world: World) -> None:
    world.start("r0")
    world.publish(0)
    (worker,) = world.begin(0)
    for _ in range(2):
        worker.on_gate(Gate.Drain(term=1, epoch=1), "1.1.r0.1.drain.99")


@wrong("terms")
def two_controllers_of_one_term(world: World) -> None:
    world.controller.born(Sync, "sync-2", term=1, minimum=1)


@wrong("term_has_controller")
def a_claim_of_a_term_that_nobody_has(world: World) -> None:
    worker = world.start("r0")
    worker.on_gate(Gate.Claim(term=7), "7.0.r0.1.claim.1")


@wrong("epochs")
def an_epoch_used_again(world: World) -> None:
    ready(world)
    world.controller.log.fact("Sync", "sync", "catch_up", replica="r0", epoch=1, version=0)


@wrong("catches_up_to_published")
def a_replica_brought_to_what_is_not_published(world: World) -> None:
    ready(world)
    world.publish(1)
    world.controller.log.fact("Sync", "sync", "catch_up", replica="r0", epoch=9, version=1)


@wrong("command_is_asked_for")
def a_drain_before_every_seal_is_acknowledged(world: World) -> None:
    ready(world)
    world.epoch += 1
    begin = Sync.Begin(epoch=world.epoch, version=1, members=frozenset({"r0", "r1"}), mode=Mode.WAIT, lend=False)
    world.on_sync(begin)
    worker = world.workers["r0"]
    world.command(worker, Gate.Seal(term=1, epoch=world.epoch, mode=Mode.WAIT, window=1))
    world.on_sync(Sync.Sealed(replica="r0"))
    world.command(worker, Gate.Drain(term=1, epoch=world.epoch))


@wrong("barrier_is_proved")
def a_seal_that_was_not_acknowledged(world: World) -> None:
    ready(world)
    world.epoch += 1
    begin = Sync.Begin(epoch=world.epoch, version=1, members=frozenset({"r0"}), mode=Mode.WAIT, lend=False)
    world.on_sync(begin)
    world.on_sync(Sync.Sealed(replica="r0"))


@wrong("answer_has_question")
def an_answer_to_a_question_that_was_not_asked(world: World) -> None:
    worker = world.start("r0")
    worker.on_gate(Gate.Deadline(epoch=4, timer=2), "timer 4.2")


@wrong("published_grows")
def a_later_controller_that_falls_back(world: World) -> None:
    ready(world)
    world.update(1)
    world.controller.born(Sync, "sync-2", term=2, minimum=1)
    world.controller.step("sync-2", Sync.Restore(epoch=2, published=0), "2.0")


# -- versions --------------------------------------------------------------------------------------


@wrong("manifest_while_publishing")
def a_manifest_of_a_version_that_is_not_published(world: World) -> None:
    world.trainer.log.fact("Trainer", "trainer", "manifest", version=3, digest=digest(3))


@wrong("version_numbers")
def a_version_number_used_twice(world: World) -> None:
    cause = "1.trainer.1.publish.0"
    world.trainer.step("trainer", Trainer.Publish(term=1, version=0), cause)
    for _ in range(2):
        world.trainer.log.fact("Trainer", "trainer", "manifest", version=0, digest=digest(0))
    published(world.trainer, digest(0), cause)


@wrong("published_has_manifest")
def a_version_without_a_manifest(world: World) -> None:
    cause = "1.trainer.1.publish.0"
    world.trainer.step("trainer", Trainer.Publish(term=1, version=0), cause)
    published(world.trainer, digest(0), cause)


@wrong("installs_what_is_durable")
def an_install_before_the_version_is_durable(world: World) -> None:
    world.start("r0")
    cause = "1.trainer.1.publish.0"
    world.trainer.step("trainer", Trainer.Publish(term=1, version=0), cause)
    world.trainer.log.fact("Trainer", "trainer", "manifest", version=0, digest=digest(0))
    members = world.begin(0)
    world.drain(members)
    world.install(members[0], 0)


@wrong("digests_are_the_trainers")
def weights_that_are_not_the_trainers(world: World) -> None:
    world.start("r0")
    world.publish(0)
    (worker,) = world.begin(0)
    world.drain([worker])
    world.command(worker, Gate.Install(term=1, epoch=1, version=0, digests={RANK: "other"}))


# -- ranks of a trainer ----------------------------------------------------------------------------


@wrong("rank_was_told")
def a_rank_that_trains_on_another_batch(world: World) -> None:
    group = Group(world, Process)
    group.tell(Trainer.Train(term=1, batch="b"), "train.b")
    group.tell_rank("rank-1", Trainer.Train(term=1, batch="c"), "train.1")


@wrong("group_hears_ranks")
def an_answer_that_no_rank_gave(world: World) -> None:
    group = Group(world, Process)
    group.tell(Trainer.Train(term=1, batch="b"), "train.b")
    group.tell_rank("rank-1", Trainer.Train(term=1, batch="b"), "train.1")
    group.head.step("trainer", Trainer.Trained(rank="rank-1", job=1), "b")


# -- replicas and lives ----------------------------------------------------------------------------


@wrong("started_was_claimed")
def a_replica_that_was_never_claimed(world: World) -> None:
    world.controller.born(Replica, "r9.1", patience=2)
    world.controller.step("r9.1", Replica.Started(), "r9.1")


@wrong("synced_is_open")
def a_replica_that_serves_while_its_gate_is_sealed(world: World) -> None:
    ready(world)
    late = world.start("r2")
    world.on_replica(late, Replica.Synced(version=0))


@wrong("synced_is_published")
def a_replica_that_serves_what_is_not_published(world: World) -> None:
    world.publish(0)
    worker = world.start("r0")
    members = world.begin(0)
    world.drain(members)
    world.install(worker, 0)
    worker.deadline()
    world.on_sync(Sync.Recorded())
    world.command(worker, Gate.Close(term=1, epoch=1))
    world.on_replica(worker, Replica.Synced(version=0))


@wrong("replica_versions_grow")
def a_replica_that_goes_back(world: World) -> None:
    ready(world)
    world.update(1)
    world.on_replica(world.workers["r0"], Replica.Synced(version=0))


@wrong("poisoned_gate")
def a_replica_given_up_for_a_poison_that_it_has_not(world: World) -> None:
    ready(world)
    world.on_replica(world.workers["r0"], Replica.Poisoned(why="?"))


@wrong("exited_is_known")
def an_end_of_a_process_that_never_was(world: World) -> None:
    world.controller.born(Replica, "r9.1", patience=2)
    world.controller.step("r9.1", Replica.Exited(why="?"), "r9.1")


@wrong("restored_as_it_was")
def a_second_life_with_another_memory(world: World) -> None:
    world.open("s0")
    other = Session.initial(policy=Rebinding.NEVER).replace(state="LOST")
    world.trainer.restored(other, "s0")


@wrong("causes")
def a_lease_caused_by_another(world: World) -> None:
    lease = begun(world)
    world.workers["r0"].step(lease, Lease.Cancel(), lease)
    world.workers["r0"].step(lease, Lease.Progress(count=1, version=0), "another")
    world.finish_turn("s0", "r0", lease)


@pytest.mark.parametrize("rule", WRONG)
def test_a_run_that_no_system_could_make_is_refused_by_the_rule_that_speaks_of_it(rule: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    WRONG[rule](world)
    refusal = validate(world.merge()).refusal
    assert refusal is not None
    assert refusal.rule == rule, str(refusal)


def test_every_rule_can_refuse() -> None:
    assert sorted(WRONG) == sorted(rule.name for rule in RULES)


def test_every_rule_is_documented_with_its_reason() -> None:
    page = (Path(__file__).parents[2] / "docs" / "trace.md").read_text()
    documented = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE))
    assert {rule.name: rule.why for rule in RULES}.items() <= documented.items()


def test_every_rule_is_asked_by_a_good_run(tmp_path: Path) -> None:
    asked: dict[str, int] = {}
    for number, run in enumerate((small_run, eventful_run)):
        folder = tmp_path / str(number)
        folder.mkdir()
        verdict = validate(run(folder))
        assert verdict.valid, str(verdict.refusal)
        for rule, count in verdict.applied.items():
            asked[rule] = asked.get(rule, 0) + count
    assert [rule for rule, count in asked.items() if not count] == []


def test_what_no_clock_orders_may_have_been_in_order(tmp_path: Path) -> None:
    """r0 is drained before r1 is sealed in the file only; nothing that is logged says so."""
    world = World(tmp_path)
    ready(world)
    world.epoch += 1
    members = frozenset({"r0", "r1"})
    world.on_sync(Sync.Begin(epoch=world.epoch, version=1, members=members, mode=Mode.WAIT, lend=False))
    r0, r1 = world.workers["r0"], world.workers["r1"]
    world.command(r0, Gate.Seal(term=1, epoch=world.epoch, mode=Mode.WAIT, window=1))
    world.command(r0, Gate.Drain(term=1, epoch=world.epoch))
    world.on_sync(Sync.Sealed(replica="r0"))
    world.command(r1, Gate.Seal(term=1, epoch=world.epoch, mode=Mode.WAIT, window=1))
    world.on_sync(Sync.Sealed(replica="r1"))
    assert validate(world.merge()).valid


def test_a_barrier_that_waits_for_what_follows_it_has_no_place_in_any_order(tmp_path: Path) -> None:
    """r1's seal is there, but only after what the drain that waits for it has brought about."""
    world = World(tmp_path)
    lease = begun(world)
    world.publish(1)
    world.epoch += 1
    at = {"term": 1, "epoch": world.epoch}
    r0, r1 = world.workers["r0"], world.workers["r1"]
    members = frozenset({"r0", "r1"})
    world.on_sync(Sync.Begin(epoch=world.epoch, version=1, members=members, mode=Mode.KEEP, lend=False))
    world.command(r0, Gate.Seal(**at, mode=Mode.KEEP, window=1))
    world.on_sync(Sync.Sealed(replica="r0"))
    world.on_sync(Sync.Sealed(replica="r1"))
    world.drain([r0])
    world.on_sync(Sync.Drop(replica="r1", why="it does not drain"))
    world.install(r0, 1)
    world.on_sync(Sync.Recorded())
    world.reopen([r0])
    world.tokens("r0", lease, 1)
    world.finish_turn("s0", "r0", lease)
    world.sessions.step("s0", Session.BeginTurn(lease="s0.2"), "s0.2")
    r1.admit("s0.2", "s0")
    r1.on_lease("s0.2", Lease.Cancel())
    r1.close("s0.2")
    world.end_turn("s0", "s0.2")
    world.command(r1, Gate.Seal(**at, mode=Mode.KEEP, window=1))
    refusal = validate(world.merge()).refusal
    assert refusal is not None
    assert "which can only come after it" in str(refusal)
