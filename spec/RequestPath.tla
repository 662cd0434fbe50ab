---------------------------- MODULE RequestPath ----------------------------
(* The way of a request through one replica: from the session servers in
   front of it, past the line at its door, through gate and lease, into an
   engine of several ranks and back; until its record is stored and its
   receipt told.

   What is legal, and what changes, is in the generated modules Gate and
   Lease alone. Written here is what the shell does about it, and what the
   engine does.

   - The control side is the most general controller: anything that one could
     send, at any time. WeightSync's controllers, and any number of them, send
     less, so what holds here holds behind them. Commands of another epoch or
     term are refused and change nothing; so events carry the gate's own term
     and epoch, and a seal the next epoch. Gate and engine only compare them:
     a seal, or a resume of an open gate, that skips numbers changes nothing
     else.
   - Whatever goes to the engine is on its way for any time and is overtaken:
     an abort arrives before its request, a freeze after the continue that
     ends it. The engine remembers what it was told to abort, and which epoch
     it continued last. What it tells of one request is heard in order, and
     late; it waits where Lag things of a request are not yet heard.
   - Timers run out at any time, again and again.
   - Admission and its record are one step here, as are a lease's forward, its
     record and its sending: in between nobody has been told anything. The
     record of the end is a step of its own, and so is its receipt, with which
     the gate lets it go; the process may end between any two steps. Its next
     life accounts for every lease of the old one before it serves.
   - What the devices really do is history that no table reads: the version
     that each rank holds, which ranks work, what each request does, which
     versions made tokens of it. wrong collects the names of properties that
     a step has broken.

   Left out: numbers of tokens (a version makes at most one token of a request
   here; the table only adds), prompts and sampling, renewals of the timer (it
   runs out at any time anyway), claims (a term changes nothing but who may
   command), requests that are held with a pin (they are refused here, and are
   asked again like any other when a gate reopens). *)
EXTENDS Gate, Lease, Naturals, Sequences, FiniteSets

CONSTANTS
  Request,     \* requests; an id is used once
  First,       \* those of the first session server; the others come from the second
  Rank,        \* ranks of the engine
  Modes,       \* what a drain may do with requests: among "wait", "abort", "keep"
  MaxEpoch,    \* how many seals in one life
  MaxVersion,  \* how many publications
  MaxLife,     \* how many lives of the replica
  HoldLimit,   \* how many requests wait at the door; 0: they are refused
  Lag,         \* how much that the engine told of one request is not yet heard
  May          \* what else may happen: "deadline", "late", "message", "client", "unknown", "mute", "engine",
               \* "store", "crash", "poison", "lend", "escalate"

VARIABLES
  gate,        \* the gate of the life that is
  engine,      \* the engine and its device
  call,        \* call[q]: a request, its lease, and what became of both
  line,        \* requests that wait at the door, in order
  life,        \* its number, whether it serves, and its store
  wrong        \* names of properties that a step has broken

vars == <<gate, engine, call, line, life, wrong>>

Now == [gate |-> gate, engine |-> engine, call |-> call, line |-> line, wrong |-> wrong]

Broken == MaxVersion + 1     \* the version of weights that are none
Window == 0
Digests(v) == [k \in Rank |-> v]

Stranger ==
  [at       |-> "out",              \* "out", "line", "in" or "refused"
   lease    |-> LeaseInit("s"),     \* of a request that is in
   label    |-> <<>>,               \* the version that it was told at its admission
   disk     |-> "none",             \* the last record: "admitted", "forwarded", "ended", "closed"
   way      |-> {},                 \* what is on its way to the engine: "forward", "abort", "reconcile"
   does     |-> "nothing",          \* in the engine: "nothing", "runs", "frozen", "over", or "barred" before it came
   told     |-> <<>>,               \* what the engine told of it, not yet heard
   made     |-> {},                 \* the versions that really made its tokens
   owes     |-> 0,                  \* receipts that its lease put out, not yet stored
   receipts |-> 0]                  \* receipts that were told

Engine(v) ==
  [version   |-> v,                        \* what it labels tokens with
   held      |-> [k \in Rank |-> v],       \* the version that each rank really holds
   busy      |-> {},                       \* ranks that really work
   frozen    |-> 0,                        \* the epoch that froze it; 0: none has
   continued |-> 0,                        \* the highest epoch that it was continued by
   orders    |-> {},                       \* freezes and continues on their way
   asked     |-> FALSE,                    \* to quiesce
   loads     |-> {},                       \* ranks that have yet to answer an install
   target    |-> 0]                        \* of what they load

