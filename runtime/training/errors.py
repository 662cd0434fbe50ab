"""What a trainer raises when it cannot do what was asked."""

from __future__ import annotations


class TrainerError(RuntimeError):
    """The trainer could not do what was asked; the message says what and how to mend it."""
