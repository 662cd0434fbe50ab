"""What a next life may go on from: the lives of an instance, as a shell that keeps to the contract has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trace_lines import formal, judge, parsed
from traced_run import Process, World, eventful_run, small_run, trained

from sluicegate.spec.traces import validate
from sluicegate.spec.traces.lives import DURABLE
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.session import Rebinding, Session
from sluicegate.statemachines.sorts import Ending
from sluicegate.statemachines.trainer import Trainer

RULE = "restored_as_it_was"
Cases = dict[str, Callable[[World], None]]
WRONG: Cases = {}
LEGAL: Cases = {}


def wrong(run: Callable[[World], None]) -> Callable[[World], None]:
    WRONG[run.__name__] = run
    return run


def legal(run: Callable[[World], None]) -> Callable[[World], None]:
    LEGAL[run.__name__] = run
    return run


def served(world: World, turns: int = 1) -> Any:
    """A replica at version 0, and a session of so many turns, as it then is."""
    world.start("r0")
    world.update(0)
    world.open("s0")
    for number in range(turns):
        world.finish_turn("s0", "r0", world.turn("s0", number, "r0"))
    return session(world)


def session(world: World) -> Any:
    return world.sessions.live["Session", "s0"].snapshot()


def agents(world: World, number: int, snapshot: Any | None = None) -> Process:
    """The next life of the session server, with what it goes on from."""
    world.sessions = Process(world.folder, f"agents.{number}")
    world.processes.append(world.sessions)
    if snapshot is not None:
        world.sessions.restored(snapshot, "s0")
    return world.sessions


def ask(world: World, *events: Any) -> None:
    for event in events:
        world.sessions.step("s0", event, "s0")


def turn(world: World, number: int) -> None:
    world.finish_turn("s0", "r0", world.turn("s0", number, "r0"))


def killed(world: World, process: Process) -> None:
    """The process ends without closing its log, which keeps what was written."""
    world.processes.remove(process)
    world.ended[process.incarnation] = "signal 9"


def next_life(world: World) -> Any:
    """The worker of r0 ends as it should, and has a next life."""
    world.workers["r0"].log.close()
    return world.start("r0", 2)


# -- what no shell could have stored ---------------------------------------------------------------


@wrong
def a_session_that_had_retired_is_finished_again(world: World) -> None:
    served(world)
    ask(world, Session.Finish())
    finished = session(world)
    ask(world, Session.Take(consumer="a"), Session.Release(consumer="a"))
    agents(world, 2, finished)
    ask(world, Session.Take(consumer="b"), Session.Release(consumer="b"))


@wrong
def a_session_that_was_bound_is_new_again(world: World) -> None:
    served(world)
    agents(world, 2, Session.initial(policy=Rebinding.NEVER))
    turn(world, 5)


@wrong
def a_session_that_was_bound_is_born_anew(world: World) -> None:
    served(world)
    agents(world, 2)
    world.open("s0")
    turn(world, 5)


@wrong
def a_session_goes_on_that_never_was(world: World) -> None:
    agents(world, 2, Session.initial(policy=Rebinding.NEVER).replace(state="FINISHED"))
    ask(world, Session.Take(consumer="a"), Session.Release(consumer="a"))


@wrong
def sessions_that_come_of_each_other_only(world: World) -> None:
    bound = Session.initial(policy=Rebinding.NEVER).replace(state="BOUND", replica="r0", incarnation="r0.1", binding=1)
    agents(world, 2, bound.replace(state="FINISHED"))
    ask(world, Session.Take(consumer="a"))
    agents(world, 3, bound.replace(state="TRAINING", consumer="a"))
    world.sessions.step("s0", Session.ConsumerLost(consumer="a"), "s0")


@wrong
def two_lives_go_on_from_the_same_moment(world: World) -> None:
    bound = served(world)
    agents(world, 2, bound)
    ask(world, Session.Finish())
    agents(world, 3, bound)
    ask(world, Session.Retire())


@wrong
def a_killed_worker_excuses_no_session(world: World) -> None:
    served(world)
    world.kill("r0")
    agents(world, 2)
    world.open("s0")
    ask(world, Session.Retire())


@wrong
def a_lease_is_restored_that_never_was(world: World) -> None:
    served(world)
    worker = next_life(world)
    worker.restored(Lease.initial(session="s0").replace(state="FORWARDED"), "x")
    worker.on_lease("x", Lease.Gone())


@wrong
def a_killed_worker_excuses_no_lease_of_another_replica(world: World) -> None:
    world.start("r1")
    world.kill("r1")
    a_lease_is_restored_that_never_was(world)


@wrong
def a_lease_with_a_receipt_is_lost_in_the_next_life(world: World) -> None:
    served(world)
    lease = world.turn("s0", 5, "r0")
    forwarded = world.workers["r0"].live["Lease", lease].snapshot().replace(spans={})
    world.finish_turn("s0", "r0", lease)
    world.kill("r0")
    worker = world.start("r0", 2)
    worker.restored(forwarded, lease)
    worker.on_lease(lease, Lease.Gone())


@wrong
def a_lease_goes_on_at_another_replica(world: World) -> None:
    served(world)
    lease = world.turn("s0", 5, "r0")
    forwarded = world.workers["r0"].live["Lease", lease].snapshot().replace(spans={})
    world.kill("r0")
    worker = world.start("r1")
    worker.restored(forwarded, lease)
    worker.on_lease(lease, Lease.Gone())


@wrong
def a_trainer_is_back_at_an_older_version(world: World) -> None:
    world.publish(0)
    old = world.trainer.live["Trainer", "trainer"].snapshot()
    world.train("b1")
    world.publish(1)
    second = Process(world.folder, "trainer.2")
    world.processes.append(second)
    second.restored(old, "trainer")
    second.step("trainer", Trainer.Train(term=1, batch="b1"), "1.trainer.2.train.b1")
    trained(second, "b1")


@wrong
def a_gate_is_open_before_it_has_weights(world: World) -> None:
    served(world)
    gate = world.workers["r0"].gate.snapshot()
    process = Process(world.folder, "r0.2")
    world.processes.append(process)
    process.restored(gate, "r0")


@wrong
def a_controller_goes_on_in_a_term_that_it_had(world: World) -> None:
    served(world)
    process = Process(world.folder, "controller.2")
    world.processes.append(process)
    process.restored(world.sync.snapshot(), "sync")


@pytest.mark.parametrize("case", WRONG)
def test_a_life_that_goes_on_from_what_was_not_stored_last_is_refused(case: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    WRONG[case](world)
    refusal = validate(world.merge()).refusal
    assert refusal is not None
    assert refusal.rule == RULE, str(refusal)


# -- what a shell may have stored ------------------------------------------------------------------


@legal
def a_session_goes_on_as_it_was(world: World) -> None:
    agents(world, 2, served(world))
    turn(world, 5)
    agents(world, 3, session(world))
    ask(world, Session.Finish(), Session.Take(consumer="a"), Session.Release(consumer="a"))


@legal
def many_lives_in_which_nothing_happens(world: World) -> None:
    bound = served(world)
    for number in (3, 20, 100):
        agents(world, number, bound)
    turn(world, 5)
    agents(world, 11, session(world))
    agents(world, 2, session(world))


@legal
def the_end_of_a_turn_was_not_stored(world: World) -> None:
    served(world, turns=0)
    lease = world.turn("s0", 0, "r0")
    in_turn = session(world)
    world.finish_turn("s0", "r0", lease)
    agents(world, 2, in_turn)
    world.end_turn("s0", lease)
    turn(world, 5)


@legal
def the_loss_of_a_replica_was_not_stored(world: World) -> None:
    bound = served(world)
    world.kill("r0")
    ask(world, Session.Lose(incarnation="r0.1"))
    agents(world, 2, bound)
    ask(world, Session.Lose(incarnation="r0.1"), Session.Retire())


@legal
def a_session_that_was_only_opened_is_not_stored(world: World) -> None:
    served(world, turns=0)
    agents(world, 2)
    world.open("s0")
    turn(world, 5)


@legal
def a_killed_server_had_stored_more_or_less(world: World) -> None:
    bound = served(world)
    ask(world, Session.Finish())
    world.sessions.log.flush()
    killed(world, world.sessions)
    process = agents(world, 2, bound)
    process.log.flush()
    killed(world, process)
    agents(world, 3, bound.replace(state="FINISHED"))


@legal
def a_killed_server_lost_all_lines_of_a_life(world: World) -> None:
    bound = served(world)
    killed(world, agents(world, 2))
    agents(world, 3, bound.replace(state="FINISHED"))


@legal
def a_killed_server_lost_the_begin_of_a_session_that_the_next_life_ends(world: World) -> None:
    served(world)
    world.sessions.log.flush()
    world.open("s1")
    world.finish_turn("s1", "r0", world.turn("s1", 0, "r0"))
    begun = world.sessions.live["Session", "s1"].snapshot()
    killed(world, world.sessions)
    agents(world, 2).restored(begun, "s1")
    world.sessions.step("s1", Session.Retire(), "s1")


@legal
def a_trainer_begins_anew(world: World) -> None:
    world.publish(0)
    world.train("b1")
    second = Process(world.folder, "trainer.2")
    world.processes.append(second)
    second.born(Trainer, "trainer", ranks={"trainer"})
    second.step("trainer", Trainer.Claim(term=1), "1.trainer.2.claim.1")
    world.trainer = second
    second.step("trainer", Trainer.Train(term=1, batch="b1"), "1.trainer.2.train.b1")
    trained(second, "b1")


@legal
def a_gate_begins_anew(world: World) -> None:
    served(world)
    world.catch_up(next_life(world))


@legal
def a_killed_worker_had_a_lease_of_which_nothing_is_logged(world: World) -> None:
    served(world)
    world.kill("r0")
    worker = world.start("r0", 2)
    worker.restored(Lease.initial(session="s0").replace(state="FORWARDED"), "s0.9")
    worker.on_lease("s0.9", Lease.Gone())


@legal
def a_lease_had_ended_and_is_settled_by_the_next_life(world: World) -> None:
    served(world)
    lease = world.turn("s0", 5, "r0")
    world.workers["r0"].on_lease(lease, Lease.Ended(ending=Ending.COMPLETED))
    ended = world.workers["r0"].live["Lease", lease].snapshot()
    world.kill("r0")
    worker = world.start("r0", 2)
    worker.restored(ended, lease)
    worker.on_lease(lease, Lease.Recorded())
    worker.close(lease)
    world.end_turn("s0", lease)


@legal
def the_loss_of_a_lease_was_not_stored(world: World) -> None:
    """A lease is lost, and the disk is full: it is lost once more in each next life."""
    served(world)
    lease = world.turn("s0", 5, "r0")
    forwarded = world.workers["r0"].live["Lease", lease].snapshot().replace(spans={})
    world.kill("r0")
    world.end_turn("s0", lease)
    for number in (2, 3):
        worker = world.start("r0", number)
        worker.restored(forwarded, lease)
        worker.on_lease(lease, Lease.Gone())
        worker.on_gate(Gate.Settle(lease=lease), lease)


@pytest.mark.parametrize("case", LEGAL)
def test_a_life_that_goes_on_from_what_may_have_been_stored_is_explained(case: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    LEGAL[case](world)
    verdict = validate(world.merge())
    assert verdict.valid, str(verdict.refusal)


def test_the_steps_that_a_session_stores_are_those_of_its_model() -> None:
    text = (Path(__file__).parents[2] / "spec" / "SessionAffinity.tla").read_text()
    durable = re.search(r"^Durable == \{(.+)\}$", text, re.MULTILINE)
    assert durable is not None
    assert set(re.findall(r"\w+", durable[1])) == DURABLE


def test_a_next_life_comes_after_all_that_the_life_before_it_has_done(tmp_path: Path) -> None:
    """The first life is told of the end of a lease that only the second one asks for."""
    world = World(tmp_path)
    bound = served(world)
    first = world.sessions
    agents(world, 2, bound)
    turn(world, 5)
    first.step("s0", Session.EndTurn(lease="s0.5"), "s0.5")
    refusal = validate(world.merge()).refusal
    assert refusal is not None
    assert "which can only come after it" in refusal.text


# -- who may have lost lines -----------------------------------------------------------------------


@pytest.mark.parametrize("run", [small_run, eventful_run])
def test_the_end_of_what_never_began_excuses_nothing(run: Callable[[Path], Path], tmp_path: Path) -> None:
    gone = {"controller.1", "trainer.1"}
    lines = [line for line in parsed(run(tmp_path)) if line.get("incarnation") not in gone]
    ghost = {"line": "ended", "incarnation": "ghost", "how": "?"}
    alone, excused = judge(formal(lines), tmp_path), judge(formal([*lines, ghost]), tmp_path)
    assert alone.refusal is not None
    assert excused.refusal is not None
    assert str(excused.refusal) == str(alone.refusal)
    assert "ghost" not in excused.killed


def test_the_end_of_a_process_that_had_no_log_yet_is_no_error(tmp_path: Path) -> None:
    lines = [*parsed(small_run(tmp_path)), {"line": "ended", "incarnation": "r2.1", "how": "signal 9"}]
    assert judge(formal(lines), tmp_path).valid
