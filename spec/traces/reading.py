"""Reading a trace: from a file to the tracks of its instances, or an error that says where and how to mend it.

Rules of this file:

- Everything that is wrong with the *file* is a `TraceError` naming the line; whether the tables explain
  what is written is judged elsewhere.
- A track is what one instance did in one incarnation, in the order of its own numbers. The order of
  lines of different tracks means nothing.
- A value is decoded by the type that the table declares for it; one of another type is an error here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...statemachines.ir import Field
from ...statemachines.values import decode
from .format import FACTS, FORMAT, SHAPES, VERSION, Progress, TraceError, fingerprint, names_no_character, quietly

Key = tuple[str, str, str]
"""Machine, instance, incarnation."""


@dataclass(eq=False, slots=True)
class Entry:
    """One line of a track. `line` counts from 1 in the file, `n` from 0 in the track.

    `name` is that of the event or the fact, and `new` of a birth. `post` is the instance's snapshot
    after it, once the track was replayed; `at` its place among all entries, once they are judged.
    """

    line: int
    track: Track
    n: int
    instance: str = field(init=False)
    incarnation: str = field(init=False)
    name: str = field(default="new", init=False)
    post: Any = field(default=None, init=False)
    at: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        # Rules ask for these of every entry, several times.
        self.instance, self.incarnation = self.track.instance, self.track.incarnation

    @property
    def said(self) -> str:
        """What the line says, in a sentence."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.track} number {self.n}"


@dataclass(eq=False, slots=True)
class Birth(Entry):
    """An instance begins, at its initial state or where its store said that it was: the snapshot `start`."""

    start: Any
    restored: bool
    cause: str

    @property
    def said(self) -> str:
        return "restored" if self.restored else "born"


class Decision(NamedTuple):
    """What a line says that its table decided, in the order in which an `Outcome` begins."""

    kind: str
    rule: str
    reason: str


@dataclass(eq=False, slots=True)
class Step(Entry):
    """An event as it was logged. `outcome` is what the table made of it, once replayed."""

    event: Any
    before: str
    after: str
    changes: dict[str, Any]
    verdict: Decision
    cause: str
    outcome: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.instance, self.incarnation = self.track.instance, self.track.incarnation
        self.name = type(self.event).__name__

    @property
    def before_it(self) -> Any:
        """The snapshot before the step, once replayed."""
        return self.track.entries[self.n - 1].post

    @property
    def said(self) -> str:
        return repr(self.event)


@dataclass(eq=False, slots=True)
class Fact(Entry):
    """Something that no table decides but that its rules need."""

    fact: str
    values: dict[str, Any]

    def __post_init__(self) -> None:
        self.instance, self.incarnation = self.track.instance, self.track.incarnation
        self.name = self.fact

    @property
    def said(self) -> str:
        return f"fact {self.name} {self.values}"


@dataclass(eq=False, slots=True)
class Track:
    """What one instance did in one incarnation; `killed`: the log of its process may end early."""

    machine: Any
    instance: str
    incarnation: str
    killed: bool = False
    entries: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.ir.name

    @property
    def restored(self) -> bool:
        """Whether it goes on from an earlier life."""
        birth = self.entries[0]
        return isinstance(birth, Birth) and birth.restored

    def __str__(self) -> str:
        return f"{self.name} {self.instance} (incarnation {self.incarnation})"


@dataclass(eq=False, slots=True)
class Trace:
    """A whole run. `killed` are the incarnations whose process the launcher saw end before its log did."""

    run: str
    tracks: dict[Key, Track]
    incarnations: set[str]
    killed: set[str]
    lines: int


def read(path: Path, machines: Sequence[Any], progress: Progress = quietly) -> Trace:
    """The tracks of a merged trace.

    Raises TraceError: the file is missing, cut short, not of this format or version, of other tables,
    of no process, or a line is not what its kind must be.
    """
    reader = _Reader(path, machines, progress)
    try:
        return reader.read()
    except RecursionError as error:
        raise reader.fail("is nested too deeply", "no line of a trace is: merge the logs of the run again") from error


