"""A counterexample as text for a terminal: each step, whom it concerns, what it changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..checkers.tla_values import parse, show
from . import actions
from .form import Change, Counterexample, Moment

UNNAMED = "a step"
"""What an action is called that has no name in the model."""


def lines(example: Counterexample) -> Iterator[str]:
    """The lines of the text, without a newline."""
    bounds = ", ".join(f"{name} = {value}" for name, value in example.constants.items())
    yield f"{example.model}: {example.property} fails{f': {example.meaning}' if example.meaning else ''}"
    yield f"  found by {example.checker} in {example.module}{f' with {bounds}' if bounds else ''}"
    for number, step in enumerate(example.steps):
        yield f"{number}. {title(example.module, step)}"
        changes = step.changes if number else _matters(example)
        yield from (f"      {line}" for line in differences(changes))
    if example.loop is not None:
        last = len(example.steps) - 1
        stays = f"nothing happens any more after step {last}"
        yield f"for ever: {stays if example.loop == last else f'step {last} leads back to step {example.loop}'}"


def _matters(example: Counterexample) -> tuple[Change, ...]:
    """What the first state says of anything that changes later."""
    later = {change.path for step in example.steps[1:] for change in step.changes}
    known = {".".join(path.split(".")[:n]) for path in later for n in range(1, path.count(".") + 2)}
    return tuple(change for change in example.steps[0].changes if change.path in known) or example.steps[0].changes


def title(module: str, step: Moment) -> str:
    """The action, its events with their arguments, whom it concerns, and what no machine sees of it."""
    done = " and ".join(str(event) for event in step.events)
    # Of a machine alone the action is the rule, which the table gives for the event.
    told = done.startswith(f"{step.action}(") or (bool(done) and (not step.action or module.startswith("MC")))
    words = [done if told else f"{step.action or UNNAMED}{f': {done}' if done else ''}"]
    if step.actors:
        words.append(f"[{', '.join(step.actors)}]")
    if says := actions.meaning(module, step.action).says:
        words.append(f"({says})")
    return " ".join(words)


def differences(changes: Sequence[Change]) -> Iterator[str]:
    """A line for each change; of sets, what came and what went."""
    for change in changes:
        if not change.before:
            yield f"{change.path}: {change.after}"
        elif not change.after:
            yield f"{change.path}: {change.before} is gone"
        else:
            yield f"{change.path}: {_members(change) or f'{change.before} -> {change.after}'}"


def _members(change: Change) -> str:
    before, after = parse(change.before), parse(change.after)
    if not (isinstance(before, frozenset) and isinstance(after, frozenset)):
        return ""
    came, went = sorted(map(show, after - before)), sorted(map(show, before - after))
    return " ".join([f"+ {', '.join(came)}"] * bool(came) + [f"- {', '.join(went)}"] * bool(went))
