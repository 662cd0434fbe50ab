"""A session server over the scripted replicas of `session_kit`: its real app, on real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from chat_kit import make_tokenizer
from session_kit import Served

from sluicegate.runtime.chat.template import Template
from sluicegate.runtime.serving.answering import Exchanges
from sluicegate.runtime.serving.app import Service
from sluicegate.runtime.serving.callers import Callers
from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.serving.exact import Exact
from sluicegate.runtime.serving.forwarding import Forwarding
from sluicegate.runtime.serving.hooks import Hooks, NoHooks
from sluicegate.runtime.serving.process import listening

GENERATE = "/v1/chat/completions"
RETRY = {"x-stainless-retry-count": "1"}


def asks(session: str = "s", **more: Any) -> dict[str, Any]:
    """The body of a call."""
    return {"model": "m", "messages": [{"role": "user", "content": "ok"}], "session_id": session, **more}


@dataclass
class Scripted:
    """`http` is a client of the server."""

    url: str
    http: httpx.AsyncClient
    exchanges: Exchanges


@asynccontextmanager
async def scripted_server(
    served: Served, folder: Path, *, hooks: Hooks | None = None, where: Callable[[str], str] = lambda name: "",
    living: Callable[[], Iterable[str]] = tuple, **http: Any,
) -> AsyncIterator[Scripted]:  # fmt: skip
    """Serve these sessions; `where` has the URLs of other servers by their names, `living` the names."""
    settings, model = HttpSettings(**{"grace": 1.0, **http}), folder / "model"
    make_tokenizer(model)
    async with AsyncExitStack() as stack:
        exchanges = await stack.enter_async_context(Exchanges(grace=settings.grace, remember=settings.remember))
        forwarding = await stack.enter_async_context(
            Forwarding(served.sessions.server, where, living, certificate="", longest=30)
        )
        service = Service(
            served.sessions, Exact(served.router, Template.load(model), context=4096), exchanges, Callers(settings),
            forwarding, settings, hooks or NoHooks(), health=dict,
        )  # fmt: skip
        address = await stack.enter_async_context(listening(service.app(), settings, 1.0))
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=f"http://{address}", timeout=30, trust_env=False)
        )
        yield Scripted(f"http://{address}", client, exchanges)
