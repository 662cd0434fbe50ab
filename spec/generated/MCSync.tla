\* Made by `sluicegate generate` from the machine Sync; do not edit.
-------------------------------- MODULE MCSync ---------------------------------
EXTENDS Sync, Naturals, Sequences, FiniteSets

CONSTANTS ReplicaId

VARIABLE m

Init == \E term \in 0..0, minimum \in 0..1 : m = SyncInit(term, minimum)

SyncRestoreRestores ==
    /\ m.state \in SyncRestoreRestores_states
    /\ \E a_epoch \in 0..1, a_published \in ({<<>>} \cup {<<bound1>> : bound1 \in 0..1}) :
        /\ SyncRestoreRestores_when(m, a_epoch, a_published)
        /\ m' = SyncRestoreRestores_next(m, a_epoch, a_published)
        /\ m'.epoch <= 1
        /\ (m'.published # <<>> => m'.published[1] <= 1)

SyncRestoreRestoresIgnore ==
    /\ m.state \in SyncRestoreRestoresIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ SyncRestoreRestoresIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

SyncRestoreBusy ==
    /\ m.state \in SyncRestoreBusy_states
    /\ SyncRestoreBusy_when(m, 0, 0)
    /\ UNCHANGED m

SyncRestoreFailed ==
    /\ m.state \in SyncRestoreFailed_states
    /\ SyncRestoreFailed_when(m, 0, 0)
    /\ UNCHANGED m

SyncBeginBegins ==
    /\ m.state \in SyncBeginBegins_states
    /\ \E a_epoch \in 0..1, a_version \in 0..1, a_members \in SUBSET ReplicaId, a_mode \in {"wait", "abort", "keep"}, a_lend \in BOOLEAN :
        /\ SyncBeginBegins_when(m, a_epoch, a_version, a_members, a_mode, a_lend)
        /\ m' = SyncBeginBegins_next(m, a_epoch, a_version, a_members, a_mode, a_lend)
        /\ m'.epoch <= 1
        /\ (m'.version # <<>> => m'.version[1] <= 1)

SyncBeginBeginsNotLater ==
    /\ m.state \in SyncBeginBeginsNotLater_states
    /\ \E a_epoch \in 0..1 :
        /\ SyncBeginBeginsNotLater_when(m, a_epoch, 0, 0, 0, 0)
        /\ UNCHANGED m

SyncBeginBeginsTooFew ==
    /\ m.state \in SyncBeginBeginsTooFew_states
    /\ \E a_epoch \in 0..1, a_members \in SUBSET ReplicaId :
        /\ SyncBeginBeginsTooFew_when(m, a_epoch, 0, a_members, 0, 0)
        /\ UNCHANGED m

SyncBeginBeginsNotNewer ==
    /\ m.state \in SyncBeginBeginsNotNewer_states
    /\ \E a_epoch \in 0..1, a_version \in 0..1, a_members \in SUBSET ReplicaId, a_lend \in BOOLEAN :
        /\ SyncBeginBeginsNotNewer_when(m, a_epoch, a_version, a_members, 0, a_lend)
        /\ UNCHANGED m

SyncBeginBusy ==
    /\ m.state \in SyncBeginBusy_states
    /\ SyncBeginBusy_when(m, 0, 0, 0, 0, 0)
    /\ UNCHANGED m

SyncBeginFailed ==
    /\ m.state \in SyncBeginFailed_states
    /\ SyncBeginFailed_when(m, 0, 0, 0, 0, 0)
    /\ UNCHANGED m

SyncSealedIgnore ==
    /\ m.state \in SyncSealedIgnore_states
    /\ SyncSealedIgnore_when(m, 0)
    /\ UNCHANGED m

SyncSealedSeals ==
    /\ m.state \in SyncSealedSeals_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncSealedSeals_when(m, a_replica)
        /\ m' = SyncSealedSeals_next(m, a_replica)

SyncSealedSeals2 ==
    /\ m.state \in SyncSealedSeals2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncSealedSeals2_when(m, a_replica)
        /\ m' = SyncSealedSeals2_next(m, a_replica)

