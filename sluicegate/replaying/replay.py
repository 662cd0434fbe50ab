"""A counterexample on the real machines: step by step, where they follow and where they do not.

Rules of this file:

- Machines are set up as they stand in the first state, and then only given events: what they become
  is theirs, and is compared with what the model says.
- A replay ends at the first step that a real machine does not take as the model does: from there on
  it is another behaviour.
- What is no event of a machine (a device, the network, a process that ends) is said and passed over.
  Where a process begins, its machines are set up anew; elsewhere a machine moves by its events alone.
- A file is believed in nothing that can be asked here: what no event explains is not followed, nor is a
  file that gives no event to any machine, nor that of a machine alone whose property holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..runtime.controller.converge import converge
from ..spec.checkers import DEADLOCK
from ..spec.checkers.tla_values import Function, parse
from ..spec.counterexamples import Counterexample, MachineStep, Moment
from ..spec.counterexamples.actions import STORED, meaning
from ..spec.counterexamples.make import actor_of
from ..spec.counterexamples.records import Path, instances
from ..spec.counterexamples.text import title
from ..spec.models import MODELS
from ..statemachines.compiler import Outcome, predicate
from ..statemachines.ir import Property
from ..statemachines.machines import MACHINES
from ..statemachines.values import decode
from .stage import Actor, Stage

Kind = Literal["follows", "refuses", "differs"]
ANEW = "save it anew with `check --save`"


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
    """One step: what it is in the model, the events that it gave, machines set up anew, and remarks.

    `unexplained` says of each machine that stands elsewhere, by no event, where it does.
    """

    number: int
    action: str
    title: str
    given: list[Given] = field(default_factory=list)
    begun: list[tuple[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)

    @property
    def diverges(self) -> bool:
        return bool(self.unexplained) or any(given.kind != "follows" for given in self.given)


@dataclass(slots=True)
class Replay:
    """What came of a counterexample. `steps` end at the first that the real machines do not follow.

    `newborn`: it begins with a machine alone as that is born, so that one without steps shows something too.
    `holds`: the machine's property is not broken by the steps, although all are followed.
    """

    example: Counterexample
    steps: list[Replayed] = field(default_factory=list)
    newborn: bool = False
    holds: bool = False

    @property
    def empty(self) -> bool:
        """Whether no real machine was given anything, so that nothing is shown of what they do."""
        return not any(step.given for step in self.steps) and not (self.newborn and len(self.example.steps) == 1)

    @property
    def follows(self) -> bool:
        """Whether the real machines took every step as the model did, and that shows what the file says."""
        return not (any(step.diverges for step in self.steps) or self.empty or self.holds)


def replay(example: Counterexample, machines: Sequence[Any] = ()) -> Replay:
    """Run a counterexample on the real machines, those of this project and `machines`.

    Not inside a running event loop. Raises ReplayError where there is no machine to replay on, an event
    that its machine does not have, or a property that the machine or this project's model does not claim.
    """
    every = (*machines, *MACHINES)
    states = [{name: parse(text) for name, text in step.state.items()} for step in example.steps]
    stand = [instances(state, every) for state in states]
    if not any(stand):
        raise ReplayError(f"{example.model} has no machine in its states: name those it is made of, as MODULE:CLASS")
    alone = _alone(example, stand)
    claim = _claim(example, alone)
    done = Replay(example, newborn=alone is not None)
    with Stage() as stage:
        run = _Run(example, {m.__name__: m for m in reversed(every)}, stage)
        for number, (step, state, now) in enumerate(zip(example.steps, states, stand, strict=True)):
            replayed = run.step(number, step, state, now)
            done.steps.append(replayed)
            if number == 0 and alone is not None and not _born(stand[0]):
                replayed.unexplained.append(f"no {alone.__name__} is born as the first step has it")
            if replayed.diverges:
                return done
    if claim is not None:
        run_of = [snapshot for now in stand for _, snapshot in now.values()]
        done.holds = not _broken(claim, alone, run_of, example.loop)
    return done


def _alone(example: Counterexample, stand: Sequence[Mapping[Path, tuple[Any, Any]]]) -> Any:
    """The machine of which alone an example is, or None. Raises ReplayError for a step that does not have it."""
    machine = next((m for m, _ in stand[0].values() if example.module == f"MC{m.__name__}"), None)
    if machine is not None:
        for number, now in enumerate(stand):
            if [m for m, _ in now.values()] != [machine]:
                raise ReplayError(f"step {number} of {example.model} is no {machine.__name__}: {ANEW}")
    return machine


def _claim(example: Counterexample, alone: Any) -> Property | None:
    """The property that a machine alone breaks. Raises ReplayError for a name that nothing here claims."""
    if alone is not None:
        claims = {claim.name: claim for claim in alone.ir.properties}
        if example.property not in claims:
            known = ", ".join(claims) or "none"
            raise ReplayError(f"{alone.__name__} has no property {example.property}, it has {known}: {ANEW}")
        return claims[example.property]
    for system in MODELS:
        if (system.name, system.module) == (example.model, example.module):
            known = (*system.properties, DEADLOCK)
            if example.property not in known:
                raise ReplayError(f"{system.name} has no property {example.property}, it has {known[0]}: {ANEW}")
    return None


def _born(now: Mapping[Path, tuple[Any, Any]]) -> bool:
    ((machine, snapshot),) = now.values()
    given = {f.name: getattr(snapshot, f.name) for f in machine.ir.fields if f.given}
    return machine.initial(**given) == snapshot


def _broken(claim: Property, machine: Any, run: Sequence[Any], loop: int | None) -> bool:
    """Whether a run of snapshots, of which the last leads back to `loop`, breaks a property."""
    asks = predicate(machine, claim.condition)
    if claim.kind != "leads_to":
        return asks(run[-1]) is (claim.kind == "never")
    assert claim.then is not None
    kept = predicate(machine, claim.then)
    open_ = next((n for n in reversed(range(len(run))) if kept(run[n])), -1) + 1
    if loop is not None and loop < open_:
        return False
    return any(asks(snapshot) for snapshot in run[open_:])


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
        gone = [path for path in self.actors if path not in now]
        if not meaning(self.example.module, step.action).begins:
            replayed.unexplained += [f"no event takes {self.actors[path].name} away" for path in gone]
        self.advise(state, replayed)
        return replayed

    def begin(self, path: Path, machine: Any, snapshot: Any, replayed: Replayed) -> None:
        name = actor_of(path, machine.__name__)
        if path in self.actors and not meaning(self.example.module, replayed.action).begins:
            replayed.unexplained.append(f"no event of {machine.__name__} explains what became of {name}")
        self.actors[path] = self.stage.put(name, snapshot)
        replayed.begun.append((name, snapshot))

    def give(self, number: int, step: MachineStep, now: Mapping[Path, tuple[Any, Any]], goes_on: bool) -> Given:
        path = tuple(step.path.split("."))
        where = f"step {number} of {self.example.model}"
        if path not in self.actors or path not in now:
            raise ReplayError(f"{where}: there is no machine at {step.path}: {ANEW}")
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
