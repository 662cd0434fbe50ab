\* Made by `sluicegate generate` from the machine Lease; do not edit.
--------------------------------- MODULE Lease ---------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* One admitted generation request, until it is settled or lost.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* LeaseER_states: the states in which R can apply; LeaseER_when: R applies; LeaseER_next: the record after it
\* (absent where R leaves it as it is); LeaseER_out: what is to be done then, in order (absent where that is
\* nothing).
\*
\* For the event as a whole: LeaseE_states: the states in which it can change or emit something; LeaseE_acts:
\* it does so now; LeaseE_step: then the record after it and what is to be done, a pair, else the empty
\* sequence; LeaseE: the record after it in any case; LeaseE_out: what is to be done; LeaseE_rule: the name of
\* the rule that applies; LeaseE_refused: whether it is refused.

LeaseStates == {"ADMITTED", "FORWARDED", "SUSPENDED", "ENDED", "ORPHANED", "SETTLED", "LOST"}

\* The record of an instance that was just born.
LeaseInit(lInit_session) ==
    [state |-> "ADMITTED",
     session |-> lInit_session,
     spans |-> [nokey \in {} |-> 0],
     ending |-> "completed"]


\* Forward() -------------------------------------------------------------------------------------------------
\* The request goes to the engine.

\* forwards: goes to FORWARDED
LeaseForwardForwards_states == {"ADMITTED"}
LeaseForwardForwards_when(lForward) == lForward.state = "ADMITTED"
LeaseForwardForwards_next(lForward) == [lForward EXCEPT !.state = "FORWARDED"]

\* ignore: ignored
LeaseForwardIgnore_states == {"FORWARDED"}
LeaseForwardIgnore_when(lForward) == lForward.state = "FORWARDED"

\* not_running: refused not_running
LeaseForwardNotRunning_states == {"SUSPENDED", "ENDED", "ORPHANED", "LOST"}
LeaseForwardNotRunning_when(lForward) == lForward.state \in {"SUSPENDED", "ENDED", "ORPHANED", "LOST"}

\* settled: refused settled
LeaseForwardSettled_states == {"SETTLED"}
LeaseForwardSettled_when(lForward) == lForward.state = "SETTLED"

\* the event as a whole
LeaseForward_states == {"ADMITTED"}
LeaseForward_acts(lForward) == LeaseForwardForwards_when(lForward)
LeaseForward_step(lForward) ==
    CASE LeaseForwardForwards_when(lForward) -> <<LeaseForwardForwards_next(lForward), <<>>>>
      [] OTHER -> <<>>
LeaseForward(lForward) ==
    CASE LeaseForwardForwards_when(lForward) -> LeaseForwardForwards_next(lForward)
      [] OTHER -> lForward
LeaseForward_rule(lForward) ==
    CASE LeaseForwardForwards_when(lForward) -> "forwards"
      [] LeaseForwardIgnore_when(lForward) -> "ignore"
      [] LeaseForwardNotRunning_when(lForward) -> "not_running"
      [] LeaseForwardSettled_when(lForward) -> "settled"
LeaseForward_out(lForward) == <<>>
LeaseForward_refused(lForward) ==
    \/ LeaseForwardNotRunning_when(lForward)
    \/ LeaseForwardSettled_when(lForward)


\* Progress(count, version) ----------------------------------------------------------------------------------
\* The engine made `count` tokens with `version`.

\* not_forwarded: refused not_forwarded
LeaseProgressNotForwarded_states == {"ADMITTED"}
LeaseProgressNotForwarded_when(lProgress, lProgress_count, lProgress_version) == lProgress.state = "ADMITTED"

\* extends: stays
LeaseProgressExtends_states == {"FORWARDED", "SUSPENDED"}
LeaseProgressExtends_when(lProgress, lProgress_count, lProgress_version) ==
    lProgress.state \in {"FORWARDED", "SUSPENDED"}
