----------------------------- MODULE Replicas -----------------------------
(* Replicas: messages arrive at their gates, deadlines pass, requests run, the
   engine freezes, quiesces and installs, the trainer borrows devices, a
   process ends and another takes its place.

   What is legal, and what changes, is in the generated module Gate alone.
   Written here is what happens around it:

   - Deadlines pass at any time; any rank fails an install in any way.
   - held, busy and lease are what the devices really do. No table reads
     them; the properties compare them with what the tables say.
   - Requests are coarse: admitted, they run at once, or reach the engine later
     if that is meant; they end at any time, by themselves, because a client
     left, or because the engine aborted them.
     Mode "abort" is therefore mode "wait". The way to the engine and the Lease
     table are in RequestPath.
   - A crash and the replacement are one step: before it the old process only
     was silent, and what was sent to it cannot act on its successor, which is
     another incarnation. A device that the trainer uses gets no new process.
   - A lend is asked for once: a repeat is answered by its operation id.

   An action first tests cheaply whether there is anything to choose, then
   chooses among whole next values, which operators without primes give: one
   of the checkers is many times faster on that shape. *)
EXTENDS System

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
       !.held = IF "ReleaseMemory" \in names THEN Born.held ELSE @,
       !.lease = IF "ThawAll" \in names
                 THEN [s \in Slot |-> IF @[s].does \in {"freezes", "frozen"} THEN Runs(g.version) ELSE @[s]]
                 ELSE @]

\* Replica n after its gate stepped to g and its shell did what was put out.
Shell(n, g, outs) == IF outs = <<>> THEN Quiet(n, g) ELSE Does(Quiet(n, g), g, outs)

\* Properties that the step of a replica from n to p breaks.
Breaks(n, p) ==
  (IF \/ p.gate.epoch < n.gate.epoch
      \/ p.gate.term < n.gate.term
      \/ (/\ n.gate.version # <<>> /\ p.gate.version # n.gate.version
          /\ (p.gate.version = <<>> \/ p.gate.version[1] <= n.gate.version[1]))
   THEN {"G5"} ELSE {})
  \cup
  (IF n.gate.state = "POISONED" /\ (p.gate.state # "POISONED" \/ ~(p.gate.active \subseteq n.gate.active))
   THEN {"G6"} ELSE {})
  \cup
  (IF /\ n.gate.state \notin {"OPEN", "REOPENED"}
      /\ \E s \in Slot : n.lease[s].does = "nothing" /\ p.lease[s].does # "nothing"
   THEN {"admission"} ELSE {})

\* What is so when replica r has become p, and the messages in spent act no more: node, msgs and wrong.
After(r, p, spent) ==
  LET n == node[r]
      q == p
  IN <<[node EXCEPT ![r] = q],
       IF msgs = {} THEN {} ELSE {x \in msgs \ spent : x.to # r \/ MayAct(x, q.gate)},
       IF q.gate = n.gate THEN wrong ELSE wrong \cup Breaks(n, q)>>

Becomes(a) == node' = a[1] /\ msgs' = a[2] /\ wrong' = a[3] /\ UNCHANGED <<ctl, durable, trainer>>

-----------------------------------------------------------------------------
(* Messages arrive. For each cause: the set of what a replica can become by
   it, empty if its gate is not moved. *)

ByStep(n, t) == LET u == t IN IF u = <<>> THEN {} ELSE {Shell(n, u[1], u[2])}

BySeal(r, mes) == LET t == GateSeal_step(node[r].gate, mes.term, mes.epoch, Mode, Window) IN ByStep(node[r], t)
ByDrain(r, mes) == LET t == GateDrain_step(node[r].gate, mes.term, mes.epoch) IN ByStep(node[r], t)
ByInstall(r, mes) ==
  LET t == GateInstall_step(node[r].gate, mes.term, mes.epoch, mes.version, Digests(mes.version)) IN ByStep(node[r], t)
ByReopen(r, mes) == LET t == GateReopen_step(node[r].gate, mes.term, mes.epoch) IN ByStep(node[r], t)
ByResume(r, mes) == LET t == GateResume_step(node[r].gate, mes.term, mes.epoch) IN ByStep(node[r], t)
ByClose(r, mes) == LET t == GateClose_step(node[r].gate, mes.term, mes.epoch) IN ByStep(node[r], t)
ByLend(r, mes) == LET t == GateLend_step(node[r].gate, mes.term, mes.epoch, mes.epoch) IN ByStep(node[r], t)
ByReturned(r, mes) == LET t == GateReturned_step(node[r].gate, mes.term, mes.epoch, mes.version) IN ByStep(node[r], t)
\* Whether the weights of a gate are beyond saving: their bytes are nowhere else, or it has none.
Hopeless(g) == g.version # <<>> /\ g.version[1] \in trainer.lost

OfPoison(r, mes) ==
  {<<a[1], a[2], IF Hopeless(node[r].gate) THEN a[3] ELSE a[3] \cup {"A2"}>> :
     a \in {After(r, p, {}) : p \in ByStep(node[r], GatePoison_step(node[r].gate, mes.term))}}

Seal ==
  /\ Sent("Seal") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in BySeal(x.to, x)} : x \in Sent("Seal")} : Becomes(a)

