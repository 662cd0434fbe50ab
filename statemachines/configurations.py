"""What a `transitions` configuration must be before the library reads it: told by state and transition.

Rules of this file:

- Only what the library would end at in words of its own, or take without a word, is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import EnumMeta
from typing import Any

DEEPEST = 50
"""How deep states may be nested."""

_OF_TRANSITIONS = ("trigger", "source", "dest", "conditions", "unless", "before", "after", "prepare")
_OF_STATES = frozenset(
    {
        "name", "on_enter", "on_exit", "ignore_invalid_triggers", "final", "children", "parallel", "initial",
        "transitions", "remap",
    }
)  # fmt: skip


def refuse_malformed(config: Mapping[str, Any]) -> None:
    """Raises ValueError for states and transitions that are none; the message names which."""
    _refuse_states(config.get("states"), ())
    _refuse_transitions(config.get("transitions"), "")


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple, set, EnumMeta)) else () if value is None else (value,)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or isinstance(getattr(value, "name", None), str)


def _refuse_states(states: Any, outside: tuple[tuple[int, str], ...]) -> None:
    within = f" in {outside[-1][1]}" if outside else ""
    for state in _each(states):
        if not isinstance(state, Mapping):
            # A machine of the library can be nested in a state.
            if not (_is_name(state) or hasattr(state, "states")):
                raise ValueError(f"{state!r} is no state{within}: give its name, or a dict of a name and more")
            continue
        name = getattr(state.get("name"), "name", state.get("name"))
        if not isinstance(name, str):
            raise ValueError(f"a state{within} has no name: give it one, {{'name': ...}}")
        if id(state) in (seen for seen, _ in outside):
            raise ValueError(f"state {name} is its own child, by way of {outside[-1][1]}: take it out of the children")
        if len(outside) == DEEPEST:
            raise ValueError(f"state {name} is nested {DEEPEST} deep: nest states less")
        if unknown := state.keys() - _OF_STATES:
            raise ValueError(f"state {name} has {_told(unknown)}; there are {_told(_OF_STATES)}")
        here = (*outside, (id(state), name))
        _refuse_states(state.get("children"), here)
        _refuse_states(state.get("parallel"), here)
        _refuse_transitions(state.get("transitions"), f" in state {name}")


def _refuse_transitions(transitions: Any, within: str) -> None:
    if not isinstance(transitions, (list, tuple, type(None))):
        raise ValueError(f"the transitions{within} are {transitions!r}: give a list of them")
    for transition in transitions or ():
        if isinstance(transition, Mapping):
            words: Mapping[Any, Any] = transition
        elif isinstance(transition, (list, tuple)) and 3 <= len(transition) <= len(_OF_TRANSITIONS):
            words = dict(zip(_OF_TRANSITIONS, transition, strict=False))
        else:
            raise ValueError(f"transition {transition!r}{within}: give [trigger, source, dest], or a dict of these")
        place = f"transition {words.get('trigger')!r} from {words.get('source')!r}{within}"
        for what in _wrong(words):
            raise ValueError(f"{place} {what}")


def _wrong(words: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a transition."""
    if unknown := words.keys() - set(_OF_TRANSITIONS):
        yield f"has {_told(unknown)}; there are {_told(_OF_TRANSITIONS)}"
    if missing := [word for word in _OF_TRANSITIONS[:3] if word not in words]:
        yield f"has no {_told(missing)}: give a trigger, a source and a dest"
    trigger, source, dest = (words.get(word) for word in _OF_TRANSITIONS[:3])
    if not (_is_name(trigger) and trigger):
        yield "has no name for a trigger: give some text"
    if not all(map(_is_name, _each(source))) or not _each(source):
        yield "starts in no state: give the name of one, a list of names, or '*'"
    if isinstance(dest, (list, tuple, set)):
        yield f"goes to {dest!r}, and one goes to one state: write a transition for each, with its conditions"
    if dest is not None and not _is_name(dest):
        yield f"goes to {dest!r}, which is no name of a state"
    for word in _OF_TRANSITIONS[3:]:
        for function in _each(words.get(word)):
            if not (isinstance(function, str) or callable(function)):
                yield f"has {function!r} in its {word}, which is no function and no name of one"


def _told(words: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, words)))
