"""OpenAI's chat completions: bodies as the neutral form, and answers that the official client reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api_clients import Answering, openai_client
from hypothesis import example, given
from hypothesis import strategies as st
from json_bodies import VALUES, bodies
from openai.types.chat import ChatCompletion

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
from sluicegate.runtime.serving import openai
from sluicegate.runtime.serving.answers import label_headers
from sluicegate.runtime.serving.errors import HttpError
from sluicegate.runtime.serving.openai_upstream import to_openai
from sluicegate.runtime.serving.reading import session_of, stripped

TOOL = {"type": "function", "function": {"name": "look", "description": "looks", "parameters": {"type": "object"}}}
GOOD: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "be short"},
        {"role": "user", "content": [{"type": "text", "text": "what is "}, {"type": "text", "text": "here?"}]},
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a stone"},
        {"role": "user", "content": ""},
    ],
    "tools": [TOOL],
    "tool_choice": {"type": "function", "function": {"name": "look"}},
    "n": 2,
    "max_completion_tokens": 9,
    "temperature": 0.5,
    "top_p": 1,
    "seed": 7,
    "stop": ["\n", "END"],
    "logprobs": True,
    "top_logprobs": 0,
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "u",
    "metadata": {"k": "v"},
    "parallel_tool_calls": True,
    "response_format": {"type": "text"},
    "who_knows": [1],
}
ASK = Ask(
    messages=(
        Message(Role.SYSTEM, "be short"),
        Message(Role.USER, "what is here?"),
        Message(Role.ASSISTANT, "", (ToolCall("c1", "look", '{"at": 1}'),)),
        Message(Role.TOOL, "a stone", tool_call_id="c1"),
        Message(Role.USER, ""),
    ),
    tools=(Tool("look", "looks", {"type": "object"}),),
    tool_choice="function:look",
    model="m",
    choices=2,
    max_tokens=9,
    temperature=0.5,
    seed=7,
    stop=("\n", "END"),
    logprobs=True,
    stream=True,
    usage=True,
)
SIMPLE: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


def test_a_body_says_the_same_in_the_neutral_form() -> None:
    assert openai.read(json.dumps(GOOD).encode()) == ASK
    assert openai.read(GOOD) == ASK
    assert openai.read(SIMPLE) == Ask(messages=(Message(Role.USER, "hi"),))
    assert openai.read(SIMPLE | {"stop": "x", "max_tokens": 3}).stop == ("x",)
    nothing = dict.fromkeys(set(GOOD) - {"messages"})
    assert openai.read(SIMPLE | nothing) == openai.read(SIMPLE)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def said(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def called(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "not json"}} for i in ids]
    return {"role": "assistant", "tool_calls": calls}


def result(of: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "r"}


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "body: not JSON: Expecting value at character 0"),
        (b"\xff{}", "body: byte 0 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "body: not JSON"),
        (b"[1]", "body: expected an object, got a list"),
        (b"null", "body: expected an object, got nothing"),
        (b'{"n": NaN}', "body: NaN is no number of JSON"),
        (b'{"n": -Infinity}', "body: -Infinity is no number"),
        (b'{"n": 1e400}', "body: the number 1e400 is too large"),
        (b'{"n": ' + b"9" * 5000 + b"}", "body: a number has too many digits"),
        (b'{"n": 1, "n": 1}', "body: member 'n' is given twice"),
        (b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "body: nested deeper than 64"),
        (json.dumps({"x": nested(64)}).encode(), "body: nested deeper than 64"),
        (b'{"messages": [{"role": "\\udc00"}]}', "messages[0].role: the text has half a surrogate pair"),
        ({}, "messages: expected a list, got nothing"),
        (said(), "messages: expected 1 to 10000 of them, got 0"),
        (said("hi"), 'messages[0]: expected an object, got "hi"'),
        (said({"role": "judge", "content": ""}), 'messages[0].role: expected system or developer or user'),
        (said(USER, USER, {"role": "user", "content": 5}), "messages[2].content: expected text or a list of its parts"),
        (said({"role": "user"}), "messages[0].content: expected text or a list of its parts, got nothing"),
        (said({"role": "user", "content": [{"type": "text", "text": 5}]}),
         "messages[0].content[0].text: expected text, got 5"),
        (said({"role": "user", "content": "x" * 4_000_001}), "messages[0].content: expected 0 to 4000000 characters"),
        (said(USER, result("c")), 'messages[1].tool_call_id: "c" answers no call of an earlier message'),
        (said(called("c"), result("c"), result("c")), 'messages[2].tool_call_id: "c" answers no call'),
        (said(called("c"), result(None)), "messages[1].tool_call_id: expected text, got nothing"),
        (said(called("c", "c")), "messages[0].tool_calls: the id 'c' is that of another call"),
        (SIMPLE | {"n": 129}, "n: expected a whole number from 1 to 128, got 129"),
        (SIMPLE | {"n": 1.0}, "n: expected a whole number from 1 to 128, got 1.0"),
        (SIMPLE | {"n": True}, "n: expected a whole number from 1 to 128, got true"),
        (SIMPLE | {"stop": ["a"] * 5}, "stop: expected 0 to 4 of them, got 5"),
        (SIMPLE | {"stop": ["a", ""]}, "stop[1]: expected 1 to 1000 characters, got 0"),
        (SIMPLE | {"stop": 5}, "stop: expected a list, got 5"),
        (SIMPLE | {"temperature": 2.1}, "temperature: expected a number from 0 to 2, got 2.1"),
        (SIMPLE | {"top_p": 0}, "top_p: expected a number above 0, got 0"),
        (SIMPLE | {"max_tokens": 0}, "max_tokens: expected a whole number from 1"),
        (SIMPLE | {"max_tokens": 1, "max_completion_tokens": 2}, "max_tokens: it is not what max_completion_t"),
        (SIMPLE | {"seed": -1}, "seed: expected a whole number from 0"),
        (SIMPLE | {"stream": "yes"}, 'stream: expected true or false, got "yes"'),
        (SIMPLE | {"stream_options": []}, "stream_options: expected an object, got a list"),
        (SIMPLE | {"model": "m" * 300}, "model: expected 0 to 256 characters, got 300"),
        (SIMPLE | {"tools": [TOOL, TOOL]}, "tools[1].function.name: another tool has the name 'look'"),
        (SIMPLE | {"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name: expected"),
        (SIMPLE | {"tool_choice": "required"}, "tool_choice: a call is required, and there are no tools"),
        (SIMPLE | {"tool_choice": "maybe"}, "tool_choice: expected auto, none, required or an object"),
        (SIMPLE | {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}},
         'tool_choice.function.name: expected the name of one of the tools, got "g"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place(body: Any, text: str) -> None:
    with pytest.raises(HttpError) as wrong:
        openai.read(body)
    assert (wrong.value.status, wrong.value.code) == (400, "malformed")
    assert wrong.value.text.startswith(text)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (said({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}), "messages[0].content[0].type"),
        (said({"role": "function", "name": "f", "content": ""}), "messages[0].role"),
        (said({"role": "assistant", "function_call": {}}), "messages[0].function_call"),
        (said({"role": "assistant", "refusal": "no"}), "messages[0].refusal"),
        (SIMPLE | {"tools": [{"type": "custom", "custom": {}}]}, "tools[0].type"),
        (SIMPLE | {"tool_choice": {"type": "allowed_tools"}}, "tool_choice.type"),
        (SIMPLE | {"response_format": {"type": "json_object"}}, "response_format"),
        (SIMPLE | {"parallel_tool_calls": False}, "parallel_tool_calls"),
        (SIMPLE | {"presence_penalty": 0.1}, "presence_penalty"),
        (SIMPLE | {"logit_bias": {"1": 2}}, "logit_bias"),
        (SIMPLE | {"modalities": ["text", "audio"]}, "modalities"),
        *((SIMPLE | {name: ["what"]}, name) for name in openai.UNSAYABLE),
    ],
)
def test_what_the_form_cannot_say_is_refused_by_name(body: Any, place: str) -> None:
    with pytest.raises(HttpError) as wrong:
        openai.read(body)
    assert (wrong.value.status, wrong.value.code, wrong.value.param) == (400, "unsupported", place)
    assert wrong.value.text.startswith(place)


def test_what_is_passed_on_is_the_upstreams_to_refuse_unless_it_is_wrong() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    custom = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}
    body = said(
        {"role": "user", "content": [{"type": "text", "text": "see "}, picture]},
        called("c1") | {"tool_calls": [*called("c1")["tool_calls"], custom], "refusal": "no"},
        result("c1"),
        result("c2"),
    )
    body |= {"tools": [TOOL, {"type": "custom", "custom": {}}], "tool_choice": {"type": "allowed_tools"}, "top_k": 5}
    ask = openai.read(json.dumps(body).encode(), passed_on=True)
    assert ask == Ask(
        messages=(
            Message(Role.USER, "see " + json.dumps(picture)),
            Message(Role.ASSISTANT, "", (ToolCall("c1", "f", "not json"), ToolCall("c2", "g", "x"))),
            Message(Role.TOOL, "r", tool_call_id="c1"),
            Message(Role.TOOL, "r", tool_call_id="c2"),
        ),
        tools=ASK.tools,
    )
    with pytest.raises(HttpError, match="n: expected a whole number from 1 to 128, got 0"):
        openai.read(body | {"n": 0}, passed_on=True)
    assert openai.read(GOOD, passed_on=True) == ASK


def test_values_that_change_nothing_are_taken() -> None:
    for name, values in openai.UNSAYABLE.items():
        for value in values:
            assert openai.read(SIMPLE | {name: value}) == openai.read(SIMPLE), name


@given(bodies(GOOD) | VALUES.map(lambda v: json.dumps(v).encode()) | st.binary(max_size=30), st.booleans())
@example(b'{"messages":[{"role":"assistant","tool_calls":{}}]}', False)
def test_any_bytes_are_a_call_or_refused(body: bytes, passed_on: bool) -> None:
    try:
        found: Ask | HttpError = openai.read(body, passed_on=passed_on)
    except HttpError as wrong:
        found = wrong
    assert isinstance(found, Ask) or (found.status, found.code in ("malformed", "unsupported")) == (400, True)


@given(bodies({name: value for name, value in GOOD.items() if name != "n"}))
def test_what_an_upstream_is_asked_is_what_was_read(body: bytes) -> None:
    try:
        ask = openai.read(body)
    except HttpError:
        return
    assert openai.read(json.dumps(to_openai(ask)).encode()) == ask


LABELS = Labels("s1", "r1", 3, (3,), "r0", 1, "exact")
TOLD = {"request_id": "r1", "model_version": 3, "session_id": "s1", "binding": 1, "tier": "exact"}
PIECES = {1: b"Hel", 2: b"lo", 3: b"\xe2\x82", 4: b"<end>"}
DELTAS: list[Delta] = [
    Text(0, "Hel", (Token(1, -0.5, 3),)),
    Text(1, "", (Token(3, -0.25, 3),)),
    Text(0, "lo", (Token(2, -1.5, 3),)),
    Call(1, ToolCall("c1", "look", '{"at": 1}'), (Token(1, -0.5, 3),)),
    Call(1, ToolCall("c2", "look", "{}"), ()),
    End(1, Finish.TOOL_CALLS, tokens=(Token(4, float("-inf"), 3),)),
    End(0, Finish.LENGTH),
]
PLAIN = Ask(messages=ASK.messages, model="m", choices=2)


def logprob(token: str, told: list[int], value: float) -> dict[str, Any]:
    return {"token": token, "bytes": told, "logprob": value, "top_logprobs": []}


def test_a_whole_answer_is_this() -> None:
    ask = Ask(messages=ASK.messages, model="m", choices=2, logprobs=True)
    answer = openai.whole(ask, DELTAS, Usage(10, 5, 4), LABELS, 1700, PIECES.__getitem__)
    assert answer == {
        "id": "chatcmpl-r1",
        "object": "chat.completion",
        "created": 1700,
        "model": "m",
        "system_fingerprint": None,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "refusal": None},
                "logprobs": {"content": [logprob("Hel", [72, 101, 108], -0.5), logprob("lo", [108, 111], -1.5)],
                             "refusal": None},
                "finish_reason": "length",
            },
            {
                "index": 1,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
                        {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
                    ],
                },
                "logprobs": {"content": [logprob("�", [0xE2, 0x82], -0.25), logprob("Hel", [72, 101, 108], -0.5),
                                         logprob("<end>", list(b"<end>"), -9999.0)], "refusal": None},
                "finish_reason": "tool_calls",
            },
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                  "prompt_tokens_details": {"cached_tokens": 4}},
        **TOLD,
    }  # fmt: skip
    ChatCompletion.model_validate(answer, strict=True)
    mixed = openai.whole(ask, DELTAS, Usage(1, 1), Labels("s", "r", 3, (3, 4)), 0)
    assert mixed["versions"] == [3, 4]
    assert mixed["choices"][0]["logprobs"]["content"][0] | {"logprob": 0} == {
        "token": "token_id:1", "bytes": None, "logprob": 0, "top_logprobs": []
    }  # fmt: skip


def streamed(ask: Ask, deltas: list[Delta], usage: Usage) -> bytes:
    stream = openai.Stream(ask, LABELS, 1700, PIECES.__getitem__)
    return stream.begin() + b"".join(map(stream.delta, deltas)) + stream.end(usage)


def test_a_stream_is_this() -> None:
    ask = Ask(messages=ASK.messages, model="m", stream=True, usage=True)
    head = (b'data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":1700,"model":"m",'
            b'"system_fingerprint":null,"choices":[')  # fmt: skip
    labels = b',"request_id":"r1","model_version":3,"session_id":"s1","binding":1,"tier":"exact"}\n\n'
    stream = openai.Stream(ask, LABELS, 1700)

    def chunk(delta: bytes, finish: bytes = b"null") -> bytes:
        rest = b',"logprobs":null,"finish_reason":' + finish + b'}],"usage":null'
        return head + b'{"index":0,"delta":' + delta + rest

    assert stream.begin() == chunk(b'{"role":"assistant","content":""}') + labels
    assert stream.delta(Text(0, "a")) == chunk(b'{"content":"a"}') + b"}\n\n"
    assert stream.delta(Text(0, "", (Token(1, -1.0, 3),))) == b""
    function = b'"type":"function","function":{"name":"look","arguments":"{}"}}]}'
    for index, name in enumerate((b"c1", b"c2")):
        told = stream.delta(Call(0, ToolCall(name.decode(), "look", "{}")))
        assert told == chunk(b'{"tool_calls":[{"index":%d,"id":"%s",%s' % (index, name, function)) + b"}\n\n"
    # Why it ended is told by the last events alone.
    assert stream.delta(End(0, Finish.TOOL_CALLS)) == b""
    counts = (b'],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,'
              b'"prompt_tokens_details":{"cached_tokens":0}}')  # fmt: skip
    assert stream.end(Usage(2, 1)) == (
        chunk(b"{}", b'"tool_calls"') + labels + head + counts + labels + b"data: [DONE]\n\n"
    )


@pytest.mark.parametrize("logprobs", [False, True])
def test_the_official_client_reads_the_same_answer_whole_and_as_a_stream(logprobs: bool) -> None:
    ask = Ask(messages=ASK.messages, model="m", choices=2, logprobs=logprobs, usage=True)
    # The client's helper gives no answer that ended at its length.
    deltas = [*DELTAS[:-1], End(0, Finish.STOP)]
    whole = openai.whole(ask, deltas, Usage(10, 5, 4), LABELS, 1700, PIECES.__getitem__)
    answer = Answering(json.dumps(whole).encode(), headers=label_headers(LABELS))
    given = openai_client(answer).chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert given._request_id == "r1"
    assert given.model_extra == TOLD
    answer = Answering(streamed(ask, deltas, Usage(10, 5, 4)))
    with openai_client(answer).chat.completions.stream(
        model="m", messages=[{"role": "user", "content": "x"}], n=2, stream_options={"include_usage": True}
    ) as stream:
        chunks = [event.chunk for event in stream if event.type == "chunk"]
        final = stream.get_final_completion()
    assert {k: (chunks[0].model_extra or {})[k] for k in TOLD} == TOLD
    assert {k: (chunks[-1].model_extra or {})[k] for k in TOLD} == TOLD
    assert (final.usage, final.id) == (given.usage, given.id)
    for one, other in zip(given.choices, final.choices, strict=True):
        assert (one.finish_reason, one.message.content or "") == (other.finish_reason, other.message.content)
        calls = [c.model_dump(include={"id", "function"}) for c in one.message.tool_calls or []]
        assert [
            {"id": c.id, "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in other.message.tool_calls or []
        ] == calls
        told = [c.model_dump() for c in (one.logprobs and one.logprobs.content) or []]
        assert [c.model_dump() for c in (other.logprobs and other.logprobs.content) or []] == told
    assert bool(given.choices[0].logprobs) == logprobs


def test_a_repeat_has_the_same_bytes() -> None:
    assert streamed(PLAIN, DELTAS, Usage(1, 1)) == streamed(PLAIN, DELTAS, Usage(1, 1))


def test_an_answer_without_its_end_is_none() -> None:
    with pytest.raises(ValueError, match=r"choices \[0\] have not ended"):
        openai.whole(PLAIN, DELTAS[:-1], Usage(1, 1), LABELS, 0)
    stream = openai.Stream(PLAIN, LABELS, 0)
    with pytest.raises(ValueError, match=r"choices \[0, 1\] have not ended"):
        stream.end(Usage(1, 1))


def test_headers_say_what_the_labels_do() -> None:
    assert label_headers(LABELS) == {
        "x-request-id": "r1", "x-session-id": "s1", "x-model-version": "3", "x-sluicegate-replica": "r0",
        "x-sluicegate-binding": "1", "x-sluicegate-tier": "exact",
    }  # fmt: skip
    assert "x-model-version" not in label_headers(Labels("s", "r"))


def test_a_session_is_named_by_header_or_body_and_by_both_alike() -> None:
    assert session_of("a.B_c:1-", {}) == session_of(None, {"session_id": "a.B_c:1-"}) == "a.B_c:1-"
    assert session_of("a", {"session_id": "a"}) == "a"
    wrong: list[tuple[str | None, dict[str, Any], str]] = [
        (None, {}, "no_session"),
        (None, {"session_id": None}, "no_session"),
        ("a", {"session_id": "b"}, "malformed"),
        ("", {}, "malformed"),
        (None, {"session_id": 5}, "malformed"),
        (None, {"session_id": "a b"}, "malformed"),
        ("é", {}, "malformed"),
        ("a\n", {}, "malformed"),
        ("a" * 129, {}, "malformed"),
    ]
    for header, body, code in wrong:
        with pytest.raises(HttpError) as refused:
            session_of(header, body)
        assert (refused.value.status, refused.value.code) == (400, code), (header, body)
    assert stripped(SIMPLE | {"session_id": "s", "request_id": "r", "model_version": 1}) == SIMPLE
