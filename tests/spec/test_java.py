"""The Java runtime under TLC: what is kept to start it fast."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sluicegate.spec.checkers import java


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def archive(cache: Path) -> Iterator[tuple[str, ...]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        java.archive.cache_clear()
        yield java.archive()
    java.archive.cache_clear()


def test_the_kept_classes_fit_the_runtime_that_is_installed(archive: tuple[str, ...], cache: Path) -> None:
    assert [f.suffix for f in (cache / "sluicegate").iterdir()] == [".jsa"]
    executable, jar = java.parts()
    # With `on` Java ends where it cannot use the archive.
    start = [str(executable), "-Xshare:on", *archive, "-XX:+UseSerialGC", "-cp", str(jar)]
    ran = subprocess.run([*start, "tlc2.TLC", "-h"], capture_output=True, text=True, timeout=60)
    assert "TLC" in ran.stdout, ran.stderr


def test_a_file_that_is_not_as_it_was_made_is_not_used(archive: tuple[str, ...], cache: Path, tmp_path: Path) -> None:
    (file,) = (cache / "sluicegate").iterdir()
    assert archive[0] == f"-XX:SharedArchiveFile={file}"
    name, _, checksum = file.stem.rpartition("-")
    other = tmp_path / file.name
    other.write_bytes(file.read_bytes())
    assert java._kept(tmp_path, name) == other
    with other.open("r+b") as bytes_:
        bytes_.seek(other.stat().st_size // 2)
        flipped = bytes_.read(1)[0] ^ 1
        bytes_.seek(-1, os.SEEK_CUR)
        bytes_.write(bytes([flipped]))
    assert checksum not in java._called(name, other)
    assert java._kept(tmp_path, name) is None
    assert not other.exists()


MAKES = """
from contextlib import closing
from sluicegate.spec.checkers import java
from sluicegate.spec.checkers.ending import side_by_side
with closing(side_by_side([java.archive], 1)) as made:
    print(next(made))
"""


def named(word: str) -> list[str]:
    """The command lines of the processes that have `word` in theirs."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found += [line] * (word in line)
    return found


def until(what: str, seconds: float, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_what_makes_the_file_ends_with_whoever_asked_for_it(how: signal.Signals, tmp_path: Path) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "TMPDIR": str(temporary)}
    words = [sys.executable, "-c", MAKES]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as asked:
        try:
            until("Java did not start", 60, lambda: named(str(temporary)) != [])
            asked.send_signal(how)
            # The file alone would take about as long again.
            said, _ = asked.communicate(timeout=30)
        finally:
            asked.kill()
    assert said == ""
    until("Java goes on", 10, lambda: named(str(temporary)) == [])
    assert list((cache / "sluicegate").iterdir()) == []
    if how is signal.SIGINT:
        assert list(temporary.iterdir()) == []


def test_a_cache_that_cannot_be_written_only_makes_it_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    java.archive.cache_clear()
    try:
        assert java.archive() == ()
    finally:
        java.archive.cache_clear()
