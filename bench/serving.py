"""What a session server adds to a call: against the same proxy without session, trace and joining, and a gRPC call.

A replica whose answers are written beforehand is a process of its own; a second one has the session server and the
proxy, which reads, renders, tokenises and answers with the same parts and keeps nothing; this one has the clients, that
write bytes to a socket. Agents have sessions of some turns each, streamed by the replica in some chunks. Rounds measure
all three one after another, so that what else runs on the machine falls on all; each ratio is the median of the rounds'
ratios. The store is strict: what is answered is on the disk. Beside it, how fast a trace is exported.

    python -m bench.serving [seconds per measurement]
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sluicegate.protocol.generated import rollout_pb2 as pb
from sluicegate.protocol.generated import rollout_pb2_grpc as rpc
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.chat.form import Finish, Labels, Token, Usage
from sluicegate.runtime.chat.reading import Reader
from sluicegate.runtime.chat.template import Template
from sluicegate.runtime.serving import openai
from sluicegate.runtime.serving.answering import Exchanges
from sluicegate.runtime.serving.app import Service
from sluicegate.runtime.serving.callers import Callers
from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.serving.exact import Exact
from sluicegate.runtime.serving.export import lines
from sluicegate.runtime.serving.forwarding import Forwarding
from sluicegate.runtime.serving.hooks import NoHooks
from sluicegate.runtime.serving.process import listening
from sluicegate.runtime.serving.reading import parse, stripped
from sluicegate.runtime.sessions import Prompt, Router, Sampling, Sessions, Workers
from sluicegate.runtime.sessions.backend import Made, Over
from sluicegate.runtime.sessions.backend import Request as Asked
from sluicegate.runtime.sessions.ids import keep
from sluicegate.runtime.sessions.traces import Segment, Tree
from sluicegate.runtime.signals import Signal

SUPPORT = Path(__file__).resolve().parent.parent / "tests" / "support"
ROUNDS, CLIENTS, TURNS, CHUNKS = 5, (1, 32), 6, 4
SAID = "The weather is fine. Let me look. I do not know that, but I can find out, hello there."
ASKED = "What is the weather? the agent asks a question and the model answers it with a word or two"
CONTEXT = 8192
AIM = 0.8
_numbers = itertools.count()


class Place(NamedTuple):
    """The replica, always there."""

    replica: str
    incarnation: str
    control: str
    data: str


class Cohort:
    """One replica that serves version 1."""

    def __init__(self, place: Place) -> None:
        self.changed, self.published, self.is_idle, self._place = Signal(), 1, True, place

    def serving(self) -> list[Place]:
        return [self._place]

    living = serving

    def place(self, incarnation: str) -> Place | None:
        return self._place

    def is_alive(self, incarnation: str) -> bool:
        return True

    def is_leaving(self, incarnation: str) -> bool:
        return False


# -- the replica -----------------------------------------------------------------------------------


class Replica(rpc.RolloutServicer):
    """Answers each request with the same chunks, once it may go on."""

    SERVICE = "sluicegate.v1.Rollout"

    def __init__(self, ids: list[int]) -> None:
        step = -(-len(ids) // CHUNKS)
        pieces = [ids[at : at + step] for at in range(0, len(ids), step)]
        self._chunks = [
            pb.GenerateChunk(token_ids=p, log_probs=[-0.5] * len(p), spans=[pb.VersionSpan(version=1, count=len(p))])
            for p in pieces
        ]
        self._proceeds: dict[str, asyncio.Event] = {}

    def add_to(self, server: Any) -> None:
        rpc.add_RolloutServicer_to_server(self, server)

    async def Generate(self, request: pb.GenerateRequest, context: Any) -> AsyncIterator[pb.GenerateChunk]:
        lease = request.request_id
        yield pb.GenerateChunk(lease=lease, incarnation=request.incarnation, version=1)
        if request.waits:
            await self._proceeds.setdefault(lease, asyncio.Event()).wait()
            del self._proceeds[lease]
        for chunk in self._chunks:
            yield chunk
        yield pb.GenerateChunk(finish_reason=pb.FINISH_REASON_STOP)

    async def Proceed(self, request: pb.ProceedRequest, context: Any) -> pb.ProceedAnswer:
        self._proceeds.setdefault(request.request_id, asyncio.Event()).set()
        return pb.ProceedAnswer(running=True)


async def replica(folder: Path, ready: Any) -> None:
    """The process of the replica."""
    template = Template.load(folder)
    async with Server([Replica([*template.encode(SAID), min(template.stop_ids)])]) as server:
        ready.put(server.target)
        await asyncio.Event().wait()


# -- the server and the proxy ----------------------------------------------------------------------


class Proxy:
    """A call goes to the replica and its answer comes back: nothing is kept of either."""

    def __init__(self, template: Template, place: Place) -> None:
        self._template, self._place, self._workers = template, place, Workers()

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self.answer, methods=["POST"])])

    async def answer(self, request: Request) -> Response:
        ask = openai.read(stripped(parse(await request.body())))
        template, name = self._template, f"p{next(_numbers)}"
        text = template.render(ask.messages, ask.tools, asks=True)
        ids = await asyncio.to_thread(template.encode, text)
        sampling = Sampling(ask.max_tokens or CONTEXT, ask.temperature, ask.top_p, tuple(template.stop_ids))
        work = Asked("p", name, Prompt(ids, sampling, 1), None, False, 60.0)
        reader, deltas, made = Reader(template, ask, 0, lambda index: f"call_{index}"), [], 0
        async with aclosing(self._workers.run(self._place, work)) as words:
            async for word in words:
                if isinstance(word, Made):
                    deltas += reader.feed([Token(*each) for each in zip(*word, strict=True)])
                    made += len(word.ids)
        deltas += reader.end(Finish.STOP)
        labels = Labels("p", name, 1, (1,), self._place.replica, 1)
        usage = Usage(len(ids), made, 0)
        return JSONResponse(openai.whole(ask, deltas, usage, labels, int(time.time()), template.piece))


async def serve(folder: Path, target: str, ready: Any) -> None:
    """The process of the session server, and of the proxy beside it."""
    template, place = Template.load(folder), Place("rollout-0", "rollout-0.1", target, target)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(closing(SqliteStore(folder / "sessions.db", keep=keep(3600.0))))
        sessions = await stack.enter_async_context(Sessions(store, server="bench", incarnation="bench.1"))
        router = await stack.enter_async_context(Router(sessions, Cohort(place), Workers()))
        exchanges = await stack.enter_async_context(Exchanges(grace=1.0, remember=1.0))
        alone = Forwarding("bench", lambda _: "", tuple, certificate="", longest=60.0)
        forwarding = await stack.enter_async_context(alone)
        http = HttpSettings()
        tier = Exact(router, template, context=CONTEXT, model="m")
        service = Service(sessions, tier, exchanges, Callers(http), forwarding, http, NoHooks(), health=dict)
        ours = await stack.enter_async_context(listening(service.app(), http, 1.0))
        theirs = await stack.enter_async_context(listening(Proxy(template, place).app(), http, 1.0))
        ready.put((ours, theirs))
        await asyncio.Event().wait()


# -- the clients -----------------------------------------------------------------------------------


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, session: str) -> bytes:
    """The body of the answer."""
    fields = f"host: a\r\ncontent-length: {len(body)}\r\nx-session-id: {session}\r\ncontent-type: application/json"
    writer.write(f"POST /v1/chat/completions HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body)
    status, *told = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    (length,) = (field.partition(":")[2] for field in told if field.startswith("content-length:"))
    answer = await reader.readexactly(int(length))
    if " 200 " not in status:
        raise RuntimeError(f"{status}: {answer.decode()}")
    return answer


async def agents(address: str, client: int, until: float, took: list[float]) -> None:
    """Sessions of one agent, one after another; the seconds of each call."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    with closing(writer):
        while True:
            session, messages = f"s{client}.{next(_numbers)}", list[dict[str, str]]()
            for _ in range(TURNS):
                messages.append({"role": "user", "content": ASKED})
                began = time.perf_counter()
                if began > until:
                    return
                body = json.dumps({"model": "m", "messages": messages, "max_tokens": 256}).encode()
                answer = json.loads(await post(reader, writer, body, session))
                took.append(time.perf_counter() - began)
                messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})


