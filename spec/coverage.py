"""Which rules of the tables the system models take, from one run of each model.

Rules of this file:

- A rule is taken where TLC works out what follows by it in a reached state: in place of each event's
  operators a model gets ones that say so, once a rule. Guards and properties that only ask whether a
  rule applies do not count.
- A rule that changes or puts out something must be taken by a model of the whole, or stand in `ALONE`
  with the reason; then the contract of its steps must take it. Rules that only ignore or refuse are
  counted: the machine alone is judged for those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..statemachines.ir import Event, Ir
from .checkers import tlc
from .checkers.model import Model
from .emitter import emit
from .emitter.module import call, parameters, rule_name
from .emitter.rules import Rule, rules
from .models import SystemModel
from .models.steps import OF_STEPS

_KEPT = "two requests that are kept at once: in the full profile"
_STAGE = "a run of which one stage is done: nothing goes from one step to the next there"
_LENT = "a member that is dropped while devices are lent: in the full profile"

ALONE: dict[str, str] = {
    "Gate.Escalate.escalates": "no controller of the models escalates: which mode a drain has is a constant of each",
    "Gate.Escalate.escalates_draining": "as escalates",
    "Gate.Frozen.suspends": f"{_KEPT}, ranks-full",
    "Gate.Frozen.suspends_3": f"{_KEPT}, path-twice",
    "Gate.Frozen.thaws_older": f"{_KEPT}, path-twice",
    "Lease.GiveUp.to_lost": "an engine that never says what became of a request: in the full profile, path-doubt",
    "Run.Gathered.gathers_2": _STAGE,
    "Run.Gathered.gathers_3": _STAGE,
    "Run.Gathered.gathers_4": _STAGE,
    "Run.Restored.restores_4": _STAGE,
    "Run.Restored.restores_otherwise": _STAGE,
    "Run.Trained.trains_4": _STAGE,
    "Replica": "no model of the whole has probes: which replicas live is what happens to them there",
    "Agents": "no model of the whole has turns: a group in flight is all that is there of them",
    "Sync.Drop.drops_draining_3": f"{_LENT}, lend-pair",
    "Sync.Drop.drops_lent": f"{_LENT}, lend-pair",
}
"""Name of a rule that acts, `Gate.Seal.seals`, or of a table -> why no model of the whole takes it at each push."""

_ROOM = 1000
_TAKEN = re.compile(r'<<"taken", (\d+)>>')
_MODULE = """---- MODULE Taken ----
EXTENDS TLC
\\* The value, and the first time a word that rule n was taken.
Took(n, value) == IF TLCGet(n) THEN value
                  ELSE IF TLCSet(n, TRUE) /\\ PrintT(<<"taken", n>>) THEN value ELSE value
