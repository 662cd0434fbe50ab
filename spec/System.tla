------------------------------ MODULE System ------------------------------
(* What there is: replicas, controllers, a trainer, what is durable, and the
   network between them.

   - A controller is named by its term: ctl[t] is the controller of term t,
     and the last one rules.
   - A message is delivered late, again, or never. One that can no longer act
     is dropped from the set, which keeps the set small: within an epoch a
     gate only moves on, terms and epochs never fall, poison is for ever.
     Pruned says that the tables agree.
   - A crash ends a process between two steps. One that has crashed does
     nothing any more, so whoever may stop for ever covers it.
   - wrong collects the names of properties that a step has broken. *)
EXTENDS Gate, Sync, Naturals, Sequences, FiniteSets

CONSTANTS
  Replica,     \* names of replicas, each with one gate
  Rank,        \* ranks of a replica
  Slot,        \* places for requests at each replica; a place is used again
  Mode,        \* what a drain does with requests: "wait" or "keep"
  Minimum,     \* how many members a cohort needs
  MaxEpoch,    \* how many operations, catching up included
  MaxVersion,  \* how many publications
  MaxTerm,     \* how many controllers, one after another
  Faults,      \* kinds of fault, by the names in spec/models/form.py
  Scene        \* what else is so: a set of the names below

(* "newborn":  replicas start without weights, and nothing is published.
   "lend":     operations may lend the devices to the trainer.
   "pause":    operations may keep the gates drained, and lend to nobody.
   "volatile": an operation begins before its version's bytes are durable,
               against the order of publication.
   "timely":   windows are long enough for engine, trainer and takeover:
               no deadline passes that would poison. *)

VARIABLES
  node,        \* node[r]: the gate of replica r, and what really happens behind it
  ctl,         \* ctl[t]: the controller of term t: its Sync, and what it knows
  durable,     \* the durable registers
  trainer,     \* what the trainer really does
  msgs,        \* messages to gates that may still act
  wrong        \* names of properties that a step has broken

vars == <<node, ctl, durable, trainer, msgs, wrong>>

Window == 0
Broken == MaxVersion + 1     \* the version of weights that are none
Free == [does |-> "nothing", label |-> <<>>]

\* The digest of weights is their version; every rank must hold the same.
Digests(v) == [k \in Rank |-> v]

Message(r, name, t, e, v) == [to |-> r, ev |-> name, term |-> t, epoch |-> e, version |-> v]

\* A replica's process that has just begun: no weights, closed, claimed by nobody.
Born ==
  [gate    |-> GateInit(Rank),
   armed   |-> <<>>,                        \* the timer that runs: epoch and number
   asked   |-> FALSE,                       \* the engine was asked to quiesce
   freezes |-> FALSE,                       \* the engine was told to freeze
   loads   |-> {},                          \* ranks that have yet to answer an install
   version |-> 0,                           \* of what they load
   held    |-> [k \in Rank |-> Broken],     \* the version that each rank really holds
   busy    |-> {},                          \* ranks whose device really works
   lease   |-> [s \in Slot |-> Free],       \* what each request really does, and its label
   expired |-> FALSE]                       \* in this epoch the gate's own deadline reopened it

\* One that serves version 0 under the first controller.
Serving ==
  [Born EXCEPT
    !.gate = [@ EXCEPT !.state = "OPEN", !.term = 1, !.version = <<0>>, !.resident = TRUE],
    !.held = [k \in Rank |-> 0]]

\* The controller of term t when it begins, over what is durable.
Rising(t, e, v) ==
  [sync    |-> SyncRestore(SyncInit(t, Minimum), e, v),
   epoch   |-> 0,                           \* the last number of an operation that it took
   settled |-> FALSE,                       \* it has seen each of its live gates open at what is published
   trains  |-> FALSE]                       \* in this operation the trainer has begun to use the lent devices

\* One that has failed or crashed: it does nothing any more, and what it knew is gone.
Gone(t) == [Rising(t, 0, <<>>) EXCEPT !.sync.state = "FAILED"]

Init ==
  /\ node = [r \in Replica |-> IF "newborn" \in Scene THEN Born ELSE Serving]
  /\ ctl = IF "newborn" \in Scene THEN <<Rising(1, 0, <<>>)>> ELSE <<[Rising(1, 0, <<0>>) EXCEPT !.settled = TRUE]>>
  /\ durable = [epoch     |-> 0,                                               \* the counter of operations
                newest    |-> 0,                                               \* the number of the newest version
                published |-> IF "newborn" \in Scene THEN <<>> ELSE <<0>>]
  /\ trainer = [uses     |-> {},            \* replicas whose device it uses
                volatile |-> IF "volatile" \in Scene THEN 1..MaxVersion ELSE {},  \* versions whose bytes it alone has
                lost     |-> {}]            \* versions whose bytes are nowhere any more
  /\ msgs = {}
  /\ wrong = {}

Live(r) == node[r].gate.state # "POISONED"

\* The controller that rules.
Ruler == Len(ctl)

Present(t) == ctl[t].sync.state # "FAILED"

IsDurable(v) == v \notin trainer.volatile /\ v \notin trainer.lost

-----------------------------------------------------------------------------
(* What is put out. *)

Emits(outs, name) == \E i \in 1..Len(outs) : outs[i].out = name

Emitted(outs, name) == outs[CHOOSE i \in 1..Len(outs) : outs[i].out = name]

-----------------------------------------------------------------------------
(* What is on its way. *)

\* Within an epoch a gate only moves on: in these states a message can change nothing any more.
Past(name) ==
  CASE name = "Seal"     -> {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
    [] name = "Drain"    -> {"OPEN", "DRAINING", "INSTALLING", "REOPENED"}
    [] name = "Lend"     -> {"OPEN", "INSTALLING", "REOPENED"}
    [] name = "Returned" -> {"OPEN", "INSTALLING", "REOPENED"}
    [] name = "Install"  -> {"OPEN", "INSTALLING", "REOPENED"}
    [] name = "Resume"   -> {"OPEN", "INSTALLING", "REOPENED"}
    [] name = "Reopen"   -> {"OPEN", "REOPENED"}
    [] name = "Close"    -> {"OPEN"}
    [] name = "Poison"   -> {}

MayAct(mes, g) ==
  /\ mes.term >= g.term
  /\ g.state # "POISONED"
  /\ mes.epoch >= g.epoch \/ mes.ev = "Poison"
  /\ mes.epoch = g.epoch => g.state \notin Past(mes.ev)

Sent(name) == {x \in msgs : x.ev = name}
=============================================================================
