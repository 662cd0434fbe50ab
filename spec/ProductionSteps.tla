--------------------------- MODULE ProductionSteps ---------------------------
(* The groups of one run, and everybody who may tell of them anything, at any
   time: any event of any group, also of one that is not there.

   Runs asks what comes of whole runs. This holds each single step to the
   contract, by what it changed, never by the rule that did it: a group is
   begun once, taken once, and in one place.

   Left out: the run, its trainer and its checkpoints, which are in Runs. *)
EXTENDS Production, Naturals, Sequences

CONSTANTS
  MaxGroup     \* groups are numbered from 0 to this

VARIABLES
  m            \* the groups

vars == <<m>>

Groups == 0..MaxGroup
Numbers == 0..(MaxGroup + 1)

Init == m = ProductionInit

-----------------------------------------------------------------------------
(* What the contract wants: what it becomes. Nothing is put out. *)

Is(x) == <<x, <<>>>>

Held == m.in_flight \cup m.ready \cup m.claimed
Closed == m.state = "CLOSED"
Greater(a, b) == IF a < b THEN b ELSE a

AfterRestore(n, again) ==
  IF m.state = "STOPPED" /\ Held = {} THEN Is([m EXCEPT !.next_group = n, !.again = again]) ELSE <<>>

AfterStart == IF m.state = "STOPPED" THEN Is([m EXCEPT !.state = "RUNNING"]) ELSE <<>>
AfterStop == IF m.state = "RUNNING" THEN Is([m EXCEPT !.state = "STOPPED"]) ELSE <<>>
AfterClose == IF Closed THEN <<>> ELSE Is([m EXCEPT !.state = "CLOSED"])

\* What is to be begun again comes first, also while nothing new begins.
MayBegin(g) == ~Closed /\ (g \in m.again \/ (m.state = "RUNNING" /\ m.again = {} /\ g = m.next_group))

AfterBegin(g) ==
  IF MayBegin(g)
  THEN Is([m EXCEPT !.again = @ \ {g}, !.in_flight = @ \cup {g}, !.next_group = Greater(@, g + 1)])
  ELSE <<>>

AfterCompleted(g) ==
  IF g \in m.in_flight THEN Is([m EXCEPT !.in_flight = @ \ {g}, !.ready = @ \cup {g}]) ELSE <<>>

AfterFailed(g) ==
  IF g \in m.in_flight THEN Is([m EXCEPT !.in_flight = @ \ {g}, !.again = @ \cup {g}]) ELSE <<>>

AfterDropped(g) ==
  IF g \in m.in_flight \cup m.ready THEN Is([m EXCEPT !.in_flight = @ \ {g}, !.ready = @ \ {g}]) ELSE <<>>

AfterClaim(g) ==
  IF ~Closed /\ g \in m.ready THEN Is([m EXCEPT !.ready = @ \ {g}, !.claimed = @ \cup {g}]) ELSE <<>>

AfterTrained == Is([m EXCEPT !.claimed = {}])
AfterGiveBack == Is([m EXCEPT !.ready = @ \cup m.claimed, !.claimed = {}])

AfterRewind(lacking) ==
  IF Closed THEN <<>>
  ELSE Is([m EXCEPT !.again = @ \cup (lacking \ Held), !.ready = @ \cup m.claimed, !.claimed = {}])

-----------------------------------------------------------------------------
(* What the table does. *)

Becomes(x) == m' = x

Restore ==
  \E n \in Numbers : \E a \in SUBSET Groups :
    ProductionRestore_acts(m, n, a) /\ Becomes(ProductionRestore(m, n, a))
Start == ProductionStart_acts(m) /\ Becomes(ProductionStart(m))
Stop == ProductionStop_acts(m) /\ Becomes(ProductionStop(m))
Begin == \E g \in Groups : ProductionBegin_acts(m, g) /\ Becomes(ProductionBegin(m, g))
Completed == \E g \in Groups : ProductionCompleted_acts(m, g) /\ Becomes(ProductionCompleted(m, g))
Failed == \E g \in Groups : ProductionFailed_acts(m, g) /\ Becomes(ProductionFailed(m, g))
Dropped == \E g \in Groups : ProductionDropped_acts(m, g) /\ Becomes(ProductionDropped(m, g))
Claim == \E g \in Groups : ProductionClaim_acts(m, g) /\ Becomes(ProductionClaim(m, g))
Trained == ProductionTrained_acts(m) /\ Becomes(ProductionTrained(m))
GiveBack == ProductionGiveBack_acts(m) /\ Becomes(ProductionGiveBack(m))
Rewind == \E a \in SUBSET Groups : ProductionRewind_acts(m, a) /\ Becomes(ProductionRewind(m, a))
Close == ProductionClose_acts(m) /\ Becomes(ProductionClose(m))

Next ==
  \/ Restore \/ Start \/ Stop \/ Begin \/ Completed \/ Failed \/ Dropped \/ Claim \/ Trained \/ GiveBack \/ Rewind
  \/ Close

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* What is taken is taken there, and changes what it is about; what is not, changes nothing.
EveryStep ==
  /\ \A n \in Numbers : \A a \in SUBSET Groups : ProductionRestore_step(m, n, a) = AfterRestore(n, a)
  /\ \A a \in SUBSET Groups : ProductionRewind_step(m, a) = AfterRewind(a)
  /\ \A g \in Groups :
       /\ ProductionBegin_step(m, g) = AfterBegin(g)
       /\ ProductionCompleted_step(m, g) = AfterCompleted(g)
       /\ ProductionFailed_step(m, g) = AfterFailed(g)
       /\ ProductionDropped_step(m, g) = AfterDropped(g)
       /\ ProductionClaim_step(m, g) = AfterClaim(g)
  /\ ProductionStart_step(m) = AfterStart
  /\ ProductionStop_step(m) = AfterStop
  /\ ProductionTrained_step(m) = AfterTrained
  /\ ProductionGiveBack_step(m) = AfterGiveBack
  /\ ProductionClose_step(m) = AfterClose

\* A group is in one place, and something can always begin while production runs.
Obeys ==
  /\ m.again \cap Held = {}
  /\ m.in_flight \cap (m.ready \cup m.claimed) = {} /\ m.ready \cap m.claimed = {}
  /\ m.state = "RUNNING" => \E g \in Numbers : ProductionBegin_acts(m, g)
=============================================================================
