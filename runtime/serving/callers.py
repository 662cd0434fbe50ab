"""Who calls: bearer tokens with their roles, their rates, and whose a session is.

Rules of this file:

- Without tokens everybody may do everything: such a server listens on loopback alone, unless told otherwise in words.
- A token of role data owns the sessions that it begins; one of role control may act on all.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...protocol.roles import ALL_ROLES, Role
from ...protocol.sources import Kept
from ...protocol.tokens import digest, read_tokens
from .config import HttpSettings
from .errors import refusal

_BUCKETS = 65_536


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is the token's, empty where nobody is known."""

    name: str
    roles: frozenset[Role]

    def require(self, role: Role) -> None:
        """Raises HttpError unless the caller has the role."""
        if role not in self.roles:
            raise refusal("forbidden", f"token {self.name!r} has no role {role.value}: ask for one that has")

    @property
    def rules(self) -> bool:
        """Whether it may act on all sessions."""
        return Role.CONTROL in self.roles


class Callers:
    """Knows callers by the settings. Raises AccessError where tokens cannot be read."""

    def __init__(self, settings: HttpSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._salt = secrets.token_bytes(16)
        source = settings.tokens
        self._tokens = Kept((source,), lambda: read_tokens(source, self._salt)) if source else None
        if self._tokens is not None:
            self._tokens.now()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By token: how many calls it has left, and since when."""

    def of(self, headers: Mapping[str, str]) -> Caller:
        """Who sends these headers; the key of either API's client. Raises HttpError."""
        if self._tokens is None:
            return Caller("", ALL_ROLES)
        given = headers.get("authorization", "")
        token = given[7:].strip() if given[:7].lower() == "bearer " else headers.get("x-api-key", "")
        if not token:
            raise refusal("unauthenticated", "header Authorization: give 'Bearer' and a token of this server")
        found = digest(token.encode(), self._salt)
        for known in self._tokens.now():
            if hmac.compare_digest(known.digest, found):
                return Caller(known.name, known.roles)
        raise refusal("unauthenticated", "header Authorization: this server does not know the token")

    def count(self, caller: Caller) -> None:
        """One more call. Raises HttpError once there are too many."""
        rate, burst = self._settings.rate, self._settings.burst
        if not rate or not caller.name:
            return
        now = self._clock()
        left, since = self._buckets.pop(caller.name, (float(burst), now))
        left = min(float(burst), left + (now - since) * rate)
        self._buckets[caller.name] = (left - 1 if left >= 1 else left, now)
        while len(self._buckets) > _BUCKETS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) / rate))
            raise refusal("rate_limited", f"token {caller.name!r} may make {rate:g} calls a second", retry_after=wait)
