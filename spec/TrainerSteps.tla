---------------------------- MODULE TrainerSteps ----------------------------
(* One trainer group, and everybody who may tell it anything, at any time: any
   command of any term, any answer of its own process.

   Training asks what comes of whole runs. This holds each single step to the
   contract, by what it changed and what it put out, never by the rule that
   did it: one thing at a time, each version once, and commands of one term.

   Left out: the run that commands it, and what weights and checkpoints really
   hold, which are in Training.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Trainer, Naturals, Sequences, FiniteSets

CONSTANTS
  Batch,       \* ids of batches
  MaxTerm, MaxVersion

VARIABLES
  m,           \* the trainer
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Terms == 0..MaxTerm
Versions == 0..MaxVersion

Init == m = TrainerInit /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to y that put out outs. *)

Unless(holds, name) == IF holds THEN {} ELSE {name}

Works(state) == state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}

Newer(v) == m.version = <<>> \/ m.version[1] < v

\* Which events end what it does.
EndOf(state) ==
  CASE state = "TRAINING"   -> {"Trained"}
    [] state = "PUBLISHING" -> {"Published"}
    [] state = "SAVING"     -> {"Saved", "Undone"}
    [] state = "LOADING"    -> {"Loaded", "Undone"}
    [] OTHER                -> {}

