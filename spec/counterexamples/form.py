"""A counterexample as a value, and as a file.

Rules of this file:

- Values of states are TLA+ text in the normal form of `checkers.tla_values`; arguments of events are
  JSON by `statemachines.values`.
- A file says its format and version; what does not fit is refused with the place where it does not.
- Reading a file needs no machine and no checker: what was inferred is in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checkers.tla_values import normal

FORMAT, VERSION = "sluicegate-counterexample", 1


class CounterexampleError(ValueError):
    """A file that is no counterexample; says where it does not fit and how to get one that does."""


@dataclass(frozen=True, slots=True)
class Change:
    """A variable, or a part of one by its dotted path; `before` is empty for what was not there."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class MachineStep:
    """What a step of the model is to a machine: an event of the instance at `path`.

    `guessed` are the arguments that the two states do not determine. `follows` says whether the table,
    as it is declared now, leads from the one state to the other by this event.
    """

    path: str
    machine: str
    event: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    follows: bool = True

    def __str__(self) -> str:
        args = (f"{k}={_short(v)}{'?' if k in self.guessed else ''}" for k, v in self.arguments.items())
        return f"{self.event}({', '.join(args)})"


@dataclass(frozen=True, slots=True)
class Moment:
    """One step: the action (`Init` for the first), whom it concerns, what it changed, the state after it."""

    action: str
    state: Mapping[str, str]
    actors: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    events: tuple[MachineStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A behaviour of a model that breaks a property.

    `meaning` says the property in words. `constants` are the bounds, as TLA+ text. `machines` names
    those that are not this project's, as MODULE:CLASS. `loop` is the number of the step to which the
    last one leads back, and None where the behaviour ends; a behaviour that stutters leads back to its
    last step.
    """

    model: str
    module: str
    constants: Mapping[str, str]
    property: str
    meaning: str
    checker: str
    steps: tuple[Moment, ...]
    loop: int | None = None
    machines: tuple[str, ...] = ()

    def save(self, path: Path) -> None:
        """Write the file. Raises OSError."""
        path.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The file as text."""
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.model,
            "module": self.module,
            "constants": dict(self.constants),
            "property": self.property,
            "meaning": self.meaning,
            "checker": self.checker,
            "machines": list(self.machines),
            "loop": self.loop,
            "steps": [_moment_json(step) for step in self.steps],
        }


def load(path: Path) -> Counterexample:
    """Read a file. Raises CounterexampleError, OSError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        before = error.object[max(0, error.start - 40) : error.start]
        said = f"has half a surrogate, which is no character, after {before!r}"
        raise CounterexampleError(f"{path} {said}: save it anew with `check --save`") from error
    except (ValueError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise CounterexampleError(f"{path} is not JSON ({said}): save one with `check --save`") from error
    return _Reader(path).counterexample(data)


def _moment_json(step: Moment) -> dict[str, Any]:
    events = [
        {
            "path": e.path, "machine": e.machine, "event": e.event, "arguments": dict(e.arguments),
            "guessed": list(e.guessed), "follows": e.follows,
        }
        for e in step.events
    ]  # fmt: skip
    changes = [{"path": c.path, "before": c.before, "after": c.after} for c in step.changes]
    return {
        "action": step.action,
        "actors": list(step.actors),
        "events": events,
        "changes": changes,
        "state": dict(step.state),
    }


def _short(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case list():
            return "{" + ", ".join(map(_short, value)) + "}"
        case dict():
            return "{" + ", ".join(f"{k}: {_short(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)


class _Reader:
    """Reads one file, and believes nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, where: str, wanted: str) -> CounterexampleError:
        return CounterexampleError(f"{self.path}: {where} is not {wanted}: save it anew with `check --save`")

    def get(self, data: Any, where: str, name: str, *kinds: type) -> Any:
        place = f"{where}{name}"
        if not isinstance(data, dict) or name not in data:
            raise CounterexampleError(f"{self.path}: {place} is missing: save it anew with `check --save`")
        if type(data[name]) not in kinds:
            raise self.fail(place, " or ".join(k.__name__ for k in kinds))
        return data[name]

    def texts(self, data: Any, where: str, name: str) -> tuple[str, ...]:
        found = self.get(data, where, name, list)
        if not all(isinstance(item, str) for item in found):
            raise self.fail(f"{where}{name}", "a list of text")
        return tuple(found)

    def mapping(self, data: Any, where: str, name: str) -> dict[str, str]:
        found = self.get(data, where, name, dict)
        if not all(isinstance(value, str) for value in found.values()):
            raise self.fail(f"{where}{name}", "an object of text")
        return found

    def counterexample(self, data: Any) -> Counterexample:
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise CounterexampleError(f"{self.path} is no counterexample: save one with `check --save`")
        if data.get("version") != VERSION:
            said = f"{self.path} is of version {data.get('version')!r}, and this reads version {VERSION}"
            raise CounterexampleError(f"{said}: save it anew with `check --save`")
        words = {n: self.get(data, "", n, str) for n in ("model", "module", "property", "meaning", "checker")}
        steps = self.get(data, "", "steps", list)
        if not steps:
            raise self.fail("steps", "a list of at least one step")
        loop = self.get(data, "", "loop", int, type(None))
        if loop is not None and not 0 <= loop < len(steps):
            raise self.fail("loop", f"a step from 0 to {len(steps) - 1}")
        return Counterexample(
            **words,
            constants=self.mapping(data, "", "constants"),
            steps=tuple(self.moment(step, f"steps[{n}].") for n, step in enumerate(steps)),
            loop=loop,
            machines=self.texts(data, "", "machines"),
        )

    def moment(self, data: Any, where: str) -> Moment:
        state = self.mapping(data, where, "state")
        for name, text in state.items():
            try:
                normal(text)
            except (ValueError, RecursionError) as error:
                raise self.fail(f"{where}state.{name}", "a TLA+ value") from error
        return Moment(
            self.get(data, where, "action", str),
            state,
            self.texts(data, where, "actors"),
            tuple(
                self.change(change, f"{where}changes[{n}].")
                for n, change in enumerate(self.get(data, where, "changes", list))
            ),
            tuple(
                self.event(event, f"{where}events[{n}].")
                for n, event in enumerate(self.get(data, where, "events", list))
            ),
        )

    def change(self, data: Any, where: str) -> Change:
        path, before, after = (self.get(data, where, name, str) for name in ("path", "before", "after"))
        return Change(path, before, after)

    def event(self, data: Any, where: str) -> MachineStep:
        path, machine, event = (self.get(data, where, name, str) for name in ("path", "machine", "event"))
        arguments = self.get(data, where, "arguments", dict)
        guessed = self.texts(data, where, "guessed")
        return MachineStep(path, machine, event, arguments, guessed, self.get(data, where, "follows", bool))
