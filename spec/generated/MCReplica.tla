\* Made by `sluicegate generate` from the machine Replica; do not edit.
------------------------------- MODULE MCReplica -------------------------------
EXTENDS Replica, Naturals, Sequences, FiniteSets

VARIABLE m

Init == \E patience \in 0..2 : m = ReplicaInit(patience)

ReplicaStartedStarts ==
    /\ m.state \in ReplicaStartedStarts_states
    /\ ReplicaStartedStarts_when(m)
    /\ m' = ReplicaStartedStarts_next(m)

ReplicaStartedIgnore ==
    /\ m.state \in ReplicaStartedIgnore_states
    /\ ReplicaStartedIgnore_when(m)
    /\ UNCHANGED m

ReplicaStartedDead ==
    /\ m.state \in ReplicaStartedDead_states
    /\ ReplicaStartedDead_when(m)
    /\ UNCHANGED m

ReplicaSyncedIgnore ==
    /\ m.state \in ReplicaSyncedIgnore_states
    /\ ReplicaSyncedIgnore_when(m, 0)
    /\ UNCHANGED m

ReplicaSyncedSyncs ==
    /\ m.state \in ReplicaSyncedSyncs_states
    /\ \E a_version \in 0..1 :
        /\ ReplicaSyncedSyncs_when(m, a_version)
        /\ m' = ReplicaSyncedSyncs_next(m, a_version)
        /\ (m'.version # <<>> => m'.version[1] <= 1)
        /\ m'.missed_probes <= 2

ReplicaSyncedUpdates ==
    /\ m.state \in ReplicaSyncedUpdates_states
    /\ \E a_version \in 0..1 :
        /\ ReplicaSyncedUpdates_when(m, a_version)
        /\ m' = ReplicaSyncedUpdates_next(m, a_version)
        /\ (m'.version # <<>> => m'.version[1] <= 1)
        /\ m'.missed_probes <= 2

ReplicaSyncedDead ==
    /\ m.state \in ReplicaSyncedDead_states
    /\ ReplicaSyncedDead_when(m, 0)
    /\ UNCHANGED m

ReplicaLeftBehindIgnore ==
    /\ m.state \in ReplicaLeftBehindIgnore_states
    /\ ReplicaLeftBehindIgnore_when(m)
    /\ UNCHANGED m

ReplicaLeftBehindFallsBehind ==
    /\ m.state \in ReplicaLeftBehindFallsBehind_states
    /\ ReplicaLeftBehindFallsBehind_when(m)
    /\ m' = ReplicaLeftBehindFallsBehind_next(m)

ReplicaAnsweredAnswers ==
    /\ m.state \in ReplicaAnsweredAnswers_states
    /\ \E a_installing \in BOOLEAN :
        /\ ReplicaAnsweredAnswers_when(m, a_installing)
        /\ m' = ReplicaAnsweredAnswers_next(m, a_installing)
        /\ m'.missed_probes <= 2

ReplicaAnsweredRecovers ==
    /\ m.state \in ReplicaAnsweredRecovers_states
    /\ \E a_installing \in BOOLEAN :
        /\ ReplicaAnsweredRecovers_when(m, a_installing)
        /\ m' = ReplicaAnsweredRecovers_next(m, a_installing)
        /\ m'.missed_probes <= 2

ReplicaAnsweredIgnore ==
    /\ m.state \in ReplicaAnsweredIgnore_states
    /\ ReplicaAnsweredIgnore_when(m, 0)
    /\ UNCHANGED m

ReplicaMissedMisses ==
    /\ m.state \in ReplicaMissedMisses_states
    /\ ReplicaMissedMisses_when(m)
    /\ m' = ReplicaMissedMisses_next(m)
    /\ m'.missed_probes <= 2

ReplicaMissedMisses2 ==
    /\ m.state \in ReplicaMissedMisses2_states
    /\ ReplicaMissedMisses2_when(m)
    /\ m' = ReplicaMissedMisses2_next(m)

ReplicaMissedMissesIgnore ==
    /\ m.state \in ReplicaMissedMissesIgnore_states
    /\ ReplicaMissedMissesIgnore_when(m)
    /\ UNCHANGED m

ReplicaMissedMissesServing ==
    /\ m.state \in ReplicaMissedMissesServing_states
    /\ ReplicaMissedMissesServing_when(m)
    /\ m' = ReplicaMissedMissesServing_next(m)
    /\ m'.missed_probes <= 2

ReplicaMissedMissesServing2 ==
    /\ m.state \in ReplicaMissedMissesServing2_states
    /\ ReplicaMissedMissesServing2_when(m)
    /\ m' = ReplicaMissedMissesServing2_next(m)

ReplicaMissedMissesServingIgnore ==
    /\ m.state \in ReplicaMissedMissesServingIgnore_states
    /\ ReplicaMissedMissesServingIgnore_when(m)
    /\ UNCHANGED m

ReplicaMissedMissesLeaving ==
    /\ m.state \in ReplicaMissedMissesLeaving_states
    /\ ReplicaMissedMissesLeaving_when(m)
    /\ m' = ReplicaMissedMissesLeaving_next(m)
    /\ m'.missed_probes <= 2

ReplicaMissedMissesLeaving2 ==
    /\ m.state \in ReplicaMissedMissesLeaving2_states
    /\ ReplicaMissedMissesLeaving2_when(m)
    /\ m' = ReplicaMissedMissesLeaving2_next(m)

