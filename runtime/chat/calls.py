"""Tool calls as a model writes them: the Hermes form, which Qwen speaks too.

`<tool_call>`, a JSON object of `name` and `arguments`, `</tool_call>`. Anything else between the two marks is no call.
"""

from __future__ import annotations

import json
from json.decoder import JSONDecoder
from typing import Any, NoReturn

OPEN, CLOSE = "<tool_call>", "</tool_call>"
"""What stands before and behind a call."""

_SPACE = " \t\n\r"


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = JSONDecoder(parse_constant=_no_json)


def object_of(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None where it is none, or one that could not be written down again."""
    try:
        found = _DECODER.decode(text)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def call_of(text: str) -> tuple[str, str] | None:
    """The name and the arguments, as they are written, of the call between two marks; None where it is none."""
    found = object_of(text)
    if found is None or found.keys() != {"name", "arguments"}:
        return None
    if not (isinstance(found["name"], str) and found["name"] and isinstance(found["arguments"], dict)):
        return None
    written = _members(text)
    return None if len(written) != 2 else (found["name"], dict(written)["arguments"])


def _members(text: str) -> list[tuple[str, str]]:
    """The members of a JSON object that is known to be one, values as they are written."""
    members: list[tuple[str, str]] = []
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, at) + 1)
        _, at = _DECODER.raw_decode(text, begin)
        members.append((key, text[begin:at]))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return members


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
