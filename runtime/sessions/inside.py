"""The replicas of a controller in this process, as sessions see them."""

from __future__ import annotations

from ..controller.controller import Controller
from ..controller.member import Member
from ..signals import Signal


class ControllerCohort:
    """See `Cohort`."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    @property
    def changed(self) -> Signal:
        return self._controller.changed

    @property
    def published(self) -> int | None:
        return self._controller.published

    @property
    def is_idle(self) -> bool:
        return self._controller.is_idle

    def serving(self) -> list[Member]:
        return self._controller.serving()

    def place(self, incarnation: str) -> Member | None:
        return next((m for m in self._controller.members.values() if m.incarnation == incarnation), None)

    def is_alive(self, incarnation: str) -> bool:
        return self._controller.is_alive(incarnation)

    def is_leaving(self, incarnation: str) -> bool:
        replicas = self._controller.replicas
        return incarnation in replicas and replicas.live(incarnation).state == "LEAVING"

    def living(self) -> list[Member]:
        return [m for m in self._controller.members.values() if self.is_alive(m.incarnation)]
