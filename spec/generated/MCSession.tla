\* Made by `sluicegate generate` from the machine Session; do not edit.
------------------------------- MODULE MCSession -------------------------------
EXTENDS Session, Naturals, Sequences, FiniteSets

CONSTANTS LeaseId, ReplicaId, Incarnation, Consumer

VARIABLE m

Init == \E policy \in {"never", "on_loss", "on_evacuation"} : m = SessionInit(policy)

SessionBeginTurnBinds ==
    /\ m.state \in SessionBeginTurnBinds_states
    /\ \E a_lease \in LeaseId :
        /\ SessionBeginTurnBinds_when(m, a_lease)
        /\ m' = SessionBeginTurnBinds_next(m, a_lease)

SessionBeginTurnBindingNow ==
    /\ m.state \in SessionBeginTurnBindingNow_states
    /\ SessionBeginTurnBindingNow_when(m, 0)
    /\ UNCHANGED m

SessionBeginTurnBegins ==
    /\ m.state \in SessionBeginTurnBegins_states
    /\ \E a_lease \in LeaseId :
        /\ SessionBeginTurnBegins_when(m, a_lease)
        /\ m' = SessionBeginTurnBegins_next(m, a_lease)

SessionBeginTurnJoins ==
    /\ m.state \in SessionBeginTurnJoins_states
    /\ \E a_lease \in LeaseId :
        /\ SessionBeginTurnJoins_when(m, a_lease)
        /\ m' = SessionBeginTurnJoins_next(m, a_lease)

SessionBeginTurnFinished ==
    /\ m.state \in SessionBeginTurnFinished_states
    /\ SessionBeginTurnFinished_when(m, 0)
    /\ UNCHANGED m

SessionBeginTurnBeingRead ==
    /\ m.state \in SessionBeginTurnBeingRead_states
    /\ SessionBeginTurnBeingRead_when(m, 0)
    /\ UNCHANGED m

SessionBeginTurnRetiring ==
    /\ m.state \in SessionBeginTurnRetiring_states
    /\ SessionBeginTurnRetiring_when(m, 0)
    /\ UNCHANGED m

SessionBeginTurnGone ==
    /\ m.state \in SessionBeginTurnGone_states
    /\ SessionBeginTurnGone_when(m, 0)
    /\ UNCHANGED m

SessionBeginTurnLost ==
    /\ m.state \in SessionBeginTurnLost_states
    /\ SessionBeginTurnLost_when(m, 0)
    /\ UNCHANGED m

SessionBoundIgnore ==
    /\ m.state \in SessionBoundIgnore_states
    /\ SessionBoundIgnore_when(m, 0, 0)
    /\ UNCHANGED m

SessionBoundIsBound ==
    /\ m.state \in SessionBoundIsBound_states
    /\ \E a_replica \in ReplicaId, a_incarnation \in Incarnation :
        /\ SessionBoundIsBound_when(m, a_replica, a_incarnation)
        /\ m' = SessionBoundIsBound_next(m, a_replica, a_incarnation)
        /\ m'.binding <= 2

SessionEndTurnIgnore ==
    /\ m.state \in SessionEndTurnIgnore_states
    /\ SessionEndTurnIgnore_when(m, 0)
    /\ UNCHANGED m

SessionEndTurnUnbinds ==
    /\ m.state \in SessionEndTurnUnbinds_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnUnbinds_when(m, a_lease)
        /\ m' = SessionEndTurnUnbinds_next(m, a_lease)

SessionEndTurnUnbindsIgnore ==
    /\ m.state \in SessionEndTurnUnbindsIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnUnbindsIgnore_when(m, a_lease)
        /\ UNCHANGED m

SessionEndTurnEnds ==
    /\ m.state \in SessionEndTurnEnds_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEnds_when(m, a_lease)
        /\ m' = SessionEndTurnEnds_next(m, a_lease)

