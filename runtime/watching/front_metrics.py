"""Counts of one life of a replica: its gate, leases and door."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...statemachines.gate import Gate
from ...statemachines.lease import Lease
from ...statemachines.sorts import Mode
from . import metrics as m
from .metrics import Histogram, Metric, Samples

if TYPE_CHECKING:
    from ..workers.front import Front

OWN, EARLIER = "this", "earlier"
"""Lives that a lease was admitted by."""
_COMMANDS = frozenset(event.name for event in Gate.ir.events if event.outside)
_OVER = ("SETTLED", "LOST")
_LEASE_STATES = tuple(state for state in Lease.ir.states if state not in _OVER)


class FrontMetrics:
    """Counts one life of a replica: its gate, leases and door."""

    def __init__(self, front: Front) -> None:
        self._front, self._leases, self.incarnation = front, front.leases.host, front.incarnation
        self._admitted = self._orphans = self._tokens = 0
        self._states = dict.fromkeys(_LEASE_STATES, 0)
        self._ended: Counter[tuple[str, str]] = Counter()
        self._earlier: set[str] = set()
        self._poisoned: Counter[str] = Counter()
        self._refused: Counter[tuple[str, str]] = Counter()
        self._drains = {mode: Histogram() for mode in Mode}
        self._held, self._installs, self._closed = Histogram(), Histogram(), Histogram()
        self._sealed_at: float | None = None
        self._drained_at: float | None = None
        self._installed_at: float | None = None
        front.gate.host.observe(self._gate)
        self._leases.observe(self._lease, self._life)
        front.door.waited = self._held.observe

    # -- what is told ----------------------------------------------------------------------------

    def _gate(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        kind: type[Any] = type(event)
        if kind is Gate.Admit:
            if outcome.kind == "stay":
                self._admitted += 1
        elif kind is not Gate.Settle:
            self._gate_moved(event, before, after, outcome)

    def _gate_moved(self, event: Any, before: str, after: str, outcome: Any) -> None:
        name = type(event).__name__
        if outcome.refused:
            if name in _COMMANDS:
                self._refused[name, outcome.reason] += 1
        elif before != after:
            self._gate_changed(name, before, after)
        elif outcome.kind == "stay":
            self._gate_answered(name)

    def _gate_changed(self, name: str, before: str, after: str) -> None:
        at = asyncio.get_running_loop().time()
        match after:
            case "SEALED":
                if before == "OPEN":
                    self._sealed_at = at
                self._drained_at = self._installed_at = None
            case "DRAINING":
                self._drained_at = at
            case "INSTALLING":
                self._installed_at = at
            case "REOPENED" if self._sealed_at is not None:
                self._closed.observe(at - self._sealed_at)
                self._sealed_at = None
            case "POISONED":
                self._poisoned[name] += 1

    def _gate_answered(self, name: str) -> None:
        live = self._front.gate.live
        if name == "Quiesced" and self._drained_at is not None and live.quiet == live.ranks:
            self._drains[live.mode].observe(asyncio.get_running_loop().time() - self._drained_at)
            self._drained_at = None
        elif name == "Installed" and self._installed_at is not None and live.verified == live.ranks:
            self._installs.observe(asyncio.get_running_loop().time() - self._installed_at)
            self._installed_at = None

    def _life(self, lease: str, live: Any, goes_on: bool) -> None:
        if live is not None:
            self._states[live.state] += 1
            if goes_on:
                self._earlier.add(lease)

    def _lease(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        kind: type[Any] = type(event)
        if kind is Lease.Progress:
            if outcome.kind == "stay":
                self._tokens += event.count
        elif before != after:
            self._states[before] -= 1
            if after not in _OVER:
                self._states[after] += 1
                self._orphans += after == "ORPHANED"
                return
            ending = "lost" if after == "LOST" else self._leases.live(instance).ending.value
            self._ended[ending, EARLIER if instance in self._earlier else OWN] += 1
            self._earlier.discard(instance)

    # -- what is asked ---------------------------------------------------------------------------

    def samples(self) -> Iterator[tuple[Metric, Samples]]:
        door, gate, own = self._front.door, self._front.gate.live, (self._front.replica,)
        yield m.ADMISSIONS, [(own, self._admitted)]
        yield m.REFUSALS, [((*own, reason.lower()), n) for reason, n in dict(door.refused).items()]
        yield m.HOLDS, [(own, door.held)]
        yield m.HOLD_LEFT, [(own, door.left)]
        yield m.WAITING, [(own, len(door))]
        yield m.HOLD_SECONDS, [(own, self._held)]
        yield m.LEASES, [((*own, state), n) for state, n in self._states.items()]
        yield m.LEASES_ENDED, [((*own, *how), n) for how, n in dict(self._ended).items()]
        yield m.ORPHANS, [(own, self._orphans)]
        yield m.TOKENS, [(own, self._tokens)]
        yield m.GATE_STATE, [((*own, state), int(state == gate.state)) for state in Gate.ir.states]
        yield m.GATE_EPOCH, [(own, gate.epoch)]
        yield m.GATE_TERM, [(own, gate.term)]
        yield m.GATE_VERSION, [(own, version) for version in [gate.version] if version is not None]
        yield m.DRAIN_SECONDS, [((*own, mode.value), drains) for mode, drains in self._drains.items()]
        yield m.INSTALL_SECONDS, [(own, self._installs)]
        yield m.CLOSED_SECONDS, [(own, self._closed)]
        yield m.POISONINGS, [((*own, event), n) for event, n in dict(self._poisoned).items()]
        yield m.COMMANDS_REFUSED, [((*own, *what), n) for what, n in dict(self._refused).items()]
