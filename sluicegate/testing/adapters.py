"""What stands between a driven run and an implementation: how it is begun, told an event, and looked at.

Rules of this file:

- An adapter judges nothing: it says what the implementation did and how it looks.
- What an implementation does not tell is not compared; its state always is. What it has shown at its birth
  it must go on to show, and an event that it has no method for must be left out by name: nothing is
  missed in silence.
- Coroutines run in an event loop of the adapter's own, which ends with the run; every wait is bounded.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..statemachines.instances import Outcome
from ..statemachines.ir import Event as Declared
from ..statemachines.machine import Event, Inside
from ..statemachines.names import snake


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an implementation said to an event. None: it does not tell.

    `kind` is "taken" where it took the event and does not tell whether it went, stayed or ignored it.
    """

    kind: Literal["go", "stay", "ignore", "refuse", "taken"]
    rule: str | None = None
    reason: str | None = None
    outputs: tuple[Any, ...] | None = None


class Adapter(Protocol):
    """Drives one implementation of a machine, one run after another."""

    def begin(self, machine: Any, given: Mapping[str, Any]) -> None:
        """Make a newborn instance of `machine`; `given` are the fields that are declared `.given()`."""
        ...

    def drives(self, event: Declared) -> bool:
        """Whether this run can give the implementation events of this class."""
        ...

    def apply(self, event: Event) -> Verdict:
        """Give it an event, and wait until it has answered."""
        ...

    def snapshot(self) -> Mapping[str, Any]:
        """`state`, and the fields that it shows, by name: in every run those that it showed at first."""
        ...

    def end(self) -> None:
        """The run is over, however it went."""
        ...


