"""OpenAI's chat completions: its body as the neutral form, and the answer in its form, whole or as a stream.

Passed over, since they change nothing of what is generated here: `metadata`, `user`, `store`, `service_tier`,
`safety_identifier`, `prompt_cache_*`, `prediction`, names of participants, `strict` of a tool (its schema is told to
the model and not enforced), and what nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..chat.form import Ask, Call, Delta, End, Labels, Message, Role, Text, Token, Tool, ToolCall, Usage
from . import sse
from .answers import Piece, dumped, ended, gathered, label_fields
from .errors import HttpError, openai_event
from .reading import (
    CHOICE_LIMIT,
    NAME_LIMIT,
    SEED_LIMIT,
    TOKEN_LIMIT,
    TOOL_LIMIT,
    At,
    Calls,
    distinct,
    malformed,
    parsed,
    refuse_unsayable,
    stops,
    texts,
)

STOP_LIMIT = 4
LOWEST_LOGPROB = -9999.0
"""Stands for a token that is as good as impossible: JSON has no infinity."""
UNSAYABLE: dict[str, tuple[Any, ...]] = {
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "logit_bias": ({},),
    "top_logprobs": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "parallel_tool_calls": (True,),
    "functions": ([],),
    "function_call": (),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "web_search_options": (),
    "moderation": (),
    # What inference servers take beyond OpenAI's own, and what would change the distribution of tokens.
    "top_k": (0, -1),
    "min_p": (0,),
    "repetition_penalty": (1,),
    "length_penalty": (1,),
    "min_tokens": (0,),
    "best_of": (1,),
    "use_beam_search": (False,),
    "ignore_eos": (False,),
    "stop_token_ids": ([],),
    "bad_words": ([],),
    "allowed_token_ids": (),
    "logits_processors": ([],),
    "structured_outputs": (),
    "guided_json": (),
    "guided_regex": (),
    "guided_choice": (),
    "guided_grammar": (),
    "include_stop_str_in_output": (False,),
    "echo": (False,),
    "prompt_logprobs": (),
    "add_generation_prompt": (True,),
    "continue_final_message": (False,),
    "chat_template": (),
    "chat_template_kwargs": ({},),
    "documents": ([],),
}
"""Members that the neutral form has no word for, and their values that change nothing."""
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
}


def read(body: bytes | Mapping[str, Any], *, passed_on: bool = False) -> Ask:
    """The call that a body of `POST /v1/chat/completions` asks for; a mapping is one that `reading.parse` gave.

    Raises `HttpError` 400 for what is wrong, and for what the neutral form cannot say. `passed_on`: an upstream that
    speaks this API gets the body itself, so that only the first is refused; the call then says what it can.
    """
    at = parsed(body, passed_on=passed_on)
    refuse_unsayable(at, UNSAYABLE)
    tools = _tools(at["tools"])
    options, stop = at["stream_options"], at["stop"]
    tells_usage = options["include_usage"].flag() if options.is_given else False
    return Ask(
        messages=_messages(at["messages"]),
        tools=tools,
        tool_choice=_tool_choice(at["tool_choice"], tools),
        model=at["model"].text(0, NAME_LIMIT) if at["model"].is_given else "",
        choices=at["n"].whole(1, CHOICE_LIMIT) if at["n"].is_given else 1,
        max_tokens=_max_tokens(at["max_tokens"], at["max_completion_tokens"]),
        temperature=at["temperature"].number(0, 2) if at["temperature"].is_given else 1.0,
        top_p=at["top_p"].share() if at["top_p"].is_given else 1.0,
        seed=at["seed"].whole(0, SEED_LIMIT) if at["seed"].is_given else None,
        stop=stops(At([stop.value], stop.path) if isinstance(stop.value, str) else stop, STOP_LIMIT),
        logprobs=at["logprobs"].flag(),
        stream=at["stream"].flag(),
        usage=tells_usage and at["stream"].flag(),
    )


def _messages(given: At) -> tuple[Message, ...]:
    calls = Calls()
    return tuple(_message(at, calls) for at in given.list(1))


def _message(at: At, calls: Calls) -> Message:
    name = at["role"].text()
    role = _ROLES.get(name)
    if name == "function":
        raise at["role"].unsayable("functions are not taken: use tools, and role 'tool' for their results")
    if role is None:
        raise at["role"].wrong(" or ".join(_ROLES))
    if role is Role.TOOL:
        return Message(role, texts(at["content"]), tool_call_id=calls.answered(at["tool_call_id"]))
    if role is not Role.ASSISTANT:
        return Message(role, texts(at["content"]))
    for unsayable in (at["function_call"], at["refusal"], at["audio"]):
        if unsayable.is_given and not at.is_passed_on:
            raise unsayable.unsayable("it is not taken here: give text in content, and calls in tool_calls")
    asked = at["tool_calls"]
    made = tuple(_call(call) for call in asked.list(0, TOOL_LIMIT)) if asked.is_given else ()
    calls.asked(made, asked)
    return Message(role, texts(at["content"]) if at["content"].is_given else "", made)


def _call(at: At) -> ToolCall:
    made, written = ("function", "arguments") if _is_function(at["type"]) else ("custom", "input")
    return ToolCall(at["id"].text(1, NAME_LIMIT), at[made]["name"].text(1, NAME_LIMIT), at[made][written].text())


def _is_function(kind: At) -> bool:
    if kind.text() != "function" and not kind.is_passed_on:
        raise kind.unsayable("only 'function' is taken here")
    return kind.value == "function"


def _tools(given: At) -> tuple[Tool, ...]:
    if not given.is_given:
        return ()
    functions = [at["function"] for at in given.list(0, TOOL_LIMIT) if _is_function(at["type"])]
    names = distinct(at["name"] for at in functions)
    return tuple(
        Tool(
            name,
            at["description"].text() if at["description"].is_given else "",
            dict(at["parameters"].object()) if at["parameters"].is_given else {},
        )
        for name, at in zip(names, functions, strict=True)
    )


def _tool_choice(given: At, tools: Sequence[Tool]) -> str:
    if not given.is_given:
        return "auto"
    if isinstance(given.value, str):
        if given.value not in ("auto", "none", "required"):
            raise given.wrong("auto, none, required or an object")
        if given.value == "required" and not tools:
            raise malformed("a call is required, and there are no tools", given.path)
        return given.value
    if not _is_function(given["type"]):
        return "auto"
    name = given["function"]["name"]
    if name.text() not in {tool.name for tool in tools}:
        raise name.wrong("the name of one of the tools")
    return f"function:{name.value}"


def _max_tokens(*given: At) -> int | None:
    counts = [at.whole(1, TOKEN_LIMIT) for at in given if at.is_given]
    if len(set(counts)) > 1:
        raise malformed("it is not what max_completion_tokens says: give one of them", given[0].path)
    return counts[0] if counts else None


def whole(
    ask: Ask, deltas: Iterable[Delta], usage: Usage, labels: Labels, created: int, piece: Piece | None = None
) -> dict[str, Any]:
    """The answer to a call that asked for no stream.

    `created`: seconds of Unix time. `piece` gives the bytes of a token, for log-probabilities. The same arguments give
    the same answer. Raises `ValueError` if a choice does not end.
    """
    choices = list[dict[str, Any]]()
    for index, answer in enumerate(gathered(ask.choices, deltas)):
        calls = [told(part) for part in answer.parts if isinstance(part, ToolCall)]
        text = "".join(part for part in answer.parts if isinstance(part, str))
        message: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        logprobs = _logprobs(answer.tokens, piece) if ask.logprobs else None
        choices.append(
            {"index": index, "message": message, "logprobs": logprobs, "finish_reason": answer.end.finish.value}
        )
    head = _head(ask, labels, created, "chat.completion")
    return head | {"choices": choices, "usage": _usage(usage)} | label_fields(labels)


class Stream:
    """The same answer as a stream of events.

    `begin` comes first, then each delta, then `end` or `error`. What ends a choice is told by `end` alone, so that
    it can be withheld until the trace is stored.
    """

    def __init__(self, ask: Ask, labels: Labels, created: int, piece: Piece | None = None) -> None:
        self._ask, self._labels, self._piece = ask, labels, piece
        self._chunk = _head(ask, labels, created, "chat.completion.chunk")
        self._calls = [0] * ask.choices
        self._ends: list[End | None] = [None] * ask.choices

    def begin(self, usage: Usage | None = None) -> bytes:
        """The first events; this API has no place in them for what is known of `usage`."""
        labels, events = label_fields(self._labels), b""
        for index in range(self._ask.choices):
            events += self._event(index, {"role": "assistant", "content": ""}, more=labels)
            labels = {}
        return events

    def delta(self, delta: Delta) -> bytes:
        """The events of a delta: none, if a client sees nothing of it yet."""
        match delta:
            case Text(choice=choice, text=text, tokens=tokens):
                if not text and not (tokens and self._ask.logprobs):
                    return b""
                return self._event(choice, {"content": text}, tokens)
            case Call(choice=choice, call=call, tokens=tokens):
                numbered = {"index": self._calls[choice], **told(call)}
                self._calls[choice] += 1
                return self._event(choice, {"tool_calls": [numbered]}, tokens)
            case End(choice=choice):
                self._ends[choice] = delta
                return b""

    def end(self, usage: Usage, labels: Labels | None = None) -> bytes:
        """The last events, with what the labels are by now. Raises `ValueError` if a choice has not ended."""
        more, events = label_fields(labels or self._labels), b""
        for end in ended(self._ends):
            events += self._event(end.choice, {}, end.tokens, end.finish.value, more)
        if self._ask.usage:
            events += sse.encode(dumped(self._chunk | {"choices": [], "usage": _usage(usage)} | more))
        return events + sse.encode(b"[DONE]")

    def error(self, error: HttpError) -> bytes:
        """The last event of a stream that fails."""
        return openai_event(error)

    def _event(
        self, index: int, delta: Mapping[str, Any], tokens: Sequence[Token] = (), finish: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> bytes:  # fmt: skip
        logprobs = _logprobs(tokens, self._piece) if self._ask.logprobs and tokens else None
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        counts = {"usage": None} if self._ask.usage else {}
        return sse.encode(dumped(self._chunk | {"choices": [choice]} | counts | dict(more or {})))


def _head(ask: Ask, labels: Labels, created: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{labels.request_id}", "object": kind, "created": created, "model": ask.model,
            "system_fingerprint": None}  # fmt: skip


def told(call: ToolCall) -> dict[str, Any]:
    """A call in this API's form."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _logprobs(tokens: Iterable[Token], piece: Piece | None) -> dict[str, Any]:
    content = list[dict[str, Any]]()
    for token in tokens:
        made = piece(token.id) if piece else None
        content.append(
            {
                "token": f"token_id:{token.id}" if made is None else made.decode("utf-8", "replace"),
                "bytes": None if made is None else list(made),
                # Not a number fails the comparison, and is told as the lowest too.
                "logprob": token.logprob if token.logprob > LOWEST_LOGPROB else LOWEST_LOGPROB,
                "top_logprobs": [],
            }
        )
    return {"content": content, "refusal": None}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.reused},
    }