SessionEndTurnEnds2 ==
    /\ m.state \in SessionEndTurnEnds2_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEnds2_when(m, a_lease)
        /\ m' = SessionEndTurnEnds2_next(m, a_lease)

SessionEndTurnEndsIgnore ==
    /\ m.state \in SessionEndTurnEndsIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEndsIgnore_when(m, a_lease)
        /\ UNCHANGED m

SessionEndTurnEndsRetiring ==
    /\ m.state \in SessionEndTurnEndsRetiring_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEndsRetiring_when(m, a_lease)
        /\ m' = SessionEndTurnEndsRetiring_next(m, a_lease)

SessionEndTurnEndsRetiring2 ==
    /\ m.state \in SessionEndTurnEndsRetiring2_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEndsRetiring2_when(m, a_lease)
        /\ m' = SessionEndTurnEndsRetiring2_next(m, a_lease)

SessionEndTurnEndsRetiringIgnore ==
    /\ m.state \in SessionEndTurnEndsRetiringIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEndsRetiringIgnore_when(m, a_lease)
        /\ UNCHANGED m

SessionEndTurnEndsLost ==
    /\ m.state \in SessionEndTurnEndsLost_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEndsLost_when(m, a_lease)
        /\ m' = SessionEndTurnEndsLost_next(m, a_lease)

SessionEndTurnEndsLostIgnore ==
    /\ m.state \in SessionEndTurnEndsLostIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ SessionEndTurnEndsLostIgnore_when(m, a_lease)
        /\ UNCHANGED m

SessionFinishNotBound ==
    /\ m.state \in SessionFinishNotBound_states
    /\ SessionFinishNotBound_when(m)
    /\ UNCHANGED m

SessionFinishBindingNow ==
    /\ m.state \in SessionFinishBindingNow_states
    /\ SessionFinishBindingNow_when(m)
    /\ UNCHANGED m

SessionFinishToFinished ==
    /\ m.state \in SessionFinishToFinished_states
    /\ SessionFinishToFinished_when(m)
    /\ m' = SessionFinishToFinished_next(m)

SessionFinishTurnActive ==
    /\ m.state \in SessionFinishTurnActive_states
    /\ SessionFinishTurnActive_when(m)
    /\ UNCHANGED m

SessionFinishIgnore ==
    /\ m.state \in SessionFinishIgnore_states
    /\ SessionFinishIgnore_when(m)
    /\ UNCHANGED m

SessionFinishLost ==
    /\ m.state \in SessionFinishLost_states
    /\ SessionFinishLost_when(m)
    /\ UNCHANGED m

SessionTakeNotFinished ==
    /\ m.state \in SessionTakeNotFinished_states
    /\ SessionTakeNotFinished_when(m, 0)
    /\ UNCHANGED m

SessionTakeTakes ==
    /\ m.state \in SessionTakeTakes_states
    /\ \E a_consumer \in Consumer :
        /\ SessionTakeTakes_when(m, a_consumer)
        /\ m' = SessionTakeTakes_next(m, a_consumer)

SessionTakeTakesAgainIgnore ==
    /\ m.state \in SessionTakeTakesAgainIgnore_states
    /\ \E a_consumer \in Consumer :
        /\ SessionTakeTakesAgainIgnore_when(m, a_consumer)
        /\ UNCHANGED m

SessionTakeTakesAgainBeingRead ==
    /\ m.state \in SessionTakeTakesAgainBeingRead_states
    /\ \E a_consumer \in Consumer :
        /\ SessionTakeTakesAgainBeingRead_when(m, a_consumer)
        /\ UNCHANGED m

SessionTakeRetiring ==
    /\ m.state \in SessionTakeRetiring_states
    /\ SessionTakeRetiring_when(m, 0)
    /\ UNCHANGED m

SessionTakeGone ==
    /\ m.state \in SessionTakeGone_states
    /\ SessionTakeGone_when(m, 0)
    /\ UNCHANGED m

