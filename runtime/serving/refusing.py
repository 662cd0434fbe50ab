"""What a session's refusals are to a client: one table from reasons to the cases of `errors.py`."""

from __future__ import annotations

from ..sessions.errors import Elsewhere, NotYours, SessionClosed, SessionError, StorageDown, TurnLost, TurnRefused
from .errors import HttpError, refusal

_CLOSED = {
    "gone": "retired",
    "unknown": "not_found",
    "turn_active": "turn_active",
    "binding_now": "turn_active",
    "not_bound": "not_finished",
    "not_finished": "not_finished",
}
"""Reasons of sessions that are a case of another name."""

_REFUSED = {
    "poisoned": "poisoned",
    "malformed": "malformed",
    "no_replica": "no_replica",
    "hold_full": "hold_full",
    "hold_expired": "hold_full",
    "client_full": "hold_full",
    "incarnation": "lost",
}
"""Reasons of gates; what is not named passes by itself, and is a closed gate."""

_LOST = {"lost": "lost", "failed": "engine_failed", "moved": "turn_active"}
"""Why a turn has no answer; of what is not named nothing is delivered, and it may be sent again."""


def http_error(error: SessionError) -> HttpError:
    """What a client is answered."""
    match error:
        case StorageDown():
            code = "storage"
        case NotYours():
            code = "forbidden"
        case SessionClosed():
            code = _CLOSED.get(error.reason, error.reason)
        case TurnRefused():
            code = _REFUSED.get(error.reason, "closed")
        case TurnLost():
            code = _LOST.get(error.reason, "turn_lost")
        case Elsewhere():
            code = "elsewhere"
        case _:
            raise AssertionError(f"no case for {error!r}")
    return refusal(code, str(error))
