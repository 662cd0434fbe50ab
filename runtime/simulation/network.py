"""gRPC without sockets: real stubs and servicers, and between them messages with a fate.

Rules of this file:

- Messages are serialised and parsed as gRPC would; codes, details and deadlines are as gRPC has them.
- The deadline of a request counts from its arrival, as its header says a duration: a late one is fresh.
- Within one stream nothing overtakes; everything else is as fast as its fate says.
- A message is told by method, sender, receiver and kind; the first rule that fits decides its fate.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

import grpc
from grpc import aio

from ...protocol.network import Options
from .calls import Call, Stream
from .clock import OWNER

LATENCY_S = 0.001
Kind = Literal["request", "answer"]
"""An answer is also each message of a stream, and its end."""


class Message(NamedTuple):
    """One message, as it was sent."""

    at: float
    method: str
    source: str
    target: str
    kind: Kind


class Held:
    """Messages that wait on the network until they are let go."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self._is_open = False

    def __len__(self) -> int:
        return len(self._waiting)

    def release(self) -> None:
        """Let them, and all that follow, arrive."""
        self._is_open = True
        waiting, self._waiting = self._waiting, []
        for arrive in waiting:
            arrive()

    def add(self, arrive: Callable[[], None]) -> None:
        if self._is_open:
            arrive()
        else:
            self._waiting.append(arrive)


@dataclass(slots=True)
class Rule:
    """What becomes of messages that fit; `left` is of how many, none for all."""

    method: str
    source: str
    target: str
    kind: Kind
    left: int | None
    delay: float = 0.0
    is_lost: bool = False
    again: float | None = None
    held: Held | None = None

    def takes(self, message: Message) -> bool:
        fits = (
            self.method in ("", message.method)
            and is_of(message.source, self.source)
            and is_of(message.target, self.target)
            and self.kind == message.kind
            and self.left != 0
        )
        if fits and self.left is not None:
            self.left -= 1
        return fits


def is_of(process: str, name: str) -> bool:
    """Whether a process is the one of this name, or a life of it; an empty name is anybody's."""
    return not name or process == name or process.startswith(f"{name}.")


class Asked(NamedTuple):
    """What an interceptor is told of a call."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...]


@dataclass(eq=False)
class Listening:
    """A server that listens: its methods, and the process that it belongs to."""

    owner: str
    context: Context
    methods: dict[str, grpc.RpcMethodHandler]
    interceptors: Sequence[aio.ServerInterceptor]
    servicers: list[Any]
    calls: set[Call] = field(default_factory=set)

    async def find(self, path: str) -> Any:
        """The method of this path, as the interceptors leave it; none if there is none."""

        async def ask(left: Sequence[aio.ServerInterceptor], details: Any) -> Any:
            if not left:
                return self.methods.get(details.method)
            return await left[0].intercept_service(lambda given: ask(left[1:], given), details)

        return await ask(self.interceptors, Asked(path, ()))


class SimNetwork:
    """The network of one run. `sent` is every message, in order."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.unhandled: list[str] = []
        """What servicers raised that is no answer."""
        self.rules: list[Rule] = []
        self.listening: dict[str, Listening] = {}
        self.outside = Context()
        """Where messages travel: in no process."""
        self._calls: set[Call] = set()
        self._cut: set[frozenset[str]] = set()
        self._ports = 10_000

    # -- what is scripted ----------------------------------------------------------------------------

    def lose(
        self, method: str = "", *, kind: Kind = "request", source: str = "", target: str = "", times: int | None = 1
    ) -> Rule:
        """Messages that never arrive."""
        return self._rule(Rule(method, source, target, kind, times, is_lost=True))

    def delay(
        self, seconds: float, method: str = "", *, kind: Kind = "request", source: str = "", target: str = "",
        times: int | None = 1,
    ) -> Rule:  # fmt: skip
        """Messages that arrive so much later; others overtake them."""
        return self._rule(Rule(method, source, target, kind, times, delay=seconds))

    def repeat(self, method: str, seconds: float = 0.0, *, source: str = "", target: str = "", times: int = 1) -> Rule:
        """Requests that arrive a second time, so much later; nobody hears the second answer."""
        return self._rule(Rule(method, source, target, "request", times, again=seconds))

    def hold(
        self, method: str, *, kind: Kind = "request", source: str = "", target: str = "", times: int | None = 1
    ) -> Held:
        """Messages that wait on the way until they are released."""
        held = Held()
        self._rule(Rule(method, source, target, kind, times, held=held))
        return held

    def cut(self, one: str, other: str) -> None:
        """Break every connection between two processes, and let none be made."""
        self._cut.add(frozenset((one, other)))
        for call in [c for c in self._calls if self._is_cut(c.source, c.target)]:
            call.break_()

    def mend(self, one: str, other: str) -> None:
        """Let connections be made again."""
        self._cut.discard(frozenset((one, other)))

    def drop(self, process: str) -> None:
        """A process is gone: its ports are closed, its connections break."""
        for target in [t for t, served in self.listening.items() if served.owner == process]:
            del self.listening[target]
        for call in [c for c in self._calls if process in (c.source, c.target)]:
            call.break_()

    def methods(self, kind: Kind = "request", **fits: str) -> list[str]:
        """The names of the messages sent so far, by `source` and `target`."""
        source, target = fits.get("source", ""), fits.get("target", "")
        return [m.method for m in self.sent if m.kind == kind and is_of(m.source, source) and is_of(m.target, target)]

    # -- for dial and Server -------------------------------------------------------------------------

    def channel(self, target: str, credentials: grpc.ChannelCredentials | None, options: Options) -> aio.Channel:
        owner = OWNER.get()
        return cast(Any, SimChannel(self, "" if owner is None else owner.name, target))

    def server(self, options: Options, interceptors: Sequence[aio.ServerInterceptor] = ()) -> aio.Server:
        return cast(Any, SimServer(self, interceptors))

    def next_port(self) -> int:
        self._ports += 1
        return self._ports

    # -- for calls -----------------------------------------------------------------------------------

    def begin(self, call: Call) -> None:
        self._calls.add(call)

    def forget(self, call: Call) -> None:
        self._calls.discard(call)

    def send(self, method: str, source: str, target: str, kind: Kind, arrive: Callable[[], None]) -> None:
        """Let a message travel; `arrive` is called when, and as often as, it gets there."""
        loop = asyncio.get_running_loop()
        message = Message(loop.time(), method, source, target, kind)
        self.sent.append(message)
        rule = next((r for r in self.rules if r.takes(message)), None)
        if rule is None:
            loop.call_later(LATENCY_S, arrive, context=self.outside)
        elif rule.held is not None:
            rule.held.add(lambda: loop.call_soon(arrive, context=self.outside) and None)
        elif not rule.is_lost:
            loop.call_later(LATENCY_S + rule.delay, arrive, context=self.outside)
            if rule.again is not None:
                loop.call_later(LATENCY_S + rule.again, arrive, context=self.outside)

    def reach(self, source: str, target: str) -> Listening | None:
        """Who listens there, if it can be reached."""
        served = self.listening.get(target)
        return None if served is None or self._is_cut(source, served.owner) else served

    def _is_cut(self, source: str, target: str) -> bool:
        return any(
            (is_of(source, a) and is_of(target, b)) or (is_of(source, b) and is_of(target, a))
            for a, b in (tuple(pair) * (3 - len(pair)) for pair in self._cut)
        )

    def _rule(self, rule: Rule) -> Rule:
        self.rules.append(rule)
        return rule