class ObjectAdapter:
    """An object with a method for each event, called by the names of its arguments; plain or async.

    What a method does is its verdict: an exception of `refusals` refuses, with the reason in its
    attribute `reason`, if it has one; an `Outcome` or a `Verdict` that it returns is taken as it is;
    anything else says that the event was taken.

    Args:
        make: makes a newborn object from the given fields, by keyword.
        refusals: the exceptions by which the object refuses an event.
        read: what the object shows, by the names of the machine's fields, `state` among them; by
            default those attributes that it has.
        without: events that are left out: their methods are not called, and need not be there.
        timeout: seconds that a coroutine may take.

    An object that lacks the method of an event is refused with TypeError when a run begins.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        *,
        refusals: type[Exception] | tuple[type[Exception], ...] = (),
        read: Callable[[Any], Mapping[str, Any]] | None = None,
        without: Collection[type[Event]] = (),
        timeout: float = 10.0,
    ) -> None:
        self._make, self._refusals, self._read, self._timeout = make, refusals, read, timeout
        self._without = frozenset(event.__name__ for event in without)
        self._runner: asyncio.Runner | None = None
        self._object: Any = None
        self._names: tuple[str, ...] = ()

    def begin(self, machine: Any, given: Mapping[str, Any]) -> None:
        self._names = ("state", *(f.name for f in machine.ir.fields))
        self._object = self._result(self._make(**given))
        try:
            self._require_methods(machine)
        except BaseException:
            self.end()
            raise

    def _require_methods(self, machine: Any) -> None:
        """A method of another name would never be called, and nothing would fail."""
        called, events = type(self._object).__name__, {event.name for event in machine.ir.events}
        if unknown := sorted(self._without - events):
            raise TypeError(f"without {', '.join(unknown)}: {machine.__name__} has no such event")
        methods = {name: snake(name) for name in sorted(events - self._without)}
        if missing := [f"{m} for {name}" for name, m in methods.items() if not callable(_of(self._object, m))]:
            said = f"{called} has no method {', '.join(missing)}"
            raise TypeError(f"{said}: write it, or leave the event out by ObjectAdapter(..., without=[...])")

    def drives(self, event: Declared) -> bool:
        return event.name not in self._without

    def apply(self, event: Event) -> Verdict:
        method = getattr(self._object, snake(type(event).__name__))
        try:
            said = self._result(method(**event.__dict__))
        except self._refusals as refusal:
            return Verdict("refuse", reason=getattr(refusal, "reason", None))
        return verdict_of(said)

    def snapshot(self) -> Mapping[str, Any]:
        if self._read is not None:
            return self._read(self._object)
        seen = {name: _of(self._object, name) for name in self._names}
        return {name: value for name, value in seen.items() if value is not _ABSENT}

    def end(self) -> None:
        self._object = None
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _result(self, value: Any) -> Any:
        if not inspect.isawaitable(value):
            return value
        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(_within(value, self._timeout))


Raise = Callable[[Event], Any]
"""Raises an event of the inside at the served instance, and gives its `Outcome`, at once or awaited."""


class ClientAdapter:
    """A generated gRPC client of a served instance.

    Args:
        serve: called with the given fields; an async context manager, entered for each run, that
            gives a client of a newborn instance, or a pair of the client and how an event of the
            inside is raised there (see `Raise`). Without the second only events of the wire are driven.
        timeout: seconds that one event, the start and the end may take, each.
    """

    def __init__(self, serve: Callable[..., AbstractAsyncContextManager[Any]], *, timeout: float = 10.0) -> None:
        self._serve, self._timeout = serve, timeout
        self._runner: asyncio.Runner | None = None
        self._client: Any = None
        self._inside: Raise | None = None
        self._over: asyncio.Event | None = None
        self._holder: asyncio.Task[None] | None = None

    def begin(self, machine: Any, given: Mapping[str, Any]) -> None:
        self._runner = asyncio.Runner()
        self._run(self._start(given))

    def drives(self, event: Declared) -> bool:
        return event.outside or self._inside is not None

    def apply(self, event: Event) -> Verdict:
        return self._run(self._apply(event))

    def snapshot(self) -> Mapping[str, Any]:
        seen = self._run(self._client.get()).snapshot
        return {name: getattr(seen, name) for name in ("state", *(f.name for f in seen.fields))}

    def end(self) -> None:
        if self._runner is None:
            return
        try:
            if self._holder is not None and self._over is not None:
                self._over.set()
                self._run(self._holder)
        finally:
            self._runner.close()
            self._runner = self._holder = self._client = self._inside = None

    async def _start(self, given: Mapping[str, Any]) -> None:
        self._over = asyncio.Event()
        ready = asyncio.Event()
        self._holder = asyncio.create_task(self._hold(given, ready, self._over))
        waiter = asyncio.create_task(ready.wait())
        await asyncio.wait([self._holder, waiter], return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        await self._alive()

    async def _hold(self, given: Mapping[str, Any], ready: asyncio.Event, over: asyncio.Event) -> None:
        """Enter and leave the service in one task, as its task groups must be."""
        async with self._serve(**given) as served:
            self._client, self._inside = served if isinstance(served, tuple) else (served, None)
            ready.set()
            await over.wait()

    async def _alive(self) -> None:
        """Raise what ended the service before its time."""
        if self._holder is not None and self._holder.done():
            await self._holder
            raise RuntimeError("the service ended before the run did: keep it until its context is left")

    async def _apply(self, event: Event) -> Verdict:
        from ..protocol.client import Refused

        await self._alive()
        name = type(event).__name__
        if self._inside is not None and isinstance(event, Inside):
            said = self._inside(event)
            return verdict_of(await said if inspect.isawaitable(said) else said)
        try:
            reply = await getattr(self._client, snake(name))(**event.__dict__)
        except Refused as refusal:
            return Verdict("refuse", refusal.rule, refusal.reason)
        return Verdict(reply.kind, reply.rule)

    def _run(self, work: Awaitable[Any]) -> Any:
        assert self._runner is not None, "begin a run first"
        return self._runner.run(_within(work, self._timeout))


_ABSENT = object()


def _of(target: Any, name: str) -> Any:
    """An attribute, or `_ABSENT` where there is none. What a property raises is raised, an AttributeError too."""
    try:
        return getattr(target, name)
    except AttributeError:
        found = inspect.getattr_static(target, name, _ABSENT)
        if found is _ABSENT or inspect.ismemberdescriptor(found):
            return _ABSENT
        raise


def verdict_of(said: Any) -> Verdict:
    """What an implementation returned, as a verdict."""
    match said:
        case Verdict():
            return said
        case Outcome():
            return Verdict(said.kind, said.rule, said.reason, said.outputs)
        case _:
            return Verdict("taken")


async def _within(work: Awaitable[Any], seconds: float) -> Any:
    async with asyncio.timeout(seconds):
        return await work
