\* Made by `sluicegate generate` from the machine Trainer; do not edit.
-------------------------------- MODULE Trainer --------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* The trainer: a group of ranks that train, publish, save or load together, one thing at a time.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* TrainerER_states: the states in which R can apply; TrainerER_when: R applies; TrainerER_next: the record
\* after it (absent where R leaves it as it is); TrainerER_out: what is to be done then, in order (absent
\* where that is nothing).
\*
\* For the event as a whole: TrainerE_states: the states in which it can change or emit something;
\* TrainerE_acts: it does so now; TrainerE_step: then the record after it and what is to be done, a pair, else
\* the empty sequence; TrainerE: the record after it in any case; TrainerE_out: what is to be done;
\* TrainerE_rule: the name of the rule that applies; TrainerE_refused: whether it is refused.

TrainerStates == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}

\* The record of an instance that was just born.
TrainerInit(tInit_ranks) ==
    [state |-> "IDLE",
     ranks |-> tInit_ranks,
     term |-> 0,
     version |-> <<>>,
     job |-> 0,
     publishing |-> <<>>,
     batch |-> <<>>,
     done |-> {},
     unable |-> {},
     digest |-> <<>>]


\* Claim(term) -----------------------------------------------------------------------------------------------
\* A controller of a higher term takes the trainer over.

\* claim_stale_term: refused stale_term
TrainerClaimClaimStaleTerm_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerClaimClaimStaleTerm_when(tClaim, tClaim_term) == tClaim_term < tClaim.term

\* claims: stays
TrainerClaimClaims_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerClaimClaims_when(tClaim, tClaim_term) ==
    /\ tClaim_term >= tClaim.term
    /\ tClaim.term < tClaim_term
TrainerClaimClaims_next(tClaim, tClaim_term) == [tClaim EXCEPT !.term = tClaim_term]

\* claims_ignore: ignored
TrainerClaimClaimsIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerClaimClaimsIgnore_when(tClaim, tClaim_term) ==
    /\ tClaim_term >= tClaim.term
    /\ tClaim.term >= tClaim_term

\* the event as a whole
TrainerClaim_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerClaim_acts(tClaim, tClaim_term) == TrainerClaimClaims_when(tClaim, tClaim_term)
TrainerClaim_step(tClaim, tClaim_term) ==
    CASE TrainerClaimClaims_when(tClaim, tClaim_term) -> <<TrainerClaimClaims_next(tClaim, tClaim_term), <<>>>>
      [] OTHER -> <<>>
TrainerClaim(tClaim, tClaim_term) ==
    CASE TrainerClaimClaims_when(tClaim, tClaim_term) -> TrainerClaimClaims_next(tClaim, tClaim_term)
      [] OTHER -> tClaim
TrainerClaim_rule(tClaim, tClaim_term) ==
    CASE TrainerClaimClaimStaleTerm_when(tClaim, tClaim_term) -> "claim_stale_term"
      [] TrainerClaimClaims_when(tClaim, tClaim_term) -> "claims"
      [] TrainerClaimClaimsIgnore_when(tClaim, tClaim_term) -> "claims_ignore"
TrainerClaim_out(tClaim, tClaim_term) == <<>>
TrainerClaim_refused(tClaim, tClaim_term) == TrainerClaimClaimStaleTerm_when(tClaim, tClaim_term)


\* Train(term, batch) ----------------------------------------------------------------------------------------
\* Train one step on the batch of this id.

\* control_stale_term: refused stale_term
TrainerTrainControlStaleTerm_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerTrainControlStaleTerm_when(tTrain, tTrain_term, tTrain_batch) == tTrain_term < tTrain.term

\* control_unclaimed: refused unclaimed
TrainerTrainControlUnclaimed_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerTrainControlUnclaimed_when(tTrain, tTrain_term, tTrain_batch) ==
    /\ tTrain_term >= tTrain.term
    /\ tTrain.term < tTrain_term

\* trains: goes to TRAINING
TrainerTrainTrains_states == {"IDLE"}
TrainerTrainTrains_when(tTrain, tTrain_term, tTrain_batch) ==
    /\ tTrain.state = "IDLE"
    /\ tTrain_term >= tTrain.term
    /\ tTrain.term >= tTrain_term
TrainerTrainTrains_next(tTrain, tTrain_term, tTrain_batch) ==
    [tTrain EXCEPT
        !.state = "TRAINING",
        !.job = tTrain.job + 1,
        !.batch = <<tTrain_batch>>]
TrainerTrainTrains_out(tTrain, tTrain_term, tTrain_batch) ==
    <<[out |-> "StartTraining", job |-> tTrain.job + 1, batch |-> tTrain_batch]>>

\* trains_again_ignore: ignored
TrainerTrainTrainsAgainIgnore_states == {"TRAINING"}
TrainerTrainTrainsAgainIgnore_when(tTrain, tTrain_term, tTrain_batch) ==
    /\ tTrain.state = "TRAINING"
    /\ tTrain_term >= tTrain.term
    /\ tTrain.term >= tTrain_term
    /\ tTrain.batch = <<tTrain_batch>>

\* trains_again_busy: refused busy, may be tried again
TrainerTrainTrainsAgainBusy_states == {"TRAINING"}
TrainerTrainTrainsAgainBusy_when(tTrain, tTrain_term, tTrain_batch) ==
    /\ tTrain.state = "TRAINING"
    /\ tTrain_term >= tTrain.term
    /\ tTrain.term >= tTrain_term
    /\ tTrain.batch # <<tTrain_batch>>

\* busy: refused busy, may be tried again
TrainerTrainBusy_states == {"PUBLISHING", "SAVING", "LOADING"}
TrainerTrainBusy_when(tTrain, tTrain_term, tTrain_batch) ==
    /\ tTrain.state \in {"PUBLISHING", "SAVING", "LOADING"}
    /\ tTrain_term >= tTrain.term
    /\ tTrain.term >= tTrain_term

\* failed: refused failed
TrainerTrainFailed_states == {"FAILED"}
TrainerTrainFailed_when(tTrain, tTrain_term, tTrain_batch) ==
    /\ tTrain.state = "FAILED"
    /\ tTrain_term >= tTrain.term
    /\ tTrain.term >= tTrain_term

\* the event as a whole
TrainerTrain_states == {"IDLE"}
TrainerTrain_acts(tTrain, tTrain_term, tTrain_batch) ==
    TrainerTrainTrains_when(tTrain, tTrain_term, tTrain_batch)
TrainerTrain_step(tTrain, tTrain_term, tTrain_batch) ==
    CASE TrainerTrainTrains_when(tTrain, tTrain_term, tTrain_batch) -> <<TrainerTrainTrains_next(tTrain, tTrain_term, tTrain_batch), TrainerTrainTrains_out(tTrain, tTrain_term, tTrain_batch)>>
      [] OTHER -> <<>>
