"""Batched decoding with joins and leaves: every request gets what it would have got alone."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM

from sluicegate.runtime.engines import (
    EngineError,
    Finish,
    FinishReason,
    InvalidRequest,
    Request,
    Token,
    TorchEngine,
    stream,
)
from sluicegate.runtime.engines.sampling import SamplingParameters, sample
from sluicegate.runtime.models import make_tiny_qwen3

VOCABULARY = 23


def save_windowed(folder: Path) -> None:
    """A Qwen3 whose second layer sees only the last 5 tokens."""
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=64,
        use_sliding_window=True,
        sliding_window=5,
        max_window_layers=1,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    torch.manual_seed(1)
    model = Qwen3ForCausalLM(config)
    assert model.config.layer_types == ["full_attention", "sliding_attention"]
    model.save_pretrained(folder)


@pytest.fixture(scope="module", params=["sdpa", "eager", "sliding window"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("model")
    if request.param == "sliding window":
        save_windowed(folder)
        return folder, "sdpa"
    model = make_tiny_qwen3(VOCABULARY, hidden=32, max_positions=96, seed=4)
    # Larger weights than at a fresh start: the distributions must differ between prompts.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    model.save_pretrained(folder)
    return folder, request.param


def alone(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


@torch.no_grad()
def teacher_forced(model: Any, prompt: list[int], made: list[int], temperature: float) -> torch.Tensor:
    """Log-probabilities [made, vocabulary] of one plain forward pass over prompt and answer."""
    logits = model(torch.tensor([prompt + made])).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits / (temperature or 1.0), dim=-1)


async def collect(engine: TorchEngine, request: Request, delay: float = 0.0) -> tuple[list[Token], Finish]:
    await asyncio.sleep(delay)
    tokens: list[Token] = []
    finish: Finish | None = None
    async with asyncio.timeout(60):
        async for item in stream(engine, request):
            if isinstance(item, Finish):
                finish = item
            else:
                assert finish is None
                tokens.append(item)
    assert finish is not None
    return tokens, finish


def requests(count: int, temperature: float, **more: Any) -> list[Request]:
    rng = random.Random(7)
    return [
        Request(
            f"r{number}",
            [rng.randrange(3, VOCABULARY) for _ in range(rng.randint(1, 18))],
            max_new_tokens=rng.randint(1, 20),
            temperature=temperature,
            seed=number,
            **more,
        )
        for number in range(count)
    ]


async def run_all(
    folder: Path, attention: str, batch: list[Request], max_batch: int = 5, **options: Any
) -> list[tuple[list[Token], Finish]]:
    """Runs all, arriving one after another, through few slots, so that rows join and leave all the time."""
    async with (
        TorchEngine(folder, version=9, max_batch=max_batch, attention=attention, **options) as engine,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(collect(engine, r, n * 0.002)) for n, r in enumerate(batch)]
    return [task.result() for task in tasks]


async def test_greedy_tokens_equal_those_of_transformers_generate_alone(served: tuple[Path, str]) -> None:
    folder, attention = served
    batch = requests(16, 0.0, stop_ids=(2,))
    results = await run_all(folder, attention, batch, join_every=1)
    model = alone(folder)
    stopped = 0
    for request, (tokens, finish) in zip(batch, results, strict=True):
        prompt = list(request.prompt_ids)
        wanted = model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=request.max_new_tokens,
            do_sample=False,
            eos_token_id=2,
            pad_token_id=0,
        )[0, len(prompt) :].tolist()
        assert [token.id for token in tokens] == wanted
        assert finish.reason is (FinishReason.STOP if wanted[-1] == 2 else FinishReason.LENGTH)
        assert {token.version for token in tokens} == {9}
        stopped += wanted[-1] == 2
        reference = teacher_forced(model, prompt, wanted, 0.0)
        for step, token in enumerate(tokens):
            assert token.logprob == pytest.approx(reference[step, token.id].item(), abs=2e-4)
    assert len({tuple(t.id for t in tokens) for tokens, _ in results}) > 8


@pytest.mark.parametrize("temperature", [0.7, 1.5])
async def test_log_probabilities_of_sampled_tokens_equal_a_teacher_forced_pass(
    served: tuple[Path, str], temperature: float
) -> None:
    folder, attention = served
    batch = requests(12, temperature)
    model = alone(folder)
    for request, (tokens, finish) in zip(batch, await run_all(folder, attention, batch), strict=True):
        assert finish == Finish(FinishReason.LENGTH)
        assert len(tokens) == request.max_new_tokens
        made = [token.id for token in tokens]
        reference = teacher_forced(model, list(request.prompt_ids), made, temperature)
        for step, token in enumerate(tokens):
            assert token.logprob == pytest.approx(reference[step, token.id].item(), abs=2e-4)


async def test_a_seed_gives_the_same_tokens_whatever_else_is_in_the_batch(served: tuple[Path, str]) -> None:
    folder, attention = served
    batch = requests(12, 1.0)
    crowded = await run_all(folder, attention, batch, max_batch=6)
    single = await run_all(folder, attention, batch, max_batch=1)
    reseeded = await run_all(
        folder, attention, [Request(r.request_id, r.prompt_ids, 20, seed=r.max_new_tokens + 99) for r in batch]
    )
    assert [[t.id for t in tokens] for tokens, _ in crowded] == [[t.id for t in ts] for ts, _ in single]
    assert [[t.id for t in tokens] for tokens, _ in reseeded] != [[t.id for t in ts] for ts, _ in single]


async def test_a_bad_request_is_refused_with_every_reason(served: tuple[Path, str]) -> None:
    folder, _ = served
    async with TorchEngine(folder, version=0) as engine:
        for request, complaint in (
            (Request("a", [], 1), "the prompt is empty"),
            (Request("a", [VOCABULARY], 1), "outside 0..22"),
            (Request("a", [-1], 1), "outside 0..22"),
            (Request("a", [1], 0), "max_new_tokens is 0"),
            (Request("a", [1], 1000), "exceed the model's"),
            (Request("a", [1], 1, temperature=-1), "temperature is -1"),
            (Request("a", [1], 1, temperature=float("nan")), "temperature is nan"),
            (Request("a", [1], 1, top_p=0), "top_p is 0"),
        ):
            with pytest.raises(InvalidRequest, match=complaint):
                async for _ in stream(engine, request):
                    pass
        assert await engine.running() == []


def test_a_folder_that_cannot_be_served_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no config\.json"):
        TorchEngine(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    with pytest.raises(EngineError, match="not a loadable"):
        TorchEngine(tmp_path, version=0)
    (tmp_path / "config.json").write_text('{"model_type": "no such model"}')
    with pytest.raises(EngineError, match="not a loadable"):
        TorchEngine(tmp_path)


def test_sampling_follows_the_distribution() -> None:
    logits = torch.tensor([[2.0, 0.0, -torch.inf, 1.0]])
    rows = 40_000
    parameters = SamplingParameters.of([(0.8, 1.0)] * rows, torch.device("cpu"))
    uniforms = (torch.arange(rows, dtype=torch.float64) + 0.5) / rows
    tokens, logprobs = sample(logits.expand(rows, -1), parameters, uniforms)
    wanted = torch.softmax(logits[0] / 0.8, dim=-1)
    shares = torch.bincount(tokens, minlength=4) / rows
    assert torch.allclose(shares, wanted, atol=1e-3)
    assert torch.allclose(logprobs.exp(), wanted[tokens], atol=1e-6)


def test_top_p_keeps_the_smallest_likeliest_set_and_normalises() -> None:
    logits = torch.log(torch.tensor([[0.1, 0.5, 0.15, 0.25]])).expand(1000, -1)
    uniforms = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    for top_p, kept in ((0.7, [1, 3]), (0.4, [1]), (0.76, [1, 2, 3]), (1.0, [0, 1, 2, 3])):
        # One row without a cut, so that both kinds share a batch.
        parameters = SamplingParameters.of([(1.0, top_p)] * 999 + [(1.0, 1.0)], torch.device("cpu"))
        tokens, logprobs = sample(logits, parameters, uniforms)
        assert sorted(set(tokens[:999].tolist())) == kept
        total = logits[0, kept].exp().sum()
        for token, logprob in zip(tokens[:999].tolist(), logprobs.tolist(), strict=False):
            assert logprob == pytest.approx((logits[0, token].exp() / total).log().item(), abs=1e-5)
        assert logprobs[999].item() == pytest.approx(logits[0, tokens[999]].item(), abs=1e-5)


def test_greedy_and_sampled_rows_share_a_batch() -> None:
    logits = torch.tensor([[0.0, 3.0, 1.0]]).expand(2, -1)
    parameters = SamplingParameters.of([(0.0, 0.5), (1.0, 1.0)], torch.device("cpu"))
    tokens, logprobs = sample(logits, parameters, torch.tensor([0.0, 0.999], dtype=torch.float64))
    assert tokens.tolist() == [1, 2]
    wanted = torch.log_softmax(logits[0], dim=-1)
    assert torch.allclose(logprobs, wanted[tokens], atol=1e-6)
