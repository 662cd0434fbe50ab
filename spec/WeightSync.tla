---------------------------- MODULE WeightSync ----------------------------
(* Weights are swapped under live requests: one controller, its replicas,
   and the network between them.

   What is legal, and what changes, is in the generated modules Gate and
   Sync alone. Written here: the network, the engine and its device, the
   controller's watching, and time.

   - A message is delivered late, again, or never. One that can no longer
     act is dropped from the set; that is what keeps the set small.
   - The controller reads gates as they are: answers carry snapshots, and
     what is concluded from one stays true within its epoch.
   - Deadlines pass at any time, members stop answering at any time, any
     rank fails an install in any way.
   - held, busy and lease are what the devices really do. No table reads
     them; the properties compare them with what the tables say.
   - wrong collects the names of properties that a step has broken.

   An action first tests cheaply whether there is anything to choose, then
   chooses among whole next values, which operators without primes give: one
   of the checkers is many times faster on that shape. *)
EXTENDS Gate, Sync, Naturals, Sequences, FiniteSets

CONSTANTS
  Replica,     \* names of replicas, each with one gate
  Rank,        \* ranks of a replica
  Slot,        \* places for requests at each replica; a place is used again
  Mode,        \* what a drain does with requests: "wait" or "keep"
  MaxEpoch,    \* how many operations, catching up included
  MaxVersion,  \* how many publications
  Patience     \* TRUE: members leave a cohort only when they cannot go on

VARIABLES
  node,        \* node[r]: the gate of replica r, and what really happens behind it
  ctl,         \* the controller: its Sync, and the durable registers
  msgs,        \* messages to gates that may still act
  wrong        \* names of properties that a step has broken

vars == <<node, ctl, msgs, wrong>>

Term == 0
Window == 0
Broken == MaxVersion + 1     \* the version of weights that are none
Free == [does |-> "nothing", label |-> <<>>]

\* The digest of weights is their version; every rank must hold the same.
Digests(v) == [k \in Rank |-> v]

Message(r, name, e, v) == [to |-> r, ev |-> name, epoch |-> e, version |-> v]

Init ==
  /\ node = [r \in Replica |->
       [gate    |-> [GateInit(Rank) EXCEPT !.state = "OPEN", !.version = <<0>>, !.resident = TRUE],
        armed   |-> <<>>,                        \* the timer that runs: epoch and number
        asked   |-> FALSE,                       \* the engine was asked to quiesce
        freezes |-> FALSE,                       \* the engine was told to freeze
        loads   |-> {},                          \* ranks that have yet to answer an install
        version |-> 0,                           \* of what they load
        held    |-> [k \in Rank |-> 0],          \* the version that each rank really holds
        busy    |-> {},                          \* ranks whose device really works
        lease   |-> [s \in Slot |-> Free],       \* what each request really does, and its label
        expired |-> FALSE]]                      \* in this epoch the gate's own deadline reopened it
  /\ ctl = [sync     |-> [SyncInit(Term, 1) EXCEPT !.published = <<0>>],
            counter  |-> 0,                      \* the durable counter of epochs
            newest   |-> 0,                      \* the version of the newest durable weights
            register |-> 0,                      \* the durable version that is published
            settled  |-> TRUE]                   \* it has seen every live gate open at that version
  /\ msgs = {}
  /\ wrong = {}

-----------------------------------------------------------------------------
(* What is put out, and done about it. *)

Emits(outs, name) == \E i \in 1..Len(outs) : outs[i].out = name

Emitted(outs, name) == outs[CHOOSE i \in 1..Len(outs) : outs[i].out = name]

Live(r) == node[r].gate.state # "POISONED"

Runs(version) == [does |-> "runs", label |-> version]