_MEMBERS = {kind: frozenset(("line", *shape)) for kind, shape in SHAPES.items()}


class _Reader:
    def __init__(self, path: Path, machines: Sequence[Any], progress: Progress) -> None:
        self.path = path
        self.progress = progress
        self.number = 0
        self.machines = {m.ir.name: m for m in machines}
        self.events = {(m.ir.name, e.name): (getattr(m, e.name), e.fields) for m in machines for e in m.ir.events}
        self.fields = {m.ir.name: m.ir.fields for m in machines}
        self.notes = {f.name for _, fields in self.events.values() for f in fields if f.type.kind == "note"}
        self.states = {m.ir.name: {s: s for s in m.ir.states} for m in machines}
        self.decode = json.JSONDecoder(object_pairs_hook=self.pairs).decode
        # One object for each name and decision: rules ask for them by the million.
        self.names: dict[str, str] = {}
        self.decisions: dict[tuple[str, ...], Decision] = {}
        self.trace = Trace("", {}, set(), set(), 0)
        self.closed: dict[str, int] = {}
        self.counted: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.readers: dict[str, Callable[[dict[str, Any]], None]] = {
            "began": self.began, "closed": self.close, "ended": self.end,
            "new": self.new, "step": self.step, "fact": self.fact,
        }  # fmt: skip

    def fail(self, what: str, mend: str, line: int | None = None) -> TraceError:
        at = self.number if line is None else line
        return TraceError(f"{self.path}{f':{at}' if at else ''}: {what}: {mend}")

    def read(self) -> Trace:
        try:
            text = self.path.read_bytes().decode()
        except OSError as error:
            raise self.fail(f"cannot be read ({error.strerror})", "name the trace.ndjson of a run") from error
        except UnicodeDecodeError as error:
            raise self.fail("is not UTF-8 text", "name the trace.ndjson of a run") from error
        lines = text.split("\n")
        if not text:
            raise self.fail("is empty", "merge the logs of the run again")
        if lines.pop():
            raise self.fail("ends in the middle of a line", "the file is cut short: merge the logs of the run again",
                            len(lines) + 1)  # fmt: skip
        count = self.header(lines[0])
        for self.number, line in enumerate(lines[1:], 2):
            members = self.members(line)
            self.readers[members["line"]](members)
            if not self.number % 4096:
                self.progress("lines read", self.number, len(lines))
        self.number = 0
        if len(lines) - 1 != count:
            raise self.fail(f"has {len(lines) - 1} lines below its header, which says {count}",
                            "the file is cut short or was added to: merge the logs of the run again")  # fmt: skip
        self.whole()
        return self.trace

    def members(self, line: str) -> dict[str, Any]:
        """The members of a line, each of the JSON type that its kind demands."""
        try:
            members = self.decode(line)
        except ValueError as error:
            raise self.fail(f"is not JSON ({error})", "merge the logs of the run again") from error
        kind = members.get("line") if isinstance(members, dict) else None
        if not isinstance(kind, str) or kind not in SHAPES or (kind == "header") != (self.number == 1):
            raise self.fail(f"is no line of a trace (kind {kind!r})", f"a line is one of {', '.join(self.readers)}")
        if "\\u" in line and names_no_character(members, self.notes):
            raise self.fail("has half a surrogate, which is no character, in what is no note", "leave it out of names")
        shape = SHAPES[kind]
        if members.keys() != _MEMBERS[kind]:
            wrong = sorted((members.keys() - {"line"}) ^ shape.keys())
            raise self.fail(f"a {kind} line with other members ({', '.join(wrong)})", f"it has {', '.join(shape)}")
        for name, type_ in shape.items():
            if type(members[name]) is not type_:
                raise self.fail(f"{name} is {members[name]!r}", f"it must be of JSON type {type_.__name__}")
        return members

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise ValueError("a member is named twice")
        return members

    # -- lines about the file --------------------------------------------------------------------

    def header(self, line: str) -> int:
        self.number = 1
        try:
            first = json.loads(line)
        except ValueError as error:
            raise self.fail(f"is not JSON ({error})", f"a {FORMAT} file begins with its header") from error
        if not isinstance(first, dict) or first.get("format") != FORMAT:
            raise self.fail("is not a trace", f"a {FORMAT} file begins with its header")
        if first.get("version") != VERSION:
            raise self.fail(f"is a trace of version {first.get('version')!r}; this program reads {VERSION}",
                            "judge it with the version that wrote it")  # fmt: skip
        if "lines" not in first:
            raise self.fail("is the log of one process", "merge the logs of the run into one trace first")
        members = self.members(line)
        for name, mark in members["machines"].items():
            if name not in self.machines:
                raise self.fail(f"was made with a machine {name!r} that is not declared here",
                                "judge it with the version that wrote it")  # fmt: skip
            if mark != fingerprint(self.machines[name].ir):
                raise self.fail(f"was made with another table of {name} (fingerprint {mark}, here "
                                f"{fingerprint(self.machines[name].ir)})",
                                "judge it with the version that wrote it")  # fmt: skip
        if missing := ", ".join(name for name in self.machines if name not in members["machines"]):
            raise self.fail(f"was made without the machines {missing}", "judge it with the version that wrote it")
        self.trace.run = members["run"]
        self.trace.lines = members["lines"] + 1
        return members["lines"]

    def began(self, members: dict[str, Any]) -> None:
        if members["incarnation"] in self.trace.incarnations:
            raise self.fail(f"incarnation {members['incarnation']!r} begins a second time", "merge each log once")
        self.trace.incarnations.add(members["incarnation"])

    def close(self, members: dict[str, Any]) -> None:
        if members["incarnation"] in self.closed:
            raise self.fail(f"incarnation {members['incarnation']!r} closes a second time", "merge each log once")
        self.closed[members["incarnation"]] = members["lines"]

    def end(self, members: dict[str, Any]) -> None:
        self.trace.killed.add(members["incarnation"])

    def whole(self) -> None:
        """A process began, and each line belongs to one that did; no log misses its end, unless it was killed."""
        # One that was killed before it had a log has done nothing that could be lost, and one that closed it neither.
        self.trace.killed &= self.trace.incarnations - self.closed.keys()
        for incarnation in sorted({*self.counted, *self.closed} - self.trace.incarnations):
            raise self.fail(f"has lines of incarnation {incarnation!r}, which never began",
                            "the file is cut short: merge the logs of the run again")  # fmt: skip
        if not self.trace.incarnations:
            raise self.fail("says of no process that it began", "merge the logs of the run into it")
        for incarnation in sorted(self.trace.incarnations):
            count, said = self.counted.get(incarnation, 0), self.closed.get(incarnation)
            if said is None and incarnation not in self.trace.killed:
                raise self.fail(f"the log of incarnation {incarnation!r} ends early and nobody recorded its end",
                                "the log is cut short: merge it whole, or record that its process ended")  # fmt: skip
            if said is not None and said != count:
                raise self.fail(f"incarnation {incarnation!r} has {count} lines and closed after {said}",
                                "the log is cut short: merge the logs of the run again")  # fmt: skip
        for track in self.trace.tracks.values():
            track.killed = track.incarnation in self.trace.killed

    # -- lines of a track ------------------------------------------------------------------------

    def track(self, members: dict[str, Any], begins: bool = False) -> Track:
        name, instance, incarnation, n = (members[k] for k in ("machine", "instance", "incarnation", "n"))
        machine = self.machines.get(name)
        if machine is None:
            raise self.fail(f"is about an unknown machine {name!r}", f"the header names {', '.join(self.machines)}")
        self.counted[incarnation] = self.counted.get(incarnation, 0) + 1
        key = (name, instance, incarnation)
        track = self.trace.tracks.get(key)
        if track is None:
            named = self.names.setdefault
            track = Track(machine, named(instance, instance), named(incarnation, incarnation))
            self.trace.tracks[key] = track
        if n != len(track.entries):
            raise self.fail(f"{track} goes from number {len(track.entries) - 1} to {n}",
                            "lines are missing or out of order: merge the logs of the run again")  # fmt: skip
        if begins != (n == 0):
            what = "begins with another line than its birth" if n == 0 else "is born a second time"
            raise self.fail(f"{track} {what}", "number 0 of an instance, and only that, is a `new` line")
        return track

    def new(self, members: dict[str, Any]) -> None:
        track = self.track(members, begins=True)
        machine, restored, cause = track.machine, members["restored"], members["cause"]
        fields = self.fields[members["machine"]]
        values = self.values("fields", members["fields"], fields if restored else [f for f in fields if f.given])
        state = self.state(track, members["state"])
        given = {f.name: values[f.name] for f in fields if f.given}
        start = machine.initial(**given).replace(state=state, **(values if restored else {}))
        track.entries.append(Birth(self.number, track, 0, start, restored, self.names.setdefault(cause, cause)))

    def step(self, members: dict[str, Any]) -> None:
        track = self.track(members)
        known = self.events.get((members["machine"], members["event"]))
        if known is None:
            raise self.fail(f"{track} has no event {members['event']!r}", "its events are those of its table")
        make, fields = known
        event = make(**self.values(members["event"], members["fields"], fields))
        changes = members["set"]
        named = [f for f in self.fields[members["machine"]] if f.name in changes]
        changes = self.values("set", changes, named)
        before, after = self.state(track, members["before"]), self.state(track, members["after"])
        cause = members["cause"]
        track.entries.append(
            Step(self.number, track, len(track.entries), event, before, after, changes,
                 self.decision(members["verdict"]), self.names.setdefault(cause, cause))
        )  # fmt: skip

    def fact(self, members: dict[str, Any]) -> None:
        track = self.track(members)
        name, values = members["fact"], members["values"]
        shape = FACTS.get((members["machine"], name))
        if shape is None:
            known = ", ".join(f for m, f in FACTS if m == members["machine"]) or "none"
            raise self.fail(f"{track} has no fact {name!r}", f"the facts of its machine: {known}")
        decoded = self.values(name, values, shape)
        track.entries.append(Fact(self.number, track, len(track.entries), name, decoded))

    def decision(self, verdict: dict[str, Any]) -> Decision:
        kind, rule, reason = map(verdict.get, Decision._fields)
        if len(verdict) != 3 or not (isinstance(kind, str) and isinstance(rule, str) and isinstance(reason, str)):
            raise self.fail(f"a verdict of {', '.join(verdict)}", "it has kind, rule and reason, each a string")
        known = self.decisions.get((kind, rule, reason))
        if known is None:
            known = self.decisions[kind, rule, reason] = Decision(kind, rule, reason)
        return known

    def state(self, track: Track, name: str) -> str:
        """The machine's own name of a state."""
        known = self.states[track.machine.ir.name].get(name)
        if known is None:
            raise self.fail(f"{track} has no state {name!r}", "its states are those of its table")
        return known

    def values(self, where: str, given: dict[str, Any], fields: Sequence[Field]) -> dict[str, Any]:
        if given.keys() != {f.name for f in fields}:
            raise self.fail(f"{where} with {', '.join(given) or 'nothing'}",
                            f"it has exactly {', '.join(f.name for f in fields) or 'nothing'}")  # fmt: skip
        values: dict[str, Any] = {}
        for f in fields:
            try:
                value = decode(f.type, given[f.name], f"{where}.{f.name}")
            except ValueError as error:
                raise self.fail(str(error), "it is of the type that is declared") from error
            values[f.name] = self.names.setdefault(value, value) if f.type.kind == "id" else value
        return values
