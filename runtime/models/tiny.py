"""A Qwen3 of a few ten thousand parameters, made from a seed: large enough to learn a toy task."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from .chars import CharTokenizer


def make_tiny_qwen3(
    vocab_size: int,
    *,
    hidden: int = 64,
    layers: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    max_positions: int = 512,
    seed: int = 0,
    eos_id: int = 2,
    pad_id: int = 0,
) -> Qwen3ForCausalLM:
    """A Qwen3 with tied embeddings in float32 on the CPU; equal arguments give equal weights.

    Raises ValueError when `heads` does not divide `hidden` or `kv_heads` does not divide `heads`.
    """
    if hidden % heads or heads % kv_heads:
        raise ValueError(f"hidden={hidden} must be a multiple of heads={heads}, and heads of kv_heads={kv_heads}")
    config = Qwen3Config(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=hidden // heads,
        max_position_embeddings=max_positions,
        tie_word_embeddings=True,
        use_cache=True,
        bos_token_id=1,
        eos_token_id=eos_id,
        pad_token_id=pad_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config).eval()


def save_model_folder(folder: Path, model: Qwen3ForCausalLM, tokenizer: CharTokenizer) -> None:
    """Saves both as an ordinary Hugging Face folder (config, safetensors), the tokenizer beside them."""
    model.save_pretrained(folder)
    tokenizer.save(folder)
