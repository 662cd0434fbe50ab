"""Tasks: environments that an agent talks to over several turns, and that grade what it says."""

from .base import Episode, Split, Task, ToolEpisode
from .look_up import LookUp
from .recall import Recall
from .registry import TaskChoice, make_task

__all__ = ["Episode", "LookUp", "Recall", "Split", "Task", "TaskChoice", "ToolEpisode", "make_task"]
