----------------------------- MODULE SyncSteps -----------------------------
(* One operation of a controller, and everybody who may tell it anything, at
   any time, of any member.

   WeightSync asks what comes of whole runs. This holds each single step to
   the contract, by what it changed and what it put out, never by the rule
   that did it: each barrier, who leaves the cohort, what is sent and to
   whom, and what is forgotten when a phase ends.

   Left out: gates, registers and the network, which are in WeightSync; and
   that a phase ends at all.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Sync, Naturals, Sequences, FiniteSets

CONSTANTS
  Replica,     \* replicas that may be members
  Minimums,    \* how many members a cohort may need
  MaxEpoch, MaxVersion

VARIABLES
  m,           \* the operation
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Epochs == 0..MaxEpoch
Versions == 0..MaxVersion
Modes == {"wait", "keep"}

Init == m \in {SyncInit(0, n) : n \in Minimums} /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to y that put out outs. *)

Unless(holds, name) == IF holds THEN {} ELSE {name}

\* Exactly this is put out: to whom, of which epoch.
Sent(outs, name, y) ==
  /\ Len(outs) = 1
  /\ outs[1].out = name /\ outs[1].epoch = y.epoch /\ outs[1].members = y.members

\* Members whose answer is in, with the one that this step brings.
Heard(by, r) == IF by \in {"Sealed", "Drained", "Installed", "Closed"} THEN m.answered \cup {r} ELSE m.answered \ {r}
Refused(by, r) == IF by = "Declined" THEN m.refusing \cup {r} ELSE m.refusing
Left(by, r) == IF by = "Drop" THEN m.members \ {r} ELSE m.members

\* Nobody of those who remain is waited for any more.
Complete(by, r) == Left(by, r) \subseteq Heard(by, r)
Decided(by, r) == Left(by, r) \subseteq (Heard(by, r) \cup Refused(by, r))
Proved(by, r) == IF by = "Declined" THEN m.answered ELSE Heard(by, r)

Enough(some) == some # {} /\ Cardinality(some) >= m.minimum

\* What must be so before the operation comes to a phase, and what is sent then. r is the member that was told of.
Enters(y, outs, by, r) ==
  CASE y.state = m.state -> Unless(outs = <<>>, "Sends")
    [] y.state = "SEALING" -> Unless(by = "Begin" /\ m.state = "IDLE" /\ Enough(y.members) /\ Sent(outs, "SendSeal", y)
                                     /\ outs[1].mode = y.mode, "Begin")
    [] y.state = "DRAINING" -> Unless(/\ m.state = "SEALING" /\ by \in {"Sealed", "Drop"} /\ r \in m.members
                                      /\ Complete(by, r) /\ y.members = Left(by, r) /\ (by = "Drop" => Enough(y.members))
                                      /\ Sent(outs, "SendDrain", y), "G9")
    [] y.state = "LENT" -> Unless(/\ m.state = "DRAINING" /\ by \in {"Drained", "Drop"} /\ m.lend /\ r \in m.members
                                  /\ Complete(by, r) /\ y.members = Left(by, r) /\ (by = "Drop" => Enough(y.members))
                                  /\ Sent(outs, "SendLend", y), "Lend")
    [] y.state = "INSTALLING" ->
         Unless(/\ \/ m.state = "LENT" /\ by = "Trained" /\ y.members = m.members
                   \/ /\ m.state = "DRAINING" /\ by \in {"Drained", "Drop"} /\ ~m.lend /\ r \in m.members
                      /\ Complete(by, r) /\ y.members = Left(by, r) /\ (by = "Drop" => Enough(y.members))
                /\ Sent(outs, "SendInstall", y) /\ outs[1].version = y.version[1], "Install")
    [] y.state = "RECORDING" ->
         Unless(/\ m.state = "INSTALLING" /\ by \in {"Installed", "Declined", "Drop"} /\ r \in m.members
                /\ Decided(by, r) /\ y.members = Proved(by, r) /\ y.members # {}
                /\ outs = <<[out |-> "Record", version |-> y.version[1]]>>, "Record")
    [] y.state = "REOPENING" ->
         Unless(/\ m.state = "RECORDING" /\ by = "Recorded" /\ y.members = m.members /\ y.members # {}
                /\ y.published = m.version /\ Sent(outs, "SendReopen", y), "Reopen")
    [] y.state = "ROLLING_BACK" ->
         Unless(/\ r \in m.members /\ y.members = Left(by, r) /\ y.members # {} /\ Sent(outs, "SendResume", y)
                /\ \/ m.state \in {"SEALING", "DRAINING"} /\ by = "Drop" /\ ~Enough(y.members)
                   \/ m.state = "INSTALLING" /\ by \in {"Declined", "Drop"} /\ Decided(by, r) /\ Proved(by, r) = {}, "RollBack")
    [] y.state = "IDLE" ->
         Unless(/\ y.members = {}
                /\ outs = IF by = "Recorded" \/ m.state = "REOPENING"
                          THEN <<[out |-> "Announce", version |-> m.version[1]]>>
                          ELSE <<[out |-> "Report", epoch |-> m.epoch]>>
                /\ CASE by = "Recorded" -> m.state = "RECORDING" /\ m.members = {} /\ y.published = m.version
                     [] m.state \in {"REOPENING", "ROLLING_BACK"} ->
                          by \in {"Closed", "Drop"} /\ r \in m.members /\ Complete(by, r)
                     [] OTHER -> by = "Drop" /\ m.members = {r}, "Ends")
    [] y.state = "FAILED" -> Unless(by = "Overruled" /\ y = [m EXCEPT !.state = "FAILED"] /\ outs = <<>>, "Overruled")