SyncSealedSealsIgnore ==
    /\ m.state \in SyncSealedSealsIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncSealedSealsIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDrainedIgnore ==
    /\ m.state \in SyncDrainedIgnore_states
    /\ SyncDrainedIgnore_when(m, 0)
    /\ UNCHANGED m

SyncDrainedOutOfStep ==
    /\ m.state \in SyncDrainedOutOfStep_states
    /\ SyncDrainedOutOfStep_when(m, 0)
    /\ UNCHANGED m

SyncDrainedDrains ==
    /\ m.state \in SyncDrainedDrains_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDrainedDrains_when(m, a_replica)
        /\ m' = SyncDrainedDrains_next(m, a_replica)

SyncDrainedDrains2 ==
    /\ m.state \in SyncDrainedDrains2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDrainedDrains2_when(m, a_replica)
        /\ m' = SyncDrainedDrains2_next(m, a_replica)

SyncDrainedDrains3 ==
    /\ m.state \in SyncDrainedDrains3_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDrainedDrains3_when(m, a_replica)
        /\ m' = SyncDrainedDrains3_next(m, a_replica)

SyncDrainedDrainsIgnore ==
    /\ m.state \in SyncDrainedDrainsIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDrainedDrainsIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncTrainedIgnore ==
    /\ m.state \in SyncTrainedIgnore_states
    /\ SyncTrainedIgnore_when(m)
    /\ UNCHANGED m

SyncTrainedOutOfStep ==
    /\ m.state \in SyncTrainedOutOfStep_states
    /\ SyncTrainedOutOfStep_when(m)
    /\ UNCHANGED m

SyncTrainedTrains ==
    /\ m.state \in SyncTrainedTrains_states
    /\ SyncTrainedTrains_when(m)
    /\ m' = SyncTrainedTrains_next(m)

SyncInstalledIgnore ==
    /\ m.state \in SyncInstalledIgnore_states
    /\ SyncInstalledIgnore_when(m, 0)
    /\ UNCHANGED m

SyncInstalledOutOfStep ==
    /\ m.state \in SyncInstalledOutOfStep_states
    /\ SyncInstalledOutOfStep_when(m, 0)
    /\ UNCHANGED m

SyncInstalledInstalls ==
    /\ m.state \in SyncInstalledInstalls_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncInstalledInstalls_when(m, a_replica)
        /\ m' = SyncInstalledInstalls_next(m, a_replica)

SyncInstalledInstalls2 ==
    /\ m.state \in SyncInstalledInstalls2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncInstalledInstalls2_when(m, a_replica)
        /\ m' = SyncInstalledInstalls2_next(m, a_replica)

SyncInstalledInstallsIgnore ==
    /\ m.state \in SyncInstalledInstallsIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncInstalledInstallsIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDeclinedIgnore ==
    /\ m.state \in SyncDeclinedIgnore_states
    /\ SyncDeclinedIgnore_when(m, 0)
    /\ UNCHANGED m

SyncDeclinedOutOfStep ==
    /\ m.state \in SyncDeclinedOutOfStep_states
    /\ SyncDeclinedOutOfStep_when(m, 0)
    /\ UNCHANGED m

SyncDeclinedDeclines ==
    /\ m.state \in SyncDeclinedDeclines_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDeclinedDeclines_when(m, a_replica)
        /\ m' = SyncDeclinedDeclines_next(m, a_replica)

SyncDeclinedDeclines2 ==
    /\ m.state \in SyncDeclinedDeclines2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDeclinedDeclines2_when(m, a_replica)
        /\ m' = SyncDeclinedDeclines2_next(m, a_replica)

SyncDeclinedDeclines3 ==
    /\ m.state \in SyncDeclinedDeclines3_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDeclinedDeclines3_when(m, a_replica)
        /\ m' = SyncDeclinedDeclines3_next(m, a_replica)

SyncDeclinedDeclinesIgnore ==
    /\ m.state \in SyncDeclinedDeclinesIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDeclinedDeclinesIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncRecordedIgnore ==
    /\ m.state \in SyncRecordedIgnore_states
    /\ SyncRecordedIgnore_when(m)
    /\ UNCHANGED m

SyncRecordedOutOfStep ==
    /\ m.state \in SyncRecordedOutOfStep_states
    /\ SyncRecordedOutOfStep_when(m)
    /\ UNCHANGED m

