"""What a process shows of itself: the operations of a controller in numbers, lines and spans, and the log's forms."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_in_process import Ruled, ruled
from gate_kit import TokenServer, commanded, made_for
from grpc import aio
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from rollout_kit import Weights, driven

from sluicegate import EmbeddedGate, LeaseEnded, Refusal
from sluicegate.protocol.generated import controller_pb2, controller_pb2_grpc
from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.runtime.simulation.engine import ScriptedEngine
from sluicegate.runtime.watching import logs
from sluicegate.runtime.watching.context import watched_by
from sluicegate.runtime.watching.metrics import Metrics
from sluicegate.runtime.watching.settings import Watching, watching
from sluicegate.runtime.watching.spans import is_configured, spans
from sluicegate.runtime.workers.rollout import replica
from sluicegate.statemachines.sorts import Mode

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    """The spans of what is opened in the test."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with spans(provider):
        yield exporter


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """What is logged in JSON, as it was written."""
    stream, root = io.StringIO(), logging.getLogger()
    kept, level = root.handlers[:], root.level
    root.handlers.clear()
    logs.configure("json", {"run": "r", "process": "test"}, stream)
    found: list[dict[str, Any]] = []
    try:
        with watched_by(logs.watchers()):
            yield found
    finally:
        root.handlers[:] = kept
        root.setLevel(level)
        found += [json.loads(line) for line in stream.getvalue().splitlines()]


def scraped(metrics: Metrics) -> Any:
    registry = CollectorRegistry()
    registry.register(metrics)
    families = text_string_to_metric_families(generate_latest(registry).decode())
    samples = [sample for family in families for sample in family.samples]

    def value(name: str, **labels: str) -> float:
        return sum(s.value for s in samples if s.name == f"sluicegate_{name}" and labels.items() <= s.labels.items())

    return value


async def operated(made: Ruled) -> None:
    """Three operations and a refusal: a sync, a pause that is resumed, a sync that goes on without one."""
    made.publish(0)
    assert (await made.client.sync(0)).result == "published"
    assert (await made.client.pause()).result == "paused"
    with pytest.raises(OperationFailed, match="paused"):
        await made.client.sync(1)
    assert (await made.client.resume()).result == "resumed"
    made.publish(1)
    made.replicas["b"].fails = True
    answer = await made.client.sync(1)
    assert (answer.result, list(answer.left_behind)) == ("published", ["b"])


@pytest.mark.timeout(120)
async def test_operations_are_counted_by_kind_and_outcome(tmp_path: Path) -> None:
    metrics = Metrics()
    with watched_by(metrics.watchers):
        async with ruled(tmp_path, "a", "b") as made:
            await operated(made)
            value, controller = scraped(metrics), made.controller
            assert value("operations_total", kind="sync", outcome="published") == 2
            assert value("operations_total", kind="window", outcome="resumed") == 1
            assert value("operations_total") == 3 == len(controller.operations)
            assert (value("operation_seconds_count", kind="sync"), value("phase_seconds_count", phase="LENT")) == (2, 1)
            assert value("phase_seconds_count", phase="INSTALLING") == 3
            assert value("members_dropped_total", replica="b") == 1
            assert (value("published_version"), value("term"), value("sync_state", state="IDLE")) == (1, 1, 1)
            await controller.changed.until(lambda: controller.state_of("b") == "DEAD", 30)
            value = scraped(metrics)
            assert value("replica_deaths_total", event="Poisoned") == 1
            assert value("replicas", state="SERVING") == 1 == value("replicas")


@pytest.mark.timeout(120)
async def test_an_operation_is_a_span_with_its_phases_in_the_trace_of_its_caller(
    tmp_path: Path, exported: InMemorySpanExporter
) -> None:
    async with ruled(tmp_path, "a", "b") as made:
        await operated(made)
        made.publish(2)
        channel = aio.insecure_channel(made.client._where())
        async with channel:
            request = controller_pb2.SyncVersionRequest(operation_id="traced", version=2)
            stub: Any = controller_pb2_grpc.ControllerStub(channel)
            answer = await stub.Sync(request, timeout=60, metadata=(("traceparent", f"00-{TRACE}-{PARENT}-01"),))
            assert answer.version == 2
    found = by_name(exported, "sluicegate.operation")
    assert [(of(s, "kind"), of(s, "outcome"), of(s, "version")) for s in found] == [
        ("sync", "published", 0), ("window", "resumed", 0), ("sync", "published", 1), ("sync", "published", 2),
    ]  # fmt: skip
    assert of(found[0], "members") == ("a", "b")
    assert [event.name for event in found[2].events] == ["member dropped"]
    assert dict(found[2].events[0].attributes or {})["sluicegate.replica"] == "b"
    phases = [[of(p, "phase") for p in children(exported, span)] for span in found]
    full = ["SEALING", "DRAINING", "INSTALLING", "RECORDING", "REOPENING"]
    assert phases == [full, ["SEALING", "DRAINING", "LENT", "INSTALLING", "ROLLING_BACK"], full, full]
    assert found[0].parent is None
    assert found[3].parent is not None
    assert (found[3].parent.span_id, found[3].parent.trace_id) == (int(PARENT, 16), int(TRACE, 16))