LeaseProgressExtends_next(lProgress, lProgress_count, lProgress_version) ==
    [lProgress EXCEPT
        !.spans = [bound1 \in DOMAIN lProgress.spans \cup {lProgress_version} |-> IF bound1 = lProgress_version THEN ((IF (IF lProgress_version \in DOMAIN lProgress.spans THEN <<lProgress.spans[lProgress_version]>> ELSE <<>>) = <<>> THEN 0 ELSE (IF lProgress_version \in DOMAIN lProgress.spans THEN <<lProgress.spans[lProgress_version]>> ELSE <<>>)[1]) + lProgress_count) ELSE lProgress.spans[bound1]]]

\* ignore: ignored
LeaseProgressIgnore_states == {"ENDED", "ORPHANED", "SETTLED", "LOST"}
LeaseProgressIgnore_when(lProgress, lProgress_count, lProgress_version) ==
    lProgress.state \in {"ENDED", "ORPHANED", "SETTLED", "LOST"}

\* the event as a whole
LeaseProgress_states == {"FORWARDED", "SUSPENDED"}
LeaseProgress_acts(lProgress, lProgress_count, lProgress_version) ==
    LeaseProgressExtends_when(lProgress, lProgress_count, lProgress_version)
LeaseProgress_step(lProgress, lProgress_count, lProgress_version) ==
    CASE LeaseProgressExtends_when(lProgress, lProgress_count, lProgress_version) -> <<LeaseProgressExtends_next(lProgress, lProgress_count, lProgress_version), <<>>>>
      [] OTHER -> <<>>
LeaseProgress(lProgress, lProgress_count, lProgress_version) ==
    CASE LeaseProgressExtends_when(lProgress, lProgress_count, lProgress_version) -> LeaseProgressExtends_next(lProgress, lProgress_count, lProgress_version)
      [] OTHER -> lProgress
LeaseProgress_rule(lProgress, lProgress_count, lProgress_version) ==
    CASE LeaseProgressNotForwarded_when(lProgress, lProgress_count, lProgress_version) -> "not_forwarded"
      [] LeaseProgressExtends_when(lProgress, lProgress_count, lProgress_version) -> "extends"
      [] LeaseProgressIgnore_when(lProgress, lProgress_count, lProgress_version) -> "ignore"
LeaseProgress_out(lProgress, lProgress_count, lProgress_version) == <<>>
LeaseProgress_refused(lProgress, lProgress_count, lProgress_version) ==
    LeaseProgressNotForwarded_when(lProgress, lProgress_count, lProgress_version)


\* Frozen() --------------------------------------------------------------------------------------------------
\* The engine froze the request.

\* not_forwarded: refused not_forwarded
LeaseFrozenNotForwarded_states == {"ADMITTED"}
LeaseFrozenNotForwarded_when(lFrozen) == lFrozen.state = "ADMITTED"

\* freezes: goes to SUSPENDED
LeaseFrozenFreezes_states == {"FORWARDED"}
LeaseFrozenFreezes_when(lFrozen) == lFrozen.state = "FORWARDED"
LeaseFrozenFreezes_next(lFrozen) == [lFrozen EXCEPT !.state = "SUSPENDED"]

\* ignore: ignored
LeaseFrozenIgnore_states == {"SUSPENDED", "ENDED", "ORPHANED", "SETTLED", "LOST"}
LeaseFrozenIgnore_when(lFrozen) == lFrozen.state \in {"SUSPENDED", "ENDED", "ORPHANED", "SETTLED", "LOST"}

\* the event as a whole
LeaseFrozen_states == {"FORWARDED"}
LeaseFrozen_acts(lFrozen) == LeaseFrozenFreezes_when(lFrozen)
LeaseFrozen_step(lFrozen) ==
    CASE LeaseFrozenFreezes_when(lFrozen) -> <<LeaseFrozenFreezes_next(lFrozen), <<>>>>
      [] OTHER -> <<>>
LeaseFrozen(lFrozen) ==
    CASE LeaseFrozenFreezes_when(lFrozen) -> LeaseFrozenFreezes_next(lFrozen)
      [] OTHER -> lFrozen
