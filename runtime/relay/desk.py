"""The service by which trainers of somebody's own publish: one window a call.

Rules of this file:

- A window's number is taken, its manifest durable and its id in the ledger before any gate is sealed for it.
- The operation goes on whatever becomes of the call. A trainer that has gone loads nothing more: who was not loaded by
  then has weights in doubt, and who had not drained by then goes on with those it has.
- An id has one outcome, and a repeat is told that.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, NoReturn, Self

from grpc import StatusCode, aio

from ...protocol.generated import window_pb2 as pb
from ...protocol.generated import window_pb2_grpc as rpc
from ...protocol.refusals import MALFORMED, PAYLOAD, STORAGE, refuse
from ...protocol.servicer import ID_LIMIT, Context
from ...protocol.store import StoreError
from ...protocol.tasks import Tasks
from ...statemachines.trainer import Trainer
from ..controller.controller import Controller, SyncFailed
from ..controller.desk import RETRY_S
from ..controller.ledger import Ledger, Outcome
from ..controller.sync import INSTANCE
from ..controller.trainer import INSTANCE as TRAINER
from ..tracelog import TraceLog
from ..weights import ManifestError
from .fleet import Fleet
from .holding import FOUND, manifest
from .window import Window

_log = logging.getLogger(__name__)
WORD_LIMIT = 1024
"""Characters of a trainer's word for weights."""
STEP_LIMIT = 2**63 - 1
WINDS_UP_S = 10.0
"""How long a window may wait for the end of the one before it."""
LOOK_S, AGAIN_S = 0.1, 2.0
"""How often it is looked whether something was found, and the pause before it is tried again to publish that."""


class Publisher:
    """Publishes as the trainer's stand-in: what it does is a trainer's, and is logged as such."""

    def __init__(self, controller: Controller, run: str, life: str, log: TraceLog | None) -> None:
        self._controller, self._run, self._life, self._log = controller, run, life, log
        self._live: Any = Trainer.Live(ranks={TRAINER})
        if log is not None:
            log.of("Trainer").lives(TRAINER, self._live, False)
        self._step(Trainer.Claim(term=controller.term), f"{controller.term}.{life}.claim.{controller.term}")

    async def publish(self, step: int, word: str, **kind: str) -> int:
        """Take the next number for weights that are called `word`, and make their manifest durable. Raises StoreError,
        OSError."""
        controller = self._controller
        version = controller.register.next_version()
        # 0 would be the first: versions that somebody is told of begin at 1.
        version = version or controller.register.next_version()
        cause = f"{controller.term}.{self._life}.publish.{version}"
        self._step(Trainer.Publish(term=controller.term, version=version), cause)
        made = manifest(version, self._run, step, word, **kind)
        await asyncio.to_thread(controller.manifests.put, made)
        if self._log is not None:
            self._log.fact("Trainer", TRAINER, "manifest", version=version, digest=made.digest)
        self._step(Trainer.Published(rank=TRAINER, job=self._live.job, digest=made.digest), cause)
        return version

    def _step(self, event: Any, cause: str) -> None:
        before = self._live.state
        outcome = self._live.step(event)
        if self._log is not None:
            self._log.of("Trainer")(TRAINER, 0, event, before, self._live.state, outcome, cause)


