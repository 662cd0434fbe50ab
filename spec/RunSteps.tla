------------------------------ MODULE RunSteps ------------------------------
(* One run, and everybody who may tell it anything, at any time: answers to
   what it asked for, of any version and update, also to what it did not ask.

   Runs asks what comes of whole runs. This holds each single step to the
   contract, by what it changed and what it put out, never by the rule that
   did it: what it does now, and what it asks for next.

   Left out: groups, weights, checkpoints and devices, which are in Runs. *)
EXTENDS Run, Naturals, Sequences

CONSTANTS
  Placements,  \* of BOOLEAN: whether devices are shared
  Stages,      \* how much of a run is done
  Goals,       \* how many updates are to be made, 0: without end
  Saves,       \* every so many updates a checkpoint, 0: never
  Syncs,       \* every so many updates new weights
  MaxUpdate, MaxVersion

VARIABLES
  m            \* the run

vars == <<m>>

Updates == 0..MaxUpdate
Versions == 0..MaxVersion

Goal(g) == IF g = 0 THEN <<>> ELSE <<g>>

Init ==
  \E c \in Placements : \E s \in Stages : \E g \in Goals : \E e \in Saves : \E y \in Syncs :
    m = RunInit(c, s, Goal(g), e, y)

-----------------------------------------------------------------------------
(* What the contract wants: what it becomes, and what it asks for. *)

Asks(name) == <<[out |-> name]>>
Of(name, number) == <<[out |-> name, update |-> number]>>

IsLast(n) == m.goal # <<>> /\ n >= m.goal[1]
Due(next, kept) == m.save_every # 0 /\ (next >= kept + m.save_every \/ m.goal = <<next>>)

\* What it becomes where the next update is this, and what it asks for.
Gathers(then, at) ==
  <<[then EXCEPT !.state = "PRODUCING", !.update = at, !.due = Due(at, then.kept)],
    <<[out |-> "StartGather", update |-> at, due |-> Due(at, then.kept)]>>>>

Ends(last) == <<[last EXCEPT !.state = "ENDING"], Asks("StartEnd")>>
Trains(x) == <<[x EXCEPT !.state = "TRAINING"], Of("StartTrain", x.update)>>
Syncing(y, w) == <<[y EXCEPT !.state = "SYNCING"], <<[out |-> "StartSync", version |-> w]>>>>

\* After an update, and its checkpoint: the next, or the end.
Further(z) == IF IsLast(z.update) THEN Ends(z) ELSE Gathers(z, z.update + 1)

\* The update is done but for its checkpoint.
Made(made) == IF made.due THEN <<[made EXCEPT !.state = "SAVING"], Of("StartSave", made.update)>> ELSE Further(made)

Whole == m.stage = "whole"
Renews == IsLast(m.update) \/ m.update >= m.renewed + m.sync_every

AfterStarted(u, v) ==
  IF m.state # "STARTING" THEN <<>>
  ELSE IF IsLast(u) THEN Ends([m EXCEPT !.update = u, !.version = <<v>>])
  ELSE Gathers([m EXCEPT !.version = <<v>>, !.kept = u, !.renewed = u], u + 1)

AfterGathered ==
  IF m.state # "PRODUCING" THEN <<>>
  ELSE IF m.stage = "rollout_only" THEN Made(m)
  ELSE IF Whole /\ m.colocated THEN <<[m EXCEPT !.state = "LENDING"], Asks("StartLend")>>
  ELSE Trains(m)

AfterLent == IF m.state = "LENDING" THEN Trains(m) ELSE <<>>

AfterTrained ==
  IF m.state # "TRAINING" THEN <<>>
  ELSE IF Whole /\ Renews THEN <<[m EXCEPT !.state = "PUBLISHING"], Of("StartPublish", m.update)>>
  ELSE IF Whole /\ m.colocated THEN Syncing(m, m.version[1])
  ELSE Made(m)

AfterPublished(v) ==
  IF m.state = "PUBLISHING" /\ m.version[1] < v THEN Syncing([m EXCEPT !.version = <<v>>, !.renewed = m.update], v)
  ELSE <<>>

AfterSynced(v) == IF m.state = "SYNCING" /\ m.version = <<v>> THEN Made(m) ELSE <<>>

\* At the end no further checkpoint is due.
AfterSaved ==
  IF m.state # "SAVING" THEN <<>>
  ELSE IF IsLast(m.update) THEN Ends([m EXCEPT !.kept = m.update, !.due = FALSE])
  ELSE Further([m EXCEPT !.kept = m.update])

AfterNotSaved == IF m.state = "SAVING" THEN Further(m) ELSE <<>>

\* The same is asked for again.
AfterUndone ==
  CASE m.state = "PRODUCING"  -> <<m, <<[out |-> "StartGather", update |-> m.update, due |-> m.due]>>>>
    [] m.state = "LENDING"    -> <<m, Asks("StartLend")>>
    [] m.state = "TRAINING"   -> <<m, Of("StartTrain", m.update)>>
    [] m.state = "PUBLISHING" -> <<m, Of("StartPublish", m.update)>>
    [] m.state = "SYNCING"    -> <<m, <<[out |-> "StartSync", version |-> m.version[1]]>>>>
    [] m.state = "SAVING"     -> <<m, Of("StartSave", m.update)>>
    [] m.state = "RESTORING"  -> <<m, Asks("StartRestore")>>
    [] OTHER                  -> <<>>

