\* Made by `sluicegate generate` from the machine Production; do not edit.
------------------------------ MODULE Production -------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* The groups of samples of one run: in flight, ready, and claimed for training.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* ProductionER_states: the states in which R can apply; ProductionER_when: R applies; ProductionER_next: the
\* record after it (absent where R leaves it as it is); ProductionER_out: what is to be done then, in order
\* (absent where that is nothing).
\*
\* For the event as a whole: ProductionE_states: the states in which it can change or emit something;
\* ProductionE_acts: it does so now; ProductionE_step: then the record after it and what is to be done, a
\* pair, else the empty sequence; ProductionE: the record after it in any case; ProductionE_out: what is to be
\* done; ProductionE_rule: the name of the rule that applies; ProductionE_refused: whether it is refused.

ProductionStates == {"STOPPED", "RUNNING", "CLOSED"}

\* The record of an instance that was just born.
ProductionInit ==
    [state |-> "STOPPED", next_group |-> 0, again |-> {}, in_flight |-> {}, ready |-> {}, claimed |-> {}]


\* Restore(next_group, again) --------------------------------------------------------------------------------
\* The run goes on from a checkpoint: these were in flight, and are begun again.

\* restores: stays
ProductionRestoreRestores_states == {"STOPPED"}
ProductionRestoreRestores_when(pRestore, pRestore_next_group, pRestore_again) ==
    /\ pRestore.state = "STOPPED"
    /\ pRestore.in_flight = {}
    /\ pRestore.ready = {}
    /\ pRestore.claimed = {}
ProductionRestoreRestores_next(pRestore, pRestore_next_group, pRestore_again) ==
    [pRestore EXCEPT !.next_group = pRestore_next_group, !.again = pRestore_again]

\* restores_in_use: refused in_use
ProductionRestoreRestoresInUse_states == {"STOPPED"}
ProductionRestoreRestoresInUse_when(pRestore, pRestore_next_group, pRestore_again) ==
    /\ pRestore.state = "STOPPED"
    /\ ~((pRestore.in_flight = {}) /\ (pRestore.ready = {}) /\ (pRestore.claimed = {}))

\* in_use: refused in_use
ProductionRestoreInUse_states == {"RUNNING"}
ProductionRestoreInUse_when(pRestore, pRestore_next_group, pRestore_again) == pRestore.state = "RUNNING"

\* closed: refused closed
ProductionRestoreClosed_states == {"CLOSED"}
ProductionRestoreClosed_when(pRestore, pRestore_next_group, pRestore_again) == pRestore.state = "CLOSED"

\* the event as a whole
ProductionRestore_states == {"STOPPED"}
ProductionRestore_acts(pRestore, pRestore_next_group, pRestore_again) ==
    ProductionRestoreRestores_when(pRestore, pRestore_next_group, pRestore_again)
ProductionRestore_step(pRestore, pRestore_next_group, pRestore_again) ==
    CASE ProductionRestoreRestores_when(pRestore, pRestore_next_group, pRestore_again) -> <<ProductionRestoreRestores_next(pRestore, pRestore_next_group, pRestore_again), <<>>>>
      [] OTHER -> <<>>
ProductionRestore(pRestore, pRestore_next_group, pRestore_again) ==
    CASE ProductionRestoreRestores_when(pRestore, pRestore_next_group, pRestore_again) -> ProductionRestoreRestores_next(pRestore, pRestore_next_group, pRestore_again)
      [] OTHER -> pRestore
ProductionRestore_rule(pRestore, pRestore_next_group, pRestore_again) ==
    CASE ProductionRestoreRestores_when(pRestore, pRestore_next_group, pRestore_again) -> "restores"
      [] ProductionRestoreRestoresInUse_when(pRestore, pRestore_next_group, pRestore_again) -> "restores_in_use"
      [] ProductionRestoreInUse_when(pRestore, pRestore_next_group, pRestore_again) -> "in_use"
      [] ProductionRestoreClosed_when(pRestore, pRestore_next_group, pRestore_again) -> "closed"
