\* Made by `sluicegate generate` from the machine Run; do not edit.
---------------------------------- MODULE Run ----------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* The life of a training run, step by step.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* RunER_states: the states in which R can apply; RunER_when: R applies; RunER_next: the record after it
\* (absent where R leaves it as it is); RunER_out: what is to be done then, in order (absent where that is
\* nothing).
\*
\* For the event as a whole: RunE_states: the states in which it can change or emit something; RunE_acts: it
\* does so now; RunE_step: then the record after it and what is to be done, a pair, else the empty sequence;
\* RunE: the record after it in any case; RunE_out: what is to be done; RunE_rule: the name of the rule that
\* applies; RunE_refused: whether it is refused.

RunStates == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING", "ENDING", "ENDED", "FAILED"}

\* The record of an instance that was just born.
RunInit(rInit_colocated, rInit_stage, rInit_goal, rInit_save_every, rInit_sync_every) ==
    [state |-> "STARTING",
     colocated |-> rInit_colocated,
     stage |-> rInit_stage,
     goal |-> rInit_goal,
     save_every |-> rInit_save_every,
     sync_every |-> rInit_sync_every,
     update |-> 0,
     kept |-> 0,
     renewed |-> 0,
     version |-> <<>>,
     due |-> FALSE]


\* Started(update, version) ----------------------------------------------------------------------------------
\* Every process is there, and the version is served; so many updates were made before.

\* starts: goes to ENDING
RunStartedStarts_states == {"STARTING"}
RunStartedStarts_when(rStarted, rStarted_update, rStarted_version) ==
    /\ rStarted.state = "STARTING"
    /\ rStarted.goal # <<>>
    /\ (IF rStarted.goal = <<>> THEN 0 ELSE rStarted.goal[1]) <= rStarted_update
RunStartedStarts_next(rStarted, rStarted_update, rStarted_version) ==
    [rStarted EXCEPT
        !.state = "ENDING",
        !.update = rStarted_update,
        !.version = <<rStarted_version>>]
RunStartedStarts_out(rStarted, rStarted_update, rStarted_version) == <<[out |-> "StartEnd"]>>

