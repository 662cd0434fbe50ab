"""What the Replica machine emits, handed to whoever starts and ends processes and holds sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


class ReplicaActions:
    """What the Replica machine asks of the process around the controller.

    `retire` is told of an incarnation that leaves as planned, before anybody else is told.
    """

    def __init__(
        self, stop: Callable[[str], Awaitable[None]], replace: Callable[[str], Awaitable[None]],
        evacuate: Callable[[str], Awaitable[None]], retire: Callable[[str], None] = lambda incarnation: None,
    ) -> None:  # fmt: skip
        self._stop, self._replace, self._evacuate, self.retire = stop, replace, evacuate, retire

    async def stop_process(self, instance: str) -> None:
        await self._stop(instance)

    async def replace(self, instance: str) -> None:
        await self._replace(instance)

    async def evacuate(self, instance: str) -> None:
        await self._evacuate(instance)
