"""What a session server shows of itself: counts of its sessions and calls, spans from the call to the lease, lines."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from serving_kit import Chat, chatting
from session_kit import until

from sluicegate.protocol.store import MemoryStore
from sluicegate.runtime.chat.form import Labels, Usage
from sluicegate.runtime.serving.answering import Answering, Exchanges, Repeat
from sluicegate.runtime.serving.calls import Call, Watched, api_of, told
from sluicegate.runtime.serving.errors import refusal
from sluicegate.runtime.serving.openai import read
from sluicegate.runtime.sessions import Sessions
from sluicegate.runtime.watching import logs
from sluicegate.runtime.watching.context import begin_sessions, watched_by
from sluicegate.runtime.watching.metrics import Metrics
from sluicegate.runtime.watching.spans import spans
from sluicegate.statemachines.session import Session

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Shown:
    """A server that is watched in all ways."""

    def __init__(self, chat: Chat, registry: CollectorRegistry, exporter: InMemorySpanExporter) -> None:
        self.chat, self.registry, self.exporter = chat, registry, exporter

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"sluicegate_{name}", labels)

    def spans(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == f"sluicegate.{name}"]


@pytest.fixture
async def shown(tmp_path: Path) -> AsyncIterator[Shown]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    metrics, registry = Metrics(run="r", process="sessions"), CollectorRegistry()
    registry.register(metrics)
    with spans(provider), watched_by(metrics.watchers), watched_by(logs.watchers()):
        async with chatting(tmp_path) as chat, chat.server():
            yield Shown(chat, registry, exporter)


async def say(http: httpx.AsyncClient, **headers: str) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "seed": 1}
    return await http.post("/v1/chat/completions", json=body, headers=headers)


async def test_counts_spans_and_lines_of_calls(shown: Shown, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    parent = f"00-{TRACE}-{PARENT}-01"
    async with shown.chat.http() as http:
        first = await say(http, **{"x-session-id": "s", "traceparent": parent})
        assert first.status_code == 200, first.text
        again = {"x-session-id": "s", "x-stainless-retry-count": "1"}
        assert (await say(http, **again)).json() == first.json()
        assert (await http.post("/v1/messages", json={"model": "m"}, headers={"x-session-id": "s"})).status_code == 400
        assert (await http.get("/v1/sessions/none")).status_code == 404
        await until(lambda: shown.value("sessions", state="BOUND") == 1)
        assert (await http.delete("/v1/sessions/s")).status_code == 200
        await until(lambda: shown.value("sessions", state="RETIRED") == 0)
    ending = first.json()["choices"][0]["finish_reason"]
    counted = {
        "bindings_total": 1, "rebindings_total": 0, "turns_total": 1, "turns_ended_total": 1,
        "sessions_buried_total": 1, "http_calls_joined_total": 1, "answering": 0, "first_token_seconds_count": 1,
        "answer_seconds_count": 1, "chosen_ids_buried": 1, "session_store_failures_total": 0,
    }  # fmt: skip
    assert {name: shown.value(name) for name in counted} == counted
    assert shown.value("answers_total", ending=ending) == 1
    assert shown.value("http_calls_total", api="openai", status="200") == 2
    assert shown.value("http_calls_total", api="anthropic", status="400") == 1
    assert shown.value("http_calls_total", api="sessions", status="404") == 1

    (lease,) = shown.spans("lease")
    call = next(span for span in shown.spans("call") if span.parent is not None)
    assert (f"{call.parent.trace_id:032x}", f"{call.parent.span_id:016x}") == (TRACE, PARENT)
    assert lease.parent.span_id == call.context.span_id
    assert lease.context.trace_id == call.context.trace_id
    request = first.headers["x-request-id"]
    facts = {k.removeprefix("sluicegate."): v for k, v in call.attributes.items()}
    assert (facts["session"], facts["lease"], facts["api"]) == ("s", request, "openai")
    assert facts["http.response.status_code"] == 200
    assert len(shown.spans("call")) == 5
    assert lease.attributes["sluicegate.lease"] == request


async def test_lines_name_the_session_and_request_of_a_turn_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def answer(answering: Answering) -> None:
        answering.begin(Labels("s", "s.1", 3, (), "rollout-0", 1), Usage(1, 0, 0))
        raise refusal(answering.repeat.key, "there is no answer")

    sessions = Sessions(MemoryStore(), server="a", incarnation="a.1")
    exchanges = Exchanges(grace=0, remember=0)
    with watched_by(logs.watchers()):
        end = begin_sessions(watched := Watched(sessions, exchanges))
        async with sessions, exchanges:
            ask = read({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
            for code in ("turn_lost", "closed"):
                answering = exchanges.begin(Repeat("s", code, code), ask, answer)
                await until(lambda answering=answering: answering.is_over)
            call = Call("openai", "POST", "/v1/chat/completions", {}, status=503)
            for tell in watched.calls:
                tell(call)
            for over in call.ended:
                over()
            for session in ("s", "t"):
                await sessions.open(session)
                await sessions.durably(session, Session.BeginTurn(lease=f"{session}.1"))
                await sessions.durably(session, Session.Bound(replica="r", incarnation="r.1"))
            sessions.lose("r.1")
        end()
    lines = [getattr(record, "facts", {}) for record in caplog.records]
    server = {"server": "a", "incarnation": "a.1"}
    assert lines == [
        {"event": "turn", **server, "session": "s", "lease": "s.1", "reason": "turn_lost", "status": 503},
        {"event": "refusals", **server, "refused": {"503": 1}},
        {"event": "lost", **server, "replica_incarnation": "r.1", "sessions": 2},
    ]
    assert "session s, request s.1: there is no answer" in caplog.text


async def test_a_watcher_that_fails_ends_no_call() -> None:
    ended: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": [(b"x-session-id", b"s")]})

    async def send(message: Any) -> None: ...

    def fails(call: Call) -> None:
        call.ended += [lambda: 1 // 0, lambda: ended.append(call.status)]
        raise ZeroDivisionError

    watched = Watched(Sessions(MemoryStore(), server="a", incarnation="a.1"), Exchanges(grace=0, remember=0), [fails])
    await told(app, watched)({"type": "http", "method": "GET", "path": "/health", "headers": []}, None, send)
    assert ended == [204]


@pytest.mark.parametrize(
    ("path", "api"),
    [("/v1/messages", "anthropic"), ("/v1/messages/count", "anthropic"), ("/v1/sessions/x/take", "sessions"),
     ("/v1/sessionsx", "other"), ("/health", "other"), ("/v1/chat/completions", "openai")],
)  # fmt: skip
def test_a_path_belongs_to_an_api(path: str, api: str) -> None:
    assert api_of(path) == api