Quiet(n, g) ==
  [n EXCEPT
    !.gate = g,
    !.armed = IF g.state \in {"OPEN", "POISONED"} THEN <<>> ELSE @,
    !.asked = @ /\ g.state = "DRAINING",
    !.freezes = @ /\ g.state = "DRAINING",
    !.loads = IF g.state = "POISONED" THEN {} ELSE @,   \* a device loads on, whatever its gate does
    !.version = IF g.state = "INSTALLING" \/ (g.state # "POISONED" /\ n.loads # {}) THEN @ ELSE 0,
    !.expired = @ /\ g.epoch = n.gate.epoch]

Does(n, g, outs) ==
  LET names == {outs[i].out : i \in 1..Len(outs)}
  IN [n EXCEPT
       !.armed = IF "StartTimer" \in names
                 THEN <<Emitted(outs, "StartTimer").epoch, Emitted(outs, "StartTimer").timer>> ELSE @,
       !.asked = @ \/ "AskQuiesce" \in names,
       !.freezes = @ \/ ("StartDrain" \in names /\ g.mode = "keep"),
       !.loads = IF "StartInstall" \in names THEN Rank ELSE @,
       !.version = IF "StartInstall" \in names THEN Emitted(outs, "StartInstall").version ELSE @,
       !.lease = IF "ThawAll" \in names
                 THEN [s \in Slot |-> IF @[s].does \in {"freezes", "frozen"} THEN Runs(g.version) ELSE @[s]]
                 ELSE @]

\* Replica n after its gate stepped to g and its shell did what was put out.
Shell(n, g, outs) == IF outs = <<>> THEN Quiet(n, g) ELSE Does(Quiet(n, g), g, outs)

\* Within an epoch a gate only moves on: in these states a message can change nothing any more.
Past(name) ==
  CASE name = "Seal"    -> {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
    [] name = "Drain"   -> {"OPEN", "DRAINING", "INSTALLING", "REOPENED"}
    [] name = "Install" -> {"OPEN", "INSTALLING", "REOPENED"}
    [] name = "Resume"  -> {"OPEN", "INSTALLING", "REOPENED"}
    [] name = "Reopen"  -> {"OPEN", "REOPENED"}
    [] name = "Close"   -> {"OPEN"}

MayAct(mes, g) ==
  /\ mes.epoch >= g.epoch
  /\ mes.epoch = g.epoch => g.state \notin Past(mes.ev)

\* Properties that the step of a replica from n to p breaks.
Breaks(n, p) ==
  (IF \/ p.gate.epoch < n.gate.epoch
      \/ p.gate.term < n.gate.term
      \/ (p.gate.version # n.gate.version /\ p.gate.version[1] <= n.gate.version[1])
   THEN {"G5"} ELSE {})
  \cup
  (IF n.gate.state = "POISONED" /\ (p.gate.state # "POISONED" \/ ~(p.gate.active \subseteq n.gate.active))
   THEN {"G6"} ELSE {})
  \cup
  (IF /\ n.gate.state \notin {"OPEN", "REOPENED"}
      /\ \E s \in Slot : n.lease[s].does = "nothing" /\ p.lease[s].does # "nothing"
   THEN {"admission"} ELSE {})

\* Replica r becomes p; nothing else happens.
Becomes(r, p) ==
  /\ node' = [node EXCEPT ![r] = p]
  /\ msgs' = {x \in msgs : x.to # r \/ MayAct(x, p.gate)}
  /\ wrong' = IF p.gate = node[r].gate THEN wrong ELSE wrong \cup Breaks(node[r], p)
  /\ UNCHANGED ctl

-----------------------------------------------------------------------------
(* Messages arrive. For each cause: the set of what a replica can become by
   it, empty if its gate is not moved. *)

ByStep(n, t) == IF t = <<>> THEN {} ELSE {Shell(n, t[1], t[2])}

Sent(name) == {x \in msgs : x.ev = name}

BySeal(r, mes) == LET t == GateSeal_step(node[r].gate, Term, mes.epoch, Mode, Window) IN ByStep(node[r], t)
ByDrain(r, mes) == LET t == GateDrain_step(node[r].gate, Term, mes.epoch) IN ByStep(node[r], t)
ByInstall(r, mes) == LET t == GateInstall_step(node[r].gate, Term, mes.epoch, mes.version, Digests(mes.version)) IN ByStep(node[r], t)
ByReopen(r, mes) == LET t == GateReopen_step(node[r].gate, Term, mes.epoch) IN ByStep(node[r], t)
ByResume(r, mes) == LET t == GateResume_step(node[r].gate, Term, mes.epoch) IN ByStep(node[r], t)
ByClose(r, mes) == LET t == GateClose_step(node[r].gate, Term, mes.epoch) IN ByStep(node[r], t)

Seal ==
  /\ Sent("Seal") # {}
  /\ \E t \in UNION {{<<x.to, p>> : p \in BySeal(x.to, x)} : x \in Sent("Seal")} : Becomes(t[1], t[2])

Drain ==
  /\ Sent("Drain") # {}
  /\ \E t \in UNION {{<<x.to, p>> : p \in ByDrain(x.to, x)} : x \in Sent("Drain")} : Becomes(t[1], t[2])

Install ==
  /\ Sent("Install") # {}
  /\ \E t \in UNION {{<<x.to, p>> : p \in ByInstall(x.to, x)} : x \in Sent("Install")} : Becomes(t[1], t[2])

Reopen ==
  /\ Sent("Reopen") # {}
  /\ \E t \in UNION {{<<x.to, p>> : p \in ByReopen(x.to, x)} : x \in Sent("Reopen")} : Becomes(t[1], t[2])

Resume ==
  /\ Sent("Resume") # {}
  /\ \E t \in UNION {{<<x.to, p>> : p \in ByResume(x.to, x)} : x \in Sent("Resume")} : Becomes(t[1], t[2])

Close ==
  /\ Sent("Close") # {}
  /\ \E t \in UNION {{<<x.to, p>> : p \in ByClose(x.to, x)} : x \in Sent("Close")} : Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* Time passes. *)

\* The gate's own deadline reopened it, without new weights.
Expires(n, g) == n.gate.state \in {"SEALED", "DRAINING"} /\ g.state = "REOPENED"

ByDeadline(r) ==
  LET t == GateDeadline_step(node[r].gate, node[r].armed[1], node[r].armed[2])
  IN IF t = <<>> THEN {}
     ELSE {[Shell([node[r] EXCEPT !.armed = <<>>], t[1], t[2]) EXCEPT
              !.expired = node[r].expired \/ Expires(node[r], t[1])]}

Armed == {r \in Replica : node[r].armed # <<>>}

Deadline ==
  /\ Armed # {}
  /\ \E t \in UNION {{<<r, p>> : p \in ByDeadline(r)} : r \in Armed} : Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* Requests. *)

Places(r, what) == {s \in Slot : node[r].lease[s].does \in what}

Holding(what) == {r \in Replica : Places(r, what) # {}}

ByAdmit(r, s) ==
  LET t == GateAdmit_step(node[r].gate, s, <<>>)
  IN IF t = <<>> THEN {} ELSE {[node[r] EXCEPT !.gate = t[1], !.lease[s] = Runs(t[1].version), !.busy = Rank]}

Admitting == {r \in Replica : node[r].gate.state \in GateAdmit_states}

Admit ==
  /\ Admitting # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByAdmit(r, s)} : s \in Places(r, {"nothing"})} : r \in Admitting} :
       Becomes(t[1], t[2])

\* The engine has ended the request, or says that it never ran; its record is stored. What ends behind a
\* poisoned gate changes nothing any more, and is left out.
Served == {r \in Replica : Live(r) /\ Places(r, {"runs", "frozen"}) # {}}

BySettle(r, s) ==
  LET t == GateSettle_step(node[r].gate, s)
  IN {[p EXCEPT !.lease[s] = Free] : p \in IF t = <<>> THEN {node[r]} ELSE ByStep(node[r], t)}

Settle ==
  /\ Served # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in BySettle(r, s)} : s \in Places(r, {"runs", "frozen"})} : r \in Served} :
       Becomes(t[1], t[2])

\* Nobody knows what became of the request: it may well run on.
ByOrphan(r, s) == LET t == GateOrphan_step(node[r].gate, s) IN ByStep(node[r], t)

Doubted == {r \in Replica : Live(r) /\ Places(r, {"runs", "freezes", "frozen"}) # {}}

Orphan ==
  /\ Doubted # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByOrphan(r, s)} : s \in Slot \ Places(r, {"nothing"})} : r \in Doubted} :
       Becomes(t[1], t[2])

ByGiveUp(r, s) == LET t == GateGiveUp_step(node[r].gate, s) IN ByStep(node[r], t)

Orphaned == {r \in Replica : Live(r) /\ node[r].gate.orphaned # {}}

GiveUp ==
  /\ Orphaned # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByGiveUp(r, s)} : s \in node[r].gate.orphaned} : r \in Orphaned} :
       Becomes(t[1], t[2])

\* In keep mode the engine freezes what runs, and says so later.
Freezing == {r \in Replica : node[r].freezes}

Freeze ==
  /\ Freezing # {}
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.lease[s].does = "freezes"]>> : s \in Places(r, {"runs"})} : r \in Freezing} :
       Becomes(t[1], t[2])

\* What the request does once its gate was told that it froze.
Told(outs, version, l) ==
  IF Emits(outs, "AbortLate") THEN Free ELSE IF Emits(outs, "Thaw") THEN Runs(version) ELSE [l EXCEPT !.does = "frozen"]

ByFrozen(r, s) ==
  LET t == GateFrozen_step(node[r].gate, s, node[r].gate.epoch)
  IN IF t = <<>> THEN {[node[r] EXCEPT !.lease[s].does = "frozen"]}
     ELSE {[Shell(node[r], t[1], t[2]) EXCEPT !.lease[s] = Told(t[2], t[1].version, node[r].lease[s])]}

Frozen ==
  /\ Holding({"freezes"}) # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByFrozen(r, s)} : s \in Places(r, {"freezes"})} : r \in Replica} :
       Becomes(t[1], t[2])

ByThawed(r, s) ==
  LET t == GateThawed_step(node[r].gate, node[r].gate.epoch, s)
  IN IF t = <<>> THEN {} ELSE {[node[r] EXCEPT !.gate = t[1], !.busy = Rank]}

Thawing == {r \in Replica : node[r].gate.suspended # {} /\ Places(r, {"runs"}) # {}}

Thawed ==
  /\ Thawing # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByThawed(r, s)} : s \in Places(r, {"runs"})} : r \in Thawing} :
       Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* The device. *)

\* Replicas whose device works although no request runs any more: the last pass.
Ending == {r \in Replica : Live(r) /\ node[r].busy # {} /\ Places(r, {"runs"}) = {}}

Rest ==
  /\ Ending # {}
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.busy = @ \ {k}]>> : k \in node[r].busy} : r \in Ending} :
       Becomes(t[1], t[2])

\* An idle rank says so, if it was asked.
ByQuiesced(r, k) == LET t == GateQuiesced_step(node[r].gate, node[r].gate.epoch, k) IN ByStep(node[r], t)

Asked == {r \in Replica : node[r].asked /\ Places(r, {"runs"}) = {}}

Quiesced ==
  /\ Asked # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByQuiesced(r, k)} :
                            k \in Rank \ (node[r].busy \cup node[r].gate.quiet)} : r \in Asked} :
       Becomes(t[1], t[2])

