"""Metrics are what a run really did: receipts, refusals, drains and operations, counted once, over two lives."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority, Pair
from gate_kit import TokenServer, commanded, judge, made_for
from prometheus_client.parser import text_string_to_metric_families

from sluicegate import Bounds, EmbeddedGate, LeaseEnded, Refusal
from sluicegate.protocol.access import Access
from sluicegate.protocol.client import Refused as ControlRefused
from sluicegate.protocol.server import ServerError
from sluicegate.runtime.watching.context import watched_by
from sluicegate.runtime.watching.metrics import METRICS, Histogram, Metrics
from sluicegate.runtime.watching.serving import serving
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode


class Scraped:
    """Samples as they were read over HTTP."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def __call__(self, name: str, **labels: str) -> float:
        """The sum of the samples of this name that have these labels."""
        chosen = [s for s in self.samples if s.name == f"sluicegate_{name}" and labels.items() <= s.labels.items()]
        return sum(sample.value for sample in chosen)

    def by(self, name: str, label: str) -> dict[str, float]:
        return {s.labels[label]: s.value for s in self.samples if s.name == f"sluicegate_{name}" and s.value}


@contextmanager
def watched() -> Iterator[Any]:
    """Metrics of what is opened inside; gives what scrapes them."""
    metrics = Metrics(run="library", process="test")
    with watched_by(metrics.watchers), serving(metrics) as target:

        async def scrape() -> Scraped:
            def read() -> str:
                with urllib.request.urlopen(f"http://{target}/metrics", timeout=20) as answer:
                    return answer.read().decode()

            return Scraped(await asyncio.to_thread(read))

        yield scrape


async def use(gate: EmbeddedGate, server: TokenServer, count: int, **given: Any) -> str:
    async with gate.admit("s", hold=0.0, **given) as lease:
        for number in range(count):
            await server.token()
            lease.tokens([number])
    return lease.id


async def until(holds: Any, within: float = 30.0) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.timeout(120)
async def test_numbers_are_what_the_run_did(tmp_path: Path) -> None:
    server = TokenServer()
    with watched() as scrape:
        gate = made_for(server, tmp_path, bounds=Bounds(hold_limit=1))
        async with commanded(gate) as controller:
            with pytest.raises(Refusal, match="closed"):
                await use(gate, server, 1)
            with pytest.raises(Refusal, match="did not pass"):
                async with gate.admit(hold=0.05):
                    raise AssertionError
            await controller.update(1)
            done = [await use(gate, server, count) for count in (1, 2, 3)]
            with pytest.raises(KeyError):
                async with gate.admit():
                    raise KeyError
            with pytest.raises(Refusal, match="used before"):
                await use(gate, server, 1, lease=done[0])
            for pin in (7, 8):
                with pytest.raises(Refusal, match="pinned"):
                    await use(gate, server, 1, pin=pin)
            with pytest.raises(ControlRefused):
                await controller.drain()

            async def long() -> None:
                async with gate.admit():
                    await asyncio.sleep(60)

            task = asyncio.create_task(long())
            await until(lambda: gate.snapshot.active)
            await controller.seal(Mode.ABORT)
            waiting = asyncio.create_task(use_held(gate))
            await until(lambda: gate.counts["waiting"] == 1)
            seen = await scrape()
            assert seen("waiting") == 1
            assert seen.by("leases", "state") == {"FORWARDED": 1}
            assert seen.by("gate_state", "state") == {"SEALED": 1}
            with pytest.raises(Refusal, match="and 1 requests wait"):
                async with gate.admit(hold=5.0):
                    raise AssertionError
            await controller.drain()
            with pytest.raises(LeaseEnded):
                await task
            await controller.install(2)
            await controller.reopen()
            await controller.close()
            await waiting
            seen, stored = await scrape(), gate.records.counts()

            assert seen("admissions_total") == 6 == sum(stored.values())
            assert seen.by("leases_ended_total", "ending") == stored == {"completed": 4, "failed": 1, "aborted": 1}
            assert {s.labels["life"] for s in seen.samples if s.name == "sluicegate_leases_ended_total"} == {"this"}
            assert seen.by("leases", "state") == {}
            refused = {k.removeprefix("refused."): n for k, n in gate.counts.items() if k.startswith("refused.")}
            assert seen.by("refusals_total", "reason") == refused == {
                "closed": 1, "hold_expired": 1, "hold_full": 1, "reused": 1, "other_version": 2,
            }  # fmt: skip
            assert (seen("holds_total"), seen("waiting"), seen("hold_seconds_count")) == (2, 0, 2)
            assert seen("hold_seconds_sum") >= 0.05
            assert seen("tokens_total") == 6
            assert (seen("gate_version"), seen("gate_term"), seen("gate_epoch")) == (2, 1, controller.epoch)
            assert seen("drain_seconds_count", mode="abort") == 1
            assert seen("drain_seconds_count", mode="wait") == 1
            assert (seen("install_seconds_count"), seen("gate_closed_seconds_count")) == (2, 1)
            assert seen("install_seconds_sum") >= 0.02
            assert seen("commands_refused_total", event="Drain", reason="not_sealed") == 1
            assert (seen("orphans_total"), seen("poisonings_total")) == (0, 0)
            assert seen("process_info", run="library", incarnation=gate.incarnation) == 1
            await controller.gate.poison(
                term=controller.term, why="a test", operation_id=controller.operation("poison")
            )
            with pytest.raises(Refusal, match="replace the replica: a test"):
                await use(gate, server, 1)
            seen = await scrape()
            assert seen.by("poisonings_total", "event") == {"Poison": 1}
            assert seen("refusals_total", reason="poisoned") == 1
            assert seen.by("gate_state", "state") == {"POISONED": 1}
        assert "sluicegate_admissions" not in (await scrape()).families, "the life is over"
    judge(tmp_path)