SessionTakeLost ==
    /\ m.state \in SessionTakeLost_states
    /\ SessionTakeLost_when(m, 0)
    /\ UNCHANGED m

SessionReleaseNotFinished ==
    /\ m.state \in SessionReleaseNotFinished_states
    /\ SessionReleaseNotFinished_when(m, 0)
    /\ UNCHANGED m

SessionReleaseNotConsumer ==
    /\ m.state \in SessionReleaseNotConsumer_states
    /\ SessionReleaseNotConsumer_when(m, 0)
    /\ UNCHANGED m

SessionReleaseReleases ==
    /\ m.state \in SessionReleaseReleases_states
    /\ \E a_consumer \in Consumer :
        /\ SessionReleaseReleases_when(m, a_consumer)
        /\ m' = SessionReleaseReleases_next(m, a_consumer)

SessionReleaseReleasesNotConsumer ==
    /\ m.state \in SessionReleaseReleasesNotConsumer_states
    /\ \E a_consumer \in Consumer :
        /\ SessionReleaseReleasesNotConsumer_when(m, a_consumer)
        /\ UNCHANGED m

SessionReleaseRetiring ==
    /\ m.state \in SessionReleaseRetiring_states
    /\ SessionReleaseRetiring_when(m, 0)
    /\ UNCHANGED m

SessionReleaseIgnore ==
    /\ m.state \in SessionReleaseIgnore_states
    /\ SessionReleaseIgnore_when(m, 0)
    /\ UNCHANGED m

SessionReleaseLost ==
    /\ m.state \in SessionReleaseLost_states
    /\ SessionReleaseLost_when(m, 0)
    /\ UNCHANGED m

SessionConsumerLostIgnore ==
    /\ m.state \in SessionConsumerLostIgnore_states
    /\ SessionConsumerLostIgnore_when(m, 0)
    /\ UNCHANGED m

SessionConsumerLostConsumerDies ==
    /\ m.state \in SessionConsumerLostConsumerDies_states
    /\ \E a_consumer \in Consumer :
        /\ SessionConsumerLostConsumerDies_when(m, a_consumer)
        /\ m' = SessionConsumerLostConsumerDies_next(m, a_consumer)

SessionConsumerLostConsumerDiesIgnore ==
    /\ m.state \in SessionConsumerLostConsumerDiesIgnore_states
    /\ \E a_consumer \in Consumer :
        /\ SessionConsumerLostConsumerDiesIgnore_when(m, a_consumer)
        /\ UNCHANGED m

SessionRetireRetires ==
    /\ m.state \in SessionRetireRetires_states
    /\ SessionRetireRetires_when(m)
    /\ m' = SessionRetireRetires_next(m)

SessionRetireRetiresBinding ==
    /\ m.state \in SessionRetireRetiresBinding_states
    /\ SessionRetireRetiresBinding_when(m)
    /\ m' = SessionRetireRetiresBinding_next(m)

SessionRetireRetiresTurn ==
    /\ m.state \in SessionRetireRetiresTurn_states
    /\ SessionRetireRetiresTurn_when(m)
    /\ m' = SessionRetireRetiresTurn_next(m)

SessionRetireBeingRead ==
    /\ m.state \in SessionRetireBeingRead_states
    /\ SessionRetireBeingRead_when(m)
    /\ UNCHANGED m

SessionRetireIgnore ==
    /\ m.state \in SessionRetireIgnore_states
    /\ SessionRetireIgnore_when(m)
    /\ UNCHANGED m

SessionRetireRetiresLost ==
    /\ m.state \in SessionRetireRetiresLost_states
    /\ SessionRetireRetiresLost_when(m)
    /\ m' = SessionRetireRetiresLost_next(m)

SessionRetireRetiresLostOtherwise ==
    /\ m.state \in SessionRetireRetiresLostOtherwise_states
    /\ SessionRetireRetiresLostOtherwise_when(m)
    /\ m' = SessionRetireRetiresLostOtherwise_next(m)

