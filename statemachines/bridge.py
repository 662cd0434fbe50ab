"""Between a declared machine and the `transitions` library, in both directions.

Rules of this file:

- `to_transitions` gives the reference executor: the same table, run by another library's rules of
  order, conditions and callbacks, with expressions read by `interpreter.py`.
- Values are worked out before the state changes and written after it: every expression reads the
  state before the step.
- `from_transitions` takes over what the library has read (its own defaults and shorthands applied).
  What a table cannot say is refused, not guessed.
- The library is imported when it is needed: the core does not depend on it.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .expressions import Bool
from .instances import Outcome, frozen
from .interpreter import evaluate
from .ir import TRUE, Branch, Node
from .machine import Event, Machine
from .table import Guarded, Refuse, State, Table, choose, columns, go, ignore, row, stay

if TYPE_CHECKING:
    from transitions import Machine as Library

Evaluator = Callable[[Node], Callable[[Mapping[str, Any], Mapping[str, Any]], Any]]


def interpreted(node: Node) -> Callable[[Mapping[str, Any], Mapping[str, Any]], Any]:
    """A function of (fields, arguments) that walks `node`."""
    return lambda fields, arguments: evaluate(node, fields, arguments)


def to_transitions(machine: type[Machine], evaluator: Evaluator = interpreted) -> Library:
    """`machine` as a `transitions.Machine` without models; `Reference` instances are its models.

    Triggers are named as the events. Refusals and ignored events are internal transitions, so that
    every trigger succeeds in every state. `evaluator` turns expressions into functions.

    Raises:
        ImportError: `transitions` is not installed.
    """
    ir = machine.ir
    library = _library().Machine(
        model=None, states=list(ir.states), initial=ir.states[0], auto_transitions=False, send_event=True
    )
    for cell in ir.cells:
        for branch in cell.all():
            step = _Step(machine, branch, evaluator)
            library.add_transition(
                cell.event,
                cell.state,
                branch.target if branch.kind == "go" else None,
                conditions=[_condition(part, evaluator) for part in _conjuncts(branch.guard)],
                before=step.work_out,
                after=step.write,
            )
    return library


_reference = cache(to_transitions)


class Reference:
    """One instance run by `transitions`: `state`, `fields` (frozen values by name) and `step`."""

    def __init__(self, machine: type[Machine], library: Library | None = None, **given: Any) -> None:
        """A newborn instance; `library` is what `to_transitions(machine)` gave, by default one for all.

        Raises:
            ImportError: `transitions` is not installed.
        """
        self.machine = machine
        self.library = library or _reference(machine)
        self.state = machine.ir.states[0]
        self.fields = {f.name: frozen(f.type, given[f.name] if f.given else f.initial) for f in machine.ir.fields}
        self.values: dict[str, Any] = {}
        self.outcome: Outcome | None = None

    @classmethod
    def of_snapshot(cls, snapshot: Any) -> Reference:
        """An instance with the content of a snapshot."""
        machine = snapshot.machine
        fields = {f.name: getattr(snapshot, f.name) for f in machine.ir.fields}
        self = cls(machine, **{f.name: fields[f.name] for f in machine.ir.fields if f.given})
        self.state, self.fields = snapshot.state, fields
        return self

    def step(self, event: Event) -> Outcome:
        """Trigger `event`; what came of it."""
        self.outcome = None
        self.library.events[type(event).__name__].trigger(self, event)
        assert self.outcome is not None, f"no transition of {event!r} in {self.state}"
        return self.outcome

    def snapshot(self) -> Any:
        """The same content as a snapshot of the machine."""
        return self.machine.Snapshot.of_values(self.state, *self.fields.values())


class _Step:
    """What one branch does, as two callbacks of a transition."""

    def __init__(self, machine: type[Machine], branch: Branch, evaluator: Evaluator) -> None:
        self.branch = branch
        self.updates = [(u.field, evaluator(u.value)) for u in branch.updates]
        self.outputs = [(getattr(machine, e.output), [evaluator(v) for _, v in e.args]) for e in branch.outputs]

    def work_out(self, data: Any) -> None:
        fields, arguments = data.model.fields, data.args[0].__dict__
        outputs = tuple(cls.of_values(*(f(fields, arguments) for f in args)) for cls, args in self.outputs)
        b = self.branch
        data.model.values = {name: value(fields, arguments) for name, value in self.updates}
        data.model.outcome = Outcome(b.kind, b.rule, b.reason, b.text, b.retry, outputs)

    def write(self, data: Any) -> None:
        data.model.fields.update(data.model.values)


def _condition(node: Node, evaluator: Evaluator) -> Callable[[Any], bool]:
    value = evaluator(node)
    return lambda data: value(data.model.fields, data.args[0].__dict__)


def _conjuncts(guard: Node) -> tuple[Node, ...]:
    return () if guard == TRUE else guard.args if guard.op == "and" else (guard,)


def from_transitions(
    config: Library | Mapping[str, Any], name: str = "Imported", *, opaque: bool = False
) -> type[Machine]:
    """A machine of an existing `transitions` configuration, so that it can be checked.

    States become UPPER_CASE, triggers CamelCase events. A trigger without a transition in a state is
    refused there, or ignored where the configuration says so; one whose conditions all fail is
    ignored, as the library does. Callbacks are actions and no part of a table: they are left out, as
    are the automatic `to_<state>` triggers.

    Args:
        config: a `transitions.Machine`, or the keywords of one (`states`, `transitions`, `initial`).
        name: the name of the machine.
        opaque: take conditions, which are Python functions, as Bool arguments of their event: the
            machine then covers every answer that they could give.

    Raises:
        ImportError: `transitions` is not installed.
        ValueError: the configuration nests states, has no initial one, or has conditions while
            `opaque` is not set.
        DeclarationError: a name of the configuration cannot be one of a machine.
    """
    library = _read(config)
    if library.initial is None or library.initial not in library.states:
        raise ValueError(f"{name}: no initial state; give initial=...")
    order = [library.initial, *(s for s in library.states if s != library.initial)]
    triggers = {t: e for t, e in library.events.items() if not _is_automatic(t, library)}
    if not opaque and (asked := sorted({f"{t} asks {c}" for t, e in triggers.items() for c in _asked(e)})):
        raise ValueError(
            f"{name}: conditions are Python functions and cannot be read ({', '.join(asked)}); "
            f"pass opaque=True to take each as a Bool argument of its event"
        )
    states = {s: State() for s in order}
    illegal = Refuse("no transition from this state")
    rows: list[Any] = []
    events: dict[str, Any] = {}
    for trigger, declared in triggers.items():
        event = _event(_camel(trigger), _asked(declared))
        events[event.__name__] = event
        cells = []
        for state in order:
            quiet = library.states[state].ignore_invalid_triggers
            quiet = library.ignore_invalid_triggers if quiet is None else quiet
            found = declared.transitions.get(state, [])
            cells.append(_cell(found, event, states) if found else ignore if quiet else illegal)
        rows.append(row(event, *cells))

    def body(names: dict[str, Any]) -> None:
        names["__module__"] = module
        names["__doc__"] = f"The transitions configuration {library.name.removesuffix(': ') or name}."
        for state, declared in states.items():
            names[_upper(state)] = declared
        if any(illegal in r.cells for r in rows):
            names["no_transition"] = illegal
        for event_name, event in events.items():
            names[event_name] = event
        names["table"] = Table(columns(*states.values()), *rows)

    module = sys._getframe(1).f_globals.get("__name__", __name__)
    return types.new_class(name, (Machine,), exec_body=body)


def _read(config: Library | Mapping[str, Any]) -> Library:
    """The configuration as the library reads it."""
    from_library = _library()
    if isinstance(config, Mapping):
        nested = [s for s in config.get("states", ()) if isinstance(s, Mapping) and s.keys() & {"children", "parallel"}]
        if nested:
            raise ValueError(f"state {nested[0].get('name')!r} has states of its own; a table has none: flatten them")
        return from_library.Machine(**{**config, "model": None, "auto_transitions": False})
    if hasattr(config, "prefix_path"):  # the library's machines of nested states
        raise ValueError("a HierarchicalMachine has states within states; a table has none: flatten them")
    return config


def _is_automatic(trigger: str, library: Library) -> bool:
    return trigger.startswith("to_") and trigger[3:] in library.states


def _asked(event: Any) -> list[str]:
    """The names of all conditions of a trigger, in order, each once."""
    found = (_condition_name(c) for ts in event.transitions.values() for t in ts for c in t.conditions)
    return list(dict.fromkeys(found))


def _condition_name(condition: Any) -> str:
    name = condition.func if isinstance(condition.func, str) else getattr(condition.func, "__name__", "")
    return re.sub(r"\W+", "_", name).strip("_").lower() or "condition"


def _event(name: str, conditions: list[str]) -> type[Event]:
    def body(names: dict[str, Any]) -> None:
        names["__annotations__"] = dict.fromkeys(conditions, Bool)

    return types.new_class(name, (Event,), exec_body=body)


def _cell(found: list[Any], event: type[Event], states: dict[str, State]) -> Any:
    """The transitions of one trigger and source, each only if those before it do not apply."""
    branches: list[Guarded] = []
    before: list[Bool] = []
    for transition in found:
        action = go(states[transition.dest]) if transition.dest else stay()
        holds = None
        for condition in transition.conditions:
            answer = getattr(event, _condition_name(condition))
            answer = answer if condition.target else ~answer
            holds = answer if holds is None else holds & answer
        if holds is None:
            return choose(*(branches), orelse=action) if branches else action
        branches.append(action.when(holds, *(~b for b in before)))
        before.append(holds)
    return choose(*branches, orelse=ignore)


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+|_", name))


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", name).upper()


def _library() -> Any:
    try:
        import transitions
    except ImportError as error:
        raise ImportError(
            "this needs the transitions library: pip install 'sluicegate[dev]'", name="transitions"
        ) from error
    return transitions