SyncRecordedRecords ==
    /\ m.state \in SyncRecordedRecords_states
    /\ SyncRecordedRecords_when(m)
    /\ m' = SyncRecordedRecords_next(m)
    /\ (m'.published # <<>> => m'.published[1] <= 1)

SyncRecordedRecordsOtherwise ==
    /\ m.state \in SyncRecordedRecordsOtherwise_states
    /\ SyncRecordedRecordsOtherwise_when(m)
    /\ m' = SyncRecordedRecordsOtherwise_next(m)
    /\ (m'.published # <<>> => m'.published[1] <= 1)

SyncOverruledOverruled ==
    /\ m.state \in SyncOverruledOverruled_states
    /\ SyncOverruledOverruled_when(m)
    /\ m' = SyncOverruledOverruled_next(m)

SyncOverruledIgnore ==
    /\ m.state \in SyncOverruledIgnore_states
    /\ SyncOverruledIgnore_when(m)
    /\ UNCHANGED m

SyncClosedIgnore ==
    /\ m.state \in SyncClosedIgnore_states
    /\ SyncClosedIgnore_when(m, 0)
    /\ UNCHANGED m

SyncClosedOutOfStep ==
    /\ m.state \in SyncClosedOutOfStep_states
    /\ SyncClosedOutOfStep_when(m, 0)
    /\ UNCHANGED m

SyncClosedCloses ==
    /\ m.state \in SyncClosedCloses_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncClosedCloses_when(m, a_replica)
        /\ m' = SyncClosedCloses_next(m, a_replica)

SyncClosedCloses2 ==
    /\ m.state \in SyncClosedCloses2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncClosedCloses2_when(m, a_replica)
        /\ m' = SyncClosedCloses2_next(m, a_replica)

SyncClosedClosesIgnore ==
    /\ m.state \in SyncClosedClosesIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncClosedClosesIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncClosedClosesOld ==
    /\ m.state \in SyncClosedClosesOld_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncClosedClosesOld_when(m, a_replica)
        /\ m' = SyncClosedClosesOld_next(m, a_replica)

SyncClosedClosesOld2 ==
    /\ m.state \in SyncClosedClosesOld2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncClosedClosesOld2_when(m, a_replica)
        /\ m' = SyncClosedClosesOld2_next(m, a_replica)

SyncClosedClosesOldIgnore ==
    /\ m.state \in SyncClosedClosesOldIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncClosedClosesOldIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropIgnore ==
    /\ m.state \in SyncDropIgnore_states
    /\ SyncDropIgnore_when(m, 0)
    /\ UNCHANGED m

SyncDropDropsSealingLeaves ==
    /\ m.state \in SyncDropDropsSealingLeaves_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsSealingLeaves_when(m, a_replica)
        /\ m' = SyncDropDropsSealingLeaves_next(m, a_replica)

SyncDropDropsSealing2 ==
    /\ m.state \in SyncDropDropsSealing2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsSealing2_when(m, a_replica)
        /\ m' = SyncDropDropsSealing2_next(m, a_replica)

SyncDropDropsSealingGivesUp ==
    /\ m.state \in SyncDropDropsSealingGivesUp_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsSealingGivesUp_when(m, a_replica)
        /\ m' = SyncDropDropsSealingGivesUp_next(m, a_replica)

SyncDropDropsSealingNobodyLeft ==
    /\ m.state \in SyncDropDropsSealingNobodyLeft_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsSealingNobodyLeft_when(m, a_replica)
        /\ m' = SyncDropDropsSealingNobodyLeft_next(m, a_replica)

SyncDropDropsSealingIgnore ==
    /\ m.state \in SyncDropDropsSealingIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsSealingIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropDropsDrainingLeaves ==
    /\ m.state \in SyncDropDropsDrainingLeaves_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsDrainingLeaves_when(m, a_replica)
        /\ m' = SyncDropDropsDrainingLeaves_next(m, a_replica)

SyncDropDropsDraining2 ==
    /\ m.state \in SyncDropDropsDraining2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsDraining2_when(m, a_replica)
        /\ m' = SyncDropDropsDraining2_next(m, a_replica)

