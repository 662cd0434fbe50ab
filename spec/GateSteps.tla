----------------------------- MODULE GateSteps -----------------------------
(* One gate, and everybody who may say anything to it, at any time: any
   command of any term and epoch, any answer, any request.

   The other models ask what comes of whole runs. This one holds each single
   step to the contract, by what it changed and what it put out, never by the
   rule that did it: who may change what, what must come with it, and what
   must be so before. So it also says what no other model reads: the numbers
   of timers, windows, and whom an output names.

   Left out: everything that is not the gate. What a step leaves to others
   (that a drain ends, that a poisoned replica is replaced) is in WeightSync
   and RequestPath.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Gate, Naturals, Sequences, FiniteSets

CONSTANTS
  Rank,        \* ranks of the replica
  Lease,       \* ids of requests
  MaxTerm, MaxEpoch, MaxVersion, MaxWindow,
  MaxTimer     \* how many timers in one epoch

VARIABLES
  m,           \* the gate
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Terms == 0..MaxTerm
Epochs == 0..MaxEpoch
Windows == 0..MaxWindow
Timers == 0..MaxTimer
Modes == {"wait", "abort", "keep"}
Lends == {"l1", "l2"}

\* What an install may name: digests of all ranks, or of too few.
Named == [Rank -> {"a", "b"}] \cup {[k \in {} |-> "a"]}

Init == m = GateInit(Rank) /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to g that put out outs. *)

Names(outs) == {outs[i].out : i \in 1..Len(outs)}

The(outs, name) == outs[CHOOSE i \in 1..Len(outs) : outs[i].out = name]

Unless(holds, name) == IF holds THEN {} ELSE {name}

Places(g) == [active |-> g.active, suspended |-> g.suspended, orphaned |-> g.orphaned]

Weights(g) == [version |-> g.version, resident |-> g.resident]

Proofs(g) == [target |-> g.target, digests |-> g.digests, verified |-> g.verified]

Clock(g) == [timer |-> g.timer, window |-> g.window]

Idle(g) == g.active = {} /\ g.orphaned = {}

Drained(g) == Idle(g) /\ g.quiet = Rank

Held(g) == g.active \cup g.suspended

\* What must be so before the gate comes to a state, and what is put out then.
Enters(g, outs, by) ==
  IF g.state = m.state THEN {}
  ELSE CASE g.state = "SEALED" ->
              Unless(by = "Seal" /\ g.quiet = {} /\ g.verified = {} /\ g.target = <<>> /\ DOMAIN g.digests = {}, "Seal")
         [] g.state = "DRAINING" ->
              Unless(by = "Drain" /\ m.state = "SEALED"
                     /\ "StartDrain" \in Names(outs)
                     /\ The(outs, "StartDrain") = [out |-> "StartDrain", epoch |-> g.epoch, mode |-> g.mode], "Drain")
         [] g.state = "INSTALLING" ->
              Unless(by = "Install" /\ m.state = "DRAINING" /\ Drained(m) /\ m.lent = <<>>
                     /\ g.target # <<>> /\ DOMAIN g.digests = Rank /\ g.verified = {}
                     /\ (m.version = <<>> \/ m.version[1] < g.target[1] \/ (~m.resident /\ m.version = g.target))
                     /\ "StartInstall" \in Names(outs)
                     /\ The(outs, "StartInstall")
                          = [out |-> "StartInstall", epoch |-> g.epoch, version |-> g.target[1]], "Install")
         [] g.state = "REOPENED" ->
              Unless(/\ g.resident /\ g.lent = <<>>
                     /\ CASE by = "Reopen"   -> m.state = "INSTALLING" /\ m.verified = Rank
                          [] by = "Resume"   -> m.state \in {"SEALED", "DRAINING"}
                          [] by = "Deadline" -> m.state \in {"SEALED", "DRAINING"} \/ m.verified = Rank
                          [] OTHER           -> FALSE
                     /\ "ThawAll" \in Names(outs)
                     /\ The(outs, "ThawAll") = [out |-> "ThawAll", epoch |-> g.epoch, leases |-> Held(g)], "Reopen")
         [] g.state = "OPEN" -> Unless(by = "Close" /\ m.state = "REOPENED" /\ m.suspended = {}, "Close")
         [] g.state = "POISONED" ->
              Unless(/\ CASE by = "Deadline" -> \/ m.state = "DRAINING" /\ m.lent # <<>>
                                                \/ m.state = "INSTALLING" /\ m.verified # Rank
                          [] by \in {"Installed", "InstallFailed", "Orphan"} -> m.state = "INSTALLING"
                          [] by \in {"GiveUp", "Poison", "Fault"} -> TRUE
                          [] OTHER -> FALSE
                     /\ Names(outs) = {"AbortSuspended"}
                     /\ The(outs, "AbortSuspended").leases = m.suspended, "Poison")

