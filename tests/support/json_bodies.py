"""JSON that is almost a body: a good one in which a few values are others, of any kind."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, 10**400]),
    st.floats(),
    st.text(st.characters(exclude_categories=[]), max_size=8),
    st.sampled_from(["", "user", "assistant", "tool", "system", "text", "function", "tool_use", "tool_result", "auto"]),
)
NAMES = st.one_of(
    st.text(max_size=4),
    st.sampled_from(["role", "content", "type", "text", "id", "name", "function", "tool_calls", "input"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


@st.composite
def bodies(draw: st.DrawFn, good: dict[str, Any]) -> bytes:
    """The bytes of `good` in which up to three values are changed, left out or given to another."""
    body = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(body))
        owner, name = draw(st.sampled_from(places))
        match draw(st.sampled_from(["value", "value", "remove", "copy"])):
            case "value":
                owner[name] = draw(VALUES)
            case "remove":
                del owner[name]
            case _:
                other, other_name = draw(st.sampled_from(places))
                owner[name] = copy.deepcopy(other[other_name])
        if not body:
            break
    return json.dumps(body).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    found = list[tuple[Any, Any]]()
    names = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        found += [(value, name), *_places(value[name])]
    return found
