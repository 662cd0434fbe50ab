"""What was judged already: one JSON line for each verdict, so that a run that was ended goes on.

Rules of this file:

- A verdict is found by the hash of all that it depends on: modules, configuration, scopes. A changed
  table or model asks anew; an unchanged one never.
- A line is written whole and at once; one that a killed process left unfinished is passed over.
"""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

from ..checkers.model import Model


def fingerprint(*parts: object) -> str:
    """A short name for this content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def of_model(model: Model) -> str:
    """The fingerprint of a model: what TLC is given."""
    return fingerprint(model.name, dict(model.modules), model.config.text(), model.config.check_deadlock)


class Ledger:
    """Verdicts by fingerprint, in a file that grows; for several threads."""

    def __init__(self, file: Path) -> None:
        """Read what `file` has, if it is there. Raises OSError where its folder cannot be made."""
        self.file = file
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            try:
                entry = json.loads(line)
                self._known[entry["key"]] = entry
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, key: str) -> dict[str, Any] | None:
        return self._known.get(key)

    def put(self, key: str, **entry: Any) -> dict[str, Any]:
        """Keep a verdict and give it back."""
        line = {"key": key, **entry}
        with self._lock:
            self._known[key] = line
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return line
