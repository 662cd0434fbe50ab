"""A session server in front of real replicas that chat: real gRPC, engines and HTTP, all in the test's own process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import torch
from chat_kit import make_tokenizer, vocabulary
from rollout_kit import Weights
from traced_run import Publisher

from sluicegate.runtime.chat.form import Message, Tool
from sluicegate.runtime.chat.template import Template
from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.process import ruling
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.serving.config import HttpSettings, SessionsConfig
from sluicegate.runtime.serving.process import serving
from sluicegate.runtime.sessions import SessionSettings
from sluicegate.runtime.tracelog import merge
from sluicegate.runtime.workers.records import LeaseStore, StoredAnswer
from sluicegate.runtime.workers.rollout import replica
from sluicegate.spec.traces import Verdict, validate
from sluicegate.statemachines.sorts import Mode

RUN = "chat"


@dataclass
class Chat:
    """A run that chats. `url` is that of its first session server."""

    folder: Path
    weights: Weights
    roster: Roster
    controller: ControllerClient
    trainer: Publisher
    replicas: dict[str, dict[str, Any]] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return next(iter(self.urls.values()))

    def http(self, name: str = "", **headers: str) -> httpx.AsyncClient:
        """A plain HTTP client of a server."""
        return httpx.AsyncClient(base_url=self.urls[name] if name else self.url, headers=headers, timeout=60)

    async def update(self, version: int) -> None:
        """Publish a version, and bring the cohort to it."""
        ruler = self.roster.ruler()
        assert ruler is not None
        self.trainer.publish(ruler.term, version, lambda: self.weights.publish(version))
        await self.controller.sync(version, within=60)

    def config(self, name: str, **changes: Any) -> SessionsConfig:
        http = HttpSettings(**{"grace": 3.0, **changes.pop("http", {})})
        sessions = SessionSettings(**{"patience": 20, "call": 60, **changes.pop("sessions", {})})
        return SessionsConfig(
            name=name, run=RUN, register=self.folder / "register.db", store=self.folder / "sessions.db",
            model=self.weights.model, trace=self.folder / "trace", http=http, sessions=sessions, **changes,
        )  # fmt: skip

    @asynccontextmanager
    async def server(self, name: str = "sessions-0", **changes: Any) -> AsyncIterator[str]:
        """A session server of this name; its URL."""
        async with serving(self.config(name, **changes)) as facts:
            self.urls[name] = facts["url"]
            try:
                yield facts["url"]
            finally:
                del self.urls[name]

    def lease(self, lease: str) -> StoredAnswer:
        """A lease as its replica recorded it."""
        for name in self.replicas:
            store = LeaseStore(self.folder / f"state-{name}" / "leases.sqlite")
            try:
                if (found := store.answer(lease)) is not None:
                    return found
            finally:
                store.close()
        raise AssertionError(f"no replica knows {lease}")

    async def export(self, session: str, consumer: str = "trainer.1") -> list[dict[str, Any]]:
        """Finish and take a session; its samples, each compared with what the engines recorded."""
        async with self.http() as http:
            for path, body in (("finish", None), ("take", {"consumer": consumer})):
                answer = await http.post(f"/v1/sessions/{session}/{path}", json=body)
                assert answer.status_code == 200, answer.text
            told = await http.get(f"/v1/sessions/{session}/trace", params={"consumer": consumer})
            assert told.status_code == 200, told.text
            _, *samples = map(json.loads, told.text.splitlines())
        for sample in samples:
            self.compare(sample)
        return samples

    def compare(self, sample: dict[str, Any]) -> int:
        """Hold a sample against the engines' own records; how many tokens were looked at."""
        ids, looked = sample["token_ids"], 0
        for number, request in enumerate(sample["requests"], start=1):
            stored = self.lease(request)
            prompt, made, logprobs = stored.prompt, stored.tokens, stored.logprobs
            where = [at for at, turn in enumerate(sample["turns"]) if turn == number]
            assert where == list(range(where[0], where[-1] + 1))
            assert ids[: where[0]][: len(prompt)] == prompt[: where[0]]
            skipped = where[0] - len(prompt)
            assert [ids[at] for at in where] == made[skipped : skipped + len(where)]
            told = torch.tensor([sample["log_probs"][at] for at in where])
            assert torch.equal(told, torch.tensor(logprobs[skipped : skipped + len(where)]))
            looked += len(where)
        return looked

    def judged(self) -> Verdict:
        """The judgement over the logs of all processes, which have ended."""
        return validate(merge(sorted((self.folder / "trace").glob("*.ndjson")), {}, self.folder / "trace.ndjson"))


@asynccontextmanager
async def chatting(folder: Path, *names: str, mode: Mode = Mode.KEEP, version: int | None = 1) -> AsyncIterator[Chat]:
    """A run with these replicas, at a version if one is given, and no session server yet."""
    (folder / "shm").mkdir()
    (folder / "trace").mkdir()
    weights = Weights(RUN, folder, vocabulary=vocabulary())
    make_tokenizer(weights.model)
    ruled = ControllerConfig(
        run=RUN, register=folder / "register.db", manifests=folder / "manifests", shm_root=folder / "shm",
        trace=folder / "trace", incarnation="controller.1", mode=mode, deadline_ms=30_000, call_ms=5_000,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        roster = stack.enter_context(Roster(ruled.register))
        lives: dict[str, dict[str, Any]] = {}
        for name in names or ("rollout-0",):
            life = roster.begin(name, "rollout")
            config = replace(weights.config(name, incarnation=life), stop_ms=1000)
            engine = TorchEngine(weights.model, deliver_every_s=0.005)
            lives[name] = await stack.enter_async_context(replica(config, engine))
            roster.enlist(life, lives[name]["control"], lives[name]["data"], 0)
        _, facts = await stack.enter_async_context(ruling(ruled))
        client = await stack.enter_async_context(ControllerClient(facts["control"], within=60.0))
        trainer = Publisher(folder / "trace", RUN)
        stack.callback(trainer.log.close)
        chat = Chat(folder, weights, roster, client, trainer, lives)
        if version is not None:
            await chat.update(version)
        yield chat


async def until(holds: Callable[[], Awaitable[bool]], within: float = 30) -> None:
    """Return once it holds, looked at from outside as a client would."""
    async with asyncio.timeout(within):
        while not await holds():  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.02)


def taught(
    weights: Weights, conversation: Sequence[Message], tools: Sequence[Tool], steps: int = 80
) -> torch.nn.Module:
    """A model that says what the assistant says in this conversation, when it is asked greedily."""
    template = Template.load(weights.model)
    ids = torch.tensor([template.encode(template.render(conversation, tools, asks=False))])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: Any = weights.make(0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(steps):
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return model