Asked(y) == [version |-> y.version, mode |-> y.mode, lend |-> y.lend]

Always(y, outs, by, r) ==
  Unless(y.term = m.term /\ y.minimum = m.minimum, "Given")
  \cup Unless(y.epoch = m.epoch \/ (by \in {"Begin", "Restore"} /\ y.epoch >= m.epoch), "Epoch")
  \cup Unless(Asked(y) = Asked(m) \/ by = "Begin", "Begin")
  \cup Unless(y.published = m.published \/ by = "Restore" \/ (by = "Recorded" /\ y.published = m.version), "Record")
  \cup Unless(y.members \subseteq m.members \/ by = "Begin", "Members")
  \* Answers belong to a phase, and are forgotten with it.
  \cup Unless(y.state \notin {m.state, "FAILED"} => (y.answered = {} /\ y.refusing = {}), "Answers")
  \cup Unless(y.answered \cup y.refusing \subseteq y.members, "Answers")
  \cup Enters(y, outs, by, r)

-----------------------------------------------------------------------------
(* The events: each with what is held against it alone. *)

Steps(by, r, t, own) == {<<t[1], own \cup Always(t[1], t[2], by, r)>>}

Becomes(x) == m' = x[1] /\ wrong' = wrong \cup x[2]

\* A member answers, and others are still waited for.
Waits(t, r, y) == Unless(t[1].state = m.state => (r \in m.members /\ t[1] = y), "Answers")

OfRestore(e, v) ==
  LET t == SyncRestore_step(m, e, v)
  IN IF t = <<>> THEN {}
     ELSE Steps("Restore", "", t,
                Unless(m.state = "IDLE" /\ e >= m.epoch /\ t[1] = [m EXCEPT !.epoch = e, !.published = v], "Restore"))

OfBegin(e, v, some, o, lend) ==
  LET t == SyncBegin_step(m, e, v, some, o, lend)
  IN IF t = <<>> THEN {}
     ELSE Steps("Begin", "", t,
                Unless(/\ e > m.epoch
                       /\ m.published = <<>> \/ m.published[1] < v \/ (lend /\ m.published = <<v>>)
                       /\ t[1] = [m EXCEPT !.state = "SEALING", !.epoch = e, !.version = <<v>>, !.members = some,
                                           !.mode = o, !.lend = lend, !.answered = {}, !.refusing = {}], "Begin"))

OfSealed(r) ==
  LET t == SyncSealed_step(m, r)
  IN IF t = <<>> THEN {}
     ELSE Steps("Sealed", r, t, Waits(t, r, [m EXCEPT !.answered = @ \cup {r}])
                                \cup Unless(t[1].state = m.state => ~Complete("Sealed", r), "Answers"))

OfDrained(r) ==
  LET t == SyncDrained_step(m, r)
  IN IF t = <<>> THEN {}
     ELSE Steps("Drained", r, t, Waits(t, r, [m EXCEPT !.answered = @ \cup {r}])
                                 \cup Unless(t[1].state = m.state => ~Complete("Drained", r), "Answers"))

OfInstalled(r) ==
  LET t == SyncInstalled_step(m, r)
  IN IF t = <<>> THEN {}
     ELSE Steps("Installed", r, t, Waits(t, r, [m EXCEPT !.answered = @ \cup {r}])
                                   \cup Unless(t[1].state = m.state => ~Decided("Installed", r), "Answers"))

OfDeclined(r) ==
  LET t == SyncDeclined_step(m, r)
  IN IF t = <<>> THEN {}
     ELSE Steps("Declined", r, t, Waits(t, r, [m EXCEPT !.refusing = @ \cup {r}])
                                  \cup Unless(t[1].state = m.state => ~Decided("Declined", r), "Answers"))

