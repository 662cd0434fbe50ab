"""The operators of one machine as a TLA+ module.

Rules of this file:

- Everything is a pure operator over the record of one instance and the arguments of one event, so
  that a system model can keep as many instances as it likes, wherever it likes.
- All operators of one event share the names of their parameters (`gSeal`, `gSeal_epoch`) and hand
  them on unchanged and in place. tla-checker puts arguments in by name, one after another: a
  parameter with the name of something in an argument would be mistaken for it.
- A rule is written once. The event as a whole is a CASE over its rules, which exclude each other.
"""

from __future__ import annotations

import textwrap
from collections import Counter

from ...statemachines.ir import Event, Ir
from ..checkers.source import definitions, without_comments
from .expressions import EmitError, Names, bracketed, denied, literal, parts, placed, render
from .rules import Condition, Place, Rule, arguments, camel, rules

WIDTH = 110
STANDARD = "Naturals, Sequences, FiniteSets"


def header(module: str, ir: Ir, extends: str) -> str:
    """The first lines of a generated module."""
    made = f"\\* Made by `sluicegate generate` from the machine {ir.name}; do not edit."
    return f"{made}\n{f' MODULE {module} ':-^80}\nEXTENDS {extends}\n"


def comment(text: str) -> str:
    """`text` as TLA+ line comments, wrapped; paragraphs are kept."""
    lines: list[str] = []
    for paragraph in textwrap.dedent(text).strip().split("\n\n"):
        lines += [*textwrap.wrap(paragraph, WIDTH - 3), ""]
    return "\n".join(f"\\* {line}".rstrip() for line in lines[:-1]) + "\n"


def emit(ir: Ir) -> str:
    """The module `<Machine>` of operators. Raises EmitError where two names would be one, and for a value that not
    every checker reads."""
    names = Names()
    blocks = [_event(ir, event, names) for event in ir.events]
    text = "\n".join([header(ir.name, ir, STANDARD), _preamble(ir), _init(ir), *blocks, "=" * 80]) + "\n"
    defined = Counter(definitions(without_comments(text)))
    twice = sorted(name for name, count in defined.items() if count > 1)
    if twice:
        raise EmitError(f"{ir.name}: generated names are used twice: {', '.join(twice)}; rename a rule or event")
    return text


def parameters(ir: Ir, event: Event) -> tuple[str, ...]:
    """The parameters of all operators of an event: the record, then the arguments."""
    record = record_name(ir, event)
    return (record, *(f"{record}_{f.name}" for f in arguments(event)))


def record_name(ir: Ir, event: Event) -> str:
    return f"{ir.name[0].lower()}{event.name}"


def call(name: str, params: tuple[str, ...]) -> str:
    return f"{name}({', '.join(params)})"


def rule_name(ir: Ir, rule: Rule) -> str:
    """`GateSealSeals`: the rule `seals` of the event `Seal`."""
    return f"{ir.name}{rule.event.name}{camel(rule.name)}"


def state_set(states: tuple[str, ...]) -> str:
    return "{" + ", ".join(f'"{s}"' for s in states) + "}"


def _preamble(ir: Ir) -> str:
    m = ir.name
    usage = f"""
        For an event E and a rule R of it, over the record of an instance before the step and the
        event's arguments:

        {m}ER_states: the states in which R can apply; {m}ER_when: R applies; {m}ER_next: the record
        after it (absent where R leaves it as it is); {m}ER_out: what is to be done then, in order
        (absent where that is nothing).

        For the event as a whole: {m}E_states: the states in which it can change or emit something; {m}E_acts:
        it does so now; {m}E_step: then the record after it and what is to be done, a pair, else the empty
        sequence; {m}E: the record after it in any case; {m}E_out: what is to be done; {m}E_rule: the name
        of the rule that applies; {m}E_refused: whether it is refused.
    """
    return comment(ir.doc or ir.name) + "\n" + comment(usage)


def _init(ir: Ir) -> str:
    given = tuple(f"{ir.name[0].lower()}Init_{f.name}" for f in ir.fields if f.given and f.type.kind != "note")
    values = [f'state |-> "{ir.states[0]}"']
    for f in ir.fields:
        if f.type.kind != "note":
            with placed(f"{ir.name}.{f.name}"):
                value = f"{ir.name[0].lower()}Init_{f.name}" if f.given else literal(f.type, f.initial)
            values.append(f"{f.name} |-> {value}")
    name = call(f"{ir.name}Init", given) if given else f"{ir.name}Init"
    return (
        f"{ir.name}States == {state_set(ir.states)}\n\n"
        f"\\* The record of an instance that was just born.\n{_definition(name, _record(values))}"
    )


def _record(members: list[str]) -> str:
    return _broken("[", members, "]")


def _broken(start: str, members: list[str], end: str) -> str:
    """`start` members `end`: on one line, or a line for each member."""
    one = start + ", ".join(members) + end
    if len(one) < WIDTH - 8:
        return one
    return start + (",\n" + " " * len(start)).join(members) + end


def _definition(head: str, body: str) -> str:
    if "\n" not in body and len(head) + len(body) + 4 <= WIDTH:
        return f"{head} == {body}\n"
    return f"{head} ==\n{textwrap.indent(body, '    ')}\n"


