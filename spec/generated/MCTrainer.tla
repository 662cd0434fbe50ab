\* Made by `sluicegate generate` from the machine Trainer; do not edit.
------------------------------- MODULE MCTrainer -------------------------------
EXTENDS Trainer, Naturals, Sequences, FiniteSets

CONSTANTS Rank, BatchId, Digest

VARIABLE m

Init == \E ranks \in SUBSET Rank : m = TrainerInit(ranks)

TrainerClaimClaimStaleTerm ==
    /\ m.state \in TrainerClaimClaimStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ TrainerClaimClaimStaleTerm_when(m, a_term)
        /\ UNCHANGED m

TrainerClaimClaims ==
    /\ m.state \in TrainerClaimClaims_states
    /\ \E a_term \in 0..1 :
        /\ TrainerClaimClaims_when(m, a_term)
        /\ m' = TrainerClaimClaims_next(m, a_term)
        /\ m'.term <= 1

TrainerClaimClaimsIgnore ==
    /\ m.state \in TrainerClaimClaimsIgnore_states
    /\ \E a_term \in 0..1 :
        /\ TrainerClaimClaimsIgnore_when(m, a_term)
        /\ UNCHANGED m

TrainerTrainControlStaleTerm ==
    /\ m.state \in TrainerTrainControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ TrainerTrainControlStaleTerm_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerTrainControlUnclaimed ==
    /\ m.state \in TrainerTrainControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerTrainControlUnclaimed_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerTrainTrains ==
    /\ m.state \in TrainerTrainTrains_states
    /\ \E a_term \in 0..1, a_batch \in BatchId :
        /\ TrainerTrainTrains_when(m, a_term, a_batch)
        /\ m' = TrainerTrainTrains_next(m, a_term, a_batch)
        /\ m'.job <= 2

TrainerTrainTrainsAgainIgnore ==
    /\ m.state \in TrainerTrainTrainsAgainIgnore_states
    /\ \E a_term \in 0..1, a_batch \in BatchId :
        /\ TrainerTrainTrainsAgainIgnore_when(m, a_term, a_batch)
        /\ UNCHANGED m

TrainerTrainTrainsAgainBusy ==
    /\ m.state \in TrainerTrainTrainsAgainBusy_states
    /\ \E a_term \in 0..1, a_batch \in BatchId :
        /\ TrainerTrainTrainsAgainBusy_when(m, a_term, a_batch)
        /\ UNCHANGED m

TrainerTrainBusy ==
    /\ m.state \in TrainerTrainBusy_states
    /\ \E a_term \in 0..1 :
        /\ TrainerTrainBusy_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerTrainFailed ==
    /\ m.state \in TrainerTrainFailed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerTrainFailed_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerPublishControlStaleTerm ==
    /\ m.state \in TrainerPublishControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ TrainerPublishControlStaleTerm_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerPublishControlUnclaimed ==
    /\ m.state \in TrainerPublishControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerPublishControlUnclaimed_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerPublishPublishes ==
    /\ m.state \in TrainerPublishPublishes_states
    /\ \E a_term \in 0..1, a_version \in 0..2 :
        /\ TrainerPublishPublishes_when(m, a_term, a_version)
        /\ m' = TrainerPublishPublishes_next(m, a_term, a_version)
        /\ m'.job <= 2
        /\ (m'.publishing # <<>> => m'.publishing[1] <= 2)

TrainerPublishPublishesIgnore ==
    /\ m.state \in TrainerPublishPublishesIgnore_states
    /\ \E a_term \in 0..1, a_version \in 0..2 :
        /\ TrainerPublishPublishesIgnore_when(m, a_term, a_version)
        /\ UNCHANGED m

TrainerPublishPublishesNotNewer ==
    /\ m.state \in TrainerPublishPublishesNotNewer_states
    /\ \E a_term \in 0..1, a_version \in 0..2 :
        /\ TrainerPublishPublishesNotNewer_when(m, a_term, a_version)
        /\ UNCHANGED m

TrainerPublishBusy ==
    /\ m.state \in TrainerPublishBusy_states
    /\ \E a_term \in 0..1 :
        /\ TrainerPublishBusy_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerPublishPublishesAgainIgnore ==
    /\ m.state \in TrainerPublishPublishesAgainIgnore_states
    /\ \E a_term \in 0..1, a_version \in 0..2 :
        /\ TrainerPublishPublishesAgainIgnore_when(m, a_term, a_version)
        /\ UNCHANGED m

