\* Made by `sluicegate generate` from the machine Trainer; do not edit.
-------------------------------- MODULE Trainer --------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* The trainer group: it trains, publishes, saves or loads, one at a time.

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
TrainerInit == [state |-> "IDLE", term |-> 0, version |-> <<>>, publishing |-> <<>>, batch |-> <<>>]


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
    [tTrain EXCEPT !.state = "TRAINING", !.batch = <<tTrain_batch>>]
TrainerTrainTrains_out(tTrain, tTrain_term, tTrain_batch) ==
    <<[out |-> "StartTraining", batch |-> tTrain_batch]>>

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
    [tPublish EXCEPT !.state = "PUBLISHING", !.publishing = <<tPublish_version>>]
TrainerPublishPublishes_out(tPublish, tPublish_term, tPublish_version) ==
    <<[out |-> "StartPublishing", version |-> tPublish_version]>>

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
TrainerSaveSaves_next(tSave, tSave_term) == [tSave EXCEPT !.state = "SAVING"]
TrainerSaveSaves_out(tSave, tSave_term) == <<[out |-> "StartSaving"]>>

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
TrainerLoadLoads_next(tLoad, tLoad_term) == [tLoad EXCEPT !.state = "LOADING"]
TrainerLoadLoads_out(tLoad, tLoad_term) == <<[out |-> "StartLoading"]>>

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


\* Trained(batch) --------------------------------------------------------------------------------------------
\* The step is done.

\* ignore: ignored
TrainerTrainedIgnore_states == {"IDLE", "PUBLISHING", "SAVING", "LOADING", "FAILED"}
TrainerTrainedIgnore_when(tTrained, tTrained_batch) ==
    tTrained.state \in {"IDLE", "PUBLISHING", "SAVING", "LOADING", "FAILED"}

\* trained: goes to IDLE
TrainerTrainedTrained_states == {"TRAINING"}
TrainerTrainedTrained_when(tTrained, tTrained_batch) ==
    /\ tTrained.state = "TRAINING"
    /\ tTrained.batch = <<tTrained_batch>>
TrainerTrainedTrained_next(tTrained, tTrained_batch) == [tTrained EXCEPT !.state = "IDLE", !.batch = <<>>]

\* trained_ignore: ignored
TrainerTrainedTrainedIgnore_states == {"TRAINING"}
TrainerTrainedTrainedIgnore_when(tTrained, tTrained_batch) ==
    /\ tTrained.state = "TRAINING"
    /\ tTrained.batch # <<tTrained_batch>>

\* the event as a whole
TrainerTrained_states == {"TRAINING"}
TrainerTrained_acts(tTrained, tTrained_batch) == TrainerTrainedTrained_when(tTrained, tTrained_batch)
TrainerTrained_step(tTrained, tTrained_batch) ==
    CASE TrainerTrainedTrained_when(tTrained, tTrained_batch) -> <<TrainerTrainedTrained_next(tTrained, tTrained_batch), <<>>>>
      [] OTHER -> <<>>
TrainerTrained(tTrained, tTrained_batch) ==
    CASE TrainerTrainedTrained_when(tTrained, tTrained_batch) -> TrainerTrainedTrained_next(tTrained, tTrained_batch)
      [] OTHER -> tTrained
TrainerTrained_rule(tTrained, tTrained_batch) ==
    CASE TrainerTrainedIgnore_when(tTrained, tTrained_batch) -> "ignore"
      [] TrainerTrainedTrained_when(tTrained, tTrained_batch) -> "trained"
      [] TrainerTrainedTrainedIgnore_when(tTrained, tTrained_batch) -> "trained_ignore"
TrainerTrained_out(tTrained, tTrained_batch) == <<>>
TrainerTrained_refused(tTrained, tTrained_batch) == FALSE


\* Published(version) ----------------------------------------------------------------------------------------
\* Manifest and bytes of the version are durable.

\* ignore: ignored
TrainerPublishedIgnore_states == {"IDLE", "TRAINING", "SAVING", "LOADING", "FAILED"}
TrainerPublishedIgnore_when(tPublished, tPublished_version) ==
    tPublished.state \in {"IDLE", "TRAINING", "SAVING", "LOADING", "FAILED"}

