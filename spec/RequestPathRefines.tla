------------------------ MODULE RequestPathRefines ------------------------
(* RequestPath keeps what AtomicSwitch promises: every step of it is a step of
   the client's view, or changes nothing there.

   A client hears of an end once it is stored, or once the next life of the
   replica has taken it over; until then its request still runs for it, or is
   frozen if it ended so. Nothing is added to the model: its leases say all. *)
EXTENDS RequestPath

Replica == {"r"}

\* The versions of a request's tokens, in their order: they only grow.
RECURSIVE Sorted(_)
Sorted(some) ==
  IF some = {} THEN <<>>
  ELSE LET least == CHOOSE v \in some : \A x \in some : v <= x IN <<least>> \o Sorted(some \ {least})

Weights == LET v == engine.held[CHOOSE k \in Rank : TRUE]
           IN IF v # Broken /\ \A k \in Rank : engine.held[k] = v THEN <<v>> ELSE <<>>

Replicated == [open    |-> gate.state \in {"OPEN", "REOPENED"},
               dead    |-> gate.state = "POISONED",
               weights |-> Weights,
               told    |-> gate.version]

Told(c) == c.disk = "closed" \/ ~life.serves

StageIn(q, c) ==
  CASE c.lease.state = "ORPHANED" -> "unknown"
    [] c.lease.state = "SUSPENDED" -> "frozen"
    [] c.lease.state = "LOST" -> IF Told(c) THEN "lost" ELSE "unknown"
    [] c.lease.state = "SETTLED" /\ c.lease.ending = "discarded" -> IF Told(c) THEN "discarded" ELSE "unknown"
    [] c.lease.state = "SETTLED" /\ Told(c) -> "answered"
    [] OTHER -> IF q \in gate.suspended THEN "frozen" ELSE "runs"

Stage(q, c) ==
  CASE c.at = "out" -> "none"
    [] c.at = "line" -> "waits"
    [] c.at = "refused" -> "refused"
    [] c.at = "in" -> StageIn(q, c)

Called(q, c) == [stage    |-> Stage(q, c),
                 spans    |-> Sorted(DOMAIN c.lease.spans),
                 receipts |-> IF c.disk = "closed" THEN c.receipts
                              ELSE IF Stage(q, c) \in {"answered", "discarded"} THEN 1 ELSE 0]

Client == INSTANCE AtomicSwitch WITH
  Site <- Replica,
  Place <- Request,
  Keeping <- "keep" \in Modes,
  Newest <- MaxVersion,
  site <- [r \in Replica |-> Replicated],
  call <- [r \in Replica |-> [q \in Request |-> Called(q, call[q])]]

Refines == Client!Switch
=============================================================================
