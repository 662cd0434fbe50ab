"""Sessions of agents: bound to a replica, turn by turn, with the exact tokens of every turn."""

from .backend import Prompt, Workers
from .errors import SessionClosed, SessionError, StorageDown, TurnLost, TurnRefused
from .router import Router, Told, Turn
from .sampling import Sampling
from .sessions import Sessions
from .settings import SessionSettings

__all__ = [
    "Prompt",
    "Router",
    "Sampling",
    "SessionClosed",
    "SessionError",
    "SessionSettings",
    "Sessions",
    "StorageDown",
    "Told",
    "Turn",
    "TurnLost",
    "TurnRefused",
    "Workers",
]