ProductionRestore_out(pRestore, pRestore_next_group, pRestore_again) == <<>>
ProductionRestore_refused(pRestore, pRestore_next_group, pRestore_again) ==
    \/ ProductionRestoreRestoresInUse_when(pRestore, pRestore_next_group, pRestore_again)
    \/ ProductionRestoreInUse_when(pRestore, pRestore_next_group, pRestore_again)
    \/ ProductionRestoreClosed_when(pRestore, pRestore_next_group, pRestore_again)


\* Start() ---------------------------------------------------------------------------------------------------
\* New groups may begin.

\* to_running: goes to RUNNING
ProductionStartToRunning_states == {"STOPPED"}
ProductionStartToRunning_when(pStart) == pStart.state = "STOPPED"
ProductionStartToRunning_next(pStart) == [pStart EXCEPT !.state = "RUNNING"]

\* ignore: ignored
ProductionStartIgnore_states == {"RUNNING"}
ProductionStartIgnore_when(pStart) == pStart.state = "RUNNING"

\* closed: refused closed
ProductionStartClosed_states == {"CLOSED"}
ProductionStartClosed_when(pStart) == pStart.state = "CLOSED"

\* the event as a whole
ProductionStart_states == {"STOPPED"}
ProductionStart_acts(pStart) == ProductionStartToRunning_when(pStart)
ProductionStart_step(pStart) ==
    CASE ProductionStartToRunning_when(pStart) -> <<ProductionStartToRunning_next(pStart), <<>>>>
      [] OTHER -> <<>>
ProductionStart(pStart) ==
    CASE ProductionStartToRunning_when(pStart) -> ProductionStartToRunning_next(pStart)
      [] OTHER -> pStart
ProductionStart_rule(pStart) ==
    CASE ProductionStartToRunning_when(pStart) -> "to_running"
      [] ProductionStartIgnore_when(pStart) -> "ignore"
      [] ProductionStartClosed_when(pStart) -> "closed"
ProductionStart_out(pStart) == <<>>
ProductionStart_refused(pStart) == ProductionStartClosed_when(pStart)


\* Stop() ----------------------------------------------------------------------------------------------------
\* No new group begins; what runs goes on, and what is to be begun again still is.

\* ignore: ignored
ProductionStopIgnore_states == {"STOPPED", "CLOSED"}
ProductionStopIgnore_when(pStop) == pStop.state \in {"STOPPED", "CLOSED"}

\* to_stopped: goes to STOPPED
ProductionStopToStopped_states == {"RUNNING"}
ProductionStopToStopped_when(pStop) == pStop.state = "RUNNING"
ProductionStopToStopped_next(pStop) == [pStop EXCEPT !.state = "STOPPED"]

\* the event as a whole
ProductionStop_states == {"RUNNING"}
ProductionStop_acts(pStop) == ProductionStopToStopped_when(pStop)
ProductionStop_step(pStop) ==
    CASE ProductionStopToStopped_when(pStop) -> <<ProductionStopToStopped_next(pStop), <<>>>>
      [] OTHER -> <<>>
ProductionStop(pStop) ==
    CASE ProductionStopToStopped_when(pStop) -> ProductionStopToStopped_next(pStop)
      [] OTHER -> pStop
ProductionStop_rule(pStop) ==
    CASE ProductionStopIgnore_when(pStop) -> "ignore"
      [] ProductionStopToStopped_when(pStop) -> "to_stopped"
ProductionStop_out(pStop) == <<>>
ProductionStop_refused(pStop) == FALSE


\* Begin(group) ----------------------------------------------------------------------------------------------
\* A group begins: one that is to be begun again, else the next.

\* begins_again_taken_up: stays
ProductionBeginBeginsAgainTakenUp_states == {"STOPPED"}
ProductionBeginBeginsAgainTakenUp_when(pBegin, pBegin_group) ==
    /\ pBegin.state = "STOPPED"
    /\ pBegin_group \in pBegin.again
