"""Mutants that no property objects to, each with the argument why that is right."""

from __future__ import annotations

SURVIVORS: dict[str, str] = {}
"""Name of a mutant -> why nothing objects to it."""