\* What comes with each change of the gate, whatever caused it.
Always(g, outs, by) ==
  Unless(m.epoch = g.epoch \/ by \in {"Seal", "Resume"}, "Epoch")
  \cup Unless(g.epoch >= m.epoch /\ g.term >= m.term, "Epoch")
  \cup Unless(m.term = g.term \/ by = "Claim", "Term")
  \cup Unless(m.mode = g.mode \/ by \in {"Seal", "Escalate"}, "Mode")
  \cup Unless(Clock(m) = Clock(g) \/ by \in {"Seal", "Renew"}, "Timer")
  \cup Unless(m.quiet = g.quiet \/ by = "Quiesced" \/ (by = "Seal" /\ g.quiet = {}), "Quiet")
  \cup Unless(Proofs(m) = Proofs(g) \/ by \in {"Install", "Installed"} \/ (by = "Seal" /\ g.state # m.state), "Proof")
  \cup Unless(m.version = g.version \/ by = "Installed", "Proof")
  \cup Unless(m.resident = g.resident \/ by \in {"Installed", "Lend"}, "Proof")
  \cup Unless(m.lent = g.lent \/ by \in {"Lend", "Returned"}, "Lend")
  \cup Unless(Places(m) = Places(g) \/ by \in {"Admit", "Settle", "Orphan", "Frozen", "Thawed", "Deadline"}, "Places")
  \cup Unless(m.state # "POISONED" \/ g.state = "POISONED", "Poison")
  \* Who asks the ranks for rest: what brings the gate to it, and nothing else.
  \cup Unless(("AskQuiesce" \in Names(outs)) = (g.state = "DRAINING" /\ Idle(g) /\ ~(m.state = "DRAINING" /\ Idle(m))),
              "Quiet")
  \cup Unless("AskQuiesce" \in Names(outs) => The(outs, "AskQuiesce").epoch = g.epoch, "Quiet")
  \* A timer runs for as long as the gate was told to be patient.
  \cup Unless("StartTimer" \in Names(outs) =>
                The(outs, "StartTimer") = [out |-> "StartTimer", epoch |-> g.epoch, timer |-> g.timer, window |-> g.window],
              "Timer")
  \cup Unless((by \in {"Seal", "Renew"} \/ (g.state = "REOPENED" /\ m.state # "REOPENED")) =>
                "StartTimer" \in Names(outs), "Timer")
  \cup Enters(g, outs, by)

-----------------------------------------------------------------------------
(* The events: each with what is held against it alone. t is its step, own the
   properties that the step breaks if it acts. *)

Steps(by, t, own) == {<<t[1], own \cup Always(t[1], t[2], by)>>}

Becomes(x) == m' = x[1] /\ wrong' = wrong \cup x[2]

\* A command acts only in its term; and in its epoch, if it is one of those that belong to one.
Mine(term) == Unless(term = m.term, "Term")
Within(term, epoch) == Unless(term = m.term, "Term") \cup Unless(epoch = m.epoch, "Epoch")
Answers(epoch) == Unless(epoch = m.epoch, "Epoch")

OfClaim(n) == LET t == GateClaim_step(m, n)
  IN IF t = <<>> THEN {}
     ELSE Steps("Claim", t, Unless(n > m.term /\ t[1].term = n /\ t[1] = [m EXCEPT !.term = n], "Term"))

OfPoison(n) == LET t == GatePoison_step(m, n)
  IN IF t = <<>> THEN {} ELSE Steps("Poison", t, Mine(n) \cup Unless(t[1].state = "POISONED", "Poison"))

OfSeal(n, e, o, w) == LET t == GateSeal_step(m, n, e, o, w)
  IN IF t = <<>> THEN {} ELSE Steps("Seal", t,
       Mine(n) \cup Unless(e > m.epoch /\ t[1].epoch = e, "Epoch") \cup Unless(t[1].mode = o, "Mode")
       \cup Unless(t[1].timer = 0 /\ t[1].window = w, "Timer")
       \cup Unless(t[1].state = "SEALED" /\ m.state \notin {"INSTALLING", "REOPENED"}, "Seal")
       \cup Unless(m.state = "DRAINING" => (~m.resident /\ m.lent = <<>>), "Seal"))

OfResume(n, e) == LET t == GateResume_step(m, n, e)
  IN IF t = <<>> THEN {} ELSE Steps("Resume", t,
       Mine(n) \cup Unless(IF m.state = "OPEN" THEN e > m.epoch /\ t[1] = [m EXCEPT !.epoch = e]
                           ELSE e = m.epoch /\ t[1].epoch = e /\ t[1].state = "REOPENED", "Resume"))

OfEscalate(n, e, o) == LET t == GateEscalate_step(m, n, e, o)
  IN IF t = <<>> THEN {} ELSE Steps("Escalate", t,
       Within(n, e)
       \cup Unless(m.state \in {"SEALED", "DRAINING"} /\ m.mode = "wait" /\ o # "wait" /\ t[1] = [m EXCEPT !.mode = o],
                    "Mode")
       \cup Unless((m.state = "DRAINING") = (t[2] = <<[out |-> "StartDrain", epoch |-> e, mode |-> o]>>), "Mode"))

OfDrain(n, e) == LET t == GateDrain_step(m, n, e)
  IN IF t = <<>> THEN {}
     ELSE Steps("Drain", t, Within(n, e) \cup Unless(t[1] = [m EXCEPT !.state = "DRAINING"], "Drain"))

OfLend(n, e, l) == LET t == GateLend_step(m, n, e, l)
  IN IF t = <<>> THEN {} ELSE Steps("Lend", t,
       Within(n, e) \cup Unless(/\ m.state = "DRAINING" /\ Drained(m) /\ m.suspended = {} /\ m.lent = <<>>
                                /\ t[1] = [m EXCEPT !.lent = <<l>>, !.resident = FALSE]
                                /\ t[2] = <<[out |-> "ReleaseMemory", lend |-> l]>>, "Lend"))

OfReturned(n, e, l) == LET t == GateReturned_step(m, n, e, l)
  IN IF t = <<>> THEN {}
     ELSE Steps("Returned", t, Within(n, e) \cup Unless(m.lent = <<l>> /\ t[1] = [m EXCEPT !.lent = <<>>], "Lend"))

OfRenew(n, e, w) == LET t == GateRenew_step(m, n, e, w)
  IN IF t = <<>> THEN {} ELSE Steps("Renew", t,
       Within(n, e) \cup Unless(m.state \in {"SEALED", "DRAINING", "INSTALLING"}
                                /\ t[1] = [m EXCEPT !.timer = @ + 1, !.window = w], "Timer"))

OfInstall(n, e, v, d) == LET t == GateInstall_step(m, n, e, v, d)
  IN IF t = <<>> THEN {} ELSE Steps("Install", t,
       Within(n, e) \cup Unless(t[1] = [m EXCEPT !.state = "INSTALLING", !.target = <<v>>, !.digests = d, !.verified = {}],
                                "Install"))

OfReopen(n, e) == LET t == GateReopen_step(m, n, e)
  IN IF t = <<>> THEN {}
     ELSE Steps("Reopen", t, Within(n, e) \cup Unless(t[1] = [m EXCEPT !.state = "REOPENED"], "Reopen"))

OfClose(n, e) == LET t == GateClose_step(m, n, e)
  IN IF t = <<>> THEN {}
     ELSE Steps("Close", t, Within(n, e) \cup Unless(t[1] = [m EXCEPT !.state = "OPEN"], "Close"))

OfAdmit(l, pin) == LET t == GateAdmit_step(m, l, pin)
  IN IF t = <<>> THEN {} ELSE Steps("Admit", t,
       Unless(/\ m.state \in {"OPEN", "REOPENED"} /\ l \notin Held(m) \cup m.orphaned
              /\ pin # <<>> => pin = m.version
              /\ t[1] = [m EXCEPT !.active = @ \cup {l}], "Places"))

OfSettle(l) == LET t == GateSettle_step(m, l)
  IN IF t = <<>> THEN {} ELSE Steps("Settle", t,
       Unless(t[1] = [m EXCEPT !.active = @ \ {l}, !.suspended = @ \ {l}, !.orphaned = @ \ {l}], "Places"))

OfOrphan(l) == LET t == GateOrphan_step(m, l)
  IN IF t = <<>> THEN {} ELSE Steps("Orphan", t,
       Unless(CASE m.state = "POISONED" -> t[1] = [m EXCEPT !.active = @ \ {l}, !.suspended = @ \ {l}, !.orphaned = @ \ {l}]
                [] m.state = "INSTALLING" -> l \in m.suspended /\ t[1] = [m EXCEPT !.state = "POISONED"]
                [] OTHER -> /\ l \in Held(m)
                            /\ t[1] = [m EXCEPT !.active = @ \ {l}, !.suspended = @ \ {l}, !.orphaned = @ \cup {l}],
              "Places"))

OfGiveUp(l) == LET t == GateGiveUp_step(m, l)
  IN IF t = <<>> THEN {}
     ELSE Steps("GiveUp", t, Unless(l \in m.orphaned /\ t[1] = [m EXCEPT !.state = "POISONED"], "Places"))

\* A freeze is undone by the epoch that it names, unless this drain keeps what runs; what froze is not active.
OfFrozen(l, e) == LET t == GateFrozen_step(m, l, e)
  IN IF t = <<>> THEN {} ELSE Steps("Frozen", t,
       Unless(CASE m.state = "POISONED" ->
                     /\ t[1] = [m EXCEPT !.active = @ \ {l}, !.suspended = @ \ {l}, !.orphaned = @ \ {l}]
                     /\ t[2] = <<[out |-> "AbortLate", lease |-> l]>>
                [] m.state = "DRAINING" /\ Places(t[1]) # Places(m) ->
                     /\ e = m.epoch /\ m.mode = "keep" /\ l \in m.active
                     /\ t[1] = [m EXCEPT !.active = @ \ {l}, !.suspended = @ \cup {l}]
                [] OTHER ->
                     /\ m.state \in {"OPEN", "REOPENED"} \/ e < m.epoch
                     /\ t[1] = m /\ t[2] = <<[out |-> "Thaw", epoch |-> e, lease |-> l]>>, "Places"))

OfThawed(e, l) == LET t == GateThawed_step(m, e, l)
  IN IF t = <<>> THEN {} ELSE Steps("Thawed", t,
       Answers(e) \cup Unless(m.state = "REOPENED" /\ l \in m.suspended
                              /\ t[1] = [m EXCEPT !.suspended = @ \ {l}, !.active = @ \cup {l}], "Places"))

OfQuiesced(e, k) == LET t == GateQuiesced_step(m, e, k)
  IN IF t = <<>> THEN {} ELSE Steps("Quiesced", t,
       Answers(e) \cup Unless(m.state = "DRAINING" /\ Idle(m) /\ k \in Rank /\ t[1] = [m EXCEPT !.quiet = @ \cup {k}], "Quiet"))

\* A rank proves what it holds by the digest that was named for it; the last proof makes the target the version.
OfInstalled(e, k, d) == LET t == GateInstalled_step(m, e, k, d)
  IN IF t = <<>> THEN {} ELSE Steps("Installed", t,
       Answers(e) \cup Unless(/\ m.state = "INSTALLING"
                              /\ IF k \in Rank /\ m.digests[k] = d
                                 THEN LET all == m.verified \cup {k}
                                      IN t[1] = [m EXCEPT !.verified = all,
                                                          !.version = IF all = Rank THEN m.target ELSE @,
                                                          !.resident = IF all = Rank THEN TRUE ELSE @]
                                 ELSE t[1] = [m EXCEPT !.state = "POISONED"], "Proof"))

OfInstallFailed(e, k) == LET t == GateInstallFailed_step(m, e, k)
  IN IF t = <<>> THEN {}
     ELSE Steps("InstallFailed", t, Answers(e) \cup Unless(t[1] = [m EXCEPT !.state = "POISONED"], "Poison"))

OfDeadline(e, n) == LET t == GateDeadline_step(m, e, n)
  IN IF t = <<>> THEN {} ELSE Steps("Deadline", t,
       Answers(e) \cup Unless(n = m.timer, "Timer")
       \cup Unless(IF m.state = "REOPENED"
                   THEN t[1] = [m EXCEPT !.orphaned = @ \cup m.suspended, !.suspended = {}]
                   ELSE \E s \in {"REOPENED", "POISONED"} : t[1] = [m EXCEPT !.state = s], "Places"))

OfFault == LET t == GateFault_step(m)
  IN IF t = <<>> THEN {} ELSE Steps("Fault", t, Unless(t[1] = [m EXCEPT !.state = "POISONED"], "Poison"))

-----------------------------------------------------------------------------

Ranks == Rank \cup {"k0"}

Claim == \E x \in UNION {OfClaim(n) : n \in Terms} : Becomes(x)
Poison == \E x \in UNION {OfPoison(n) : n \in Terms} : Becomes(x)
Seal ==
  /\ m.state \in GateSeal_states
  /\ \E x \in UNION {UNION {UNION {UNION {OfSeal(n, e, o, w) : w \in Windows} : o \in Modes} : e \in Epochs} : n \in Terms} :
       Becomes(x)
Resume == \E x \in UNION {UNION {OfResume(n, e) : e \in Epochs} : n \in Terms} : Becomes(x)
Escalate ==
  /\ m.state \in GateEscalate_states
  /\ \E x \in UNION {UNION {UNION {OfEscalate(n, e, o) : o \in Modes} : e \in Epochs} : n \in Terms} : Becomes(x)
Drain == \E x \in UNION {UNION {OfDrain(n, e) : e \in Epochs} : n \in Terms} : Becomes(x)
Lend ==
  /\ m.state \in GateLend_states
  /\ \E x \in UNION {UNION {UNION {OfLend(n, e, l) : l \in Lends} : e \in Epochs} : n \in Terms} : Becomes(x)
Returned ==
  /\ m.state \in GateReturned_states
  /\ \E x \in UNION {UNION {UNION {OfReturned(n, e, l) : l \in Lends} : e \in Epochs} : n \in Terms} : Becomes(x)
Renew ==
  /\ m.state \in GateRenew_states /\ m.timer < MaxTimer
  /\ \E x \in UNION {UNION {UNION {OfRenew(n, e, w) : w \in Windows} : e \in Epochs} : n \in Terms} : Becomes(x)
Install ==
  /\ m.state \in GateInstall_states
  /\ \E x \in UNION {UNION {UNION {UNION {OfInstall(n, e, v, d) : d \in Named} : v \in 0..MaxVersion} : e \in Epochs} : n \in Terms} :
       Becomes(x)
Reopen == \E x \in UNION {UNION {OfReopen(n, e) : e \in Epochs} : n \in Terms} : Becomes(x)
Close == \E x \in UNION {UNION {OfClose(n, e) : e \in Epochs} : n \in Terms} : Becomes(x)
Pins == {<<>>} \cup {<<v>> : v \in 0..MaxVersion}
Admit == \E x \in UNION {UNION {OfAdmit(l, pin) : pin \in Pins} : l \in Lease} : Becomes(x)
Settle == \E x \in UNION {OfSettle(l) : l \in Lease} : Becomes(x)
Orphan == \E x \in UNION {OfOrphan(l) : l \in Lease} : Becomes(x)
GiveUp == \E x \in UNION {OfGiveUp(l) : l \in Lease} : Becomes(x)
Frozen == \E x \in UNION {UNION {OfFrozen(l, e) : e \in Epochs} : l \in Lease} : Becomes(x)
Thawed == \E x \in UNION {UNION {OfThawed(e, l) : e \in Epochs} : l \in Lease} : Becomes(x)
Quiesced == \E x \in UNION {UNION {OfQuiesced(e, k) : e \in Epochs} : k \in Ranks} : Becomes(x)
Installed ==
  /\ m.state \in GateInstalled_states
  /\ \E x \in UNION {UNION {UNION {OfInstalled(e, k, d) : d \in {"a", "b"}} : k \in Rank} : e \in Epochs} : Becomes(x)
InstallFailed == \E x \in UNION {OfInstallFailed(e, "k1") : e \in Epochs} : Becomes(x)
Deadline == \E x \in UNION {UNION {OfDeadline(e, n) : n \in Timers} : e \in Epochs} : Becomes(x)
Fault == \E x \in OfFault : Becomes(x)

Next ==
  \/ Claim \/ Poison \/ Seal \/ Resume \/ Escalate \/ Drain \/ Lend \/ Returned \/ Renew \/ Install \/ Reopen \/ Close
  \/ Admit \/ Settle \/ Orphan \/ GiveUp \/ Frozen \/ Thawed
  \/ Quiesced \/ Installed \/ InstallFailed \/ Deadline \/ Fault

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* Nothing changes but what the event is about, and with it comes what the contract wants.
EveryStep == wrong = {}

\* What must be taken is taken: a gate that only refused would break nothing else here.
Obeys ==
  /\ \A n \in Terms : n > m.term => GateClaim_acts(m, n)
  /\ m.state \in {"OPEN", "REOPENED"} =>
       /\ \A l \in Lease \ (Held(m) \cup m.orphaned) : GateAdmit_acts(m, l, <<>>) /\ GateAdmit_acts(m, l, m.version)
       /\ \A l \in Lease : \A e \in 0..m.epoch : GateFrozen_acts(m, l, e)
  /\ \A l \in Held(m) \cup m.orphaned : GateSettle_acts(m, l)
  /\ \A l \in m.suspended : GateOrphan_acts(m, l)
  /\ m.state # "POISONED" =>
       /\ \A l \in m.orphaned : GateGiveUp_acts(m, l)
       /\ \A l \in m.active : GateOrphan_acts(m, l)
       /\ GatePoison_acts(m, m.term) /\ GateFault_acts(m)
  /\ m.state \in {"SEALED", "DRAINING", "INSTALLING"} =>
       \A l \in Lease : \A e \in Epochs : e < m.epoch => GateFrozen_acts(m, l, e)
  /\ m.state = "DRAINING" /\ m.mode = "keep" => \A l \in m.active : GateFrozen_acts(m, l, m.epoch)
  /\ m.state = "OPEN" => \A e \in Epochs : e > m.epoch => GateResume_acts(m, m.term, e)
  /\ m.state \in {"OPEN", "SEALED"} => \A e \in Epochs : e > m.epoch => GateSeal_acts(m, m.term, e, "wait", 0)
  /\ m.state \in {"SEALED", "DRAINING"} /\ m.mode = "wait" => GateEscalate_acts(m, m.term, m.epoch, "abort")
  /\ m.state = "SEALED" => GateDrain_acts(m, m.term, m.epoch)
  /\ m.state \in {"SEALED", "DRAINING"} /\ m.resident => GateResume_acts(m, m.term, m.epoch)
  /\ m.state = "DRAINING" /\ ~m.resident /\ m.lent = <<>> =>
       \A e \in Epochs : e > m.epoch => GateSeal_acts(m, m.term, e, "wait", 0)
  /\ m.state = "DRAINING" /\ Drained(m) /\ m.lent = <<>> =>
       /\ m.suspended = {} => GateLend_acts(m, m.term, m.epoch, "l1")
       /\ \A v \in 0..MaxVersion :
            (m.version = <<>> \/ m.version[1] < v \/ (~m.resident /\ m.version = <<v>>)) =>
            GateInstall_acts(m, m.term, m.epoch, v, [k \in Rank |-> "a"])
  /\ m.state \in {"SEALED", "DRAINING", "INSTALLING"} => GateRenew_acts(m, m.term, m.epoch, 0)
  /\ m.state = "DRAINING" /\ Idle(m) => \A k \in Rank : GateQuiesced_acts(m, m.epoch, k)
  /\ m.state = "DRAINING" /\ m.lent # <<>> => GateReturned_acts(m, m.term, m.epoch, m.lent[1])
  /\ m.state \in {"SEALED", "DRAINING"} /\ m.resident => GateDeadline_acts(m, m.epoch, m.timer)
  /\ m.state = "INSTALLING" =>
       /\ GateDeadline_acts(m, m.epoch, m.timer)
       /\ \A k \in Rank : GateInstalled_acts(m, m.epoch, k, m.digests[k]) /\ GateInstallFailed_acts(m, m.epoch, k)
       /\ m.verified = Rank => GateReopen_acts(m, m.term, m.epoch)
  /\ m.state = "REOPENED" =>
       IF m.suspended = {} THEN GateClose_acts(m, m.term, m.epoch)
       ELSE /\ GateDeadline_acts(m, m.epoch, m.timer)
            /\ \A l \in m.suspended : GateThawed_acts(m, m.epoch, l)
=============================================================================
