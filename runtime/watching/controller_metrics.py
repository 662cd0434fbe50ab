"""Counts of one controller: its operations, and the replicas as it sees them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...statemachines.replica import Replica
from ...statemachines.sync import Sync
from ..controller.sync import INSTANCE
from . import metrics as m
from .metrics import Histogram, Metric, Samples

if TYPE_CHECKING:
    from ..controller.controller import Controller

KINDS = ("sync", "window")


class ControllerMetrics:
    """Counts what one controller does: its operations, and the replicas as it sees them."""

    def __init__(self, controller: Controller) -> None:
        self._controller, self.incarnation = controller, controller.incarnation
        self._ended: Counter[tuple[str, str]] = Counter()
        self._dropped: Counter[str] = Counter()
        self._deaths: Counter[str] = Counter()
        self._whole = {kind: Histogram() for kind in KINDS}
        self._phases = {state: Histogram() for state in Sync.ir.states if state not in ("IDLE", "FAILED")}
        self._kind, self._began_at, self._phase_at = "", 0.0, 0.0
        controller.syncs.observe(self._sync)
        controller.replicas.observe(self._replica)

    def _sync(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        at = asyncio.get_running_loop().time()
        if isinstance(event, Sync.Begin):
            kind = kind_of(event, self._controller.published)
            if outcome.refused:
                self._ended[kind, "refused"] += 1
                return
            self._kind, self._began_at = kind, at
        elif isinstance(event, Sync.Drop) and outcome.kind in ("go", "stay"):
            self._dropped[str(event.replica)] += 1
        if before == after:
            return
        if before in self._phases:
            self._phases[before].observe(at - self._phase_at)
        self._phase_at = at
        if after not in self._phases and before in self._phases:
            self._ended[self._kind, outcome_of(self._kind, after, outcome)] += 1
            self._whole[self._kind].observe(at - self._began_at)

    def _replica(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str
    ) -> None:
        if after == "DEAD" and before != after:
            self._deaths[type(event).__name__] += 1

    def samples(self) -> Iterator[tuple[Metric, Samples]]:
        sync, published = self._controller.syncs.live(INSTANCE).state, self._controller.published
        replicas = self._controller.replicas
        states = Counter(state for life in replicas.instances() if (state := replicas.live(life).state) != "DEAD")
        yield m.TERM, [((), self._controller.term)]
        yield m.PUBLISHED, [((), version) for version in [published] if version is not None]
        yield m.SYNC_STATE, [((state,), int(state == sync)) for state in Sync.ir.states]
        yield m.OPERATIONS, [(how, n) for how, n in dict(self._ended).items()]
        yield m.OPERATION_SECONDS, [((kind,), times) for kind, times in self._whole.items()]
        yield m.PHASE_SECONDS, [((phase,), times) for phase, times in self._phases.items()]
        yield m.MEMBERS_DROPPED, [((replica,), n) for replica, n in dict(self._dropped).items()]
        yield m.REPLICAS, [((state,), states[state]) for state in Replica.ir.states if state != "DEAD"]
        yield m.REPLICA_DEATHS, [((event,), n) for event, n in dict(self._deaths).items()]


def kind_of(begin: Any, published: int | None) -> str:
    """What an operation is: a sync to a newer version, or a window on the one that is published."""
    return "window" if begin.lend and begin.version == published else "sync"


def outcome_of(kind: str, after: str, outcome: Any) -> str:
    """How an operation ended, by the step that ended it."""
    if after == "FAILED":
        return "overruled"
    if any(isinstance(output, Sync.Announce) for output in outcome.outputs):
        return "published"
    return "resumed" if kind == "window" else "rolled_back"
