"""A machine out of an existing configuration of the `transitions` library, so that its owner can check it.

Rules of this file:

- What the library has read is taken over, its own defaults and shorthands applied.
- A condition is a Python function, which nothing here can read: it becomes a Bool argument of its
  event, so that the machine covers every answer that it could give. Equal conditions of one event are
  one argument.
- The transitions of one trigger and state are rules in the library's order. One without conditions is
  the otherwise of those before it; what comes after it is never asked.
- Nested states are flattened by the library's own order of asking: the innermost first, and in each
  level the longest source. What an inner one decides is not asked further out. States that are in
  several places at once have no table, and are refused.
- Callbacks are actions and no part of a table: they are left out, and named.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .configurations import refuse_malformed
from .expressions import Bool
from .machine import Event, Machine
from .names import HELPERS, RESERVED, camel, snake
from .table import Action, Guarded, Refuse, State, Table, choose, columns, go, ignore, row, stay

if TYPE_CHECKING:
    from transitions import Machine as Library

_DRAWING = frozenset(
    {"title", "show_conditions", "show_auto_transitions", "show_state_attributes", "use_pygraphviz", "graph_engine"}
)
"""Keywords of the library's machines that draw themselves."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What a machine was taken over from: its final states, and what its table does not say.

    `shadowed` are transitions that are never asked, `left_out` says in words what was not taken over.
    """

    final: tuple[str, ...]
    shadowed: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Transition:
    """One transition as it is asked in one state: conditions as (name, wanted answer).

    `level` tells apart what is declared for the state itself and for each of those around it.
    """

    level: tuple[int, int]
    conditions: tuple[tuple[str, bool], ...]
    target: str | None
    callbacks: tuple[str, ...]


def from_transitions(
    config: Library | Mapping[str, Any], name: str = "Imported", *, final: Sequence[str] = ()
) -> type[Machine]:
    """A machine of an existing `transitions` configuration.

    States become UPPER_CASE (nested ones with the names of those around them, `S_404` for one that begins
    with a digit), triggers CamelCase
    events, `StepEvent` where `Step` would be a name of the language or of something else in the machine,
    conditions arguments. A trigger without a transition in
    a state is refused there, or ignored where the configuration says so; one whose conditions all fail
    is ignored, as the library does. The automatic `to_<state>` triggers are left out.

    Args:
        config: a machine of the library, nested and drawing ones too, or the keywords of one
            (`states`, `transitions`, `initial`, ...).
        name: the name of the machine.
        final: states, as the configuration names them, in which a run may end, beside those that the
            configuration declares final.

    Raises:
        ImportError: `transitions` is not installed.
        ValueError: the configuration has parallel states or no initial one, is none of the library's,
            names a state that it lacks, as `final` may too, or has a name that cannot be one of a machine,
            or that would be the same there as another. The message names the state or transition.
    """
    if not (isinstance(name, str) and name.isascii() and name.isidentifier() and name[0].isupper()):
        raise ValueError(f"{name!r} is no name for a machine: write it in CamelCase, in ASCII letters and digits")
    read = _Reading(_read(config, name), name)
    if unknown := [str(state) for state in final if state not in read.order]:
        raise ValueError(f"{name}: no state {', '.join(unknown)} to be final; there are {', '.join(read.order)}")
    _distinct(name, "states", {s: _upper(s) for s in read.order})
    called = _event_names(read.triggers, [_upper(s) for s in read.order])
    _distinct(name, "triggers", called)
    states = {s: State() for s in read.order}
    illegal = Refuse("no transition from this state")
    refused = False
    rows: list[Any] = []
    events: dict[str, Any] = {}
    shadowed: list[str] = []
    for trigger in read.triggers:
        found = {state: list(read.asked(state, trigger)) for state in read.order}
        asked = dict.fromkeys(n for ts in found.values() for t in ts for n, _ in t.conditions)
        event = _event(called[trigger], list(asked))
        events[event.__name__] = event
        cells: list[Any] = []
        for state, transitions in found.items():
            cell, lost = _cell(transitions, event, states)
            shadowed += [
                f"{trigger} in {_upper(state)} never goes to {_upper(t.target or state)}: "
                "an earlier transition has no conditions" for t in lost
            ]  # fmt: skip
            if cell is None:
                quiet = read.ignores(state)
                refused = refused or not quiet
                cell = ignore if quiet else illegal
            cells.append(cell)
        rows.append(row(event, *cells))
    ends = tuple(_upper(s) for s in read.order if s in final or read.is_final(s))
    imported = Imported(ends, tuple(shadowed), tuple(read.left_out()))

    def body(names: dict[str, Any]) -> None:
        names["__module__"] = module
        names["__doc__"] = f"The transitions configuration {name}."
        for state, declared in states.items():
            names[_upper(state)] = declared
        if refused:
            names["no_transition"] = illegal
        for event_name, event in events.items():
            names[event_name] = event
        names["table"] = Table(columns(*states.values()), *rows)

    module = sys._getframe(1).f_globals.get("__name__", __name__)
    return types.new_class(name, (Machine,), {"imported": imported}, body)


def is_configuration(value: Any) -> bool:
    """Whether `value` is something that `from_transitions` takes: asked without importing the library."""
    if isinstance(value, Mapping):
        return {"states", "transitions"} <= value.keys()
    return any(c.__module__.partition(".")[0] == "transitions" and c.__name__ == "Machine" for c in type(value).__mro__)


def _read(config: Any, name: str) -> Any:
    """The configuration as the library reads it."""
    known = transitions_library()
    if isinstance(config, known.Machine):
        return config
    if not isinstance(config, Mapping):
        raise ValueError(f"{name}: {config!r} is no configuration: give a transitions.Machine, or the keywords of one")
    words = {key: value for key, value in config.items() if key not in _DRAWING}
    if unknown := words.keys() - inspect.signature(known.Machine).parameters.keys():
        raise ValueError(f"{name}: transitions.Machine takes no {', '.join(sorted(map(str, unknown)))}")
    try:
        refuse_malformed(words)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    states = words.get("states")
    listed = states if isinstance(states, (list, tuple)) else ()
    nested = any(isinstance(s, Mapping) and s.keys() & {"children", "parallel"} for s in listed)
    maker = known.Machine
    if nested:
        from transitions.extensions import HierarchicalMachine as maker
    initial = words.get("initial")
    try:
        if "initial" not in words or isinstance(initial, str):
            # The library makes a state of whatever it is told to begin in.
            _require_state(maker(**{**words, "model": None, "auto_transitions": False, "initial": None}), initial, name)
        return maker(**{**words, "model": None, "auto_transitions": False})
    except _NoSuchState:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{name}: the transitions library cannot read it ({error})") from error


class _NoSuchState(ValueError):
    """A configuration begins in what is none of its states."""


def _require_state(library: Any, initial: str | None, name: str) -> None:
    names = library.get_nested_state_names() if hasattr(library, "prefix_path") else list(library.states)
    if initial not in names:
        said = "no initial state; give initial=..." if initial is None else f"initial is {initial}, which is no state"
        raise _NoSuchState(f"{name}: {said}; there are {', '.join(names)}")


class _Reading:
    """A machine of the library, asked in the words of a table."""

    def __init__(self, library: Any, name: str) -> None:
        self.library, self.name = library, name
        self.nested = hasattr(library, "prefix_path")
        self.sep: str = library.state_cls.separator if self.nested else ""
        self._conditions: dict[Any, str] = {}
        self._callbacks: dict[str, None] = {}
        self.names = known = library.get_nested_state_names() if self.nested else list(library.states)
        initial = library.initial
        if not isinstance(initial, str) or initial not in known:
            if isinstance(initial, (list, tuple)):
                self.refuse_parallel(" and ".join(map(str, initial)))
            raise ValueError(f"{name}: no initial state; give initial=...")
        for state in known:
            if self.nested and len(self.initial_of(state)) > 1:
                self.refuse_parallel(state)
        first = self.entered(initial)
        # A state with an initial one inside is never where the machine is: it is in the inner one.
        self.order = [first, *(s for s in known if s != first and s == self.entered(s))]
        triggers = library.get_nested_triggers() if self.nested else library.events
        for event in library.events.values():
            for source in event.transitions:
                self.known(source, "starts in")
        self.triggers = [t for t in dict.fromkeys(triggers) if not (t.startswith("to_") and t[3:] in known)]

    def refuse_parallel(self, state: str) -> None:
        raise ValueError(
            f"{self.name}: {state} is parallel, in several states at once, and a table has one state at a time: "
            "make a machine of each part"
        )

    def known(self, name: str, how: str) -> str:
        """`name`, if it is a state: the library itself asks for that when a transition is taken, and not before."""
        if name not in self.names:
            raise ValueError(
                f"{self.name}: a transition {how} {name}, which is no state; there are {', '.join(self.names)}"
            )
        return name

    def state(self, name: str) -> Any:
        return self.library.get_state(name)

    def initial_of(self, name: str) -> list[str]:
        initial = self.state(name).initial
        every = initial if isinstance(initial, (list, tuple)) else [initial] if initial else []
        return [getattr(i, "name", i) for i in every]

    def entered(self, name: str) -> str:
        """Where the machine is once it has entered the state `name`."""
        while self.nested and (initial := self.initial_of(name)):
            name = name + self.sep + initial[0]
        return name

    def ignores(self, name: str) -> bool:
        quiet = self.state(name).ignore_invalid_triggers
        return bool(self.library.ignore_invalid_triggers if quiet is None else quiet)

    def is_final(self, name: str) -> bool:
        return bool(getattr(self.state(name), "final", False))

    def asked(self, state: str, trigger: str) -> Iterator[_Transition]:
        """The transitions of a trigger in a state, in the order in which the library tries them."""
        path = state.split(self.sep) if self.nested else [state]
        for depth in range(len(path) - 1, -1, -1):
            scope, inner = path[:depth], path[depth:]
            events = self.state(self.sep.join(scope)).events if scope else self.library.events
            if trigger in events:
                for length in range(len(inner), 0, -1):
                    for found in events[trigger].transitions.get(self.sep.join(inner[:length]), ()):
                        yield self.transition(found, scope, (depth, length))

    def transition(self, found: Any, scope: list[str], level: tuple[int, int]) -> _Transition:
        conditions = tuple((self.condition(c.func), bool(c.target)) for c in found.conditions)
        if found.dest is not None and not isinstance(found.dest, str):
            raise ValueError(f"{self.name}: a transition from {found.source} goes to {found.dest!r}, which is no state")
        target = self.entered(self.known(self.sep.join([*scope, found.dest]), "goes to")) if found.dest else None
        callbacks = tuple(_function_name(f) for f in (*found.prepare, *found.before, *found.after))
        self._callbacks.update(dict.fromkeys(callbacks))
        return _Transition(level, conditions, target, callbacks)

    def condition(self, function: Any) -> str:
        """The argument's name of a condition: two functions of one name get two."""
        if function not in self._conditions:
            name = re.sub(r"[^0-9A-Za-z]+", "_", _function_name(function)).strip("_").lower() or "condition"
            name = "condition" if name == "lambda" else name
            taken = not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED | HELPERS
            name = f"is_{name}" if taken else name
            taken = self._conditions.values()
            number = next(n for n in range(1, len(taken) + 2) if (name if n == 1 else f"{name}_{n}") not in taken)
            self._conditions[function] = name if number == 1 else f"{name}_{number}"
        return self._conditions[function]

    def left_out(self) -> Iterator[str]:
        """What the table does not say, once every transition was asked for."""
        if self._conditions:
            yield f"conditions are Python functions: each may answer either way ({_some(self._conditions.values())})"
        callbacks = dict(self._callbacks)
        for place in ("prepare_event", "before_state_change", "after_state_change", "finalize_event", "on_exception"):
            callbacks.update(dict.fromkeys(map(_function_name, getattr(self.library, place, None) or ())))
        for state in self.order:
            inner = self.state(state)
            callbacks.update(dict.fromkeys(map(_function_name, (*inner.on_enter, *inner.on_exit))))
        if callbacks:
            yield f"callbacks are no part of a table, and not looked at ({_some(callbacks)})"


