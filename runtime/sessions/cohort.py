"""The replicas as sessions see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..signals import Signal


class Place(Protocol):
    """One life of a replica, and where it answers (`host:port`)."""

    @property
    def replica(self) -> str: ...
    @property
    def incarnation(self) -> str: ...
    @property
    def control(self) -> str: ...
    @property
    def data(self) -> str: ...


class Cohort(Protocol):
    """What is known of the replicas, and of the controller that rules them."""

    @property
    def changed(self) -> Signal:
        """Notified at every change of what is asked here."""
        ...

    @property
    def published(self) -> int | None: ...

    @property
    def is_idle(self) -> bool:
        """Whether no operation runs: sessions may be bound."""
        ...

    def serving(self) -> Sequence[Place]:
        """Those that sessions may be bound to: serving, at the published version."""
        ...

    def place(self, incarnation: str) -> Place | None:
        """Where this life answers; None once it has ended, or where it is not known yet."""
        ...

    def is_alive(self, incarnation: str) -> bool:
        """Whether this life has not ended, as far as is known."""
        ...

    def is_leaving(self, incarnation: str) -> bool:
        """Whether this life is to end as planned, once no session needs it."""
        ...

    def living(self) -> Sequence[Place]:
        """All lives that have not ended."""
        ...
