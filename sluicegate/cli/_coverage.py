"""`sluicegate check --coverage`: which rules do the models take?"""

from __future__ import annotations

import sys
from collections.abc import Callable

from ._machines import UnknownName


def run(wanted: list[str], profile: str, progress: Callable[[str], None]) -> int:
    """The rules of each table that the models of a profile take, or those named. Raises UnknownName, CheckerMissing."""
    from ..spec.coverage import NotCovered, coverage
    from ..spec.models import MODELS

    known = [m.name for m in MODELS]
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"no model {', '.join(unknown)}; there are {', '.join(known)}")
    models = [m for m in MODELS if (m.name in wanted if wanted else m.profile == profile)]
    try:
        tables = coverage(models, lambda name: progress(f"{name} ..."))
    except NotCovered as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    finally:
        progress("")
    print(f"{'table':10} {'rules that act':>15} {'taken':>6} {'alone':>6} {'rules that do not':>18} {'asked':>6}")
    for table in tables:
        idle = sum(name in table.taken | table.alone for name in table.idle)
        acting = len(table.acting)
        missing = table.missing
        alone = sum(name in table.alone for name in missing)
        print(f"{table.machine:10} {acting:>15} {acting - len(missing):>6} {alone:>6} {len(table.idle):>18} {idle:>6}")
        for name in missing:
            by = "by the contract of its steps alone" if name in table.alone else "by no model"
            print(f"  {name}: {by}: {table.reason(name) or 'NO REASON'}")
    # Of some models it is only told; all of a profile together must cover the tables.
    troubles = [] if wanted else [trouble for table in tables for trouble in table.troubles()]
    for trouble in troubles:
        print(f"FAILED: {trouble}")
    return 1 if troubles else 0
