"""The simulator itself: its clock, its processes, its network, and that it finds what is wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode

from sluicegate.protocol.client import Unreachable
from sluicegate.runtime.simulation.clock import OWNER, Owner, Stuck, VirtualLoop
from sluicegate.runtime.simulation.stage import Judged, Stage, play
from sluicegate.statemachines.sync import Sync


def run(work: Coroutine[Any, Any, Any], **bounds: float) -> Any:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(**bounds)) as runner:
        return runner.run(work)


def test_time_jumps_to_the_next_timer_and_timers_of_one_moment_keep_their_order() -> None:
    async def wait() -> tuple[float, list[int]]:
        loop, order = asyncio.get_running_loop(), list[int]()
        for number in range(50):
            loop.call_later(3000.0, order.append, number)
        await asyncio.sleep(3000.5)
        return loop.time(), order

    began = time.monotonic()
    now, order = run(wait())
    assert 3000.5 <= now < 3001
    assert order == [*range(50)]
    assert time.monotonic() - began < 60


def test_work_for_a_thread_is_done_by_the_loop_and_takes_virtual_time() -> None:
    async def work() -> tuple[int, float]:
        result = await asyncio.to_thread(lambda: 42)
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return result, asyncio.get_running_loop().time()

    result, now = run(work())
    assert result == 42
    assert 0 < now < 1


def test_a_run_that_cannot_go_on_says_who_waits_for_what() -> None:
    async def wait_for_nobody() -> None:
        await asyncio.Event().wait()

    async def hang() -> None:
        await asyncio.create_task(wait_for_nobody(), name="the one who waits")

    with pytest.raises(Stuck, match=r"nothing can ever run again(.|\n)*the one who waits waits in Event\.wait"):
        run(hang())


def test_a_run_that_goes_on_for_ever_ends_too() -> None:
    async def tick() -> None:
        loop = asyncio.get_running_loop()

        def again() -> None:
            loop.call_later(10.0, again)

        again()
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="no end after 10"):
        run(tick(), virtual=1000.0)


def test_what_is_waited_for_in_vain_is_named() -> None:
    async def wait() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await loop.until(lambda: False, 5.0, "the impossible")

    with pytest.raises(Stuck, match="not within 5 s: the impossible"):
        run(wait())


def test_a_stopped_process_does_later_what_came_meanwhile_and_a_dead_one_nothing() -> None:
    async def live() -> list[str]:
        loop, said = asyncio.get_running_loop(), list[str]()
        owners = [Owner("stopped"), Owner("dead")]

        async def speak(owner: Owner) -> None:
            OWNER.set(owner)
            loop.call_later(1.0, said.append, owner.name)

        for owner in owners:
            await asyncio.create_task(speak(owner))
        owners[0].is_stopped = owners[1].is_dead = True
        await asyncio.sleep(2.0)
        assert said == []
        owners[0].go_on(loop)
        await asyncio.sleep(2.0)
        return said

    assert run(live()) == ["stopped"]


def test_a_lost_answer_is_asked_for_again_and_the_step_is_made_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()
        stage.network.lose("Drain", kind="answer", source="a", times=2)  # its message and its status
        operation = await stage.update()
        assert operation.outcome == "published"
        assert stage.network.methods(target="a").count("Drain") == 3
        assert len(stage.steps_of("Gate", "Drain")) == 2

    play(scenario, tmp_path)


def test_a_cut_connection_is_no_answer_and_can_be_mended(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()
        answer = stage.ask("a", tokens=1000)
        await stage.until(lambda: answer.ids)
        stage.network.cut("agents", "a")
        await stage.ended(answer)
        assert (answer.reason, answer.code) == ("broken", StatusCode.UNAVAILABLE)
        with pytest.raises(Unreachable):
            await stage.meddle("a", "resume")
        stage.network.mend("agents", "a")
        await stage.until(lambda: stage.replicas["a"].lease(answer.lease).state == "SETTLED", "its servicer is told")
        served = stage.ask("a")
        await stage.ended(served)
        assert served.is_true
        assert len(served.ids) == 4

    play(scenario, tmp_path)


def test_messages_overtake_each_other_only_where_they_are_told_to(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()
        stage.network.delay(2.0, kind="answer", source="a", target="agents", times=1)
        answer = stage.ask("a", tokens=20)
        await stage.ended(answer)
        assert stage.now > 2.0
        assert answer.is_true, "within a stream nothing overtakes"

    play(scenario, tmp_path)


def test_a_run_on_the_same_cast_goes_the_same_way(tmp_path: Path) -> None:
    runs: list[list[tuple[float, str, str]]] = []

    async def scenario(stage: Stage) -> None:
        await stage.update()
        await stage.ended(*(stage.ask(name) for name in "ab"))
        await stage.update()
        runs.append([(s.at, s.incarnation, s.name) for s in stage.steps])

    for number in range(2):
        play(scenario, tmp_path / str(number), replicas=("a", "b"))
    assert sorted(runs[0]) == sorted(runs[1])


def test_a_wrong_label_is_seen(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()
        engine = stage.replicas["a"].engine
        engine.loaded["0"] = 7
        await stage.ended(stage.ask("a", tokens=2))

    with pytest.raises(Judged, match=r"labels \[0, 0\] of tokens \[7000, 7001\]"):
        play(scenario, tmp_path)


def test_ranks_that_do_not_agree_are_seen(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()
        stage.replicas["a"].engine.loaded["1"] = 7
        await stage.ended(stage.ask("a", tokens=1))

    with pytest.raises(Judged, match="a token was made by"):
        play(scenario, tmp_path, ranks=2)


def test_a_step_that_no_rule_explains_is_seen(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()
        log = stage.layout.log("somebody.1")
        log.of("Sync").lives("sync", Sync.Live(term=1, minimum=1), False)
        log.close()

    with pytest.raises(Judged, match="a term is never shared"):
        play(scenario, tmp_path)


def test_what_a_servicer_raises_is_seen(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.update()

        def break_(request: Any) -> None:
            raise RuntimeError("the engine's check is broken")

        stage.replicas["a"].engine.check = break_
        answer = stage.ask("a")
        await stage.ended(answer)
        assert answer.code is StatusCode.UNKNOWN

    with pytest.raises(Judged, match="the engine's check is broken"):
        play(scenario, tmp_path)
