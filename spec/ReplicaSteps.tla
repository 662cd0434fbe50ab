---------------------------- MODULE ReplicaSteps ----------------------------
(* One incarnation of a replica as its controller sees it, and everybody who
   may tell the controller anything of it, at any time.

   No other model reads its table. This holds each single step to the
   contract, by what it changed and what it put out, never by the rule that
   did it: what makes it serve, be suspected, leave and die, which missed
   probes count, and what is to be done once it is dead.

   Left out: its gate, its sessions and its process, which are in WeightSync
   and SessionAffinity: there it lives or is replaced.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Replica, Naturals, Sequences, FiniteSets

CONSTANTS
  Patience,    \* how many probes in a row may have to be missed
  MaxVersion

VARIABLES
  m,           \* the replica
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Versions == 0..MaxVersion

Init == m \in {ReplicaInit(n) : n \in Patience} /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to r that put out outs. *)

Unless(holds, name) == IF holds THEN {} ELSE {name}

IsUp(state) == state \in {"SYNCING", "SERVING", "SUSPECT"}

\* One more missed probe is too many. While it installs none counts.
TooMany == ~m.installing /\ m.missed_probes + 1 >= m.patience

\* What must be so before the replica comes to a state.
Enters(r, by) ==
  IF r.state = m.state THEN {}
  ELSE CASE r.state = "SYNCING" ->
              Unless(\/ by = "Started" /\ m.state = "STARTING"
                     \/ by = "LeftBehind" /\ m.state \in {"SERVING", "SUSPECT"}, "Syncs")
         \* It serves once it is at what is published, and again once it answers.
         [] r.state = "SERVING" ->
              Unless(\/ by = "Synced" /\ m.state \in {"SYNCING", "SUSPECT"}
                     \/ by = "Answered" /\ m.state = "SUSPECT", "Serves")
         [] r.state = "SUSPECT" -> Unless(by = "Missed" /\ m.state = "SERVING" /\ ~m.installing /\ ~TooMany, "Suspect")
         [] r.state = "LEAVING" -> Unless(by = "Leave" /\ IsUp(m.state), "Leaves")
         [] r.state = "DEAD" ->
              Unless(CASE by = "Missed"    -> TooMany
                       [] by = "Leave"     -> m.state = "STARTING"
                       [] by = "Evacuated" -> m.state = "LEAVING"
                       [] OTHER            -> by \in {"Poisoned", "Exited"}, "Dead")
         [] OTHER -> {"Back"}

Planned(by) == by = "Leave" \/ m.state = "LEAVING"

\* All that is put out: its process is ended with it, and replaced unless it was to go.
Told(r, by) ==
  IF r.state = m.state THEN <<>>
  ELSE CASE r.state = "LEAVING" -> <<[out |-> "Evacuate"]>>
         [] r.state = "DEAD" ->
              IF Planned(by) THEN <<[out |-> "StopProcess"]>> ELSE <<[out |-> "StopProcess"], [out |-> "Replace"]>>
         [] OTHER -> <<>>

