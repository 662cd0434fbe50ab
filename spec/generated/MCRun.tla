\* Made by `sluicegate generate` from the machine Run; do not edit.
--------------------------------- MODULE MCRun ---------------------------------
EXTENDS Run, Naturals, Sequences, FiniteSets

VARIABLE m

Init == \E colocated \in BOOLEAN, stage \in {"whole", "rollout_only", "train_only"}, goal \in ({<<>>} \cup {<<bound1>> : bound1 \in 0..2}), save_every \in 0..2, sync_every \in 0..2 : m = RunInit(colocated, stage, goal, save_every, sync_every)

RunStartedStarts ==
    /\ m.state \in RunStartedStarts_states
    /\ \E a_update \in 0..2, a_version \in 0..1 :
        /\ RunStartedStarts_when(m, a_update, a_version)
        /\ m' = RunStartedStarts_next(m, a_update, a_version)
        /\ m'.update <= 2
        /\ (m'.version # <<>> => m'.version[1] <= 1)

RunStartedStartsOtherwise ==
    /\ m.state \in RunStartedStartsOtherwise_states
    /\ \E a_update \in 0..2, a_version \in 0..1 :
        /\ RunStartedStartsOtherwise_when(m, a_update, a_version)
        /\ m' = RunStartedStartsOtherwise_next(m, a_update, a_version)
        /\ m'.update <= 2
        /\ m'.kept <= 2
        /\ m'.renewed <= 2
        /\ (m'.version # <<>> => m'.version[1] <= 1)

RunStartedOutOfStep ==
    /\ m.state \in RunStartedOutOfStep_states
    /\ RunStartedOutOfStep_when(m, 0, 0)
    /\ UNCHANGED m

RunStartedIgnore ==
    /\ m.state \in RunStartedIgnore_states
    /\ RunStartedIgnore_when(m, 0, 0)
    /\ UNCHANGED m

RunGatheredOutOfStep ==
    /\ m.state \in RunGatheredOutOfStep_states
    /\ RunGatheredOutOfStep_when(m)
    /\ UNCHANGED m

RunGatheredGathers ==
    /\ m.state \in RunGatheredGathers_states
    /\ RunGatheredGathers_when(m)
    /\ m' = RunGatheredGathers_next(m)

RunGatheredGathers2 ==
    /\ m.state \in RunGatheredGathers2_states
    /\ RunGatheredGathers2_when(m)
    /\ m' = RunGatheredGathers2_next(m)

RunGatheredGathers3 ==
    /\ m.state \in RunGatheredGathers3_states
    /\ RunGatheredGathers3_when(m)
    /\ m' = RunGatheredGathers3_next(m)

RunGatheredGathers4 ==
    /\ m.state \in RunGatheredGathers4_states
    /\ RunGatheredGathers4_when(m)
    /\ m' = RunGatheredGathers4_next(m)
    /\ m'.update <= 2

RunGatheredGathersOtherwise ==
    /\ m.state \in RunGatheredGathersOtherwise_states
    /\ RunGatheredGathersOtherwise_when(m)
    /\ m' = RunGatheredGathersOtherwise_next(m)

RunGatheredIgnore ==
    /\ m.state \in RunGatheredIgnore_states
    /\ RunGatheredIgnore_when(m)
    /\ UNCHANGED m

RunLentOutOfStep ==
    /\ m.state \in RunLentOutOfStep_states
    /\ RunLentOutOfStep_when(m)
    /\ UNCHANGED m

RunLentLends ==
    /\ m.state \in RunLentLends_states
    /\ RunLentLends_when(m)
    /\ m' = RunLentLends_next(m)

RunLentIgnore ==
    /\ m.state \in RunLentIgnore_states
    /\ RunLentIgnore_when(m)
    /\ UNCHANGED m

RunTrainedOutOfStep ==
    /\ m.state \in RunTrainedOutOfStep_states
    /\ RunTrainedOutOfStep_when(m)
    /\ UNCHANGED m

