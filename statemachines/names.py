"""The names that a machine and its parts may have: what Python, the language and TLA+ call something else.

Rules of this file:

- A name that one of them reads as something else is refused where it is declared, never renamed: what
  stands in a table is what traces, counterexamples and generated modules show.
- Generated modules put names together; no two of theirs may be one, and none a word of TLA+.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .ir import Field, Ir, Type
from .problems import report
from .scopes import parts_of, types_of

# fmt: off
RESERVED = frozenset({
    "arguments", "fields", "imported", "initial", "ir", "live", "Live", "machine", "of_values", "own", "replace",
    "scope", "snapshot", "Snapshot", "source", "state", "step", "values", "where",
})
"""Names of the language itself: of machines, instances and messages."""

HELPERS = frozenset({"frozenset", "set", "dict", "list", "tuple", "len", "max", "without"})
"""Names that compiled steps call, and that an event's argument would hide from them."""

MODULES = frozenset({
    "Bags", "FiniteSets", "Integers", "Json", "Naturals", "ProtoReals", "Randomization", "Reals", "RealTime",
    "Sequences", "TLC", "TLCExt", "Toolbox",
})
"""Modules that come with TLA+, and that a generated one must not hide."""

WORDS = frozenset({
    "ACTION", "ASSUME", "ASSUMPTION", "AXIOM", "BY", "CASE", "CHOOSE", "CONSTANT", "CONSTANTS", "COROLLARY", "DEF",
    "DEFINE", "DEFS", "DOMAIN", "ELSE", "ENABLED", "EXCEPT", "EXTENDS", "FALSE", "HAVE", "HIDE", "IF", "IN",
    "INSTANCE", "LAMBDA", "LEMMA", "LET", "LOCAL", "MODULE", "NEW", "OBVIOUS", "OMITTED", "ONLY", "OTHER", "PICK",
    "PROOF", "PROPOSITION", "PROVE", "QED", "RECURSIVE", "SF_", "STATE", "SUBSET", "SUFFICES", "TAKE", "TEMPORAL",
    "THEN", "THEOREM", "TRUE", "UNCHANGED", "UNION", "USE", "VARIABLE", "VARIABLES", "WF_", "WITH", "WITNESS",
    "BOOLEAN", "STRING",
})
"""Words of TLA+."""

OPERATORS = frozenset({
    "Append", "Cardinality", "Head", "Int", "Infinity", "IsFiniteSet", "Len", "Nat", "Real", "SelectSeq", "Seq",
    "SubSeq", "Tail",
    "Any", "Assert", "BagCardinality", "BagIn", "BagToSet", "BagUnion", "CopiesIn", "EmptyBag", "JavaTime",
    "Permutations", "Print", "PrintT", "RandomElement", "SetToBag", "SortSeq", "SubBag", "TLCEval", "TLCGet",
    "TLCSet", "ToString",
})
"""What the modules define that generated ones extend; and the words that tla-checker keeps to itself in all."""

EXPLORED = frozenset({"Changes", "Init", "Next", "Spec", "TypeOK", "m"})
"""What the module defines that explores a machine alone."""
# fmt: on

BOUND = re.compile(r"m|nokey|a_.*|bound\d+")
"""Names of variables in generated modules."""

_OF_RULES = ("", "_states", "_when", "_next", "_out")
_OF_EVENTS = ("", "_states", "_acts", "_step", "_rule", "_out", "_refused")


def snake(name: str) -> str:
    """CamelCase as snake_case: an event's method, an output's handler."""
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


