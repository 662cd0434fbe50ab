"""An engine behind TCP: one connection for each request and each command, any of which may break.

Rules of this file:

- Whoever asks hears of a broken connection and of nothing else: the engine goes on with what it was given.
- A request whose connection broke before the engine said that it has it counts as on its way, until an abort of it
  was answered: the engine remembers that, and refuses it if it still comes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sluicegate.runtime.engines import (
    AbortOutcome,
    EngineBusy,
    EngineError,
    Finish,
    FinishReason,
    Health,
    InstallFailed,
    InvalidRequest,
    NotStaged,
    Request,
    Resident,
    Sink,
    Token,
    TorchEngine,
)
from sluicegate.runtime.weights import BucketSource, Manifest, ManifestStore

_ERRORS = {kind.__name__: kind for kind in (EngineBusy, EngineError, InstallFailed, InvalidRequest, NotStaged)}
_LIMIT = 4 * 1024 * 1024


class EngineServer:
    """Serves an engine on a port of this host. Use as `async with`.

    `made` is the engine's own record: the tokens of each request as it gave them away, whoever heard of them.
    """

    def __init__(self, engine: TorchEngine, manifests: Path, source: BucketSource) -> None:
        self.engine, self._manifests, self._source = engine, ManifestStore(manifests), source
        self.made: dict[str, list[Token]] = {}
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        await self.engine.__aenter__()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LIMIT)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.engine.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if line := await reader.readline():
                asked = json.loads(line)
                if asked["do"] == "generate":
                    await self._generate(Request(**asked["with"]), writer)
                else:
                    _tell(writer, **await self._do(asked["do"], asked["with"]))
                await writer.drain()
        except (OSError, ValueError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _generate(self, request: Request, writer: asyncio.StreamWriter) -> None:
        output = _Output(writer, self.made.setdefault(request.request_id, []))
        self.engine.generate(request, output)
        _tell(writer, taken=True)
        await output.ended.wait()

    async def _do(self, command: str, given: Any) -> dict[str, Any]:
        try:
            if command == "stage":
                await self.engine.stage(self._manifests.get(given), self._source)
                return {"answer": None}
            method = getattr(self.engine, command)
            return {"answer": await (method() if given is None else method(given))}
        except EngineError as error:
            return {"error": type(error).__name__, "text": str(error)}


class _Output:
    """The sink of a request: each thing that it is told is a line."""

    def __init__(self, writer: asyncio.StreamWriter, made: list[Token]) -> None:
        self._writer, self._made = writer, made
        self.ended = asyncio.Event()

    def tokens(self, tokens: Sequence[Token]) -> None:
        self._made.extend(tokens)
        _tell(self._writer, tokens=tokens)

    def suspended(self, epoch: int) -> None:
        _tell(self._writer, suspended=epoch)

    def continued(self, epoch: int) -> None:
        _tell(self._writer, continued=epoch)

    def finished(self, finish: Finish) -> None:
        _tell(self._writer, finished=finish.reason.value, why=finish.why)
        self.ended.set()

    def lost(self, why: str) -> None:
        raise AssertionError(f"the engine itself lost a request: {why}")


def _tell(writer: asyncio.StreamWriter, **said: Any) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(said).encode() + b"\n")


class WiredEngine:
    """The engine as who is before the connections knows it; see `Engine`. `target` is `host:port`.

    `near` is the engine itself: its limits and its health are looked at directly.
    """

    def __init__(self, target: str, near: TorchEngine) -> None:
        host, _, port = target.rpartition(":")
        self._where, self._near = (host, int(port)), near
        self.ranks, self.caches = near.ranks, near.caches
        self.lost = self.unanswered = 0
        """Requests and commands whose connection broke."""
        self._on_its_way: set[str] = set()
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def check(self, request: Request) -> None:
        self._near.check(request)

    def generate(self, request: Request, sink: Sink) -> None:
        self._on_its_way.add(request.request_id)
        task = self._group.create_task(self._stream(request, sink))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def abort(self, request_id: str) -> AbortOutcome:
        outcome = AbortOutcome(await self._ask("abort", request_id))
        self._on_its_way.discard(request_id)
        return outcome

    async def running(self) -> list[str]:
        return sorted({*await self._ask("running"), *self._on_its_way})

    async def freeze(self, epoch: int) -> list[str]:
        return await self._ask("freeze", epoch)

    async def continue_(self, epoch: int) -> bool:
        return await self._ask("continue_", epoch)

    async def quiesce(self) -> tuple[str, ...]:
        return tuple(await self._ask("quiesce"))

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        await self._ask("stage", manifest.version)

    async def commit(self, version: int) -> dict[str, str]:
        return await self._ask("commit", version)

    async def resident_digest(self) -> Resident:
        return await self._near.resident_digest()

    async def reset_caches(self) -> dict[str, bool]:
        return await self._ask("reset_caches")

    async def release_memory(self) -> None:
        await self._ask("release_memory")

    async def restore_memory(self) -> None:
        await self._ask("restore_memory")

    def health(self) -> Health:
        return self._near.health()

    async def close(self) -> None:
        await self._near.close()

    async def _stream(self, request: Request, sink: Sink) -> None:
        try:
            async with self._connection("generate", asdict(request)) as reader:
                while line := await reader.readline():
                    match json.loads(line):
                        case {"taken": _}:
                            self._on_its_way.discard(request.request_id)
                        case {"tokens": tokens}:
                            sink.tokens([Token(*token) for token in tokens])
                        case {"suspended": epoch}:
                            sink.suspended(epoch)
                        case {"continued": epoch}:
                            sink.continued(epoch)
                        case {"finished": reason, "why": why}:
                            sink.finished(Finish(FinishReason(reason), why))
                            return
            raise ConnectionError("it ended in the middle")
        except (OSError, ValueError) as error:
            self.lost += 1
            sink.lost(f"the connection of the request broke: {error!r}")

    async def _ask(self, command: str, given: Any = None) -> Any:
        try:
            async with self._connection(command, given) as reader:
                answer = json.loads(await reader.readline() or b"null")
        except (OSError, ValueError) as error:
            answer, why = None, repr(error)
        else:
            why = "it ended before the answer"
        if answer is None:
            self.unanswered += 1
            raise EngineError(f"the connection of {command} broke: {why}")
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["text"])
        return answer["answer"]

    @asynccontextmanager
    async def _connection(self, command: str, given: Any) -> AsyncIterator[asyncio.StreamReader]:
        reader, writer = await asyncio.open_connection(*self._where, limit=_LIMIT)
        try:
            writer.write(json.dumps({"do": command, "with": given}).encode() + b"\n")
            yield reader
        finally:
            writer.close()
