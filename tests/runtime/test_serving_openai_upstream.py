"""An upstream that speaks OpenAI's API: what it is asked, and its answers as deltas, whatever its bytes are."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_bodies import bodies

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
    ToolCall,
    Usage,
)
from sluicegate.runtime.serving import openai
from sluicegate.runtime.serving.answers import gathered
from sluicegate.runtime.serving.errors import HttpError
from sluicegate.runtime.serving.openai_upstream import OpenAIAnswers, to_openai
from sluicegate.runtime.serving.sse import encode

ASK = Ask(messages=(Message(Role.USER, "hi"),), stop=("END",), stream=True)
USAGE = {"prompt_tokens": 4, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}


def logprobs(*values: float) -> dict[str, Any]:
    return {"content": [{"token": "x", "bytes": [120], "logprob": v, "top_logprobs": []} for v in values]}


def chunk(delta: dict[str, Any], ids: list[int] | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None} | more
    if ids is not None:
        choice |= {"token_ids": ids, "logprobs": logprobs(*(-0.5 * i for i in ids))}
    return {"id": "u1", "model": "served", "choices": [choice]}


def call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    named = {"function": {"arguments": arguments} | {k: v for k, v in more.items() if k == "name"}}
    return {"index": index, **named} | {k: v for k, v in more.items() if k == "id"}


CHUNKS: list[dict[str, Any]] = [
    chunk({"role": "assistant", "content": ""}) | {"prompt_token_ids": [7, 8, 9, 10]},
    chunk({"content": "I look"}, [1, 2]),
    chunk({"reasoning_content": "hm"}, [3]),
    chunk({"tool_calls": [call(0, "", id="c1", name="look")]}, [4]),
    chunk({"tool_calls": [call(0, '{"at"')]}, []),
    chunk({"tool_calls": [call(0, ": 1}")]}, [5]),
    chunk({"tool_calls": [call(1, "{}", name="see")]}, [6]),
    chunk({}, [9], finish_reason="tool_calls", stop_reason=None),
    {"id": "u1", "model": "served", "choices": [], "usage": USAGE | {"completion_tokens": 7}},
]
DELTAS: list[Delta] = [
    Text(0, "I look", (Token(1, -0.5, 3), Token(2, -1.0, 3))),
    Text(0, "", (Token(3, -1.5, 3),)),
    Call(0, ToolCall("c1", "look", '{"at": 1}'), (Token(4, -2.0, 3), Token(5, -2.5, 3))),
    Call(0, ToolCall("call_u1_0_1", "see", "{}"), (Token(6, -3.0, 3),)),
    End(0, Finish.TOOL_CALLS, None, (Token(9, -4.5, 3),)),
]


def stream_of(*chunks: dict[str, Any]) -> bytes:
    return b"".join(encode(json.dumps(c).encode()) for c in chunks) + encode(b"[DONE]")


def test_a_stream_is_these_deltas_wherever_its_bytes_are_cut() -> None:
    stream = stream_of(*CHUNKS)
    for size in (1, 7, 100, len(stream)):
        answers = OpenAIAnswers(ASK, version=3)
        found = [d for i in range(0, len(stream), size) for d in answers.feed(stream[i : i + size])]
        answers.close()
        assert found == DELTAS
        assert (answers.prompt_token_ids, answers.usage, answers.model) == ((7, 8, 9, 10), Usage(4, 7, 3), "served")
        assert answers.is_done
        assert answers.is_exact


def test_a_whole_answer_is_these_deltas() -> None:
    message = {
        "role": "assistant",
        "content": "two",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    body = {
        "id": "u1",
        "object": "chat.completion",
        "prompt_token_ids": [7],
        "choices": [
            {"index": 1, "message": message, "finish_reason": "stop", "token_ids": [1], "logprobs": logprobs(-0.5)},
            {"index": 0, "message": {"content": "one"}, "finish_reason": "length", "token_ids": [2, 3]},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 3},
    }
    answers = OpenAIAnswers(Ask(messages=ASK.messages, choices=2), version=3)
    found = answers.whole(json.dumps(body).encode())
    assert found[:4] == [
        Text(1, "two", (Token(1, -0.5, 3),)),
        Call(1, ToolCall("c1", "look", "{}")),
        # Clients act on the reason: with calls it says so.
        End(1, Finish.TOOL_CALLS),
        Text(0, "one", found[3].tokens),
    ]
    assert [token.id for token in found[3].tokens] == [2, 3]
    assert all(math.isnan(token.logprob) for token in found[3].tokens)
    assert found[4:] == [End(0, Finish.LENGTH)]
    # A log-probability is missing.
    assert not answers.is_exact


def test_an_answer_is_exact_only_if_all_its_tokens_are_known() -> None:
    def exact(*chunks: dict[str, Any]) -> bool:
        answers = OpenAIAnswers(ASK)
        answers.feed(stream_of(*chunks))
        return answers.is_exact

    ends, prompt = chunk({"content": "a"}, [1], finish_reason="stop"), {"prompt_token_ids": [7]}
    assert exact(ends | prompt)
    assert not exact(ends)
    assert not exact(chunk({"content": "a"}, finish_reason="stop") | prompt)
    assert not exact(ends | prompt | {"usage": USAGE})
    assert exact(ends | prompt | {"usage": {"prompt_tokens": 1, "completion_tokens": 1}})


@pytest.mark.parametrize(
    ("reason", "stop_reason", "finish", "stopped_by"),
    [
        ("stop", None, Finish.STOP, None),
        ("stop", "END", Finish.STOP, "END"),
        ("stop", "other", Finish.STOP, None),
        ("stop", 128001, Finish.STOP, None),
        ("length", "END", Finish.LENGTH, None),
        ("content_filter", None, Finish.STOP, None),
        ("eos_token", None, Finish.STOP, None),
        ("function_call", None, Finish.TOOL_CALLS, None),
    ],
)
def test_why_an_answer_ended(reason: str, stop_reason: Any, finish: Finish, stopped_by: str | None) -> None:
    stream = stream_of(chunk({"content": "a"}), chunk({}, finish_reason=reason, stop_reason=stop_reason))
    assert OpenAIAnswers(ASK).feed(stream) == [Text(0, "a"), End(0, finish, stopped_by)]


@pytest.mark.parametrize(
    ("stream", "status", "text"),
    [
        (stream_of({"error": {"message": "out of memory", "code": 500}}), 500, "upstream answered 500: out of memory"),
        (stream_of({"error": "gone"}), 502, "gone"),
        (encode(b'{"object": "error", "message": "long", "code": 400}', "error"), 400, "upstream answered 400: long"),
        (stream_of(chunk({}, finish_reason="abort")), 502, "the upstream broke choice 0 off: abort"),
        (stream_of(chunk({"content": "a"}, finish_reason="stop"), chunk({"content": "b"})), 502, "after its end"),
        (stream_of(chunk({"content": 5})), 502, "choices[0].delta.content: expected text, got 5"),
        (stream_of(chunk({}, index=1)), 502, "choices[0].index: expected a whole number from 0 to 0, got 1"),
        (stream_of(chunk({}, [-1])), 502, "choices[0].token_ids[0]: expected a whole number"),
        (encode(b"{oops"), 502, "the upstream's answer cannot be read: body: not JSON"),
        (b"data: " + b"x" * 2000, 502, "larger than 1000 bytes"),
        (stream_of(chunk({"content": "a"})), 502, "the upstream's answer breaks off: choices [0] have not ended"),
    ],
)
def test_what_is_no_answer_is_the_upstreams_error(stream: bytes, status: int, text: str) -> None:
    answers = OpenAIAnswers(ASK, limit=1000)
    with pytest.raises(HttpError) as wrong:
        _ = answers.feed(stream), answers.close()
    assert (wrong.value.status, text in wrong.value.text) == (status, True), wrong.value.text


@given(st.sampled_from(CHUNKS).flatmap(bodies) | st.binary(max_size=30), st.booleans())
def test_any_bytes_are_deltas_or_an_error(body: bytes, is_stream: bool) -> None:
    answers, code = OpenAIAnswers(ASK), "upstream_error"
    found, status = list[Delta](), 502
    try:
        found = answers.feed(encode(body)) if is_stream else answers.whole(body)
    except HttpError as wrong:
        code, status = wrong.code, wrong.status
    assert all(isinstance(delta, Text | Call | End) for delta in found)
    assert (code in ("upstream_error", "upstream_malformed"), 400 <= status <= 599) == (True, True)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
TURNS = st.lists(
    TEXTS.map(lambda text: Text(0, text)) | st.builds(lambda a: Call(0, ToolCall("c", "look", a)), TEXTS), max_size=5
)


@given(TURNS, st.booleans())
def test_an_answer_that_is_written_is_read(said: list[Delta], is_stream: bool) -> None:
    finish = Finish.TOOL_CALLS if any(isinstance(delta, Call) for delta in said) else Finish.LENGTH
    deltas = [*said, End(0, finish)]
    labels, usage, answers = Labels("s", "r"), Usage(3, 2, 1), OpenAIAnswers(ASK)
    if is_stream:
        stream = openai.Stream(Ask(messages=ASK.messages, usage=True), labels, 0)
        found = answers.feed(stream.begin() + b"".join(map(stream.delta, deltas)) + stream.end(usage))
    else:
        found = answers.whole(json.dumps(openai.whole(ASK, deltas, usage, labels, 0)).encode())
    (one,), (other,) = gathered(1, deltas), gathered(1, found)
    assert one.end == other.end
    for kind in (str, ToolCall):
        parts = ([p for p in answer.parts if isinstance(p, kind)] for answer in (one, other))
        wanted, given_back = parts
        assert ("".join(map(str, wanted)), wanted if kind is ToolCall else []) == (
            "".join(map(str, given_back)),
            given_back if kind is ToolCall else [],
        )
    assert answers.usage == usage


def test_an_exact_upstream_is_asked_for_token_ids() -> None:
    body = to_openai(ASK, exact=True)
    assert (body["return_token_ids"], body["logprobs"]) == (True, True)
    assert not {"return_token_ids", "logprobs"} & to_openai(ASK).keys()
