"""All files that are made from the machines: their texts, where they differ, and writing them.

Rules of this file:

- Every text is made before the first file is touched, and every file is written beside its place
  before the first one takes it: a failure leaves what was there.
- A folder of generated files holds nothing else: what no machine makes any more is removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from .protocol.emitter import LayoutError, LockError, Place, StubError, emit, read_lock, stubs, write_lock
from .reference import grpc_page, http_page
from .spec import emitter as spec
from .statemachines.diagram import diagram
from .statemachines.diagram_text import mermaid, table
from .statemachines.machines import MACHINES

ROOT = Path(__file__).resolve().parent.parent
LOCK = "fields.lock.json"
PACKAGE_DOC = '"""Made by `sluicegate generate`: proto files, their stubs, and one service module per machine."""\n'

PAGE_HEAD = (
    "Each picture shows what moves a machine from one state to another, as `Event [guard] / rule`; what stays, is "
    "ignored or is refused is in the table below it. `event.epoch` is an argument of the event, `epoch` a field of "
    "the machine. `sluicegate diagram` draws one machine, also as DOT or SVG, and machines of your own."
)


class GenerationError(Exception):
    """Files cannot be made or written; says which and how to mend it."""


@dataclass(frozen=True, slots=True)
class Files:
    """Texts by path, and the generated files that are there although nothing makes them."""

    texts: dict[Path, str]
    stale: tuple[Path, ...]

    def drift(self) -> list[str]:
        """One line for each file that differs, with the first line that does."""
        found = [line for path, text in self.texts.items() if (line := _difference(path, text))]
        return found + [f"{_shown(path)}: nothing makes it any more" for path in self.stale]

    def write(self) -> list[Path]:
        """Write what differs, all or nothing; the paths that changed. Raises GenerationError."""
        changed = {path: text for path, text in self.texts.items() if _difference(path, text)}
        staged: list[tuple[Path, Path]] = []
        try:
            for path, text in changed.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                beside = path.with_name(f".{path.name}.new")
                staged.append((beside, path))
                beside.write_text(text)
            for beside, path in staged:
                os.replace(beside, path)
            for path in self.stale:
                path.unlink()
        except OSError as error:
            raise GenerationError(f"cannot write ({error}): generate in a checkout that is yours") from error
        finally:
            for beside, _ in staged:
                with contextlib.suppress(OSError):
                    beside.unlink()
        return [*changed, *self.stale]


def house(root: Path = ROOT) -> Files:
    """The files of this project's machines and of its data plane. Raises GenerationError."""
    wire, data = root / "protocol" / "generated", root / "protocol" / "data"
    proof = root / "spec" / "generated"
    lock_path = root / "protocol" / LOCK
    texts = {proof / name: text for name, text in spec.files(m.ir for m in MACHINES).items()}
    texts[wire / "__init__.py"] = PACKAGE_DOC
    places = [(m, Place("..", f"...{m.__module__.removeprefix('sluicegate.')}")) for m in MACHINES]
    texts |= _wires(places, wire, lock_path)
    hand_written = {path.name: path.read_text() for path in sorted(data.glob("*.proto"))}
    if not hand_written:
        raise GenerationError(f"{data} has no proto files: generate in a checkout of the project")
    names = ", ".join(hand_written)
    header = f"Made by `sluicegate generate` from {names}; change those, not this file."
    texts |= {wire / name: text for name, text in _stubs(hand_written, header).items()}
    texts[root / "docs" / "machines.md"] = machines_page()
    protos = {path.name: text for path, text in texts.items() if path.suffix == ".proto"}
    texts[root / "docs" / "grpc.md"] = grpc_page({**hand_written, **protos})
    texts[root / "docs" / "http.md"] = http_page()
    stale = [p for p in sorted((*proof.glob("*.tla"), *wire.glob("*.p*"))) if p not in texts]
    return Files(texts, tuple(stale))


def machines_page() -> str:
    """The page of this project's machines: of each, what moves it as a picture, and its whole table."""
    text = ["<!-- Made by `sluicegate generate` from the machines; change those, not this file. -->"]
    text += ["# The machines", "", PAGE_HEAD]
    for machine in MACHINES:
        drawn = diagram(machine.ir)
        text += ["", f"## {drawn.name}", "", drawn.doc, "", f"```mermaid\n{mermaid(drawn.moves())}```"]
        text += ["", table(drawn).rstrip("\n")]
    return "\n".join(text) + "\n"


def own(machines: Sequence[Any], out: Path) -> Files:
    """The files of somebody's own machines in one folder of theirs. Raises GenerationError."""
    texts = {out / name: text for name, text in spec.files(m.ir for m in machines).items()}
    texts |= _wires([(m, Place("sluicegate.protocol", m.__module__)) for m in machines], out, out / LOCK)
    if not (out / "__init__.py").exists():
        texts[out / "__init__.py"] = PACKAGE_DOC
    return Files(texts, ())


def _wires(places: Iterable[tuple[Any, Place]], folder: Path, lock_path: Path) -> dict[Path, str]:
    texts: dict[Path, str] = {}
    try:
        lock = read_lock(lock_path)
        for machine, place in places:
            files, lock = emit(machine.ir, lock, place)
            texts |= {folder / name: text for name, text in files.items()}
    except (LayoutError, LockError, StubError) as error:
        raise GenerationError(str(error)) from error
    texts[lock_path] = write_lock(lock)
    return texts


def _stubs(protos: dict[str, str], header: str) -> dict[str, str]:
    try:
        return stubs(protos, header)
    except StubError as error:
        raise GenerationError(str(error)) from error


def _difference(path: Path, text: str) -> str:
    if not path.exists():
        return f"{_shown(path)}: is missing"
    there = path.read_text()
    if there == text:
        return ""
    pairs = zip_longest(there.splitlines(), text.splitlines())
    number, (old, new) = next(((i, p) for i, p in enumerate(pairs, 1) if p[0] != p[1]), (0, ("", "")))
    return f"{_shown(path)}:{number}: has {old!r}, the machines give {new!r}"


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
