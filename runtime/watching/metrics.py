"""What a process counts of its gate, its leases, its operations and its sessions, for Prometheus.

Rules of this file:

- Everything is read from steps of the declared machines, from the counts that the door keeps, and from the calls of a
  session server: nothing is counted in two places.
- A step of a request adds to plain numbers of this process: no lock is taken, and nothing is allocated for it.
  They become Prometheus' when somebody asks, in the thread of whoever asks.
- `METRICS` is all there is; the names of samples are these, with Prometheus' endings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family

from .context import End, Watchers

if TYPE_CHECKING:
    from ..controller.controller import Controller
    from ..serving.calls import Watched
    from ..workers.front import Front

Labels = tuple[str, ...]
Samples = Iterable[tuple[Labels, Any]]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. A counter's samples end in `_total`, those of a histogram are in seconds."""

    name: str
    kind: Literal["counter", "gauge", "histogram", "info"]
    labels: Labels
    help: str


_R = ("replica",)
PROCESS = Metric("sluicegate_process", "info", ("run", "process", "incarnation"), "The life of this process")
ADMISSIONS = Metric("sluicegate_admissions", "counter", _R, "Requests that the gate admitted; each is a lease")
REFUSALS = Metric("sluicegate_refusals", "counter", (*_R, "reason"), "Requests that were not admitted")
HOLDS = Metric("sluicegate_holds", "counter", _R, "Requests that had to wait at the door")
HOLD_LEFT = Metric("sluicegate_holds_left", "counter", _R, "Requests whose client left while they waited")
WAITING = Metric("sluicegate_waiting", "gauge", _R, "Requests that wait at the door")
HOLD_SECONDS = Metric("sluicegate_hold_seconds", "histogram", _R, "How long a request waited, however that ended")
LEASES = Metric("sluicegate_leases", "gauge", (*_R, "state"), "Leases that are not over")
LEASES_ENDED = Metric(
    "sluicegate_leases_ended", "counter", (*_R, "ending", "life"),
    "Leases that are settled, by their receipt's ending, or lost; life says whether this life admitted them",
)  # fmt: skip
ORPHANS = Metric("sluicegate_orphans", "counter", _R, "Leases whose outcome became unknown")
TOKENS = Metric("sluicegate_tokens", "counter", _R, "Tokens that were made for leases and labelled")
GATE_STATE = Metric("sluicegate_gate_state", "gauge", (*_R, "state"), "1 for the state of the gate, 0 for the others")
GATE_EPOCH = Metric("sluicegate_gate_epoch", "gauge", _R, "The epoch of the gate")
GATE_TERM = Metric("sluicegate_gate_term", "gauge", _R, "The term that rules the gate")
GATE_VERSION = Metric("sluicegate_gate_version", "gauge", _R, "The version of the weights; absent before the first")
DRAIN_SECONDS = Metric(
    "sluicegate_drain_seconds", "histogram", (*_R, "mode"), "From the drain until every rank was at rest"
)
INSTALL_SECONDS = Metric(
    "sluicegate_install_seconds", "histogram", _R, "From the install until every rank had proved what it holds"
)
CLOSED_SECONDS = Metric(
    "sluicegate_gate_closed_seconds", "histogram", _R, "From the seal of an open gate until it reopened"
)
POISONINGS = Metric("sluicegate_poisonings", "counter", (*_R, "event"), "Poisonings of the gate, by what brought it")
COMMANDS_REFUSED = Metric(
    "sluicegate_commands_refused", "counter", (*_R, "event", "reason"), "Commands that the gate's table refused"
)
TERM = Metric("sluicegate_term", "gauge", (), "The term of this controller")
PUBLISHED = Metric("sluicegate_published_version", "gauge", (), "The published version; absent before the first")
SYNC_STATE = Metric("sluicegate_sync_state", "gauge", ("state",), "1 for the state of the operation, 0 for the others")
OPERATIONS = Metric(
    "sluicegate_operations", "counter", ("kind", "outcome"),
    "Operations that ended: a sync to a newer version, or a window on the same one (a pause, a lend)",
)  # fmt: skip
OPERATION_SECONDS = Metric("sluicegate_operation_seconds", "histogram", ("kind",), "From the begin of an operation")
PHASE_SECONDS = Metric("sluicegate_phase_seconds", "histogram", ("phase",), "How long an operation was in a state")
MEMBERS_DROPPED = Metric("sluicegate_members_dropped", "counter", _R, "Members that an operation went on without")
REPLICAS = Metric("sluicegate_replicas", "gauge", ("state",), "Lives of replicas that are not dead, by state")
REPLICA_DEATHS = Metric("sluicegate_replica_deaths", "counter", ("event",), "Lives of replicas that are dead, by why")
SESSIONS = Metric("sluicegate_sessions", "gauge", ("state",), "Sessions of this server that are not buried, by state")
BINDINGS = Metric("sluicegate_bindings", "counter", (), "Sessions that were bound to a replica")
REBINDINGS = Metric("sluicegate_rebindings", "counter", (), "Sessions that moved to another replica, by their policy")
TURNS = Metric("sluicegate_turns", "counter", (), "Turns that were begun; each is a lease, refused ones too")
TURNS_ENDED = Metric("sluicegate_turns_ended", "counter", (), "Turns whose lease is known to be over")
SESSIONS_BURIED = Metric("sluicegate_sessions_buried", "counter", (), "Sessions that are over, of which the id stays")
ANSWERS = Metric(
    "sluicegate_answers", "counter", ("ending",),
    "Calls for an answer that are over: by why the first choice ended, or the code of the error",
)  # fmt: skip
ANSWERING = Metric("sluicegate_answering", "gauge", (), "Calls that are being answered")
FIRST_TOKEN_SECONDS = Metric(
    "sluicegate_first_token_seconds", "histogram", (), "From a call for an answer to the first text of it"
)
ANSWER_SECONDS = Metric("sluicegate_answer_seconds", "histogram", (), "From a call to its whole answer, stored")
CALLS = Metric(
    "sluicegate_http_calls", "counter", ("api", "status"), "HTTP calls; status 0 if the client left before the answer"
)
CALLS_JOINED = Metric("sluicegate_http_calls_joined", "counter", (), "Repeats that got the answer of the first call")
TRACES_HELD = Metric("sluicegate_traces_held", "gauge", (), "Traces in memory")
CHOSEN_IDS = Metric("sluicegate_chosen_ids_buried", "gauge", (), "Ids of clients' choice that are remembered for ever")
STORE_FAILURES = Metric("sluicegate_session_store_failures", "counter", (), "Writes of sessions and traces that failed")

