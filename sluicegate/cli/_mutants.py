"""`sluicegate check --mutants`: is a broken rule noticed?"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ._machines import UnknownName

LEDGER = Path("runs") / "mutants" / "verdicts.jsonl"


def run(wanted: list[str]) -> int:
    """Judge all mutants, or those of the machines and modules `wanted`. Raises UnknownName, CheckerMissing.

    What was judged before is taken from `runs/mutants/` under the current folder.
    """
    from ..spec.mutants.judging import judge_all
    from ..spec.mutants.ledger import Ledger
    from ..spec.mutants.report import Report, every, modules
    from ..spec.mutants.rules import TextMissing

    if unknown := [name for name in wanted if name not in modules()]:
        raise UnknownName(f"no mutants of {', '.join(unknown)}; there are those of {', '.join(modules())}")
    mutants = every(wanted)
    print(f"{len(mutants)} mutants; verdicts are kept in {LEDGER}, and asked for once", flush=True)
    try:
        verdicts = judge_all(mutants, Ledger(LEDGER), _Progress())
    except TextMissing as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"sluicegate: cannot keep verdicts in {LEDGER} ({error}): run in a folder of yours", file=sys.stderr)
        return 2
    finally:
        _tell("")
    report = Report(list(zip(mutants, verdicts, strict=True)))
    for line in report.lines():
        print(line)
    troubles = report.troubles(whole=not wanted)
    troubles += [] if wanted else [f"{name}: is argued for, and there is no such mutant" for name in report.unknown()]
    for trouble in troubles:
        print(f"FAILED: {trouble}")
    return 1 if troubles else 0


class _Progress:
    """How far it is: always on a terminal, a line a minute elsewhere."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, of: int, left: float, name: str) -> None:
        text = f"{done} of {of}, about {left / 60:.0f} min left: {name}"
        if sys.stderr.isatty():
            _tell(text)
        elif time.monotonic() - self._last >= 60:
            self._last = time.monotonic()
            print(text, file=sys.stderr, flush=True)


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:110]}", end="", file=sys.stderr, flush=True)
