"""A counterexample on the real machines: step by step, where they follow and where they do not.

Rules of this file:

- Machines are set up as they stand in the first state, and then only given events: what they become
  is theirs, and is compared with what the model says.
- A replay ends at the first step that a real machine does not take as the model does: from there on
  it is another behaviour.
- What is no event of a machine (a device, the network, a process that ends) is said and passed over;
  a machine that then stands elsewhere is set up anew, as another life of its process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..runtime.controller.converge import converge
from ..spec.checkers.tla_values import Function, parse
from ..spec.counterexamples import Counterexample, MachineStep, Moment
from ..spec.counterexamples.actions import STORED, meaning
from ..spec.counterexamples.make import actor_of
from ..spec.counterexamples.records import Path, instances
from ..spec.counterexamples.text import title
from ..statemachines.compiler import Outcome
from ..statemachines.machines import MACHINES
from ..statemachines.values import decode
from .stage import Actor, Stage

Kind = Literal["follows", "refuses", "differs"]


class ReplayError(ValueError):
    """A counterexample that cannot be replayed; says why and how to mend it."""


@dataclass(frozen=True, slots=True)
class Given:
    """An event given to a real machine, and what came of it.

    `after` is the real machine's snapshot, `wanted` the model's: None where the model's step goes on with
    another event. `told` is what the machine had done.
    """

    actor: str
    event: Any
    outcome: Outcome
    before: Any
    after: Any
    wanted: Any
    told: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        acts = self.outcome.kind in ("go", "stay")
        if self.after == self.wanted or (self.wanted is None and acts):
            return "follows"
        return "differs" if acts else "refuses"

    @property
    def differences(self) -> list[tuple[str, Any, Any]]:
        """The fields in which the real machine stands elsewhere than the model's: name, real, model's."""
        if self.wanted is None:
            return []
        names = ("state", *(f.name for f in self.after.fields if f.type.kind != "note"))
        pairs = [(n, getattr(self.after, n), getattr(self.wanted, n)) for n in names]
        return [(name, real, model) for name, real, model in pairs if real != model]


@dataclass(slots=True)
class Replayed:
    """One step: what it is in the model, the events that it gave, machines set up anew, and remarks."""

    number: int
    action: str
    title: str
    given: list[Given] = field(default_factory=list)
    begun: list[tuple[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def diverges(self) -> bool:
        return any(given.kind != "follows" for given in self.given)


@dataclass(slots=True)
class Replay:
    """What came of a counterexample. `steps` end at the first that the real machines do not follow."""

    example: Counterexample
    steps: list[Replayed] = field(default_factory=list)

    @property
    def follows(self) -> bool:
        """Whether the real machines took every step as the model did."""
        return not any(step.diverges for step in self.steps)


def replay(example: Counterexample, machines: Sequence[Any] = ()) -> Replay:
    """Run a counterexample on the real machines, those of this project and `machines`.

    Not inside a running event loop. Raises ReplayError where there is no machine to replay on, or an
    event that its machine does not have.
    """
    every = (*machines, *MACHINES)
    states = [{name: parse(text) for name, text in step.state.items()} for step in example.steps]
    stand = [instances(state, every) for state in states]
    if not any(stand):
        raise ReplayError(f"{example.model} has no machine in its states: name those it is made of, as MODULE:CLASS")
    done = Replay(example)
    with Stage() as stage:
        run = _Run(example, {m.__name__: m for m in reversed(every)}, stage)
        for number, (step, state, now) in enumerate(zip(example.steps, states, stand, strict=True)):
            replayed = run.step(number, step, state, now)
            done.steps.append(replayed)
            if replayed.diverges:
                break
    return done


class _Run:
    def __init__(self, example: Counterexample, machines: Mapping[str, Any], stage: Stage) -> None:
        self.example, self.machines, self.stage = example, machines, stage
        self.actors: dict[Path, Actor] = {}
        self.messages: frozenset[Any] = frozenset()

    def step(
        self, number: int, step: Moment, state: Mapping[str, Any], now: Mapping[Path, tuple[Any, Any]]
    ) -> Replayed:
        replayed = Replayed(number, step.action, title(self.example.module, step))
        moved = {tuple(event.path.split(".")) for event in step.events}
        for at, event in enumerate(step.events):
            goes_on = any(later.path == event.path for later in step.events[at + 1 :])
            replayed.given.append(self.give(number, event, now, goes_on))
            if replayed.diverges:
                return replayed
        for path, (machine, snapshot) in now.items():
            if path[-1] in STORED or path in moved:
                continue
            actor = self.actors.get(path)
            if actor is None or actor.now != snapshot:
                self.begin(path, machine, snapshot, replayed)
        self.advise(state, replayed)
        return replayed

    def begin(self, path: Path, machine: Any, snapshot: Any, replayed: Replayed) -> None:
        name = actor_of(path, machine.__name__)
        if path in self.actors and not meaning(self.example.module, replayed.action).begins:
            replayed.remarks.append(f"no event of {machine.__name__} explains what became of {name}")
        self.actors[path] = self.stage.put(name, snapshot)
        replayed.begun.append((name, snapshot))

    def give(self, number: int, step: MachineStep, now: Mapping[Path, tuple[Any, Any]], goes_on: bool) -> Given:
        path = tuple(step.path.split("."))
        where = f"step {number} of {self.example.model}"
        if path not in self.actors or path not in now:
            raise ReplayError(f"{where}: there is no machine at {step.path}: save it anew with `check --save`")
        actor, event = self.actors[path], event_of(self.machines, step, where)
        before = actor.now
        outcome = actor.step(event)
        return Given(
            actor.name, event, outcome, before, actor.now, None if goes_on else now[path][1], tuple(actor.told())
        )

    def advise(self, state: Mapping[str, Any], replayed: Replayed) -> None:
        """What `converge` says of a gate to which the controller has just sent something."""
        on_the_way = frozenset(m for v in state.values() if isinstance(v, frozenset) for m in v if _is_message(m))
        sent, self.messages = on_the_way - self.messages, on_the_way
        if replayed.number == 0 or replayed.given:
            return
        gates = {a.name: a for a in self.actors.values() if a.now.machine.__name__ == "Gate"}
        syncs = [(path, a.now) for path, a in self.actors.items() if a.now.machine.__name__ == "Sync"]
        for message in sorted(sent, key=str):
            gate = gates.get(str(message["to"]))
            term = message.get("term")
            ruling = next(((p, s) for p, s in syncs if term is None or s.term == term), None)
            if gate is None or ruling is None or ruling[1].published is None:
                continue
            path, sync = ruling
            epoch = _beside(state, path).get("epoch", _beside(state, path).get("counter", sync.epoch))
            advice = converge(gate.now, sync.published, epoch, is_durable=message["ev"] != "Poison")
            said = str(advice.next)
            replayed.remarks.append(
                f"converge says {said} of {gate.name}"
                + ("" if said == message["ev"].lower() else f", and {message['ev']} is sent")
            )


def event_of(machines: Mapping[str, Any], step: MachineStep, where: str) -> Any:
    """The event that a step names. Raises ReplayError where its machine has none such."""
    machine = machines.get(step.machine)
    if machine is None:
        raise ReplayError(f"{where}: there is no machine {step.machine}: its module must be there to be imported")
    known = {event.name: event for event in machine.ir.events}
    if step.event not in known:
        raise ReplayError(f"{where}: {step.machine} has no event {step.event}: check the model against this table")
    fields = known[step.event].fields
    wanted = {f.name for f in fields if f.type.kind != "note"}
    if step.arguments.keys() != wanted:
        raise ReplayError(f"{where}: {step.event} takes {', '.join(sorted(wanted)) or 'no arguments'}")
    try:
        values = {
            f.name: "" if f.type.kind == "note" else decode(f.type, step.arguments[f.name], f.name) for f in fields
        }
    except ValueError as error:
        raise ReplayError(f"{where}: {step.event}: {error}") from error
    return getattr(machine, step.event)(**values)


def _is_message(value: Any) -> bool:
    return isinstance(value, Function) and {"to", "ev"} <= set(value)


def _beside(state: Mapping[str, Any], path: Path) -> Mapping[Any, Any]:
    """The record that holds the machine at a path, and what stands beside it."""
    value: Any = state[path[0]]
    for part in path[1:-1]:
        value = value[int(part) - 1] if isinstance(value, tuple) else value[part]
    return value if isinstance(value, Function) else {}
