"""A generation call and its answer in one form, whichever API an agent speaks and whatever makes the tokens.

Rules of this file:

- What an API can say and this form cannot is refused where the API is read, never dropped.
- Text is what a client sees; tokens are what was made. A delta carries the tokens that it used up, so that each
  token is told once; some tell no text (a piece of a character, the end).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Role(StrEnum):
    """Who says a message. `tool` is the result of a tool call."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `tool_calls` are the assistant's; `tool_call_id` says which of them a tool's message answers."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One generation call.

    `choices` answers are wanted, each of at most `max_tokens` tokens (None: as many as there is room for), which end
    at one of the texts `stop`. `tool_choice` is `auto`, `none`, `required`, or `function:NAME`. `logprobs`: tell those
    of the tokens, natural logarithms; `usage`: tell the counts of tokens in a stream too. `model` is what the client
    calls it.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    model: str = ""
    choices: int = 1
    max_tokens: int | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    stream: bool = False
    usage: bool = False


class Finish(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


class Token(NamedTuple):
    """A token that was made: natural logarithm of its probability, and the version of the weights that made it."""

    id: int
    logprob: float
    version: int


@dataclass(frozen=True, slots=True)
class Text:
    """More text of one answer."""

    choice: int
    text: str
    tokens: Sequence[Token] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A whole tool call of one answer."""

    choice: int
    call: ToolCall
    tokens: Sequence[Token] = ()


@dataclass(frozen=True, slots=True)
class End:
    """One answer has ended; `stopped_by` is the text of `Ask.stop` that ended it, if one did."""

    choice: int
    finish: Finish
    stopped_by: str | None = None
    tokens: Sequence[Token] = ()


Delta = Text | Call | End


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call: `reused` are those of the prompt that stood in the session already."""

    prompt: int
    completion: int
    reused: int = 0


@dataclass(frozen=True, slots=True)
class Labels:
    """What an answer is labelled with: `version` is what the call was admitted to, `versions` what made its tokens."""

    session: str
    request_id: str
    version: int | None = None
    versions: tuple[int, ...] = ()
    replica: str = ""
    binding: int = 0
    tier: str = "exact"
