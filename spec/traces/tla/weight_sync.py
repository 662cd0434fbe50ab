"""A trace as steps of `TraceWeightSync.tla`: which lines, by which names, from which start.

Rules of this file:

- Only gates and Syncs are told; of them, steps that change something, births, and `catch_up`.
- Names are made small: terms, epochs and versions by their rank in the run, a digest by the version
  that it is of, a lend by its epoch, a lease by a place in its gate that is free at the time.
- A window starts from the snapshots before it. What no snapshot has is as permissive as they allow.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..format import TraceError
from ..reading import Birth, Entry, Step
from .form import Constants, Told, joined, run_module, sequence
from .text import Raw, record, tla

Members = dict[str, Any]
_UNTOLD = frozenset({"window", "ranks"})
"""Fields of a gate that the model has as constants."""


@dataclass(slots=True)
class Window:
    """Parts of runs as a model, each with the state that it starts from."""

    logs: list[list[Told]]
    starts: list[Members]
    constants: Constants

    def module(self, which: int = 1, reached: int = 0) -> str:
        logs = "<<" + ",\n ".join(map(sequence, self.logs)) + ">>"
        starts = "<<" + ",\n ".join(record(start.items()) for start in self.starts) + ">>"
        return run_module("System, TLC", Logs=logs, Starts=starts, Wanted=str(which), Reached=str(reached))


def join(windows: Sequence[Window]) -> Window:
    """Several windows as one model. Raises ValueError where their modes differ."""
    logs = [log for window in windows for log in window.logs]
    starts = [start for window in windows for start in window.starts]
    return Window(logs, starts, joined([w.constants for w in windows]))


@dataclass(slots=True)
class _State:
    """What is known of the system at a point of the run."""

    gates: dict[str, Any] = field(default_factory=dict)
    syncs: dict[int, Any] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    """By term: the last number that its controller took."""
    epoch: int = 0
    newest: int = 0
    published: int | None = None


class WeightSyncLog:
    """The run, translated. `entries` are in an order that the rules allow, and believed."""

    def __init__(self, entries: list[Entry], killed: set[str]) -> None:
        self._entries = [e for e in entries if e.track.name in ("Gate", "Sync")]
        gates = [e for e in self._entries if e.track.name == "Gate"]
        syncs = [e for e in self._entries if e.track.name == "Sync"]
        self.replicas = sorted({e.instance for e in gates})
        rank_sets = {frozenset(e.post.ranks) for e in gates}
        if len(rank_sets) > 1:
            raise TraceError("replicas have different ranks, and WeightSync has one set: judge it without --tla")
        self.ranks = sorted(next(iter(rank_sets), frozenset()))
        self._terms = sorted({e.post.term for e in syncs})
        begins = [e for e in syncs if isinstance(e, Step) and e.name == "Begin" and e.verdict.kind == "go"]
        caught = [e for e in syncs if e.name == "catch_up"]
        self._epochs = sorted({e.event.epoch for e in begins} | {_value(e, "epoch") for e in caught})
        self._versions = sorted({e.event.version for e in begins} | {_value(e, "version") for e in caught})
        self._minimum = min((e.post.minimum for e in syncs), default=1)
        self._digests: dict[str, int] = {}
        self._lends: dict[str, int] = {}
        for step in gates:
            if isinstance(step, Step) and step.name == "Install":
                self._digests |= {d: self.version(step.event.version) for d in step.event.digests.values()}
            if isinstance(step, Step) and step.name == "Lend":
                self._lends[step.event.lend] = self.epoch(step.event.epoch)
        self._cut = {e.track: e.track.entries[-1] for e in gates if e.track.incarnation in killed}
        self.slots = 1
        self._places: dict[Any, dict[str, int]] = {}
        self._lost: set[str] = set()
        self._state = _State()
        self.states: list[_State] = []
        self.told: list[Told] = []
        self._modes: dict[int, str] = {}
        for entry in self._entries:
            self._take(entry)

    # -- names -------------------------------------------------------------------------------------

    def term(self, term: int) -> int:
        return bisect_right(self._terms, term)

    def epoch(self, epoch: int) -> int:
        return bisect_right(self._epochs, epoch)

    def version(self, version: int | None) -> int | None:
        return None if version is None else bisect_right(self._versions, version)

    @property
    def steps(self) -> int:
        return len(self.told)

    # -- entries -----------------------------------------------------------------------------------

    def _take(self, entry: Entry) -> None:
        state = self._state
        before = _State(dict(state.gates), dict(state.syncs), dict(state.epochs), state.epoch, state.newest,
                        state.published)  # fmt: skip
        told = self._gate(entry) if entry.track.name == "Gate" else self._sync(entry)
        if told is not None:
            self.states.append(before)
            self.told.append(told)

    def _gate(self, entry: Entry) -> Told | None:
        replica = entry.instance
        head: Members = {"machine": "Gate", "of": replica, "ev": entry.name}
        former = self._state.gates.get(replica)
        now = self._state.gates[replica] = self._gate_record(entry)
        if self._cut.get(entry.track) is entry:
            self._lost.add(replica)
        if isinstance(entry, Birth):
            self._lost.discard(replica)
            if self._cut.get(entry.track) is entry:
                self._lost.add(replica)
            return Told(entry, {**head, "set": Raw(record({}.items()))})
        if not isinstance(entry, Step) or former == now or former is None or former["state"] == "POISONED":
            return None
        changed = {name: value for name, value in now.items() if former[name] != value}
        members: Members = {**head, "set": Raw(record(changed.items()))}
        if entry.name == "Frozen":
            members["lease"] = self._place(entry, entry.event.lease)
        if entry.name == "Quiesced":
            members["rank"] = entry.event.rank
        if entry.name == "Seal":
            self._modes[len(self.told)] = now["mode"]
        return Told(entry, members)

    def _gate_record(self, entry: Entry) -> Members:
        gate = entry.post
        places = self._places.setdefault(entry.track, {})
        inside = {*gate.active, *gate.suspended, *gate.orphaned}
        for lease in [*places]:
            if lease not in inside:
                del places[lease]
        for lease in sorted(inside - places.keys()):
            used = {*places.values()}
            places[lease] = next(n for n in range(1, len(used) + 2) if n not in used)
        self.slots = max(self.slots, *places.values(), 1)

        def at(leases: Iterable[str]) -> frozenset[int]:
            return frozenset(places[lease] for lease in leases)

        return {
            "state": gate.state, "ranks": frozenset(gate.ranks), "term": self.term(gate.term),
            "epoch": self.epoch(gate.epoch), "version": _some(self.version(gate.version)),
            "target": _some(self.version(gate.target)),
            "digests": {rank: self._digests.get(d, _BROKEN) for rank, d in sorted(gate.digests.items())},
            "mode": _mode(gate.mode), "timer": gate.timer, "window": 0, "active": at(gate.active),
            "suspended": at(gate.suspended), "orphaned": at(gate.orphaned), "quiet": frozenset(gate.quiet),
            "verified": frozenset(gate.verified), "resident": gate.resident,
            "lent": _some(None if gate.lent is None else self._lends.get(gate.lent, 0)),
        }  # fmt: skip

    def _place(self, entry: Entry, lease: str) -> int:
        return self._places.get(entry.track, {}).get(lease, 0)

    def _sync(self, entry: Entry) -> Told | None:
        state, term = self._state, self.term(entry.post.term)
        about = getattr(entry.event, "replica", None) if isinstance(entry, Step) else None
        head: Members = {"machine": "Sync", "of": term, "ev": entry.name, "lost": self._lost & {about}}
        former = state.syncs.get(term)
        now = state.syncs[term] = self._sync_record(entry.post)
        if entry.name == "catch_up":
            epoch, version = self.epoch(_value(entry, "epoch")), self.version(_value(entry, "version"))
            state.epochs[term], state.epoch = epoch, max(state.epoch, epoch)
            return Told(entry, {**head, "epoch": epoch, "version": version, "set": Raw(record({}.items()))})
        if former is None and len(state.syncs) > 1:
            # What a controller begins with is said by its first step.
            restored = next((e.post for e in entry.track.entries if e.name == "Restore"), entry.post)
            now = state.syncs[term] = self._sync_record(restored)
            return Told(entry, {**head, "set": Raw(record(now.items()))})
        if not isinstance(entry, Step) or former is None or former == now or entry.name == "Restore":
            return None
        changed = {name: value for name, value in now.items() if former[name] != value}
        members: Members = {**head, "set": Raw(record(changed.items()))}
        if entry.name == "Begin":
            event = entry.event
            epoch, version = self.epoch(event.epoch), self.version(event.version) or 0
            state.epochs[term], state.epoch = epoch, max(state.epoch, epoch)
            state.newest = max(state.newest, version)
            members |= {"members": frozenset(event.members), "version": version, "lend": event.lend}
            self._modes[len(self.told)] = now["mode"]
            return Told(entry, members)
        if entry.name == "Recorded" and now["published"]:
            state.published = now["published"][0]
        return Told(entry, members)

    def _sync_record(self, sync: Any) -> Members:
        return {
            "state": sync.state, "term": self.term(sync.term), "minimum": sync.minimum, "epoch": self.epoch(sync.epoch),
            "published": _some(self.version(sync.published)), "version": _some(self.version(sync.version)),
            "mode": _mode(sync.mode), "lend": sync.lend, "members": frozenset(sync.members),
            "answered": frozenset(sync.answered), "refusing": frozenset(sync.refusing),
        }  # fmt: skip

    # -- windows -----------------------------------------------------------------------------------

    def windows(self, size: int | None) -> Iterator[Window]:
        """Windows of at most `size` steps, one after another; all in one without a size.

        A window also ends where an operation has another mode, which the model has as a constant.
        """
        begin = 0
        while begin < len(self.told):
            end, mode = begin, ""
            while end < len(self.told) and (size is None or end - begin < size):
                wanted = self._modes.get(end, "")
                if mode and wanted and wanted != mode:
                    break
                mode = mode or wanted
                end += 1
            yield self._window(begin, end, mode)
            begin = end

    def _window(self, begin: int, end: int, mode: str) -> Window:
        state = self.states[begin]
        terms = range(1, max([1, *state.syncs]) + 1)
        nodes = {r: self._node(state.gates.get(r)) for r in self.replicas}
        lent = frozenset(r for r, gate in state.gates.items() if gate["lent"])
        start: Members = {
            "node": _function(nodes),
            "ctl": Raw("<<" + ", ".join(self._controller(state, t, bool(lent)) for t in terms) + ">>"),
            "durable": {"epoch": state.epoch, "newest": state.newest, "published": _some(state.published)},
            "trainer": {"uses": lent, "volatile": frozenset(), "lost": frozenset()},
            "msgs": frozenset(Raw(m) for t in terms for m in self._sent(state, t)),
        }
        constants: Constants = {
            "Replica": frozenset(self.replicas), "Rank": frozenset(self.ranks),
            "Slot": frozenset(range(1, self.slots + 1)), "Mode": mode or "wait", "Minimum": self._minimum,
            "MaxEpoch": len(self._epochs) + 1, "MaxVersion": len(self._versions), "MaxTerm": max(1, len(self._terms)),
            "Faults": _FAULTS, "Scene": frozenset({"newborn", "lend", "volatile"}),
        }  # fmt: skip
        return Window([self.told[begin:end]], [start], constants)

    def _node(self, gate: Members | None) -> Raw:
        """A replica, from its gate alone: what is hidden is as permissive as the gate allows."""
        if gate is None:
            return Raw("Born")
        ranks, state, version = self.ranks, gate["state"], gate["version"]
        is_closing = state in ("SEALED", "DRAINING", "INSTALLING", "REOPENED")
        is_idle = not gate["active"] and not gate["orphaned"]
        loads = frozenset(r for r in ranks if state == "INSTALLING" and r not in gate["verified"])
        held = {r: self._held(gate, r) for r in ranks}
        does = {n: self._does(gate, n) for n in range(1, self.slots + 1)}
        return Raw(record({
            "gate": gate,
            "armed": (gate["epoch"], gate["timer"]) if is_closing and gate["epoch"] else (),
            "asked": state == "DRAINING" and is_idle,
            "freezes": state == "DRAINING" and gate["mode"] == "keep",
            "loads": loads, "version": gate["target"][0] if loads else 0,
            "held": held,
            "busy": frozenset(r for r in ranks if state != "INSTALLING" and r not in gate["quiet"] and version),
            "expired": False,
            "lease": Raw(f"[s \\in Slot |-> IF s <= {len(does)} THEN {tla(tuple(does.values()))}[s] ELSE Free]"),
        }.items()))  # fmt: skip

    def _held(self, gate: Members, rank: str) -> int | Raw:
        if gate["state"] == "INSTALLING" and rank in gate["verified"]:
            return gate["target"][0]
        return gate["version"][0] if gate["version"] and gate["resident"] else _BROKEN

    def _does(self, gate: Members, place: int) -> Members:
        if place in gate["suspended"] and gate["state"] != "REOPENED":
            return {"does": "frozen", "label": gate["version"]}
        inside = gate["active"] | gate["suspended"] | gate["orphaned"]
        return {"does": "runs" if place in inside else "nothing", "label": gate["version"] if place in inside else ()}

    def _controller(self, state: _State, term: int, trains: bool) -> str:
        sync = state.syncs.get(term)
        if sync is None:
            return "Rising(1, 0, <<>>)"
        return record({"sync": sync, "epoch": state.epochs.get(term, 0), "settled": False, "trains": trains}.items())

    def _sent(self, state: _State, term: int) -> Iterator[str]:
        """What the operation of a controller has sent and what may still act."""
        sync = state.syncs.get(term)
        if sync is None or sync["state"] not in _SENT:
            return
        name = _SENT[sync["state"]]
        version = sync["version"][0] if name == "Install" else 0
        for replica in sorted(sync["members"]):
            message = record(
                {"to": replica, "ev": name, "term": term, "epoch": sync["epoch"], "version": version}.items()
            )
            yield f"{message}"


_FAULTS = frozenset(
    {"deadline", "silence", "message", "engine", "unknown", "client", "gate-crash", "stale-controller",
     "trainer-crash"}
)  # fmt: skip
_BROKEN = Raw("Broken")
_SENT = {"SEALING": "Seal", "DRAINING": "Drain", "LENT": "Lend", "INSTALLING": "Install"}


def _some(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


def _mode(mode: str) -> str:
    return "wait" if mode == "abort" else str(mode)


def _value(entry: Entry, name: str) -> Any:
    values: Members = getattr(entry, "values", {})
    return values.get(name)


def _function(values: dict[str, Any]) -> Raw:
    return Raw("(" + " @@ ".join(f"{tla(k)} :> {tla(v)}" for k, v in values.items()) + ")")
