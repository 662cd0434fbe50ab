"""Whether some behaviour of a system model explains a run: TLC asked window by window.

Rules of this file:

- A window is explained if TLC reaches a state in which all of its steps are; it is then ended at once.
- Where TLC has tried everything and reached fewer, the next step is the first that no behaviour
  explains, and a shortest behaviour up to it is asked for.
- A run out of time or memory has explained nothing and refused nothing: that is said.
"""

from __future__ import annotations

import queue
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...checkers import tlc
from ...checkers.java import archive, java, parts
from ...checkers.model import Config, Model
from ...checkers.tla_values import parse
from ...counterexamples.make import changes_of
from ..format import TraceError
from ..reading import Entry
from .form import Window
from .text import tla

SPEC = Path(__file__).resolve().parent.parent.parent
_REACHED = re.compile(r'<<"explained", (\d+), (\d+)>>')
_SHOWN = 6
"""So many steps of a behaviour before a refused one are shown."""


@dataclass(frozen=True, slots=True)
class Explained:
    """What came of a run against one model.

    `steps` were explained, in `windows`; `seconds` TLC took. `refused` is the entry that no behaviour
    explains, `behaviour` how a behaviour comes to where it would have to go on: its last
    steps, each with what it changes in the model.
    `trouble` says why TLC came to no end.
    """

    model: str
    steps: int
    windows: int
    seconds: float
    refused: Entry | None = None
    behaviour: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def ok(self) -> bool:
        return self.refused is None and not self.trouble

    def said(self, path: str) -> str:
        """The verdict in words; of a refusal, the behaviour up to it too."""
        where = f"{self.steps} steps in {self.windows} window{'s' if self.windows > 1 else ''}, {self.seconds:.0f} s"
        if self.trouble:
            return f"{self.model} ({where}): not judged to the end: {self.trouble}: try a smaller --window"
        if self.refused is None:
            return f"{self.model} ({where}): explained by a behaviour of the model"
        entry = self.refused
        lines = [f"refused by {self.model} ({where}): {path}: line {entry.line}: {entry}: {entry.said}: no behaviour "
                 "explains it after the steps before it, of which the last are:", *self.behaviour]  # fmt: skip
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain JSON values; the keys are documented in `docs/trace.md`."""
        return {
            "model": self.model, "explained": self.ok, "steps": self.steps, "windows": self.windows,
            "seconds": round(self.seconds, 1), "refused_line": self.refused.line if self.refused else None,
            "behaviour": list(self.behaviour), "trouble": self.trouble,
        }  # fmt: skip


def explain(
    model: str,
    windows: Iterable[Window],
    *,
    timeout: float = 600.0,
    told: Callable[[str, int], None] = lambda model, steps: None,
) -> Explained:
    """Ask TLC for each window until one is not explained. `timeout` is in seconds, for each window.

    `told` is called with the number of steps explained so far. Raises CheckerMissing; TraceError where
    TLC cannot read what was made of the run.
    """
    started = time.monotonic()
    steps = count = 0
    for window in windows:
        count += 1
        reached, trouble = reach(model, window, timeout, lambda n, before=steps: told(model, before + n))
        steps += sum(reached)
        if trouble:
            return Explained(model, steps, count, time.monotonic() - started, trouble=trouble)
        short = [
            (log[n].entry, which)
            for which, (log, n) in enumerate(zip(window.logs, reached, strict=True))
            if n < len(log)
        ]
        if short:
            refused, which = min(short, key=lambda s: s[0].line)
            shown = _behaviour(model, window, which, reached[which], timeout)
            return Explained(model, steps, count, time.monotonic() - started, refused, shown)
    return Explained(model, steps, count, time.monotonic() - started)


@contextmanager
def _made(model: str, window: Window, invariant: str, which: int = 0, reached: int = 0) -> Iterator[Model]:
    with TemporaryDirectory(prefix="sluicegate-run-") as name:
        (Path(name) / "LoggedRun.tla").write_text(window.module(which + 1, reached), encoding="utf-8")
        constants = {name: tla(value) for name, value in window.constants.items()}
        config = Config(constants=constants, init="TraceInit", next="TraceNext", invariants=(invariant,))
        yield Model.load(SPEC / f"Trace{model}.tla", config, (SPEC / "generated", Path(name)))


@contextmanager
def _written(model: Model) -> Iterator[Path]:
    """A folder with a model's files, as TLC wants them."""
    with TemporaryDirectory(prefix="sluicegate-tlc-") as name:
        folder = Path(name)
        for module, text in model.modules.items():
            (folder / f"{module}.tla").write_text(text, encoding="utf-8")
        (folder / f"{model.name}.cfg").write_text(model.config.text(), encoding="utf-8")
        (folder / "tmp").mkdir()
        yield folder


def reach(
    model: str, window: Window, timeout: float, told: Callable[[int], None] = lambda steps: None
) -> tuple[list[int], str]:
    """How many steps of each log are explained, and why TLC came to no end."""
    executable, jar = parts()
    until = time.monotonic() + timeout
    reached = [0] * len(window.logs)
    wanted = sum(map(len, window.logs))
    said: list[str] = []
    with _made(model, window, "Reports") as made, _written(made) as folder:
        command = [
            str(executable), "-Xmx3g", "-Xss16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            *archive(), f"-Djava.io.tmpdir={folder / 'tmp'}", "-cp", str(jar), "tlc2.TLC", "-tool", "-metadir",
            str(folder / "states"), "-workers", "1", "-deadlock", "-config", f"{made.name}.cfg", f"{made.name}.tla",
        ]  # fmt: skip
        run = java(command, folder)
        try:
            run.start()
            while sum(reached) < wanted:
                item = run.said.get(timeout=max(0.0, until - time.monotonic()))
                if isinstance(item, OSError):
                    raise item
                if isinstance(item, int):
                    if item != 0:
                        raise TraceError(f"{model}: TLC cannot judge the run: {' '.join(said)[-600:]}")
                    break
                if found := _REACHED.search(item.text):
                    reached[int(found[1]) - 1] = int(found[2])
                    told(sum(reached))
                elif item.severity == 1 or item.code == 0:
                    said.append(item.text)
        except queue.Empty:
            return reached, f"TLC was stopped at its time limit of {timeout:g} s"
        finally:
            run.stop()
    return reached, ""


def _behaviour(model: str, window: Window, which: int, reached: int, timeout: float) -> tuple[str, ...]:
    """The last steps of a shortest behaviour that explains `reached` steps of a log."""
    with _made(model, window, "NotReached", which, reached) as made:
        result = tlc.check(made, timeout=timeout)
    lines: list[str] = []
    for before, step in list(pairwise(result.trace))[-_SHOWN:]:
        old, new = ({name: parse(value) for name, value in s.state.items()} for s in (before, step))
        explained = new.pop("at")
        logged = explained != old.pop("at")
        entry = window.logs[which][int(str(explained)) - 1].entry
        lines.append(f"{explained:>6}  {f'{entry}: {entry.said}' if logged else 'a step that nobody logged'}")
        lines += [f"          {c.path}: {c.before or 'nothing'} → {c.after or 'nothing'}" for c in changes_of(old, new)]
    return tuple(lines)