LeaseFrozen_rule(lFrozen) ==
    CASE LeaseFrozenNotForwarded_when(lFrozen) -> "not_forwarded"
      [] LeaseFrozenFreezes_when(lFrozen) -> "freezes"
      [] LeaseFrozenIgnore_when(lFrozen) -> "ignore"
LeaseFrozen_out(lFrozen) == <<>>
LeaseFrozen_refused(lFrozen) == LeaseFrozenNotForwarded_when(lFrozen)


\* Thawed() --------------------------------------------------------------------------------------------------
\* The engine continued the request.

\* not_forwarded: refused not_forwarded
LeaseThawedNotForwarded_states == {"ADMITTED"}
LeaseThawedNotForwarded_when(lThawed) == lThawed.state = "ADMITTED"

\* ignore: ignored
LeaseThawedIgnore_states == {"FORWARDED", "ENDED", "ORPHANED", "SETTLED", "LOST"}
LeaseThawedIgnore_when(lThawed) == lThawed.state \in {"FORWARDED", "ENDED", "ORPHANED", "SETTLED", "LOST"}

\* continues: goes to FORWARDED
LeaseThawedContinues_states == {"SUSPENDED"}
LeaseThawedContinues_when(lThawed) == lThawed.state = "SUSPENDED"
LeaseThawedContinues_next(lThawed) == [lThawed EXCEPT !.state = "FORWARDED"]

\* the event as a whole
LeaseThawed_states == {"SUSPENDED"}
LeaseThawed_acts(lThawed) == LeaseThawedContinues_when(lThawed)
LeaseThawed_step(lThawed) ==
    CASE LeaseThawedContinues_when(lThawed) -> <<LeaseThawedContinues_next(lThawed), <<>>>>
      [] OTHER -> <<>>
LeaseThawed(lThawed) ==
    CASE LeaseThawedContinues_when(lThawed) -> LeaseThawedContinues_next(lThawed)
      [] OTHER -> lThawed
LeaseThawed_rule(lThawed) ==
    CASE LeaseThawedNotForwarded_when(lThawed) -> "not_forwarded"
      [] LeaseThawedIgnore_when(lThawed) -> "ignore"
      [] LeaseThawedContinues_when(lThawed) -> "continues"
LeaseThawed_out(lThawed) == <<>>
LeaseThawed_refused(lThawed) == LeaseThawedNotForwarded_when(lThawed)


\* Cancel() --------------------------------------------------------------------------------------------------
\* The client no longer wants the answer.

\* never_sent: goes to SETTLED
LeaseCancelNeverSent_states == {"ADMITTED"}
LeaseCancelNeverSent_when(lCancel) == lCancel.state = "ADMITTED"
LeaseCancelNeverSent_next(lCancel) == [lCancel EXCEPT !.state = "SETTLED", !.ending = "not_sent"]
LeaseCancelNeverSent_out(lCancel) == <<[out |-> "Receipt", ending |-> "not_sent", spans |-> lCancel.spans]>>

\* aborts: stays
LeaseCancelAborts_states == {"FORWARDED", "SUSPENDED"}
LeaseCancelAborts_when(lCancel) == lCancel.state \in {"FORWARDED", "SUSPENDED"}
LeaseCancelAborts_out(lCancel) == <<[out |-> "AbortRequest"]>>

\* ignore: ignored
LeaseCancelIgnore_states == {"ENDED", "ORPHANED", "SETTLED", "LOST"}
LeaseCancelIgnore_when(lCancel) == lCancel.state \in {"ENDED", "ORPHANED", "SETTLED", "LOST"}

\* the event as a whole
LeaseCancel_states == {"ADMITTED", "FORWARDED", "SUSPENDED"}
LeaseCancel_acts(lCancel) ==
    \/ LeaseCancelNeverSent_when(lCancel)
    \/ LeaseCancelAborts_when(lCancel)
