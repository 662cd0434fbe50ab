"""Who watches what a process does: told of each front, controller and session server before its first step.

Rules of this file:

- Watchers are those of the context; whoever opens one of these tells them, and when it is over.
- A watcher only looks: what it raises is an error of this process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..controller.controller import Controller
    from ..serving.calls import Watched
    from ..workers.front import Front

End = Callable[[], None]
"""Called once, when what was watched is over."""


Metadata = tuple[tuple[str, str], ...]


def nothing() -> None:
    """Nobody asks."""


def no_metadata() -> Metadata:
    """Nobody asks."""
    return ()


@dataclass(frozen=True, slots=True)
class Watchers:
    """`parent` gives what a request that comes now is a part of, `carried` the metadata by which a call to another
    process says so; see `spans.py`."""

    fronts: tuple[Callable[[Front], End], ...] = ()
    controllers: tuple[Callable[[Controller], End], ...] = ()
    parent: Callable[[], Any] = nothing
    sessions: tuple[Callable[[Watched], End], ...] = ()
    carried: Callable[[], Metadata] = no_metadata


_NOBODY = Watchers()
WATCHERS: ContextVar[Watchers] = ContextVar("watchers", default=_NOBODY)


@contextlib.contextmanager
def watched_by(watchers: Watchers) -> Iterator[None]:
    """Have these told of what is opened inside, after those that are there."""
    there = WATCHERS.get()
    both = Watchers(
        there.fronts + watchers.fronts,
        there.controllers + watchers.controllers,
        watchers.parent if watchers.parent is not nothing else there.parent,
        there.sessions + watchers.sessions,
        watchers.carried if watchers.carried is not no_metadata else there.carried,
    )
    token = WATCHERS.set(both)
    try:
        yield
    finally:
        WATCHERS.reset(token)


def begin_front(front: Front) -> End:
    """Tell of a front that has not stepped yet; what is returned is called at its end."""
    return _begin(WATCHERS.get().fronts, front)


def begin_controller(controller: Controller) -> End:
    """Tell of a controller that has not stepped yet; what is returned is called at its end."""
    return _begin(WATCHERS.get().controllers, controller)


def begin_sessions(watched: Watched) -> End:
    """Tell of a session server that has restored nothing yet; what is returned is called at its end."""
    return _begin(WATCHERS.get().sessions, watched)


def parent() -> Any:
    """What a request that comes now is a part of; None where nobody asks."""
    return WATCHERS.get().parent()


def carried() -> Metadata:
    """What a call to another process carries, so that it goes on there as a part of what is done here."""
    return WATCHERS.get().carried()


def _begin(watchers: tuple[Callable[[Any], End], ...], watched: Any) -> End:
    with ExitStack() as stack:
        for watch in watchers:
            stack.callback(watch(watched))
        return stack.pop_all().close
