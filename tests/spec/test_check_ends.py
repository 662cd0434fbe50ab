"""A check ends when it is told to, and leaves nothing behind; what is too large is told before it is begun."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate.cli import main
from sluicegate.spec.judge import judge_system
from sluicegate.spec.models import Config, SystemModel
from sluicegate.statemachines import Event, Machine, Nat, SetOf, State, Table, columns, ignore, row, stay
from sluicegate.statemachines.explore import TooLarge, explore
from sluicegate.statemachines.ir import Scope

DEEP = """
from sluicegate.statemachines import Event, Machine, Nat, State, Table, columns, row, stay

class Deep(Machine):
    A = State()
    ns, ks = Nat(0), Nat(0)
    class N(Event): ...
    class K(Event): ...
    table = Table(columns(A), row(N, stay().do(ns.set(ns + 1))), row(K, stay().do(ks.set(ks + 1))))
"""


class Wide(Machine):
    """One event with very many values."""

    A = State()
    numbers = Nat(0)

    class Tick(Event):
        some: SetOf[Nat]

    table = Table(columns(A), row(Tick, stay().when(Tick.some.is_empty()).do(numbers.set(numbers + 1)).orelse(ignore)))


def children(parent: int) -> list[int]:
    """Every process below `parent`."""
    above: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                up = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            above.setdefault(up, []).append(int(entry.name))
    found, left = [], [parent]
    while left:
        left += (more := above.get(left.pop(), []))
        found += more
    return found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A check that takes long, with a folder of its own for temporary files."""
    (tmp_path / "deep.py").write_text(DEEP)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "sluicegate", "check", "deep:Deep", "--bound", "nat=700"],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    yield process, temporary
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_exploration_soon(
    running: tuple[subprocess.Popen[bytes], Path], number: signal.Signals
) -> None:
    process, _ = running
    time.sleep(5)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert said == b""


@pytest.mark.slow
def test_sigterm_leaves_no_process_and_no_file_behind(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "sluicegate", "check", "--model", "swap"],
        env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while len(below := children(process.pid)) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        assert len(below) == 2
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, said) == (128 + signal.SIGTERM, b"")
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)
    assert list(temporary.iterdir()) == []


def test_a_scope_with_too_many_events_is_refused_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(TooLarge, match=r"more than 100000 events Tick in this scope: give smaller bounds"):
        explore(Wide, Scope(nat=40))
    with pytest.raises(TooLarge, match="time limit"):
        explore(Wide, Scope(nat=40), timeout=0.001)
    assert time.monotonic() - began < 100


@pytest.mark.parametrize("limit", ["nan", "inf", "1e30", "-1", "0", "soon"])
def test_a_time_limit_that_is_none_is_a_wrong_use(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", f"--timeout={limit}"])
    assert ended.value.code == 2
    assert f"{limit} is no time limit: give seconds above 0" in capsys.readouterr().err


def test_a_model_that_claims_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "One.tla").write_text(
        "---- MODULE One ----\nVARIABLE x\nInit == x = 0\nNext == x' = x\nIs == x = 0\n====\n"
    )
    empty = SystemModel("one", "nothing", "One", Config(), folder=tmp_path, machines=())
    assert judge_system(empty).trouble.startswith("error: nothing is claimed: name invariants or properties")
    unasked = SystemModel("one", "x", "One", Config(invariants=("Is",)), violates="Other", folder=tmp_path, machines=())
    assert judge_system(unasked).trouble.startswith("error: Other should fail and is not asked")
