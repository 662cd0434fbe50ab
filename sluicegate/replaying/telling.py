"""A replay as text: what was given to whom, what the real machine did, where it left the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .replay import Given, Replay, Replayed


def lines(done: Replay) -> Iterator[str]:
    """The lines of the text, without a newline."""
    example = done.example
    yield f"{example.model}: {example.property} fails{f': {example.meaning}' if example.meaning else ''}"
    for step in done.steps:
        yield f"{step.number}. {step.title}"
        yield from (f"      {line}" for line in _step(step))
    yield verdict(done)


def verdict(done: Replay) -> str:
    """The end of a replay in one line."""
    last, all_ = done.steps[-1], len(done.example.steps) - 1
    rest = f"; the {all_ - last.number} after it were not tried" if last.number < all_ else ""
    if last.unexplained:
        return f"{last.unexplained[0]}, at step {last.number} of {all_}{rest}"
    if done.empty:
        return "no real machine was given an event: nothing is shown of what they do"
    if not last.diverges:
        loop = done.example.loop
        ever = "" if loop is None else f", and then {'stand still' if loop == all_ else f'step {loop} comes again'}"
        holds = f", and {done.example.property} holds nevertheless" if done.holds else ""
        if not all_:
            return f"the real machine is born so{ever}{holds}"
        return f"the real machines follow {'its one step' if all_ == 1 else f'all {all_} steps'}{ever}{holds}"
    given = next(g for g in last.given if g.kind != "follows")
    verb = "refuses" if given.kind == "refuses" else "goes elsewhere at"
    return f"the real {type(given.after).machine.__name__} of {given.actor} {verb} step {last.number} of {all_}{rest}"


def _step(step: Replayed) -> Iterator[str]:
    for given in step.given:
        yield from _given(given)
    for name, snapshot in step.begun:
        yield f"{name} {'is set up' if step.number else 'stands'} in {snapshot.state}"
    if not step.given and not step.begun:
        yield "no machine sees this"
    yield from step.unexplained
    yield from step.remarks


def _given(given: Given) -> Iterator[str]:
    outcome, told = given.outcome, f"; it has done: {', '.join(given.told)}" if given.told else ""
    moved = f", {given.before.state} to {given.after.state}" if given.before.state != given.after.state else ""
    if given.kind == "follows":
        yield f"{given.actor} follows by {outcome.rule}{moved}{told}"
        return
    if outcome.kind == "refuse":
        yield f"{given.actor} REFUSES in {given.before.state}: {outcome.reason}: {outcome.text}"
    elif outcome.kind == "ignore":
        yield f"{given.actor} IGNORES it in {given.before.state}, by {outcome.rule}"
    else:
        yield f"{given.actor} goes ELSEWHERE by {outcome.rule}{moved}{told}"
    for name, real, model in given.differences:
        yield f"  {name}: {shown(real)}, where the model has {shown(model)}"


def shown(value: Any) -> str:
    """A field's value for a reader."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case frozenset():
            return "{" + ", ".join(sorted(map(shown, value))) + "}"
        case tuple():
            return "<" + ", ".join(map(shown, value)) + ">"
        case dict():
            return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in sorted(value.items(), key=str)) + "}"
        case _:
            return str(value)
