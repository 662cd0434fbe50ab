"""A machine explored alone: the module `MC<Machine>`, one action for each rule of each event.

Rules of this file:

- The variable `m` is the record of one instance. Every rule is an action of its own name, also those
  that ignore and refuse: their steps leave `m` as it is, and the graph shows where they apply.
- The state is tested before any argument is chosen, and only arguments that the rule reads are
  chosen, the others are 0: both are what makes the exploration fast.
- A step to a nat beyond its bound, or to a sequence longer than it, is not taken.
- Id sorts are constants; `constants` says which members the declared scope gives them.
"""

from __future__ import annotations

from ...statemachines.ir import Ir, Type
from .domains import bounded, domain, typed
from .expressions import Names
from .module import STANDARD, call, header, rule_name
from .properties import definitions
from .rules import Rule, arguments, rules


def sorts(ir: Ir) -> tuple[str, ...]:
    """The id sorts that the machine's fields and arguments use, in order of first use."""
    kinds = [f.type for f in ir.fields] + [f.type for e in ir.events for f in e.fields]
    return tuple(dict.fromkeys(name for kind in kinds for name in _sorts(kind)))


def _sorts(kind: Type) -> list[str]:
    return [kind.name] if kind.kind == "id" else [name for arg in kind.args for name in _sorts(arg)]


def constants(ir: Ir) -> dict[str, tuple[str, ...]]:
    """The members of each id sort, strings, as the machine's scope declares them."""
    return {sort: ir.scope.members(sort) for sort in sorts(ir)}


def emit_alone(ir: Ir, *, temporal: bool = True) -> str:
    """The module `MC<Machine>` with `Init`, `Next`, `Spec`, the invariant `TypeOK` and the declared properties.

    `Changes` is `Next` without the rules that leave the record as it is. Without `temporal` the
    properties over runs are left out.
    """
    names = Names()
    found = [rule for event in ir.events for rule in rules(ir, event)]
    blocks = [
        header(f"MC{ir.name}", ir, f"{ir.name}, {STANDARD}"),
        f"CONSTANTS {', '.join(sorts(ir))}\n" if sorts(ir) else "",
        "VARIABLE m\n",
        _init(ir, names),
        *(_action(ir, rule, names) for rule in found),
        _either("Changes", [rule_name(ir, rule) for rule in found if rule.changes]),
        _either("Next", ["Changes", *(rule_name(ir, rule) for rule in found if not rule.changes)]),
        "Spec == Init /\\ [][Next]_m\n",
        _typed(ir, names),
        *definitions(ir, names, temporal=temporal),
        "=" * 80 + "\n",
    ]
    return "\n".join(filter(None, blocks))


def _either(name: str, actions: list[str]) -> str:
    # What names no next state is a constant, and TLC takes none for a step.
    return f"{name} ==\n" + "\n".join(f"    \\/ {action}" for action in actions or ["FALSE /\\ UNCHANGED m"]) + "\n"


def _init(ir: Ir, names: Names) -> str:
    given = [f for f in ir.fields if f.given and f.type.kind != "note"]
    if not given:
        return f"Init == m = {ir.name}Init\n"
    chosen = [rf"{f.name} \in {domain(f.type, f.name, ir.scope, names)}" for f in given]
    initial = call(f"{ir.name}Init", tuple(f.name for f in given))
    return rf"Init == \E {', '.join(chosen)} : m = {initial}" + "\n"


def _action(ir: Ir, rule: Rule, names: Names) -> str:
    name, read, scope = rule_name(ir, rule), rule.reads(), ir.scope
    chosen, args = [], ["m"]
    for f in arguments(rule.event):
        args.append(f"a_{f.name}" if f.name in read else "0")
        if f.name in read:
            chosen.append(rf"a_{f.name} \in {domain(f.type, f.name, scope, names)}")
    when, after = call(f"{name}_when", tuple(args)), call(f"{name}_next", tuple(args))
    steps = [when, f"m' = {after}" if rule.changes else "UNCHANGED m"]
    for update in rule.branch.updates:
        kind = ir.field(update.field).type
        steps.append(bounded(f"m'.{update.field}", kind, update.field, scope, names))
    body = [f"/\\ {step}" for step in steps if step]
    lines = [f"{name} ==", f"    /\\ m.state \\in {name}_states"]
    if chosen:
        lines.append(f"    /\\ \\E {', '.join(chosen)} :")
        lines += [f"        {line}" for line in body]
    else:
        lines += [f"    {line}" for line in body]
    return "\n".join(lines) + "\n"


def _typed(ir: Ir, names: Names) -> str:
    tests = [f"m.state \\in {ir.name}States"]
    tests += [typed(f"m.{f.name}", f.type, ir.scope, names) for f in ir.fields if f.type.kind != "note"]
    return "TypeOK ==\n" + "\n".join(f"    /\\ {test}" for test in tests) + "\n"