async def use_held(gate: EmbeddedGate) -> None:
    async with gate.admit(hold=30.0):
        pass


async def test_a_next_life_counts_what_it_accounts_for_apart(tmp_path: Path) -> None:
    """Two leases run and one is over when the process is killed: its files are all that the next life has."""
    server, folder = TokenServer(), tmp_path / "first"
    with watched() as scrape:
        first = made_for(server, folder)
        async with commanded(first) as controller:
            await controller.update(1)
            await use(first, server, 2)
            begun: list[str] = []
            running = [asyncio.create_task(long_block(first, begun)) for _ in range(2)]
            await until(lambda: len(begun) == 2)
            before = await scrape()
            assert before("admissions_total") == 3
            assert before.by("leases_ended_total", "ending") == {"completed": 1}
            # The files as a kill at this moment leaves them.
            killed = await asyncio.to_thread(shutil.copytree, folder / "state", tmp_path / "second" / "state")
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    with watched() as scrape:
        second = made_for(server, killed.parent)
        async with second:
            after = await scrape()
            assert (after("admissions_total"), after("leases")) == (0, 0)
            assert after("leases_ended_total", life="earlier", ending="lost") == 2
            assert second.records.counts() == {"completed": 1, "lost": 2}
            ended = before("leases_ended_total") + after("leases_ended_total")
            assert before("admissions_total") == ended == sum(second.records.counts().values())


async def long_block(gate: EmbeddedGate, begun: list[str]) -> None:
    async with gate.admit() as lease:
        begun.append(lease.id)
        await asyncio.sleep(60)


def test_every_metric_is_told_once_and_a_histogram_counts_what_lies_below() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.name.startswith("sluicegate_") and metric.help for metric in METRICS)
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    assert histogram.sample() == ([("1.0", 2.0), ("2.0", 3.0), ("+Inf", 4.0)], 12.0)


def test_metrics_are_not_served_where_nobody_who_asks_is_known() -> None:
    with (
        pytest.raises(ServerError, match="reachable from other machines"),
        serving(Metrics(), access=Access(address="0.0.0.0")),
    ):
        raise AssertionError
    with serving(Metrics()) as target:
        port = int(target.rpartition(":")[2])
        with pytest.raises(ServerError, match="take another port, or 0"), serving(Metrics(), port=port):
            raise AssertionError


def test_every_command_of_the_gate_is_one_whose_refusals_are_counted() -> None:
    from sluicegate.runtime.watching.front_metrics import _COMMANDS

    assert {"Seal", "Install", "Poison", "Claim"} < _COMMANDS
    assert "Admit" not in _COMMANDS
    assert {event.name for event in Gate.ir.events} >= _COMMANDS


async def test_beyond_loopback_metrics_are_told_to_who_has_a_certificate_and_nobody_else(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    own, client, other = authority.issue("worker"), authority.issue("looker"), stranger.issue("impostor")
    access = Access(address="0.0.0.0", certificate=own.certificate, key=own.key, authorities=authority.path)
    with serving(Metrics(), access=access) as target:
        where = f"https://127.0.0.1:{target.rpartition(':')[2]}/metrics"

        def read(pair: Pair | None) -> int:
            context = ssl.create_default_context(cafile=authority.path)
            if pair is not None:
                context.load_cert_chain(pair.certificate, pair.key)
            with urllib.request.urlopen(where, timeout=20, context=context) as answer:
                return answer.status

        with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2])), timeout=20):
            # Who connects and says nothing is in nobody's way.
            assert await asyncio.to_thread(read, client) == 200
            for nobody in (None, other):
                with pytest.raises((ssl.SSLError, ConnectionError, urllib.error.URLError)):
                    await asyncio.to_thread(read, nobody)