RunTrainedTrains ==
    /\ m.state \in RunTrainedTrains_states
    /\ RunTrainedTrains_when(m)
    /\ m' = RunTrainedTrains_next(m)

RunTrainedTrains2 ==
    /\ m.state \in RunTrainedTrains2_states
    /\ RunTrainedTrains2_when(m)
    /\ m' = RunTrainedTrains2_next(m)

RunTrainedTrains3 ==
    /\ m.state \in RunTrainedTrains3_states
    /\ RunTrainedTrains3_when(m)
    /\ m' = RunTrainedTrains3_next(m)

RunTrainedTrains4 ==
    /\ m.state \in RunTrainedTrains4_states
    /\ RunTrainedTrains4_when(m)
    /\ m' = RunTrainedTrains4_next(m)

RunTrainedTrainsGoesOn ==
    /\ m.state \in RunTrainedTrainsGoesOn_states
    /\ RunTrainedTrainsGoesOn_when(m)
    /\ m' = RunTrainedTrainsGoesOn_next(m)
    /\ m'.update <= 2

RunTrainedIgnore ==
    /\ m.state \in RunTrainedIgnore_states
    /\ RunTrainedIgnore_when(m)
    /\ UNCHANGED m

RunPublishedOutOfStep ==
    /\ m.state \in RunPublishedOutOfStep_states
    /\ RunPublishedOutOfStep_when(m, 0)
    /\ UNCHANGED m

RunPublishedPublishes ==
    /\ m.state \in RunPublishedPublishes_states
    /\ \E a_version \in 0..1 :
        /\ RunPublishedPublishes_when(m, a_version)
        /\ m' = RunPublishedPublishes_next(m, a_version)
        /\ (m'.version # <<>> => m'.version[1] <= 1)
        /\ m'.renewed <= 2

RunPublishedPublishesNotNewer ==
    /\ m.state \in RunPublishedPublishesNotNewer_states
    /\ \E a_version \in 0..1 :
        /\ RunPublishedPublishesNotNewer_when(m, a_version)
        /\ UNCHANGED m

RunPublishedIgnore ==
    /\ m.state \in RunPublishedIgnore_states
    /\ RunPublishedIgnore_when(m, 0)
    /\ UNCHANGED m

RunSyncedOutOfStep ==
    /\ m.state \in RunSyncedOutOfStep_states
    /\ RunSyncedOutOfStep_when(m, 0)
    /\ UNCHANGED m

RunSyncedSyncs ==
    /\ m.state \in RunSyncedSyncs_states
    /\ \E a_version \in 0..1 :
        /\ RunSyncedSyncs_when(m, a_version)
        /\ m' = RunSyncedSyncs_next(m, a_version)

RunSyncedSyncs2 ==
    /\ m.state \in RunSyncedSyncs2_states
    /\ \E a_version \in 0..1 :
        /\ RunSyncedSyncs2_when(m, a_version)
        /\ m' = RunSyncedSyncs2_next(m, a_version)

RunSyncedSyncs3 ==
    /\ m.state \in RunSyncedSyncs3_states
    /\ \E a_version \in 0..1 :
        /\ RunSyncedSyncs3_when(m, a_version)
        /\ m' = RunSyncedSyncs3_next(m, a_version)
        /\ m'.update <= 2

RunSyncedSyncsOtherVersion ==
    /\ m.state \in RunSyncedSyncsOtherVersion_states
    /\ \E a_version \in 0..1 :
        /\ RunSyncedSyncsOtherVersion_when(m, a_version)
        /\ UNCHANGED m

RunSyncedIgnore ==
    /\ m.state \in RunSyncedIgnore_states
    /\ RunSyncedIgnore_when(m, 0)
    /\ UNCHANGED m

RunSavedOutOfStep ==
    /\ m.state \in RunSavedOutOfStep_states
    /\ RunSavedOutOfStep_when(m)
    /\ UNCHANGED m

RunSavedWasSaved ==
    /\ m.state \in RunSavedWasSaved_states
    /\ RunSavedWasSaved_when(m)
    /\ m' = RunSavedWasSaved_next(m)
    /\ m'.kept <= 2

