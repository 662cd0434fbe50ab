\* Made by `sluicegate generate` from the machine Trainer; do not edit.
------------------------------- MODULE MCTrainer -------------------------------
EXTENDS Trainer, Naturals, Sequences, FiniteSets

CONSTANTS BatchId

VARIABLE m

Init == m = TrainerInit

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

TrainerTrainedIgnore ==
    /\ m.state \in TrainerTrainedIgnore_states
    /\ TrainerTrainedIgnore_when(m, 0)
    /\ UNCHANGED m

TrainerTrainedTrained ==
    /\ m.state \in TrainerTrainedTrained_states
    /\ \E a_batch \in BatchId :
        /\ TrainerTrainedTrained_when(m, a_batch)
        /\ m' = TrainerTrainedTrained_next(m, a_batch)

TrainerTrainedTrainedIgnore ==
    /\ m.state \in TrainerTrainedTrainedIgnore_states
    /\ \E a_batch \in BatchId :
        /\ TrainerTrainedTrainedIgnore_when(m, a_batch)
        /\ UNCHANGED m

TrainerPublishedIgnore ==
    /\ m.state \in TrainerPublishedIgnore_states
    /\ TrainerPublishedIgnore_when(m, 0)
    /\ UNCHANGED m

TrainerPublishedPublished ==
    /\ m.state \in TrainerPublishedPublished_states
    /\ \E a_version \in 0..2 :
        /\ TrainerPublishedPublished_when(m, a_version)
        /\ m' = TrainerPublishedPublished_next(m, a_version)
        /\ (m'.version # <<>> => m'.version[1] <= 2)
        /\ (m'.publishing # <<>> => m'.publishing[1] <= 2)

TrainerPublishedPublishedIgnore ==
    /\ m.state \in TrainerPublishedPublishedIgnore_states
    /\ \E a_version \in 0..2 :
        /\ TrainerPublishedPublishedIgnore_when(m, a_version)
        /\ UNCHANGED m

TrainerSavedIgnore ==
    /\ m.state \in TrainerSavedIgnore_states
    /\ TrainerSavedIgnore_when(m)
    /\ UNCHANGED m

TrainerSavedToIdle ==
    /\ m.state \in TrainerSavedToIdle_states
    /\ TrainerSavedToIdle_when(m)
    /\ m' = TrainerSavedToIdle_next(m)

TrainerLoadedIgnore ==
    /\ m.state \in TrainerLoadedIgnore_states
    /\ TrainerLoadedIgnore_when(m)
    /\ UNCHANGED m

TrainerLoadedToIdle ==
    /\ m.state \in TrainerLoadedToIdle_states
    /\ TrainerLoadedToIdle_when(m)
    /\ m' = TrainerLoadedToIdle_next(m)

TrainerUndoneIgnore ==
    /\ m.state \in TrainerUndoneIgnore_states
    /\ TrainerUndoneIgnore_when(m)
    /\ UNCHANGED m

TrainerUndoneToIdle ==
    /\ m.state \in TrainerUndoneToIdle_states
    /\ TrainerUndoneToIdle_when(m)
    /\ m' = TrainerUndoneToIdle_next(m)

TrainerFailedFails ==
    /\ m.state \in TrainerFailedFails_states
    /\ TrainerFailedFails_when(m)
    /\ m' = TrainerFailedFails_next(m)

TrainerFailedIgnore ==
    /\ m.state \in TrainerFailedIgnore_states
    /\ TrainerFailedIgnore_when(m)
    /\ UNCHANGED m

Changes ==
    \/ TrainerClaimClaims
    \/ TrainerTrainTrains
    \/ TrainerPublishPublishes
    \/ TrainerSaveSaves
    \/ TrainerLoadLoads
    \/ TrainerTrainedTrained
    \/ TrainerPublishedPublished
    \/ TrainerSavedToIdle
    \/ TrainerLoadedToIdle
    \/ TrainerUndoneToIdle
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
    \/ TrainerTrainedIgnore
    \/ TrainerTrainedTrainedIgnore
    \/ TrainerPublishedIgnore
    \/ TrainerPublishedPublishedIgnore
    \/ TrainerSavedIgnore
    \/ TrainerLoadedIgnore
    \/ TrainerUndoneIgnore
    \/ TrainerFailedIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in TrainerStates
    /\ m.term \in Nat
    /\ (m.version # <<>> => m.version[1] \in Nat)
    /\ (m.publishing # <<>> => m.publishing[1] \in Nat)
    /\ (m.batch # <<>> => m.batch[1] \in BatchId)

================================================================================
