\* Made by `sluicegate generate` from the machine Session; do not edit.
-------------------------------- MODULE Session --------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* One agent's conversation: bound to one incarnation, read by one consumer, retired for ever.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* SessionER_states: the states in which R can apply; SessionER_when: R applies; SessionER_next: the record
\* after it (absent where R leaves it as it is); SessionER_out: what is to be done then, in order (absent
\* where that is nothing).
\*
\* For the event as a whole: SessionE_states: the states in which it can change or emit something;
\* SessionE_acts: it does so now; SessionE_step: then the record after it and what is to be done, a pair, else
\* the empty sequence; SessionE: the record after it in any case; SessionE_out: what is to be done;
\* SessionE_rule: the name of the rule that applies; SessionE_refused: whether it is refused.

SessionStates == {"NEW", "BINDING", "BOUND", "TURN", "FINISHED", "TRAINING", "RETIRING", "RETIRED", "LOST"}

\* The record of an instance that was just born.
SessionInit(sInit_policy) ==
    [state |-> "NEW",
     policy |-> sInit_policy,
     leases |-> {},
     replica |-> <<>>,
     incarnation |-> <<>>,
     binding |-> 0,
     consumer |-> <<>>]


\* BeginTurn(lease) ------------------------------------------------------------------------------------------
\* A request of this session asks for a lease.

\* binds: goes to BINDING
SessionBeginTurnBinds_states == {"NEW"}
SessionBeginTurnBinds_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "NEW"
SessionBeginTurnBinds_next(sBeginTurn, sBeginTurn_lease) ==
    [sBeginTurn EXCEPT !.state = "BINDING", !.leases = sBeginTurn.leases \cup {sBeginTurn_lease}]

\* binding_now: refused binding_now, may be tried again
SessionBeginTurnBindingNow_states == {"BINDING"}
SessionBeginTurnBindingNow_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "BINDING"

\* begins: goes to TURN
SessionBeginTurnBegins_states == {"BOUND"}
SessionBeginTurnBegins_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "BOUND"
SessionBeginTurnBegins_next(sBeginTurn, sBeginTurn_lease) ==
    [sBeginTurn EXCEPT !.state = "TURN", !.leases = sBeginTurn.leases \cup {sBeginTurn_lease}]

\* joins: stays
SessionBeginTurnJoins_states == {"TURN"}
SessionBeginTurnJoins_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "TURN"
SessionBeginTurnJoins_next(sBeginTurn, sBeginTurn_lease) ==
    [sBeginTurn EXCEPT !.leases = sBeginTurn.leases \cup {sBeginTurn_lease}]

\* finished: refused finished
SessionBeginTurnFinished_states == {"FINISHED"}
SessionBeginTurnFinished_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "FINISHED"

\* being_read: refused being_read
SessionBeginTurnBeingRead_states == {"TRAINING"}
SessionBeginTurnBeingRead_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "TRAINING"

\* retiring: refused retiring
SessionBeginTurnRetiring_states == {"RETIRING"}
SessionBeginTurnRetiring_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "RETIRING"

\* gone: refused gone
SessionBeginTurnGone_states == {"RETIRED"}
SessionBeginTurnGone_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "RETIRED"

\* lost: refused lost
SessionBeginTurnLost_states == {"LOST"}
SessionBeginTurnLost_when(sBeginTurn, sBeginTurn_lease) == sBeginTurn.state = "LOST"

\* the event as a whole
SessionBeginTurn_states == {"NEW", "BOUND", "TURN"}
SessionBeginTurn_acts(sBeginTurn, sBeginTurn_lease) ==
    \/ SessionBeginTurnBinds_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnBegins_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnJoins_when(sBeginTurn, sBeginTurn_lease)
SessionBeginTurn_step(sBeginTurn, sBeginTurn_lease) ==
    CASE SessionBeginTurnBinds_when(sBeginTurn, sBeginTurn_lease) -> <<SessionBeginTurnBinds_next(sBeginTurn, sBeginTurn_lease), <<>>>>
      [] SessionBeginTurnBegins_when(sBeginTurn, sBeginTurn_lease) -> <<SessionBeginTurnBegins_next(sBeginTurn, sBeginTurn_lease), <<>>>>
      [] SessionBeginTurnJoins_when(sBeginTurn, sBeginTurn_lease) -> <<SessionBeginTurnJoins_next(sBeginTurn, sBeginTurn_lease), <<>>>>
      [] OTHER -> <<>>
SessionBeginTurn(sBeginTurn, sBeginTurn_lease) ==
    CASE SessionBeginTurnBinds_when(sBeginTurn, sBeginTurn_lease) -> SessionBeginTurnBinds_next(sBeginTurn, sBeginTurn_lease)
      [] SessionBeginTurnBegins_when(sBeginTurn, sBeginTurn_lease) -> SessionBeginTurnBegins_next(sBeginTurn, sBeginTurn_lease)
      [] SessionBeginTurnJoins_when(sBeginTurn, sBeginTurn_lease) -> SessionBeginTurnJoins_next(sBeginTurn, sBeginTurn_lease)
      [] OTHER -> sBeginTurn
SessionBeginTurn_rule(sBeginTurn, sBeginTurn_lease) ==
    CASE SessionBeginTurnBinds_when(sBeginTurn, sBeginTurn_lease) -> "binds"
      [] SessionBeginTurnBindingNow_when(sBeginTurn, sBeginTurn_lease) -> "binding_now"
      [] SessionBeginTurnBegins_when(sBeginTurn, sBeginTurn_lease) -> "begins"
      [] SessionBeginTurnJoins_when(sBeginTurn, sBeginTurn_lease) -> "joins"
      [] SessionBeginTurnFinished_when(sBeginTurn, sBeginTurn_lease) -> "finished"
      [] SessionBeginTurnBeingRead_when(sBeginTurn, sBeginTurn_lease) -> "being_read"
      [] SessionBeginTurnRetiring_when(sBeginTurn, sBeginTurn_lease) -> "retiring"
      [] SessionBeginTurnGone_when(sBeginTurn, sBeginTurn_lease) -> "gone"
      [] SessionBeginTurnLost_when(sBeginTurn, sBeginTurn_lease) -> "lost"
SessionBeginTurn_out(sBeginTurn, sBeginTurn_lease) == <<>>
SessionBeginTurn_refused(sBeginTurn, sBeginTurn_lease) ==
    \/ SessionBeginTurnBindingNow_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnFinished_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnBeingRead_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnRetiring_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnGone_when(sBeginTurn, sBeginTurn_lease)
    \/ SessionBeginTurnLost_when(sBeginTurn, sBeginTurn_lease)


