\* Made by `sluicegate generate` from the machine Replica; do not edit.
-------------------------------- MODULE Replica --------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* One incarnation of a replica, as the controller sees it.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* ReplicaER_states: the states in which R can apply; ReplicaER_when: R applies; ReplicaER_next: the record
\* after it (absent where R leaves it as it is); ReplicaER_out: what is to be done then, in order (absent
\* where that is nothing).
\*
\* For the event as a whole: ReplicaE_states: the states in which it can change or emit something;
\* ReplicaE_acts: it does so now; ReplicaE_step: then the record after it and what is to be done, a pair, else
\* the empty sequence; ReplicaE: the record after it in any case; ReplicaE_out: what is to be done;
\* ReplicaE_rule: the name of the rule that applies; ReplicaE_refused: whether it is refused.

ReplicaStates == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING", "DEAD"}

\* The record of an instance that was just born.
ReplicaInit(rInit_patience) ==
    [state |-> "STARTING",
     patience |-> rInit_patience,
     version |-> <<>>,
     missed_probes |-> 0,
     installing |-> FALSE]


\* Started() -------------------------------------------------------------------------------------------------
\* Its process answers, and its gate was claimed.

\* starts: goes to SYNCING
ReplicaStartedStarts_states == {"STARTING"}
ReplicaStartedStarts_when(rStarted) == rStarted.state = "STARTING"
ReplicaStartedStarts_next(rStarted) == [rStarted EXCEPT !.state = "SYNCING"]