TrainerTrain(tTrain, tTrain_term, tTrain_batch) ==
    CASE TrainerTrainTrains_when(tTrain, tTrain_term, tTrain_batch) -> TrainerTrainTrains_next(tTrain, tTrain_term, tTrain_batch)
      [] OTHER -> tTrain
TrainerTrain_rule(tTrain, tTrain_term, tTrain_batch) ==
    CASE TrainerTrainControlStaleTerm_when(tTrain, tTrain_term, tTrain_batch) -> "control_stale_term"
      [] TrainerTrainControlUnclaimed_when(tTrain, tTrain_term, tTrain_batch) -> "control_unclaimed"
      [] TrainerTrainTrains_when(tTrain, tTrain_term, tTrain_batch) -> "trains"
      [] TrainerTrainTrainsAgainIgnore_when(tTrain, tTrain_term, tTrain_batch) -> "trains_again_ignore"
      [] TrainerTrainTrainsAgainBusy_when(tTrain, tTrain_term, tTrain_batch) -> "trains_again_busy"
      [] TrainerTrainBusy_when(tTrain, tTrain_term, tTrain_batch) -> "busy"
      [] TrainerTrainFailed_when(tTrain, tTrain_term, tTrain_batch) -> "failed"
TrainerTrain_out(tTrain, tTrain_term, tTrain_batch) ==
    CASE TrainerTrainTrains_when(tTrain, tTrain_term, tTrain_batch) -> TrainerTrainTrains_out(tTrain, tTrain_term, tTrain_batch)
      [] OTHER -> <<>>
TrainerTrain_refused(tTrain, tTrain_term, tTrain_batch) ==
    \/ TrainerTrainControlStaleTerm_when(tTrain, tTrain_term, tTrain_batch)
    \/ TrainerTrainControlUnclaimed_when(tTrain, tTrain_term, tTrain_batch)
    \/ TrainerTrainTrainsAgainBusy_when(tTrain, tTrain_term, tTrain_batch)
    \/ TrainerTrainBusy_when(tTrain, tTrain_term, tTrain_batch)
    \/ TrainerTrainFailed_when(tTrain, tTrain_term, tTrain_batch)


\* Publish(term, version) ------------------------------------------------------------------------------------
\* Write the weights as this version, durably, with its manifest.

\* control_stale_term: refused stale_term
TrainerPublishControlStaleTerm_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerPublishControlStaleTerm_when(tPublish, tPublish_term, tPublish_version) ==
    tPublish_term < tPublish.term

\* control_unclaimed: refused unclaimed
TrainerPublishControlUnclaimed_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerPublishControlUnclaimed_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term < tPublish_term

\* publishes: goes to PUBLISHING
TrainerPublishPublishes_states == {"IDLE"}
TrainerPublishPublishes_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state = "IDLE"
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term
    /\ ((tPublish.version = <<>>) \/ ((IF tPublish.version = <<>> THEN 0 ELSE tPublish.version[1]) < tPublish_version))
TrainerPublishPublishes_next(tPublish, tPublish_term, tPublish_version) ==
    [tPublish EXCEPT
        !.state = "PUBLISHING",
        !.job = tPublish.job + 1,
        !.publishing = <<tPublish_version>>]
TrainerPublishPublishes_out(tPublish, tPublish_term, tPublish_version) ==
    <<[out |-> "StartPublishing", job |-> tPublish.job + 1, version |-> tPublish_version]>>

\* publishes_ignore: ignored
TrainerPublishPublishesIgnore_states == {"IDLE"}
TrainerPublishPublishesIgnore_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state = "IDLE"
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term
    /\ tPublish.version = <<tPublish_version>>

\* publishes_not_newer: refused not_newer
TrainerPublishPublishesNotNewer_states == {"IDLE"}
TrainerPublishPublishesNotNewer_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state = "IDLE"
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term
    /\ tPublish.version # <<>>
    /\ (IF tPublish.version = <<>> THEN 0 ELSE tPublish.version[1]) >= tPublish_version
    /\ tPublish.version # <<tPublish_version>>

\* busy: refused busy, may be tried again
TrainerPublishBusy_states == {"TRAINING", "SAVING", "LOADING"}
TrainerPublishBusy_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state \in {"TRAINING", "SAVING", "LOADING"}
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term

\* publishes_again_ignore: ignored
TrainerPublishPublishesAgainIgnore_states == {"PUBLISHING"}
TrainerPublishPublishesAgainIgnore_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state = "PUBLISHING"
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term
    /\ tPublish.publishing = <<tPublish_version>>

\* publishes_again_busy: refused busy, may be tried again
TrainerPublishPublishesAgainBusy_states == {"PUBLISHING"}
TrainerPublishPublishesAgainBusy_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state = "PUBLISHING"
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term
    /\ tPublish.publishing # <<tPublish_version>>

\* failed: refused failed
TrainerPublishFailed_states == {"FAILED"}
TrainerPublishFailed_when(tPublish, tPublish_term, tPublish_version) ==
    /\ tPublish.state = "FAILED"
    /\ tPublish_term >= tPublish.term
    /\ tPublish.term >= tPublish_term

\* the event as a whole
TrainerPublish_states == {"IDLE"}
TrainerPublish_acts(tPublish, tPublish_term, tPublish_version) ==
    TrainerPublishPublishes_when(tPublish, tPublish_term, tPublish_version)
TrainerPublish_step(tPublish, tPublish_term, tPublish_version) ==
    CASE TrainerPublishPublishes_when(tPublish, tPublish_term, tPublish_version) -> <<TrainerPublishPublishes_next(tPublish, tPublish_term, tPublish_version), TrainerPublishPublishes_out(tPublish, tPublish_term, tPublish_version)>>
      [] OTHER -> <<>>
TrainerPublish(tPublish, tPublish_term, tPublish_version) ==
    CASE TrainerPublishPublishes_when(tPublish, tPublish_term, tPublish_version) -> TrainerPublishPublishes_next(tPublish, tPublish_term, tPublish_version)
      [] OTHER -> tPublish