def _event(ir: Ir, event: Event, names: Names) -> str:
    found = rules(ir, event)
    title = f"{event.name}({', '.join(f.name for f in event.fields)})"
    blocks = [f"\n\\* {f'{title} ':-<{WIDTH - 3}}\n"]
    if event.doc:
        blocks[0] += comment(event.doc)
    for rule in found:
        with placed(f"{ir.name}.{event.name}: rule {rule.name!r} at {rule.branch.where}"):
            blocks.append(_rule(ir, rule, names))
    blocks.append(_whole(ir, event, found))
    return "\n".join(blocks)


def _rule(ir: Ir, rule: Rule, names: Names) -> str:
    params, branch, name = parameters(ir, rule.event), rule.branch, rule_name(ir, rule)
    record = params[0]
    how = {"go": f"goes to {branch.target}", "stay": "stays", "ignore": "ignored", "refuse": "refused"}[branch.kind]
    if branch.kind == "refuse":
        how += f" {branch.reason}" + (", may be tried again" if branch.retry else "")
    text = f"\\* {rule.name}: {how}\n"
    text += f"{name}_states == {state_set(rule.states)}\n"
    places = [_place(ir, place, record, names) for place in rule.places]
    text += _definition(call(f"{name}_when", params), _either(places))
    if rule.changes:
        target = [f'!.state = "{branch.target}"'] if branch.kind == "go" else []
        updates = [
            f"!.{u.field} = {render(u.value, record, names)}"
            for u in branch.updates
            if ir.field(u.field).type.kind != "note"
        ]
        changed = [*target, *updates]
        one = f"[{record} EXCEPT {', '.join(changed)}]"
        if len(changed) > 2 or len(one) > WIDTH - 4:
            one = f"[{record} EXCEPT\n    " + ",\n    ".join(changed) + "]"
        text += _definition(call(f"{name}_next", params), one if changed else record)
    if branch.outputs:
        outputs = []
        for out in branch.outputs:
            kinds = {f.name: f.type.kind for f in ir.output(out.output).fields}
            members = [f'out |-> "{out.output}"']
            members += [f"{a} |-> {render(n, record, names)}" for a, n in out.args if kinds[a] != "note"]
            outputs.append("[" + ", ".join(members) + "]")
        text += _definition(call(f"{name}_out", params), _broken("<<", outputs, ">>"))
    return text


def _place(ir: Ir, place: Place, record: str, names: Names) -> list[str]:
    lines = [text for c in place.conditions for text in _condition(c, record, names)]
    if len(place.states) == 1:
        lines.insert(0, f'{record}.state = "{place.states[0]}"')
    elif len(place.states) < len(ir.states):
        lines.insert(0, rf"{record}.state \in {state_set(place.states)}")
    return lines or ["TRUE"]


def _condition(condition: Condition, record: str, names: Names) -> list[str]:
    node = condition.node
    if condition.holds:
        return [bracketed_or(render(n, record, names)) for n in parts(node, "and")]
    return [bracketed_or(denied(n, record, names)) for n in parts(node, "or")]


def bracketed_or(text: str) -> str:
    """A line of a conjunction list: brackets are needed only where the text is itself an alternative."""
    return bracketed(text) if r"\/" in text or text.startswith("IF ") else text


def _either(places: list[list[str]]) -> str:
    if len(places) == 1:
        (lines,) = places
        return lines[0] if len(lines) == 1 else "\n".join(f"/\\ {line}" for line in lines)
    return "\n".join(
        "\\/ " + "\n   ".join(f"/\\ {line}" for line in lines) if len(lines) > 1 else f"\\/ {lines[0]}"
        for lines in places
    )


def _any(tests: list[str]) -> str:
    return _either([[test] for test in tests]) if tests else "FALSE"


def _whole(ir: Ir, event: Event, found: tuple[Rule, ...]) -> str:
    name, params = f"{ir.name}{event.name}", parameters(ir, event)

    def when(rule: Rule) -> str:
        return call(f"{rule_name(ir, rule)}_when", params)

    def cases(arms: list[tuple[Rule, str]], other: str) -> str:
        lines = [f"{when(rule)} -> {value}" for rule, value in arms]
        if other:
            lines.append(f"OTHER -> {other}")
        return "CASE " + "\n  [] ".join(lines) if lines != [f"OTHER -> {other}"] else other

    changed = [(r, call(f"{rule_name(ir, r)}_next", params)) for r in found if r.changes]
    emitting = [(r, call(f"{rule_name(ir, r)}_out", params)) for r in found if r.branch.outputs]
    refused = [when(r) for r in found if r.branch.kind == "refuse"]
    named = [(r, f'"{r.name}"') for r in found]
    acting = [r for r in found if r.changes or r.branch.outputs]
    states = tuple(s for s in ir.states if any(s in r.states for r in acting))
    none = "<<>>"
    steps = [(r, f"<<{dict(changed).get(r, params[0])}, {dict(emitting).get(r, none)}>>") for r in acting]
    return (
        "\\* the event as a whole\n"
        + f"{name}_states == {state_set(states)}\n"
        + _definition(call(f"{name}_acts", params), _any([when(r) for r in acting]))
        + _definition(call(f"{name}_step", params), cases(steps, none))
        + _definition(call(name, params), cases(changed, params[0]))
        + _definition(call(f"{name}_rule", params), cases(named, ""))
        + _definition(call(f"{name}_out", params), cases(emitting, none))
        + _definition(call(f"{name}_refused", params), _any(refused))
    )
