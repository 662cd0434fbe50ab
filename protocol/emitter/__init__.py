"""From a declared machine to its wire: proto file, stubs and service module, as text by file name."""

from __future__ import annotations

from ...statemachines.ir import Ir
from .layout import LayoutError, layout
from .lock import Lock, LockError, allocate, read_lock, write_lock
from .proto import proto
from .service import Place, service
from .stubs import StubError, stubs

__all__ = [
    "LayoutError",
    "Lock",
    "LockError",
    "Place",
    "StubError",
    "allocate",
    "emit",
    "layout",
    "read_lock",
    "stubs",
    "write_lock",
]


def emit(ir: Ir, lock: Lock, place: Place) -> tuple[dict[str, str], Lock]:
    """The files of a machine's wire, and the lock with the numbers that they use.

    Raises LayoutError for names that the wire needs, StubError if the proto compiler refuses.
    """
    laid = layout(ir)
    lock = allocate(lock, laid)
    header = f"Made by `sluicegate generate` from {ir.name}; change the declaration, not this file."
    stem = ir.name.lower()
    text = proto(laid, lock[ir.name], header)
    files = {f"{stem}.proto": text, **stubs({f"{stem}.proto": text}, header)}
    files[f"{stem}_service.py"] = service(laid, place, header)
    return files, lock
