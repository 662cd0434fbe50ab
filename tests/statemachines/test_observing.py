"""Rules that are taken can be watched from outside, and nothing of it stays in the compiled step."""

from concurrent.futures import ThreadPoolExecutor

from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.observing import observed, unobserved
from sluicegate.statemachines.sorts import Mode

SEAL = Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=9)
RANKS = frozenset({"r"})


def test_every_way_to_step_is_seen_with_the_state_before_it() -> None:
    seen: list[tuple[str, str, str]] = []
    opened = Gate.initial(ranks=RANKS).replace(state="OPEN", resident=True)
    before = Gate.step
    with observed(Gate, lambda *step: seen.append(step)):
        before(opened, SEAL)
        opened.live().step(SEAL)
        opened.live().seal(term=0, epoch=1, mode=Mode.WAIT, window=9)
        opened.live().seal(0, 0, Mode.WAIT, 9)
    assert seen == [("Seal", "OPEN", "seals")] * 3 + [("Seal", "OPEN", "seals_ignore")]


def test_nothing_stays_behind_also_after_an_error() -> None:
    methods, pure = dict(Gate.Live._methods), dict(Gate._pure)  # pyright: ignore[reportAttributeAccessIssue]
    seal = Gate.Live.seal
    seen: list[tuple[str, str, str]] = []
    try:
        with observed(Gate, lambda *step: seen.append(step)):
            assert Gate.Live.seal is not seal
            raise OSError
    except OSError:
        pass
    Gate.Live(ranks=RANKS).step(SEAL)
    assert seen == []
    assert Gate.Live.seal is seal
    assert (Gate.Live._methods, Gate._pure) == (methods, pure)  # pyright: ignore[reportAttributeAccessIssue]


def test_two_may_watch_and_steps_that_find_something_out_are_not_told() -> None:
    one: list[tuple[str, str, str]] = []
    two: list[tuple[str, str, str]] = []
    with observed(Gate, lambda *step: one.append(step)):
        with observed(Gate, lambda *step: two.append(step)):
            Gate.Live(ranks=RANKS).step(SEAL)
        with unobserved():
            Gate.Live(ranks=RANKS).step(SEAL)
        Gate.Live(ranks=RANKS).step(SEAL)
    assert (len(one), len(two)) == (2, 1)


def test_one_thread_that_finds_something_out_does_not_hide_another() -> None:
    seen: list[tuple[str, str, str]] = []
    with observed(Gate, lambda *step: seen.append(step)), ThreadPoolExecutor(1) as pool, unobserved():
        Gate.Live(ranks=RANKS).step(SEAL)
        pool.submit(Gate.Live(ranks=RANKS).step, SEAL).result()
    assert len(seen) == 1