Loading == {r \in Replica : node[r].loads # {}}

\* A rank answers with what it then holds: the weights, or still what it held before.
ByInstalled(r, k, v) ==
  LET t == GateInstalled_step(node[r].gate, node[r].gate.epoch, k, v)
  IN {[p EXCEPT !.held[k] = v, !.loads = @ \ {k}] : p \in IF t = <<>> THEN {node[r]} ELSE ByStep(node[r], t)}

Installed ==
  /\ Loading # {}
  /\ \E t \in UNION {UNION {UNION {{<<r, p>> : p \in ByInstalled(r, k, v)} : v \in {node[r].version, node[r].held[k]}} :
                            k \in node[r].loads} : r \in Loading} :
       Becomes(t[1], t[2])

\* A rank fails, and holds nothing that is of use.
ByInstallFailed(r, k) ==
  LET t == GateInstallFailed_step(node[r].gate, node[r].gate.epoch, k)
  IN {[p EXCEPT !.held[k] = Broken] : p \in ByStep(node[r], t)}

InstallFailed ==
  /\ Loading # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in ByInstallFailed(r, k)} : k \in node[r].loads} : r \in Loading} :
       Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* The controller: an operation, by the table of Sync. *)

To(members, name, e, v) == {Message(r, name, e, v) : r \in members}

