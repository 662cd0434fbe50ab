\* Made by `sluicegate generate` from the machine Lease; do not edit.
-------------------------------- MODULE MCLease --------------------------------
EXTENDS Lease, Naturals, Sequences, FiniteSets

CONSTANTS SessionId

VARIABLE m

Init == \E session \in SessionId : m = LeaseInit(session)

LeaseForwardForwards ==
    /\ m.state \in LeaseForwardForwards_states
    /\ LeaseForwardForwards_when(m)
    /\ m' = LeaseForwardForwards_next(m)

LeaseForwardIgnore ==
    /\ m.state \in LeaseForwardIgnore_states
    /\ LeaseForwardIgnore_when(m)
    /\ UNCHANGED m

LeaseForwardNotRunning ==
    /\ m.state \in LeaseForwardNotRunning_states
    /\ LeaseForwardNotRunning_when(m)
    /\ UNCHANGED m

LeaseForwardSettled ==
    /\ m.state \in LeaseForwardSettled_states
    /\ LeaseForwardSettled_when(m)
    /\ UNCHANGED m

LeaseProgressNotForwarded ==
    /\ m.state \in LeaseProgressNotForwarded_states
    /\ LeaseProgressNotForwarded_when(m, 0, 0)
    /\ UNCHANGED m

LeaseProgressExtends ==
    /\ m.state \in LeaseProgressExtends_states
    /\ \E a_count \in 0..1, a_version \in 0..1 :
        /\ LeaseProgressExtends_when(m, a_count, a_version)
        /\ m' = LeaseProgressExtends_next(m, a_count, a_version)
        /\ (\A bound1 \in DOMAIN m'.spans : bound1 <= 2 /\ m'.spans[bound1] <= 2)

LeaseProgressIgnore ==
    /\ m.state \in LeaseProgressIgnore_states
    /\ LeaseProgressIgnore_when(m, 0, 0)
    /\ UNCHANGED m

LeaseFrozenNotForwarded ==
    /\ m.state \in LeaseFrozenNotForwarded_states
    /\ LeaseFrozenNotForwarded_when(m)
    /\ UNCHANGED m

LeaseFrozenFreezes ==
    /\ m.state \in LeaseFrozenFreezes_states
    /\ LeaseFrozenFreezes_when(m)
    /\ m' = LeaseFrozenFreezes_next(m)

LeaseFrozenIgnore ==
    /\ m.state \in LeaseFrozenIgnore_states
    /\ LeaseFrozenIgnore_when(m)
    /\ UNCHANGED m

LeaseThawedNotForwarded ==
    /\ m.state \in LeaseThawedNotForwarded_states
    /\ LeaseThawedNotForwarded_when(m)
    /\ UNCHANGED m

LeaseThawedIgnore ==
    /\ m.state \in LeaseThawedIgnore_states
    /\ LeaseThawedIgnore_when(m)
    /\ UNCHANGED m

LeaseThawedContinues ==
    /\ m.state \in LeaseThawedContinues_states
    /\ LeaseThawedContinues_when(m)
    /\ m' = LeaseThawedContinues_next(m)

LeaseCancelNeverSent ==
    /\ m.state \in LeaseCancelNeverSent_states
    /\ LeaseCancelNeverSent_when(m)
    /\ m' = LeaseCancelNeverSent_next(m)

LeaseCancelAborts ==
    /\ m.state \in LeaseCancelAborts_states
    /\ LeaseCancelAborts_when(m)
    /\ UNCHANGED m

LeaseCancelIgnore ==
    /\ m.state \in LeaseCancelIgnore_states
    /\ LeaseCancelIgnore_when(m)
    /\ UNCHANGED m

LeaseEndedNotForwarded ==
    /\ m.state \in LeaseEndedNotForwarded_states
    /\ LeaseEndedNotForwarded_when(m, 0)
    /\ UNCHANGED m

LeaseEndedEnds ==
    /\ m.state \in LeaseEndedEnds_states
    /\ \E a_ending \in {"completed", "failed", "aborted", "not_sent", "discarded"} :
        /\ LeaseEndedEnds_when(m, a_ending)
        /\ m' = LeaseEndedEnds_next(m, a_ending)

LeaseEndedIgnore ==
    /\ m.state \in LeaseEndedIgnore_states
    /\ LeaseEndedIgnore_when(m, 0)
    /\ UNCHANGED m

