"""A server that speaks OpenAI's API, as it is reached: its calls, what it lists, and since when it runs.

Rules of this file:

- Nothing of a caller's headers goes on to it: it is given its own key, and the id of the request.
- What it answers is bounded. What goes wrong on the way is an `HttpError` with a code of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from ..serving.answers import dumped
from ..serving.errors import HttpError, Raw, of_upstream, refusal

CONNECT_S, LOOK_S = 5.0, 5.0
"""How long a connection may take to be made, and an answer that is only looked at."""
BODY_LIMIT, ERROR_LIMIT = 64 * 1024 * 1024, 1024 * 1024
"""Bytes of a whole answer, and of an error."""
REST_S = 0.05
"""Pause between two looks at whether it rests."""
_BUSY = re.compile(
    r"^\w+[:_](?:num_requests_running|num_requests_waiting|num_running_reqs|num_queue_reqs)(?:\{[^}]*\})?\s+([0-9.eE+-]+)",
    re.MULTILINE,
)
"""What servers tell of the requests that they have: vLLM, then SGLang."""
_STARTED = re.compile(r"^process_start_time_seconds(?:\{[^}]*\})?\s+([0-9.eE+-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How upstreams are called. `read`: seconds that may pass between two pieces of an answer. `key`: the bearer token
    that they are sent, none if empty. `injects`: they take `request_id` in the body, as vLLM does."""

    read: float = 300.0
    key: str = ""
    injects: bool = False


class Upstream:
    """One server, by its `name` here and its `url`, which may end in `/v1`. Use as `async with`."""

    def __init__(self, name: str, url: str, reach: Reach) -> None:
        self.name, self.url = name, url.rstrip("/").removesuffix("/v1")
        self._reach = reach
        headers = {"authorization": f"Bearer {reach.key}"} if reach.key else {}
        self._client = httpx.AsyncClient(
            base_url=self.url, headers=headers, trust_env=False,
            timeout=httpx.Timeout(reach.read, connect=CONNECT_S), limits=httpx.Limits(max_connections=None),
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def generate(self, body: Mapping[str, Any], request: str) -> AsyncIterator[httpx.Response]:
        """Its answer to `POST /v1/chat/completions`, of status 200. Raises HttpError for any other, and for none."""
        sent = {**body, "request_id": request} if self._reach.injects else body
        headers = {"content-type": "application/json", "x-request-id": request}
        try:
            async with self._client.stream(
                "POST", "/v1/chat/completions", content=dumped(sent), headers=headers
            ) as answer:
                if answer.status_code != 200:
                    raise _refused(answer, await self.body(answer, ERROR_LIMIT))
                yield answer
        except httpx.HTTPError as error:
            raise self._unanswered(error) from error

    async def body(self, answer: httpx.Response, limit: int = BODY_LIMIT) -> bytes:
        """The whole of an answer. Raises HttpError for one that is too large."""
        came = bytearray()
        async for piece in answer.aiter_bytes():
            came += piece
            if len(came) > limit:
                raise refusal("upstream_malformed", f"{self.name} answers more than {limit} bytes")
        return bytes(came)

    async def models(self) -> bytes:
        """Its answer to `GET /v1/models`, as it is. Raises HttpError."""
        try:
            async with self._client.stream("GET", "/v1/models", timeout=LOOK_S) as answer:
                body = await self.body(answer)
                if answer.status_code != 200:
                    raise _refused(answer, body)
                return body
        except httpx.HTTPError as error:
            raise self._unanswered(error) from error

    async def started(self) -> float | None:
        """Since when its process runs, in seconds of Unix time; None where it does not tell. Raises HttpError where it
        does not answer at all."""
        found = _STARTED.search(await self._metrics())
        return None if found is None else _number(found.group(1))

    async def rest(self) -> None:
        """Return once it says that it has no request, also none of those that were hung up on, or does not tell."""
        while True:
            with contextlib.suppress(HttpError):
                if not any(_number(told) for told in _BUSY.findall(await self._metrics())):
                    return
            await asyncio.sleep(REST_S)

    async def _metrics(self) -> str:
        """What it tells for Prometheus, nothing where it does not. Raises HttpError where it does not answer at all."""
        try:
            async with self._client.stream("GET", "/metrics", timeout=LOOK_S) as answer:
                told = await self.body(answer) if answer.status_code == 200 else b""
        except httpx.HTTPError as error:
            raise self._unanswered(error) from error
        return told.decode("utf-8", "replace")

    def _unanswered(self, error: httpx.HTTPError) -> HttpError:
        what = type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            text = f"{self.name} ({self.url}) cannot be reached ({what}): start it, or come again"
            return refusal("upstream_unreachable", text)
        if isinstance(error, httpx.TimeoutException):
            return refusal("upstream_broken", f"{self.name} said nothing for {self._reach.read:g} s ({what})")
        return refusal("upstream_broken", f"{self.name} broke its answer off ({what})")


def _number(told: str) -> float | None:
    try:
        return float(told)
    except ValueError:
        return None


def _refused(answer: httpx.Response, body: bytes) -> HttpError:
    after, status = answer.headers.get("retry-after", ""), answer.status_code
    raw = Raw(body, answer.headers.get("content-type", "application/json")) if 400 <= status <= 599 else None
    return of_upstream(status, body, retry_after=int(after) if after.isdecimal() else None, raw=raw)