TrainerPublish_rule(tPublish, tPublish_term, tPublish_version) ==
    CASE TrainerPublishControlStaleTerm_when(tPublish, tPublish_term, tPublish_version) -> "control_stale_term"
      [] TrainerPublishControlUnclaimed_when(tPublish, tPublish_term, tPublish_version) -> "control_unclaimed"
      [] TrainerPublishPublishes_when(tPublish, tPublish_term, tPublish_version) -> "publishes"
      [] TrainerPublishPublishesIgnore_when(tPublish, tPublish_term, tPublish_version) -> "publishes_ignore"
      [] TrainerPublishPublishesNotNewer_when(tPublish, tPublish_term, tPublish_version) -> "publishes_not_newer"
      [] TrainerPublishBusy_when(tPublish, tPublish_term, tPublish_version) -> "busy"
      [] TrainerPublishPublishesAgainIgnore_when(tPublish, tPublish_term, tPublish_version) -> "publishes_again_ignore"
      [] TrainerPublishPublishesAgainBusy_when(tPublish, tPublish_term, tPublish_version) -> "publishes_again_busy"
      [] TrainerPublishFailed_when(tPublish, tPublish_term, tPublish_version) -> "failed"
TrainerPublish_out(tPublish, tPublish_term, tPublish_version) ==
    CASE TrainerPublishPublishes_when(tPublish, tPublish_term, tPublish_version) -> TrainerPublishPublishes_out(tPublish, tPublish_term, tPublish_version)
      [] OTHER -> <<>>
TrainerPublish_refused(tPublish, tPublish_term, tPublish_version) ==
    \/ TrainerPublishControlStaleTerm_when(tPublish, tPublish_term, tPublish_version)
    \/ TrainerPublishControlUnclaimed_when(tPublish, tPublish_term, tPublish_version)
    \/ TrainerPublishPublishesNotNewer_when(tPublish, tPublish_term, tPublish_version)
    \/ TrainerPublishBusy_when(tPublish, tPublish_term, tPublish_version)
    \/ TrainerPublishPublishesAgainBusy_when(tPublish, tPublish_term, tPublish_version)
    \/ TrainerPublishFailed_when(tPublish, tPublish_term, tPublish_version)


\* Save(term, path) ------------------------------------------------------------------------------------------
\* Write a checkpoint.

\* control_stale_term: refused stale_term
TrainerSaveControlStaleTerm_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerSaveControlStaleTerm_when(tSave, tSave_term) == tSave_term < tSave.term

\* control_unclaimed: refused unclaimed
TrainerSaveControlUnclaimed_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerSaveControlUnclaimed_when(tSave, tSave_term) ==
    /\ tSave_term >= tSave.term
    /\ tSave.term < tSave_term

\* saves: goes to SAVING
TrainerSaveSaves_states == {"IDLE"}
TrainerSaveSaves_when(tSave, tSave_term) ==
    /\ tSave.state = "IDLE"
    /\ tSave_term >= tSave.term
    /\ tSave.term >= tSave_term
TrainerSaveSaves_next(tSave, tSave_term) == [tSave EXCEPT !.state = "SAVING", !.job = tSave.job + 1]
TrainerSaveSaves_out(tSave, tSave_term) == <<[out |-> "StartSaving", job |-> tSave.job + 1]>>

\* busy: refused busy, may be tried again
TrainerSaveBusy_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerSaveBusy_when(tSave, tSave_term) ==
    /\ tSave.state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tSave_term >= tSave.term
    /\ tSave.term >= tSave_term

\* failed: refused failed
TrainerSaveFailed_states == {"FAILED"}
TrainerSaveFailed_when(tSave, tSave_term) ==
    /\ tSave.state = "FAILED"
    /\ tSave_term >= tSave.term
    /\ tSave.term >= tSave_term

\* the event as a whole
TrainerSave_states == {"IDLE"}
TrainerSave_acts(tSave, tSave_term) == TrainerSaveSaves_when(tSave, tSave_term)
TrainerSave_step(tSave, tSave_term) ==
    CASE TrainerSaveSaves_when(tSave, tSave_term) -> <<TrainerSaveSaves_next(tSave, tSave_term), TrainerSaveSaves_out(tSave, tSave_term)>>
      [] OTHER -> <<>>
TrainerSave(tSave, tSave_term) ==
    CASE TrainerSaveSaves_when(tSave, tSave_term) -> TrainerSaveSaves_next(tSave, tSave_term)
      [] OTHER -> tSave
TrainerSave_rule(tSave, tSave_term) ==
    CASE TrainerSaveControlStaleTerm_when(tSave, tSave_term) -> "control_stale_term"
      [] TrainerSaveControlUnclaimed_when(tSave, tSave_term) -> "control_unclaimed"
      [] TrainerSaveSaves_when(tSave, tSave_term) -> "saves"
      [] TrainerSaveBusy_when(tSave, tSave_term) -> "busy"
      [] TrainerSaveFailed_when(tSave, tSave_term) -> "failed"
TrainerSave_out(tSave, tSave_term) ==
    CASE TrainerSaveSaves_when(tSave, tSave_term) -> TrainerSaveSaves_out(tSave, tSave_term)
      [] OTHER -> <<>>
TrainerSave_refused(tSave, tSave_term) ==
    \/ TrainerSaveControlStaleTerm_when(tSave, tSave_term)
    \/ TrainerSaveControlUnclaimed_when(tSave, tSave_term)
    \/ TrainerSaveBusy_when(tSave, tSave_term)
    \/ TrainerSaveFailed_when(tSave, tSave_term)


\* Load(term, path) ------------------------------------------------------------------------------------------
\* Read a checkpoint.

\* control_stale_term: refused stale_term
TrainerLoadControlStaleTerm_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerLoadControlStaleTerm_when(tLoad, tLoad_term) == tLoad_term < tLoad.term

\* control_unclaimed: refused unclaimed
TrainerLoadControlUnclaimed_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerLoadControlUnclaimed_when(tLoad, tLoad_term) ==
    /\ tLoad_term >= tLoad.term
    /\ tLoad.term < tLoad_term

\* loads: goes to LOADING
TrainerLoadLoads_states == {"IDLE"}
TrainerLoadLoads_when(tLoad, tLoad_term) ==
    /\ tLoad.state = "IDLE"
    /\ tLoad_term >= tLoad.term
    /\ tLoad.term >= tLoad_term
TrainerLoadLoads_next(tLoad, tLoad_term) == [tLoad EXCEPT !.state = "LOADING", !.job = tLoad.job + 1]
TrainerLoadLoads_out(tLoad, tLoad_term) == <<[out |-> "StartLoading", job |-> tLoad.job + 1]>>

\* busy: refused busy, may be tried again
TrainerLoadBusy_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerLoadBusy_when(tLoad, tLoad_term) ==
    /\ tLoad.state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tLoad_term >= tLoad.term
    /\ tLoad.term >= tLoad_term

\* failed: refused failed
TrainerLoadFailed_states == {"FAILED"}
TrainerLoadFailed_when(tLoad, tLoad_term) ==
    /\ tLoad.state = "FAILED"
    /\ tLoad_term >= tLoad.term
    /\ tLoad.term >= tLoad_term

