"""The trace log: what each machine of a process did, one line a step, and the merge of all logs of a run.

Rules of this file:

- Threads of a process share its log: a line is added whole.
- Lines gather in memory and are written whole, in one call, when many have gathered or some time has
  passed since the last write. Nothing waits for the disk, and nothing is written per token.
- A process writes only its own file. A killed one loses what it had gathered; its last line may be cut.
- A write that fails never fails a step: what it left is kept and tried again, in order, so that a log has no
  holes. Above a bound nothing more is logged, and the log ends there as that of a killed process does.
- The merge drops a cut last line only of a process whose end the launcher recorded, and writes the
  trace whole or not at all.

The lines and what a runtime must log are described in `docs/trace.md`.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..spec.traces.format import FACTS, FORMAT, VERSION, TraceError, dumps, fingerprint
from ..statemachines.compiler import Outcome
from ..statemachines.ir import Field
from ..statemachines.machines import MACHINES
from ..statemachines.values import encode

_log = logging.getLogger(__name__)

FLUSH_LINES, FLUSH_S = 256, 0.1
"""A write is due when this many lines have gathered, or at the first line after this many seconds."""
KEPT_BYTES = 16 << 20
"""How much is kept while the file cannot be written, before the log ends."""


class TraceLog:
    """The log of one process. Use as `with TraceLog(...) as log`: leaving closes it with its count of lines.

    `run` names the run, `process` what the process is, `incarnation` its life. Raises FileExistsError
    if the file is there: a life has one log; OSError if it cannot be begun.
    """

    def __init__(
        self, path: Path, *, run: str, process: str, incarnation: str, machines: Sequence[Any] = MACHINES
    ) -> None:
        self.incarnation = incarnation
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._waiting: list[str] = []
        self._rest = bytearray()
        self._trouble = ""
        self._is_cut = False
        self._lines = 0
        self._written = 0.0
        # Whoever adds the line that makes a write due writes with the lock in hand.
        self._lock = threading.RLock()
        self._tracks: dict[tuple[str, str], _Track] = {}
        self._machines = {m.ir.name: MachineLog(self, m) for m in machines}
        marks = {m.ir.name: fingerprint(m.ir) for m in machines}
        header = {"line": "header", "format": FORMAT, "version": VERSION, "run": run, "machines": marks}
        self._waiting.append(dumps(header))
        self._waiting.append(dumps({"line": "began", "incarnation": incarnation, "process": process}))
        try:
            self._write()
        except OSError:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def of(self, machine: str) -> MachineLog:
        """What a host of this machine in this process is to be observed by. Raises KeyError."""
        return self._machines[machine]

    def fact(self, machine: str, instance: str, fact: str, **values: Any) -> None:
        """Log a fact that an instance of this process knew at this point. Raises LookupError, TypeError."""
        shape = FACTS.get((machine, fact))
        if shape is None or values.keys() != {f.name for f in shape}:
            raise TypeError(f"{machine} has no fact {fact}({', '.join(values)}): see docs/trace.md")
        self._add(self._track(machine, instance), "fact", {"fact": fact, "values": _encoded(shape, values)})

    def flush(self) -> None:
        """Write what has gathered; what cannot be written is tried again by the next lines."""
        with self._lock:
            if self._is_cut:
                self._waiting.clear()
                return
            try:
                self._write()
            except OSError as error:
                self._keep(error)
                return
            if self._trouble:
                self._trouble = ""
                _log.warning("%s is written again, and nothing is missing", self._path)

    def close(self) -> None:
        """Write everything and the closing line; nothing can be logged after it.

        A log that cannot be written now stays without its closing line, as that of a killed process.
        """
        if self._file < 0:
            return
        self._waiting.append(dumps({"line": "closed", "incarnation": self.incarnation, "lines": self._lines}))
        self.flush()
        if self._rest:
            _log.error("%s ends early: %d bytes could not be written", self._path, len(self._rest))
        os.close(self._file)
        self._file = -1

    def _write(self) -> None:
        """Raises OSError; what was not written is the rest then."""
        waiting, self._waiting = self._waiting, []
        self._written = time.monotonic()
        # Half a surrogate has no UTF-8: written so it is the escape that JSON has for it.
        self._rest += "".join(f"{line}\n" for line in waiting).encode(errors="backslashreplace")
        while self._rest:
            del self._rest[: os.write(self._file, self._rest)]

    def _keep(self, error: OSError) -> None:
        if len(self._rest) > KEPT_BYTES:
            self._is_cut = True
            self._rest.clear()
            _log.error("%s ends here: for too long it could not be written (%s)", self._path, error)
        elif str(error) != self._trouble:
            self._trouble = str(error)
            _log.error("%s cannot be written, which is tried again: %s", self._path, error)

    # -- for MachineLog --------------------------------------------------------------------------

    def _track(self, machine: str, instance: str) -> _Track:
        track = self._tracks.get((machine, instance))
        if track is None:
            raise LookupError(f"the birth of {machine} {instance} is not in the trace: log it first")
        return track

    def _add(self, track: _Track, kind: str, members: dict[str, Any]) -> None:
        with self._lock:
            line = {"line": kind, **track.head, "n": track.n, **members}
            track.n += 1
            self._lines += 1
            self._waiting.append(dumps(line))
            is_many = len(self._waiting) >= FLUSH_LINES and not self._trouble
            if is_many or time.monotonic() - self._written > FLUSH_S:
                self.flush()


class _Track:
    """What the log knows of an instance: its live machine, and what its fields were when last looked at."""

    __slots__ = ("head", "live", "n", "seen")

    def __init__(self, head: dict[str, Any], live: Any, seen: dict[str, Any]) -> None:
        self.head, self.live, self.n, self.seen = head, live, 0, seen


class MachineLog:
    """Logs the instances of one machine: its `lives` and itself are what `MachineHost` takes as such.

    `MachineHost(..., observer=machine_log, lives=machine_log.lives)`.
    """

    def __init__(self, log: TraceLog, machine: Any) -> None:
        self._log, self._name = log, machine.ir.name
        self._fields: dict[str, Field] = {f.name: f for f in machine.ir.fields}
        self._events = {e.name: e.fields for e in machine.ir.events}
        self._updates = {
            (cell.event, cell.state, branch.rule): tuple(self._fields[u.field] for u in branch.updates)
            for cell in machine.ir.cells
            for branch in cell.all()
        }

    def lives(self, instance: str, live: Any, goes_on: bool, cause: str = "") -> None:
        """Log that `live` is the new instance; with `goes_on` it begins where its store had kept it.

        `live` None: the instance was dropped, and nothing more will be logged of it.
        Raises ValueError if an instance of this name was born in this process before: an instance
        that begins anew has another name, or another incarnation.
        """
        key = (self._name, instance)
        if live is None:
            if track := self._log._tracks.get(key):
                # The name stays, so that a second birth is still told.
                track.live, track.seen = None, {}
            return
        if key in self._log._tracks:
            raise ValueError(f"{self._name} {instance} is in the trace already: one instance has one birth")
        seen = {name: encode(f.type, getattr(live, name)) for name, f in self._fields.items()}
        head = {"machine": self._name, "instance": instance, "incarnation": self._log.incarnation}
        track = self._log._tracks[key] = _Track(head, live, seen)
        fields = dict(seen) if goes_on else {n: v for n, v in seen.items() if self._fields[n].given}
        members = {"state": live.state, "fields": fields, "restored": goes_on, "cause": cause}
        self._log._add(track, "new", members)

    def __call__(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
    ) -> None:
        """Log a step that was just made; only the fields that its rule updates are looked at."""
        track = self._log._track(self._name, instance)
        name = type(event).__name__
        changed: dict[str, Any] = {}
        for field in self._updates[name, before, outcome.rule]:
            value = encode(field.type, getattr(track.live, field.name))
            if value != track.seen[field.name]:
                changed[field.name] = track.seen[field.name] = value
        members = {
            "event": name,
            "fields": _encoded(self._events[name], event.__dict__),
            "before": before,
            "after": after,
            "set": changed,
            "verdict": {"kind": outcome.kind, "rule": outcome.rule, "reason": outcome.reason},
            "cause": cause,
        }
        self._log._add(track, "step", members)


def _encoded(fields: Iterable[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    return {f.name: encode(f.type, values[f.name]) for f in fields}


def merge(logs: Iterable[Path], ended: Mapping[str, str], target: Path) -> Path:
    """Write one trace of the logs of a run's processes; `target`, which is replaced.

    `ended` has, for each incarnation whose process the launcher saw end without closing its log, how
    it ended. Raises TraceError: a log is of another run, format or table, or is cut without that.
    """
    header: dict[str, Any] | None = None
    body: list[str] = []
    for path in logs:
        first, lines = _log_lines(path, ended)
        if header is not None and first != header:
            raise TraceError(f"{path}: is of another run or made with other tables: merge the logs of one run")
        header = first
        body += lines
    if header is None:
        raise TraceError(f"{target}: there are no logs to merge: name at least one")
    body += [dumps({"line": "ended", "incarnation": i, "how": how}) for i, how in sorted(ended.items())]
    text = "".join(f"{line}\n" for line in (dumps({**header, "lines": len(body)}), *body))
    beside = target.with_name(target.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(target)
    return target


def merge_stopped(folder: Path, target: Path) -> tuple[str, ...]:
    """`merge` the logs in the folder of a run that has ended, where nobody recorded how.

    Each process whose log is not closed is taken to have ended early; their incarnations are
    returned. Raises TraceError: the folder has no logs, or as `merge`.
    """
    logs = sorted(folder.glob("*.ndjson")) if folder.is_dir() else []
    if not logs:
        raise TraceError(f"{folder}: has no logs (*.ndjson): name the folder `trace` of a run")
    ended: dict[str, str] = {}
    for path in logs:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        with suppress(ValueError, IndexError, KeyError, TypeError):  # what is no log, merge says
            if json.loads(lines[1])["line"] == "began" and not _is_closed(lines):
                ended[json.loads(lines[1])["incarnation"]] = "stopped before its log was closed"
    merge(logs, ended, target)
    return tuple(sorted(ended))


def _is_closed(lines: list[str]) -> bool:
    """Whether the last of the lines of a log, which an empty one follows, is the closing one."""
    try:
        return not lines[-1] and json.loads(lines[-2])["line"] == "closed"
    except (ValueError, IndexError, KeyError, TypeError):
        return False


def _log_lines(path: Path, ended: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The header of a log, and its lines below it. Raises TraceError."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    cut = lines.pop()
    try:
        header, began = json.loads(lines[0]), json.loads(lines[1])
        incarnation = began["incarnation"]
        if header["format"] != FORMAT or header["version"] != VERSION:
            raise ValueError(f"version {header['version']} of {header['format']}")
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise TraceError(f"{path}: is no log of a process ({error}): merge logs that this version wrote") from error
    if cut and incarnation not in ended:
        raise TraceError(f"{path}: ends in the middle of a line, and nobody recorded the end of {incarnation}: "
                         "merge after the process has ended, or record its end")  # fmt: skip
    return header, lines[1:]
