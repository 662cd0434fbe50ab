"""Mutants of the hand-written models: one rule of a model broken, by a list.

Rules of this file:

- A mutant is a replacement in a module's text. The text must be there exactly once: a model that was
  rewritten shows here, and not as a mutant that is judged for nothing.
- Broken are rules that people rely on, not the history that the properties read.
"""

from __future__ import annotations

from dataclasses import dataclass


class TextMissing(ValueError):
    """A mutant's text is not in the module, or more than once; the message names both."""


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """A hand-written module with one text replaced by another."""

    name: str
    module: str
    old: str
    new: str

    def text(self, module: str) -> str:
        """The module's text with the replacement. Raises TextMissing."""
        if module.count(self.old) != 1:
            raise TextMissing(
                f"{self.name}: {self.module}.tla has its text {module.count(self.old)} times, not once: "
                f"{self.old!r}; write the mutant for the rule as it is now in spec/mutants/rules.py"
            )
        return module.replace(self.old, self.new)


RULES: tuple[RuleMutant, ...] = ()