@pytest.mark.timeout(120)
async def test_changes_of_operations_and_replicas_are_lines_with_their_names(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    """What was written is looked at once the log is closed."""
    async with ruled(tmp_path, "a", "b") as made:
        await operated(made)
        controller = made.controller
        await controller.changed.until(lambda: controller.state_of("b") == "DEAD", 30)
    handler = logging.getLogger().handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    said = [json.loads(line) for line in handler.stream.getvalue().splitlines()]
    assert all((line["run"], line["process"]) == ("r", "test") for line in said)
    operations = [line for line in said if line.get("event") == "operation"]
    assert all(line["incarnation"] == "controller.1" and line["term"] == 1 for line in operations)
    assert [line["after"] for line in operations if line["epoch"] == 1] == [
        "SEALING", "DRAINING", "INSTALLING", "RECORDING", "REOPENING", "IDLE",
    ]  # fmt: skip
    (dropped,) = [line for line in operations if line["by"] == "Drop" and line["before"] == line["after"]] or [
        next(line for line in operations if line["by"] == "Drop")
    ]
    assert (dropped["level"], dropped["replica"]) == ("WARNING", "b")
    replicas = [(line["replica_incarnation"], line["after"]) for line in said if line.get("event") == "replica"]
    assert replicas.count(("a.1", "SERVING")) == 1
    assert replicas[-1] == ("b.1", "DEAD")


async def block(gate: EmbeddedGate, server: TokenServer, count: int, **given: Any) -> str:
    async with gate.admit("s", hold=0.0, **given) as lease:
        for number in range(count):
            await server.token()
            lease.tokens([number])
    return lease.id


@pytest.mark.timeout(120)
async def test_a_lease_is_a_span_from_admission_to_settlement(tmp_path: Path, exported: InMemorySpanExporter) -> None:
    server = TokenServer()
    gate = made_for(server, tmp_path)
    tracer = TracerProvider().get_tracer("caller")
    async with commanded(gate) as controller:
        with pytest.raises(Refusal):
            await block(gate, server, 1)
        await controller.update(1)
        with tracer.start_as_current_span("of the caller") as caller:
            lease = await block(gate, server, 3)
        task = asyncio.create_task(block(gate, server, 200, lease="kept"))
        await until(lambda: server.version == 1 and server.steps)
        await controller.update(2, Mode.KEEP)
        await task
        with pytest.raises(KeyError):
            async with gate.admit(lease="fails"):
                raise KeyError
        (span,) = [s for s in by_name(exported, "sluicegate.lease") if of(s, "lease") == lease]
        assert span.parent is not None
        assert span.parent.span_id == caller.get_span_context().span_id
        assert {key: of(span, key) for key in ("session", "replica", "incarnation", "epoch", "version", "outcome")} == {
            "session": "s", "replica": gate.replica, "incarnation": gate.incarnation, "epoch": controller.epoch - 1,
            "version": 1, "outcome": "completed",
        }  # fmt: skip
        assert (of(span, "tokens"), of(span, "span.versions"), of(span, "span.tokens")) == (3, (1,), (3,))
        assert [event.name for event in span.events] == ["forwarded", "ended"]
        (kept,) = [s for s in by_name(exported, "sluicegate.lease") if of(s, "lease") == "kept"]
        assert [event.name for event in kept.events] == ["forwarded", "suspended", "continued", "ended"]
        assert of(kept, "span.versions") == (1, 2)
        assert sum(of(kept, "span.tokens")) == 200 == of(kept, "tokens")
        (failed,) = [s for s in by_name(exported, "sluicegate.lease") if of(s, "lease") == "fails"]
        assert (of(failed, "outcome"), failed.status.status_code) == ("failed", StatusCode.ERROR)
        assert len(by_name(exported, "sluicegate.lease")) == 3, "who was refused has no lease"


def test_what_an_id_holds_begins_no_line_of_the_log() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.TextFormatter())
    log = logging.Logger("named")
    log.addHandler(handler)
    forged = "x\n2026-01-01 00:00:00,000 ERROR sluicegate: gone\r\x1b[2J\u2028é"
    try:
        raise ValueError(forged)
    except ValueError:
        log.exception("lease %s is lost", forged)
    first, *below = stream.getvalue().splitlines()
    assert first.endswith(r"x\n2026-01-01 00:00:00,000 ERROR sluicegate: gone\r\x1b[2J\u2028é is lost")
    assert below
    assert all(line.startswith("  ") and line.isprintable() for line in below)


