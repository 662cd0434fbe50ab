"""Failures that other machines and hosts had, each run on the compiled step or on the host that serves it.

What each test would miss is said with it: the change that would bring the failure back.
"""

import asyncio
import pickle
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Store
from sluicegate.statemachines import (
    DeclarationError,
    EnumOf,
    Event,
    Machine,
    Nat,
    Note,
    Output,
    Refuse,
    State,
    Table,
    columns,
    go,
    ignore,
    row,
    stay,
)
from sluicegate.statemachines.explore import Exploration, births, events_of
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.sorts import Mode

OPEN = Gate.initial(ranks=frozenset({"r"})).replace(state="OPEN", resident=True, version=1)
SEALED = OPEN.replace(state="SEALED")


class Shell:
    """Handlers that write down each output with the state at that time, and may do something then."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.then: dict[str, Callable[[], Any]] = {}
        self.host: Any = None

    def __getattr__(self, name: str) -> Any:
        async def handle(instance: str, *arguments: Any) -> None:
            self.told.append((name, self.host.live(instance).state))
            if name in self.then:
                await self.then[name]()

        return handle


@asynccontextmanager
async def hosted(snapshot: Any, store: Store | None = None) -> AsyncIterator[tuple[MachineHost, Shell]]:
    """A gate "g" with this content, on a host of its own."""
    shell: Any = Shell()
    async with MachineHost(GATE, shell, incarnation="1", store=store) as host:
        shell.host = host
        host.adopt("g", snapshot)
        yield host, shell


# --- what a host does with events


async def test_M01_an_event_of_a_handler_is_a_whole_step_and_its_outputs_queue_behind() -> None:
    """Fails if outputs ran within the step, or if those of the inner event came before the rest of the outer."""
    async with hosted(SEALED) as (host, shell):
        inner: list[Any] = []

        async def fault() -> None:
            inner.append((await host.apply("g", Gate.Fault(why="a wire is loose"))).kind)
            inner.append(host.live("g").state)

        shell.then["start_drain"] = fault
        outcome = host.step("g", Gate.Drain(term=0, epoch=0))
        assert (outcome.kind, host.live("g").state, shell.told) == ("go", "DRAINING", [])
    assert inner == ["go", "POISONED"]
    assert shell.told == [("start_drain", "DRAINING"), ("ask_quiesce", "POISONED"), ("abort_suspended", "POISONED")]


async def test_M02_what_an_inner_event_did_is_not_overwritten() -> None:
    """Fails if a step wrote its state after its outputs had run."""
    async with hosted(SEALED) as (host, shell):
        shell.then["start_drain"] = lambda: host.apply("g", Gate.Fault(why="a wire is loose"))
        outer = await host.apply("g", Gate.Drain(term=0, epoch=0))
    assert (outer.kind, outer.rule) == ("go", "drains_2")
    number, snapshot = host.snapshot("g")
    assert (number, snapshot.state) == (2, "POISONED")


CALLS = (
    (Gate.Claim(term=1), "stay", ""),
    (Gate.Install(term=1, epoch=0, version=2, digests={}), "refuse", "not_drained"),
    (Gate.Seal(term=1, epoch=1, mode=Mode.WAIT, window=9), "go", ""),
    (Gate.Seal(term=0, epoch=2, mode=Mode.WAIT, window=9), "refuse", "stale_term"),
    (Gate.Drain(term=1, epoch=1), "go", ""),
)


async def test_M03_a_refused_event_leaves_those_behind_it() -> None:
    """Fails if a refusal emptied the queue, or raised through it."""
    async with hosted(OPEN) as (host, _):
        outcomes = await asyncio.gather(*(host.apply("g", event) for event, _, _ in CALLS))
    assert [o.kind for o in outcomes] == [kind for _, kind, _ in CALLS]
    assert host.live("g").state == "DRAINING"


async def test_M05_a_sender_whose_guard_is_false_is_told_so() -> None:
    """Fails if a queued event were answered by what its neighbour did, or before it was judged."""
    async with hosted(OPEN) as (host, _):
        tasks = [asyncio.create_task(host.apply("g", e, operation_id=f"o{i}")) for i, (e, _, _) in enumerate(CALLS)]
        outcomes = await asyncio.gather(*tasks)
    assert [o.reason for o in outcomes] == [reason for _, _, reason in CALLS]


async def test_M06_of_a_hundred_senders_the_one_that_was_legal_is_told_so() -> None:
    """Fails if outcomes were mixed up between senders, or an event of one were taken twice."""
    async with hosted(OPEN) as (host, _):
        events = [Gate.Admit(lease="the one", pin=None) for _ in range(100)]
        outcomes = await asyncio.gather(
            *(host.apply("g", event, operation_id=f"o{i}") for i, event in enumerate(events))
        )
        assert host.live("g").active == {"the one"}
    assert [(o.kind, o.reason) for o in outcomes] == [("stay", "")] + [("refuse", "reused")] * 99


async def test_M07_a_cancelled_sender_leaves_a_whole_step_and_a_machine_that_goes_on(tmp_path: Path) -> None:
    """Fails if a step waited for anything between its halves, or kept a lock for who was cancelled."""
    store = SqliteStore(tmp_path / "store")
    async with hosted(OPEN, store) as (host, _):
        seal = Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=9)
        task = asyncio.create_task(host.apply("g", seal, operation_id="a"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (host.live("g").state, host.live("g").epoch) == ("SEALED", 1)
        async with asyncio.timeout(5):
            assert (await host.apply("g", seal, operation_id="a")).kind == "go"
            assert (await host.apply("g", Gate.Drain(term=0, epoch=1), operation_id="b")).kind == "go"
        assert host.snapshot("g")[0] == 2
    store.close()


async def test_M09_an_exception_within_a_step_leaves_the_state_before_it() -> None:
    """Fails if a step changed a field before every value that it needs was there."""
    async with hosted(OPEN) as (host, shell):
        before = host.snapshot("g")
        for broken in (
            Gate.Seal.of_values("no number", 1, Mode.WAIT, 9),
            Gate.Seal.of_values(0, None, Mode.WAIT, 9),
            Gate.Admit.of_values(["no", "id"], None),
        ):
            with pytest.raises(TypeError):
                host.step("g", broken)
            assert host.snapshot("g") == before
        assert host.step("g", Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=9)).kind == "go"
    assert shell.told == [("start_timer", "SEALED")]


class Sums(Machine):
    """Two fields are updated by one step, the second with a value that can fail."""

    A, B = State(), State()
    first = Nat(0)
    second = Nat(0)

    class Put(Event):
        much: Nat

    puts = go(B).do(first.set(first + 1), second.set(second + Put.much))
    table = Table(columns(A, B), row(Put, puts, ignore))


def test_M09_a_value_that_fails_leaves_the_updates_before_it_undone() -> None:
    """Fails if the step in place wrote a field before it had worked out the others."""
    live: Any = Sums.Live()
    with pytest.raises(TypeError):
        live.put(much="no number")
    assert live.values() == ("A", 0, 0)
    assert live.put(much=2).kind == "go"
    assert live.values() == ("B", 1, 2)


async def test_M12_a_timer_of_a_state_that_was_left_does_nothing() -> None:
    """Fails if the table asked a deadline for less than the epoch and the number of its timer."""
    async with hosted(OPEN) as (host, _):
        for epoch in (1, 2):
            host.step("g", Gate.Seal(term=0, epoch=epoch, mode=Mode.WAIT, window=9))
        host.step("g", Gate.Renew(term=0, epoch=2, window=9))
        for epoch, timer in ((1, 0), (2, 0), (1, 1)):
            assert host.step("g", Gate.Deadline(epoch=epoch, timer=timer)).kind == "ignore"
        assert host.live("g").state == "SEALED"
        assert host.step("g", Gate.Deadline(epoch=2, timer=1)).kind == "go"
        assert host.live("g").state == "REOPENED"


# --- what a declaration is


def lamp(turned: bool) -> type[Machine]:
    """One machine, written in two orders."""

    class Lamp(Machine):
        if turned:
            BROKEN, LIT, DARK = State(), State(), State()
        else:
            DARK, LIT, BROKEN = State(), State(), State()
        turns = Nat(0)

        class Press(Event): ...

        class Drop(Event): ...

        gone = Refuse("it is broken")
        lights = go(LIT).do(turns.set(turns + 1))
        if turned:
            table = Table(row(Drop, ignore, BROKEN, BROKEN), row(Press, gone, DARK, lights), columns(BROKEN, LIT, DARK))
        else:
            table = Table(columns(DARK, LIT, BROKEN), row(Press, lights, DARK, gone), row(Drop, BROKEN, BROKEN, ignore))

    return Lamp


def test_M13_the_order_of_a_declaration_changes_nothing() -> None:
    """Fails if a cell depended on what stands before it, or on where its column stands."""
    one, two = lamp(False), lamp(True)
    for state in one.ir.states:
        for event in ("Press", "Drop"):
            results = [
                m.step(m.initial().replace(state=state), getattr(m, event)()) for m in (one, two)
            ]  # a machine's initial state is its first: only here does order mean something
            (after, outcome), (other, said) = results
            assert (after.values(), outcome) == (other.values(), said)


def test_M13_a_state_that_is_added_has_a_cell_for_every_event_or_is_an_error() -> None:
    """Fails if there were a wildcard, or a default for cells that nobody wrote."""
    with pytest.raises(DeclarationError) as error:

        class Added(Machine):
            A, B, LATER = State(), State(), State()

            class Go(Event): ...

            table = Table(columns(A, B, LATER), row(Go, B, A))

    assert [p.what for p in error.value.problems] == ["has 2 cells for 3 columns"]


@pytest.mark.parametrize("target", ["UNLOKED", SimpleNamespace(name="UNLOCKED"), State()])
def test_M14_a_target_that_is_no_state_of_the_machine_is_an_error(target: Any) -> None:
    """Fails if a target were looked up by its name, or taken for none."""
    with pytest.raises(DeclarationError) as error:

        class Turnstile(Machine):
            LOCKED, UNLOCKED = State(), State()

            class Coin(Event): ...

            pays = go(target)
            table = Table(columns(LOCKED, UNLOCKED), row(Coin, pays, ignore))

    assert any("is not a state of this machine" in p.what for p in error.value.problems)


def test_M15_an_own_method_of_an_events_name_wins_over_nothing() -> None:
    """Fails if events were looked up among the attributes of an instance."""
    ran: list[str] = []

    class Mine(Gate.Live):
        def seal(self, **arguments: Any) -> None:
            ran.append("mine")

    mine = Mine(ranks=frozenset({"r"}))
    assert mine.step(Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=9)).kind == "stay"
    assert (ran, mine.epoch) == ([], 1)
    with pytest.raises(AttributeError):
        Gate.Live(ranks=frozenset({"r"})).seal = lambda **_: ran.append("hung on")
    with pytest.raises(DeclarationError, match="is a field and the method of event Seal"):

        class Clash(Machine):
            ONLY = State()
            seal = Nat(0)

            class Seal(Event): ...

            table = Table(columns(ONLY), row(Seal, ignore))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_M16_every_event_in_every_state_is_taken_ignored_or_refused_by_name(machine: type[Machine]) -> None:
    """Fails if there were a state in which the step does not know an event."""
    born = next(births(machine, machine.ir.scope))
    for declared in machine.ir.events:
        event = next(events_of(machine, declared, machine.ir.scope))
        for state in machine.ir.states:
            _, outcome = machine.step(born.replace(state=state), event)
            rules = {b.rule for b in machine.ir.cell(declared.name, state).all()}
            assert outcome.kind in ("go", "stay", "ignore", "refuse")
            assert outcome.rule in rules
            assert bool(outcome.reason) is outcome.refused


EVIL = "'); raise SystemExit('run') #\n{1/0}\\"


class Evil(StrEnum):
    ONE = EVIL
    TWO = "two"


class Quoted(Machine):
    """Text everywhere, and none of it is code."""

    A, B = State(), State()
    which = EnumOf(Evil.ONE)
    why = Note()
    no = Refuse(EVIL)

    class Say(Event):
        why: Note

    class Ask(Event):
        which: EnumOf[Evil]

    class Told(Output):
        why: Note

    says = go(B).do(why.set(EVIL)).emit(Told(why=EVIL))
    asks = stay().when(Ask.which == Evil.ONE).do(which.set(Evil.TWO)).orelse(no)
    table = Table(columns(A, B), row(Say, says, no), row(Ask, asks, ignore))


def test_M17_text_in_a_declaration_is_never_code() -> None:
    """Fails if the compiled step held text that is not quoted."""
    live = Quoted.Live()
    assert live.ask(which=Evil.ONE).kind == "stay"
    assert live.ask(which=Evil.TWO).reason == "no"
    assert live.ask(which=Evil.TWO).text == EVIL
    assert live.say(why="").outputs[0].why == EVIL
    assert live.why == EVIL
    assert live.say(why=EVIL).text == EVIL


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_M18_an_instance_is_pickled_as_plain_data(
    machine: type[Machine], explored: Callable[[type[Machine]], Exploration]
) -> None:
    """Fails if an instance held a lock, a task or a closure."""
    for snapshot in list(explored(machine).states)[::37]:
        for value in (snapshot, snapshot.live()):
            again = pickle.loads(pickle.dumps(value))
            assert (type(again), again) == (type(value), value)
            assert again is not value


def test_M19_a_hundred_thousand_instances_are_cheap() -> None:
    """Fails if an instance brought its own copy of the definition, or a method of its own."""
    born = next(births(Lease, Lease.ir.scope))
    given = {f.name: getattr(born, f.name) for f in Lease.ir.fields if f.given}
    began = time.process_time()
    leases = [Lease.Live(**given) for _ in range(100_000)]
    assert time.process_time() - began < 5.0
    assert leases[0] == leases[-1]
    assert not hasattr(leases[0], "__dict__")
    assert leases[0].step.__func__ is leases[-1].step.__func__


IDS = {*range(1, 23)} - {4, 8, 10, 11}
"""Numbers that are missing are missing on purpose."""


def test_every_scenario_has_a_test() -> None:
    files = Path(__file__).parents[1].rglob("test_*.py")
    found = {
        int(n) for f in files for n in re.findall(r"^(?:async )?def test_[mM](\d\d)_", f.read_text(), re.MULTILINE)
    }
    assert found == IDS
