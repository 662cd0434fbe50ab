"""From a machine to TLA+: the operators of its table, and a module that explores it alone.

Rules of this room:

- Input is the internal form alone; output is text. `files` is the one list of what is generated.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...statemachines.ir import Ir
from .alone import constants, emit_alone
from .expressions import EmitError
from .module import emit

__all__ = ["constants", "emit", "emit_alone", "files"]


def files(machines: Iterable[Ir]) -> dict[str, str]:
    """The generated modules by file name: `<Machine>.tla` and `MC<Machine>.tla` for each machine.

    Raises EmitError for two that would be one file.
    """
    found: dict[str, str] = {}
    for ir in machines:
        for name, text in ((f"{ir.name}.tla", emit(ir)), (f"MC{ir.name}.tla", emit_alone(ir))):
            if found.setdefault(name, text) is not text:
                raise EmitError(f"two machines make {name}, one of them {ir.name}: give one another name")
    return found
