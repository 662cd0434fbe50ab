"""The official clients of both APIs, each answered with given bytes: what they make of them, without a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anthropic
import httpx2
import openai


@dataclass
class Answering:
    """Answers every request with the same status, headers and body; `asked` are the bodies that came."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: list[bytes] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.content)
        is_stream = self.body.startswith((b"data:", b"event:"))
        kind = {"content-type": "text/event-stream" if is_stream else "application/json"}
        return httpx2.Response(self.status, headers=kind | dict(self.headers), content=self.body)


def _http(answer: Callable[[httpx2.Request], httpx2.Response]) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(answer))


def openai_client(answer: Answering, retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(
        api_key="k", base_url="http://server/v1", max_retries=retries, http_client=_http(answer),
        _strict_response_validation=True,
    )  # fmt: skip


def anthropic_client(answer: Answering, retries: int = 0) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="k", base_url="http://server", max_retries=retries, http_client=_http(answer),
        _strict_response_validation=True,
    )  # fmt: skip