Always(r, outs, by) ==
  Unless(r.patience = m.patience, "Given")
  \cup Unless(m.state # "DEAD", "Dead")
  \cup Unless(m.state # "LEAVING" \/ r.state \in {"LEAVING", "DEAD"}, "Leaves")
  \cup Unless(r.version = m.version \/ by = "Synced", "Serves")
  \cup Unless(r.missed_probes = m.missed_probes \/ by \in {"Missed", "Answered", "Synced"}, "Probes")
  \cup Unless(r.installing = m.installing \/ by \in {"Answered", "Synced", "Overdue"}, "Installs")
  \* One that serves has a version, and answered the last probe.
  \cup Unless(r.state # "SERVING" \/ (r.version # <<>> /\ r.missed_probes = 0), "Serves")
  \cup Unless(outs = Told(r, by), "Tells")
  \cup Enters(r, by)

-----------------------------------------------------------------------------
(* The events: each with what is held against it alone. *)

Steps(by, t, own) == {<<t[1], own \cup Always(t[1], t[2], by)>>}

Becomes(x) == m' = x[1] /\ wrong' = wrong \cup x[2]

\* It leads to one of these states and changes nothing else.
Leads(by, t, states) ==
  IF t = <<>> THEN {} ELSE Steps(by, t, Unless(\E s \in states : t[1] = [m EXCEPT !.state = s], by))

\* It has what is published, and its gate is open: it answers, and installs no more.
OfSynced(v) ==
  LET t == ReplicaSynced_step(m, v)
  IN IF t = <<>> THEN {}
     ELSE Steps("Synced", t,
                Unless(/\ IsUp(m.state)
                       /\ t[1] = [m EXCEPT !.state = "SERVING", !.version = <<v>>, !.missed_probes = 0, !.installing = FALSE],
                       "Serves"))

OfAnswered(installs) ==
  LET t == ReplicaAnswered_step(m, installs)
  IN IF t = <<>> THEN {}
     ELSE Steps("Answered", t,
                Unless(t[1] = [m EXCEPT !.state = IF @ = "SUSPECT" THEN "SERVING" ELSE @,
                                        !.missed_probes = 0, !.installing = installs], "Probes"))

OfMissed ==
  LET t == ReplicaMissed_step(m)
  IN IF t = <<>> THEN {}
     ELSE Steps("Missed", t,
                Unless(~m.installing, "Installs")
                \cup Unless(IF TooMany THEN t[1] = [m EXCEPT !.state = "DEAD"]
                            ELSE t[1] = [m EXCEPT !.state = IF @ = "SERVING" THEN "SUSPECT" ELSE @,
                                                  !.missed_probes = @ + 1], "Probes"))

OfOverdue ==
  LET t == ReplicaOverdue_step(m)
  IN IF t = <<>> THEN {} ELSE Steps("Overdue", t, Unless(t[1] = [m EXCEPT !.installing = FALSE], "Installs"))

-----------------------------------------------------------------------------

Started == \E x \in Leads("Started", ReplicaStarted_step(m), {"SYNCING"}) : Becomes(x)
Synced == \E x \in UNION {OfSynced(v) : v \in Versions} : Becomes(x)
LeftBehind == \E x \in Leads("LeftBehind", ReplicaLeftBehind_step(m), {"SYNCING"}) : Becomes(x)
Answered == \E x \in UNION {OfAnswered(installs) : installs \in BOOLEAN} : Becomes(x)
Missed == \E x \in OfMissed : Becomes(x)
Overdue == \E x \in OfOverdue : Becomes(x)
Poisoned == \E x \in Leads("Poisoned", ReplicaPoisoned_step(m), {"DEAD"}) : Becomes(x)
Exited == \E x \in Leads("Exited", ReplicaExited_step(m), {"DEAD"}) : Becomes(x)
Leave == \E x \in Leads("Leave", ReplicaLeave_step(m), {"LEAVING", "DEAD"}) : Becomes(x)
Evacuated == \E x \in Leads("Evacuated", ReplicaEvacuated_step(m), {"DEAD"}) : Becomes(x)

Next ==
  \/ Started \/ Synced \/ LeftBehind \/ Answered \/ Missed \/ Overdue \/ Poisoned \/ Exited \/ Leave \/ Evacuated

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* Nothing changes but what the event is about, and with it comes what the contract wants.
EveryStep == wrong = {}

\* What must be taken is taken: a replica that only refused would break nothing else here.
Obeys ==
  /\ m.state = "STARTING" => ReplicaStarted_acts(m)
  /\ IsUp(m.state) => \A v \in Versions : ReplicaSynced_acts(m, v)
  /\ m.state \in {"SERVING", "SUSPECT"} => ReplicaLeftBehind_acts(m)
  /\ m.state # "DEAD" => \A installs \in BOOLEAN : ReplicaAnswered_acts(m, installs)
  /\ (m.state # "DEAD" /\ ~m.installing) => ReplicaMissed_acts(m)
  /\ (m.state # "DEAD" /\ m.installing) => ReplicaOverdue_acts(m)
  /\ m.state # "DEAD" =>
       /\ ReplicaPoisoned_acts(m)
       /\ ReplicaExited_acts(m)
  /\ (IsUp(m.state) \/ m.state = "STARTING") => ReplicaLeave_acts(m)
  /\ m.state = "LEAVING" => ReplicaEvacuated_acts(m)
=============================================================================
