------------------------- MODULE WeightSyncRefines -------------------------
(* WeightSync keeps what AtomicSwitch promises: every step of it is a step of
   the client's view, or changes nothing there.

   story is history that WeightSync does not keep: how the last request at a
   place ended, and the versions that it was labelled with. The weights of a
   replica are what every rank of it really holds; none, if they differ. *)
EXTENDS WeightSync

VARIABLE story   \* story[r][s]: how the request before ended, and the spans of the one that is or was there

all == <<vars, story>>

Stranger == [ended |-> "none", spans |-> <<>>]

\* A request's story after its replica went from n to p; a process that ends loses what it had.
Later(h, n, p, s) ==
  CASE p = Born /\ n # Born ->
         IF n.lease[s].does = "nothing" THEN h ELSE [h EXCEPT !.ended = "lost"]
    [] n.lease[s].does = "nothing" /\ p.lease[s].does # "nothing" ->
         [ended |-> "none", spans |-> p.lease[s].label]
    [] n.lease[s].does # "nothing" /\ p.lease[s].does = "nothing" ->
         [h EXCEPT !.ended = IF s \in n.gate.orphaned THEN "discarded" ELSE "answered"]
    [] p.lease[s].does = "runs" /\ p.lease[s].label # <<h.spans[Len(h.spans)]>> ->
         [h EXCEPT !.spans = @ \o p.lease[s].label]
    [] OTHER -> h

StoryInit == Init /\ story = [r \in Replica |-> [s \in Slot |-> Stranger]]

StoryNext ==
  /\ Next
  /\ story' = [r \in Replica |-> IF node'[r] = node[r] THEN story[r]
                 ELSE [s \in Slot |-> Later(story[r][s], node[r], node'[r], s)]]

StorySpec == StoryInit /\ [][StoryNext]_all

-----------------------------------------------------------------------------

\* What every rank really holds.
Weights(n) == LET v == n.held[CHOOSE k \in Rank : TRUE]
              IN IF v # Broken /\ \A k \in Rank : n.held[k] = v THEN <<v>> ELSE <<>>

SiteOf(n) == [open    |-> n.gate.state \in {"OPEN", "REOPENED"},
              dead    |-> n.gate.state = "POISONED",
              weights |-> Weights(n),
              told    |-> n.gate.version]

StageOf(n, h, s) ==
  CASE n.lease[s].does = "nothing" -> h.ended
    [] s \in n.gate.orphaned -> "unknown"
    [] n.lease[s].does \in {"freezes", "frozen"} -> "frozen"
    [] OTHER -> "runs"

CallOf(n, h, s) == [stage    |-> StageOf(n, h, s),
                    spans    |-> h.spans,
                    receipts |-> IF StageOf(n, h, s) \in {"answered", "discarded"} THEN 1 ELSE 0]

Client == INSTANCE AtomicSwitch WITH
  Site <- Replica,
  Place <- Slot,
  Keeping <- Mode = "keep",
  Newest <- MaxVersion,
  site <- [r \in Replica |-> SiteOf(node[r])],
  call <- [r \in Replica |-> [s \in Slot |-> CallOf(node[r], story[r][s], s)]]

Refines == Client!Switch
=============================================================================
