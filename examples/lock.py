"""A lock that expires, and why a store behind it must ask for the fencing token.

    sluicegate check examples.lock

A client takes the lock, is paused for longer than its lease, wakes up, and writes: by then somebody
else holds the lock and has written. The lock service can do nothing about it. A store can: each grant
carries a number that only grows, and the store refuses a write with an older number than it has seen.
`FencedLock.tla` beside this file puts clients, lock and store together.
"""

from pathlib import Path
from typing import Any

from sluicegate import (
    Event,
    Id,
    Inside,
    Machine,
    Nat,
    Opt,
    Output,
    Refuse,
    Scope,
    State,
    Table,
    always,
    columns,
    go,
    ignore,
    never,
    row,
    stay,
)
from sluicegate.spec.models import Config, SystemModel


class ClientId(Id):
    """Somebody who wants the lock."""


class Lock(Machine):
    """Gives the lock to one client at a time, for a while."""

    FREE, HELD = State(), State()
    holder = Opt(ClientId)
    token = Nat(0)

    class Acquire(Event):
        """A client asks for the lock."""

        client: ClientId

    class Release(Event):
        """A client gives the lock back."""

        client: ClientId

    class Expire(Inside):
        """The holder's time is over."""

    class Granted(Output):
        """Tell the client that it holds the lock, and its number."""

        client: ClientId
        token: Nat

    held = Refuse("somebody else holds the lock", retry=True)
    not_yours = Refuse("this client does not hold the lock")

    grants = (
        go(HELD)
        .do(holder.set(Acquire.client), token.set(token + 1))
        .emit(Granted(client=Acquire.client, token=token + 1))
    )
    frees = go(FREE).when(holder == Release.client).do(holder.clear()).orelse(not_yours)
    expires = go(FREE).do(holder.clear())

    # fmt: off
    table = Table(
        columns(      FREE,      HELD),
        row(Acquire,  grants,    held),
        row(Release,  not_yours, frees),
        row(Expire,   ignore,    expires),
    )
    # fmt: on

    somebody_holds_it = always(FREE | holder.is_some())
    nobody_holds_it = never(FREE & holder.is_some())

    scope = Scope(nat=3, ids=(("ClientId", 2),))


class FencedStore(Machine):
    """Takes a write only with the newest token that it has seen."""

    OPEN = State()
    newest = Nat(0)

    class Write(Event):
        """A client writes, and says under which grant."""

        token: Nat

    stale = Refuse("somebody with a newer grant has written")
    writes = stay().when(Write.token >= newest).do(newest.set(Write.token)).orelse(stale)

    table = Table(columns(OPEN), row(Write, writes))
    scope = Scope(nat=3)


class PlainStore(Machine):
    """Takes every write."""

    OPEN = State()
    newest = Nat(0)

    class Write(Event):
        """A client writes."""

        token: Nat

    writes = stay().do(newest.set(newest.max(Write.token)))

    table = Table(columns(OPEN), row(Write, writes))
    scope = Scope(nat=3)


def _model(name: str, about: str, store: str, **rest: Any) -> SystemModel:
    return SystemModel(
        name,
        about,
        module="FencedLock",
        config=Config(
            constants={"Client": '{"c1", "c2"}', "Grants": "2", "Fenced": store}, invariants=("NoneOverwritten",)
        ),
        folder=Path(__file__).parent,
        machines=(Lock, FencedStore, PlainStore),
        **rest,
    )


MODELS = (
    _model("fenced", "the store asks for the token", "TRUE", distinct=51),
    _model("not-fenced", "the store takes every write", "FALSE", violates="NoneOverwritten"),
)
"""The system as a whole: with fencing nothing is overwritten, without it something is."""