ReplicaMissedMissesLeavingIgnore ==
    /\ m.state \in ReplicaMissedMissesLeavingIgnore_states
    /\ ReplicaMissedMissesLeavingIgnore_when(m)
    /\ UNCHANGED m

ReplicaMissedIgnore ==
    /\ m.state \in ReplicaMissedIgnore_states
    /\ ReplicaMissedIgnore_when(m)
    /\ UNCHANGED m

ReplicaOverdueOverdue ==
    /\ m.state \in ReplicaOverdueOverdue_states
    /\ ReplicaOverdueOverdue_when(m)
    /\ m' = ReplicaOverdueOverdue_next(m)

ReplicaOverdueIgnore ==
    /\ m.state \in ReplicaOverdueIgnore_states
    /\ ReplicaOverdueIgnore_when(m)
    /\ UNCHANGED m

ReplicaPoisonedDies ==
    /\ m.state \in ReplicaPoisonedDies_states
    /\ ReplicaPoisonedDies_when(m)
    /\ m' = ReplicaPoisonedDies_next(m)

ReplicaPoisonedDiesLeaving ==
    /\ m.state \in ReplicaPoisonedDiesLeaving_states
    /\ ReplicaPoisonedDiesLeaving_when(m)
    /\ m' = ReplicaPoisonedDiesLeaving_next(m)

ReplicaPoisonedIgnore ==
    /\ m.state \in ReplicaPoisonedIgnore_states
    /\ ReplicaPoisonedIgnore_when(m)
    /\ UNCHANGED m

ReplicaExitedDies ==
    /\ m.state \in ReplicaExitedDies_states
    /\ ReplicaExitedDies_when(m)
    /\ m' = ReplicaExitedDies_next(m)

ReplicaExitedDiesLeaving ==
    /\ m.state \in ReplicaExitedDiesLeaving_states
    /\ ReplicaExitedDiesLeaving_when(m)
    /\ m' = ReplicaExitedDiesLeaving_next(m)

ReplicaExitedIgnore ==
    /\ m.state \in ReplicaExitedIgnore_states
    /\ ReplicaExitedIgnore_when(m)
    /\ UNCHANGED m

ReplicaLeaveLeavesUnused ==
    /\ m.state \in ReplicaLeaveLeavesUnused_states
    /\ ReplicaLeaveLeavesUnused_when(m)
    /\ m' = ReplicaLeaveLeavesUnused_next(m)

ReplicaLeaveLeaves ==
    /\ m.state \in ReplicaLeaveLeaves_states
    /\ ReplicaLeaveLeaves_when(m)
    /\ m' = ReplicaLeaveLeaves_next(m)

ReplicaLeaveIgnore ==
    /\ m.state \in ReplicaLeaveIgnore_states
    /\ ReplicaLeaveIgnore_when(m)
    /\ UNCHANGED m

ReplicaLeaveDead ==
    /\ m.state \in ReplicaLeaveDead_states
    /\ ReplicaLeaveDead_when(m)
    /\ UNCHANGED m

ReplicaEvacuatedIgnore ==
    /\ m.state \in ReplicaEvacuatedIgnore_states
    /\ ReplicaEvacuatedIgnore_when(m)
    /\ UNCHANGED m

ReplicaEvacuatedDiesLeaving ==
    /\ m.state \in ReplicaEvacuatedDiesLeaving_states
    /\ ReplicaEvacuatedDiesLeaving_when(m)
    /\ m' = ReplicaEvacuatedDiesLeaving_next(m)

Changes ==
    \/ ReplicaStartedStarts
    \/ ReplicaSyncedSyncs
    \/ ReplicaSyncedUpdates
    \/ ReplicaLeftBehindFallsBehind
    \/ ReplicaAnsweredAnswers
    \/ ReplicaAnsweredRecovers
    \/ ReplicaMissedMisses
    \/ ReplicaMissedMisses2
    \/ ReplicaMissedMissesServing
    \/ ReplicaMissedMissesServing2
    \/ ReplicaMissedMissesLeaving
    \/ ReplicaMissedMissesLeaving2
    \/ ReplicaOverdueOverdue
    \/ ReplicaPoisonedDies
    \/ ReplicaPoisonedDiesLeaving
    \/ ReplicaExitedDies
    \/ ReplicaExitedDiesLeaving
    \/ ReplicaLeaveLeavesUnused
    \/ ReplicaLeaveLeaves
    \/ ReplicaEvacuatedDiesLeaving

Next ==
    \/ Changes
    \/ ReplicaStartedIgnore
    \/ ReplicaStartedDead
    \/ ReplicaSyncedIgnore
    \/ ReplicaSyncedDead
    \/ ReplicaLeftBehindIgnore
    \/ ReplicaAnsweredIgnore
    \/ ReplicaMissedMissesIgnore
    \/ ReplicaMissedMissesServingIgnore
    \/ ReplicaMissedMissesLeavingIgnore
    \/ ReplicaMissedIgnore
    \/ ReplicaOverdueIgnore
    \/ ReplicaPoisonedIgnore
    \/ ReplicaExitedIgnore
    \/ ReplicaLeaveIgnore
    \/ ReplicaLeaveDead
    \/ ReplicaEvacuatedIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in ReplicaStates
    /\ m.patience \in Nat
    /\ (m.version # <<>> => m.version[1] \in Nat)
    /\ m.missed_probes \in Nat
    /\ m.installing \in BOOLEAN

================================================================================
