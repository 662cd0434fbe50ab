"""A model that can chat, made in a moment: a byte-level tokenizer, ChatML with Hermes tools, a tiny Qwen3."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
MARKS = ("<tool_call>", "</tool_call>")

CHATML = """
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- 'Functions that may be called, each within <tool_call> and </tool_call> as {"name", "arguments"}:' }}
    {%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and loop.first %}
    {%- elif message.role == 'tool' %}
        {%- if loop.first %}{{- raise_exception('a tool answers before anybody asked') }}{%- endif %}
        {%- if loop.previtem.role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if message.role == 'assistant' %}{{- ASSISTANT }}{%- else %}{{- message.content }}{%- endif %}
        {%- for call in message.tool_calls or [] %}
            {%- if message.content or not loop.first %}{{- '\\n' }}{%- endif %}
            {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
            {{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""

PLAIN = CHATML.replace("ASSISTANT", "message.content")
"""Writes what the assistant said as it is."""

TRIMMING = CHATML.replace("ASSISTANT", "message.content | trim")
"""Writes it without the white space around it."""

FORGETFUL = CHATML.replace("ASSISTANT", "message.content if loop.last else message.content.split('</think>')[-1]")
"""Leaves out the reasoning of earlier turns."""

TRAINED_ON = (
    "the agent asks a question and the model answers it with a word or two; then a function is called, "
    'its answer is read, and the agent goes on. {"name": "look_up", "arguments": {"city": "Zürich", "days": 3}} '
    "system user assistant tool tool_call tool_response name arguments functions weather is sunny today, hello there. "
    "What is the weather? The weather is fine. Let me look. I do not know that, but I can find out. → ok ✓ größer 東京 "
)
"""A few hundred merges are learnt from it."""


@cache
def _tokenizer() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=[END_OF_TEXT, START, END], min_frequency=1,
    )  # fmt: skip
    tokenizer.train_from_iterator([TRAINED_ON], trainer)
    tokenizer.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in MARKS])
    return tokenizer.to_str()


def make_tokenizer(folder: Path, template: str = PLAIN) -> None:
    """Writes a tokenizer and its chat template into a folder, as a model comes with them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(_tokenizer())
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": END_OF_TEXT}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "chat_template.jinja").write_text(template)


def change_tokenizer(folder: Path, **changes: object) -> None:
    """Gives a tokenizer of `make_tokenizer` other settings; those of added tokens by `{text: {setting: value}}`."""
    path = folder / "tokenizer.json"
    settings = json.loads(path.read_text())
    added = changes.pop("added_tokens", {})
    assert isinstance(added, dict)
    for token in settings["added_tokens"]:
        token |= added.get(token["content"], {})
    path.write_text(json.dumps(settings | changes))


def vocabulary() -> int:
    """How many tokens there are."""
    return len(Tokenizer.from_str(_tokenizer()).get_vocab(with_added_tokens=True))


def make_model(folder: Path, *, max_positions: int = 4096, seed: int = 0) -> None:
    """Writes a whole model folder: a Qwen3 with random weights, and the tokenizer that fits it."""
    from sluicegate.runtime.models.tiny import make_tiny_qwen3

    ids = Tokenizer.from_str(_tokenizer()).get_vocab(with_added_tokens=True)
    model = make_tiny_qwen3(
        len(ids), max_positions=max_positions, seed=seed, eos_id=ids[END], pad_id=ids[END_OF_TEXT]
    )  # fmt: skip
    model.save_pretrained(folder)
    make_tokenizer(folder)