\* SendReopen and SendResume are done by driving each member, below.
Sends(outs) ==
  IF Emits(outs, "SendSeal") THEN To(Emitted(outs, "SendSeal").members, "Seal", Emitted(outs, "SendSeal").epoch, 0)
  ELSE IF Emits(outs, "SendDrain")
  THEN To(Emitted(outs, "SendDrain").members, "Drain", Emitted(outs, "SendDrain").epoch, 0)
  ELSE IF Emits(outs, "SendInstall")
  THEN To(Emitted(outs, "SendInstall").members, "Install", Emitted(outs, "SendInstall").epoch,
          Emitted(outs, "SendInstall").version)
  ELSE {}

\* The controller becomes c, and what was put out is sent.
Operates(c, outs) ==
  /\ ctl' = c
  /\ msgs' = msgs \cup {x \in Sends(outs) : MayAct(x, node[x.to].gate)}
  /\ wrong' = wrong \cup (IF c.register < ctl.register THEN {"G5"} ELSE {})
  /\ UNCHANGED node

Op(y) == [ctl EXCEPT !.sync = y]

Cohort == {r \in Replica : Live(r)}

Begin ==
  /\ ctl.sync.state = "IDLE" /\ ctl.settled
  /\ ctl.counter < MaxEpoch /\ ctl.newest < MaxVersion
  /\ Cohort # {}
  /\ \E t \in {SyncBegin_step(ctl.sync, ctl.counter + 1, ctl.newest + 1, Cohort, Mode, FALSE)} :
       /\ t # <<>>
       /\ Operates([ctl EXCEPT !.sync = t[1], !.counter = @ + 1, !.newest = @ + 1, !.settled = FALSE], t[2])

