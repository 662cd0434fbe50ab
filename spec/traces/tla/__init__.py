"""Traces against the system models: whether a logged run is a behaviour of the hand-written TLA+."""

from .explain import Explained, explain

__all__ = ["Explained", "explain"]
