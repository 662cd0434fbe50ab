"""One agent's conversation: bound to one incarnation, read by one consumer, retired for ever.

Rules of this file:

- A binding names the incarnation and is never silently moved: a rebinding has a new number.
- A trace is freed only when the session retires, and never while a consumer may read it.
- Retired means that no lease is unsettled.
"""

from enum import StrEnum

from .containers import Opt, SetOf
from .expressions import EnumOf, Nat
from .ir import Scope
from .machine import Event, Inside, Machine, Output
from .sorts import Consumer, Incarnation, LeaseId, ReplicaId
from .table import Refuse, State, Table, choose, columns, go, ignore, row, stay


class Rebinding(StrEnum):
    """When a session may move: never, when its replica is lost, or also when it leaves as planned."""

    NEVER = "never"
    ON_LOSS = "on_loss"
    ON_EVACUATION = "on_evacuation"


class Session(Machine):
    """One agent's conversation: bound to one incarnation, read by one consumer, retired for ever."""

    NEW, BINDING, BOUND, TURN, FINISHED, TRAINING, RETIRING, RETIRED, LOST = (
        State(), State(), State(), State(), State(), State(), State(), State(), State(),
    )  # fmt: skip

    policy = EnumOf(Rebinding.NEVER).given()
    leases = SetOf(LeaseId)
    replica = Opt(ReplicaId)
    incarnation = Opt(Incarnation)
    binding = Nat(0)
    consumer = Opt(Consumer)

    # fmt: off
    class Finish(Event):
        """The conversation is complete: its trace can be read."""
    class Take(Event):
        """A consumer begins to read the trace."""
        consumer: Consumer
    class Release(Event):
        """The consumer has read the trace: it may be freed."""
        consumer: Consumer
    class Retire(Event):
        """The session is over, whatever it was doing."""
    class Rebind(Event):
        """Move the session to another replica, by policy."""
        replica: ReplicaId
        incarnation: Incarnation
    class BeginTurn(Inside):
        """A request of this session asks for a lease."""
        lease: LeaseId
    class Bound(Inside):
        """The first lease was admitted by this incarnation."""
        replica: ReplicaId
        incarnation: Incarnation
    class EndTurn(Inside):
        """The lease is settled or lost."""
        lease: LeaseId
    class ConsumerLost(Inside):
        """The consumer has died."""
        consumer: Consumer
    class Lose(Inside):
        """An incarnation has ended."""
        incarnation: Incarnation
    class Expire(Inside):
        """The time to live, renewed by every call, ran out."""

    class SettleNotSent(Output):
        """Settle these leases as not sent: they were never forwarded."""
        leases: SetOf[LeaseId]
    class FreeTrace(Output):
        """Nobody reads the trace any more."""
    # fmt: on

    binding_now = Refuse("the session is being bound", retry=True)
    not_bound = Refuse("the session is not bound")
    turn_active = Refuse("a turn is active", retry=True)
    not_finished = Refuse("the session is not finished")
    finished = Refuse("the session is finished")
    being_read = Refuse("a consumer is reading the session")
    not_consumer = Refuse("another consumer is reading the session")
    retiring = Refuse("the session is retiring")
    gone = Refuse("the session is retired")
    lost = Refuse("the replica of the session is lost")
    may_not_move = Refuse("the session's policy keeps it where it is")

    binds = go(BINDING).do(leases.add(BeginTurn.lease))
    begins = go(TURN).do(leases.add(BeginTurn.lease))
    joins = stay().do(leases.add(BeginTurn.lease))
    is_bound = go(TURN).do(replica.set(Bound.replica), incarnation.set(Bound.incarnation), binding.set(binding + 1))

    has = leases.has(EndTurn.lease)
    is_last = leases.size() == 1
    unbinds = go(NEW).when(has).do(leases.remove(EndTurn.lease)).orelse(ignore)
    ends = choose(
        go(BOUND).when(has, is_last).do(leases.remove(EndTurn.lease)),
        stay().when(has, ~is_last).do(leases.remove(EndTurn.lease)),
        orelse=ignore,
    )
    ends_retiring = choose(
        go(RETIRED).when(has, is_last).do(leases.remove(EndTurn.lease)).emit(FreeTrace()),
        stay().when(has, ~is_last).do(leases.remove(EndTurn.lease)),
        orelse=ignore,
    )
    ends_lost = stay().when(has).do(leases.remove(EndTurn.lease)).orelse(ignore)

    takes = go(TRAINING).do(consumer.set(Take.consumer))
    takes_again = ignore.when(consumer == Take.consumer).orelse(being_read)
    releases = go(RETIRED).when(consumer == Release.consumer).do(consumer.clear()).emit(FreeTrace()).orelse(not_consumer)
    consumer_dies = go(FINISHED).when(consumer == ConsumerLost.consumer).do(consumer.clear()).orelse(ignore)

    retires = go(RETIRED).emit(FreeTrace())
    retires_binding = go(RETIRING).emit(SettleNotSent(leases=leases))
    retires_turn = go(RETIRING)
    retires_lost = go(RETIRED).when(leases.is_empty()).emit(FreeTrace()).orelse(go(RETIRING))

    loses_binding = stay().emit(SettleNotSent(leases=leases))
    loses = go(LOST).when(incarnation == Lose.incarnation).orelse(ignore)

    moved = (replica.set(Rebind.replica), incarnation.set(Rebind.incarnation), binding.set(binding + 1))
    evacuates = stay().when(policy == Rebinding.ON_EVACUATION).do(*moved).orelse(may_not_move)
    may_recover = policy != Rebinding.NEVER
    recovers = choose(
        go(BOUND).when(may_recover, leases.is_empty()).do(*moved),
        turn_active.when(may_recover, ~leases.is_empty()),
        orelse=may_not_move,
    )

    # fmt: off
    table = Table(
        columns(           NEW,          BINDING,         BOUND,        TURN,         FINISHED,     TRAINING,      RETIRING,      RETIRED, LOST),
        row(BeginTurn,     binds,        binding_now,     begins,       joins,        finished,     being_read,    retiring,      gone,    lost),
        row(Bound,         ignore,       is_bound,        ignore,       ignore,       ignore,       ignore,        ignore,        ignore,  ignore),
        row(EndTurn,       ignore,       unbinds,         ignore,       ends,         ignore,       ignore,        ends_retiring, ignore,  ends_lost),
        row(Finish,        not_bound,    binding_now,     FINISHED,     turn_active,  ignore,       ignore,        ignore,        ignore,  lost),
        row(Take,          not_finished, not_finished,    not_finished, not_finished, takes,        takes_again,   retiring,      gone,    lost),
        row(Release,       not_finished, not_finished,    not_finished, not_finished, not_consumer, releases,      retiring,      ignore,  lost),
        row(ConsumerLost,  ignore,       ignore,          ignore,       ignore,       ignore,       consumer_dies, ignore,        ignore,  ignore),
        row(Retire,        retires,      retires_binding, retires,      retires_turn, retires,      being_read,    ignore,        ignore,  retires_lost),
        row(Lose,          ignore,       loses_binding,   loses,        loses,        ignore,       ignore,        ignore,        ignore,  ignore),
        row(Rebind,        not_bound,    binding_now,     evacuates,    turn_active,  finished,     being_read,    retiring,      gone,    recovers),
        row(Expire,        retires,      retires_binding, retires,      ignore,       retires,      ignore,        ignore,        ignore,  retires_lost),
    )
    # fmt: on
    scope = Scope(nat=1, nats=(("binding", 2),), ids=(("LeaseId", 2), ("Incarnation", 2), ("Consumer", 2)))