def camel(name: str) -> str:
    """`not_drained` as `NotDrained`: a rule in the name of its operators."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def check_names(
    machine: str, states: Iterable[str], fields: Mapping[str, Any], events: Mapping[str, Any],
    bases: Iterable[str], outputs: Mapping[str, Any],
) -> None:  # fmt: skip
    """Report each name of a class body that is none; `bases` are events that others derive from."""
    methods: dict[str, str] = {}
    messages = {**events, **outputs}
    for k in (machine, *states, *fields, *messages):
        if not (k.isascii() and k.isidentifier()) or keyword.iskeyword(k):
            mend = "write it in ASCII letters, digits and underscores, as no word of Python"
            report(k, "is no name that a checker reads", mend, getattr(messages.get(k), "where", ""))
    if machine in MODULES | WORDS:
        report(machine, f"is a {'module' if machine in MODULES else 'word'} of TLA+", "give the machine another name")
    for k, field in fields.items():
        if keyword.iskeyword(k) or k != k.lower() or k.startswith("_"):
            report(k, "is no name for a field", "give it a lower-case name that is no keyword of Python")
        if field.is_given and BOUND.fullmatch(k):
            report(k, "is no name for a given field", "give it a name that is not m, nokey, a_... or bound1")
    for k in (e for e in events if e not in set(bases)):
        name = snake(k)
        if keyword.iskeyword(name) or name in RESERVED:
            report(k, f"needs the method {name}, a reserved name", "give the event another name", events[k].where)
        if name in fields:
            report(name, f"is a field and the method of event {k}", "rename one of the two", events[k].where)
        if name in methods:
            what = f"needs the method {name}, as event {methods[name]} does"
            report(k, what, "give one of the two another name", events[k].where)
        methods[name] = k
    for k, cls in messages.items():
        if not k[0].isupper():
            report(k, "is an event or output in lower case", "write its name in CamelCase", cls.where)
        if cls.__name__ != k:
            report(k, f"is the class {cls.__name__} under another name", "declare it under its own name", cls.where)
    for k, cls in outputs.items():
        if "out" in cls.arguments:
            report(f"{k}.out", "is what a record of outputs calls the output itself", "give it another name", cls.where)
    _check_types(fields, messages)


def _check_types(fields: Mapping[str, Any], messages: Mapping[str, Any]) -> None:
    named: dict[str, Type] = {}
    declared = [f.node.type for f in fields.values()] + [t for m in messages.values() for t in m.own.values()]
    for used in (part for t in declared for part in parts_of(t) if part.name):
        if named.setdefault(used.name, used) != used:
            report(used.name, "is the name of two types", "rename one of the two")
    for name, used in named.items():
        if used.kind == "id" and not (name.isascii() and name.isidentifier() and name[0].isupper()):
            report(name, "is no name for an id sort", "write it in CamelCase, in ASCII letters and digits")
        if used.kind == "id" and name in WORDS | OPERATORS | EXPLORED | MODULES:
            report(name, "is a word or an operator of TLA+, and no name for an id sort", "give it another name")


def check_generated(ir: Ir) -> None:
    """Report what the generated modules would call two things, or as TLA+ calls something."""
    taken = dict.fromkeys(WORDS | OPERATORS, "a word of TLA+") | dict.fromkeys(EXPLORED, "what explores the machine")
    told: set[tuple[str, str]] = set()
    for name, of, where in _generated(ir):
        if taken.setdefault(name, of) != of and (of, taken[name]) not in told:
            told.add((of, taken[name]))
            what = f"is called {name} in the generated modules, and so is {taken[name]}"
            report(of, what, "give one of the two another name", where)


def _generated(ir: Ir) -> Iterator[tuple[str, str, str]]:
    """Each name that the modules of a machine define, of what it is, and where that is declared."""
    m, first = ir.name, ir.name[0].lower()
    for sort in {part.name for _, t in types_of(ir) for part in parts_of(t) if part.kind == "id"}:
        yield sort, f"id sort {sort}", ir.where
    yield f"{m}Init", "how it begins", ir.where
    yield f"{m}States", "its states", ir.where
    for parameter in (f"{first}Init_{f.name}" for f in ir.fields if f.given):
        yield parameter, "a parameter of how it begins", ir.where
    for event in ir.events:
        own = f"event {event.name}"
        yield from ((f"{m}{event.name}{end}", own, ir.where) for end in _OF_EVENTS)
        yield from ((name, f"a parameter of {own}", ir.where) for name in _parameters(first, event.name, event.fields))
        yield from (
            (f"{word}_{event.name}", f"how far one relies on {own}", ir.where) for word in ("Fair", "Can", "Wide")
        )
        rules = {b.rule: b.where for cell in ir.cells if cell.event == event.name for b in cell.all() if b.rule}
        for rule, where in rules.items():
            yield from ((f"{m}{event.name}{camel(rule)}{end}", f"rule {rule} of {own}", where) for end in _OF_RULES)
    for claim in ir.properties:
        yield claim.name, f"property {claim.name}", claim.where
        yield f"Never_{claim.name}", f"property {claim.name}", claim.where
        yield f"Within_{claim.name}", f"property {claim.name}", claim.where


def _parameters(first: str, event: str, fields: Iterable[Field]) -> Iterator[str]:
    yield f"{first}{event}"
    yield from (f"{first}{event}_{f.name}" for f in fields)
