--------------------------- MODULE AtomicSwitch ---------------------------
(* What a client may assume of replicas whose weights are swapped under its
   requests. It names no message, no epoch and no controller; WeightSync and
   RequestPath, which have them, refine it (WeightSyncRefines,
   RequestPathRefines).

   - A request is made at one replica. It may wait at the door, and is then
     admitted or refused.
   - What is admitted runs; every token is made by the weights that the
     replica holds then, and its label names them. Without mode "keep" all of
     them are made by one version. With it a request may be frozen while the
     weights are swapped; its spans then name versions that only grow.
   - The weights change only while the replica is closed and nothing of it
     runs, what nobody can tell the end of included.
   - A request ends once: answered with its tokens, discarded because nobody
     can tell what became of it, or lost with its replica. There is one
     receipt for each of the first two, none for a loss, and nothing follows.
   - The versions that one life of a replica serves only grow. One that is
     dead serves nothing until another life takes its place.

   Left out: time (a replica may stay closed, and a request run, for ever:
   L1-L3 are judged on the models below), sessions, and which version a
   replica ought to have. A place for a request is used again: a client that
   asks for the next answer after the one before. *)
EXTENDS Naturals, Sequences

CONSTANTS
  Site,      \* replicas
  Place,     \* places for requests at each replica
  Keeping,   \* whether requests may be frozen while weights are swapped
  Newest     \* versions are 0 .. Newest

VARIABLES
  site,      \* site[r]: whether it is open, whether it is dead, the weights that it holds, the version it tells
  call       \* call[r][q]: where the request is, its spans, its receipts

view == <<site, call>>

Versions == 0..Newest
Over == {"none", "refused", "answered", "discarded", "lost"}
Unsettled == {"runs", "frozen", "unknown"}

Fresh == [stage |-> "none", spans |-> <<>>, receipts |-> 0]

\* A closed replica, with the weights of a version, or with none that can serve.
Closed(weights) == [open |-> FALSE, dead |-> FALSE, weights |-> weights, told |-> weights]

Start ==
  /\ site \in [Site -> {[Closed(<<v>>) EXCEPT !.open = TRUE] : v \in Versions} \cup {Closed(<<>>)}]
  /\ call = [r \in Site |-> [q \in Place |-> Fresh]]

