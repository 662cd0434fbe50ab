"""What a block of code holds while the gate lets it run, and how it comes in and out.

Rules of this file:

- A block that leaves with an exception has failed, one that is cancelled is aborted; another has completed.
- A block that the gate has ended, or whose outcome the gate had to count as unknown, leaves with LeaseEnded:
  what it made is not to be used.
- Who is cancelled from outside is never held up: the settlement goes on without it.
- What a block gives to be recorded is judged when it gives it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ...statemachines.sorts import Ending
from ..engines import Finish, FinishReason, Token
from ..workers.door import Call
from ..workers.records import require_text
from ..workers.run import Run

if TYPE_CHECKING:
    from ..workers.front import Front
    from .blocks import Block, BlockEngine


class LeaseEnded(Exception):
    """The gate has ended the block: its work may be sent again, under a new lease.

    `ending` is `aborted`; `not_sent` where it had not begun; `discarded` or `lost` where the outcome counts as unknown.
    """

    def __init__(self, lease: str, ending: str, why: str) -> None:
        super().__init__(f"lease {lease}: {ending}" + (f" ({why})" if why else ""))
        self.lease, self.ending, self.why, self.retry = lease, ending, why, True


class GateLease:
    """What one block was admitted to."""

    def __init__(self, run: Run, block: Block, engine: BlockEngine, incarnation: str) -> None:
        self._run, self._block, self._engine = run, block, engine
        self.id, self.session, self.incarnation = run.lease, run.session, incarnation
        self.epoch, self.version = run.epoch, run.version
        """Of the gate, when it admitted the block."""
        self.failure: str | None = None

    def tokens(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> int | None:
        """Record tokens that the server has just made; the version that labels them.

        Between the stop and the go of `keep` it is still the old one. `logprobs` are natural logarithms, one
        for each token. Raises ValueError where their numbers differ and for an id below 0 or of more than 32 bits,
        TypeError for what is no number; nothing is recorded then.
        """
        logs = [math.nan] * len(ids) if logprobs is None else logprobs
        version = self._block.version
        if version is not None:
            try:
                self._run.tokens([Token(i, p, version) for i, p in zip(ids, logs, strict=True)])
            except OverflowError as error:
                raise ValueError(f"ids of tokens are whole numbers from 0 to {2**32 - 1} ({error})") from None
            self._run.fresh.clear()
            self._engine.count(len(ids))
        return version

    def fail(self, why: str) -> None:
        """The block has failed, though it leaves without an exception. Raises TypeError, ValueError for no text."""
        require_text(why=why)
        self.failure = why


Begins = Callable[[int | None], Awaitable[object]]


class Admission:
    """`async with` around one block, once. Raises Refusal on entering, LeaseEnded; what `begins` raises."""

    def __init__(self, front: Front, engine: BlockEngine, call: Call, begins: Begins | None = None) -> None:
        self._front, self._engine, self._call, self._begins = front, engine, call, begins
        self._cancels, self._is_used = 0, False
        self._run: Run
        self._block: Block
        self._lease: GateLease

    async def __aenter__(self) -> GateLease:
        task = asyncio.current_task()
        assert task is not None
        if self._is_used:
            raise RuntimeError("this admission was used: call admit for each block")
        self._is_used = True
        self._cancels, block = task.cancelling(), self._engine.expect(self._call.lease, task)
        if block is None:
            raise self._front.door.refuse("reused", f"a block is under lease {self._call.lease!r}: take a new id")
        self._block = block
        try:
            self._run = await self._front.enter(self._call)
        except BaseException:
            self._engine.leave(block, _ABORTED)
            raise
        try:
            if not await self._goes_on():
                self._engine.leave(block, _ABORTED)
            has_begun = await asyncio.shield(block.begun)
        except asyncio.CancelledError:
            self._engine.abandon(block, _ABORTED)
            if not self._is_the_gates(task):
                raise
            has_begun = False
        if not has_begun:
            await self._settled()
            raise LeaseEnded(self._run.lease, self._run.ending, self._run.why)
        self._lease = GateLease(self._run, block, self._engine, self._front.incarnation)
        return self._lease

    async def _goes_on(self) -> bool:
        """Forward it, once `begins` has returned; whether that was done. The gate may end it meanwhile."""
        run, leases = self._run, self._front.leases
        if self._begins is None:
            return leases.forward(run)
        leases.told(run)
        tasks = [asyncio.ensure_future(self._begins(run.version)), asyncio.ensure_future(self._settled())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if run.ending:
                return False
            tasks[0].result()
            return leases.proceed(run)
        except BaseException:
            run.cancel()
            self._engine.leave(self._block, _ABORTED)
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        run, is_cancelled = self._run, isinstance(error, (asyncio.CancelledError, GeneratorExit))
        self._engine.leave(self._block, self._finish(error, is_cancelled))
        ended_by_gate = self._is_the_gates(task) and is_cancelled
        if is_cancelled and not ended_by_gate:
            return
        await self._settled()
        if ended_by_gate or (error is None and run.ending not in (Ending.COMPLETED, Ending.FAILED)):
            raise LeaseEnded(run.lease, run.ending, run.why) from None

    def _finish(self, error: BaseException | None, is_cancelled: bool) -> Finish:
        if is_cancelled:
            return _ABORTED
        if error is not None:
            return Finish(FinishReason.FAILED, _named(error))
        if self._lease.failure is not None:
            return Finish(FinishReason.FAILED, self._lease.failure)
        return Finish(FinishReason.STOP)

    def _is_the_gates(self, task: asyncio.Task[object]) -> bool:
        """Whether only the gate has cancelled the task since it came; its own cancellation is then taken back."""
        return self._block.has_cancelled and self._block.task is task and task.uncancel() <= self._cancels

    async def _settled(self) -> None:
        """Return when the lease is over: its record and receipt are stored."""
        run = self._run
        while not run.ending:
            await run.wake.wait()
            run.wake.clear()


def _named(error: BaseException) -> str:
    """An exception of somebody's code as a text that can be stored."""
    try:
        return repr(error).encode(errors="backslashreplace").decode()
    except Exception:
        return f"{type(error).__name__}, which does not say what it is"


_ABORTED = Finish(FinishReason.ABORTED, "it was cancelled")
