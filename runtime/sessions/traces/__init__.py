"""What a session has said, token by token: a tree of generations, and what is trained on of it."""

from __future__ import annotations

from .export import COMPLETE, Branch, branches
from .tree import Place, Segment, Tree

__all__ = ["COMPLETE", "Branch", "Place", "Segment", "Tree", "branches"]
