\* Made by `sluicegate generate` from the machine Gate; do not edit.
--------------------------------- MODULE Gate ----------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* Admits requests to one replica, and closes while weights are installed.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* GateER_states: the states in which R can apply; GateER_when: R applies; GateER_next: the record after it
\* (absent where R leaves it as it is); GateER_out: what is to be done then, in order (absent where that is
\* nothing).
\*
\* For the event as a whole: GateE_states: the states in which it can change or emit something; GateE_acts: it
\* does so now; GateE_step: then the record after it and what is to be done, a pair, else the empty sequence;
\* GateE: the record after it in any case; GateE_out: what is to be done; GateE_rule: the name of the rule
\* that applies; GateE_refused: whether it is refused.

GateStates == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN", "POISONED"}

\* The record of an instance that was just born.
GateInit(gInit_ranks) ==
    [state |-> "SEALED",
     ranks |-> gInit_ranks,
     term |-> 0,
     epoch |-> 0,
     version |-> <<>>,
     target |-> <<>>,
     digests |-> [nokey \in {} |-> 0],
     mode |-> "wait",
     timer |-> 0,
     window |-> 0,
     active |-> {},
     suspended |-> {},
     orphaned |-> {},
     quiet |-> {},
     verified |-> {},
     resident |-> FALSE,
     lent |-> <<>>]


\* Claim(term) -----------------------------------------------------------------------------------------------
\* A controller of a higher term takes the gate over.

\* claim_stale_term: refused stale_term
GateClaimClaimStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateClaimClaimStaleTerm_when(gClaim, gClaim_term) == gClaim_term < gClaim.term

\* claims: stays
GateClaimClaims_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateClaimClaims_when(gClaim, gClaim_term) ==
    /\ gClaim_term >= gClaim.term
    /\ gClaim.term < gClaim_term
GateClaimClaims_next(gClaim, gClaim_term) == [gClaim EXCEPT !.term = gClaim_term]

\* claims_ignore: ignored
GateClaimClaimsIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateClaimClaimsIgnore_when(gClaim, gClaim_term) ==
    /\ gClaim_term >= gClaim.term
    /\ gClaim.term >= gClaim_term

\* the event as a whole
GateClaim_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN", "POISONED"}
GateClaim_acts(gClaim, gClaim_term) == GateClaimClaims_when(gClaim, gClaim_term)
GateClaim_step(gClaim, gClaim_term) ==
    CASE GateClaimClaims_when(gClaim, gClaim_term) -> <<GateClaimClaims_next(gClaim, gClaim_term), <<>>>>
      [] OTHER -> <<>>
GateClaim(gClaim, gClaim_term) ==
    CASE GateClaimClaims_when(gClaim, gClaim_term) -> GateClaimClaims_next(gClaim, gClaim_term)
      [] OTHER -> gClaim
GateClaim_rule(gClaim, gClaim_term) ==
    CASE GateClaimClaimStaleTerm_when(gClaim, gClaim_term) -> "claim_stale_term"
      [] GateClaimClaims_when(gClaim, gClaim_term) -> "claims"
      [] GateClaimClaimsIgnore_when(gClaim, gClaim_term) -> "claims_ignore"
GateClaim_out(gClaim, gClaim_term) == <<>>
GateClaim_refused(gClaim, gClaim_term) == GateClaimClaimStaleTerm_when(gClaim, gClaim_term)


\* Admit(lease, pin) -----------------------------------------------------------------------------------------
\* A request asks to enter; a pin names the one version that it accepts.

