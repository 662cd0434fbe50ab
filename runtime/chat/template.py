"""The chat template and the tokenizer of a model, from the ordinary Hugging Face folder that it comes in.

Rules of this file:

- Text and tokens are exact: nothing is added, stripped or cleaned up. `decode` is what the bytes of the tokens say
  (read as UTF-8; what is none becomes U+FFFD), so the text of tokens is the text of their pieces put together.
- Whatever a template does when it is given messages that it does not take is told as its refusal, never as a failure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .calls import object_of
from .form import Message, Role, Tool

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")
"""One of these holds the vocabulary. Without any, transformers makes a tokenizer that knows no text."""

PROBE = "\ue000"
"""Text that no template writes by itself."""


class ChatError(ValueError):
    """Messages, or a folder, that no prompt can be made from; its text says what to mend, for whoever sent them."""


class Template:
    """What a model reads: messages as text, text as token ids, and back. Made by `load`."""

    def __init__(self, folder: Path, tokenizer: PreTrainedTokenizerFast, more_stop_ids: Iterable[int] = ()) -> None:
        """`more_stop_ids` end an answer too. Raises ChatError where the folder has no template for a conversation."""
        self._folder = folder
        self._tokenizer = tokenizer
        self._text = tokenizer.backend_tokenizer
        self._text.no_truncation()
        self._text.no_padding()
        self._added = {id: token.content for id, token in tokenizer.added_tokens_decoder.items()}
        self._bytes_of = _reads_pieces(folder, self._text.decoder)
        self._pieces: dict[int, bytes] = {}
        # A template that writes the date would otherwise write earlier turns in another way at midnight.
        self._now = datetime.now()
        self.special_ids = frozenset(i for i, token in tokenizer.added_tokens_decoder.items() if token.special)
        self.vocab_size = 1 + max(self._text.get_vocab(with_added_tokens=True).values(), default=-1)
        self.turn_end = self._turn_end()
        ends = next(([i] for i in self.encode(self.turn_end) if i in self.special_ids), [])
        eos = [tokenizer.eos_token_id] if isinstance(tokenizer.eos_token_id, int) else []
        self.stop_ids = frozenset([*eos, *more_stop_ids, *ends])
        self.digest = self._digest()

    special_ids: frozenset[int]
    """Tokens that say something to the model and are no text."""

    stop_ids: frozenset[int]
    """Tokens that end an answer."""

    vocab_size: int
    """The greatest token id, and one. A model may have room for more."""

    turn_end: str
    """What the template writes behind the text of an assistant's message."""

    digest: bytes
    """Of all that decides what is written: equal where equal messages become equal tokens."""

    @classmethod
    def load(cls, folder: Path) -> Template:
        """The template of a folder. Takes seconds. Raises ChatError that names the file and the mend."""
        if not any((folder / name).is_file() for name in VOCABULARIES):
            raise ChatError(
                f"{folder} has no tokenizer.json: save the model's tokenizer there (tokenizer.save_pretrained(folder))"
            )
        stop_ids = _generation_stop_ids(folder / "generation_config.json")
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except Exception as error:  # what a damaged file raises differs from file to file
            raise ChatError(
                f"the tokenizer in {folder} cannot be read ({error}): save it there again, whole "
                "(tokenizer.save_pretrained(folder))"
            ) from error
        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise ChatError(f"{folder} has no tokenizer.json that the tokenizers library reads: save one there")
        if not tokenizer.chat_template:
            raise ChatError(
                f"the tokenizer in {folder} has no chat template: put the model's chat_template.jinja there, or take "
                "the model's instruct or chat variant"
            )
        return cls(folder, tokenizer, stop_ids)

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], *, asks: bool) -> str:
        """The text of a conversation; `asks`: with what the assistant's next answer begins behind.

        Raises ChatError, with the template's own words, where it does not take these messages.
        """
        try:
            text = self._tokenizer.apply_chat_template(
                [given(message) for message in messages],
                tools=[given_tool(tool) for tool in tools] or None,  # pyright: ignore[reportArgumentType]
                add_generation_prompt=asks,
                tokenize=False,
                strftime_now=self._now.strftime,
            )
        except Exception as error:  # a template is a program: it may raise anything
            raise ChatError(f"the chat template of the model does not take these messages: {error}") from error
        assert isinstance(text, str)
        return text

    def encode(self, text: str) -> list[int]:
        """The token ids of a text. Special tokens that it spells are read as such, and none are added.

        Raises ChatError for a text with half of a surrogate pair, which no bytes can say, and for one that the
        vocabulary has no tokens for.
        """
        try:
            return self._text.encode(text, add_special_tokens=False).ids
        except TypeError as error:
            raise ChatError("the text has half of a surrogate pair (\\ud800 to \\udfff): it is not Unicode") from error
        except Exception as error:  # a vocabulary without a token for unknown text raises no class of its own
            raise ChatError(f"the model has no tokens for this text ({error}): send only what it knows") from error

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids, special tokens as they are spelled."""
        return b"".join(map(self.piece, ids)).decode("utf-8", "replace")

    def piece(self, id: int) -> bytes:
        """The bytes of one token; none for an id that only the model has."""
        piece = self._pieces.get(id)
        if piece is None:
            piece = self._pieces[id] = self._piece(id)
        return piece

    def _piece(self, id: int) -> bytes:
        if id in self._added:
            return self._added[id].encode()
        token = self._text.id_to_token(id)
        return b"" if token is None else self._bytes_of(token)

    def _turn_end(self) -> str:
        try:
            text = self.render([Message(Role.USER, "a"), Message(Role.ASSISTANT, PROBE)], [], asks=False)
        except ChatError as error:
            raise ChatError(f"{self._folder}: {error}; correct its chat_template.jinja") from error
        _, found, end = text.rpartition(PROBE)
        if not found:
            raise ChatError(
                f"the chat template in {self._folder} does not write what the assistant said: correct its "
                "chat_template.jinja"
            )
        return end

    def _digest(self) -> bytes:
        template = json.dumps(self._tokenizer.chat_template, sort_keys=True)
        dated = self._now.date().isoformat() if "strftime_now" in template else ""
        names = json.dumps(self._tokenizer.special_tokens_map, sort_keys=True, default=str)
        parts = (template, dated, names, self._text.to_str())
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def given(message: Message) -> dict[str, Any]:
    """A message as chat templates are given it; the arguments of a call as an object where they are one."""
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        said["tool_call_id"] = message.tool_call_id
    return said


def given_tool(tool: Tool) -> dict[str, Any]:
    """A tool as chat templates are given it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _arguments(text: str) -> dict[str, Any] | str:
    found = object_of(text)
    return text if found is None else found


