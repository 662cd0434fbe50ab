"""A scenario as a test: `@scenario(replicas=("a", "b"), ranks=2)` over `async def test_...(stage)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sluicegate.runtime.simulation.stage import Stage, play


def scenario(**cast: Any) -> Callable[[Callable[[Stage], Awaitable[None]]], Callable[[Path], None]]:
    """Play what is decorated on this cast; the trace of the run is judged at its end."""

    def as_test(body: Callable[[Stage], Awaitable[None]]) -> Callable[[Path], None]:
        def test(tmp_path: Path) -> None:
            play(body, tmp_path, **cast)

        test.__name__, test.__doc__, test.__module__ = body.__name__, body.__doc__, body.__module__
        return test

    return as_test