def _some(names: Any) -> str:
    names = list(names)
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _function_name(function: Any) -> str:
    inner = getattr(function, "func", function)
    return inner if isinstance(inner, str) else getattr(inner, "__name__", type(inner).__name__)


def _event(name: str, conditions: list[str]) -> type[Event]:
    def body(names: dict[str, Any]) -> None:
        names["__annotations__"] = dict.fromkeys(conditions, Bool)

    return types.new_class(name, (Event,), exec_body=body)


def _cell(found: list[_Transition], event: type[Event], states: dict[str, State]) -> tuple[Any, list[_Transition]]:
    """The cell of one trigger and state, None where it has no transition; and the transitions that are never asked."""
    branches: list[Guarded] = []
    inner: list[Bool] = []
    for number, transition in enumerate(found):
        action: Action = go(states[transition.target]) if transition.target else stay()
        if not transition.conditions:
            last: Any = states[transition.target] if transition.target else action
            lost = [t for t in found[number + 1 :] if t.level == transition.level]
            return (choose(*branches, orelse=last) if branches else last), lost
        answers = [(getattr(event, name), wanted) for name, wanted in dict.fromkeys(transition.conditions)]
        guards = [answer if wanted else ~answer for answer, wanted in answers]
        branches.append(action.when(*guards, *(~holds for holds in inner)))
        if found[number + 1 : number + 2] and found[number + 1].level != transition.level:
            of_level = [t.conditions for t in found[: number + 1] if t.level == transition.level]
            inner += [_all(event, conditions) for conditions in of_level]
    return (choose(*branches, orelse=ignore) if branches else None), []