====
"""


class NotCovered(RuntimeError):
    """A model could not be run to its end; the message says which and why."""


@dataclass(slots=True)
class Coverage:
    """The rules of one table: those that act and those that do not; `taken` by models of the whole, `alone` by
    the contracts of steps."""

    machine: str
    acting: tuple[str, ...]
    idle: tuple[str, ...]
    taken: set[str] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[str]:
        """Rules that act and that no model of the whole takes."""
        return [name for name in self.acting if name not in self.taken]

    def reason(self, name: str) -> str:
        """Why no model of the whole takes a rule; empty if nothing is said."""
        return ALONE.get(name) or ALONE.get(self.machine, "")

    def troubles(self) -> Iterator[str]:
        """Why the models do not cover the table; nothing if they do."""
        for name in self.missing:
            if not self.reason(name):
                yield f"{name}: no model of the whole takes it, and spec/coverage.py does not say why"
            elif name not in self.alone:
                yield f"{name}: no model takes it, not even the contract of its steps"
        for name in sorted(self.taken & ALONE.keys()):
            yield f"{name}: is said never to be taken in spec/coverage.py, and is taken"


def coverage(models: Iterable[SystemModel], told: Callable[[str], None] = lambda name: None) -> list[Coverage]:
    """The tables that these models read, with the rules that they take; `told` hears each model's name.

    Models that must be violated are left out, and temporal properties are not asked. Raises NotCovered,
    CheckerMissing.
    """
    found: dict[str, Coverage] = {}
    for system in models:
        if system.violates or system.behaviours:
            continue
        told(system.name)
        model = system.model().safety_only()
        tables = [m.ir for m in system.machines if m.__name__ in model.modules]
        for ir in tables:
            found.setdefault(ir.name, _nothing(ir))
        for machine, rule in taken(model, tables):
            table = found[machine]
            (table.alone if system.name in OF_STEPS else table.taken).add(rule)
    return list(found.values())


def _nothing(ir: Ir) -> Coverage:
    every = [(name_of(ir, rule), _acts(rule)) for event in ir.events for rule in rules(ir, event)]
    return Coverage(ir.name, tuple(n for n, acts in every if acts), tuple(n for n, acts in every if not acts))


def name_of(ir: Ir, rule: Rule) -> str:
    """`Gate.Seal.seals`."""
    return f"{ir.name}.{rule.event.name}.{rule.name}"


def _acts(rule: Rule) -> bool:
    return rule.changes or bool(rule.branch.outputs)


def taken(model: Model, tables: Sequence[Ir]) -> list[tuple[str, str]]:
    """The rules of `tables` that one exploration of the model takes, as (machine, rule). Raises NotCovered."""
    names: dict[int, tuple[str, str]] = {}
    modules = {**model.modules, "Taken": _MODULE}
    for number, ir in enumerate(tables, start=1):
        modules[ir.name], numbered = instrumented(ir, number * _ROOM)
        names.update({n: (ir.name, name) for n, name in numbered.items()})
    heard: list[str] = []
    result = tlc.check(replace(model, modules=modules), heard=heard.append)
    if not result.ok:
        raise NotCovered(f"{model.name}: {result.verdict}: {result.violated or result.detail}")
    return [names[int(number)] for number in _TAKEN.findall("\n".join(heard))]


def instrumented(ir: Ir, first: int) -> tuple[str, dict[int, str]]:
    """The module of a table whose events say which rule is taken, and the rules by number, from `first`."""
    text = emit(ir).replace("EXTENDS Naturals, Sequences, FiniteSets", "EXTENDS Naturals, Sequences, FiniteSets, Taken")
    names: dict[int, str] = {}
    for event in ir.events:
        numbered = {first + len(names) + i: rule for i, rule in enumerate(rules(ir, event))}
        names.update({n: name_of(ir, rule) for n, rule in numbered.items()})
        for operator, value in ((f"{ir.name}{event.name}_step", _pair), (f"{ir.name}{event.name}", _after)):
            text = _redefined(text, operator, _cases(ir, event, numbered, value))
    begins = f"ASSUME \\A n \\in {first}..{first + len(names) - 1} : TLCSet(n, FALSE)\n"
    head, line, rest = text.partition("\n\n")
    return f"{head}\n\n{begins}{line}{rest}", names


def _redefined(text: str, operator: str, body: str) -> str:
    pattern = re.compile(rf"^({operator}(?:\([^)]*\))?) ==.*?(?=^\S)", re.MULTILINE | re.DOTALL)
    changed, times = pattern.subn(lambda found: f"{found[1]} ==\n    {body}\n", text)
    assert times == 1, operator
    return changed


def _cases(ir: Ir, event: Event, numbered: dict[int, Rule], value: Callable[[Ir, Rule, tuple[str, ...]], str]) -> str:
    params = parameters(ir, event)
    arms = [
        f"{call(f'{rule_name(ir, rule)}_when', params)} -> Took({number}, {value(ir, rule, params)})"
        for number, rule in numbered.items()
    ]
    return "CASE " + "\n      [] ".join(arms)


def _pair(ir: Ir, rule: Rule, params: tuple[str, ...]) -> str:
    if not _acts(rule):
        return "<<>>"
    outputs = call(f"{rule_name(ir, rule)}_out", params) if rule.branch.outputs else "<<>>"
    return f"<<{_after(ir, rule, params)}, {outputs}>>"


def _after(ir: Ir, rule: Rule, params: tuple[str, ...]) -> str:
    return call(f"{rule_name(ir, rule)}_next", params) if rule.changes else params[0]
