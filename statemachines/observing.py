"""Watching from outside which rules a machine takes.

Rules of this file:

- While nobody watches, nothing of this is in the compiled step: its functions are put in place of
  wrapped ones again.
- Every way to step is seen: the pure step, `Live.step` and the method of each event.
- Whoever steps only to find something out says so itself, and for its own thread: no caller has to know.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

See = Callable[[str, str, str], None]
"""Called after each step with the event, the state before it, and the rule."""


class _LookingAway(threading.local):
    depth = 0


_looking_away = _LookingAway()


@contextmanager
def observed(machine: Any, see: See) -> Iterator[None]:
    """Within this, `see` is told of every step of `machine`, in any thread of the process."""
    live, methods, pure = machine.Live, machine.Live._methods, machine._pure
    before = {cls: (methods[cls], pure[cls]) for cls in pure}
    for cls, (method, function) in before.items():
        wrapped = _in_place(cls.__name__, method, see)
        methods[cls], pure[cls] = wrapped, _of_snapshots(cls.__name__, function, see)
        setattr(live, method.__name__, wrapped)
    try:
        yield
    finally:
        for cls, (method, function) in before.items():
            methods[cls], pure[cls] = method, function
            setattr(live, method.__name__, method)


@contextmanager
def unobserved() -> Iterator[None]:
    """Within this, the thread steps to find something out and not to drive anything: nobody is told of it.

    As a decorator, `@unobserved()`, it is so for every call of a function.
    """
    _looking_away.depth += 1
    try:
        yield
    finally:
        _looking_away.depth -= 1


def _in_place(event: str, method: Callable[..., Any], see: See) -> Callable[..., Any]:
    @functools.wraps(method)
    def step(instance: Any, *args: Any, **named: Any) -> Any:
        state = instance.state
        outcome = method(instance, *args, **named)
        if not _looking_away.depth:
            see(event, state, outcome.rule)
        return outcome

    return step


def _of_snapshots(event: str, function: Callable[..., Any], see: See) -> Callable[..., Any]:
    @functools.wraps(function)
    def step(snapshot: Any, *args: Any) -> Any:
        result = function(snapshot, *args)
        if not _looking_away.depth:
            see(event, snapshot.state, result[1].rule)
        return result

    return step