Works == {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
Over == {"ENDING", "ENDED", "FAILED"}

AfterTrainerLost == IF m.state \in Works THEN <<[m EXCEPT !.state = "RESTORING"], Asks("StartRestore")>> ELSE <<>>

\* The checkpoint's weights are served before anything is produced for the next update.
AfterRestored(u, v) ==
  LET back == [m EXCEPT !.update = u, !.kept = u]
      whole == [back EXCEPT !.renewed = u, !.version = <<v>>, !.due = FALSE]
  IN IF m.state # "RESTORING" \/ u > m.update THEN <<>>
     ELSE IF Whole THEN (IF m.version[1] < v THEN Syncing(whole, v) ELSE <<>>)
     ELSE IF IsLast(u) THEN Ends([back EXCEPT !.due = FALSE])
     ELSE Gathers(back, u + 1)

AfterStop == IF m.state \in Over THEN <<>> ELSE Ends(m)

AfterFailed ==
  IF m.state \in {"ENDED", "FAILED"} THEN <<>>
  ELSE <<[m EXCEPT !.state = "FAILED"], IF m.state = "ENDING" THEN <<>> ELSE Asks("StartEnd")>>

AfterEnded == IF m.state = "ENDING" THEN <<[m EXCEPT !.state = "ENDED"], <<>>>> ELSE <<>>

-----------------------------------------------------------------------------
(* What the table does. *)

Becomes(x) == m' = x

\* Updates above these are not looked at.
Room(x) == x.update <= MaxUpdate

Started ==
  \E u \in Updates : \E v \in Versions :
    RunStarted_acts(m, u, v) /\ Room(RunStarted(m, u, v)) /\ Becomes(RunStarted(m, u, v))
Gathered == RunGathered_acts(m) /\ Room(RunGathered(m)) /\ Becomes(RunGathered(m))
Lent == RunLent_acts(m) /\ Becomes(RunLent(m))
Trained == RunTrained_acts(m) /\ Room(RunTrained(m)) /\ Becomes(RunTrained(m))
Published == \E v \in Versions : RunPublished_acts(m, v) /\ Becomes(RunPublished(m, v))
Synced == \E v \in Versions : RunSynced_acts(m, v) /\ Room(RunSynced(m, v)) /\ Becomes(RunSynced(m, v))
Saved == RunSaved_acts(m) /\ Room(RunSaved(m)) /\ Becomes(RunSaved(m))
NotSaved == RunNotSaved_acts(m) /\ Room(RunNotSaved(m)) /\ Becomes(RunNotSaved(m))
TrainerLost == RunTrainerLost_acts(m) /\ Becomes(RunTrainerLost(m))
Restored ==
  \E u \in Updates : \E v \in Versions :
    RunRestored_acts(m, u, v) /\ Room(RunRestored(m, u, v)) /\ Becomes(RunRestored(m, u, v))
Stop == RunStop_acts(m) /\ Becomes(RunStop(m))
Failed == RunFailed_acts(m) /\ Becomes(RunFailed(m))
Ended == RunEnded_acts(m) /\ Becomes(RunEnded(m))

Next ==
  \/ Started \/ Gathered \/ Lent \/ Trained \/ Published \/ Synced \/ Saved \/ NotSaved \/ TrainerLost \/ Restored
  \/ Stop \/ Failed \/ Ended

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* What is taken is taken there, changes what it is about, and asks for what comes next; what is not, changes nothing.
EveryStep ==
  /\ \A u \in Updates : \A v \in Versions :
       /\ RunStarted_step(m, u, v) = AfterStarted(u, v)
       /\ RunRestored_step(m, u, v) = AfterRestored(u, v)
  /\ \A v \in Versions :
       /\ RunPublished_step(m, v) = AfterPublished(v)
       /\ RunSynced_step(m, v) = AfterSynced(v)
  /\ RunGathered_step(m) = AfterGathered
  /\ RunLent_step(m) = AfterLent
  /\ RunTrained_step(m) = AfterTrained
  /\ RunSaved_step(m) = AfterSaved
  /\ RunNotSaved_step(m) = AfterNotSaved
  /\ RunUndone_step(m) = AfterUndone
  /\ RunTrainerLost_step(m) = AfterTrainerLost
  /\ RunStop_step(m) = AfterStop
  /\ RunFailed_step(m) = AfterFailed
  /\ RunEnded_step(m) = AfterEnded

\* It never waits for nothing: what works can be answered, what is over stays so.
Obeys ==
  /\ m.state = "PRODUCING" => RunGathered_acts(m)
  /\ m.state \in Works => (RunTrainerLost_acts(m) /\ RunUndone_acts(m))
  /\ m.state \notin Over => (RunStop_acts(m) /\ RunFailed_acts(m))
=============================================================================