async def direct(workers: Workers, place: Place, client: int, until: float, took: list[float]) -> None:
    """Calls of the replica, one after another."""
    while (began := time.perf_counter()) < until:
        work = Prompt(range(100), Sampling(256), 1)
        async with aclosing(workers.run(place, Asked("d", f"d{next(_numbers)}", work, None, False, 60.0))) as words:
            ended = [word async for word in words if isinstance(word, Over)]
        if [over.ending for over in ended] != ["stop"]:
            raise RuntimeError(f"ended as {ended}")
        took.append(time.perf_counter() - began)


@dataclass
class Round:
    """Calls a second, and the seconds of each."""

    rate: float
    took: list[float]


async def measure(clients: int, seconds: float, client: Callable[[int, float, list[float]], Awaitable[None]]) -> Round:
    took, began = list[float](), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(_run(client(number, began + seconds, took)))
    return Round(len(took) / (time.perf_counter() - began), took)


async def _run(work: Awaitable[None]) -> None:
    await work


async def compare(target: str, ours: str, theirs: str, seconds: float) -> dict[int, list[dict[str, Round]]]:
    workers, place = Workers(), Place("rollout-0", "rollout-0.1", target, target)
    found: dict[int, list[dict[str, Round]]] = {}
    try:
        for clients in CLIENTS:
            rounds = [
                {
                    "grpc": await measure(clients, seconds, partial(direct, workers, place)),
                    "proxy": await measure(clients, seconds, partial(agents, theirs)),
                    "sessions": await measure(clients, seconds, partial(agents, ours)),
                }
                for _ in range(ROUNDS + 1)
            ]
            # The first warms caches, connections and the disk up.
            found[clients] = rounds[1:]
    finally:
        await workers.close()
    return found