Target == ctl.sync.version[1]

Awaited == ctl.sync.members \ ctl.sync.answered

\* Members that are in the operation's epoch, and not poisoned.
AtEpoch == {r \in Awaited : Live(r) /\ node[r].gate.epoch = ctl.sync.epoch}

Ready(r) == GateInstall_acts(node[r].gate, Term, ctl.sync.epoch, Target, Digests(Target))

\* Open again, on what it held: the install was refused.
Unmoved(r) == node[r].gate.state \in {"OPEN", "REOPENED"} /\ node[r].gate.version # ctl.sync.version

\* A member did not answer in time; with patience, only one that cannot go on.
Leaves(r) == Patience => (~Live(r) \/ (ctl.sync.state = "DRAINING" /\ node[r].expired))

Sealed ==
  /\ ctl.sync.state \in SyncSealed_states
  /\ AtEpoch # {}
  /\ \E t \in {SyncSealed_step(ctl.sync, r) : r \in AtEpoch} \ {<<>>} : Operates(Op(t[1]), t[2])

Drained ==
  /\ ctl.sync.state \in SyncDrained_states
  /\ \E r \in AtEpoch : Ready(r)
  /\ \E t \in {SyncDrained_step(ctl.sync, r) : r \in {x \in AtEpoch : Ready(x)}} \ {<<>>} : Operates(Op(t[1]), t[2])

Proved ==
  /\ ctl.sync.state \in SyncInstalled_states
  /\ \E t \in {SyncInstalled_step(ctl.sync, r) : r \in {x \in AtEpoch : node[x].gate.version = ctl.sync.version}}
               \ {<<>>} : Operates(Op(t[1]), t[2])

Declined ==
  /\ ctl.sync.state \in SyncDeclined_states
  /\ \E t \in {SyncDeclined_step(ctl.sync, r) : r \in {x \in AtEpoch \ ctl.sync.refusing : Unmoved(x)}} \ {<<>>} :
       Operates(Op(t[1]), t[2])

Record ==
  /\ ctl.sync.state \in SyncRecorded_states
  /\ \E t \in {SyncRecorded_step(ctl.sync)} \ {<<>>} :
       Operates([ctl EXCEPT !.sync = t[1], !.register = Target], t[2])