ProductionBeginBeginsAgainTakenUp_next(pBegin, pBegin_group) ==
    [pBegin EXCEPT
        !.again = pBegin.again \ {pBegin_group},
        !.in_flight = pBegin.in_flight \cup {pBegin_group},
        !.next_group = IF pBegin.next_group > (pBegin_group + 1) THEN pBegin.next_group ELSE (pBegin_group + 1)]

\* begins_again_stopped: refused stopped, may be tried again
ProductionBeginBeginsAgainStopped_states == {"STOPPED"}
ProductionBeginBeginsAgainStopped_when(pBegin, pBegin_group) ==
    /\ pBegin.state = "STOPPED"
    /\ pBegin_group \notin pBegin.again

\* begins_taken_up: stays
ProductionBeginBeginsTakenUp_states == {"RUNNING"}
ProductionBeginBeginsTakenUp_when(pBegin, pBegin_group) ==
    /\ pBegin.state = "RUNNING"
    /\ pBegin_group \in pBegin.again
ProductionBeginBeginsTakenUp_next(pBegin, pBegin_group) ==
    [pBegin EXCEPT
        !.again = pBegin.again \ {pBegin_group},
        !.in_flight = pBegin.in_flight \cup {pBegin_group},
        !.next_group = IF pBegin.next_group > (pBegin_group + 1) THEN pBegin.next_group ELSE (pBegin_group + 1)]

\* begins_2: stays
ProductionBeginBegins2_states == {"RUNNING"}
ProductionBeginBegins2_when(pBegin, pBegin_group) ==
    /\ pBegin.state = "RUNNING"
    /\ pBegin.again = {}
    /\ pBegin_group = pBegin.next_group
ProductionBeginBegins2_next(pBegin, pBegin_group) ==
    [pBegin EXCEPT !.in_flight = pBegin.in_flight \cup {pBegin_group}, !.next_group = pBegin.next_group + 1]

\* begins_not_next: refused not_next
ProductionBeginBeginsNotNext_states == {"RUNNING"}
ProductionBeginBeginsNotNext_when(pBegin, pBegin_group) ==
    /\ pBegin.state = "RUNNING"
    /\ pBegin_group \notin pBegin.again
    /\ ~((pBegin.again = {}) /\ (pBegin_group = pBegin.next_group))

\* closed: refused closed
ProductionBeginClosed_states == {"CLOSED"}
ProductionBeginClosed_when(pBegin, pBegin_group) == pBegin.state = "CLOSED"

\* the event as a whole
ProductionBegin_states == {"STOPPED", "RUNNING"}
ProductionBegin_acts(pBegin, pBegin_group) ==
    \/ ProductionBeginBeginsAgainTakenUp_when(pBegin, pBegin_group)
    \/ ProductionBeginBeginsTakenUp_when(pBegin, pBegin_group)
    \/ ProductionBeginBegins2_when(pBegin, pBegin_group)
ProductionBegin_step(pBegin, pBegin_group) ==
    CASE ProductionBeginBeginsAgainTakenUp_when(pBegin, pBegin_group) -> <<ProductionBeginBeginsAgainTakenUp_next(pBegin, pBegin_group), <<>>>>
      [] ProductionBeginBeginsTakenUp_when(pBegin, pBegin_group) -> <<ProductionBeginBeginsTakenUp_next(pBegin, pBegin_group), <<>>>>
      [] ProductionBeginBegins2_when(pBegin, pBegin_group) -> <<ProductionBeginBegins2_next(pBegin, pBegin_group), <<>>>>
      [] OTHER -> <<>>
ProductionBegin(pBegin, pBegin_group) ==
    CASE ProductionBeginBeginsAgainTakenUp_when(pBegin, pBegin_group) -> ProductionBeginBeginsAgainTakenUp_next(pBegin, pBegin_group)
      [] ProductionBeginBeginsTakenUp_when(pBegin, pBegin_group) -> ProductionBeginBeginsTakenUp_next(pBegin, pBegin_group)
      [] ProductionBeginBegins2_when(pBegin, pBegin_group) -> ProductionBeginBegins2_next(pBegin, pBegin_group)
      [] OTHER -> pBegin