# -- export ----------------------------------------------------------------------------------------


def tree(turns: int = 500, each: int = 1000) -> Tree:
    """The trace of a session of so many turns of `each` tokens given and `each` made."""
    made = Tree()
    for number in range(1, turns + 1):
        ids, logprobs = array("I", range(each)), array("f", [-0.5] * each)
        at = 0 if number == 1 else 2 * each
        spans = ((number, each),)
        request = f"s.{number}"
        made.add(
            Segment(number, number - 1, at, request, ids, ids, logprobs, spans, "stop", 1, "rollout-0.1", {}, b"")
        )
    return made


def export() -> tuple[int, float]:
    """Tokens, and the median seconds of their export."""
    made, took = tree(), list[float]()
    tokens = sum(len(segment) for segment in made.segments)
    for _ in range(3):
        began = time.perf_counter()
        size = sum(map(len, lines("s", made)))
        took.append(time.perf_counter() - began)
        if size < tokens:
            raise RuntimeError("not all of it was exported")
    return tokens, statistics.median(took)


# -- all of it -------------------------------------------------------------------------------------


def _process(work: Callable[..., Awaitable[None]], *given: Any) -> None:
    asyncio.run(_run(work(*given)))


@contextlib.contextmanager
def process(work: Callable[..., Awaitable[None]], *given: Any) -> Iterator[Any]:
    """What the process says once it is ready; it ends on leaving."""
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Queue()
    child = spawn.Process(target=_process, args=(work, *given, ready))
    child.start()
    try:
        yield ready.get(timeout=120)
    finally:
        child.kill()
        child.join(10)


def main(seconds: float = 0.5) -> None:
    sys.path.insert(0, str(SUPPORT))
    from chat_kit import make_tokenizer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tokenizer(folder)
        with process(replica, folder) as target, process(serve, folder, target) as (ours, theirs):
            found = asyncio.run(compare(target, ours, theirs, seconds))
    print(f"{'clients':>7} {'':9} {'calls/s':>8} {'/ proxy':>8} {'/ grpc':>7} {'p50 ms':>7} {'p99 ms':>7}")
    for clients, rounds in found.items():
        for what in ("grpc", "proxy", "sessions"):
            took = [1000 * t for r in rounds for t in r[what].took]
            rate, to_proxy, to_grpc = (
                statistics.median(column)
                for column in zip(
                    *((r[what].rate, r[what].rate / r["proxy"].rate, r[what].rate / r["grpc"].rate) for r in rounds),
                    strict=True,
                )
            )
            median, high = statistics.median(took), statistics.quantiles(took, n=100)[98]
            print(f"{clients:7} {what:9} {rate:8.0f} {to_proxy:8.2f} {to_grpc:7.2f} {median:7.2f} {high:7.2f}")
    tokens, took = export()
    print(f"export: {tokens:,} tokens of one way through a session, {tokens / took:,.0f} tokens/s")
    print(f"aim: {AIM:g} of the proxy's calls, with {CLIENTS[-1]} clients")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.5)
