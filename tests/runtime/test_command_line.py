"""Commands where what they are given cannot be used, or nobody reads on: one line, and never a traceback."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate.cli import main
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Put, StoreError
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster

pytestmark = pytest.mark.timeout(180)


def empty_run(folder: Path) -> Path:
    """The register of a run that no controller has ruled yet."""
    folder.mkdir()
    with Register(folder / "register.db"), Roster(folder / "register.db") as roster:
        roster.begin("a", "rollout")
    return folder


def damaged(space: str, key: str, part: str, value: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        store = SqliteStore(empty_run(folder) / "register.db")
        store.write([Put(space, key, part, value)])
        store.close()
        return folder

    return make


def garbage(folder: Path) -> Path:
    folder.mkdir()
    (folder / "register.db").write_bytes(b"no database" * 1000)
    return folder


REGISTERS = {
    "garbage": (garbage, "not a store"),
    "a ruler that is no JSON": (
        damaged("rulers", "000000000001", "place", b"{"),
        "what is kept of who rules is damaged",
    ),
    "a ruler that is no object": (damaged("rulers", "000000000001", "place", b"[]"), "who rules is damaged"),
    "a ruler that is no text": (damaged("rulers", "000000000001", "place", b"\xff"), "who rules is damaged"),
    "a life that is no JSON": (damaged("lives", "b.1", "began", b"nothing"), "what is kept of 'b.1' is damaged"),
    "a life of something else": (damaged("lives", "b.1", "began", b'{"x": 1}'), "what is kept of 'b.1' is damaged"),
    "a hold that is no text": (damaged("holds", "b", "why", b"\xff"), "what is kept of a hold is damaged"),
}


@pytest.mark.parametrize("what", REGISTERS)
def test_a_register_that_cannot_be_read_is_told_in_one_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, says = REGISTERS[what]
    assert main(["status", str(make(tmp_path / "run"))]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.count("\n") == 1


def test_who_only_looks_waits_for_no_writer_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = empty_run(tmp_path / "run")
    with Register(run / "register.db") as register:
        register.publish(3, register.new_term())
    other = sqlite3.connect(run / "register.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    before = (run / "register.db").read_bytes()
    assert main(["status", str(run), "--format", "json", "--within", "0.2"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["published"], [r["incarnation"] for r in found["replicas"]]) == (3, ["a.1"])
    assert main(["pause", str(run), "--within", "0.2"]) == 1
    assert "no controller rules yet" in capsys.readouterr().err
    assert (run / "register.db").read_bytes() == before
    other.execute("ROLLBACK")
    other.close()


def test_a_file_that_is_no_store_is_not_made_one_by_who_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "register.db").touch()
    assert main(["status", str(tmp_path)]) == 2
    assert "register.db" in capsys.readouterr().err
    assert [(file.name, file.stat().st_size) for file in tmp_path.iterdir()] == [("register.db", 0)]
    for wrong in (tmp_path / "none.db", tmp_path / "no folder" / "none.db"):
        with pytest.raises(StoreError, match="cannot be opened"):
            Roster(wrong, looks=True)
    assert len(list(tmp_path.iterdir())) == 1
    store = SqliteStore(tmp_path / "run.db")
    look = SqliteStore(tmp_path / "run.db", looks=True)
    store.write([Put("s", "k", "p", b"1")])
    assert look.get("s", "k") == {"p": b"1"}
    with pytest.raises(StoreError, match="it can only be read"):
        look.write([Put("s", "k", "p", b"2")])
    store.close()
    look.close()
    SqliteStore(tmp_path / "run.db", looks=True).close()


def test_words_that_are_no_unicode_and_paths_that_cannot_be_are_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, long = str(empty_run(tmp_path / "run")), "a" * 300
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "zero.json").write_text(json.dumps({"certificate": "a\0b", "key": "a\0b"}))
    wrong = {
        "no UTF-8": [
            ["poison", run, "r", "--why", "\udcff"], ["poison", run, "\udcff", "--why", "x"],
            ["resume", run, "--operation-id", "\udcff"], ["status", "\udcff"],
        ],
        "File name too long": [
            ["status", long], ["pause", long], ["status", run, "--access", long], ["replay", long],
            ["trace", "validate", long], ["worker", "controller", long],
        ],
        "deep.json: is not JSON": [["status", run, "--access", str(tmp_path / "deep.json")]],
        "certificate ": [["status", run, "--access", str(tmp_path / "zero.json")]],
    }  # fmt: skip
    for says, commands in wrong.items():
        for words in commands:
            if words[0] == "worker":
                done = subprocess.run(
                    [sys.executable, "-m", "sluicegate", *words], capture_output=True, text=True, timeout=120
                )
                code, errors = done.returncode, done.stderr
            else:
                code = main(words)
                errors = capsys.readouterr().err
            assert (code, says in errors, errors.count("\n")) == (2, True, 1), (words, errors)


def test_a_controller_of_a_register_that_cannot_be_used_says_so_in_one_line(tmp_path: Path) -> None:
    register = garbage(tmp_path / "run") / "register.db"
    config = tmp_path / "controller.json"
    config.write_text(json.dumps({"run": "r", "register": str(register), "manifests": str(tmp_path / "manifests")}))
    command = [sys.executable, "-m", "sluicegate", "worker", "controller", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sluicegate worker: {register}: not a store")
    assert done.stderr.count("\n") == 1


def test_a_command_ends_quietly_when_nobody_reads_on(tmp_path: Path) -> None:
    run = empty_run(tmp_path / "run")
    watching = ["status", str(run), "--watch", "--every", "0.05", "--format", "json", "--within", "0.2"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for words, environment in (
        (watching, buffered), (watching, buffered | {"PYTHONUNBUFFERED": "1"}), (["--help"], buffered),
    ):  # fmt: skip
        command = [sys.executable, "-m", "sluicegate", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                if words is watching:
                    assert json.loads(process.stdout.readline())["controller"]["answers"] is False
                process.stdout.close()
                assert process.stderr.read() == b""
                assert process.wait(60) == 128 + 13
            finally:
                process.kill()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_that_cannot_write_says_so_in_one_line(unbuffered: str) -> None:
    command = [sys.executable, "-m", "sluicegate", "diagram", "Gate"]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("sluicegate: cannot write, for want of room (No space left on device): ")
    assert done.stderr.count("\n") == 1
