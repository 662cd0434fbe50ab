"""The file of a store: what is said of one that cannot be used, and what becomes of it when its process dies."""

from __future__ import annotations

import logging
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Add, Durability, Put, StoreError

WRITER = Path(__file__).with_name("write_store.py")


def put(key: str, value: bytes = b"") -> Put:
    return Put("s", key, "p", value)


def filled(path: Path) -> Path:
    store = SqliteStore(path)
    store.write([put(f"k{n}", bytes(300)) for n in range(200)])
    store.close()
    return path


@pytest.mark.parametrize(("durability", "level"), [(Durability.STRICT, 2), (Durability.PROCESS, 1)])
def test_only_strict_waits_for_the_disk_with_every_write(tmp_path: Path, durability: Durability, level: int) -> None:
    store = SqliteStore(tmp_path / "s", durability)
    mode = store._writer.execute("PRAGMA journal_mode").fetchone()[0]
    synchronous = store._writer.execute("PRAGMA synchronous").fetchone()[0]
    store.close()
    assert (mode, synchronous) == ("wal", level)


def test_the_folder_is_made(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a" / "b" / "s").close()
    assert (tmp_path / "a" / "b" / "s").exists()


def test_sql_is_written_in_one_module_only() -> None:
    """Everything else would have to be written again for a store on the network."""
    root = Path(__file__).parents[2]
    files = [
        file for room in ("statemachines", "spec", "protocol", "runtime", "sluicegate") for file in find(root / room)
    ]
    assert [str(f.relative_to(root)) for f in files if "sqlite3" in f.read_text()] == ["protocol/sqlite.py"]


def find(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.py") if "node_modules" not in file.parts)


# -- files that cannot be used ---------------------------------------------------------------------


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    content = b"this is no database, and long enough to be looked at" * 100
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"/s: not a store .*: give a path of its own"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="a SQLite file of something else: give a path of its own"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(filled(tmp_path / "s")) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreError, match="a store of version 7, this program reads 1: use a file of its own"):
        SqliteStore(tmp_path / "s")


def test_a_path_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="give a path that can be written"):
        SqliteStore(tmp_path / "file" / "s")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"cannot be opened .*: give a path that can be written"):
        SqliteStore(tmp_path / "folder")


def test_a_damaged_file_is_told_as_such(tmp_path: Path) -> None:
    path = filled(tmp_path / "s")
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"/s: it is damaged .*: put a copy back, or move it away"):
        SqliteStore(path)


