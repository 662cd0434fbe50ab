"""The one table of operators: op -> how it is written in Python, in TLA+ and for a reader.

Rules of this file:

- Every operator is total: it has a value for all arguments of its types, so no effect can fail.
- `{0}`, `{1}`, ... are the arguments, already rendered and parenthesised where they are not atoms.
- `{v}` is a fresh bound variable: unique in the generated module, since tla-checker captures
  operator parameters that share a name with a variable bound at the place of the call.
- `python` gives a new immutable value and may use only the helpers of `compiler.py`'s namespace.
- `inplace`, where an operator has one, mutates `{0}` (a live set, dict or list) as a statement.
- Opt is encoded in TLA+ as a sequence of length 0 or 1, a map as a function on its keys.
"""

# The table is read by its columns.
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operator:
    python: str
    tla: str
    display: str
    inplace: str = ""


# fmt: off
OPERATORS: dict[str, Operator] = {
    # bool
    "and":        Operator("{0} and {1}",              r"{0} /\ {1}",                 "{0} and {1}"),
    "or":         Operator("{0} or {1}",               r"{0} \/ {1}",                 "{0} or {1}"),
    "not":        Operator("not {0}",                  "~{0}",                        "not {0}"),
    "ite":        Operator("{1} if {0} else {2}",      "IF {0} THEN {1} ELSE {2}",    "{1} if {0} else {2}"),
    # any two of one type
    "eq":         Operator("{0} == {1}",               "{0} = {1}",                   "{0} = {1}"),
    "ne":         Operator("{0} != {1}",               "{0} # {1}",                   "{0} ≠ {1}"),
    # nat; monus stops at 0
    "lt":         Operator("{0} < {1}",                "{0} < {1}",                   "{0} < {1}"),
    "le":         Operator("{0} <= {1}",               "{0} <= {1}",                  "{0} ≤ {1}"),
    "add":        Operator("{0} + {1}",                "{0} + {1}",                   "{0} + {1}"),
    "monus":      Operator("max({0} - {1}, 0)",        "IF {0} > {1} THEN {0} - {1} ELSE 0", "{0} ∸ {1}"),
    "max":        Operator("max({0}, {1})",            "IF {0} > {1} THEN {0} ELSE {1}", "max({0}, {1})"),
    # opt
    "some":       Operator("{0}",                      "<<{0}>>",                     "some {0}"),
    "is_some":    Operator("{0} is not None",          "{0} # <<>>",                  "{0} is some"),
    "or_else":    Operator("{1} if {0} is None else {0}", "IF {0} = <<>> THEN {1} ELSE {0}[1]", "{0} or else {1}"),
    # set
    "in":         Operator("{0} in {1}",               r"{0} \in {1}",                "{0} ∈ {1}"),
    "set_empty":  Operator("not {0}",                  "{0} = {{}}",                  "{0} is empty"),
    "set_size":   Operator("len({0})",                 "Cardinality({0})",            "size of {0}"),
    "subset":     Operator("{0} <= {1}",               r"{0} \subseteq {1}",          "{0} ⊆ {1}"),
    "union":      Operator("frozenset({0} | {1})",     r"{0} \cup {1}",               "{0} ∪ {1}"),
    "minus":      Operator("frozenset({0} - {1})",     r"{0} \ {1}",                  "{0} ∖ {1}"),
    "set_add":    Operator("frozenset({0} | {{{1}}})", r"{0} \cup {{{1}}}",           "{0} with {1}",    "{0}.add({1})"),
    "set_remove": Operator("frozenset({0} - {{{1}}})", r"{0} \ {{{1}}}",              "{0} without {1}", "{0}.discard({1})"),
    # map
    "map_empty":  Operator("not {0}",                  "DOMAIN {0} = {{}}",           "{0} is empty"),
    "map_has":    Operator("{1} in {0}",               r"{1} \in DOMAIN {0}",         "{1} ∈ keys of {0}"),
    "map_get":    Operator("{0}.get({1})",             r"IF {1} \in DOMAIN {0} THEN <<{0}[{1}]>> ELSE <<>>", "{0}[{1}]"),
    "map_keys":   Operator("frozenset({0})",           "DOMAIN {0}",                  "keys of {0}"),
    "map_put":    Operator("{{**{0}, {1}: {2}}}",      r"[{v} \in DOMAIN {0} \cup {{{1}}} |-> IF {v} = {1} THEN {2} ELSE {0}[{v}]]", "{0} with {1} ↦ {2}", "{0}[{1}] = {2}"),
    "map_remove": Operator("without({0}, {1})",        r"[{v} \in DOMAIN {0} \ {{{1}}} |-> {0}[{v}]]", "{0} without {1}", "{0}.pop({1}, None)"),
    # seq
    "seq_empty":  Operator("not {0}",                  "{0} = <<>>",                  "{0} is empty"),
    "seq_size":   Operator("len({0})",                 "Len({0})",                    "length of {0}"),
    "seq_append": Operator("(*{0}, {1})",              "Append({0}, {1})",            "{0} then {1}",    "{0}.append({1})"),
    "seq_head":   Operator("({0}[0] if {0} else None)", "IF {0} = <<>> THEN <<>> ELSE <<Head({0})>>", "first of {0}"),
    "seq_tail":   Operator("tuple({0}[1:])",           "IF {0} = <<>> THEN <<>> ELSE Tail({0})", "rest of {0}"),
    # record: the arguments are the fields in order; get's value is the field's name
    "record":     Operator("(record)",                 "(record)",                    "(record)"),
    "get":        Operator("(get)",                    "(get)",                       "(get)"),
}
# fmt: on
