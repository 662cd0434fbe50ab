"""Declare a protocol once, as explicit state machines; check it, serve it, run it.

The names here are the declaration language, and the gate as a library (`docs/gate.md`), which is loaded
when it is first asked for. The machines of the weight-sync protocol are in
`sluicegate.statemachines.machines`; `sluicegate --help` shows what the command line does.
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

_GATE = ("Bounds", "EmbeddedGate", "GateLease", "GateMiddleware", "LeaseEnded", "Refusal")


def __getattr__(name: str) -> Any:
    if name not in _GATE:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from .runtime import gate

    return getattr(gate, name)
