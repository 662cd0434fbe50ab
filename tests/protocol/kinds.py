"""A machine with a field of every type that the wire carries, and two for the host's rules."""

from enum import StrEnum

from sluicegate.statemachines.containers import MapOf, Opt, SeqOf, SetOf
from sluicegate.statemachines.expressions import Bool, EnumOf, Id, Nat, Note
from sluicegate.statemachines.machine import Event, Inside, Machine, Output
from sluicegate.statemachines.records import Record
from sluicegate.statemachines.table import Refuse, State, Table, columns, go, row, stay


class Item(Id):
    """Something opaque."""


class Colour(StrEnum):
    RED = "red"
    DARK_BLUE = "dark-blue"


class Span(Record):
    version: Nat
    colour: EnumOf[Colour]
    end: Opt[Nat]
    items: SetOf[Item]


class Kinds(Machine):
    """Holds what it was given last."""

    READY, KEPT = State(), State()

    flag = Bool()
    count = Nat()
    colour = EnumOf(Colour.RED)
    text = Note()
    maybe = Opt(Nat)
    shade = Opt(EnumOf[Colour])
    span = Opt(Span)
    numbers = SetOf(Nat)
    colours = SetOf(EnumOf[Colour])
    spans = SetOf(Span)
    groups = SetOf(SetOf[Item])
    sizes = MapOf(Item, Nat)
    named = MapOf(Nat, Span)
    shades = MapOf(EnumOf[Colour], Nat)
    members = MapOf(Item, SetOf[Nat])
    order = SeqOf(Item)
    gaps = SeqOf(Opt[Nat])
    paths = SeqOf(SeqOf[EnumOf[Colour]])

    class Keep(Event):
        """Hold these."""

        a_flag: Bool
        a_count: Nat
        a_colour: EnumOf[Colour]
        a_text: Note
        a_maybe: Opt[Nat]
        a_shade: Opt[EnumOf[Colour]]
        a_span: Opt[Span]
        whole: Span
        some_numbers: SetOf[Nat]
        some_colours: SetOf[EnumOf[Colour]]
        some_spans: SetOf[Span]
        some_groups: SetOf[SetOf[Item]]
        some_sizes: MapOf[Item, Nat]
        some_named: MapOf[Nat, Span]
        some_shades: MapOf[EnumOf[Colour], Nat]
        some_members: MapOf[Item, SetOf[Nat]]
        an_order: SeqOf[Item]
        some_gaps: SeqOf[Opt[Nat]]
        some_paths: SeqOf[SeqOf[EnumOf[Colour]]]

    keeps = go(KEPT).do(
        flag.set(Keep.a_flag),
        count.set(Keep.a_count),
        colour.set(Keep.a_colour),
        text.set(Keep.a_text),
        maybe.set(Keep.a_maybe),
        shade.set(Keep.a_shade),
        span.set(Keep.a_span),
        numbers.set(Keep.some_numbers),
        colours.set(Keep.some_colours),
        spans.set(Keep.some_spans),
        groups.set(Keep.some_groups),
        sizes.set(Keep.some_sizes),
        named.set(Keep.some_named),
        shades.set(Keep.some_shades),
        members.set(Keep.some_members),
        order.set(Keep.an_order),
        gaps.set(Keep.some_gaps),
        paths.set(Keep.some_paths),
    )
    table = Table(columns(READY, KEPT), row(Keep, keeps, keeps))


class Kettle(Machine):
    """Boils once it is filled; each step of it says so."""

    EMPTY, FILLED, BOILING = State(), State(), State()

    fills = Nat()

    class Fill(Event):
        """Pour water in."""

    class Boil(Event):
        """Heat it."""

    class Cool(Inside):
        """It has boiled."""

    class Told(Output):
        """Say what happened."""

        what: Note

    empty = Refuse("there is no water in it")
    hot = Refuse("it boils", retry=True)

    filled = go(FILLED).do(fills.set(fills + 1)).emit(Told(what="filled"))
    tops = stay().do(fills.set(fills + 1)).emit(Told(what="topped"))
    boils = go(BOILING).emit(Told(what="boils"), Told(what="whistles"))
    cools = go(EMPTY).emit(Told(what="cooled"))

    table = Table(
        columns(EMPTY, FILLED, BOILING),
        row(Fill, filled, tops, hot),
        row(Boil, empty, boils, hot),
        row(Cool, empty, empty, cools),
    )
