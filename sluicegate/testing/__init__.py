"""Tests out of declared machines: implementations driven by their table, and a plugin for pytest.

`stateful(Machine, adapter)` gives a Hypothesis rule-based machine; `ObjectAdapter` and
`ClientAdapter` stand between it and an object, or a generated gRPC client. The plugin is in
`plugin.py`. Nothing here is loaded before it is used, since pytest imports this package at its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters import Adapter, ClientAdapter, ObjectAdapter, Verdict
    from .driving import stateful

__all__ = ["Adapter", "ClientAdapter", "ObjectAdapter", "Verdict", "stateful"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    if name == "stateful":
        from .driving import stateful

        return stateful
    from . import adapters

    return getattr(adapters, name)
