---------------------------- MODULE TrainerSteps ----------------------------
(* One trainer group, and everybody who may tell it anything, at any time: any
   command of any term, any answer of any rank to any job, also of one that is
   none of its own.

   Training asks what comes of whole runs. This holds each single step to the
   contract, by what it changed and what it put out, never by the rule that
   did it: one thing at a time until every rank has answered it, each version
   once, and commands of one term.

   Left out: the run that commands it, and what weights and checkpoints really
   hold, which are in Training.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Trainer, Naturals, Sequences, FiniteSets

CONSTANTS
  Rank,        \* its ranks
  Batch,       \* ids of batches
  MaxTerm, MaxVersion,
  MaxJob       \* how many jobs it begins

VARIABLES
  m,           \* the trainer
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Terms == 0..MaxTerm
Versions == 0..MaxVersion
Jobs == 0..MaxJob
Digests == {"a", "b"}
Ranks == Rank \cup {"stranger"}

Init == m = TrainerInit(Rank) /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to y that put out outs. *)

Unless(holds, name) == IF holds THEN {} ELSE {name}

Works(state) == state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}

Newer(v) == m.version = <<>> \/ m.version[1] < v

\* Which events end what it does.
EndOf(state) ==
  CASE state = "TRAINING"   -> {"Trained", "Undone"}
    [] state = "PUBLISHING" -> {"Published", "Undone"}
    [] state = "SAVING"     -> {"Saved", "Undone"}
    [] state = "LOADING"    -> {"Loaded", "Undone"}
    [] OTHER                -> {}

