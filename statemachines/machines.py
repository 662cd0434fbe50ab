"""The machines of the weight-sync protocol and of a run, in the order in which a reader meets them."""

from .agents import Agents
from .gate import Gate
from .lease import Lease
from .machine import Machine
from .production import Production
from .replica import Replica
from .run import Run
from .session import Session
from .sync import Sync
from .trainer import Trainer

MACHINES: tuple[type[Machine], ...] = (Gate, Lease, Session, Sync, Trainer, Replica, Run, Production, Agents)
