"""The small model and the character tokenizer."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from sluicegate.runtime.models import ALPHABET, CharTokenizer, make_tiny_qwen3, save_model_folder


def test_every_character_survives_a_round_trip() -> None:
    tokenizer = CharTokenizer()
    ids = tokenizer.encode(ALPHABET)
    assert len(set(ids)) == len(ALPHABET) == tokenizer.vocab_size - 5
    assert tokenizer.decode([tokenizer.bos_id, *ids, tokenizer.eos_id]) == ALPHABET
    assert tokenizer.decode([tokenizer.user_id, *tokenizer.encode("a")], specials=True) == "<user>a"


def test_text_outside_the_alphabet_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match="'é' at position 2"):
        CharTokenizer().encode("abé")
    with pytest.raises(ValueError, match="token id 999"):
        CharTokenizer().decode([999])
    with pytest.raises(ValueError, match="repeats"):
        CharTokenizer("aba")


def test_a_saved_folder_is_read_by_transformers_and_by_the_tokenizer(tmp_path: Path) -> None:
    tokenizer = CharTokenizer("ab=")
    model = make_tiny_qwen3(tokenizer.vocab_size, hidden=16, heads=2, kv_heads=1, seed=3)
    save_model_folder(tmp_path, model, tokenizer)
    again = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    assert CharTokenizer.load(tmp_path).alphabet == "ab="
    for (name, saved), (_, loaded) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(saved, loaded), name
    assert again.lm_head.weight is again.model.embed_tokens.weight


def test_a_seed_gives_the_same_weights_and_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    first, same, other = (make_tiny_qwen3(8, hidden=16, heads=2, kv_heads=1, seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.lm_head.weight, same.lm_head.weight)
    assert not torch.equal(first.lm_head.weight, other.lm_head.weight)


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        CharTokenizer.load(tmp_path)
    (tmp_path / "char_tokenizer.json").write_text(json.dumps({"kind": "words"}))
    with pytest.raises(ValueError, match="not a character tokenizer"):
        CharTokenizer.load(tmp_path)
