"""From a machine to TLA+: the operators of its table, and a module that explores it alone.

Rules of this room:

- Input is the internal form alone; output is text. `files` is the one list of what is generated.
- Generated files are committed; `drift` says where they differ from what would be written now.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

from ...statemachines.ir import Ir
from .alone import constants, emit_alone
from .module import emit

__all__ = ["GENERATED", "constants", "drift", "emit", "emit_alone", "files", "write"]

GENERATED = Path(__file__).resolve().parent.parent / "generated"


def files(machines: Iterable[Ir]) -> dict[str, str]:
    """The generated modules by file name: `<Machine>.tla` and `MC<Machine>.tla` for each machine."""
    found: dict[str, str] = {}
    for ir in machines:
        found[f"{ir.name}.tla"] = emit(ir)
        found[f"MC{ir.name}.tla"] = emit_alone(ir)
    return found


def write(machines: Iterable[Ir], folder: Path = GENERATED) -> list[Path]:
    """Write the modules of `machines` into `folder`, remove modules of machines that are gone.

    Everything is emitted before the first file is touched, so that an error leaves the folder as it
    was. Returns the paths that changed.
    """
    texts = files(machines)
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    for path in folder.glob("*.tla"):
        if path.name not in texts:
            path.unlink()
            changed.append(path)
    return changed


def drift(machines: Iterable[Ir], folder: Path = GENERATED) -> list[str]:
    """Where `folder` differs from what `write` would put there: one line a file, none if it does not."""
    texts = files(machines)
    found = []
    for name, text in texts.items():
        path = folder / name
        if not path.exists():
            found.append(f"{name}: missing")
            continue
        pairs = zip_longest(path.read_text().splitlines(), text.splitlines())
        for number, (there, here) in enumerate(pairs, 1):
            if there != here:
                found.append(f"{name}:{number}: has {there!r}, the machine gives {here!r}")
                break
    found += [f"{p.name}: no machine makes it" for p in sorted(folder.glob("*.tla")) if p.name not in texts]
    return found
