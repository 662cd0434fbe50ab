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

   An action chooses among whole next values, computed by operators without
   primes: one of the checkers is many times faster on that shape. *)
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

Runs(version) == [does |-> "runs", label |-> version]

Quiet(n, g) ==
  [n EXCEPT
    !.gate = g,
    !.armed = IF g.state \in {"OPEN", "POISONED"} THEN <<>> ELSE @,
    !.asked = @ /\ g.state = "DRAINING",
    !.freezes = @ /\ g.state = "DRAINING",
    !.loads = IF g.state = "INSTALLING" THEN @ ELSE {},
    !.version = IF g.state = "INSTALLING" THEN @ ELSE 0,
    !.expired = @ /\ g.epoch = n.gate.epoch]

Does(n, g, outs) ==
  [n EXCEPT
    !.armed = IF Emits(outs, "StartTimer")
              THEN <<Emitted(outs, "StartTimer").epoch, Emitted(outs, "StartTimer").timer>> ELSE @,
    !.asked = @ \/ Emits(outs, "AskQuiesce"),
    !.freezes = @ \/ (Emits(outs, "StartDrain") /\ g.mode = "keep"),
    !.loads = IF Emits(outs, "StartInstall") THEN Rank ELSE @,
    !.version = IF Emits(outs, "StartInstall") THEN Emitted(outs, "StartInstall").version ELSE @,
    !.lease = IF Emits(outs, "ThawAll")
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
  /\ g.state # "POISONED"
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
  /\ wrong' = wrong \cup Breaks(node[r], p)
  /\ UNCHANGED ctl

-----------------------------------------------------------------------------
(* Messages arrive. Each action chooses among pairs of a replica and what
   it can become. *)

Sent(name) == {x \in msgs : x.ev = name}

Seal ==
  /\ Sent("Seal") # {}
  /\ \E t \in UNION {{<<x.to, Shell(node[x.to], g, outs)>> :
                        g \in {GateSeal(node[x.to].gate, Term, x.epoch, Mode, Window)},
                        outs \in {GateSeal_out(node[x.to].gate, Term, x.epoch, Mode, Window)}} :
         x \in {y \in Sent("Seal") : GateSeal_acts(node[y.to].gate, Term, y.epoch, Mode, Window)}} :
       Becomes(t[1], t[2])

Drain ==
  /\ Sent("Drain") # {}
  /\ \E t \in UNION {{<<x.to, Shell(node[x.to], g, outs)>> : g \in {GateDrain(node[x.to].gate, Term, x.epoch)},
                                                           outs \in {GateDrain_out(node[x.to].gate, Term, x.epoch)}} :
         x \in {y \in Sent("Drain") : GateDrain_acts(node[y.to].gate, Term, y.epoch)}} :
       Becomes(t[1], t[2])

Reopen ==
  /\ Sent("Reopen") # {}
  /\ \E t \in UNION {{<<x.to, Shell(node[x.to], g, outs)>> : g \in {GateReopen(node[x.to].gate, Term, x.epoch)},
                                                           outs \in {GateReopen_out(node[x.to].gate, Term, x.epoch)}} :
         x \in {y \in Sent("Reopen") : GateReopen_acts(node[y.to].gate, Term, y.epoch)}} :
       Becomes(t[1], t[2])

Resume ==
  /\ Sent("Resume") # {}
  /\ \E t \in UNION {{<<x.to, Shell(node[x.to], g, outs)>> : g \in {GateResume(node[x.to].gate, Term, x.epoch)},
                                                           outs \in {GateResume_out(node[x.to].gate, Term, x.epoch)}} :
         x \in {y \in Sent("Resume") : GateResume_acts(node[y.to].gate, Term, y.epoch)}} :
       Becomes(t[1], t[2])

Close ==
  /\ Sent("Close") # {}
  /\ \E t \in UNION {{<<x.to, Shell(node[x.to], g, outs)>> : g \in {GateClose(node[x.to].gate, Term, x.epoch)},
                                                           outs \in {GateClose_out(node[x.to].gate, Term, x.epoch)}} :
         x \in {y \in Sent("Close") : GateClose_acts(node[y.to].gate, Term, y.epoch)}} :
       Becomes(t[1], t[2])

Install ==
  /\ Sent("Install") # {}
  /\ \E t \in UNION {{<<x.to, Shell(node[x.to], g, outs)>> :
                        g \in {GateInstall(node[x.to].gate, Term, x.epoch, x.version, Digests(x.version))},
                        outs \in {GateInstall_out(node[x.to].gate, Term, x.epoch, x.version, Digests(x.version))}} :
         x \in {y \in Sent("Install") :
                GateInstall_acts(node[y.to].gate, Term, y.epoch, y.version, Digests(y.version))}} :
       Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* Time passes. *)