\* the event as a whole
TrainerLoad_states == {"IDLE"}
TrainerLoad_acts(tLoad, tLoad_term) == TrainerLoadLoads_when(tLoad, tLoad_term)
TrainerLoad_step(tLoad, tLoad_term) ==
    CASE TrainerLoadLoads_when(tLoad, tLoad_term) -> <<TrainerLoadLoads_next(tLoad, tLoad_term), TrainerLoadLoads_out(tLoad, tLoad_term)>>
      [] OTHER -> <<>>
TrainerLoad(tLoad, tLoad_term) ==
    CASE TrainerLoadLoads_when(tLoad, tLoad_term) -> TrainerLoadLoads_next(tLoad, tLoad_term)
      [] OTHER -> tLoad
TrainerLoad_rule(tLoad, tLoad_term) ==
    CASE TrainerLoadControlStaleTerm_when(tLoad, tLoad_term) -> "control_stale_term"
      [] TrainerLoadControlUnclaimed_when(tLoad, tLoad_term) -> "control_unclaimed"
      [] TrainerLoadLoads_when(tLoad, tLoad_term) -> "loads"
      [] TrainerLoadBusy_when(tLoad, tLoad_term) -> "busy"
      [] TrainerLoadFailed_when(tLoad, tLoad_term) -> "failed"
TrainerLoad_out(tLoad, tLoad_term) ==
    CASE TrainerLoadLoads_when(tLoad, tLoad_term) -> TrainerLoadLoads_out(tLoad, tLoad_term)
      [] OTHER -> <<>>
TrainerLoad_refused(tLoad, tLoad_term) ==
    \/ TrainerLoadControlStaleTerm_when(tLoad, tLoad_term)
    \/ TrainerLoadControlUnclaimed_when(tLoad, tLoad_term)
    \/ TrainerLoadBusy_when(tLoad, tLoad_term)
    \/ TrainerLoadFailed_when(tLoad, tLoad_term)


\* Trained(rank, job) ----------------------------------------------------------------------------------------
\* The rank has taken the step.

\* answer_ignore: ignored
TrainerTrainedAnswerIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerTrainedAnswerIgnore_when(tTrained, tTrained_rank, tTrained_job) == tTrained_job # tTrained.job

