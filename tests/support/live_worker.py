"""A rollout worker in this process behind its real servers, with every step of its machines followed on their tables.

Rules of this file:

- A shadow is stepped by the table's own pure step; what differs from it is noted, never raised where a host steps.
- A life is held by a task of its own, so that who drives it may come and go.
- What may be at ERROR in the log is what an operator must hear of: a poisoned gate, and a failed install before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from grpc import aio
from rollout_kit import Weights

from sluicegate.protocol.client import dial
from sluicegate.protocol.host import MachineHost
from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.watching.context import Watchers, watched_by
from sluicegate.runtime.workers.front import Front
from sluicegate.runtime.workers.rollout import replica
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease


def tasks() -> Counter[str]:
    """How many tasks there are, by what they run."""
    return Counter(getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks())


HARMLESS = ("%s is poisoned: %s", "%s: the install of version %d failed")


@dataclass(frozen=True, slots=True)
class Step:
    """One step as the table makes it."""

    instance: str
    event: Any
    number: int
    after: Any
    outcome: Any


class Shadow:
    """What the instances of one host should be, by the pure step of their machine."""

    def __init__(self, machine: Any, note: Callable[[str], None]) -> None:
        self.machine, self._note = machine, note
        self._host: MachineHost
        self.models: dict[str, Any] = {}
        self.numbers: dict[str, int] = {}
        self.at: dict[tuple[str, int], Any] = {}
        """What each instance was at each number."""
        self.caused: dict[str, list[Step]] = {}
        """The steps of each cause."""
        self.met: Counter[tuple[str, str, str]] = Counter()
        """How often each event met each state, and by which rule."""

    def follow(self, host: MachineHost) -> None:
        self._host = host
        host.observe(self._step, self._life)

    def _life(self, instance: str, live: Any, goes_on: bool) -> None:
        if live is None:
            del self.models[instance], self.numbers[instance]
        else:
            self.models[instance], self.numbers[instance] = live.snapshot(), 0
            self.at[instance, 0] = self.models[instance]

    def _step(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        name, model = type(event).__name__, self.models[instance]
        expected, said = self.machine.step(model, event)
        self.numbers[instance] += said.kind in ("go", "stay")
        self.models[instance] = self.at[instance, number] = expected
        self.caused.setdefault(cause, []).append(Step(instance, event, number, expected, said))
        self.met[name, model.state, said.rule] += 1
        live = self._host.live(instance).snapshot()
        if (outcome, live, before, after, number) != (
            said, expected, model.state, expected.state, self.numbers[instance],
        ):  # fmt: skip
            self._note(f"{event} on {model}: became {live} by {outcome}, the table says {expected} by {said}")

    def by(self, cause: str, instance: str) -> list[Step]:
        """The steps of an instance that something caused."""
        return [step for step in self.caused.get(cause, ()) if step.instance == instance]

    def forget(self) -> None:
        """Keep only what the instances are now."""
        self.at = {(i, self.numbers[i]): model for i, model in self.models.items()}
        self.caused.clear()


class Troubles(logging.Handler):
    """All that must never happen: records at ERROR, exceptions that nobody handled, differences from a table."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []
        self.harmless = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg in HARMLESS:
            self.harmless += 1
        else:
            self.found.append(f"log: {record.getMessage()} {record.exc_info or ''}")

    def unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.found.append(f"unhandled: {context['message']}: {context.get('exception')!r}")


@dataclass
class Life:
    """One life of the worker that serves, its channels, and the shadows of its machines."""

    ready: dict[str, Any]
    front: Front
    gate: Shadow
    leases: Shadow
    control: aio.Channel
    data: aio.Channel
    idle: Counter[str] = field(default_factory=Counter)
    """The tasks that there are while nothing is asked of it, by what they run."""

    @property
    def now(self) -> Any:
        """The gate as it should be."""
        return self.gate.models[self.ready["replica"]]


@dataclass
class Worker:
    """Lives of one replica, one after another. Use `life()`; `end()` ends the present one."""

    weights: Weights
    troubles: Troubles
    settings: dict[str, Any] = field(default_factory=dict)
    lives: int = 0
    met: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Cells of the gate's table that ended lives have met."""
    _keeper: asyncio.Task[None] | None = None
    _present: Life | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def life(self) -> Life:
        if self._present is None:
            ready: asyncio.Future[Life] = asyncio.get_running_loop().create_future()
            self._over = asyncio.Event()
            self._keeper = asyncio.create_task(self._keep(ready))
            async with asyncio.timeout(60):
                await asyncio.wait((self._keeper, ready), return_when=asyncio.FIRST_COMPLETED)
            if self._keeper.done():
                await self._keeper
            self._present = await ready
            await asyncio.sleep(0.05)
            self._present.idle = tasks()
            self.lives += 1
        return self._present

    async def end(self) -> None:
        """End the present life as a process does; it has then accounted for all that it had."""
        if self._present is None or self._keeper is None:
            return
        self.met += self._present.gate.met
        self._over.set()
        async with asyncio.timeout(60):
            await self._keeper
        self._present = None

    async def _keep(self, ready: asyncio.Future[Life]) -> None:
        fronts: list[Front] = []
        gate, leases = Shadow(Gate, self.troubles.found.append), Shadow(Lease, self.troubles.found.append)

        def see(front: Front) -> Callable[[], None]:
            gate.follow(front.gate.host)
            leases.follow(front.leases.host)
            fronts.append(front)
            return lambda: None

        # As a worker's process does: threads that wait for each other take seconds on cores that others use.
        torch.set_num_threads(1)
        async with AsyncExitStack() as stack:
            stack.enter_context(watched_by(Watchers(fronts=(see,))))
            config = self.weights.config("r0", **{"stop_ms": 2000, **self.settings})
            engine = TorchEngine(config.model, deliver_every_s=0.002, max_batch=config.max_batch)
            facts = await stack.enter_async_context(replica(config, engine))
            control = await stack.enter_async_context(dial(facts["control"]))
            data = await stack.enter_async_context(dial(facts["data"]))
            ready.set_result(Life(facts, fronts[0], gate, leases, control, data))
            await self._over.wait()
