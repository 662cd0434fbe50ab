"""What a call is answered that gets no answer of the model: one table of cases, and their form in both APIs.

Rules of this file:

- `CASES` says which status a case has, and whether the same call may be sent again. Both official clients send again
  what is answered 409, 429 or 5xx unless `x-should-retry` says no, and never anything else.
- An error says what is wrong, where, and how to mend it. Its code is a name for programs: field `code` of OpenAI's
  form, `details.error_code` of Anthropic's.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import sse

RETRY_AFTER_S = 1
"""Seconds after which a call that may come again is asked to, where nothing better is known."""
_TEXT_LIMIT = 2000
"""Characters of an upstream's error that are told."""


class Case(NamedTuple):
    """A status, and whether the same call may be sent again: True says so with Retry-After, False forbids it."""

    status: int
    retry: bool | None = None


CASES: dict[str, Case] = {
    "no_session": Case(400),
    "malformed": Case(400),
    # The body did not come in time.
    "slow": Case(408),
    # The call means something that the neutral form, or this server, cannot say.
    "unsupported": Case(400),
    "too_large": Case(413),
    "unauthenticated": Case(401),
    "forbidden": Case(403),
    "not_found": Case(404),
    "method_not_allowed": Case(405),
    "rate_limited": Case(429, retry=True),
    # A session that takes no turn now takes none later.
    "finished": Case(409, retry=False),
    "being_read": Case(409, retry=False),
    "retiring": Case(409, retry=False),
    "not_finished": Case(409, retry=False),
    "not_consumer": Case(409, retry=False),
    "known": Case(409, retry=False),
    # Its trace is text, which nobody trains on.
    "text_only": Case(409, retry=False),
    # A session whose turn has to end first, or that is just being bound.
    "turn_active": Case(409, retry=True),
    "retired": Case(410),
    "not_implemented": Case(501, retry=False),
    "closed": Case(503, retry=True),
    "hold_full": Case(503, retry=True),
    "no_replica": Case(503, retry=True),
    "storage": Case(503, retry=True),
    # Nothing of the turn is delivered: it may be sent again.
    "turn_lost": Case(503, retry=True),
    "given_up": Case(503, retry=True),
    "too_many_sessions": Case(503, retry=True),
    "too_many_ids": Case(503, retry=True),
    # The server that the session belongs to does not answer now.
    "elsewhere": Case(503, retry=True),
    "lost": Case(503, retry=False),
    "poisoned": Case(503, retry=False),
    # Its task is one under which replicas keep dying.
    "quarantined": Case(503, retry=False),
    "engine_failed": Case(502, retry=False),
    "hook_failed": Case(502, retry=False),
    # The upstream's own status takes the place of this one where it gave an error.
    "upstream_error": Case(502),
    "upstream_malformed": Case(502),
    # It was cut off: how much of it ran is not known.
    "upstream_broken": Case(502),
    "upstream_unreachable": Case(503, retry=True),
}


class Raw(NamedTuple):
    """An upstream's error answer as it came, in OpenAI's form, and its media type."""

    body: bytes
    kind: str


class HttpError(Exception):
    """A call is answered with `status`; `text` says what, where and how to mend it.

    `code`: a name for programs. `retry`: whether the same call may be sent again, None: as the status says.
    `retry_after`: seconds to wait before. `param`: the place in the body, as `messages[2].content`. `raw`: the
    upstream's own answer, which a client that speaks its API is given.
    """

    def __init__(
        self, status: int, code: str, text: str, *,
        retry: bool | None = None, retry_after: int | None = None, param: str | None = None, raw: Raw | None = None,
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.status, self.code, self.text = status, code, text
        self.retry, self.retry_after, self.param, self.raw = retry, retry_after, param, raw

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the clients of both APIs obey."""
        headers = dict[str, str]()
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        if self.retry is False:
            headers["x-should-retry"] = "false"
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return headers


def refusal(code: str, text: str, *, retry_after: int | None = None, param: str | None = None) -> HttpError:
    """The error of a case of `CASES`; `retry_after` is `RETRY_AFTER_S` for a case that may be sent again."""
    case = CASES[code]
    if retry_after is None and case.retry:
        retry_after = RETRY_AFTER_S
    return HttpError(case.status, code, text, retry=case.retry, retry_after=retry_after, param=param)


def of_upstream(status: int, body: bytes, *, retry_after: int | None = None, raw: Raw | None = None) -> HttpError:
    """An upstream's error answer, to be told in another API than it speaks; `retry_after` is what it said."""
    code = "upstream_error"
    text = f"the upstream answered {status}: {_message(body)}"
    status = status if 400 <= status <= 599 else CASES[code].status
    return HttpError(status, code, text, retry_after=retry_after, raw=raw)


def _message(body: bytes) -> str:
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict):
        said = said.get("error", said)
    if isinstance(said, dict):
        said = said.get("message", said.get("detail"))
    text = said if isinstance(said, str) else body.decode("utf-8", "replace")
    return " ".join(text.split())[:_TEXT_LIMIT] or "it gave no reason"


def as_openai(error: HttpError) -> dict[str, Any]:
    """The body of an error in OpenAI's form."""
    kind = _OPENAI_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "server_error")
    return {"error": {"message": error.text, "type": kind, "param": error.param, "code": error.code}}


def as_anthropic(error: HttpError) -> dict[str, Any]:
    """The body of an error in Anthropic's form."""
    kind = _ANTHROPIC_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    if error.status == 503 and error.retry is not False:
        kind = "overloaded_error"
    return {"type": "error", "error": {"type": kind, "message": error.text, "details": {"error_code": error.code}}}


def openai_event(error: HttpError) -> bytes:
    """The error as the last event of a stream in OpenAI's form: it is not followed by `[DONE]`."""
    return sse.encode(json.dumps(as_openai(error)).encode())


def anthropic_event(error: HttpError) -> bytes:
    """The error as the last event of a stream in Anthropic's form."""
    return sse.encode(json.dumps(as_anthropic(error)).encode(), "error")


_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
    504: "timeout_error",
}
