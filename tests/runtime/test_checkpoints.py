"""Checkpoints of a run: whole or not there, the newest good one found, the last good one never removed."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sluicegate.cli import main
from sluicegate.runtime.checkpoints import Checkpoints, RunState, Writing
from sluicegate.runtime.checkpoints.state import FORMAT, read_state, write_state
from sluicegate.runtime.training.checkpoint import CheckpointError, complete, partial_of, prepare
from sluicegate.runtime.weights import Manifest, ShmPublisher

STATE = RunState(run="r", step=4, published=3, newest=4, next_group=9, in_flight=(7, 8), sampler={"seed": 1})


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    publisher = ShmPublisher("r", root=tmp_path_factory.mktemp("shm"))
    return publisher.publish(3, 4, [("w", torch.arange(4.0))], torch.float32)


def write(writing: Writing, manifest: Manifest, state: RunState = STATE) -> None:
    writing.put(state, [manifest])
    prepare(writing.trainer)
    (partial_of(writing.trainer) / "weights").write_bytes(b"w" * 1000)
    complete(writing.trainer, {"step": state.step})


def save(checkpoints: Checkpoints, manifest: Manifest, state: RunState = STATE) -> Path:
    with checkpoints.begin() as writing:
        write(writing, manifest, state)
        writing.complete()
    return writing.path


def names(folder: Path) -> list[str]:
    """What lies in the folder, but for the lock."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_what_was_saved_is_read_again_and_comes_last_of_all(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path / "kept")
    assert checkpoints.latest().checkpoint is None
    with checkpoints.begin() as writing:
        write(writing, manifest)
        assert checkpoints.paths() == []
        writing.complete()
    save(checkpoints, manifest, RunState(run="r", step=2, published=3, newest=3))
    found = checkpoints.latest()
    assert found.checkpoint is not None
    assert (found.checkpoint.path.name, found.checkpoint.state.step, found.passed_over) == ("checkpoint-000002", 2, {})
    first = checkpoints.verify(writing.path)
    assert first.state == STATE
    assert not first.state.is_at_rest
    assert first.manifests.get(3) == manifest
    assert (first.trainer / "weights").stat().st_size == 1000


def test_a_trainers_part_of_another_step_is_not_taken_for_the_runs(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    with checkpoints.begin() as writing:
        write(writing, manifest)
        writing.put(replace(STATE, step=5), [manifest])
        writing.complete()
    with pytest.raises(CheckpointError, match="is of step 5, and the trainer's part of step 4"):
        checkpoints.verify(writing.path)


def test_one_that_was_not_completed_leaves_nothing(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)

    def breaks_off() -> None:
        with checkpoints.begin() as writing:
            write(writing, manifest)
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        breaks_off()
    with checkpoints.begin() as writing:
        writing.put(STATE, [manifest])
        with pytest.raises(CheckpointError, match="trainer was not written"):
            writing.complete()
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "part", ["run.json", "index.json", "trainer/weights", "trainer/checkpoint.json", "manifests/v000003.json"]
)
@pytest.mark.parametrize("how", ["missing", "cut", "altered"])
def test_a_damaged_one_is_passed_over_with_the_reason(
    part: str, how: str, tmp_path: Path, manifest: Manifest
) -> None:
    checkpoints = Checkpoints(tmp_path)
    good, bad = save(checkpoints, manifest), save(checkpoints, manifest)
    path = bad / part
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-7] if how == "cut" else content.replace(b'"', b"'") + b"x")
    found = checkpoints.latest()
    assert found.checkpoint is not None
    assert found.checkpoint.path == good
    assert list(found.passed_over) == [bad.name]
    assert str(path) in found.passed_over[bad.name]
    assert "checkpoint" in found.passed_over[bad.name]


