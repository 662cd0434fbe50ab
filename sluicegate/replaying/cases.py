"""A counterexample as a case for pytest: a file that drives the real machines and says what they do.

Rules of this file:

- A case is made by a replay, and asserts what the real machines did in it, to the step at which they
  leave the model. It is green as long as they still do.
- It stands by itself: no checker and no counterexample file is needed to run it.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from ..spec.counterexamples import Counterexample
from ..statemachines.instances import frozen
from .replay import Given, Replay, Replayed, replay
from .telling import shown, verdict

WIDTH = 110


def case(example: Counterexample, machines: Sequence[Any] = ()) -> str:
    """The text of a test module. Raises ReplayError as `replay` does."""
    return _Writer(replay(example, machines)).module()


class _Writer:
    def __init__(self, done: Replay) -> None:
        self.done = done
        self.imports: set[tuple[str, str]] = {("sluicegate.replaying.stage", "Stage")}
        self.names: dict[str, str] = {}

    def module(self) -> str:
        example = self.done.example
        body = [line for step in self.done.steps for line in self.step(step)]
        bounds = ", ".join(f"{name} = {value}" for name, value in example.constants.items())
        says = f"{example.property} fails{f': {example.meaning}' if example.meaning else ''}"
        found = f"Found by {example.checker} in {example.module}{f' with {bounds}' if bounds else ''}."
        ending = f"As this was written, {verdict(self.done)}."
        doc = "\n\n".join(textwrap.fill(_plain(t), WIDTH) for t in (f"{example.model}: {says}", found, ending))
        modules: dict[str, list[str]] = {}
        for module, name in sorted(self.imports):
            modules.setdefault(module, []).append(name)
        imports = "\n".join(f"from {module} import {', '.join(names)}" for module, names in modules.items())
        name = re.sub(r"[^0-9a-z]+", "_", f"{example.model} {example.property}".lower()).strip("_")
        text = textwrap.indent("\n".join(body).strip("\n"), " " * 8, lambda line: bool(line.strip()))
        return f'"""{doc}\n"""\n\n{imports}\n\n\ndef test_{name}() -> None:\n    with Stage() as stage:\n{text}\n'

    def step(self, step: Replayed) -> Iterator[str]:
        yield ""
        if step.number:
            yield f"# {step.number}. {_plain(step.title)}"
        for given in step.given:
            yield from self.given(given)
        for name, snapshot in step.begun:
            yield from self.begun(name, snapshot)

    def begun(self, name: str, snapshot: Any) -> Iterator[str]:
        machine = snapshot.machine
        fields = [f for f in machine.ir.fields if f.type.kind != "note"]
        told = [f for f in fields if f.given or getattr(snapshot, f.name) != frozen(f.type, f.initial)]
        args = [self.value(machine), _quoted(name), _quoted(snapshot.state)]
        args += [f"{f.name}={self.value(getattr(snapshot, f.name))}" for f in told]
        yield from _call(f"{self.name(name)} = stage.machine(", args, ")")

    def given(self, given: Given) -> Iterator[str]:
        machine, event, outcome, name = type(given.after).machine, given.event, given.outcome, self.name(given.actor)
        fields = machine.ir.event(type(event).__name__).fields
        args = [f"{f.name}={self.value(getattr(event, f.name))}" for f in fields]
        yield from _call(f"outcome = {name}.step({self.value(machine)}.{type(event).__name__}(", args, "))")
        if outcome.kind == "refuse":
            yield f'assert (outcome.kind, outcome.reason) == ("refuse", {_quoted(outcome.reason)})'
        else:
            yield f'assert (outcome.kind, outcome.rule) == ("{outcome.kind}", {_quoted(outcome.rule)})'
        names = ["state", *(f.name for f in machine.ir.fields if f.type.kind != "note")]
        model = {field: wanted for field, _, wanted in given.differences}
        for field in names:
            now = getattr(given.after, field)
            if field in model or now != getattr(given.before, field):
                remark = f"  # the model has {_plain(shown(model[field]))}" if field in model else ""
                yield f"assert {name}.{field} {_equals(now)} {self.value(now)}{remark}"
        if given.told:
            yield f"assert {name}.told() == [{', '.join(map(_quoted, given.told))}]"

    def name(self, actor: str) -> str:
        """The variable of an actor."""
        if actor not in self.names:
            base = re.sub(r"\W+", "_", actor).strip("_").lower() or "actor"
            base = (
                f"the_{base}" if base[0].isdigit() or keyword.iskeyword(base) or base in ("stage", "outcome") else base
            )
            taken = set(self.names.values())
            self.names[actor] = next(n for n in (base, *(f"{base}_{i}" for i in range(2, 999))) if n not in taken)
        return self.names[actor]

    def value(self, value: Any) -> str:
        """Source text of a value; what it needs is imported."""
        match value:
            case type():
                self.imports.add((value.__module__, value.__qualname__.partition(".")[0]))
                return value.__qualname__
            case Enum():
                return f"{self.value(type(value))}.{value.name}"
            case frozenset():
                return "frozenset({" + ", ".join(sorted(map(self.value, value))) + "})" if value else "frozenset()"
            case tuple():
                return "(" + "".join(f"{self.value(item)}, " for item in value).rstrip() + ")"
            case dict():
                pairs = sorted(value.items(), key=str)
                return "{" + ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in pairs) + "}"
            case None | bool() | int():
                return repr(value)
            case str():
                return _quoted(value)
            case _:
                members = value.__dict__.items()
                return f"{self.value(type(value))}({', '.join(f'{k}={self.value(v)}' for k, v in members)})"


def _call(head: str, args: list[str], tail: str) -> Iterator[str]:
    one = f"{head}{', '.join(args)}{tail}"
    if len(one) <= WIDTH:
        yield one
        return
    yield head
    yield from (f"    {arg}," for arg in args)
    yield tail


def _plain(text: str) -> str:
    """Text that ends no comment and no docstring."""
    return " ".join(text.split()).replace("\\", "/").replace('"', "'")


def _quoted(text: str) -> str:
    return json.dumps(str(text), ensure_ascii=False)


def _equals(value: Any) -> str:
    return "is" if value is None or isinstance(value, bool) else "=="