\* Bound(replica, incarnation) -------------------------------------------------------------------------------
\* The first lease was admitted by this incarnation.

\* ignore: ignored
SessionBoundIgnore_states == {"NEW", "BOUND", "TURN", "FINISHED", "TRAINING", "RETIRING", "RETIRED", "LOST"}
SessionBoundIgnore_when(sBound, sBound_replica, sBound_incarnation) ==
    sBound.state \in {"NEW", "BOUND", "TURN", "FINISHED", "TRAINING", "RETIRING", "RETIRED", "LOST"}

\* is_bound: goes to TURN
SessionBoundIsBound_states == {"BINDING"}
SessionBoundIsBound_when(sBound, sBound_replica, sBound_incarnation) == sBound.state = "BINDING"
SessionBoundIsBound_next(sBound, sBound_replica, sBound_incarnation) ==
    [sBound EXCEPT
        !.state = "TURN",
        !.replica = <<sBound_replica>>,
        !.incarnation = <<sBound_incarnation>>,
        !.binding = sBound.binding + 1]

\* the event as a whole
SessionBound_states == {"BINDING"}
SessionBound_acts(sBound, sBound_replica, sBound_incarnation) ==
    SessionBoundIsBound_when(sBound, sBound_replica, sBound_incarnation)
SessionBound_step(sBound, sBound_replica, sBound_incarnation) ==
    CASE SessionBoundIsBound_when(sBound, sBound_replica, sBound_incarnation) -> <<SessionBoundIsBound_next(sBound, sBound_replica, sBound_incarnation), <<>>>>
      [] OTHER -> <<>>
SessionBound(sBound, sBound_replica, sBound_incarnation) ==
    CASE SessionBoundIsBound_when(sBound, sBound_replica, sBound_incarnation) -> SessionBoundIsBound_next(sBound, sBound_replica, sBound_incarnation)
      [] OTHER -> sBound
SessionBound_rule(sBound, sBound_replica, sBound_incarnation) ==
    CASE SessionBoundIgnore_when(sBound, sBound_replica, sBound_incarnation) -> "ignore"
      [] SessionBoundIsBound_when(sBound, sBound_replica, sBound_incarnation) -> "is_bound"
SessionBound_out(sBound, sBound_replica, sBound_incarnation) == <<>>
SessionBound_refused(sBound, sBound_replica, sBound_incarnation) == FALSE


\* EndTurn(lease) --------------------------------------------------------------------------------------------
\* The lease is settled or lost.

\* ignore: ignored
SessionEndTurnIgnore_states == {"NEW", "BOUND", "FINISHED", "TRAINING", "RETIRED"}
SessionEndTurnIgnore_when(sEndTurn, sEndTurn_lease) ==
    sEndTurn.state \in {"NEW", "BOUND", "FINISHED", "TRAINING", "RETIRED"}

\* unbinds: goes to NEW
SessionEndTurnUnbinds_states == {"BINDING"}
SessionEndTurnUnbinds_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "BINDING"
    /\ sEndTurn_lease \in sEndTurn.leases
SessionEndTurnUnbinds_next(sEndTurn, sEndTurn_lease) ==
    [sEndTurn EXCEPT !.state = "NEW", !.leases = sEndTurn.leases \ {sEndTurn_lease}]

\* unbinds_ignore: ignored
SessionEndTurnUnbindsIgnore_states == {"BINDING"}
SessionEndTurnUnbindsIgnore_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "BINDING"
    /\ sEndTurn_lease \notin sEndTurn.leases

\* ends: goes to BOUND
SessionEndTurnEnds_states == {"TURN"}
SessionEndTurnEnds_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "TURN"
    /\ sEndTurn_lease \in sEndTurn.leases
    /\ Cardinality(sEndTurn.leases) = 1
SessionEndTurnEnds_next(sEndTurn, sEndTurn_lease) ==
    [sEndTurn EXCEPT !.state = "BOUND", !.leases = sEndTurn.leases \ {sEndTurn_lease}]

\* ends_2: stays
SessionEndTurnEnds2_states == {"TURN"}
SessionEndTurnEnds2_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "TURN"
    /\ sEndTurn_lease \in sEndTurn.leases
    /\ Cardinality(sEndTurn.leases) # 1
SessionEndTurnEnds2_next(sEndTurn, sEndTurn_lease) ==
    [sEndTurn EXCEPT !.leases = sEndTurn.leases \ {sEndTurn_lease}]