Drain ==
  /\ Sent("Drain") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in ByDrain(x.to, x)} : x \in Sent("Drain")} : Becomes(a)

Install ==
  /\ Sent("Install") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in ByInstall(x.to, x)} : x \in Sent("Install")} : Becomes(a)

Reopen ==
  /\ Sent("Reopen") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in ByReopen(x.to, x)} : x \in Sent("Reopen")} : Becomes(a)

Resume ==
  /\ Sent("Resume") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in ByResume(x.to, x)} : x \in Sent("Resume")} : Becomes(a)

Close ==
  /\ Sent("Close") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in ByClose(x.to, x)} : x \in Sent("Close")} : Becomes(a)

\* The name of a lend is its epoch.
Lend ==
  /\ "lend" \in Scene
  /\ Sent("Lend") # {}
  /\ \E a \in UNION {{After(x.to, p, {x}) : p \in ByLend(x.to, x)} : x \in Sent("Lend")} : Becomes(a)

Returned ==
  /\ "lend" \in Scene
  /\ Sent("Returned") # {}
  /\ \E a \in UNION {{After(x.to, p, {}) : p \in ByReturned(x.to, x)} : x \in Sent("Returned")} : Becomes(a)

Poison ==
  /\ "volatile" \in Scene
  /\ Sent("Poison") # {}
  /\ \E a \in UNION {OfPoison(x.to, x) : x \in Sent("Poison")} : Becomes(a)

\* One that comes later only starts the timer anew; so one for each lend is enough.
ByRenew(r) == LET t == GateRenew_step(node[r].gate, node[r].gate.term, node[r].gate.epoch, Window) IN ByStep(node[r], t)