OfClosed(r) ==
  LET t == SyncClosed_step(m, r)
  IN IF t = <<>> THEN {}
     ELSE Steps("Closed", r, t, Waits(t, r, [m EXCEPT !.answered = @ \cup {r}])
                                \cup Unless(t[1].state = m.state => ~Complete("Closed", r), "Answers"))

\* One that leaves takes its answers along; if nobody is waited for any more, or too few remain, the phase ends.
OfDrop(r) ==
  LET t == SyncDrop_step(m, r)
      gone == [m EXCEPT !.members = @ \ {r}, !.answered = @ \ {r}, !.refusing = @ \ {r}]
  IN IF t = <<>> THEN {}
     ELSE Steps("Drop", r, t,
                Waits(t, r, gone)
                \cup Unless(t[1].state = m.state =>
                       CASE m.state \in {"SEALING", "DRAINING"} -> Enough(gone.members) /\ ~Complete("Drop", r)
                         [] m.state = "LENT" -> gone.members # {}
                         [] m.state = "INSTALLING" -> ~Decided("Drop", r)
                         [] m.state = "RECORDING" -> TRUE
                         [] OTHER -> ~Complete("Drop", r), "Drop"))

Plain(by, t) == IF t = <<>> THEN {} ELSE Steps(by, "", t, Unless(t[1].state # m.state, by))

-----------------------------------------------------------------------------

Published == {<<>>} \cup {<<v>> : v \in Versions}

Restore == \E x \in UNION {UNION {OfRestore(e, v) : v \in Published} : e \in Epochs} : Becomes(x)
Begin ==
  /\ m.state \in SyncBegin_states
  /\ \E x \in UNION {UNION {UNION {UNION {UNION {OfBegin(e, v, some, o, lend) : lend \in BOOLEAN} : o \in Modes} :
                                         some \in SUBSET Replica} : v \in Versions} : e \in Epochs} : Becomes(x)
Sealed == \E x \in UNION {OfSealed(r) : r \in Replica} : Becomes(x)
Drained == \E x \in UNION {OfDrained(r) : r \in Replica} : Becomes(x)
Installed == \E x \in UNION {OfInstalled(r) : r \in Replica} : Becomes(x)
Declined == \E x \in UNION {OfDeclined(r) : r \in Replica} : Becomes(x)
Closed == \E x \in UNION {OfClosed(r) : r \in Replica} : Becomes(x)
Drop == \E x \in UNION {OfDrop(r) : r \in Replica} : Becomes(x)
Trained == \E x \in Plain("Trained", SyncTrained_step(m)) : Becomes(x)
Recorded == \E x \in Plain("Recorded", SyncRecorded_step(m)) : Becomes(x)
Overruled == \E x \in Plain("Overruled", SyncOverruled_step(m)) : Becomes(x)

Next ==
  \/ Restore \/ Begin \/ Sealed \/ Drained \/ Trained \/ Installed \/ Declined \/ Recorded \/ Overruled \/ Closed \/ Drop

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* Nothing changes but what the event is about, and with it comes what the contract wants.
EveryStep == wrong = {}

\* What must be taken is taken: an operation that only refused would break nothing else here.
Newer(v) == m.published = <<>> \/ m.published[1] < v
Obeys ==
  /\ m.state = "IDLE" =>
       \A e \in Epochs : e > m.epoch =>
         /\ SyncRestore_acts(m, e, m.published)
         /\ \A v \in Versions : \A some \in SUBSET Replica : Enough(some) =>
              /\ Newer(v) => SyncBegin_acts(m, e, v, some, "wait", FALSE)
              /\ Newer(v) => SyncBegin_acts(m, e, v, some, "keep", TRUE)
              /\ m.published = <<v>> => SyncBegin_acts(m, e, v, some, "wait", TRUE)
  /\ m.state = "SEALING" => \A r \in m.members \ m.answered : SyncSealed_acts(m, r)
  /\ m.state = "DRAINING" => \A r \in m.members \ m.answered : SyncDrained_acts(m, r)
  /\ m.state = "LENT" => SyncTrained_acts(m)
  /\ m.state = "INSTALLING" => \A r \in m.members \ (m.answered \cup m.refusing) :
       SyncInstalled_acts(m, r) /\ SyncDeclined_acts(m, r)
  /\ m.state = "RECORDING" => SyncRecorded_acts(m)
  /\ m.state \in {"REOPENING", "ROLLING_BACK"} => \A r \in m.members \ m.answered : SyncClosed_acts(m, r)
  /\ m.state \notin {"IDLE", "FAILED"} => \A r \in m.members : SyncDrop_acts(m, r)
  /\ m.state # "FAILED" => SyncOverruled_acts(m)
=============================================================================
