"""Errors in both APIs: what a status means to the official clients, and who may send a call again."""

from __future__ import annotations

import json
from typing import Any, get_args

import anthropic
import openai
import pytest
from anthropic.types.shared.error_type import ErrorType
from api_clients import Answering, anthropic_client, openai_client

from sluicegate.runtime.serving.errors import (
    CASES,
    HttpError,
    anthropic_event,
    as_anthropic,
    as_openai,
    of_upstream,
    openai_event,
    refusal,
)

MESSAGES: Any = [{"role": "user", "content": "hi"}]
CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    429: "RateLimitError",
}


def ask_openai(error: HttpError, retries: int = 0) -> tuple[openai.APIStatusError, int]:
    answer = Answering(json.dumps(as_openai(error)).encode(), error.status, error.headers)
    with pytest.raises(openai.APIStatusError) as raised:
        openai_client(answer, retries).chat.completions.create(model="m", messages=MESSAGES)
    return raised.value, len(answer.asked)


def ask_anthropic(error: HttpError, retries: int = 0) -> tuple[anthropic.APIStatusError, int]:
    answer = Answering(json.dumps(as_anthropic(error)).encode(), error.status, error.headers)
    with pytest.raises(anthropic.APIStatusError) as raised:
        anthropic_client(answer, retries).messages.create(model="m", messages=MESSAGES, max_tokens=5)
    return raised.value, len(answer.asked)


@pytest.mark.parametrize("code", CASES)
def test_both_clients_read_status_code_and_text_of_each_case(code: str) -> None:
    error = refusal(code, "what is wrong; how to mend it", param="messages[0]")
    of_openai, _ = ask_openai(error)
    of_anthropic, _ = ask_anthropic(error)
    assert (of_openai.status_code, of_openai.code, of_openai.param) == (CASES[code].status, code, "messages[0]")
    assert (of_anthropic.status_code, of_anthropic.error_code) == (CASES[code].status, code)
    assert of_anthropic.type in get_args(ErrorType)
    assert "how to mend it" in str(of_openai)
    assert of_anthropic.api_message == "what is wrong; how to mend it"
    if wanted := CLASSES.get(error.status):
        assert (type(of_openai).__name__, type(of_anthropic).__name__) == (wanted, wanted)


FINAL = [code for code, case in CASES.items() if case.retry is False or case.status in (400, 401, 403, 404, 410, 413)]


@pytest.mark.parametrize("code", FINAL)
def test_what_can_never_succeed_is_sent_once(code: str) -> None:
    assert ask_openai(refusal(code, "no"), retries=2)[1] == 1
    assert ask_anthropic(refusal(code, "no"), retries=2)[1] == 1


def test_what_may_come_again_says_when_and_is_sent_again() -> None:
    for code, case in CASES.items():
        headers = refusal(code, "not now").headers
        assert ("retry-after" in headers) == (case.retry is True), code
        assert ("x-should-retry" in headers) == (case.retry is False), code
    assert refusal("closed", "not now", retry_after=7).headers["retry-after"] == "7"
    assert ask_openai(refusal("closed", "not now"), retries=1)[1] == 2


def test_statuses_are_those_of_the_contract() -> None:
    contract = {
        400: {"no_session", "malformed"}, 401: {"unauthenticated"}, 403: {"forbidden"}, 404: {"not_found"},
        409: {"finished", "being_read", "retiring"}, 410: {"retired"}, 413: {"too_large"}, 429: {"rate_limited"},
        501: {"not_implemented"}, 503: {"closed", "hold_full", "no_replica", "storage", "lost", "poisoned"},
    }  # fmt: skip
    assert {code: CASES[code].status for codes in contract.values() for code in codes} == {
        code: status for status, codes in contract.items() for code in codes
    }
    assert all(CASES[code].retry for code in ("closed", "hold_full", "no_replica", "storage"))
    assert all(CASES[code].retry is False for code in ("lost", "poisoned"))
    assert as_anthropic(refusal("closed", "x"))["error"]["type"] == "overloaded_error"
    assert as_anthropic(refusal("lost", "x"))["error"]["type"] == "api_error"


def test_an_error_within_a_stream_is_raised_by_both_clients() -> None:
    error = refusal("storage", "the trace could not be stored: send the call again")
    stream = openai_client(Answering(openai_event(error))).chat.completions.create(
        model="m", messages=MESSAGES, stream=True
    )
    with pytest.raises(openai.APIError) as of_openai:
        list(stream)
    assert (of_openai.value.message, of_openai.value.code) == (error.text, "storage")
    events = anthropic_client(Answering(anthropic_event(error))).messages.create(
        model="m", messages=MESSAGES, max_tokens=5, stream=True
    )
    with pytest.raises(anthropic.APIStatusError) as of_anthropic:
        list(events)
    assert (of_anthropic.value.api_message, of_anthropic.value.error_code) == (error.text, "storage")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "too\\n long", "code": 400}}', "too long"),
        (b'{"object": "error", "message": "old form"}', "old form"),
        (b'{"detail": "a framework\'s"}', "a framework's"),
        (b'{"error": "text"}', "text"),
        (b"<html>bad gateway</html>", "<html>bad gateway</html>"),
        (b"", "it gave no reason"),
        (b'{"error": {"message": 5}}', '{"error": {"message": 5}}'),
        (b"[" * 100_000, "[" * 2000),
        (b"\xff", "�"),
    ],
)
def test_an_upstreams_error_keeps_its_status_and_reason(body: bytes, message: str) -> None:
    error = of_upstream(429, body, retry_after=3)
    assert (error.status, error.text) == (429, f"the upstream answered 429: {message}")
    assert error.headers == {"retry-after": "3"}
    assert of_upstream(200, body).status == 502
