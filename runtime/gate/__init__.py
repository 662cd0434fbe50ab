"""The gate as a library: in front of a server that is somebody else's, without the rest of the runtime."""

from ..workers.door import Refusal
from ..workers.front import Bounds
from .embedded import EmbeddedGate
from .lease import GateLease, LeaseEnded
from .middleware import GateMiddleware

__all__ = ["Bounds", "EmbeddedGate", "GateLease", "GateMiddleware", "LeaseEnded", "Refusal"]