LeaseCancel_step(lCancel) ==
    CASE LeaseCancelNeverSent_when(lCancel) -> <<LeaseCancelNeverSent_next(lCancel), LeaseCancelNeverSent_out(lCancel)>>
      [] LeaseCancelAborts_when(lCancel) -> <<lCancel, LeaseCancelAborts_out(lCancel)>>
      [] OTHER -> <<>>
LeaseCancel(lCancel) ==
    CASE LeaseCancelNeverSent_when(lCancel) -> LeaseCancelNeverSent_next(lCancel)
      [] OTHER -> lCancel
LeaseCancel_rule(lCancel) ==
    CASE LeaseCancelNeverSent_when(lCancel) -> "never_sent"
      [] LeaseCancelAborts_when(lCancel) -> "aborts"
      [] LeaseCancelIgnore_when(lCancel) -> "ignore"
LeaseCancel_out(lCancel) ==
    CASE LeaseCancelNeverSent_when(lCancel) -> LeaseCancelNeverSent_out(lCancel)
      [] LeaseCancelAborts_when(lCancel) -> LeaseCancelAborts_out(lCancel)
      [] OTHER -> <<>>
LeaseCancel_refused(lCancel) == FALSE


\* Ended(ending) ---------------------------------------------------------------------------------------------
\* The engine has ended the request.

\* not_forwarded: refused not_forwarded
LeaseEndedNotForwarded_states == {"ADMITTED"}
LeaseEndedNotForwarded_when(lEnded, lEnded_ending) == lEnded.state = "ADMITTED"

\* ends: goes to ENDED
LeaseEndedEnds_states == {"FORWARDED", "SUSPENDED"}
LeaseEndedEnds_when(lEnded, lEnded_ending) == lEnded.state \in {"FORWARDED", "SUSPENDED"}
LeaseEndedEnds_next(lEnded, lEnded_ending) == [lEnded EXCEPT !.state = "ENDED", !.ending = lEnded_ending]

\* ignore: ignored
LeaseEndedIgnore_states == {"ENDED", "SETTLED", "LOST"}
LeaseEndedIgnore_when(lEnded, lEnded_ending) == lEnded.state \in {"ENDED", "SETTLED", "LOST"}

\* discards: goes to SETTLED
LeaseEndedDiscards_states == {"ORPHANED"}
LeaseEndedDiscards_when(lEnded, lEnded_ending) == lEnded.state = "ORPHANED"
LeaseEndedDiscards_next(lEnded, lEnded_ending) == [lEnded EXCEPT !.state = "SETTLED", !.ending = "discarded"]
LeaseEndedDiscards_out(lEnded, lEnded_ending) ==
    <<[out |-> "Receipt", ending |-> "discarded", spans |-> lEnded.spans]>>

\* the event as a whole
LeaseEnded_states == {"FORWARDED", "SUSPENDED", "ORPHANED"}
LeaseEnded_acts(lEnded, lEnded_ending) ==
    \/ LeaseEndedEnds_when(lEnded, lEnded_ending)
    \/ LeaseEndedDiscards_when(lEnded, lEnded_ending)
LeaseEnded_step(lEnded, lEnded_ending) ==
    CASE LeaseEndedEnds_when(lEnded, lEnded_ending) -> <<LeaseEndedEnds_next(lEnded, lEnded_ending), <<>>>>
      [] LeaseEndedDiscards_when(lEnded, lEnded_ending) -> <<LeaseEndedDiscards_next(lEnded, lEnded_ending), LeaseEndedDiscards_out(lEnded, lEnded_ending)>>
      [] OTHER -> <<>>
LeaseEnded(lEnded, lEnded_ending) ==
    CASE LeaseEndedEnds_when(lEnded, lEnded_ending) -> LeaseEndedEnds_next(lEnded, lEnded_ending)
      [] LeaseEndedDiscards_when(lEnded, lEnded_ending) -> LeaseEndedDiscards_next(lEnded, lEnded_ending)
      [] OTHER -> lEnded
