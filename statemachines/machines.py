"""The machines of the weight-sync protocol, in the order in which a reader meets them."""

from .gate import Gate
from .machine import Machine

MACHINES: tuple[type[Machine], ...] = (Gate,)
