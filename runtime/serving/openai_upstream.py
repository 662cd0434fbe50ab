"""An upstream that speaks OpenAI's API, whatever the client speaks: the call in its form, its answer as deltas.

Rules of this file:

- The upstream is not trusted: what is no answer is an `HttpError` 502, whatever the bytes are.
- The tokens of a part of the answer go with the first delta that it makes; each is told once, in order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..chat.form import Ask, Call, Delta, End, Finish, Message, Role, Text, Token, ToolCall, Usage
from .errors import HttpError, of_upstream, refusal
from .openai import told
from .reading import NAME_LIMIT, TOKEN_LIMIT, At, malformed, parse
from .sse import EVENT_LIMIT, Parser, TooLarge

_FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
}
_BROKEN = frozenset({"abort", "error"})
"""Inference servers say so of an answer that did not come to its end."""
_PART_LIMIT = 1_000_000


def to_openai(ask: Ask, *, exact: bool = False) -> dict[str, Any]:
    """The body that asks an OpenAI-compatible server for the same: `openai.read` makes the same call of it.

    `exact`: ask for token ids (as vLLM takes it, `return_token_ids`) and log-probabilities too.
    """
    body: dict[str, Any] = {
        "messages": [_written(message) for message in ask.messages],
        # Servers have defaults of their own for these.
        "temperature": ask.temperature,
        "top_p": ask.top_p,
    }
    optional: dict[str, Any] = {
        "model": ask.model,
        "tools": [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
            for t in ask.tools
        ],
        "max_tokens": ask.max_tokens,
        "stop": list(ask.stop),
        "logprobs": ask.logprobs or exact,
        "return_token_ids": exact,
        "stream": ask.stream,
        "stream_options": {"include_usage": True} if ask.stream and ask.usage else None,
    }
    body |= {name: value for name, value in optional.items() if value}
    if ask.seed is not None:
        body["seed"] = ask.seed
    if ask.choices > 1:
        body["n"] = ask.choices
    if ask.tool_choice.startswith("function:"):
        name = ask.tool_choice.removeprefix("function:")
        body["tool_choice"] = {"type": "function", "function": {"name": name}}
    elif ask.tool_choice != "auto":
        body["tool_choice"] = ask.tool_choice
    return body


def _written(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        written |= {"content": message.content or None, "tool_calls": [told(call) for call in message.tool_calls]}
    if message.role is Role.TOOL:
        written["tool_call_id"] = message.tool_call_id
    return written


@dataclass(slots=True)
class _Open:
    """A call that is being written, and its number in the answer."""

    index: int
    id: str
    name: str
    written: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Choice:
    """What came of one choice; `waiting` are tokens that no delta has told."""

    waiting: list[Token] = field(default_factory=list)
    call: _Open | None = None
    has_calls: bool = False
    has_ids: bool = False
    has_logprobs: bool = True
    count: int = 0
    is_ended: bool = False

    def taken(self) -> tuple[Token, ...]:
        tokens, self.waiting = tuple(self.waiting), []
        return tokens


class OpenAIAnswers:
    """Reads one answer of an upstream: `whole` its body, or `feed` the bytes of its stream and `close`.

    `ask` is what it was asked. Tokens are given where it tells their ids; `version` is what they are labelled with,
    and a log-probability that it does not tell is not a number.
    """

    def __init__(self, ask: Ask, *, version: int = 0, limit: int = EVENT_LIMIT) -> None:
        self._stop, self._version = ask.stop, version
        self._choices = [_Choice() for _ in range(ask.choices)]
        self._parser = Parser(limit)
        self._id = ""
        self.model = ""
        """What the upstream calls the model."""
        self.usage: Usage | None = None
        self.prompt_token_ids: tuple[int, ...] | None = None
        self.is_done = False
        """Whether the stream has said that it is at its end."""

    @property
    def is_exact(self) -> bool:
        """Whether the ids of all tokens are known, and the log-probabilities of those that were made."""
        known = all(c.has_ids and c.has_logprobs for c in self._choices)
        counts = self.usage is None or self.usage.completion == sum(c.count for c in self._choices)
        return known and counts and self.prompt_token_ids is not None

    def whole(self, body: bytes) -> list[Delta]:
        """The deltas of an answer that is no stream. Raises `HttpError`: 502 for what is none, or its own error."""
        return [*self._read(body, "message"), *self.close()]

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas that these bytes of a stream complete. Raises `HttpError` as `whole` does."""
        try:
            events = self._parser.feed(data)
        except TooLarge as wrong:
            raise refusal("upstream_malformed", f"the upstream's stream cannot be read: {wrong}") from None
        deltas = list[Delta]()
        for event in events:
            if event.data.startswith(b"[DONE]"):
                self.is_done = True
            elif not self.is_done:
                deltas += self._read(event.data, "delta")
        return deltas

    def close(self) -> list[Delta]:
        """The stream is over: nothing more. Raises `HttpError` 502 if a choice has not ended."""
        if missing := [i for i, choice in enumerate(self._choices) if not choice.is_ended]:
            raise refusal("upstream_malformed", f"the upstream's answer breaks off: choices {missing} have not ended")
        return []

    def _read(self, data: bytes, member: str) -> list[Delta]:
        try:
            at = At(parse(data))
            if at["error"].is_given or at["object"].value == "error":
                code = (at["error"] if isinstance(at["error"].value, Mapping) else at)["code"].value
                raise of_upstream(code if isinstance(code, int) else 0, data)
            return self._chunk(at, member)
        except HttpError as wrong:
            if wrong.code == "malformed":
                text = f"the upstream's answer cannot be read: {wrong.text}"
                raise refusal("upstream_malformed", text) from None
            raise

    def _chunk(self, at: At, member: str) -> list[Delta]:
        self._id = _text(at["id"]) or self._id
        self.model = _text(at["model"]) or self.model
        if at["prompt_token_ids"].is_given:
            self.prompt_token_ids = _ids(at["prompt_token_ids"])
        if at["usage"].is_given:
            self.usage = _usage(at["usage"])
        deltas = list[Delta]()
        for position, part in enumerate(at["choices"].list(0, len(self._choices)) if at["choices"].is_given else ()):
            index = part["index"]
            number = index.whole(0, len(self._choices) - 1) if index.is_given else position
            deltas += self._part(number, part, member)
        return deltas

    def _part(self, number: int, part: At, member: str) -> list[Delta]:
        choice, said = self._choices[number], part[member]
        tokens = self._tokens(choice, part)
        asked = said["tool_calls"].list() if said.is_given and said["tool_calls"].is_given else []
        text = _text(said["content"]) + _text(said["refusal"]) if said.is_given else ""
        finish = _text(part["finish_reason"])
        if choice.is_ended:
            if tokens or asked or text:
                raise malformed("it goes on after its end", part.path)
            return []
        deltas = list[Delta]()
        if text:
            deltas.append(Text(number, text, (*choice.taken(), *tokens)))
            tokens = ()
        for position, at in enumerate(asked):
            index = at["index"].whole(0, _PART_LIMIT) if at["index"].is_given else position
            if choice.call is None or choice.call.index != index:
                deltas += self._flush(number)
                choice.call = self._opened(number, index, at)
            choice.waiting += tokens
            tokens = ()
            choice.call.written.append(_text(at["function"]["arguments"]))
        if finish:
            deltas += self._flush(number)
            deltas.append(self._end(number, part, finish, tokens))
        elif tokens and choice.call is None:
            deltas.append(Text(number, "", (*choice.taken(), *tokens)))
        else:
            choice.waiting += tokens
        return deltas

    def _opened(self, number: int, index: int, at: At) -> _Open:
        # Some servers give no id: one that is this answer's own can be answered.
        made = f"call_{self._id}_{number}_{index}"[:NAME_LIMIT]
        return _Open(index, _text(at["id"]) or made, at["function"]["name"].text(1, NAME_LIMIT))

    def _flush(self, number: int) -> list[Delta]:
        choice = self._choices[number]
        if (call := choice.call) is None:
            return []
        choice.call, choice.has_calls = None, True
        return [Call(number, ToolCall(call.id, call.name, "".join(call.written)), choice.taken())]

    def _end(self, number: int, part: At, finish: str, tokens: Sequence[Token]) -> End:
        choice = self._choices[number]
        if finish in _BROKEN:
            raise refusal("upstream_error", f"the upstream broke choice {number} off: {finish}")
        choice.is_ended = True
        # A reason that is unknown ends an answer too; servers say stop of answers with calls.
        reason = _FINISHES.get(finish, Finish.STOP)
        if reason is Finish.STOP and choice.has_calls:
            reason = Finish.TOOL_CALLS
        stopped_by = part["stop_reason"].value
        is_stop = reason is Finish.STOP and isinstance(stopped_by, str) and stopped_by in self._stop
        return End(number, reason, stopped_by if is_stop else None, (*choice.taken(), *tokens))

    def _tokens(self, choice: _Choice, part: At) -> tuple[Token, ...]:
        if not part["token_ids"].is_given:
            return ()
        ids, logprobs = _ids(part["token_ids"]), part["logprobs"]
        told = logprobs["content"].list(0, _PART_LIMIT) if logprobs.is_given and logprobs["content"].is_given else []
        values = [at["logprob"].number(-math.inf, math.inf) for at in told]
        if len(values) != len(ids):
            choice.has_logprobs = False
            values = [math.nan] * len(ids)
        choice.has_ids = True
        choice.count += len(ids)
        return tuple(Token(i, value, self._version) for i, value in zip(ids, values, strict=True))


def _text(at: At) -> str:
    return at.text() if at.is_given else ""


def _ids(at: At) -> tuple[int, ...]:
    return tuple(member.whole(0, TOKEN_LIMIT) for member in at.list(0, _PART_LIMIT))


def _usage(at: At) -> Usage:
    def count(given: At) -> int:
        return given.whole(0, TOKEN_LIMIT) if given.is_given else 0

    details = at["prompt_tokens_details"]
    reused, prompt = count(details["cached_tokens"]) if details.is_given else 0, count(at["prompt_tokens"])
    return Usage(prompt, count(at["completion_tokens"]), min(reused, prompt))