ProductionBegin_rule(pBegin, pBegin_group) ==
    CASE ProductionBeginBeginsAgainTakenUp_when(pBegin, pBegin_group) -> "begins_again_taken_up"
      [] ProductionBeginBeginsAgainStopped_when(pBegin, pBegin_group) -> "begins_again_stopped"
      [] ProductionBeginBeginsTakenUp_when(pBegin, pBegin_group) -> "begins_taken_up"
      [] ProductionBeginBegins2_when(pBegin, pBegin_group) -> "begins_2"
      [] ProductionBeginBeginsNotNext_when(pBegin, pBegin_group) -> "begins_not_next"
      [] ProductionBeginClosed_when(pBegin, pBegin_group) -> "closed"
ProductionBegin_out(pBegin, pBegin_group) == <<>>
ProductionBegin_refused(pBegin, pBegin_group) ==
    \/ ProductionBeginBeginsAgainStopped_when(pBegin, pBegin_group)
    \/ ProductionBeginBeginsNotNext_when(pBegin, pBegin_group)
    \/ ProductionBeginClosed_when(pBegin, pBegin_group)


\* Completed(group) ------------------------------------------------------------------------------------------
\* All samples of the group are there.

\* completes: stays
ProductionCompletedCompletes_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionCompletedCompletes_when(pCompleted, pCompleted_group) == pCompleted_group \in pCompleted.in_flight
ProductionCompletedCompletes_next(pCompleted, pCompleted_group) ==
    [pCompleted EXCEPT
        !.in_flight = pCompleted.in_flight \ {pCompleted_group},
        !.ready = pCompleted.ready \cup {pCompleted_group}]

\* completes_not_in_flight: refused not_in_flight
ProductionCompletedCompletesNotInFlight_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionCompletedCompletesNotInFlight_when(pCompleted, pCompleted_group) ==
    pCompleted_group \notin pCompleted.in_flight

\* the event as a whole
ProductionCompleted_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionCompleted_acts(pCompleted, pCompleted_group) ==
    ProductionCompletedCompletes_when(pCompleted, pCompleted_group)
ProductionCompleted_step(pCompleted, pCompleted_group) ==
    CASE ProductionCompletedCompletes_when(pCompleted, pCompleted_group) -> <<ProductionCompletedCompletes_next(pCompleted, pCompleted_group), <<>>>>
      [] OTHER -> <<>>
ProductionCompleted(pCompleted, pCompleted_group) ==
    CASE ProductionCompletedCompletes_when(pCompleted, pCompleted_group) -> ProductionCompletedCompletes_next(pCompleted, pCompleted_group)
      [] OTHER -> pCompleted
ProductionCompleted_rule(pCompleted, pCompleted_group) ==
    CASE ProductionCompletedCompletes_when(pCompleted, pCompleted_group) -> "completes"
      [] ProductionCompletedCompletesNotInFlight_when(pCompleted, pCompleted_group) -> "completes_not_in_flight"
ProductionCompleted_out(pCompleted, pCompleted_group) == <<>>
ProductionCompleted_refused(pCompleted, pCompleted_group) ==
    ProductionCompletedCompletesNotInFlight_when(pCompleted, pCompleted_group)


\* Failed(group) ---------------------------------------------------------------------------------------------
\* The group came to nothing, and is to be begun again.

\* fails: stays
ProductionFailedFails_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionFailedFails_when(pFailed, pFailed_group) == pFailed_group \in pFailed.in_flight
ProductionFailedFails_next(pFailed, pFailed_group) ==
    [pFailed EXCEPT
        !.in_flight = pFailed.in_flight \ {pFailed_group},
        !.again = pFailed.again \cup {pFailed_group}]