\* published: goes to IDLE
TrainerPublishedPublished_states == {"PUBLISHING"}
TrainerPublishedPublished_when(tPublished, tPublished_version) ==
    /\ tPublished.state = "PUBLISHING"
    /\ tPublished.publishing = <<tPublished_version>>
TrainerPublishedPublished_next(tPublished, tPublished_version) ==
    [tPublished EXCEPT
        !.state = "IDLE",
        !.version = tPublished.publishing,
        !.publishing = <<>>]

\* published_ignore: ignored
TrainerPublishedPublishedIgnore_states == {"PUBLISHING"}
TrainerPublishedPublishedIgnore_when(tPublished, tPublished_version) ==
    /\ tPublished.state = "PUBLISHING"
    /\ tPublished.publishing # <<tPublished_version>>

\* the event as a whole
TrainerPublished_states == {"PUBLISHING"}
TrainerPublished_acts(tPublished, tPublished_version) ==
    TrainerPublishedPublished_when(tPublished, tPublished_version)
TrainerPublished_step(tPublished, tPublished_version) ==
    CASE TrainerPublishedPublished_when(tPublished, tPublished_version) -> <<TrainerPublishedPublished_next(tPublished, tPublished_version), <<>>>>
      [] OTHER -> <<>>
TrainerPublished(tPublished, tPublished_version) ==
    CASE TrainerPublishedPublished_when(tPublished, tPublished_version) -> TrainerPublishedPublished_next(tPublished, tPublished_version)
      [] OTHER -> tPublished
TrainerPublished_rule(tPublished, tPublished_version) ==
    CASE TrainerPublishedIgnore_when(tPublished, tPublished_version) -> "ignore"
      [] TrainerPublishedPublished_when(tPublished, tPublished_version) -> "published"
      [] TrainerPublishedPublishedIgnore_when(tPublished, tPublished_version) -> "published_ignore"
TrainerPublished_out(tPublished, tPublished_version) == <<>>
TrainerPublished_refused(tPublished, tPublished_version) == FALSE


\* Saved() ---------------------------------------------------------------------------------------------------
\* The checkpoint is durable.

\* ignore: ignored
TrainerSavedIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "LOADING", "FAILED"}
TrainerSavedIgnore_when(tSaved) == tSaved.state \in {"IDLE", "TRAINING", "PUBLISHING", "LOADING", "FAILED"}

\* to_idle: goes to IDLE
TrainerSavedToIdle_states == {"SAVING"}
TrainerSavedToIdle_when(tSaved) == tSaved.state = "SAVING"
TrainerSavedToIdle_next(tSaved) == [tSaved EXCEPT !.state = "IDLE"]

\* the event as a whole
TrainerSaved_states == {"SAVING"}
TrainerSaved_acts(tSaved) == TrainerSavedToIdle_when(tSaved)
TrainerSaved_step(tSaved) ==
    CASE TrainerSavedToIdle_when(tSaved) -> <<TrainerSavedToIdle_next(tSaved), <<>>>>
      [] OTHER -> <<>>
TrainerSaved(tSaved) ==
    CASE TrainerSavedToIdle_when(tSaved) -> TrainerSavedToIdle_next(tSaved)
      [] OTHER -> tSaved
TrainerSaved_rule(tSaved) ==
    CASE TrainerSavedIgnore_when(tSaved) -> "ignore"
      [] TrainerSavedToIdle_when(tSaved) -> "to_idle"
TrainerSaved_out(tSaved) == <<>>
TrainerSaved_refused(tSaved) == FALSE


\* Loaded() --------------------------------------------------------------------------------------------------
\* The checkpoint is read.

\* ignore: ignored
TrainerLoadedIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "FAILED"}
TrainerLoadedIgnore_when(tLoaded) == tLoaded.state \in {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "FAILED"}

\* to_idle: goes to IDLE
TrainerLoadedToIdle_states == {"LOADING"}
TrainerLoadedToIdle_when(tLoaded) == tLoaded.state = "LOADING"
TrainerLoadedToIdle_next(tLoaded) == [tLoaded EXCEPT !.state = "IDLE"]

