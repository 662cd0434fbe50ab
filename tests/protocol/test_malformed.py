"""What comes over a wire and means nothing: it is refused in words, changes nothing, and nobody else feels it."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest
from grpc import StatusCode, aio

from sluicegate.protocol.client import Refused, Rejected, dial
from sluicegate.protocol.generated import gate_pb2 as pb
from sluicegate.protocol.generated import gate_pb2_grpc
from sluicegate.protocol.generated.gate_service import GATE, GateClient, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.refusals import TEXT_LIMIT, detail
from sluicegate.protocol.server import Server
from sluicegate.protocol.wire import STRING_LIMIT
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode

from .conftest import Served

NO_MESSAGES = {"no wire type": b"\xff\xfe\x01", "cut short": b"\x0a\x7f", "not UTF-8": b"\x0a\x02\xff\xff"}


async def answer(call: Any) -> Any:
    return [each async for each in call] if hasattr(call, "__aiter__") else await call


async def failure(call: Any) -> aio.AioRpcError:
    with pytest.raises(aio.AioRpcError) as found:
        await answer(call)
    return found.value


@pytest.mark.parametrize("content", NO_MESSAGES.values(), ids=NO_MESSAGES)
async def test_bytes_that_are_no_message_are_refused_as_malformed(
    served: Served, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    channel = served.channel
    calls = {
        "unary": channel.unary_unary("/sluicegate.v1.Gate/Seal")(content, timeout=10),
        "of another service": channel.unary_unary("/grpc.health.v1.Health/Check")(content, timeout=10),
        "answered by a stream": channel.unary_stream("/sluicegate.v1.Gate/Watch")(content, timeout=10),
        "streams both ways": channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        )(iter([content]), timeout=10),
    }  # fmt: skip
    for way, call in calls.items():
        error = await failure(call)
        assert error.code() is StatusCode.INVALID_ARGUMENT, way
        found = detail(error, GATE.reply)
        assert found is not None, way
        assert (found.reason, found.retry) == ("MALFORMED", False), way
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert not served.server.calls, "a call that is refused is not counted for ever"
    assert (await served.client.get()).number == 0


class Newer(gate_pb2_grpc.GateServicer):
    """A server of another version: its gates know a state that is none here."""

    def _reply(self) -> pb.GateReply:
        return pb.GateReply(snapshot=pb.GateSnapshot(state=cast(Any, 99)), number=1, incarnation="i")

    async def Get(self, request: Any, context: Any) -> pb.GateReply:
        return self._reply()

    async def Claim(self, request: Any, context: Any) -> pb.GateReply:
        return self._reply()


async def test_an_answer_that_means_nothing_here_is_an_error_of_the_call_alone() -> None:
    server = aio.server()
    gate_pb2_grpc.add_GateServicer_to_server(Newer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with dial(f"127.0.0.1:{port}") as channel:
            for call in (GateClient(channel, "g").get, lambda: GateClient(channel, "g", incarnation="i").claim(term=1)):
                with pytest.raises(Rejected, match="99 is unknown"):
                    await call()
    finally:
        await server.stop(None)


async def test_a_method_that_its_service_does_not_serve_is_no_failure(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    error = await failure(served.channel.unary_unary("/grpc.health.v1.Health/List")(b"", timeout=10))
    assert error.code() is StatusCode.UNIMPLEMENTED
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert not served.server.calls


async def test_a_string_that_every_later_answer_would_show_is_bounded(served: Served) -> None:
    fence = {"incarnation": "life-1", "term": 0, "epoch": 0}
    long = "x" * (STRING_LIMIT + 1)
    requests = {
        "Lend": pb.GateLendRequest(instance="g", lend=long),
        "Install": pb.GateInstallRequest(instance="g", version=1, digests={"0": long}),
        "Poison": pb.GatePoisonRequest(instance="g", why="ä" * (STRING_LIMIT // 2 + 1)),
        "Claim": pb.GateClaimRequest(instance=long),
    }
    requests["Install"].digests["1"] = "short"
    for number, (name, request) in enumerate(requests.items()):
        held = fence if name in ("Lend", "Install") else {"incarnation": "life-1", "term": 0}
        request.fence.MergeFrom(type(request.fence)(operation_id=f"o-{number}", **held))
        error = await failure(getattr(served.client._stub, name)(request, timeout=10))
        assert error.code() is StatusCode.INVALID_ARGUMENT, name
        assert f"at most {STRING_LIMIT} bytes" in str(error.details()), name
    assert not served.steps.seen
    answered = await served.client.poison(term=0, why="x" * STRING_LIMIT)
    assert answered.kind == "go"


async def test_what_a_refusal_quotes_is_cut(served: Served) -> None:
    for name in ("y" * 3_000_000, "ä" * 100_000):
        error = await failure(served.client._stub.Get(pb.GateGetRequest(instance=name), timeout=10))
        assert error.code() is StatusCode.NOT_FOUND
        text = str(error.details())
        assert text.startswith("no Gate is named")
        assert text.endswith("…")
        assert len(text.encode()) <= TEXT_LIMIT + len("…".encode())


async def test_a_refusal_shows_an_instance_of_thousands_of_leases(handlers: Any) -> None:
    async with MachineHost(GATE, handlers, incarnation="life-1") as host:
        host.create("g", ranks=frozenset({"0"}))
        for event in (
            Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=1000), Gate.Drain(term=0, epoch=1),
            Gate.Quiesced(epoch=1, rank="0"), Gate.Install(term=0, epoch=1, version=1, digests={"0": "d"}),
            Gate.Installed(epoch=1, rank="0", digest="d"), Gate.Reopen(term=0, epoch=1),
            *(Gate.Admit(lease=f"{number:032x}", pin=None) for number in range(4000)),
        ):  # fmt: skip
            host.step("g", event)
        async with Server([GateServicer(host)], grace=0.2) as server, dial(server.target) as channel:
            with pytest.raises(Refused) as found:
                await GateClient(channel, "g").drain(term=0, epoch=1)
        assert found.value.reason == "not_sealed"
        assert len(found.value.snapshot.active) == 4000
