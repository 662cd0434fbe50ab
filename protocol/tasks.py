"""A task group for what is used as `async with` itself: who is inside gets its own exceptions back as they are."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Tasks(asyncio.TaskGroup):
    """`asyncio.TaskGroup`, but for the exception of its body: that goes on as it is, outside of any group.

    Its tasks are cancelled then, as ever. Where some of them have failed, all that was raised is a group.
    """

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except BaseExceptionGroup as found:
            if found.exceptions != (error,):
                raise
