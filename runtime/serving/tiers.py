"""What stands between the server and whatever makes answers: the two APIs, and what a tier does of a call.

Rules of this file:

- A tier reads what a call asks and answers it; the server knows nothing of what runs behind it.
- What a tier tells of an answer, its own stream encoder writes: the server passes it from the one to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..chat.form import Ask, Labels, Usage
from . import anthropic, openai
from .answering import Answering, Repeat
from .errors import HttpError, as_anthropic, as_openai


class Api(NamedTuple):
    """One of the two that agents speak."""

    name: str
    read: Callable[[Any], Ask]
    whole: Callable[..., dict[str, Any]]
    stream: type[openai.Stream] | type[anthropic.Stream]
    error: Callable[[HttpError], dict[str, Any]]


OPENAI = Api("openai", openai.read, openai.whole, openai.Stream, as_openai)
ANTHROPIC = Api("anthropic", anthropic.read, anthropic.whole, anthropic.Stream, as_anthropic)


class Stream(Protocol):
    """Writes an answer as events: `begin` first, then each of what was told, then `end` or `error`."""

    def begin(self, usage: Usage | None = None) -> bytes: ...
    def delta(self, delta: Any) -> bytes: ...
    def end(self, usage: Usage, labels: Labels | None = None) -> bytes: ...
    def error(self, error: HttpError) -> bytes: ...


class Tier(Protocol):
    """Answers calls. Everything raises HttpError for what a client is to be answered instead."""

    @property
    def tier(self) -> str:
        """What is told of tokens: `exact`, or `text` where nobody knows them."""
        ...

    def read(self, api: Api, body: Mapping[str, Any]) -> Ask:
        """What the body of a call asks for, judged as far as this tier must."""
        ...

    def retold(self, repeat: Repeat, ask: Ask, since: int | None) -> Answering | None:
        """The answer to a call that this one repeats, as it was stored; none if it repeats none. `since`: see
        `may_be_told_again`."""
        ...

    async def answer(self, answering: Answering) -> None:
        """Answer a call: its generation is stored before the answer is done."""
        ...

    def whole(self, api: Api, answering: Answering) -> dict[str, Any]:
        """The body of an answer that is done."""
        ...

    def stream(self, api: Api, answering: Answering) -> Stream:
        """What writes an answer that was begun."""
        ...

    async def models(self) -> bytes:
        """The body of `GET /v1/models`."""
        ...
