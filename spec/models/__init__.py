"""The system models by profile: which module, at which bounds, and what must come of it."""

from __future__ import annotations

from .form import FAULTS, PROFILES, SPEC, ModelError, Profile, SystemModel
from .switch import SWITCH
from .weight_sync import SAFETY, WEIGHT_SYNC

MODELS: tuple[SystemModel, ...] = (*WEIGHT_SYNC, *SWITCH)

__all__ = ["FAULTS", "MODELS", "PROFILES", "SAFETY", "SPEC", "ModelError", "Profile", "SystemModel"]
