"""One admitted generation request, until it is settled or lost.

Rules of this file:

- Settled needs both: the backend has ended, and the terminal record is stored. Then one receipt.
- An unknown outcome is orphaned: its output is neither delivered nor trained on, and it settles as
  discarded once the backend is known to have ended.
- `spans` counts the tokens that each version made; versions only grow, so their order is the spans'.
"""

from .containers import MapOf
from .expressions import EnumOf, Nat, Note
from .ir import Scope
from .machine import Event, Inside, Machine, Output
from .sorts import Ending, SessionId
from .table import Refuse, State, Table, columns, go, ignore, row, stay


class Lease(Machine):
    """One admitted generation request, until it is settled or lost."""

    ADMITTED, FORWARDED, SUSPENDED, ENDED, ORPHANED, SETTLED, LOST = (
        State(), State(), State(), State(), State(), State(), State(),
    )  # fmt: skip

    session = SessionId().given()
    spans = MapOf(Nat, Nat)
    ending = EnumOf(Ending.COMPLETED)

    # fmt: off
    class Cancel(Event):
        """The client no longer wants the answer."""
    class Forward(Inside):
        """The request goes to the engine."""
    class Progress(Inside):
        """The engine made `count` tokens with `version`."""
        count: Nat
        version: Nat
    class Frozen(Inside):
        """The engine froze the request."""
    class Thawed(Inside):
        """The engine continued the request."""
    class Ended(Inside):
        """The engine has ended the request."""
        ending: EnumOf[Ending]
    class Recorded(Inside):
        """The terminal record is stored."""
    class Unknown(Inside):
        """Nobody knows what became of the request."""
        why: Note
    class Reconciled(Inside):
        """The engine has proved that the orphaned request no longer runs."""
    class GiveUp(Inside):
        """The orphaned request was not reconciled in time."""
    class Gone(Inside):
        """The incarnation that admitted the request has ended."""

    class AbortRequest(Output):
        """Tell the engine to end the request."""
    class Reconcile(Output):
        """Find out what became of the request, within a bound."""
    class Receipt(Output):
        """The one receipt of the request."""
        ending: EnumOf[Ending]
        spans: MapOf[Nat, Nat]
    # fmt: on

    not_forwarded = Refuse("the request was not forwarded")
    not_running = Refuse("the request no longer runs")
    not_ended = Refuse("the backend has not ended the request")
    settled = Refuse("the lease is settled: its id is never used again")

    forwards = go(FORWARDED)
    extends = stay().do(spans.put(Progress.version, spans.get(Progress.version).or_else(0) + Progress.count))
    freezes = go(SUSPENDED)
    continues = go(FORWARDED)
    aborts = stay().emit(AbortRequest())
    never_sent = (
        go(SETTLED).do(ending.set(Ending.NOT_SENT)).emit(Receipt(ending=Ending.NOT_SENT, spans=spans))
    )
    ends = go(ENDED).do(ending.set(Ended.ending))
    discards = (
        go(SETTLED).do(ending.set(Ending.DISCARDED)).emit(Receipt(ending=Ending.DISCARDED, spans=spans))
    )
    settles = go(SETTLED).emit(Receipt(ending=ending, spans=spans))
    orphans = go(ORPHANED).emit(Reconcile())

    # fmt: off
    table = Table(
        columns(         ADMITTED,      FORWARDED, SUSPENDED,   ENDED,       ORPHANED,    SETTLED, LOST),
        row(Forward,     forwards,      ignore,    not_running, not_running, not_running, settled, not_running),
        row(Progress,    not_forwarded, extends,   extends,     ignore,      ignore,      ignore,  ignore),
        row(Frozen,      not_forwarded, freezes,   ignore,      ignore,      ignore,      ignore,  ignore),
        row(Thawed,      not_forwarded, ignore,    continues,   ignore,      ignore,      ignore,  ignore),
        row(Cancel,      never_sent,    aborts,    aborts,      ignore,      ignore,      ignore,  ignore),
        row(Ended,       not_forwarded, ends,      ends,        ignore,      discards,    ignore,  ignore),
        row(Recorded,    not_ended,     not_ended, not_ended,   settles,     not_ended,   ignore,  ignore),
        row(Unknown,     not_forwarded, orphans,   orphans,     ignore,      ignore,      ignore,  ignore),
        row(Reconciled,  ignore,        ignore,    ignore,      ignore,      discards,    ignore,  ignore),
        row(GiveUp,      ignore,        ignore,    ignore,      ignore,      LOST,        ignore,  ignore),
        row(Gone,        never_sent,    LOST,      LOST,        LOST,        LOST,        ignore,  ignore),
    )
    # fmt: on
    scope = Scope(nat=1, nats=(("spans", 2),))