def test_a_read_only_file_is_told_as_such(tmp_path: Path) -> None:
    path = filled(tmp_path / "s")
    path.chmod(0o444)
    command = [sys.executable, str(WRITER), str(path), "strict"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("run by root, and there is no setpriv to give up root's right to write everything")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "it can only be read" in done.stderr.splitlines()[-1], done.stderr


# -- several processes -----------------------------------------------------------------------------


@pytest.mark.parametrize("attempt", range(5))
def test_numbers_are_given_once_to_all_who_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    """The first to come make the file at the same time."""
    monkeypatch.setattr("sluicegate.protocol.sqlite.BUSY_S", 60.0)
    got: list[int] = []
    failed: list[BaseException] = []

    def take() -> None:
        try:
            store = SqliteStore(tmp_path / "s", Durability.PROCESS)
            got.extend(store.advance("epoch") for _ in range(3))
            store.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failed == []
    assert sorted(got) == list(range(1, 19))


def test_a_file_that_only_one_may_write_is_refused_to_a_second_and_not_to_readers(tmp_path: Path) -> None:
    command = [sys.executable, str(WRITER), str(tmp_path / "s"), "strict", "sole"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"0\n"
            mend = f"process {process.pid} writes it: end that one, or use a file of its own"
            with pytest.raises(StoreError, match=mend):
                SqliteStore(tmp_path / "s", sole=True)
            reader = SqliteStore(tmp_path / "s")
            assert reader.has("s", "000000")
            reader.close()
        finally:
            process.kill()
    SqliteStore(tmp_path / "s", sole=True).close()


def test_a_second_writer_of_the_same_process_is_refused_too_and_a_closed_reader_lets_nothing_go(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s", sole=True)
    mend = f"process {os.getpid()} writes it: end that one, or use a file of its own"
    for _ in range(2):
        with pytest.raises(StoreError, match=mend):
            SqliteStore(tmp_path / "s", sole=True)
        SqliteStore(tmp_path / "s").close()
        assert (tmp_path / "s.lock").read_text() == str(os.getpid())
    command = [sys.executable, str(WRITER), str(tmp_path / "s"), "strict", "sole"]
    other = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert other.returncode == 1
    assert mend in other.stderr
    store.close()
    SqliteStore(tmp_path / "s", sole=True).close()


def test_a_child_that_outlives_who_claimed_a_file_does_not_hold_it_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s", sole=True)
    ended, end = os.pipe()
    lives, begin = os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        os.write(begin, b".")
        os.read(ended, 1)
        os._exit(0)
    # What a child holds on it lets go once it runs.
    os.read(lives, 1)
    try:
        with pytest.raises(StoreError, match="writes it"):
            SqliteStore(tmp_path / "s", sole=True)
        store.close()
        SqliteStore(tmp_path / "s", sole=True).close()
    finally:
        for each in (end, ended, lives, begin):
            os.close(each)
        os.waitpid(child, 0)


def test_one_who_was_refused_leaves_nothing_claimed(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"no database" * 1000)
    for _ in range(2):
        with pytest.raises(StoreError, match="not a store"):
            SqliteStore(tmp_path / "s", sole=True)


def test_a_writer_that_never_ends_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate.protocol.sqlite.BUSY_S", 0.2)
    store = SqliteStore(filled(tmp_path / "s"))
    other = sqlite3.connect(tmp_path / "s", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process writes it for too long"):
        store.write([put("k")])
    other.execute("ROLLBACK")
    other.close()
    store.write([put("k")])
    store.close()


# -- a disk that is full ---------------------------------------------------------------------------


def test_a_full_store_writes_all_of_a_batch_or_none(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    store.write([put("a")])
    pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
    store._writer.execute(f"PRAGMA max_page_count = {pages}")
    big = [put("b"), put("big", bytes(100_000))]
    with pytest.raises(StoreError, match=r"the disk is full .*: free some of it"):
        store.write(big)
    assert store.keys("s") == ["a"]
    store._writer.execute("PRAGMA max_page_count = 1000000")
    store.write(big)
    assert store.keys("s") == ["a", "b", "big"]
    store.close()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_log_that_may_not_grow_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    stored, failure = 0, ""
    with file_size_limit(200_000):
        while not failure and stored < 1000:
            try:
                store.write([put(f"{stored:03}", bytes(2000))])
                stored += 1
            except StoreError as error:
                failure = str(error)
        assert "look at it, at its quota and at file size limits" in failure
        assert len(store.keys("s")) == stored > 0
    store.write([put(f"{stored:03}")])
    store.close()
    again = SqliteStore(tmp_path / "s")
    assert again.keys("s") == [f"{n:03}" for n in range(stored + 1)]
    again.close()


# -- a process that dies ---------------------------------------------------------------------------


def kill_a_writer(path: Path, durability: Durability, answered: int) -> int:
    """A process writes keys 0, 1, 2 ... and is killed; the number of those that it said are stored."""
    command = [sys.executable, str(WRITER), str(path), durability]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        last = b""
        try:
            for last in process.stdout:
                if int(last) >= answered:
                    break
        finally:
            process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().splitlines(keepends=True)
        process.wait(10)
    whole = [last, *(line for line in rest if line.endswith(b"\n"))]
    return int(whole[-1]) + 1


@pytest.mark.parametrize("durability", [Durability.STRICT, Durability.PROCESS])
def test_what_was_answered_outlives_kill_9(tmp_path: Path, durability: Durability) -> None:
    answered = kill_a_writer(tmp_path / "s", durability, 60)
    store = SqliteStore(tmp_path / "s")
    kept = [int(key) for key in store.keys("s")]
    store.close()
    assert kept == list(range(len(kept)))
    assert len(kept) >= answered


def test_a_log_that_is_cut_off_opens_with_what_is_whole_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answered = kill_a_writer(tmp_path / "s", Durability.STRICT, 60)
    caplog.set_level(logging.WARNING)
    log, whole = tmp_path / "s-wal", (tmp_path / "s-wal").read_bytes()
    counts: list[int] = []
    for cut in (0, 1, 24, 4096, 5000, len(whole) // 2 + 1, len(whole) - 10):
        copy = tmp_path / f"cut-{cut}"
        copy.mkdir()
        shutil.copy(tmp_path / "s", copy / "s")
        (copy / log.name).write_bytes(whole[: len(whole) - cut])
        caplog.clear()
        store = SqliteStore(copy / "s", sole=True)
        kept = [int(key) for key in store.keys("s")]
        store.write([Add("s", "after", "p", b"")])
        store.close()
        assert kept == list(range(len(kept))), "what is kept is what was written first"
        assert ("ends in the middle of a write" in caplog.text) == ((len(whole) - cut - 32) % (4096 + 24) != 0)
        counts.append(len(kept))
    assert counts[0] >= answered
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]
