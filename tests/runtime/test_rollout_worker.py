"""A rollout worker's process over gRPC: versions under requests, holding, drains, and what becomes of leases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.protocol.client import Refused as ControlRefused
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import Driven, Refused, Weights, driven, first_tokens, judged, worker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    return Weights("worker-test", tmp_path_factory.mktemp("worker"))


@pytest.fixture(scope="module")
def process(weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("process")
    with worker_process("rollout", weights.config("r0", hold_limit=3), folder) as (process, ready):
        yield {**ready, "process": process}


@pytest.fixture
async def replica(process: dict[str, Any], weights: Weights) -> AsyncIterator[Driven]:
    async with driven(process, weights) as made:
        yield made


async def next_version(replica: Driven) -> int:
    return ((await replica.now()).version or 0) + 1


async def test_a_new_life_is_sealed_without_weights_and_admits_nothing(replica: Driven) -> None:
    gate = await replica.now()
    assert (gate.state, gate.version, gate.resident) == ("SEALED", None, False)
    with pytest.raises(Refused) as refused:
        await replica.generate()
    assert (refused.value.reason, refused.value.retry, refused.value.state) == ("closed", True, "SEALED")


async def test_three_versions_under_requests_and_every_token_has_its_label(replica: Driven) -> None:
    await replica.update(1)
    by_version: dict[int, list[int]] = {}
    for version in (1, 2, 3):
        if version > 1:
            busy = [asyncio.create_task(replica.generate(max_tokens=60, seed=seed)) for seed in range(4)]
            await replica.until(lambda g: len(g.active) == 4)
            await replica.update(version)
            for answer in await asyncio.gather(*busy):
                assert answer.versions == [version - 1] * 60
                assert answer.version == version - 1
        gate = await replica.now()
        assert gate.version == version
        assert gate.digests == replica.weights.publish(version).rank_digests(["0"])
        answer = await replica.generate(max_tokens=20, seed=7)
        assert answer.versions == [version] * 20
        assert (answer.reason, answer.epoch) == ("length", gate.epoch)
        assert answer.incarnation == replica.ready["incarnation"]
        by_version[version] = answer.ids
    assert len({tuple(ids) for ids in by_version.values()}) == 3, "each version made other tokens"


async def test_requests_are_held_in_order_and_run_on_what_they_are_labelled_with(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.seal()
    held = []
    for number in range(3):
        held.append(asyncio.create_task(replica.generate(request_id=f"held-{version}-{number}", hold=30.0)))
        await asyncio.sleep(0.1)
    with pytest.raises(Refused) as full:
        await replica.generate(hold=30.0)
    assert (full.value.reason, full.value.retry) == ("hold_full", True)
    held[1].cancel()
    await asyncio.sleep(0.1)
    with pytest.raises(Refused) as late:
        await replica.generate(hold=0.2)
    assert (late.value.reason, late.value.retry) == ("hold_expired", True)
    await replica.drain()
    await replica.install(version)
    assert not (await replica.now()).active
    await replica.reopen()
    answers = await asyncio.gather(held[0], held[2])
    assert [a.versions for a in answers] == [[version] * 8] * 2
    assert (await replica.lease_state(f"held-{version}-0")).state == "SETTLED"
    with pytest.raises(Exception, match="no Lease is named"):
        await replica.lease_state(f"held-{version}-1")
    await replica.close()


async def test_a_pinned_request_is_refused_by_another_version(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.update(version)
    with pytest.raises(Refused) as refused:
        await replica.generate(version=version - 1)
    assert refused.value.reason == "other_version"
    assert (await replica.generate(version=version)).reason == "length"


async def test_kept_requests_go_on_with_the_tokens_that_they_would_have_had(replica: Driven) -> None:
    """The next version has the same weights, so that the pause alone could change anything."""
    version = await next_version(replica)
    assert isinstance(replica.weights, Weights)
    replica.weights.seeds[version + 1] = replica.weights.seeds.get(version, version)
    await replica.update(version)
    whole = await replica.generate(max_tokens=400, seed=3)
    stream = replica.stream(max_tokens=400, seed=3)
    before = list((await first_tokens(stream, 5)).ids)
    await replica.seal(Mode.KEEP)
    gate = await replica.drain()
    assert len(gate.suspended) == 1
    assert (await replica.lease_state(next(iter(gate.suspended)))).state == "SUSPENDED"
    await replica.install(version + 1)
    await replica.reopen()
    await replica.close()
    answer = [a async for a in stream][-1]
    assert answer.ids == whole.ids
    assert answer.ids[: len(before)] == before
    assert [v for v, _ in answer.spans] == [version, version + 1]
    assert answer.reason == "length"


async def test_aborted_requests_end_with_what_they_have(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.update(version)
    stream = replica.stream(max_tokens=3000, seed=1)
    await first_tokens(stream, 3)
    await replica.update(version + 1, Mode.ABORT)
    answer = [a async for a in stream][-1]
    assert answer.reason == "aborted"
    assert 3 <= len(answer.ids) < 3000
    lease = await replica.lease_state(answer.lease)
    assert (lease.state, lease.ending, lease.spans) == ("SETTLED", "aborted", {version: len(answer.ids)})


async def test_a_client_that_leaves_ends_its_request_and_a_repeat_of_the_abort_changes_nothing(replica: Driven) -> None:
    await replica.update(await next_version(replica))
    stream = replica.stream(max_tokens=3000)
    lease = (await first_tokens(stream, 2)).lease
    await stream.aclose()
    await replica.until(lambda g: lease not in g.active)
    assert (await replica.lease_state(lease)).ending == "aborted"
    reply = await replica.lease(lease).cancel()
    assert (reply.kind, reply.snapshot.ending) == ("ignore", "aborted")


async def test_an_id_is_never_used_twice(replica: Driven) -> None:
    await replica.update(await next_version(replica))
    answer = await replica.generate(request_id="once")
    assert answer.reason == "length"
    with pytest.raises(Refused) as refused:
        await replica.generate(request_id="once")
    assert (refused.value.reason, refused.value.retry) == ("reused", False)


async def test_bad_requests_are_refused_before_the_gate(replica: Driven) -> None:
    for bad in ({"prompt": ()}, {"prompt": (99,)}, {"max_tokens": 0}, {"max_tokens": 5000}, {"temperature": -1.0}):
        with pytest.raises(Refused) as refused:
            await replica.generate(**bad)
        assert refused.value.reason == "malformed"
    with pytest.raises(Refused) as refused:
        await replica.generate(incarnation="an earlier one")
    assert (refused.value.reason, refused.value.retry) == ("incarnation", False)


async def test_the_deadline_reopens_a_gate_that_nobody_finishes(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.update(version)
    await replica.seal(window=300)
    answer = await replica.generate(hold=20.0)
    assert answer.versions == [version] * 8
    gate = await replica.now()
    assert gate.state == "REOPENED"
    await replica.close()


async def test_a_repeated_command_is_answered_and_done_once(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.update(version)
    await replica.seal()
    await replica.drain()
    digests = replica.weights.publish(version + 1).rank_digests(["0"])
    install = {"term": replica.term, "epoch": replica.epoch, "version": version + 1, "digests": digests}
    operation = replica.operation("install")
    first = await replica.gate.install(**install, operation_id=operation)
    again = await replica.gate.install(**install, operation_id=operation)
    assert (first.kind, again.kind, again.replayed) == ("go", "go", True)
    await replica.until(lambda g: g.version == version + 1)
    for _ in range(2):
        await replica.reopen()
    await replica.close()
    assert (await replica.generate()).versions == [version + 1] * 8


async def test_memory_is_lent_only_by_a_drained_gate_and_the_same_version_comes_back(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.update(version)
    stream = replica.stream(max_tokens=3000)
    await first_tokens(stream)
    await replica.seal(Mode.WAIT)
    step = {"term": replica.term, "epoch": replica.epoch}
    await replica.gate.drain(**step, operation_id=replica.operation("drain"))
    with pytest.raises(ControlRefused, match="not drained"):
        await replica.gate.lend(**step, lend="lend", operation_id=replica.operation("lend"))
    await replica.gate.escalate(**step, mode=Mode.ABORT, operation_id=replica.operation("escalate"))
    await replica.until(lambda g: g.quiet == g.ranks)
    await replica.gate.lend(**step, lend="lend", operation_id=replica.operation("lend"))
    await replica.gate.returned(**step, lend="lend", operation_id=replica.operation("returned"))
    gate = await replica.install(version)
    assert (gate.version, gate.resident) == (version, True)
    await replica.reopen()
    await replica.close()
    assert (await replica.generate()).versions == [version] * 8
    assert [a async for a in stream][-1].reason == "aborted"


async def test_staging_leaves_what_is_served(replica: Driven) -> None:
    version = await next_version(replica)
    await replica.update(version)
    manifest = replica.weights.publish(version + 1)
    before = await replica.generate(seed=5)
    staged = await replica.stage(version + 1)
    assert dict(staged.digests) == manifest.rank_digests(["0"])
    assert (await replica.generate(seed=5)).ids == before.ids
    await replica.update(version + 1)
    assert (await replica.generate(seed=5)).versions == [version + 1] * 8


def test_all_this_is_explained_by_the_tables_and_the_rules_between_them(
    process: dict[str, Any], weights: Weights, tmp_path: Path
) -> None:
    """Who commanded the gate has no log here: what rules ask of it is excused, as after a kill."""
    process["process"].terminate()
    assert process["process"].wait(20) == 0
    verdict = judged(weights, [process["trace"]], {}, tmp_path)
    assert verdict.valid, verdict.refusal
    assert verdict.instances["Lease"] >= 1
    assert verdict.applied["settled_has_receipt"] == verdict.instances["Lease"]
    assert not {name for name in verdict.excused if "lease" in name} - {"lease_has_turn"}