\* fails_not_in_flight: refused not_in_flight
ProductionFailedFailsNotInFlight_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionFailedFailsNotInFlight_when(pFailed, pFailed_group) == pFailed_group \notin pFailed.in_flight

\* the event as a whole
ProductionFailed_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionFailed_acts(pFailed, pFailed_group) == ProductionFailedFails_when(pFailed, pFailed_group)
ProductionFailed_step(pFailed, pFailed_group) ==
    CASE ProductionFailedFails_when(pFailed, pFailed_group) -> <<ProductionFailedFails_next(pFailed, pFailed_group), <<>>>>
      [] OTHER -> <<>>
ProductionFailed(pFailed, pFailed_group) ==
    CASE ProductionFailedFails_when(pFailed, pFailed_group) -> ProductionFailedFails_next(pFailed, pFailed_group)
      [] OTHER -> pFailed
ProductionFailed_rule(pFailed, pFailed_group) ==
    CASE ProductionFailedFails_when(pFailed, pFailed_group) -> "fails"
      [] ProductionFailedFailsNotInFlight_when(pFailed, pFailed_group) -> "fails_not_in_flight"
ProductionFailed_out(pFailed, pFailed_group) == <<>>
ProductionFailed_refused(pFailed, pFailed_group) ==
    ProductionFailedFailsNotInFlight_when(pFailed, pFailed_group)


\* Dropped(group) --------------------------------------------------------------------------------------------
\* The group will never be trained on.

\* drops: stays
ProductionDroppedDrops_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionDroppedDrops_when(pDropped, pDropped_group) ==
    ((pDropped_group \in pDropped.in_flight) \/ (pDropped_group \in pDropped.ready))
ProductionDroppedDrops_next(pDropped, pDropped_group) ==
    [pDropped EXCEPT
        !.in_flight = pDropped.in_flight \ {pDropped_group},
        !.ready = pDropped.ready \ {pDropped_group}]

\* drops_not_held: refused not_held
ProductionDroppedDropsNotHeld_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionDroppedDropsNotHeld_when(pDropped, pDropped_group) ==
    /\ pDropped_group \notin pDropped.in_flight
    /\ pDropped_group \notin pDropped.ready

\* the event as a whole
ProductionDropped_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionDropped_acts(pDropped, pDropped_group) == ProductionDroppedDrops_when(pDropped, pDropped_group)
ProductionDropped_step(pDropped, pDropped_group) ==
    CASE ProductionDroppedDrops_when(pDropped, pDropped_group) -> <<ProductionDroppedDrops_next(pDropped, pDropped_group), <<>>>>
      [] OTHER -> <<>>
ProductionDropped(pDropped, pDropped_group) ==
    CASE ProductionDroppedDrops_when(pDropped, pDropped_group) -> ProductionDroppedDrops_next(pDropped, pDropped_group)
      [] OTHER -> pDropped
ProductionDropped_rule(pDropped, pDropped_group) ==
    CASE ProductionDroppedDrops_when(pDropped, pDropped_group) -> "drops"
      [] ProductionDroppedDropsNotHeld_when(pDropped, pDropped_group) -> "drops_not_held"
ProductionDropped_out(pDropped, pDropped_group) == <<>>
ProductionDropped_refused(pDropped, pDropped_group) ==
    ProductionDroppedDropsNotHeld_when(pDropped, pDropped_group)


\* Claim(group) ----------------------------------------------------------------------------------------------
\* The group goes into the step that is being trained.

\* claims: stays
ProductionClaimClaims_states == {"STOPPED", "RUNNING"}
ProductionClaimClaims_when(pClaim, pClaim_group) ==
    /\ pClaim.state \in {"STOPPED", "RUNNING"}
    /\ pClaim_group \in pClaim.ready
ProductionClaimClaims_next(pClaim, pClaim_group) ==
    [pClaim EXCEPT !.ready = pClaim.ready \ {pClaim_group}, !.claimed = pClaim.claimed \cup {pClaim_group}]

