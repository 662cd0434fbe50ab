"""Where `check --save` keeps counterexamples, and as which pytest cases.

Rules of this file:

- A file for each property that fails, named by model and property; no name is used for two of them, and
  none leads out of the folder.
- A test module's name has its folder's in it, since pytest keeps modules apart by their names alone.
- A file is there whole or not at all. One that an earlier run kept is replaced, anything else is left.
"""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ._machines import UnknownName, load_machine

if TYPE_CHECKING:
    from ..spec.judge import Row

LONGEST = 100
"""Characters of a file's name, as far as they come of names."""


class Folder:
    """One run's counterexamples. Raises OSError where the folder cannot be written, before anything is judged."""

    def __init__(self, path: Path) -> None:
        self.path, self.saved = path, 0
        self._taken: set[str] = set()
        here, there = Path.cwd(), path.resolve()
        self._called = "_".join(there.relative_to(here).parts) if there.is_relative_to(here) else there.name
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
        for folder in missing:
            folder.rmdir()

    def save(self, row: Row) -> Iterator[str]:
        """Write the counterexamples of a row; what was written, and why a case was not."""
        from ..replaying.cases import case
        from ..replaying.replay import ReplayError

        for name, make in row.examples.items():
            example = make()
            called = self._free(re.sub(r"[^0-9A-Za-z_-]+", "_", f"{example.model}-{name}")[:LONGEST])
            path = self.path / f"{called}.json"
            _write(path, example.text())
            self.saved += 1
            yield f"saved {path}"
            test = self.path / f"test_{_word(self._called)[-LONGEST:]}_{_word(called)}.py"
            try:
                text = case(example, [load_machine(name) for name in example.machines])
            except (ReplayError, UnknownName) as error:
                yield f"no pytest case: {error}"
            else:
                _write(test, text)
                yield f"saved {test}"

    def _free(self, called: str) -> str:
        """This name, or with a number where it is taken; what differs in signs or case only counts as taken."""
        number, name = 1, called
        while _word(name) in self._taken:
            number += 1
            name = f"{called}-{number}"
        self._taken.add(_word(name))
        return name


def _write(path: Path, text: str) -> None:
    """The file as a whole. Raises FileExistsError where another one is that no run has kept."""
    if path.exists() and not _kept(path):
        raise FileExistsError(errno.EEXIST, "there is a file that `check --save` did not write", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _kept(path: Path) -> bool:
    """Whether a file is a counterexample or a case of an earlier run."""
    from ..spec.counterexamples.form import FORMAT

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            return text.startswith('"""') and "\nfrom sluicegate.replaying.stage import " in text
        document = json.loads(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def _word(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()