\* Spans after a token of this version, or as they are.
Extended(spans, v) ==
  {spans, IF spans # <<>> /\ spans[Len(spans)] = v THEN spans ELSE Append(spans, v)}

Idle(r) == \A q \in Place : call[r][q].stage \notin {"runs", "unknown"}

-----------------------------------------------------------------------------
(* Requests. *)

Call(r, q, c) == call' = [call EXCEPT ![r][q] = c] /\ UNCHANGED site

Wait(r, q) == call[r][q].stage \in Over /\ Call(r, q, [Fresh EXCEPT !.stage = "waits"])

Refuse(r, q) == call[r][q].stage \in Over \cup {"waits"} /\ Call(r, q, [Fresh EXCEPT !.stage = "refused"])

Admit(r, q) ==
  /\ call[r][q].stage \in Over \cup {"waits"}
  /\ site[r].open
  /\ \E spans \in Extended(<<>>, site[r].weights[1]) : Call(r, q, [Fresh EXCEPT !.stage = "runs", !.spans = spans])

Make(r, q) ==
  /\ call[r][q].stage = "runs"
  /\ site[r].weights # <<>>
  /\ \E spans \in Extended(call[r][q].spans, site[r].weights[1]) : Call(r, q, [call[r][q] EXCEPT !.spans = spans])

Freeze(r, q) ==
  /\ Keeping
  /\ call[r][q].stage = "runs"
  /\ Call(r, q, [call[r][q] EXCEPT !.stage = "frozen"])

Answer(r, q) ==
  /\ call[r][q].stage \in {"runs", "frozen"}
  /\ Call(r, q, [call[r][q] EXCEPT !.stage = "answered", !.receipts = 1])

Discard(r, q) ==
  /\ call[r][q].stage = "unknown"
  /\ Call(r, q, [call[r][q] EXCEPT !.stage = "discarded", !.receipts = 1])

\* The requests of a replica when nobody can tell any more what became of some of them.
Doubted(r, some) == [q \in Place |-> IF q \in some THEN [call[r][q] EXCEPT !.stage = "unknown"] ELSE call[r][q]]

Known(r) == {q \in Place : call[r][q].stage \in {"runs", "frozen"}}

Doubt(r) ==
  /\ \E some \in SUBSET Known(r) : call' = [call EXCEPT ![r] = Doubted(r, some)]
  /\ UNCHANGED site

Lose(r, q) == call[r][q].stage = "unknown" /\ Call(r, q, [call[r][q] EXCEPT !.stage = "lost"])

-----------------------------------------------------------------------------
(* Replicas. *)

Thawed(c, v) ==
  {c} \cup
  (IF c.stage = "frozen" THEN {[c EXCEPT !.stage = "runs", !.spans = spans] : spans \in Extended(c.spans, v)} ELSE {})

\* Frozen requests continue, all at once or one after another, by the weights that are there.
Continue(r, s) ==
  /\ s.weights # <<>>
  /\ site' = [site EXCEPT ![r] = s]
  /\ \E c \in [Place -> UNION {Thawed(call[r][q], s.weights[1]) : q \in Place}] :
       /\ \A q \in Place : c[q] \in Thawed(call[r][q], s.weights[1])
       /\ call' = [call EXCEPT ![r] = c]

\* What froze too late to be kept continues, also behind a closed door.
Thaw(r) == site[r].weights = site[r].told /\ Continue(r, site[r])

Shut(r) == site[r].open /\ site' = [site EXCEPT ![r].open = FALSE] /\ UNCHANGED call

\* Behind a closed door where nothing runs weights come and go, in any order.
Loadable(r) ==
  {site[r].weights} \cup
  (IF ~site[r].open /\ Idle(r) THEN {<<>>} \cup {<<v>> : v \in Versions} ELSE {})

\* What is told of them changes only to a newer version that is there.
Tells(r, w) == w # <<>> /\ (site[r].told = <<>> \/ site[r].told[1] < w[1])

Swap(r) ==
  /\ \E w \in Loadable(r) :
       \E told \in {site[r].told} \cup (IF ~site[r].open /\ Idle(r) /\ Tells(r, w) THEN {w} ELSE {}) :
         site' = [site EXCEPT ![r].weights = w, ![r].told = told]
  /\ UNCHANGED call

Open(r) ==
  /\ ~site[r].open /\ ~site[r].dead
  /\ site[r].weights = site[r].told
  /\ Continue(r, [site[r] EXCEPT !.open = TRUE])

\* Its weights are in doubt: what is there then, if it was loading, is nobody's concern any more.
Die(r) ==
  /\ \E w \in Loadable(r) : site' = [site EXCEPT ![r].open = FALSE, ![r].dead = TRUE, ![r].weights = w]
  /\ \E some \in SUBSET Known(r) : call' = [call EXCEPT ![r] = Doubted(r, some)]

\* The process is gone, and with it what it ran; what had ended is accounted for.
Replace(r) ==
  /\ site' = [site EXCEPT ![r] = Closed(<<>>)]
  /\ \E ends \in [Place -> {"lost", "answered", "refused"}] :
       call' = [call EXCEPT ![r] = [q \in Place |->
         CASE call[r][q].stage \in Over -> call[r][q]
           [] call[r][q].stage = "waits" -> [Fresh EXCEPT !.stage = "refused"]
           [] ends[q] = "answered" /\ call[r][q].stage # "unknown" ->
                [call[r][q] EXCEPT !.stage = "answered", !.receipts = 1]
           [] OTHER -> [call[r][q] EXCEPT !.stage = "lost"]]]

-----------------------------------------------------------------------------

Step ==
  \E r \in Site :
    \/ Thaw(r) \/ Shut(r) \/ Swap(r) \/ Open(r) \/ Die(r) \/ Replace(r) \/ Doubt(r)
    \/ \E q \in Place : \/ Wait(r, q) \/ Refuse(r, q) \/ Admit(r, q) \/ Make(r, q) \/ Freeze(r, q)
                        \/ Answer(r, q) \/ Discard(r, q) \/ Lose(r, q)

Switch == Start /\ [][Step]_view

-----------------------------------------------------------------------------
(* What follows from it. *)

Increasing(spans) == \A i \in 1..(Len(spans) - 1) : spans[i] < spans[i + 1]

\* Without mode keep a request is made by one version whole.
OneVersion == Keeping \/ \A r \in Site : \A q \in Place : Len(call[r][q].spans) <= 1

\* Labels only grow.
LabelsGrow == \A r \in Site : \A q \in Place : Increasing(call[r][q].spans)

\* What runs is labelled with no version above the one that its replica tells.
LabelsTold ==
  \A r \in Site : \A q \in Place :
    call[r][q].stage = "runs" => \A i \in DOMAIN call[r][q].spans : call[r][q].spans[i] <= site[r].told[1]

\* An open replica is alive, and tells what it holds.
OpenServes == \A r \in Site : site[r].open => (~site[r].dead /\ site[r].weights = site[r].told /\ site[r].told # <<>>)

\* One receipt for what is answered or discarded, none for anything else.
OneReceipt ==
  \A r \in Site : \A q \in Place :
    call[r][q].receipts = IF call[r][q].stage \in {"answered", "discarded"} THEN 1 ELSE 0
=============================================================================
