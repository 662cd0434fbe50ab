"""The prompt of a turn: the tokens of the turns before it as they were, and tokens of what is new.

Rules of this file:

- What a model was given and what it made is never tokenised again: a later prompt goes on behind those very tokens.
- That is done only where the template, given the whole conversation, writes the same: the text of the prompt is the
  text of the rendering, except between the first and the last token of an answer of the model's own. Where the
  template writes earlier turns in another way, the rendering is tokenised anew, and begins a new branch: then the
  model does read something else.
- A turn is known by its key: a digest chained over the template, the tools, and each message as the template is given
  it. The messages themselves are not kept. Whoever keeps a turn keeps its key beside its tokens, and makes a `Memory`
  from those, in the order in which they were told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from .form import Message, Role, Tool
from .template import ChatError, Template, given, given_tool

Ref = TypeVar("Ref")

FIRST = "nothing that was told begins this conversation"
REWRITTEN = "the chat template writes earlier turns in another way than they were read"
UNLOCATED = "the chat template does not end the answer where the model did"
UNSPELLED = "the tokenizer does not read the text of the model's stop token as that token"


class Turn(NamedTuple):
    """The tokens of a turn that was told: what the model was given, and what it made (cut where the client saw it
    end, its stop token with it)."""

    prompt: Sequence[int]
    made: Sequence[int]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The token ids to generate from. The first `reused` are those of an earlier turn; where there are none, `why`
    says the reason. `key` is that of the messages."""

    ids: list[int]
    reused: int
    why: str
    key: bytes

    def told(self, answer: Message) -> bytes:
        """The key of the turn that this prompt is of, once it is answered."""
        return _after(self.key, given(answer))


class Memory(Generic[Ref]):
    """Which turns were told: where to find the tokens of each (a reference of the caller's), by its key.

    Of turns with one key, the newest counts. Finding takes time linear in the number of messages.
    """

    def __init__(self) -> None:
        self._turns: dict[bytes, Ref] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, key: bytes, turn: Ref) -> None:
        """Add the newest turn, by `Prompt.told` of it."""
        self._turns[key] = turn

    def find(self, chain: Sequence[bytes]) -> tuple[int, Ref] | None:
        """The turn that the most of a conversation, but not all, begins with, and how many messages that is.

        `chain` are the `keys` of the conversation.
        """
        for count in range(len(chain) - 2, 0, -1):
            if chain[count] in self._turns:
                return count, self._turns[chain[count]]
        return None


def keys(template: Template, messages: Sequence[Message], tools: Sequence[Tool]) -> list[bytes]:
    """The keys of a conversation's first 0, 1, 2, … messages. Raises ChatError for what no template could be given."""
    try:
        chain = [_after(template.digest, [given_tool(tool) for tool in tools])]
        for message in messages:
            chain.append(_after(chain[-1], given(message)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ChatError(f"the messages or tools are not JSON of bounded depth: {error}") from error
    return chain


def _after(key: bytes, what: Any) -> bytes:
    return hashlib.blake2b(key + json.dumps(what).encode(), digest_size=16).digest()


def build(
    template: Template, messages: Sequence[Message], tools: Sequence[Tool],
    memory: Memory[Ref], turn_of: Callable[[Ref], Turn],
) -> Prompt:  # fmt: skip
    """The prompt of a conversation of which `memory` may know earlier turns; `turn_of` gives the tokens of one.

    Raises ChatError for a conversation that the assistant cannot answer: an empty one, one whose last word is the
    assistant's, one that the template does not take.
    """
    if not messages:
        raise ChatError("there are no messages: send at least one")
    if messages[-1].role is Role.ASSISTANT:
        raise ChatError("the last message is the assistant's, which cannot be gone on with: end with another message")
    chain = keys(template, messages, tools)
    text = template.render(messages, tools, asks=True)
    found = memory.find(chain)
    if found is None:
        return Prompt(template.encode(text), 0, FIRST, chain[-1])
    count, reference = found
    turn = turn_of(reference)
    try:
        ids = _new(template, messages[:count], tools, turn.made, text)
    except (_Anew, ChatError) as reason:
        return Prompt(template.encode(text), 0, str(reason), chain[-1])
    return Prompt([*turn.prompt, *turn.made, *ids], len(turn.prompt) + len(turn.made), "", chain[-1])


class _Anew(Exception):
    """The tokens of a turn cannot be gone on from; says why."""


def _new(
    template: Template, told: Sequence[Message], tools: Sequence[Tool], made: Sequence[int], text: str
) -> list[int]:  # fmt: skip
    """The tokens that follow those which the model made as the last of `told`, in a conversation that reads `text`."""
    ended = bool(made) and made[-1] in template.stop_ids
    rest = _behind(template, told, tools, made, text, ended=ended)
    if not ended:
        return template.encode(rest)
    # Tokenizers read what stands behind a special token in another way than what stands at the beginning.
    ids = template.encode(template.decode(made[-1:]) + rest)
    if ids[:1] != [made[-1]]:
        raise _Anew(UNSPELLED)
    return ids[1:]


def _behind(
    template: Template, told: Sequence[Message], tools: Sequence[Tool], made: Sequence[int], text: str, *, ended: bool
) -> str:  # fmt: skip
    """What stands in `text` behind what the model made; `ended`: with a stop token."""
    before = template.render(told[:-1], tools, asks=True)
    if not text.startswith(before):
        raise _Anew(REWRITTEN)
    said = template.decode(made)
    if text.startswith(said, len(before)):
        rest = text[len(before) + len(said) :]
        # A stop text that the client was not told may look like the beginning of the end of the turn.
        if ended or rest.startswith(template.turn_end):
            return rest
    # The client was told less than the model wrote, or the template spells it in another way.
    known = template.render(told, tools, asks=False)
    if not (text.startswith(known) and known.startswith(before)):
        raise _Anew(REWRITTEN)
    answer = known[len(before) :]
    if not ended:
        if not answer.endswith(template.turn_end):
            raise _Anew(UNLOCATED)
        return template.turn_end + text[len(known) :]
    _, found, tail = answer.rpartition(template.decode(made[-1:]))
    is_end = made[-1] in template.special_ids and (template.turn_end.endswith(tail) or not tail.strip())
    if not found or not is_end:
        raise _Anew(UNLOCATED)
    return tail + text[len(known) :]
