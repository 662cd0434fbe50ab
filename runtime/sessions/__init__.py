"""Sessions of agents: bound to a replica, turn by turn, with the exact tokens of every turn."""

from .router import Router, SessionClosed, Turn, TurnLost, TurnRefused
from .sampling import Sampling

__all__ = ["Router", "Sampling", "SessionClosed", "Turn", "TurnLost", "TurnRefused"]