Due == {r \in Replica : /\ node[r].armed # <<>>
                        /\ GateDeadline_acts(node[r].gate, node[r].armed[1], node[r].armed[2])}

\* The gate's own deadline reopened it, without new weights.
Expires(n, g) == n.gate.state \in {"SEALED", "DRAINING"} /\ g.state = "REOPENED"

Late(r) ==
  {[Shell([node[r] EXCEPT !.armed = <<>>], g, outs) EXCEPT !.expired = node[r].expired \/ Expires(node[r], g)] :
     g \in {GateDeadline(node[r].gate, node[r].armed[1], node[r].armed[2])},
     outs \in {GateDeadline_out(node[r].gate, node[r].armed[1], node[r].armed[2])}}

Deadline ==
  /\ Due # {}
  /\ \E t \in UNION {{<<r, p>> : p \in Late(r)} : r \in Due} : Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* Requests. *)

Places(r, what) == {s \in Slot : node[r].lease[s].does \in what}

Having(what) == {r \in Replica : Places(r, what) # {}}

Admit ==
  /\ Having({"nothing"}) # {}
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.gate = GateAdmit(node[r].gate, s, <<>>),
                                           !.lease[s] = Runs(node[r].gate.version),
                                           !.busy = Rank]>> :
                        s \in {z \in Places(r, {"nothing"}) : GateAdmit_acts(node[r].gate, z, <<>>)}} :
                     r \in {x \in Replica : node[x].gate.state \in GateAdmit_states}} :
       Becomes(t[1], t[2])

\* The engine has ended the request, or says that it never ran; its record is stored.
Settle ==
  /\ Having({"runs", "frozen"}) # {}
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.gate = GateSettle(node[r].gate, s),
                                           !.asked = @ \/ Emits(GateSettle_out(node[r].gate, s), "AskQuiesce"),
                                           !.lease[s] = Free]>> :
                        s \in Places(r, {"runs", "frozen"})} : r \in Having({"runs", "frozen"})} :
       Becomes(t[1], t[2])