\* ends_ignore: ignored
SessionEndTurnEndsIgnore_states == {"TURN"}
SessionEndTurnEndsIgnore_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "TURN"
    /\ ~((sEndTurn_lease \in sEndTurn.leases) /\ (Cardinality(sEndTurn.leases) = 1))
    /\ ~((sEndTurn_lease \in sEndTurn.leases) /\ (Cardinality(sEndTurn.leases) # 1))

\* ends_retiring: goes to RETIRED
SessionEndTurnEndsRetiring_states == {"RETIRING"}
SessionEndTurnEndsRetiring_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "RETIRING"
    /\ sEndTurn_lease \in sEndTurn.leases
    /\ Cardinality(sEndTurn.leases) = 1
SessionEndTurnEndsRetiring_next(sEndTurn, sEndTurn_lease) ==
    [sEndTurn EXCEPT !.state = "RETIRED", !.leases = sEndTurn.leases \ {sEndTurn_lease}]
SessionEndTurnEndsRetiring_out(sEndTurn, sEndTurn_lease) == <<[out |-> "FreeTrace"]>>

\* ends_retiring_2: stays
SessionEndTurnEndsRetiring2_states == {"RETIRING"}
SessionEndTurnEndsRetiring2_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "RETIRING"
    /\ sEndTurn_lease \in sEndTurn.leases
    /\ Cardinality(sEndTurn.leases) # 1
SessionEndTurnEndsRetiring2_next(sEndTurn, sEndTurn_lease) ==
    [sEndTurn EXCEPT !.leases = sEndTurn.leases \ {sEndTurn_lease}]

\* ends_retiring_ignore: ignored
SessionEndTurnEndsRetiringIgnore_states == {"RETIRING"}
SessionEndTurnEndsRetiringIgnore_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "RETIRING"
    /\ ~((sEndTurn_lease \in sEndTurn.leases) /\ (Cardinality(sEndTurn.leases) = 1))
    /\ ~((sEndTurn_lease \in sEndTurn.leases) /\ (Cardinality(sEndTurn.leases) # 1))

\* ends_lost: stays
SessionEndTurnEndsLost_states == {"LOST"}
SessionEndTurnEndsLost_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "LOST"
    /\ sEndTurn_lease \in sEndTurn.leases
SessionEndTurnEndsLost_next(sEndTurn, sEndTurn_lease) ==
    [sEndTurn EXCEPT !.leases = sEndTurn.leases \ {sEndTurn_lease}]

\* ends_lost_ignore: ignored
SessionEndTurnEndsLostIgnore_states == {"LOST"}
SessionEndTurnEndsLostIgnore_when(sEndTurn, sEndTurn_lease) ==
    /\ sEndTurn.state = "LOST"
    /\ sEndTurn_lease \notin sEndTurn.leases

\* the event as a whole
SessionEndTurn_states == {"BINDING", "TURN", "RETIRING", "LOST"}
SessionEndTurn_acts(sEndTurn, sEndTurn_lease) ==
    \/ SessionEndTurnUnbinds_when(sEndTurn, sEndTurn_lease)
    \/ SessionEndTurnEnds_when(sEndTurn, sEndTurn_lease)
    \/ SessionEndTurnEnds2_when(sEndTurn, sEndTurn_lease)
    \/ SessionEndTurnEndsRetiring_when(sEndTurn, sEndTurn_lease)
    \/ SessionEndTurnEndsRetiring2_when(sEndTurn, sEndTurn_lease)
    \/ SessionEndTurnEndsLost_when(sEndTurn, sEndTurn_lease)
SessionEndTurn_step(sEndTurn, sEndTurn_lease) ==
    CASE SessionEndTurnUnbinds_when(sEndTurn, sEndTurn_lease) -> <<SessionEndTurnUnbinds_next(sEndTurn, sEndTurn_lease), <<>>>>
      [] SessionEndTurnEnds_when(sEndTurn, sEndTurn_lease) -> <<SessionEndTurnEnds_next(sEndTurn, sEndTurn_lease), <<>>>>
      [] SessionEndTurnEnds2_when(sEndTurn, sEndTurn_lease) -> <<SessionEndTurnEnds2_next(sEndTurn, sEndTurn_lease), <<>>>>
      [] SessionEndTurnEndsRetiring_when(sEndTurn, sEndTurn_lease) -> <<SessionEndTurnEndsRetiring_next(sEndTurn, sEndTurn_lease), SessionEndTurnEndsRetiring_out(sEndTurn, sEndTurn_lease)>>
      [] SessionEndTurnEndsRetiring2_when(sEndTurn, sEndTurn_lease) -> <<SessionEndTurnEndsRetiring2_next(sEndTurn, sEndTurn_lease), <<>>>>
      [] SessionEndTurnEndsLost_when(sEndTurn, sEndTurn_lease) -> <<SessionEndTurnEndsLost_next(sEndTurn, sEndTurn_lease), <<>>>>
      [] OTHER -> <<>>
SessionEndTurn(sEndTurn, sEndTurn_lease) ==
    CASE SessionEndTurnUnbinds_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnUnbinds_next(sEndTurn, sEndTurn_lease)
      [] SessionEndTurnEnds_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnEnds_next(sEndTurn, sEndTurn_lease)
      [] SessionEndTurnEnds2_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnEnds2_next(sEndTurn, sEndTurn_lease)
      [] SessionEndTurnEndsRetiring_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnEndsRetiring_next(sEndTurn, sEndTurn_lease)
      [] SessionEndTurnEndsRetiring2_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnEndsRetiring2_next(sEndTurn, sEndTurn_lease)
      [] SessionEndTurnEndsLost_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnEndsLost_next(sEndTurn, sEndTurn_lease)
      [] OTHER -> sEndTurn
SessionEndTurn_rule(sEndTurn, sEndTurn_lease) ==
    CASE SessionEndTurnIgnore_when(sEndTurn, sEndTurn_lease) -> "ignore"
      [] SessionEndTurnUnbinds_when(sEndTurn, sEndTurn_lease) -> "unbinds"
      [] SessionEndTurnUnbindsIgnore_when(sEndTurn, sEndTurn_lease) -> "unbinds_ignore"
      [] SessionEndTurnEnds_when(sEndTurn, sEndTurn_lease) -> "ends"
      [] SessionEndTurnEnds2_when(sEndTurn, sEndTurn_lease) -> "ends_2"
      [] SessionEndTurnEndsIgnore_when(sEndTurn, sEndTurn_lease) -> "ends_ignore"
      [] SessionEndTurnEndsRetiring_when(sEndTurn, sEndTurn_lease) -> "ends_retiring"
      [] SessionEndTurnEndsRetiring2_when(sEndTurn, sEndTurn_lease) -> "ends_retiring_2"
      [] SessionEndTurnEndsRetiringIgnore_when(sEndTurn, sEndTurn_lease) -> "ends_retiring_ignore"
      [] SessionEndTurnEndsLost_when(sEndTurn, sEndTurn_lease) -> "ends_lost"
      [] SessionEndTurnEndsLostIgnore_when(sEndTurn, sEndTurn_lease) -> "ends_lost_ignore"
SessionEndTurn_out(sEndTurn, sEndTurn_lease) ==
    CASE SessionEndTurnEndsRetiring_when(sEndTurn, sEndTurn_lease) -> SessionEndTurnEndsRetiring_out(sEndTurn, sEndTurn_lease)
      [] OTHER -> <<>>
SessionEndTurn_refused(sEndTurn, sEndTurn_lease) == FALSE


\* Finish() --------------------------------------------------------------------------------------------------
\* The conversation is complete: its trace can be read.

\* not_bound: refused not_bound
SessionFinishNotBound_states == {"NEW"}
SessionFinishNotBound_when(sFinish) == sFinish.state = "NEW"

\* binding_now: refused binding_now, may be tried again
SessionFinishBindingNow_states == {"BINDING"}
SessionFinishBindingNow_when(sFinish) == sFinish.state = "BINDING"

\* to_finished: goes to FINISHED
SessionFinishToFinished_states == {"BOUND"}
SessionFinishToFinished_when(sFinish) == sFinish.state = "BOUND"
SessionFinishToFinished_next(sFinish) == [sFinish EXCEPT !.state = "FINISHED"]

\* turn_active: refused turn_active, may be tried again
SessionFinishTurnActive_states == {"TURN"}
SessionFinishTurnActive_when(sFinish) == sFinish.state = "TURN"

\* ignore: ignored
SessionFinishIgnore_states == {"FINISHED", "TRAINING", "RETIRING", "RETIRED"}
SessionFinishIgnore_when(sFinish) == sFinish.state \in {"FINISHED", "TRAINING", "RETIRING", "RETIRED"}

\* lost: refused lost
SessionFinishLost_states == {"LOST"}
SessionFinishLost_when(sFinish) == sFinish.state = "LOST"

\* the event as a whole
SessionFinish_states == {"BOUND"}
SessionFinish_acts(sFinish) == SessionFinishToFinished_when(sFinish)
SessionFinish_step(sFinish) ==
    CASE SessionFinishToFinished_when(sFinish) -> <<SessionFinishToFinished_next(sFinish), <<>>>>
      [] OTHER -> <<>>
SessionFinish(sFinish) ==
    CASE SessionFinishToFinished_when(sFinish) -> SessionFinishToFinished_next(sFinish)
      [] OTHER -> sFinish
SessionFinish_rule(sFinish) ==
    CASE SessionFinishNotBound_when(sFinish) -> "not_bound"
      [] SessionFinishBindingNow_when(sFinish) -> "binding_now"
      [] SessionFinishToFinished_when(sFinish) -> "to_finished"
      [] SessionFinishTurnActive_when(sFinish) -> "turn_active"
      [] SessionFinishIgnore_when(sFinish) -> "ignore"
      [] SessionFinishLost_when(sFinish) -> "lost"
SessionFinish_out(sFinish) == <<>>
SessionFinish_refused(sFinish) ==
    \/ SessionFinishNotBound_when(sFinish)
    \/ SessionFinishBindingNow_when(sFinish)
    \/ SessionFinishTurnActive_when(sFinish)
    \/ SessionFinishLost_when(sFinish)


\* Take(consumer) --------------------------------------------------------------------------------------------
\* A consumer begins to read the trace.

\* not_finished: refused not_finished
SessionTakeNotFinished_states == {"NEW", "BINDING", "BOUND", "TURN"}
SessionTakeNotFinished_when(sTake, sTake_consumer) == sTake.state \in {"NEW", "BINDING", "BOUND", "TURN"}

\* takes: goes to TRAINING
SessionTakeTakes_states == {"FINISHED"}
SessionTakeTakes_when(sTake, sTake_consumer) == sTake.state = "FINISHED"
SessionTakeTakes_next(sTake, sTake_consumer) ==
    [sTake EXCEPT !.state = "TRAINING", !.consumer = <<sTake_consumer>>]

\* takes_again_ignore: ignored
SessionTakeTakesAgainIgnore_states == {"TRAINING"}
SessionTakeTakesAgainIgnore_when(sTake, sTake_consumer) ==
    /\ sTake.state = "TRAINING"
    /\ sTake.consumer = <<sTake_consumer>>

\* takes_again_being_read: refused being_read
SessionTakeTakesAgainBeingRead_states == {"TRAINING"}
SessionTakeTakesAgainBeingRead_when(sTake, sTake_consumer) ==
    /\ sTake.state = "TRAINING"
    /\ sTake.consumer # <<sTake_consumer>>

\* retiring: refused retiring
SessionTakeRetiring_states == {"RETIRING"}
SessionTakeRetiring_when(sTake, sTake_consumer) == sTake.state = "RETIRING"

\* gone: refused gone
SessionTakeGone_states == {"RETIRED"}
SessionTakeGone_when(sTake, sTake_consumer) == sTake.state = "RETIRED"

\* lost: refused lost
SessionTakeLost_states == {"LOST"}
SessionTakeLost_when(sTake, sTake_consumer) == sTake.state = "LOST"

\* the event as a whole
SessionTake_states == {"FINISHED"}
SessionTake_acts(sTake, sTake_consumer) == SessionTakeTakes_when(sTake, sTake_consumer)
SessionTake_step(sTake, sTake_consumer) ==
    CASE SessionTakeTakes_when(sTake, sTake_consumer) -> <<SessionTakeTakes_next(sTake, sTake_consumer), <<>>>>
      [] OTHER -> <<>>
SessionTake(sTake, sTake_consumer) ==
    CASE SessionTakeTakes_when(sTake, sTake_consumer) -> SessionTakeTakes_next(sTake, sTake_consumer)
      [] OTHER -> sTake
SessionTake_rule(sTake, sTake_consumer) ==
    CASE SessionTakeNotFinished_when(sTake, sTake_consumer) -> "not_finished"
      [] SessionTakeTakes_when(sTake, sTake_consumer) -> "takes"
      [] SessionTakeTakesAgainIgnore_when(sTake, sTake_consumer) -> "takes_again_ignore"
      [] SessionTakeTakesAgainBeingRead_when(sTake, sTake_consumer) -> "takes_again_being_read"
      [] SessionTakeRetiring_when(sTake, sTake_consumer) -> "retiring"
      [] SessionTakeGone_when(sTake, sTake_consumer) -> "gone"
      [] SessionTakeLost_when(sTake, sTake_consumer) -> "lost"
SessionTake_out(sTake, sTake_consumer) == <<>>
SessionTake_refused(sTake, sTake_consumer) ==
    \/ SessionTakeNotFinished_when(sTake, sTake_consumer)
    \/ SessionTakeTakesAgainBeingRead_when(sTake, sTake_consumer)
    \/ SessionTakeRetiring_when(sTake, sTake_consumer)
    \/ SessionTakeGone_when(sTake, sTake_consumer)
    \/ SessionTakeLost_when(sTake, sTake_consumer)


\* Release(consumer) -----------------------------------------------------------------------------------------
\* The consumer has read the trace: it may be freed.

\* not_finished: refused not_finished
SessionReleaseNotFinished_states == {"NEW", "BINDING", "BOUND", "TURN"}
SessionReleaseNotFinished_when(sRelease, sRelease_consumer) ==
    sRelease.state \in {"NEW", "BINDING", "BOUND", "TURN"}

\* not_consumer: refused not_consumer
SessionReleaseNotConsumer_states == {"FINISHED"}
SessionReleaseNotConsumer_when(sRelease, sRelease_consumer) == sRelease.state = "FINISHED"

\* releases: goes to RETIRED
SessionReleaseReleases_states == {"TRAINING"}
SessionReleaseReleases_when(sRelease, sRelease_consumer) ==
    /\ sRelease.state = "TRAINING"
    /\ sRelease.consumer = <<sRelease_consumer>>
SessionReleaseReleases_next(sRelease, sRelease_consumer) ==
    [sRelease EXCEPT !.state = "RETIRED", !.consumer = <<>>]
SessionReleaseReleases_out(sRelease, sRelease_consumer) == <<[out |-> "FreeTrace"]>>

\* releases_not_consumer: refused not_consumer
SessionReleaseReleasesNotConsumer_states == {"TRAINING"}
SessionReleaseReleasesNotConsumer_when(sRelease, sRelease_consumer) ==
    /\ sRelease.state = "TRAINING"
    /\ sRelease.consumer # <<sRelease_consumer>>

\* retiring: refused retiring
SessionReleaseRetiring_states == {"RETIRING"}
SessionReleaseRetiring_when(sRelease, sRelease_consumer) == sRelease.state = "RETIRING"

\* ignore: ignored
SessionReleaseIgnore_states == {"RETIRED"}
SessionReleaseIgnore_when(sRelease, sRelease_consumer) == sRelease.state = "RETIRED"

\* lost: refused lost
SessionReleaseLost_states == {"LOST"}
SessionReleaseLost_when(sRelease, sRelease_consumer) == sRelease.state = "LOST"

\* the event as a whole
SessionRelease_states == {"TRAINING"}
SessionRelease_acts(sRelease, sRelease_consumer) == SessionReleaseReleases_when(sRelease, sRelease_consumer)
SessionRelease_step(sRelease, sRelease_consumer) ==
    CASE SessionReleaseReleases_when(sRelease, sRelease_consumer) -> <<SessionReleaseReleases_next(sRelease, sRelease_consumer), SessionReleaseReleases_out(sRelease, sRelease_consumer)>>
      [] OTHER -> <<>>
SessionRelease(sRelease, sRelease_consumer) ==
    CASE SessionReleaseReleases_when(sRelease, sRelease_consumer) -> SessionReleaseReleases_next(sRelease, sRelease_consumer)
      [] OTHER -> sRelease
SessionRelease_rule(sRelease, sRelease_consumer) ==
    CASE SessionReleaseNotFinished_when(sRelease, sRelease_consumer) -> "not_finished"
      [] SessionReleaseNotConsumer_when(sRelease, sRelease_consumer) -> "not_consumer"
      [] SessionReleaseReleases_when(sRelease, sRelease_consumer) -> "releases"
      [] SessionReleaseReleasesNotConsumer_when(sRelease, sRelease_consumer) -> "releases_not_consumer"
      [] SessionReleaseRetiring_when(sRelease, sRelease_consumer) -> "retiring"
      [] SessionReleaseIgnore_when(sRelease, sRelease_consumer) -> "ignore"
      [] SessionReleaseLost_when(sRelease, sRelease_consumer) -> "lost"
SessionRelease_out(sRelease, sRelease_consumer) ==
    CASE SessionReleaseReleases_when(sRelease, sRelease_consumer) -> SessionReleaseReleases_out(sRelease, sRelease_consumer)
      [] OTHER -> <<>>
SessionRelease_refused(sRelease, sRelease_consumer) ==
    \/ SessionReleaseNotFinished_when(sRelease, sRelease_consumer)
    \/ SessionReleaseNotConsumer_when(sRelease, sRelease_consumer)
    \/ SessionReleaseReleasesNotConsumer_when(sRelease, sRelease_consumer)
    \/ SessionReleaseRetiring_when(sRelease, sRelease_consumer)
    \/ SessionReleaseLost_when(sRelease, sRelease_consumer)


\* ConsumerLost(consumer) ------------------------------------------------------------------------------------
\* The consumer has died.

\* ignore: ignored
SessionConsumerLostIgnore_states == {"NEW", "BINDING", "BOUND", "TURN", "FINISHED", "RETIRING", "RETIRED", "LOST"}
SessionConsumerLostIgnore_when(sConsumerLost, sConsumerLost_consumer) ==
    sConsumerLost.state \in {"NEW", "BINDING", "BOUND", "TURN", "FINISHED", "RETIRING", "RETIRED", "LOST"}

\* consumer_dies: goes to FINISHED
SessionConsumerLostConsumerDies_states == {"TRAINING"}
SessionConsumerLostConsumerDies_when(sConsumerLost, sConsumerLost_consumer) ==
    /\ sConsumerLost.state = "TRAINING"
    /\ sConsumerLost.consumer = <<sConsumerLost_consumer>>
SessionConsumerLostConsumerDies_next(sConsumerLost, sConsumerLost_consumer) ==
    [sConsumerLost EXCEPT !.state = "FINISHED", !.consumer = <<>>]

\* consumer_dies_ignore: ignored
SessionConsumerLostConsumerDiesIgnore_states == {"TRAINING"}
SessionConsumerLostConsumerDiesIgnore_when(sConsumerLost, sConsumerLost_consumer) ==
    /\ sConsumerLost.state = "TRAINING"
    /\ sConsumerLost.consumer # <<sConsumerLost_consumer>>

\* the event as a whole
SessionConsumerLost_states == {"TRAINING"}
SessionConsumerLost_acts(sConsumerLost, sConsumerLost_consumer) ==
    SessionConsumerLostConsumerDies_when(sConsumerLost, sConsumerLost_consumer)
SessionConsumerLost_step(sConsumerLost, sConsumerLost_consumer) ==
    CASE SessionConsumerLostConsumerDies_when(sConsumerLost, sConsumerLost_consumer) -> <<SessionConsumerLostConsumerDies_next(sConsumerLost, sConsumerLost_consumer), <<>>>>
      [] OTHER -> <<>>
SessionConsumerLost(sConsumerLost, sConsumerLost_consumer) ==
    CASE SessionConsumerLostConsumerDies_when(sConsumerLost, sConsumerLost_consumer) -> SessionConsumerLostConsumerDies_next(sConsumerLost, sConsumerLost_consumer)
      [] OTHER -> sConsumerLost
SessionConsumerLost_rule(sConsumerLost, sConsumerLost_consumer) ==
    CASE SessionConsumerLostIgnore_when(sConsumerLost, sConsumerLost_consumer) -> "ignore"
      [] SessionConsumerLostConsumerDies_when(sConsumerLost, sConsumerLost_consumer) -> "consumer_dies"
      [] SessionConsumerLostConsumerDiesIgnore_when(sConsumerLost, sConsumerLost_consumer) -> "consumer_dies_ignore"
SessionConsumerLost_out(sConsumerLost, sConsumerLost_consumer) == <<>>
SessionConsumerLost_refused(sConsumerLost, sConsumerLost_consumer) == FALSE


\* Retire() --------------------------------------------------------------------------------------------------
\* The session is over, whatever it was doing.

\* retires: goes to RETIRED
SessionRetireRetires_states == {"NEW", "BOUND", "FINISHED"}
SessionRetireRetires_when(sRetire) == sRetire.state \in {"NEW", "BOUND", "FINISHED"}
SessionRetireRetires_next(sRetire) == [sRetire EXCEPT !.state = "RETIRED"]
SessionRetireRetires_out(sRetire) == <<[out |-> "FreeTrace"]>>

\* retires_binding: goes to RETIRING
SessionRetireRetiresBinding_states == {"BINDING"}
SessionRetireRetiresBinding_when(sRetire) == sRetire.state = "BINDING"
SessionRetireRetiresBinding_next(sRetire) == [sRetire EXCEPT !.state = "RETIRING"]
SessionRetireRetiresBinding_out(sRetire) == <<[out |-> "SettleNotSent", leases |-> sRetire.leases]>>

\* retires_turn: goes to RETIRING
SessionRetireRetiresTurn_states == {"TURN"}
SessionRetireRetiresTurn_when(sRetire) == sRetire.state = "TURN"
SessionRetireRetiresTurn_next(sRetire) == [sRetire EXCEPT !.state = "RETIRING"]

\* being_read: refused being_read
SessionRetireBeingRead_states == {"TRAINING"}
SessionRetireBeingRead_when(sRetire) == sRetire.state = "TRAINING"

\* ignore: ignored
SessionRetireIgnore_states == {"RETIRING", "RETIRED"}
SessionRetireIgnore_when(sRetire) == sRetire.state \in {"RETIRING", "RETIRED"}

\* retires_lost: goes to RETIRED
SessionRetireRetiresLost_states == {"LOST"}
SessionRetireRetiresLost_when(sRetire) ==
    /\ sRetire.state = "LOST"
    /\ sRetire.leases = {}
SessionRetireRetiresLost_next(sRetire) == [sRetire EXCEPT !.state = "RETIRED"]
SessionRetireRetiresLost_out(sRetire) == <<[out |-> "FreeTrace"]>>

\* retires_lost_otherwise: goes to RETIRING
SessionRetireRetiresLostOtherwise_states == {"LOST"}
SessionRetireRetiresLostOtherwise_when(sRetire) ==
    /\ sRetire.state = "LOST"
    /\ sRetire.leases # {}
SessionRetireRetiresLostOtherwise_next(sRetire) == [sRetire EXCEPT !.state = "RETIRING"]

\* the event as a whole
SessionRetire_states == {"NEW", "BINDING", "BOUND", "TURN", "FINISHED", "LOST"}
SessionRetire_acts(sRetire) ==
    \/ SessionRetireRetires_when(sRetire)
    \/ SessionRetireRetiresBinding_when(sRetire)
    \/ SessionRetireRetiresTurn_when(sRetire)
    \/ SessionRetireRetiresLost_when(sRetire)
    \/ SessionRetireRetiresLostOtherwise_when(sRetire)
SessionRetire_step(sRetire) ==
    CASE SessionRetireRetires_when(sRetire) -> <<SessionRetireRetires_next(sRetire), SessionRetireRetires_out(sRetire)>>
      [] SessionRetireRetiresBinding_when(sRetire) -> <<SessionRetireRetiresBinding_next(sRetire), SessionRetireRetiresBinding_out(sRetire)>>
      [] SessionRetireRetiresTurn_when(sRetire) -> <<SessionRetireRetiresTurn_next(sRetire), <<>>>>
      [] SessionRetireRetiresLost_when(sRetire) -> <<SessionRetireRetiresLost_next(sRetire), SessionRetireRetiresLost_out(sRetire)>>
      [] SessionRetireRetiresLostOtherwise_when(sRetire) -> <<SessionRetireRetiresLostOtherwise_next(sRetire), <<>>>>
      [] OTHER -> <<>>
SessionRetire(sRetire) ==
    CASE SessionRetireRetires_when(sRetire) -> SessionRetireRetires_next(sRetire)
      [] SessionRetireRetiresBinding_when(sRetire) -> SessionRetireRetiresBinding_next(sRetire)
      [] SessionRetireRetiresTurn_when(sRetire) -> SessionRetireRetiresTurn_next(sRetire)
      [] SessionRetireRetiresLost_when(sRetire) -> SessionRetireRetiresLost_next(sRetire)
      [] SessionRetireRetiresLostOtherwise_when(sRetire) -> SessionRetireRetiresLostOtherwise_next(sRetire)
      [] OTHER -> sRetire
SessionRetire_rule(sRetire) ==
    CASE SessionRetireRetires_when(sRetire) -> "retires"
      [] SessionRetireRetiresBinding_when(sRetire) -> "retires_binding"
      [] SessionRetireRetiresTurn_when(sRetire) -> "retires_turn"
      [] SessionRetireBeingRead_when(sRetire) -> "being_read"
      [] SessionRetireIgnore_when(sRetire) -> "ignore"
      [] SessionRetireRetiresLost_when(sRetire) -> "retires_lost"
      [] SessionRetireRetiresLostOtherwise_when(sRetire) -> "retires_lost_otherwise"
SessionRetire_out(sRetire) ==
    CASE SessionRetireRetires_when(sRetire) -> SessionRetireRetires_out(sRetire)
      [] SessionRetireRetiresBinding_when(sRetire) -> SessionRetireRetiresBinding_out(sRetire)
      [] SessionRetireRetiresLost_when(sRetire) -> SessionRetireRetiresLost_out(sRetire)
      [] OTHER -> <<>>
SessionRetire_refused(sRetire) == SessionRetireBeingRead_when(sRetire)


\* Lose(incarnation) -----------------------------------------------------------------------------------------
\* An incarnation has ended.

\* ignore: ignored
SessionLoseIgnore_states == {"NEW", "FINISHED", "TRAINING", "RETIRING", "RETIRED", "LOST"}
SessionLoseIgnore_when(sLose, sLose_incarnation) ==
    sLose.state \in {"NEW", "FINISHED", "TRAINING", "RETIRING", "RETIRED", "LOST"}

\* loses_binding: stays
SessionLoseLosesBinding_states == {"BINDING"}
SessionLoseLosesBinding_when(sLose, sLose_incarnation) == sLose.state = "BINDING"
SessionLoseLosesBinding_out(sLose, sLose_incarnation) ==
    <<[out |-> "SettleNotSent", leases |-> sLose.leases]>>

\* loses: goes to LOST
SessionLoseLoses_states == {"BOUND", "TURN"}
SessionLoseLoses_when(sLose, sLose_incarnation) ==
    /\ sLose.state \in {"BOUND", "TURN"}
    /\ sLose.incarnation = <<sLose_incarnation>>
SessionLoseLoses_next(sLose, sLose_incarnation) == [sLose EXCEPT !.state = "LOST"]

\* loses_ignore: ignored
SessionLoseLosesIgnore_states == {"BOUND", "TURN"}
SessionLoseLosesIgnore_when(sLose, sLose_incarnation) ==
    /\ sLose.state \in {"BOUND", "TURN"}
    /\ sLose.incarnation # <<sLose_incarnation>>

\* the event as a whole
SessionLose_states == {"BINDING", "BOUND", "TURN"}
SessionLose_acts(sLose, sLose_incarnation) ==
    \/ SessionLoseLosesBinding_when(sLose, sLose_incarnation)
    \/ SessionLoseLoses_when(sLose, sLose_incarnation)
SessionLose_step(sLose, sLose_incarnation) ==
    CASE SessionLoseLosesBinding_when(sLose, sLose_incarnation) -> <<sLose, SessionLoseLosesBinding_out(sLose, sLose_incarnation)>>
      [] SessionLoseLoses_when(sLose, sLose_incarnation) -> <<SessionLoseLoses_next(sLose, sLose_incarnation), <<>>>>
      [] OTHER -> <<>>
SessionLose(sLose, sLose_incarnation) ==
    CASE SessionLoseLoses_when(sLose, sLose_incarnation) -> SessionLoseLoses_next(sLose, sLose_incarnation)
      [] OTHER -> sLose
SessionLose_rule(sLose, sLose_incarnation) ==
    CASE SessionLoseIgnore_when(sLose, sLose_incarnation) -> "ignore"
      [] SessionLoseLosesBinding_when(sLose, sLose_incarnation) -> "loses_binding"
      [] SessionLoseLoses_when(sLose, sLose_incarnation) -> "loses"
      [] SessionLoseLosesIgnore_when(sLose, sLose_incarnation) -> "loses_ignore"
SessionLose_out(sLose, sLose_incarnation) ==
    CASE SessionLoseLosesBinding_when(sLose, sLose_incarnation) -> SessionLoseLosesBinding_out(sLose, sLose_incarnation)
      [] OTHER -> <<>>
SessionLose_refused(sLose, sLose_incarnation) == FALSE


\* Rebind(replica, incarnation) ------------------------------------------------------------------------------
\* Move the session to another replica, by policy.

\* not_bound: refused not_bound
SessionRebindNotBound_states == {"NEW"}
SessionRebindNotBound_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "NEW"

\* binding_now: refused binding_now, may be tried again
SessionRebindBindingNow_states == {"BINDING"}
SessionRebindBindingNow_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "BINDING"

\* evacuates: stays
SessionRebindEvacuates_states == {"BOUND"}
SessionRebindEvacuates_when(sRebind, sRebind_replica, sRebind_incarnation) ==
    /\ sRebind.state = "BOUND"
    /\ sRebind.policy = "on_evacuation"
SessionRebindEvacuates_next(sRebind, sRebind_replica, sRebind_incarnation) ==
    [sRebind EXCEPT
        !.replica = <<sRebind_replica>>,
        !.incarnation = <<sRebind_incarnation>>,
        !.binding = sRebind.binding + 1]

\* evacuates_may_not_move: refused may_not_move
SessionRebindEvacuatesMayNotMove_states == {"BOUND"}
SessionRebindEvacuatesMayNotMove_when(sRebind, sRebind_replica, sRebind_incarnation) ==
    /\ sRebind.state = "BOUND"
    /\ sRebind.policy # "on_evacuation"

\* turn_active: refused turn_active, may be tried again
SessionRebindTurnActive_states == {"TURN"}
SessionRebindTurnActive_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "TURN"

\* finished: refused finished
SessionRebindFinished_states == {"FINISHED"}
SessionRebindFinished_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "FINISHED"

\* being_read: refused being_read
SessionRebindBeingRead_states == {"TRAINING"}
SessionRebindBeingRead_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "TRAINING"

\* retiring: refused retiring
SessionRebindRetiring_states == {"RETIRING"}
SessionRebindRetiring_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "RETIRING"

\* gone: refused gone
SessionRebindGone_states == {"RETIRED"}
SessionRebindGone_when(sRebind, sRebind_replica, sRebind_incarnation) == sRebind.state = "RETIRED"

\* recovers: goes to BOUND
SessionRebindRecovers_states == {"LOST"}
SessionRebindRecovers_when(sRebind, sRebind_replica, sRebind_incarnation) ==
    /\ sRebind.state = "LOST"
    /\ sRebind.policy # "never"
    /\ sRebind.leases = {}
SessionRebindRecovers_next(sRebind, sRebind_replica, sRebind_incarnation) ==
    [sRebind EXCEPT
        !.state = "BOUND",
        !.replica = <<sRebind_replica>>,
        !.incarnation = <<sRebind_incarnation>>,
        !.binding = sRebind.binding + 1]

\* recovers_turn_active: refused turn_active, may be tried again
SessionRebindRecoversTurnActive_states == {"LOST"}
SessionRebindRecoversTurnActive_when(sRebind, sRebind_replica, sRebind_incarnation) ==
    /\ sRebind.state = "LOST"
    /\ sRebind.policy # "never"
    /\ sRebind.leases # {}

\* recovers_may_not_move: refused may_not_move
SessionRebindRecoversMayNotMove_states == {"LOST"}
SessionRebindRecoversMayNotMove_when(sRebind, sRebind_replica, sRebind_incarnation) ==
    /\ sRebind.state = "LOST"
    /\ ~((sRebind.policy # "never") /\ (sRebind.leases = {}))
    /\ ~((sRebind.policy # "never") /\ (sRebind.leases # {}))

\* the event as a whole
SessionRebind_states == {"BOUND", "LOST"}
SessionRebind_acts(sRebind, sRebind_replica, sRebind_incarnation) ==
    \/ SessionRebindEvacuates_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindRecovers_when(sRebind, sRebind_replica, sRebind_incarnation)
SessionRebind_step(sRebind, sRebind_replica, sRebind_incarnation) ==
    CASE SessionRebindEvacuates_when(sRebind, sRebind_replica, sRebind_incarnation) -> <<SessionRebindEvacuates_next(sRebind, sRebind_replica, sRebind_incarnation), <<>>>>
      [] SessionRebindRecovers_when(sRebind, sRebind_replica, sRebind_incarnation) -> <<SessionRebindRecovers_next(sRebind, sRebind_replica, sRebind_incarnation), <<>>>>
      [] OTHER -> <<>>
SessionRebind(sRebind, sRebind_replica, sRebind_incarnation) ==
    CASE SessionRebindEvacuates_when(sRebind, sRebind_replica, sRebind_incarnation) -> SessionRebindEvacuates_next(sRebind, sRebind_replica, sRebind_incarnation)
      [] SessionRebindRecovers_when(sRebind, sRebind_replica, sRebind_incarnation) -> SessionRebindRecovers_next(sRebind, sRebind_replica, sRebind_incarnation)
      [] OTHER -> sRebind
SessionRebind_rule(sRebind, sRebind_replica, sRebind_incarnation) ==
    CASE SessionRebindNotBound_when(sRebind, sRebind_replica, sRebind_incarnation) -> "not_bound"
      [] SessionRebindBindingNow_when(sRebind, sRebind_replica, sRebind_incarnation) -> "binding_now"
      [] SessionRebindEvacuates_when(sRebind, sRebind_replica, sRebind_incarnation) -> "evacuates"
      [] SessionRebindEvacuatesMayNotMove_when(sRebind, sRebind_replica, sRebind_incarnation) -> "evacuates_may_not_move"
      [] SessionRebindTurnActive_when(sRebind, sRebind_replica, sRebind_incarnation) -> "turn_active"
      [] SessionRebindFinished_when(sRebind, sRebind_replica, sRebind_incarnation) -> "finished"
      [] SessionRebindBeingRead_when(sRebind, sRebind_replica, sRebind_incarnation) -> "being_read"
      [] SessionRebindRetiring_when(sRebind, sRebind_replica, sRebind_incarnation) -> "retiring"
      [] SessionRebindGone_when(sRebind, sRebind_replica, sRebind_incarnation) -> "gone"
      [] SessionRebindRecovers_when(sRebind, sRebind_replica, sRebind_incarnation) -> "recovers"
      [] SessionRebindRecoversTurnActive_when(sRebind, sRebind_replica, sRebind_incarnation) -> "recovers_turn_active"
      [] SessionRebindRecoversMayNotMove_when(sRebind, sRebind_replica, sRebind_incarnation) -> "recovers_may_not_move"
SessionRebind_out(sRebind, sRebind_replica, sRebind_incarnation) == <<>>
SessionRebind_refused(sRebind, sRebind_replica, sRebind_incarnation) ==
    \/ SessionRebindNotBound_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindBindingNow_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindEvacuatesMayNotMove_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindTurnActive_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindFinished_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindBeingRead_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindRetiring_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindGone_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindRecoversTurnActive_when(sRebind, sRebind_replica, sRebind_incarnation)
    \/ SessionRebindRecoversMayNotMove_when(sRebind, sRebind_replica, sRebind_incarnation)


\* Expire() --------------------------------------------------------------------------------------------------
\* The time to live, renewed by every call, ran out.

\* retires: goes to RETIRED
SessionExpireRetires_states == {"NEW", "BOUND", "FINISHED"}
SessionExpireRetires_when(sExpire) == sExpire.state \in {"NEW", "BOUND", "FINISHED"}
SessionExpireRetires_next(sExpire) == [sExpire EXCEPT !.state = "RETIRED"]
SessionExpireRetires_out(sExpire) == <<[out |-> "FreeTrace"]>>

\* retires_binding: goes to RETIRING
SessionExpireRetiresBinding_states == {"BINDING"}
SessionExpireRetiresBinding_when(sExpire) == sExpire.state = "BINDING"
SessionExpireRetiresBinding_next(sExpire) == [sExpire EXCEPT !.state = "RETIRING"]
SessionExpireRetiresBinding_out(sExpire) == <<[out |-> "SettleNotSent", leases |-> sExpire.leases]>>

\* ignore: ignored
SessionExpireIgnore_states == {"TURN", "TRAINING", "RETIRING", "RETIRED"}
SessionExpireIgnore_when(sExpire) == sExpire.state \in {"TURN", "TRAINING", "RETIRING", "RETIRED"}

\* retires_lost: goes to RETIRED
SessionExpireRetiresLost_states == {"LOST"}
SessionExpireRetiresLost_when(sExpire) ==
    /\ sExpire.state = "LOST"
    /\ sExpire.leases = {}
SessionExpireRetiresLost_next(sExpire) == [sExpire EXCEPT !.state = "RETIRED"]
SessionExpireRetiresLost_out(sExpire) == <<[out |-> "FreeTrace"]>>

\* retires_lost_otherwise: goes to RETIRING
SessionExpireRetiresLostOtherwise_states == {"LOST"}
SessionExpireRetiresLostOtherwise_when(sExpire) ==
    /\ sExpire.state = "LOST"
    /\ sExpire.leases # {}
SessionExpireRetiresLostOtherwise_next(sExpire) == [sExpire EXCEPT !.state = "RETIRING"]

\* the event as a whole
SessionExpire_states == {"NEW", "BINDING", "BOUND", "FINISHED", "LOST"}
SessionExpire_acts(sExpire) ==
    \/ SessionExpireRetires_when(sExpire)
    \/ SessionExpireRetiresBinding_when(sExpire)
    \/ SessionExpireRetiresLost_when(sExpire)
    \/ SessionExpireRetiresLostOtherwise_when(sExpire)
SessionExpire_step(sExpire) ==
    CASE SessionExpireRetires_when(sExpire) -> <<SessionExpireRetires_next(sExpire), SessionExpireRetires_out(sExpire)>>
      [] SessionExpireRetiresBinding_when(sExpire) -> <<SessionExpireRetiresBinding_next(sExpire), SessionExpireRetiresBinding_out(sExpire)>>
      [] SessionExpireRetiresLost_when(sExpire) -> <<SessionExpireRetiresLost_next(sExpire), SessionExpireRetiresLost_out(sExpire)>>
      [] SessionExpireRetiresLostOtherwise_when(sExpire) -> <<SessionExpireRetiresLostOtherwise_next(sExpire), <<>>>>
      [] OTHER -> <<>>
SessionExpire(sExpire) ==
    CASE SessionExpireRetires_when(sExpire) -> SessionExpireRetires_next(sExpire)
      [] SessionExpireRetiresBinding_when(sExpire) -> SessionExpireRetiresBinding_next(sExpire)
      [] SessionExpireRetiresLost_when(sExpire) -> SessionExpireRetiresLost_next(sExpire)
      [] SessionExpireRetiresLostOtherwise_when(sExpire) -> SessionExpireRetiresLostOtherwise_next(sExpire)
      [] OTHER -> sExpire
SessionExpire_rule(sExpire) ==
    CASE SessionExpireRetires_when(sExpire) -> "retires"
      [] SessionExpireRetiresBinding_when(sExpire) -> "retires_binding"
      [] SessionExpireIgnore_when(sExpire) -> "ignore"
      [] SessionExpireRetiresLost_when(sExpire) -> "retires_lost"
      [] SessionExpireRetiresLostOtherwise_when(sExpire) -> "retires_lost_otherwise"
SessionExpire_out(sExpire) ==
    CASE SessionExpireRetires_when(sExpire) -> SessionExpireRetires_out(sExpire)
      [] SessionExpireRetiresBinding_when(sExpire) -> SessionExpireRetiresBinding_out(sExpire)
      [] SessionExpireRetiresLost_when(sExpire) -> SessionExpireRetiresLost_out(sExpire)
      [] OTHER -> <<>>
SessionExpire_refused(sExpire) == FALSE

================================================================================
