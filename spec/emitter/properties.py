"""The properties that a machine declares, as definitions of the module that explores it alone.

Rules of this file:

- What must hold in every state is an invariant under its declared name.
- What must be reached is an invariant that the checkers must find violated: `Never_<name>`.
- A leads-to carries its fairness with it, so that nothing else is assumed. Within the scope an event
  can stop for no other reason than the scope: such a run breaks the property, and does not break
  `Within_<name>`, which tells the two apart.
- Temporal definitions come last, and only where they are asked for: tla-checker does not judge them.
"""

from __future__ import annotations

from collections.abc import Callable

from ...statemachines.ir import Ir, Property
from ...statemachines.properties import says
from .domains import domain
from .expressions import Names, bracketed, denied, placed, render
from .module import call, rule_name
from .rules import arguments, rules


def checked_as(claim: Property) -> str:
    """The name under which the checkers know a property."""
    return f"Never_{claim.name}" if claim.kind == "reachable" else claim.name


def within(claim: Property) -> str:
    """The name of a leads-to that says nothing of runs which only the scope has stopped."""
    return f"Within_{claim.name}"


def definitions(ir: Ir, names: Names, *, temporal: bool) -> list[str]:
    """A block of text for each property over single states, and with `temporal` for the others."""
    state = [_written(_invariant, claim, names) for claim in ir.properties if claim.kind != "leads_to"]
    leads = [claim for claim in ir.properties if claim.kind == "leads_to"] if temporal else []
    fair = [_fair(ir, name, names) for name in dict.fromkeys(event for claim in leads for event in claim.fair)]
    return [*state, *fair, *(_written(_leads_to, claim, names) for claim in leads)]


def _written(write: Callable[[Property, Names], str], claim: Property, names: Names) -> str:
    with placed(f"{claim.name} at {claim.where}"):
        return write(claim, names)


def _invariant(claim: Property, names: Names) -> str:
    holds = claim.kind == "always"
    text = render(claim.condition, "m", names) if holds else denied(claim.condition, "m", names)
    told = " (the checkers must find a state that breaks this)" if claim.kind == "reachable" else ""
    return f"\\* {says(claim)}{told}\n{checked_as(claim)} == {text}\n"


def _fair(ir: Ir, event: str, names: Names) -> str:
    """Weak fairness of all steps of an event that change the record; once within the scope, once beyond it."""
    declared = ir.event(event)
    chosen = [rf"a_{f.name} \in {domain(f.type, f.name, ir.scope, names)}" for f in arguments(declared)]
    after = call(f"{ir.name}{event}", ("m", *(f"a_{f.name}" for f in arguments(declared))))
    can = (rf"\E {', '.join(chosen)} : " if chosen else "") + f"{after} # m"
    taken = r" \/ ".join(rule_name(ir, rule) for rule in rules(ir, declared) if rule.changes) or "FALSE"
    return (
        f"\\* {event} comes in the end, if from some moment on it could always change something: within the\n"
        f"\\* scope; and with what would lead out of it.\n"
        f"Fair_{event} == WF_m({taken})\n"
        f"Can_{event} == {can}\n"
        rf"Wide_{event} == []<>~Can_{event} \/ []<><<{taken}>>_m" + "\n"
    )


def _leads_to(claim: Property, names: Names) -> str:
    assert claim.then is not None
    before, after = (bracketed(render(node, "m", names)) for node in (claim.condition, claim.then))

    def under(name: str, fair: str) -> str:
        assumed = bracketed(r" /\ ".join(f"{fair}_{event}" for event in claim.fair))
        return f"{name} == " + (f"{assumed} => ({before} ~> {after})" if claim.fair else f"{before} ~> {after}") + "\n"

    second = under(within(claim), "Wide") if claim.fair else ""
    return f"\\* {says(claim)}\n{under(claim.name, 'Fair')}{second}"