TrainerPublishPublishesAgainBusy ==
    /\ m.state \in TrainerPublishPublishesAgainBusy_states
    /\ \E a_term \in 0..1, a_version \in 0..2 :
        /\ TrainerPublishPublishesAgainBusy_when(m, a_term, a_version)
        /\ UNCHANGED m

TrainerPublishFailed ==
    /\ m.state \in TrainerPublishFailed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerPublishFailed_when(m, a_term, 0)
        /\ UNCHANGED m

TrainerSaveControlStaleTerm ==
    /\ m.state \in TrainerSaveControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ TrainerSaveControlStaleTerm_when(m, a_term)
        /\ UNCHANGED m

TrainerSaveControlUnclaimed ==
    /\ m.state \in TrainerSaveControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerSaveControlUnclaimed_when(m, a_term)
        /\ UNCHANGED m

TrainerSaveSaves ==
    /\ m.state \in TrainerSaveSaves_states
    /\ \E a_term \in 0..1 :
        /\ TrainerSaveSaves_when(m, a_term)
        /\ m' = TrainerSaveSaves_next(m, a_term)
        /\ m'.job <= 2

TrainerSaveBusy ==
    /\ m.state \in TrainerSaveBusy_states
    /\ \E a_term \in 0..1 :
        /\ TrainerSaveBusy_when(m, a_term)
        /\ UNCHANGED m

TrainerSaveFailed ==
    /\ m.state \in TrainerSaveFailed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerSaveFailed_when(m, a_term)
        /\ UNCHANGED m

TrainerLoadControlStaleTerm ==
    /\ m.state \in TrainerLoadControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ TrainerLoadControlStaleTerm_when(m, a_term)
        /\ UNCHANGED m

TrainerLoadControlUnclaimed ==
    /\ m.state \in TrainerLoadControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerLoadControlUnclaimed_when(m, a_term)
        /\ UNCHANGED m

TrainerLoadLoads ==
    /\ m.state \in TrainerLoadLoads_states
    /\ \E a_term \in 0..1 :
        /\ TrainerLoadLoads_when(m, a_term)
        /\ m' = TrainerLoadLoads_next(m, a_term)
        /\ m'.job <= 2

TrainerLoadBusy ==
    /\ m.state \in TrainerLoadBusy_states
    /\ \E a_term \in 0..1 :
        /\ TrainerLoadBusy_when(m, a_term)
        /\ UNCHANGED m

TrainerLoadFailed ==
    /\ m.state \in TrainerLoadFailed_states
    /\ \E a_term \in 0..1 :
        /\ TrainerLoadFailed_when(m, a_term)
        /\ UNCHANGED m

TrainerTrainedAnswerIgnore ==
    /\ m.state \in TrainerTrainedAnswerIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerTrainedAnswerIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerTrainedIgnore ==
    /\ m.state \in TrainerTrainedIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerTrainedIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerTrainedTrained ==
    /\ m.state \in TrainerTrainedTrained_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerTrainedTrained_when(m, a_rank, a_job)
        /\ m' = TrainerTrainedTrained_next(m, a_rank, a_job)

TrainerTrainedTrained2 ==
    /\ m.state \in TrainerTrainedTrained2_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerTrainedTrained2_when(m, a_rank, a_job)
        /\ m' = TrainerTrainedTrained2_next(m, a_rank, a_job)

TrainerTrainedTrained3 ==
    /\ m.state \in TrainerTrainedTrained3_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerTrainedTrained3_when(m, a_rank, a_job)
        /\ m' = TrainerTrainedTrained3_next(m, a_rank, a_job)

TrainerTrainedTrainedIgnore ==
    /\ m.state \in TrainerTrainedTrainedIgnore_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerTrainedTrainedIgnore_when(m, a_rank, a_job)
        /\ UNCHANGED m

TrainerPublishedAnswerIgnore ==
    /\ m.state \in TrainerPublishedAnswerIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerPublishedAnswerIgnore_when(m, 0, a_job, 0)
        /\ UNCHANGED m

TrainerPublishedIgnore ==
    /\ m.state \in TrainerPublishedIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerPublishedIgnore_when(m, 0, a_job, 0)
        /\ UNCHANGED m

TrainerPublishedPublished ==
    /\ m.state \in TrainerPublishedPublished_states
    /\ \E a_rank \in Rank, a_job \in 0..2, a_digest \in Digest :
        /\ TrainerPublishedPublished_when(m, a_rank, a_job, a_digest)
        /\ m' = TrainerPublishedPublished_next(m, a_rank, a_job, a_digest)
        /\ (m'.version # <<>> => m'.version[1] <= 2)
        /\ (m'.publishing # <<>> => m'.publishing[1] <= 2)