Always(y, outs, by) ==
  Unless(y.term = m.term \/ (by = "Claim" /\ y.term > m.term), "Term")
  \cup Unless(y.version = m.version \/ (by = "Published" /\ y.version = m.publishing /\ Newer(y.version[1])), "Versions")
  \* One thing at a time: it begins out of rest, and ends by its own answer or for good.
  \cup Unless((Works(y.state) /\ y.state # m.state) => m.state = "IDLE", "T1")
  \cup Unless((y.state = "IDLE" /\ m.state # "IDLE") => by \in EndOf(m.state), "T1")
  \cup Unless(y.state # "FAILED" \/ m.state = "FAILED" \/ by = "Failed" \/ by \in EndOf(m.state), "Failed")
  \cup Unless(m.state # "FAILED" \/ y = [m EXCEPT !.term = y.term], "Failed")
  \cup Unless(y.ranks = Rank, "Ranks")
  \* Jobs are numbered one after another, as they begin.
  \cup Unless(y.job = (IF Works(y.state) /\ y.state # m.state THEN m.job + 1 ELSE m.job), "Jobs")
  \* It knows who has answered while some have, and not all; and the one digest that ranks have said.
  \cup Unless(y.state = "FAILED" \/ (y.done # Rank /\ y.unable # Rank /\ (y.done = {} \/ y.unable = {})), "Answers")
  \cup Unless(Works(y.state) \/ y.state = "FAILED" \/ (y.done = {} /\ y.unable = {}), "Answers")
  \cup Unless(y.state = "FAILED" \/ ((y.digest # <<>>) = (y.state = "PUBLISHING" /\ y.done # {})), "Digests")
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

\* More jobs than these are not looked at.
Room == m.job < MaxJob

OfTrain(n, b) ==
  LET t == TrainerTrain_step(m, n, b)
  IN IF t = <<>> \/ ~Room THEN {}
     ELSE Steps("Train", t,
                Mine(n) \cup Unless(t[1] = [m EXCEPT !.state = "TRAINING", !.batch = <<b>>, !.job = @ + 1], "Batch")
                \cup Begins(t, [out |-> "StartTraining", job |-> m.job + 1, batch |-> b]))

OfPublish(n, v) ==
  LET t == TrainerPublish_step(m, n, v)
  IN IF t = <<>> \/ ~Room THEN {}
     ELSE Steps("Publish", t,
                Mine(n)
                \cup Unless(/\ Newer(v)
                            /\ t[1] = [m EXCEPT !.state = "PUBLISHING", !.publishing = <<v>>, !.job = @ + 1], "Versions")
                \cup Begins(t, [out |-> "StartPublishing", job |-> m.job + 1, version |-> v]))

OfSave(n) ==
  LET t == TrainerSave_step(m, n)
  IN IF t = <<>> \/ ~Room THEN {}
     ELSE Steps("Save", t,
                Mine(n) \cup Unless(t[1] = [m EXCEPT !.state = "SAVING", !.job = @ + 1], "Save")
                \cup Begins(t, [out |-> "StartSaving", job |-> m.job + 1]))

OfLoad(n) ==
  LET t == TrainerLoad_step(m, n)
  IN IF t = <<>> \/ ~Room THEN {}
     ELSE Steps("Load", t,
                Mine(n) \cup Unless(t[1] = [m EXCEPT !.state = "LOADING", !.job = @ + 1], "Load")
                \cup Begins(t, [out |-> "StartLoading", job |-> m.job + 1]))

\* What a group becomes when a rank of it did the job: it waits for the others, is over, or fails where one could not.
Did(rank, over) ==
  IF m.unable # {} THEN [m EXCEPT !.state = "FAILED"]
  ELSE IF m.done \cup {rank} = Rank THEN over
  ELSE [m EXCEPT !.done = @ \cup {rank}]

\* An answer counts for the job that it names, of a rank of the group.
Counts(rank, number, state) == Unless(rank \in Rank /\ number = m.job /\ m.state = state, "Answers")

Over == [m EXCEPT !.state = "IDLE", !.done = {}]

OfTrained(k, j) ==
  LET t == TrainerTrained_step(m, k, j)
  IN IF t = <<>> THEN {}
     ELSE Steps("Trained", t,
                Counts(k, j, "TRAINING") \cup Unless(t[1] = Did(k, [Over EXCEPT !.batch = <<>>]), "Batch"))

\* Ranks that publish have one digest.
OfPublished(k, j, d) ==
  LET t == TrainerPublished_step(m, k, j, d)
      over == [Over EXCEPT !.version = m.publishing, !.publishing = <<>>, !.digest = <<>>]
      then == Did(k, over)
  IN IF t = <<>> THEN {}
     ELSE Steps("Published", t,
                Counts(k, j, "PUBLISHING")
                \cup Unless(t[1] = (IF m.digest \notin {<<>>, <<d>>} THEN [m EXCEPT !.state = "FAILED"]
                                    ELSE IF then.state = "PUBLISHING" THEN [then EXCEPT !.digest = <<d>>]
                                    ELSE then), "Digests"))

OfSaved(k, j) ==
  LET t == TrainerSaved_step(m, k, j)
  IN IF t = <<>> THEN {} ELSE Steps("Saved", t, Counts(k, j, "SAVING") \cup Unless(t[1] = Did(k, Over), "Save"))

OfLoaded(k, j) ==
  LET t == TrainerLoaded_step(m, k, j)
  IN IF t = <<>> THEN {} ELSE Steps("Loaded", t, Counts(k, j, "LOADING") \cup Unless(t[1] = Did(k, Over), "Load"))

\* What no rank did has changed nothing.
OfUndone(k, j) ==
  LET t == TrainerUndone_step(m, k, j)
  IN IF t = <<>> THEN {}
     ELSE Steps("Undone", t,
                Unless(k \in Rank /\ j = m.job /\ Works(m.state), "Answers")
                \cup Unless(t[1] = (IF m.done # {} THEN [m EXCEPT !.state = "FAILED"]
                                    ELSE IF m.unable \cup {k} # Rank THEN [m EXCEPT !.unable = @ \cup {k}]
                                    ELSE [m EXCEPT !.state = "IDLE", !.batch = <<>>, !.publishing = <<>>, !.unable = {}]),
                            "Undone"))

OfFailed(k) ==
  LET t == TrainerFailed_step(m, k)
  IN IF t = <<>> THEN {}
     ELSE Steps("Failed", t, Unless(k \in Rank /\ t[1] = [m EXCEPT !.state = "FAILED"], "Failed"))

-----------------------------------------------------------------------------

Claim == \E x \in UNION {OfClaim(n) : n \in Terms} : Becomes(x)
Train == \E x \in UNION {UNION {OfTrain(n, b) : b \in Batch} : n \in Terms} : Becomes(x)
Publish == \E x \in UNION {UNION {OfPublish(n, v) : v \in Versions} : n \in Terms} : Becomes(x)
Save == \E x \in UNION {OfSave(n) : n \in Terms} : Becomes(x)
Load == \E x \in UNION {OfLoad(n) : n \in Terms} : Becomes(x)
Trained == \E x \in UNION {UNION {OfTrained(k, j) : k \in Ranks} : j \in Jobs} : Becomes(x)
Published == \E x \in UNION {UNION {UNION {OfPublished(k, j, d) : k \in Ranks} : j \in Jobs} : d \in Digests} : Becomes(x)
Saved == \E x \in UNION {UNION {OfSaved(k, j) : k \in Ranks} : j \in Jobs} : Becomes(x)
Loaded == \E x \in UNION {UNION {OfLoaded(k, j) : k \in Ranks} : j \in Jobs} : Becomes(x)
Undone == \E x \in UNION {UNION {OfUndone(k, j) : k \in Ranks} : j \in Jobs} : Becomes(x)
Failed == \E x \in UNION {OfFailed(k) : k \in Ranks} : Becomes(x)

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
  /\ \A k \in Rank :
       /\ m.state = "TRAINING" => TrainerTrained_acts(m, k, m.job)
       /\ m.state = "PUBLISHING" => \A d \in Digests : TrainerPublished_acts(m, k, m.job, d)
       /\ m.state = "SAVING" => TrainerSaved_acts(m, k, m.job)
       /\ m.state = "LOADING" => TrainerLoaded_acts(m, k, m.job)
       /\ Works(m.state) => TrainerUndone_acts(m, k, m.job)
       /\ m.state # "FAILED" => TrainerFailed_acts(m, k)
=============================================================================