\* Nobody knows what became of the request: it may well run on.
Orphan ==
  /\ Having({"runs", "freezes", "frozen"}) # {}
  /\ \E t \in UNION {{<<r, Shell(node[r], GateOrphan(node[r].gate, s), GateOrphan_out(node[r].gate, s))>> :
                        s \in {z \in Places(r, {"runs", "freezes", "frozen"}) : GateOrphan_acts(node[r].gate, z)}} :
                     r \in {x \in Having({"runs", "freezes", "frozen"}) : node[x].gate.state # "POISONED"}} :
       Becomes(t[1], t[2])

GiveUp ==
  /\ \E r \in Replica : node[r].gate.orphaned # {}
  /\ \E t \in UNION {{<<r, Shell(node[r], GateGiveUp(node[r].gate, s), GateGiveUp_out(node[r].gate, s))>> :
                        s \in {z \in Slot : GateGiveUp_acts(node[r].gate, z)}} :
                     r \in {x \in Replica : node[x].gate.orphaned # {}}} :
       Becomes(t[1], t[2])

\* In keep mode the engine freezes what runs, and says so later.
Freeze ==
  /\ Mode = "keep"
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.lease[s].does = "freezes"]>> : s \in Places(r, {"runs"})} :
                     r \in {x \in Replica : node[x].freezes}} :
       Becomes(t[1], t[2])

Frozen ==
  /\ Mode = "keep"
  /\ \E t \in UNION {UNION {{<<r, [node[r] EXCEPT !.gate = GateFrozen(node[r].gate, s, node[r].gate.epoch),
                                                  !.asked = @ \/ Emits(outs, "AskQuiesce"),
                                                  !.lease[s] = IF Emits(outs, "AbortLate") THEN Free
                                                               ELSE IF Emits(outs, "Thaw")
                                                               THEN Runs(node[r].gate.version)
                                                               ELSE [@ EXCEPT !.does = "frozen"]]>> :
                              outs \in {GateFrozen_out(node[r].gate, s, node[r].gate.epoch)}} :
                            s \in Places(r, {"freezes"})} : r \in Having({"freezes"})} :
       Becomes(t[1], t[2])

Thawed ==
  /\ Mode = "keep"
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.gate = GateThawed(node[r].gate, node[r].gate.epoch, s), !.busy = Rank]>> :
                        s \in {z \in Places(r, {"runs"}) : GateThawed_acts(node[r].gate, node[r].gate.epoch, z)}} :
                     r \in {x \in Replica : node[x].gate.suspended # {}}} :
       Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* The device. *)

