"""What the answers of both APIs are made of: choices gathered from deltas, and the labels that every answer carries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..chat.form import Call, Delta, End, Labels, Text, Token, ToolCall

Piece = Callable[[int], bytes]
"""The bytes that a token stands for."""


@dataclass(slots=True)
class Answer:
    """One choice, whole: texts and calls in their order, adjacent texts joined."""

    end: End
    parts: list[str | ToolCall] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)


def gathered(choices: int, deltas: Iterable[Delta]) -> list[Answer]:
    """The choices that the deltas tell. Raises `ValueError` if one of them does not end."""
    parts: list[list[str | ToolCall]] = [[] for _ in range(choices)]
    texts: list[list[str]] = [[] for _ in range(choices)]
    tokens: list[list[Token]] = [[] for _ in range(choices)]
    ends: list[End | None] = [None] * choices
    for delta in deltas:
        choice = delta.choice
        tokens[choice] += delta.tokens
        if isinstance(delta, Text):
            texts[choice].append(delta.text)
            continue
        if text := "".join(texts[choice]):
            parts[choice].append(text)
        texts[choice].clear()
        if isinstance(delta, Call):
            parts[choice].append(delta.call)
        else:
            ends[choice] = delta
    return [Answer(end, parts[i], tokens[i]) for i, end in enumerate(ended(ends))]


def ended(ends: list[End | None]) -> list[End]:
    """The ends of all choices. Raises `ValueError` if one is missing."""
    if missing := [i for i, end in enumerate(ends) if end is None]:
        raise ValueError(f"choices {missing} have not ended")
    return [end for end in ends if end is not None]


def label_fields(labels: Labels) -> dict[str, Any]:
    """The members that every answer has, and the first and the last event of a stream."""
    fields: dict[str, Any] = {
        "request_id": labels.request_id,
        "model_version": labels.version,
        "session_id": labels.session,
        "binding": labels.binding,
        "tier": labels.tier,
    }
    if len(labels.versions) > 1:
        fields["versions"] = list(labels.versions)
    return fields


def label_headers(labels: Labels) -> dict[str, str]:
    """The headers of an answer: what was known when it began."""
    headers = {
        "x-request-id": labels.request_id,
        "x-session-id": labels.session,
        "x-sluicegate-binding": str(labels.binding),
        "x-sluicegate-tier": labels.tier,
    }
    if labels.version is not None:
        headers["x-model-version"] = str(labels.version)
    if labels.replica:
        headers["x-sluicegate-replica"] = labels.replica
    return headers


def dumped(value: Any) -> bytes:
    """JSON in ASCII, which has a word for half a surrogate pair too. Raises `ValueError` for NaN and infinity."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