def _generation_stop_ids(path: Path) -> list[int]:
    if not path.is_file():
        return []
    try:
        eos = json.loads(path.read_text()).get("eos_token_id")
        ids = [] if eos is None else eos if isinstance(eos, list) else [eos]
        return [int(id) for id in ids]
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise ChatError(f"{path} cannot be read ({error}): eos_token_id is a token id, or a list of them") from error


def _reads_pieces(folder: Path, decoder: Any) -> Any:
    """The function from a vocabulary's spelling of a token to its bytes."""
    kind = b"" if decoder is None else decoder.__getstate__()
    if b"ByteLevel" in kind:
        return _byte_level
    if b"ByteFallback" in kind or b"Metaspace" in kind:
        return _with_fallback
    raise ChatError(f"the tokenizer in {folder} is neither byte-level nor has byte fallback: text would not be exact")


def _byte_level_alphabet() -> dict[str, int]:
    """The characters that byte-level vocabularies spell bytes with (GPT-2): printable ones by themselves, the rest,
    in order, by the characters from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(0x100)) - set(printable))
    return {chr(b): b for b in printable} | {chr(0x100 + n): b for n, b in enumerate(others)}


_BYTES = _byte_level_alphabet()


def _byte_level(token: str) -> bytes:
    return bytes(_BYTES[c] for c in token) if all(c in _BYTES for c in token) else token.encode()


def _with_fallback(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes.fromhex(token[3:5])
    return token.replace("\u2581", " ").encode()