Renew ==
  /\ "lend" \in Scene
  /\ trainer.uses # {}
  /\ \E a \in UNION {{After(r, p, {}) : p \in ByRenew(r)} :
                     r \in {x \in trainer.uses : node[x].gate.lent # <<>> /\ node[x].gate.timer = 0}} : Becomes(a)

-----------------------------------------------------------------------------
(* Time passes. *)

\* The gate's own deadline reopened it, without new weights.
Expires(n, g) == n.gate.state \in {"SEALED", "DRAINING"} /\ g.state = "REOPENED"

ByDeadline(r) ==
  LET t == GateDeadline_step(node[r].gate, node[r].armed[1], node[r].armed[2])
  IN IF t = <<>> THEN {}
     ELSE IF "timely" \in Scene /\ t[1].state = "POISONED" THEN {}
     ELSE {[Shell([node[r] EXCEPT !.armed = <<>>], t[1], t[2]) EXCEPT
              !.expired = node[r].expired \/ Expires(node[r], t[1])]}

\* A2 is broken by a deadline that poisons what every rank has proved.
OfDeadline(r) ==
  {<<a[1], a[2], IF node[r].gate.verified = Rank /\ node[r].gate.state = "INSTALLING" /\ a[1][r].gate.state = "POISONED"
                 THEN a[3] \cup {"A2"} ELSE a[3]>> : a \in {After(r, p, {}) : p \in ByDeadline(r)}}

Armed == {r \in Replica : node[r].armed # <<>>}

Deadline ==
  /\ "deadline" \in Faults
  /\ Armed # {}
  /\ \E a \in UNION {OfDeadline(r) : r \in Armed} : Becomes(a)

-----------------------------------------------------------------------------
(* Requests. *)

Places(r, what) == {s \in Slot : node[r].lease[s].does \in what}

Holding(what) == {r \in Replica : Places(r, what) # {}}

ByAdmit(r, s) ==
  LET t == GateAdmit_step(node[r].gate, s, <<>>)
  IN IF t = <<>> THEN {}
     ELSE IF "late" \in Faults THEN {[node[r] EXCEPT !.gate = t[1], !.lease[s] = [does |-> "sent", label |-> t[1].version]]}
     ELSE {[node[r] EXCEPT !.gate = t[1], !.lease[s] = Runs(t[1].version), !.busy = Rank]}

\* A request reaches the engine, unless it was settled before: its abort is remembered.
Arrive ==
  /\ "late" \in Faults
  /\ Holding({"sent"}) # {}
  /\ \E a \in UNION {{After(r, [node[r] EXCEPT !.lease[s].does = "runs", !.busy = Rank], {}) : s \in Places(r, {"sent"})} :
                     r \in Replica} : Becomes(a)

Admitting == {r \in Replica : node[r].gate.state \in GateAdmit_states /\ Places(r, {"nothing"}) # {}}

Admit ==
  /\ Admitting # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByAdmit(r, s)} : s \in Places(r, {"nothing"})} : r \in Admitting} :
       Becomes(a)

\* The engine has ended the request, or says that it never ran; its record is stored. What ends behind a
\* poisoned gate changes nothing any more, and is left out.
Served == {r \in Replica : Live(r) /\ Places(r, {"sent", "runs", "frozen"}) # {}}

BySettle(r, s) ==
  LET t == GateSettle_step(node[r].gate, s)
  IN {[p EXCEPT !.lease[s] = Free] : p \in IF t = <<>> THEN {node[r]} ELSE ByStep(node[r], t)}

OfSettle(r) == UNION {{After(r, p, {}) : p \in BySettle(r, s)} : s \in Places(r, {"sent", "runs", "frozen"})}

Settle ==
  /\ Served # {}
  /\ \E a \in UNION {OfSettle(r) : r \in Served} : Becomes(a)

\* Nobody knows what became of the request: it may well run on.
ByOrphan(r, s) == LET t == GateOrphan_step(node[r].gate, s) IN ByStep(node[r], t)

Doubted == {r \in Replica : Live(r) /\ Places(r, {"sent", "runs", "freezes", "frozen"}) # {}}

Orphan ==
  /\ "unknown" \in Faults
  /\ Doubted # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByOrphan(r, s)} : s \in Slot \ Places(r, {"nothing"})} : r \in Doubted} :
       Becomes(a)

ByGiveUp(r, s) == LET t == GateGiveUp_step(node[r].gate, s) IN ByStep(node[r], t)

Orphaned == {r \in Replica : Live(r) /\ node[r].gate.orphaned # {}}

GiveUp ==
  /\ "unknown" \in Faults
  /\ Orphaned # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByGiveUp(r, s)} : s \in node[r].gate.orphaned} : r \in Orphaned} :
       Becomes(a)

\* In keep mode the engine freezes what runs, and says so later.
Freezing == {r \in Replica : node[r].freezes}

Freeze ==
  /\ Freezing # {}
  /\ \E a \in UNION {{After(r, [node[r] EXCEPT !.lease[s].does = "freezes"], {}) : s \in Places(r, {"runs"})} : r \in Freezing} :
       Becomes(a)

\* What the request does once its gate was told that it froze.
Told(outs, version, l) ==
  IF Emits(outs, "AbortLate") THEN Free ELSE IF Emits(outs, "Thaw") THEN Runs(version) ELSE [l EXCEPT !.does = "frozen"]

ByFrozen(r, s) ==
  LET t == GateFrozen_step(node[r].gate, s, node[r].gate.epoch)
  IN IF t = <<>> THEN {[node[r] EXCEPT !.lease[s].does = "frozen"]}
     ELSE {[Shell(node[r], t[1], t[2]) EXCEPT !.lease[s] = Told(t[2], t[1].version, node[r].lease[s])]}

Frozen ==
  /\ Holding({"freezes"}) # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByFrozen(r, s)} : s \in Places(r, {"freezes"})} : r \in Replica} :
       Becomes(a)

ByThawed(r, s) ==
  LET t == GateThawed_step(node[r].gate, node[r].gate.epoch, s)
  IN IF t = <<>> THEN {} ELSE {[node[r] EXCEPT !.gate = t[1], !.busy = Rank]}

Thawing == {r \in Replica : node[r].gate.suspended # {} /\ Places(r, {"runs"}) # {}}

Thawed ==
  /\ Thawing # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByThawed(r, s)} : s \in Places(r, {"runs"})} : r \in Thawing} :
       Becomes(a)

-----------------------------------------------------------------------------
(* The device. *)

\* Replicas whose device works although no request runs any more: the last pass.
Ending == {r \in Replica : Live(r) /\ node[r].busy # {} /\ Places(r, {"runs"}) = {}}

OfRest(r) == {After(r, [node[r] EXCEPT !.busy = @ \ {k}], {}) : k \in node[r].busy}

Rest ==
  /\ Ending # {}
  /\ \E a \in UNION {OfRest(r) : r \in Ending} : Becomes(a)

\* An idle rank says so, if it was asked.
ByQuiesced(r, k) == LET t == GateQuiesced_step(node[r].gate, node[r].gate.epoch, k) IN ByStep(node[r], t)

Asked == {r \in Replica : node[r].asked /\ Places(r, {"runs"}) = {}}

Quiesced ==
  /\ Asked # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByQuiesced(r, k)} :
                            k \in Rank \ (node[r].busy \cup node[r].gate.quiet)} : r \in Asked} :
       Becomes(a)

Loading == {r \in Replica : node[r].loads # {}}

\* A rank answers with what it then holds: the weights, or, if it fails, still what it held before.
Answers(r, k) == IF "engine" \in Faults THEN {node[r].version, node[r].held[k]} ELSE {node[r].version}

ByInstalled(r, k, v) ==
  LET t == GateInstalled_step(node[r].gate, node[r].gate.epoch, k, v)
  IN {[p EXCEPT !.held[k] = v, !.loads = @ \ {k}] : p \in IF t = <<>> THEN {node[r]} ELSE ByStep(node[r], t)}

Installed ==
  /\ Loading # {}
  /\ \E a \in UNION {UNION {UNION {{After(r, p, {}) : p \in ByInstalled(r, k, v)} : v \in Answers(r, k)} :
                            k \in node[r].loads} : r \in Loading} :
       Becomes(a)

\* A rank fails, and holds nothing that is of use.
ByInstallFailed(r, k) ==
  LET t == GateInstallFailed_step(node[r].gate, node[r].gate.epoch, k)
  IN {[p EXCEPT !.held[k] = Broken] : p \in ByStep(node[r], t)}

InstallFailed ==
  /\ "engine" \in Faults
  /\ Loading # {}
  /\ \E a \in UNION {UNION {{After(r, p, {}) : p \in ByInstallFailed(r, k)} : k \in node[r].loads} : r \in Loading} :
       Becomes(a)

-----------------------------------------------------------------------------
(* The trainer. *)

Trains(x) == trainer' = x /\ UNCHANGED <<node, ctl, durable, msgs, wrong>>

\* It is done with the devices that were lent.
TrainingEnds ==
  /\ "lend" \in Scene
  /\ trainer.uses # {}
  /\ Trains([trainer EXCEPT !.uses = {}])

\* Versions that were made, and whose bytes it alone has.
Unstored == trainer.volatile \cap (1..durable.newest)

\* Its process ends: it uses no device any more, and bytes that it alone had are lost.
TrainerCrash ==
  /\ "trainer-crash" \in Faults
  /\ trainer.uses # {} \/ Unstored # {}
  /\ Trains([uses |-> {}, volatile |-> trainer.volatile \ Unstored, lost |-> trainer.lost \cup Unstored])

\* Bytes become durable at last.
Store ==
  /\ "volatile" \in Scene
  /\ \E v \in Unstored : Trains([trainer EXCEPT !.volatile = @ \ {v}])

-----------------------------------------------------------------------------

\* The process ends, and another incarnation takes its place.
Replace ==
  /\ "gate-crash" \in Faults
  /\ \E r \in Replica \ trainer.uses :
       /\ node[r] # Born
       /\ node' = [node EXCEPT ![r] = Born]
       /\ msgs' = {x \in msgs : x.to # r}
       /\ ctl' = [t \in DOMAIN ctl |-> [ctl[t] EXCEPT !.settled = FALSE]]
       /\ UNCHANGED <<durable, trainer, wrong>>
=============================================================================
