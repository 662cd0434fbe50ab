"""A declared machine run by the `transitions` library, the reference executor.

Rules of this file:

- `to_transitions` gives the reference executor: the same table, run by another library's rules of
  order, conditions and callbacks, with expressions read by `interpreter.py`.
- Values are worked out before the state changes and written after it: every expression reads the
  state before the step.
- The library is imported when it is needed: the core does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .imported import transitions_library
from .instances import Outcome, frozen
from .interpreter import evaluate
from .ir import TRUE, Branch, Node
from .machine import Event, Machine

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
    library = transitions_library().Machine(
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
