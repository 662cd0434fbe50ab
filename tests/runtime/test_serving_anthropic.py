"""Anthropic's messages: bodies as the neutral form, and answers that the official client reads."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import MessageParam, RawMessageStreamEvent
from api_clients import Answering, anthropic_client
from hypothesis import given
from hypothesis import strategies as st
from json_bodies import VALUES, bodies
from pydantic import TypeAdapter

from sluicegate.runtime.chat.form import (
    Ask,
    Call,
    Delta,
    End,
    Finish,
    Labels,
    Message,
    Role,
    Text,
    Token,
    Tool,
    ToolCall,
    Usage,
)
from sluicegate.runtime.serving import anthropic, openai
from sluicegate.runtime.serving.errors import HttpError
from sluicegate.runtime.serving.openai_upstream import to_openai
from sluicegate.runtime.serving.sse import Parser

CACHED = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "look", "description": "looks", "input_schema": {"type": "object"}, **CACHED}
GOOD: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "be "}, {"type": "text", "text": "short", **CACHED}],
    "messages": [
        {"role": "user", "content": "what is here?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a stone"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": "dark", "is_error": True},
                {"type": "text", "text": "go on"},
            ],
        },
    ],
    "tools": [TOOL],
    "tool_choice": {"type": "tool", "name": "look"},
    "temperature": 0.5,
    "top_p": 0.9,
    "stop_sequences": ["\n", "END"],
    "stream": True,
    "metadata": {"user_id": "u"},
    "thinking": {"type": "disabled"},
    "service_tier": "auto",
}
ASK = Ask(
    messages=(
        Message(Role.SYSTEM, "be short"),
        Message(Role.USER, "what is here?"),
        Message(Role.ASSISTANT, "I look.", (ToolCall("c1", "look", '{"at":1}'), ToolCall("c2", "look", "{}"))),
        Message(Role.TOOL, "a stone", tool_call_id="c1"),
        Message(Role.TOOL, "Error: dark", tool_call_id="c2"),
        Message(Role.USER, "go on"),
    ),
    tools=(Tool("look", "looks", {"type": "object"}),),
    tool_choice="function:look",
    model="m",
    max_tokens=9,
    temperature=0.5,
    top_p=0.9,
    stop=("\n", "END"),
    stream=True,
    usage=True,
)
USER = {"role": "user", "content": "hi"}
SIMPLE: dict[str, Any] = {"max_tokens": 5, "messages": [USER]}


def said(*messages: Any) -> dict[str, Any]:
    return SIMPLE | {"messages": list(messages)}


def test_a_body_says_the_same_in_the_neutral_form() -> None:
    assert anthropic.read(json.dumps(GOOD).encode()) == ASK
    assert anthropic.read(GOOD) == ASK
    assert anthropic.read(SIMPLE) == Ask(messages=(Message(Role.USER, "hi"),), max_tokens=5)
    for kind, choice in (("auto", "auto"), ("any", "required"), ("none", "none")):
        assert anthropic.read(GOOD | {"tool_choice": {"type": kind}}).tool_choice == choice
    nothing = dict.fromkeys(set(GOOD) - {"messages", "max_tokens"})
    assert anthropic.read(SIMPLE | nothing) == anthropic.read(SIMPLE)


def used(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]}


def result(of: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": of, **more}]}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{", "body: not JSON"),
        ({"messages": [USER]}, "max_tokens: expected a whole number from 1 to 2147483647, got nothing"),
        (said(), "messages: expected 1 to 10000 of them, got 0"),
        (said({"role": "tool", "content": ""}), 'messages[0].role: expected user or assistant, got "tool"'),
        (said(USER, {"role": "user", "content": 5}), "messages[1].content: expected text or a list of blocks, got 5"),
        (said({"role": "user", "content": []}), "messages[0].content: expected 1 to 10000 of them, got 0"),
        (said({"role": "user", "content": ["x"]}), 'messages[0].content[0]: expected an object, got "x"'),
        (said(result("c1")), 'messages[0].content[0].tool_use_id: "c1" answers no call'),
        (said(used("c1"), result("c1"), result("c1")), 'messages[2].content[0].tool_use_id: "c1" answers no call'),
        (said(used("c1", "c1"), USER), "messages[0].content: the id 'c1' is that of another call that waits"),
        (said(used("c1"), result("c1", is_error="no")), "messages[1].content[0].is_error: expected true or false"),
        (said(used("c1"), {"role": "user", "content": [{"type": "text", "text": "x"}, *result("c1")["content"]]}),
         "messages[1].content[1]: results of tools stand before the text"),
        (said({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": "{}"}]}, USER),
         'messages[0].content[0].input: expected an object, got "{}"'),
        (SIMPLE | {"system": 5}, "system: expected text or a list of its parts, got 5"),
        (SIMPLE | {"temperature": 1.5}, "temperature: expected a number from 0 to 1, got 1.5"),
        (SIMPLE | {"stop_sequences": "x"}, 'stop_sequences: expected a list, got "x"'),
        (SIMPLE | {"stop_sequences": ["x"] * 17}, "stop_sequences: expected 0 to 16 of them, got 17"),
        (SIMPLE | {"tools": [{"name": "f"}]}, "tools[0].input_schema: expected an object, got nothing"),
        (SIMPLE | {"tool_choice": "auto"}, 'tool_choice: expected an object, got "auto"'),
        (SIMPLE | {"tool_choice": {"type": "any"}}, "tool_choice: a call is required, and there are no tools"),
        (GOOD | {"tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name: expected the name of one"),
        (GOOD | {"tool_choice": {"type": "some"}}, "tool_choice.type: expected auto, any, tool or none"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place(body: Any, text: str) -> None:
    with pytest.raises(HttpError) as wrong:
        anthropic.read(body)
    assert (wrong.value.status, wrong.value.code) == (400, "malformed")
    assert wrong.value.text.startswith(text)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (said({"role": "user", "content": [{"type": "image", "source": {}}]}), "messages[0].content[0].type"),
        (said({"role": "assistant", "content": [{"type": "thinking"}]}, USER), "messages[0].content[0].type"),
        (said(USER, {"role": "assistant", "content": "and so"}), "messages[1]"),
        (SIMPLE | {"tools": [{"type": "bash_20250124", "name": "bash"}]}, "tools[0].type"),
        (GOOD | {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
         "tool_choice.disable_parallel_tool_use"),
        (SIMPLE | {"n": 2}, "n"),
        (SIMPLE | {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking"),
        (SIMPLE | {"top_k": 5}, "top_k"),
        *((SIMPLE | {name: ["what"]}, name) for name in anthropic.UNSAYABLE),
    ],
)  # fmt: skip
def test_what_the_form_cannot_say_is_refused_by_name(body: Any, place: str) -> None:
    with pytest.raises(HttpError) as wrong:
        anthropic.read(body)
    assert (wrong.value.status, wrong.value.code, wrong.value.param) == (400, "unsupported", place)


@given(bodies(GOOD) | VALUES.map(lambda v: json.dumps(v).encode()) | st.binary(max_size=30))
def test_any_bytes_are_a_call_or_refused(body: bytes) -> None:
    try:
        found: Ask | HttpError = anthropic.read(body)
    except HttpError as wrong:
        found = wrong
    assert isinstance(found, Ask) or (found.status, found.code in ("malformed", "unsupported")) == (400, True)


@given(bodies({name: value for name, value in GOOD.items() if name != "stop_sequences"}))
def test_an_upstream_of_the_other_api_is_asked_the_same(body: bytes) -> None:
    try:
        ask = anthropic.read(body)
    except HttpError:
        return
    assert openai.read(json.dumps(to_openai(ask)).encode()) == ask


LABELS = Labels("s1", "r1", 3, (3, 4), "r0", 1, "exact")
TOLD = {"request_id": "r1", "model_version": 3, "session_id": "s1", "binding": 1, "tier": "exact", "versions": [3, 4]}
PLAIN = Ask(messages=ASK.messages, model="m", stop=("END",))
DELTAS: list[Delta] = [
    Text(0, "", (Token(1, -0.5, 3),)),
    Text(0, "I "),
    Text(0, "look"),
    Call(0, ToolCall("c1", "look", '{"at": 1}')),
    Call(0, ToolCall("c2", "look", "")),
    Call(0, ToolCall("c3", "look", "not an object")),
    Text(0, "so"),
    End(0, Finish.TOOL_CALLS, tokens=(Token(2, -0.5, 4),)),
]
CONTENT = [
    {"type": "text", "text": "I look"},
    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
    {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
    {"type": "tool_use", "id": "c3", "name": "look", "input": {"arguments": "not an object"}},
    {"type": "text", "text": "so"},
]
USAGE = {"input_tokens": 6, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 5}
WHOLE = {
    "id": "msg_r1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": CONTENT,
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": USAGE,
    **TOLD,
}


def test_a_whole_answer_is_this() -> None:
    assert anthropic.whole(PLAIN, DELTAS, Usage(10, 5, 4), LABELS) == WHOLE
    AnthropicMessage.model_validate(WHOLE, strict=True)


@pytest.mark.parametrize(
    ("end", "reason", "text"),
    [
        (End(0, Finish.STOP), "end_turn", None),
        (End(0, Finish.STOP, "END"), "stop_sequence", "END"),
        (End(0, Finish.LENGTH), "max_tokens", None),
        (End(0, Finish.TOOL_CALLS), "tool_use", None),
    ],
)
def test_why_it_ended_is_told_in_the_words_of_the_api(end: End, reason: str, text: str | None) -> None:
    answer = anthropic.whole(PLAIN, [end], Usage(1, 1), LABELS)
    assert (answer["stop_reason"], answer["stop_sequence"], answer["content"]) == (reason, text, [])


def streamed(deltas: list[Delta], prompt: Usage | None = None) -> bytes:
    stream = anthropic.Stream(PLAIN, LABELS)
    return stream.begin(prompt) + b"".join(map(stream.delta, deltas)) + stream.end(Usage(10, 5, 4))


def test_a_stream_is_this() -> None:
    events = Parser().feed(streamed(DELTAS, Usage(10, 0, 4)))
    told = [json.loads(event.data) for event in events]
    assert [event.name for event in events] == [event["type"] for event in told]
    start = {**WHOLE, "content": [], "stop_reason": None, "usage": USAGE | {"output_tokens": 0}}
    assert told[0] == {"type": "message_start", "message": start, **TOLD}

    def block(index: int, opened: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"type": "content_block_start", "index": index, "content_block": opened},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    def tool(index: int, name: str, written: str) -> list[dict[str, Any]]:
        opened = {"type": "tool_use", "id": name, "name": "look", "input": {}}
        return block(index, opened, {"type": "input_json_delta", "partial_json": written})

    def text(index: int, *parts: str) -> list[dict[str, Any]]:
        return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": part} for part in parts))

    assert told[1:-2] == [
        *text(0, "I ", "look"),
        *tool(1, "c1", '{"at": 1}'),
        *tool(2, "c2", "{}"),
        *tool(3, "c3", '{"arguments":"not an object"}'),
        *text(4, "so"),
    ]
    delta = {"stop_reason": "tool_use", "stop_sequence": None}
    last = {"type": "message_delta", "delta": delta, "usage": USAGE, **TOLD}
    assert told[-2:] == [last, {"type": "message_stop", **TOLD}]
    adapter = TypeAdapter[Any](RawMessageStreamEvent)
    for event in told:
        assert adapter.validate_python(event, strict=True).type == event["type"]


def test_why_it_ended_is_in_the_last_events_alone() -> None:
    stream = anthropic.Stream(PLAIN, LABELS)
    before = stream.begin() + b"".join(map(stream.delta, DELTAS))
    assert b"message_delta" not in before
    assert b"message_stop" not in before
    assert before + stream.end(Usage(10, 5, 4)) == streamed(DELTAS)


def test_the_official_client_reads_the_same_answer_whole_and_as_a_stream() -> None:
    messages: list[MessageParam] = [{"role": "user", "content": "x"}]
    given = anthropic_client(Answering(json.dumps(WHOLE).encode())).messages.create(
        model="m", max_tokens=5, messages=messages
    )
    assert (given.model_extra or {}) == TOLD
    for usage in (None, Usage(10, 0, 4)):
        client = anthropic_client(Answering(streamed(DELTAS, usage)))
        with client.messages.stream(model="m", max_tokens=5, messages=messages) as stream:
            final = stream.get_final_message()
        for name in ("id", "content", "stop_reason", "stop_sequence", "usage", "model"):
            one, other = (m.model_dump(include={name}, exclude_none=True) for m in (given, final))
            assert one == other, name
        assert {k: (final.model_extra or {})[k] for k in TOLD} == TOLD


def test_an_answer_that_is_given_back_is_read() -> None:
    message = AnthropicMessage.model_validate(WHOLE)
    assert isinstance(message, AnthropicMessage)
    results = [{"type": "tool_result", "tool_use_id": f"c{i}", "content": "r"} for i in (1, 2, 3)]
    turn = said(USER, cast(Any, message.to_param()), {"role": "user", "content": results})
    body = json.loads(json.dumps(turn, default=lambda block: block.model_dump()))
    ask = anthropic.read(json.dumps(body).encode())
    assert ask.messages[1].content == "I lookso"
    assert [call.id for call in ask.messages[1].tool_calls] == ["c1", "c2", "c3"]


def test_several_choices_and_an_answer_without_its_end_are_none() -> None:
    several = Ask(messages=ASK.messages, choices=2)
    with pytest.raises(ValueError, match="2 choices"):
        anthropic.Stream(several, LABELS)
    with pytest.raises(ValueError, match="2 choices"):
        anthropic.whole(several, [], Usage(1, 1), LABELS)
    with pytest.raises(ValueError, match="have not ended"):
        anthropic.Stream(PLAIN, LABELS).end(Usage(1, 1))
