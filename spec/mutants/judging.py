"""Judging mutants: each on its courts, until one objects.

Rules of this file:

- Caught is a mutant that a property objects to, or that no longer reaches a key state. One over which
  a model cannot be evaluated (TLC's error, where the table as it is gives none) is caught only if no
  property catches it elsewhere, and told as that.
- A mutant whose table cannot be told from the declared one in what is reached is no mutant: it is
  `equal`, or differs in `words` alone (which refusal is given), and is counted apart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...statemachines.machines import MACHINES
from ..checkers import tlc
from ..checkers.model import Model
from ..emitter import emit
from ..models import SPEC, SystemModel
from .courts import courts, model
from .ledger import Ledger, fingerprint, of_model
from .rules import RuleMutant
from .tables import SCOPES, Reached, TableMutant

Mutant = TableMutant | RuleMutant
Fate = Literal["caught", "equal", "words", "survived"]
COURT_SECONDS = 240.0
"""How long one model may take over one mutant; the longest takes a quarter of it on a quiet core."""


class Stopped(Exception):
    """The run was ended before this mutant had its verdict."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: caught `by` a property `on` a model after `steps` steps, or not.

    `notes` say where a model could not judge it. `seen` is whether some model reached other states
    than with the table as it is.
    """

    mutant: str
    fate: Fate
    by: str = ""
    on: str = ""
    steps: int = 0
    notes: tuple[str, ...] = ()
    seen: bool = False


class Bench:
    """Judges mutants, with all that is asked of many of them kept."""

    def __init__(self, ledger: Ledger, stop: threading.Event) -> None:
        self.ledger, self.stop = ledger, stop
        self._machines: dict[str, Any] = {m.__name__: m for m in MACHINES}
        self._reached: dict[str, Reached] = {}
        self._lock = threading.Lock()

    def judge(self, mutant: Mutant) -> Verdict:
        """Raises Stopped, and CheckerMissing."""
        if isinstance(mutant, TableMutant):
            text = emit(mutant.ir)
            if difference := self._same(mutant, text):
                return Verdict(mutant.name, difference)
        else:
            text = mutant.text((SPEC / f"{mutant.module}.tla").read_text(encoding="utf-8"))
        notes: list[str] = []
        seen, broke = False, ""
        for system in courts(mutant.module):
            base = model(system)
            broken = replace(base, modules={**base.modules, mutant.module: text})
            entry = self._court(mutant.name, system, broken)
            verdict, by = entry["verdict"], entry["violated"]
            if verdict == "violated" and not system.violates:
                return Verdict(mutant.name, "caught", by, system.name, entry["steps"])
            if verdict == "ok" and system.violates:
                return Verdict(mutant.name, "caught", f"reached: {system.about}", system.name)
            if verdict in ("error", "incomplete"):
                notes.append(f"{system.name}: {verdict}: {entry['detail']}")
            seen = seen or (verdict == "ok" and entry["distinct"] != system.distinct)
            if verdict == "error":
                broke = broke or system.name
        if broke:
            return Verdict(mutant.name, "caught", "a model that cannot be evaluated over it", broke, notes=tuple(notes))
        return Verdict(mutant.name, "survived", notes=tuple(notes), seen=seen)

    def _same(self, mutant: TableMutant, text: str) -> Literal["equal", "words"] | None:
        machine = self._machines[mutant.module]
        if text == (declared := emit(machine.ir)):
            return "equal"
        scopes = repr((machine.ir.scope, SCOPES.get(mutant.module)))
        key = fingerprint("difference", text, declared, scopes)
        entry = self.ledger.get(key)
        if entry is None:
            with self._lock:
                if mutant.module not in self._reached:
                    self._reached[mutant.module] = Reached(machine)
            difference = self._reached[mutant.module].difference(mutant)
            entry = self.ledger.put(key, mutant=mutant.name, difference=difference)
        return None if entry["difference"] == "steps" else "words" if entry["difference"] == "words" else "equal"

    def _court(self, name: str, system: SystemModel, broken: Model) -> dict[str, Any]:
        key = of_model(broken)
        entry = self.ledger.get(key)
        if entry is None:
            result = tlc.check(broken, timeout=COURT_SECONDS, heap_gib=1, stop=self.stop)
            if self.stop.is_set():
                raise Stopped
            entry = self.ledger.put(
                key, mutant=name, court=system.name, verdict=result.verdict, violated=result.violated or "",
                steps=max(len(result.trace) - 1, 0), distinct=result.distinct, seconds=round(result.seconds, 1),
                detail=result.detail.strip().splitlines()[0][:200] if result.detail.strip() else "",
            )  # fmt: skip
        return entry


Told = Callable[[int, int, float, str], None]
"""Called with the mutants judged, their number in all, the seconds that are left, and the last one's name."""


def judge_all(mutants: Sequence[Mutant], ledger: Ledger, told: Told, workers: int = 2) -> list[Verdict]:
    """The verdict of each mutant, in their order, `workers` at a time; resumable at any point.

    An interrupt ends the running checks and leaves nothing but the ledger. Raises CheckerMissing.
    """
    stop = threading.Event()
    bench = Bench(ledger, stop)
    began = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(bench.judge, mutant): number for number, mutant in enumerate(mutants)}
        verdicts: dict[int, Verdict] = {}
        try:
            while waiting:
                for future in wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED).done:
                    verdict = verdicts[waiting.pop(future)] = future.result()
                    took = time.monotonic() - began
                    told(len(verdicts), len(mutants), took / len(verdicts) * len(waiting), verdict.mutant)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [verdicts[number] for number in range(len(mutants))]