\* The last pass over, the rank's device is idle.
Rest ==
  /\ \E r \in Replica : node[r].busy # {} /\ Places(r, {"runs"}) = {}
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.busy = @ \ {k}]>> : k \in node[r].busy} :
                     r \in {x \in Replica : node[x].busy # {} /\ Places(x, {"runs"}) = {}}} :
       Becomes(t[1], t[2])

\* An idle rank says so, if it was asked.
Quiesced ==
  /\ \E r \in Replica : node[r].asked
  /\ \E t \in UNION {{<<r, [node[r] EXCEPT !.gate = GateQuiesced(node[r].gate, node[r].gate.epoch, k)]>> :
                        k \in {z \in Rank \ (node[r].busy \cup node[r].gate.quiet) :
                                 GateQuiesced_acts(node[r].gate, node[r].gate.epoch, z)}} :
                     r \in {x \in Replica : node[x].asked /\ Places(x, {"runs"}) = {}}} :
       Becomes(t[1], t[2])

Loading == {r \in Replica : node[r].loads # {}}

Answers(r, k, v) ==
  {[Shell([node[r] EXCEPT !.held[k] = v], g, outs) EXCEPT !.loads = @ \ {k}] :
     g \in {GateInstalled(node[r].gate, node[r].gate.epoch, k, v)},
     outs \in {GateInstalled_out(node[r].gate, node[r].gate.epoch, k, v)}}

\* A rank answers with what it then holds: the weights, or still what it held before.
Installed ==
  /\ Loading # {}
  /\ \E t \in UNION {UNION {{<<r, p>> : p \in Answers(r, k, node[r].version) \cup Answers(r, k, node[r].held[k])} :
                            k \in node[r].loads} : r \in Loading} :
       Becomes(t[1], t[2])

\* A rank fails, and holds nothing that is of use.
InstallFailed ==
  /\ Loading # {}
  /\ \E t \in UNION {{<<r, Shell([node[r] EXCEPT !.held[k] = Broken],
                                 GateInstallFailed(node[r].gate, node[r].gate.epoch, k),
                                 GateInstallFailed_out(node[r].gate, node[r].gate.epoch, k))>> :
                        k \in node[r].loads} : r \in Loading} :
       Becomes(t[1], t[2])

-----------------------------------------------------------------------------
(* The controller: an operation, by the table of Sync. *)

Live(r) == node[r].gate.state # "POISONED"

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
  /\ \E t \in {<<[ctl EXCEPT !.sync = SyncBegin(ctl.sync, ctl.counter + 1, ctl.newest + 1, Cohort, Mode, FALSE),
                             !.counter = @ + 1, !.newest = @ + 1, !.settled = FALSE],
                 SyncBegin_out(ctl.sync, ctl.counter + 1, ctl.newest + 1, Cohort, Mode, FALSE)>>} :
       Operates(t[1], t[2])

Target == ctl.sync.version[1]

Awaited == ctl.sync.members \ ctl.sync.answered

AtEpoch(r) == Live(r) /\ node[r].gate.epoch = ctl.sync.epoch

HasSealed == {r \in Awaited : AtEpoch(r) /\ SyncSealed_acts(ctl.sync, r)}

HasDrained ==
  {r \in Awaited : /\ GateInstall_acts(node[r].gate, Term, ctl.sync.epoch, Target, Digests(Target))
                   /\ SyncDrained_acts(ctl.sync, r)}

HasProved ==
  {r \in Awaited : AtEpoch(r) /\ node[r].gate.version = ctl.sync.version /\ SyncInstalled_acts(ctl.sync, r)}

HasDeclined ==
  {r \in Awaited \ ctl.sync.refusing :
     /\ AtEpoch(r) /\ node[r].gate.state \in {"OPEN", "REOPENED"} /\ node[r].gate.version # ctl.sync.version
     /\ SyncDeclined_acts(ctl.sync, r)}

HasClosed == {r \in Awaited : AtEpoch(r) /\ node[r].gate.state = "OPEN" /\ SyncClosed_acts(ctl.sync, r)}

\* A member did not answer in time; with patience, only one that cannot go on.
Leaves ==
  {r \in Awaited : /\ Patience => (~Live(r) \/ (ctl.sync.state = "DRAINING" /\ node[r].expired))
                   /\ SyncDrop_acts(ctl.sync, r)}

Sealed ==
  /\ ctl.sync.state \in SyncSealed_states
  /\ \E t \in {<<Op(SyncSealed(ctl.sync, r)), SyncSealed_out(ctl.sync, r)>> : r \in HasSealed} :
       Operates(t[1], t[2])

Drained ==
  /\ ctl.sync.state \in SyncDrained_states
  /\ \E t \in {<<Op(SyncDrained(ctl.sync, r)), SyncDrained_out(ctl.sync, r)>> : r \in HasDrained} :
       Operates(t[1], t[2])

Proved ==
  /\ ctl.sync.state \in SyncInstalled_states
  /\ \E t \in {<<Op(SyncInstalled(ctl.sync, r)), SyncInstalled_out(ctl.sync, r)>> : r \in HasProved} :
       Operates(t[1], t[2])

Declined ==
  /\ ctl.sync.state \in SyncDeclined_states
  /\ \E t \in {<<Op(SyncDeclined(ctl.sync, r)), SyncDeclined_out(ctl.sync, r)>> : r \in HasDeclined} :
       Operates(t[1], t[2])

Record ==
  /\ ctl.sync.state \in SyncRecorded_states
  /\ SyncRecorded_acts(ctl.sync)
  /\ \E t \in {<<[ctl EXCEPT !.sync = SyncRecorded(ctl.sync), !.register = Target], SyncRecorded_out(ctl.sync)>>} :
       Operates(t[1], t[2])

Closed ==
  /\ ctl.sync.state \in SyncClosed_states
  /\ \E t \in {<<Op(SyncClosed(ctl.sync, r)), SyncClosed_out(ctl.sync, r)>> : r \in HasClosed} :
       Operates(t[1], t[2])

Drop ==
  /\ ctl.sync.state \in SyncDrop_states
  /\ \E t \in {<<Op(SyncDrop(ctl.sync, r)), SyncDrop_out(ctl.sync, r)>> : r \in Leaves} : Operates(t[1], t[2])

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
TimerOf(r) == r \in Due /\ \E p \in Late(r) : Becomes(r, p)
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
NeverRaises     == ctl.sync.published = ctl.sync.version \/ ctl.register = 0
=============================================================================