RunSavedWasSavedOtherwise ==
    /\ m.state \in RunSavedWasSavedOtherwise_states
    /\ RunSavedWasSavedOtherwise_when(m)
    /\ m' = RunSavedWasSavedOtherwise_next(m)
    /\ m'.update <= 2
    /\ m'.kept <= 2

RunSavedIgnore ==
    /\ m.state \in RunSavedIgnore_states
    /\ RunSavedIgnore_when(m)
    /\ UNCHANGED m

RunNotSavedOutOfStep ==
    /\ m.state \in RunNotSavedOutOfStep_states
    /\ RunNotSavedOutOfStep_when(m)
    /\ UNCHANGED m

RunNotSavedWasNotSaved ==
    /\ m.state \in RunNotSavedWasNotSaved_states
    /\ RunNotSavedWasNotSaved_when(m)
    /\ m' = RunNotSavedWasNotSaved_next(m)

RunNotSavedWasNotSavedGoesOn ==
    /\ m.state \in RunNotSavedWasNotSavedGoesOn_states
    /\ RunNotSavedWasNotSavedGoesOn_when(m)
    /\ m' = RunNotSavedWasNotSavedGoesOn_next(m)
    /\ m'.update <= 2

RunNotSavedIgnore ==
    /\ m.state \in RunNotSavedIgnore_states
    /\ RunNotSavedIgnore_when(m)
    /\ UNCHANGED m

RunUndoneOutOfStep ==
    /\ m.state \in RunUndoneOutOfStep_states
    /\ RunUndoneOutOfStep_when(m)
    /\ UNCHANGED m

RunUndoneGathersAgain ==
    /\ m.state \in RunUndoneGathersAgain_states
    /\ RunUndoneGathersAgain_when(m)
    /\ UNCHANGED m

RunUndoneLendsAgain ==
    /\ m.state \in RunUndoneLendsAgain_states
    /\ RunUndoneLendsAgain_when(m)
    /\ UNCHANGED m

RunUndoneTrainsAgain ==
    /\ m.state \in RunUndoneTrainsAgain_states
    /\ RunUndoneTrainsAgain_when(m)
    /\ UNCHANGED m

RunUndonePublishesAgain ==
    /\ m.state \in RunUndonePublishesAgain_states
    /\ RunUndonePublishesAgain_when(m)
    /\ UNCHANGED m

RunUndoneSyncsAgain ==
    /\ m.state \in RunUndoneSyncsAgain_states
    /\ RunUndoneSyncsAgain_when(m)
    /\ UNCHANGED m

RunUndoneSavesAgain ==
    /\ m.state \in RunUndoneSavesAgain_states
    /\ RunUndoneSavesAgain_when(m)
    /\ UNCHANGED m

RunUndoneRestoresAgain ==
    /\ m.state \in RunUndoneRestoresAgain_states
    /\ RunUndoneRestoresAgain_when(m)
    /\ UNCHANGED m

RunUndoneIgnore ==
    /\ m.state \in RunUndoneIgnore_states
    /\ RunUndoneIgnore_when(m)
    /\ UNCHANGED m

RunTrainerLostOutOfStep ==
    /\ m.state \in RunTrainerLostOutOfStep_states
    /\ RunTrainerLostOutOfStep_when(m)
    /\ UNCHANGED m

RunTrainerLostLoses ==
    /\ m.state \in RunTrainerLostLoses_states
    /\ RunTrainerLostLoses_when(m)
    /\ m' = RunTrainerLostLoses_next(m)

RunTrainerLostRestoresAgain ==
    /\ m.state \in RunTrainerLostRestoresAgain_states
    /\ RunTrainerLostRestoresAgain_when(m)
    /\ UNCHANGED m

RunTrainerLostIgnore ==
    /\ m.state \in RunTrainerLostIgnore_states
    /\ RunTrainerLostIgnore_when(m)
    /\ UNCHANGED m

