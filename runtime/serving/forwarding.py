"""Calls for sessions of another server of the host are handed on to it, as they came.

Rules of this file:

- What was handed on once is not handed on again: two servers never send a call round.
- An answer is passed on as it comes; who leaves here has left there.
- Over TLS the servers of a host know each other by the one certificate that they share.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

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
    """Use as `async with`. `where` gives the URL of a server by its name, empty while it does not live.

    `certificate` is the path of the PEM file that all servers of the host have, empty without TLS.
    """

    def __init__(self, name: str, where: Callable[[str], str], *, certificate: str, longest: float) -> None:
        self._name, self._where = name, where
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
