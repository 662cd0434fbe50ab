"""The gate over real gRPC: what protocol.md says that every event carries."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sluicegate.protocol.client import Refused, Rejected, Reply, Retry, Stale, Unreachable, dial
from sluicegate.protocol.generated import gate_pb2 as pb
from sluicegate.protocol.generated import gate_pb2_grpc as rpc
from sluicegate.protocol.generated.gate_service import GATE, GateClient, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.refusals import DETAILS, detail
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode

OPERATION: dict[str, Any] = {"term": 1, "epoch": 1}

GOLDEN = Path(__file__).with_name("golden") / "gate.txt"


def line(event: str, answer: Reply[Any] | Refused) -> str:
    kind = "refuse" if isinstance(answer, Refused) else answer.kind
    reason = answer.reason if isinstance(answer, Refused) else ""
    later = " (later)" if isinstance(answer, Refused) and answer.retry else ""
    return f"{event:10} {kind:7} {reason:20} -> {answer.snapshot.state:10} {answer.number}{later}"


async def test_a_whole_operation_answers_as_the_golden_transcript_says(served: Any) -> None:
    client, host = served.client, served.host
    said = []

    async def ask(name: str, **arguments: Any) -> None:
        try:
            said.append(line(name, await getattr(client, name)(**arguments)))
        except Refused as refused:
            said.append(line(name, refused))

    await ask("seal", **OPERATION, mode=Mode.WAIT, window=5000)
    await ask("claim", term=1)
    await ask("seal", **OPERATION, mode=Mode.WAIT, window=5000)
    await ask("install", **OPERATION, version=1, digests={"0": "d1"})
    await ask("drain", **OPERATION)
    await ask("install", **OPERATION, version=1, digests={"0": "d1"})
    host.step("g", Gate.Quiesced(epoch=1, rank="0"))
    await ask("install", **OPERATION, version=1, digests={"0": "d1"})
    await ask("install", **OPERATION, version=1, digests={"0": "d1"})
    await ask("reopen", **OPERATION)
    host.step("g", Gate.Installed(epoch=1, rank="0", digest="d1"))
    await ask("reopen", **OPERATION)
    await ask("close", **OPERATION)
    host.step("g", Gate.Admit(lease="l1", pin=None))
    await ask("seal", term=1, epoch=1, mode=Mode.WAIT, window=5000)
    await ask("seal", term=1, epoch=2, mode=Mode.KEEP, window=5000)
    await ask("drain", term=1, epoch=1)
    await ask("drain", term=1, epoch=3)
    await ask("drain", term=0, epoch=2)
    await ask("drain", term=1, epoch=2)
    await ask("install", term=1, epoch=2, version=2, digests={"0": "d2"})
    await ask("poison", term=1, why="test")
    await ask("resume", term=1, epoch=2)
    assert said == GOLDEN.read_text().splitlines()


async def test_a_repeat_gets_the_stored_answer_with_its_old_number(served: Any) -> None:
    first = await served.client.claim(term=1, operation_id="a")
    await served.client.seal(**OPERATION, mode=Mode.WAIT, window=5)
    again = await served.client.claim(term=1, operation_id="a")
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.number, again.rule, again.snapshot) == (first.number, first.rule, first.snapshot)
    assert (await served.client.get()).number == 2


async def test_an_id_with_another_payload_or_another_event_is_an_invalid_argument(served: Any) -> None:
    await served.client.claim(term=1, operation_id="a")
    for call in (
        served.client.claim(term=2, operation_id="a"),
        served.client.poison(term=1, why="", operation_id="a"),
    ):
        with pytest.raises(Rejected, match="operation a was another request") as raised:
            await call
        assert (raised.value.code, raised.value.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "payload")
    assert (await served.client.get()).snapshot.term == 1


async def test_stale_and_unclaimed_terms_and_epochs_are_fenced(served: Any) -> None:
    client = served.client
    await client.claim(term=5)
    await client.seal(term=5, epoch=7, mode=Mode.WAIT, window=5)
    for term, epoch, reason in (
        (4, 7, "stale_term"),
        (6, 7, "unclaimed"),
        (5, 6, "stale_epoch"),
        (5, 8, "unknown_epoch"),
    ):
        with pytest.raises(Stale) as raised:
            await client.drain(term=term, epoch=epoch)
        refused = raised.value
        assert (refused.reason, refused.state, refused.event) == (reason, "SEALED", "Drain")
        assert (refused.snapshot.epoch, refused.number, refused.incarnation) == (7, 2, "life-1")
        assert not refused.retry


async def test_another_incarnation_is_refused_and_shown_the_present_one(served: Any) -> None:
    stranger = GateClient(served.channel, "g", incarnation="life-0")
    with pytest.raises(Stale) as raised:
        await stranger.claim(term=1)
    assert (raised.value.reason, raised.value.incarnation, raised.value.number) == ("incarnation", "life-1", 0)
    with pytest.raises(Stale):
        await stranger.get()
    assert served.steps.seen == []


async def test_a_refusal_of_the_table_says_state_event_reason_and_whether_to_retry(served: Any) -> None:
    await served.client.claim(term=1)
    await served.client.seal(**OPERATION, mode=Mode.WAIT, window=5)
    await served.client.drain(**OPERATION)
    with pytest.raises(Refused) as raised:
        await served.client.install(**OPERATION, version=1, digests={"0": "d"})
    refused = raised.value
    assert type(refused) is Refused
    assert (refused.machine, refused.event, refused.state) == ("Gate", "Install", "DRAINING")
    assert (refused.reason, refused.retry) == ("not_drained", True)
    await served.client.poison(term=1, why="test")
    with pytest.raises(Refused) as raised:
        await served.client.install(**OPERATION, version=1, digests={"0": "d"})
    assert (raised.value.reason, raised.value.retry) == ("poisoned", False)


async def test_a_refusal_is_failed_precondition_with_google_rpc_details(served: Any) -> None:
    fence = pb.GateTermEpochFence(incarnation="life-1", operation_id="a", term=3, epoch=1)
    with pytest.raises(aio.AioRpcError) as raised:
        await rpc.GateStub(served.channel).Drain(pb.GateDrainRequest(instance="g", fence=fence), timeout=5)
    assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert DETAILS in dict(raised.value.trailing_metadata() or ())
    found = detail(raised.value, pb.GateReply)
    assert found is not None
    assert (found.reason, found.state, found.fence) == ("UNCLAIMED", "SEALED", True)
    assert (found.reply.incarnation, found.reply.kind) == ("life-1", pb.GateReply.KIND_REFUSE)


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        (
            pb.GateClaimRequest(instance="g", fence=pb.GateTermFence(incarnation="life-1")),
            "INVALID_ARGUMENT",
            "operation_id",
        ),
        (
            pb.GateClaimRequest(instance="g", fence=pb.GateTermFence(incarnation="life-1", operation_id="x" * 129)),
            "INVALID_ARGUMENT",
            "1 to 128 characters",
        ),
        (
            pb.GateClaimRequest(instance="h", fence=pb.GateTermFence(incarnation="life-1", operation_id="a")),
            "NOT_FOUND",
            "no Gate is named 'h'",
        ),
        (
            pb.GateClaimRequest(instance="g", fence=pb.GateTermFence(operation_id="a")),
            "FAILED_PRECONDITION",
            "'life-1'",
        ),
    ],
)
async def test_a_request_that_lacks_something_is_refused(served: Any, request_: Any, code: str, text: str) -> None:
    with pytest.raises(aio.AioRpcError) as raised:
        await rpc.GateStub(served.channel).Claim(request_, timeout=5)
    assert raised.value.code().name == code
    assert text in (raised.value.details() or "")
    assert served.steps.seen == []


async def test_an_unset_choice_is_an_invalid_argument(served: Any) -> None:
    await served.client.claim(term=1)
    fence = pb.GateTermEpochFence(incarnation="life-1", operation_id="a", term=1, epoch=1)
    with pytest.raises(aio.AioRpcError) as raised:
        await rpc.GateStub(served.channel).Seal(pb.GateSealRequest(instance="g", fence=fence), timeout=5)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "GateMode is not given: send one of wait, abort, keep" in (raised.value.details() or "")


async def test_a_hundred_identical_calls_make_one_step_and_one_verdict(served: Any) -> None:
    """R15, R16, M06."""
    client = served.client
    await client.get()
    replies = await asyncio.gather(*(client.claim(term=1, operation_id="a") for _ in range(100)))
    assert [r.replayed for r in replies].count(False) == 1
    assert {(r.number, r.kind, r.rule) for r in replies} == {(1, "stay", "claims")}
    assert [s[2] for s in served.steps.seen] == ["Claim"]


async def test_a_hundred_callers_with_their_own_ids_each_get_their_own_answer(served: Any) -> None:
    """R15, R16: pause and resume at the same time; each is answered for itself."""
    client = served.client
    await client.claim(term=1)
    replies = await asyncio.gather(*(client.seal(**OPERATION, mode=Mode.WAIT, window=5) for _ in range(100)))
    assert [r.kind for r in replies].count("stay") == 1
    assert [r.kind for r in replies].count("ignore") == 99
    assert len({r.operation_id for r in replies}) == 100
    assert not any(r.replayed for r in replies)


def hold(seconds: float) -> None:
    """Keep the event loop from doing anything else."""
    time.sleep(seconds)


class Slow(SqliteStore):
    """A store whose disk takes its time."""

    delay = 0.5

    def write(self, changes: Any) -> None:
        time.sleep(self.delay)
        super().write(changes)


async def test_a_deadline_leaves_a_whole_step_that_a_repeat_tells_of(handlers: Any, tmp_path: Path) -> None:
    store = Slow(tmp_path / "s")
    async with MachineHost(GATE, handlers, incarnation="1", store=store) as host:
        host.create("g", ranks=frozenset({"0"}))
        async with Server([GateServicer(host)]) as server, dial(server.target) as channel:
            client = GateClient(channel, "g", incarnation="1", retry=Retry(tries=1))
            with pytest.raises(Unreachable) as raised:
                await client.claim(term=1, operation_id="a", deadline=0.1)
            assert raised.value.operation_id == "a"
            assert host.live("g").term == 1
            reply = await client.claim(term=1, operation_id="a", deadline=5)
            assert (reply.replayed, reply.number) == (True, 1)
            assert host.snapshot("g")[0] == 1
    store.close()


async def test_a_caller_that_leaves_takes_no_half_step_along(handlers: Any, steps: Any, tmp_path: Path) -> None:
    """M07, over the wire."""
    store = Slow(tmp_path / "s")
    async with MachineHost(GATE, handlers, incarnation="1", store=store, observer=steps) as host:
        host.create("g", ranks=frozenset({"0"}))
        async with Server([GateServicer(host)]) as server, dial(server.target) as channel:
            client = GateClient(channel, "g", incarnation="1")
            task = asyncio.create_task(client.claim(term=1, operation_id="a"))
            await asyncio.wait_for(steps.more.wait(), 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await client.claim(term=1, operation_id="a")).replayed
            assert (await client.seal(**OPERATION, mode=Mode.WAIT, window=5)).kind == "stay"
            assert host.snapshot("g")[0] == 2
    store.close()


async def test_a_call_after_its_deadline_makes_no_step(served: Any) -> None:
    """The event loop is held until the deadline is over before the servicer can look at the call."""
    client = GateClient(served.channel, "g", incarnation="life-1", retry=Retry(tries=1))
    task = asyncio.create_task(client.claim(term=1, deadline=0.05))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    hold(0.3)
    with pytest.raises(Unreachable):
        await task
    await asyncio.sleep(0.1)
    assert served.steps.seen == []


async def test_a_watcher_sees_the_gate_as_it_is_and_then_each_change(served: Any) -> None:
    await served.client.claim(term=1)
    watch = served.client.watch()
    seen = [await anext(watch)]
    await served.client.seal(**OPERATION, mode=Mode.WAIT, window=5, operation_id="op")
    await served.client.seal(**OPERATION, mode=Mode.WAIT, window=5)
    await served.client.drain(**OPERATION)
    seen += [await anext(watch), await anext(watch)]
    assert [(s.number, s.fresh, s.event, s.snapshot.state) for s in seen] == [
        (1, True, "", "SEALED"),
        (2, False, "Seal", "SEALED"),
        (3, False, "Drain", "DRAINING"),
    ]
    assert seen[1].cause == "op"
    served.host.drop("g")
    assert [s async for s in watch] == []


async def test_a_watch_of_nobody_is_refused(served: Any) -> None:
    with pytest.raises(Rejected, match="no Gate is named 'h'"):
        await anext(GateClient(served.channel, "h").watch())


async def test_outputs_reach_the_handlers_after_the_answer_is_sure_and_in_order(served: Any) -> None:
    await served.client.claim(term=1)
    await served.client.seal(**OPERATION, mode=Mode.WAIT, window=5)
    await served.client.drain(**OPERATION)
    async with asyncio.timeout(5):
        while len(served.handlers.done) < 3:
            served.handlers.more.clear()
            await served.handlers.more.wait()
    assert served.handlers.done == [
        ("start_timer", "g", 1, 0, 5),
        ("start_drain", "g", 1, Mode.WAIT),
        ("ask_quiesce", "g", 1),
    ]


async def test_health_and_reflection_answer(served: Any) -> None:
    health: Any = health_pb2_grpc.HealthStub(served.channel)
    for name in ("", "sluicegate.v1.Gate"):
        answer = await health.Check(health_pb2.HealthCheckRequest(service=name), timeout=5)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    await served.server.set_serving(False, "sluicegate.v1.Gate")
    answer = await health.Check(health_pb2.HealthCheckRequest(service="sluicegate.v1.Gate"), timeout=5)
    assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING

    ask = reflection_pb2.ServerReflectionRequest
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(served.channel)
    stream = stub.ServerReflectionInfo(
        iter([ask(list_services=""), ask(file_containing_symbol="sluicegate.v1.Gate")]), timeout=5
    )
    listed, described = [answer async for answer in stream]
    names = {s.name for s in listed.list_services_response.service}
    assert {"sluicegate.v1.Gate", "grpc.health.v1.Health"} <= names
    assert b"GateSealRequest" in described.file_descriptor_response.file_descriptor_proto[0]
