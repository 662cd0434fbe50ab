"""Small machines that between them use every type and operator of the language."""

from enum import StrEnum

import pytest

from sluicegate.statemachines.containers import MapOf, Opt, SeqOf, SetOf, none
from sluicegate.statemachines.expressions import Bool, EnumOf, Id, Nat, Note, either
from sluicegate.statemachines.ir import Scope
from sluicegate.statemachines.machine import Event, Machine, Output
from sluicegate.statemachines.records import Record
from sluicegate.statemachines.table import Refuse, State, Table, choose, columns, fence, go, ignore, row, stay


class Item(Id):
    """Something that is counted."""


class Mode(StrEnum):
    SLOW = "slow"
    FAST = "fast"


class Span(Record):
    item: Item
    size: Nat


class Turnstile(Machine):
    """Lets one person through per coin."""

    LOCKED, UNLOCKED = State(), State()
    coins = Nat(0)
    locked = Refuse("pay first")

    class Coin(Event):
        """A coin was put in."""

    class Push(Event): ...

    pays = go(UNLOCKED).do(coins.set(coins + 1))
    scope = Scope(nat=3)
    # fmt: off
    table = Table(columns(LOCKED, UNLOCKED),
                  row(Coin, pays, ignore),
                  row(Push, locked, LOCKED))
    # fmt: on


class Numbers(Machine):
    """Fences, nats, enums, options, and a note that nobody sees."""

    LOW, HIGH = State(), State()
    epoch = Nat(0)
    mode = EnumOf(Mode.SLOW)
    held = Opt(Nat)
    flag = Bool(False)
    why = Note()
    stale = Refuse("too old")
    unknown = Refuse("not yet", retry=True)
    full = Refuse("is full", retry=True)

    class Told(Output):
        epoch: Nat
        mode: EnumOf[Mode]
        why: Note

    class Control(Event):
        epoch: Nat

    class Lift(Control):
        mode: EnumOf[Mode]

    class Lower(Control):
        by: Nat
        why: Note

    class Hold(Event):
        value: Opt[Nat]

    class Compare(Event):
        value: Nat
        flag: Bool

    lifts = (
        go(HIGH)
        .when(held.is_some() | (Lift.mode != mode))
        .do(epoch.set(Lift.epoch.max(held.or_else(0))), mode.set(Lift.mode))
        .emit(Told(epoch=epoch, mode=Lift.mode, why=why))
        .orelse(full)
    )
    lowers = (
        go(LOW)
        .do(epoch.set(epoch - Lower.by), why.set(Lower.why), held.clear())
        .emit(Told(epoch=epoch - Lower.by, mode=mode, why=Lower.why))
    )
    holds = stay().do(held.set(Hold.value))
    holds_more = choose(
        stay().when(~held.is_some()).do(held.set(Hold.value)),
        stay().when(held.is_some(), held == Hold.value).do(flag.set(~flag)),
        orelse=full,
    )
    compares = stay().do(
        flag.set(either(Compare.flag, epoch < Compare.value, (epoch <= Compare.value) & ~flag)),
        held.set(either(Compare.flag, held, none)),
    )
    scope = Scope(nat=2)
    # fmt: off
    table = Table(fence(Control, stale.when(Control.epoch < epoch), unknown.when(Control.epoch > epoch + 1)),
                  columns(      LOW,        HIGH),
                  row(Lift,    lifts,     ignore),
                  row(Lower,    full,       lowers),
                  row(Hold,     holds,      holds_more),
                  row(Compare,  compares,   compares))
    # fmt: on