LeaseEnded_rule(lEnded, lEnded_ending) ==
    CASE LeaseEndedNotForwarded_when(lEnded, lEnded_ending) -> "not_forwarded"
      [] LeaseEndedEnds_when(lEnded, lEnded_ending) -> "ends"
      [] LeaseEndedIgnore_when(lEnded, lEnded_ending) -> "ignore"
      [] LeaseEndedDiscards_when(lEnded, lEnded_ending) -> "discards"
LeaseEnded_out(lEnded, lEnded_ending) ==
    CASE LeaseEndedDiscards_when(lEnded, lEnded_ending) -> LeaseEndedDiscards_out(lEnded, lEnded_ending)
      [] OTHER -> <<>>
LeaseEnded_refused(lEnded, lEnded_ending) == LeaseEndedNotForwarded_when(lEnded, lEnded_ending)


\* Recorded() ------------------------------------------------------------------------------------------------
\* The terminal record is stored.

\* not_ended: refused not_ended
LeaseRecordedNotEnded_states == {"ADMITTED", "FORWARDED", "SUSPENDED", "ORPHANED"}
LeaseRecordedNotEnded_when(lRecorded) ==
    lRecorded.state \in {"ADMITTED", "FORWARDED", "SUSPENDED", "ORPHANED"}

\* settles: goes to SETTLED
LeaseRecordedSettles_states == {"ENDED"}
LeaseRecordedSettles_when(lRecorded) == lRecorded.state = "ENDED"
LeaseRecordedSettles_next(lRecorded) == [lRecorded EXCEPT !.state = "SETTLED"]
LeaseRecordedSettles_out(lRecorded) ==
    <<[out |-> "Receipt", ending |-> lRecorded.ending, spans |-> lRecorded.spans]>>

\* ignore: ignored
LeaseRecordedIgnore_states == {"SETTLED", "LOST"}
LeaseRecordedIgnore_when(lRecorded) == lRecorded.state \in {"SETTLED", "LOST"}

\* the event as a whole
LeaseRecorded_states == {"ENDED"}
LeaseRecorded_acts(lRecorded) == LeaseRecordedSettles_when(lRecorded)
LeaseRecorded_step(lRecorded) ==
    CASE LeaseRecordedSettles_when(lRecorded) -> <<LeaseRecordedSettles_next(lRecorded), LeaseRecordedSettles_out(lRecorded)>>
      [] OTHER -> <<>>
LeaseRecorded(lRecorded) ==
    CASE LeaseRecordedSettles_when(lRecorded) -> LeaseRecordedSettles_next(lRecorded)
      [] OTHER -> lRecorded
LeaseRecorded_rule(lRecorded) ==
    CASE LeaseRecordedNotEnded_when(lRecorded) -> "not_ended"
      [] LeaseRecordedSettles_when(lRecorded) -> "settles"
      [] LeaseRecordedIgnore_when(lRecorded) -> "ignore"
LeaseRecorded_out(lRecorded) ==
    CASE LeaseRecordedSettles_when(lRecorded) -> LeaseRecordedSettles_out(lRecorded)
      [] OTHER -> <<>>
LeaseRecorded_refused(lRecorded) == LeaseRecordedNotEnded_when(lRecorded)


\* Unknown(why) ----------------------------------------------------------------------------------------------
\* Nobody knows what became of the request.

\* not_forwarded: refused not_forwarded
LeaseUnknownNotForwarded_states == {"ADMITTED"}
LeaseUnknownNotForwarded_when(lUnknown) == lUnknown.state = "ADMITTED"

\* orphans: goes to ORPHANED
LeaseUnknownOrphans_states == {"FORWARDED", "SUSPENDED"}
LeaseUnknownOrphans_when(lUnknown) == lUnknown.state \in {"FORWARDED", "SUSPENDED"}
LeaseUnknownOrphans_next(lUnknown) == [lUnknown EXCEPT !.state = "ORPHANED"]
LeaseUnknownOrphans_out(lUnknown) == <<[out |-> "Reconcile"]>>

\* ignore: ignored
LeaseUnknownIgnore_states == {"ENDED", "ORPHANED", "SETTLED", "LOST"}
LeaseUnknownIgnore_when(lUnknown) == lUnknown.state \in {"ENDED", "ORPHANED", "SETTLED", "LOST"}

