"""Rollout engines: what a gate drives, and the embedded one on torch and transformers."""

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
    NotStaged,
    Request,
    Resident,
    Sink,
    Token,
)
from .streams import StreamSink, stream
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
    "NotStaged",
    "Request",
    "Resident",
    "Sink",
    "StreamSink",
    "Token",
    "TorchEngine",
    "stream",
]
