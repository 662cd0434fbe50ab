----------------------------- MODULE LeaseSteps -----------------------------
(* One lease, and everybody who may tell it anything, at any time.

   RequestPath asks what comes of whole runs. This holds each single step to
   the contract, by what it changed and what it put out, never by the rule
   that did it: how it ends, with which receipt, and that nothing follows.

   Left out: the gate that admitted it, the engine that runs it and the disk,
   which are in RequestPath.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Lease, Naturals, Sequences, FiniteSets

CONSTANTS
  MaxVersion,
  MaxToken     \* how many tokens one version makes

VARIABLES
  m,           \* the lease
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Versions == 0..MaxVersion
Counts == 0..MaxToken

\* How an engine may say that a request has ended.
Endings == {"completed", "failed", "aborted"}

Init == m = LeaseInit("s1") /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to l that put out outs. *)

Unless(holds, name) == IF holds THEN {} ELSE {name}

Runs == m.state \in {"FORWARDED", "SUSPENDED"}

\* Nothing follows the end of a lease.
IsOver == m.state \in {"SETTLED", "LOST"}

\* What must be so before the lease comes to a state.
Enters(l, by) ==
  IF l.state = m.state THEN {}
  ELSE CASE l.state = "FORWARDED" ->
              Unless((by = "Forward" /\ m.state = "ADMITTED") \/ (by = "Thawed" /\ m.state = "SUSPENDED"), "Runs")
         [] l.state = "SUSPENDED" -> Unless(by = "Frozen" /\ m.state = "FORWARDED", "Runs")
         [] l.state = "ENDED" -> Unless(by = "Ended" /\ Runs, "Ends")
         [] l.state = "ORPHANED" -> Unless(by = "Unknown" /\ Runs, "Ends")
         \* The backend has ended and the record is stored; or it was never sent; or nobody will see what it made.
         [] l.state = "SETTLED" ->
              Unless(CASE m.state = "ENDED"    -> by = "Recorded" /\ l.ending = m.ending
                       [] m.state = "ADMITTED" -> by \in {"Cancel", "Gone"} /\ l.ending = "not_sent"
                       [] m.state = "ORPHANED" -> by \in {"Ended", "Reconciled"} /\ l.ending = "discarded"
                       [] OTHER                -> FALSE, "Settled")
         [] l.state = "LOST" ->
              Unless(\/ by = "GiveUp" /\ m.state = "ORPHANED"
                     \/ by = "Gone" /\ (Runs \/ m.state \in {"ENDED", "ORPHANED"}), "Lost")
         [] OTHER -> {"Ends"}

\* All that is put out: one receipt when it settles, a question when its outcome is unknown, an abort if asked for.
Told(l, by) ==
  CASE l.state = "SETTLED" /\ ~IsOver        -> <<[out |-> "Receipt", ending |-> l.ending, spans |-> m.spans]>>
    [] l.state = "ORPHANED" /\ Runs          -> <<[out |-> "Reconcile"]>>
    [] by = "Cancel" /\ l.state = m.state    -> <<[out |-> "AbortRequest"]>>
    [] OTHER                                 -> <<>>

Always(l, outs, by) ==
  Unless(l.session = m.session, "Given")
  \cup Unless(~IsOver, "G4")
  \cup Unless(l.spans = m.spans \/ by = "Progress", "Spans")
  \cup Unless(l.ending = m.ending \/ (by = "Ended" /\ Runs) \/ l.state = "SETTLED", "Ending")
  \cup Unless(outs = Told(l, by), "Tells")
  \cup Enters(l, by)

-----------------------------------------------------------------------------
(* The events: each with what is held against it alone. *)

Steps(by, t, own) == {<<t[1], own \cup Always(t[1], t[2], by)>>}

Becomes(x) == m' = x[1] /\ wrong' = wrong \cup x[2]

\* The step leads to a state and changes nothing else, but how the request ended.
Leads(by, t, states) ==
  IF t = <<>> THEN {}
  ELSE Steps(by, t, Unless(\E s \in states : t[1] = [m EXCEPT !.state = s, !.ending = t[1].ending], by))