class SimChannel:
    """A channel of one process to one port: what generated stubs use of it."""

    def __init__(self, network: SimNetwork, source: str, target: str) -> None:
        self._network, self._source, self._target = network, source, target
        self._calls: list[Call] = []
        self._is_closed = False

    def unary_unary(self, path: str, serialize: Any = None, parse: Any = None, **given: Any) -> Callable[..., Call]:
        return self._method(Call, path, given)

    def unary_stream(self, path: str, serialize: Any = None, parse: Any = None, **given: Any) -> Callable[..., Call]:
        return self._method(Stream, path, given)

    def stream_unary(self, path: str, **given: Any) -> Callable[..., Call]:
        return self._method(Call, path, given)

    def stream_stream(self, path: str, **given: Any) -> Callable[..., Call]:
        return self._method(Stream, path, given)

    async def close(self, grace: float | None = None) -> None:
        self._is_closed = True
        for call in self._calls:
            call.cancel()

    def _method(self, kind: type[Call], path: str, given: dict[str, Any]) -> Callable[..., Call]:
        def begin(request: Any, timeout: float | None = None, **others: Any) -> Call:
            if self._is_closed:
                raise aio.UsageError("Channel is closed.")
            call = kind(
                self._network, self._source, self._target, path, given["request_serializer"](request),
                given["response_deserializer"], timeout,
            )  # fmt: skip
            self._calls = [c for c in self._calls if not c.done()] + [call]
            return call

        return begin


class SimServer:
    """A server of one process: what generated servicers and `Server` use of it."""

    def __init__(self, network: SimNetwork, interceptors: Sequence[aio.ServerInterceptor]) -> None:
        self._network, self._interceptors = network, interceptors
        self._methods: dict[str, grpc.RpcMethodHandler] = {}
        self._target = ""

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """The registered ones are the same."""

    def add_registered_method_handlers(self, service: str, handlers: dict[str, grpc.RpcMethodHandler]) -> None:
        self._methods |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    def add_insecure_port(self, target: str) -> int:
        port = self._network.next_port()
        self._target = f"{target.rpartition(':')[0]}:{port}"
        return port

    def add_secure_port(self, target: str, credentials: grpc.ServerCredentials) -> int:
        return self.add_insecure_port(target)

    async def start(self) -> None:
        owner = OWNER.get()
        found = {id(s): s for m in self._methods.values() if (s := _servicer(m)) is not None}
        self._network.listening[self._target] = Listening(
            "" if owner is None else owner.name, contextvars.copy_context(), self._methods, self._interceptors,
            list(found.values()),
        )  # fmt: skip

    async def stop(self, grace: float | None) -> None:
        served = self._network.listening.pop(self._target, None)
        if served is None:
            return
        running = [c.task for c in served.calls if c.task is not None and not c.task.done()]
        if running:
            await asyncio.wait(running, timeout=grace or 0)
        for task in running:
            task.cancel()


def _servicer(method: grpc.RpcMethodHandler) -> Any:
    handler: Any = method.unary_unary or method.unary_stream
    return getattr(handler, "__self__", None)
