"""Weights that were said to be there: an acknowledgement is a digest of what is held, and every cache is reset."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch
from gate_kit import TokenServer, commanded, digest_of, made_for
from rollout_kit import Driven, Refused, Weights, served

from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.engines.torch_model import TorchModel
from sluicegate.statemachines.sorts import Mode

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("scenario", tmp_path)


async def install(gate: Driven, version: int, mode: Mode = Mode.WAIT) -> Any:
    """Up to what the gate says of an install."""
    await gate.seal(mode)
    await gate.drain()
    await gate.install(version)
    return await gate.now()


async def require_nothing_served(gate: Driven) -> None:
    with pytest.raises(Refused) as refused:
        await gate.generate()
    assert refused.value.reason == "poisoned"


class Deaf(TorchModel):
    """A device that says of a load that it is done, and has received nothing."""

    def replace(self, staged: dict[str, torch.Tensor]) -> None: ...


async def test_r32_who_says_that_it_has_loaded_and_holds_what_it_held_is_found_out(weights: Weights) -> None:
    """The engine raises nothing and answers; its answer is computed from what lies in its memory."""
    async with served(weights) as (gate, engine):
        await gate.update(1)
        engine._model.__class__ = Deaf
        held = await install(gate, 2)
        assert (held.state, held.version) == ("POISONED", 1)
        await require_nothing_served(gate)


class DeafServer(TokenServer):
    """It says truly what it holds, and loads nothing after version 1."""

    async def install(self, version: int, manifest: Any) -> str:
        if version == 1:
            return await super().install(version, manifest)
        return digest_of(1)


async def test_r32_the_same_of_a_server_that_is_somebody_elses(tmp_path: Path) -> None:
    """Its install hook returns at once; what it returns is what is held."""
    async with commanded(made_for(DeafServer(), tmp_path)) as gate:
        await gate.update(1)
        held = await install(gate, 2)
        assert (held.state, held.version) == ("POISONED", 1)


class WithPrefixes(TorchEngine):
    """It has a second cache; `skips`: its reset is left out without a word."""

    caches = (*TorchEngine.caches, "prefixes")
    skips = False

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.prefixes: dict[int, str] = {}

    def _reset_caches(self) -> dict[str, bool]:
        answers = super()._reset_caches()
        if self.skips:
            return answers
        self.prefixes.clear()
        return answers | {"prefixes": True}


async def test_r39_an_install_whose_prefix_cache_was_not_reset_is_none(weights: Weights) -> None:
    async with served(weights, WithPrefixes) as (gate, engine):
        assert isinstance(engine, WithPrefixes)
        for version in (1, 2):
            engine.prefixes[3] = "computed by what was there before"
            await gate.update(version)
            assert not engine.prefixes
        engine.skips = True
        engine.prefixes[3] = "computed by version 2"
        held = await install(gate, 3)
        assert held.state == "POISONED"
        assert "prefixes" in engine.health().why
        await require_nothing_served(gate)


async def test_r39_what_frozen_requests_had_computed_is_computed_again(weights: Weights) -> None:
    """The embedded engine's own cache: keys and values of the old weights take no part in what the new ones make."""
    async with served(weights) as (gate, engine):
        await gate.update(1)
        forward, widths = engine._model.forward, list[int]()

        def noted(ids: torch.Tensor, *more: Any) -> torch.Tensor:
            widths.append(ids.shape[1])
            return forward(ids, *more)

        engine._model.forward = noted  # type: ignore[method-assign]
        asking = asyncio.create_task(gate.generate(max_tokens=3000))
        await gate.until(lambda g: g.active)
        await asyncio.sleep(0.1)
        await gate.update(2, Mode.KEEP)
        answer = await asking
        before = answer.versions.count(1)
        assert answer.spans == [(1, before), (2, 3000 - before)]
        assert 3 + before in widths, "the whole of it, in one pass, by the new weights"


@pytest.mark.parametrize("said", [None, False, "ok"])
async def test_r40_a_reset_that_does_not_say_that_it_was_done_is_a_failure(said: object, tmp_path: Path) -> None:
    """A stub for a cache's reset answers anything but True."""
    told: list[object] = []

    async def reset() -> Any:
        told.append(said)
        return said

    async with commanded(made_for(TokenServer(), tmp_path, caches={"prefixes": reset})) as gate:
        held = await install(gate, 1)
        assert (held.state, held.version, told) == ("POISONED", None, [said])


class Stub(TorchEngine):
    """Its reset answers nothing at all."""

    def _reset_caches(self) -> dict[str, bool]:
        return {}


async def test_r40_a_missing_answer_of_the_engine_is_a_failure(weights: Weights) -> None:
    async with served(weights, Stub) as (gate, engine):
        assert (await install(gate, 1)).state == "POISONED"
        assert "were not reset" in engine.health().why
        await require_nothing_served(gate)
