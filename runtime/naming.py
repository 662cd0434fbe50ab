"""What a run, a replica or one life of them may be called: one rule for configs, files and shared memory."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
RULE = "use letters of ASCII, digits, '.', '_' and '-', and begin with a letter or digit"
"""What to say to who gave another."""


def is_name(text: str) -> bool:
    """Whether `text` can be a part of a file's name, on every system and in every locale."""
    return _NAME.fullmatch(text) is not None
