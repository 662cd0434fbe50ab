"""Steps of the Gate in place, pure, and of the same table in `transitions`, in one run.

`transitions` gets conditions and effects that are compiled functions, as its own users would write
them, so that what is compared is how a step is found and made. Each figure is the median over rounds
that measure the three one after another, so that what else runs on the machine falls on all of them.

    python -m bench.steps [rounds]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sluicegate.statemachines.bridge import Reference, to_transitions
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import Node
from sluicegate.statemachines.operators import OPERATORS
from sluicegate.statemachines.sorts import Mode

RANKS = ("r1", "r2")
DIGESTS = dict.fromkeys(RANKS, "d")
AIM_RATIO, AIM_RATE = 20, 2e6
Value = Callable[[Mapping[str, Any], Mapping[str, Any]], Any]


def compiled(node: Node) -> Value:
    """A function of (fields, arguments) for an expression, from the operator table."""

    def source(node: Node) -> str:
        match node.op:
            case "const" if node.value == ():
                return {"set": "frozenset()", "map": "{}", "seq": "()"}[node.type.kind]
            case "const":
                return repr(str(node.value) if isinstance(node.value, str) else node.value)
            case "field":
                return f"fields[{node.value!r}]"
            case "arg":
                return f"arguments[{node.value!r}]"
            case "and" | "or":
                return f" {node.op} ".join(f"({source(a)})" for a in node.args)
            case _:
                return OPERATORS[node.op].python.format(*(f"({source(a)})" for a in node.args))

    return eval(f"lambda fields, arguments: {source(node)}")


def sync_events(epoch: int) -> list[Any]:
    """The events of one sync operation, from OPEN to OPEN."""
    fence: dict[str, Any] = {"term": 0, "epoch": epoch}
    return [
        Gate.Seal(**fence, mode=Mode.WAIT, window=1000),
        Gate.Drain(**fence),
        *(Gate.Quiesced(epoch=epoch, rank=rank) for rank in RANKS),
        Gate.Install(**fence, version=epoch, digests=DIGESTS),
        *(Gate.Installed(epoch=epoch, rank=rank, digest="d") for rank in RANKS),
        Gate.Reopen(**fence),
        Gate.Close(**fence),
    ]


def request_events(lease: str) -> list[Any]:
    """A request that comes and goes."""
    return [Gate.Admit(lease=lease, pin=None), Gate.Settle(lease=lease)]


class Executors:
    """One gate, open at a version, in each form; each `run` gives steps per second."""

    def __init__(self) -> None:
        self.live = Gate.Live(ranks=frozenset(RANKS))
        self.snapshot = Gate.initial(ranks=frozenset(RANKS))
        library = to_transitions(Gate, compiled)
        self.reference = Reference(Gate, library, ranks=frozenset(RANKS))
        self.triggers = {name: event.trigger for name, event in library.events.items()}
        self.epoch = 0
        self.sync_in_place(1)
        self.pure(sync_events(1))
        self.in_transitions(sync_events(1))
        if not self.live.snapshot() == self.snapshot == self.reference.snapshot() or self.snapshot.state != "OPEN":
            raise RuntimeError("the three executors went different ways")
        self.epoch = 1

    def requests_in_place(self, leases: Iterable[str]) -> int:
        live, steps = self.live, 0
        for lease in leases:
            live.admit(lease=lease, pin=None)
            live.settle(lease=lease)
            steps += 2
        return steps

    def sync_in_place(self, epoch: int) -> int:
        live = self.live
        live.seal(term=0, epoch=epoch, mode=Mode.WAIT, window=1000)
        live.drain(term=0, epoch=epoch)
        for rank in RANKS:
            live.quiesced(epoch=epoch, rank=rank)
        live.install(term=0, epoch=epoch, version=epoch, digests=DIGESTS)
        for rank in RANKS:
            live.installed(epoch=epoch, rank=rank, digest="d")
        live.reopen(term=0, epoch=epoch)
        live.close(term=0, epoch=epoch)
        return 9

    def pure(self, events: Iterable[Any]) -> int:
        snapshot, step, steps = self.snapshot, Gate.step, 0
        for event in events:
            snapshot, _outcome = step(snapshot, event)
            steps += 1
        self.snapshot = snapshot
        return steps

    def in_transitions(self, events: Iterable[Any]) -> int:
        reference, steps = self.reference, 0
        calls = [(self.triggers[type(event).__name__], event) for event in events]
        for trigger, event in calls:
            trigger(reference, event)
            steps += 1
        return steps

    def requests(self, count: int) -> tuple[float, float, float]:
        """Steps per second of requests that come and go: in place, pure, in `transitions`."""
        leases = [f"l{i}" for i in range(count)]
        events = [e for lease in leases[: count // 5] for e in request_events(lease)]
        return (
            rate(lambda: self.requests_in_place(leases)),
            rate(lambda: self.pure(events)),
            rate(lambda: self.in_transitions(events[: count // 20])),
        )

    def syncs(self, count: int) -> tuple[float, float, float]:
        """Steps per second of whole sync operations: in place, pure, in `transitions`."""
        epochs = range(self.epoch + 1, self.epoch + count + 1)
        events = [e for epoch in epochs for e in sync_events(epoch)]
        self.epoch += count
        return (
            rate(lambda: sum(map(self.sync_in_place, epochs))),
            rate(lambda: self.pure(events)),
            rate(lambda: self.in_transitions(events)),
        )


def rate(work: Callable[[], int]) -> float:
    """Steps per second of `work`, which gives the number of steps that it made."""
    began = time.perf_counter()
    steps = work()
    return steps / (time.perf_counter() - began)


def main(rounds: int = 9) -> None:
    print(f"{'events':16} {'in place/s':>11} {'pure/s':>9} {'transitions/s':>14} {'/ pure':>7} {'/ transitions':>14}")
    executors = Executors()
    for name, measure in (
        ("admit, settle", lambda: executors.requests(100_000)),
        ("sync operations", lambda: executors.syncs(300)),
    ):
        measure()
        found = [measure() for _ in range(rounds)]
        live, pure, library = (statistics.median(column) for column in zip(*found, strict=True))
        to_pure = statistics.median(a / b for a, b, _ in found)
        to_library = statistics.median(a / c for a, _, c in found)
        print(f"{name:16} {live:11,.0f} {pure:9,.0f} {library:14,.0f} {to_pure:7.1f} {to_library:14.1f}")
    print(f"aims, for admit and settle: {AIM_RATIO} times `transitions`, {AIM_RATE:,.0f} steps/s in place")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