def _all(event: type[Event], conditions: tuple[tuple[str, bool], ...]) -> Bool:
    """All conditions together."""
    answers = [getattr(event, name) if wanted else ~getattr(event, name) for name, wanted in conditions]
    return functools.reduce(lambda a, b: a & b, answers)


def _event_names(triggers: list[str], states: list[str]) -> dict[str, str]:
    """The triggers in CamelCase; `StepEvent` where `Step` is a name of the language, a state or what a rule makes."""
    named = {trigger: _camel(trigger) for trigger in triggers}
    rules = ["ignore", "no_transition", *(f"to_{state.lower()}" for state in states)]
    made = {name + camel(rule) for name in named.values() for rule in rules} | {"Init", "States", *states}

    def taken(name: str) -> bool:
        return name in made or keyword.iskeyword(snake(name)) or snake(name) in RESERVED

    return {trigger: f"{name}Event" if taken(name) else name for trigger, name in named.items()}


def _distinct(machine: str, what: str, named: dict[str, str]) -> None:
    """Raises ValueError for a name that is none, and for two that are one in the machine."""
    owner: dict[str, str] = {}
    for name, called in named.items():
        if not (called.isascii() and called.isidentifier()):
            mend = "rename it in ASCII letters, digits and underscores, with a letter first"
            raise ValueError(f"{machine}: {name!r} of the {what} is no name in a machine: {mend}")
        # An event is known by its method too.
        key = snake(called) if what == "triggers" else called
        if owner.setdefault(key, name) != name:
            both = f"the {what} {owner[key]} and {name} would both be {called}"
            raise ValueError(f"{machine}: {both}: rename one of them")


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+|_", name))


def _upper(name: str) -> str:
    upper = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", name).upper()
    return f"S_{upper}" if upper[:1].isdigit() else upper


def transitions_library() -> Any:
    """The library, imported when it is needed: the core does not depend on it. Raises ImportError."""
    try:
        import transitions
    except ImportError as error:
        raise ImportError(
            "this needs the transitions library: pip install 'sluicegate[dev]'", name="transitions"
        ) from error
    return transitions
