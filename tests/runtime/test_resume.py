"""A run of real processes that is killed and goes on: from disk alone, and beside replicas that stay."""

from __future__ import annotations

import shutil
from fnmatch import fnmatch
from pathlib import Path

import pytest
from resumed_kit import FROZEN, SMALL, Asking, grown, judged, manifests, playing, served

from sluicegate.cli import main
from sluicegate.runtime.checkpoints import Checkpoints
from sluicegate.runtime.controller.roster import Roster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def frozen(folder: Path, version: int) -> dict[str, str]:
    """The digests of the frozen tensors of a version."""
    return {each.name: each.digest for each in manifests(folder).get(version).tensors if fnmatch(each.name, FROZEN)}


def test_a_run_that_was_killed_as_a_whole_goes_on_from_disk_alone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(folder, ranks=2, checkpoints={"every": 2}) as first:
        first.until("begun: version 0 is published")
        assert [first.step(number)["version"] for number in (1, 2)] == [1, 2]
        first.until("saved in .*: step 2")
        assert main(["poison", str(folder), "r1", "--why", "a save waits for no replica"]) == 0
        first.until("saved in .*: step 4")
        first.kill_all()
    with Roster(folder / "register.db", looks=True) as roster:
        before = {life.incarnation for life in roster.lives()}
    taken = manifests(folder).versions()
    found = Checkpoints(folder / "checkpoints").latest()
    assert found.checkpoint is not None
    assert found.passed_over == {}
    state = found.checkpoint.state
    with playing(folder, ranks=2, checkpoints={"every": 2}) as second:
        said = second.until(r"resumed from (\S+): step (\d+), published as version (\d+)")
        version = int(said[3])
        assert (said[1], int(said[2]), version > max(taken)) == (found.checkpoint.path.name, state.step, True)
        # What the trainer restored, and what every replica then proved to hold, is what was saved, to the bit.
        restored, saved = manifests(folder).get(version), found.checkpoint.manifests.get(state.published)
        assert (restored.step, restored.digest) == (state.step, saved.digest)
        one, *others = [frozen(folder, each) for each in (0, 1, 2, version)]
        assert len(one) == 3
        assert others == [one] * 3, "what is frozen is the same in every version, to the bit"
        assert len({manifests(folder).get(each).digest for each in (0, 1, 2)}) == 3
        assert second.step(state.step + 1)["version"] == version + 1
        counts = grown(second, range(state.step + 4, state.step + 9), range(state.step + 16, state.step + 21))
        flat = {key: pair for key, pair in counts.items() if key[1] != "bytes"}
        assert all(abs(after - before) <= 1 for before, after in flat.values()), flat
        lives = [life.incarnation for life in second.living("rollout")]
        assert len(lives) == 2
        assert not before & set(lives)
        second.end()
    made = set[int]().union(*(served(folder, life) for life in lives))
    assert min(made) == version, "nothing is served before the restored weights are"
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal


def test_a_run_that_never_saved_begins_anew_is_started_once_and_publishes_what_it_trained_under_another_number(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    with playing(folder) as first:
        # A trainer that is lost before it has published is waited for like any other.
        first.kill(first.first_life("trainer"))
        first.until("begun: version 0 is published")
        assert [life.incarnation for life in first.living("trainer")] == ["trainer.2"]
        first.kill_all()
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    # What blocks a number counts as a version to the trainer, so that samples seem as much older.
    with playing(folder, training={**SMALL["training"], "max_staleness": 16}) as second:
        second.until("begun: version 1 is published")
        assert manifests(folder).get(1).step == 0
        assert manifests(folder).get(1).digest == manifests(folder).get(0).digest
        second.until("saved in .*: step 0")
        # What lies there is no manifest, and nothing can take its place.
        blocked = folder / "manifests" / "v000008.json"
        blocked.mkdir()
        second.until("tried again: .* could not publish 8, and nothing has changed")
        blocked.rmdir()
        assert second.step(7)["version"] == 9
        assert manifests(folder).get(9).step == 7, "the step counts: only its publication is done again"
        replicas = [life.incarnation for life in second.living()]
        with playing(folder) as third:
            third.until(rf"the run could not go on: .*register\.db\.supervisor: process {second.process.pid} writes it")
            assert third.process.wait(60) == 1
        second.step(12)
        assert [life.incarnation for life in second.living()] == replicas
        second.end()


def test_a_trainer_that_was_killed_goes_on_three_steps_back_while_the_replicas_serve(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(folder, checkpoints={"every": 4}) as run:
        run.until("saved in .*: step 4")
        run.step(7)
        replicas = [life.incarnation for life in run.living("rollout")]
        [trainer] = run.living("trainer")
        with Asking(run) as asking:
            run.kill(trainer)
            run.until("the trainer has ended: ")
            digests = {version: manifests(folder).get(version).digest for version in manifests(folder).versions()}
            before = len(asking.answers)
            said = run.until(r"(\S+) goes on from (\S+): step (\d+), published as version (\d+)")
            meanwhile = asking.answers[before:]
            found = run.step(5)
        step, version = int(said[3]), int(said[4])
        assert (said[1], step) == ("trainer.2", 4)
        assert version > max(digests)
        store = manifests(folder)
        # A label of an abandoned version still tells its step and its weights; the restored one has them anew.
        told = {each: (store.get(each).step, store.get(each).digest) for each in (4, 5, 6, 7, version)}
        assert {each: step for each, (step, _) in told.items()} == {4: 4, 5: 5, 6: 6, 7: 7, version: 4}
        assert told[version][1] == told[4][1] == digests[4]
        assert len({digest for _, digest in told.values()}) == 4
        assert len(meanwhile) > 4, "replicas serve while there is no trainer"
        assert {len(labels) for labels in asking.answers} == {40}
        assert {label for labels in meanwhile for label in labels} <= {*digests, version}
        assert all(labels == sorted(labels) for labels in asking.answers)
        assert found["version"] == version + 1
        run.until("saved in .*: step 8")
        assert [life.incarnation for life in run.living("rollout")] == replicas
        run.end()
    with Roster(folder / "register.db", looks=True) as roster:
        assert [life.incarnation for life in roster.lives("rollout")] == replicas, "no replica was replaced"
    made = set[int]().union(*(served(folder, life) for life in replicas))
    assert {7, version + 1} <= made
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal
