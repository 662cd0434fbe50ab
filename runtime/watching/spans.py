"""Spans of OpenTelemetry: one for each lease from admission to settlement, one for each operation with its phases, one
for each HTTP call of a session server.

Rules of this file:

- Only OpenTelemetry's API is used: spans go wherever the process has configured its provider to send them. Where
  the package is missing, or nothing is configured, nothing is done.
- A lease's span is a part of what its caller named: the `traceparent` of a call over gRPC, or the span in which
  code asked the gate of the library. A session server names its HTTP call, which is a part of what its client named
  in the header `traceparent`; a repeat that was joined has a span of its own, without a lease.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import grpc
from grpc import aio

from ...protocol.network import NETWORK, Network, Options
from ...statemachines.sync import Sync
from .context import End, Metadata, Watchers, watched_by

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from ..controller.controller import Controller
    from ..serving.calls import Call as HttpCall
    from ..serving.calls import Watched
    from ..workers.door import Call
    from ..workers.front import Front
    from ..workers.run import Run

LEASE, OPERATION, PHASE, CALL = "sluicegate.lease", "sluicegate.operation", "sluicegate.phase", "sluicegate.call"
"""Names of spans."""
_BAD = ("failed", "discarded", "lost")


def is_configured() -> bool:
    """Whether this process has a provider that spans can be given to."""
    try:
        from opentelemetry import trace
    except ImportError:
        return False
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextlib.contextmanager
def spans(provider: TracerProvider | None = None) -> Iterator[None]:
    """Make spans of what is opened inside; `provider` is the process's own if not given."""
    from opentelemetry import context, trace

    tracer = trace.get_tracer("sluicegate", tracer_provider=provider)
    watchers = Watchers(
        (lambda front: FrontSpans(front, tracer).end,),
        (lambda controller: ControllerSpans(controller, tracer).end,),
        context.get_current,
        (lambda watched: watch_calls(watched, tracer),),
        carried,
    )
    token = NETWORK.set(_Traced(NETWORK.get()))
    try:
        with watched_by(watchers):
            yield
    finally:
        NETWORK.reset(token)


def carried() -> Metadata:
    """What is done now, as metadata of a call."""
    from opentelemetry import propagate

    found: dict[str, str] = {}
    propagate.inject(found)
    return tuple(found.items())


def watch_calls(watched: Watched, tracer: Any) -> End:
    """A span for each HTTP call of a session server; what is done for it is a part of that."""
    from opentelemetry import context, propagate
    from opentelemetry.trace import Status, StatusCode, set_span_in_context

    whose = {"sluicegate.incarnation": watched.sessions.host.incarnation}

    def begin(call: HttpCall) -> None:
        facts = {**whose, "sluicegate.api": call.api, "http.request.method": call.method, "url.path": call.path}
        span = tracer.start_span(CALL, context=propagate.extract(call.headers), attributes=facts)
        # Each call has a task of its own, which ends with it.
        context.attach(set_span_in_context(span))

        def end() -> None:
            span.set_attribute("http.response.status_code", call.status)
            if call.session:
                span.set_attribute("sluicegate.session", call.session)
            if call.request:
                span.set_attribute("sluicegate.lease", call.request)
            if call.status >= 500:
                span.set_status(Status(StatusCode.ERROR, str(call.status)))
            span.end()

        call.ended.append(end)

    watched.calls.append(begin)
    return lambda: watched.calls.remove(begin)


