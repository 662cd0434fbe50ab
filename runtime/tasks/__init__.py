"""Tasks: environments that an agent talks to over several turns, and that grade what it says."""

from .base import Episode, Split, Task
from .recall import Recall

__all__ = ["Episode", "Recall", "Split", "Task"]