SyncDropDropsDraining3 ==
    /\ m.state \in SyncDropDropsDraining3_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsDraining3_when(m, a_replica)
        /\ m' = SyncDropDropsDraining3_next(m, a_replica)

SyncDropDropsDrainingGivesUp ==
    /\ m.state \in SyncDropDropsDrainingGivesUp_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsDrainingGivesUp_when(m, a_replica)
        /\ m' = SyncDropDropsDrainingGivesUp_next(m, a_replica)

SyncDropDropsDrainingNobodyLeft ==
    /\ m.state \in SyncDropDropsDrainingNobodyLeft_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsDrainingNobodyLeft_when(m, a_replica)
        /\ m' = SyncDropDropsDrainingNobodyLeft_next(m, a_replica)

SyncDropDropsDrainingIgnore ==
    /\ m.state \in SyncDropDropsDrainingIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsDrainingIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropDropsLent ==
    /\ m.state \in SyncDropDropsLent_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsLent_when(m, a_replica)
        /\ m' = SyncDropDropsLent_next(m, a_replica)

SyncDropDropsLent2 ==
    /\ m.state \in SyncDropDropsLent2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsLent2_when(m, a_replica)
        /\ m' = SyncDropDropsLent2_next(m, a_replica)

SyncDropDropsLentIgnore ==
    /\ m.state \in SyncDropDropsLentIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsLentIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropDropsInstalling ==
    /\ m.state \in SyncDropDropsInstalling_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsInstalling_when(m, a_replica)
        /\ m' = SyncDropDropsInstalling_next(m, a_replica)

SyncDropDropsInstalling2 ==
    /\ m.state \in SyncDropDropsInstalling2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsInstalling2_when(m, a_replica)
        /\ m' = SyncDropDropsInstalling2_next(m, a_replica)

SyncDropDropsInstalling3 ==
    /\ m.state \in SyncDropDropsInstalling3_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsInstalling3_when(m, a_replica)
        /\ m' = SyncDropDropsInstalling3_next(m, a_replica)

SyncDropDropsInstalling4 ==
    /\ m.state \in SyncDropDropsInstalling4_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsInstalling4_when(m, a_replica)
        /\ m' = SyncDropDropsInstalling4_next(m, a_replica)

SyncDropDropsInstallingIgnore ==
    /\ m.state \in SyncDropDropsInstallingIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsInstallingIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropDropsRecording ==
    /\ m.state \in SyncDropDropsRecording_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsRecording_when(m, a_replica)
        /\ m' = SyncDropDropsRecording_next(m, a_replica)

SyncDropDropsRecordingIgnore ==
    /\ m.state \in SyncDropDropsRecordingIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsRecordingIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropDropsReopeningStillClosing ==
    /\ m.state \in SyncDropDropsReopeningStillClosing_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsReopeningStillClosing_when(m, a_replica)
        /\ m' = SyncDropDropsReopeningStillClosing_next(m, a_replica)

SyncDropDropsReopening2 ==
    /\ m.state \in SyncDropDropsReopening2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsReopening2_when(m, a_replica)
        /\ m' = SyncDropDropsReopening2_next(m, a_replica)

SyncDropDropsReopeningIgnore ==
    /\ m.state \in SyncDropDropsReopeningIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsReopeningIgnore_when(m, a_replica)
        /\ UNCHANGED m

SyncDropDropsBackStillClosing ==
    /\ m.state \in SyncDropDropsBackStillClosing_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsBackStillClosing_when(m, a_replica)
        /\ m' = SyncDropDropsBackStillClosing_next(m, a_replica)

SyncDropDropsBack2 ==
    /\ m.state \in SyncDropDropsBack2_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsBack2_when(m, a_replica)
        /\ m' = SyncDropDropsBack2_next(m, a_replica)

SyncDropDropsBackIgnore ==
    /\ m.state \in SyncDropDropsBackIgnore_states
    /\ \E a_replica \in ReplicaId :
        /\ SyncDropDropsBackIgnore_when(m, a_replica)
        /\ UNCHANGED m