METRICS = (
    PROCESS, ADMISSIONS, REFUSALS, HOLDS, HOLD_LEFT, WAITING, HOLD_SECONDS, LEASES, LEASES_ENDED, ORPHANS, TOKENS,
    GATE_STATE, GATE_EPOCH, GATE_TERM, GATE_VERSION, DRAIN_SECONDS, INSTALL_SECONDS, CLOSED_SECONDS, POISONINGS,
    COMMANDS_REFUSED, TERM, PUBLISHED, SYNC_STATE, OPERATIONS, OPERATION_SECONDS, PHASE_SECONDS, MEMBERS_DROPPED,
    REPLICAS, REPLICA_DEATHS, SESSIONS, BINDINGS, REBINDINGS, TURNS, TURNS_ENDED, SESSIONS_BURIED, ANSWERS, ANSWERING,
    FIRST_TOKEN_SECONDS, ANSWER_SECONDS, CALLS, CALLS_JOINED, TRACES_HELD, CHOSEN_IDS, STORE_FAILURES,
)  # fmt: skip

QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of what lasts from a frozen drain to a long window, in seconds."""
_FAMILIES: dict[str, type[Any]] = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}


class Histogram:
    """Counts values under upper bounds."""

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: tuple[float, ...] = QUICK) -> None:
        self._bounds, self._counts, self._total = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def sample(self) -> tuple[list[tuple[str, float]], float]:
        """Pairs of an upper bound and how many lie at or below it, and the sum of all."""
        seen, pairs = 0, []
        for bound, count in zip((*map(str, self._bounds), "+Inf"), tuple(self._counts), strict=True):
            seen += count
            pairs.append((bound, float(seen)))
        return pairs, self._total


class Part(Protocol):
    """What counts one part of a process."""

    @property
    def incarnation(self) -> str: ...

    def samples(self) -> Iterator[tuple[Metric, Samples]]:
        """Each metric with its samples, as they are now."""
        ...


class Metrics:
    """All that a process counts: a collector of Prometheus.

    Have it told by `watched_by(metrics.watchers)`; then `registry.register(metrics)`, or `serving.py`.
    """

    def __init__(self, *, run: str = "", process: str = "") -> None:
        self._run, self._process = run, process
        self._parts: list[Part] = []

    @property
    def watchers(self) -> Watchers:
        """What has to be told of fronts, controllers and session servers."""
        return Watchers((self._front,), (self._controller,), sessions=(self._sessions,))

    def _front(self, front: Front) -> End:
        from .front_metrics import FrontMetrics

        return self._add(FrontMetrics(front))

    def _controller(self, controller: Controller) -> End:
        # Only now: a controller brings the weights' packages in.
        from .controller_metrics import ControllerMetrics

        return self._add(ControllerMetrics(controller))

    def _sessions(self, watched: Watched) -> End:
        from .sessions_metrics import SessionsMetrics

        return self._add(SessionsMetrics(watched))

    def _add(self, part: Part) -> End:
        self._parts.append(part)
        return lambda: self._parts.remove(part)

    def collect(self) -> Iterator[Family]:
        """See Prometheus' Collector."""
        parts = tuple(self._parts)
        lives = InfoMetricFamily(PROCESS.name, PROCESS.help)
        for part in parts:
            lives.add_metric((), {"run": self._run, "process": self._process, "incarnation": part.incarnation})
        yield lives
        families: dict[str, Any] = {}
        for part in parts:
            for metric, samples in part.samples():
                family = families.get(metric.name) or _family(metric)
                families[metric.name] = family
                for labels, value in samples:
                    if isinstance(value, Histogram):
                        family.add_metric(labels, *value.sample())
                    else:
                        family.add_metric(labels, value)
        yield from families.values()


def _family(metric: Metric) -> Any:
    if metric.kind == "histogram":
        return HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    return _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels)
