"""A version staged by those that are to take part in an operation, while their gates are open.

Rules of this file:

- Nothing is sealed yet: admissions go on, and one that cannot stage keeps what it serves.
- All stage at the same time, each within its bound.
- What one life has staged says nothing of the next: who took its place is asked anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from .member import Member, MemberError, Overruled


class Staging:
    """Who has staged `version`. `within`: seconds that one may take; `overruled`: told of a gate's higher term."""

    def __init__(self, version: int, within: float, overruled: Callable[[str], object]) -> None:
        self.version, self._within, self._overruled = version, within, overruled
        self._found: dict[str, str] = {}
        """By incarnation: why it could not, empty where it has."""

    async def by(self, members: Iterable[Member]) -> None:
        """Have those stage that have not been asked yet."""
        asked = [member for member in members if member.incarnation not in self._found]
        async with asyncio.TaskGroup() as group:
            for member in asked:
                group.create_task(self._one(member))

    async def _one(self, member: Member) -> None:
        try:
            await member.while_alive(member.stage(self.version, self._within))
        except MemberError as error:
            self._found[member.incarnation] = str(error)
        except Overruled as found:
            self._found[member.incarnation] = str(found)
            self._overruled(str(found))
        else:
            self._found[member.incarnation] = ""

    def why_not(self, member: Member) -> str:
        """Why it has not staged; empty if it has."""
        return self._found.get(member.incarnation, f"{member.incarnation} was not asked to stage {self.version}")
