"""Where `check --save` keeps counterexamples, and as which pytest cases.

Rules of this file:

- A file for each property that fails, named by model and property; no name is used for two of them.
- A test module's name has its folder's in it, since pytest keeps modules apart by their names alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ._machines import UnknownName, load_machine

if TYPE_CHECKING:
    from ..spec.judge import Row


class Folder:
    """One run's counterexamples. Raises OSError where the folder cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path, self.saved = path, 0
        self._taken: set[str] = set()
        here, there = Path.cwd(), path.resolve()
        self._called = "_".join(there.relative_to(here).parts) if there.is_relative_to(here) else there.name

    def save(self, row: Row) -> Iterator[str]:
        """Write the counterexamples of a row; what was written, and why a case was not."""
        from ..replaying.cases import case
        from ..replaying.replay import ReplayError

        for name, make in row.examples.items():
            example = make()
            self.path.mkdir(parents=True, exist_ok=True)
            called = self._free(re.sub(r"[^0-9A-Za-z_.-]+", "_", f"{example.model}-{name}"))
            path = self.path / f"{called}.json"
            example.save(path)
            self.saved += 1
            yield f"saved {path}"
            test = self.path / f"test_{_word(self._called)}_{_word(called)}.py"
            try:
                test.write_text(case(example, [load_machine(name) for name in example.machines]), encoding="utf-8")
            except (ReplayError, UnknownName) as error:
                yield f"no pytest case: {error}"
            else:
                yield f"saved {test}"

    def _free(self, called: str) -> str:
        """This name, or with a number where it is taken; what differs in signs or case only counts as taken."""
        number, name = 1, called
        while _word(name) in self._taken:
            number += 1
            name = f"{called}-{number}"
        self._taken.add(_word(name))
        return name


def _word(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()
