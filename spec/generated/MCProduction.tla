\* Made by `sluicegate generate` from the machine Production; do not edit.
----------------------------- MODULE MCProduction ------------------------------
EXTENDS Production, Naturals, Sequences, FiniteSets

VARIABLE m

Init == m = ProductionInit

ProductionRestoreRestores ==
    /\ m.state \in ProductionRestoreRestores_states
    /\ \E a_next_group \in 0..2, a_again \in SUBSET (0..1) :
        /\ ProductionRestoreRestores_when(m, a_next_group, a_again)
        /\ m' = ProductionRestoreRestores_next(m, a_next_group, a_again)
        /\ m'.next_group <= 2
        /\ (\A bound1 \in m'.again : bound1 <= 1)

ProductionRestoreRestoresInUse ==
    /\ m.state \in ProductionRestoreRestoresInUse_states
    /\ ProductionRestoreRestoresInUse_when(m, 0, 0)
    /\ UNCHANGED m

ProductionRestoreInUse ==
    /\ m.state \in ProductionRestoreInUse_states
    /\ ProductionRestoreInUse_when(m, 0, 0)
    /\ UNCHANGED m

ProductionRestoreClosed ==
    /\ m.state \in ProductionRestoreClosed_states
    /\ ProductionRestoreClosed_when(m, 0, 0)
    /\ UNCHANGED m

ProductionStartToRunning ==
    /\ m.state \in ProductionStartToRunning_states
    /\ ProductionStartToRunning_when(m)
    /\ m' = ProductionStartToRunning_next(m)

ProductionStartIgnore ==
    /\ m.state \in ProductionStartIgnore_states
    /\ ProductionStartIgnore_when(m)
    /\ UNCHANGED m

ProductionStartClosed ==
    /\ m.state \in ProductionStartClosed_states
    /\ ProductionStartClosed_when(m)
    /\ UNCHANGED m

ProductionStopIgnore ==
    /\ m.state \in ProductionStopIgnore_states
    /\ ProductionStopIgnore_when(m)
    /\ UNCHANGED m

ProductionStopToStopped ==
    /\ m.state \in ProductionStopToStopped_states
    /\ ProductionStopToStopped_when(m)
    /\ m' = ProductionStopToStopped_next(m)

ProductionBeginBeginsAgainTakenUp ==
    /\ m.state \in ProductionBeginBeginsAgainTakenUp_states
    /\ \E a_group \in 0..1 :
        /\ ProductionBeginBeginsAgainTakenUp_when(m, a_group)
        /\ m' = ProductionBeginBeginsAgainTakenUp_next(m, a_group)
        /\ (\A bound2 \in m'.again : bound2 <= 1)
        /\ (\A bound3 \in m'.in_flight : bound3 <= 1)
        /\ m'.next_group <= 2

ProductionBeginBeginsAgainStopped ==
    /\ m.state \in ProductionBeginBeginsAgainStopped_states
    /\ \E a_group \in 0..1 :
        /\ ProductionBeginBeginsAgainStopped_when(m, a_group)
        /\ UNCHANGED m

ProductionBeginBeginsTakenUp ==
    /\ m.state \in ProductionBeginBeginsTakenUp_states
    /\ \E a_group \in 0..1 :
        /\ ProductionBeginBeginsTakenUp_when(m, a_group)
        /\ m' = ProductionBeginBeginsTakenUp_next(m, a_group)
        /\ (\A bound4 \in m'.again : bound4 <= 1)
        /\ (\A bound5 \in m'.in_flight : bound5 <= 1)
        /\ m'.next_group <= 2

ProductionBeginBegins2 ==
    /\ m.state \in ProductionBeginBegins2_states
    /\ \E a_group \in 0..1 :
        /\ ProductionBeginBegins2_when(m, a_group)
        /\ m' = ProductionBeginBegins2_next(m, a_group)
        /\ (\A bound6 \in m'.in_flight : bound6 <= 1)
        /\ m'.next_group <= 2

ProductionBeginBeginsNotNext ==
    /\ m.state \in ProductionBeginBeginsNotNext_states
    /\ \E a_group \in 0..1 :
        /\ ProductionBeginBeginsNotNext_when(m, a_group)
        /\ UNCHANGED m

ProductionBeginClosed ==
    /\ m.state \in ProductionBeginClosed_states
    /\ ProductionBeginClosed_when(m, 0)
    /\ UNCHANGED m

ProductionCompletedCompletes ==
    /\ m.state \in ProductionCompletedCompletes_states
    /\ \E a_group \in 0..1 :
        /\ ProductionCompletedCompletes_when(m, a_group)
        /\ m' = ProductionCompletedCompletes_next(m, a_group)
        /\ (\A bound7 \in m'.in_flight : bound7 <= 1)
        /\ (\A bound8 \in m'.ready : bound8 <= 1)

ProductionCompletedCompletesNotInFlight ==
    /\ m.state \in ProductionCompletedCompletesNotInFlight_states
    /\ \E a_group \in 0..1 :
        /\ ProductionCompletedCompletesNotInFlight_when(m, a_group)
        /\ UNCHANGED m

ProductionFailedFails ==
    /\ m.state \in ProductionFailedFails_states
    /\ \E a_group \in 0..1 :
        /\ ProductionFailedFails_when(m, a_group)
        /\ m' = ProductionFailedFails_next(m, a_group)
        /\ (\A bound9 \in m'.in_flight : bound9 <= 1)
        /\ (\A bound10 \in m'.again : bound10 <= 1)

ProductionFailedFailsNotInFlight ==
    /\ m.state \in ProductionFailedFailsNotInFlight_states
    /\ \E a_group \in 0..1 :
        /\ ProductionFailedFailsNotInFlight_when(m, a_group)
        /\ UNCHANGED m

ProductionDroppedDrops ==
    /\ m.state \in ProductionDroppedDrops_states
    /\ \E a_group \in 0..1 :
        /\ ProductionDroppedDrops_when(m, a_group)
        /\ m' = ProductionDroppedDrops_next(m, a_group)
        /\ (\A bound11 \in m'.in_flight : bound11 <= 1)
        /\ (\A bound12 \in m'.ready : bound12 <= 1)

ProductionDroppedDropsNotHeld ==
    /\ m.state \in ProductionDroppedDropsNotHeld_states
    /\ \E a_group \in 0..1 :
        /\ ProductionDroppedDropsNotHeld_when(m, a_group)
        /\ UNCHANGED m

ProductionClaimClaims ==
    /\ m.state \in ProductionClaimClaims_states
    /\ \E a_group \in 0..1 :
        /\ ProductionClaimClaims_when(m, a_group)
        /\ m' = ProductionClaimClaims_next(m, a_group)
        /\ (\A bound13 \in m'.ready : bound13 <= 1)
        /\ (\A bound14 \in m'.claimed : bound14 <= 1)

ProductionClaimClaimsNotReady ==
    /\ m.state \in ProductionClaimClaimsNotReady_states
    /\ \E a_group \in 0..1 :
        /\ ProductionClaimClaimsNotReady_when(m, a_group)
        /\ UNCHANGED m

ProductionClaimClosed ==
    /\ m.state \in ProductionClaimClosed_states
    /\ ProductionClaimClosed_when(m, 0)
    /\ UNCHANGED m

ProductionTrainedTrains ==
    /\ m.state \in ProductionTrainedTrains_states
    /\ ProductionTrainedTrains_when(m)
    /\ m' = ProductionTrainedTrains_next(m)
    /\ (\A bound15 \in m'.claimed : bound15 <= 1)

ProductionGiveBackGivesBack ==
    /\ m.state \in ProductionGiveBackGivesBack_states
    /\ ProductionGiveBackGivesBack_when(m)
    /\ m' = ProductionGiveBackGivesBack_next(m)
    /\ (\A bound16 \in m'.ready : bound16 <= 1)
    /\ (\A bound17 \in m'.claimed : bound17 <= 1)

ProductionRewindRewinds ==
    /\ m.state \in ProductionRewindRewinds_states
    /\ \E a_lacking \in SUBSET (0..1) :
        /\ ProductionRewindRewinds_when(m, a_lacking)
        /\ m' = ProductionRewindRewinds_next(m, a_lacking)
        /\ (\A bound18 \in m'.again : bound18 <= 1)
        /\ (\A bound19 \in m'.ready : bound19 <= 1)
        /\ (\A bound20 \in m'.claimed : bound20 <= 1)

ProductionRewindClosed ==
    /\ m.state \in ProductionRewindClosed_states
    /\ ProductionRewindClosed_when(m, 0)
    /\ UNCHANGED m

ProductionCloseToClosed ==
    /\ m.state \in ProductionCloseToClosed_states
    /\ ProductionCloseToClosed_when(m)
    /\ m' = ProductionCloseToClosed_next(m)

ProductionCloseIgnore ==
    /\ m.state \in ProductionCloseIgnore_states
    /\ ProductionCloseIgnore_when(m)
    /\ UNCHANGED m

Changes ==
    \/ ProductionRestoreRestores
    \/ ProductionStartToRunning
    \/ ProductionStopToStopped
    \/ ProductionBeginBeginsAgainTakenUp
    \/ ProductionBeginBeginsTakenUp
    \/ ProductionBeginBegins2
    \/ ProductionCompletedCompletes
    \/ ProductionFailedFails
    \/ ProductionDroppedDrops
    \/ ProductionClaimClaims
    \/ ProductionTrainedTrains
    \/ ProductionGiveBackGivesBack
    \/ ProductionRewindRewinds
    \/ ProductionCloseToClosed

Next ==
    \/ Changes
    \/ ProductionRestoreRestoresInUse
    \/ ProductionRestoreInUse
    \/ ProductionRestoreClosed
    \/ ProductionStartIgnore
    \/ ProductionStartClosed
    \/ ProductionStopIgnore
    \/ ProductionBeginBeginsAgainStopped
    \/ ProductionBeginBeginsNotNext
    \/ ProductionBeginClosed
    \/ ProductionCompletedCompletesNotInFlight
    \/ ProductionFailedFailsNotInFlight
    \/ ProductionDroppedDropsNotHeld
    \/ ProductionClaimClaimsNotReady
    \/ ProductionClaimClosed
    \/ ProductionRewindClosed
    \/ ProductionCloseIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in ProductionStates
    /\ m.next_group \in Nat
    /\ (\A bound21 \in m.again : bound21 \in Nat)
    /\ (\A bound22 \in m.in_flight : bound22 \in Nat)
    /\ (\A bound23 \in m.ready : bound23 \in Nat)
    /\ (\A bound24 \in m.claimed : bound24 \in Nat)

\* always (((again ∖ in_flight) ∖ ready) ∖ claimed) = again
waits_once == (((m.again \ m.in_flight) \ m.ready) \ m.claimed) = m.again

\* always (((in_flight ∖ ready) ∖ claimed) = in_flight) and ((ready ∖ claimed) = ready)
runs_once == (((m.in_flight \ m.ready) \ m.claimed) = m.in_flight) /\ ((m.ready \ m.claimed) = m.ready)

================================================================================
