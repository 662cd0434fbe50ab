"""A trace as steps of `TraceSessionAffinity.tla`: each session by itself, with the leases of its turns.

Rules of this file:

- Told are the steps of a session that change it, its births, and of each of its turns' leases the
  admission, the forward and the end.
- A lease is named by the number of its turn, an incarnation by its replica and the number of its life.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ....statemachines.session import Rebinding
from ..reading import Birth, Entry, Step
from ..relations import end_of
from .form import Constants, Told, joined, run_module, sequence
from .text import Raw, record

Members = dict[str, Any]


@dataclass(slots=True)
class Window:
    """Some sessions of a run as a model."""

    logs: list[list[Told]]
    constants: Constants

    def module(self, which: int = 1, reached: int = 0) -> str:
        logs = "<<" + ",\n ".join(map(sequence, self.logs)) + ">>"
        return run_module("TLC", Logs=logs, Wanted=str(which), Reached=str(reached))


class SessionLog:
    """The sessions of a run. `entries` are in an order that the rules allow, and believed."""

    def __init__(self, entries: list[Entry], killed: set[str]) -> None:
        self._killed = killed
        self._lives: dict[str, list[str]] = {}
        self._of: dict[str, list[Entry]] = {}
        self._admitted: dict[str, Entry] = {}
        ends: set[Entry] = set()
        for entry in entries:
            name, is_new = entry.track.name, isinstance(entry, Birth)
            if name == "Gate" and is_new:
                self._lives.setdefault(entry.instance, []).append(entry.incarnation)
            elif name == "Session":
                self._of.setdefault(entry.instance, []).append(entry)
            elif name == "Lease" and not entry.track.restored:
                if is_new:
                    self._admitted[entry.instance] = entry
                    ends.add(end_of(entry.track))
                if is_new or entry.name == "Forward" or entry in ends:
                    self._of.setdefault(entry.post.session, []).append(entry)
        self._ends = ends
        self._life = {name: (replica, n) for replica, names in self._lives.items() for n, name in enumerate(names, 1)}
        self.sessions = [told for entries in self._of.values() if (told := self._session(entries))]
        self.steps = sum(map(len, self.sessions))

    def _incarnation(self, name: str) -> tuple[str, int]:
        return self._life.get(name, (_NOWHERE, 1))

    def _session(self, entries: list[Entry]) -> list[Told]:
        """The told steps of one session; none of one whose birth is not there."""
        turns: dict[str, int] = {}
        told: list[Told] = []
        former: Members | None = None
        members: Members
        for entry in entries:
            if entry.track.name == "Lease":
                if (turn := turns.get(entry.instance)) is not None:
                    told += self._lease(entry, turn)
                continue
            if entry.name == "BeginTurn" and isinstance(entry, Step) and entry.event.lease in entry.post.leases:
                turns.setdefault(entry.event.lease, len(turns) + 1)
            now = self._record(entry.post, turns)
            if isinstance(entry, Birth):
                if (entry.restored, former is None) not in ((False, True), (True, False)):
                    return []
                members = {"policy": now["policy"], "set": Raw(record(now.items())), "goes": ()}
                lost = any(t.track.incarnation in self._killed for t in entries if t.track.name == "Session")
                told.append(self._told(entry, "new", {**members, "lost": lost}))
            elif isinstance(entry, Step) and former is not None and now != former:
                changed = {name: value for name, value in now.items() if former[name] != value}
                members = {**self._event(entry, turns), "set": Raw(record(changed.items()))}
                told.append(self._told(entry, entry.name, members))
            former = now
        return told if told and told[0].members["ev"] == "new" else []

    @staticmethod
    def _told(entry: Entry, name: str, members: Members) -> Told:
        return Told(entry, {"machine": entry.track.name, "ev": name, **members})

    def _lease(self, entry: Entry, turn: int) -> Iterator[Told]:
        members: Members = {"lease": turn, "goes": self._incarnation(entry.incarnation), "set": Raw(record({}.items()))}
        if isinstance(entry, Birth) or entry.name == "Forward":
            yield self._told(entry, entry.name, members)
        if entry in self._ends:
            yield self._told(entry, "over", {**members, "goes": ()})

    def _event(self, step: Step, turns: dict[str, int]) -> Members:
        event, goes = step.event, ()
        members: Members = {"lost": False}
        if step.name in ("BeginTurn", "EndTurn"):
            members["lease"] = turns.get(event.lease, 0)
            admitted = self._admitted.get(event.lease)
            if step.name == "BeginTurn" and admitted is not None:
                goes = self._incarnation(admitted.incarnation)
        elif step.name in ("Bound", "Lose", "Rebind"):
            goes = self._incarnation(event.incarnation)
            members["lost"] = event.incarnation in self._killed
        elif step.name in ("Take", "Release", "ConsumerLost"):
            members["consumer"] = event.consumer
        return {**members, "goes": goes}

    def _record(self, session: Any, turns: dict[str, int]) -> Members:
        return {
            "state": session.state, "policy": str(session.policy),
            "leases": frozenset(turns.get(lease, 0) for lease in session.leases),
            "replica": _some(session.replica),
            "incarnation": () if session.incarnation is None else (self._incarnation(session.incarnation),),
            "binding": session.binding, "consumer": _some(session.consumer),
        }  # fmt: skip

    def windows(self, size: int | None) -> Iterator[Window]:
        """Windows of whole sessions, of about `size` steps each; all in one without a size."""
        chosen: list[list[Told]] = []
        for session in self.sessions:
            chosen.append(session)
            if size is not None and sum(map(len, chosen)) >= size:
                yield Window(chosen, self._constants(chosen))
                chosen = []
        if chosen:
            yield Window(chosen, self._constants(chosen))

    def _constants(self, logs: list[list[Told]]) -> Constants:
        members = [told.members for log in logs for told in log]
        bindings = [told.entry.post.binding for log in logs for told in log if told.entry.track.name == "Session"]
        return {
            "Replica": frozenset(self._lives) | {_NOWHERE},
            "MaxLoss": sum(map(len, self._lives.values())) + len(self._lives),
            "MaxTurn": max([1, *(m.get("lease", 0) for m in members)]),
            "MaxBinding": max(bindings, default=0) + 1,
            "MaxRestart": sum(m["ev"] == "new" for m in members),
            "Consumer": frozenset(m["consumer"] for m in members if "consumer" in m) | {"nobody"},
            "Policies": frozenset(map(str, Rebinding)),
        }


def join(windows: Sequence[Window]) -> Window:
    """Sessions of several runs as one model."""
    return Window([log for window in windows for log in window.logs], joined([w.constants for w in windows]))


_NOWHERE = "nowhere"
"""The replica of an incarnation of which nothing is logged."""


def _some(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)
