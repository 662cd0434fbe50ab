"""What is said of each property of a model, checker by checker.

Rules of this file:

- No checker outvotes another: a claim is good only if all that judged it say so.
- What a run did not get to is not proven, and what none was asked is not judged: neither is ever good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .checkers import tla_checker
from .checkers.model import CheckResult, Model, Step
from .checkers.source import comments
from .models import SystemModel

Said = Literal["holds", "fails", "reached", "not reached", "not proven", "not judged", "error"]
STEP = "the step"
"""The compiled step, as a judge beside the two checkers."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What one checker says of one property.

    `checker` is "tla-checker", "TLC" or `STEP`. `distinct` states were seen in `seconds`, shared by the
    properties that were judged in the same run. `detail` is the checker's own word where there is no
    verdict, and how a counterexample over runs ends.
    """

    checker: str
    verdict: Said
    distinct: int = 0
    seconds: float = 0.0
    detail: str = ""
    trace: tuple[Step, ...] = ()

    @property
    def good(self) -> bool:
        return self.verdict in ("holds", "reached")


@dataclass(frozen=True, slots=True)
class Claim:
    """A property, in words what it `says`, and what each checker that was asked says of it.

    `expected` is set where it fails and must. `story` is a run that breaks it, or that reaches what it
    says is reachable, line by line. `beyond` says what the scope has to do with the verdict, if it has.
    """

    name: str
    says: str
    judged: tuple[Judged, ...]
    story: tuple[str, ...] = ()
    expected: bool = False
    beyond: str = ""

    @property
    def ok(self) -> bool:
        return self.expected or (bool(self.judged) and all(judged.good for judged in self.judged))

    @property
    def verdict(self) -> Said:
        """The worst of what was said."""
        worst = next((j for j in self.judged if not j.good), next(iter(self.judged), None))
        return worst.verdict if worst else "not judged"


def judged_claims(system: SystemModel, model: Model, results: Mapping[str, CheckResult]) -> tuple[Claim, ...]:
    """Each property of a system model by the result of each checker; its words are the comment above it."""
    told = {name: text for module in model.modules.values() for name, text in comments(module).items()}

    def said(name: str, result: CheckResult) -> Judged:
        verdict: Said = "not proven"
        if result.ok or (result.verdict == "violated" and result.violated == name):
            verdict = "holds" if result.ok else "fails"
        elif result.verdict == "error":
            verdict = "error"
        return Judged(result.checker, verdict, result.distinct, result.seconds, result.detail)

    claims = []
    for name in system.properties:
        over_runs = name in system.config.properties
        judged = tuple(said(name, r) for r in results.values() if not (over_runs and r.checker == tla_checker.NAME))
        expected = name == system.violates and all(j.verdict == "fails" for j in judged)
        claims.append(Claim(name, told.get(name, ""), judged, expected=expected))
    return tuple(claims)


def one_line(text: str, most: int = 300) -> str:
    """A checker's words on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
