"""A server in front of stand-ins for inference servers: real gates, controller, sessions and HTTP, in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from stand_in import StandIn

from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.runtime.relay.client import SyncClient
from sluicegate.runtime.relay.config import RelayConfig
from sluicegate.runtime.relay.process import relaying
from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.sessions import SessionSettings
from sluicegate.runtime.tracelog import merge
from sluicegate.spec.traces import Verdict, validate
from sluicegate.statemachines.session import Rebinding


@dataclass
class Relayed:
    """A server of relays that runs."""

    folder: Path
    url: str
    control: str
    upstreams: dict[str, str]

    def http(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60)

    async def say(self, session: str, *messages: str, **body: Any) -> dict[str, Any]:
        """One call of OpenAI's API; its answer."""
        async with self.http(**{"x-session-id": session}) as http:
            said = [{"role": "user", "content": message} for message in messages]
            answer = await http.post("/v1/chat/completions", json={"model": "m", "messages": said, **body})
            assert answer.status_code == 200, answer.text
            return answer.json()

    async def status(self) -> Any:
        async with ControllerClient(self.control, within=20) as client:
            return await client.status()

    def sync(self) -> SyncClient:
        return SyncClient(self.control, within=60)


def config(folder: Path, *urls: str, **changes: Any) -> RelayConfig:
    held = {"policy": Rebinding.ON_LOSS, "patience": 20, "call": 60}
    sessions = SessionSettings(**{**held, **changes.pop("sessions", {})})
    http = HttpSettings(**{"grace": 0.2, **changes.pop("http", {})})
    return RelayConfig(
        upstreams=urls, state=folder / "state", trace=folder / "trace", sessions=sessions, http=http,
        **{"deadline": 30.0, "takeover": 5.0, "read": 20.0, **changes},
    )  # fmt: skip


@asynccontextmanager
async def relayed(
    folder: Path, *stand_ins: StandIn, urls: tuple[str, ...] = (), **changes: Any
) -> AsyncIterator[Relayed]:
    """A server in front of these, published as found; or in front of those that are served at `urls`."""
    async with AsyncExitStack() as stack:
        found = urls or tuple([await stack.enter_async_context(each.serving()) for each in stand_ins])
        facts = await stack.enter_async_context(relaying(config(folder, *found, **changes)))
        yield Relayed(folder, facts["url"], facts["control"], facts["upstreams"])


def judged(folder: Path) -> Verdict:
    """The judgement over the logs of all lives, which have ended."""
    return validate(merge(sorted((folder / "trace").glob("*.ndjson")), {}, folder / "trace.ndjson"))
