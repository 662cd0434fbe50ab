"""A counterexample out of what a checker found, or out of a run of a machine.

Rules of this file:

- The meaning of a property is the comment above its definition in the model.
- Every step says whom it concerns and, where a machine moved, which event that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...statemachines.machines import MACHINES
from ...statemachines.observing import unobserved
from ...statemachines.values import encode
from ..checkers.model import DEADLOCK, CheckResult, Model
from ..checkers.source import comments
from ..checkers.tla_values import Function, parse, show
from ..graph import record
from . import actions
from .form import Change, Counterexample, MachineStep, Moment
from .infer import Pool, event_of_action, step_of, steps_of
from .records import Path, instances, parts


@unobserved()
def counterexample(
    model: Model, result: CheckResult, *, name: str = "", machines: Sequence[Any] = (), meaning: str = ""
) -> Counterexample:
    """The counterexample of a `CheckResult` that is violated.

    `name` is how the model is called, by default as its module. `machines` are `Machine` classes that
    the model is made of, besides this project's. Raises ValueError for a result without a trace.
    """
    if not result.trace or not result.violated:
        raise ValueError(f"{model.name} is {result.verdict}: there is no counterexample without a violation")
    states = [{name: parse(text) for name, text in step.state.items()} for step in result.trace]
    every = (*machines, *MACHINES)
    pool = Pool()
    for text in model.config.constants.values():
        pool.add(parse(text))
    steps = tuple(_moments(model.name, [step.action for step in result.trace], states, every, pool))
    return Counterexample(
        name or model.name,
        model.name,
        dict(model.config.constants),
        result.violated,
        meaning or meaning_of(result.violated, model.modules),
        result.checker,
        steps,
        loop_of(result.detail, len(steps)),
        tuple(f"{m.__module__}:{m.__qualname__}" for m in machines if m not in MACHINES),
    )


def of_run(machine: Any, born: Any, events: Iterable[Any], property: str, meaning: str) -> Counterexample:
    """The counterexample of a machine alone: a newborn snapshot, and the events that break the property."""
    name, snapshot = machine.__name__, born
    state = {"m": show(record(snapshot))}
    steps = [Moment("Init", state, (name,), tuple(changes_of({}, {"m": parse(state["m"])})))]
    for event in events:
        snapshot, _ = machine.step(snapshot, event)
        old, state = state, {"m": show(record(snapshot))}
        fields = machine.ir.event(type(event).__name__).fields
        arguments = {f.name: encode(f.type, getattr(event, f.name)) for f in fields if f.type.kind != "note"}
        changed = changes_of({"m": parse(old["m"])}, {"m": parse(state["m"])})
        done = MachineStep("m", name, type(event).__name__, arguments)
        steps.append(Moment(type(event).__name__, state, (name,), tuple(changed), (done,)))
    own = () if machine in MACHINES else (f"{machine.__module__}:{machine.__qualname__}",)
    return Counterexample(name, f"MC{name}", {}, property, meaning, "exploration", tuple(steps), None, own)


def meaning_of(name: str, modules: Mapping[str, str]) -> str:
    """What stands above the definition of `name` in a model, as one line; empty where nothing does."""
    if name == DEADLOCK:
        return "nothing can happen any more"
    return next((said[name] for said in map(comments, modules.values()) if name in said), "")


def loop_of(detail: str, steps: int) -> int | None:
    """The step to which a temporal counterexample leads back, from TLC's words."""
    if "Stuttering" in detail:
        return steps - 1
    back = re.search(r"Back to state (\d+)", detail) or re.search(r"(\d+): Back to state", detail)
    return min(int(back[1]) - 1, steps - 1) if back else None


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[Change]:
    """What two states differ in, by dotted paths; values are TLA+ text."""
    old, new = _flat(before), _flat(after)
    for path in dict.fromkeys((*new, *old)):
        # An empty function has no parts: that it gets some, or loses all, is told by them.
        empty = {old.get(path), new.get(path)} == {None, "<<>>"}
        parted = empty and any(p.startswith(f"{path}.") for p in (*new, *old))
        if old.get(path) != new.get(path) and not parted:
            yield Change(path, old.get(path, ""), new.get(path, ""))


