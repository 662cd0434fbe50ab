"""Traces: what a run did, line by line, and the judgement whether the declared protocol explains it."""

from .format import FORMAT, VERSION, Progress, TraceError, fingerprint
from .show import show
from .validate import Verdict, validate

__all__ = ["FORMAT", "VERSION", "Progress", "TraceError", "Verdict", "fingerprint", "show", "validate"]
