"""One case against a live worker: sends what was drawn, and brings all home: nothing may be left over."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError
from grpc import aio
from live_commands import BOUND, request_class
from live_requests import Requests
from live_worker import tasks
from messages import HUGE, Command, Generate, Next, Other, Pause, Raw, Socket, answered

from sluicegate.protocol.generated import gate_pb2, lease_pb2, rollout_pb2
from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.runtime.controller.converge import Next as Advised
from sluicegate.runtime.controller.converge import converge, reaches


class Case(Requests):
    """Whatever comes over a wire, and how it ends. Raises AssertionError where something is wrong."""

    async def run(self, case: list[Any], *, opened: bool) -> None:
        """Send all; then everything ends, and nothing is left over. `opened`: to a gate that is open."""
        self.life.gate.forget()
        self.life.leases.forget()
        try:
            if opened:
                await self._home()
            for item in case:
                async with asyncio.timeout(BOUND), asyncio.TaskGroup() as group:
                    for each in item if isinstance(item, tuple) else (item,):
                        group.create_task(self._do(each))
            await self._end()
        finally:
            for stream in self.streams:
                stream.cancel()
            await asyncio.gather(*self.streams, return_exceptions=True)

    async def _do(self, item: Any) -> None:
        self.met[type(item).__name__] += 1
        match item:
            case Command():
                await self._command(item)
            case Next():
                await self._next(item)
            case Generate():
                ready = asyncio.Event()
                self.streams.append(asyncio.create_task(self._generate(item, ready)))
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await ready.wait()
            case Raw():
                await self._raw(item)
            case Socket():
                await self._socket(item)
            case Other():
                await self._other(item)
            case Pause():
                await asyncio.sleep(item.seconds)
            case _:
                raise TypeError(f"nobody sends {item!r}")

    # -- whatever else comes ---------------------------------------------------------------------

    async def _raw(self, drawn: Raw) -> None:
        methods = sorted(descriptor_pool.Default().FindServiceByName(drawn.service).methods, key=lambda m: m.name)
        method = methods[drawn.method % len(methods)]
        if drawn.service in ("sluicegate.v1.Gate", "sluicegate.v1.Lease") and method.name not in ("Get", "Watch"):
            await self._control(drawn.service.rpartition(".")[2], method.name, drawn.content)
            return
        channel = self.life.control if drawn.plane == "control" else self.life.data
        path = f"/{drawn.service}/{method.name}"
        try:
            request_class(drawn.service, method.name).FromString(drawn.content)
            is_message = True
        except DecodeError:
            is_message = False
        code = await answered(channel, drawn.service, method, drawn.content, 0.05 if is_message else BOUND)
        self.met[code or "a stream"] += 1
        assert code not in ("INTERNAL", "UNKNOWN"), (path, drawn.content)
        assert is_message or code == "INVALID_ARGUMENT", (path, drawn.content, code)

    async def _socket(self, drawn: Socket) -> None:
        host, _, port = self.life.ready[drawn.plane].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        with suppress(ConnectionError):
            writer.write(drawn.content)
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await reader.read(1024)
        if drawn.reset:
            held: socket.socket = writer.get_extra_info("socket")
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _other(self, drawn: Other) -> None:
        control, data, ours = self.life.control, self.life.data, self.life.ready
        lease = self._named(drawn.name, drawn.which)
        leave = 0.001 if drawn.leave else None
        match drawn.what:
            case "cancel":
                fence = lease_pb2.LeaseFence(incarnation=ours["incarnation"], operation_id=self._operation("fresh"))
                request = lease_pb2.LeaseCancelRequest(instance=lease, fence=fence)
                await self._control("Lease", "Cancel", request.SerializeToString(), leave)
            case "proceed":
                await self._proceed(lease)
            case "abort":
                await self._look(data, "Rollout/Abort", rollout_pb2.AbortRequest(request_id=lease))
            case "stage":
                version = 2**32 - 1 if drawn.number == 2**32 - 1 else self._version(drawn.number)
                request = rollout_pb2.StageRequest(version=version, term=self.life.now.term)
                await self._look(data, "Rollout/Stage", request)
            case "get":
                reply = await self._look(control, "Gate/Get", gate_pb2.GateGetRequest(instance=ours["replica"]))
                self._shows(self.life.gate, GATE, ours["replica"], gate_pb2.GateReply.FromString(reply))
            case "show":
                number = drawn.number if isinstance(drawn.number, int) else 2
                await self._look(control, "Front/Show", request_class("sluicegate.v1.Front", "Show")(leases=number))
            case "watch":
                request = gate_pb2.GateWatchRequest(instance=ours["replica"])
                for part in await self._look(control, "Gate/Watch", request, drawn.which):
                    self._shows(self.life.gate, GATE, ours["replica"], gate_pb2.GateTransition.FromString(part))
            case "watch lease":
                await self._look(control, "Lease/Watch", lease_pb2.LeaseWatchRequest(instance=lease), drawn.which)
            case "health":
                await self._look(control, "health", request_class("grpc.health.v1.Health", "Check")(service=drawn.name))

    async def _look(self, channel: aio.Channel, name: str, request: Any, messages: int | None = None) -> Any:
        """The answer as it came, or the first messages of a stream; empty where it was refused."""
        path = "/grpc.health.v1.Health/Check" if name == "health" else f"/sluicegate.v1.{name}"
        content = request.SerializeToString()
        parts = list[bytes]()
        try:
            if messages is None:
                return await channel.unary_unary(path)(content, timeout=BOUND)
            call = channel.unary_stream(path)(content, timeout=BOUND)
            with suppress(TimeoutError):
                async with asyncio.timeout(0.02):
                    async for part in call:
                        parts.append(part)
                        if len(parts) > messages:
                            break
            call.cancel()
        except aio.AioRpcError as error:
            self._status(path, content, error)
            return b"" if messages is None else parts
        return parts

    # -- the end ---------------------------------------------------------------------------------

    async def _end(self) -> None:
        """Everything ends: the gate is open or poisoned, no lease, no request and no task is left."""
        async with asyncio.timeout(BOUND):
            await self._abort_long()
            await self._home()
        late = set(self.streams)
        with suppress(TimeoutError):
            async with asyncio.timeout(BOUND):
                while late:
                    # Those that were held until now are known only once they have told their first chunk.
                    await self._abort_long()
                    _, late = await asyncio.wait(late, timeout=0.02)
        assert not late, f"{len(late)} requests do not end"
        for stream in self.streams:
            await stream
        front, replica = self.life.front, self.life.ready["replica"]
        await self._until(lambda: front.leases.open + len(front.door), "leases, or requests at the door")
        await self._until(lambda: tasks() - self.life.idle, "tasks")
        await self._until(lambda: sum(front.server.calls.values()), "calls that are counted")
        gate = self.life.now
        assert gate == front.gate.live.snapshot(), (gate, front.gate.live)
        assert not (gate.active | gate.suspended | gate.orphaned), gate
        assert front.records.open_leases() == []
        assert front.leases.open_of == {}
        assert front.gate.host.snapshot(replica) == (self.life.gate.numbers[replica], gate)
        for shadow in (self.life.gate, self.life.leases):
            for operation in self.operations:
                steps = shadow.caused.get(operation, [])
                assert len({step.instance for step in steps}) == len(steps), steps
        assert not self.worker.troubles.found, str(self.worker.troubles.found)
        if gate.state == "POISONED" or max(gate.term, gate.epoch) >= min(HUGE):
            await self.worker.end()

    async def _abort_long(self) -> None:
        for lease in [*self.long]:
            await self._look(self.life.data, "Rollout/Abort", rollout_pb2.AbortRequest(request_id=lease))

    async def _until(self, left: Callable[[], Any], what: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(BOUND):
                while left():  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
        assert not left(), f"{what} are left: {left()}"

    async def _home(self) -> None:
        """As a controller does, whatever the gate is in."""
        ways: dict[Advised, Callable[[Any], Awaitable[None]]] = {
            Advised.RESUME: lambda _: self._command(Command("Resume")),
            Advised.DRAIN: lambda _: self._command(Command("Drain")),
            Advised.SEAL: lambda _: self._command(Command("Seal", mode=2)),
            Advised.RETURN: lambda _: self._command(Command("Returned")),
            Advised.REOPEN: lambda _: self._command(Command("Reopen")),
            Advised.CLOSE: lambda _: self._command(Command("Close")),
            Advised.INSTALL: lambda now: self._command(Command("Install", version=0 if now.version else "next")),
            Advised.WAIT: lambda _: asyncio.sleep(0.003),
        }
        while (now := self.life.now).state not in ("OPEN", "POISONED"):
            advice = converge(now, reaches(now) or 1, now.epoch, is_durable=True)
            if advice.next is Advised.SEAL and now.epoch >= HUGE[1]:
                return
            await ways[advice.next](now)