\* The tokens of each version, with n more of version v.
Longer(n, v) ==
  [w \in DOMAIN m.spans \cup {v} |-> (IF w \in DOMAIN m.spans THEN m.spans[w] ELSE 0) + (IF w = v THEN n ELSE 0)]

OfProgress(n, v) ==
  LET t == LeaseProgress_step(m, n, v)
  IN IF t = <<>> THEN {} ELSE Steps("Progress", t, Unless(Runs /\ t[1] = [m EXCEPT !.spans = Longer(n, v)], "Spans"))

\* What runs is asked to end, and ends by what the engine tells.
OfCancel ==
  LET t == LeaseCancel_step(m)
  IN IF t = <<>> THEN {}
     ELSE Steps("Cancel", t, Unless(IF Runs THEN t[1] = m
                                    ELSE t[1] = [m EXCEPT !.state = "SETTLED", !.ending = "not_sent"], "Cancel"))

OfEnded(o) ==
  LET t == LeaseEnded_step(m, o)
  IN IF t = <<>> THEN {}
     ELSE Steps("Ended", t, Unless(IF Runs THEN t[1] = [m EXCEPT !.state = "ENDED", !.ending = o]
                                   ELSE t[1] = [m EXCEPT !.state = "SETTLED", !.ending = "discarded"], "Ends"))

-----------------------------------------------------------------------------

Forward == \E x \in Leads("Forward", LeaseForward_step(m), {"FORWARDED"}) : Becomes(x)
Progress ==
  /\ m.state \in LeaseProgress_states
  /\ \E x \in UNION {UNION {OfProgress(n, v) : n \in {c \in Counts : Longer(c, v)[v] <= MaxToken}} : v \in Versions} :
       Becomes(x)
Frozen == \E x \in Leads("Frozen", LeaseFrozen_step(m), {"SUSPENDED"}) : Becomes(x)
Thawed == \E x \in Leads("Thawed", LeaseThawed_step(m), {"FORWARDED"}) : Becomes(x)
Cancel == \E x \in OfCancel : Becomes(x)
Ended == \E x \in UNION {OfEnded(o) : o \in Endings} : Becomes(x)
Recorded == \E x \in Leads("Recorded", LeaseRecorded_step(m), {"SETTLED"}) : Becomes(x)
Unknown == \E x \in Leads("Unknown", LeaseUnknown_step(m), {"ORPHANED"}) : Becomes(x)
Reconciled == \E x \in Leads("Reconciled", LeaseReconciled_step(m), {"SETTLED"}) : Becomes(x)
GiveUp == \E x \in Leads("GiveUp", LeaseGiveUp_step(m), {"LOST"}) : Becomes(x)
Gone == \E x \in Leads("Gone", LeaseGone_step(m), {"SETTLED", "LOST"}) : Becomes(x)

Next ==
  \/ Forward \/ Progress \/ Frozen \/ Thawed \/ Cancel \/ Ended \/ Recorded \/ Unknown \/ Reconciled \/ GiveUp \/ Gone

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* Nothing changes but what the event is about, and with it comes what the contract wants.
EveryStep == wrong = {}

\* What must be taken is taken: a lease that only refused would break nothing else here.
Obeys ==
  /\ m.state = "ADMITTED" => LeaseForward_acts(m)
  /\ m.state \in {"ADMITTED", "FORWARDED", "SUSPENDED"} => LeaseCancel_acts(m)
  /\ Runs =>
       /\ \A n \in Counts : \A v \in Versions : LeaseProgress_acts(m, n, v)
       /\ LeaseUnknown_acts(m)
  /\ m.state = "FORWARDED" => LeaseFrozen_acts(m)
  /\ m.state = "SUSPENDED" => LeaseThawed_acts(m)
  /\ (Runs \/ m.state = "ORPHANED") => \A o \in Endings : LeaseEnded_acts(m, o)
  /\ m.state = "ENDED" => LeaseRecorded_acts(m)
  /\ m.state = "ORPHANED" =>
       /\ LeaseReconciled_acts(m)
       /\ LeaseGiveUp_acts(m)
  /\ ~IsOver => LeaseGone_acts(m)
=============================================================================