LeaseEndedDiscards ==
    /\ m.state \in LeaseEndedDiscards_states
    /\ LeaseEndedDiscards_when(m, 0)
    /\ m' = LeaseEndedDiscards_next(m, 0)

LeaseRecordedNotEnded ==
    /\ m.state \in LeaseRecordedNotEnded_states
    /\ LeaseRecordedNotEnded_when(m)
    /\ UNCHANGED m

LeaseRecordedSettles ==
    /\ m.state \in LeaseRecordedSettles_states
    /\ LeaseRecordedSettles_when(m)
    /\ m' = LeaseRecordedSettles_next(m)

LeaseRecordedIgnore ==
    /\ m.state \in LeaseRecordedIgnore_states
    /\ LeaseRecordedIgnore_when(m)
    /\ UNCHANGED m

LeaseUnknownNotForwarded ==
    /\ m.state \in LeaseUnknownNotForwarded_states
    /\ LeaseUnknownNotForwarded_when(m)
    /\ UNCHANGED m

LeaseUnknownOrphans ==
    /\ m.state \in LeaseUnknownOrphans_states
    /\ LeaseUnknownOrphans_when(m)
    /\ m' = LeaseUnknownOrphans_next(m)

LeaseUnknownIgnore ==
    /\ m.state \in LeaseUnknownIgnore_states
    /\ LeaseUnknownIgnore_when(m)
    /\ UNCHANGED m

LeaseReconciledIgnore ==
    /\ m.state \in LeaseReconciledIgnore_states
    /\ LeaseReconciledIgnore_when(m)
    /\ UNCHANGED m

LeaseReconciledDiscards ==
    /\ m.state \in LeaseReconciledDiscards_states
    /\ LeaseReconciledDiscards_when(m)
    /\ m' = LeaseReconciledDiscards_next(m)

LeaseGiveUpIgnore ==
    /\ m.state \in LeaseGiveUpIgnore_states
    /\ LeaseGiveUpIgnore_when(m)
    /\ UNCHANGED m

LeaseGiveUpToLost ==
    /\ m.state \in LeaseGiveUpToLost_states
    /\ LeaseGiveUpToLost_when(m)
    /\ m' = LeaseGiveUpToLost_next(m)

LeaseGoneNeverSent ==
    /\ m.state \in LeaseGoneNeverSent_states
    /\ LeaseGoneNeverSent_when(m)
    /\ m' = LeaseGoneNeverSent_next(m)

LeaseGoneToLost ==
    /\ m.state \in LeaseGoneToLost_states
    /\ LeaseGoneToLost_when(m)
    /\ m' = LeaseGoneToLost_next(m)

LeaseGoneIgnore ==
    /\ m.state \in LeaseGoneIgnore_states
    /\ LeaseGoneIgnore_when(m)
    /\ UNCHANGED m

Changes ==
    \/ LeaseForwardForwards
    \/ LeaseProgressExtends
    \/ LeaseFrozenFreezes
    \/ LeaseThawedContinues
    \/ LeaseCancelNeverSent
    \/ LeaseEndedEnds
    \/ LeaseEndedDiscards
    \/ LeaseRecordedSettles
    \/ LeaseUnknownOrphans
    \/ LeaseReconciledDiscards
    \/ LeaseGiveUpToLost
    \/ LeaseGoneNeverSent
    \/ LeaseGoneToLost

Next ==
    \/ Changes
    \/ LeaseForwardIgnore
    \/ LeaseForwardNotRunning
    \/ LeaseForwardSettled
    \/ LeaseProgressNotForwarded
    \/ LeaseProgressIgnore
    \/ LeaseFrozenNotForwarded
    \/ LeaseFrozenIgnore
    \/ LeaseThawedNotForwarded
    \/ LeaseThawedIgnore
    \/ LeaseCancelAborts
    \/ LeaseCancelIgnore
    \/ LeaseEndedNotForwarded
    \/ LeaseEndedIgnore
    \/ LeaseRecordedNotEnded
    \/ LeaseRecordedIgnore
    \/ LeaseUnknownNotForwarded
    \/ LeaseUnknownIgnore
    \/ LeaseReconciledIgnore
    \/ LeaseGiveUpIgnore
    \/ LeaseGoneIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in LeaseStates
    /\ m.session \in SessionId
    /\ (\A bound2 \in DOMAIN m.spans : bound2 \in Nat /\ m.spans[bound2] \in Nat)
    /\ m.ending \in {"completed", "failed", "aborted", "not_sent", "discarded"}

================================================================================