class FrontSpans:
    """A span for each lease of one life of a replica."""

    def __init__(self, front: Front, tracer: Any) -> None:
        self._front, self._tracer = front, tracer
        self._open: dict[str, Span] = {}
        self._whose = {"sluicegate.replica": front.replica, "sluicegate.incarnation": front.incarnation}
        front.told.append(self._admitted)
        front.leases.host.observe(self._lease, self._life)

    def end(self) -> None:
        """Leases that are open are the next life's: their spans end here, without an outcome."""
        for span in self._open.values():
            span.end()
        self._open.clear()

    def _admitted(self, call: Call, run: Run) -> None:
        facts: dict[str, Any] = {
            **self._whose, "sluicegate.lease": run.lease, "sluicegate.session": run.session,
            "sluicegate.epoch": run.epoch,
        }  # fmt: skip
        if run.version is not None:
            facts["sluicegate.version"] = run.version
        self._open[run.lease] = self._tracer.start_span(LEASE, context=call.parent, attributes=facts)

    def _life(self, lease: str, live: Any, goes_on: bool) -> None:
        if goes_on:
            facts = {**self._whose, "sluicegate.lease": lease, "sluicegate.session": live.session}
            self._open[lease] = self._tracer.start_span(LEASE, attributes={**facts, "sluicegate.earlier_life": True})

    def _lease(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        if before == after or (span := self._open.get(instance)) is None:
            return
        if after == "ORPHANED":
            span.add_event("orphaned", {"why": str(getattr(event, "why", ""))})
        elif after not in ("SETTLED", "LOST"):
            span.add_event("continued" if before == "SUSPENDED" and after == "FORWARDED" else after.lower())
        else:
            del self._open[instance]
            live = self._front.leases.host.live(instance)
            _finish_lease(span, "lost" if after == "LOST" else live.ending.value, live.spans)


def _finish_lease(span: Span, ending: str, spans: Mapping[int, int]) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attributes(
        {
            "sluicegate.outcome": ending,
            "sluicegate.tokens": sum(spans.values()),
            "sluicegate.span.versions": tuple(spans),
            "sluicegate.span.tokens": tuple(spans.values()),
        }
    )
    if ending in _BAD:
        span.set_status(Status(StatusCode.ERROR, ending))
    span.end()


class ControllerSpans:
    """A span for each operation of one controller, and in it one for each phase."""

    def __init__(self, controller: Controller, tracer: Any) -> None:
        self._controller, self._tracer = controller, tracer
        self._whole: Span | None = None
        self._phase: Span | None = None
        self._kind = ""
        controller.syncs.observe(self._sync)

    def end(self) -> None:
        """An operation that goes on is the next controller's: its spans end here, without an outcome."""
        for span in (self._phase, self._whole):
            if span is not None:
                span.end()
        self._phase = self._whole = None

    def _sync(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        from .controller_metrics import kind_of, outcome_of

        if isinstance(event, Sync.Begin) and outcome.kind == "go":
            # What is published has not changed by it.
            self._kind = kind_of(event, self._controller.published)
            self._begin(event)
        if self._whole is None:
            return
        if isinstance(event, Sync.Drop) and outcome.kind in ("go", "stay"):
            self._whole.add_event("member dropped", {"sluicegate.replica": str(event.replica), "why": str(event.why)})
        if before == after:
            return
        if self._phase is not None:
            self._phase.end()
            self._phase = None
        if after in ("IDLE", "FAILED"):
            self._whole.set_attribute("sluicegate.outcome", outcome_of(self._kind, after, outcome))
            self.end()
        else:
            self._phase = self._child(after)

    def _begin(self, event: Any) -> None:
        facts = {
            "sluicegate.kind": self._kind, "sluicegate.epoch": event.epoch, "sluicegate.version": event.version,
            "sluicegate.mode": event.mode.value, "sluicegate.members": tuple(sorted(event.members)),
            "sluicegate.term": self._controller.term, "sluicegate.incarnation": self._controller.incarnation,
        }  # fmt: skip
        self._whole = self._tracer.start_span(OPERATION, attributes=facts)

    def _child(self, phase: str) -> Span:
        from opentelemetry.trace import set_span_in_context

        assert self._whole is not None
        return self._tracer.start_span(
            PHASE, context=set_span_in_context(self._whole), attributes={"sluicegate.phase": phase}
        )


class _Traced:
    """A network whose servers go on in the trace that a call names."""

    def __init__(self, inner: Network) -> None:
        self._inner = inner

    def channel(self, target: str, credentials: grpc.ChannelCredentials | None, options: Options) -> aio.Channel:
        return self._inner.channel(target, credentials, options)

    def server(self, options: Options, interceptors: Sequence[aio.ServerInterceptor]) -> aio.Server:
        return self._inner.server(options, (_Extract(), *interceptors))


class _Extract(aio.ServerInterceptor):
    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        from opentelemetry import context, propagate

        found = {key: value for key, value in handler_call_details.invocation_metadata or () if isinstance(value, str)}
        # Each call has a task of its own, which the handler runs in: it ends with the call.
        context.attach(propagate.extract(found))
        return await continuation(handler_call_details)
