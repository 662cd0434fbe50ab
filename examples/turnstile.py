"""A turnstile: the smallest machine, and what is claimed of it.

    sluicegate check examples.turnstile

Then break it: let the arm stay open behind somebody, by writing `stay()` for `go(LOCKED)` in `passes`
(and importing `stay`), and check again.
"""

from sluicegate import (
    Event,
    Machine,
    Nat,
    Refuse,
    Scope,
    State,
    Table,
    always,
    columns,
    go,
    leads_to,
    never,
    reachable,
    row,
)


class Turnstile(Machine):
    """Lets one person through per coin."""

    LOCKED, UNLOCKED = State(), State()
    coins = Nat(0)
    people = Nat(0)

    class Coin(Event):
        """A coin is put in."""

    class Push(Event):
        """Somebody pushes the arm."""

    locked = Refuse("pay first")
    pays = go(UNLOCKED).do(coins.set(coins + 1))
    passes = go(LOCKED).do(people.set(people + 1))

    # fmt: off
    table = Table(
        columns(    LOCKED,  UNLOCKED),
        row(Coin,   pays,    UNLOCKED),
        row(Push,   locked,  passes),
    )
    # fmt: on

    paid = always(people <= coins)
    never_free = never(UNLOCKED & (coins == people))
    opens = reachable(UNLOCKED)
    closes_again = leads_to(UNLOCKED, LOCKED, fair=(Push,))

    scope = Scope(nat=3)
