"""The Java runtime under TLC: what is kept to start it fast."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sluicegate.spec.checkers import java


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java.archive.cache_clear()
    try:
        return java.archive()
    finally:
        java.archive.cache_clear()


def test_the_kept_classes_fit_the_runtime_that_is_installed(archive: tuple[str, ...], tmp_path: Path) -> None:
    assert [f.suffix for f in (tmp_path / "sluicegate").iterdir()] == [".jsa"]
    executable, jar = java.parts()
    # With `on` Java ends where it cannot use the archive.
    start = [str(executable), "-Xshare:on", *archive, "-XX:+UseSerialGC", "-cp", str(jar)]
    ran = subprocess.run([*start, "tlc2.TLC", "-h"], capture_output=True, text=True, timeout=60)
    assert "TLC" in ran.stdout, ran.stderr


def test_a_cache_that_cannot_be_written_only_makes_it_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    java.archive.cache_clear()
    try:
        assert java.archive() == ()
    finally:
        java.archive.cache_clear()
