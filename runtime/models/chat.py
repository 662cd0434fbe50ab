"""A chat template for models with a tokenizer of characters: what lets clients of the two APIs talk to one.

The files are an ordinary Hugging Face tokenizer of the same ids: each character is a token, special tokens are those
of `CharTokenizer`. A conversation reads `<user>question<assistant>answer<eos>`.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..files import write_durably
from .chars import SPECIALS, CharTokenizer

TEMPLATE = """
{%- if tools %}{{- raise_exception('this model knows no tools') }}{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<assistant>' + message.content + '<eos>' }}
    {%- else %}
        {{- '<user>' + message.content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<assistant>' }}{%- endif %}
"""


def save_chat_files(folder: Path, tokenizer: CharTokenizer) -> None:
    """Write `tokenizer.json`, its config and the chat template beside the model in `folder`.

    Raises ValueError for an alphabet with characters beyond ASCII, which are more than one byte.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    if not tokenizer.alphabet.isascii():
        raise ValueError(f"the alphabet {tokenizer.alphabet!r} has characters beyond ASCII: take those of ASCII alone")
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    names = [*SPECIALS, *(spelled.pre_tokenize_str(char)[0][0] for char in tokenizer.alphabet)]
    # Without a token for unknown text, such text is refused.
    text = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token=None))  # pyright: ignore[reportArgumentType]
    text.pre_tokenizer = pre_tokenizers.Sequence([spelled, pre_tokenizers.Split(Regex("."), "isolated")])  # pyright: ignore[reportAttributeAccessIssue]
    text.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    text.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIALS])
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<eos>", "pad_token": "<pad>"}
    write_durably(folder / "tokenizer.json", text.to_str().encode())
    write_durably(folder / "tokenizer_config.json", json.dumps(settings).encode())
    write_durably(folder / "chat_template.jinja", TEMPLATE.encode())