\* the event as a whole
TrainerLoaded_states == {"LOADING"}
TrainerLoaded_acts(tLoaded) == TrainerLoadedToIdle_when(tLoaded)
TrainerLoaded_step(tLoaded) ==
    CASE TrainerLoadedToIdle_when(tLoaded) -> <<TrainerLoadedToIdle_next(tLoaded), <<>>>>
      [] OTHER -> <<>>
TrainerLoaded(tLoaded) ==
    CASE TrainerLoadedToIdle_when(tLoaded) -> TrainerLoadedToIdle_next(tLoaded)
      [] OTHER -> tLoaded
TrainerLoaded_rule(tLoaded) ==
    CASE TrainerLoadedIgnore_when(tLoaded) -> "ignore"
      [] TrainerLoadedToIdle_when(tLoaded) -> "to_idle"
TrainerLoaded_out(tLoaded) == <<>>
TrainerLoaded_refused(tLoaded) == FALSE


\* Undone(why) -----------------------------------------------------------------------------------------------
\* The save or load could not be done, and has changed nothing.

\* ignore: ignored
TrainerUndoneIgnore_states == {"IDLE", "TRAINING", "PUBLISHING", "FAILED"}
TrainerUndoneIgnore_when(tUndone) == tUndone.state \in {"IDLE", "TRAINING", "PUBLISHING", "FAILED"}

\* to_idle: goes to IDLE
TrainerUndoneToIdle_states == {"SAVING", "LOADING"}
TrainerUndoneToIdle_when(tUndone) == tUndone.state \in {"SAVING", "LOADING"}
TrainerUndoneToIdle_next(tUndone) == [tUndone EXCEPT !.state = "IDLE"]

\* the event as a whole
TrainerUndone_states == {"SAVING", "LOADING"}
TrainerUndone_acts(tUndone) == TrainerUndoneToIdle_when(tUndone)
TrainerUndone_step(tUndone) ==
    CASE TrainerUndoneToIdle_when(tUndone) -> <<TrainerUndoneToIdle_next(tUndone), <<>>>>
      [] OTHER -> <<>>
TrainerUndone(tUndone) ==
    CASE TrainerUndoneToIdle_when(tUndone) -> TrainerUndoneToIdle_next(tUndone)
      [] OTHER -> tUndone
TrainerUndone_rule(tUndone) ==
    CASE TrainerUndoneIgnore_when(tUndone) -> "ignore"
      [] TrainerUndoneToIdle_when(tUndone) -> "to_idle"
TrainerUndone_out(tUndone) == <<>>
TrainerUndone_refused(tUndone) == FALSE


\* Failed(why) -----------------------------------------------------------------------------------------------
\* The trainer's state is in doubt.

\* fails: goes to FAILED
TrainerFailedFails_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerFailedFails_when(tFailed) == tFailed.state \in {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerFailedFails_next(tFailed) == [tFailed EXCEPT !.state = "FAILED"]

\* ignore: ignored
TrainerFailedIgnore_states == {"FAILED"}
TrainerFailedIgnore_when(tFailed) == tFailed.state = "FAILED"

\* the event as a whole
TrainerFailed_states == {"IDLE", "TRAINING", "PUBLISHING", "SAVING", "LOADING"}
TrainerFailed_acts(tFailed) == TrainerFailedFails_when(tFailed)
TrainerFailed_step(tFailed) ==
    CASE TrainerFailedFails_when(tFailed) -> <<TrainerFailedFails_next(tFailed), <<>>>>
      [] OTHER -> <<>>
TrainerFailed(tFailed) ==
    CASE TrainerFailedFails_when(tFailed) -> TrainerFailedFails_next(tFailed)
      [] OTHER -> tFailed
TrainerFailed_rule(tFailed) ==
    CASE TrainerFailedFails_when(tFailed) -> "fails"
      [] TrainerFailedIgnore_when(tFailed) -> "ignore"
TrainerFailed_out(tFailed) == <<>>
TrainerFailed_refused(tFailed) == FALSE

================================================================================