RunRestoredOutOfStep ==
    /\ m.state \in RunRestoredOutOfStep_states
    /\ RunRestoredOutOfStep_when(m, 0, 0)
    /\ UNCHANGED m

RunRestoredRestoresAhead ==
    /\ m.state \in RunRestoredRestoresAhead_states
    /\ \E a_update \in 0..2 :
        /\ RunRestoredRestoresAhead_when(m, a_update, 0)
        /\ UNCHANGED m

RunRestoredRestoresNotNewer ==
    /\ m.state \in RunRestoredRestoresNotNewer_states
    /\ \E a_update \in 0..2, a_version \in 0..1 :
        /\ RunRestoredRestoresNotNewer_when(m, a_update, a_version)
        /\ UNCHANGED m

RunRestoredRestores3 ==
    /\ m.state \in RunRestoredRestores3_states
    /\ \E a_update \in 0..2, a_version \in 0..1 :
        /\ RunRestoredRestores3_when(m, a_update, a_version)
        /\ m' = RunRestoredRestores3_next(m, a_update, a_version)
        /\ m'.update <= 2
        /\ m'.kept <= 2
        /\ m'.renewed <= 2
        /\ (m'.version # <<>> => m'.version[1] <= 1)

RunRestoredRestores4 ==
    /\ m.state \in RunRestoredRestores4_states
    /\ \E a_update \in 0..2 :
        /\ RunRestoredRestores4_when(m, a_update, 0)
        /\ m' = RunRestoredRestores4_next(m, a_update, 0)
        /\ m'.update <= 2
        /\ m'.kept <= 2

RunRestoredRestoresOtherwise ==
    /\ m.state \in RunRestoredRestoresOtherwise_states
    /\ \E a_update \in 0..2, a_version \in 0..1 :
        /\ RunRestoredRestoresOtherwise_when(m, a_update, a_version)
        /\ m' = RunRestoredRestoresOtherwise_next(m, a_update, a_version)
        /\ m'.update <= 2
        /\ m'.kept <= 2

RunRestoredIgnore ==
    /\ m.state \in RunRestoredIgnore_states
    /\ RunRestoredIgnore_when(m, 0, 0)
    /\ UNCHANGED m

RunStopEnds ==
    /\ m.state \in RunStopEnds_states
    /\ RunStopEnds_when(m)
    /\ m' = RunStopEnds_next(m)

RunStopIgnore ==
    /\ m.state \in RunStopIgnore_states
    /\ RunStopIgnore_when(m)
    /\ UNCHANGED m

RunFailedFails ==
    /\ m.state \in RunFailedFails_states
    /\ RunFailedFails_when(m)
    /\ m' = RunFailedFails_next(m)

RunFailedFailsEnding ==
    /\ m.state \in RunFailedFailsEnding_states
    /\ RunFailedFailsEnding_when(m)
    /\ m' = RunFailedFailsEnding_next(m)

RunFailedIgnore ==
    /\ m.state \in RunFailedIgnore_states
    /\ RunFailedIgnore_when(m)
    /\ UNCHANGED m

RunEndedOutOfStep ==
    /\ m.state \in RunEndedOutOfStep_states
    /\ RunEndedOutOfStep_when(m)
    /\ UNCHANGED m

RunEndedToEnded ==
    /\ m.state \in RunEndedToEnded_states
    /\ RunEndedToEnded_when(m)
    /\ m' = RunEndedToEnded_next(m)

RunEndedIgnore ==
    /\ m.state \in RunEndedIgnore_states
    /\ RunEndedIgnore_when(m)
    /\ UNCHANGED m

