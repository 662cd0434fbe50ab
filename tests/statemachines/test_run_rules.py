"""Rules of a whole run, its groups and its agents' turns that a single cell does not show."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluicegate.statemachines.agents import Agents
from sluicegate.statemachines.production import Production
from sluicegate.statemachines.run import Run
from sluicegate.statemachines.sorts import Stage


def run(colocated: bool = False, stage: Stage = Stage.WHOLE, **given: Any) -> Any:
    made = {"goal": None, "save_every": 0, "sync_every": 1, **given}
    return Run.Live(colocated=colocated, stage=stage, **made)


def made(run: Any, until: int) -> list[tuple[int, tuple[str, ...]]]:
    """Answer whatever the run asks for until it has made an update; of each update, what was asked for."""
    told: list[tuple[int, tuple[str, ...]]] = []
    while run.state not in ("ENDING", "ENDED", "FAILED") and run.update <= until:
        update, asked = run.update, [run.state]
        while True:
            answer(run)
            if run.state in ("PRODUCING", "ENDING"):
                break
            asked.append(run.state)
        told.append((update, tuple(asked)))
    return told


def answer(run: Any) -> None:
    """What it asked for was done."""
    match run.state:
        case "PRODUCING":
            run.gathered()
        case "LENDING":
            run.lent()
        case "TRAINING":
            run.trained()
        case "PUBLISHING":
            run.published(version=run.version + 1)
        case "SYNCING":
            run.synced(version=run.version)
        case "SAVING":
            run.saved()
        case other:
            raise AssertionError(other)


def test_a_colocated_run_lends_trains_and_returns_and_saves_what_was_due_before_it_was_produced() -> None:
    live = run(colocated=True, goal=3, save_every=2, sync_every=2)
    outcome = live.started(update=0, version=0)
    assert outcome.outputs == (Run.StartGather(update=1, due=False),)
    assert made(live, 3) == [
        (1, ("PRODUCING", "LENDING", "TRAINING", "SYNCING")),
        (2, ("PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING")),
        (3, ("PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING")),
    ]
    assert (live.state, live.kept, live.renewed, live.version) == ("ENDING", 3, 3, 2)


def test_a_disaggregated_run_goes_on_without_new_weights_where_none_are_due() -> None:
    live = run(goal=2, sync_every=2)
    live.started(update=0, version=4)
    assert made(live, 2) == [
        (1, ("PRODUCING", "TRAINING")),
        (2, ("PRODUCING", "TRAINING", "PUBLISHING", "SYNCING")),
    ]


def test_a_stage_alone_takes_its_own_part_of_a_step() -> None:
    for stage, states in ((Stage.ROLLOUT_ONLY, ("PRODUCING",)), (Stage.TRAIN_ONLY, ("PRODUCING", "TRAINING"))):
        for colocated in (False, True):
            live = run(colocated=colocated, stage=stage, goal=2)
            live.started(update=0, version=0)
            assert made(live, 2) == [(1, states), (2, states)]
            assert live.state == "ENDING"


@given(
    save_every=st.integers(0, 4), sync_every=st.integers(0, 4), goal=st.integers(1, 9), first=st.integers(0, 8),
    colocated=st.booleans(),
)  # fmt: skip
def test_checkpoints_and_new_weights_come_as_often_as_was_asked(
    save_every: int, sync_every: int, goal: int, first: int, colocated: bool
) -> None:
    live = run(colocated=colocated, goal=goal, save_every=save_every, sync_every=sync_every)
    live.started(update=first, version=7)
    steps = dict(made(live, goal))
    assert list(steps) == list(range(first + 1, goal + 1))
    saved = [update for update, states in steps.items() if "SAVING" in states]
    synced = [update for update, states in steps.items() if "PUBLISHING" in states]
    for found, every in ((saved, save_every), (synced, max(sync_every, 1))):
        due = [u for u in steps if every and ((u - first) % every == 0 or u == goal)]
        assert found == due


def test_a_checkpoint_that_could_not_be_saved_is_due_again() -> None:
    live = run(save_every=5)
    live.started(update=4, version=0)
    made(live, 8)
    while live.state != "SAVING":
        answer(live)
    assert live.not_saved(why="the disk is full").outputs == (Run.StartGather(update=10, due=True),)


def test_a_lost_trainer_is_restored_served_and_goes_on_from_its_checkpoint() -> None:
    live = run(colocated=True, save_every=2)
    live.started(update=0, version=0)
    made(live, 2)
    live.gathered()
    live.lent()
    assert live.trainer_lost(why="killed").outputs == (Run.StartRestore(),)
    assert live.trained().refused, "what comes late of the life before counts for nothing"
    assert live.restored(update=2, version=2).reason == "not_newer"
    assert live.restored(update=4, version=3).reason == "ahead"
    assert live.restored(update=2, version=3).outputs == (Run.StartSync(version=3),)
    assert live.synced(version=2).reason == "other_version"
    assert live.synced(version=3).outputs == (Run.StartGather(update=3, due=False),)


@given(through=st.integers(0, 12), ending=st.booleans())
def test_the_first_failure_is_what_a_run_ends_with(through: int, ending: bool) -> None:
    live = run(colocated=True, save_every=1)
    live.started(update=0, version=0)
    for _ in range(through):
        answer(live)
    if ending:
        assert live.stop().outputs == (Run.StartEnd(),)
    outcome = live.failed(why="the first")
    assert outcome.outputs == (() if ending else (Run.StartEnd(),))
    live.failed(why="of taking it down")
    live.stop()
    live.ended()
    assert (live.state, live.reason) == ("FAILED", "the first")


def everywhere(live: Any) -> list[int]:
    return [*live.again, *live.in_flight, *live.ready, *live.claimed]


GROUP = st.integers(0, 6)
DONE = st.one_of(
    st.sampled_from(["start", "stop", "trained", "give_back", "begin"]).map(lambda name: (name, None)),
    st.tuples(st.sampled_from(["completed", "failed", "dropped", "claim"]), GROUP),
    st.tuples(st.just("rewind"), st.frozensets(GROUP)),
)


@given(begins=st.integers(0, 3), again=st.frozensets(st.integers(0, 2)), events=st.lists(DONE, max_size=60))
def test_no_group_is_in_two_places_lost_or_begun_while_it_is_there(
    begins: int, again: frozenset[int], events: list[tuple[str, Any]]
) -> None:
    live = Production.Live()
    again = frozenset(g for g in again if g < begins)
    live.restore(next_group=begins, again=again)
    live.start()
    over = set(range(begins)) - again
    for name, of in events:
        before = set(everywhere(live))
        if name == "begin":
            group = min(live.again, default=live.next_group)
            assert group in live.again or group not in before | over
            held_back = live.state == "STOPPED" and group not in live.again
            assert live.begin(group=group).refused == held_back
        elif name == "rewind":
            lacking = frozenset(g for g in of if g < live.next_group)
            live.rewind(lacking=lacking)
            over -= lacking
        elif of is None:
            over |= live.claimed if name == "trained" else set()
            getattr(live, name)()
        else:
            taken = not getattr(live, name)(group=of).refused
            over |= {of} if name == "dropped" and taken else set()
        places = everywhere(live)
        assert len(places) == len(set(places))
        assert set(places) | over == set(range(live.next_group))
        assert not set(places) & over


def test_while_production_is_stopped_only_what_came_to_nothing_begins() -> None:
    live = Production.Live()
    live.start()
    live.begin(group=0)
    live.stop()
    assert live.begin(group=1).reason == "stopped"
    live.failed(group=0)
    assert not live.begin(group=0).refused
    live.completed(group=0)
    live.close()
    assert live.claim(group=0).reason == "closed"


def test_a_pause_lets_running_turns_end_and_tells_when_none_runs() -> None:
    live = Agents.Live()
    live.turn_begins(turn="a")
    live.turn_begins(turn="b")
    assert live.pause().outputs == ()
    assert live.turn_begins(turn="c").retry
    assert live.turn_ends(turn="a").outputs == ()
    assert live.turn_ends(turn="b").outputs == (Agents.Rests(),)
    assert (live.state, live.turns) == ("QUIET", frozenset())
    assert live.resume().outputs == (Agents.Flows(),)
    assert not live.turn_begins(turn="c").refused
    live.close()
    assert not live.turn_begins(turn="d").retry
