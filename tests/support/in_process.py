"""The training loop without its processes: a plain model plays episodes, a real trainer learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import Qwen3ForCausalLM

from sluicegate.runtime.models import CharTokenizer, make_tiny_qwen3, save_model_folder
from sluicegate.runtime.tasks import Episode, Recall
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.training.metrics import Metrics
from sluicegate.runtime.training.samples import Sample


@dataclass
class _Conversation:
    episode: Episode
    token_ids: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)

    def add(self, token: int, turn: int, log_prob: float) -> None:
        self.token_ids.append(token)
        self.turns.append(turn)
        self.log_probs.append(log_prob)


@torch.no_grad()
def play(
    model: Qwen3ForCausalLM, tokenizer: CharTokenizer, episodes: Sequence[Episode], draw: torch.Generator
) -> list[_Conversation]:
    """Plays all episodes side by side; their texts must have equal lengths, as those of one `Recall` do."""
    talks = [_Conversation(episode) for episode in episodes]
    texts: list[str | None] = [episode.first() for episode in episodes]
    cache, turn = None, 0
    while all(text is not None for text in texts):
        turn += 1
        known = len(talks[0].token_ids) - (turn > 1)
        for talk, text in zip(talks, texts, strict=True):
            for token in tokenizer.encode(text or ""):
                talk.add(token, 0, 0.0)
        new = torch.tensor([talk.token_ids[known:] for talk in talks])
        replies: list[list[int]] = [[] for _ in talks]
        for _ in range(episodes[0].reply_tokens):
            out = model(input_ids=new, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            log_probs = torch.log_softmax(out.logits[:, -1].float(), -1)
            new = torch.multinomial(log_probs.exp(), 1, generator=draw)
            chosen = log_probs.gather(1, new)
            for row, talk in enumerate(talks):
                talk.add(int(new[row]), turn, float(chosen[row]))
                replies[row].append(int(new[row]))
        texts = [talk.episode.observe(tokenizer.decode(reply)) for talk, reply in zip(talks, replies, strict=True)]
    return talks


@dataclass(frozen=True)
class Learned:
    """Rewards on the held-out prompts before and after, and the figures of each step."""

    before: list[float]
    after: list[float]
    steps: list[Metrics]


def learn(folder: Path, config: TrainingConfig, steps: int, *, lag: int = 1) -> Learned:
    """Makes a model from the config's seed in `folder`, which is empty, and trains it.

    Tokens are made by weights that are `lag` versions old.
    """
    torch.set_num_threads(1)
    task = Recall(seed=config.seed)
    tokenizer = CharTokenizer(task.alphabet)
    model = make_tiny_qwen3(tokenizer.vocab_size, seed=config.seed)
    save_model_folder(folder, model, tokenizer)
    core = TrainerCore(config, folder)
    draw = torch.Generator().manual_seed(config.seed)
    kept = [weights(core)] * (lag + 1)
    figures: list[Metrics] = []
    try:
        before = evaluate(model, tokenizer, task)
        for step in range(steps):
            model.load_state_dict(kept[-1 - lag], strict=False)
            indices = [step * config.groups + number for number in range(config.groups)]
            names = [(index, number) for index in indices for number in range(config.group_size)]
            talks = play(model, tokenizer, [task.prompt(index) for index, _ in names], draw)
            made = max(0, step - lag)
            samples = [
                Sample(
                    session=f"{index}/{number}",
                    group=str(index),
                    token_ids=tuple(talk.token_ids),
                    turns=tuple(talk.turns),
                    log_probs=tuple(talk.log_probs),
                    versions=tuple(made if turn else 0 for turn in talk.turns),
                    rewards=tuple(talk.episode.rewards),
                )
                for (index, number), talk in zip(names, talks, strict=True)
            ]
            figures.append(core.train(samples, version=step))
            kept = [*kept[-lag:], weights(core)] if lag else [weights(core)]
        model.load_state_dict(kept[-1], strict=False)
        return Learned(before, evaluate(model, tokenizer, task), figures)
    finally:
        core.close()


def weights(core: TrainerCore) -> dict[str, torch.Tensor]:
    """Copies of the trainer's tensors."""
    return {name: tensor.clone() for name, tensor in core.named_parameters_bucketwise()}


def evaluate(model: Qwen3ForCausalLM, tokenizer: CharTokenizer, task: Recall) -> list[float]:
    """The total of each held-out prompt, sampled with the same random numbers each time."""
    episodes = [task.prompt(index, "held_out") for index in range(task.held_out())]
    talks = play(model, tokenizer, episodes, torch.Generator().manual_seed(0))
    return [talk.episode.total() for talk in talks]
