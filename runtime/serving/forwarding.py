"""Calls for sessions of another server of the host are handed on to it, as they came.

Rules of this file:

- What was handed on once is not handed on again: two servers never send a call round.
- An answer is passed on as it comes; who leaves here has left there.
- What is of no session alone is told to every other server that lives, to all at once.
- Over TLS the servers of a host know each other by the one certificate that they share.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .errors import refusal

MARK = "x-sluicegate-forwarded"
_OWN_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length",
     "proxy-authorization", "proxy-authenticate", "expect"}
)  # fmt: skip
"""Headers that are between two neighbours alone."""


class Forwarding:
    """Use as `async with`. `where` gives the URL of a server by its name, empty while it does not live; `living` the
    names of those that live.

    `certificate` is the path of the PEM file that all servers of the host have, empty without TLS.
    """

    def __init__(
        self, name: str, where: Callable[[str], str], living: Callable[[], Iterable[str]], *, certificate: str,
        longest: float,
    ) -> None:  # fmt: skip
        self._name, self._where, self._living = name, where, living
        self._client = httpx.AsyncClient(
            verify=_sharing(certificate) if certificate else True, limits=httpx.Limits(max_connections=None),
            timeout=httpx.Timeout(longest, connect=2.0), trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def forward(self, request: Request, body: bytes, server: str) -> Response:
        """The other server's answer. Raises HttpError where it has none."""
        url = self._where(server)
        if not url or MARK in request.headers:
            raise refusal("elsewhere", f"server {server}, whose the session is, is being started: come again")
        headers = [(n, v) for n, v in request.headers.items() if n not in _OWN_HOP]
        query = f"?{request.url.query}" if request.url.query else ""
        asked = self._client.build_request(
            request.method, f"{url}{request.url.path}{query}", content=body, headers=[*headers, (MARK, self._name)]
        )
        try:
            answer = await self._client.send(asked, stream=True)
        except httpx.HTTPError as error:
            text = f"server {server}, whose the session is, does not answer ({type(error).__name__}): come again"
            raise refusal("elsewhere", text) from error

        async def content() -> AsyncIterator[bytes]:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(answer.aclose)
                async for piece in answer.aiter_raw():
                    yield piece

        passed = {n: v for n, v in answer.headers.items() if n not in _OWN_HOP}
        return StreamingResponse(content(), answer.status_code, passed, background=BackgroundTask(answer.aclose))

    async def tell(self, request: Request, within: float) -> dict[str, Any]:
        """What each other living server answers to this call, by name: the JSON of it, None where that did not come
        within so many seconds. Of a call that was handed on, none is told."""
        if MARK in request.headers:
            return {}
        names = sorted(set(self._living()) - {self._name})
        answers = await asyncio.gather(*(self._told(request, name, within) for name in names))
        return dict(zip(names, answers, strict=True))

    async def _told(self, request: Request, server: str, within: float) -> Any:
        headers = [(n, v) for n, v in request.headers.items() if n not in _OWN_HOP]
        try:
            async with asyncio.timeout(within):
                answer = await self._client.request(
                    request.method, f"{self._where(server)}{request.url.path}", headers=[*headers, (MARK, self._name)]
                )
            return answer.json() if answer.status_code == 200 else None
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError):
            return None


def _sharing(certificate: str) -> ssl.SSLContext:
    """Trusts who has this certificate, the first of the file, and nobody else; which names it is for is all the same,
    since the register says where the server is."""
    first, end, _ = Path(certificate).read_text().partition("-----END CERTIFICATE-----")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # It need not be an authority's.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=first + end)
    return context
