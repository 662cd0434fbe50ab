"""Declare a protocol once, as explicit state machines; check it, serve it, run it.

The names here are the declaration language. The machines of the weight-sync protocol are in
`sluicegate.statemachines.machines`; `sluicegate --help` shows what the command line does.
"""

from .statemachines import *  # noqa: F403
from .statemachines import __all__ as __all__
