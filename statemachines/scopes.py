"""Which names a machine's scope can bound, and the scope with other bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from .ir import Ir, Scope, Type

Named = Sequence[tuple[str, Type]]
"""Fields and arguments by name; a name can be there twice, with two types."""


class UnknownBound(ValueError):
    """A bound of something that no machine here has; the message names what there is."""


def parts_of(type_: Type) -> list[Type]:
    """A type and all that it is made of."""
    return [type_, *(p for a in type_.args for p in parts_of(a))]


def naturals(types: Named) -> set[str]:
    """What bounds the naturals in fields and arguments of these names and types; a sequence is bounded by its name."""
    found = {k for k, t in types if any(p.kind in ("nat", "seq") for p in parts_of(t))}
    return found | {m for _, t in types for p in parts_of(t) for m in p.members if p.kind == "record"}


def sorts(types: Named) -> set[str]:
    """The id sorts in fields and arguments of these types."""
    return {p.name for _, t in types for p in parts_of(t) if p.kind == "id"}


def misnamed(scope: Scope, types: Named) -> Iterator[tuple[str, str]]:
    """What is wrong with the names in a scope, and how to mend it."""
    for what, bounded, known in (
        ("nats bounds {}, which is no natural of this machine", scope.nats, naturals(types)),
        ("ids sizes {}, which is no id sort of this machine", scope.ids, sorts(types)),
    ):
        for name in dict(bounded).keys() - known:
            yield what.format(name), f"name one of {', '.join(sorted(known)) or 'none: there is none'}"


def bounded(ir: Ir, bounds: Mapping[str, int]) -> Scope:
    """The machine's scope with these bounds in the place of its own; names that it lacks are passed over."""
    types, scope = types_of(ir), ir.scope
    nats = {**dict(scope.nats), **{k: v for k, v in bounds.items() if k in naturals(types)}}
    ids = {**dict(scope.ids), **{k: v for k, v in bounds.items() if k in sorts(types)}}
    return replace(scope, nat=bounds.get("nat", scope.nat), nats=tuple(nats.items()), ids=tuple(ids.items()))


def refuse_unknown(machines: Sequence[Ir], bounds: Mapping[str, int], others: Set[str] = frozenset()) -> None:
    """Raises UnknownBound for a bound of a name that none of the machines has, nor `others` beside them."""
    known = {"nat"}.union(others, *(naturals(types_of(ir)) | sorts(types_of(ir)) for ir in machines))
    if unknown := bounds.keys() - known:
        raise UnknownBound(f"no bound {', '.join(sorted(unknown))}: there are {', '.join(sorted(known))}")


def types_of(ir: Ir) -> Named:
    """All fields, and all arguments of events and outputs."""
    messages = [f for message in (*ir.events, *ir.outputs) for f in message.fields]
    return [(f.name, f.type) for f in (*ir.fields, *messages)]


def told(ir: Ir, scope: Scope) -> str:
    """The scope in words: `coins, people ≤ 3, 2 Worker`; empty where nothing needs a bound."""
    types = types_of(ir)
    bounds: dict[int, list[str]] = {}
    for name in dict.fromkeys([*(k for k, _ in types if k in naturals(types)), *sorted(naturals(types))]):
        bounds.setdefault(scope.bound(name), []).append(name)
    sizes = [f"{len(scope.members(sort))} {sort}" for sort in sorted(sorts(types))]
    return ", ".join([*(f"{', '.join(names)} ≤ {bound}" for bound, names in bounds.items()), *sizes])


def constants(ir: Ir, scope: Scope) -> dict[str, str]:
    """The scope by name, as text: the bound of each natural, the size of each id sort."""
    types = types_of(ir)
    nats = {name: str(scope.bound(name)) for name in sorted(naturals(types))}
    return nats | {sort: str(len(scope.members(sort))) for sort in sorted(sorts(types))}