class WindowDesk(rpc.WindowServicer):
    """Serves the service `Window`. Use as `async with`, inside of that of the fleet, which is set before use."""

    SERVICE = "sluicegate.v1.Window"

    def __init__(self, controller: Controller, ledger: Ledger, run: str, life: str, log: TraceLog | None) -> None:
        self.fleet: Fleet
        self._controller, self._ledger = controller, ledger
        self._publisher = Publisher(controller, run, life, log)
        self._group = Tasks()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._alone = asyncio.Lock()
        """Held while a window is open."""

    def add_to(self, server: aio.Server) -> None:
        rpc.add_WindowServicer_to_server(self, server)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._spawn(self._as_found())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.fleet.window is not None:
            self.fleet.window.lose("the server ends")
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(kind, error, trace)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _as_found(self) -> None:
        """Where nothing was ever published: what the upstreams hold is the first version, once one of them answers."""
        controller = self._controller
        while controller.published is None:
            if self.fleet.lives and self.fleet.is_claimed() and not self._alone.locked():
                async with self._alone:
                    try:
                        await controller.sync(await self._publisher.publish(0, FOUND, kind=FOUND))
                    except (SyncFailed, StoreError, OSError) as error:
                        _log.error("what was found could not be published, which is tried again: %s", error)
                        await asyncio.sleep(AGAIN_S)
            await asyncio.sleep(LOOK_S)

    # -- the service -----------------------------------------------------------------------------

    async def Open(self, request_iterator: AsyncIterator[pb.WindowRequest], context: Context) -> None:
        """One window; see `window.proto`."""
        first = await anext(request_iterator, None)
        if first is None or first.WhichOneof("said") != "begin":
            await _refuse(context, "the first message is to be begin")
        begin = first.begin
        for name, given, longest in (
            ("operation_id", begin.operation_id, ID_LIMIT), ("digest", begin.digest, WORD_LIMIT),
        ):  # fmt: skip
            if not 0 < len(given) <= longest:
                await _refuse(context, f"{name} needs 1 to {longest} characters")
        if begin.step > STEP_LIMIT:
            await _refuse(context, f"step is at most {STEP_LIMIT}")
        asked = json.dumps(["window", begin.step, begin.digest])
        try:
            known = self._ledger.entry(begin.operation_id)
            if known is not None and known.request != asked:
                text = f"operation {begin.operation_id} was another request: take a new id for a new request"
                await refuse(context, StatusCode.INVALID_ARGUMENT, PAYLOAD, text, _FACTS, None)
            if known is not None and known.outcome is None and known.term != self._controller.term:
                ended = f"the server of term {known.term} ended; what is published is {self._controller.published}"
                ending = Outcome("failed", "controller_ended", ended, version=self._controller.published, retry=True)
                self._ledger.finish(begin.operation_id, ending)
                known = self._ledger.entry(begin.operation_id)
            if known is not None and known.outcome is not None:
                await context.write(_closed(known.outcome, True))
                return
            if known is None:
                await self._until_over()
                known = self._ledger.entry(begin.operation_id)
            if self._alone.locked() or known is not None:
                text = "another window is open: come again once it is over"
                await context.write(_closed(Outcome("refused", "window_open", text, retry=True)))
                return
            async with self._alone:
                self._ledger.begin(begin.operation_id, asked, self._controller.term)
                version = await self._publisher.publish(begin.step, begin.digest)
                window = Window(version, begin.step, begin.digest, self._controller.changed.notify)
                self.fleet.window = window
                carrying = self._spawn(self._carry(window, begin.operation_id))
                try:
                    await self._attend(window, request_iterator, context)
                finally:
                    window.lose("the trainer has gone")
                    # Whoever calls may have gone: the operation ends by itself, and the window only then.
                    await asyncio.shield(carrying)
                await context.write(_closed(carrying.result()))
        except (StoreError, OSError) as error:
            await refuse(context, StatusCode.UNAVAILABLE, STORAGE, f"{error}; nothing was begun", _FACTS, None)

    async def _until_over(self) -> None:
        """Wait for a window whose trainer has gone to wind up, so that who begins the next at once is not refused."""
        until = asyncio.get_running_loop().time() + WINDS_UP_S
        while self._alone.locked() and asyncio.get_running_loop().time() < until:
            window = self.fleet.window
            if window is not None and not window.why_lost:
                return
            await asyncio.sleep(LOOK_S)

    async def _attend(self, window: Window, messages: AsyncIterator[pb.WindowRequest], context: Context) -> None:
        """Tell when it is entered, and take what the trainer says, until it leaves or the window is over."""
        writing = asyncio.Lock()

        async def entered() -> None:
            changed = self._controller.changed
            while not await changed.until(lambda: window.done.is_set() or self._is_entered(window), 1.0):
                pass
            if not window.done.is_set():
                urls = {name: self.fleet.upstreams[name].url for name in window.arrived}
                told = pb.WindowEntered(version=window.version, upstreams=urls)
                async with writing:
                    await context.write(pb.WindowAnswer(entered=told))

        async def listen() -> None:
            async for message in messages:
                match message.WhichOneof("said"):
                    case "loaded":
                        name = message.loaded.upstream
                        why = window.loaded(name, message.loaded.digest)
                        async with writing:
                            taken = pb.WindowTaken(upstream=name, refused=why)
                            await context.write(pb.WindowAnswer(taken=taken))
                    case "leave":
                        window.lose("the trainer has left and did not load it")
                        return
                    case _:
                        await _refuse(context, "a window that is open takes loaded and leave")

        tasks = [asyncio.ensure_future(work) for work in (listen(), window.done.wait(), entered())]
        try:
            await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for failure in results:
            if isinstance(failure, Exception):
                raise failure

    def _is_entered(self, window: Window) -> bool:
        sync = self._controller.syncs.live(INSTANCE)
        is_its = sync.state == "INSTALLING" and sync.version == window.version
        return is_its and bool(window.arrived) and sync.members <= window.arrived | sync.refusing | sync.answered

    # -- the operation ---------------------------------------------------------------------------

    async def _carry(self, window: Window, operation_id: str) -> Outcome:
        """The operation of a window; what came of it, once that is durable."""
        controller = self._controller
        try:
            await self.fleet.gather()
            operation = await controller.sync(window.version)
            left = _explained(operation.left_behind(), window)
            outcome = Outcome("published", epoch=operation.epoch, version=operation.version, left_behind=left)
        except SyncFailed as failure:
            operation = failure.operation
            begun = operation is not None and not operation.outcome.startswith("refused")
            why = f"{failure}: {window.why_lost}" if window.why_lost else str(failure)
            outcome = Outcome(
                "failed" if begun else "refused", failure.reason, why, version=controller.published,
                left_behind=_explained(operation.left_behind() if operation else {}, window), retry=failure.retry,
            )  # fmt: skip
        except (OSError, ManifestError) as error:
            outcome = Outcome("refused", "no_manifest", str(error))
        finally:
            window.lose("the window is over")
            self.fleet.window = None
            window.done.set()
            controller.changed.notify()
        await self.fleet.tidy()
        while True:
            try:
                return self._ledger.finish(operation_id, outcome)
            except StoreError as error:
                _log.error("what came of window %s cannot be stored: %s", operation_id, error)
            await asyncio.sleep(RETRY_S)


_FACTS = {"machine": "Window"}


def _explained(left: Mapping[str, str], window: Window) -> dict[str, str]:
    """Why an operation went on without upstreams; of those that were not loaded, also why they were not."""
    why = window.why_lost and f" ({window.why_lost})"
    return {name: said if window.was_loaded(name) else f"{said}{why}" for name, said in left.items()}


def _closed(outcome: Outcome, replayed: bool = False) -> pb.WindowAnswer:
    closed = pb.WindowClosed(
        published=outcome.result == "published", reason=outcome.reason, text=outcome.text, retry=outcome.retry,
        version=outcome.version, left_behind=outcome.left_behind, replayed=replayed,
    )  # fmt: skip
    return pb.WindowAnswer(closed=closed)


async def _refuse(context: Context, text: str) -> NoReturn:
    await refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, text, _FACTS, None)
