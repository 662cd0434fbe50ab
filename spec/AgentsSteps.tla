----------------------------- MODULE AgentsSteps -----------------------------
(* The turns of agents, and everybody who may begin, end, pause or resume them.

   This holds each single step to the contract, by what it changed and what it
   put out, never by the rule that did it: a pause lets turns that run come to
   their end, no other begins, and it is told when none runs. *)
EXTENDS Agents, Naturals, Sequences

CONSTANTS
  Turn         \* ids of turns

VARIABLES
  m            \* the turns

vars == <<m>>

Init == m = AgentsInit

-----------------------------------------------------------------------------
(* What the contract wants: what it becomes, and what it puts out. *)

Is(x) == <<x, <<>>>>
Tells(x, name) == <<x, <<[out |-> name]>>>>

AfterTurnBegins(t) == IF m.state = "FLOWING" THEN Is([m EXCEPT !.turns = @ \cup {t}]) ELSE <<>>

Rested(turns) == Tells([m EXCEPT !.state = "QUIET", !.turns = turns], "Rests")

AfterTurnEnds(t) ==
  IF m.state = "PAUSING"
  THEN IF t \notin m.turns THEN <<>> ELSE IF m.turns = {t} THEN Rested({}) ELSE Is([m EXCEPT !.turns = @ \ {t}])
  ELSE IF m.state = "QUIET" THEN <<>>
  ELSE Is([m EXCEPT !.turns = @ \ {t}])

AfterPause ==
  IF m.state # "FLOWING" THEN <<>>
  ELSE IF m.turns = {} THEN Rested({})
  ELSE Is([m EXCEPT !.state = "PAUSING"])

AfterResume ==
  IF m.state \in {"PAUSING", "QUIET"} THEN Tells([m EXCEPT !.state = "FLOWING"], "Flows") ELSE <<>>

AfterClose == IF m.state = "CLOSED" THEN <<>> ELSE Is([m EXCEPT !.state = "CLOSED"])

-----------------------------------------------------------------------------
(* What the table does. *)

Becomes(x) == m' = x

TurnBegins == \E t \in Turn : AgentsTurnBegins_acts(m, t) /\ Becomes(AgentsTurnBegins(m, t))
TurnEnds == \E t \in Turn : AgentsTurnEnds_acts(m, t) /\ Becomes(AgentsTurnEnds(m, t))
Pause == AgentsPause_acts(m) /\ Becomes(AgentsPause(m))
Resume == AgentsResume_acts(m) /\ Becomes(AgentsResume(m))
Close == AgentsClose_acts(m) /\ Becomes(AgentsClose(m))

Next == TurnBegins \/ TurnEnds \/ Pause \/ Resume \/ Close

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* What is taken is taken there, changes what it is about, and is told; what is not, changes nothing.
EveryStep ==
  /\ \A t \in Turn :
       /\ AgentsTurnBegins_step(m, t) = AfterTurnBegins(t)
       /\ AgentsTurnEnds_step(m, t) = AfterTurnEnds(t)
  /\ AgentsPause_step(m) = AfterPause
  /\ AgentsResume_step(m) = AfterResume
  /\ AgentsClose_step(m) = AfterClose

\* Quiet is that no turn runs; and what pauses waits for one.
Obeys ==
  /\ m.state = "QUIET" => m.turns = {}
  /\ m.state = "PAUSING" => m.turns # {}
=============================================================================
