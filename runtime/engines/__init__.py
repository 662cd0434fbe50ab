"""Rollout engines: what a gate drives, and the embedded one on torch and transformers.

The embedded engine is imported when it is first asked for: a gate alone needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import (
    AbortOutcome,
    Engine,
    EngineBusy,
    EngineError,
    Finish,
    FinishReason,
    Health,
    InstallFailed,
    InvalidRequest,
    NoStaging,
    NotStaged,
    Request,
    Resident,
    Sink,
    Token,
)
from .streams import StreamSink, stream

if TYPE_CHECKING:
    from .torch_engine import TorchEngine

__all__ = [
    "AbortOutcome",
    "Engine",
    "EngineBusy",
    "EngineError",
    "Finish",
    "FinishReason",
    "Health",
    "InstallFailed",
    "InvalidRequest",
    "NoStaging",
    "NotStaged",
    "Request",
    "Resident",
    "Sink",
    "StreamSink",
    "Token",
    "TorchEngine",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name != "TorchEngine":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from .torch_engine import TorchEngine

    return TorchEngine
