"""A device that is lent: its memory is told free once it is, and what is put back into it is proved."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode, aio

from sluicegate.protocol.generated import front_pb2, front_pb2_grpc
from sluicegate.runtime.engines import EngineError, TorchEngine

from ..support.rollout_kit import Driven, Weights, command, served

pytestmark = pytest.mark.timeout(120)


class Slow(TorchEngine):
    """It frees its memory when it is let, after it could not answer once."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.asked = 0
        self.let = asyncio.Event()

    async def release_memory(self) -> None:
        self.asked += 1
        if self.asked == 1:
            raise EngineError("the connection was reset")
        await self.let.wait()
        await super().release_memory()


async def released(gate: Driven, lend: str, within: float) -> None:
    stub: Any = front_pb2_grpc.FrontStub(gate.control)
    await stub.Released(front_pb2.ReleasedRequest(lend=lend), timeout=within)


async def lent(gate: Driven, lend: str) -> None:
    await gate.seal()
    await gate.drain()
    await command(gate, "lend", lend=lend)


def held(engine: TorchEngine) -> int:
    """Bytes of the engine's weights."""
    return sum(tensor.untyped_storage().nbytes() for tensor in engine._model.tensors.values())


async def test_memory_is_told_free_once_it_is_and_only_of_the_lend_that_stands(tmp_path: Path) -> None:
    async with served(Weights("lent", tmp_path), Slow) as (gate, engine):
        assert isinstance(engine, Slow)
        await gate.update(1)
        await lent(gate, "first")
        with pytest.raises(aio.AioRpcError) as late:
            await released(gate, "first", 1.0)
        assert late.value.code() == StatusCode.DEADLINE_EXCEEDED
        assert (engine.asked, held(engine) > 0) == (2, True)
        engine.let.set()
        await released(gate, "first", 20.0)
        assert held(engine) == 0
        with pytest.raises(aio.AioRpcError, match="has not lent its device by 'other'"):
            await released(gate, "other", 20.0)
        await command(gate, "returned", lend="first")
        with pytest.raises(aio.AioRpcError, match="or no longer has"):
            await released(gate, "first", 20.0)
        await gate.install(1)
        await gate.reopen()
        await gate.close()
        assert (await gate.generate()).versions == [1] * 8
        # A second lend is not free because the first one was.
        engine.let.clear()
        await lent(gate, "second")
        waiting = asyncio.create_task(released(gate, "second", 20.0))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        engine.let.set()
        await waiting
        await command(gate, "returned", lend="second")


async def test_weights_that_came_back_otherwise_than_named_are_not_served(tmp_path: Path) -> None:
    async with served(Weights("lent", tmp_path)) as (gate, _):
        await gate.update(1)
        await lent(gate, "first")
        await released(gate, "first", 20.0)
        await command(gate, "returned", lend="first")
        wrong = gate.weights.publish(2).rank_digests(["0"])
        await command(gate, "install", version=1, digests=wrong)
        assert (await gate.until(lambda g: g.state != "INSTALLING")).state == "POISONED"
        assert "which the install did not name" in (
            await front_pb2_grpc.FrontStub(gate.control).Show(front_pb2.ShowRequest())
        ).why
