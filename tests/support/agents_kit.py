"""Agents that talk over HTTP to session servers of a run of real processes, and the account of what they were told.

Rules of this file:

- An agent keeps what it was told, and asks again only as a client would: what may come again, under the key of its
  call. A session that is lost is given up, and its task begun anew.
- What is exported is kept, and held against the engines' own records once the processes have ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import torch
from chat_kit import make_tokenizer, vocabulary
from controller_kit import RUN, START_S, Run, poisoned_in, running

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.config import as_json
from sluicegate.runtime.serving.config import HttpSettings, SessionsConfig
from sluicegate.runtime.sessions import SessionSettings
from sluicegate.runtime.supervisor import Charge
from sluicegate.runtime.workers.records import LOST, LeaseStore, StoredAnswer
from sluicegate.spec.traces import Verdict, validate
from sluicegate.statemachines.session import Rebinding

CONSUMER = "trainer.1"
AGAIN = frozenset({"closed", "hold_full", "no_replica", "storage", "turn_lost", "given_up", "elsewhere", "turn_active"})
"""Refusals after which the same call is sent again."""
DECLARED = AGAIN | {"lost", "retired", "poisoned"}


@dataclass
class Told:
    """What one turn was told."""

    session: str
    request: str
    version: int
    binding: int
    replica: str
    text: str


@dataclass
class Agents:
    """`count` agents of `turns` turns each, once begun. `broken` counts connections that broke off."""

    run: Run
    servers: tuple[str, ...]
    count: int
    turns: int
    longest: int = 24
    seed: int = 0
    told: list[Told] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    retired: list[str] = field(default_factory=list)

    async def play(self) -> None:
        """All agents, until each has had its turns and its trace is exported."""
        async with httpx.AsyncClient(timeout=120) as http, asyncio.TaskGroup() as group:
            for number in range(self.count):
                group.create_task(self._agent(http, number))

    async def _agent(self, http: httpx.AsyncClient, number: int) -> None:
        draw = random.Random(f"{self.seed} {number}")
        server = self.servers[number % len(self.servers)]
        for attempt in range(20):
            session = await self._begin(http, server)
            if await self._converse(http, server, session, draw, f"{number}-{attempt}"):
                return
        raise AssertionError("no attempt of an agent came to its end")

    async def _begin(self, http: httpx.AsyncClient, server: str) -> str:
        answer = await self._call(http, "POST", server, "/v1/sessions", {})
        return answer.json()["id"]

    async def _converse(self, http: httpx.AsyncClient, server: str, session: str, draw: Any, name: str) -> bool:
        messages: list[dict[str, Any]] = []
        for turn in range(self.turns):
            messages.append({"role": "user", "content": f"question {draw.randrange(1000)}"})
            body = {
                "model": "m", "messages": messages, "max_tokens": draw.randint(1, self.longest), "session_id": session,
                "stream": draw.random() < 0.5,
            }  # fmt: skip
            told = await self._ask(http, server, session, body, f"{name}-{turn}")
            if told is None:
                return False
            messages.append({"role": "assistant", "content": told.text})
            self.told.append(told)
        await self._export(http, server, session)
        return True

    async def _ask(
        self, http: httpx.AsyncClient, server: str, session: str, body: dict[str, Any], key: str
    ) -> Told | None:
        """One turn, answered; None where the session was lost."""
        headers = {"idempotency-key": key}
        answer = await self._call(http, "POST", server, "/v1/chat/completions", body, headers)
        if answer.status_code != 200:
            return None
        if not body["stream"]:
            said = answer.json()
            text = said["choices"][0]["message"]["content"]
        else:
            events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
            said = events[-1]
            text = "".join(e["choices"][0]["delta"].get("content") or "" for e in events if e["choices"])
        replica = answer.headers["x-sluicegate-replica"]
        return Told(session, said["request_id"], said["model_version"], said["binding"], replica, text)

    async def _export(self, http: httpx.AsyncClient, server: str, session: str) -> None:
        """Finish, take, read and release a session, as a trainer does."""
        path, reader = f"/v1/sessions/{session}", {"consumer": CONSUMER}
        for step, body in (("finish", {}), ("take", reader)):
            answer = await self._call(http, "POST", server, f"{path}/{step}", body)
            assert answer.status_code == 200, answer.text
        told = await self._call(http, "GET", server, f"{path}/trace?consumer={CONSUMER}", None)
        assert told.status_code == 200, told.text
        self.samples += list(map(json.loads, told.text.splitlines()[1:]))
        answer = await self._call(http, "POST", server, f"{path}/release", reader)
        assert answer.status_code == 200, answer.text
        self.retired.append(session)

    async def _call(
        self, http: httpx.AsyncClient, method: str, server: str, path: str, body: Any,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:  # fmt: skip
        """The answer to a call, made again while it may come again."""
        async with asyncio.timeout(400):
            while True:
                worker = self.run.supervisor.present(server)
                try:
                    if worker is None:
                        raise httpx.ConnectError("no such server lives")
                    url = f"{worker.ready['url']}{path}"
                    answer = await http.request(method, url, json=body, headers=headers)
                except httpx.HTTPError:
                    self.broken += 1
                    await asyncio.sleep(0.2)
                    continue
                code = _code(answer)
                if not code:
                    return answer
                self.refusals[code] += 1
                assert code in DECLARED, answer.text
                if code not in AGAIN:
                    return answer
                await asyncio.sleep(float(answer.headers.get("retry-after", "0.2")) / 4)


def _code(answer: httpx.Response) -> str:
    """Why it was refused, empty for an answer; a stream may say so at its end."""
    if answer.status_code >= 400:
        return answer.json()["error"]["code"]
    last = answer.text.rstrip().rpartition("\n")[2] if "event-stream" in answer.headers["content-type"] else ""
    if last.startswith('data: {"error"'):
        return json.loads(last[6:])["error"]["code"]
    return ""


@asynccontextmanager
async def agents_run(
    folder: Path, *replicas: str, servers: tuple[str, ...] = ("sessions-0",), sessions: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Run]:  # fmt: skip
    """A run of processes with a controller, replicas that chat and session servers, at version 1."""
    async with running(folder, *replicas, vocabulary=vocabulary(), **settings) as run:
        make_tokenizer(run.weights.model)
        await run.start_controller()
        run.publish(1)
        await run.client.sync(1)
        for name in servers:
            run.supervisor.keep(Charge(name, "sessions", _config(run, name, sessions or {}), START_S))
        for name in servers:
            await run.replica(name)
        yield run


def _config(run: Run, name: str, sessions: dict[str, Any]) -> Any:
    def config(incarnation: str) -> Any:
        return as_json(
            SessionsConfig(
                name=name, run=RUN, register=run.register_path, store=run.folder / "sessions.db",
                model=run.weights.model, trace=run.trace, incarnation=incarnation,
                http=HttpSettings(grace=3.0), sessions=SessionSettings(policy=Rebinding.NEVER, **sessions),
            )
        )  # fmt: skip

    return config


@dataclass
class Account:
    """What became of a run whose processes have ended."""

    verdict: Verdict
    endings: Counter[str]
    compared: int = 0
    versions: set[int] = field(default_factory=set)


def account(run: Run, agents: Agents, *, may_lose: bool = False) -> Account:
    """Hold traces and answers against the engines' own records, the journals and the judgement of the trace."""
    path = run.merged()
    verdict = validate(path)
    assert verdict.valid, verdict.refusal
    assert poisoned_in(path) == []
    records, found = _records(run), Account(verdict, Counter())
    found.endings = Counter(stored.closure for stored in records.values())
    assert "" not in found.endings, "a lease is open after the end"
    assert may_lose or not found.endings[LOST]
    by_request = {told.request: told for told in agents.told}
    assert len(by_request) == len(agents.told), "each turn is a request of its own"
    for sample in agents.samples:
        _sample_agrees(sample, records, by_request, found)
    exported = Counter(request for sample in agents.samples for request in sample["requests"])
    assert set(exported) >= {t.request for t in agents.told if t.session in set(agents.retired)}
    return found