Changes ==
    \/ SyncRestoreRestores
    \/ SyncBeginBegins
    \/ SyncSealedSeals
    \/ SyncSealedSeals2
    \/ SyncDrainedDrains
    \/ SyncDrainedDrains2
    \/ SyncDrainedDrains3
    \/ SyncTrainedTrains
    \/ SyncInstalledInstalls
    \/ SyncInstalledInstalls2
    \/ SyncDeclinedDeclines
    \/ SyncDeclinedDeclines2
    \/ SyncDeclinedDeclines3
    \/ SyncRecordedRecords
    \/ SyncRecordedRecordsOtherwise
    \/ SyncOverruledOverruled
    \/ SyncClosedCloses
    \/ SyncClosedCloses2
    \/ SyncClosedClosesOld
    \/ SyncClosedClosesOld2
    \/ SyncDropDropsSealingLeaves
    \/ SyncDropDropsSealing2
    \/ SyncDropDropsSealingGivesUp
    \/ SyncDropDropsSealingNobodyLeft
    \/ SyncDropDropsDrainingLeaves
    \/ SyncDropDropsDraining2
    \/ SyncDropDropsDraining3
    \/ SyncDropDropsDrainingGivesUp
    \/ SyncDropDropsDrainingNobodyLeft
    \/ SyncDropDropsLent
    \/ SyncDropDropsLent2
    \/ SyncDropDropsInstalling
    \/ SyncDropDropsInstalling2
    \/ SyncDropDropsInstalling3
    \/ SyncDropDropsInstalling4
    \/ SyncDropDropsRecording
    \/ SyncDropDropsReopeningStillClosing
    \/ SyncDropDropsReopening2
    \/ SyncDropDropsBackStillClosing
    \/ SyncDropDropsBack2

Next ==
    \/ Changes
    \/ SyncRestoreRestoresIgnore
    \/ SyncRestoreBusy
    \/ SyncRestoreFailed
    \/ SyncBeginBeginsNotLater
    \/ SyncBeginBeginsTooFew
    \/ SyncBeginBeginsNotNewer
    \/ SyncBeginBusy
    \/ SyncBeginFailed
    \/ SyncSealedIgnore
    \/ SyncSealedSealsIgnore
    \/ SyncDrainedIgnore
    \/ SyncDrainedOutOfStep
    \/ SyncDrainedDrainsIgnore
    \/ SyncTrainedIgnore
    \/ SyncTrainedOutOfStep
    \/ SyncInstalledIgnore
    \/ SyncInstalledOutOfStep
    \/ SyncInstalledInstallsIgnore
    \/ SyncDeclinedIgnore
    \/ SyncDeclinedOutOfStep
    \/ SyncDeclinedDeclinesIgnore
    \/ SyncRecordedIgnore
    \/ SyncRecordedOutOfStep
    \/ SyncOverruledIgnore
    \/ SyncClosedIgnore
    \/ SyncClosedOutOfStep
    \/ SyncClosedClosesIgnore
    \/ SyncClosedClosesOldIgnore
    \/ SyncDropIgnore
    \/ SyncDropDropsSealingIgnore
    \/ SyncDropDropsDrainingIgnore
    \/ SyncDropDropsLentIgnore
    \/ SyncDropDropsInstallingIgnore
    \/ SyncDropDropsRecordingIgnore
    \/ SyncDropDropsReopeningIgnore
    \/ SyncDropDropsBackIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in SyncStates
    /\ m.term \in Nat
    /\ m.minimum \in Nat
    /\ m.epoch \in Nat
    /\ (m.published # <<>> => m.published[1] \in Nat)
    /\ (m.version # <<>> => m.version[1] \in Nat)
    /\ m.mode \in {"wait", "abort", "keep"}
    /\ m.lend \in BOOLEAN
    /\ (\A bound68 \in m.members : bound68 \in ReplicaId)
    /\ (\A bound69 \in m.answered : bound69 \in ReplicaId)
    /\ (\A bound70 \in m.refusing : bound70 \in ReplicaId)

\* never (SEALING or DRAINING or LENT or INSTALLING or REOPENING or ROLLING_BACK) and (members is empty)
asks_somebody == ~(((m.state = "SEALING") \/ (m.state = "DRAINING") \/ (m.state = "LENT") \/ (m.state = "INSTALLING") \/ (m.state = "REOPENING") \/ (m.state = "ROLLING_BACK")) /\ (m.members = {}))

================================================================================
