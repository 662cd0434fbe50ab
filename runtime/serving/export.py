"""A trace as what is trained on, line by line: one JSON object for each way through the session."""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Iterator
from typing import Any

from ..sessions.traces import Branch, Tree, branches

PIECE = 64 * 1024


def lines(session: str, tree: Tree) -> Iterator[bytes]:
    """First a line about the trace, with the values that are attached to tokens, in base64; then its branches.

    Keys of a branch: `requests`, `bindings` (number and life of the replica, for each of them), and with one item for
    each token `token_ids`, `turns` (0 for context, k for the k-th of `requests`), `log_probs` (natural, under the
    weights of) `versions`, and `attached`, by name (numbers of values, 0 for none).
    """
    values = [base64.b64encode(value).decode() for value in tree.values]
    yield _line({"session": session, "tier": "exact", "segments": len(tree), "values": values})
    for branch in branches(session, tree):
        yield _line(_said(branch))


def pieces(session: str, tree: Tree) -> Iterator[bytes]:
    """The lines, some at a time: about `PIECE` bytes together."""
    held = bytearray()
    for line in lines(session, tree):
        held += line
        if len(held) >= PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _said(branch: Branch) -> dict[str, Any]:
    columns: dict[str, array[Any]] = {
        "token_ids": branch.token_ids, "turns": branch.turns, "log_probs": branch.log_probs,
        "versions": branch.versions,
    }  # fmt: skip
    return {
        "session": branch.session, "requests": branch.requests, "bindings": branch.bindings,
        **{name: column.tolist() for name, column in columns.items()},
        "attached": {name: numbers.tolist() for name, numbers in branch.attached.items()},
    }  # fmt: skip


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