\* the event as a whole
LeaseUnknown_states == {"FORWARDED", "SUSPENDED"}
LeaseUnknown_acts(lUnknown) == LeaseUnknownOrphans_when(lUnknown)
LeaseUnknown_step(lUnknown) ==
    CASE LeaseUnknownOrphans_when(lUnknown) -> <<LeaseUnknownOrphans_next(lUnknown), LeaseUnknownOrphans_out(lUnknown)>>
      [] OTHER -> <<>>
LeaseUnknown(lUnknown) ==
    CASE LeaseUnknownOrphans_when(lUnknown) -> LeaseUnknownOrphans_next(lUnknown)
      [] OTHER -> lUnknown
LeaseUnknown_rule(lUnknown) ==
    CASE LeaseUnknownNotForwarded_when(lUnknown) -> "not_forwarded"
      [] LeaseUnknownOrphans_when(lUnknown) -> "orphans"
      [] LeaseUnknownIgnore_when(lUnknown) -> "ignore"
LeaseUnknown_out(lUnknown) ==
    CASE LeaseUnknownOrphans_when(lUnknown) -> LeaseUnknownOrphans_out(lUnknown)
      [] OTHER -> <<>>
LeaseUnknown_refused(lUnknown) == LeaseUnknownNotForwarded_when(lUnknown)


\* Reconciled() ----------------------------------------------------------------------------------------------
\* The engine has proved that the orphaned request no longer runs.

\* ignore: ignored
LeaseReconciledIgnore_states == {"ADMITTED", "FORWARDED", "SUSPENDED", "ENDED", "SETTLED", "LOST"}
LeaseReconciledIgnore_when(lReconciled) ==
    lReconciled.state \in {"ADMITTED", "FORWARDED", "SUSPENDED", "ENDED", "SETTLED", "LOST"}

\* discards: goes to SETTLED
LeaseReconciledDiscards_states == {"ORPHANED"}
LeaseReconciledDiscards_when(lReconciled) == lReconciled.state = "ORPHANED"
LeaseReconciledDiscards_next(lReconciled) == [lReconciled EXCEPT !.state = "SETTLED", !.ending = "discarded"]
LeaseReconciledDiscards_out(lReconciled) ==
    <<[out |-> "Receipt", ending |-> "discarded", spans |-> lReconciled.spans]>>

\* the event as a whole
LeaseReconciled_states == {"ORPHANED"}
LeaseReconciled_acts(lReconciled) == LeaseReconciledDiscards_when(lReconciled)
LeaseReconciled_step(lReconciled) ==
    CASE LeaseReconciledDiscards_when(lReconciled) -> <<LeaseReconciledDiscards_next(lReconciled), LeaseReconciledDiscards_out(lReconciled)>>
      [] OTHER -> <<>>
LeaseReconciled(lReconciled) ==
    CASE LeaseReconciledDiscards_when(lReconciled) -> LeaseReconciledDiscards_next(lReconciled)
      [] OTHER -> lReconciled
LeaseReconciled_rule(lReconciled) ==
    CASE LeaseReconciledIgnore_when(lReconciled) -> "ignore"
      [] LeaseReconciledDiscards_when(lReconciled) -> "discards"
LeaseReconciled_out(lReconciled) ==
    CASE LeaseReconciledDiscards_when(lReconciled) -> LeaseReconciledDiscards_out(lReconciled)
      [] OTHER -> <<>>
LeaseReconciled_refused(lReconciled) == FALSE


\* GiveUp() --------------------------------------------------------------------------------------------------
\* The orphaned request was not reconciled in time.

\* ignore: ignored
LeaseGiveUpIgnore_states == {"ADMITTED", "FORWARDED", "SUSPENDED", "ENDED", "SETTLED", "LOST"}
LeaseGiveUpIgnore_when(lGiveUp) ==
    lGiveUp.state \in {"ADMITTED", "FORWARDED", "SUSPENDED", "ENDED", "SETTLED", "LOST"}