Closed ==
  /\ ctl.sync.state \in SyncClosed_states
  /\ \E t \in {SyncClosed_step(ctl.sync, r) : r \in {x \in AtEpoch : node[x].gate.state = "OPEN"}} \ {<<>>} :
       Operates(Op(t[1]), t[2])

Drop ==
  /\ ctl.sync.state \in SyncDrop_states
  /\ \E r \in Awaited : Leaves(r)
  /\ \E t \in {SyncDrop_step(ctl.sync, r) : r \in {x \in Awaited : Leaves(x)}} \ {<<>>} : Operates(Op(t[1]), t[2])

-----------------------------------------------------------------------------
(* The controller: driving one gate, from its snapshot, towards open at the
   published version. It sends without asking whether the gate is ready: a
   gate that is not refuses, and is asked again. *)

NextMessage(r, g) ==
  CASE g.state = "OPEN" /\ g.version # <<ctl.register>> -> Message(r, "Seal", ctl.counter, 0)
    [] g.state = "OPEN" /\ g.version = <<ctl.register>> -> Message(r, "Resume", ctl.counter, 0)
    [] g.state \in {"SEALED", "DRAINING"} /\ g.version = <<ctl.register>> -> Message(r, "Resume", g.epoch, 0)
    [] g.state = "SEALED" /\ g.version # <<ctl.register>> ->
         IF g.epoch < ctl.counter THEN Message(r, "Seal", ctl.counter, 0) ELSE Message(r, "Drain", g.epoch, 0)
    [] g.state = "DRAINING" /\ g.version # <<ctl.register>> -> Message(r, "Install", g.epoch, ctl.register)
    [] g.state = "INSTALLING" -> Message(r, "Reopen", g.epoch, 0)
    [] g.state = "REOPENED" -> Message(r, "Close", g.epoch, 0)

\* Nothing is reopened above what is published.
Drivable(g) ==
  /\ g.state # "POISONED"
  /\ g.version[1] <= ctl.register
  /\ g.state = "INSTALLING" => g.target[1] <= ctl.register

Driven ==
  IF ctl.sync.state = "IDLE" THEN IF ctl.settled THEN {} ELSE Replica
  ELSE IF ctl.sync.state \in {"REOPENING", "ROLLING_BACK"} THEN ctl.sync.members ELSE {}

Drive ==
  /\ Driven # {}
  /\ \E mes \in {NextMessage(r, node[r].gate) : r \in {z \in Driven : Drivable(node[z].gate)}} :
       /\ mes \notin msgs
       /\ MayAct(mes, node[mes.to].gate)
       /\ mes.ev = "Seal" => ctl.sync.state = "IDLE"
       /\ msgs' = msgs \cup {mes}
       /\ UNCHANGED <<node, ctl, wrong>>

Watching == ctl.sync.state = "IDLE" /\ ~ctl.settled

\* A gate that has this epoch already and is open elsewhere needs a new one.
Again ==
  /\ Watching
  /\ ctl.counter < MaxEpoch
  /\ \E r \in Replica : /\ node[r].gate.state = "OPEN"
                        /\ node[r].gate.version[1] < ctl.register
                        /\ node[r].gate.epoch = ctl.counter
  /\ ctl' = [ctl EXCEPT !.counter = @ + 1]
  /\ UNCHANGED <<node, msgs, wrong>>

\* A gate is above what is published, and the bytes are durable: publish them.
Raise ==
  /\ Watching
  /\ \E v \in {node[r].gate.version[1] : r \in Cohort} :
       /\ v > ctl.register
       /\ ctl' = [ctl EXCEPT !.register = v, !.sync = SyncRestore(ctl.sync, ctl.counter, <<v>>)]
       /\ UNCHANGED <<node, msgs, wrong>>

Home(g) == g.state = "OPEN" /\ g.version = <<ctl.register>> /\ g.epoch >= ctl.counter

Settled ==
  /\ Watching
  /\ \A r \in Replica : Live(r) => Home(node[r].gate)
  /\ ctl' = [ctl EXCEPT !.settled = TRUE]
  /\ UNCHANGED <<node, msgs, wrong>>

-----------------------------------------------------------------------------

