"""What came of all mutants, for a person and for an exit status.

Rules of this file:

- Good is: every survivor is argued for, nothing that is argued for is caught, and survivors are at
  most `MOST` of the mutants that differ from the table.
- What differs in nothing that is reached, or in words alone, is counted apart and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ...statemachines.machines import MACHINES
from .courts import courts
from .judging import Mutant, Verdict
from .rules import RULES
from .survivors import SURVIVORS
from .tables import mutants

MOST = 0.05
"""The largest share of survivors."""


def every(modules: Sequence[str] = ()) -> list[Mutant]:
    """All mutants, of the tables first; with `modules` those of these machines and models only.

    Of the machines, those that some model of the small profile reads.
    """
    made: list[Mutant] = [m for machine in MACHINES if courts(machine.__name__) for m in mutants(machine.ir)]
    made += RULES
    return [m for m in made if not modules or m.module in modules]


def modules() -> list[str]:
    """What has mutants: machines, and modules of models."""
    return list(dict.fromkeys(m.module for m in every()))


@dataclass(frozen=True, slots=True)
class Report:
    """Each mutant and its verdict."""

    verdicts: Sequence[tuple[Mutant, Verdict]]

    def of(self, fate: str) -> list[Verdict]:
        return [v for _, v in self.verdicts if v.fate == fate]

    @property
    def share(self) -> float:
        """Survivors among the mutants that are told from the table."""
        judged = len(self.of("caught")) + len(self.of("survived"))
        return len(self.of("survived")) / judged if judged else 0.0

    def troubles(self, whole: bool = True) -> list[str]:
        """Why the guard does not hold; empty if it does. The share is held to in a `whole` run only."""
        alive = {v.mutant for v in self.of("survived")}
        judged = {v.mutant for _, v in self.verdicts}
        found = [f"{name}: survives, and nothing is said for it in spec/mutants/survivors.py"
                 for name in sorted(alive - SURVIVORS.keys())]  # fmt: skip
        found += [f"{name}: is argued for in spec/mutants/survivors.py, and does not survive"
                  for name in sorted((SURVIVORS.keys() & judged) - alive)]  # fmt: skip
        if whole and self.share > MOST:
            found.append(f"{len(alive)} survivors are {self.share:.1%} of what was judged, more than {MOST:.0%}")
        return found

    def unknown(self) -> list[str]:
        """Names that are argued for and belong to no mutant; only of a run over all."""
        return sorted(SURVIVORS.keys() - {v.mutant for _, v in self.verdicts})

    def lines(self) -> Iterator[str]:
        """The report."""
        yield f"{'mutants of':16} {'made':>6} {'caught':>7} {'equal':>6} {'words':>6} {'survive':>8}"
        for module in dict.fromkeys(m.module for m, _ in self.verdicts):
            fates = Counter(v.fate for m, v in self.verdicts if m.module == module)
            yield _row(module, fates)
        yield _row("all", Counter(v.fate for _, v in self.verdicts))
        yield f"survivors: {self.share:.1%} of those that differ from the table in a step"
        caught = self.of("caught")
        yield "caught by:"
        for (by, on), count in Counter((v.by, v.on) for v in caught).most_common():
            yield f"  {count:5}  {by}, on {on}"
        if lengths := sorted(v.steps for v in caught if v.steps):
            spread = ", ".join(f"{n} steps {count}" for n, count in sorted(Counter(lengths).items()))
            yield f"shortest counterexamples: {lengths[0]} to {lengths[-1]} steps, median {median(lengths):g}; {spread}"
        for fate, title in (
            ("equal", "equal in all that is reached"),
            ("words", "differ in nothing but which refusal is given"),
        ):
            if some := self.of(fate):
                yield f"{title}:"
                yield from (f"  {v.mutant}" for v in some)
        if alive := self.of("survived"):
            yield "survivors:"
            for v in alive:
                yield f"  {v.mutant}"
                yield f"      {SURVIVORS.get(v.mutant, 'NO ARGUMENT')}"
                yield from (f"      not judged on {note}" for note in v.notes)


def _row(name: str, fates: Counter[str]) -> str:
    judged = [fates[f] for f in ("caught", "equal", "words", "survived")]
    return f"{name:16} {sum(judged):>6} {judged[0]:>7} {judged[1]:>6} {judged[2]:>6} {judged[3]:>8}"
