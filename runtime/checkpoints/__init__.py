"""Checkpoints of a run: whole or not there, and how a run begins from nothing, from one, or with a new trainer."""

from ..production.groups import Groups, NotAtRest
from .folder import Checkpoint, Checkpoints, Found, Writing
from .retention import needed_manifests, oldest_needed
from .run import NoSampler, ResumeError, Run, Syncs, Trains, forget_weights
from .state import RunState, Sampler

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "Found",
    "Groups",
    "NoSampler",
    "NotAtRest",
    "ResumeError",
    "Run",
    "RunState",
    "Sampler",
    "Syncs",
    "Trains",
    "Writing",
    "forget_weights",
    "needed_manifests",
    "oldest_needed",
]