SessionLoseIgnore ==
    /\ m.state \in SessionLoseIgnore_states
    /\ SessionLoseIgnore_when(m, 0)
    /\ UNCHANGED m

SessionLoseLosesBinding ==
    /\ m.state \in SessionLoseLosesBinding_states
    /\ SessionLoseLosesBinding_when(m, 0)
    /\ UNCHANGED m

SessionLoseLoses ==
    /\ m.state \in SessionLoseLoses_states
    /\ \E a_incarnation \in Incarnation :
        /\ SessionLoseLoses_when(m, a_incarnation)
        /\ m' = SessionLoseLoses_next(m, a_incarnation)

SessionLoseLosesIgnore ==
    /\ m.state \in SessionLoseLosesIgnore_states
    /\ \E a_incarnation \in Incarnation :
        /\ SessionLoseLosesIgnore_when(m, a_incarnation)
        /\ UNCHANGED m

SessionRebindNotBound ==
    /\ m.state \in SessionRebindNotBound_states
    /\ SessionRebindNotBound_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindBindingNow ==
    /\ m.state \in SessionRebindBindingNow_states
    /\ SessionRebindBindingNow_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindEvacuates ==
    /\ m.state \in SessionRebindEvacuates_states
    /\ \E a_replica \in ReplicaId, a_incarnation \in Incarnation :
        /\ SessionRebindEvacuates_when(m, a_replica, a_incarnation)
        /\ m' = SessionRebindEvacuates_next(m, a_replica, a_incarnation)
        /\ m'.binding <= 2

SessionRebindEvacuatesMayNotMove ==
    /\ m.state \in SessionRebindEvacuatesMayNotMove_states
    /\ SessionRebindEvacuatesMayNotMove_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindTurnActive ==
    /\ m.state \in SessionRebindTurnActive_states
    /\ SessionRebindTurnActive_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindFinished ==
    /\ m.state \in SessionRebindFinished_states
    /\ SessionRebindFinished_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindBeingRead ==
    /\ m.state \in SessionRebindBeingRead_states
    /\ SessionRebindBeingRead_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindRetiring ==
    /\ m.state \in SessionRebindRetiring_states
    /\ SessionRebindRetiring_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindGone ==
    /\ m.state \in SessionRebindGone_states
    /\ SessionRebindGone_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindRecovers ==
    /\ m.state \in SessionRebindRecovers_states
    /\ \E a_replica \in ReplicaId, a_incarnation \in Incarnation :
        /\ SessionRebindRecovers_when(m, a_replica, a_incarnation)
        /\ m' = SessionRebindRecovers_next(m, a_replica, a_incarnation)
        /\ m'.binding <= 2

SessionRebindRecoversTurnActive ==
    /\ m.state \in SessionRebindRecoversTurnActive_states
    /\ SessionRebindRecoversTurnActive_when(m, 0, 0)
    /\ UNCHANGED m

SessionRebindRecoversMayNotMove ==
    /\ m.state \in SessionRebindRecoversMayNotMove_states
    /\ SessionRebindRecoversMayNotMove_when(m, 0, 0)
    /\ UNCHANGED m

SessionExpireRetires ==
    /\ m.state \in SessionExpireRetires_states
    /\ SessionExpireRetires_when(m)
    /\ m' = SessionExpireRetires_next(m)

SessionExpireRetiresBinding ==
    /\ m.state \in SessionExpireRetiresBinding_states
    /\ SessionExpireRetiresBinding_when(m)
    /\ m' = SessionExpireRetiresBinding_next(m)

SessionExpireIgnore ==
    /\ m.state \in SessionExpireIgnore_states
    /\ SessionExpireIgnore_when(m)
    /\ UNCHANGED m

SessionExpireRetiresLost ==
    /\ m.state \in SessionExpireRetiresLost_states
    /\ SessionExpireRetiresLost_when(m)
    /\ m' = SessionExpireRetiresLost_next(m)