Init ==
  /\ gate = [GateInit(Rank) EXCEPT !.state = "OPEN", !.version = <<0>>, !.resident = TRUE]
  /\ engine = Engine(0)
  /\ call = [q \in Request |-> Stranger]
  /\ line = <<>>
  /\ life = [number |-> 1, serves |-> TRUE, store |-> "works"]
  /\ wrong = {}

-----------------------------------------------------------------------------
(* What gate and lease put out, and what is done about it. *)

Names(outs) == {outs[i].out : i \in 1..Len(outs)}

Emitted(outs, name) == outs[CHOOSE i \in 1..Len(outs) : outs[i].out = name]

Sends(c, what) == [c EXCEPT !.way = @ \cup {what}]

Tells(c, said, number) == [c EXCEPT !.told = Append(@, [say |-> said, n |-> number])]

\* Request c after its lease stepped.
LeaseOn(c, t) ==
  IF t = <<>> THEN c
  ELSE [c EXCEPT
         !.lease = t[1],
         !.owes = IF "Receipt" \in Names(t[2]) THEN @ + 1 ELSE @,
         !.way = @ \cup (IF "AbortRequest" \in Names(t[2]) THEN {"abort"} ELSE {})
                   \cup (IF "Reconcile" \in Names(t[2]) THEN {"reconcile"} ELSE {})]

LeaseBy(w, q, t) == IF t = <<>> THEN w ELSE [w EXCEPT !.call[q] = LeaseOn(w.call[q], t)]

Aborted(g, outs, names) ==
  (IF "StartDrain" \in names THEN IF Emitted(outs, "StartDrain").mode = "abort" THEN g.active ELSE {} ELSE {})
  \cup (IF "AbortSuspended" \in names THEN Emitted(outs, "AbortSuspended").leases ELSE {})
  \cup (IF "AbortLate" \in names THEN {Emitted(outs, "AbortLate").lease} ELSE {})

Orders(outs, names) ==
  (IF "StartDrain" \in names
   THEN IF Emitted(outs, "StartDrain").mode = "keep"
        THEN {[do |-> "freeze", epoch |-> Emitted(outs, "StartDrain").epoch]} ELSE {}
   ELSE {})
  \cup (IF "ThawAll" \in names THEN {[do |-> "continue", epoch |-> Emitted(outs, "ThawAll").epoch]} ELSE {})
  \cup (IF "Thaw" \in names THEN {[do |-> "continue", epoch |-> Emitted(outs, "Thaw").epoch]} ELSE {})