TrainerPublishedPublished2 ==
    /\ m.state \in TrainerPublishedPublished2_states
    /\ \E a_rank \in Rank, a_job \in 0..2, a_digest \in Digest :
        /\ TrainerPublishedPublished2_when(m, a_rank, a_job, a_digest)
        /\ m' = TrainerPublishedPublished2_next(m, a_rank, a_job, a_digest)

TrainerPublishedPublished3 ==
    /\ m.state \in TrainerPublishedPublished3_states
    /\ \E a_rank \in Rank, a_job \in 0..2, a_digest \in Digest :
        /\ TrainerPublishedPublished3_when(m, a_rank, a_job, a_digest)
        /\ m' = TrainerPublishedPublished3_next(m, a_rank, a_job, a_digest)

TrainerPublishedPublishedIgnore ==
    /\ m.state \in TrainerPublishedPublishedIgnore_states
    /\ \E a_rank \in Rank, a_job \in 0..2, a_digest \in Digest :
        /\ TrainerPublishedPublishedIgnore_when(m, a_rank, a_job, a_digest)
        /\ UNCHANGED m

TrainerSavedAnswerIgnore ==
    /\ m.state \in TrainerSavedAnswerIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerSavedAnswerIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerSavedIgnore ==
    /\ m.state \in TrainerSavedIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerSavedIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerSavedSaved ==
    /\ m.state \in TrainerSavedSaved_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerSavedSaved_when(m, a_rank, a_job)
        /\ m' = TrainerSavedSaved_next(m, a_rank, a_job)

TrainerSavedSaved2 ==
    /\ m.state \in TrainerSavedSaved2_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerSavedSaved2_when(m, a_rank, a_job)
        /\ m' = TrainerSavedSaved2_next(m, a_rank, a_job)

TrainerSavedSaved3 ==
    /\ m.state \in TrainerSavedSaved3_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerSavedSaved3_when(m, a_rank, a_job)
        /\ m' = TrainerSavedSaved3_next(m, a_rank, a_job)

TrainerSavedSavedIgnore ==
    /\ m.state \in TrainerSavedSavedIgnore_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerSavedSavedIgnore_when(m, a_rank, a_job)
        /\ UNCHANGED m

TrainerLoadedAnswerIgnore ==
    /\ m.state \in TrainerLoadedAnswerIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerLoadedAnswerIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerLoadedIgnore ==
    /\ m.state \in TrainerLoadedIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerLoadedIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerLoadedLoaded ==
    /\ m.state \in TrainerLoadedLoaded_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerLoadedLoaded_when(m, a_rank, a_job)
        /\ m' = TrainerLoadedLoaded_next(m, a_rank, a_job)

TrainerLoadedLoaded2 ==
    /\ m.state \in TrainerLoadedLoaded2_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerLoadedLoaded2_when(m, a_rank, a_job)
        /\ m' = TrainerLoadedLoaded2_next(m, a_rank, a_job)

TrainerLoadedLoaded3 ==
    /\ m.state \in TrainerLoadedLoaded3_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerLoadedLoaded3_when(m, a_rank, a_job)
        /\ m' = TrainerLoadedLoaded3_next(m, a_rank, a_job)

TrainerLoadedLoadedIgnore ==
    /\ m.state \in TrainerLoadedLoadedIgnore_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerLoadedLoadedIgnore_when(m, a_rank, a_job)
        /\ UNCHANGED m

TrainerUndoneAnswerIgnore ==
    /\ m.state \in TrainerUndoneAnswerIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerUndoneAnswerIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerUndoneIgnore ==
    /\ m.state \in TrainerUndoneIgnore_states
    /\ \E a_job \in 0..2 :
        /\ TrainerUndoneIgnore_when(m, 0, a_job)
        /\ UNCHANGED m

TrainerUndoneUndoes ==
    /\ m.state \in TrainerUndoneUndoes_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerUndoneUndoes_when(m, a_rank, a_job)
        /\ m' = TrainerUndoneUndoes_next(m, a_rank, a_job)
        /\ (m'.publishing # <<>> => m'.publishing[1] <= 2)

TrainerUndoneUndoes2 ==
    /\ m.state \in TrainerUndoneUndoes2_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerUndoneUndoes2_when(m, a_rank, a_job)
        /\ m' = TrainerUndoneUndoes2_next(m, a_rank, a_job)

TrainerUndoneUndoes3 ==
    /\ m.state \in TrainerUndoneUndoes3_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerUndoneUndoes3_when(m, a_rank, a_job)
        /\ m' = TrainerUndoneUndoes3_next(m, a_rank, a_job)