\* claims_not_ready: refused not_ready
ProductionClaimClaimsNotReady_states == {"STOPPED", "RUNNING"}
ProductionClaimClaimsNotReady_when(pClaim, pClaim_group) ==
    /\ pClaim.state \in {"STOPPED", "RUNNING"}
    /\ pClaim_group \notin pClaim.ready

\* closed: refused closed
ProductionClaimClosed_states == {"CLOSED"}
ProductionClaimClosed_when(pClaim, pClaim_group) == pClaim.state = "CLOSED"

\* the event as a whole
ProductionClaim_states == {"STOPPED", "RUNNING"}
ProductionClaim_acts(pClaim, pClaim_group) == ProductionClaimClaims_when(pClaim, pClaim_group)
ProductionClaim_step(pClaim, pClaim_group) ==
    CASE ProductionClaimClaims_when(pClaim, pClaim_group) -> <<ProductionClaimClaims_next(pClaim, pClaim_group), <<>>>>
      [] OTHER -> <<>>
ProductionClaim(pClaim, pClaim_group) ==
    CASE ProductionClaimClaims_when(pClaim, pClaim_group) -> ProductionClaimClaims_next(pClaim, pClaim_group)
      [] OTHER -> pClaim
ProductionClaim_rule(pClaim, pClaim_group) ==
    CASE ProductionClaimClaims_when(pClaim, pClaim_group) -> "claims"
      [] ProductionClaimClaimsNotReady_when(pClaim, pClaim_group) -> "claims_not_ready"
      [] ProductionClaimClosed_when(pClaim, pClaim_group) -> "closed"
ProductionClaim_out(pClaim, pClaim_group) == <<>>
ProductionClaim_refused(pClaim, pClaim_group) ==
    \/ ProductionClaimClaimsNotReady_when(pClaim, pClaim_group)
    \/ ProductionClaimClosed_when(pClaim, pClaim_group)


\* Trained() -------------------------------------------------------------------------------------------------
\* The step is done, with all that was claimed.

\* trains: stays
ProductionTrainedTrains_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionTrainedTrains_when(pTrained) == TRUE
ProductionTrainedTrains_next(pTrained) == [pTrained EXCEPT !.claimed = {}]

\* the event as a whole
ProductionTrained_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionTrained_acts(pTrained) == ProductionTrainedTrains_when(pTrained)
ProductionTrained_step(pTrained) ==
    CASE ProductionTrainedTrains_when(pTrained) -> <<ProductionTrainedTrains_next(pTrained), <<>>>>
      [] OTHER -> <<>>
ProductionTrained(pTrained) ==
    CASE ProductionTrainedTrains_when(pTrained) -> ProductionTrainedTrains_next(pTrained)
      [] OTHER -> pTrained
ProductionTrained_rule(pTrained) == CASE ProductionTrainedTrains_when(pTrained) -> "trains"
ProductionTrained_out(pTrained) == <<>>
ProductionTrained_refused(pTrained) == FALSE


\* GiveBack() ------------------------------------------------------------------------------------------------
\* The step was not done: what was claimed is ready still.

\* gives_back: stays
ProductionGiveBackGivesBack_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionGiveBackGivesBack_when(pGiveBack) == TRUE
ProductionGiveBackGivesBack_next(pGiveBack) ==
    [pGiveBack EXCEPT !.ready = pGiveBack.ready \cup pGiveBack.claimed, !.claimed = {}]

\* the event as a whole
ProductionGiveBack_states == {"STOPPED", "RUNNING", "CLOSED"}
ProductionGiveBack_acts(pGiveBack) == ProductionGiveBackGivesBack_when(pGiveBack)
ProductionGiveBack_step(pGiveBack) ==
    CASE ProductionGiveBackGivesBack_when(pGiveBack) -> <<ProductionGiveBackGivesBack_next(pGiveBack), <<>>>>
      [] OTHER -> <<>>
ProductionGiveBack(pGiveBack) ==
    CASE ProductionGiveBackGivesBack_when(pGiveBack) -> ProductionGiveBackGivesBack_next(pGiveBack)
      [] OTHER -> pGiveBack
