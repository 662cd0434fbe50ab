"""What the Replica machine emits, handed to whoever starts and ends processes and holds sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


async def _nothing(incarnation: str) -> None: ...


class ReplicaActions:
    """What the Replica machine asks of the process around the controller.

    `retire` is told of an incarnation that is in `leaving`, and returns once nobody will be started in its
    place: only then its process is ended. Those are in it that are dead and not replaced.
    """

    def __init__(
        self, stop: Callable[[str], Awaitable[None]], replace: Callable[[str], Awaitable[None]],
        evacuate: Callable[[str], Awaitable[None]], retire: Callable[[str], Awaitable[None]] = _nothing,
    ) -> None:  # fmt: skip
        self._stop, self._replace, self._evacuate, self._retire = stop, replace, evacuate, retire
        self.leaving: set[str] = set()

    async def stop_process(self, instance: str) -> None:
        if instance in self.leaving:
            await self._retire(instance)
        await self._stop(instance)

    async def replace(self, instance: str) -> None:
        await self._replace(instance)

    async def evacuate(self, instance: str) -> None:
        await self._evacuate(instance)