@pytest.mark.timeout(120)
async def test_a_request_over_grpc_is_in_the_trace_that_its_metadata_names(
    tmp_path: Path, exported: InMemorySpanExporter
) -> None:
    weights = Weights("traced", tmp_path)
    engine: Any = ScriptedEngine(pace=0.001)
    async with replica(weights.config("r0", incarnation="r0.1"), engine) as facts, driven(facts, weights) as made:
        await made.update(1)
        for metadata in ((("traceparent", f"00-{TRACE}-{PARENT}-01"),), ()):
            call = made.data.Generate(made.request(max_tokens=3, hold=20.0), timeout=60, metadata=metadata)
            assert [chunk async for chunk in call]
    named, alone = by_name(exported, "sluicegate.lease")
    assert named.parent is not None
    assert (named.parent.span_id, named.parent.trace_id) == (int(PARENT, 16), int(TRACE, 16))
    assert alone.parent is None, "a call is in no other call's trace"
    assert (of(named, "tokens"), of(named, "outcome"), of(named, "version")) == (3, "completed", 1)


@pytest.mark.timeout(120)
async def test_an_orphan_and_a_poison_and_refusals_are_lines_and_requests_are_not(
    tmp_path: Path, lines: list[dict[str, Any]], exported: InMemorySpanExporter
) -> None:
    from sluicegate import Bounds

    server = TokenServer()
    gate = made_for(server, tmp_path, bounds=Bounds(lease=0.2, reconcile=20.0))
    handler = logging.getLogger().handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    async with commanded(gate) as controller:
        for _ in range(3):
            with pytest.raises(Refusal):
                await block(gate, server, 1)
        await controller.update(1)
        before = handler.stream.getvalue()
        for _ in range(20):
            await block(gate, server, 2)
        assert handler.stream.getvalue() == before, "nothing is logged of a request that goes its way"
        with pytest.raises(LeaseEnded):
            async with gate.admit("s", lease="orphan"):
                await asyncio.sleep(60)
        await controller.gate.poison(term=controller.term, why="a test", operation_id=controller.operation("poison"))
    said = [json.loads(line) for line in handler.stream.getvalue().splitlines()]
    whose = {"run": "r", "process": "test", "replica": gate.replica, "incarnation": gate.incarnation}
    told = [line for line in said if "event" in line]
    assert all(whose.items() <= line.items() and line["epoch"] >= 0 for line in told)
    assert [line["after"] for line in told if line["event"] == "gate"] == [
        "DRAINING", "INSTALLING", "REOPENED", "OPEN",
    ]  # fmt: skip
    orphan, over = (line for line in told if line["event"] == "lease")
    assert (orphan["lease"], orphan["outcome"], orphan["level"]) == ("orphan", "unknown", "WARNING")
    assert "not settled within 0.2 s" in orphan["why"]
    assert (over["lease"], over["outcome"]) == ("orphan", "discarded")
    (poison,) = (line for line in told if line["event"] == "poison")
    assert (poison["why"], poison["by"], poison["level"]) == ("a test", "Poison", "ERROR")
    refusals = [line for line in told if line["event"] == "refusals"]
    assert sum(line["refused"].get("closed", 0) for line in refusals) == 3
    assert len(refusals) <= 2
    (span,) = [s for s in by_name(exported, "sluicegate.lease") if of(s, "lease") == "orphan"]
    assert [event.name for event in span.events] == ["forwarded", "orphaned"]
    assert (of(span, "outcome"), span.status.status_code) == ("discarded", StatusCode.ERROR)


def test_a_process_logs_in_the_form_that_is_set_and_makes_no_spans_unless_configured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not is_configured()
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    try:
        for form in ("text", "json"):
            with watching(Watching(log=form), run="r", process="rollout", incarnation="a.1") as said:
                assert said == {}
                logging.getLogger("sluicegate.somewhere").warning("a %s", "word")
                logging.getLogger("sluicegate.somewhere").info("unheard")
        text, line = capsys.readouterr().err.splitlines()
    finally:
        root.handlers[:] = kept
        root.setLevel(level)
    assert text.endswith("WARNING sluicegate.somewhere: a word")
    found = json.loads(line)
    assert {"run": "r", "process": "rollout", "incarnation": "a.1", "message": "a word"}.items() <= found.items()
    with pytest.raises(ValueError, match="give a port"):
        Watching(metrics_port=70_000)


def test_without_the_package_no_spans_are_made_and_with_a_provider_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", TracerProvider)
    assert is_configured()
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    assert not is_configured()


# -- what is looked at -----------------------------------------------------------------------------


def by_name(exported: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exported.get_finished_spans() if span.name == name]


def children(exported: InMemorySpanExporter, parent: ReadableSpan) -> list[ReadableSpan]:
    context = parent.get_span_context()
    assert context is not None
    own = context.span_id
    return [s for s in exported.get_finished_spans() if s.parent is not None and s.parent.span_id == own]


def of(span: ReadableSpan, key: str) -> Any:
    return dict(span.attributes or {}).get(f"sluicegate.{key}")


async def until(holds: Any, within: float = 30.0) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
