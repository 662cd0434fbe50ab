"""Declare a protocol once, as explicit state machines; check it, serve it, run it.

The names here are the declaration language, the gate as a library (`docs/gate.md`) and the client of other
trainers (`docs/other-trainers.md`), which are loaded when they are first asked for. The machines of the weight-sync
protocol are in `sluicegate.statemachines.machines`; `sluicegate --help` shows what the command line does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .statemachines import *  # noqa: F403
from .statemachines import __all__ as __all__

if TYPE_CHECKING:
    from .runtime.gate import Bounds as Bounds
    from .runtime.gate import EmbeddedGate as EmbeddedGate
    from .runtime.gate import GateLease as GateLease
    from .runtime.gate import GateMiddleware as GateMiddleware
    from .runtime.gate import LeaseEnded as LeaseEnded
    from .runtime.gate import Refusal as Refusal
    from .runtime.relay.client import SyncClient as SyncClient
    from .runtime.relay.client import WindowFailed as WindowFailed

_GATE = ("Bounds", "EmbeddedGate", "GateLease", "GateMiddleware", "LeaseEnded", "Refusal")
_CLIENT = ("SyncClient", "WindowFailed")


def __getattr__(name: str) -> Any:
    if name in _GATE:
        from .runtime import gate as found
    elif name in _CLIENT:
        from .runtime.relay import client as found
    else:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(found, name)
