"""The values that a type takes in a small scope: as a set, as a test, and as a bound, in TLA+.

Rules of this file:

- A nat takes 0..bound of the field or argument that it is in; inside a record it is bound by the
  member's name. A sequence is as long as the bound of its field at most.
- "None, or ..." is written as an implication: in an action one checker evaluates both sides of an or.
- A test never builds the set that it tests: sets of functions are enumerated by one of the checkers.
"""

from __future__ import annotations

from ...statemachines.ir import Scope, Type
from .expressions import EMPTY_MAP, Names, bracketed, number, placed, quoted


def _bound(scope: Scope, name: str) -> str:
    with placed(f"the bound of {name}"):
        return number(scope.bound(name))


def domain(kind: Type, name: str, scope: Scope, names: Names) -> str:
    """The set of all values of an argument `name` of type `kind`."""
    match kind.kind:
        case "bool":
            return "BOOLEAN"
        case "nat":
            return f"0..{_bound(scope, name)}"
        case "enum":
            return "{" + ", ".join(map(quoted, kind.members)) + "}"
        case "id":
            return kind.name
        case "note":
            return '{""}'
        case "opt" | "seq":
            inner, bound = domain(kind.args[0], name, scope, names), names.fresh()
            return rf"({{<<>>}} \cup {{<<{bound}>> : {bound} \in {inner}}})"
        case "set":
            return f"SUBSET {bracketed(domain(kind.args[0], name, scope, names))}"
        case "map":
            key, value = (domain(t, name, scope, names) for t in kind.args)
            return rf"({{{EMPTY_MAP}}} \cup [{key} -> {value}])"
        case "record":
            members = zip(kind.members, kind.args, strict=True)
            return "[" + ", ".join(f"{m} : {domain(t, m, scope, names)}" for m, t in members) + "]"
    raise ValueError(f"no values are known for type {kind}")


def typed(text: str, kind: Type, scope: Scope, names: Names) -> str:
    """The test that the expression `text` has a value of type `kind`; nats are not bounded here."""
    match kind.kind:
        case "nat":
            return rf"{text} \in Nat"
        case "bool" | "enum" | "id" | "note":
            return rf"{text} \in {domain(kind, '', scope, names)}"
        case "opt":
            return f"({text} # <<>> => {typed(f'{text}[1]', kind.args[0], scope, names)})"
        case "set":
            bound = names.fresh()
            return rf"(\A {bound} \in {text} : {typed(bound, kind.args[0], scope, names)})"
        case "seq":
            bound = names.fresh()
            inner = typed(f"{text}[{bound}]", kind.args[0], scope, names)
            return rf"(\A {bound} \in 1..Len({text}) : {inner})"
        case "map":
            bound = names.fresh()
            key, value = kind.args
            tests = (typed(bound, key, scope, names), typed(f"{text}[{bound}]", value, scope, names))
            return rf"(\A {bound} \in DOMAIN {text} : " + r" /\ ".join(tests) + ")"
        case "record":
            members = zip(kind.members, kind.args, strict=True)
            tests = [typed(f"{text}.{m}", t, scope, names) for m, t in members]
            return "(" + r" /\ ".join(tests) + ")"
    raise ValueError(f"no test is known for type {kind}")


def bounded(text: str, kind: Type, name: str, scope: Scope, names: Names) -> str:
    """The test that no nat in the expression `text` is beyond its bound; empty if there is none."""
    match kind.kind:
        case "nat":
            return f"{text} <= {_bound(scope, name)}"
        case "opt":
            inner = bounded(f"{text}[1]", kind.args[0], name, scope, names)
            return inner and f"({text} # <<>> => {inner})"
        case "set":
            bound = names.fresh()
            inner = bounded(bound, kind.args[0], name, scope, names)
            return inner and rf"(\A {bound} \in {text} : {inner})"
        case "seq":
            bound = names.fresh()
            length = f"Len({text}) <= {_bound(scope, name)}"
            inner = bounded(f"{text}[{bound}]", kind.args[0], name, scope, names)
            return rf"({length} /\ \A {bound} \in 1..Len({text}) : {inner})" if inner else length
        case "map":
            bound = names.fresh()
            key, value = kind.args
            tests = (
                bounded(bound, key, name, scope, names),
                bounded(f"{text}[{bound}]", value, name, scope, names),
            )
            inner = r" /\ ".join(filter(None, tests))
            return inner and rf"(\A {bound} \in DOMAIN {text} : {inner})"
        case "record":
            members = zip(kind.members, kind.args, strict=True)
            tests = [bounded(f"{text}.{m}", t, m, scope, names) for m, t in members]
            inner = r" /\ ".join(filter(None, tests))
            return inner and f"({inner})"
        case _:
            return ""