Always(y, outs, by) ==
  Unless(y.term = m.term \/ (by = "Claim" /\ y.term > m.term), "Term")
  \cup Unless(y.version = m.version \/ (by = "Published" /\ y.version = m.publishing /\ Newer(y.version[1])), "Versions")
  \* One thing at a time: it begins out of rest, and ends by its own answer or for good.
  \cup Unless((Works(y.state) /\ y.state # m.state) => m.state = "IDLE", "T1")
  \cup Unless((y.state = "IDLE" /\ m.state # "IDLE") => by \in EndOf(m.state), "T1")
  \cup Unless(y.state # "FAILED" \/ m.state = "FAILED" \/ by = "Failed", "Failed")
  \cup Unless(m.state # "FAILED" \/ y = [m EXCEPT !.term = y.term], "Failed")
  \* It knows what it trains on or publishes, until that is done.
  \cup Unless(y.state = "FAILED" \/ ((y.batch # <<>>) = (y.state = "TRAINING")), "Batch")
  \cup Unless(y.state = "FAILED" \/ ((y.publishing # <<>>) = (y.state = "PUBLISHING")), "Versions")
  \* What it begins is said by the command that begins it, below; nothing else is put out.
  \cup Unless(outs = <<>> \/ (Works(y.state) /\ m.state = "IDLE"), "Tells")

-----------------------------------------------------------------------------
(* The events: each with what is held against it alone. *)

Steps(by, t, own) == {<<t[1], own \cup Always(t[1], t[2], by)>>}

Becomes(x) == m' = x[1] /\ wrong' = wrong \cup x[2]

\* A command acts only in its term, and where nothing else is done.
Mine(term) == Unless(term = m.term, "Term") \cup Unless(m.state = "IDLE", "T1")

\* This and nothing else is what its process is to begin.
Begins(t, out) == Unless(t[2] = <<out>>, "Tells")

OfClaim(n) ==
  LET t == TrainerClaim_step(m, n)
  IN IF t = <<>> THEN {} ELSE Steps("Claim", t, Unless(n > m.term /\ t[1] = [m EXCEPT !.term = n], "Term"))

OfTrain(n, b) ==
  LET t == TrainerTrain_step(m, n, b)
  IN IF t = <<>> THEN {}
     ELSE Steps("Train", t,
                Mine(n) \cup Unless(t[1] = [m EXCEPT !.state = "TRAINING", !.batch = <<b>>], "Batch")
                \cup Begins(t, [out |-> "StartTraining", batch |-> b]))

OfPublish(n, v) ==
  LET t == TrainerPublish_step(m, n, v)
  IN IF t = <<>> THEN {}
     ELSE Steps("Publish", t,
                Mine(n) \cup Unless(Newer(v) /\ t[1] = [m EXCEPT !.state = "PUBLISHING", !.publishing = <<v>>], "Versions")
                \cup Begins(t, [out |-> "StartPublishing", version |-> v]))

OfSave(n) ==
  LET t == TrainerSave_step(m, n)
  IN IF t = <<>> THEN {}
     ELSE Steps("Save", t,
                Mine(n) \cup Unless(t[1] = [m EXCEPT !.state = "SAVING"], "Save") \cup Begins(t, [out |-> "StartSaving"]))

OfLoad(n) ==
  LET t == TrainerLoad_step(m, n)
  IN IF t = <<>> THEN {}
     ELSE Steps("Load", t,
                Mine(n) \cup Unless(t[1] = [m EXCEPT !.state = "LOADING"], "Load") \cup Begins(t, [out |-> "StartLoading"]))

\* The step of another batch, or another version, is not the one that is waited for.
OfTrained(b) ==
  LET t == TrainerTrained_step(m, b)
  IN IF t = <<>> THEN {}
     ELSE Steps("Trained", t, Unless(m.batch = <<b>> /\ t[1] = [m EXCEPT !.state = "IDLE", !.batch = <<>>], "Batch"))

OfPublished(v) ==
  LET t == TrainerPublished_step(m, v)
  IN IF t = <<>> THEN {}
     ELSE Steps("Published", t,
                Unless(/\ m.publishing = <<v>>
                       /\ t[1] = [m EXCEPT !.state = "IDLE", !.version = <<v>>, !.publishing = <<>>], "Versions"))

\* It leads there and changes nothing else.
Leads(by, t, state) == IF t = <<>> THEN {} ELSE Steps(by, t, Unless(t[1] = [m EXCEPT !.state = state], by))

-----------------------------------------------------------------------------

Claim == \E x \in UNION {OfClaim(n) : n \in Terms} : Becomes(x)
Train == \E x \in UNION {UNION {OfTrain(n, b) : b \in Batch} : n \in Terms} : Becomes(x)
Publish == \E x \in UNION {UNION {OfPublish(n, v) : v \in Versions} : n \in Terms} : Becomes(x)
Save == \E x \in UNION {OfSave(n) : n \in Terms} : Becomes(x)
Load == \E x \in UNION {OfLoad(n) : n \in Terms} : Becomes(x)
Trained == \E x \in UNION {OfTrained(b) : b \in Batch} : Becomes(x)
Published == \E x \in UNION {OfPublished(v) : v \in Versions} : Becomes(x)
Saved == \E x \in Leads("Saved", TrainerSaved_step(m), "IDLE") : Becomes(x)
Loaded == \E x \in Leads("Loaded", TrainerLoaded_step(m), "IDLE") : Becomes(x)
Undone == \E x \in Leads("Undone", TrainerUndone_step(m), "IDLE") : Becomes(x)
Failed == \E x \in Leads("Failed", TrainerFailed_step(m), "FAILED") : Becomes(x)

Next ==
  \/ Claim \/ Train \/ Publish \/ Save \/ Load \/ Trained \/ Published \/ Saved \/ Loaded \/ Undone \/ Failed

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* Nothing changes but what the event is about, and with it comes what the contract wants.
EveryStep == wrong = {}

\* What must be taken is taken: a trainer that only refused would break nothing else here.
Obeys ==
  /\ \A n \in Terms : n > m.term => TrainerClaim_acts(m, n)
  /\ m.state = "IDLE" =>
       /\ \A b \in Batch : TrainerTrain_acts(m, m.term, b)
       /\ \A v \in Versions : Newer(v) => TrainerPublish_acts(m, m.term, v)
       /\ TrainerSave_acts(m, m.term)
       /\ TrainerLoad_acts(m, m.term)
  /\ m.state = "TRAINING" => TrainerTrained_acts(m, m.batch[1])
  /\ m.state = "PUBLISHING" => TrainerPublished_acts(m, m.publishing[1])
  /\ m.state = "SAVING" => TrainerSaved_acts(m)
  /\ m.state = "LOADING" => TrainerLoaded_acts(m)
  /\ m.state \in {"SAVING", "LOADING"} => TrainerUndone_acts(m)
  /\ m.state # "FAILED" => TrainerFailed_acts(m)
=============================================================================
