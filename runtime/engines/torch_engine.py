"""The embedded engine: any Hugging Face causal language model with attention, batched, on CPU or GPU.

Rules of this file
- One worker thread owns model, batch and scheduler. The event loop sends it commands through a queue and
  gets tokens back in batches; neither ever waits for a lock of the other.
- A command runs between two steps, so nothing is half-way through a forward pass when it is answered.
- Staging is done by another thread beside the running requests and touches no resident tensor; so is a digest
  of what is resident.
- A failure of the worker ends every request as failed and shows in `health` for ever: what a failed step
  or install left on the device is not known.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import torch

from ..weights import BucketSource, Manifest, WeightsError
from .base import (
    AbortOutcome,
    EngineBusy,
    EngineError,
    Health,
    InstallFailed,
    InvalidRequest,
    Request,
    Resident,
    Sink,
    require_caches_reset,
)
from .scheduler import Change, Delivery, Generation, Scheduler
from .torch_model import TorchModel
from .torch_weights import TorchWeights

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_RANK = "0"
_KV = "keys and values"
_NO_WEIGHTS = "no version of the weights is resident: install one first"


class TorchEngine:
    """One replica of one rank. An async context manager: the worker runs between enter and exit."""

    ranks: tuple[str, ...] = (_RANK,)
    caches: tuple[str, ...] = (_KV,)

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        attention: str = "sdpa",
        version: int | None = None,
        in_place: bool = False,
        max_batch: int = 32,
        max_prefill_tokens: int = 8192,
        join_every: int = 4,
        deliver_every_s: float = 0.02,
    ) -> None:
        """Loads the model of `folder`; blocks while it does.

        `version`: what the folder's weights are called; none if they are not to be served, nor read then.
        `in_place`: an install writes over what is resident, and no second copy is kept beside it.
        `max_batch`: requests that run at once. `max_prefill_tokens`: prompt tokens computed in one pass, if
        it holds more than one prompt. `join_every`: steps that waiting requests may be left waiting while
        others run, so that several share one prefill. `deliver_every_s`: seconds between deliveries of a
        running request's tokens. Raises EngineError for a folder that cannot be served, ValueError for a
        bad number.
        """
        if min(max_batch, max_prefill_tokens, join_every) < 1 or deliver_every_s < 0:
            raise ValueError("max_batch, max_prefill_tokens, join_every: at least 1; deliver_every_s: at least 0")
        self._model = TorchModel(
            folder, device=device, dtype=dtype, attention=attention, reads_weights=version is not None
        )
        self._weights = TorchWeights(self._model, version, in_place=in_place)
        self._broken = ""
        self._closing = False
        self._step_began: float | None = None
        self._quiescing: list[asyncio.Future[tuple[str, ...]]] = []
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="torch-engine", daemon=True)
        self._scheduler = Scheduler(
            self._model,
            max_batch=max_batch,
            max_prefill_tokens=max_prefill_tokens,
            join_every=join_every,
            deliver_every_s=deliver_every_s,
            deliver=lambda deliveries: self._post(self._hand_over, deliveries),
            notify=lambda generations, change, epoch: self._post(_notify, generations, change, epoch),
        )

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def generate(self, request: Request, sink: Sink) -> None:
        """See `Engine.generate`."""
        self._require_alive()
        self.check(request)
        self._inbox.put(lambda: self._scheduler.add(request, sink, self._refusal()))

    def check(self, request: Request) -> None:
        """See `Engine.check`."""
        problems: list[str] = []
        length = len(request.prompt_ids)
        if not length:
            problems.append("the prompt is empty")
        elif min(request.prompt_ids) < 0 or max(request.prompt_ids) >= self._model.vocab_size:
            problems.append(f"a prompt id is outside 0..{self._model.vocab_size - 1}")
        if request.max_new_tokens < 1:
            problems.append(f"max_new_tokens is {request.max_new_tokens}, at least 1 is needed")
        elif length + request.max_new_tokens > self._model.max_positions:
            problems.append(
                f"{length} prompt tokens and {request.max_new_tokens} new ones exceed "
                f"the model's {self._model.max_positions} positions"
            )
        if not 0 <= request.temperature < float("inf"):
            problems.append(f"temperature is {request.temperature}, it must be finite and not negative")
        if not 0 < request.top_p <= 1:
            problems.append(f"top_p is {request.top_p}, it must be above 0 and at most 1")
        if problems:
            raise InvalidRequest(f"request {request.request_id!r}: {'; '.join(problems)}")

    async def abort(self, request_id: str) -> AbortOutcome:
        """See `Engine.abort`."""
        # Also when nobody waits for the answer any more: whoever asks something later counts on it.
        return await self._call(lambda: self._scheduler.abort(request_id), always=True)

    async def running(self) -> list[str]:
        """See `Engine.running`."""
        return await self._call(lambda: list(self._scheduler.held))

    async def freeze(self, epoch: int) -> list[str]:
        """See `Engine.freeze`."""
        return await self._call(lambda: self._scheduler.freeze(epoch))

    async def continue_(self, epoch: int) -> bool:
        """See `Engine.continue_`."""
        return await self._call(lambda: self._scheduler.continue_(epoch))

    async def quiesce(self) -> tuple[str, ...]:
        """See `Engine.quiesce`. Raises EngineError when the engine is closed meanwhile."""
        idle: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
        await self._call(lambda: self._quiescing.append(idle))
        return await idle

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        """See `Engine.stage`. One staging at a time; a later one replaces an earlier one."""
        await self._call(lambda: self._model.require_memory("stage weights"))
        await self._weights.stage(
            manifest, source, lambda staged: self._call(lambda: self._weights.set_staged(staged))
        )

    async def commit(self, version: int) -> dict[str, str]:
        """See `Engine.commit`."""
        return await self._call(lambda: self._commit(version))

    async def resident_digest(self) -> Resident:
        """See `Engine.resident_digest`; requests run on meanwhile. Raises EngineError while memory is released."""
        while True:
            reading = await self._call(self._weights.begin_reading)
            digest = await asyncio.to_thread(self._weights.read, reading)
            if digest is not None:
                return Resident(reading.version, {_RANK: digest})

    async def reset_caches(self) -> dict[str, bool]:
        """See `Engine.reset_caches`. Frozen requests are computed again when they continue."""
        return await self._call(self._reset_caches)

    async def release_memory(self) -> None:
        """See `Engine.release_memory`."""
        await self._call(self._release)

    async def restore_memory(self) -> None:
        """See `Engine.restore_memory`."""
        await self._call(self._weights.restore)

    def health(self) -> Health:
        """See `Engine.health`. Reads what the worker last wrote, without waiting for it."""
        scheduler, began = self._scheduler, self._step_began
        return Health(
            ok=not self._refusal_of_life(),
            why=self._refusal_of_life(),
            version=self._weights.version,
            resident=self._weights.resident,
            running=len(scheduler.running),
            waiting=len(scheduler.waiting),
            frozen_epoch=scheduler.frozen_epoch,
            step_age_s=None if began is None else time.monotonic() - began,
            steps=scheduler.steps,
            tokens=scheduler.tokens,
        )

    async def close(self) -> None:
        """See `Engine.close`. Raises TimeoutError when a step does not end within half a minute."""
        await self._weights.close()
        if not self._thread.is_alive():
            return
        self._inbox.put(self._stop)
        await asyncio.to_thread(self._thread.join, 30)
        if self._thread.is_alive():
            raise TimeoutError("the engine's worker did not end within 30 s: its process must be killed")
        # What came while the worker ended is refused here.
        self._drain_inbox()

    # From here on: the worker thread.

    def _work(self) -> None:
        try:
            while not self._closing:
                try:
                    # An idle worker sleeps here; a busy one takes what has come and steps on.
                    command = self._inbox.get(block=not self._scheduler.runnable)
                except queue.Empty:
                    command = self._step
                command()
                self._answer_quiesce()
        except Exception as problem:
            _log.exception("the engine's worker failed")
            self._broken = f"the worker failed: {problem!r}"
        self._closing = True
        self._scheduler.fail_all(self._refusal_of_life())
        for idle in self._quiescing:
            self._post(_resolve, idle, None, EngineError(self._refusal_of_life()))
        self._drain_inbox()

    def _drain_inbox(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._inbox.get_nowait()()

    def _step(self) -> None:
        assert self._weights.version is not None
        self._step_began = time.monotonic()
        try:
            self._scheduler.step(self._weights.version)
        except Exception as problem:
            _log.exception("a step of the engine failed")
            self._broken = f"a step failed: {problem!r}"
            self._scheduler.fail_all(self._broken)
        finally:
            self._step_began = None

    def _stop(self) -> None:
        self._closing = True

    def _answer_quiesce(self) -> None:
        if self._quiescing and not self._scheduler.runnable:
            self._model.synchronize()
            for idle in self._quiescing:
                self._post(_resolve, idle, self.ranks, None)
            self._quiescing.clear()

    def _commit(self, version: int) -> dict[str, str]:
        if self._broken:
            raise EngineError(f"the engine must be replaced: {self._broken}")
        weights = self._weights
        if weights.is_resident(version) and (weights.staged is None or weights.staged.manifest.version != version):
            return {_RANK: weights.digest()}
        staged = weights.require_staged(version)
        self._require_idle("commit weights")
        self._model.require_memory("commit weights")
        before = weights.changes
        try:
            weights.put(staged)
            require_caches_reset(self.caches, self._reset_caches())
            digests = {_RANK: weights.digest()}
        except Exception as problem:
            if isinstance(problem, WeightsError) and weights.changes == before:
                raise
            self._broken = f"the install of version {version} failed: {problem!r}"
            weights.doubt()
            self._scheduler.fail_all(self._broken)
            raise InstallFailed(self._broken) from problem
        weights.serve(staged)
        return digests

    def _reset_caches(self) -> dict[str, bool]:
        self._require_idle("reset caches")
        self._scheduler.drop_cache()
        return {_KV: True}

    def _release(self) -> None:
        if self._scheduler.held:
            raise EngineBusy(f"cannot release memory: {len(self._scheduler.held)} requests are held")
        self._scheduler.drop_cache()
        self._weights.release()

    def _require_idle(self, what: str) -> None:
        if self._scheduler.runnable:
            raise EngineBusy(f"cannot {what}: {len(self._scheduler.held)} requests run; drain or freeze first")

    def _refusal(self) -> str:
        return self._refusal_of_life() or ("" if self._weights.resident else _NO_WEIGHTS)

    def _refusal_of_life(self) -> str:
        return self._broken or ("the engine was closed" if self._closing else "")

    # Between the threads.

    async def _call(self, act: Callable[[], _T], *, always: bool = False) -> _T:
        """Runs `act` on the worker between two steps and gives its result or error.

        Once nobody waits for the answer it is left out, unless it is to be done `always`.
        """
        self._require_alive()
        answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        def run() -> None:
            if answer.cancelled() and not always:
                return
            try:
                if self._closing:
                    raise EngineError(f"too late: {self._refusal_of_life()}")
                result = act()
            except Exception as problem:
                self._post(_resolve, answer, None, problem)
            else:
                self._post(_resolve, answer, result, None)

        self._inbox.put(run)
        return await answer

    def _require_alive(self) -> None:
        if not self._thread.is_alive():
            raise EngineError("the engine does not run: enter it first, and do not use it after its end")

    def _post(self, function: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The event loop has been closed under the engine: nobody is left to tell.
            self._closing = True

    def _hand_over(self, deliveries: list[Delivery]) -> None:
        for generation, tokens, finish in deliveries:
            try:
                if tokens:
                    generation.sink.tokens(tokens)
                if finish is not None:
                    generation.sink.finished(finish)
            except Exception:
                # One broken receiver must not starve the others of their tokens.
                request_id = generation.request.request_id
                _log.exception("the sink of request %s failed; the request is aborted", request_id)
                self._inbox.put(lambda request_id=request_id: _discard(self._scheduler.abort(request_id)))


def _notify(generations: list[Generation], change: Change, epoch: int) -> None:
    for generation in generations:
        if change == "suspended":
            generation.sink.suspended(epoch)
        else:
            generation.sink.continued(epoch)


def _resolve(answer: asyncio.Future[Any], result: object, problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is None:
        answer.set_result(result)
    else:
        answer.set_exception(problem)


def _discard(_: object) -> None:
    return None