Performs(w, g, outs, names) ==
  [gate   |-> g,
   engine |-> [w.engine EXCEPT
                !.asked = g.state = "DRAINING" /\ (@ \/ "AskQuiesce" \in names),
                !.orders = @ \cup Orders(outs, names),
                !.loads = IF "StartInstall" \in names THEN Rank ELSE IF g.state = "POISONED" THEN {} ELSE @,
                !.target = IF "StartInstall" \in names THEN Emitted(outs, "StartInstall").version
                           ELSE IF g.state = "INSTALLING" \/ (g.state # "POISONED" /\ w.engine.loads # {})
                           THEN @ ELSE 0,   \* a device loads on, whatever its gate does
                !.held = IF "ReleaseMemory" \in names THEN [k \in Rank |-> Broken] ELSE @],
   call   |-> LET ended == Aborted(g, outs, names)
              IN IF ended = {} THEN w.call
                 ELSE [q \in Request |-> IF q \in ended THEN Sends(w.call[q], "abort") ELSE w.call[q]],
   line   |-> w.line,
   wrong  |-> w.wrong]

\* The world w after its gate stepped, if it did.
GateBy(w, t) == IF t = <<>> THEN w ELSE Performs(w, t[1], t[2], Names(t[2]))

\* The same, as a set: empty if the gate did not step.
ByGate(t) == IF t = <<>> THEN {} ELSE {GateBy(Now, t)}

Serving == life.serves

Stores == life.store # "fails"

Open(c) == c.at = "in" /\ c.disk # "closed"

Falls(old, new) == old # new /\ old # <<>> /\ (new = <<>> \/ new[1] <= old[1])

\* Where engines answer and no controller poisons, a gate is poisoned only while it is in doubt what the device
\* holds: its own deadline passes, or a frozen request is no longer known of.
Doubtful ==
  \/ May \cap {"mute", "engine", "poison"} # {}
  \/ gate.lent # <<>> /\ "deadline" \in May
  \/ gate.state = "INSTALLING" /\ ("deadline" \in May \/ ("unknown" \in May /\ gate.suspended # {}))

\* Properties that the step of the gate to g breaks.
BreaksGate(g) ==
  (IF g.epoch < gate.epoch \/ g.term < gate.term \/ Falls(gate.version, g.version) THEN {"G5"} ELSE {})
  \cup (IF gate.state = "POISONED" /\ g.state # "POISONED" THEN {"G6"} ELSE {})
  \cup (IF gate.state # "POISONED" /\ g.state = "POISONED" /\ ~Doubtful THEN {"A3"} ELSE {})

\* Properties that request q breaks by becoming c.
BreaksCall(q, c) ==
  (IF call[q].at # "in" /\ c.at = "in" /\ (gate.state \notin {"OPEN", "REOPENED"} \/ (line # <<>> /\ line[1] # q))
   THEN {"admission"} ELSE {})
  \cup
  (IF call[q].disk = "closed" /\ (c.disk # "closed" \/ c.lease # call[q].lease \/ c.receipts # call[q].receipts)
   THEN {"G4"} ELSE {})

Breaks(w) ==
  (IF w.gate = gate THEN {} ELSE BreaksGate(w.gate)) \cup UNION {BreaksCall(q, w.call[q]) : q \in Request}

\* Some worlds, with what the step to each of them breaks.
Judged(some) == {[w EXCEPT !.wrong = @ \cup Breaks(w)] : w \in some}

Becomes(w) ==
  /\ gate' = w.gate /\ engine' = w.engine /\ call' = w.call /\ line' = w.line /\ wrong' = w.wrong
  /\ UNCHANGED life

-----------------------------------------------------------------------------
(* Any controller. *)

Commanded == Serving /\ gate.state # "POISONED"

Seal ==
  /\ Commanded /\ gate.epoch < MaxEpoch /\ gate.state \in GateSeal_states
  /\ \E w \in Judged(UNION {ByGate(GateSeal_step(gate, gate.term, gate.epoch + 1, m, Window)) : m \in Modes}) :
       Becomes(w)

Escalate ==
  /\ "escalate" \in May /\ Commanded /\ gate.state \in GateEscalate_states
  /\ \E w \in Judged(UNION {ByGate(GateEscalate_step(gate, gate.term, gate.epoch, m)) : m \in Modes}) : Becomes(w)

Drain ==
  /\ Commanded /\ gate.state \in GateDrain_states
  /\ \E w \in Judged(ByGate(GateDrain_step(gate, gate.term, gate.epoch))) : Becomes(w)

Install ==
  /\ Commanded /\ gate.state \in GateInstall_states
  /\ \E w \in Judged(UNION {ByGate(GateInstall_step(gate, gate.term, gate.epoch, v, Digests(v))) :
                             v \in 0..MaxVersion}) : Becomes(w)

Reopen ==
  /\ Commanded /\ gate.state \in GateReopen_states
  /\ \E w \in Judged(ByGate(GateReopen_step(gate, gate.term, gate.epoch))) : Becomes(w)

Resume ==
  /\ Commanded /\ gate.state \in GateResume_states
  /\ \E w \in Judged(ByGate(GateResume_step(gate, gate.term, gate.epoch))) : Becomes(w)

Close ==
  /\ Commanded /\ gate.state \in GateClose_states
  /\ \E w \in Judged(ByGate(GateClose_step(gate, gate.term, gate.epoch))) : Becomes(w)

Lend ==
  /\ "lend" \in May /\ Commanded /\ gate.state \in GateLend_states
  /\ \E w \in Judged(ByGate(GateLend_step(gate, gate.term, gate.epoch, "l"))) : Becomes(w)

Returned ==
  /\ "lend" \in May /\ Commanded /\ gate.state \in GateReturned_states
  /\ \E w \in Judged(ByGate(GateReturned_step(gate, gate.term, gate.epoch, "l"))) : Becomes(w)

Poison ==
  /\ "poison" \in May /\ Commanded
  /\ \E w \in Judged(ByGate(GatePoison_step(gate, gate.term))) : Becomes(w)

-----------------------------------------------------------------------------
(* At the door. *)

\* Request q is let in, and w is the world without it in the line.
Enters(w, q, t) ==
  {[w EXCEPT !.gate = t[1],
             !.call[q] = [@ EXCEPT !.at = "in", !.lease = LeaseInit("s"), !.label = t[1].version, !.disk = "admitted"]]}

Turned(w, q) == {[w EXCEPT !.call[q].at = "refused"]}

Closed == gate.state \notin GateAdmit_states \cup {"POISONED"}

ByArrival(q, pin) ==
  LET t == GateAdmit_step(gate, q, pin)
  IN CASE ~Stores -> Turned(Now, q)
       [] Stores /\ t # <<>> -> Enters(Now, q, t)
       [] Stores /\ t = <<>> /\ Closed /\ pin = <<>> /\ Len(line) < HoldLimit ->
            {[Now EXCEPT !.call[q].at = "line", !.line = Append(@, q)]}
       [] OTHER -> Turned(Now, q)

Outside == {q \in Request : call[q].at = "out"}

\* Nobody goes past those who wait.
Arrive ==
  /\ Serving /\ Outside # {}
  /\ line = <<>> \/ Closed
  /\ \E w \in Judged(UNION {ByArrival(q, <<>>) : q \in Outside}) : Becomes(w)

ByPinned(q) ==
  {[w EXCEPT !.wrong = IF w.call[q].label \in {<<>>, <<0>>} THEN @ ELSE @ \cup {"pin"}] : w \in ByArrival(q, <<0>>)}

\* A request that accepts version 0 alone.
ArrivePinned ==
  /\ Serving /\ Outside # {}
  /\ line = <<>> \/ Closed
  /\ \E w \in Judged(UNION {ByPinned(q) : q \in Outside}) : Becomes(w)

\* A request that is in comes again, under its id: it is not let in a second time.
Repeat ==
  /\ Serving
  /\ \E q \in Request : Open(call[q]) /\ GateAdmit_acts(gate, q, <<>>)
  /\ wrong' = wrong \cup {"G4"}
  /\ UNCHANGED <<gate, engine, call, line, life>>

ByTurn(q) ==
  LET front == [Now EXCEPT !.line = Tail(@)]
      t == GateAdmit_step(gate, q, <<>>)
  IN IF Stores /\ t # <<>> THEN Enters(front, q, t) ELSE Turned(front, q)

LetIn ==
  /\ Serving /\ line # <<>> /\ ~Closed
  /\ \E w \in Judged(ByTurn(Head(line))) : Becomes(w)

\* A line without some of those who wait there.
Without(waiting, gone) ==
  LET stay == {i \in DOMAIN waiting : waiting[i] \notin gone}
  IN [n \in 1..Cardinality(stay) |-> waiting[CHOOSE i \in stay : Cardinality({m \in stay : m <= i}) = n]]

\* It has waited for as long as it may.
ByExpiry(q) == IF call[q].at = "line" THEN Turned([Now EXCEPT !.line = Without(@, {q})], q) ELSE {}


HoldExpires ==
  /\ line # <<>>
  /\ \E w \in Judged(UNION {ByExpiry(q) : q \in Request}) : Becomes(w)

-----------------------------------------------------------------------------
(* Clients and session servers. *)

Cancelled(c) ==
  CASE c.at = "line" -> [c EXCEPT !.at = "refused"]
    [] Open(c) -> LeaseOn(c, LeaseCancel_step(c.lease))
    [] OTHER -> c

Left(some) == [Now EXCEPT !.call = [q \in Request |-> IF q \in some THEN Cancelled(call[q]) ELSE call[q]],
                          !.line = Without(@, some)]

Connected(some) == \E q \in some : call[q].at = "line" \/ (Open(call[q]) /\ LeaseCancel_acts(call[q].lease))

\* A client leaves, or a session server with all its connections.
Leave ==
  /\ "client" \in May
  /\ \E w \in Judged({Left(x) : x \in {y \in {{q} : q \in Request} \cup {First, Request \ First} : Connected(y)}}) :
       Becomes(w)

-----------------------------------------------------------------------------
(* The way of a lease. *)

ByForward(q) ==
  IF Open(call[q]) /\ LeaseForward_acts(call[q].lease)
  THEN {[LeaseBy(Now, q, LeaseForward_step(call[q].lease)) EXCEPT
           !.call[q] = Sends([@ EXCEPT !.disk = "forwarded"], "forward")]}
  ELSE {}

Forward ==
  /\ Serving /\ Stores
  /\ \E w \in Judged(UNION {ByForward(q) : q \in Request}) : Becomes(w)

\* Nobody can tell what became of it; gate and lease are told together.
ByDoubt(q) ==
  IF Open(call[q]) /\ call[q].lease.state \in LeaseUnknown_states
  THEN {GateBy(LeaseBy(Now, q, LeaseUnknown_step(call[q].lease)), GateOrphan_step(gate, q))}
  ELSE {}

Doubt ==
  /\ "unknown" \in May
  /\ \E w \in Judged(UNION {ByDoubt(q) : q \in Request}) : Becomes(w)

\* It is not known in time what became of it.
ByGivingUp(q) ==
  IF "mute" \in May /\ Open(call[q]) /\ call[q].lease.state \in LeaseGiveUp_states
  THEN {GateBy(LeaseBy(Now, q, LeaseGiveUp_step(call[q].lease)), GateGiveUp_step(gate, q))}
  ELSE {}

GiveUp ==
  /\ "mute" \in May
  /\ \E w \in Judged(UNION {ByGivingUp(q) : q \in Request}) : Becomes(w)

\* The record of the end is stored; if it cannot be, the outcome is known all the same.
ByRecord(q) ==
  IF Open(call[q]) /\ call[q].lease.state = "ENDED"
  THEN {[Now EXCEPT !.call[q] = LeaseOn([call[q] EXCEPT !.disk = "ended"], LeaseRecorded_step(call[q].lease))]}
  ELSE {}

Record ==
  /\ Stores
  /\ \E w \in Judged(UNION {ByRecord(q) : q \in Request}) : Becomes(w)

\* Settled or lost is stored; its receipt is told, and the gate lets it go.
Ended(c) == [c EXCEPT !.disk = "closed", !.receipts = @ + c.owes, !.owes = 0]

ByClosing(q) ==
  IF ~Open(call[q]) THEN {}
  ELSE CASE call[q].lease.state = "SETTLED" ->
              {GateBy([Now EXCEPT !.call[q] = Ended(call[q])], GateSettle_step(gate, q))}
         [] call[q].lease.state = "LOST" -> {[Now EXCEPT !.call[q] = Ended(call[q])]}
         [] OTHER -> {}

Conclude ==
  /\ Stores
  /\ \E w \in Judged(UNION {ByClosing(q) : q \in Request}) : Becomes(w)

\* What the engine told is heard, in order; of a closed request it changes nothing.
Heard(c) == [c EXCEPT !.told = Tail(@)]

Hears(q, said) ==
  LET c == Heard(call[q])
      lease == c.lease
  IN CASE said.say = "token"      -> [Now EXCEPT !.call[q] = LeaseOn(c, LeaseProgress_step(lease, 1, said.n))]
       [] said.say = "frozen"     -> LET w == [Now EXCEPT !.call[q] = LeaseOn(c, LeaseFrozen_step(lease))]
                                     IN IF Open(c) THEN GateBy(w, GateFrozen_step(gate, q, said.n)) ELSE w
       [] said.say = "thawed"     -> LET w == [Now EXCEPT !.call[q] = LeaseOn(c, LeaseThawed_step(lease))]
                                     IN IF Open(c) THEN GateBy(w, GateThawed_step(gate, said.n, q)) ELSE w
       [] said.say = "reconciled" -> [Now EXCEPT !.call[q] = LeaseOn(c, LeaseReconciled_step(lease))]
       [] OTHER                   -> [Now EXCEPT !.call[q] = LeaseOn(c, LeaseEnded_step(lease, said.say))]

ByHearing(q) == IF call[q].told = <<>> THEN {} ELSE {Hears(q, Head(call[q].told))}

Hear ==
  /\ \E q \in Request : call[q].told # <<>>
  /\ \E w \in Judged(UNION {ByHearing(q) : q \in Request}) : Becomes(w)

-----------------------------------------------------------------------------
(* The engine. *)

\* It says no more of a request than is heard in time.
Speaks(q) == Len(call[q].told) < Lag

\* On the engine request c begins, if it was not aborted before it came.
Begun(c) ==
  CASE c.does = "barred" -> Tells([c EXCEPT !.does = "over"], "aborted", 0)
    [] c.does = "nothing" /\ engine.frozen # 0 -> Tells([c EXCEPT !.does = "frozen"], "frozen", engine.frozen)
    [] c.does = "nothing" /\ engine.frozen = 0 -> [c EXCEPT !.does = "runs"]
    [] OTHER -> c

Works(w) == [w EXCEPT !.engine.busy = IF \E q \in Request : w.call[q].does = "runs" THEN Rank ELSE @]

Underway(what) == {q \in Request : what \in call[q].way /\ Speaks(q)}

Arrives(c, what) == [c EXCEPT !.way = @ \ {what}]

ByTaking(q) ==
  IF q \in Underway("forward") THEN {Works([Now EXCEPT !.call[q] = Begun(Arrives(call[q], "forward"))])} ELSE {}

Takes ==
  /\ \E q \in Request : "forward" \in call[q].way
  /\ \E w \in Judged(UNION {ByTaking(q) : q \in Request}) : Becomes(w)

\* Wherever it is, it runs no more, and never will.
Stopped(c) ==
  CASE c.does \in {"runs", "frozen"} -> Tells([c EXCEPT !.does = "over"], "aborted", 0)
    [] c.does = "nothing" -> [c EXCEPT !.does = "barred"]
    [] OTHER -> c

InTime(q) == "late" \in May \/ "forward" \notin call[q].way

Aborts ==
  /\ \E q \in Request : "abort" \in call[q].way
  /\ \E w \in Judged({[Now EXCEPT !.call[q] = Stopped(Arrives(call[q], "abort"))] :
                      q \in {x \in Underway("abort") : InTime(x)}}) : Becomes(w)

\* An abort that is answered once it is done.
ByReconciling(q) ==
  IF q \in Underway("reconcile") /\ InTime(q)
  THEN {[Now EXCEPT !.call[q] = Tells(Stopped(Arrives(call[q], "reconcile")), "reconciled", 0)]}
  ELSE {}

Reconcile ==
  /\ \E q \in Request : "reconcile" \in call[q].way
  /\ \E w \in Judged(UNION {ByReconciling(q) : q \in Request}) : Becomes(w)

\* A message to the engine is lost.
Lost ==
  /\ "message" \in May
  /\ \E w \in Judged(UNION {{[Now EXCEPT !.call[q] = Arrives(call[q], m)] : m \in call[q].way \ {"reconcile"}} :
                            q \in Request}) : Becomes(w)

Runs(q) == call[q].does = "runs" /\ Speaks(q)

Token ==
  /\ \E q \in Request : Runs(q)
  /\ \E w \in Judged({[Now EXCEPT !.call[q] =
                         Tells([call[q] EXCEPT !.made = @ \cup {engine.version}], "token", engine.version)] :
                      q \in {x \in Request : Runs(x) /\ engine.version \notin call[x].made}}) : Becomes(w)

Finish ==
  /\ \E q \in Request : Runs(q)
  /\ \E w \in Judged({[Now EXCEPT !.call[q] = Tells([call[q] EXCEPT !.does = "over"], "completed", 0)] :
                      q \in {x \in Request : Runs(x)}}) : Becomes(w)

\* A freeze that its continue, or a later freeze, has overtaken does nothing.
Freezes(w, e) ==
  IF e <= engine.continued \/ e <= engine.frozen THEN w
  ELSE [w EXCEPT !.engine.frozen = e,
                 !.call = [q \in Request |->
                   IF w.call[q].does \in {"runs", "frozen"}
                   THEN Tells([w.call[q] EXCEPT !.does = "frozen"], "frozen", e) ELSE w.call[q]]]

\* It obeys a continue only if its epoch is not below that of the freeze.
Thaws(w, e) ==
  IF e < engine.frozen THEN w
  ELSE Works([w EXCEPT !.engine.frozen = 0,
                       !.engine.continued = IF e > @ THEN e ELSE @,
                       !.call = [q \in Request |->
                         IF w.call[q].does = "frozen"
                         THEN Tells([w.call[q] EXCEPT !.does = "runs"], "thawed", e) ELSE w.call[q]]])

Obeys(order) ==
  LET w == [Now EXCEPT !.engine.orders = @ \ {order}]
  IN IF order.do = "freeze" THEN Freezes(w, order.epoch) ELSE Thaws(w, order.epoch)

Obey ==
  /\ engine.orders # {}
  /\ \A q \in Request : Speaks(q)
  /\ \E w \in Judged({Obeys(order) : order \in engine.orders}) : Becomes(w)

Still == \A q \in Request : call[q].does # "runs"

\* The last pass of a rank ends.
Rest ==
  /\ engine.busy # {} /\ Still
  /\ \E w \in Judged({[Now EXCEPT !.engine.busy = @ \ {k}] : k \in engine.busy}) : Becomes(w)

Quiesced ==
  /\ engine.asked /\ Still
  /\ \E w \in Judged(UNION {ByGate(GateQuiesced_step(gate, gate.epoch, k)) :
                             k \in Rank \ (engine.busy \cup gate.quiet)}) : Becomes(w)

\* A rank answers an install with what it then holds.
ByInstalled(k, v) ==
  {[GateBy(Now, GateInstalled_step(gate, gate.epoch, k, v)) EXCEPT
      !.engine.held[k] = v,
      !.engine.version = IF v = engine.target THEN v ELSE @,
      !.engine.loads = @ \ {k}]}

Answers(k) == {engine.target} \cup (IF "engine" \in May THEN {engine.held[k]} ELSE {})

Installed ==
  /\ engine.loads # {}
  /\ \E w \in Judged(UNION {UNION {ByInstalled(k, v) : v \in Answers(k)} : k \in engine.loads}) : Becomes(w)

InstallFailed ==
  /\ "engine" \in May /\ engine.loads # {}
  /\ \E w \in Judged({[GateBy(Now, GateInstallFailed_step(gate, gate.epoch, k)) EXCEPT !.engine.held[k] = Broken] :
                      k \in engine.loads}) : Becomes(w)

\* The process finds its own device in doubt.
Fault ==
  /\ "engine" \in May /\ Serving
  /\ \E w \in Judged(ByGate(GateFault_step(gate))) : Becomes(w)

-----------------------------------------------------------------------------
(* Time, the disk, and the process. *)

\* Of what its deadline orphaned the shell loses track.
Untracked(w) ==
  [w EXCEPT !.call = [q \in Request |->
     IF q \in w.gate.orphaned THEN LeaseOn(w.call[q], LeaseUnknown_step(w.call[q].lease)) ELSE w.call[q]]]

Deadline ==
  /\ "deadline" \in May /\ gate.state \in GateDeadline_states
  /\ \E w \in Judged({Untracked(x) : x \in ByGate(GateDeadline_step(gate, gate.epoch, gate.timer))}) : Becomes(w)

StoreFails ==
  /\ "store" \in May /\ life.store = "works"
  /\ life' = [life EXCEPT !.store = "fails"]
  /\ UNCHANGED <<gate, engine, call, line, wrong>>

StoreMended ==
  /\ life.store = "fails"
  /\ life' = [life EXCEPT !.store = "mended"]
  /\ UNCHANGED <<gate, engine, call, line, wrong>>

\* An open lease as the next life finds it on the disk, and what it makes of it.
Found(c) ==
  [c.lease EXCEPT !.state =
     CASE c.disk = "ended" -> "ENDED" [] c.disk = "forwarded" -> "FORWARDED" [] OTHER -> "ADMITTED"]

Gone(c) == [c EXCEPT !.way = {}, !.told = <<>>, !.does = "over", !.owes = 0]

Adopted(c) ==
  LET read == Found(c)
      t == IF c.disk = "ended" THEN LeaseRecorded_step(read) ELSE LeaseGone_step(read)
  IN LeaseOn(Gone(c), t)

\* The process ends, and another begins: sealed, without weights.
Crash ==
  /\ "crash" \in May /\ life.number < MaxLife
  /\ life' = [life EXCEPT !.number = @ + 1, !.serves = FALSE]
  /\ gate' = GateInit(Rank)
  /\ engine' = Engine(Broken)
  /\ line' = <<>>
  /\ call' = [q \in Request |->
       CASE Open(call[q]) -> Adopted(call[q])
         [] call[q].at = "line" -> [call[q] EXCEPT !.at = "refused"]
         [] call[q].disk = "closed" -> Gone(call[q])
         [] OTHER -> call[q]]
  /\ UNCHANGED wrong

\* It serves once every lease of the life before is accounted for.
Serve ==
  /\ ~life.serves
  /\ \A q \in Request : ~Open(call[q])
  /\ life' = [life EXCEPT !.serves = TRUE]
  /\ UNCHANGED <<gate, engine, call, line, wrong>>

-----------------------------------------------------------------------------

Next ==
  \/ Seal \/ Escalate \/ Drain \/ Install \/ Reopen \/ Resume \/ Close \/ Lend \/ Returned \/ Poison
  \/ Arrive \/ ArrivePinned \/ Repeat \/ LetIn \/ HoldExpires \/ Leave
  \/ Forward \/ Doubt \/ GiveUp \/ Record \/ Conclude \/ Hear
  \/ Takes \/ Aborts \/ Reconcile \/ Lost \/ Token \/ Finish \/ Obey
  \/ Rest \/ Quiesced \/ Installed \/ InstallFailed \/ Fault
  \/ Deadline \/ StoreFails \/ StoreMended \/ Crash \/ Serve

Spec == Init /\ [][Next]_vars

\* Timers run out, what is sent arrives, what is told is heard, the disk comes back; an engine answers, or is given up.
Goes(some) == \E w \in Judged(some) : Becomes(w)

FairSpec ==
  /\ Spec
  /\ WF_vars(StoreMended)
  /\ \A q \in Request :
       /\ WF_vars(Goes(ByExpiry(q)))
       /\ WF_vars(Serving /\ Stores /\ Goes(ByForward(q)))
       /\ WF_vars(Goes(ByDoubt(q)))
       /\ WF_vars(Goes(ByTaking(q)))
       /\ WF_vars(Goes(ByReconciling(q) \cup ByGivingUp(q)))
       /\ WF_vars(Goes(ByHearing(q)))
       /\ WF_vars(Stores /\ Goes(ByRecord(q)))
       /\ WF_vars(Stores /\ Goes(ByClosing(q)))

-----------------------------------------------------------------------------
(* Properties, by the names of the contract. *)

\* A token is made by the weights that its label names; without keep mode a request is made by one version whole,
\* the one that it was told at its admission.
G1 == \A q \in Request :
  /\ call[q].does = "runs" => \A k \in Rank : engine.held[k] = engine.version
  /\ DOMAIN call[q].lease.spans \subseteq call[q].made
  /\ "keep" \notin Modes => \A v \in call[q].made : call[q].label = <<v>>
  /\ \A v \in call[q].made : call[q].label[1] <= v

\* While installing nothing is active or orphaned, and the device is really idle on all ranks.
G2 == gate.state = "INSTALLING" => (gate.active = {} /\ gate.orphaned = {} /\ engine.busy = {} /\ Still)

\* An open gate says what every rank holds.
G3 == gate.state \in {"OPEN", "REOPENED"} => \A k \in Rank : gate.version = <<engine.held[k]>>

Places(q) == (IF q \in gate.active THEN 1 ELSE 0) + (IF q \in gate.suspended THEN 1 ELSE 0)
             + (IF q \in gate.orphaned THEN 1 ELSE 0)

Served(c) == c.lease.state = "SETTLED"

\* Every lease ends in exactly one of settled and lost, with one receipt and with none; while it is open it is in
\* exactly one place of its gate, and in none before and after; nothing follows its end.
G4 == /\ "G4" \notin wrong
      /\ \A q \in Request :
           /\ call[q].disk = "closed" => call[q].receipts = IF Served(call[q]) THEN 1 ELSE 0
           /\ call[q].disk = "closed" => call[q].lease.state \in {"SETTLED", "LOST"}
           /\ call[q].disk # "closed" => call[q].receipts = 0
           /\ life.serves /\ gate.state # "POISONED" => Places(q) = IF Open(call[q]) THEN 1 ELSE 0

\* No token of a request that was answered is lost or repeated.
Whole == \A q \in Request :
  call[q].disk = "closed" /\ Served(call[q]) /\ call[q].lease.ending \in {"completed", "aborted", "failed"} =>
    /\ DOMAIN call[q].lease.spans = call[q].made
    /\ \A v \in DOMAIN call[q].lease.spans : call[q].lease.spans[v] = 1

\* Epoch and term never fall, a version only rises.
G5 == "G5" \notin wrong

\* Poison is for ever, and admits nothing; neither does a closed gate. Who waits is let in before who comes.
G6 == "G6" \notin wrong /\ "admission" \notin wrong

\* Clients and their connections come and go, outcomes are unknown for a while, disks are full for a while:
\* nothing of it poisons.
A3 == "A3" \notin wrong

\* A pinned request runs on its version.
Pinned == "pin" \notin wrong

Waits(q) == call[q].at = "line"

\* Every lease ends settled or lost.
L2 == \A q \in Request : Open(call[q]) ~> ~Open(call[q])

\* Every held request is admitted or refused.
L3 == \A q \in Request : Waits(q) ~> ~Waits(q)

(* States that must be reached: each is checked as if it could not be. *)
NeverLate       == gate.state = "INSTALLING" =>
                     \A q \in Request : call[q].does # "barred" \/ "forward" \notin call[q].way
NeverCalledIn   == line # <<>> => gate.state # "REOPENED" \/ gate.version # <<1>>
NeverContinues  == \A q \in Request : call[q].disk = "closed" => Cardinality(DOMAIN call[q].lease.spans) < 2
NeverLosesTokens == \A q \in Request : call[q].disk = "closed" => call[q].lease.state # "LOST" \/ call[q].made = {}
NeverGivesUp    == \A q \in Request : call[q].lease.state = "LOST" => life.number > 1
NeverAccounts   == life.number = 1 \/ \A q \in Request : call[q].disk = "closed" => call[q].lease.state = "LOST"
=============================================================================