TrainerUndoneUndoesIgnore ==
    /\ m.state \in TrainerUndoneUndoesIgnore_states
    /\ \E a_rank \in Rank, a_job \in 0..2 :
        /\ TrainerUndoneUndoesIgnore_when(m, a_rank, a_job)
        /\ UNCHANGED m

TrainerFailedFails ==
    /\ m.state \in TrainerFailedFails_states
    /\ \E a_rank \in Rank :
        /\ TrainerFailedFails_when(m, a_rank)
        /\ m' = TrainerFailedFails_next(m, a_rank)

TrainerFailedFailsIgnore ==
    /\ m.state \in TrainerFailedFailsIgnore_states
    /\ \E a_rank \in Rank :
        /\ TrainerFailedFailsIgnore_when(m, a_rank)
        /\ UNCHANGED m

TrainerFailedIgnore ==
    /\ m.state \in TrainerFailedIgnore_states
    /\ TrainerFailedIgnore_when(m, 0)
    /\ UNCHANGED m

Changes ==
    \/ TrainerClaimClaims
    \/ TrainerTrainTrains
    \/ TrainerPublishPublishes
    \/ TrainerSaveSaves
    \/ TrainerLoadLoads
    \/ TrainerTrainedTrained
    \/ TrainerTrainedTrained2
    \/ TrainerTrainedTrained3
    \/ TrainerPublishedPublished
    \/ TrainerPublishedPublished2
    \/ TrainerPublishedPublished3
    \/ TrainerSavedSaved
    \/ TrainerSavedSaved2
    \/ TrainerSavedSaved3
    \/ TrainerLoadedLoaded
    \/ TrainerLoadedLoaded2
    \/ TrainerLoadedLoaded3
    \/ TrainerUndoneUndoes
    \/ TrainerUndoneUndoes2
    \/ TrainerUndoneUndoes3
    \/ TrainerFailedFails

Next ==
    \/ Changes
    \/ TrainerClaimClaimStaleTerm
    \/ TrainerClaimClaimsIgnore
    \/ TrainerTrainControlStaleTerm
    \/ TrainerTrainControlUnclaimed
    \/ TrainerTrainTrainsAgainIgnore
    \/ TrainerTrainTrainsAgainBusy
    \/ TrainerTrainBusy
    \/ TrainerTrainFailed
    \/ TrainerPublishControlStaleTerm
    \/ TrainerPublishControlUnclaimed
    \/ TrainerPublishPublishesIgnore
    \/ TrainerPublishPublishesNotNewer
    \/ TrainerPublishBusy
    \/ TrainerPublishPublishesAgainIgnore
    \/ TrainerPublishPublishesAgainBusy
    \/ TrainerPublishFailed
    \/ TrainerSaveControlStaleTerm
    \/ TrainerSaveControlUnclaimed
    \/ TrainerSaveBusy
    \/ TrainerSaveFailed
    \/ TrainerLoadControlStaleTerm
    \/ TrainerLoadControlUnclaimed
    \/ TrainerLoadBusy
    \/ TrainerLoadFailed
    \/ TrainerTrainedAnswerIgnore
    \/ TrainerTrainedIgnore
    \/ TrainerTrainedTrainedIgnore
    \/ TrainerPublishedAnswerIgnore
    \/ TrainerPublishedIgnore
    \/ TrainerPublishedPublishedIgnore
    \/ TrainerSavedAnswerIgnore
    \/ TrainerSavedIgnore
    \/ TrainerSavedSavedIgnore
    \/ TrainerLoadedAnswerIgnore
    \/ TrainerLoadedIgnore
    \/ TrainerLoadedLoadedIgnore
    \/ TrainerUndoneAnswerIgnore
    \/ TrainerUndoneIgnore
    \/ TrainerUndoneUndoesIgnore
    \/ TrainerFailedFailsIgnore
    \/ TrainerFailedIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in TrainerStates
    /\ (\A bound11 \in m.ranks : bound11 \in Rank)
    /\ m.term \in Nat
    /\ (m.version # <<>> => m.version[1] \in Nat)
    /\ m.job \in Nat
    /\ (m.publishing # <<>> => m.publishing[1] \in Nat)
    /\ (m.batch # <<>> => m.batch[1] \in BatchId)
    /\ (\A bound12 \in m.done : bound12 \in Rank)
    /\ (\A bound13 \in m.unable : bound13 \in Rank)
    /\ (m.digest # <<>> => m.digest[1] \in Digest)

================================================================================
