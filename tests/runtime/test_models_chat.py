"""A model with a tokenizer of characters chats as any other: the same ids, its special tokens, a template."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluicegate.runtime.chat.form import Message, Role, Tool
from sluicegate.runtime.chat.template import ChatError, Template
from sluicegate.runtime.models import ALPHABET, CharTokenizer
from sluicegate.runtime.models.chat import save_chat_files


@pytest.mark.parametrize("alphabet", ["abcd>", ALPHABET, "".join(map(chr, range(32, 127)))])
def test_text_is_the_same_ids_and_back(tmp_path: Path, alphabet: str):
    tokenizer = CharTokenizer(alphabet)
    save_chat_files(tmp_path, tokenizer)
    template = Template.load(tmp_path)
    text = alphabet[::-1] + alphabet
    assert template.encode(text) == tokenizer.encode(text)
    assert template.decode(template.encode(text)) == text
    assert (template.vocab_size, template.special_ids) == (tokenizer.vocab_size, frozenset(range(5)))
    assert (template.stop_ids, template.turn_end) == (frozenset([tokenizer.eos_id]), "<eos>")


def test_a_conversation_has_its_marks_and_what_the_model_does_not_know_is_refused(tmp_path: Path):
    tokenizer = CharTokenizer("abcd>")
    save_chat_files(tmp_path, tokenizer)
    template = Template.load(tmp_path)
    said = [Message(Role.USER, "ab>"), Message(Role.ASSISTANT, "ab"), Message(Role.USER, "c>")]
    text = template.render(said, [], asks=True)
    assert text == "<user>ab><assistant>ab<eos><user>c><assistant>"
    assert tokenizer.decode(template.encode(text), specials=True) == text
    with pytest.raises(ChatError, match="has no tokens for this text"):
        template.encode("Hello")
    with pytest.raises(ChatError, match="knows no tools"):
        template.render(said, [Tool("look_up")], asks=True)


def test_an_alphabet_of_more_bytes_than_characters_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="beyond ASCII"):
        save_chat_files(tmp_path, CharTokenizer("aäbc"))
    assert not list(tmp_path.iterdir())
