"""Looking for manifests costs a long run no memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sluicegate.runtime.weights import ManifestStore


def test_who_looks_for_versions_interns_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is interned and let go leaves a gap; a table full of gaps is copied whole, megabytes at once."""
    for version in (*range(50), 1_000_000):
        (tmp_path / f"v{version:06d}.json").touch()
    for other in ("v1.json", "v0000001.json", "v000001.json.part", "v00000a.json", "w000001.json"):
        (tmp_path / other).touch()
    store, interned, intern = ManifestStore(tmp_path), list[str](), sys.intern

    def counted(name: str) -> str:
        interned.append(name)
        return intern(name)

    monkeypatch.setattr(sys, "intern", counted)
    assert store.versions() == [*range(50), 1_000_000]
    assert interned == []