Changes ==
    \/ RunStartedStarts
    \/ RunStartedStartsOtherwise
    \/ RunGatheredGathers
    \/ RunGatheredGathers2
    \/ RunGatheredGathers3
    \/ RunGatheredGathers4
    \/ RunGatheredGathersOtherwise
    \/ RunLentLends
    \/ RunTrainedTrains
    \/ RunTrainedTrains2
    \/ RunTrainedTrains3
    \/ RunTrainedTrains4
    \/ RunTrainedTrainsGoesOn
    \/ RunPublishedPublishes
    \/ RunSyncedSyncs
    \/ RunSyncedSyncs2
    \/ RunSyncedSyncs3
    \/ RunSavedWasSaved
    \/ RunSavedWasSavedOtherwise
    \/ RunNotSavedWasNotSaved
    \/ RunNotSavedWasNotSavedGoesOn
    \/ RunTrainerLostLoses
    \/ RunRestoredRestores3
    \/ RunRestoredRestores4
    \/ RunRestoredRestoresOtherwise
    \/ RunStopEnds
    \/ RunFailedFails
    \/ RunFailedFailsEnding
    \/ RunEndedToEnded

Next ==
    \/ Changes
    \/ RunStartedOutOfStep
    \/ RunStartedIgnore
    \/ RunGatheredOutOfStep
    \/ RunGatheredIgnore
    \/ RunLentOutOfStep
    \/ RunLentIgnore
    \/ RunTrainedOutOfStep
    \/ RunTrainedIgnore
    \/ RunPublishedOutOfStep
    \/ RunPublishedPublishesNotNewer
    \/ RunPublishedIgnore
    \/ RunSyncedOutOfStep
    \/ RunSyncedSyncsOtherVersion
    \/ RunSyncedIgnore
    \/ RunSavedOutOfStep
    \/ RunSavedIgnore
    \/ RunNotSavedOutOfStep
    \/ RunNotSavedIgnore
    \/ RunUndoneOutOfStep
    \/ RunUndoneGathersAgain
    \/ RunUndoneLendsAgain
    \/ RunUndoneTrainsAgain
    \/ RunUndonePublishesAgain
    \/ RunUndoneSyncsAgain
    \/ RunUndoneSavesAgain
    \/ RunUndoneRestoresAgain
    \/ RunUndoneIgnore
    \/ RunTrainerLostOutOfStep
    \/ RunTrainerLostRestoresAgain
    \/ RunTrainerLostIgnore
    \/ RunRestoredOutOfStep
    \/ RunRestoredRestoresAhead
    \/ RunRestoredRestoresNotNewer
    \/ RunRestoredIgnore
    \/ RunStopIgnore
    \/ RunFailedIgnore
    \/ RunEndedOutOfStep
    \/ RunEndedIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in RunStates
    /\ m.colocated \in BOOLEAN
    /\ m.stage \in {"whole", "rollout_only", "train_only"}
    /\ (m.goal # <<>> => m.goal[1] \in Nat)
    /\ m.save_every \in Nat
    /\ m.sync_every \in Nat
    /\ m.update \in Nat
    /\ m.kept \in Nat
    /\ m.renewed \in Nat
    /\ (m.version # <<>> => m.version[1] \in Nat)
    /\ m.due \in BOOLEAN

\* never LENDING and (not (colocated and (stage = whole)))
only_its_own_devices == ~((m.state = "LENDING") /\ (~(m.colocated /\ (m.stage = "whole"))))

\* never SAVING and (not due)
saves_what_is_due == ~((m.state = "SAVING") /\ (~m.due))

\* never (PUBLISHING or SYNCING) and (not (version is some))
serves_something == ~(((m.state = "PUBLISHING") \/ (m.state = "SYNCING")) /\ (m.version = <<>>))

\* always kept ≤ update
kept_before == m.kept <= m.update

\* never (PRODUCING or LENDING or TRAINING or PUBLISHING or SYNCING or SAVING) and (goal is some) and ((goal or else 0) < update)
stops_at_the_goal == ~(((m.state = "PRODUCING") \/ (m.state = "LENDING") \/ (m.state = "TRAINING") \/ (m.state = "PUBLISHING") \/ (m.state = "SYNCING") \/ (m.state = "SAVING")) /\ (m.goal # <<>>) /\ ((IF m.goal = <<>> THEN 0 ELSE m.goal[1]) < m.update))

================================================================================
