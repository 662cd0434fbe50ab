"""What a session's caller is told: why it takes no turn, and what became of one."""

from __future__ import annotations

from ...statemachines.compiler import Outcome

GONE = "gone"


class SessionError(Exception):
    """`reason` is a name for programs; with `retry` the same may be asked again later."""

    def __init__(self, session: str, reason: str, text: str, *, retry: bool = False) -> None:
        super().__init__(f"session {session}: {text}")
        self.session, self.reason, self.retry = session, reason, retry


class SessionClosed(SessionError):
    """The session does not take this: it is finished, read, retired, lost or moved; `reason` says which."""

    @classmethod
    def by(cls, session: str, outcome: Outcome) -> SessionClosed:
        """What its machine has refused."""
        return cls(session, outcome.reason, outcome.text, retry=outcome.retry)


class Elsewhere(SessionError):
    """The session belongs to another server, `server`."""

    def __init__(self, session: str, server: str) -> None:
        super().__init__(session, "elsewhere", f"belongs to server {server}", retry=True)
        self.server = server


class NotYours(SessionError):
    """The session is another token's."""

    def __init__(self, session: str) -> None:
        super().__init__(session, "not_yours", "is another token's: take an id of your own")


class StorageDown(SessionError):
    """Nothing can be stored now: what was asked is not answered for before it is."""

    def __init__(self, session: str, why: str) -> None:
        super().__init__(session, "storage", f"cannot be stored now ({why}): come again", retry=True)


class TurnRefused(SessionError):
    """The replica refused the request: nothing of it has run. With `retry` it may be sent again, as a new lease."""


class TurnLost(SessionError):
    """The turn's outcome is unknown or it failed: its tokens are not to be used."""

    def __init__(self, session: str, lease: str, reason: str, text: str) -> None:
        super().__init__(session, reason, f"lease {lease}: {text}")
        self.lease = lease
