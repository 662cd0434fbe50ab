"""The machines of the weight-sync protocol, in the order in which a reader meets them."""

from .gate import Gate
from .lease import Lease
from .machine import Machine
from .replica import Replica
from .session import Session
from .sync import Sync
from .trainer import Trainer

MACHINES: tuple[type[Machine], ...] = (Gate, Lease, Session, Sync, Trainer, Replica)
