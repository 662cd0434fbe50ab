"""The system models by profile: which module, at which bounds, and what must come of it."""

from __future__ import annotations

from ..checkers.model import Config
from .form import FAULTS, PROFILES, SPEC, ModelError, Profile, SystemModel
from .requests import REQUESTS
from .runs import RUNS
from .sessions import SESSIONS
from .steps import STEPS
from .switch import SWITCH
from .training import TRAINING
from .weight_sync import SAFETY, WEIGHT_SYNC

MODELS: tuple[SystemModel, ...] = (*WEIGHT_SYNC, *SWITCH, *STEPS, *REQUESTS, *SESSIONS, *TRAINING, *RUNS)

__all__ = ["FAULTS", "MODELS", "PROFILES", "SAFETY", "SPEC", "Config", "ModelError", "Profile", "SystemModel"]
