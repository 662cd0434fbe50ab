"""A counterexample as a Mermaid sequence chart: who tells whom, and what then stands where.

Rules of this file:

- An arrow into a machine is an event that it took; an open arrow is a message that was sent and has
  not arrived yet. What changed inside stands in a note.
- Participants appear under names of our own (`p0`, ...); what they are called is only ever a label.
"""

from __future__ import annotations

import re

from ...statemachines.diagram_text import mermaid_text
from ..checkers.tla_values import Function, parse, show
from . import actions
from .form import Change, Counterexample, MachineStep, Moment
from .make import actor_of
from .text import UNNAMED

_LONG = 60


def chart(example: Counterexample) -> str:
    """The chart as text."""
    drawn = _Chart(example)
    for number, step in enumerate(example.steps):
        if number == example.loop and number < len(example.steps) - 1:
            drawn.say("loop for ever")
        if number:
            drawn.step(number, step, example.steps[number - 1])
    if example.loop is not None and example.loop < len(example.steps) - 1:
        drawn.say("end")
    elif example.loop is not None:
        drawn.over("nothing happens any more")
    drawn.over(f"{example.property} fails{f': {example.meaning}' if example.meaning else ''}")
    head = ["sequenceDiagram"]
    head += [f"    participant {name} as {_label(called)}" for called, name in drawn.names.items()]
    return "\n".join([*head, *(f"    {line}" for line in drawn.body)]) + "\n"


class _Chart:
    def __init__(self, example: Counterexample) -> None:
        self.module = example.module
        self.names: dict[str, str] = {}
        self.body: list[str] = []
        self.own = _machines(example)
        self.controllers = [self.called(path) for path, machine in self.own.items() if machine == "Sync"]
        for path in sorted(self.own, key=lambda p: (self.own[p] != "Sync", p)):
            self.name(self.called(path))

    def name(self, called: str) -> str:
        return self.names.setdefault(called, f"p{len(self.names)}")

    def called(self, path: str) -> str:
        """The name of an instance, by its path."""
        return actor_of(tuple(path.split(".")), self.own[path])

    def say(self, line: str) -> None:
        self.body.append(line)

    def over(self, text: str) -> None:
        ends = list(self.names.values()) or [self.name("model")]
        self.say(f"Note over {','.join(dict.fromkeys((ends[0], ends[-1])))}: {_label(text)}")

    def step(self, number: int, step: Moment, before: Moment) -> None:
        meant = actions.meaning(self.module, step.action)
        for event in step.events:
            to = self.called(event.path)
            self.say(f"{self.name(self.sender(event, to))}->>{self.name(to)}: {_label(f'{number}. {event}')}")
        if not step.events:
            where = step.actors[0] if step.actors else "model"
            says = f"{number}. {step.action or UNNAMED}{f': {meant.says}' if meant.says else ''}"
            self.say(f"Note over {self.name(where)}: {_label(says)}")
        self.notes(step.changes)
        for message in _sent(before, step):
            body = ", ".join(f"{k}={show(v)}" for k, v in sorted(message.items()) if k not in ("to", "ev", "from"))
            label = _label(f"{message['ev']}({body}) sent" if "ev" in message else f"{body} sent")
            to, sender = self.name(str(message["to"])), self.from_whom(message, step)
            self.say(f"{self.name(sender)}-){to}: {label}" if sender else f"Note over {to}: {label}")

    def from_whom(self, message: Function, step: Moment) -> str:
        """Who has sent a message in a step; empty where the model does not say."""
        if "from" in message:
            return str(message["from"])
        if self.controllers:
            return self.controller(message.get("term"))
        return self.called(step.events[0].path) if len(step.events) == 1 else ""

    def sender(self, event: MachineStep, own: str) -> str:
        form = actions.SENDERS.get(f"{event.machine}.{event.event}", "{actor}")
        if form == "controller":
            return self.controller(event.arguments.get("term"))
        values = {key: str(value) for key, value in event.arguments.items()}
        return re.sub(r"\{(\w+)\}", lambda found: own if found[1] == "actor" else values.get(found[1], "?"), form)

    def controller(self, term: object) -> str:
        """The controller of a term, or the only one."""
        named = f"controller {term}"
        return named if named in self.controllers or len(self.controllers) != 1 else self.controllers[0]

    def notes(self, changes: tuple[Change, ...]) -> None:
        """What changed, a note at each participant whose it is."""
        told: dict[str, list[str]] = {}
        for change in changes:
            path = next((p for p in self.own if change.path.startswith(f"{p}.")), None)
            if path is not None:
                told.setdefault(self.called(path), []).append(_difference(change, path))
                continue
            beside = next((p for p in self.own if "." in p and change.path.startswith(f"{p.rpartition('.')[0]}.")), "")
            if beside:
                place = beside.rpartition(".")[0]
                engine = f"{self.called(beside)} engine" if self.own[beside] == "Gate" else self.called(beside)
                told.setdefault(engine, []).append(_difference(change, place))
        for called, texts in told.items():
            self.say(f"Note over {self.name(called)}: {'<br/>'.join(map(_label, texts))}")


def _machines(example: Counterexample) -> dict[str, str]:
    """The machine of every instance that some step moves, by path."""
    return {event.path: event.machine for step in example.steps for event in step.events}


def _sent(before: Moment, step: Moment) -> list[Function]:
    """Messages that are on their way after a step, and were not before."""
    found: list[Function] = []
    for name, text in step.state.items():
        value = parse(text)
        old = parse(before.state[name]) if name in before.state else frozenset()
        if isinstance(value, frozenset) and isinstance(old, frozenset):
            found += [m for m in value - old if isinstance(m, Function) and "to" in m]
    return sorted(found, key=show)


def _difference(change: Change, path: str) -> str:
    name = change.path.removeprefix(f"{path}.")
    text = f"{name}: {change.before} → {change.after}" if change.before else f"{name}: {change.after}"
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _label(text: str) -> str:
    """`end` as a word of its own would end a block of the chart."""
    return re.sub(r"\bend\b", "#101;nd", mermaid_text(text))
