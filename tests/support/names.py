"""Names of parametrised tests that are the same in every process."""

from __future__ import annotations


def stable(value: object) -> str:
    """`value` as text, with the members of sets in order: their own order differs between processes."""
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(stable, value))) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {stable(inner)}" for key, inner in value.items()) + "}"
    return str(value)
