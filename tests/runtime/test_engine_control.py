"""Commands to the engine: freeze and continue, abort, quiesce, failures."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
import torch

from sluicegate.runtime.engines import (
    AbortOutcome,
    EngineError,
    Finish,
    FinishReason,
    Request,
    Token,
    TorchEngine,
    stream,
)
from sluicegate.runtime.models import make_tiny_qwen3

LONG = 1500


class Recorder:
    """A sink that keeps everything in the order of its coming."""

    def __init__(self) -> None:
        self.log: list[Token | Finish | tuple[str, int]] = []
        self.changed = asyncio.Event()

    def tokens(self, tokens: Sequence[Token]) -> None:
        self._add(*tokens)

    def suspended(self, epoch: int) -> None:
        self._add(("suspended", epoch))

    def continued(self, epoch: int) -> None:
        self._add(("continued", epoch))

    def finished(self, finish: Finish) -> None:
        self._add(finish)

    def lost(self, why: str) -> None:
        raise AssertionError(f"nothing of an embedded engine is lost: {why}")

    def _add(self, *items: Token | Finish | tuple[str, int]) -> None:
        self.log.extend(items)
        self.changed.set()

    @property
    def made(self) -> list[Token]:
        return [item for item in self.log if isinstance(item, Token)]

    @property
    def ends(self) -> list[Finish]:
        return [item for item in self.log if isinstance(item, Finish)]

    @property
    def changes(self) -> list[tuple[str, int]]:
        return [item for item in self.log if not isinstance(item, Token | Finish)]

    async def until_made(self, count: int) -> None:
        await self._until(lambda: len(self.made) >= count or bool(self.ends))

    async def until_over(self) -> Finish:
        await self._until(lambda: bool(self.ends))
        assert self.ends == self.log[-1:]
        return self.ends[0]

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    make_tiny_qwen3(19, hidden=16, layers=1, heads=2, kv_heads=1, max_positions=2048).save_pretrained(path)
    return path


@pytest.fixture
async def engine(folder: Path) -> AsyncIterator[TorchEngine]:
    async with TorchEngine(folder, version=1, max_batch=2, deliver_every_s=0.0) as running:
        yield running


def start(engine: TorchEngine, request_id: str, new: int = LONG, seed: int = 0) -> Recorder:
    sink = Recorder()
    engine.generate(Request(request_id, [3, 4, 5], new, seed=seed), sink)
    return sink


async def test_a_frozen_request_continues_without_losing_or_repeating_a_token(engine: TorchEngine) -> None:
    reference = start(engine, "reference", 60, seed=8)
    await reference.until_over()
    sink = start(engine, "again", 60, seed=8)
    for epoch in (1, 2, 3):
        await sink.until_made(15 * epoch)
        assert await engine.freeze(epoch) == ["again"]
        count = len(sink.made)
        steps = engine.health().steps
        await asyncio.sleep(0.05)
        assert (len(sink.made), engine.health().steps) == (count, steps)
        assert await engine.continue_(epoch)
    assert await sink.until_over() == Finish(FinishReason.LENGTH)
    assert [token.id for token in sink.made] == [token.id for token in reference.made]
    assert sink.changes == [(c, e) for e in (1, 2, 3) for c in ("suspended", "continued")]


async def test_tokens_made_before_a_freeze_are_given_before_it_is_told(folder: Path) -> None:
    async with TorchEngine(folder, version=1, deliver_every_s=3600.0) as engine:
        sink = start(engine, "a")
        await start(engine, "short", 20).until_over()
        assert len(sink.made) < 10
        await engine.freeze(1)
        assert len(sink.made) == engine.health().tokens - 20 >= 15
        assert sink.log[-1] == ("suspended", 1)


async def test_a_continue_below_the_epoch_of_the_freeze_is_not_obeyed(engine: TorchEngine) -> None:
    sink = start(engine, "a")
    await sink.until_made(1)
    await engine.freeze(5)
    assert not await engine.continue_(4)
    assert engine.health().frozen_epoch == 5
    assert await engine.continue_(6)
    assert engine.health().frozen_epoch is None
    assert sink.changes == [("suspended", 5), ("continued", 6)]


async def test_a_freeze_that_its_continue_has_overtaken_does_nothing(engine: TorchEngine) -> None:
    sink = start(engine, "a")
    await sink.until_made(1)
    assert await engine.continue_(4)
    assert await engine.freeze(4) == []
    assert engine.health().frozen_epoch is None
    assert await engine.freeze(5) == ["a"]
    assert await engine.freeze(5) == ["a"]
    assert sink.changes == [("suspended", 5)]


async def test_a_request_that_arrives_while_frozen_waits_and_is_told(engine: TorchEngine) -> None:
    await engine.freeze(2)
    sink = start(engine, "late", 5)
    assert await engine.running() == ["late"]
    assert sink.log == [("suspended", 2)]
    await engine.continue_(2)
    await sink.until_over()
    assert len(sink.made) == 5


async def test_abort_ends_a_request_running_waiting_or_frozen(engine: TorchEngine) -> None:
    first, second, third = (start(engine, name) for name in ("first", "second", "third"))
    await first.until_made(3)
    await second.until_made(3)
    assert (engine.health().running, engine.health().waiting) == (2, 1)
    assert await engine.abort("third") is AbortOutcome.STOPPED
    assert third.log == [Finish(FinishReason.ABORTED, "aborted")]
    assert await engine.abort("first") is AbortOutcome.STOPPED
    assert (await first.until_over()).reason is FinishReason.ABORTED
    assert len(first.made) >= 3
    await engine.freeze(1)
    assert await engine.abort("second") is AbortOutcome.STOPPED
    assert (await second.until_over()).reason is FinishReason.ABORTED
    assert await engine.running() == []


async def test_an_aborted_neighbour_does_not_change_the_tokens_of_the_others(engine: TorchEngine) -> None:
    reference = start(engine, "reference", 40, seed=3)
    await reference.until_over()
    neighbour = start(engine, "neighbour")
    await neighbour.until_made(10)
    sink = start(engine, "again", 40, seed=3)
    await sink.until_made(10)
    await engine.abort("neighbour")
    await sink.until_over()
    assert [token.id for token in sink.made] == [token.id for token in reference.made]


async def test_a_late_or_repeated_abort_changes_nothing(engine: TorchEngine) -> None:
    sink = start(engine, "a", 3)
    await sink.until_over()
    for _ in range(2):
        assert await engine.abort("a") is AbortOutcome.FINISHED
    assert sink.ends == [Finish(FinishReason.LENGTH)]
    assert len(sink.made) == 3


async def test_an_abort_that_overtakes_its_request_is_remembered(engine: TorchEngine) -> None:
    for _ in range(2):
        assert await engine.abort("ghost") is AbortOutcome.UNKNOWN
    sink = start(engine, "ghost")
    assert (await sink.until_over()).reason is FinishReason.ABORTED
    assert sink.made == []
    assert await engine.running() == []


async def test_a_repeated_request_does_not_run_twice(engine: TorchEngine) -> None:
    sink = start(engine, "a", 200)
    twin = start(engine, "a", 200)
    assert (await twin.until_over()).reason is FinishReason.FAILED
    await sink.until_over()
    later = start(engine, "a", 200)
    assert "already used" in (await later.until_over()).why
    assert (len(sink.made), len(twin.made), len(later.made)) == (200, 0, 0)


async def test_quiesce_answers_only_when_nothing_runs(engine: TorchEngine) -> None:
    assert await engine.quiesce() == ("0",)
    sink = start(engine, "a", 300)
    await sink.until_made(1)
    answer = asyncio.create_task(engine.quiesce())
    await sink.until_made(200)
    assert not answer.done()
    async with asyncio.timeout(30):
        assert await answer == ("0",)
    assert engine.health().step_age_s is None
    assert len(sink.made) == 300


async def test_quiesce_answers_once_requests_are_frozen_or_aborted(engine: TorchEngine) -> None:
    async with asyncio.timeout(30):
        sink = start(engine, "a")
        await sink.until_made(1)
        for end in (engine.freeze(1), engine.abort("a")):
            answer = asyncio.create_task(engine.quiesce())
            await end
            assert await answer == ("0",)
            await engine.continue_(1)


async def test_a_cancelled_quiesce_leaves_the_engine_usable(engine: TorchEngine) -> None:
    sink = start(engine, "a", 400)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await engine.quiesce()
    assert (await sink.until_over()).reason is FinishReason.LENGTH
    assert await engine.quiesce() == ("0",)


async def test_a_failed_step_reaches_every_request_and_health(
    engine: TorchEngine, caplog: pytest.LogCaptureFixture
) -> None:
    sinks = [start(engine, name) for name in ("a", "b", "waiting")]
    await sinks[0].until_made(2)
    # A real fault: the parameters no longer fit one another, as after memory was lost under the engine.
    weight = dict(engine._model.module.named_parameters())["model.layers.0.mlp.down_proj.weight"]
    with caplog.at_level(logging.CRITICAL):
        weight.data = torch.empty(0)
        finishes = [await sink.until_over() for sink in sinks]
    assert {finish.reason for finish in finishes} == {FinishReason.FAILED}
    assert all("a step failed" in finish.why for finish in finishes)
    health = engine.health()
    assert not health.ok
    assert "a step failed" in health.why
    assert (await start(engine, "later").until_over()).reason is FinishReason.FAILED
    assert await engine.running() == []
    assert await engine.abort("a") is AbortOutcome.FINISHED
    assert await engine.quiesce() == ("0",)


async def test_a_broken_sink_ends_its_own_request_only(engine: TorchEngine, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Recorder):
        def tokens(self, tokens: Sequence[Token]) -> None:
            raise ConnectionError("the receiver is gone")

    with caplog.at_level(logging.CRITICAL):
        broken = Broken()
        engine.generate(Request("broken", [3], LONG), broken)
        good = start(engine, "good", 100)
        assert (await broken.until_over()).reason is FinishReason.ABORTED
    await good.until_over()
    assert len(good.made) == 100


async def test_close_ends_requests_and_calls_and_later_calls_are_refused(folder: Path) -> None:
    async with TorchEngine(folder, version=1) as engine:
        sink = start(engine, "a")
        await sink.until_made(1)
        waiting = asyncio.create_task(engine.quiesce())
        await asyncio.sleep(0.01)
    assert await sink.until_over() == Finish(FinishReason.FAILED, "the engine was closed")
    with pytest.raises(EngineError, match="closed"):
        await waiting
    with pytest.raises(EngineError, match="does not run"):
        await engine.running()
    with pytest.raises(EngineError, match="does not run"):
        start(engine, "b")
    assert not engine.health().ok
    await engine.close()


async def test_leaving_a_stream_aborts_its_request(engine: TorchEngine) -> None:
    tokens = stream(engine, Request("a", [3], LONG))
    assert isinstance(await anext(tokens), Token)
    await tokens.aclose()
    assert await engine.running() == []
    assert await engine.abort("a") is AbortOutcome.FINISHED
