"""Anthropic's messages: its body as the neutral form, and the answer in its form, whole or as a stream.

Passed over, since they change nothing of what is generated here: `metadata`, `service_tier`, `cache_control` (it says
how to cache), `strict` of a tool (its schema is told to the model and not enforced), and what nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..chat.form import Ask, Call, Delta, End, Finish, Labels, Message, Role, Text, Tool, ToolCall, Usage
from . import sse
from .answers import Piece, dumped, ended, gathered, label_fields
from .errors import HttpError, anthropic_event
from .reading import (
    NAME_LIMIT,
    TOKEN_LIMIT,
    TOOL_LIMIT,
    At,
    Calls,
    distinct,
    malformed,
    parse,
    parsed,
    refuse_unsayable,
    stops,
    text_of,
    texts,
)

STOP_LIMIT = 16
FAILED = "Error: "
"""Stands before the result of a tool that failed."""
UNSAYABLE: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "top_k": (),
    "thinking": ({"type": "disabled"},),
    "output_config": ({},),
    "output_format": (),
    "container": (),
    "mcp_servers": ([],),
    "context_management": (),
}
"""Members that the neutral form has no word for, and their values that change nothing."""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def read(body: bytes | Mapping[str, Any]) -> Ask:
    """The call that a body of `POST /v1/messages` asks for; a mapping is one that `reading.parse` gave.

    Raises `HttpError` 400 for what is wrong, and for what the neutral form cannot say.
    """
    at = parsed(body)
    refuse_unsayable(at, UNSAYABLE)
    tools = _tools(at["tools"])
    return Ask(
        messages=(*_system(at["system"]), *_messages(at["messages"])),
        tools=tools,
        tool_choice=_tool_choice(at["tool_choice"], tools),
        model=at["model"].text(0, NAME_LIMIT) if at["model"].is_given else "",
        max_tokens=at["max_tokens"].whole(1, TOKEN_LIMIT),
        temperature=at["temperature"].number(0, 1) if at["temperature"].is_given else 1.0,
        top_p=at["top_p"].share() if at["top_p"].is_given else 1.0,
        stop=stops(at["stop_sequences"], STOP_LIMIT),
        stream=at["stream"].flag(),
        # A stream of this API always tells the counts.
        usage=at["stream"].flag(),
    )


def _system(given: At) -> tuple[Message, ...]:
    return (Message(Role.SYSTEM, texts(given)),) if given.is_given else ()


def _messages(given: At) -> list[Message]:
    calls, messages = Calls(), list[Message]()
    for at in given.list(1):
        match at["role"].text():
            case "user":
                messages += _user(at["content"], calls)
            case "assistant":
                messages.append(_assistant(at["content"], calls))
            case "system":
                messages.append(Message(Role.SYSTEM, texts(at["content"])))
            case _:
                raise at["role"].wrong("user or assistant")
    if messages[-1].role is Role.ASSISTANT:
        place = given.list()[-1]
        raise place.unsayable("an answer does not go on from the assistant's text here: end with a user's message")
    return messages


def _user(content: At, calls: Calls) -> list[Message]:
    """Results of tools become messages of their own, before the text of the same message."""
    if isinstance(content.value, str):
        return [Message(Role.USER, content.text())]
    if not isinstance(content.value, list | tuple):
        raise content.wrong("text or a list of blocks")
    results, said = list[Message](), list[str]()
    for block in content.list(1):
        if block["type"].text() != "tool_result":
            said.append(text_of(block))
            continue
        if said:
            raise malformed("results of tools stand before the text of a message", block.path)
        result = texts(block["content"]) if block["content"].is_given else ""
        failed = FAILED if block["is_error"].flag() else ""
        results.append(Message(Role.TOOL, failed + result, tool_call_id=calls.answered(block["tool_use_id"])))
    return [*results, Message(Role.USER, "".join(said))] if said else results


def _assistant(content: At, calls: Calls) -> Message:
    """Text, and calls after it: that some text came after a call is not kept."""
    if isinstance(content.value, str):
        return Message(Role.ASSISTANT, content.text())
    if not isinstance(content.value, list | tuple):
        raise content.wrong("text or a list of blocks")
    said, made = list[str](), list[ToolCall]()
    for block in content.list():
        if block["type"].text() != "tool_use":
            said.append(text_of(block))
            continue
        written = dumped(block["input"].object()).decode()
        made.append(ToolCall(block["id"].text(1, NAME_LIMIT), block["name"].text(1, NAME_LIMIT), written))
    calls.asked(tuple(made), content)
    return Message(Role.ASSISTANT, "".join(said), tuple(made))


def _tools(given: At) -> tuple[Tool, ...]:
    if not given.is_given:
        return ()
    tools = given.list(0, TOOL_LIMIT)
    for at in tools:
        if at["type"].value not in (None, "custom"):
            raise at["type"].unsayable("only tools of the client's own are taken here: leave it out, or give 'custom'")
    names = distinct(at["name"] for at in tools)
    return tuple(
        Tool(
            name,
            at["description"].text() if at["description"].is_given else "",
            dict(at["input_schema"].object()),
        )
        for name, at in zip(names, tools, strict=True)
    )


def _tool_choice(given: At, tools: Sequence[Tool]) -> str:
    if not given.is_given:
        return "auto"
    kind, name = given["type"].text(), given["name"]
    if given["disable_parallel_tool_use"].flag() and tools:
        raise given["disable_parallel_tool_use"].unsayable("this server does not do that: leave it out")
    if kind == "tool":
        if name.text() not in {tool.name for tool in tools}:
            raise name.wrong("the name of one of the tools")
        return f"function:{name.value}"
    if kind not in _CHOICES:
        raise given["type"].wrong("auto, any, tool or none")
    if kind == "any" and not tools:
        raise malformed("a call is required, and there are no tools", given.path)
    return _CHOICES[kind]


def whole(
    ask: Ask, deltas: Iterable[Delta], usage: Usage, labels: Labels, created: int = 0, piece: Piece | None = None
) -> dict[str, Any]:
    """The answer to a call that asked for no stream: text and calls in the order in which they were made.

    This API tells neither `created` nor log-probabilities. The same arguments give the same answer. Raises
    `ValueError` if the choice does not end, or there are several.
    """
    _one(ask)
    answer = gathered(1, deltas)[0]
    content = [{"type": "text", "text": p} if isinstance(p, str) else _block(p) for p in answer.parts]
    head = _head(ask, labels, content, usage) | _stopped(answer.end)
    return head | label_fields(labels)


class Stream:
    """The same answer as a stream of events.

    `begin` comes first, then each delta, then `end` or `error`. Why the answer ended is told by `end` alone, so that
    it can be withheld until the trace is stored.
    """

    def __init__(self, ask: Ask, labels: Labels, created: int = 0, piece: Piece | None = None) -> None:
        _one(ask)
        self._ask, self._labels = ask, labels
        self._blocks, self._is_text_open = 0, False
        self._end: End | None = None

    def begin(self, usage: Usage | None = None) -> bytes:
        """The first event, with the counts of the prompt if they are known."""
        labels = label_fields(self._labels)
        message = _head(self._ask, self._labels, [], usage or Usage(0, 0))
        message |= {"stop_reason": None, "stop_sequence": None}
        return _event({"type": "message_start", "message": message | labels} | labels)

    def delta(self, delta: Delta) -> bytes:
        """The events of a delta: none, if a client sees nothing of it yet."""
        match delta:
            case Text(text=""):
                return b""
            case Text(text=text):
                opening = b"" if self._is_text_open else self._start({"type": "text", "text": ""})
                self._is_text_open = True
                return opening + self._more({"type": "text_delta", "text": text})
            case Call(call=call):
                block = _block(call)
                is_kept = call.arguments and _object(call.arguments) is not None
                written = call.arguments if is_kept else dumped(block["input"]).decode()
                events = self._close() + self._start(block | {"input": {}})
                return events + self._more({"type": "input_json_delta", "partial_json": written}) + self._stop()
            case End():
                self._end = delta
                return self._close()

    def end(self, usage: Usage, labels: Labels | None = None) -> bytes:
        """The last events, with what the labels are by now. Raises `ValueError` if the answer has not ended."""
        more = label_fields(labels or self._labels)
        stopped = {"type": "message_delta", "delta": _stopped(ended([self._end])[0]), "usage": _usage(usage)}
        return _event(stopped | more) + _event({"type": "message_stop"} | more)

    def error(self, error: HttpError) -> bytes:
        """The last event of a stream that fails."""
        return anthropic_event(error)

    def _start(self, block: Mapping[str, Any]) -> bytes:
        return _event({"type": "content_block_start", "index": self._blocks, "content_block": block})

    def _more(self, delta: Mapping[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": self._blocks, "delta": delta})

    def _stop(self) -> bytes:
        self._blocks += 1
        return _event({"type": "content_block_stop", "index": self._blocks - 1})

    def _close(self) -> bytes:
        if not self._is_text_open:
            return b""
        self._is_text_open = False
        return self._stop()


def _one(ask: Ask) -> None:
    if ask.choices != 1:
        raise ValueError(f"{ask.choices} choices: this API tells one")


def _event(event: dict[str, Any]) -> bytes:
    return sse.encode(dumped(event), event["type"])


def _head(ask: Ask, labels: Labels, content: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
    return {"id": f"msg_{labels.request_id}", "type": "message", "role": "assistant", "model": ask.model,
            "content": content, "usage": _usage(usage)}  # fmt: skip


def _stopped(end: End) -> dict[str, Any]:
    match end.finish:
        case Finish.LENGTH:
            reason = "max_tokens"
        case Finish.TOOL_CALLS:
            reason = "tool_use"
        case Finish.STOP:
            reason = "end_turn" if end.stopped_by is None else "stop_sequence"
    return {"stop_reason": reason, "stop_sequence": end.stopped_by if reason == "stop_sequence" else None}


def _object(arguments: str) -> dict[str, Any] | None:
    try:
        return parse((arguments or "{}").encode("utf-8", "surrogatepass"))
    except HttpError:
        return None


def _block(call: ToolCall) -> dict[str, Any]:
    """The block of a call. This API takes objects only: what the model wrote instead is its member `arguments`."""
    given = _object(call.arguments)
    return {"type": "tool_use", "id": call.id, "name": call.name,
            "input": {"arguments": call.arguments} if given is None else given}  # fmt: skip


def _usage(usage: Usage) -> dict[str, int]:
    """Tokens of the prompt are told in two parts here: those that were new, and those that stood already."""
    return {
        "input_tokens": usage.prompt - usage.reused,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.reused,
        "output_tokens": usage.completion,
    }
