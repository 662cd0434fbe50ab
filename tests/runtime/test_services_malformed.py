"""The services of a controller, given what means nothing: it is refused, and the controller stays as it was."""

from __future__ import annotations

import logging
import random
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from controller_in_process import ruled
from google.protobuf import descriptor_pool
from grpc import StatusCode, aio
from messages import answered, garbage

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import controller_pb2, controller_pb2_grpc
from sluicegate.protocol.refusals import detail

pytestmark = pytest.mark.timeout(120)
EACH = 25
"""Messages to each method."""


async def test_a_controller_stays_as_it_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    draw, met = random.Random(5), Counter[str]()
    async with ruled(tmp_path, "r0") as run, dial(run.control) as channel:
        run.publish(1)
        assert (await run.client.sync(1)).version == 1
        for service in ("sluicegate.v1.Controller", "sluicegate.v1.Sync", "sluicegate.v1.Replica"):
            for method in descriptor_pool.Default().FindServiceByName(service).methods:
                for _ in range(EACH):
                    code = await answered(channel, service, method, garbage(draw), 5.0)
                    assert code not in ("INTERNAL", "UNKNOWN"), (service, method.name)
                    met[code] += 1
        # Bytes at random can ask for a pause.
        if (await run.client.status()).paused:
            await run.client.resume()
        stub: Any = controller_pb2_grpc.ControllerStub(channel)
        for name, request in {
            "Pause": controller_pb2.PauseRequest(operation_id="a", mode=cast(Any, 7)),
            "Poison": controller_pb2.PoisonRequest(operation_id="b", replica="r0", why="x" * 5000),
            "Evacuated": controller_pb2.EvacuatedRequest(operation_id="c", incarnation="x" * 1_000_000),
            "Sync": controller_pb2.SyncVersionRequest(operation_id="x" * 129, version=2),
            "Resume": controller_pb2.ResumeRequest(),
        }.items():
            with pytest.raises(aio.AioRpcError) as wrong:
                await getattr(stub, name)(request, timeout=10)
            found = detail(wrong.value, controller_pb2.OperationAnswer)
            assert (wrong.value.code(), found and found.reason) == (StatusCode.INVALID_ARGUMENT, "MALFORMED"), name
        answer = await stub.Sync(controller_pb2.SyncVersionRequest(operation_id="d", version=2**64 - 1), timeout=10)
        assert (answer.result, answer.reason) == (controller_pb2.OperationAnswer.RESULT_REFUSED, "no_manifest")
        status = await stub.Status(controller_pb2.StatusRequest(), timeout=10)
        assert (status.published, status.paused) == (1, False)
        run.publish(2)
        assert (await run.client.sync(2)).version == 2
    assert met["INVALID_ARGUMENT"] > 100, met
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]