\* starts_otherwise: goes to PRODUCING
RunStartedStartsOtherwise_states == {"STARTING"}
RunStartedStartsOtherwise_when(rStarted, rStarted_update, rStarted_version) ==
    /\ rStarted.state = "STARTING"
    /\ ~((rStarted.goal # <<>>) /\ ((IF rStarted.goal = <<>> THEN 0 ELSE rStarted.goal[1]) <= rStarted_update))
RunStartedStartsOtherwise_next(rStarted, rStarted_update, rStarted_version) ==
    [rStarted EXCEPT
        !.state = "PRODUCING",
        !.update = rStarted_update + 1,
        !.kept = rStarted_update,
        !.renewed = rStarted_update,
        !.version = <<rStarted_version>>,
        !.due = (1 <= rStarted.save_every) /\ ((rStarted.save_every <= 1) \/ ((IF rStarted.goal = <<>> THEN 0 ELSE rStarted.goal[1]) = (rStarted_update + 1)))]
RunStartedStartsOtherwise_out(rStarted, rStarted_update, rStarted_version) ==
    <<[out |-> "StartGather", update |-> rStarted_update + 1, due |-> (1 <= rStarted.save_every) /\ ((rStarted.save_every <= 1) \/ ((IF rStarted.goal = <<>> THEN 0 ELSE rStarted.goal[1]) = (rStarted_update + 1)))]>>

\* out_of_step: refused out_of_step
RunStartedOutOfStep_states == {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunStartedOutOfStep_when(rStarted, rStarted_update, rStarted_version) ==
    rStarted.state \in {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}

\* ignore: ignored
RunStartedIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunStartedIgnore_when(rStarted, rStarted_update, rStarted_version) ==
    rStarted.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunStarted_states == {"STARTING"}
RunStarted_acts(rStarted, rStarted_update, rStarted_version) ==
    \/ RunStartedStarts_when(rStarted, rStarted_update, rStarted_version)
    \/ RunStartedStartsOtherwise_when(rStarted, rStarted_update, rStarted_version)
RunStarted_step(rStarted, rStarted_update, rStarted_version) ==
    CASE RunStartedStarts_when(rStarted, rStarted_update, rStarted_version) -> <<RunStartedStarts_next(rStarted, rStarted_update, rStarted_version), RunStartedStarts_out(rStarted, rStarted_update, rStarted_version)>>
      [] RunStartedStartsOtherwise_when(rStarted, rStarted_update, rStarted_version) -> <<RunStartedStartsOtherwise_next(rStarted, rStarted_update, rStarted_version), RunStartedStartsOtherwise_out(rStarted, rStarted_update, rStarted_version)>>
      [] OTHER -> <<>>
RunStarted(rStarted, rStarted_update, rStarted_version) ==
    CASE RunStartedStarts_when(rStarted, rStarted_update, rStarted_version) -> RunStartedStarts_next(rStarted, rStarted_update, rStarted_version)
      [] RunStartedStartsOtherwise_when(rStarted, rStarted_update, rStarted_version) -> RunStartedStartsOtherwise_next(rStarted, rStarted_update, rStarted_version)
      [] OTHER -> rStarted
RunStarted_rule(rStarted, rStarted_update, rStarted_version) ==
    CASE RunStartedStarts_when(rStarted, rStarted_update, rStarted_version) -> "starts"
      [] RunStartedStartsOtherwise_when(rStarted, rStarted_update, rStarted_version) -> "starts_otherwise"
      [] RunStartedOutOfStep_when(rStarted, rStarted_update, rStarted_version) -> "out_of_step"
      [] RunStartedIgnore_when(rStarted, rStarted_update, rStarted_version) -> "ignore"
RunStarted_out(rStarted, rStarted_update, rStarted_version) ==
    CASE RunStartedStarts_when(rStarted, rStarted_update, rStarted_version) -> RunStartedStarts_out(rStarted, rStarted_update, rStarted_version)
      [] RunStartedStartsOtherwise_when(rStarted, rStarted_update, rStarted_version) -> RunStartedStartsOtherwise_out(rStarted, rStarted_update, rStarted_version)
      [] OTHER -> <<>>
RunStarted_refused(rStarted, rStarted_update, rStarted_version) ==
    RunStartedOutOfStep_when(rStarted, rStarted_update, rStarted_version)


\* Gathered() ------------------------------------------------------------------------------------------------
\* The step has its groups.

\* out_of_step: refused out_of_step
RunGatheredOutOfStep_states == {"STARTING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunGatheredOutOfStep_when(rGathered) ==
    rGathered.state \in {"STARTING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}

\* gathers: goes to LENDING
RunGatheredGathers_states == {"PRODUCING"}
RunGatheredGathers_when(rGathered) ==
    /\ rGathered.state = "PRODUCING"
    /\ rGathered.stage = "whole"
    /\ rGathered.colocated
RunGatheredGathers_next(rGathered) == [rGathered EXCEPT !.state = "LENDING"]
RunGatheredGathers_out(rGathered) == <<[out |-> "StartLend"]>>

\* gathers_2: goes to SAVING
RunGatheredGathers2_states == {"PRODUCING"}
RunGatheredGathers2_when(rGathered) ==
    /\ rGathered.state = "PRODUCING"
    /\ rGathered.stage = "rollout_only"
    /\ rGathered.due
RunGatheredGathers2_next(rGathered) == [rGathered EXCEPT !.state = "SAVING"]
RunGatheredGathers2_out(rGathered) == <<[out |-> "StartSave", update |-> rGathered.update]>>

\* gathers_3: goes to ENDING
RunGatheredGathers3_states == {"PRODUCING"}
RunGatheredGathers3_when(rGathered) ==
    /\ rGathered.state = "PRODUCING"
    /\ rGathered.stage = "rollout_only"
    /\ ~rGathered.due
    /\ rGathered.goal # <<>>
    /\ (IF rGathered.goal = <<>> THEN 0 ELSE rGathered.goal[1]) <= rGathered.update
RunGatheredGathers3_next(rGathered) == [rGathered EXCEPT !.state = "ENDING"]
RunGatheredGathers3_out(rGathered) == <<[out |-> "StartEnd"]>>

\* gathers_4: goes to PRODUCING
RunGatheredGathers4_states == {"PRODUCING"}
RunGatheredGathers4_when(rGathered) ==
    /\ rGathered.state = "PRODUCING"
    /\ rGathered.stage = "rollout_only"
    /\ ~rGathered.due
    /\ ~((rGathered.goal # <<>>) /\ ((IF rGathered.goal = <<>> THEN 0 ELSE rGathered.goal[1]) <= rGathered.update))
RunGatheredGathers4_next(rGathered) ==
    [rGathered EXCEPT
        !.state = "PRODUCING",
        !.update = rGathered.update + 1,
        !.due = (1 <= rGathered.save_every) /\ (((rGathered.kept + rGathered.save_every) <= (rGathered.update + 1)) \/ ((IF rGathered.goal = <<>> THEN 0 ELSE rGathered.goal[1]) = (rGathered.update + 1)))]
RunGatheredGathers4_out(rGathered) ==
    <<[out |-> "StartGather", update |-> rGathered.update + 1, due |-> (1 <= rGathered.save_every) /\ (((rGathered.kept + rGathered.save_every) <= (rGathered.update + 1)) \/ ((IF rGathered.goal = <<>> THEN 0 ELSE rGathered.goal[1]) = (rGathered.update + 1)))]>>

\* gathers_otherwise: goes to TRAINING
RunGatheredGathersOtherwise_states == {"PRODUCING"}
RunGatheredGathersOtherwise_when(rGathered) ==
    /\ rGathered.state = "PRODUCING"
    /\ ~((rGathered.stage = "whole") /\ rGathered.colocated)
    /\ ~((rGathered.stage = "rollout_only") /\ rGathered.due)
    /\ ~((rGathered.stage = "rollout_only") /\ (~rGathered.due) /\ (rGathered.goal # <<>>) /\ ((IF rGathered.goal = <<>> THEN 0 ELSE rGathered.goal[1]) <= rGathered.update))
    /\ ~((rGathered.stage = "rollout_only") /\ (~rGathered.due) /\ (~((rGathered.goal # <<>>) /\ ((IF rGathered.goal = <<>> THEN 0 ELSE rGathered.goal[1]) <= rGathered.update))))
RunGatheredGathersOtherwise_next(rGathered) == [rGathered EXCEPT !.state = "TRAINING"]
RunGatheredGathersOtherwise_out(rGathered) == <<[out |-> "StartTrain", update |-> rGathered.update]>>

\* ignore: ignored
RunGatheredIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunGatheredIgnore_when(rGathered) == rGathered.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunGathered_states == {"PRODUCING"}
RunGathered_acts(rGathered) ==
    \/ RunGatheredGathers_when(rGathered)
    \/ RunGatheredGathers2_when(rGathered)
    \/ RunGatheredGathers3_when(rGathered)
    \/ RunGatheredGathers4_when(rGathered)
    \/ RunGatheredGathersOtherwise_when(rGathered)
RunGathered_step(rGathered) ==
    CASE RunGatheredGathers_when(rGathered) -> <<RunGatheredGathers_next(rGathered), RunGatheredGathers_out(rGathered)>>
      [] RunGatheredGathers2_when(rGathered) -> <<RunGatheredGathers2_next(rGathered), RunGatheredGathers2_out(rGathered)>>
      [] RunGatheredGathers3_when(rGathered) -> <<RunGatheredGathers3_next(rGathered), RunGatheredGathers3_out(rGathered)>>
      [] RunGatheredGathers4_when(rGathered) -> <<RunGatheredGathers4_next(rGathered), RunGatheredGathers4_out(rGathered)>>
      [] RunGatheredGathersOtherwise_when(rGathered) -> <<RunGatheredGathersOtherwise_next(rGathered), RunGatheredGathersOtherwise_out(rGathered)>>
      [] OTHER -> <<>>
RunGathered(rGathered) ==
    CASE RunGatheredGathers_when(rGathered) -> RunGatheredGathers_next(rGathered)
      [] RunGatheredGathers2_when(rGathered) -> RunGatheredGathers2_next(rGathered)
      [] RunGatheredGathers3_when(rGathered) -> RunGatheredGathers3_next(rGathered)
      [] RunGatheredGathers4_when(rGathered) -> RunGatheredGathers4_next(rGathered)
      [] RunGatheredGathersOtherwise_when(rGathered) -> RunGatheredGathersOtherwise_next(rGathered)
      [] OTHER -> rGathered
RunGathered_rule(rGathered) ==
    CASE RunGatheredOutOfStep_when(rGathered) -> "out_of_step"
      [] RunGatheredGathers_when(rGathered) -> "gathers"
      [] RunGatheredGathers2_when(rGathered) -> "gathers_2"
      [] RunGatheredGathers3_when(rGathered) -> "gathers_3"
      [] RunGatheredGathers4_when(rGathered) -> "gathers_4"
      [] RunGatheredGathersOtherwise_when(rGathered) -> "gathers_otherwise"
      [] RunGatheredIgnore_when(rGathered) -> "ignore"
RunGathered_out(rGathered) ==
    CASE RunGatheredGathers_when(rGathered) -> RunGatheredGathers_out(rGathered)
      [] RunGatheredGathers2_when(rGathered) -> RunGatheredGathers2_out(rGathered)
      [] RunGatheredGathers3_when(rGathered) -> RunGatheredGathers3_out(rGathered)
      [] RunGatheredGathers4_when(rGathered) -> RunGatheredGathers4_out(rGathered)
      [] RunGatheredGathersOtherwise_when(rGathered) -> RunGatheredGathersOtherwise_out(rGathered)
      [] OTHER -> <<>>
RunGathered_refused(rGathered) == RunGatheredOutOfStep_when(rGathered)


\* Lent() ----------------------------------------------------------------------------------------------------
\* Every device is the trainer's.

\* out_of_step: refused out_of_step
RunLentOutOfStep_states == {"STARTING", "PRODUCING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunLentOutOfStep_when(rLent) ==
    rLent.state \in {"STARTING", "PRODUCING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}

\* lends: goes to TRAINING
RunLentLends_states == {"LENDING"}
RunLentLends_when(rLent) == rLent.state = "LENDING"
RunLentLends_next(rLent) == [rLent EXCEPT !.state = "TRAINING"]
RunLentLends_out(rLent) == <<[out |-> "StartTrain", update |-> rLent.update]>>

\* ignore: ignored
RunLentIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunLentIgnore_when(rLent) == rLent.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunLent_states == {"LENDING"}
RunLent_acts(rLent) == RunLentLends_when(rLent)
RunLent_step(rLent) ==
    CASE RunLentLends_when(rLent) -> <<RunLentLends_next(rLent), RunLentLends_out(rLent)>>
      [] OTHER -> <<>>
RunLent(rLent) ==
    CASE RunLentLends_when(rLent) -> RunLentLends_next(rLent)
      [] OTHER -> rLent
RunLent_rule(rLent) ==
    CASE RunLentOutOfStep_when(rLent) -> "out_of_step"
      [] RunLentLends_when(rLent) -> "lends"
      [] RunLentIgnore_when(rLent) -> "ignore"
RunLent_out(rLent) ==
    CASE RunLentLends_when(rLent) -> RunLentLends_out(rLent)
      [] OTHER -> <<>>
RunLent_refused(rLent) == RunLentOutOfStep_when(rLent)


\* Trained() -------------------------------------------------------------------------------------------------
\* The trainer has taken the step.

\* out_of_step: refused out_of_step
RunTrainedOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunTrainedOutOfStep_when(rTrained) ==
    rTrained.state \in {"STARTING", "PRODUCING", "LENDING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}

\* trains: goes to PUBLISHING
RunTrainedTrains_states == {"TRAINING"}
RunTrainedTrains_when(rTrained) ==
    /\ rTrained.state = "TRAINING"
    /\ rTrained.stage = "whole"
    /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update)))
RunTrainedTrains_next(rTrained) == [rTrained EXCEPT !.state = "PUBLISHING"]
RunTrainedTrains_out(rTrained) == <<[out |-> "StartPublish", update |-> rTrained.update]>>

\* trains_2: goes to SYNCING
RunTrainedTrains2_states == {"TRAINING"}
RunTrainedTrains2_when(rTrained) ==
    /\ rTrained.state = "TRAINING"
    /\ rTrained.stage = "whole"
    /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update)))))
    /\ rTrained.colocated
RunTrainedTrains2_next(rTrained) == [rTrained EXCEPT !.state = "SYNCING"]
RunTrainedTrains2_out(rTrained) ==
    <<[out |-> "StartSync", version |-> IF rTrained.version = <<>> THEN 0 ELSE rTrained.version[1]]>>

\* trains_3: goes to SAVING
RunTrainedTrains3_states == {"TRAINING"}
RunTrainedTrains3_when(rTrained) ==
    /\ rTrained.state = "TRAINING"
    /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update)))))
    /\ (~((rTrained.stage = "whole") /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ rTrained.colocated))
    /\ rTrained.due
RunTrainedTrains3_next(rTrained) == [rTrained EXCEPT !.state = "SAVING"]
RunTrainedTrains3_out(rTrained) == <<[out |-> "StartSave", update |-> rTrained.update]>>

\* trains_4: goes to ENDING
RunTrainedTrains4_states == {"TRAINING"}
RunTrainedTrains4_when(rTrained) ==
    /\ rTrained.state = "TRAINING"
    /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update)))))
    /\ (~((rTrained.stage = "whole") /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ rTrained.colocated))
    /\ ~rTrained.due
    /\ rTrained.goal # <<>>
    /\ (IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update
RunTrainedTrains4_next(rTrained) == [rTrained EXCEPT !.state = "ENDING"]
RunTrainedTrains4_out(rTrained) == <<[out |-> "StartEnd"]>>

\* trains_goes_on: goes to PRODUCING
RunTrainedTrainsGoesOn_states == {"TRAINING"}
RunTrainedTrainsGoesOn_when(rTrained) ==
    /\ rTrained.state = "TRAINING"
    /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update)))))
    /\ (~((rTrained.stage = "whole") /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ rTrained.colocated))
    /\ (~((~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ (~((rTrained.stage = "whole") /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ rTrained.colocated)) /\ rTrained.due))
    /\ (~((~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ (~((rTrained.stage = "whole") /\ (~((rTrained.stage = "whole") /\ (((rTrained.renewed + rTrained.sync_every) <= rTrained.update) \/ ((rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update))))) /\ rTrained.colocated)) /\ (~rTrained.due) /\ (rTrained.goal # <<>>) /\ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) <= rTrained.update)))
RunTrainedTrainsGoesOn_next(rTrained) ==
    [rTrained EXCEPT
        !.state = "PRODUCING",
        !.update = rTrained.update + 1,
        !.due = (1 <= rTrained.save_every) /\ (((rTrained.kept + rTrained.save_every) <= (rTrained.update + 1)) \/ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) = (rTrained.update + 1)))]
RunTrainedTrainsGoesOn_out(rTrained) ==
    <<[out |-> "StartGather", update |-> rTrained.update + 1, due |-> (1 <= rTrained.save_every) /\ (((rTrained.kept + rTrained.save_every) <= (rTrained.update + 1)) \/ ((IF rTrained.goal = <<>> THEN 0 ELSE rTrained.goal[1]) = (rTrained.update + 1)))]>>

\* ignore: ignored
RunTrainedIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunTrainedIgnore_when(rTrained) == rTrained.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunTrained_states == {"TRAINING"}
RunTrained_acts(rTrained) ==
    \/ RunTrainedTrains_when(rTrained)
    \/ RunTrainedTrains2_when(rTrained)
    \/ RunTrainedTrains3_when(rTrained)
    \/ RunTrainedTrains4_when(rTrained)
    \/ RunTrainedTrainsGoesOn_when(rTrained)
RunTrained_step(rTrained) ==
    CASE RunTrainedTrains_when(rTrained) -> <<RunTrainedTrains_next(rTrained), RunTrainedTrains_out(rTrained)>>
      [] RunTrainedTrains2_when(rTrained) -> <<RunTrainedTrains2_next(rTrained), RunTrainedTrains2_out(rTrained)>>
      [] RunTrainedTrains3_when(rTrained) -> <<RunTrainedTrains3_next(rTrained), RunTrainedTrains3_out(rTrained)>>
      [] RunTrainedTrains4_when(rTrained) -> <<RunTrainedTrains4_next(rTrained), RunTrainedTrains4_out(rTrained)>>
      [] RunTrainedTrainsGoesOn_when(rTrained) -> <<RunTrainedTrainsGoesOn_next(rTrained), RunTrainedTrainsGoesOn_out(rTrained)>>
      [] OTHER -> <<>>
RunTrained(rTrained) ==
    CASE RunTrainedTrains_when(rTrained) -> RunTrainedTrains_next(rTrained)
      [] RunTrainedTrains2_when(rTrained) -> RunTrainedTrains2_next(rTrained)
      [] RunTrainedTrains3_when(rTrained) -> RunTrainedTrains3_next(rTrained)
      [] RunTrainedTrains4_when(rTrained) -> RunTrainedTrains4_next(rTrained)
      [] RunTrainedTrainsGoesOn_when(rTrained) -> RunTrainedTrainsGoesOn_next(rTrained)
      [] OTHER -> rTrained
RunTrained_rule(rTrained) ==
    CASE RunTrainedOutOfStep_when(rTrained) -> "out_of_step"
      [] RunTrainedTrains_when(rTrained) -> "trains"
      [] RunTrainedTrains2_when(rTrained) -> "trains_2"
      [] RunTrainedTrains3_when(rTrained) -> "trains_3"
      [] RunTrainedTrains4_when(rTrained) -> "trains_4"
      [] RunTrainedTrainsGoesOn_when(rTrained) -> "trains_goes_on"
      [] RunTrainedIgnore_when(rTrained) -> "ignore"
RunTrained_out(rTrained) ==
    CASE RunTrainedTrains_when(rTrained) -> RunTrainedTrains_out(rTrained)
      [] RunTrainedTrains2_when(rTrained) -> RunTrainedTrains2_out(rTrained)
      [] RunTrainedTrains3_when(rTrained) -> RunTrainedTrains3_out(rTrained)
      [] RunTrainedTrains4_when(rTrained) -> RunTrainedTrains4_out(rTrained)
      [] RunTrainedTrainsGoesOn_when(rTrained) -> RunTrainedTrainsGoesOn_out(rTrained)
      [] OTHER -> <<>>
RunTrained_refused(rTrained) == RunTrainedOutOfStep_when(rTrained)


\* Published(version) ----------------------------------------------------------------------------------------
\* The weights are durable under this version.

\* out_of_step: refused out_of_step
RunPublishedOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "SYNCING", "SAVING", "RESTORING"}
RunPublishedOutOfStep_when(rPublished, rPublished_version) ==
    rPublished.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "SYNCING", "SAVING", "RESTORING"}

\* publishes: goes to SYNCING
RunPublishedPublishes_states == {"PUBLISHING"}
RunPublishedPublishes_when(rPublished, rPublished_version) ==
    /\ rPublished.state = "PUBLISHING"
    /\ (IF rPublished.version = <<>> THEN 0 ELSE rPublished.version[1]) < rPublished_version
RunPublishedPublishes_next(rPublished, rPublished_version) ==
    [rPublished EXCEPT
        !.state = "SYNCING",
        !.version = <<rPublished_version>>,
        !.renewed = rPublished.update]
RunPublishedPublishes_out(rPublished, rPublished_version) ==
    <<[out |-> "StartSync", version |-> rPublished_version]>>

\* publishes_not_newer: refused not_newer
RunPublishedPublishesNotNewer_states == {"PUBLISHING"}
RunPublishedPublishesNotNewer_when(rPublished, rPublished_version) ==
    /\ rPublished.state = "PUBLISHING"
    /\ (IF rPublished.version = <<>> THEN 0 ELSE rPublished.version[1]) >= rPublished_version

\* ignore: ignored
RunPublishedIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunPublishedIgnore_when(rPublished, rPublished_version) == rPublished.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunPublished_states == {"PUBLISHING"}
RunPublished_acts(rPublished, rPublished_version) ==
    RunPublishedPublishes_when(rPublished, rPublished_version)
RunPublished_step(rPublished, rPublished_version) ==
    CASE RunPublishedPublishes_when(rPublished, rPublished_version) -> <<RunPublishedPublishes_next(rPublished, rPublished_version), RunPublishedPublishes_out(rPublished, rPublished_version)>>
      [] OTHER -> <<>>
RunPublished(rPublished, rPublished_version) ==
    CASE RunPublishedPublishes_when(rPublished, rPublished_version) -> RunPublishedPublishes_next(rPublished, rPublished_version)
      [] OTHER -> rPublished
RunPublished_rule(rPublished, rPublished_version) ==
    CASE RunPublishedOutOfStep_when(rPublished, rPublished_version) -> "out_of_step"
      [] RunPublishedPublishes_when(rPublished, rPublished_version) -> "publishes"
      [] RunPublishedPublishesNotNewer_when(rPublished, rPublished_version) -> "publishes_not_newer"
      [] RunPublishedIgnore_when(rPublished, rPublished_version) -> "ignore"
RunPublished_out(rPublished, rPublished_version) ==
    CASE RunPublishedPublishes_when(rPublished, rPublished_version) -> RunPublishedPublishes_out(rPublished, rPublished_version)
      [] OTHER -> <<>>
RunPublished_refused(rPublished, rPublished_version) ==
    \/ RunPublishedOutOfStep_when(rPublished, rPublished_version)
    \/ RunPublishedPublishesNotNewer_when(rPublished, rPublished_version)


\* Synced(version) -------------------------------------------------------------------------------------------
\* The version is served, and what was lent is returned.

\* out_of_step: refused out_of_step
RunSyncedOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SAVING", "RESTORING"}
RunSyncedOutOfStep_when(rSynced, rSynced_version) ==
    rSynced.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SAVING", "RESTORING"}

\* syncs: goes to SAVING
RunSyncedSyncs_states == {"SYNCING"}
RunSyncedSyncs_when(rSynced, rSynced_version) ==
    /\ rSynced.state = "SYNCING"
    /\ rSynced.version = <<rSynced_version>>
    /\ rSynced.due
RunSyncedSyncs_next(rSynced, rSynced_version) == [rSynced EXCEPT !.state = "SAVING"]
RunSyncedSyncs_out(rSynced, rSynced_version) == <<[out |-> "StartSave", update |-> rSynced.update]>>

\* syncs_2: goes to ENDING
RunSyncedSyncs2_states == {"SYNCING"}
RunSyncedSyncs2_when(rSynced, rSynced_version) ==
    /\ rSynced.state = "SYNCING"
    /\ rSynced.version = <<rSynced_version>>
    /\ ~rSynced.due
    /\ rSynced.goal # <<>>
    /\ (IF rSynced.goal = <<>> THEN 0 ELSE rSynced.goal[1]) <= rSynced.update
RunSyncedSyncs2_next(rSynced, rSynced_version) == [rSynced EXCEPT !.state = "ENDING"]
RunSyncedSyncs2_out(rSynced, rSynced_version) == <<[out |-> "StartEnd"]>>

\* syncs_3: goes to PRODUCING
RunSyncedSyncs3_states == {"SYNCING"}
RunSyncedSyncs3_when(rSynced, rSynced_version) ==
    /\ rSynced.state = "SYNCING"
    /\ rSynced.version = <<rSynced_version>>
    /\ ~rSynced.due
    /\ ~((rSynced.goal # <<>>) /\ ((IF rSynced.goal = <<>> THEN 0 ELSE rSynced.goal[1]) <= rSynced.update))
RunSyncedSyncs3_next(rSynced, rSynced_version) ==
    [rSynced EXCEPT
        !.state = "PRODUCING",
        !.update = rSynced.update + 1,
        !.due = (1 <= rSynced.save_every) /\ (((rSynced.kept + rSynced.save_every) <= (rSynced.update + 1)) \/ ((IF rSynced.goal = <<>> THEN 0 ELSE rSynced.goal[1]) = (rSynced.update + 1)))]
RunSyncedSyncs3_out(rSynced, rSynced_version) ==
    <<[out |-> "StartGather", update |-> rSynced.update + 1, due |-> (1 <= rSynced.save_every) /\ (((rSynced.kept + rSynced.save_every) <= (rSynced.update + 1)) \/ ((IF rSynced.goal = <<>> THEN 0 ELSE rSynced.goal[1]) = (rSynced.update + 1)))]>>

\* syncs_other_version: refused other_version
RunSyncedSyncsOtherVersion_states == {"SYNCING"}
RunSyncedSyncsOtherVersion_when(rSynced, rSynced_version) ==
    /\ rSynced.state = "SYNCING"
    /\ ~((rSynced.version = <<rSynced_version>>) /\ rSynced.due)
    /\ ~((rSynced.version = <<rSynced_version>>) /\ (~rSynced.due) /\ (rSynced.goal # <<>>) /\ ((IF rSynced.goal = <<>> THEN 0 ELSE rSynced.goal[1]) <= rSynced.update))
    /\ ~((rSynced.version = <<rSynced_version>>) /\ (~rSynced.due) /\ (~((rSynced.goal # <<>>) /\ ((IF rSynced.goal = <<>> THEN 0 ELSE rSynced.goal[1]) <= rSynced.update))))

\* ignore: ignored
RunSyncedIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunSyncedIgnore_when(rSynced, rSynced_version) == rSynced.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunSynced_states == {"SYNCING"}
RunSynced_acts(rSynced, rSynced_version) ==
    \/ RunSyncedSyncs_when(rSynced, rSynced_version)
    \/ RunSyncedSyncs2_when(rSynced, rSynced_version)
    \/ RunSyncedSyncs3_when(rSynced, rSynced_version)
RunSynced_step(rSynced, rSynced_version) ==
    CASE RunSyncedSyncs_when(rSynced, rSynced_version) -> <<RunSyncedSyncs_next(rSynced, rSynced_version), RunSyncedSyncs_out(rSynced, rSynced_version)>>
      [] RunSyncedSyncs2_when(rSynced, rSynced_version) -> <<RunSyncedSyncs2_next(rSynced, rSynced_version), RunSyncedSyncs2_out(rSynced, rSynced_version)>>
      [] RunSyncedSyncs3_when(rSynced, rSynced_version) -> <<RunSyncedSyncs3_next(rSynced, rSynced_version), RunSyncedSyncs3_out(rSynced, rSynced_version)>>
      [] OTHER -> <<>>
RunSynced(rSynced, rSynced_version) ==
    CASE RunSyncedSyncs_when(rSynced, rSynced_version) -> RunSyncedSyncs_next(rSynced, rSynced_version)
      [] RunSyncedSyncs2_when(rSynced, rSynced_version) -> RunSyncedSyncs2_next(rSynced, rSynced_version)
      [] RunSyncedSyncs3_when(rSynced, rSynced_version) -> RunSyncedSyncs3_next(rSynced, rSynced_version)
      [] OTHER -> rSynced
RunSynced_rule(rSynced, rSynced_version) ==
    CASE RunSyncedOutOfStep_when(rSynced, rSynced_version) -> "out_of_step"
      [] RunSyncedSyncs_when(rSynced, rSynced_version) -> "syncs"
      [] RunSyncedSyncs2_when(rSynced, rSynced_version) -> "syncs_2"
      [] RunSyncedSyncs3_when(rSynced, rSynced_version) -> "syncs_3"
      [] RunSyncedSyncsOtherVersion_when(rSynced, rSynced_version) -> "syncs_other_version"
      [] RunSyncedIgnore_when(rSynced, rSynced_version) -> "ignore"
RunSynced_out(rSynced, rSynced_version) ==
    CASE RunSyncedSyncs_when(rSynced, rSynced_version) -> RunSyncedSyncs_out(rSynced, rSynced_version)
      [] RunSyncedSyncs2_when(rSynced, rSynced_version) -> RunSyncedSyncs2_out(rSynced, rSynced_version)
      [] RunSyncedSyncs3_when(rSynced, rSynced_version) -> RunSyncedSyncs3_out(rSynced, rSynced_version)
      [] OTHER -> <<>>
RunSynced_refused(rSynced, rSynced_version) ==
    \/ RunSyncedOutOfStep_when(rSynced, rSynced_version)
    \/ RunSyncedSyncsOtherVersion_when(rSynced, rSynced_version)


\* Saved() ---------------------------------------------------------------------------------------------------
\* The checkpoint of the step is durable.

\* out_of_step: refused out_of_step
RunSavedOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "RESTORING"}
RunSavedOutOfStep_when(rSaved) ==
    rSaved.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "RESTORING"}

\* was_saved: goes to ENDING
RunSavedWasSaved_states == {"SAVING"}
RunSavedWasSaved_when(rSaved) ==
    /\ rSaved.state = "SAVING"
    /\ rSaved.goal # <<>>
    /\ (IF rSaved.goal = <<>> THEN 0 ELSE rSaved.goal[1]) <= rSaved.update
RunSavedWasSaved_next(rSaved) ==
    [rSaved EXCEPT
        !.state = "ENDING",
        !.kept = rSaved.update,
        !.due = FALSE]
RunSavedWasSaved_out(rSaved) == <<[out |-> "StartEnd"]>>

\* was_saved_otherwise: goes to PRODUCING
RunSavedWasSavedOtherwise_states == {"SAVING"}
RunSavedWasSavedOtherwise_when(rSaved) ==
    /\ rSaved.state = "SAVING"
    /\ ~((rSaved.goal # <<>>) /\ ((IF rSaved.goal = <<>> THEN 0 ELSE rSaved.goal[1]) <= rSaved.update))
RunSavedWasSavedOtherwise_next(rSaved) ==
    [rSaved EXCEPT
        !.state = "PRODUCING",
        !.update = rSaved.update + 1,
        !.kept = rSaved.update,
        !.due = (rSaved.save_every <= 1) \/ ((IF rSaved.goal = <<>> THEN 0 ELSE rSaved.goal[1]) = (rSaved.update + 1))]
RunSavedWasSavedOtherwise_out(rSaved) ==
    <<[out |-> "StartGather", update |-> rSaved.update + 1, due |-> (rSaved.save_every <= 1) \/ ((IF rSaved.goal = <<>> THEN 0 ELSE rSaved.goal[1]) = (rSaved.update + 1))]>>

\* ignore: ignored
RunSavedIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunSavedIgnore_when(rSaved) == rSaved.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunSaved_states == {"SAVING"}
RunSaved_acts(rSaved) ==
    \/ RunSavedWasSaved_when(rSaved)
    \/ RunSavedWasSavedOtherwise_when(rSaved)
RunSaved_step(rSaved) ==
    CASE RunSavedWasSaved_when(rSaved) -> <<RunSavedWasSaved_next(rSaved), RunSavedWasSaved_out(rSaved)>>
      [] RunSavedWasSavedOtherwise_when(rSaved) -> <<RunSavedWasSavedOtherwise_next(rSaved), RunSavedWasSavedOtherwise_out(rSaved)>>
      [] OTHER -> <<>>
RunSaved(rSaved) ==
    CASE RunSavedWasSaved_when(rSaved) -> RunSavedWasSaved_next(rSaved)
      [] RunSavedWasSavedOtherwise_when(rSaved) -> RunSavedWasSavedOtherwise_next(rSaved)
      [] OTHER -> rSaved
RunSaved_rule(rSaved) ==
    CASE RunSavedOutOfStep_when(rSaved) -> "out_of_step"
      [] RunSavedWasSaved_when(rSaved) -> "was_saved"
      [] RunSavedWasSavedOtherwise_when(rSaved) -> "was_saved_otherwise"
      [] RunSavedIgnore_when(rSaved) -> "ignore"
RunSaved_out(rSaved) ==
    CASE RunSavedWasSaved_when(rSaved) -> RunSavedWasSaved_out(rSaved)
      [] RunSavedWasSavedOtherwise_when(rSaved) -> RunSavedWasSavedOtherwise_out(rSaved)
      [] OTHER -> <<>>
RunSaved_refused(rSaved) == RunSavedOutOfStep_when(rSaved)


\* NotSaved(why) ---------------------------------------------------------------------------------------------
\* There is no checkpoint of the step, and the run goes on without.

\* out_of_step: refused out_of_step
RunNotSavedOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "RESTORING"}
RunNotSavedOutOfStep_when(rNotSaved) ==
    rNotSaved.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "RESTORING"}

\* was_not_saved: goes to ENDING
RunNotSavedWasNotSaved_states == {"SAVING"}
RunNotSavedWasNotSaved_when(rNotSaved) ==
    /\ rNotSaved.state = "SAVING"
    /\ rNotSaved.goal # <<>>
    /\ (IF rNotSaved.goal = <<>> THEN 0 ELSE rNotSaved.goal[1]) <= rNotSaved.update
RunNotSavedWasNotSaved_next(rNotSaved) == [rNotSaved EXCEPT !.state = "ENDING"]
RunNotSavedWasNotSaved_out(rNotSaved) == <<[out |-> "StartEnd"]>>

\* was_not_saved_goes_on: goes to PRODUCING
RunNotSavedWasNotSavedGoesOn_states == {"SAVING"}
RunNotSavedWasNotSavedGoesOn_when(rNotSaved) ==
    /\ rNotSaved.state = "SAVING"
    /\ ~((rNotSaved.goal # <<>>) /\ ((IF rNotSaved.goal = <<>> THEN 0 ELSE rNotSaved.goal[1]) <= rNotSaved.update))
RunNotSavedWasNotSavedGoesOn_next(rNotSaved) ==
    [rNotSaved EXCEPT
        !.state = "PRODUCING",
        !.update = rNotSaved.update + 1,
        !.due = (1 <= rNotSaved.save_every) /\ (((rNotSaved.kept + rNotSaved.save_every) <= (rNotSaved.update + 1)) \/ ((IF rNotSaved.goal = <<>> THEN 0 ELSE rNotSaved.goal[1]) = (rNotSaved.update + 1)))]
RunNotSavedWasNotSavedGoesOn_out(rNotSaved) ==
    <<[out |-> "StartGather", update |-> rNotSaved.update + 1, due |-> (1 <= rNotSaved.save_every) /\ (((rNotSaved.kept + rNotSaved.save_every) <= (rNotSaved.update + 1)) \/ ((IF rNotSaved.goal = <<>> THEN 0 ELSE rNotSaved.goal[1]) = (rNotSaved.update + 1)))]>>

\* ignore: ignored
RunNotSavedIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunNotSavedIgnore_when(rNotSaved) == rNotSaved.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunNotSaved_states == {"SAVING"}
RunNotSaved_acts(rNotSaved) ==
    \/ RunNotSavedWasNotSaved_when(rNotSaved)
    \/ RunNotSavedWasNotSavedGoesOn_when(rNotSaved)
RunNotSaved_step(rNotSaved) ==
    CASE RunNotSavedWasNotSaved_when(rNotSaved) -> <<RunNotSavedWasNotSaved_next(rNotSaved), RunNotSavedWasNotSaved_out(rNotSaved)>>
      [] RunNotSavedWasNotSavedGoesOn_when(rNotSaved) -> <<RunNotSavedWasNotSavedGoesOn_next(rNotSaved), RunNotSavedWasNotSavedGoesOn_out(rNotSaved)>>
      [] OTHER -> <<>>
RunNotSaved(rNotSaved) ==
    CASE RunNotSavedWasNotSaved_when(rNotSaved) -> RunNotSavedWasNotSaved_next(rNotSaved)
      [] RunNotSavedWasNotSavedGoesOn_when(rNotSaved) -> RunNotSavedWasNotSavedGoesOn_next(rNotSaved)
      [] OTHER -> rNotSaved
RunNotSaved_rule(rNotSaved) ==
    CASE RunNotSavedOutOfStep_when(rNotSaved) -> "out_of_step"
      [] RunNotSavedWasNotSaved_when(rNotSaved) -> "was_not_saved"
      [] RunNotSavedWasNotSavedGoesOn_when(rNotSaved) -> "was_not_saved_goes_on"
      [] RunNotSavedIgnore_when(rNotSaved) -> "ignore"
RunNotSaved_out(rNotSaved) ==
    CASE RunNotSavedWasNotSaved_when(rNotSaved) -> RunNotSavedWasNotSaved_out(rNotSaved)
      [] RunNotSavedWasNotSavedGoesOn_when(rNotSaved) -> RunNotSavedWasNotSavedGoesOn_out(rNotSaved)
      [] OTHER -> <<>>
RunNotSaved_refused(rNotSaved) == RunNotSavedOutOfStep_when(rNotSaved)


\* Undone(why) -----------------------------------------------------------------------------------------------
\* What was asked for was not done, and has changed nothing.

\* out_of_step: refused out_of_step
RunUndoneOutOfStep_states == {"STARTING"}
RunUndoneOutOfStep_when(rUndone) == rUndone.state = "STARTING"

\* gathers_again: stays
RunUndoneGathersAgain_states == {"PRODUCING"}
RunUndoneGathersAgain_when(rUndone) == rUndone.state = "PRODUCING"
RunUndoneGathersAgain_out(rUndone) ==
    <<[out |-> "StartGather", update |-> rUndone.update, due |-> rUndone.due]>>

\* lends_again: stays
RunUndoneLendsAgain_states == {"LENDING"}
RunUndoneLendsAgain_when(rUndone) == rUndone.state = "LENDING"
RunUndoneLendsAgain_out(rUndone) == <<[out |-> "StartLend"]>>

\* trains_again: stays
RunUndoneTrainsAgain_states == {"TRAINING"}
RunUndoneTrainsAgain_when(rUndone) == rUndone.state = "TRAINING"
RunUndoneTrainsAgain_out(rUndone) == <<[out |-> "StartTrain", update |-> rUndone.update]>>

\* publishes_again: stays
RunUndonePublishesAgain_states == {"PUBLISHING"}
RunUndonePublishesAgain_when(rUndone) == rUndone.state = "PUBLISHING"
RunUndonePublishesAgain_out(rUndone) == <<[out |-> "StartPublish", update |-> rUndone.update]>>

\* syncs_again: stays
RunUndoneSyncsAgain_states == {"SYNCING"}
RunUndoneSyncsAgain_when(rUndone) == rUndone.state = "SYNCING"
RunUndoneSyncsAgain_out(rUndone) ==
    <<[out |-> "StartSync", version |-> IF rUndone.version = <<>> THEN 0 ELSE rUndone.version[1]]>>

\* saves_again: stays
RunUndoneSavesAgain_states == {"SAVING"}
RunUndoneSavesAgain_when(rUndone) == rUndone.state = "SAVING"
RunUndoneSavesAgain_out(rUndone) == <<[out |-> "StartSave", update |-> rUndone.update]>>

\* restores_again: stays
RunUndoneRestoresAgain_states == {"RESTORING"}
RunUndoneRestoresAgain_when(rUndone) == rUndone.state = "RESTORING"
RunUndoneRestoresAgain_out(rUndone) == <<[out |-> "StartRestore"]>>

\* ignore: ignored
RunUndoneIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunUndoneIgnore_when(rUndone) == rUndone.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunUndone_states == {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunUndone_acts(rUndone) ==
    \/ RunUndoneGathersAgain_when(rUndone)
    \/ RunUndoneLendsAgain_when(rUndone)
    \/ RunUndoneTrainsAgain_when(rUndone)
    \/ RunUndonePublishesAgain_when(rUndone)
    \/ RunUndoneSyncsAgain_when(rUndone)
    \/ RunUndoneSavesAgain_when(rUndone)
    \/ RunUndoneRestoresAgain_when(rUndone)
RunUndone_step(rUndone) ==
    CASE RunUndoneGathersAgain_when(rUndone) -> <<rUndone, RunUndoneGathersAgain_out(rUndone)>>
      [] RunUndoneLendsAgain_when(rUndone) -> <<rUndone, RunUndoneLendsAgain_out(rUndone)>>
      [] RunUndoneTrainsAgain_when(rUndone) -> <<rUndone, RunUndoneTrainsAgain_out(rUndone)>>
      [] RunUndonePublishesAgain_when(rUndone) -> <<rUndone, RunUndonePublishesAgain_out(rUndone)>>
      [] RunUndoneSyncsAgain_when(rUndone) -> <<rUndone, RunUndoneSyncsAgain_out(rUndone)>>
      [] RunUndoneSavesAgain_when(rUndone) -> <<rUndone, RunUndoneSavesAgain_out(rUndone)>>
      [] RunUndoneRestoresAgain_when(rUndone) -> <<rUndone, RunUndoneRestoresAgain_out(rUndone)>>
      [] OTHER -> <<>>
RunUndone(rUndone) == rUndone
RunUndone_rule(rUndone) ==
    CASE RunUndoneOutOfStep_when(rUndone) -> "out_of_step"
      [] RunUndoneGathersAgain_when(rUndone) -> "gathers_again"
      [] RunUndoneLendsAgain_when(rUndone) -> "lends_again"
      [] RunUndoneTrainsAgain_when(rUndone) -> "trains_again"
      [] RunUndonePublishesAgain_when(rUndone) -> "publishes_again"
      [] RunUndoneSyncsAgain_when(rUndone) -> "syncs_again"
      [] RunUndoneSavesAgain_when(rUndone) -> "saves_again"
      [] RunUndoneRestoresAgain_when(rUndone) -> "restores_again"
      [] RunUndoneIgnore_when(rUndone) -> "ignore"
RunUndone_out(rUndone) ==
    CASE RunUndoneGathersAgain_when(rUndone) -> RunUndoneGathersAgain_out(rUndone)
      [] RunUndoneLendsAgain_when(rUndone) -> RunUndoneLendsAgain_out(rUndone)
      [] RunUndoneTrainsAgain_when(rUndone) -> RunUndoneTrainsAgain_out(rUndone)
      [] RunUndonePublishesAgain_when(rUndone) -> RunUndonePublishesAgain_out(rUndone)
      [] RunUndoneSyncsAgain_when(rUndone) -> RunUndoneSyncsAgain_out(rUndone)
      [] RunUndoneSavesAgain_when(rUndone) -> RunUndoneSavesAgain_out(rUndone)
      [] RunUndoneRestoresAgain_when(rUndone) -> RunUndoneRestoresAgain_out(rUndone)
      [] OTHER -> <<>>
RunUndone_refused(rUndone) == RunUndoneOutOfStep_when(rUndone)


\* TrainerLost(why) ------------------------------------------------------------------------------------------
\* The trainer has ended or failed: what it trained since the last checkpoint is lost.

\* out_of_step: refused out_of_step
RunTrainerLostOutOfStep_states == {"STARTING"}
RunTrainerLostOutOfStep_when(rTrainerLost) == rTrainerLost.state = "STARTING"

\* loses: goes to RESTORING
RunTrainerLostLoses_states == {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING"}
RunTrainerLostLoses_when(rTrainerLost) ==
    rTrainerLost.state \in {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING"}
RunTrainerLostLoses_next(rTrainerLost) == [rTrainerLost EXCEPT !.state = "RESTORING"]
RunTrainerLostLoses_out(rTrainerLost) == <<[out |-> "StartRestore"]>>

\* restores_again: stays
RunTrainerLostRestoresAgain_states == {"RESTORING"}
RunTrainerLostRestoresAgain_when(rTrainerLost) == rTrainerLost.state = "RESTORING"
RunTrainerLostRestoresAgain_out(rTrainerLost) == <<[out |-> "StartRestore"]>>

\* ignore: ignored
RunTrainerLostIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunTrainerLostIgnore_when(rTrainerLost) == rTrainerLost.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunTrainerLost_states == {"PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunTrainerLost_acts(rTrainerLost) ==
    \/ RunTrainerLostLoses_when(rTrainerLost)
    \/ RunTrainerLostRestoresAgain_when(rTrainerLost)
RunTrainerLost_step(rTrainerLost) ==
    CASE RunTrainerLostLoses_when(rTrainerLost) -> <<RunTrainerLostLoses_next(rTrainerLost), RunTrainerLostLoses_out(rTrainerLost)>>
      [] RunTrainerLostRestoresAgain_when(rTrainerLost) -> <<rTrainerLost, RunTrainerLostRestoresAgain_out(rTrainerLost)>>
      [] OTHER -> <<>>
RunTrainerLost(rTrainerLost) ==
    CASE RunTrainerLostLoses_when(rTrainerLost) -> RunTrainerLostLoses_next(rTrainerLost)
      [] OTHER -> rTrainerLost
RunTrainerLost_rule(rTrainerLost) ==
    CASE RunTrainerLostOutOfStep_when(rTrainerLost) -> "out_of_step"
      [] RunTrainerLostLoses_when(rTrainerLost) -> "loses"
      [] RunTrainerLostRestoresAgain_when(rTrainerLost) -> "restores_again"
      [] RunTrainerLostIgnore_when(rTrainerLost) -> "ignore"
RunTrainerLost_out(rTrainerLost) ==
    CASE RunTrainerLostLoses_when(rTrainerLost) -> RunTrainerLostLoses_out(rTrainerLost)
      [] RunTrainerLostRestoresAgain_when(rTrainerLost) -> RunTrainerLostRestoresAgain_out(rTrainerLost)
      [] OTHER -> <<>>
RunTrainerLost_refused(rTrainerLost) == RunTrainerLostOutOfStep_when(rTrainerLost)


\* Restored(update, version) ---------------------------------------------------------------------------------
\* A new life of the trainer has the weights of the checkpoint of this step, durable under this version.

\* out_of_step: refused out_of_step
RunRestoredOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING"}
RunRestoredOutOfStep_when(rRestored, rRestored_update, rRestored_version) ==
    rRestored.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING"}

\* restores_ahead: refused ahead
RunRestoredRestoresAhead_states == {"RESTORING"}
RunRestoredRestoresAhead_when(rRestored, rRestored_update, rRestored_version) ==
    /\ rRestored.state = "RESTORING"
    /\ rRestored.update < rRestored_update

\* restores_not_newer: refused not_newer
RunRestoredRestoresNotNewer_states == {"RESTORING"}
RunRestoredRestoresNotNewer_when(rRestored, rRestored_update, rRestored_version) ==
    /\ rRestored.state = "RESTORING"
    /\ rRestored.update >= rRestored_update
    /\ rRestored.stage = "whole"
    /\ rRestored_version <= (IF rRestored.version = <<>> THEN 0 ELSE rRestored.version[1])

\* restores_3: goes to SYNCING
RunRestoredRestores3_states == {"RESTORING"}
RunRestoredRestores3_when(rRestored, rRestored_update, rRestored_version) ==
    /\ rRestored.state = "RESTORING"
    /\ rRestored.update >= rRestored_update
    /\ rRestored.stage = "whole"
    /\ (IF rRestored.version = <<>> THEN 0 ELSE rRestored.version[1]) < rRestored_version
RunRestoredRestores3_next(rRestored, rRestored_update, rRestored_version) ==
    [rRestored EXCEPT
        !.state = "SYNCING",
        !.update = rRestored_update,
        !.kept = rRestored_update,
        !.renewed = rRestored_update,
        !.version = <<rRestored_version>>,
        !.due = FALSE]
RunRestoredRestores3_out(rRestored, rRestored_update, rRestored_version) ==
    <<[out |-> "StartSync", version |-> rRestored_version]>>

\* restores_4: goes to ENDING
RunRestoredRestores4_states == {"RESTORING"}
RunRestoredRestores4_when(rRestored, rRestored_update, rRestored_version) ==
    /\ rRestored.state = "RESTORING"
    /\ rRestored.update >= rRestored_update
    /\ rRestored.stage # "whole"
    /\ rRestored.goal # <<>>
    /\ (IF rRestored.goal = <<>> THEN 0 ELSE rRestored.goal[1]) <= rRestored_update
RunRestoredRestores4_next(rRestored, rRestored_update, rRestored_version) ==
    [rRestored EXCEPT
        !.state = "ENDING",
        !.update = rRestored_update,
        !.kept = rRestored_update,
        !.due = FALSE]
RunRestoredRestores4_out(rRestored, rRestored_update, rRestored_version) == <<[out |-> "StartEnd"]>>

\* restores_otherwise: goes to PRODUCING
RunRestoredRestoresOtherwise_states == {"RESTORING"}
RunRestoredRestoresOtherwise_when(rRestored, rRestored_update, rRestored_version) ==
    /\ rRestored.state = "RESTORING"
    /\ rRestored.update >= rRestored_update
    /\ ~((rRestored.update >= rRestored_update) /\ (rRestored.stage = "whole") /\ (rRestored_version <= (IF rRestored.version = <<>> THEN 0 ELSE rRestored.version[1])))
    /\ ~((rRestored.update >= rRestored_update) /\ (rRestored.stage = "whole") /\ ((IF rRestored.version = <<>> THEN 0 ELSE rRestored.version[1]) < rRestored_version))
    /\ ~((rRestored.update >= rRestored_update) /\ (rRestored.stage # "whole") /\ (rRestored.goal # <<>>) /\ ((IF rRestored.goal = <<>> THEN 0 ELSE rRestored.goal[1]) <= rRestored_update))
RunRestoredRestoresOtherwise_next(rRestored, rRestored_update, rRestored_version) ==
    [rRestored EXCEPT
        !.state = "PRODUCING",
        !.update = rRestored_update + 1,
        !.kept = rRestored_update,
        !.due = (1 <= rRestored.save_every) /\ ((rRestored.save_every <= 1) \/ ((IF rRestored.goal = <<>> THEN 0 ELSE rRestored.goal[1]) = (rRestored_update + 1)))]
RunRestoredRestoresOtherwise_out(rRestored, rRestored_update, rRestored_version) ==
    <<[out |-> "StartGather", update |-> rRestored_update + 1, due |-> (1 <= rRestored.save_every) /\ ((rRestored.save_every <= 1) \/ ((IF rRestored.goal = <<>> THEN 0 ELSE rRestored.goal[1]) = (rRestored_update + 1)))]>>

\* ignore: ignored
RunRestoredIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunRestoredIgnore_when(rRestored, rRestored_update, rRestored_version) ==
    rRestored.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunRestored_states == {"RESTORING"}
RunRestored_acts(rRestored, rRestored_update, rRestored_version) ==
    \/ RunRestoredRestores3_when(rRestored, rRestored_update, rRestored_version)
    \/ RunRestoredRestores4_when(rRestored, rRestored_update, rRestored_version)
    \/ RunRestoredRestoresOtherwise_when(rRestored, rRestored_update, rRestored_version)
RunRestored_step(rRestored, rRestored_update, rRestored_version) ==
    CASE RunRestoredRestores3_when(rRestored, rRestored_update, rRestored_version) -> <<RunRestoredRestores3_next(rRestored, rRestored_update, rRestored_version), RunRestoredRestores3_out(rRestored, rRestored_update, rRestored_version)>>
      [] RunRestoredRestores4_when(rRestored, rRestored_update, rRestored_version) -> <<RunRestoredRestores4_next(rRestored, rRestored_update, rRestored_version), RunRestoredRestores4_out(rRestored, rRestored_update, rRestored_version)>>
      [] RunRestoredRestoresOtherwise_when(rRestored, rRestored_update, rRestored_version) -> <<RunRestoredRestoresOtherwise_next(rRestored, rRestored_update, rRestored_version), RunRestoredRestoresOtherwise_out(rRestored, rRestored_update, rRestored_version)>>
      [] OTHER -> <<>>
RunRestored(rRestored, rRestored_update, rRestored_version) ==
    CASE RunRestoredRestores3_when(rRestored, rRestored_update, rRestored_version) -> RunRestoredRestores3_next(rRestored, rRestored_update, rRestored_version)
      [] RunRestoredRestores4_when(rRestored, rRestored_update, rRestored_version) -> RunRestoredRestores4_next(rRestored, rRestored_update, rRestored_version)
      [] RunRestoredRestoresOtherwise_when(rRestored, rRestored_update, rRestored_version) -> RunRestoredRestoresOtherwise_next(rRestored, rRestored_update, rRestored_version)
      [] OTHER -> rRestored
RunRestored_rule(rRestored, rRestored_update, rRestored_version) ==
    CASE RunRestoredOutOfStep_when(rRestored, rRestored_update, rRestored_version) -> "out_of_step"
      [] RunRestoredRestoresAhead_when(rRestored, rRestored_update, rRestored_version) -> "restores_ahead"
      [] RunRestoredRestoresNotNewer_when(rRestored, rRestored_update, rRestored_version) -> "restores_not_newer"
      [] RunRestoredRestores3_when(rRestored, rRestored_update, rRestored_version) -> "restores_3"
      [] RunRestoredRestores4_when(rRestored, rRestored_update, rRestored_version) -> "restores_4"
      [] RunRestoredRestoresOtherwise_when(rRestored, rRestored_update, rRestored_version) -> "restores_otherwise"
      [] RunRestoredIgnore_when(rRestored, rRestored_update, rRestored_version) -> "ignore"
RunRestored_out(rRestored, rRestored_update, rRestored_version) ==
    CASE RunRestoredRestores3_when(rRestored, rRestored_update, rRestored_version) -> RunRestoredRestores3_out(rRestored, rRestored_update, rRestored_version)
      [] RunRestoredRestores4_when(rRestored, rRestored_update, rRestored_version) -> RunRestoredRestores4_out(rRestored, rRestored_update, rRestored_version)
      [] RunRestoredRestoresOtherwise_when(rRestored, rRestored_update, rRestored_version) -> RunRestoredRestoresOtherwise_out(rRestored, rRestored_update, rRestored_version)
      [] OTHER -> <<>>
RunRestored_refused(rRestored, rRestored_update, rRestored_version) ==
    \/ RunRestoredOutOfStep_when(rRestored, rRestored_update, rRestored_version)
    \/ RunRestoredRestoresAhead_when(rRestored, rRestored_update, rRestored_version)
    \/ RunRestoredRestoresNotNewer_when(rRestored, rRestored_update, rRestored_version)


\* Stop() ----------------------------------------------------------------------------------------------------
\* Somebody wants the run to end.

\* ends: goes to ENDING
RunStopEnds_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunStopEnds_when(rStop) ==
    rStop.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunStopEnds_next(rStop) == [rStop EXCEPT !.state = "ENDING"]
RunStopEnds_out(rStop) == <<[out |-> "StartEnd"]>>

\* ignore: ignored
RunStopIgnore_states == {"ENDING", "ENDED", "FAILED"}
RunStopIgnore_when(rStop) == rStop.state \in {"ENDING", "ENDED", "FAILED"}

\* the event as a whole
RunStop_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunStop_acts(rStop) == RunStopEnds_when(rStop)
RunStop_step(rStop) ==
    CASE RunStopEnds_when(rStop) -> <<RunStopEnds_next(rStop), RunStopEnds_out(rStop)>>
      [] OTHER -> <<>>
RunStop(rStop) ==
    CASE RunStopEnds_when(rStop) -> RunStopEnds_next(rStop)
      [] OTHER -> rStop
RunStop_rule(rStop) ==
    CASE RunStopEnds_when(rStop) -> "ends"
      [] RunStopIgnore_when(rStop) -> "ignore"
RunStop_out(rStop) ==
    CASE RunStopEnds_when(rStop) -> RunStopEnds_out(rStop)
      [] OTHER -> <<>>
RunStop_refused(rStop) == FALSE


\* Failed(why) -----------------------------------------------------------------------------------------------
\* The run cannot go on.

\* fails: goes to FAILED
RunFailedFails_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunFailedFails_when(rFailed) ==
    rFailed.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunFailedFails_next(rFailed) == [rFailed EXCEPT !.state = "FAILED"]
RunFailedFails_out(rFailed) == <<[out |-> "StartEnd"]>>

\* fails_ending: goes to FAILED
RunFailedFailsEnding_states == {"ENDING"}
RunFailedFailsEnding_when(rFailed) == rFailed.state = "ENDING"
RunFailedFailsEnding_next(rFailed) == [rFailed EXCEPT !.state = "FAILED"]

\* ignore: ignored
RunFailedIgnore_states == {"ENDED", "FAILED"}
RunFailedIgnore_when(rFailed) == rFailed.state \in {"ENDED", "FAILED"}

\* the event as a whole
RunFailed_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING", "ENDING"}
RunFailed_acts(rFailed) ==
    \/ RunFailedFails_when(rFailed)
    \/ RunFailedFailsEnding_when(rFailed)
RunFailed_step(rFailed) ==
    CASE RunFailedFails_when(rFailed) -> <<RunFailedFails_next(rFailed), RunFailedFails_out(rFailed)>>
      [] RunFailedFailsEnding_when(rFailed) -> <<RunFailedFailsEnding_next(rFailed), <<>>>>
      [] OTHER -> <<>>
RunFailed(rFailed) ==
    CASE RunFailedFails_when(rFailed) -> RunFailedFails_next(rFailed)
      [] RunFailedFailsEnding_when(rFailed) -> RunFailedFailsEnding_next(rFailed)
      [] OTHER -> rFailed
RunFailed_rule(rFailed) ==
    CASE RunFailedFails_when(rFailed) -> "fails"
      [] RunFailedFailsEnding_when(rFailed) -> "fails_ending"
      [] RunFailedIgnore_when(rFailed) -> "ignore"
RunFailed_out(rFailed) ==
    CASE RunFailedFails_when(rFailed) -> RunFailedFails_out(rFailed)
      [] OTHER -> <<>>
RunFailed_refused(rFailed) == FALSE


\* Ended() ---------------------------------------------------------------------------------------------------
\* Nothing of the run is left but its files.

\* out_of_step: refused out_of_step
RunEndedOutOfStep_states == {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}
RunEndedOutOfStep_when(rEnded) ==
    rEnded.state \in {"STARTING", "PRODUCING", "LENDING", "TRAINING", "PUBLISHING", "SYNCING", "SAVING", "RESTORING"}

\* to_ended: goes to ENDED
RunEndedToEnded_states == {"ENDING"}
RunEndedToEnded_when(rEnded) == rEnded.state = "ENDING"
RunEndedToEnded_next(rEnded) == [rEnded EXCEPT !.state = "ENDED"]

\* ignore: ignored
RunEndedIgnore_states == {"ENDED", "FAILED"}
RunEndedIgnore_when(rEnded) == rEnded.state \in {"ENDED", "FAILED"}

\* the event as a whole
RunEnded_states == {"ENDING"}
RunEnded_acts(rEnded) == RunEndedToEnded_when(rEnded)
RunEnded_step(rEnded) ==
    CASE RunEndedToEnded_when(rEnded) -> <<RunEndedToEnded_next(rEnded), <<>>>>
      [] OTHER -> <<>>
RunEnded(rEnded) ==
    CASE RunEndedToEnded_when(rEnded) -> RunEndedToEnded_next(rEnded)
      [] OTHER -> rEnded
RunEnded_rule(rEnded) ==
    CASE RunEndedOutOfStep_when(rEnded) -> "out_of_step"
      [] RunEndedToEnded_when(rEnded) -> "to_ended"
      [] RunEndedIgnore_when(rEnded) -> "ignore"
RunEnded_out(rEnded) == <<>>
RunEnded_refused(rEnded) == RunEndedOutOfStep_when(rEnded)

================================================================================
