"""New weights in an engine: staged beside running requests, committed when idle, never half."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen3ForCausalLM

from sluicegate.runtime.engines import (
    EngineBusy,
    EngineError,
    Finish,
    FinishReason,
    InstallFailed,
    NotStaged,
    Request,
    Resident,
    StreamSink,
    Token,
    TorchEngine,
    stream,
)
from sluicegate.runtime.engines.base import require_caches_reset
from sluicegate.runtime.engines.torch_model import TorchModel
from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import Manifest, ShmPublisher, ShmReader, WeightsError, canonical_tensors
from sluicegate.runtime.weights.shm import bucket_path


def tiny(seed: int, **shape: int) -> Qwen3ForCausalLM:
    """Weights large enough that another seed gives other tokens."""
    model = make_tiny_qwen3(19, **{"hidden": 16, "heads": 2, "kv_heads": 1, **shape}, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return model


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[TorchEngine]:
    tiny(0).save_pretrained(tmp_path / "model")
    async with TorchEngine(tmp_path / "model", version=0, deliver_every_s=0.0) as running:
        yield running


def publish(root: Path, version: int, model: Qwen3ForCausalLM) -> Manifest:
    publisher = ShmPublisher("run", root=root, bucket_bytes=4096)
    return publisher.publish(version, version, canonical_tensors(model).items(), torch.float32)


async def stage(engine: TorchEngine, root: Path, manifest: Manifest) -> None:
    await engine.stage(manifest, ShmReader("run", root=root))


async def install(engine: TorchEngine, root: Path, version: int, model: Qwen3ForCausalLM) -> None:
    manifest = publish(root, version, model)
    await stage(engine, root, manifest)
    assert await engine.commit(version) == manifest.rank_digests(engine.ranks)


async def tokens_of(engine: TorchEngine, name: str, new: int = 12, **more: Any) -> list[Token]:
    items = [item async for item in stream(engine, Request(name, [3, 4, 5], new, **more))]
    assert items[-1] == Finish(FinishReason.LENGTH)
    return [item for item in items if isinstance(item, Token)]


@torch.no_grad()
def logprobs(model: Qwen3ForCausalLM, made: Sequence[int]) -> torch.Tensor:
    ids = torch.tensor([[3, 4, 5, *made]])
    return torch.log_softmax(model(input_ids=ids).logits[0, 2:-1], dim=-1)


async def test_after_a_commit_the_new_weights_answer_under_the_new_version(engine: TorchEngine, tmp_path: Path) -> None:
    new = tiny(1)
    before = await tokens_of(engine, "before", temperature=0.0)
    await install(engine, tmp_path, 1, new)
    after = await tokens_of(engine, "after", temperature=0.0)
    assert {token.version for token in before} == {0}
    assert {token.version for token in after} == {1}
    made = [token.id for token in after]
    assert made != [token.id for token in before]
    reference = logprobs(new, made)
    assert made == reference.argmax(dim=-1).tolist()
    assert [t.logprob for t in after] == pytest.approx(reference.max(dim=-1).values.tolist(), abs=2e-4)


async def test_tied_weights_stay_tied_through_an_install(engine: TorchEngine, tmp_path: Path) -> None:
    await install(engine, tmp_path, 1, tiny(1))
    module = engine._model.module
    assert module.lm_head.weight is module.model.embed_tokens.weight


async def test_the_digest_is_that_of_the_parameters_held_not_of_what_was_sent(
    engine: TorchEngine, tmp_path: Path
) -> None:
    manifest = publish(tmp_path, 1, tiny(1))
    await stage(engine, tmp_path, manifest)
    await engine.commit(1)
    assert await engine.resident_digest() == Resident(1, {"0": manifest.digest})
    name, held = next(iter(engine._model.tensors.items()))
    assert name == "model.embed_tokens.weight"
    held.detach().view(-1).view(torch.uint8)[5] ^= 1
    resident = await engine.resident_digest()
    assert resident.version == 1
    assert resident.digests["0"] != manifest.digest


async def test_staging_leaves_running_requests_and_resident_weights_alone(engine: TorchEngine, tmp_path: Path) -> None:
    reference = await tokens_of(engine, "reference", 100, seed=5)
    resident = await engine.resident_digest()
    manifest = publish(tmp_path, 1, tiny(1))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(tokens_of(engine, "running", 100, seed=5))
        for _ in range(3):
            await stage(engine, tmp_path, manifest)
    assert running.result() == reference
    assert await engine.resident_digest() == resident


async def test_a_commit_needs_an_idle_engine_and_the_staged_version(engine: TorchEngine, tmp_path: Path) -> None:
    with pytest.raises(NotStaged, match="version 1 is not staged, nothing is"):
        await engine.commit(1)
    await stage(engine, tmp_path, publish(tmp_path, 1, tiny(1)))
    with pytest.raises(NotStaged, match="version 2 is not staged, version 1 is"):
        await engine.commit(2)
    resident = await engine.resident_digest()
    sink = StreamSink()
    engine.generate(Request("a", [3], 400), sink)
    for forbidden in (engine.commit(1), engine.reset_caches(), engine.release_memory()):
        with pytest.raises(EngineBusy, match="requests"):
            await forbidden
    await engine.abort("a")
    assert await engine.resident_digest() == resident
    digests = await engine.commit(1)
    assert await engine.commit(1) == digests == (await engine.resident_digest()).digests
    assert engine.health().version == 1


async def test_a_frozen_request_continues_on_new_weights_with_every_token_labelled(
    engine: TorchEngine, tmp_path: Path
) -> None:
    """Its keys and values are computed again: what the old weights left behind takes no part."""
    new = tiny(1)
    manifest = publish(tmp_path, 1, new)
    await stage(engine, tmp_path, manifest)
    sink = StreamSink()
    engine.generate(Request("a", [3, 4, 5], 400, seed=2), sink)
    got: list[Token | Finish] = [await sink.queue.get() for _ in range(10)]
    assert await engine.freeze(1) == ["a"]
    assert await engine.quiesce() == ("0",)
    await engine.commit(1)
    assert await engine.continue_(1)
    while not isinstance(got[-1], Finish):
        got.append(await sink.queue.get())
    tokens = [item for item in got if isinstance(item, Token)]
    assert len(tokens) == 400
    versions = [token.version for token in tokens]
    switch = versions.index(1)
    assert 10 <= switch < 400
    assert versions == [0] * switch + [1] * (400 - switch)
    made = [token.id for token in tokens]
    by_old, by_new = logprobs(tiny(0), made), logprobs(new, made)
    for step, token in enumerate(tokens):
        reference = by_old if step < switch else by_new
        assert token.logprob == pytest.approx(reference[step, token.id].item(), abs=5e-4)


async def test_weights_that_did_not_arrive_whole_or_do_not_fit_leave_the_engine_as_it_was(
    engine: TorchEngine, tmp_path: Path
) -> None:
    resident = await engine.resident_digest()
    manifest = publish(tmp_path, 1, tiny(1))
    path = bucket_path(tmp_path / "sluicegate-run" / "v1", 2)
    good = path.read_bytes()
    path.write_bytes(good[:100] + bytes([good[100] ^ 4]) + good[101:])
    with pytest.raises(WeightsError, match="bucket 2 of version 1 is corrupt"):
        await stage(engine, tmp_path, manifest)
    path.unlink()
    with pytest.raises(WeightsError, match="bucket 2 of version 1 is missing"):
        await stage(engine, tmp_path, manifest)
    wider = publish(tmp_path, 2, tiny(1, hidden=32))
    with pytest.raises(WeightsError, match=r"\(19, 32\) in the manifest, \(19, 16\) in the engine"):
        await stage(engine, tmp_path, wider)
    for version in (1, 2):
        with pytest.raises(NotStaged):
            await engine.commit(version)
    assert await engine.resident_digest() == resident
    assert {token.version for token in await tokens_of(engine, "a")} == {0}
    path.write_bytes(good)
    await stage(engine, tmp_path, manifest)
    assert await engine.commit(1) == {"0": manifest.digest}


async def test_one_version_is_staged_at_most_and_a_failed_staging_keeps_none(
    engine: TorchEngine, tmp_path: Path
) -> None:
    first = publish(tmp_path, 1, tiny(1))
    await stage(engine, tmp_path, first)
    second = publish(tmp_path, 2, tiny(2))
    bucket_path(tmp_path / "sluicegate-run" / "v2", 0).unlink()
    with pytest.raises(WeightsError):
        await stage(engine, tmp_path, second)
    with pytest.raises(NotStaged, match="nothing is"):
        await engine.commit(1)
    await stage(engine, tmp_path, first)
    assert await engine.commit(1) == {"0": first.digest}


class HalfWay(TorchModel):
    """A model whose device fails in the middle of the copy."""

    def replace(self, staged: dict[str, torch.Tensor]) -> None:
        super().replace({name: staged[name] for name in list(staged)[: len(staged) // 2]})


async def test_an_install_that_stops_half_way_leaves_an_engine_that_serves_nothing(
    engine: TorchEngine, tmp_path: Path
) -> None:
    engine._model.__class__ = HalfWay
    await stage(engine, tmp_path, publish(tmp_path, 1, tiny(1)))
    with pytest.raises(InstallFailed, match="install of version 1 failed"):
        await engine.commit(1)
    health = engine.health()
    assert (health.ok, health.resident) == (False, False)
    items = [item async for item in stream(engine, Request("a", [3], 5))]
    assert [type(item) for item in items] == [Finish]
    with pytest.raises(EngineError, match="must be replaced"):
        await engine.commit(1)


async def test_an_engine_without_a_version_serves_only_after_its_first_install(tmp_path: Path) -> None:
    tiny(0).save_pretrained(tmp_path / "model")
    async with TorchEngine(tmp_path / "model") as engine:
        items = [item async for item in stream(engine, Request("early", [3], 5))]
        assert items == [Finish(FinishReason.FAILED, "no version of the weights is resident: install one first")]
        assert (await engine.resident_digest()).version is None
        await install(engine, tmp_path, 4, tiny(1))
        assert {token.version for token in await tokens_of(engine, "later")} == {4}


async def test_released_memory_serves_nothing_until_it_is_restored_and_installed(
    engine: TorchEngine, tmp_path: Path
) -> None:
    new = tiny(1)
    manifest = publish(tmp_path, 1, new)
    await engine.release_memory()
    assert sum(tensor.numel() for tensor in engine._model.tensors.values()) == 0
    assert not engine.health().resident
    items = [item async for item in stream(engine, Request("a", [3], 5))]
    assert isinstance(items[0], Finish)
    for refused in (stage(engine, tmp_path, manifest), engine.resident_digest()):
        with pytest.raises(EngineError, match="memory is released, restore it first"):
            await refused
    await engine.restore_memory()
    assert (await engine.resident_digest()).version is None
    await stage(engine, tmp_path, manifest)
    assert await engine.commit(1) == {"0": manifest.digest}
    made = [token.id for token in await tokens_of(engine, "b", temperature=0.0)]
    assert made == logprobs(new, made).argmax(dim=-1).tolist()


async def test_every_cache_answers_a_reset(engine: TorchEngine) -> None:
    answers = await engine.reset_caches()
    require_caches_reset(engine.caches, answers)
    for missing in ({}, dict.fromkeys(answers, False)):
        with pytest.raises(EngineError, match="were not reset"):
            require_caches_reset(engine.caches, missing)