\* ignore: ignored
TrainerTrainedIgnore_states == {"IDLE", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerTrainedIgnore_when(tTrained, tTrained_rank, tTrained_job) ==
    /\ tTrained.state \in {"IDLE", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
    /\ tTrained_job = tTrained.job

\* trained: goes to IDLE
TrainerTrainedTrained_states == {"TRAINING"}
TrainerTrainedTrained_when(tTrained, tTrained_rank, tTrained_job) ==
    /\ tTrained.state = "TRAINING"
    /\ tTrained_job = tTrained.job
    /\ tTrained_rank \in tTrained.ranks
    /\ tTrained.unable = {}
    /\ (tTrained.done \cup {tTrained_rank}) = tTrained.ranks
TrainerTrainedTrained_next(tTrained, tTrained_rank, tTrained_job) ==
    [tTrained EXCEPT
        !.state = "IDLE",
        !.batch = <<>>,
        !.done = {}]

\* trained_2: stays
TrainerTrainedTrained2_states == {"TRAINING"}
TrainerTrainedTrained2_when(tTrained, tTrained_rank, tTrained_job) ==
    /\ tTrained.state = "TRAINING"
    /\ tTrained_job = tTrained.job
    /\ tTrained_rank \in tTrained.ranks
    /\ tTrained.unable = {}
    /\ (tTrained.done \cup {tTrained_rank}) # tTrained.ranks
TrainerTrainedTrained2_next(tTrained, tTrained_rank, tTrained_job) ==
    [tTrained EXCEPT !.done = tTrained.done \cup {tTrained_rank}]

\* trained_3: goes to FAILED
TrainerTrainedTrained3_states == {"TRAINING"}
TrainerTrainedTrained3_when(tTrained, tTrained_rank, tTrained_job) ==
    /\ tTrained.state = "TRAINING"
    /\ tTrained_job = tTrained.job
    /\ tTrained_rank \in tTrained.ranks
    /\ tTrained.unable # {}
TrainerTrainedTrained3_next(tTrained, tTrained_rank, tTrained_job) == [tTrained EXCEPT !.state = "FAILED"]

\* trained_ignore: ignored
TrainerTrainedTrainedIgnore_states == {"TRAINING"}
TrainerTrainedTrainedIgnore_when(tTrained, tTrained_rank, tTrained_job) ==
    /\ tTrained.state = "TRAINING"
    /\ tTrained_job = tTrained.job
    /\ ~((tTrained_rank \in tTrained.ranks) /\ (tTrained.unable = {}) /\ ((tTrained.done \cup {tTrained_rank}) = tTrained.ranks))
    /\ ~((tTrained_rank \in tTrained.ranks) /\ (tTrained.unable = {}) /\ ((tTrained.done \cup {tTrained_rank}) # tTrained.ranks))
    /\ ~((tTrained_rank \in tTrained.ranks) /\ (tTrained.unable # {}))

\* the event as a whole
TrainerTrained_states == {"TRAINING"}
TrainerTrained_acts(tTrained, tTrained_rank, tTrained_job) ==
    \/ TrainerTrainedTrained_when(tTrained, tTrained_rank, tTrained_job)
    \/ TrainerTrainedTrained2_when(tTrained, tTrained_rank, tTrained_job)
    \/ TrainerTrainedTrained3_when(tTrained, tTrained_rank, tTrained_job)
TrainerTrained_step(tTrained, tTrained_rank, tTrained_job) ==
    CASE TrainerTrainedTrained_when(tTrained, tTrained_rank, tTrained_job) -> <<TrainerTrainedTrained_next(tTrained, tTrained_rank, tTrained_job), <<>>>>
      [] TrainerTrainedTrained2_when(tTrained, tTrained_rank, tTrained_job) -> <<TrainerTrainedTrained2_next(tTrained, tTrained_rank, tTrained_job), <<>>>>
      [] TrainerTrainedTrained3_when(tTrained, tTrained_rank, tTrained_job) -> <<TrainerTrainedTrained3_next(tTrained, tTrained_rank, tTrained_job), <<>>>>
      [] OTHER -> <<>>
TrainerTrained(tTrained, tTrained_rank, tTrained_job) ==
    CASE TrainerTrainedTrained_when(tTrained, tTrained_rank, tTrained_job) -> TrainerTrainedTrained_next(tTrained, tTrained_rank, tTrained_job)
      [] TrainerTrainedTrained2_when(tTrained, tTrained_rank, tTrained_job) -> TrainerTrainedTrained2_next(tTrained, tTrained_rank, tTrained_job)
      [] TrainerTrainedTrained3_when(tTrained, tTrained_rank, tTrained_job) -> TrainerTrainedTrained3_next(tTrained, tTrained_rank, tTrained_job)
      [] OTHER -> tTrained
TrainerTrained_rule(tTrained, tTrained_rank, tTrained_job) ==
    CASE TrainerTrainedAnswerIgnore_when(tTrained, tTrained_rank, tTrained_job) -> "answer_ignore"
      [] TrainerTrainedIgnore_when(tTrained, tTrained_rank, tTrained_job) -> "ignore"
      [] TrainerTrainedTrained_when(tTrained, tTrained_rank, tTrained_job) -> "trained"
      [] TrainerTrainedTrained2_when(tTrained, tTrained_rank, tTrained_job) -> "trained_2"
      [] TrainerTrainedTrained3_when(tTrained, tTrained_rank, tTrained_job) -> "trained_3"
      [] TrainerTrainedTrainedIgnore_when(tTrained, tTrained_rank, tTrained_job) -> "trained_ignore"
TrainerTrained_out(tTrained, tTrained_rank, tTrained_job) == <<>>
TrainerTrained_refused(tTrained, tTrained_rank, tTrained_job) == FALSE


\* Published(rank, job, digest) ------------------------------------------------------------------------------
\* Manifest and bytes of the version are durable, and the rank's weights have this digest.

\* answer_ignore: ignored
TrainerPublishedAnswerIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerPublishedAnswerIgnore_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    tPublished_job # tPublished.job

\* ignore: ignored
TrainerPublishedIgnore_states == {"IDLE", "TRAINING", "SAVING", "LOADING", "FAILED"}
TrainerPublishedIgnore_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    /\ tPublished.state \in {"IDLE", "TRAINING", "SAVING", "LOADING", "FAILED"}
    /\ tPublished_job = tPublished.job

\* published: goes to IDLE
TrainerPublishedPublished_states == {"PUBLISHING"}
TrainerPublishedPublished_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    /\ tPublished.state = "PUBLISHING"
    /\ tPublished_job = tPublished.job
    /\ tPublished_rank \in tPublished.ranks
    /\ tPublished.unable = {}
    /\ ((tPublished.digest = <<>>) \/ (tPublished.digest = <<tPublished_digest>>))
    /\ (tPublished.done \cup {tPublished_rank}) = tPublished.ranks
TrainerPublishedPublished_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    [tPublished EXCEPT
        !.state = "IDLE",
        !.version = tPublished.publishing,
        !.publishing = <<>>,
        !.done = {},
        !.digest = <<>>]

\* published_2: stays
TrainerPublishedPublished2_states == {"PUBLISHING"}
TrainerPublishedPublished2_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    /\ tPublished.state = "PUBLISHING"
    /\ tPublished_job = tPublished.job
    /\ tPublished_rank \in tPublished.ranks
    /\ tPublished.unable = {}
    /\ ((tPublished.digest = <<>>) \/ (tPublished.digest = <<tPublished_digest>>))
    /\ (tPublished.done \cup {tPublished_rank}) # tPublished.ranks
TrainerPublishedPublished2_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    [tPublished EXCEPT !.done = tPublished.done \cup {tPublished_rank}, !.digest = <<tPublished_digest>>]

\* published_3: goes to FAILED
TrainerPublishedPublished3_states == {"PUBLISHING"}
TrainerPublishedPublished3_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    /\ tPublished.state = "PUBLISHING"
    /\ tPublished_job = tPublished.job
    /\ tPublished_rank \in tPublished.ranks
    /\ (~((tPublished.unable = {}) /\ ((tPublished.digest = <<>>) \/ (tPublished.digest = <<tPublished_digest>>))))
TrainerPublishedPublished3_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    [tPublished EXCEPT !.state = "FAILED"]

\* published_ignore: ignored
TrainerPublishedPublishedIgnore_states == {"PUBLISHING"}
TrainerPublishedPublishedIgnore_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    /\ tPublished.state = "PUBLISHING"
    /\ tPublished_job = tPublished.job
    /\ (~((tPublished_rank \in tPublished.ranks) /\ (tPublished.unable = {}) /\ ((tPublished.digest = <<>>) \/ (tPublished.digest = <<tPublished_digest>>)) /\ ((tPublished.done \cup {tPublished_rank}) = tPublished.ranks)))
    /\ (~((tPublished_rank \in tPublished.ranks) /\ (tPublished.unable = {}) /\ ((tPublished.digest = <<>>) \/ (tPublished.digest = <<tPublished_digest>>)) /\ ((tPublished.done \cup {tPublished_rank}) # tPublished.ranks)))
    /\ (~((tPublished_rank \in tPublished.ranks) /\ (~((tPublished.unable = {}) /\ ((tPublished.digest = <<>>) \/ (tPublished.digest = <<tPublished_digest>>))))))

\* the event as a whole
TrainerPublished_states == {"PUBLISHING"}
TrainerPublished_acts(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    \/ TrainerPublishedPublished_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest)
    \/ TrainerPublishedPublished2_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest)
    \/ TrainerPublishedPublished3_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest)
TrainerPublished_step(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    CASE TrainerPublishedPublished_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> <<TrainerPublishedPublished_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest), <<>>>>
      [] TrainerPublishedPublished2_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> <<TrainerPublishedPublished2_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest), <<>>>>
      [] TrainerPublishedPublished3_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> <<TrainerPublishedPublished3_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest), <<>>>>
      [] OTHER -> <<>>
TrainerPublished(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    CASE TrainerPublishedPublished_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> TrainerPublishedPublished_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest)
      [] TrainerPublishedPublished2_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> TrainerPublishedPublished2_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest)
      [] TrainerPublishedPublished3_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> TrainerPublishedPublished3_next(tPublished, tPublished_rank, tPublished_job, tPublished_digest)
      [] OTHER -> tPublished
TrainerPublished_rule(tPublished, tPublished_rank, tPublished_job, tPublished_digest) ==
    CASE TrainerPublishedAnswerIgnore_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> "answer_ignore"
      [] TrainerPublishedIgnore_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> "ignore"
      [] TrainerPublishedPublished_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> "published"
      [] TrainerPublishedPublished2_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> "published_2"
      [] TrainerPublishedPublished3_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> "published_3"
      [] TrainerPublishedPublishedIgnore_when(tPublished, tPublished_rank, tPublished_job, tPublished_digest) -> "published_ignore"
TrainerPublished_out(tPublished, tPublished_rank, tPublished_job, tPublished_digest) == <<>>
TrainerPublished_refused(tPublished, tPublished_rank, tPublished_job, tPublished_digest) == FALSE


\* Saved(rank, job) ------------------------------------------------------------------------------------------
\* The checkpoint is durable, with the rank's part.

\* answer_ignore: ignored
TrainerSavedAnswerIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerSavedAnswerIgnore_when(tSaved, tSaved_rank, tSaved_job) == tSaved_job # tSaved.job

\* ignore: ignored
TrainerSavedIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "LOADING", "FAILED"}
TrainerSavedIgnore_when(tSaved, tSaved_rank, tSaved_job) ==
    /\ tSaved.state \in {"IDLE", "TRAINING", "PUBLISHING", "LOADING", "FAILED"}
    /\ tSaved_job = tSaved.job

\* saved: goes to IDLE
TrainerSavedSaved_states == {"SAVING"}
TrainerSavedSaved_when(tSaved, tSaved_rank, tSaved_job) ==
    /\ tSaved.state = "SAVING"
    /\ tSaved_job = tSaved.job
    /\ tSaved_rank \in tSaved.ranks
    /\ tSaved.unable = {}
    /\ (tSaved.done \cup {tSaved_rank}) = tSaved.ranks
TrainerSavedSaved_next(tSaved, tSaved_rank, tSaved_job) == [tSaved EXCEPT !.state = "IDLE", !.done = {}]

\* saved_2: stays
TrainerSavedSaved2_states == {"SAVING"}
TrainerSavedSaved2_when(tSaved, tSaved_rank, tSaved_job) ==
    /\ tSaved.state = "SAVING"
    /\ tSaved_job = tSaved.job
    /\ tSaved_rank \in tSaved.ranks
    /\ tSaved.unable = {}
    /\ (tSaved.done \cup {tSaved_rank}) # tSaved.ranks
TrainerSavedSaved2_next(tSaved, tSaved_rank, tSaved_job) ==
    [tSaved EXCEPT !.done = tSaved.done \cup {tSaved_rank}]

\* saved_3: goes to FAILED
TrainerSavedSaved3_states == {"SAVING"}
TrainerSavedSaved3_when(tSaved, tSaved_rank, tSaved_job) ==
    /\ tSaved.state = "SAVING"
    /\ tSaved_job = tSaved.job
    /\ tSaved_rank \in tSaved.ranks
    /\ tSaved.unable # {}
TrainerSavedSaved3_next(tSaved, tSaved_rank, tSaved_job) == [tSaved EXCEPT !.state = "FAILED"]

\* saved_ignore: ignored
TrainerSavedSavedIgnore_states == {"SAVING"}
TrainerSavedSavedIgnore_when(tSaved, tSaved_rank, tSaved_job) ==
    /\ tSaved.state = "SAVING"
    /\ tSaved_job = tSaved.job
    /\ ~((tSaved_rank \in tSaved.ranks) /\ (tSaved.unable = {}) /\ ((tSaved.done \cup {tSaved_rank}) = tSaved.ranks))
    /\ ~((tSaved_rank \in tSaved.ranks) /\ (tSaved.unable = {}) /\ ((tSaved.done \cup {tSaved_rank}) # tSaved.ranks))
    /\ ~((tSaved_rank \in tSaved.ranks) /\ (tSaved.unable # {}))

\* the event as a whole
TrainerSaved_states == {"SAVING"}
TrainerSaved_acts(tSaved, tSaved_rank, tSaved_job) ==
    \/ TrainerSavedSaved_when(tSaved, tSaved_rank, tSaved_job)
    \/ TrainerSavedSaved2_when(tSaved, tSaved_rank, tSaved_job)
    \/ TrainerSavedSaved3_when(tSaved, tSaved_rank, tSaved_job)
TrainerSaved_step(tSaved, tSaved_rank, tSaved_job) ==
    CASE TrainerSavedSaved_when(tSaved, tSaved_rank, tSaved_job) -> <<TrainerSavedSaved_next(tSaved, tSaved_rank, tSaved_job), <<>>>>
      [] TrainerSavedSaved2_when(tSaved, tSaved_rank, tSaved_job) -> <<TrainerSavedSaved2_next(tSaved, tSaved_rank, tSaved_job), <<>>>>
      [] TrainerSavedSaved3_when(tSaved, tSaved_rank, tSaved_job) -> <<TrainerSavedSaved3_next(tSaved, tSaved_rank, tSaved_job), <<>>>>
      [] OTHER -> <<>>
TrainerSaved(tSaved, tSaved_rank, tSaved_job) ==
    CASE TrainerSavedSaved_when(tSaved, tSaved_rank, tSaved_job) -> TrainerSavedSaved_next(tSaved, tSaved_rank, tSaved_job)
      [] TrainerSavedSaved2_when(tSaved, tSaved_rank, tSaved_job) -> TrainerSavedSaved2_next(tSaved, tSaved_rank, tSaved_job)
      [] TrainerSavedSaved3_when(tSaved, tSaved_rank, tSaved_job) -> TrainerSavedSaved3_next(tSaved, tSaved_rank, tSaved_job)
      [] OTHER -> tSaved
TrainerSaved_rule(tSaved, tSaved_rank, tSaved_job) ==
    CASE TrainerSavedAnswerIgnore_when(tSaved, tSaved_rank, tSaved_job) -> "answer_ignore"
      [] TrainerSavedIgnore_when(tSaved, tSaved_rank, tSaved_job) -> "ignore"
      [] TrainerSavedSaved_when(tSaved, tSaved_rank, tSaved_job) -> "saved"
      [] TrainerSavedSaved2_when(tSaved, tSaved_rank, tSaved_job) -> "saved_2"
      [] TrainerSavedSaved3_when(tSaved, tSaved_rank, tSaved_job) -> "saved_3"
      [] TrainerSavedSavedIgnore_when(tSaved, tSaved_rank, tSaved_job) -> "saved_ignore"
TrainerSaved_out(tSaved, tSaved_rank, tSaved_job) == <<>>
TrainerSaved_refused(tSaved, tSaved_rank, tSaved_job) == FALSE


\* Loaded(rank, job) -----------------------------------------------------------------------------------------
\* The rank has read its part of the checkpoint.

\* answer_ignore: ignored
TrainerLoadedAnswerIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerLoadedAnswerIgnore_when(tLoaded, tLoaded_rank, tLoaded_job) == tLoaded_job # tLoaded.job

\* ignore: ignored
TrainerLoadedIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "FAILED"}
TrainerLoadedIgnore_when(tLoaded, tLoaded_rank, tLoaded_job) ==
    /\ tLoaded.state \in {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "FAILED"}
    /\ tLoaded_job = tLoaded.job

\* loaded: goes to IDLE
TrainerLoadedLoaded_states == {"LOADING"}
TrainerLoadedLoaded_when(tLoaded, tLoaded_rank, tLoaded_job) ==
    /\ tLoaded.state = "LOADING"
    /\ tLoaded_job = tLoaded.job
    /\ tLoaded_rank \in tLoaded.ranks
    /\ tLoaded.unable = {}
    /\ (tLoaded.done \cup {tLoaded_rank}) = tLoaded.ranks
TrainerLoadedLoaded_next(tLoaded, tLoaded_rank, tLoaded_job) == [tLoaded EXCEPT !.state = "IDLE", !.done = {}]

\* loaded_2: stays
TrainerLoadedLoaded2_states == {"LOADING"}
TrainerLoadedLoaded2_when(tLoaded, tLoaded_rank, tLoaded_job) ==
    /\ tLoaded.state = "LOADING"
    /\ tLoaded_job = tLoaded.job
    /\ tLoaded_rank \in tLoaded.ranks
    /\ tLoaded.unable = {}
    /\ (tLoaded.done \cup {tLoaded_rank}) # tLoaded.ranks
TrainerLoadedLoaded2_next(tLoaded, tLoaded_rank, tLoaded_job) ==
    [tLoaded EXCEPT !.done = tLoaded.done \cup {tLoaded_rank}]

\* loaded_3: goes to FAILED
TrainerLoadedLoaded3_states == {"LOADING"}
TrainerLoadedLoaded3_when(tLoaded, tLoaded_rank, tLoaded_job) ==
    /\ tLoaded.state = "LOADING"
    /\ tLoaded_job = tLoaded.job
    /\ tLoaded_rank \in tLoaded.ranks
    /\ tLoaded.unable # {}
TrainerLoadedLoaded3_next(tLoaded, tLoaded_rank, tLoaded_job) == [tLoaded EXCEPT !.state = "FAILED"]

\* loaded_ignore: ignored
TrainerLoadedLoadedIgnore_states == {"LOADING"}
TrainerLoadedLoadedIgnore_when(tLoaded, tLoaded_rank, tLoaded_job) ==
    /\ tLoaded.state = "LOADING"
    /\ tLoaded_job = tLoaded.job
    /\ ~((tLoaded_rank \in tLoaded.ranks) /\ (tLoaded.unable = {}) /\ ((tLoaded.done \cup {tLoaded_rank}) = tLoaded.ranks))
    /\ ~((tLoaded_rank \in tLoaded.ranks) /\ (tLoaded.unable = {}) /\ ((tLoaded.done \cup {tLoaded_rank}) # tLoaded.ranks))
    /\ ~((tLoaded_rank \in tLoaded.ranks) /\ (tLoaded.unable # {}))

\* the event as a whole
TrainerLoaded_states == {"LOADING"}
TrainerLoaded_acts(tLoaded, tLoaded_rank, tLoaded_job) ==
    \/ TrainerLoadedLoaded_when(tLoaded, tLoaded_rank, tLoaded_job)
    \/ TrainerLoadedLoaded2_when(tLoaded, tLoaded_rank, tLoaded_job)
    \/ TrainerLoadedLoaded3_when(tLoaded, tLoaded_rank, tLoaded_job)
TrainerLoaded_step(tLoaded, tLoaded_rank, tLoaded_job) ==
    CASE TrainerLoadedLoaded_when(tLoaded, tLoaded_rank, tLoaded_job) -> <<TrainerLoadedLoaded_next(tLoaded, tLoaded_rank, tLoaded_job), <<>>>>
      [] TrainerLoadedLoaded2_when(tLoaded, tLoaded_rank, tLoaded_job) -> <<TrainerLoadedLoaded2_next(tLoaded, tLoaded_rank, tLoaded_job), <<>>>>
      [] TrainerLoadedLoaded3_when(tLoaded, tLoaded_rank, tLoaded_job) -> <<TrainerLoadedLoaded3_next(tLoaded, tLoaded_rank, tLoaded_job), <<>>>>
      [] OTHER -> <<>>
TrainerLoaded(tLoaded, tLoaded_rank, tLoaded_job) ==
    CASE TrainerLoadedLoaded_when(tLoaded, tLoaded_rank, tLoaded_job) -> TrainerLoadedLoaded_next(tLoaded, tLoaded_rank, tLoaded_job)
      [] TrainerLoadedLoaded2_when(tLoaded, tLoaded_rank, tLoaded_job) -> TrainerLoadedLoaded2_next(tLoaded, tLoaded_rank, tLoaded_job)
      [] TrainerLoadedLoaded3_when(tLoaded, tLoaded_rank, tLoaded_job) -> TrainerLoadedLoaded3_next(tLoaded, tLoaded_rank, tLoaded_job)
      [] OTHER -> tLoaded
TrainerLoaded_rule(tLoaded, tLoaded_rank, tLoaded_job) ==
    CASE TrainerLoadedAnswerIgnore_when(tLoaded, tLoaded_rank, tLoaded_job) -> "answer_ignore"
      [] TrainerLoadedIgnore_when(tLoaded, tLoaded_rank, tLoaded_job) -> "ignore"
      [] TrainerLoadedLoaded_when(tLoaded, tLoaded_rank, tLoaded_job) -> "loaded"
      [] TrainerLoadedLoaded2_when(tLoaded, tLoaded_rank, tLoaded_job) -> "loaded_2"
      [] TrainerLoadedLoaded3_when(tLoaded, tLoaded_rank, tLoaded_job) -> "loaded_3"
      [] TrainerLoadedLoadedIgnore_when(tLoaded, tLoaded_rank, tLoaded_job) -> "loaded_ignore"
TrainerLoaded_out(tLoaded, tLoaded_rank, tLoaded_job) == <<>>
TrainerLoaded_refused(tLoaded, tLoaded_rank, tLoaded_job) == FALSE


\* Undone(rank, job, why) ------------------------------------------------------------------------------------
\* The rank could not do it, and has changed nothing.

\* answer_ignore: ignored
TrainerUndoneAnswerIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerUndoneAnswerIgnore_when(tUndone, tUndone_rank, tUndone_job) == tUndone_job # tUndone.job

\* ignore: ignored
TrainerUndoneIgnore_states == {"IDLE", "FAILED"}
TrainerUndoneIgnore_when(tUndone, tUndone_rank, tUndone_job) ==
    /\ tUndone.state \in {"IDLE", "FAILED"}
    /\ tUndone_job = tUndone.job

\* undoes: goes to IDLE
TrainerUndoneUndoes_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerUndoneUndoes_when(tUndone, tUndone_rank, tUndone_job) ==
    /\ tUndone.state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tUndone_job = tUndone.job
    /\ tUndone_rank \in tUndone.ranks
    /\ tUndone.done = {}
    /\ (tUndone.unable \cup {tUndone_rank}) = tUndone.ranks
TrainerUndoneUndoes_next(tUndone, tUndone_rank, tUndone_job) ==
    [tUndone EXCEPT
        !.state = "IDLE",
        !.batch = <<>>,
        !.publishing = <<>>,
        !.unable = {}]

\* undoes_2: stays
TrainerUndoneUndoes2_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerUndoneUndoes2_when(tUndone, tUndone_rank, tUndone_job) ==
    /\ tUndone.state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tUndone_job = tUndone.job
    /\ tUndone_rank \in tUndone.ranks
    /\ tUndone.done = {}
    /\ (tUndone.unable \cup {tUndone_rank}) # tUndone.ranks
TrainerUndoneUndoes2_next(tUndone, tUndone_rank, tUndone_job) ==
    [tUndone EXCEPT !.unable = tUndone.unable \cup {tUndone_rank}]

\* undoes_3: goes to FAILED
TrainerUndoneUndoes3_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerUndoneUndoes3_when(tUndone, tUndone_rank, tUndone_job) ==
    /\ tUndone.state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tUndone_job = tUndone.job
    /\ tUndone_rank \in tUndone.ranks
    /\ tUndone.done # {}
TrainerUndoneUndoes3_next(tUndone, tUndone_rank, tUndone_job) == [tUndone EXCEPT !.state = "FAILED"]

\* undoes_ignore: ignored
TrainerUndoneUndoesIgnore_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerUndoneUndoesIgnore_when(tUndone, tUndone_rank, tUndone_job) ==
    /\ tUndone.state \in {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tUndone_job = tUndone.job
    /\ ~((tUndone_rank \in tUndone.ranks) /\ (tUndone.done = {}) /\ ((tUndone.unable \cup {tUndone_rank}) = tUndone.ranks))
    /\ ~((tUndone_rank \in tUndone.ranks) /\ (tUndone.done = {}) /\ ((tUndone.unable \cup {tUndone_rank}) # tUndone.ranks))
    /\ ~((tUndone_rank \in tUndone.ranks) /\ (tUndone.done # {}))

\* the event as a whole
TrainerUndone_states == {"TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerUndone_acts(tUndone, tUndone_rank, tUndone_job) ==
    \/ TrainerUndoneUndoes_when(tUndone, tUndone_rank, tUndone_job)
    \/ TrainerUndoneUndoes2_when(tUndone, tUndone_rank, tUndone_job)
    \/ TrainerUndoneUndoes3_when(tUndone, tUndone_rank, tUndone_job)
TrainerUndone_step(tUndone, tUndone_rank, tUndone_job) ==
    CASE TrainerUndoneUndoes_when(tUndone, tUndone_rank, tUndone_job) -> <<TrainerUndoneUndoes_next(tUndone, tUndone_rank, tUndone_job), <<>>>>
      [] TrainerUndoneUndoes2_when(tUndone, tUndone_rank, tUndone_job) -> <<TrainerUndoneUndoes2_next(tUndone, tUndone_rank, tUndone_job), <<>>>>
      [] TrainerUndoneUndoes3_when(tUndone, tUndone_rank, tUndone_job) -> <<TrainerUndoneUndoes3_next(tUndone, tUndone_rank, tUndone_job), <<>>>>
      [] OTHER -> <<>>
TrainerUndone(tUndone, tUndone_rank, tUndone_job) ==
    CASE TrainerUndoneUndoes_when(tUndone, tUndone_rank, tUndone_job) -> TrainerUndoneUndoes_next(tUndone, tUndone_rank, tUndone_job)
      [] TrainerUndoneUndoes2_when(tUndone, tUndone_rank, tUndone_job) -> TrainerUndoneUndoes2_next(tUndone, tUndone_rank, tUndone_job)
      [] TrainerUndoneUndoes3_when(tUndone, tUndone_rank, tUndone_job) -> TrainerUndoneUndoes3_next(tUndone, tUndone_rank, tUndone_job)
      [] OTHER -> tUndone
TrainerUndone_rule(tUndone, tUndone_rank, tUndone_job) ==
    CASE TrainerUndoneAnswerIgnore_when(tUndone, tUndone_rank, tUndone_job) -> "answer_ignore"
      [] TrainerUndoneIgnore_when(tUndone, tUndone_rank, tUndone_job) -> "ignore"
      [] TrainerUndoneUndoes_when(tUndone, tUndone_rank, tUndone_job) -> "undoes"
      [] TrainerUndoneUndoes2_when(tUndone, tUndone_rank, tUndone_job) -> "undoes_2"
      [] TrainerUndoneUndoes3_when(tUndone, tUndone_rank, tUndone_job) -> "undoes_3"
      [] TrainerUndoneUndoesIgnore_when(tUndone, tUndone_rank, tUndone_job) -> "undoes_ignore"
TrainerUndone_out(tUndone, tUndone_rank, tUndone_job) == <<>>
TrainerUndone_refused(tUndone, tUndone_rank, tUndone_job) == FALSE


\* Failed(rank, why) -----------------------------------------------------------------------------------------
\* The rank's state is in doubt, or the rank has gone.

\* fails: goes to FAILED
TrainerFailedFails_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerFailedFails_when(tFailed, tFailed_rank) ==
    /\ tFailed.state \in {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tFailed_rank \in tFailed.ranks
TrainerFailedFails_next(tFailed, tFailed_rank) == [tFailed EXCEPT !.state = "FAILED"]

\* fails_ignore: ignored
TrainerFailedFailsIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerFailedFailsIgnore_when(tFailed, tFailed_rank) ==
    /\ tFailed.state \in {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
    /\ tFailed_rank \notin tFailed.ranks

\* ignore: ignored
TrainerFailedIgnore_states == {"FAILED"}
TrainerFailedIgnore_when(tFailed, tFailed_rank) == tFailed.state = "FAILED"

\* the event as a whole
TrainerFailed_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerFailed_acts(tFailed, tFailed_rank) == TrainerFailedFails_when(tFailed, tFailed_rank)
TrainerFailed_step(tFailed, tFailed_rank) ==
    CASE TrainerFailedFails_when(tFailed, tFailed_rank) -> <<TrainerFailedFails_next(tFailed, tFailed_rank), <<>>>>
      [] OTHER -> <<>>
TrainerFailed(tFailed, tFailed_rank) ==
    CASE TrainerFailedFails_when(tFailed, tFailed_rank) -> TrainerFailedFails_next(tFailed, tFailed_rank)
      [] OTHER -> tFailed
TrainerFailed_rule(tFailed, tFailed_rank) ==
    CASE TrainerFailedFails_when(tFailed, tFailed_rank) -> "fails"
      [] TrainerFailedFailsIgnore_when(tFailed, tFailed_rank) -> "fails_ignore"
      [] TrainerFailedIgnore_when(tFailed, tFailed_rank) -> "ignore"
TrainerFailed_out(tFailed, tFailed_rank) == <<>>
TrainerFailed_refused(tFailed, tFailed_rank) == FALSE

================================================================================