\* ignore: ignored
ReplicaStartedIgnore_states == {"SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaStartedIgnore_when(rStarted) == rStarted.state \in {"SYNCING", "SERVING", "SUSPECT", "LEAVING"}

\* dead: refused dead
ReplicaStartedDead_states == {"DEAD"}
ReplicaStartedDead_when(rStarted) == rStarted.state = "DEAD"

\* the event as a whole
ReplicaStarted_states == {"STARTING"}
ReplicaStarted_acts(rStarted) == ReplicaStartedStarts_when(rStarted)
ReplicaStarted_step(rStarted) ==
    CASE ReplicaStartedStarts_when(rStarted) -> <<ReplicaStartedStarts_next(rStarted), <<>>>>
      [] OTHER -> <<>>
ReplicaStarted(rStarted) ==
    CASE ReplicaStartedStarts_when(rStarted) -> ReplicaStartedStarts_next(rStarted)
      [] OTHER -> rStarted
ReplicaStarted_rule(rStarted) ==
    CASE ReplicaStartedStarts_when(rStarted) -> "starts"
      [] ReplicaStartedIgnore_when(rStarted) -> "ignore"
      [] ReplicaStartedDead_when(rStarted) -> "dead"
ReplicaStarted_out(rStarted) == <<>>
ReplicaStarted_refused(rStarted) == ReplicaStartedDead_when(rStarted)


\* Synced(version) -------------------------------------------------------------------------------------------
\* Its gate is open at the published version.

\* ignore: ignored
ReplicaSyncedIgnore_states == {"STARTING", "LEAVING"}
ReplicaSyncedIgnore_when(rSynced, rSynced_version) == rSynced.state \in {"STARTING", "LEAVING"}

\* syncs: goes to SERVING
ReplicaSyncedSyncs_states == {"SYNCING", "SUSPECT"}
ReplicaSyncedSyncs_when(rSynced, rSynced_version) == rSynced.state \in {"SYNCING", "SUSPECT"}
ReplicaSyncedSyncs_next(rSynced, rSynced_version) ==
    [rSynced EXCEPT
        !.state = "SERVING",
        !.version = <<rSynced_version>>,
        !.missed_probes = 0,
        !.installing = FALSE]

\* updates: stays
ReplicaSyncedUpdates_states == {"SERVING"}
ReplicaSyncedUpdates_when(rSynced, rSynced_version) == rSynced.state = "SERVING"
ReplicaSyncedUpdates_next(rSynced, rSynced_version) ==
    [rSynced EXCEPT
        !.version = <<rSynced_version>>,
        !.missed_probes = 0,
        !.installing = FALSE]

\* dead: refused dead
ReplicaSyncedDead_states == {"DEAD"}
ReplicaSyncedDead_when(rSynced, rSynced_version) == rSynced.state = "DEAD"

\* the event as a whole
ReplicaSynced_states == {"SYNCING", "SERVING", "SUSPECT"}
ReplicaSynced_acts(rSynced, rSynced_version) ==
    \/ ReplicaSyncedSyncs_when(rSynced, rSynced_version)
    \/ ReplicaSyncedUpdates_when(rSynced, rSynced_version)
ReplicaSynced_step(rSynced, rSynced_version) ==
    CASE ReplicaSyncedSyncs_when(rSynced, rSynced_version) -> <<ReplicaSyncedSyncs_next(rSynced, rSynced_version), <<>>>>
      [] ReplicaSyncedUpdates_when(rSynced, rSynced_version) -> <<ReplicaSyncedUpdates_next(rSynced, rSynced_version), <<>>>>
      [] OTHER -> <<>>
ReplicaSynced(rSynced, rSynced_version) ==
    CASE ReplicaSyncedSyncs_when(rSynced, rSynced_version) -> ReplicaSyncedSyncs_next(rSynced, rSynced_version)
      [] ReplicaSyncedUpdates_when(rSynced, rSynced_version) -> ReplicaSyncedUpdates_next(rSynced, rSynced_version)
      [] OTHER -> rSynced
ReplicaSynced_rule(rSynced, rSynced_version) ==
    CASE ReplicaSyncedIgnore_when(rSynced, rSynced_version) -> "ignore"
      [] ReplicaSyncedSyncs_when(rSynced, rSynced_version) -> "syncs"
      [] ReplicaSyncedUpdates_when(rSynced, rSynced_version) -> "updates"
      [] ReplicaSyncedDead_when(rSynced, rSynced_version) -> "dead"
ReplicaSynced_out(rSynced, rSynced_version) == <<>>
ReplicaSynced_refused(rSynced, rSynced_version) == ReplicaSyncedDead_when(rSynced, rSynced_version)


\* LeftBehind(why) -------------------------------------------------------------------------------------------
\* It left the cohort of an operation: it has to catch up.

\* ignore: ignored
ReplicaLeftBehindIgnore_states == {"STARTING", "SYNCING", "LEAVING", "DEAD"}
ReplicaLeftBehindIgnore_when(rLeftBehind) == rLeftBehind.state \in {"STARTING", "SYNCING", "LEAVING", "DEAD"}

\* falls_behind: goes to SYNCING
ReplicaLeftBehindFallsBehind_states == {"SERVING", "SUSPECT"}
ReplicaLeftBehindFallsBehind_when(rLeftBehind) == rLeftBehind.state \in {"SERVING", "SUSPECT"}
ReplicaLeftBehindFallsBehind_next(rLeftBehind) == [rLeftBehind EXCEPT !.state = "SYNCING"]

\* the event as a whole
ReplicaLeftBehind_states == {"SERVING", "SUSPECT"}
ReplicaLeftBehind_acts(rLeftBehind) == ReplicaLeftBehindFallsBehind_when(rLeftBehind)
ReplicaLeftBehind_step(rLeftBehind) ==
    CASE ReplicaLeftBehindFallsBehind_when(rLeftBehind) -> <<ReplicaLeftBehindFallsBehind_next(rLeftBehind), <<>>>>
      [] OTHER -> <<>>
ReplicaLeftBehind(rLeftBehind) ==
    CASE ReplicaLeftBehindFallsBehind_when(rLeftBehind) -> ReplicaLeftBehindFallsBehind_next(rLeftBehind)
      [] OTHER -> rLeftBehind
ReplicaLeftBehind_rule(rLeftBehind) ==
    CASE ReplicaLeftBehindIgnore_when(rLeftBehind) -> "ignore"
      [] ReplicaLeftBehindFallsBehind_when(rLeftBehind) -> "falls_behind"
ReplicaLeftBehind_out(rLeftBehind) == <<>>
ReplicaLeftBehind_refused(rLeftBehind) == FALSE


\* Answered(installing) --------------------------------------------------------------------------------------
\* It answered a probe, and said whether it installs.

\* answers: stays
ReplicaAnsweredAnswers_states == {"STARTING", "SYNCING", "SERVING", "LEAVING"}
ReplicaAnsweredAnswers_when(rAnswered, rAnswered_installing) ==
    rAnswered.state \in {"STARTING", "SYNCING", "SERVING", "LEAVING"}
ReplicaAnsweredAnswers_next(rAnswered, rAnswered_installing) ==
    [rAnswered EXCEPT !.missed_probes = 0, !.installing = rAnswered_installing]

\* recovers: goes to SERVING
ReplicaAnsweredRecovers_states == {"SUSPECT"}
ReplicaAnsweredRecovers_when(rAnswered, rAnswered_installing) == rAnswered.state = "SUSPECT"
ReplicaAnsweredRecovers_next(rAnswered, rAnswered_installing) ==
    [rAnswered EXCEPT
        !.state = "SERVING",
        !.missed_probes = 0,
        !.installing = rAnswered_installing]

\* ignore: ignored
ReplicaAnsweredIgnore_states == {"DEAD"}
ReplicaAnsweredIgnore_when(rAnswered, rAnswered_installing) == rAnswered.state = "DEAD"

\* the event as a whole
ReplicaAnswered_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaAnswered_acts(rAnswered, rAnswered_installing) ==
    \/ ReplicaAnsweredAnswers_when(rAnswered, rAnswered_installing)
    \/ ReplicaAnsweredRecovers_when(rAnswered, rAnswered_installing)
ReplicaAnswered_step(rAnswered, rAnswered_installing) ==
    CASE ReplicaAnsweredAnswers_when(rAnswered, rAnswered_installing) -> <<ReplicaAnsweredAnswers_next(rAnswered, rAnswered_installing), <<>>>>
      [] ReplicaAnsweredRecovers_when(rAnswered, rAnswered_installing) -> <<ReplicaAnsweredRecovers_next(rAnswered, rAnswered_installing), <<>>>>
      [] OTHER -> <<>>
ReplicaAnswered(rAnswered, rAnswered_installing) ==
    CASE ReplicaAnsweredAnswers_when(rAnswered, rAnswered_installing) -> ReplicaAnsweredAnswers_next(rAnswered, rAnswered_installing)
      [] ReplicaAnsweredRecovers_when(rAnswered, rAnswered_installing) -> ReplicaAnsweredRecovers_next(rAnswered, rAnswered_installing)
      [] OTHER -> rAnswered
ReplicaAnswered_rule(rAnswered, rAnswered_installing) ==
    CASE ReplicaAnsweredAnswers_when(rAnswered, rAnswered_installing) -> "answers"
      [] ReplicaAnsweredRecovers_when(rAnswered, rAnswered_installing) -> "recovers"
      [] ReplicaAnsweredIgnore_when(rAnswered, rAnswered_installing) -> "ignore"
ReplicaAnswered_out(rAnswered, rAnswered_installing) == <<>>
ReplicaAnswered_refused(rAnswered, rAnswered_installing) == FALSE


\* Missed() --------------------------------------------------------------------------------------------------
\* It did not answer a probe.

\* misses: stays
ReplicaMissedMisses_states == {"STARTING", "SYNCING", "SUSPECT"}
ReplicaMissedMisses_when(rMissed) ==
    /\ rMissed.state \in {"STARTING", "SYNCING", "SUSPECT"}
    /\ ~rMissed.installing
    /\ rMissed.patience > (rMissed.missed_probes + 1)
ReplicaMissedMisses_next(rMissed) == [rMissed EXCEPT !.missed_probes = rMissed.missed_probes + 1]

\* misses_2: goes to DEAD
ReplicaMissedMisses2_states == {"STARTING", "SYNCING", "SUSPECT"}
ReplicaMissedMisses2_when(rMissed) ==
    /\ rMissed.state \in {"STARTING", "SYNCING", "SUSPECT"}
    /\ ~rMissed.installing
    /\ rMissed.patience <= (rMissed.missed_probes + 1)
ReplicaMissedMisses2_next(rMissed) == [rMissed EXCEPT !.state = "DEAD"]
ReplicaMissedMisses2_out(rMissed) == <<[out |-> "StopProcess"], [out |-> "Replace"]>>

\* misses_ignore: ignored
ReplicaMissedMissesIgnore_states == {"STARTING", "SYNCING", "SUSPECT"}
ReplicaMissedMissesIgnore_when(rMissed) ==
    /\ rMissed.state \in {"STARTING", "SYNCING", "SUSPECT"}
    /\ ~((~rMissed.installing) /\ (rMissed.patience > (rMissed.missed_probes + 1)))
    /\ ~((~rMissed.installing) /\ (rMissed.patience <= (rMissed.missed_probes + 1)))

\* misses_serving: goes to SUSPECT
ReplicaMissedMissesServing_states == {"SERVING"}
ReplicaMissedMissesServing_when(rMissed) ==
    /\ rMissed.state = "SERVING"
    /\ ~rMissed.installing
    /\ rMissed.patience > (rMissed.missed_probes + 1)
ReplicaMissedMissesServing_next(rMissed) ==
    [rMissed EXCEPT !.state = "SUSPECT", !.missed_probes = rMissed.missed_probes + 1]

\* misses_serving_2: goes to DEAD
ReplicaMissedMissesServing2_states == {"SERVING"}
ReplicaMissedMissesServing2_when(rMissed) ==
    /\ rMissed.state = "SERVING"
    /\ ~rMissed.installing
    /\ rMissed.patience <= (rMissed.missed_probes + 1)
ReplicaMissedMissesServing2_next(rMissed) == [rMissed EXCEPT !.state = "DEAD"]
ReplicaMissedMissesServing2_out(rMissed) == <<[out |-> "StopProcess"], [out |-> "Replace"]>>

\* misses_serving_ignore: ignored
ReplicaMissedMissesServingIgnore_states == {"SERVING"}
ReplicaMissedMissesServingIgnore_when(rMissed) ==
    /\ rMissed.state = "SERVING"
    /\ ~((~rMissed.installing) /\ (rMissed.patience > (rMissed.missed_probes + 1)))
    /\ ~((~rMissed.installing) /\ (rMissed.patience <= (rMissed.missed_probes + 1)))

\* misses_leaving: stays
ReplicaMissedMissesLeaving_states == {"LEAVING"}
ReplicaMissedMissesLeaving_when(rMissed) ==
    /\ rMissed.state = "LEAVING"
    /\ ~rMissed.installing
    /\ rMissed.patience > (rMissed.missed_probes + 1)
ReplicaMissedMissesLeaving_next(rMissed) == [rMissed EXCEPT !.missed_probes = rMissed.missed_probes + 1]

\* misses_leaving_2: goes to DEAD
ReplicaMissedMissesLeaving2_states == {"LEAVING"}
ReplicaMissedMissesLeaving2_when(rMissed) ==
    /\ rMissed.state = "LEAVING"
    /\ ~rMissed.installing
    /\ rMissed.patience <= (rMissed.missed_probes + 1)
ReplicaMissedMissesLeaving2_next(rMissed) == [rMissed EXCEPT !.state = "DEAD"]
ReplicaMissedMissesLeaving2_out(rMissed) == <<[out |-> "StopProcess"]>>

\* misses_leaving_ignore: ignored
ReplicaMissedMissesLeavingIgnore_states == {"LEAVING"}
ReplicaMissedMissesLeavingIgnore_when(rMissed) ==
    /\ rMissed.state = "LEAVING"
    /\ ~((~rMissed.installing) /\ (rMissed.patience > (rMissed.missed_probes + 1)))
    /\ ~((~rMissed.installing) /\ (rMissed.patience <= (rMissed.missed_probes + 1)))

\* ignore: ignored
ReplicaMissedIgnore_states == {"DEAD"}
ReplicaMissedIgnore_when(rMissed) == rMissed.state = "DEAD"

\* the event as a whole
ReplicaMissed_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaMissed_acts(rMissed) ==
    \/ ReplicaMissedMisses_when(rMissed)
    \/ ReplicaMissedMisses2_when(rMissed)
    \/ ReplicaMissedMissesServing_when(rMissed)
    \/ ReplicaMissedMissesServing2_when(rMissed)
    \/ ReplicaMissedMissesLeaving_when(rMissed)
    \/ ReplicaMissedMissesLeaving2_when(rMissed)
ReplicaMissed_step(rMissed) ==
    CASE ReplicaMissedMisses_when(rMissed) -> <<ReplicaMissedMisses_next(rMissed), <<>>>>
      [] ReplicaMissedMisses2_when(rMissed) -> <<ReplicaMissedMisses2_next(rMissed), ReplicaMissedMisses2_out(rMissed)>>
      [] ReplicaMissedMissesServing_when(rMissed) -> <<ReplicaMissedMissesServing_next(rMissed), <<>>>>
      [] ReplicaMissedMissesServing2_when(rMissed) -> <<ReplicaMissedMissesServing2_next(rMissed), ReplicaMissedMissesServing2_out(rMissed)>>
      [] ReplicaMissedMissesLeaving_when(rMissed) -> <<ReplicaMissedMissesLeaving_next(rMissed), <<>>>>
      [] ReplicaMissedMissesLeaving2_when(rMissed) -> <<ReplicaMissedMissesLeaving2_next(rMissed), ReplicaMissedMissesLeaving2_out(rMissed)>>
      [] OTHER -> <<>>
ReplicaMissed(rMissed) ==
    CASE ReplicaMissedMisses_when(rMissed) -> ReplicaMissedMisses_next(rMissed)
      [] ReplicaMissedMisses2_when(rMissed) -> ReplicaMissedMisses2_next(rMissed)
      [] ReplicaMissedMissesServing_when(rMissed) -> ReplicaMissedMissesServing_next(rMissed)
      [] ReplicaMissedMissesServing2_when(rMissed) -> ReplicaMissedMissesServing2_next(rMissed)
      [] ReplicaMissedMissesLeaving_when(rMissed) -> ReplicaMissedMissesLeaving_next(rMissed)
      [] ReplicaMissedMissesLeaving2_when(rMissed) -> ReplicaMissedMissesLeaving2_next(rMissed)
      [] OTHER -> rMissed
ReplicaMissed_rule(rMissed) ==
    CASE ReplicaMissedMisses_when(rMissed) -> "misses"
      [] ReplicaMissedMisses2_when(rMissed) -> "misses_2"
      [] ReplicaMissedMissesIgnore_when(rMissed) -> "misses_ignore"
      [] ReplicaMissedMissesServing_when(rMissed) -> "misses_serving"
      [] ReplicaMissedMissesServing2_when(rMissed) -> "misses_serving_2"
      [] ReplicaMissedMissesServingIgnore_when(rMissed) -> "misses_serving_ignore"
      [] ReplicaMissedMissesLeaving_when(rMissed) -> "misses_leaving"
      [] ReplicaMissedMissesLeaving2_when(rMissed) -> "misses_leaving_2"
      [] ReplicaMissedMissesLeavingIgnore_when(rMissed) -> "misses_leaving_ignore"
      [] ReplicaMissedIgnore_when(rMissed) -> "ignore"
ReplicaMissed_out(rMissed) ==
    CASE ReplicaMissedMisses2_when(rMissed) -> ReplicaMissedMisses2_out(rMissed)
      [] ReplicaMissedMissesServing2_when(rMissed) -> ReplicaMissedMissesServing2_out(rMissed)
      [] ReplicaMissedMissesLeaving2_when(rMissed) -> ReplicaMissedMissesLeaving2_out(rMissed)
      [] OTHER -> <<>>
ReplicaMissed_refused(rMissed) == FALSE


\* Overdue() -------------------------------------------------------------------------------------------------
\* The window of its install is over.

\* overdue: stays
ReplicaOverdueOverdue_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaOverdueOverdue_when(rOverdue) ==
    rOverdue.state \in {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaOverdueOverdue_next(rOverdue) == [rOverdue EXCEPT !.installing = FALSE]

\* ignore: ignored
ReplicaOverdueIgnore_states == {"DEAD"}
ReplicaOverdueIgnore_when(rOverdue) == rOverdue.state = "DEAD"

\* the event as a whole
ReplicaOverdue_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaOverdue_acts(rOverdue) == ReplicaOverdueOverdue_when(rOverdue)
ReplicaOverdue_step(rOverdue) ==
    CASE ReplicaOverdueOverdue_when(rOverdue) -> <<ReplicaOverdueOverdue_next(rOverdue), <<>>>>
      [] OTHER -> <<>>
ReplicaOverdue(rOverdue) ==
    CASE ReplicaOverdueOverdue_when(rOverdue) -> ReplicaOverdueOverdue_next(rOverdue)
      [] OTHER -> rOverdue
ReplicaOverdue_rule(rOverdue) ==
    CASE ReplicaOverdueOverdue_when(rOverdue) -> "overdue"
      [] ReplicaOverdueIgnore_when(rOverdue) -> "ignore"
ReplicaOverdue_out(rOverdue) == <<>>
ReplicaOverdue_refused(rOverdue) == FALSE


\* Poisoned(why) ---------------------------------------------------------------------------------------------
\* Its gate is poisoned.

\* dies: goes to DEAD
ReplicaPoisonedDies_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT"}
ReplicaPoisonedDies_when(rPoisoned) == rPoisoned.state \in {"STARTING", "SYNCING", "SERVING", "SUSPECT"}
ReplicaPoisonedDies_next(rPoisoned) == [rPoisoned EXCEPT !.state = "DEAD"]
ReplicaPoisonedDies_out(rPoisoned) == <<[out |-> "StopProcess"], [out |-> "Replace"]>>

\* dies_leaving: goes to DEAD
ReplicaPoisonedDiesLeaving_states == {"LEAVING"}
ReplicaPoisonedDiesLeaving_when(rPoisoned) == rPoisoned.state = "LEAVING"
ReplicaPoisonedDiesLeaving_next(rPoisoned) == [rPoisoned EXCEPT !.state = "DEAD"]
ReplicaPoisonedDiesLeaving_out(rPoisoned) == <<[out |-> "StopProcess"]>>

\* ignore: ignored
ReplicaPoisonedIgnore_states == {"DEAD"}
ReplicaPoisonedIgnore_when(rPoisoned) == rPoisoned.state = "DEAD"

\* the event as a whole
ReplicaPoisoned_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaPoisoned_acts(rPoisoned) ==
    \/ ReplicaPoisonedDies_when(rPoisoned)
    \/ ReplicaPoisonedDiesLeaving_when(rPoisoned)
ReplicaPoisoned_step(rPoisoned) ==
    CASE ReplicaPoisonedDies_when(rPoisoned) -> <<ReplicaPoisonedDies_next(rPoisoned), ReplicaPoisonedDies_out(rPoisoned)>>
      [] ReplicaPoisonedDiesLeaving_when(rPoisoned) -> <<ReplicaPoisonedDiesLeaving_next(rPoisoned), ReplicaPoisonedDiesLeaving_out(rPoisoned)>>
      [] OTHER -> <<>>
ReplicaPoisoned(rPoisoned) ==
    CASE ReplicaPoisonedDies_when(rPoisoned) -> ReplicaPoisonedDies_next(rPoisoned)
      [] ReplicaPoisonedDiesLeaving_when(rPoisoned) -> ReplicaPoisonedDiesLeaving_next(rPoisoned)
      [] OTHER -> rPoisoned
ReplicaPoisoned_rule(rPoisoned) ==
    CASE ReplicaPoisonedDies_when(rPoisoned) -> "dies"
      [] ReplicaPoisonedDiesLeaving_when(rPoisoned) -> "dies_leaving"
      [] ReplicaPoisonedIgnore_when(rPoisoned) -> "ignore"
ReplicaPoisoned_out(rPoisoned) ==
    CASE ReplicaPoisonedDies_when(rPoisoned) -> ReplicaPoisonedDies_out(rPoisoned)
      [] ReplicaPoisonedDiesLeaving_when(rPoisoned) -> ReplicaPoisonedDiesLeaving_out(rPoisoned)
      [] OTHER -> <<>>
ReplicaPoisoned_refused(rPoisoned) == FALSE


\* Exited(why) -----------------------------------------------------------------------------------------------
\* Its process has ended.

\* dies: goes to DEAD
ReplicaExitedDies_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT"}
ReplicaExitedDies_when(rExited) == rExited.state \in {"STARTING", "SYNCING", "SERVING", "SUSPECT"}
ReplicaExitedDies_next(rExited) == [rExited EXCEPT !.state = "DEAD"]
ReplicaExitedDies_out(rExited) == <<[out |-> "StopProcess"], [out |-> "Replace"]>>

\* dies_leaving: goes to DEAD
ReplicaExitedDiesLeaving_states == {"LEAVING"}
ReplicaExitedDiesLeaving_when(rExited) == rExited.state = "LEAVING"
ReplicaExitedDiesLeaving_next(rExited) == [rExited EXCEPT !.state = "DEAD"]
ReplicaExitedDiesLeaving_out(rExited) == <<[out |-> "StopProcess"]>>

\* ignore: ignored
ReplicaExitedIgnore_states == {"DEAD"}
ReplicaExitedIgnore_when(rExited) == rExited.state = "DEAD"

\* the event as a whole
ReplicaExited_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "LEAVING"}
ReplicaExited_acts(rExited) ==
    \/ ReplicaExitedDies_when(rExited)
    \/ ReplicaExitedDiesLeaving_when(rExited)
ReplicaExited_step(rExited) ==
    CASE ReplicaExitedDies_when(rExited) -> <<ReplicaExitedDies_next(rExited), ReplicaExitedDies_out(rExited)>>
      [] ReplicaExitedDiesLeaving_when(rExited) -> <<ReplicaExitedDiesLeaving_next(rExited), ReplicaExitedDiesLeaving_out(rExited)>>
      [] OTHER -> <<>>
ReplicaExited(rExited) ==
    CASE ReplicaExitedDies_when(rExited) -> ReplicaExitedDies_next(rExited)
      [] ReplicaExitedDiesLeaving_when(rExited) -> ReplicaExitedDiesLeaving_next(rExited)
      [] OTHER -> rExited
ReplicaExited_rule(rExited) ==
    CASE ReplicaExitedDies_when(rExited) -> "dies"
      [] ReplicaExitedDiesLeaving_when(rExited) -> "dies_leaving"
      [] ReplicaExitedIgnore_when(rExited) -> "ignore"
ReplicaExited_out(rExited) ==
    CASE ReplicaExitedDies_when(rExited) -> ReplicaExitedDies_out(rExited)
      [] ReplicaExitedDiesLeaving_when(rExited) -> ReplicaExitedDiesLeaving_out(rExited)
      [] OTHER -> <<>>
ReplicaExited_refused(rExited) == FALSE


\* Leave() ---------------------------------------------------------------------------------------------------
\* The replica is to leave as planned.

\* leaves_unused: goes to DEAD
ReplicaLeaveLeavesUnused_states == {"STARTING"}
ReplicaLeaveLeavesUnused_when(rLeave) == rLeave.state = "STARTING"
ReplicaLeaveLeavesUnused_next(rLeave) == [rLeave EXCEPT !.state = "DEAD"]
ReplicaLeaveLeavesUnused_out(rLeave) == <<[out |-> "StopProcess"]>>

\* leaves: goes to LEAVING
ReplicaLeaveLeaves_states == {"SYNCING", "SERVING", "SUSPECT"}
ReplicaLeaveLeaves_when(rLeave) == rLeave.state \in {"SYNCING", "SERVING", "SUSPECT"}
ReplicaLeaveLeaves_next(rLeave) == [rLeave EXCEPT !.state = "LEAVING"]
ReplicaLeaveLeaves_out(rLeave) == <<[out |-> "Evacuate"]>>

\* ignore: ignored
ReplicaLeaveIgnore_states == {"LEAVING"}
ReplicaLeaveIgnore_when(rLeave) == rLeave.state = "LEAVING"

\* dead: refused dead
ReplicaLeaveDead_states == {"DEAD"}
ReplicaLeaveDead_when(rLeave) == rLeave.state = "DEAD"

\* the event as a whole
ReplicaLeave_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT"}
ReplicaLeave_acts(rLeave) ==
    \/ ReplicaLeaveLeavesUnused_when(rLeave)
    \/ ReplicaLeaveLeaves_when(rLeave)
ReplicaLeave_step(rLeave) ==
    CASE ReplicaLeaveLeavesUnused_when(rLeave) -> <<ReplicaLeaveLeavesUnused_next(rLeave), ReplicaLeaveLeavesUnused_out(rLeave)>>
      [] ReplicaLeaveLeaves_when(rLeave) -> <<ReplicaLeaveLeaves_next(rLeave), ReplicaLeaveLeaves_out(rLeave)>>
      [] OTHER -> <<>>
ReplicaLeave(rLeave) ==
    CASE ReplicaLeaveLeavesUnused_when(rLeave) -> ReplicaLeaveLeavesUnused_next(rLeave)
      [] ReplicaLeaveLeaves_when(rLeave) -> ReplicaLeaveLeaves_next(rLeave)
      [] OTHER -> rLeave
ReplicaLeave_rule(rLeave) ==
    CASE ReplicaLeaveLeavesUnused_when(rLeave) -> "leaves_unused"
      [] ReplicaLeaveLeaves_when(rLeave) -> "leaves"
      [] ReplicaLeaveIgnore_when(rLeave) -> "ignore"
      [] ReplicaLeaveDead_when(rLeave) -> "dead"
ReplicaLeave_out(rLeave) ==
    CASE ReplicaLeaveLeavesUnused_when(rLeave) -> ReplicaLeaveLeavesUnused_out(rLeave)
      [] ReplicaLeaveLeaves_when(rLeave) -> ReplicaLeaveLeaves_out(rLeave)
      [] OTHER -> <<>>
ReplicaLeave_refused(rLeave) == ReplicaLeaveDead_when(rLeave)


\* Evacuated() -----------------------------------------------------------------------------------------------
\* No session needs it any more.

\* ignore: ignored
ReplicaEvacuatedIgnore_states == {"STARTING", "SYNCING", "SERVING", "SUSPECT", "DEAD"}
ReplicaEvacuatedIgnore_when(rEvacuated) ==
    rEvacuated.state \in {"STARTING", "SYNCING", "SERVING", "SUSPECT", "DEAD"}

\* dies_leaving: goes to DEAD
ReplicaEvacuatedDiesLeaving_states == {"LEAVING"}
ReplicaEvacuatedDiesLeaving_when(rEvacuated) == rEvacuated.state = "LEAVING"
ReplicaEvacuatedDiesLeaving_next(rEvacuated) == [rEvacuated EXCEPT !.state = "DEAD"]
ReplicaEvacuatedDiesLeaving_out(rEvacuated) == <<[out |-> "StopProcess"]>>

\* the event as a whole
ReplicaEvacuated_states == {"LEAVING"}
ReplicaEvacuated_acts(rEvacuated) == ReplicaEvacuatedDiesLeaving_when(rEvacuated)
ReplicaEvacuated_step(rEvacuated) ==
    CASE ReplicaEvacuatedDiesLeaving_when(rEvacuated) -> <<ReplicaEvacuatedDiesLeaving_next(rEvacuated), ReplicaEvacuatedDiesLeaving_out(rEvacuated)>>
      [] OTHER -> <<>>
ReplicaEvacuated(rEvacuated) ==
    CASE ReplicaEvacuatedDiesLeaving_when(rEvacuated) -> ReplicaEvacuatedDiesLeaving_next(rEvacuated)
      [] OTHER -> rEvacuated
ReplicaEvacuated_rule(rEvacuated) ==
    CASE ReplicaEvacuatedIgnore_when(rEvacuated) -> "ignore"
      [] ReplicaEvacuatedDiesLeaving_when(rEvacuated) -> "dies_leaving"
ReplicaEvacuated_out(rEvacuated) ==
    CASE ReplicaEvacuatedDiesLeaving_when(rEvacuated) -> ReplicaEvacuatedDiesLeaving_out(rEvacuated)
      [] OTHER -> <<>>
ReplicaEvacuated_refused(rEvacuated) == FALSE

================================================================================