class Sets(Machine):
    """Sets of ids, some of them given."""

    ONLY = State()
    owner = Item().given()
    items = SetOf(Item).given()
    here = SetOf(Item)
    there = SetOf(Item)
    flag = Bool(False)
    size = Nat(0)

    class Add(Event):
        item: Item

    class Move(Event):
        which: SetOf[Item]

    class Ask(Event):
        item: Item

    class Drop(Event):
        item: Item

    class Clear(Event): ...

    adds = stay().when(items.has(Add.item), ~(Add.item == owner)).do(here.add(Add.item)).orelse(ignore)
    moves = stay().do(there.set(there | (here - Move.which)), here.set(here - Move.which))
    asks = stay().do(flag.set(here.has(Ask.item) | here.is_empty()), size.set(there.size()))
    drops = stay().when(here <= there).do(there.remove(Drop.item)).orelse(ignore)
    clears = stay().do(here.clear(), size.set(0))
    scope = Scope(nat=2, ids=(("Item", 2),))
    table = Table(columns(ONLY), row(Add, adds), row(Move, moves), row(Ask, asks), row(Drop, drops), row(Clear, clears))


class Maps(Machine):
    """Maps, and an option that is read out of one."""

    EMPTY, FULL = State(), State()
    marks = MapOf(Item, Nat)
    keys = SetOf(Item)
    found = Opt(Nat)
    flag = Bool(False)

    class Put(Event):
        item: Item
        value: Nat

    class Take(Event):
        item: Item

    class Look(Event):
        item: Item

    class Load(Event):
        marks: MapOf[Item, Nat]

    class Clear(Event): ...

    puts = go(FULL).do(marks.put(Put.item, Put.value), keys.set(marks.keys()))
    takes = (
        stay().when(marks.has(Take.item)).do(marks.remove(Take.item), found.set(marks.get(Take.item))).orelse(ignore)
    )
    looks = stay().do(found.set(marks.get(Look.item)), flag.set(marks.is_empty()))
    loads = go(FULL).do(marks.set(Load.marks))
    clears = go(EMPTY).do(marks.clear())
    scope = Scope(nat=1, ids=(("Item", 2),))
    # fmt: off
    table = Table(columns(    EMPTY,   FULL),
                  row(Put,    puts,    puts),
                  row(Take,   ignore,  takes),
                  row(Look,   looks,   looks),
                  row(Load,   loads,   loads),
                  row(Clear,  ignore,  clears))
    # fmt: on


class Seqs(Machine):
    """Sequences and records."""

    ONLY = State()
    queue = SeqOf(Item)
    spans = SeqOf(Span)
    last = Opt(Span)
    total = Nat(0)
    flag = Bool(False)

    class First(Output):
        item: Opt[Item]

    class Enter(Event):
        item: Item

    class Leave(Event): ...

    class Jot(Event):
        item: Item
        size: Nat

    class Keep(Event):
        span: Span

    class Count(Event):
        spans: SeqOf[Span]

    enters = stay().do(queue.append(Enter.item))
    leaves = stay().do(queue.drop_first(), flag.set(queue.is_empty())).emit(First(item=queue.first()))
    jots = stay().do(spans.append(Span(item=Jot.item, size=Jot.size)), last.set(spans.first()))
    keeps = stay().when(Keep.span.size <= total).do(last.set(Keep.span)).orelse(ignore)
    counts = stay().do(total.set(queue.size()), spans.set(Count.spans))
    scope = Scope(nat=1, nats=(("queue", 2), ("total", 2)), ids=(("Item", 2),))
    table = Table(
        columns(ONLY),
        row(Enter, enters),
        row(Leave, leaves),
        row(Jot, jots),
        row(Keep, keeps),
        row(Count, counts),
    )


SMALL = (Turnstile, Numbers, Sets, Maps, Seqs)


@pytest.fixture(scope="session")
def turnstile() -> type[Machine]:
    return Turnstile


@pytest.fixture(scope="session")
def small() -> tuple[type[Machine], ...]:
    """All small machines: together they use every operator."""
    return SMALL


@pytest.fixture(params=SMALL, ids=lambda m: m.__name__)
def machine(request: pytest.FixtureRequest) -> type[Machine]:
    """Each small machine in turn."""
    return request.param