ProductionGiveBack_rule(pGiveBack) == CASE ProductionGiveBackGivesBack_when(pGiveBack) -> "gives_back"
ProductionGiveBack_out(pGiveBack) == <<>>
ProductionGiveBack_refused(pGiveBack) == FALSE


\* Rewind(lacking) -------------------------------------------------------------------------------------------
\* The trainer went back, and lacks these: what does not run and is not ready is begun again.

\* rewinds: stays
ProductionRewindRewinds_states == {"STOPPED", "RUNNING"}
ProductionRewindRewinds_when(pRewind, pRewind_lacking) == pRewind.state \in {"STOPPED", "RUNNING"}
ProductionRewindRewinds_next(pRewind, pRewind_lacking) ==
    [pRewind EXCEPT
        !.again = pRewind.again \cup (((pRewind_lacking \ pRewind.in_flight) \ pRewind.ready) \ pRewind.claimed),
        !.ready = pRewind.ready \cup pRewind.claimed,
        !.claimed = {}]

\* closed: refused closed
ProductionRewindClosed_states == {"CLOSED"}
ProductionRewindClosed_when(pRewind, pRewind_lacking) == pRewind.state = "CLOSED"

\* the event as a whole
ProductionRewind_states == {"STOPPED", "RUNNING"}
ProductionRewind_acts(pRewind, pRewind_lacking) == ProductionRewindRewinds_when(pRewind, pRewind_lacking)
ProductionRewind_step(pRewind, pRewind_lacking) ==
    CASE ProductionRewindRewinds_when(pRewind, pRewind_lacking) -> <<ProductionRewindRewinds_next(pRewind, pRewind_lacking), <<>>>>
      [] OTHER -> <<>>
ProductionRewind(pRewind, pRewind_lacking) ==
    CASE ProductionRewindRewinds_when(pRewind, pRewind_lacking) -> ProductionRewindRewinds_next(pRewind, pRewind_lacking)
      [] OTHER -> pRewind
ProductionRewind_rule(pRewind, pRewind_lacking) ==
    CASE ProductionRewindRewinds_when(pRewind, pRewind_lacking) -> "rewinds"
      [] ProductionRewindClosed_when(pRewind, pRewind_lacking) -> "closed"
ProductionRewind_out(pRewind, pRewind_lacking) == <<>>
ProductionRewind_refused(pRewind, pRewind_lacking) == ProductionRewindClosed_when(pRewind, pRewind_lacking)


\* Close() ---------------------------------------------------------------------------------------------------
\* Nothing begins any more.

\* to_closed: goes to CLOSED
ProductionCloseToClosed_states == {"STOPPED", "RUNNING"}
ProductionCloseToClosed_when(pClose) == pClose.state \in {"STOPPED", "RUNNING"}
ProductionCloseToClosed_next(pClose) == [pClose EXCEPT !.state = "CLOSED"]

\* ignore: ignored
ProductionCloseIgnore_states == {"CLOSED"}
ProductionCloseIgnore_when(pClose) == pClose.state = "CLOSED"

\* the event as a whole
ProductionClose_states == {"STOPPED", "RUNNING"}
ProductionClose_acts(pClose) == ProductionCloseToClosed_when(pClose)
ProductionClose_step(pClose) ==
    CASE ProductionCloseToClosed_when(pClose) -> <<ProductionCloseToClosed_next(pClose), <<>>>>
      [] OTHER -> <<>>
ProductionClose(pClose) ==
    CASE ProductionCloseToClosed_when(pClose) -> ProductionCloseToClosed_next(pClose)
      [] OTHER -> pClose
ProductionClose_rule(pClose) ==
    CASE ProductionCloseToClosed_when(pClose) -> "to_closed"
      [] ProductionCloseIgnore_when(pClose) -> "ignore"
ProductionClose_out(pClose) == <<>>
ProductionClose_refused(pClose) == FALSE

================================================================================
