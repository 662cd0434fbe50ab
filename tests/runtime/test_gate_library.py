"""The gate as a library, around code that is somebody else's: what it lets in, how that ends, what it refuses."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from full_disk import full_disk

from sluicegate import Bounds, EmbeddedGate, LeaseEnded, Refusal
from sluicegate.protocol.client import Refused as ControlRefused
from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.server import ServerError
from sluicegate.protocol.servicer import ID_LIMIT
from sluicegate.runtime.controller.member import Member
from sluicegate.runtime.workers.config import LIFE_LIMIT, NAME_LIMIT
from sluicegate.runtime.workers.records import LeaseStore
from sluicegate.statemachines.sorts import Mode

from ..support.gate_kit import TokenServer, commanded, digest_of, judge, made_for, until

pytestmark = pytest.mark.timeout(120)


async def nothing(version: int, manifest: object) -> str:
    return digest_of(version)


async def test_a_block_ends_as_its_code_does(tmp_path: Path) -> None:
    server = TokenServer()
    gate = made_for(server, tmp_path)
    async with commanded(gate) as controller:
        await controller.update(1)
        async with gate.admit("s", labels={"task": "7"}) as done:
            assert (done.version, done.session, done.incarnation) == (1, "s", gate.incarnation)
            assert done.epoch == controller.epoch
        with pytest.raises(KeyError):
            async with gate.admit(lease="raised"):
                raise KeyError("x")
        async with gate.admit() as said:
            said.fail("the answer was 500")

        async def sleeps() -> None:
            async with gate.admit(lease="cancelled"):
                await asyncio.sleep(60)

        task = asyncio.create_task(sleeps())
        await until(lambda: gate.counts["running"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        await until(lambda: gate.counts["open"] == 0)
        answers = {lease: gate.records.answer(lease) for lease in (done.id, "raised", said.id, "cancelled")}
        assert [a.closure for a in answers.values()] == ["completed", "failed", "failed", "aborted"]
        assert answers[done.id].labels == {"task": "7"}
        assert "KeyError" in answers["raised"].why
        assert answers[said.id].why == "the answer was 500"
        with pytest.raises(Refusal, match="used before") as reused:
            async with gate.admit(lease="cancelled"):
                raise AssertionError
        assert (reused.value.reason, reused.value.retry) == ("reused", False)
    judge(tmp_path)


async def test_settings_that_cannot_be_are_refused_before_anything_is_opened(tmp_path: Path) -> None:
    wrong: list[tuple[str, Any]] = [
        ("lease", 0), ("lease", -1), ("lease", math.nan), ("stop", 0), ("hold", -1), ("hold_limit", 0),
    ]  # fmt: skip
    for name, value in wrong:
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            Bounds(**{name: value})
    settings: dict[str, Any] = {"replica": "r", "install": nothing, "state": tmp_path / "state"}
    longest: dict[str, Any] = {"replica": "r" * NAME_LIMIT, "incarnation": "i" * LIFE_LIMIT}
    for name, value in longest.items():
        with pytest.raises(ValueError, match=f"{name} has {len(value) + 1} characters"):
            EmbeddedGate(**settings | {name: value + "x"})
    gate = EmbeddedGate(**settings | longest)
    member = Member(gate.replica, gate.incarnation, "127.0.0.1:1", "", term=10**9, call=1.0)
    events = [event.name.lower() for event in GATE.machine.ir.events]
    assert max(len(member.operation(10**12, event)) for event in events) <= ID_LIMIT
    await member.close()
    for port in (-1, 65536, 99999):
        with pytest.raises(ServerError, match=f"port is {port}: give one from 1 to 65535"):
            async with EmbeddedGate(**settings, port=port):
                raise AssertionError


async def test_what_cannot_be_recorded_is_told_to_who_gives_it_and_touches_nobody_else(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path)
    async with commanded(gate) as controller:
        await controller.update(1)
        wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
            (TypeError, "a label is b'y'", {"labels": {"x": b"y"}}),
            (TypeError, "the name of a label is 1", {"labels": {1: "y"}}),
            (TypeError, "labels are", {"labels": "xy"}),
            (ValueError, "a label is .* no Unicode", {"labels": {"x": "\udcff"}}),
            (ValueError, "lease is .* no Unicode", {"lease": "\udcff"}),
            (ValueError, "session is .* no Unicode", {"session": "\udcff"}),
            (TypeError, "client is 7", {"client": 7}),
            (TypeError, "pin is '1'", {"pin": "1"}),
            (ValueError, "hold is nan", {"hold": float("nan")}),
        ]
        for kind, says, given in wrong:
            with pytest.raises(kind, match=says):
                gate.admit(**given)

        class Mute(Exception):
            def __repr__(self) -> str:
                raise RuntimeError

        async with gate.admit(lease="whole") as lease:
            for kind, ids, logprobs in [
                (ValueError, [1, -1], None), (ValueError, [2**32], None), (TypeError, [1], [None]),
                (TypeError, ["a"], None), (ValueError, [1, 2], [0.0]),
            ]:  # fmt: skip
                with pytest.raises(kind):
                    lease.tokens(ids, logprobs)
            for kind, why in [(TypeError, ValueError("x")), (ValueError, "\udcff")]:
                with pytest.raises(kind, match="why is"):
                    lease.fail(why)
            assert lease.tokens([2**32 - 1], [-0.5]) == 1
        with pytest.raises(Mute):
            async with gate.admit(lease="mute"):
                raise Mute
        answers = {name: gate.records.answer(name) for name in ("whole", "mute")}
        assert (answers["whole"].closure, answers["whole"].tokens) == ("completed", [2**32 - 1])
        assert (answers["whole"].spans, answers["whole"].logprobs) == ([(1, 1)], [-0.5])
        assert (answers["mute"].closure, answers["mute"].why) == ("failed", "Mute, which does not say what it is")
    judge(tmp_path)


async def test_a_gate_starts_sealed_and_says_whether_to_come_again(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path, bounds=Bounds(hold_limit=1, hold=30.0, per_client=2))
    async with commanded(gate) as controller:
        with pytest.raises(Refusal) as closed:
            async with gate.admit(hold=0):
                raise AssertionError
        assert (closed.value.reason, closed.value.retry) == ("closed", True)
        with pytest.raises(Refusal) as expired:
            async with gate.admit(hold=0.05):
                raise AssertionError
        assert (expired.value.reason, expired.value.retry) == ("hold_expired", True)

        entered: list[int | None] = []

        async def waits() -> None:
            async with gate.admit(lease="one") as lease:
                entered.append(lease.version)

        waiting = asyncio.create_task(waits())
        await until(lambda: gate.counts["waiting"] == 1)
        with pytest.raises(Refusal) as taken:
            async with gate.admit(lease="one"):
                raise AssertionError
        assert (taken.value.reason, taken.value.retry) == ("reused", False)
        with pytest.raises(Refusal) as full:
            async with gate.admit():
                raise AssertionError
        assert (full.value.reason, full.value.retry) == ("hold_full", True)
        await controller.update(1)
        await waiting
        assert entered == [1]
        with pytest.raises(Refusal) as pinned:
            async with gate.admit(pin=2):
                raise AssertionError
        assert (pinned.value.reason, pinned.value.retry) == ("other_version", True)
        async with gate.admit(client="c"), gate.admit(client="c"), gate.admit(client="d"):
            with pytest.raises(Refusal) as too_many:
                async with gate.admit(client="c"):
                    raise AssertionError
        assert (too_many.value.reason, too_many.value.retry) == ("client_full", True)
        once = gate.admit(client="c")
        async with once:
            pass
        with pytest.raises(RuntimeError, match="for each block"):
            async with once:
                raise AssertionError
        assert gate.counts == {
            "admitted": 5, "held": 2, "left": 0, "refused.client_full": 1, "refused.closed": 1,
            "refused.hold_expired": 1, "refused.hold_full": 1, "refused.other_version": 1, "refused.reused": 1,
            "waiting": 0, "open": 0, "running": 0,
        }  # fmt: skip
    judge(tmp_path)


async def test_a_block_that_hides_its_cancellation_holds_the_drain_until_it_ends(tmp_path: Path) -> None:
    server, release = TokenServer(), asyncio.Event()
    gate = made_for(server, tmp_path)
    async with commanded(gate) as controller:
        await controller.update(1)

        async def stubborn() -> str:
            async with gate.admit(lease="stubborn"):
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    await release.wait()
            return "its work is done"

        task = asyncio.create_task(stubborn())
        await until(lambda: gate.counts["running"])
        await controller.seal(Mode.ABORT)
        step = {"term": controller.term, "epoch": controller.epoch}
        await controller.gate.drain(**step, operation_id=controller.operation("drain"))
        await asyncio.sleep(0.1)
        with pytest.raises(ControlRefused, match="not_drained"):
            await controller.install(2)
        assert server.installed == [1]
        release.set()
        assert await task == "its work is done"
        assert task.cancelling() == 0
        await controller.drain()
        await controller.install(2)
        await controller.reopen()
        await controller.close()
        assert gate.records.answer("stubborn").closure == "completed"
    judge(tmp_path)


async def test_a_task_that_the_gate_cancelled_goes_on_after_the_block(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path)
    async with commanded(gate) as controller:
        await controller.update(1)

        async def works() -> str:
            try:
                async with gate.admit(lease="cut"):
                    await asyncio.sleep(60)
            except LeaseEnded as ended:
                await asyncio.sleep(0.01)
                return ended.ending
            return "it was let run"

        task = asyncio.create_task(works())
        await until(lambda: gate.counts["running"])
        await controller.update(2, Mode.ABORT)
        assert await task == "aborted"
        assert task.cancelling() == 0
    judge(tmp_path)


async def test_without_hooks_a_drain_that_keeps_waits_for_the_blocks(tmp_path: Path) -> None:
    server = TokenServer()
    gate = made_for(server, tmp_path, keep=False)
    async with commanded(gate) as controller:
        await controller.update(1)

        async def works() -> set[int]:
            async with gate.admit(lease="runs"):
                return {await server.token() for _ in range(50)}

        task = asyncio.create_task(works())
        await until(lambda: gate.counts["running"])
        await controller.update(2, Mode.KEEP)
        assert await task == {1}
    judge(tmp_path)


def test_the_gate_alone_brings_no_torch_in() -> None:
    code = "import sys, sluicegate; sluicegate.EmbeddedGate, sluicegate.GateMiddleware; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def test_settings_that_cannot_be_are_refused_at_construction(tmp_path: Path) -> None:
    async def freeze(epoch: int) -> None: ...

    def made(**given: Any) -> EmbeddedGate:
        return EmbeddedGate("replica-0", install=nothing, state=tmp_path, **given)

    with pytest.raises(ValueError, match="mode keep needs freeze and continue_"):
        made(modes=[Mode.WAIT, Mode.KEEP])
    with pytest.raises(ValueError, match="belong together"):
        made(freeze=freeze)
    with pytest.raises(ValueError, match="each once"):
        made(ranks=["0", "0"])
    with pytest.raises(ValueError, match="each once"):
        made(ranks=cast(Any, [0, 1]))
    for modes in ("wait", ["wiat"]):
        with pytest.raises(ValueError, match="give a list of wait, abort, keep"):
            made(modes=cast(Any, modes))
    with pytest.raises(RuntimeError, match="not open yet"):
        made().admit("s")
    assert not any(tmp_path.iterdir())


async def test_an_install_that_was_cancelled_from_inside_has_failed(tmp_path: Path) -> None:
    async def install(version: int, manifest: object) -> str:
        raise asyncio.CancelledError

    gate = made_for(TokenServer(), tmp_path, install=install)
    async with commanded(gate) as controller:
        await controller.seal()
        await controller.drain()
        assert (await controller.install(1)).state == "POISONED"
        assert "the install of version 1 failed: CancelledError()" in gate.why


async def test_a_rank_that_fails_or_is_silent_poisons_and_the_reason_is_told(tmp_path: Path) -> None:
    held = {"0": digest_of(1), "1": digest_of(1)}

    async def install(version: int, manifest: object) -> dict[str, str]:
        return held

    async with commanded(made_for(TokenServer(), tmp_path, install=install, ranks=("0", "1"), keep=False)) as first:
        await first.update(1)
        held = {"0": digest_of(2)}
        await first.seal()
        await first.drain()
        assert (await first.install(2)).state == "POISONED"
    changes = {"install": install, "ranks": ("0", "1"), "keep": False}
    held = {"0": digest_of(1), "1": "the weights of another version"}
    gate = made_for(TokenServer(), tmp_path, **changes)
    async with commanded(gate) as second:
        await second.seal()
        await second.drain()
        assert (await second.install(1)).state == "POISONED"
        assert gate.is_poisoned
        assert "rank 1 holds the weights of another version" in gate.why
        with pytest.raises(Refusal, match="another version") as poisoned:
            async with gate.admit(hold=30):
                raise AssertionError
        assert (poisoned.value.reason, poisoned.value.retry) == ("poisoned", False)


async def test_a_gate_is_drained_only_when_every_rank_rests(tmp_path: Path) -> None:
    """R01, R04: the ranks that answer are those that are told quiet; one that is silent holds the install up."""
    answered = ["0"]

    async def quiesce() -> list[str]:
        return answered

    gate = made_for(TokenServer(), tmp_path, ranks=("0", "1"), quiesce=quiesce)
    async with commanded(gate) as controller:
        await controller.seal()
        step = {"term": controller.term, "epoch": controller.epoch}
        await controller.gate.drain(**step, operation_id=controller.operation("drain"))
        await until(lambda: gate.snapshot.quiet == {"0"})
        with pytest.raises(ControlRefused, match="not_drained"):
            await controller.install(1)
        answered.append("1")
        await controller.update(1)
        assert gate.version == 1


async def test_a_cache_that_was_not_emptied_poisons(tmp_path: Path) -> None:
    """R40: a missing answer is a failure."""
    answers: dict[str, Any] = {"prefix": True, "encoder": True}

    def emptied(name: str) -> Any:
        async def empty() -> bool:
            return answers[name]

        return empty

    gate = made_for(TokenServer(), tmp_path, caches={name: emptied(name) for name in answers})
    async with commanded(gate) as controller:
        await controller.update(1)
        answers["encoder"] = None
        await controller.seal()
        await controller.drain()
        assert (await controller.install(2)).state == "POISONED"
        assert "encoder" in gate.why


async def test_the_next_life_accounts_for_blocks_that_the_last_one_did_not_end(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path, bounds=Bounds(stop=0.3))
    ended = asyncio.Event()

    async def never_ends() -> None:
        async with gate.admit(lease="never"):
            while not ended.is_set():
                try:
                    await ended.wait()
                except asyncio.CancelledError:
                    continue

    async with commanded(gate) as controller:
        await controller.update(1)
        task = asyncio.create_task(never_ends())
        await until(lambda: gate.counts["running"])
    ended.set()
    with pytest.raises(LeaseEnded, match="lost"):
        await task
    store = LeaseStore(tmp_path / "state" / "leases.sqlite")
    assert [lease.lease for lease in store.open_leases()] == ["never"]
    store.close()
    again = made_for(TokenServer(), tmp_path)
    async with again:
        assert again.records.counts() == {"lost": 1}
        assert again.incarnation != gate.incarnation
        assert again.snapshot.state == "SEALED"


async def test_what_is_unknown_for_too_long_is_discarded_and_the_block_hears_of_it(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path, bounds=Bounds(lease=0.2, reconcile=2.0))
    async with commanded(gate) as controller:
        await controller.update(1)
        with pytest.raises(LeaseEnded) as unknown:
            async with gate.admit():
                await asyncio.sleep(60)
        assert (unknown.value.ending, unknown.value.retry) == ("discarded", True)
        assert "not settled within" in str(unknown.value)
        await controller.update(2)
    judge(tmp_path)


async def test_a_frozen_block_that_is_overdue_while_an_install_goes_on_is_found_out_after_it(tmp_path: Path) -> None:
    server = TokenServer()
    gate = made_for(server, tmp_path, bounds=Bounds(lease=0.6, reconcile=5.0))

    async def block() -> None:
        async with gate.admit(lease="kept"):
            while True:
                await server.token()

    async with commanded(gate) as controller:
        await controller.update(1)
        task = asyncio.create_task(block())
        await until(lambda: gate.snapshot.active)
        await controller.seal(Mode.KEEP)
        await controller.drain()
        server.install_s = 1.2
        await controller.install(2)
        assert gate.snapshot.state == "INSTALLING"
        await controller.reopen()
        with pytest.raises(LeaseEnded, match="not settled within"):
            await task
        await controller.close()
    judge(tmp_path)


async def test_a_block_that_cannot_be_ended_is_lost_and_poisons(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path, bounds=Bounds(lease=0.1, reconcile=0.3))
    ended = asyncio.Event()

    async def never_ends() -> None:
        async with gate.admit(lease="never"):
            while not ended.is_set():
                try:
                    await ended.wait()
                except asyncio.CancelledError:
                    continue

    async with commanded(gate) as controller:
        await controller.update(1)
        task = asyncio.create_task(never_ends())
        await until(lambda: gate.is_poisoned)
        assert gate.why == "what became of lease never could not be found out"
        ended.set()
        with pytest.raises(LeaseEnded, match="lost"):
            await task
        assert gate.records.counts() == {"lost": 1}
    judge(tmp_path)


async def test_a_gate_whose_log_finds_no_room_goes_on_and_the_log_has_it_all(tmp_path: Path) -> None:
    server = TokenServer()
    gate = made_for(server, tmp_path)
    async with commanded(gate) as controller:
        await controller.update(1)
        (path,) = (tmp_path / "trace").glob("*.ndjson")
        with full_disk(path):
            asked, entered = [gate.admit(lease=f"l{number}") for number in range(5)], 0

            async def block(admission: Any) -> None:
                nonlocal entered
                async with admission:
                    entered += 1
                    await asyncio.sleep(0.15)

            async with asyncio.timeout(20), asyncio.TaskGroup() as group:
                for admission in asked:
                    group.create_task(block(admission))
                await controller.update(2)
                await until(lambda: entered == 5)
            await until(lambda: gate.counts["open"] == 0)
            assert (gate.snapshot.active, gate.is_poisoned, gate.version) == (frozenset(), False, 2)
    judge(tmp_path)


async def test_exceptions_leave_the_gate_as_they_are(tmp_path: Path) -> None:
    refused, told = Refusal("closed", "not now", retry=True), KeyError("x")
    gate = made_for(TokenServer(), tmp_path)
    async with gate:
        port = int(gate.control.rpartition(":")[2])
        with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}"):
            async with EmbeddedGate("replica-1", install=nothing, state=tmp_path / "second", port=port):
                raise AssertionError
    for number, raised in enumerate((refused, told)):
        with pytest.raises(type(raised)) as found:
            async with made_for(TokenServer(), tmp_path / str(number)):
                raise raised
        assert found.value is raised


async def test_a_lease_that_cannot_begin_leaves_the_gate(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path, trace=None)
    async with commanded(gate) as controller:
        await controller.update(1)
        gate._running().leases.host.create("there", session="")
        with pytest.raises(ValueError, match="there already"):
            async with gate.admit(lease="there"):
                raise AssertionError
        assert gate.snapshot.active == frozenset()
        await controller.update(2)
        assert gate.version == 2


async def test_a_device_is_lent_and_taken_back_by_hooks(tmp_path: Path) -> None:
    done: list[str] = []

    def noted(name: str) -> Any:
        async def note() -> None:
            done.append(name)

        return note

    gate = made_for(TokenServer(), tmp_path, release=noted("release"), restore=noted("restore"))
    async with commanded(gate) as controller:
        await controller.update(1)
        done.clear()
        await controller.seal()
        await controller.drain()
        step = {"term": controller.term, "epoch": controller.epoch}
        await controller.gate.lend(**step, lend="x", operation_id=controller.operation("lend"))
        await until(lambda: done == ["release"])
        await controller.gate.returned(**step, lend="x", operation_id=controller.operation("returned"))
        await controller.install(1)
        await controller.reopen()
        await controller.close()
        assert done == ["release", "restore"]
        async with gate.admit() as lease:
            assert lease.version == 1