def actor_of(path: Path, machine: str) -> str:
    """How the instance of `machine` at a path is called: by the keys that lead to it."""
    if path == ("m",):
        return machine
    called = actions.ACTORS.get(path[0], "")
    inner = [part for part in path[1:] if part not in ("now", "sync", machine.lower()) and part not in actions.STORED]
    return " ".join(filter(None, [called, ".".join(inner)])) or path[0]


def _moments(
    module: str, names: Sequence[str], states: Sequence[Mapping[str, Any]], machines: Sequence[Any], pool: Pool
) -> Iterable[Moment]:
    before: Mapping[str, Any] = {}
    live: dict[Path, tuple[Any, Any]] = {}
    for action, state in zip(names, states, strict=True):
        now = instances(state, machines)
        here = Pool(set(pool.nats), dict(pool.ids), dict(pool.collections))
        for value in (*state.values(), *before.values()):
            here.add(value)
        changed = tuple(changes_of(before, state))
        events = tuple(_events(module, action, live, now, changed, here)) if live else ()
        text = {name: show(value) for name, value in state.items()}
        yield Moment(action, text, _actors(changed, now, bool(before)), changed, events)
        before, live = state, now


def _events(
    module: str,
    action: str,
    live: dict[Path, tuple[Any, Any]],
    now: dict[Path, tuple[Any, Any]],
    changed: Sequence[Change],
    pool: Pool,
) -> Iterable[MachineStep]:
    meant = actions.meaning(module, action)
    touched = {tuple(change.path.split(".")) for change in changed}
    for path, (machine, after) in now.items():
        before = live.get(path, (None, None))[1]
        if before is None or meant.begins or path[-1] in actions.STORED:
            continue
        named = [e.partition(".")[2] for e in meant.events if e.startswith(f"{machine.__name__}.")]
        if not named and (own := event_of_action(machine, action)) and not meant.events:
            named = [own]
        if before == after:
            # It may have taken an event that left it as it was: one that changed what stands beside it, or one
            # that no other machine here has.
            beside = len(path) > 2 and any(t[: len(path) - 1] == path[:-1] for t in touched)
            only = [p for p, (other, _) in now.items() if event_of_action(other, action)] == [path]
            if not named or not (beside or (only and not meant.events)):
                continue
        if meant.in_order and (found := steps_of(machine, path, before, after, named, pool)):
            yield from found
            continue
        names = named or [event.name for event in machine.ir.events]
        step = step_of(machine, path, actor_of(path, machine.__name__), before, after, names, pool)
        if step is not None and (before != after or step.follows):
            yield step


def _actors(changed: Sequence[Change], now: dict[Path, tuple[Any, Any]], moved: bool) -> tuple[str, ...]:
    """Whose state changed: instances by their names, and other parts by the instance that they stand beside."""
    if not moved:
        return ()
    found: dict[str, None] = {}
    for change in changed:
        path = tuple(change.path.split("."))
        owner = next((p for p in now if path[: len(p)] == p), None)
        owner = owner or next((p for p in now if len(p) > 1 and path[: len(p) - 1] == p[:-1]), None)
        found[actor_of(owner, now[owner][0].__name__) if owner else actions.ACTORS.get(path[0], path[0])] = None
    return tuple(found)


def _flat(state: Mapping[str, Any]) -> dict[str, str]:
    """Variables, and the parts of those that are records or sequences of them, by dotted names."""
    flat: dict[str, str] = {}

    def walk(name: str, value: Any) -> None:
        is_record = isinstance(value, Function) and all(isinstance(key, str) for key in value)
        if is_record or (isinstance(value, tuple) and value and all(isinstance(item, Function) for item in value)):
            for key, inner in parts(value):
                walk(f"{name}.{key}", inner)
        else:
            flat[name] = show(value)

    for name, value in state.items():
        walk(name, value)
    return flat