\* to_lost: goes to LOST
LeaseGiveUpToLost_states == {"ORPHANED"}
LeaseGiveUpToLost_when(lGiveUp) == lGiveUp.state = "ORPHANED"
LeaseGiveUpToLost_next(lGiveUp) == [lGiveUp EXCEPT !.state = "LOST"]

\* the event as a whole
LeaseGiveUp_states == {"ORPHANED"}
LeaseGiveUp_acts(lGiveUp) == LeaseGiveUpToLost_when(lGiveUp)
LeaseGiveUp_step(lGiveUp) ==
    CASE LeaseGiveUpToLost_when(lGiveUp) -> <<LeaseGiveUpToLost_next(lGiveUp), <<>>>>
      [] OTHER -> <<>>
LeaseGiveUp(lGiveUp) ==
    CASE LeaseGiveUpToLost_when(lGiveUp) -> LeaseGiveUpToLost_next(lGiveUp)
      [] OTHER -> lGiveUp
LeaseGiveUp_rule(lGiveUp) ==
    CASE LeaseGiveUpIgnore_when(lGiveUp) -> "ignore"
      [] LeaseGiveUpToLost_when(lGiveUp) -> "to_lost"
LeaseGiveUp_out(lGiveUp) == <<>>
LeaseGiveUp_refused(lGiveUp) == FALSE


\* Gone() ----------------------------------------------------------------------------------------------------
\* The incarnation that admitted the request has ended.

\* never_sent: goes to SETTLED
LeaseGoneNeverSent_states == {"ADMITTED"}
LeaseGoneNeverSent_when(lGone) == lGone.state = "ADMITTED"
LeaseGoneNeverSent_next(lGone) == [lGone EXCEPT !.state = "SETTLED", !.ending = "not_sent"]
LeaseGoneNeverSent_out(lGone) == <<[out |-> "Receipt", ending |-> "not_sent", spans |-> lGone.spans]>>

\* to_lost: goes to LOST
LeaseGoneToLost_states == {"FORWARDED", "SUSPENDED", "ENDED", "ORPHANED"}
LeaseGoneToLost_when(lGone) == lGone.state \in {"FORWARDED", "SUSPENDED", "ENDED", "ORPHANED"}
LeaseGoneToLost_next(lGone) == [lGone EXCEPT !.state = "LOST"]

\* ignore: ignored
LeaseGoneIgnore_states == {"SETTLED", "LOST"}
LeaseGoneIgnore_when(lGone) == lGone.state \in {"SETTLED", "LOST"}

\* the event as a whole
LeaseGone_states == {"ADMITTED", "FORWARDED", "SUSPENDED", "ENDED", "ORPHANED"}
LeaseGone_acts(lGone) ==
    \/ LeaseGoneNeverSent_when(lGone)
    \/ LeaseGoneToLost_when(lGone)
LeaseGone_step(lGone) ==
    CASE LeaseGoneNeverSent_when(lGone) -> <<LeaseGoneNeverSent_next(lGone), LeaseGoneNeverSent_out(lGone)>>
      [] LeaseGoneToLost_when(lGone) -> <<LeaseGoneToLost_next(lGone), <<>>>>
      [] OTHER -> <<>>
LeaseGone(lGone) ==
    CASE LeaseGoneNeverSent_when(lGone) -> LeaseGoneNeverSent_next(lGone)
      [] LeaseGoneToLost_when(lGone) -> LeaseGoneToLost_next(lGone)
      [] OTHER -> lGone
LeaseGone_rule(lGone) ==
    CASE LeaseGoneNeverSent_when(lGone) -> "never_sent"
      [] LeaseGoneToLost_when(lGone) -> "to_lost"
      [] LeaseGoneIgnore_when(lGone) -> "ignore"
LeaseGone_out(lGone) ==
    CASE LeaseGoneNeverSent_when(lGone) -> LeaseGoneNeverSent_out(lGone)
      [] OTHER -> <<>>
LeaseGone_refused(lGone) == FALSE

================================================================================
