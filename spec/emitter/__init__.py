"""From a machine to TLA+: the operators of its table, and a module that explores it alone.

Rules of this room:

- Input is the internal form alone; output is text. `files` is the one list of what is generated.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...statemachines.ir import Ir
from .alone import constants, emit_alone
from .module import emit

__all__ = ["constants", "emit", "emit_alone", "files"]


def files(machines: Iterable[Ir]) -> dict[str, str]:
    """The generated modules by file name: `<Machine>.tla` and `MC<Machine>.tla` for each machine."""
    found: dict[str, str] = {}
    for ir in machines:
        found[f"{ir.name}.tla"] = emit(ir)
        found[f"MC{ir.name}.tla"] = emit_alone(ir)
    return found