Next ==
  \/ Seal \/ Drain \/ Install \/ Reopen \/ Resume \/ Close
  \/ Deadline
  \/ Admit \/ Settle \/ Orphan \/ GiveUp \/ Freeze \/ Frozen \/ Thawed
  \/ Rest \/ Quiesced \/ Installed \/ InstallFailed
  \/ Begin \/ Sealed \/ Drained \/ Proved \/ Declined \/ Record \/ Closed \/ Drop
  \/ Drive \/ Again \/ Raise \/ Settled

Spec == Init /\ [][Next]_vars

\* In the end every timer runs out.
TimerOf(r) == r \in Armed /\ \E p \in ByDeadline(r) : Becomes(r, p)
FairSpec == Spec /\ \A r \in Replica : WF_vars(TimerOf(r))

-----------------------------------------------------------------------------
(* Properties, by the names of the contract. *)

\* A token is made by the weights that its label names.
G1 == \A r \in Replica : \A s \in Places(r, {"runs"}) : \A k \in Rank :
        node[r].lease[s].label = <<node[r].held[k]>>

\* While installing nothing is active or orphaned, and the device is really idle on all ranks.
G2 == \A r \in Replica : node[r].gate.state = "INSTALLING" =>
        /\ node[r].gate.active = {} /\ node[r].gate.orphaned = {}
        /\ node[r].busy = {} /\ Places(r, {"runs"}) = {}

\* An open gate says what every rank holds.
G3 == \A r \in Replica : node[r].gate.state \in {"OPEN", "REOPENED"} =>
        \A k \in Rank : node[r].gate.version = <<node[r].held[k]>>

Count(g, s) == (IF s \in g.active THEN 1 ELSE 0) + (IF s \in g.suspended THEN 1 ELSE 0)
               + (IF s \in g.orphaned THEN 1 ELSE 0)

\* A request is in exactly one place of its gate until it is settled, and in none after.
G4 == \A r \in Replica : \A s \in Slot :
        Count(node[r].gate, s) = IF node[r].lease[s].does = "nothing" THEN 0 ELSE 1

\* Epoch, term and published never fall, a version only rises.
G5 == "G5" \notin wrong

\* Poison is for ever, and admits nothing; so is every closed gate, as long as it is closed.
G6 == "G6" \notin wrong /\ "admission" \notin wrong

\* A controller at rest has every live gate open at what is published, and nothing on its way closes one.
G7 == (ctl.sync.state = "IDLE" /\ ctl.settled) =>
        \A r \in Replica : Live(r) =>
          /\ node[r].gate.state = "OPEN" /\ node[r].gate.version = <<ctl.register>>
          /\ \A mes \in msgs : (mes.to = r /\ mes.ev = "Seal") =>
               ~GateSeal_acts(node[r].gate, Term, mes.epoch, Mode, Window)

\* No drain before every member has acknowledged the seal; what its own deadline reopened refuses install.
G9 == /\ \A mes \in msgs : (mes.ev = "Drain" /\ mes.epoch = ctl.sync.epoch /\ ctl.sync.state # "IDLE") =>
           \A r \in ctl.sync.members : node[r].gate.epoch >= ctl.sync.epoch
      /\ \A r \in Replica : node[r].gate.state = "INSTALLING" => ~node[r].expired

Closing(r) == node[r].gate.state \in {"SEALED", "DRAINING", "INSTALLING"}

\* Every seal of a gate with weights ends reopened or poisoned.
L1 == \A r \in Replica : Closing(r) ~> ~Closing(r)

(* States that must be reached: each is checked as if it could not be. *)
NeverReopensNew == \A r \in Replica : ~(node[r].gate.state = "REOPENED" /\ node[r].gate.version = <<1>>)
NeverPoisoned   == \A r \in Replica : Live(r)
NeverRollsBack  == ctl.sync.state # "ROLLING_BACK"
NeverSuspends   == \A r \in Replica : node[r].gate.suspended = {}
NeverPublishes  == ctl.register = 0
NeverCatchesUp  == ctl.counter <= ctl.sync.epoch
NeverOrphans    == \A r \in Replica : node[r].gate.orphaned = {}
NeverExpires    == \A r \in Replica : ~node[r].expired
=============================================================================