def test_pruning_keeps_the_newest_and_never_removes_the_last_good_one(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    paths = [save(checkpoints, manifest) for _ in range(5)]
    for path in paths[3:]:
        (path / "run.json").unlink()
    assert checkpoints.prune(2) == [path.name for path in paths[:2]]
    assert checkpoints.paths() == paths[2:]
    (paths[2] / "trainer" / "weights").unlink()
    assert checkpoints.prune(1) == [], "where none is good, all stay to be looked at"
    with pytest.raises(ValueError, match="at least 1"):
        checkpoints.prune(0)
    assert save(checkpoints, manifest).name == "checkpoint-000006"
    assert len(checkpoints.prune(1)) == 3
    assert names(tmp_path) == ["checkpoint-000006"]


def test_while_one_process_writes_another_is_refused_and_removes_nothing(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    with checkpoints.begin() as writing:
        write(writing, manifest)
        for refused in (lambda: Checkpoints(tmp_path).begin().__enter__(), lambda: Checkpoints(tmp_path).prune(1)):
            with pytest.raises(CheckpointError, match=f"process {os.getpid()} writes it"):
                refused()
        writing.complete()
    assert checkpoints.latest().passed_over == {}
    assert checkpoints.paths() == [writing.path]


def test_what_a_killed_writer_left_goes_with_the_next_begin(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    for left in (".checkpoint-000001.partial", ".checkpoint-000000.removed"):
        (tmp_path / left / "trainer").mkdir(parents=True)
    save(checkpoints, manifest)
    assert names(tmp_path) == ["checkpoint-000001"]


def test_a_folder_that_appeared_meanwhile_is_not_overwritten(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    with checkpoints.begin() as writing:
        write(writing, manifest)
        writing.path.mkdir()
        with pytest.raises(CheckpointError, match="never overwritten"):
            writing.complete()
    assert names(tmp_path) == [writing.path.name]
    assert list(writing.path.iterdir()) == []


@contextmanager
def no_room(most: int) -> Iterator[None]:
    """Meanwhile no file of this process grows above `most` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_without_room_it_is_an_error_and_the_last_good_one_is_untouched(tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    good = save(checkpoints, manifest)
    with no_room(64), pytest.raises(CheckpointError, match=r"no checkpoint can be written .*make room"):
        save(checkpoints, manifest)
    with checkpoints.begin() as writing:
        write(writing, manifest)
        with no_room(64), pytest.raises(CheckpointError, match=r"make room"):
            writing.complete()
    assert names(tmp_path) == [good.name]
    assert checkpoints.latest().passed_over == {}


def test_without_permission_it_is_an_error_that_says_where(manifest: Manifest) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "kept").mkdir(mode=0o555)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            with pytest.raises(CheckpointError, match=r"kept/.*Permission denied.*give a folder that can be written"):
                save(Checkpoints(folder / "kept"), manifest)
        finally:
            os.seteuid(user)
        assert list((folder / "kept").iterdir()) == []


def test_a_path_that_is_a_file_is_an_error(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(CheckpointError, match="kept: no checkpoint can be written"):
        save(Checkpoints(tmp_path / "kept"), manifest)


# -- the run's part ----------------------------------------------------------------------------------


def test_an_older_file_without_newer_keys_loads_with_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"format": 1, "run": "r", "step": 4, "published": 3, "newest": 3}))
    assert read_state(path) == RunState(run="r", step=4, published=3, newest=3)
    write_state(path, STATE)
    assert read_state(path) == STATE


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": FORMAT + 1}, "this reads up to"),
        ({"format": None}, "no format number"),
        ({"step": "four"}, "run.json.step: expected a whole number"),
        ({"step": -1}, "step: -1 must not be negative"),
        ({"newest": 2}, "newest: 2 is below"),
        ({"in_flight": [9]}, "in_flight"),
        ({"run": None}, "run.json.run: expected text"),
    ],
)
def test_what_is_no_state_is_named(changes: dict[str, object], said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_state(path, STATE)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(CheckpointError, match=said):
        read_state(path)
    path.write_text("[")
    with pytest.raises(CheckpointError, match="cut or not JSON"):
        read_state(path)


# -- killed while it saves ---------------------------------------------------------------------------

SAVES = """
import sys
from pathlib import Path
from sluicegate.runtime.checkpoints import Checkpoints, RunState
from sluicegate.runtime.training.checkpoint import complete, partial_of, prepare
from sluicegate.runtime.weights.manifest import ManifestStore
checkpoints, manifest = Checkpoints(Path(sys.argv[1])), ManifestStore(Path(sys.argv[2])).get(3)
print("ready", flush=True)
for step in range(int(sys.argv[3]), 1_000_000):
    with checkpoints.begin() as writing:
        writing.put(RunState(run="r", step=step, published=3, newest=3), [manifest])
        prepare(writing.trainer)
        for part in range(8):
            (partial_of(writing.trainer) / f"part-{part}").write_bytes(bytes([step % 256]) * 20_000)
        complete(writing.trainer, {"step": step})
        writing.complete()
    print(step, flush=True)
    checkpoints.prune(2)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_whoever_saves_may_be_killed_at_any_moment_and_the_latest_always_loads(
    tmp_path: Path, manifest: Manifest
) -> None:
    from sluicegate.runtime.weights import ManifestStore

    chance, folder = random.Random(5), tmp_path / "kept"
    ManifestStore(tmp_path / "manifests").put(manifest)
    checkpoints = Checkpoints(folder)
    step, left = 0, 0
    for _ in range(15):
        words = [sys.executable, "-c", SAVES, str(folder), str(tmp_path / "manifests"), str(step)]
        saving = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            assert saving.stdout is not None
            assert saving.stdout.readline() == "ready\n"
            told = [int(saving.stdout.readline()) for _ in range(chance.randrange(3))]
            time.sleep(chance.uniform(0.0, 0.12))
            saving.send_signal(signal.SIGKILL)
            told += [int(line) for line in saving.stdout.read().splitlines()]
        finally:
            saving.kill()
            saving.wait()
        found = checkpoints.latest()
        assert found.passed_over == {}
        if told or step:
            assert found.checkpoint is not None
            # What was told is there, and at most one more, which was not told any more.
            assert found.checkpoint.state.step - (told[-1] if told else step - 1) in (0, 1)
        if found.checkpoint is not None:
            step = found.checkpoint.state.step + 1
        left += sum(name.startswith(".") for name in names(folder))
    assert step > 5
    assert left > 0, "no kill met a checkpoint that was being made"
    save(checkpoints, manifest)
    assert not any(name.startswith(".") for name in names(folder))


# -- the command -------------------------------------------------------------------------------------


def test_the_command_lists_them_and_says_which_is_not_whole(
    tmp_path: Path, manifest: Manifest, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert main(["checkpoint", "list", str(tmp_path)]) == 2
    assert "holds no checkpoint" in capsys.readouterr().err
    first, second = save(checkpoints, manifest), save(checkpoints, manifest)
    assert main(["checkpoint", "list", str(tmp_path), "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(c["name"], c["step"], c["manifests"], c["in_flight"]) for c in listed] == [
        (second.name, 4, [3], [7, 8]), (first.name, 4, [3], [7, 8]),
    ]  # fmt: skip
    (second / "run.json").unlink()
    assert main(["checkpoint", "list", str(tmp_path / "checkpoints")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{second.name}  not whole: ")
    assert "run.json is missing" in said[0]
    assert said[1] == f"{first.name}  run r  step 4  version 3  2 groups in flight  whole"
    assert main(["checkpoint", "verify", str(first)]) == 0
    assert main(["checkpoint", "verify", str(second)]) == 1
    assert main(["checkpoint", "verify", str(tmp_path / "none")]) == 2
    assert main(["checkpoint", "verify", str(tmp_path)]) == 2, "the folder of a run is none"
    assert "is no checkpoint: give one, such as" in capsys.readouterr().err
    assert main(["checkpoint", "convert", str(first)]) == 1, "what lies in it was made by no trainer"
    assert len(checkpoints.paths()) == 2