def _records(run: Run) -> dict[str, StoredAnswer]:
    records: dict[str, StoredAnswer] = {}
    for path in sorted(run.folder.glob("state-*/leases.sqlite")):
        with contextlib.closing(SqliteStore(path, looks=True)) as file:
            store = LeaseStore(file)
            answers = {lease: store.answer(lease) for lease in file.keys("leases")}
        records |= {lease: answer for lease, answer in answers.items() if answer is not None}
    return records


def _sample_agrees(
    sample: dict[str, Any], records: dict[str, StoredAnswer], told: dict[str, Told], found: Account
) -> None:
    """One sample: its tokens, log-probabilities and versions are those of the engines, its requests in one place."""
    assert len({tuple(binding) for binding in sample["bindings"]}) == 1, "the session moved"
    for number, request in enumerate(sample["requests"], start=1):
        where = [at for at, turn in enumerate(sample["turns"]) if turn == number]
        stored = records[request]
        begin, made = where[0], len(where)
        assert stored.prompt == sample["token_ids"][:begin]
        assert stored.tokens == sample["token_ids"][begin : begin + made]
        logprobs = torch.tensor(sample["log_probs"][begin : begin + made])
        assert torch.equal(logprobs, torch.tensor(stored.logprobs))
        labels = [version for version, count in stored.spans for _ in range(count)]
        assert labels == sample["versions"][begin : begin + made]
        assert stored.closure == "completed"
        found.compared += made
        found.versions |= set(labels)
        if request in told:
            assert told[request].binding == sample["bindings"][number - 1][0]
            assert sample["bindings"][number - 1][1].startswith(f"{told[request].replica}.")
