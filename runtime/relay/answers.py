"""An upstream's answer in its own form: put together from its events, passed on as events, and told again.

Rules of this file:

- All of an upstream's own fields stay. Beside them stand the labels, in the first event and in those that end it.
- What ends a choice, and all that comes once the last one has ended, is told by `end` alone.
- The upstream is not trusted: what cannot be put together is an `HttpError` 502.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..chat.form import Labels, Usage
from ..serving import sse
from ..serving.answers import dumped, label_fields
from ..serving.errors import HttpError, openai_event, refusal

TOKENS = frozenset({"token_ids", "prompt_token_ids"})
"""Members that stand in a segment already, as tokens."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of an upstream's stream, as it came."""

    body: Mapping[str, Any]


class Assembled:
    """An answer as a whole, from a body or from the chunks of a stream. Raises HttpError for what is none."""

    def __init__(self, choices: int) -> None:
        self._count = choices
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def whole(self, body: Mapping[str, Any]) -> None:
        """The answer is this body."""
        for position, choice in enumerate(_choices(body)):
            self._choices[_index(choice, position)] = {k: v for k, v in choice.items() if k not in TOKENS}
        self._head = {k: v for k, v in body.items() if k not in TOKENS}

    def add(self, chunk: Mapping[str, Any]) -> None:
        """One more chunk."""
        for position, part in enumerate(_choices(chunk)):
            index = _index(part, position)
            choice = self._choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
            for name, value in part.items():
                if name == "delta":
                    _merge(choice["message"], value if isinstance(value, Mapping) else {})
                elif name == "logprobs" and isinstance(value, Mapping):
                    choice[name] = choice.get(name) or {}
                    _merge(choice[name], value)
                elif value is not None and name not in TOKENS:
                    choice[name] = value
        self._head |= {k: v for k, v in chunk.items() if k not in TOKENS and k != "choices" and v is not None}
        self._head["object"] = "chat.completion"

    @property
    def is_ended(self) -> bool:
        """Whether every choice says why it ended."""
        return len(self._choices) == self._count and all(c.get("finish_reason") for c in self._choices.values())

    @property
    def body(self) -> dict[str, Any]:
        """The whole answer."""
        return self._head | {"choices": [self._choices[index] for index in sorted(self._choices)]}

    @property
    def usage(self) -> Usage:
        """The counts that it tells; 0 where it tells none."""
        told = self._head.get("usage")
        counts = told if isinstance(told, Mapping) else {}
        details = counts.get("prompt_tokens_details")
        reused = details.get("cached_tokens") if isinstance(details, Mapping) else 0
        return Usage(_count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")), _count(reused))


class Passing:
    """Passes the chunks of a stream on; see `tiers.Stream`."""

    def __init__(self, choices: int, labels: Labels) -> None:
        self._count, self._labels = choices, labels
        self._ended = set[int]()
        self._held: list[Mapping[str, Any]] = []
        self._is_first = True

    def begin(self, usage: Usage | None = None) -> bytes:
        return b""

    def delta(self, delta: Chunk) -> bytes:
        ends = {
            _index(choice, at) for at, choice in enumerate(_choices(delta.body)) if choice.get("finish_reason")
        }
        self._ended |= ends
        if ends or len(self._ended) == self._count:
            self._held.append(delta.body)
            return b""
        return self._event(delta.body, self._labels if self._is_first else None)

    def end(self, usage: Usage, labels: Labels | None = None) -> bytes:
        return b"".join(self._event(chunk, labels or self._labels) for chunk in self._held) + sse.encode(b"[DONE]")

    def error(self, error: HttpError) -> bytes:
        return openai_event(error)

    def _event(self, chunk: Mapping[str, Any], labels: Labels | None) -> bytes:
        self._is_first = False
        return sse.encode(dumped(chunk if labels is None else {**chunk, **label_fields(labels)}))


def again(body: Mapping[str, Any], *, usage: bool) -> Iterator[Chunk]:
    """A stream that tells a whole answer: of each choice all that it said, then why it ended; `usage` if asked for."""
    head = {k: v for k, v in body.items() if k not in ("choices", "usage")} | {"object": "chat.completion.chunk"}
    for choice in _choices(body):
        message = dict(choice.get("message") or {})
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [{"index": i, **call} for i, call in enumerate(calls)]
        rest = {k: v for k, v in choice.items() if k not in ("message", "finish_reason")}
        yield Chunk({**head, "choices": [{**rest, "delta": message, "finish_reason": None}]})
        last = {"index": rest.get("index", 0), "delta": {}, "finish_reason": choice.get("finish_reason")}
        yield Chunk({**head, "choices": [last]})
    if usage:
        yield Chunk({**head, "choices": [], "usage": body.get("usage")})


def _merge(into: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Text goes on, lists too; parts of calls go to the call of their index; anything else is what was said last."""
    for name, value in delta.items():
        there = into.get(name)
        if value is None:
            into.setdefault(name, None)
        elif name == "tool_calls" and isinstance(value, list):
            into[name] = _calls(there or [], value)
        elif isinstance(there, str) and isinstance(value, str) and name not in ("role", "id", "type"):
            into[name] = there + value
        elif isinstance(there, list) and isinstance(value, list):
            there += value
        else:
            into[name] = list(value) if isinstance(value, list) else value


def _calls(calls: list[dict[str, Any]], parts: list[Any]) -> list[dict[str, Any]]:
    for position, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise _malformed("a tool call is no object")
        index = part.get("index", position)
        if not isinstance(index, int) or not 0 <= index <= len(calls):
            raise _malformed("tool calls are not told in order")
        if index == len(calls):
            calls.append({"function": {}})
        for name, value in part.items():
            if name == "function" and isinstance(value, Mapping):
                _merge(calls[index]["function"], value)
            elif name != "index" and value is not None:
                calls[index][name] = value
    return calls


def _choices(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = body.get("choices") or []
    if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
        raise _malformed("choices are no list of objects")
    return choices


def _index(choice: Mapping[str, Any], position: int) -> int:
    index = choice.get("index", position)
    if not isinstance(index, int):
        raise _malformed("an index is no number")
    return index


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _malformed(what: str) -> HttpError:
    return refusal("upstream_malformed", f"the upstream's answer cannot be read: {what}")