\* admits: stays
GateAdmitAdmits_states == {"OPEN", "REOPENED"}
GateAdmitAdmits_when(gAdmit, gAdmit_lease, gAdmit_pin) ==
    /\ gAdmit.state \in {"OPEN", "REOPENED"}
    /\ (~((gAdmit_lease \in gAdmit.active) \/ (gAdmit_lease \in gAdmit.suspended) \/ (gAdmit_lease \in gAdmit.orphaned)))
    /\ ~((gAdmit_pin # <<>>) /\ (gAdmit_pin # gAdmit.version))
GateAdmitAdmits_next(gAdmit, gAdmit_lease, gAdmit_pin) ==
    [gAdmit EXCEPT !.active = gAdmit.active \cup {gAdmit_lease}]

\* admits_other_version: refused other_version, may be tried again
GateAdmitAdmitsOtherVersion_states == {"OPEN", "REOPENED"}
GateAdmitAdmitsOtherVersion_when(gAdmit, gAdmit_lease, gAdmit_pin) ==
    /\ gAdmit.state \in {"OPEN", "REOPENED"}
    /\ (~((gAdmit_lease \in gAdmit.active) \/ (gAdmit_lease \in gAdmit.suspended) \/ (gAdmit_lease \in gAdmit.orphaned)))
    /\ gAdmit_pin # <<>>
    /\ gAdmit_pin # gAdmit.version

\* admits_reused: refused reused
GateAdmitAdmitsReused_states == {"OPEN", "REOPENED"}
GateAdmitAdmitsReused_when(gAdmit, gAdmit_lease, gAdmit_pin) ==
    /\ gAdmit.state \in {"OPEN", "REOPENED"}
    /\ (~((~((gAdmit_lease \in gAdmit.active) \/ (gAdmit_lease \in gAdmit.suspended) \/ (gAdmit_lease \in gAdmit.orphaned))) /\ (~((gAdmit_pin # <<>>) /\ (gAdmit_pin # gAdmit.version)))))
    /\ (~((~((gAdmit_lease \in gAdmit.active) \/ (gAdmit_lease \in gAdmit.suspended) \/ (gAdmit_lease \in gAdmit.orphaned))) /\ (gAdmit_pin # <<>>) /\ (gAdmit_pin # gAdmit.version)))

\* closed: refused closed, may be tried again
GateAdmitClosed_states == {"SEALED", "DRAINING", "INSTALLING"}
GateAdmitClosed_when(gAdmit, gAdmit_lease, gAdmit_pin) ==
    gAdmit.state \in {"SEALED", "DRAINING", "INSTALLING"}

\* poisoned: refused poisoned
GateAdmitPoisoned_states == {"POISONED"}
GateAdmitPoisoned_when(gAdmit, gAdmit_lease, gAdmit_pin) == gAdmit.state = "POISONED"

\* the event as a whole
GateAdmit_states == {"REOPENED", "OPEN"}
GateAdmit_acts(gAdmit, gAdmit_lease, gAdmit_pin) == GateAdmitAdmits_when(gAdmit, gAdmit_lease, gAdmit_pin)
GateAdmit_step(gAdmit, gAdmit_lease, gAdmit_pin) ==
    CASE GateAdmitAdmits_when(gAdmit, gAdmit_lease, gAdmit_pin) -> <<GateAdmitAdmits_next(gAdmit, gAdmit_lease, gAdmit_pin), <<>>>>
      [] OTHER -> <<>>
GateAdmit(gAdmit, gAdmit_lease, gAdmit_pin) ==
    CASE GateAdmitAdmits_when(gAdmit, gAdmit_lease, gAdmit_pin) -> GateAdmitAdmits_next(gAdmit, gAdmit_lease, gAdmit_pin)
      [] OTHER -> gAdmit
GateAdmit_rule(gAdmit, gAdmit_lease, gAdmit_pin) ==
    CASE GateAdmitAdmits_when(gAdmit, gAdmit_lease, gAdmit_pin) -> "admits"
      [] GateAdmitAdmitsOtherVersion_when(gAdmit, gAdmit_lease, gAdmit_pin) -> "admits_other_version"
      [] GateAdmitAdmitsReused_when(gAdmit, gAdmit_lease, gAdmit_pin) -> "admits_reused"
      [] GateAdmitClosed_when(gAdmit, gAdmit_lease, gAdmit_pin) -> "closed"
      [] GateAdmitPoisoned_when(gAdmit, gAdmit_lease, gAdmit_pin) -> "poisoned"
GateAdmit_out(gAdmit, gAdmit_lease, gAdmit_pin) == <<>>
GateAdmit_refused(gAdmit, gAdmit_lease, gAdmit_pin) ==
    \/ GateAdmitAdmitsOtherVersion_when(gAdmit, gAdmit_lease, gAdmit_pin)
    \/ GateAdmitAdmitsReused_when(gAdmit, gAdmit_lease, gAdmit_pin)
    \/ GateAdmitClosed_when(gAdmit, gAdmit_lease, gAdmit_pin)
    \/ GateAdmitPoisoned_when(gAdmit, gAdmit_lease, gAdmit_pin)


\* Settle(lease) ---------------------------------------------------------------------------------------------
\* The lease has ended and its record is stored.

\* settles: stays
GateSettleSettles_states == {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
GateSettleSettles_when(gSettle, gSettle_lease) ==
    /\ gSettle.state \in {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
    /\ ((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned) \/ (gSettle_lease \in gSettle.suspended))
GateSettleSettles_next(gSettle, gSettle_lease) ==
    [gSettle EXCEPT
        !.active = gSettle.active \ {gSettle_lease},
        !.suspended = gSettle.suspended \ {gSettle_lease},
        !.orphaned = gSettle.orphaned \ {gSettle_lease}]

\* settles_ignore: ignored
GateSettleSettlesIgnore_states == {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
GateSettleSettlesIgnore_when(gSettle, gSettle_lease) ==
    /\ gSettle.state \in {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
    /\ gSettle_lease \notin gSettle.active
    /\ gSettle_lease \notin gSettle.orphaned
    /\ gSettle_lease \notin gSettle.suspended

\* settles_draining: stays
GateSettleSettlesDraining_states == {"DRAINING"}
GateSettleSettlesDraining_when(gSettle, gSettle_lease) ==
    /\ gSettle.state = "DRAINING"
    /\ ((((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned)) /\ (~(((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned)) /\ ((Cardinality(gSettle.active) + Cardinality(gSettle.orphaned)) = 1)))) \/ ((~((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned))) /\ (gSettle_lease \in gSettle.suspended)))
GateSettleSettlesDraining_next(gSettle, gSettle_lease) ==
    [gSettle EXCEPT
        !.active = gSettle.active \ {gSettle_lease},
        !.suspended = gSettle.suspended \ {gSettle_lease},
        !.orphaned = gSettle.orphaned \ {gSettle_lease}]

\* settles_draining_2: stays
GateSettleSettlesDraining2_states == {"DRAINING"}
GateSettleSettlesDraining2_when(gSettle, gSettle_lease) ==
    /\ gSettle.state = "DRAINING"
    /\ ((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned))
    /\ (Cardinality(gSettle.active) + Cardinality(gSettle.orphaned)) = 1
GateSettleSettlesDraining2_next(gSettle, gSettle_lease) ==
    [gSettle EXCEPT
        !.active = gSettle.active \ {gSettle_lease},
        !.orphaned = gSettle.orphaned \ {gSettle_lease}]
GateSettleSettlesDraining2_out(gSettle, gSettle_lease) == <<[out |-> "AskQuiesce", epoch |-> gSettle.epoch]>>

\* settles_draining_ignore: ignored
GateSettleSettlesDrainingIgnore_states == {"DRAINING"}
GateSettleSettlesDrainingIgnore_when(gSettle, gSettle_lease) ==
    /\ gSettle.state = "DRAINING"
    /\ (~(((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned)) /\ (~(((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned)) /\ ((Cardinality(gSettle.active) + Cardinality(gSettle.orphaned)) = 1)))))
    /\ (~((~((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned))) /\ (gSettle_lease \in gSettle.suspended)))
    /\ (~(((gSettle_lease \in gSettle.active) \/ (gSettle_lease \in gSettle.orphaned)) /\ ((Cardinality(gSettle.active) + Cardinality(gSettle.orphaned)) = 1)))

\* the event as a whole
GateSettle_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN", "POISONED"}
GateSettle_acts(gSettle, gSettle_lease) ==
    \/ GateSettleSettles_when(gSettle, gSettle_lease)
    \/ GateSettleSettlesDraining_when(gSettle, gSettle_lease)
    \/ GateSettleSettlesDraining2_when(gSettle, gSettle_lease)
GateSettle_step(gSettle, gSettle_lease) ==
    CASE GateSettleSettles_when(gSettle, gSettle_lease) -> <<GateSettleSettles_next(gSettle, gSettle_lease), <<>>>>
      [] GateSettleSettlesDraining_when(gSettle, gSettle_lease) -> <<GateSettleSettlesDraining_next(gSettle, gSettle_lease), <<>>>>
      [] GateSettleSettlesDraining2_when(gSettle, gSettle_lease) -> <<GateSettleSettlesDraining2_next(gSettle, gSettle_lease), GateSettleSettlesDraining2_out(gSettle, gSettle_lease)>>
      [] OTHER -> <<>>
GateSettle(gSettle, gSettle_lease) ==
    CASE GateSettleSettles_when(gSettle, gSettle_lease) -> GateSettleSettles_next(gSettle, gSettle_lease)
      [] GateSettleSettlesDraining_when(gSettle, gSettle_lease) -> GateSettleSettlesDraining_next(gSettle, gSettle_lease)
      [] GateSettleSettlesDraining2_when(gSettle, gSettle_lease) -> GateSettleSettlesDraining2_next(gSettle, gSettle_lease)
      [] OTHER -> gSettle
GateSettle_rule(gSettle, gSettle_lease) ==
    CASE GateSettleSettles_when(gSettle, gSettle_lease) -> "settles"
      [] GateSettleSettlesIgnore_when(gSettle, gSettle_lease) -> "settles_ignore"
      [] GateSettleSettlesDraining_when(gSettle, gSettle_lease) -> "settles_draining"
      [] GateSettleSettlesDraining2_when(gSettle, gSettle_lease) -> "settles_draining_2"
      [] GateSettleSettlesDrainingIgnore_when(gSettle, gSettle_lease) -> "settles_draining_ignore"
GateSettle_out(gSettle, gSettle_lease) ==
    CASE GateSettleSettlesDraining2_when(gSettle, gSettle_lease) -> GateSettleSettlesDraining2_out(gSettle, gSettle_lease)
      [] OTHER -> <<>>
GateSettle_refused(gSettle, gSettle_lease) == FALSE


\* Orphan(lease, why) ----------------------------------------------------------------------------------------
\* Nobody knows what became of the lease.

\* orphans: stays
GateOrphanOrphans_states == {"OPEN", "SEALED", "DRAINING", "REOPENED"}
GateOrphanOrphans_when(gOrphan, gOrphan_lease) ==
    /\ gOrphan.state \in {"OPEN", "SEALED", "DRAINING", "REOPENED"}
    /\ ((gOrphan_lease \in gOrphan.active) \/ (gOrphan_lease \in gOrphan.suspended))
GateOrphanOrphans_next(gOrphan, gOrphan_lease) ==
    [gOrphan EXCEPT
        !.active = gOrphan.active \ {gOrphan_lease},
        !.suspended = gOrphan.suspended \ {gOrphan_lease},
        !.orphaned = gOrphan.orphaned \cup {gOrphan_lease}]

\* orphans_ignore: ignored
GateOrphanOrphansIgnore_states == {"OPEN", "SEALED", "DRAINING", "REOPENED"}
GateOrphanOrphansIgnore_when(gOrphan, gOrphan_lease) ==
    /\ gOrphan.state \in {"OPEN", "SEALED", "DRAINING", "REOPENED"}
    /\ gOrphan_lease \notin gOrphan.active
    /\ gOrphan_lease \notin gOrphan.suspended

\* orphans_installing: goes to POISONED
GateOrphanOrphansInstalling_states == {"INSTALLING"}
GateOrphanOrphansInstalling_when(gOrphan, gOrphan_lease) ==
    /\ gOrphan.state = "INSTALLING"
    /\ gOrphan_lease \in gOrphan.suspended
GateOrphanOrphansInstalling_next(gOrphan, gOrphan_lease) == [gOrphan EXCEPT !.state = "POISONED"]
GateOrphanOrphansInstalling_out(gOrphan, gOrphan_lease) ==
    <<[out |-> "AbortSuspended", leases |-> gOrphan.suspended]>>

\* orphans_installing_ignore: ignored
GateOrphanOrphansInstallingIgnore_states == {"INSTALLING"}
GateOrphanOrphansInstallingIgnore_when(gOrphan, gOrphan_lease) ==
    /\ gOrphan.state = "INSTALLING"
    /\ gOrphan_lease \notin gOrphan.suspended

\* drops: stays
GateOrphanDrops_states == {"POISONED"}
GateOrphanDrops_when(gOrphan, gOrphan_lease) == gOrphan.state = "POISONED"
GateOrphanDrops_next(gOrphan, gOrphan_lease) ==
    [gOrphan EXCEPT
        !.active = gOrphan.active \ {gOrphan_lease},
        !.suspended = gOrphan.suspended \ {gOrphan_lease},
        !.orphaned = gOrphan.orphaned \ {gOrphan_lease}]

\* the event as a whole
GateOrphan_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN", "POISONED"}
GateOrphan_acts(gOrphan, gOrphan_lease) ==
    \/ GateOrphanOrphans_when(gOrphan, gOrphan_lease)
    \/ GateOrphanOrphansInstalling_when(gOrphan, gOrphan_lease)
    \/ GateOrphanDrops_when(gOrphan, gOrphan_lease)
GateOrphan_step(gOrphan, gOrphan_lease) ==
    CASE GateOrphanOrphans_when(gOrphan, gOrphan_lease) -> <<GateOrphanOrphans_next(gOrphan, gOrphan_lease), <<>>>>
      [] GateOrphanOrphansInstalling_when(gOrphan, gOrphan_lease) -> <<GateOrphanOrphansInstalling_next(gOrphan, gOrphan_lease), GateOrphanOrphansInstalling_out(gOrphan, gOrphan_lease)>>
      [] GateOrphanDrops_when(gOrphan, gOrphan_lease) -> <<GateOrphanDrops_next(gOrphan, gOrphan_lease), <<>>>>
      [] OTHER -> <<>>
GateOrphan(gOrphan, gOrphan_lease) ==
    CASE GateOrphanOrphans_when(gOrphan, gOrphan_lease) -> GateOrphanOrphans_next(gOrphan, gOrphan_lease)
      [] GateOrphanOrphansInstalling_when(gOrphan, gOrphan_lease) -> GateOrphanOrphansInstalling_next(gOrphan, gOrphan_lease)
      [] GateOrphanDrops_when(gOrphan, gOrphan_lease) -> GateOrphanDrops_next(gOrphan, gOrphan_lease)
      [] OTHER -> gOrphan
GateOrphan_rule(gOrphan, gOrphan_lease) ==
    CASE GateOrphanOrphans_when(gOrphan, gOrphan_lease) -> "orphans"
      [] GateOrphanOrphansIgnore_when(gOrphan, gOrphan_lease) -> "orphans_ignore"
      [] GateOrphanOrphansInstalling_when(gOrphan, gOrphan_lease) -> "orphans_installing"
      [] GateOrphanOrphansInstallingIgnore_when(gOrphan, gOrphan_lease) -> "orphans_installing_ignore"
      [] GateOrphanDrops_when(gOrphan, gOrphan_lease) -> "drops"
GateOrphan_out(gOrphan, gOrphan_lease) ==
    CASE GateOrphanOrphansInstalling_when(gOrphan, gOrphan_lease) -> GateOrphanOrphansInstalling_out(gOrphan, gOrphan_lease)
      [] OTHER -> <<>>
GateOrphan_refused(gOrphan, gOrphan_lease) == FALSE


\* GiveUp(lease) ---------------------------------------------------------------------------------------------
\* The orphaned lease was not reconciled in time.

\* gives_up: goes to POISONED
GateGiveUpGivesUp_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
GateGiveUpGivesUp_when(gGiveUp, gGiveUp_lease) ==
    /\ gGiveUp.state \in {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
    /\ gGiveUp_lease \in gGiveUp.orphaned
GateGiveUpGivesUp_next(gGiveUp, gGiveUp_lease) == [gGiveUp EXCEPT !.state = "POISONED"]
GateGiveUpGivesUp_out(gGiveUp, gGiveUp_lease) == <<[out |-> "AbortSuspended", leases |-> gGiveUp.suspended]>>

\* gives_up_ignore: ignored
GateGiveUpGivesUpIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
GateGiveUpGivesUpIgnore_when(gGiveUp, gGiveUp_lease) ==
    /\ gGiveUp.state \in {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
    /\ gGiveUp_lease \notin gGiveUp.orphaned

\* ignore: ignored
GateGiveUpIgnore_states == {"POISONED"}
GateGiveUpIgnore_when(gGiveUp, gGiveUp_lease) == gGiveUp.state = "POISONED"

\* the event as a whole
GateGiveUp_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN"}
GateGiveUp_acts(gGiveUp, gGiveUp_lease) == GateGiveUpGivesUp_when(gGiveUp, gGiveUp_lease)
GateGiveUp_step(gGiveUp, gGiveUp_lease) ==
    CASE GateGiveUpGivesUp_when(gGiveUp, gGiveUp_lease) -> <<GateGiveUpGivesUp_next(gGiveUp, gGiveUp_lease), GateGiveUpGivesUp_out(gGiveUp, gGiveUp_lease)>>
      [] OTHER -> <<>>
GateGiveUp(gGiveUp, gGiveUp_lease) ==
    CASE GateGiveUpGivesUp_when(gGiveUp, gGiveUp_lease) -> GateGiveUpGivesUp_next(gGiveUp, gGiveUp_lease)
      [] OTHER -> gGiveUp
GateGiveUp_rule(gGiveUp, gGiveUp_lease) ==
    CASE GateGiveUpGivesUp_when(gGiveUp, gGiveUp_lease) -> "gives_up"
      [] GateGiveUpGivesUpIgnore_when(gGiveUp, gGiveUp_lease) -> "gives_up_ignore"
      [] GateGiveUpIgnore_when(gGiveUp, gGiveUp_lease) -> "ignore"
GateGiveUp_out(gGiveUp, gGiveUp_lease) ==
    CASE GateGiveUpGivesUp_when(gGiveUp, gGiveUp_lease) -> GateGiveUpGivesUp_out(gGiveUp, gGiveUp_lease)
      [] OTHER -> <<>>
GateGiveUp_refused(gGiveUp, gGiveUp_lease) == FALSE


\* Frozen(lease, epoch) --------------------------------------------------------------------------------------
\* The engine froze the lease for the drain of this epoch.

\* thaws: stays
GateFrozenThaws_states == {"OPEN", "REOPENED"}
GateFrozenThaws_when(gFrozen, gFrozen_lease, gFrozen_epoch) == gFrozen.state \in {"OPEN", "REOPENED"}
GateFrozenThaws_out(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    <<[out |-> "Thaw", epoch |-> gFrozen_epoch, lease |-> gFrozen_lease]>>

\* thaws_older: stays
GateFrozenThawsOlder_states == {"SEALED", "INSTALLING"}
GateFrozenThawsOlder_when(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    /\ gFrozen.state \in {"SEALED", "INSTALLING"}
    /\ gFrozen_epoch < gFrozen.epoch
GateFrozenThawsOlder_out(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    <<[out |-> "Thaw", epoch |-> gFrozen_epoch, lease |-> gFrozen_lease]>>

\* thaws_older_not_keeping: refused not_keeping
GateFrozenThawsOlderNotKeeping_states == {"SEALED", "INSTALLING"}
GateFrozenThawsOlderNotKeeping_when(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    /\ gFrozen.state \in {"SEALED", "INSTALLING"}
    /\ gFrozen_epoch >= gFrozen.epoch

\* suspends: stays
GateFrozenSuspends_states == {"DRAINING"}
GateFrozenSuspends_when(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    /\ gFrozen.state = "DRAINING"
    /\ gFrozen_epoch = gFrozen.epoch
    /\ gFrozen.mode = "keep"
    /\ gFrozen_lease \in gFrozen.active
    /\ ~((gFrozen.orphaned = {}) /\ (Cardinality(gFrozen.active) = 1))
GateFrozenSuspends_next(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    [gFrozen EXCEPT
        !.active = gFrozen.active \ {gFrozen_lease},
        !.suspended = gFrozen.suspended \cup {gFrozen_lease}]

\* suspends_2: stays
GateFrozenSuspends2_states == {"DRAINING"}
GateFrozenSuspends2_when(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    /\ gFrozen.state = "DRAINING"
    /\ gFrozen_epoch = gFrozen.epoch
    /\ gFrozen.mode = "keep"
    /\ gFrozen_lease \in gFrozen.active
    /\ gFrozen.orphaned = {}
    /\ Cardinality(gFrozen.active) = 1
GateFrozenSuspends2_next(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    [gFrozen EXCEPT
        !.active = gFrozen.active \ {gFrozen_lease},
        !.suspended = gFrozen.suspended \cup {gFrozen_lease}]
GateFrozenSuspends2_out(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    <<[out |-> "AskQuiesce", epoch |-> gFrozen.epoch]>>

\* suspends_3: stays
GateFrozenSuspends3_states == {"DRAINING"}
GateFrozenSuspends3_when(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    /\ gFrozen.state = "DRAINING"
    /\ gFrozen_epoch < gFrozen.epoch
GateFrozenSuspends3_out(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    <<[out |-> "Thaw", epoch |-> gFrozen_epoch, lease |-> gFrozen_lease]>>

\* suspends_not_keeping: refused not_keeping
GateFrozenSuspendsNotKeeping_states == {"DRAINING"}
GateFrozenSuspendsNotKeeping_when(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    /\ gFrozen.state = "DRAINING"
    /\ ~((gFrozen_epoch = gFrozen.epoch) /\ (gFrozen.mode = "keep") /\ (gFrozen_lease \in gFrozen.active) /\ (~((gFrozen.orphaned = {}) /\ (Cardinality(gFrozen.active) = 1))))
    /\ ~((gFrozen_epoch = gFrozen.epoch) /\ (gFrozen.mode = "keep") /\ (gFrozen_lease \in gFrozen.active) /\ (gFrozen.orphaned = {}) /\ (Cardinality(gFrozen.active) = 1))
    /\ gFrozen_epoch >= gFrozen.epoch

\* aborts_late: stays
GateFrozenAbortsLate_states == {"POISONED"}
GateFrozenAbortsLate_when(gFrozen, gFrozen_lease, gFrozen_epoch) == gFrozen.state = "POISONED"
GateFrozenAbortsLate_next(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    [gFrozen EXCEPT
        !.active = gFrozen.active \ {gFrozen_lease},
        !.suspended = gFrozen.suspended \ {gFrozen_lease},
        !.orphaned = gFrozen.orphaned \ {gFrozen_lease}]
GateFrozenAbortsLate_out(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    <<[out |-> "AbortLate", lease |-> gFrozen_lease]>>

\* the event as a whole
GateFrozen_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN", "POISONED"}
GateFrozen_acts(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    \/ GateFrozenThaws_when(gFrozen, gFrozen_lease, gFrozen_epoch)
    \/ GateFrozenThawsOlder_when(gFrozen, gFrozen_lease, gFrozen_epoch)
    \/ GateFrozenSuspends_when(gFrozen, gFrozen_lease, gFrozen_epoch)
    \/ GateFrozenSuspends2_when(gFrozen, gFrozen_lease, gFrozen_epoch)
    \/ GateFrozenSuspends3_when(gFrozen, gFrozen_lease, gFrozen_epoch)
    \/ GateFrozenAbortsLate_when(gFrozen, gFrozen_lease, gFrozen_epoch)
GateFrozen_step(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    CASE GateFrozenThaws_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> <<gFrozen, GateFrozenThaws_out(gFrozen, gFrozen_lease, gFrozen_epoch)>>
      [] GateFrozenThawsOlder_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> <<gFrozen, GateFrozenThawsOlder_out(gFrozen, gFrozen_lease, gFrozen_epoch)>>
      [] GateFrozenSuspends_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> <<GateFrozenSuspends_next(gFrozen, gFrozen_lease, gFrozen_epoch), <<>>>>
      [] GateFrozenSuspends2_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> <<GateFrozenSuspends2_next(gFrozen, gFrozen_lease, gFrozen_epoch), GateFrozenSuspends2_out(gFrozen, gFrozen_lease, gFrozen_epoch)>>
      [] GateFrozenSuspends3_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> <<gFrozen, GateFrozenSuspends3_out(gFrozen, gFrozen_lease, gFrozen_epoch)>>
      [] GateFrozenAbortsLate_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> <<GateFrozenAbortsLate_next(gFrozen, gFrozen_lease, gFrozen_epoch), GateFrozenAbortsLate_out(gFrozen, gFrozen_lease, gFrozen_epoch)>>
      [] OTHER -> <<>>
GateFrozen(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    CASE GateFrozenSuspends_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenSuspends_next(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] GateFrozenSuspends2_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenSuspends2_next(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] GateFrozenAbortsLate_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenAbortsLate_next(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] OTHER -> gFrozen
GateFrozen_rule(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    CASE GateFrozenThaws_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "thaws"
      [] GateFrozenThawsOlder_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "thaws_older"
      [] GateFrozenThawsOlderNotKeeping_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "thaws_older_not_keeping"
      [] GateFrozenSuspends_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "suspends"
      [] GateFrozenSuspends2_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "suspends_2"
      [] GateFrozenSuspends3_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "suspends_3"
      [] GateFrozenSuspendsNotKeeping_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "suspends_not_keeping"
      [] GateFrozenAbortsLate_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> "aborts_late"
GateFrozen_out(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    CASE GateFrozenThaws_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenThaws_out(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] GateFrozenThawsOlder_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenThawsOlder_out(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] GateFrozenSuspends2_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenSuspends2_out(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] GateFrozenSuspends3_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenSuspends3_out(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] GateFrozenAbortsLate_when(gFrozen, gFrozen_lease, gFrozen_epoch) -> GateFrozenAbortsLate_out(gFrozen, gFrozen_lease, gFrozen_epoch)
      [] OTHER -> <<>>
GateFrozen_refused(gFrozen, gFrozen_lease, gFrozen_epoch) ==
    \/ GateFrozenThawsOlderNotKeeping_when(gFrozen, gFrozen_lease, gFrozen_epoch)
    \/ GateFrozenSuspendsNotKeeping_when(gFrozen, gFrozen_lease, gFrozen_epoch)


\* Thawed(epoch, lease) --------------------------------------------------------------------------------------
\* The engine continued the lease.

\* answer_ignore: ignored
GateThawedAnswerIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateThawedAnswerIgnore_when(gThawed, gThawed_epoch, gThawed_lease) == gThawed_epoch # gThawed.epoch

\* ignore: ignored
GateThawedIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "POISONED"}
GateThawedIgnore_when(gThawed, gThawed_epoch, gThawed_lease) ==
    /\ gThawed.state \in {"OPEN", "SEALED", "DRAINING", "INSTALLING", "POISONED"}
    /\ gThawed_epoch = gThawed.epoch

\* continues: stays
GateThawedContinues_states == {"REOPENED"}
GateThawedContinues_when(gThawed, gThawed_epoch, gThawed_lease) ==
    /\ gThawed.state = "REOPENED"
    /\ gThawed_epoch = gThawed.epoch
    /\ gThawed_lease \in gThawed.suspended
GateThawedContinues_next(gThawed, gThawed_epoch, gThawed_lease) ==
    [gThawed EXCEPT
        !.suspended = gThawed.suspended \ {gThawed_lease},
        !.active = gThawed.active \cup {gThawed_lease}]

\* continues_ignore: ignored
GateThawedContinuesIgnore_states == {"REOPENED"}
GateThawedContinuesIgnore_when(gThawed, gThawed_epoch, gThawed_lease) ==
    /\ gThawed.state = "REOPENED"
    /\ gThawed_epoch = gThawed.epoch
    /\ gThawed_lease \notin gThawed.suspended

\* the event as a whole
GateThawed_states == {"REOPENED"}
GateThawed_acts(gThawed, gThawed_epoch, gThawed_lease) ==
    GateThawedContinues_when(gThawed, gThawed_epoch, gThawed_lease)
GateThawed_step(gThawed, gThawed_epoch, gThawed_lease) ==
    CASE GateThawedContinues_when(gThawed, gThawed_epoch, gThawed_lease) -> <<GateThawedContinues_next(gThawed, gThawed_epoch, gThawed_lease), <<>>>>
      [] OTHER -> <<>>
GateThawed(gThawed, gThawed_epoch, gThawed_lease) ==
    CASE GateThawedContinues_when(gThawed, gThawed_epoch, gThawed_lease) -> GateThawedContinues_next(gThawed, gThawed_epoch, gThawed_lease)
      [] OTHER -> gThawed
GateThawed_rule(gThawed, gThawed_epoch, gThawed_lease) ==
    CASE GateThawedAnswerIgnore_when(gThawed, gThawed_epoch, gThawed_lease) -> "answer_ignore"
      [] GateThawedIgnore_when(gThawed, gThawed_epoch, gThawed_lease) -> "ignore"
      [] GateThawedContinues_when(gThawed, gThawed_epoch, gThawed_lease) -> "continues"
      [] GateThawedContinuesIgnore_when(gThawed, gThawed_epoch, gThawed_lease) -> "continues_ignore"
GateThawed_out(gThawed, gThawed_epoch, gThawed_lease) == <<>>
GateThawed_refused(gThawed, gThawed_epoch, gThawed_lease) == FALSE


\* Seal(term, epoch, mode, window) ---------------------------------------------------------------------------
\* Admit nothing more; the window bounds how long the gate may stay closed.

\* control_stale_term: refused stale_term
GateSealControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateSealControlStaleTerm_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    gSeal_term < gSeal.term

\* control_unclaimed: refused unclaimed
GateSealControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateSealControlUnclaimed_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term < gSeal_term

\* control_stale_epoch: refused stale_epoch
GateSealControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateSealControlStaleEpoch_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch < gSeal.epoch

\* seals: goes to SEALED
GateSealSeals_states == {"OPEN"}
GateSealSeals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "OPEN"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ gSeal.epoch < gSeal_epoch
GateSealSeals_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    [gSeal EXCEPT
        !.state = "SEALED",
        !.epoch = gSeal_epoch,
        !.mode = gSeal_mode,
        !.timer = 0,
        !.window = gSeal_window,
        !.quiet = {},
        !.verified = {},
        !.target = <<>>,
        !.digests = [nokey \in {} |-> 0]]
GateSealSeals_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    <<[out |-> "StartTimer", epoch |-> gSeal_epoch, timer |-> 0, window |-> gSeal_window]>>

\* seals_ignore: ignored
GateSealSealsIgnore_states == {"OPEN"}
GateSealSealsIgnore_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "OPEN"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ gSeal.epoch >= gSeal_epoch

\* reseals: stays
GateSealReseals_states == {"SEALED"}
GateSealReseals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "SEALED"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ gSeal.epoch < gSeal_epoch
GateSealReseals_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    [gSeal EXCEPT
        !.epoch = gSeal_epoch,
        !.mode = gSeal_mode,
        !.timer = 0,
        !.window = gSeal_window]
GateSealReseals_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    <<[out |-> "StartTimer", epoch |-> gSeal_epoch, timer |-> 0, window |-> gSeal_window]>>

\* reseals_ignore: ignored
GateSealResealsIgnore_states == {"SEALED"}
GateSealResealsIgnore_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "SEALED"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ gSeal.epoch >= gSeal_epoch

\* reseals_bare: goes to SEALED
GateSealResealsBare_states == {"DRAINING"}
GateSealResealsBare_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "DRAINING"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ gSeal.epoch < gSeal_epoch
    /\ ~gSeal.resident
    /\ gSeal.lent = <<>>
GateSealResealsBare_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    [gSeal EXCEPT
        !.state = "SEALED",
        !.epoch = gSeal_epoch,
        !.mode = gSeal_mode,
        !.timer = 0,
        !.window = gSeal_window,
        !.quiet = {},
        !.verified = {},
        !.target = <<>>,
        !.digests = [nokey \in {} |-> 0]]
GateSealResealsBare_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    <<[out |-> "StartTimer", epoch |-> gSeal_epoch, timer |-> 0, window |-> gSeal_window]>>

\* reseals_bare_ignore: ignored
GateSealResealsBareIgnore_states == {"DRAINING"}
GateSealResealsBareIgnore_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "DRAINING"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ gSeal_epoch = gSeal.epoch

\* reseals_bare_busy: refused busy, may be tried again
GateSealResealsBareBusy_states == {"DRAINING"}
GateSealResealsBareBusy_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "DRAINING"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch
    /\ ~((gSeal.epoch < gSeal_epoch) /\ (~gSeal.resident) /\ (gSeal.lent = <<>>))
    /\ gSeal_epoch # gSeal.epoch

\* installing: refused installing, may be tried again
GateSealInstalling_states == {"INSTALLING"}
GateSealInstalling_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "INSTALLING"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch

\* not_closed: refused not_closed, may be tried again
GateSealNotClosed_states == {"REOPENED"}
GateSealNotClosed_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "REOPENED"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch

\* poisoned: refused poisoned
GateSealPoisoned_states == {"POISONED"}
GateSealPoisoned_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    /\ gSeal.state = "POISONED"
    /\ gSeal_term >= gSeal.term
    /\ gSeal.term >= gSeal_term
    /\ gSeal_epoch >= gSeal.epoch

\* the event as a whole
GateSeal_states == {"SEALED", "DRAINING", "OPEN"}
GateSeal_acts(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    \/ GateSealSeals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealReseals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealResealsBare_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
GateSeal_step(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    CASE GateSealSeals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> <<GateSealSeals_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window), GateSealSeals_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)>>
      [] GateSealReseals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> <<GateSealReseals_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window), GateSealReseals_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)>>
      [] GateSealResealsBare_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> <<GateSealResealsBare_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window), GateSealResealsBare_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)>>
      [] OTHER -> <<>>
GateSeal(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    CASE GateSealSeals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> GateSealSeals_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
      [] GateSealReseals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> GateSealReseals_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
      [] GateSealResealsBare_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> GateSealResealsBare_next(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
      [] OTHER -> gSeal
GateSeal_rule(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    CASE GateSealControlStaleTerm_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "control_stale_term"
      [] GateSealControlUnclaimed_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "control_unclaimed"
      [] GateSealControlStaleEpoch_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "control_stale_epoch"
      [] GateSealSeals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "seals"
      [] GateSealSealsIgnore_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "seals_ignore"
      [] GateSealReseals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "reseals"
      [] GateSealResealsIgnore_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "reseals_ignore"
      [] GateSealResealsBare_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "reseals_bare"
      [] GateSealResealsBareIgnore_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "reseals_bare_ignore"
      [] GateSealResealsBareBusy_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "reseals_bare_busy"
      [] GateSealInstalling_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "installing"
      [] GateSealNotClosed_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "not_closed"
      [] GateSealPoisoned_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> "poisoned"
GateSeal_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    CASE GateSealSeals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> GateSealSeals_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
      [] GateSealReseals_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> GateSealReseals_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
      [] GateSealResealsBare_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) -> GateSealResealsBare_out(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
      [] OTHER -> <<>>
GateSeal_refused(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window) ==
    \/ GateSealControlStaleTerm_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealControlUnclaimed_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealControlStaleEpoch_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealResealsBareBusy_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealInstalling_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealNotClosed_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)
    \/ GateSealPoisoned_when(gSeal, gSeal_term, gSeal_epoch, gSeal_mode, gSeal_window)


\* Escalate(term, epoch, mode) -------------------------------------------------------------------------------
\* Stop waiting for leases: abort or keep them.

\* control_stale_term: refused stale_term
GateEscalateControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateEscalateControlStaleTerm_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    gEscalate_term < gEscalate.term

\* control_unclaimed: refused unclaimed
GateEscalateControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateEscalateControlUnclaimed_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term < gEscalate_term

\* control_stale_epoch: refused stale_epoch
GateEscalateControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateEscalateControlStaleEpoch_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch < gEscalate.epoch

\* step_unknown_epoch: refused unknown_epoch
GateEscalateStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateEscalateStepUnknownEpoch_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch < gEscalate_epoch

\* ignore: ignored
GateEscalateIgnore_states == {"OPEN", "INSTALLING", "REOPENED"}
GateEscalateIgnore_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate.state \in {"OPEN", "INSTALLING", "REOPENED"}
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch >= gEscalate_epoch

\* escalates: stays
GateEscalateEscalates_states == {"SEALED"}
GateEscalateEscalates_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate.state = "SEALED"
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch >= gEscalate_epoch
    /\ gEscalate.mode = "wait"
    /\ gEscalate_mode # "wait"
GateEscalateEscalates_next(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    [gEscalate EXCEPT !.mode = gEscalate_mode]

\* escalates_ignore: ignored
GateEscalateEscalatesIgnore_states == {"SEALED"}
GateEscalateEscalatesIgnore_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate.state = "SEALED"
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch >= gEscalate_epoch
    /\ ~((gEscalate.mode = "wait") /\ (gEscalate_mode # "wait"))

\* escalates_draining: stays
GateEscalateEscalatesDraining_states == {"DRAINING"}
GateEscalateEscalatesDraining_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate.state = "DRAINING"
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch >= gEscalate_epoch
    /\ gEscalate.mode = "wait"
    /\ gEscalate_mode # "wait"
GateEscalateEscalatesDraining_next(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    [gEscalate EXCEPT !.mode = gEscalate_mode]
GateEscalateEscalatesDraining_out(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    <<[out |-> "StartDrain", epoch |-> gEscalate.epoch, mode |-> gEscalate_mode]>>

\* escalates_draining_ignore: ignored
GateEscalateEscalatesDrainingIgnore_states == {"DRAINING"}
GateEscalateEscalatesDrainingIgnore_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate.state = "DRAINING"
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch >= gEscalate_epoch
    /\ ~((gEscalate.mode = "wait") /\ (gEscalate_mode # "wait"))

\* poisoned: refused poisoned
GateEscalatePoisoned_states == {"POISONED"}
GateEscalatePoisoned_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    /\ gEscalate.state = "POISONED"
    /\ gEscalate_term >= gEscalate.term
    /\ gEscalate.term >= gEscalate_term
    /\ gEscalate_epoch >= gEscalate.epoch
    /\ gEscalate.epoch >= gEscalate_epoch

\* the event as a whole
GateEscalate_states == {"SEALED", "DRAINING"}
GateEscalate_acts(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    \/ GateEscalateEscalates_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
    \/ GateEscalateEscalatesDraining_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
GateEscalate_step(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    CASE GateEscalateEscalates_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> <<GateEscalateEscalates_next(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode), <<>>>>
      [] GateEscalateEscalatesDraining_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> <<GateEscalateEscalatesDraining_next(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode), GateEscalateEscalatesDraining_out(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)>>
      [] OTHER -> <<>>
GateEscalate(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    CASE GateEscalateEscalates_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> GateEscalateEscalates_next(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
      [] GateEscalateEscalatesDraining_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> GateEscalateEscalatesDraining_next(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
      [] OTHER -> gEscalate
GateEscalate_rule(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    CASE GateEscalateControlStaleTerm_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "control_stale_term"
      [] GateEscalateControlUnclaimed_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "control_unclaimed"
      [] GateEscalateControlStaleEpoch_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "control_stale_epoch"
      [] GateEscalateStepUnknownEpoch_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "step_unknown_epoch"
      [] GateEscalateIgnore_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "ignore"
      [] GateEscalateEscalates_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "escalates"
      [] GateEscalateEscalatesIgnore_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "escalates_ignore"
      [] GateEscalateEscalatesDraining_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "escalates_draining"
      [] GateEscalateEscalatesDrainingIgnore_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "escalates_draining_ignore"
      [] GateEscalatePoisoned_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> "poisoned"
GateEscalate_out(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    CASE GateEscalateEscalatesDraining_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) -> GateEscalateEscalatesDraining_out(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
      [] OTHER -> <<>>
GateEscalate_refused(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode) ==
    \/ GateEscalateControlStaleTerm_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
    \/ GateEscalateControlUnclaimed_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
    \/ GateEscalateControlStaleEpoch_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
    \/ GateEscalateStepUnknownEpoch_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)
    \/ GateEscalatePoisoned_when(gEscalate, gEscalate_term, gEscalate_epoch, gEscalate_mode)


\* Drain(term, epoch) ----------------------------------------------------------------------------------------
\* Bring the leases to an end by the mode, then the device to rest.

\* control_stale_term: refused stale_term
GateDrainControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateDrainControlStaleTerm_when(gDrain, gDrain_term, gDrain_epoch) == gDrain_term < gDrain.term

\* control_unclaimed: refused unclaimed
GateDrainControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateDrainControlUnclaimed_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term < gDrain_term

\* control_stale_epoch: refused stale_epoch
GateDrainControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateDrainControlStaleEpoch_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch < gDrain.epoch

\* step_unknown_epoch: refused unknown_epoch
GateDrainStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateDrainStepUnknownEpoch_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch < gDrain_epoch

\* not_sealed: refused not_sealed
GateDrainNotSealed_states == {"OPEN", "REOPENED"}
GateDrainNotSealed_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state \in {"OPEN", "REOPENED"}
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch

\* drains: goes to DRAINING
GateDrainDrains_states == {"SEALED"}
GateDrainDrains_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state = "SEALED"
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch
    /\ ~((gDrain.active = {}) /\ (gDrain.orphaned = {}))
GateDrainDrains_next(gDrain, gDrain_term, gDrain_epoch) == [gDrain EXCEPT !.state = "DRAINING"]
GateDrainDrains_out(gDrain, gDrain_term, gDrain_epoch) ==
    <<[out |-> "StartDrain", epoch |-> gDrain.epoch, mode |-> gDrain.mode]>>

\* drains_2: goes to DRAINING
GateDrainDrains2_states == {"SEALED"}
GateDrainDrains2_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state = "SEALED"
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch
    /\ gDrain.active = {}
    /\ gDrain.orphaned = {}
GateDrainDrains2_next(gDrain, gDrain_term, gDrain_epoch) == [gDrain EXCEPT !.state = "DRAINING"]
GateDrainDrains2_out(gDrain, gDrain_term, gDrain_epoch) ==
    <<[out |-> "StartDrain", epoch |-> gDrain.epoch, mode |-> gDrain.mode],
      [out |-> "AskQuiesce", epoch |-> gDrain.epoch]>>

\* drains_ignore: ignored
GateDrainDrainsIgnore_states == {"SEALED"}
GateDrainDrainsIgnore_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state = "SEALED"
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch
    /\ (gDrain.active = {}) /\ (gDrain.orphaned = {})
    /\ ~((gDrain.active = {}) /\ (gDrain.orphaned = {}))

\* ignore: ignored
GateDrainIgnore_states == {"DRAINING"}
GateDrainIgnore_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state = "DRAINING"
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch

\* installing: refused installing, may be tried again
GateDrainInstalling_states == {"INSTALLING"}
GateDrainInstalling_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state = "INSTALLING"
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch

\* poisoned: refused poisoned
GateDrainPoisoned_states == {"POISONED"}
GateDrainPoisoned_when(gDrain, gDrain_term, gDrain_epoch) ==
    /\ gDrain.state = "POISONED"
    /\ gDrain_term >= gDrain.term
    /\ gDrain.term >= gDrain_term
    /\ gDrain_epoch >= gDrain.epoch
    /\ gDrain.epoch >= gDrain_epoch

\* the event as a whole
GateDrain_states == {"SEALED"}
GateDrain_acts(gDrain, gDrain_term, gDrain_epoch) ==
    \/ GateDrainDrains_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainDrains2_when(gDrain, gDrain_term, gDrain_epoch)
GateDrain_step(gDrain, gDrain_term, gDrain_epoch) ==
    CASE GateDrainDrains_when(gDrain, gDrain_term, gDrain_epoch) -> <<GateDrainDrains_next(gDrain, gDrain_term, gDrain_epoch), GateDrainDrains_out(gDrain, gDrain_term, gDrain_epoch)>>
      [] GateDrainDrains2_when(gDrain, gDrain_term, gDrain_epoch) -> <<GateDrainDrains2_next(gDrain, gDrain_term, gDrain_epoch), GateDrainDrains2_out(gDrain, gDrain_term, gDrain_epoch)>>
      [] OTHER -> <<>>
GateDrain(gDrain, gDrain_term, gDrain_epoch) ==
    CASE GateDrainDrains_when(gDrain, gDrain_term, gDrain_epoch) -> GateDrainDrains_next(gDrain, gDrain_term, gDrain_epoch)
      [] GateDrainDrains2_when(gDrain, gDrain_term, gDrain_epoch) -> GateDrainDrains2_next(gDrain, gDrain_term, gDrain_epoch)
      [] OTHER -> gDrain
GateDrain_rule(gDrain, gDrain_term, gDrain_epoch) ==
    CASE GateDrainControlStaleTerm_when(gDrain, gDrain_term, gDrain_epoch) -> "control_stale_term"
      [] GateDrainControlUnclaimed_when(gDrain, gDrain_term, gDrain_epoch) -> "control_unclaimed"
      [] GateDrainControlStaleEpoch_when(gDrain, gDrain_term, gDrain_epoch) -> "control_stale_epoch"
      [] GateDrainStepUnknownEpoch_when(gDrain, gDrain_term, gDrain_epoch) -> "step_unknown_epoch"
      [] GateDrainNotSealed_when(gDrain, gDrain_term, gDrain_epoch) -> "not_sealed"
      [] GateDrainDrains_when(gDrain, gDrain_term, gDrain_epoch) -> "drains"
      [] GateDrainDrains2_when(gDrain, gDrain_term, gDrain_epoch) -> "drains_2"
      [] GateDrainDrainsIgnore_when(gDrain, gDrain_term, gDrain_epoch) -> "drains_ignore"
      [] GateDrainIgnore_when(gDrain, gDrain_term, gDrain_epoch) -> "ignore"
      [] GateDrainInstalling_when(gDrain, gDrain_term, gDrain_epoch) -> "installing"
      [] GateDrainPoisoned_when(gDrain, gDrain_term, gDrain_epoch) -> "poisoned"
GateDrain_out(gDrain, gDrain_term, gDrain_epoch) ==
    CASE GateDrainDrains_when(gDrain, gDrain_term, gDrain_epoch) -> GateDrainDrains_out(gDrain, gDrain_term, gDrain_epoch)
      [] GateDrainDrains2_when(gDrain, gDrain_term, gDrain_epoch) -> GateDrainDrains2_out(gDrain, gDrain_term, gDrain_epoch)
      [] OTHER -> <<>>
GateDrain_refused(gDrain, gDrain_term, gDrain_epoch) ==
    \/ GateDrainControlStaleTerm_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainControlUnclaimed_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainControlStaleEpoch_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainStepUnknownEpoch_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainNotSealed_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainInstalling_when(gDrain, gDrain_term, gDrain_epoch)
    \/ GateDrainPoisoned_when(gDrain, gDrain_term, gDrain_epoch)


\* Quiesced(epoch, rank) -------------------------------------------------------------------------------------
\* The rank's device is idle.

\* answer_ignore: ignored
GateQuiescedAnswerIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateQuiescedAnswerIgnore_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) == gQuiesced_epoch # gQuiesced.epoch

\* ignore: ignored
GateQuiescedIgnore_states == {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
GateQuiescedIgnore_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    /\ gQuiesced.state \in {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
    /\ gQuiesced_epoch = gQuiesced.epoch

\* quiets: stays
GateQuiescedQuiets_states == {"DRAINING"}
GateQuiescedQuiets_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    /\ gQuiesced.state = "DRAINING"
    /\ gQuiesced_epoch = gQuiesced.epoch
    /\ gQuiesced.active = {}
    /\ gQuiesced.orphaned = {}
    /\ gQuiesced_rank \in gQuiesced.ranks
GateQuiescedQuiets_next(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    [gQuiesced EXCEPT !.quiet = gQuiesced.quiet \cup {gQuiesced_rank}]

\* quiets_ignore: ignored
GateQuiescedQuietsIgnore_states == {"DRAINING"}
GateQuiescedQuietsIgnore_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    /\ gQuiesced.state = "DRAINING"
    /\ gQuiesced_epoch = gQuiesced.epoch
    /\ ~((gQuiesced.active = {}) /\ (gQuiesced.orphaned = {}) /\ (gQuiesced_rank \in gQuiesced.ranks))

\* the event as a whole
GateQuiesced_states == {"DRAINING"}
GateQuiesced_acts(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    GateQuiescedQuiets_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank)
GateQuiesced_step(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    CASE GateQuiescedQuiets_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) -> <<GateQuiescedQuiets_next(gQuiesced, gQuiesced_epoch, gQuiesced_rank), <<>>>>
      [] OTHER -> <<>>
GateQuiesced(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    CASE GateQuiescedQuiets_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) -> GateQuiescedQuiets_next(gQuiesced, gQuiesced_epoch, gQuiesced_rank)
      [] OTHER -> gQuiesced
GateQuiesced_rule(gQuiesced, gQuiesced_epoch, gQuiesced_rank) ==
    CASE GateQuiescedAnswerIgnore_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) -> "answer_ignore"
      [] GateQuiescedIgnore_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) -> "ignore"
      [] GateQuiescedQuiets_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) -> "quiets"
      [] GateQuiescedQuietsIgnore_when(gQuiesced, gQuiesced_epoch, gQuiesced_rank) -> "quiets_ignore"
GateQuiesced_out(gQuiesced, gQuiesced_epoch, gQuiesced_rank) == <<>>
GateQuiesced_refused(gQuiesced, gQuiesced_epoch, gQuiesced_rank) == FALSE


\* Lend(term, epoch, lend) -----------------------------------------------------------------------------------
\* Give the device to the trainer.

\* control_stale_term: refused stale_term
GateLendControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateLendControlStaleTerm_when(gLend, gLend_term, gLend_epoch, gLend_lend) == gLend_term < gLend.term

\* control_unclaimed: refused unclaimed
GateLendControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateLendControlUnclaimed_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend_term >= gLend.term
    /\ gLend.term < gLend_term

\* control_stale_epoch: refused stale_epoch
GateLendControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateLendControlStaleEpoch_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch < gLend.epoch

\* step_unknown_epoch: refused unknown_epoch
GateLendStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateLendStepUnknownEpoch_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch < gLend_epoch

\* not_draining: refused not_draining
GateLendNotDraining_states == {"OPEN", "SEALED", "REOPENED"}
GateLendNotDraining_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend.state \in {"OPEN", "SEALED", "REOPENED"}
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch >= gLend_epoch

\* lends: stays
GateLendLends_states == {"DRAINING"}
GateLendLends_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend.state = "DRAINING"
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch >= gLend_epoch
    /\ gLend.active = {}
    /\ gLend.orphaned = {}
    /\ gLend.quiet = gLend.ranks
    /\ gLend.suspended = {}
    /\ gLend.lent = <<>>
GateLendLends_next(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    [gLend EXCEPT !.lent = <<gLend_lend>>, !.resident = FALSE]
GateLendLends_out(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    <<[out |-> "ReleaseMemory", lend |-> gLend_lend]>>

\* lends_lent_out: refused lent_out, may be tried again
GateLendLendsLentOut_states == {"DRAINING"}
GateLendLendsLentOut_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend.state = "DRAINING"
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch >= gLend_epoch
    /\ gLend.lent # <<>>

\* lends_not_drained: refused not_drained, may be tried again
GateLendLendsNotDrained_states == {"DRAINING"}
GateLendLendsNotDrained_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend.state = "DRAINING"
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch >= gLend_epoch
    /\ ~((gLend.active = {}) /\ (gLend.orphaned = {}) /\ (gLend.quiet = gLend.ranks) /\ (gLend.suspended = {}) /\ (gLend.lent = <<>>))
    /\ gLend.lent = <<>>

\* installing: refused installing, may be tried again
GateLendInstalling_states == {"INSTALLING"}
GateLendInstalling_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend.state = "INSTALLING"
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch >= gLend_epoch

\* poisoned: refused poisoned
GateLendPoisoned_states == {"POISONED"}
GateLendPoisoned_when(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    /\ gLend.state = "POISONED"
    /\ gLend_term >= gLend.term
    /\ gLend.term >= gLend_term
    /\ gLend_epoch >= gLend.epoch
    /\ gLend.epoch >= gLend_epoch

\* the event as a whole
GateLend_states == {"DRAINING"}
GateLend_acts(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    GateLendLends_when(gLend, gLend_term, gLend_epoch, gLend_lend)
GateLend_step(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    CASE GateLendLends_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> <<GateLendLends_next(gLend, gLend_term, gLend_epoch, gLend_lend), GateLendLends_out(gLend, gLend_term, gLend_epoch, gLend_lend)>>
      [] OTHER -> <<>>
GateLend(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    CASE GateLendLends_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> GateLendLends_next(gLend, gLend_term, gLend_epoch, gLend_lend)
      [] OTHER -> gLend
GateLend_rule(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    CASE GateLendControlStaleTerm_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "control_stale_term"
      [] GateLendControlUnclaimed_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "control_unclaimed"
      [] GateLendControlStaleEpoch_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "control_stale_epoch"
      [] GateLendStepUnknownEpoch_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "step_unknown_epoch"
      [] GateLendNotDraining_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "not_draining"
      [] GateLendLends_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "lends"
      [] GateLendLendsLentOut_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "lends_lent_out"
      [] GateLendLendsNotDrained_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "lends_not_drained"
      [] GateLendInstalling_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "installing"
      [] GateLendPoisoned_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> "poisoned"
GateLend_out(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    CASE GateLendLends_when(gLend, gLend_term, gLend_epoch, gLend_lend) -> GateLendLends_out(gLend, gLend_term, gLend_epoch, gLend_lend)
      [] OTHER -> <<>>
GateLend_refused(gLend, gLend_term, gLend_epoch, gLend_lend) ==
    \/ GateLendControlStaleTerm_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendControlUnclaimed_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendControlStaleEpoch_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendStepUnknownEpoch_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendNotDraining_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendLendsLentOut_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendLendsNotDrained_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendInstalling_when(gLend, gLend_term, gLend_epoch, gLend_lend)
    \/ GateLendPoisoned_when(gLend, gLend_term, gLend_epoch, gLend_lend)


\* Returned(term, epoch, lend) -------------------------------------------------------------------------------
\* The trainer no longer uses the device.

\* control_stale_term: refused stale_term
GateReturnedControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReturnedControlStaleTerm_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    gReturned_term < gReturned.term

\* control_unclaimed: refused unclaimed
GateReturnedControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReturnedControlUnclaimed_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    /\ gReturned_term >= gReturned.term
    /\ gReturned.term < gReturned_term

\* control_stale_epoch: refused stale_epoch
GateReturnedControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReturnedControlStaleEpoch_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    /\ gReturned_term >= gReturned.term
    /\ gReturned.term >= gReturned_term
    /\ gReturned_epoch < gReturned.epoch

\* step_unknown_epoch: refused unknown_epoch
GateReturnedStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReturnedStepUnknownEpoch_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    /\ gReturned_term >= gReturned.term
    /\ gReturned.term >= gReturned_term
    /\ gReturned_epoch >= gReturned.epoch
    /\ gReturned.epoch < gReturned_epoch

\* ignore: ignored
GateReturnedIgnore_states == {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
GateReturnedIgnore_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    /\ gReturned.state \in {"OPEN", "SEALED", "INSTALLING", "REOPENED", "POISONED"}
    /\ gReturned_term >= gReturned.term
    /\ gReturned.term >= gReturned_term
    /\ gReturned_epoch >= gReturned.epoch
    /\ gReturned.epoch >= gReturned_epoch

\* returns: stays
GateReturnedReturns_states == {"DRAINING"}
GateReturnedReturns_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    /\ gReturned.state = "DRAINING"
    /\ gReturned_term >= gReturned.term
    /\ gReturned.term >= gReturned_term
    /\ gReturned_epoch >= gReturned.epoch
    /\ gReturned.epoch >= gReturned_epoch
    /\ gReturned.lent = <<gReturned_lend>>
GateReturnedReturns_next(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    [gReturned EXCEPT !.lent = <<>>]

\* returns_ignore: ignored
GateReturnedReturnsIgnore_states == {"DRAINING"}
GateReturnedReturnsIgnore_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    /\ gReturned.state = "DRAINING"
    /\ gReturned_term >= gReturned.term
    /\ gReturned.term >= gReturned_term
    /\ gReturned_epoch >= gReturned.epoch
    /\ gReturned.epoch >= gReturned_epoch
    /\ gReturned.lent # <<gReturned_lend>>

\* the event as a whole
GateReturned_states == {"DRAINING"}
GateReturned_acts(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    GateReturnedReturns_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend)
GateReturned_step(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    CASE GateReturnedReturns_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> <<GateReturnedReturns_next(gReturned, gReturned_term, gReturned_epoch, gReturned_lend), <<>>>>
      [] OTHER -> <<>>
GateReturned(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    CASE GateReturnedReturns_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> GateReturnedReturns_next(gReturned, gReturned_term, gReturned_epoch, gReturned_lend)
      [] OTHER -> gReturned
GateReturned_rule(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    CASE GateReturnedControlStaleTerm_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "control_stale_term"
      [] GateReturnedControlUnclaimed_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "control_unclaimed"
      [] GateReturnedControlStaleEpoch_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "control_stale_epoch"
      [] GateReturnedStepUnknownEpoch_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "step_unknown_epoch"
      [] GateReturnedIgnore_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "ignore"
      [] GateReturnedReturns_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "returns"
      [] GateReturnedReturnsIgnore_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) -> "returns_ignore"
GateReturned_out(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) == <<>>
GateReturned_refused(gReturned, gReturned_term, gReturned_epoch, gReturned_lend) ==
    \/ GateReturnedControlStaleTerm_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend)
    \/ GateReturnedControlUnclaimed_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend)
    \/ GateReturnedControlStaleEpoch_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend)
    \/ GateReturnedStepUnknownEpoch_when(gReturned, gReturned_term, gReturned_epoch, gReturned_lend)


\* Renew(term, epoch, window) --------------------------------------------------------------------------------
\* Replace the timer by a new one.

\* control_stale_term: refused stale_term
GateRenewControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateRenewControlStaleTerm_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) == gRenew_term < gRenew.term

\* control_unclaimed: refused unclaimed
GateRenewControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateRenewControlUnclaimed_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    /\ gRenew_term >= gRenew.term
    /\ gRenew.term < gRenew_term

\* control_stale_epoch: refused stale_epoch
GateRenewControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateRenewControlStaleEpoch_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    /\ gRenew_term >= gRenew.term
    /\ gRenew.term >= gRenew_term
    /\ gRenew_epoch < gRenew.epoch

\* step_unknown_epoch: refused unknown_epoch
GateRenewStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateRenewStepUnknownEpoch_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    /\ gRenew_term >= gRenew.term
    /\ gRenew.term >= gRenew_term
    /\ gRenew_epoch >= gRenew.epoch
    /\ gRenew.epoch < gRenew_epoch

\* ignore: ignored
GateRenewIgnore_states == {"OPEN", "REOPENED", "POISONED"}
GateRenewIgnore_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    /\ gRenew.state \in {"OPEN", "REOPENED", "POISONED"}
    /\ gRenew_term >= gRenew.term
    /\ gRenew.term >= gRenew_term
    /\ gRenew_epoch >= gRenew.epoch
    /\ gRenew.epoch >= gRenew_epoch

\* renews: stays
GateRenewRenews_states == {"SEALED", "DRAINING", "INSTALLING"}
GateRenewRenews_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    /\ gRenew.state \in {"SEALED", "DRAINING", "INSTALLING"}
    /\ gRenew_term >= gRenew.term
    /\ gRenew.term >= gRenew_term
    /\ gRenew_epoch >= gRenew.epoch
    /\ gRenew.epoch >= gRenew_epoch
GateRenewRenews_next(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    [gRenew EXCEPT !.timer = gRenew.timer + 1, !.window = gRenew_window]
GateRenewRenews_out(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    <<[out |-> "StartTimer", epoch |-> gRenew.epoch, timer |-> gRenew.timer + 1, window |-> gRenew_window]>>

\* the event as a whole
GateRenew_states == {"SEALED", "DRAINING", "INSTALLING"}
GateRenew_acts(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    GateRenewRenews_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window)
GateRenew_step(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    CASE GateRenewRenews_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> <<GateRenewRenews_next(gRenew, gRenew_term, gRenew_epoch, gRenew_window), GateRenewRenews_out(gRenew, gRenew_term, gRenew_epoch, gRenew_window)>>
      [] OTHER -> <<>>
GateRenew(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    CASE GateRenewRenews_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> GateRenewRenews_next(gRenew, gRenew_term, gRenew_epoch, gRenew_window)
      [] OTHER -> gRenew
GateRenew_rule(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    CASE GateRenewControlStaleTerm_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> "control_stale_term"
      [] GateRenewControlUnclaimed_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> "control_unclaimed"
      [] GateRenewControlStaleEpoch_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> "control_stale_epoch"
      [] GateRenewStepUnknownEpoch_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> "step_unknown_epoch"
      [] GateRenewIgnore_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> "ignore"
      [] GateRenewRenews_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> "renews"
GateRenew_out(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    CASE GateRenewRenews_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window) -> GateRenewRenews_out(gRenew, gRenew_term, gRenew_epoch, gRenew_window)
      [] OTHER -> <<>>
GateRenew_refused(gRenew, gRenew_term, gRenew_epoch, gRenew_window) ==
    \/ GateRenewControlStaleTerm_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window)
    \/ GateRenewControlUnclaimed_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window)
    \/ GateRenewControlStaleEpoch_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window)
    \/ GateRenewStepUnknownEpoch_when(gRenew, gRenew_term, gRenew_epoch, gRenew_window)


\* Install(term, epoch, version, digests) --------------------------------------------------------------------
\* Load a version; digests name what every rank must hold afterwards.

\* control_stale_term: refused stale_term
GateInstallControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateInstallControlStaleTerm_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    gInstall_term < gInstall.term

\* control_unclaimed: refused unclaimed
GateInstallControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateInstallControlUnclaimed_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term < gInstall_term

\* control_stale_epoch: refused stale_epoch
GateInstallControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateInstallControlStaleEpoch_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch < gInstall.epoch

\* step_unknown_epoch: refused unknown_epoch
GateInstallStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateInstallStepUnknownEpoch_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch < gInstall_epoch

\* not_drained: refused not_drained, may be tried again
GateInstallNotDrained_states == {"OPEN", "SEALED", "REOPENED"}
GateInstallNotDrained_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state \in {"OPEN", "SEALED", "REOPENED"}
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch

\* installs: goes to INSTALLING
GateInstallInstalls_states == {"DRAINING"}
GateInstallInstalls_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "DRAINING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ gInstall.active = {}
    /\ gInstall.orphaned = {}
    /\ gInstall.quiet = gInstall.ranks
    /\ gInstall.lent = <<>>
    /\ ((gInstall.version = <<>>) \/ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) < gInstall_version) \/ ((~gInstall.resident) /\ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) = gInstall_version)))
    /\ (DOMAIN gInstall_digests) = gInstall.ranks
GateInstallInstalls_next(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    [gInstall EXCEPT
        !.state = "INSTALLING",
        !.target = <<gInstall_version>>,
        !.digests = gInstall_digests,
        !.verified = {}]
GateInstallInstalls_out(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    <<[out |-> "StartInstall", epoch |-> gInstall.epoch, version |-> gInstall_version]>>

\* installs_not_newer: refused not_newer
GateInstallInstallsNotNewer_states == {"DRAINING"}
GateInstallInstallsNotNewer_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "DRAINING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ gInstall.active = {}
    /\ gInstall.orphaned = {}
    /\ gInstall.quiet = gInstall.ranks
    /\ gInstall.lent = <<>>
    /\ (~((gInstall.version = <<>>) \/ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) < gInstall_version) \/ ((~gInstall.resident) /\ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) = gInstall_version))))

\* installs_incomplete: refused incomplete
GateInstallInstallsIncomplete_states == {"DRAINING"}
GateInstallInstallsIncomplete_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "DRAINING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ gInstall.active = {}
    /\ gInstall.orphaned = {}
    /\ gInstall.quiet = gInstall.ranks
    /\ gInstall.lent = <<>>
    /\ ((gInstall.version = <<>>) \/ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) < gInstall_version) \/ ((~gInstall.resident) /\ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) = gInstall_version)))
    /\ (DOMAIN gInstall_digests) # gInstall.ranks

\* installs_lent_out: refused lent_out, may be tried again
GateInstallInstallsLentOut_states == {"DRAINING"}
GateInstallInstallsLentOut_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "DRAINING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ gInstall.lent # <<>>

\* installs_not_drained: refused not_drained, may be tried again
GateInstallInstallsNotDrained_states == {"DRAINING"}
GateInstallInstallsNotDrained_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "DRAINING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ (~((gInstall.active = {}) /\ (gInstall.orphaned = {}) /\ (gInstall.quiet = gInstall.ranks) /\ (gInstall.lent = <<>>) /\ ((gInstall.version = <<>>) \/ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) < gInstall_version) \/ ((~gInstall.resident) /\ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) = gInstall_version))) /\ ((DOMAIN gInstall_digests) = gInstall.ranks)))
    /\ (~((gInstall.active = {}) /\ (gInstall.orphaned = {}) /\ (gInstall.quiet = gInstall.ranks) /\ (gInstall.lent = <<>>) /\ (~((gInstall.version = <<>>) \/ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) < gInstall_version) \/ ((~gInstall.resident) /\ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) = gInstall_version))))))
    /\ (~((gInstall.active = {}) /\ (gInstall.orphaned = {}) /\ (gInstall.quiet = gInstall.ranks) /\ (gInstall.lent = <<>>) /\ ((gInstall.version = <<>>) \/ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) < gInstall_version) \/ ((~gInstall.resident) /\ ((IF gInstall.version = <<>> THEN 0 ELSE gInstall.version[1]) = gInstall_version))) /\ ((DOMAIN gInstall_digests) # gInstall.ranks)))
    /\ gInstall.lent = <<>>

\* same_target_ignore: ignored
GateInstallSameTargetIgnore_states == {"INSTALLING"}
GateInstallSameTargetIgnore_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "INSTALLING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ gInstall.target = <<gInstall_version>>
    /\ gInstall.digests = gInstall_digests

\* same_target_installing: refused installing, may be tried again
GateInstallSameTargetInstalling_states == {"INSTALLING"}
GateInstallSameTargetInstalling_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "INSTALLING"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch
    /\ ~((gInstall.target = <<gInstall_version>>) /\ (gInstall.digests = gInstall_digests))

\* poisoned: refused poisoned
GateInstallPoisoned_states == {"POISONED"}
GateInstallPoisoned_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    /\ gInstall.state = "POISONED"
    /\ gInstall_term >= gInstall.term
    /\ gInstall.term >= gInstall_term
    /\ gInstall_epoch >= gInstall.epoch
    /\ gInstall.epoch >= gInstall_epoch

\* the event as a whole
GateInstall_states == {"DRAINING"}
GateInstall_acts(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    GateInstallInstalls_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
GateInstall_step(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    CASE GateInstallInstalls_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> <<GateInstallInstalls_next(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests), GateInstallInstalls_out(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)>>
      [] OTHER -> <<>>
GateInstall(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    CASE GateInstallInstalls_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> GateInstallInstalls_next(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
      [] OTHER -> gInstall
GateInstall_rule(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    CASE GateInstallControlStaleTerm_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "control_stale_term"
      [] GateInstallControlUnclaimed_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "control_unclaimed"
      [] GateInstallControlStaleEpoch_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "control_stale_epoch"
      [] GateInstallStepUnknownEpoch_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "step_unknown_epoch"
      [] GateInstallNotDrained_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "not_drained"
      [] GateInstallInstalls_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "installs"
      [] GateInstallInstallsNotNewer_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "installs_not_newer"
      [] GateInstallInstallsIncomplete_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "installs_incomplete"
      [] GateInstallInstallsLentOut_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "installs_lent_out"
      [] GateInstallInstallsNotDrained_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "installs_not_drained"
      [] GateInstallSameTargetIgnore_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "same_target_ignore"
      [] GateInstallSameTargetInstalling_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "same_target_installing"
      [] GateInstallPoisoned_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> "poisoned"
GateInstall_out(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    CASE GateInstallInstalls_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) -> GateInstallInstalls_out(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
      [] OTHER -> <<>>
GateInstall_refused(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests) ==
    \/ GateInstallControlStaleTerm_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallControlUnclaimed_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallControlStaleEpoch_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallStepUnknownEpoch_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallNotDrained_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallInstallsNotNewer_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallInstallsIncomplete_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallInstallsLentOut_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallInstallsNotDrained_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallSameTargetInstalling_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)
    \/ GateInstallPoisoned_when(gInstall, gInstall_term, gInstall_epoch, gInstall_version, gInstall_digests)


\* Installed(epoch, rank, digest) ----------------------------------------------------------------------------
\* The rank holds weights of this digest.

\* answer_ignore: ignored
GateInstalledAnswerIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateInstalledAnswerIgnore_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    gInstalled_epoch # gInstalled.epoch

\* not_installing: refused not_installing
GateInstalledNotInstalling_states == {"OPEN", "SEALED", "DRAINING"}
GateInstalledNotInstalling_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    /\ gInstalled.state \in {"OPEN", "SEALED", "DRAINING"}
    /\ gInstalled_epoch = gInstalled.epoch

\* proves: stays
GateInstalledProves_states == {"INSTALLING"}
GateInstalledProves_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    /\ gInstalled.state = "INSTALLING"
    /\ gInstalled_epoch = gInstalled.epoch
    /\ (IF gInstalled_rank \in DOMAIN gInstalled.digests THEN <<gInstalled.digests[gInstalled_rank]>> ELSE <<>>) = <<gInstalled_digest>>
    /\ (gInstalled.verified \cup {gInstalled_rank}) # gInstalled.ranks
GateInstalledProves_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    [gInstalled EXCEPT !.verified = gInstalled.verified \cup {gInstalled_rank}]

\* proves_2: stays
GateInstalledProves2_states == {"INSTALLING"}
GateInstalledProves2_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    /\ gInstalled.state = "INSTALLING"
    /\ gInstalled_epoch = gInstalled.epoch
    /\ (IF gInstalled_rank \in DOMAIN gInstalled.digests THEN <<gInstalled.digests[gInstalled_rank]>> ELSE <<>>) = <<gInstalled_digest>>
    /\ (gInstalled.verified \cup {gInstalled_rank}) = gInstalled.ranks
GateInstalledProves2_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    [gInstalled EXCEPT
        !.verified = gInstalled.verified \cup {gInstalled_rank},
        !.version = gInstalled.target,
        !.resident = TRUE]

\* proves_otherwise: goes to POISONED
GateInstalledProvesOtherwise_states == {"INSTALLING"}
GateInstalledProvesOtherwise_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    /\ gInstalled.state = "INSTALLING"
    /\ gInstalled_epoch = gInstalled.epoch
    /\ ~(((IF gInstalled_rank \in DOMAIN gInstalled.digests THEN <<gInstalled.digests[gInstalled_rank]>> ELSE <<>>) = <<gInstalled_digest>>) /\ ((gInstalled.verified \cup {gInstalled_rank}) # gInstalled.ranks))
    /\ ~(((IF gInstalled_rank \in DOMAIN gInstalled.digests THEN <<gInstalled.digests[gInstalled_rank]>> ELSE <<>>) = <<gInstalled_digest>>) /\ ((gInstalled.verified \cup {gInstalled_rank}) = gInstalled.ranks))
GateInstalledProvesOtherwise_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    [gInstalled EXCEPT !.state = "POISONED"]
GateInstalledProvesOtherwise_out(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    <<[out |-> "AbortSuspended", leases |-> gInstalled.suspended]>>

\* ignore: ignored
GateInstalledIgnore_states == {"REOPENED", "POISONED"}
GateInstalledIgnore_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    /\ gInstalled.state \in {"REOPENED", "POISONED"}
    /\ gInstalled_epoch = gInstalled.epoch

\* the event as a whole
GateInstalled_states == {"INSTALLING"}
GateInstalled_acts(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    \/ GateInstalledProves_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
    \/ GateInstalledProves2_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
    \/ GateInstalledProvesOtherwise_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
GateInstalled_step(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    CASE GateInstalledProves_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> <<GateInstalledProves_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest), <<>>>>
      [] GateInstalledProves2_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> <<GateInstalledProves2_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest), <<>>>>
      [] GateInstalledProvesOtherwise_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> <<GateInstalledProvesOtherwise_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest), GateInstalledProvesOtherwise_out(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)>>
      [] OTHER -> <<>>
GateInstalled(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    CASE GateInstalledProves_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> GateInstalledProves_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
      [] GateInstalledProves2_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> GateInstalledProves2_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
      [] GateInstalledProvesOtherwise_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> GateInstalledProvesOtherwise_next(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
      [] OTHER -> gInstalled
GateInstalled_rule(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    CASE GateInstalledAnswerIgnore_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> "answer_ignore"
      [] GateInstalledNotInstalling_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> "not_installing"
      [] GateInstalledProves_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> "proves"
      [] GateInstalledProves2_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> "proves_2"
      [] GateInstalledProvesOtherwise_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> "proves_otherwise"
      [] GateInstalledIgnore_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> "ignore"
GateInstalled_out(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    CASE GateInstalledProvesOtherwise_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) -> GateInstalledProvesOtherwise_out(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)
      [] OTHER -> <<>>
GateInstalled_refused(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest) ==
    GateInstalledNotInstalling_when(gInstalled, gInstalled_epoch, gInstalled_rank, gInstalled_digest)


\* InstallFailed(epoch, rank, why) ---------------------------------------------------------------------------
\* The rank could not install.

\* answer_ignore: ignored
GateInstallFailedAnswerIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateInstallFailedAnswerIgnore_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    gInstallFailed_epoch # gInstallFailed.epoch

\* not_installing: refused not_installing
GateInstallFailedNotInstalling_states == {"OPEN", "SEALED", "DRAINING", "REOPENED"}
GateInstallFailedNotInstalling_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    /\ gInstallFailed.state \in {"OPEN", "SEALED", "DRAINING", "REOPENED"}
    /\ gInstallFailed_epoch = gInstallFailed.epoch

\* fails: goes to POISONED
GateInstallFailedFails_states == {"INSTALLING"}
GateInstallFailedFails_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    /\ gInstallFailed.state = "INSTALLING"
    /\ gInstallFailed_epoch = gInstallFailed.epoch
GateInstallFailedFails_next(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    [gInstallFailed EXCEPT !.state = "POISONED"]
GateInstallFailedFails_out(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    <<[out |-> "AbortSuspended", leases |-> gInstallFailed.suspended]>>

\* ignore: ignored
GateInstallFailedIgnore_states == {"POISONED"}
GateInstallFailedIgnore_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    /\ gInstallFailed.state = "POISONED"
    /\ gInstallFailed_epoch = gInstallFailed.epoch

\* the event as a whole
GateInstallFailed_states == {"INSTALLING"}
GateInstallFailed_acts(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    GateInstallFailedFails_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank)
GateInstallFailed_step(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    CASE GateInstallFailedFails_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> <<GateInstallFailedFails_next(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank), GateInstallFailedFails_out(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank)>>
      [] OTHER -> <<>>
GateInstallFailed(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    CASE GateInstallFailedFails_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> GateInstallFailedFails_next(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank)
      [] OTHER -> gInstallFailed
GateInstallFailed_rule(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    CASE GateInstallFailedAnswerIgnore_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> "answer_ignore"
      [] GateInstallFailedNotInstalling_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> "not_installing"
      [] GateInstallFailedFails_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> "fails"
      [] GateInstallFailedIgnore_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> "ignore"
GateInstallFailed_out(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    CASE GateInstallFailedFails_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) -> GateInstallFailedFails_out(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank)
      [] OTHER -> <<>>
GateInstallFailed_refused(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank) ==
    GateInstallFailedNotInstalling_when(gInstallFailed, gInstallFailed_epoch, gInstallFailed_rank)


\* Reopen(term, epoch) ---------------------------------------------------------------------------------------
\* Serve again after an install.

\* control_stale_term: refused stale_term
GateReopenControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReopenControlStaleTerm_when(gReopen, gReopen_term, gReopen_epoch) == gReopen_term < gReopen.term

\* control_unclaimed: refused unclaimed
GateReopenControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReopenControlUnclaimed_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term < gReopen_term

\* control_stale_epoch: refused stale_epoch
GateReopenControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReopenControlStaleEpoch_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch < gReopen.epoch

\* step_unknown_epoch: refused unknown_epoch
GateReopenStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateReopenStepUnknownEpoch_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch >= gReopen.epoch
    /\ gReopen.epoch < gReopen_epoch

\* ignore: ignored
GateReopenIgnore_states == {"OPEN", "REOPENED"}
GateReopenIgnore_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen.state \in {"OPEN", "REOPENED"}
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch >= gReopen.epoch
    /\ gReopen.epoch >= gReopen_epoch

\* not_verified: refused not_verified, may be tried again
GateReopenNotVerified_states == {"SEALED", "DRAINING"}
GateReopenNotVerified_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen.state \in {"SEALED", "DRAINING"}
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch >= gReopen.epoch
    /\ gReopen.epoch >= gReopen_epoch

\* reopens: goes to REOPENED
GateReopenReopens_states == {"INSTALLING"}
GateReopenReopens_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen.state = "INSTALLING"
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch >= gReopen.epoch
    /\ gReopen.epoch >= gReopen_epoch
    /\ gReopen.verified = gReopen.ranks
GateReopenReopens_next(gReopen, gReopen_term, gReopen_epoch) == [gReopen EXCEPT !.state = "REOPENED"]
GateReopenReopens_out(gReopen, gReopen_term, gReopen_epoch) ==
    <<[out |-> "ThawAll", epoch |-> gReopen.epoch, leases |-> gReopen.active \cup gReopen.suspended],
      [out |-> "StartTimer", epoch |-> gReopen.epoch, timer |-> gReopen.timer, window |-> gReopen.window]>>

\* reopens_not_verified: refused not_verified, may be tried again
GateReopenReopensNotVerified_states == {"INSTALLING"}
GateReopenReopensNotVerified_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen.state = "INSTALLING"
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch >= gReopen.epoch
    /\ gReopen.epoch >= gReopen_epoch
    /\ gReopen.verified # gReopen.ranks

\* poisoned: refused poisoned
GateReopenPoisoned_states == {"POISONED"}
GateReopenPoisoned_when(gReopen, gReopen_term, gReopen_epoch) ==
    /\ gReopen.state = "POISONED"
    /\ gReopen_term >= gReopen.term
    /\ gReopen.term >= gReopen_term
    /\ gReopen_epoch >= gReopen.epoch
    /\ gReopen.epoch >= gReopen_epoch

\* the event as a whole
GateReopen_states == {"INSTALLING"}
GateReopen_acts(gReopen, gReopen_term, gReopen_epoch) ==
    GateReopenReopens_when(gReopen, gReopen_term, gReopen_epoch)
GateReopen_step(gReopen, gReopen_term, gReopen_epoch) ==
    CASE GateReopenReopens_when(gReopen, gReopen_term, gReopen_epoch) -> <<GateReopenReopens_next(gReopen, gReopen_term, gReopen_epoch), GateReopenReopens_out(gReopen, gReopen_term, gReopen_epoch)>>
      [] OTHER -> <<>>
GateReopen(gReopen, gReopen_term, gReopen_epoch) ==
    CASE GateReopenReopens_when(gReopen, gReopen_term, gReopen_epoch) -> GateReopenReopens_next(gReopen, gReopen_term, gReopen_epoch)
      [] OTHER -> gReopen
GateReopen_rule(gReopen, gReopen_term, gReopen_epoch) ==
    CASE GateReopenControlStaleTerm_when(gReopen, gReopen_term, gReopen_epoch) -> "control_stale_term"
      [] GateReopenControlUnclaimed_when(gReopen, gReopen_term, gReopen_epoch) -> "control_unclaimed"
      [] GateReopenControlStaleEpoch_when(gReopen, gReopen_term, gReopen_epoch) -> "control_stale_epoch"
      [] GateReopenStepUnknownEpoch_when(gReopen, gReopen_term, gReopen_epoch) -> "step_unknown_epoch"
      [] GateReopenIgnore_when(gReopen, gReopen_term, gReopen_epoch) -> "ignore"
      [] GateReopenNotVerified_when(gReopen, gReopen_term, gReopen_epoch) -> "not_verified"
      [] GateReopenReopens_when(gReopen, gReopen_term, gReopen_epoch) -> "reopens"
      [] GateReopenReopensNotVerified_when(gReopen, gReopen_term, gReopen_epoch) -> "reopens_not_verified"
      [] GateReopenPoisoned_when(gReopen, gReopen_term, gReopen_epoch) -> "poisoned"
GateReopen_out(gReopen, gReopen_term, gReopen_epoch) ==
    CASE GateReopenReopens_when(gReopen, gReopen_term, gReopen_epoch) -> GateReopenReopens_out(gReopen, gReopen_term, gReopen_epoch)
      [] OTHER -> <<>>
GateReopen_refused(gReopen, gReopen_term, gReopen_epoch) ==
    \/ GateReopenControlStaleTerm_when(gReopen, gReopen_term, gReopen_epoch)
    \/ GateReopenControlUnclaimed_when(gReopen, gReopen_term, gReopen_epoch)
    \/ GateReopenControlStaleEpoch_when(gReopen, gReopen_term, gReopen_epoch)
    \/ GateReopenStepUnknownEpoch_when(gReopen, gReopen_term, gReopen_epoch)
    \/ GateReopenNotVerified_when(gReopen, gReopen_term, gReopen_epoch)
    \/ GateReopenReopensNotVerified_when(gReopen, gReopen_term, gReopen_epoch)
    \/ GateReopenPoisoned_when(gReopen, gReopen_term, gReopen_epoch)


\* Resume(term, epoch) ---------------------------------------------------------------------------------------
\* Reopen on the weights that are resident.

\* control_stale_term: refused stale_term
GateResumeControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateResumeControlStaleTerm_when(gResume, gResume_term, gResume_epoch) == gResume_term < gResume.term

\* control_unclaimed: refused unclaimed
GateResumeControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateResumeControlUnclaimed_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume_term >= gResume.term
    /\ gResume.term < gResume_term

\* control_stale_epoch: refused stale_epoch
GateResumeControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateResumeControlStaleEpoch_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch < gResume.epoch

\* resumes_open: stays
GateResumeResumesOpen_states == {"OPEN"}
GateResumeResumesOpen_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "OPEN"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume.epoch < gResume_epoch
GateResumeResumesOpen_next(gResume, gResume_term, gResume_epoch) == [gResume EXCEPT !.epoch = gResume_epoch]

\* resumes_open_ignore: ignored
GateResumeResumesOpenIgnore_states == {"OPEN"}
GateResumeResumesOpenIgnore_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "OPEN"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume.epoch >= gResume_epoch

\* resumes: goes to REOPENED
GateResumeResumes_states == {"SEALED"}
GateResumeResumes_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "SEALED"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume_epoch = gResume.epoch
    /\ gResume.resident
GateResumeResumes_next(gResume, gResume_term, gResume_epoch) == [gResume EXCEPT !.state = "REOPENED"]
GateResumeResumes_out(gResume, gResume_term, gResume_epoch) ==
    <<[out |-> "ThawAll", epoch |-> gResume.epoch, leases |-> gResume.active \cup gResume.suspended],
      [out |-> "StartTimer", epoch |-> gResume.epoch, timer |-> gResume.timer, window |-> gResume.window]>>

\* resumes_unknown_epoch: refused unknown_epoch
GateResumeResumesUnknownEpoch_states == {"SEALED"}
GateResumeResumesUnknownEpoch_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "SEALED"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume.epoch < gResume_epoch

\* resumes_not_resident: refused not_resident
GateResumeResumesNotResident_states == {"SEALED"}
GateResumeResumesNotResident_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "SEALED"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ ~((gResume_epoch = gResume.epoch) /\ gResume.resident)
    /\ gResume.epoch >= gResume_epoch

\* resumes_draining: goes to REOPENED
GateResumeResumesDraining_states == {"DRAINING"}
GateResumeResumesDraining_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "DRAINING"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume_epoch = gResume.epoch
    /\ gResume.resident
    /\ gResume.lent = <<>>
GateResumeResumesDraining_next(gResume, gResume_term, gResume_epoch) == [gResume EXCEPT !.state = "REOPENED"]
GateResumeResumesDraining_out(gResume, gResume_term, gResume_epoch) ==
    <<[out |-> "ThawAll", epoch |-> gResume.epoch, leases |-> gResume.active \cup gResume.suspended],
      [out |-> "StartTimer", epoch |-> gResume.epoch, timer |-> gResume.timer, window |-> gResume.window]>>

\* resumes_draining_unknown_epoch: refused unknown_epoch
GateResumeResumesDrainingUnknownEpoch_states == {"DRAINING"}
GateResumeResumesDrainingUnknownEpoch_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "DRAINING"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume.epoch < gResume_epoch

\* resumes_draining_lent_out: refused lent_out, may be tried again
GateResumeResumesDrainingLentOut_states == {"DRAINING"}
GateResumeResumesDrainingLentOut_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "DRAINING"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume_epoch = gResume.epoch
    /\ gResume.lent # <<>>

\* resumes_draining_not_resident: refused not_resident
GateResumeResumesDrainingNotResident_states == {"DRAINING"}
GateResumeResumesDrainingNotResident_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "DRAINING"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ ~((gResume_epoch = gResume.epoch) /\ gResume.resident /\ (gResume.lent = <<>>))
    /\ gResume.epoch >= gResume_epoch
    /\ ~((gResume_epoch = gResume.epoch) /\ (gResume.lent # <<>>))

\* installing: refused installing, may be tried again
GateResumeInstalling_states == {"INSTALLING"}
GateResumeInstalling_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "INSTALLING"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch

\* resumes_again_unknown_epoch: refused unknown_epoch
GateResumeResumesAgainUnknownEpoch_states == {"REOPENED"}
GateResumeResumesAgainUnknownEpoch_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "REOPENED"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume.epoch < gResume_epoch

\* resumes_again_ignore: ignored
GateResumeResumesAgainIgnore_states == {"REOPENED"}
GateResumeResumesAgainIgnore_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "REOPENED"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch
    /\ gResume.epoch >= gResume_epoch

\* poisoned: refused poisoned
GateResumePoisoned_states == {"POISONED"}
GateResumePoisoned_when(gResume, gResume_term, gResume_epoch) ==
    /\ gResume.state = "POISONED"
    /\ gResume_term >= gResume.term
    /\ gResume.term >= gResume_term
    /\ gResume_epoch >= gResume.epoch

\* the event as a whole
GateResume_states == {"SEALED", "DRAINING", "OPEN"}
GateResume_acts(gResume, gResume_term, gResume_epoch) ==
    \/ GateResumeResumesOpen_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumes_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesDraining_when(gResume, gResume_term, gResume_epoch)
GateResume_step(gResume, gResume_term, gResume_epoch) ==
    CASE GateResumeResumesOpen_when(gResume, gResume_term, gResume_epoch) -> <<GateResumeResumesOpen_next(gResume, gResume_term, gResume_epoch), <<>>>>
      [] GateResumeResumes_when(gResume, gResume_term, gResume_epoch) -> <<GateResumeResumes_next(gResume, gResume_term, gResume_epoch), GateResumeResumes_out(gResume, gResume_term, gResume_epoch)>>
      [] GateResumeResumesDraining_when(gResume, gResume_term, gResume_epoch) -> <<GateResumeResumesDraining_next(gResume, gResume_term, gResume_epoch), GateResumeResumesDraining_out(gResume, gResume_term, gResume_epoch)>>
      [] OTHER -> <<>>
GateResume(gResume, gResume_term, gResume_epoch) ==
    CASE GateResumeResumesOpen_when(gResume, gResume_term, gResume_epoch) -> GateResumeResumesOpen_next(gResume, gResume_term, gResume_epoch)
      [] GateResumeResumes_when(gResume, gResume_term, gResume_epoch) -> GateResumeResumes_next(gResume, gResume_term, gResume_epoch)
      [] GateResumeResumesDraining_when(gResume, gResume_term, gResume_epoch) -> GateResumeResumesDraining_next(gResume, gResume_term, gResume_epoch)
      [] OTHER -> gResume
GateResume_rule(gResume, gResume_term, gResume_epoch) ==
    CASE GateResumeControlStaleTerm_when(gResume, gResume_term, gResume_epoch) -> "control_stale_term"
      [] GateResumeControlUnclaimed_when(gResume, gResume_term, gResume_epoch) -> "control_unclaimed"
      [] GateResumeControlStaleEpoch_when(gResume, gResume_term, gResume_epoch) -> "control_stale_epoch"
      [] GateResumeResumesOpen_when(gResume, gResume_term, gResume_epoch) -> "resumes_open"
      [] GateResumeResumesOpenIgnore_when(gResume, gResume_term, gResume_epoch) -> "resumes_open_ignore"
      [] GateResumeResumes_when(gResume, gResume_term, gResume_epoch) -> "resumes"
      [] GateResumeResumesUnknownEpoch_when(gResume, gResume_term, gResume_epoch) -> "resumes_unknown_epoch"
      [] GateResumeResumesNotResident_when(gResume, gResume_term, gResume_epoch) -> "resumes_not_resident"
      [] GateResumeResumesDraining_when(gResume, gResume_term, gResume_epoch) -> "resumes_draining"
      [] GateResumeResumesDrainingUnknownEpoch_when(gResume, gResume_term, gResume_epoch) -> "resumes_draining_unknown_epoch"
      [] GateResumeResumesDrainingLentOut_when(gResume, gResume_term, gResume_epoch) -> "resumes_draining_lent_out"
      [] GateResumeResumesDrainingNotResident_when(gResume, gResume_term, gResume_epoch) -> "resumes_draining_not_resident"
      [] GateResumeInstalling_when(gResume, gResume_term, gResume_epoch) -> "installing"
      [] GateResumeResumesAgainUnknownEpoch_when(gResume, gResume_term, gResume_epoch) -> "resumes_again_unknown_epoch"
      [] GateResumeResumesAgainIgnore_when(gResume, gResume_term, gResume_epoch) -> "resumes_again_ignore"
      [] GateResumePoisoned_when(gResume, gResume_term, gResume_epoch) -> "poisoned"
GateResume_out(gResume, gResume_term, gResume_epoch) ==
    CASE GateResumeResumes_when(gResume, gResume_term, gResume_epoch) -> GateResumeResumes_out(gResume, gResume_term, gResume_epoch)
      [] GateResumeResumesDraining_when(gResume, gResume_term, gResume_epoch) -> GateResumeResumesDraining_out(gResume, gResume_term, gResume_epoch)
      [] OTHER -> <<>>
GateResume_refused(gResume, gResume_term, gResume_epoch) ==
    \/ GateResumeControlStaleTerm_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeControlUnclaimed_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeControlStaleEpoch_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesUnknownEpoch_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesNotResident_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesDrainingUnknownEpoch_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesDrainingLentOut_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesDrainingNotResident_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeInstalling_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumeResumesAgainUnknownEpoch_when(gResume, gResume_term, gResume_epoch)
    \/ GateResumePoisoned_when(gResume, gResume_term, gResume_epoch)


\* Close(term, epoch) ----------------------------------------------------------------------------------------
\* The operation is over: from reopened to open.

\* control_stale_term: refused stale_term
GateCloseControlStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateCloseControlStaleTerm_when(gClose, gClose_term, gClose_epoch) == gClose_term < gClose.term

\* control_unclaimed: refused unclaimed
GateCloseControlUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateCloseControlUnclaimed_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose_term >= gClose.term
    /\ gClose.term < gClose_term

\* control_stale_epoch: refused stale_epoch
GateCloseControlStaleEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateCloseControlStaleEpoch_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch < gClose.epoch

\* step_unknown_epoch: refused unknown_epoch
GateCloseStepUnknownEpoch_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateCloseStepUnknownEpoch_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch >= gClose.epoch
    /\ gClose.epoch < gClose_epoch

\* ignore: ignored
GateCloseIgnore_states == {"OPEN"}
GateCloseIgnore_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose.state = "OPEN"
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch >= gClose.epoch
    /\ gClose.epoch >= gClose_epoch

\* not_reopened: refused not_reopened
GateCloseNotReopened_states == {"SEALED", "DRAINING", "INSTALLING"}
GateCloseNotReopened_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose.state \in {"SEALED", "DRAINING", "INSTALLING"}
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch >= gClose.epoch
    /\ gClose.epoch >= gClose_epoch

\* closes: goes to OPEN
GateCloseCloses_states == {"REOPENED"}
GateCloseCloses_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose.state = "REOPENED"
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch >= gClose.epoch
    /\ gClose.epoch >= gClose_epoch
    /\ gClose.suspended = {}
GateCloseCloses_next(gClose, gClose_term, gClose_epoch) == [gClose EXCEPT !.state = "OPEN"]

\* closes_still_suspended: refused still_suspended, may be tried again
GateCloseClosesStillSuspended_states == {"REOPENED"}
GateCloseClosesStillSuspended_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose.state = "REOPENED"
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch >= gClose.epoch
    /\ gClose.epoch >= gClose_epoch
    /\ gClose.suspended # {}

\* poisoned: refused poisoned
GateClosePoisoned_states == {"POISONED"}
GateClosePoisoned_when(gClose, gClose_term, gClose_epoch) ==
    /\ gClose.state = "POISONED"
    /\ gClose_term >= gClose.term
    /\ gClose.term >= gClose_term
    /\ gClose_epoch >= gClose.epoch
    /\ gClose.epoch >= gClose_epoch

\* the event as a whole
GateClose_states == {"REOPENED"}
GateClose_acts(gClose, gClose_term, gClose_epoch) == GateCloseCloses_when(gClose, gClose_term, gClose_epoch)
GateClose_step(gClose, gClose_term, gClose_epoch) ==
    CASE GateCloseCloses_when(gClose, gClose_term, gClose_epoch) -> <<GateCloseCloses_next(gClose, gClose_term, gClose_epoch), <<>>>>
      [] OTHER -> <<>>
GateClose(gClose, gClose_term, gClose_epoch) ==
    CASE GateCloseCloses_when(gClose, gClose_term, gClose_epoch) -> GateCloseCloses_next(gClose, gClose_term, gClose_epoch)
      [] OTHER -> gClose
GateClose_rule(gClose, gClose_term, gClose_epoch) ==
    CASE GateCloseControlStaleTerm_when(gClose, gClose_term, gClose_epoch) -> "control_stale_term"
      [] GateCloseControlUnclaimed_when(gClose, gClose_term, gClose_epoch) -> "control_unclaimed"
      [] GateCloseControlStaleEpoch_when(gClose, gClose_term, gClose_epoch) -> "control_stale_epoch"
      [] GateCloseStepUnknownEpoch_when(gClose, gClose_term, gClose_epoch) -> "step_unknown_epoch"
      [] GateCloseIgnore_when(gClose, gClose_term, gClose_epoch) -> "ignore"
      [] GateCloseNotReopened_when(gClose, gClose_term, gClose_epoch) -> "not_reopened"
      [] GateCloseCloses_when(gClose, gClose_term, gClose_epoch) -> "closes"
      [] GateCloseClosesStillSuspended_when(gClose, gClose_term, gClose_epoch) -> "closes_still_suspended"
      [] GateClosePoisoned_when(gClose, gClose_term, gClose_epoch) -> "poisoned"
GateClose_out(gClose, gClose_term, gClose_epoch) == <<>>
GateClose_refused(gClose, gClose_term, gClose_epoch) ==
    \/ GateCloseControlStaleTerm_when(gClose, gClose_term, gClose_epoch)
    \/ GateCloseControlUnclaimed_when(gClose, gClose_term, gClose_epoch)
    \/ GateCloseControlStaleEpoch_when(gClose, gClose_term, gClose_epoch)
    \/ GateCloseStepUnknownEpoch_when(gClose, gClose_term, gClose_epoch)
    \/ GateCloseNotReopened_when(gClose, gClose_term, gClose_epoch)
    \/ GateCloseClosesStillSuspended_when(gClose, gClose_term, gClose_epoch)
    \/ GateClosePoisoned_when(gClose, gClose_term, gClose_epoch)


\* Deadline(epoch, timer) ------------------------------------------------------------------------------------
\* The timer of this number ran out.

\* answer_ignore: ignored
GateDeadlineAnswerIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateDeadlineAnswerIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    gDeadline_epoch # gDeadline.epoch

\* deadline_ignore: ignored
GateDeadlineDeadlineIgnore_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GateDeadlineDeadlineIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer # gDeadline.timer

\* ignore: ignored
GateDeadlineIgnore_states == {"OPEN", "POISONED"}
GateDeadlineIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state \in {"OPEN", "POISONED"}
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer

\* expires_sealed: goes to REOPENED
GateDeadlineExpiresSealed_states == {"SEALED"}
GateDeadlineExpiresSealed_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "SEALED"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.resident
GateDeadlineExpiresSealed_next(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    [gDeadline EXCEPT !.state = "REOPENED"]
GateDeadlineExpiresSealed_out(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    <<[out |-> "ThawAll", epoch |-> gDeadline.epoch, leases |-> gDeadline.active \cup gDeadline.suspended],
      [out |-> "StartTimer", epoch |-> gDeadline.epoch, timer |-> gDeadline.timer, window |-> gDeadline.window]>>

\* expires_sealed_ignore: ignored
GateDeadlineExpiresSealedIgnore_states == {"SEALED"}
GateDeadlineExpiresSealedIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "SEALED"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ ~gDeadline.resident

\* expires_draining: goes to REOPENED
GateDeadlineExpiresDraining_states == {"DRAINING"}
GateDeadlineExpiresDraining_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "DRAINING"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.resident
    /\ gDeadline.lent = <<>>
GateDeadlineExpiresDraining_next(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    [gDeadline EXCEPT !.state = "REOPENED"]
GateDeadlineExpiresDraining_out(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    <<[out |-> "ThawAll", epoch |-> gDeadline.epoch, leases |-> gDeadline.active \cup gDeadline.suspended],
      [out |-> "StartTimer", epoch |-> gDeadline.epoch, timer |-> gDeadline.timer, window |-> gDeadline.window]>>

\* expires_draining_2: goes to POISONED
GateDeadlineExpiresDraining2_states == {"DRAINING"}
GateDeadlineExpiresDraining2_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "DRAINING"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.lent # <<>>
GateDeadlineExpiresDraining2_next(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    [gDeadline EXCEPT !.state = "POISONED"]
GateDeadlineExpiresDraining2_out(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    <<[out |-> "AbortSuspended", leases |-> gDeadline.suspended]>>

\* expires_draining_ignore: ignored
GateDeadlineExpiresDrainingIgnore_states == {"DRAINING"}
GateDeadlineExpiresDrainingIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "DRAINING"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ ~(gDeadline.resident /\ (gDeadline.lent = <<>>))
    /\ gDeadline.lent = <<>>

\* expires_installing: goes to REOPENED
GateDeadlineExpiresInstalling_states == {"INSTALLING"}
GateDeadlineExpiresInstalling_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "INSTALLING"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.verified = gDeadline.ranks
GateDeadlineExpiresInstalling_next(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    [gDeadline EXCEPT !.state = "REOPENED"]
GateDeadlineExpiresInstalling_out(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    <<[out |-> "ThawAll", epoch |-> gDeadline.epoch, leases |-> gDeadline.active \cup gDeadline.suspended],
      [out |-> "StartTimer", epoch |-> gDeadline.epoch, timer |-> gDeadline.timer, window |-> gDeadline.window]>>

\* expires_installing_otherwise: goes to POISONED
GateDeadlineExpiresInstallingOtherwise_states == {"INSTALLING"}
GateDeadlineExpiresInstallingOtherwise_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "INSTALLING"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.verified # gDeadline.ranks
GateDeadlineExpiresInstallingOtherwise_next(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    [gDeadline EXCEPT !.state = "POISONED"]
GateDeadlineExpiresInstallingOtherwise_out(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    <<[out |-> "AbortSuspended", leases |-> gDeadline.suspended]>>

\* expires_reopened: stays
GateDeadlineExpiresReopened_states == {"REOPENED"}
GateDeadlineExpiresReopened_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "REOPENED"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.suspended # {}
GateDeadlineExpiresReopened_next(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    [gDeadline EXCEPT !.orphaned = gDeadline.orphaned \cup gDeadline.suspended, !.suspended = {}]

\* expires_reopened_ignore: ignored
GateDeadlineExpiresReopenedIgnore_states == {"REOPENED"}
GateDeadlineExpiresReopenedIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    /\ gDeadline.state = "REOPENED"
    /\ gDeadline_epoch = gDeadline.epoch
    /\ gDeadline_timer = gDeadline.timer
    /\ gDeadline.suspended = {}

\* the event as a whole
GateDeadline_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED"}
GateDeadline_acts(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    \/ GateDeadlineExpiresSealed_when(gDeadline, gDeadline_epoch, gDeadline_timer)
    \/ GateDeadlineExpiresDraining_when(gDeadline, gDeadline_epoch, gDeadline_timer)
    \/ GateDeadlineExpiresDraining2_when(gDeadline, gDeadline_epoch, gDeadline_timer)
    \/ GateDeadlineExpiresInstalling_when(gDeadline, gDeadline_epoch, gDeadline_timer)
    \/ GateDeadlineExpiresInstallingOtherwise_when(gDeadline, gDeadline_epoch, gDeadline_timer)
    \/ GateDeadlineExpiresReopened_when(gDeadline, gDeadline_epoch, gDeadline_timer)
GateDeadline_step(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    CASE GateDeadlineExpiresSealed_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> <<GateDeadlineExpiresSealed_next(gDeadline, gDeadline_epoch, gDeadline_timer), GateDeadlineExpiresSealed_out(gDeadline, gDeadline_epoch, gDeadline_timer)>>
      [] GateDeadlineExpiresDraining_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> <<GateDeadlineExpiresDraining_next(gDeadline, gDeadline_epoch, gDeadline_timer), GateDeadlineExpiresDraining_out(gDeadline, gDeadline_epoch, gDeadline_timer)>>
      [] GateDeadlineExpiresDraining2_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> <<GateDeadlineExpiresDraining2_next(gDeadline, gDeadline_epoch, gDeadline_timer), GateDeadlineExpiresDraining2_out(gDeadline, gDeadline_epoch, gDeadline_timer)>>
      [] GateDeadlineExpiresInstalling_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> <<GateDeadlineExpiresInstalling_next(gDeadline, gDeadline_epoch, gDeadline_timer), GateDeadlineExpiresInstalling_out(gDeadline, gDeadline_epoch, gDeadline_timer)>>
      [] GateDeadlineExpiresInstallingOtherwise_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> <<GateDeadlineExpiresInstallingOtherwise_next(gDeadline, gDeadline_epoch, gDeadline_timer), GateDeadlineExpiresInstallingOtherwise_out(gDeadline, gDeadline_epoch, gDeadline_timer)>>
      [] GateDeadlineExpiresReopened_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> <<GateDeadlineExpiresReopened_next(gDeadline, gDeadline_epoch, gDeadline_timer), <<>>>>
      [] OTHER -> <<>>
GateDeadline(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    CASE GateDeadlineExpiresSealed_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresSealed_next(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresDraining_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresDraining_next(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresDraining2_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresDraining2_next(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresInstalling_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresInstalling_next(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresInstallingOtherwise_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresInstallingOtherwise_next(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresReopened_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresReopened_next(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] OTHER -> gDeadline
GateDeadline_rule(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    CASE GateDeadlineAnswerIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "answer_ignore"
      [] GateDeadlineDeadlineIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "deadline_ignore"
      [] GateDeadlineIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "ignore"
      [] GateDeadlineExpiresSealed_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_sealed"
      [] GateDeadlineExpiresSealedIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_sealed_ignore"
      [] GateDeadlineExpiresDraining_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_draining"
      [] GateDeadlineExpiresDraining2_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_draining_2"
      [] GateDeadlineExpiresDrainingIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_draining_ignore"
      [] GateDeadlineExpiresInstalling_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_installing"
      [] GateDeadlineExpiresInstallingOtherwise_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_installing_otherwise"
      [] GateDeadlineExpiresReopened_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_reopened"
      [] GateDeadlineExpiresReopenedIgnore_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> "expires_reopened_ignore"
GateDeadline_out(gDeadline, gDeadline_epoch, gDeadline_timer) ==
    CASE GateDeadlineExpiresSealed_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresSealed_out(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresDraining_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresDraining_out(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresDraining2_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresDraining2_out(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresInstalling_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresInstalling_out(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] GateDeadlineExpiresInstallingOtherwise_when(gDeadline, gDeadline_epoch, gDeadline_timer) -> GateDeadlineExpiresInstallingOtherwise_out(gDeadline, gDeadline_epoch, gDeadline_timer)
      [] OTHER -> <<>>
GateDeadline_refused(gDeadline, gDeadline_epoch, gDeadline_timer) == FALSE


\* Poison(term, why) -----------------------------------------------------------------------------------------
\* A controller gives the replica up.

\* poison_stale_term: refused stale_term
GatePoisonPoisonStaleTerm_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GatePoisonPoisonStaleTerm_when(gPoison, gPoison_term) == gPoison_term < gPoison.term

\* poison_unclaimed: refused unclaimed
GatePoisonPoisonUnclaimed_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED"}
GatePoisonPoisonUnclaimed_when(gPoison, gPoison_term) ==
    /\ gPoison_term >= gPoison.term
    /\ gPoison.term < gPoison_term

\* poisons: goes to POISONED
GatePoisonPoisons_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
GatePoisonPoisons_when(gPoison, gPoison_term) ==
    /\ gPoison.state \in {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
    /\ gPoison_term >= gPoison.term
    /\ gPoison.term >= gPoison_term
GatePoisonPoisons_next(gPoison, gPoison_term) == [gPoison EXCEPT !.state = "POISONED"]
GatePoisonPoisons_out(gPoison, gPoison_term) == <<[out |-> "AbortSuspended", leases |-> gPoison.suspended]>>

\* ignore: ignored
GatePoisonIgnore_states == {"POISONED"}
GatePoisonIgnore_when(gPoison, gPoison_term) ==
    /\ gPoison.state = "POISONED"
    /\ gPoison_term >= gPoison.term
    /\ gPoison.term >= gPoison_term

\* the event as a whole
GatePoison_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN"}
GatePoison_acts(gPoison, gPoison_term) == GatePoisonPoisons_when(gPoison, gPoison_term)
GatePoison_step(gPoison, gPoison_term) ==
    CASE GatePoisonPoisons_when(gPoison, gPoison_term) -> <<GatePoisonPoisons_next(gPoison, gPoison_term), GatePoisonPoisons_out(gPoison, gPoison_term)>>
      [] OTHER -> <<>>
GatePoison(gPoison, gPoison_term) ==
    CASE GatePoisonPoisons_when(gPoison, gPoison_term) -> GatePoisonPoisons_next(gPoison, gPoison_term)
      [] OTHER -> gPoison
GatePoison_rule(gPoison, gPoison_term) ==
    CASE GatePoisonPoisonStaleTerm_when(gPoison, gPoison_term) -> "poison_stale_term"
      [] GatePoisonPoisonUnclaimed_when(gPoison, gPoison_term) -> "poison_unclaimed"
      [] GatePoisonPoisons_when(gPoison, gPoison_term) -> "poisons"
      [] GatePoisonIgnore_when(gPoison, gPoison_term) -> "ignore"
GatePoison_out(gPoison, gPoison_term) ==
    CASE GatePoisonPoisons_when(gPoison, gPoison_term) -> GatePoisonPoisons_out(gPoison, gPoison_term)
      [] OTHER -> <<>>
GatePoison_refused(gPoison, gPoison_term) ==
    \/ GatePoisonPoisonStaleTerm_when(gPoison, gPoison_term)
    \/ GatePoisonPoisonUnclaimed_when(gPoison, gPoison_term)


\* Fault(why) ------------------------------------------------------------------------------------------------
\* The process itself finds its device or weights in doubt.

\* poisons: goes to POISONED
GateFaultPoisons_states == {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
GateFaultPoisons_when(gFault) == gFault.state \in {"OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED"}
GateFaultPoisons_next(gFault) == [gFault EXCEPT !.state = "POISONED"]
GateFaultPoisons_out(gFault) == <<[out |-> "AbortSuspended", leases |-> gFault.suspended]>>

\* ignore: ignored
GateFaultIgnore_states == {"POISONED"}
GateFaultIgnore_when(gFault) == gFault.state = "POISONED"

\* the event as a whole
GateFault_states == {"SEALED", "DRAINING", "INSTALLING", "REOPENED", "OPEN"}
GateFault_acts(gFault) == GateFaultPoisons_when(gFault)
GateFault_step(gFault) ==
    CASE GateFaultPoisons_when(gFault) -> <<GateFaultPoisons_next(gFault), GateFaultPoisons_out(gFault)>>
      [] OTHER -> <<>>
GateFault(gFault) ==
    CASE GateFaultPoisons_when(gFault) -> GateFaultPoisons_next(gFault)
      [] OTHER -> gFault
GateFault_rule(gFault) ==
    CASE GateFaultPoisons_when(gFault) -> "poisons"
      [] GateFaultIgnore_when(gFault) -> "ignore"
GateFault_out(gFault) ==
    CASE GateFaultPoisons_when(gFault) -> GateFaultPoisons_out(gFault)
      [] OTHER -> <<>>
GateFault_refused(gFault) == FALSE

================================================================================
