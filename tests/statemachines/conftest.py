"""The machines under test, one of them made of every operator and type, and events that often hit."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

import pytest

from sluicegate.statemachines import (
    Bool,
    EnumOf,
    Event,
    Id,
    Inside,
    Machine,
    MapOf,
    Nat,
    Note,
    Opt,
    Output,
    Record,
    Refuse,
    Scope,
    SeqOf,
    SetOf,
    State,
    Table,
    choose,
    columns,
    either,
    fence,
    go,
    ignore,
    none,
    row,
    stay,
)
from sluicegate.statemachines.annotations import class_of
from sluicegate.statemachines.explore import Exploration, explore
from sluicegate.statemachines.ir import Field, Type
from sluicegate.statemachines.machines import MACHINES


class Item(Id):
    """What is counted, moved and marked."""


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Span(Record):
    item: Item
    size: Nat


class Pack(Record):
    span: Span
    items: SetOf[Item]
    trail: SeqOf[Item]
    colour: Opt[EnumOf[Colour]]
    open: Bool


class Everything(Machine):
    """Uses every operator and type, and names its arguments as a careless author would."""

    ONE, TWO, LAST = State(), State(), State()

    owner = Item().given()
    crew = SetOf(Item).given()
    limit = Nat().given()
    epoch = Nat(1)
    flag = Bool(True)
    left = Nat(1)
    right = Nat(2)
    colour = EnumOf(Colour.RED)
    best = Opt(Nat)
    picked = Opt(EnumOf[Colour])
    held = Opt(SetOf[Item])
    kept = Opt(SeqOf[Item])
    last = Opt(Span)
    here = SetOf(Item)
    there = SetOf(Item)
    groups = SetOf(SetOf[Item])
    queue = SeqOf(Item)
    other = SeqOf(Item)
    spans = SeqOf(Span)
    stack = SeqOf(SetOf[Item])
    marks = MapOf(Item, Nat)
    packs = MapOf(Nat, Pack)
    sets = MapOf(EnumOf[Colour], SetOf[Item])
    why = Note()

    stale = Refuse("of an earlier epoch")
    ahead = Refuse("of a later epoch", retry=True)
    full = Refuse("the limit is reached", retry=True)
    ended = Refuse("nothing comes after the last state")

    class Told(Output):
        left: Nat
        here: SetOf[Item]
        queue: SeqOf[Item]
        marks: MapOf[Item, Nat]
        held: Opt[SetOf[Item]]
        first: Opt[Item]
        why: Note

    class Packed(Output):
        pack: Pack

    class Control(Event):
        epoch: Nat

    class Swap(Control): ...

    class Lift(Control):
        by: Nat
        why: Note

    class Count(Event):
        m: Nat
        s: Nat
        self: Bool

    class Paint(Event):
        out: EnumOf[Colour]
        maybe: Opt[EnumOf[Colour]]

    class Guess(Event):
        best: Opt[Nat]

    class Add(Event):
        item: Item

    class Drop(Event):
        item: Item

    class Move(Event):
        items: SetOf[Item]

    class Group(Event):
        items: SetOf[Item]

    class Hold(Event):
        items: Opt[SetOf[Item]]
        take: Bool

    class Enqueue(Event):
        item: Item

    class Serve(Inside): ...

    class Load(Event):
        queue: SeqOf[Item]
        marks: MapOf[Item, Nat]

    class Mark(Event):
        item: Item
        size: Nat

    class Unmark(Event):
        item: Item

    class Store(Event):
        at: Nat
        pack: Pack

    class Build(Event):
        item: Item
        at: Nat

    class Spread(Event):
        colour: EnumOf[Colour]

    class Clear(Event): ...

    class End(Event): ...

    swaps = (
        stay()
        .when(left != right)
        .do(left.set(right), right.set(left), here.set(there), there.set(here), queue.set(other), other.set(queue))
        .emit(Told(left=left, here=here, queue=queue, marks=marks, held=held, first=queue.first(), why=why))
        .orelse(go(TWO).do(right.set(right + 1)))
    )
    lifts = (
        go(TWO)
        .when(left <= limit)
        .do(epoch.set(epoch + 1), left.set(left + Lift.by), right.set(right - Lift.by), why.set(Lift.why))
        .emit(
            Told(left=left + Lift.by, here=here - crew, queue=queue, marks=marks, held=none, first=none, why=Lift.why)
        )
        .orelse(full)
    )
    counts = stay().do(
        left.set(Count.m.max(Count.s)),
        right.set(either(Count.self, left, right)),
        flag.set((Count.m < left) | (Count.self & ~flag & (left >= Count.s))),
    )
    paints = choose(
        stay().when(Paint.maybe.is_some(), Paint.out == colour).do(colour.set(Paint.maybe.or_else(Colour.RED))),
        go(ONE).when(~Paint.maybe.is_some()).do(picked.set(Paint.out), colour.set(Colour.BLUE)),
        orelse=stay().do(picked.set(Paint.maybe)),
    )
    guesses = choose(
        stay().when(best.is_some(), best == Guess.best).do(left.set(best.or_else(7))),
        stay().when(best != Guess.best).do(best.set(Guess.best)),
        orelse=ignore,
    )
    adds = choose(
        stay().when(~(Add.item == owner), crew.has(Add.item), here.size() <= limit).do(here.add(Add.item)),
        full.when(here.size() > limit),
        orelse=stay().do(there.set(there.including(Add.item)), best.set(there.size())),
    )
    drops = stay().do(here.remove(Drop.item), there.set(there.excluding(Drop.item)), flag.set(here.has(Drop.item)))
    moves = (
        stay()
        .when(Move.items <= here)
        .do(here.set(here - Move.items), there.set(there | Move.items))
        .orelse(stay().do(here.set(either(flag, Move.items, here)), there.set(here), held.set(here)))
    )
    groups_up = (
        stay()
        .when(~groups.has(Group.items))
        .do(groups.add(Group.items), stack.append(here))
        .orelse(go(ONE).do(groups.add(here)))
    )
    holds = choose(
        stay().when(Hold.take, here.is_empty()).do(held.set(Hold.items), kept.clear()),
        stay().when(Hold.take, ~here.is_empty()).do(held.set(here), kept.set(queue), here.set(held.or_else(here))),
        orelse=stay().do(flag.set((held == here) | (kept == queue)), here.set(held.or_else(Hold.items.or_else(there)))),
    )
    queues = (
        stay()
        .when(queue.size() <= limit, queue != other)
        .do(queue.append(Enqueue.item))
        .orelse(stay().do(other.append(Enqueue.item)))
    )
    serves = (
        stay()
        .when(~queue.is_empty())
        .do(queue.drop_first(), kept.set(queue))
        .emit(Told(left=queue.size(), here=here, queue=queue, marks=marks, held=held, first=queue.first(), why=why))
        .orelse(ignore)
    )
    loads = (
        stay()
        .when(queue != Load.queue)
        .do(queue.set(Load.queue), marks.set(Load.marks))
        .orelse(go(TWO).do(marks.clear()))
    )
    marked = choose(
        stay().when(marks.has(Mark.item)).do(marks.put(Mark.item, marks.get(Mark.item).or_else(0) + Mark.size)),
        stay().when(marks.is_empty()).do(marks.put(Mark.item, Mark.size), left.set(Mark.size)),
        orelse=stay().do(marks.put(Mark.item, left), left.set(Mark.size), here.set(marks.keys())),
    )
    unmarks = stay().do(marks.remove(Unmark.item), best.set(marks.get(Unmark.item)), there.set(marks.keys()))
    stores = (
        stay()
        .when(Store.pack.open, Store.pack.span.size >= Store.at)
        .do(
            packs.put(Store.at, Store.pack),
            last.set(Store.pack.span),
            here.set(Store.pack.items),
            queue.set(Store.pack.trail),
        )
        .orelse(stay().do(packs.remove(Store.at), flag.set(packs.get(Store.at) == Store.pack)))
    )
    packed = Pack(span=Span(item=Build.item, size=left), items=here, trail=queue, colour=picked, open=~flag)
    builds = (
        stay()
        .do(
            packs.put(Build.at, packed),
            spans.append(Span(item=owner, size=Build.at)),
            last.set(spans.first()),
            here.clear(),
        )
        .emit(Packed(pack=packed))
    )
    spreads = stay().do(
        sets.put(Spread.colour, here), here.set(sets.get(Spread.colour).or_else(there)), there.add(owner)
    )
    clears = go(ONE).do(
        here.clear(),
        queue.clear(),
        stack.clear(),
        marks.clear(),
        best.clear(),
        groups.clear(),
        held.clear(),
        kept.set(queue),
        other.set(queue),
        there.set(here),
        epoch.set(1),
        sets.clear(),
        packs.clear(),
    )
    ends = go(LAST).when(~flag, left == 0).orelse(ignore)

    scope = Scope(nat=2, ids=(("Item", 2),))
    # fmt: off
    table = Table(
        fence(Control, stale.when(Control.epoch < epoch), ahead.when(Control.epoch > epoch)),
        columns(      TWO,       ONE,       LAST),
        row(Swap,     swaps,     swaps,     ended),
        row(Lift,     full,      lifts,     ended),
        row(Count,    counts,    counts,    ended),
        row(Paint,    paints,    paints,    ended),
        row(Guess,    guesses,   guesses,   ended),
        row(Add,      adds,      adds,      ended),
        row(Drop,     drops,     drops,     ignore),
        row(Move,     moves,     moves,     ended),
        row(Group,    groups_up, groups_up, ended),
        row(Hold,     holds,     holds,     ended),
        row(Enqueue,  queues,    queues,    ended),
        row(Serve,    serves,    serves,    ignore),
        row(Load,     loads,     loads,     ended),
        row(Mark,     marked,    marked,    ended),
        row(Unmark,   unmarks,   unmarks,   ended),
        row(Store,    stores,    stores,    ended),
        row(Build,    builds,    builds,    ended),
        row(Spread,   spreads,   spreads,   ended),
        row(Clear,    clears,    ONE,       ended),
        row(End,      ends,      LAST,      ONE),
    )
    # fmt: on


ALL = (*MACHINES, Everything)


@pytest.fixture(params=ALL, ids=lambda m: m.__name__, scope="session")
def machine(request: pytest.FixtureRequest) -> type[Machine]:
    """Each machine of the protocol, and the one of everything."""
    return request.param


@pytest.fixture(params=MACHINES, ids=lambda m: m.__name__, scope="session")
def protocol_machine(request: pytest.FixtureRequest) -> type[Machine]:
    """Each machine of the protocol."""
    return request.param


@pytest.fixture(scope="session")
def everything() -> type[Machine]:
    return Everything


explored_once = cache(explore)


@cache
def reachable(machine: type[Machine]) -> list[Any]:
    """All snapshots that a machine can reach in its own scope."""
    return list(explored_once(machine).states)


@pytest.fixture(scope="session")
def explored() -> Callable[[type[Machine]], Exploration]:
    """The exploration of a machine in its own scope, made once."""
    return explored_once


class Choices:
    """Decisions out of bytes that Hypothesis draws at once: quick to make, and shrunk like any bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        """Whether there are any left."""
        return self.at < len(self.data)

    def below(self, n: int) -> int:
        """A number below `n`; 0 when nothing is left."""
        self.at += 1
        return self.data[self.at - 1] % n if self.at <= len(self.data) else 0

    def of(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]

    def value(self, type_: Type) -> Any:
        """A value of a type from a small domain."""
        match type_.kind:
            case "bool":
                return bool(self.below(2))
            case "nat":
                return self.below(4)
            case "enum":
                return self.of(list(class_of(type_)))
            case "id":
                return self.of([f"{type_.name}1", f"{type_.name}2"])
            case "note":
                return self.of(["", "because"])
            case "opt":
                return self.value(type_.args[0]) if self.below(2) else None
            case "set":
                return frozenset(self.value(type_.args[0]) for _ in range(self.below(4)))
            case "seq":
                return tuple(self.value(type_.args[0]) for _ in range(self.below(4)))
            case "map":
                key, item = type_.args
                return {self.value(key): self.value(item) for _ in range(self.below(4))}
            case "record":
                members = zip(type_.members, type_.args, strict=True)
                return class_of(type_)(**{name: self.value(t) for name, t in members})

    def birth(self, machine: type[Machine]) -> dict[str, Any]:
        """Values for the given fields of a newborn instance."""
        return {f.name: self.value(f.type) for f in machine.ir.fields if f.given}

    def argument(self, field: Field, snapshot: Any) -> Any:
        """A value of an argument; often what the instance has in a field of that name, or one above."""
        value = getattr(snapshot, field.name, None)
        if field.type.kind == "nat" and isinstance(value, int):
            return self.of([value, value, value + 1, max(value - 1, 0)])
        return self.value(field.type)

    def event(self, snapshot: Any) -> Any:
        """An event for an instance in a snapshot: one that does something, where chance finds it."""
        machine = snapshot.machine
        event = None
        for _ in range(4):
            declared = self.of(machine.ir.events)
            arguments = {f.name: self.argument(f, snapshot) for f in declared.fields}
            event = getattr(machine, declared.name)(**arguments)
            if machine.step(snapshot, event)[1].kind in ("go", "stay"):
                break
        return event

    def run(self, machine: type[Machine]) -> Iterator[tuple[Any, Any]]:
        """A run of the pure step: each snapshot with the event that comes next, until nothing is left.

        A machine of the protocol starts anywhere that it can be, since chance rarely leads a run
        through all of an operation.
        """
        if machine in MACHINES:
            snapshots = reachable(machine)
            snapshot = snapshots[(self.below(256) * 256 + self.below(256)) % len(snapshots)]
        else:
            snapshot = machine.initial(**self.birth(machine))
        while self:
            event = self.event(snapshot)
            yield snapshot, event
            snapshot, _outcome = machine.step(snapshot, event)


@pytest.fixture(scope="session")
def choices() -> type[Choices]:
    return Choices