SessionExpireRetiresLostOtherwise ==
    /\ m.state \in SessionExpireRetiresLostOtherwise_states
    /\ SessionExpireRetiresLostOtherwise_when(m)
    /\ m' = SessionExpireRetiresLostOtherwise_next(m)

Changes ==
    \/ SessionBeginTurnBinds
    \/ SessionBeginTurnBegins
    \/ SessionBeginTurnJoins
    \/ SessionBoundIsBound
    \/ SessionEndTurnUnbinds
    \/ SessionEndTurnEnds
    \/ SessionEndTurnEnds2
    \/ SessionEndTurnEndsRetiring
    \/ SessionEndTurnEndsRetiring2
    \/ SessionEndTurnEndsLost
    \/ SessionFinishToFinished
    \/ SessionTakeTakes
    \/ SessionReleaseReleases
    \/ SessionConsumerLostConsumerDies
    \/ SessionRetireRetires
    \/ SessionRetireRetiresBinding
    \/ SessionRetireRetiresTurn
    \/ SessionRetireRetiresLost
    \/ SessionRetireRetiresLostOtherwise
    \/ SessionLoseLoses
    \/ SessionRebindEvacuates
    \/ SessionRebindRecovers
    \/ SessionExpireRetires
    \/ SessionExpireRetiresBinding
    \/ SessionExpireRetiresLost
    \/ SessionExpireRetiresLostOtherwise

Next ==
    \/ Changes
    \/ SessionBeginTurnBindingNow
    \/ SessionBeginTurnFinished
    \/ SessionBeginTurnBeingRead
    \/ SessionBeginTurnRetiring
    \/ SessionBeginTurnGone
    \/ SessionBeginTurnLost
    \/ SessionBoundIgnore
    \/ SessionEndTurnIgnore
    \/ SessionEndTurnUnbindsIgnore
    \/ SessionEndTurnEndsIgnore
    \/ SessionEndTurnEndsRetiringIgnore
    \/ SessionEndTurnEndsLostIgnore
    \/ SessionFinishNotBound
    \/ SessionFinishBindingNow
    \/ SessionFinishTurnActive
    \/ SessionFinishIgnore
    \/ SessionFinishLost
    \/ SessionTakeNotFinished
    \/ SessionTakeTakesAgainIgnore
    \/ SessionTakeTakesAgainBeingRead
    \/ SessionTakeRetiring
    \/ SessionTakeGone
    \/ SessionTakeLost
    \/ SessionReleaseNotFinished
    \/ SessionReleaseNotConsumer
    \/ SessionReleaseReleasesNotConsumer
    \/ SessionReleaseRetiring
    \/ SessionReleaseIgnore
    \/ SessionReleaseLost
    \/ SessionConsumerLostIgnore
    \/ SessionConsumerLostConsumerDiesIgnore
    \/ SessionRetireBeingRead
    \/ SessionRetireIgnore
    \/ SessionLoseIgnore
    \/ SessionLoseLosesBinding
    \/ SessionLoseLosesIgnore
    \/ SessionRebindNotBound
    \/ SessionRebindBindingNow
    \/ SessionRebindEvacuatesMayNotMove
    \/ SessionRebindTurnActive
    \/ SessionRebindFinished
    \/ SessionRebindBeingRead
    \/ SessionRebindRetiring
    \/ SessionRebindGone
    \/ SessionRebindRecoversTurnActive
    \/ SessionRebindRecoversMayNotMove
    \/ SessionExpireIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in SessionStates
    /\ m.policy \in {"never", "on_loss", "on_evacuation"}
    /\ (\A bound10 \in m.leases : bound10 \in LeaseId)
    /\ (m.replica # <<>> => m.replica[1] \in ReplicaId)
    /\ (m.incarnation # <<>> => m.incarnation[1] \in Incarnation)
    /\ m.binding \in Nat
    /\ (m.consumer # <<>> => m.consumer[1] \in Consumer)

================================================================================
