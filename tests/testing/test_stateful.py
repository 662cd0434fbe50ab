"""Implementations are driven by the machine's own events, and a fault of theirs is found and made short."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from sluicegate import (
    Bool,
    Event,
    Machine,
    Nat,
    Output,
    Refuse,
    Scope,
    SetOf,
    State,
    Table,
    columns,
    go,
    ignore,
    row,
    stay,
)
from sluicegate.protocol.client import dial
from sluicegate.protocol.generated.gate_service import GATE, GateClient, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.statemachines.explore import explore
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.session import Session
from sluicegate.testing import ClientAdapter, ObjectAdapter, Verdict, stateful


class Account(Machine):
    """Money goes in, and out again while there is some; a closed one takes nothing."""

    OPEN, CLOSED = State(), State()
    money = Nat(0)

    class Put(Event):
        much: Nat

    class Take(Event):
        much: Nat

    class Close(Event): ...

    short = Refuse("there is less than that")
    shut = Refuse("it is closed")
    puts = stay().when(Put.much > 0).do(money.set(money + Put.much)).orelse(ignore)
    takes = stay().when(Take.much <= money).do(money.set(money - Take.much)).orelse(short)
    closes = go(CLOSED).when(money == 0).orelse(ignore)
    scope = Scope(nat=3)
    # fmt: off
    table = Table(columns(OPEN,    CLOSED),
                  row(Put,   puts,   shut),
                  row(Take,  takes,  shut),
                  row(Close, closes, ignore))
    # fmt: on


class No(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Written:
    """An account that somebody wrote by hand."""

    def __init__(self) -> None:
        self.state, self.money = "OPEN", 0

    def put(self, much: int) -> None:
        self.asks()
        self.money += much

    def take(self, much: int) -> None:
        self.asks()
        if much > self.money:
            raise No("short")
        self.money -= much

    def close(self) -> None:
        if self.money == 0:
            self.state = "CLOSED"

    def asks(self) -> None:
        if self.state == "CLOSED":
            raise No("shut")


class Awaited(Written):
    """The same, with coroutines."""

    async def put(self, much: int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        await asyncio.sleep(0)
        super().put(much)

    async def take(self, much: int) -> Verdict:  # pyright: ignore[reportIncompatibleMethodOverride]
        await asyncio.sleep(0)
        super().take(much)
        return Verdict("stay")


def run(machine: type[Machine], adapter: Any, runs: int = 30, steps: int = 20) -> None:
    driven = stateful(machine, adapter)
    phases = (Phase.generate, Phase.shrink)
    wanted = settings(
        driven.TestCase.settings, max_examples=runs, stateful_step_count=steps, derandomize=True, phases=phases
    )
    run_state_machine_as_test(driven, settings=wanted)


def faults(adapter: Any, machine: type[Machine] = Account, **bounds: int) -> tuple[str, list[str]]:
    """What differed, and the events of the run that it was made short to."""
    with pytest.raises(AssertionError) as raised:
        run(machine, adapter, **bounds)
    _, *events, difference = str(raised.value).split("\n  ")
    return difference, events


@pytest.mark.parametrize("make", [Written, Awaited, Account.Live], ids=["plain", "async", "compiled"])
def test_an_implementation_that_follows_the_table_passes(make: Callable[..., Any]) -> None:
    run(Account, ObjectAdapter(make, refusals=No))


class Overdrawn(Written):
    def take(self, much: int) -> None:
        self.asks()
        self.money = max(self.money - much, 0)


class Reopens(Written):
    def put(self, much: int) -> None:
        self.state = "OPEN"
        self.money += much


class Mute(Written):
    def asks(self) -> None:
        if self.state == "CLOSED":
            raise No("short")


class Forgetful(Written):
    def put(self, much: int) -> None:
        super().put(much if self.money < 2 else 0)


@pytest.mark.parametrize(
    ("make", "said", "kinds"),
    [
        (Overdrawn, "the table says refuse (rule takes_short, short), the implementation taken", ["Take"]),
        (Reopens, "the table says refuse (rule shut, shut), the implementation taken", ["Close", "Put"]),
        (Mute, "the table says refuse (rule shut, shut), the implementation refuse (short)", ["Close", "Put"]),
        (Forgetful, "money is 2 and should be 3", ["Put", "Put", "Put"]),
    ],
)
def test_a_fault_is_found_and_made_short(make: type[Written], said: str, kinds: list[str]) -> None:
    difference, events = faults(ObjectAdapter(make, refusals=No))
    assert said in difference
    assert len(events) <= len(kinds)
    assert {e.split("(")[0] for e in events} <= {*kinds, "Take"}


class Lamp(Machine):
    """What is equal in Python, and is not the same."""

    ONLY = State()
    lit, turns, seen = Bool(False), Nat(0), SetOf(Nat)

    class Turn(Event): ...

    class Told(Output):
        times: Nat
        on: Bool

    turn = stay().when(turns < 1).do(lit.set(True), turns.set(1), seen.add(turns + 1)).emit(Told(times=1, on=True))
    table = Table(columns(ONLY), row(Turn, turn.orelse(ignore)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lit": 1}, "lit is 1 and should be True"),
        ({"turns": True}, "turns is True and should be 1"),
        ({"turns": 1.0}, "turns is 1.0 and should be 1"),
        ({"seen": {True}}, r"seen is frozenset({True}) and should be frozenset({1})"),
        ({"seen": 1}, r"seen is 1 and should be frozenset({1})"),
        ({"told": Lamp.Told(times=True, on=True)}, "the implementation stay ((Told(times=True, on=True),))"),
        ({"told": Lamp.Told(times=1, on=1)}, "the implementation stay ((Told(times=1, on=1),))"),
        ({}, ""),
    ],
)
def test_a_value_that_is_only_equal_is_another_one(wrong: dict[str, Any], said: str) -> None:
    class Shown:
        state = "ONLY"

        def __init__(self) -> None:
            self.lit: Any = False
            self.turns: Any = 0
            self.seen: Any = set()

        def turn(self) -> Verdict:
            if self.turns == 1:
                return Verdict("ignore")
            self.lit, self.turns, self.seen = wrong.get("lit", True), wrong.get("turns", 1), wrong.get("seen", {1})
            return Verdict("stay", outputs=(wrong.get("told", Lamp.Told(times=1, on=True)),))

    if not wrong:
        run(Lamp, ObjectAdapter(Shown), runs=2, steps=3)
        return
    difference, _ = faults(ObjectAdapter(Shown), Lamp, runs=2, steps=3)
    assert said in difference


def test_what_an_object_does_not_show_is_not_compared() -> None:
    run(Account, ObjectAdapter(Forgetful, refusals=No, read=lambda account: {"state": account.state}), steps=3)


class Misspelled(Written):
    close = None  # pyright: ignore[reportAssignmentType]

    def cloze(self) -> None:
        self.state = "CLOSED"


class Bare:
    state = "OPEN"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Bare, "Bare has no method close for Close, put for Put, take for Take: write it, or leave the event out"),
        (Misspelled, "Misspelled has no method close for Close: write it"),
    ],
)
def test_an_event_that_an_object_has_no_method_for_is_named(make: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        run(Account, ObjectAdapter(make))


def test_an_event_that_is_left_out_by_name_is_not_driven() -> None:
    run(Account, ObjectAdapter(Misspelled, refusals=No, without=[Account.Close]))
    with pytest.raises(TypeError, match="the adapter drives no event of Account"):
        run(Account, ObjectAdapter(Bare, without=[Account.Put, Account.Take, Account.Close]))
    with pytest.raises(TypeError, match="without Turn: Account has no such event"):
        run(Account, ObjectAdapter(Written, without=[Lamp.Turn]))


class Hollow(Written):
    """Its property fails with the error by which Python says that there is no attribute."""

    def __init__(self) -> None:
        self.state = "OPEN"

    @property
    def money(self) -> int:
        return self.purse  # pyright: ignore[reportAttributeAccessIssue]

    @money.setter
    def money(self, value: int) -> None: ...


class Vanishing(Written):
    def put(self, much: int) -> None:
        super().put(much)
        self.kept = self.money
        del self.money


def test_what_is_shown_is_compared_to_the_end_and_what_showing_it_raises_is_raised() -> None:
    with pytest.raises(AttributeError, match="purse"):
        run(Account, ObjectAdapter(Hollow, refusals=No), runs=2)
    difference, events = faults(ObjectAdapter(Vanishing, refusals=No))
    assert "money is not shown any more" in difference
    assert [event.split("(")[0] for event in events] == ["Put"]
    with pytest.raises(TypeError, match="shows mony, which Account has not: state, money"):
        run(Account, ObjectAdapter(Written, read=lambda it: {"state": it.state, "mony": it.money}), runs=2)


def test_an_attribute_that_was_never_set_is_not_shown() -> None:
    class Unset(Machine):
        ONLY = State()
        money = Nat(0)

        class Put(Event): ...

        table = Table(columns(ONLY), row(Put, ignore))

    class Slot:
        __slots__ = ("money",)
        state = "ONLY"

        def put(self) -> None: ...

    run(Unset, ObjectAdapter(Slot), runs=2, steps=2)


def test_an_object_without_a_state_is_named() -> None:
    class Stateless(Written):
        def __init__(self) -> None:
            self.money = 0

    with pytest.raises(TypeError, match="shows no `state`"):
        run(Account, ObjectAdapter(Stateless))


# --- depth


@pytest.mark.slow
def test_a_few_runs_are_in_every_state() -> None:
    met: set[tuple[str, str, str]] = set()

    class Watched(ObjectAdapter):
        def apply(self, event: Any) -> Verdict:
            state = self._object.state
            verdict = super().apply(event)
            met.add((type(event).__name__, state, str(verdict.rule)))
            return verdict

    run(Session, Watched(Session.Live), runs=100, steps=40)
    places = explore(Session).taken.keys()
    assert met <= places
    assert {state for _, state, _ in met} == set(Session.ir.states)
    assert len(met) > len(places) // 4


class Leaky:
    """A session that keeps the consumer that died."""

    def __init__(self, **given: Any) -> None:
        self.live = Session.Live(**given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.live, name)

    def consumer_lost(self, **arguments: Any) -> Any:
        consumer = self.live.consumer
        outcome = self.live.consumer_lost(**arguments)
        self.live.consumer = consumer
        return outcome


@pytest.mark.slow
def test_a_fault_that_lies_deep_is_found() -> None:
    difference, events = faults(ObjectAdapter(Leaky), Session, runs=100, steps=40)
    assert "consumer is 'Consumer1' and should be None" in difference
    names = [event.split("(")[0] for event in events]
    assert names == ["BeginTurn", "Bound", "EndTurn", "Finish", "Take", "ConsumerLost"]


# --- over the wire


class Handlers:
    def __getattr__(self, name: str) -> Any:
        async def handle(*arguments: Any) -> None: ...

        return handle


@asynccontextmanager
async def served(servicer: type[GateServicer], inside: bool, handlers: Any = None, **given: Any) -> AsyncIterator[Any]:
    shell: Any = handlers or Handlers()
    async with MachineHost(GATE, shell, incarnation="1") as host:
        host.create("g", **given)
        async with Server([servicer(host)], grace=0.0) as server, dial(server.target) as channel:
            client = GateClient(channel, "g")
            yield (client, lambda event: host.step("g", event)) if inside else client


@pytest.mark.parametrize("inside", [True, False])
def test_a_served_gate_is_driven_by_its_generated_client(inside: bool) -> None:
    run(Gate, ClientAdapter(lambda **given: served(GateServicer, inside, **given)), runs=8, steps=25)


class Loose(Handlers):
    async def ask_quiesce(self, *arguments: Any) -> None:
        raise OSError("the engine is gone")


def test_a_service_that_breaks_ends_the_run_with_its_own_error() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        run(Gate, ClientAdapter(lambda **given: served(GateServicer, True, Loose(), **given)), runs=50, steps=20)
    assert raised.group_contains(OSError, match="the engine is gone")


class Generous(GateServicer):
    """Gives every claimant a term above the one that was asked for."""

    async def Claim(self, request: Any, context: Any) -> Any:
        return await self._apply("Claim", lambda r: Gate.Claim(term=r.fence.term + 1), request, context)


def test_a_fault_behind_a_client_is_found_and_made_short() -> None:
    adapter = ClientAdapter(lambda **given: served(Generous, True, **given))
    difference, events = faults(adapter, Gate, runs=20, steps=10)
    assert "should be" in difference
    assert events in (["Claim(term=0)"], ["Claim(term=1)"])


class Crashing(Written):
    def take(self, much: int) -> None:
        super().take(much)
        if much == 2:
            raise ValueError("boom")


def test_an_exception_that_is_no_refusal_is_a_difference_and_made_short() -> None:
    with pytest.raises(AssertionError) as raised:
        run(Account, ObjectAdapter(Crashing, refusals=No))
    _, *events, difference = str(raised.value).split("\n  ")
    assert [e.split("(")[0] for e in events][-1] == "Take"
    assert len(events) <= 3
    assert difference.endswith("raises ValueError: boom")
    assert isinstance(raised.value.__cause__, ValueError)


class Metro(Machine):
    """Lets people through for coins; may break, and is mended."""

    CLOSED, OPEN, BROKEN = State(), State(), State()
    credit, rides = Nat(0), Nat(0)

    class Coin(Event): ...

    class Push(Event): ...

    class Fail(Event): ...

    class Mend(Event): ...

    pays = go(OPEN).when(credit >= 1).do(credit.set(credit + 1)).orelse(stay().do(credit.set(credit + 1)))
    passes = go(CLOSED).do(credit.set(0), rides.set(rides + 1))
    scope = Scope(nat=2)
    table = Table(
        columns(CLOSED, OPEN, BROKEN),
        row(Coin, pays, ignore, ignore),
        row(Push, ignore, passes, ignore),
        row(Fail, BROKEN, BROKEN, ignore),
        row(Mend, ignore, ignore, CLOSED),
    )


class Amnesiac:
    """Forgets what was paid when it is mended."""

    def __init__(self) -> None:
        self.state, self.credit, self.rides = "CLOSED", 0, 0

    def coin(self) -> None:
        if self.state == "CLOSED":
            self.state, self.credit = "OPEN" if self.credit else "CLOSED", self.credit + 1

    def push(self) -> None:
        if self.state == "OPEN":
            self.state, self.credit, self.rides = "CLOSED", 0, self.rides + 1

    def fail(self) -> None:
        self.state = "BROKEN"

    def mend(self) -> None:
        if self.state == "BROKEN":
            self.state, self.credit = "CLOSED", 0


def test_no_event_of_the_run_that_is_told_can_be_left_out() -> None:
    _, events = faults(ObjectAdapter(Amnesiac), Metro)
    assert events == ["Coin()", "Fail()", "Mend()"]
