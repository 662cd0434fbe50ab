"""What a trainer raises when it cannot do what was asked."""

from __future__ import annotations

from ..config import ConfigError


class TrainerError(RuntimeError):
    """The trainer could not do what was asked; the message says what and how to mend it."""


class SetupError(ConfigError, TrainerError):
    """The settings and the model that they name cannot be used; one that starts again with them fails again."""
