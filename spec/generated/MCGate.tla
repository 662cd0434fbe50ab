\* Made by `sluicegate generate` from the machine Gate; do not edit.
-------------------------------- MODULE MCGate ---------------------------------
EXTENDS Gate, Naturals, Sequences, FiniteSets

CONSTANTS Rank, Digest, LeaseId, OperationId

VARIABLE m

Init == \E ranks \in SUBSET Rank : m = GateInit(ranks)

GateClaimClaimStaleTerm ==
    /\ m.state \in GateClaimClaimStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateClaimClaimStaleTerm_when(m, a_term)
        /\ UNCHANGED m

GateClaimClaims ==
    /\ m.state \in GateClaimClaims_states
    /\ \E a_term \in 0..1 :
        /\ GateClaimClaims_when(m, a_term)
        /\ m' = GateClaimClaims_next(m, a_term)
        /\ m'.term <= 1

GateClaimClaimsIgnore ==
    /\ m.state \in GateClaimClaimsIgnore_states
    /\ \E a_term \in 0..1 :
        /\ GateClaimClaimsIgnore_when(m, a_term)
        /\ UNCHANGED m

GateAdmitAdmits ==
    /\ m.state \in GateAdmitAdmits_states
    /\ \E a_lease \in LeaseId, a_pin \in ({<<>>} \cup {<<bound1>> : bound1 \in 0..1}) :
        /\ GateAdmitAdmits_when(m, a_lease, a_pin)
        /\ m' = GateAdmitAdmits_next(m, a_lease, a_pin)

GateAdmitAdmitsOtherVersion ==
    /\ m.state \in GateAdmitAdmitsOtherVersion_states
    /\ \E a_lease \in LeaseId, a_pin \in ({<<>>} \cup {<<bound3>> : bound3 \in 0..1}) :
        /\ GateAdmitAdmitsOtherVersion_when(m, a_lease, a_pin)
        /\ UNCHANGED m

GateAdmitAdmitsReused ==
    /\ m.state \in GateAdmitAdmitsReused_states
    /\ \E a_lease \in LeaseId, a_pin \in ({<<>>} \cup {<<bound4>> : bound4 \in 0..1}) :
        /\ GateAdmitAdmitsReused_when(m, a_lease, a_pin)
        /\ UNCHANGED m

GateAdmitClosed ==
    /\ m.state \in GateAdmitClosed_states
    /\ GateAdmitClosed_when(m, 0, 0)
    /\ UNCHANGED m

GateAdmitPoisoned ==
    /\ m.state \in GateAdmitPoisoned_states
    /\ GateAdmitPoisoned_when(m, 0, 0)
    /\ UNCHANGED m

GateSettleSettles ==
    /\ m.state \in GateSettleSettles_states
    /\ \E a_lease \in LeaseId :
        /\ GateSettleSettles_when(m, a_lease)
        /\ m' = GateSettleSettles_next(m, a_lease)

GateSettleSettlesIgnore ==
    /\ m.state \in GateSettleSettlesIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ GateSettleSettlesIgnore_when(m, a_lease)
        /\ UNCHANGED m

GateSettleSettlesDraining ==
    /\ m.state \in GateSettleSettlesDraining_states
    /\ \E a_lease \in LeaseId :
        /\ GateSettleSettlesDraining_when(m, a_lease)
        /\ m' = GateSettleSettlesDraining_next(m, a_lease)

GateSettleSettlesDraining2 ==
    /\ m.state \in GateSettleSettlesDraining2_states
    /\ \E a_lease \in LeaseId :
        /\ GateSettleSettlesDraining2_when(m, a_lease)
        /\ m' = GateSettleSettlesDraining2_next(m, a_lease)

GateSettleSettlesDrainingIgnore ==
    /\ m.state \in GateSettleSettlesDrainingIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ GateSettleSettlesDrainingIgnore_when(m, a_lease)
        /\ UNCHANGED m

GateOrphanOrphans ==
    /\ m.state \in GateOrphanOrphans_states
    /\ \E a_lease \in LeaseId :
        /\ GateOrphanOrphans_when(m, a_lease)
        /\ m' = GateOrphanOrphans_next(m, a_lease)

GateOrphanOrphansIgnore ==
    /\ m.state \in GateOrphanOrphansIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ GateOrphanOrphansIgnore_when(m, a_lease)
        /\ UNCHANGED m

GateOrphanOrphansInstalling ==
    /\ m.state \in GateOrphanOrphansInstalling_states
    /\ \E a_lease \in LeaseId :
        /\ GateOrphanOrphansInstalling_when(m, a_lease)
        /\ m' = GateOrphanOrphansInstalling_next(m, a_lease)

GateOrphanOrphansInstallingIgnore ==
    /\ m.state \in GateOrphanOrphansInstallingIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ GateOrphanOrphansInstallingIgnore_when(m, a_lease)
        /\ UNCHANGED m

GateOrphanDrops ==
    /\ m.state \in GateOrphanDrops_states
    /\ \E a_lease \in LeaseId :
        /\ GateOrphanDrops_when(m, a_lease)
        /\ m' = GateOrphanDrops_next(m, a_lease)

GateGiveUpGivesUp ==
    /\ m.state \in GateGiveUpGivesUp_states
    /\ \E a_lease \in LeaseId :
        /\ GateGiveUpGivesUp_when(m, a_lease)
        /\ m' = GateGiveUpGivesUp_next(m, a_lease)

GateGiveUpGivesUpIgnore ==
    /\ m.state \in GateGiveUpGivesUpIgnore_states
    /\ \E a_lease \in LeaseId :
        /\ GateGiveUpGivesUpIgnore_when(m, a_lease)
        /\ UNCHANGED m

GateGiveUpIgnore ==
    /\ m.state \in GateGiveUpIgnore_states
    /\ GateGiveUpIgnore_when(m, 0)
    /\ UNCHANGED m

GateFrozenThaws ==
    /\ m.state \in GateFrozenThaws_states
    /\ GateFrozenThaws_when(m, 0, 0)
    /\ UNCHANGED m

GateFrozenThawsOlder ==
    /\ m.state \in GateFrozenThawsOlder_states
    /\ \E a_epoch \in 0..1 :
        /\ GateFrozenThawsOlder_when(m, 0, a_epoch)
        /\ UNCHANGED m

GateFrozenThawsOlderNotKeeping ==
    /\ m.state \in GateFrozenThawsOlderNotKeeping_states
    /\ \E a_epoch \in 0..1 :
        /\ GateFrozenThawsOlderNotKeeping_when(m, 0, a_epoch)
        /\ UNCHANGED m

GateFrozenSuspends ==
    /\ m.state \in GateFrozenSuspends_states
    /\ \E a_lease \in LeaseId, a_epoch \in 0..1 :
        /\ GateFrozenSuspends_when(m, a_lease, a_epoch)
        /\ m' = GateFrozenSuspends_next(m, a_lease, a_epoch)

GateFrozenSuspends2 ==
    /\ m.state \in GateFrozenSuspends2_states
    /\ \E a_lease \in LeaseId, a_epoch \in 0..1 :
        /\ GateFrozenSuspends2_when(m, a_lease, a_epoch)
        /\ m' = GateFrozenSuspends2_next(m, a_lease, a_epoch)

GateFrozenSuspends3 ==
    /\ m.state \in GateFrozenSuspends3_states
    /\ \E a_epoch \in 0..1 :
        /\ GateFrozenSuspends3_when(m, 0, a_epoch)
        /\ UNCHANGED m

GateFrozenSuspendsNotKeeping ==
    /\ m.state \in GateFrozenSuspendsNotKeeping_states
    /\ \E a_lease \in LeaseId, a_epoch \in 0..1 :
        /\ GateFrozenSuspendsNotKeeping_when(m, a_lease, a_epoch)
        /\ UNCHANGED m

GateFrozenAbortsLate ==
    /\ m.state \in GateFrozenAbortsLate_states
    /\ \E a_lease \in LeaseId :
        /\ GateFrozenAbortsLate_when(m, a_lease, 0)
        /\ m' = GateFrozenAbortsLate_next(m, a_lease, 0)

GateThawedAnswerIgnore ==
    /\ m.state \in GateThawedAnswerIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateThawedAnswerIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateThawedIgnore ==
    /\ m.state \in GateThawedIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateThawedIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateThawedContinues ==
    /\ m.state \in GateThawedContinues_states
    /\ \E a_epoch \in 0..1, a_lease \in LeaseId :
        /\ GateThawedContinues_when(m, a_epoch, a_lease)
        /\ m' = GateThawedContinues_next(m, a_epoch, a_lease)

GateThawedContinuesIgnore ==
    /\ m.state \in GateThawedContinuesIgnore_states
    /\ \E a_epoch \in 0..1, a_lease \in LeaseId :
        /\ GateThawedContinuesIgnore_when(m, a_epoch, a_lease)
        /\ UNCHANGED m

GateSealControlStaleTerm ==
    /\ m.state \in GateSealControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateSealControlStaleTerm_when(m, a_term, 0, 0, 0)
        /\ UNCHANGED m

GateSealControlUnclaimed ==
    /\ m.state \in GateSealControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateSealControlUnclaimed_when(m, a_term, 0, 0, 0)
        /\ UNCHANGED m

GateSealControlStaleEpoch ==
    /\ m.state \in GateSealControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealControlStaleEpoch_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealSeals ==
    /\ m.state \in GateSealSeals_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"}, a_window \in 0..0 :
        /\ GateSealSeals_when(m, a_term, a_epoch, a_mode, a_window)
        /\ m' = GateSealSeals_next(m, a_term, a_epoch, a_mode, a_window)
        /\ m'.epoch <= 1
        /\ m'.timer <= 0
        /\ m'.window <= 0
        /\ (m'.target # <<>> => m'.target[1] <= 1)

GateSealSealsIgnore ==
    /\ m.state \in GateSealSealsIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealSealsIgnore_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealReseals ==
    /\ m.state \in GateSealReseals_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"}, a_window \in 0..0 :
        /\ GateSealReseals_when(m, a_term, a_epoch, a_mode, a_window)
        /\ m' = GateSealReseals_next(m, a_term, a_epoch, a_mode, a_window)
        /\ m'.epoch <= 1
        /\ m'.timer <= 0
        /\ m'.window <= 0

GateSealResealsIgnore ==
    /\ m.state \in GateSealResealsIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealResealsIgnore_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealResealsBare ==
    /\ m.state \in GateSealResealsBare_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"}, a_window \in 0..0 :
        /\ GateSealResealsBare_when(m, a_term, a_epoch, a_mode, a_window)
        /\ m' = GateSealResealsBare_next(m, a_term, a_epoch, a_mode, a_window)
        /\ m'.epoch <= 1
        /\ m'.timer <= 0
        /\ m'.window <= 0
        /\ (m'.target # <<>> => m'.target[1] <= 1)

GateSealResealsBareIgnore ==
    /\ m.state \in GateSealResealsBareIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealResealsBareIgnore_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealResealsBareBusy ==
    /\ m.state \in GateSealResealsBareBusy_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealResealsBareBusy_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealInstalling ==
    /\ m.state \in GateSealInstalling_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealInstalling_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealNotClosed ==
    /\ m.state \in GateSealNotClosed_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealNotClosed_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateSealPoisoned ==
    /\ m.state \in GateSealPoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateSealPoisoned_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateEscalateControlStaleTerm ==
    /\ m.state \in GateEscalateControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateEscalateControlStaleTerm_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateEscalateControlUnclaimed ==
    /\ m.state \in GateEscalateControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateEscalateControlUnclaimed_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateEscalateControlStaleEpoch ==
    /\ m.state \in GateEscalateControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateEscalateControlStaleEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateEscalateStepUnknownEpoch ==
    /\ m.state \in GateEscalateStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateEscalateStepUnknownEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateEscalateIgnore ==
    /\ m.state \in GateEscalateIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateEscalateIgnore_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateEscalateEscalates ==
    /\ m.state \in GateEscalateEscalates_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"} :
        /\ GateEscalateEscalates_when(m, a_term, a_epoch, a_mode)
        /\ m' = GateEscalateEscalates_next(m, a_term, a_epoch, a_mode)

GateEscalateEscalatesIgnore ==
    /\ m.state \in GateEscalateEscalatesIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"} :
        /\ GateEscalateEscalatesIgnore_when(m, a_term, a_epoch, a_mode)
        /\ UNCHANGED m

GateEscalateEscalatesDraining ==
    /\ m.state \in GateEscalateEscalatesDraining_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"} :
        /\ GateEscalateEscalatesDraining_when(m, a_term, a_epoch, a_mode)
        /\ m' = GateEscalateEscalatesDraining_next(m, a_term, a_epoch, a_mode)

GateEscalateEscalatesDrainingIgnore ==
    /\ m.state \in GateEscalateEscalatesDrainingIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_mode \in {"wait", "abort", "keep"} :
        /\ GateEscalateEscalatesDrainingIgnore_when(m, a_term, a_epoch, a_mode)
        /\ UNCHANGED m

GateEscalatePoisoned ==
    /\ m.state \in GateEscalatePoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateEscalatePoisoned_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateDrainControlStaleTerm ==
    /\ m.state \in GateDrainControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateDrainControlStaleTerm_when(m, a_term, 0)
        /\ UNCHANGED m

GateDrainControlUnclaimed ==
    /\ m.state \in GateDrainControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateDrainControlUnclaimed_when(m, a_term, 0)
        /\ UNCHANGED m

GateDrainControlStaleEpoch ==
    /\ m.state \in GateDrainControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainControlStaleEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDrainStepUnknownEpoch ==
    /\ m.state \in GateDrainStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainStepUnknownEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDrainNotSealed ==
    /\ m.state \in GateDrainNotSealed_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainNotSealed_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDrainDrains ==
    /\ m.state \in GateDrainDrains_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainDrains_when(m, a_term, a_epoch)
        /\ m' = GateDrainDrains_next(m, a_term, a_epoch)

GateDrainDrains2 ==
    /\ m.state \in GateDrainDrains2_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainDrains2_when(m, a_term, a_epoch)
        /\ m' = GateDrainDrains2_next(m, a_term, a_epoch)

GateDrainDrainsIgnore ==
    /\ m.state \in GateDrainDrainsIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainDrainsIgnore_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDrainIgnore ==
    /\ m.state \in GateDrainIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainIgnore_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDrainInstalling ==
    /\ m.state \in GateDrainInstalling_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainInstalling_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDrainPoisoned ==
    /\ m.state \in GateDrainPoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateDrainPoisoned_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateQuiescedAnswerIgnore ==
    /\ m.state \in GateQuiescedAnswerIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateQuiescedAnswerIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateQuiescedIgnore ==
    /\ m.state \in GateQuiescedIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateQuiescedIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateQuiescedQuiets ==
    /\ m.state \in GateQuiescedQuiets_states
    /\ \E a_epoch \in 0..1, a_rank \in Rank :
        /\ GateQuiescedQuiets_when(m, a_epoch, a_rank)
        /\ m' = GateQuiescedQuiets_next(m, a_epoch, a_rank)

GateQuiescedQuietsIgnore ==
    /\ m.state \in GateQuiescedQuietsIgnore_states
    /\ \E a_epoch \in 0..1, a_rank \in Rank :
        /\ GateQuiescedQuietsIgnore_when(m, a_epoch, a_rank)
        /\ UNCHANGED m

GateLendControlStaleTerm ==
    /\ m.state \in GateLendControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateLendControlStaleTerm_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateLendControlUnclaimed ==
    /\ m.state \in GateLendControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateLendControlUnclaimed_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateLendControlStaleEpoch ==
    /\ m.state \in GateLendControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendControlStaleEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateLendStepUnknownEpoch ==
    /\ m.state \in GateLendStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendStepUnknownEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateLendNotDraining ==
    /\ m.state \in GateLendNotDraining_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendNotDraining_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateLendLends ==
    /\ m.state \in GateLendLends_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_lend \in OperationId :
        /\ GateLendLends_when(m, a_term, a_epoch, a_lend)
        /\ m' = GateLendLends_next(m, a_term, a_epoch, a_lend)

GateLendLendsLentOut ==
    /\ m.state \in GateLendLendsLentOut_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendLendsLentOut_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateLendLendsNotDrained ==
    /\ m.state \in GateLendLendsNotDrained_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendLendsNotDrained_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateLendInstalling ==
    /\ m.state \in GateLendInstalling_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendInstalling_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateLendPoisoned ==
    /\ m.state \in GateLendPoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateLendPoisoned_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateReturnedControlStaleTerm ==
    /\ m.state \in GateReturnedControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateReturnedControlStaleTerm_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateReturnedControlUnclaimed ==
    /\ m.state \in GateReturnedControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateReturnedControlUnclaimed_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateReturnedControlStaleEpoch ==
    /\ m.state \in GateReturnedControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReturnedControlStaleEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateReturnedStepUnknownEpoch ==
    /\ m.state \in GateReturnedStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReturnedStepUnknownEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateReturnedIgnore ==
    /\ m.state \in GateReturnedIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReturnedIgnore_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateReturnedReturns ==
    /\ m.state \in GateReturnedReturns_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_lend \in OperationId :
        /\ GateReturnedReturns_when(m, a_term, a_epoch, a_lend)
        /\ m' = GateReturnedReturns_next(m, a_term, a_epoch, a_lend)

GateReturnedReturnsIgnore ==
    /\ m.state \in GateReturnedReturnsIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_lend \in OperationId :
        /\ GateReturnedReturnsIgnore_when(m, a_term, a_epoch, a_lend)
        /\ UNCHANGED m

GateRenewControlStaleTerm ==
    /\ m.state \in GateRenewControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateRenewControlStaleTerm_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateRenewControlUnclaimed ==
    /\ m.state \in GateRenewControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateRenewControlUnclaimed_when(m, a_term, 0, 0)
        /\ UNCHANGED m

GateRenewControlStaleEpoch ==
    /\ m.state \in GateRenewControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateRenewControlStaleEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateRenewStepUnknownEpoch ==
    /\ m.state \in GateRenewStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateRenewStepUnknownEpoch_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateRenewIgnore ==
    /\ m.state \in GateRenewIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateRenewIgnore_when(m, a_term, a_epoch, 0)
        /\ UNCHANGED m

GateRenewRenews ==
    /\ m.state \in GateRenewRenews_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_window \in 0..0 :
        /\ GateRenewRenews_when(m, a_term, a_epoch, a_window)
        /\ m' = GateRenewRenews_next(m, a_term, a_epoch, a_window)
        /\ m'.timer <= 0
        /\ m'.window <= 0

GateInstallControlStaleTerm ==
    /\ m.state \in GateInstallControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateInstallControlStaleTerm_when(m, a_term, 0, 0, 0)
        /\ UNCHANGED m

GateInstallControlUnclaimed ==
    /\ m.state \in GateInstallControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateInstallControlUnclaimed_when(m, a_term, 0, 0, 0)
        /\ UNCHANGED m

GateInstallControlStaleEpoch ==
    /\ m.state \in GateInstallControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateInstallControlStaleEpoch_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstallStepUnknownEpoch ==
    /\ m.state \in GateInstallStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateInstallStepUnknownEpoch_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstallNotDrained ==
    /\ m.state \in GateInstallNotDrained_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateInstallNotDrained_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstallInstalls ==
    /\ m.state \in GateInstallInstalls_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_version \in 0..1, a_digests \in ({[nokey \in {} |-> 0]} \cup [Rank -> Digest]) :
        /\ GateInstallInstalls_when(m, a_term, a_epoch, a_version, a_digests)
        /\ m' = GateInstallInstalls_next(m, a_term, a_epoch, a_version, a_digests)
        /\ (m'.target # <<>> => m'.target[1] <= 1)

GateInstallInstallsNotNewer ==
    /\ m.state \in GateInstallInstallsNotNewer_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_version \in 0..1 :
        /\ GateInstallInstallsNotNewer_when(m, a_term, a_epoch, a_version, 0)
        /\ UNCHANGED m

GateInstallInstallsIncomplete ==
    /\ m.state \in GateInstallInstallsIncomplete_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_version \in 0..1, a_digests \in ({[nokey \in {} |-> 0]} \cup [Rank -> Digest]) :
        /\ GateInstallInstallsIncomplete_when(m, a_term, a_epoch, a_version, a_digests)
        /\ UNCHANGED m

GateInstallInstallsLentOut ==
    /\ m.state \in GateInstallInstallsLentOut_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateInstallInstallsLentOut_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstallInstallsNotDrained ==
    /\ m.state \in GateInstallInstallsNotDrained_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_version \in 0..1, a_digests \in ({[nokey \in {} |-> 0]} \cup [Rank -> Digest]) :
        /\ GateInstallInstallsNotDrained_when(m, a_term, a_epoch, a_version, a_digests)
        /\ UNCHANGED m

GateInstallSameTargetIgnore ==
    /\ m.state \in GateInstallSameTargetIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_version \in 0..1, a_digests \in ({[nokey \in {} |-> 0]} \cup [Rank -> Digest]) :
        /\ GateInstallSameTargetIgnore_when(m, a_term, a_epoch, a_version, a_digests)
        /\ UNCHANGED m

GateInstallSameTargetInstalling ==
    /\ m.state \in GateInstallSameTargetInstalling_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1, a_version \in 0..1, a_digests \in ({[nokey \in {} |-> 0]} \cup [Rank -> Digest]) :
        /\ GateInstallSameTargetInstalling_when(m, a_term, a_epoch, a_version, a_digests)
        /\ UNCHANGED m

GateInstallPoisoned ==
    /\ m.state \in GateInstallPoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateInstallPoisoned_when(m, a_term, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstalledAnswerIgnore ==
    /\ m.state \in GateInstalledAnswerIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstalledAnswerIgnore_when(m, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstalledNotInstalling ==
    /\ m.state \in GateInstalledNotInstalling_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstalledNotInstalling_when(m, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstalledProves ==
    /\ m.state \in GateInstalledProves_states
    /\ \E a_epoch \in 0..1, a_rank \in Rank, a_digest \in Digest :
        /\ GateInstalledProves_when(m, a_epoch, a_rank, a_digest)
        /\ m' = GateInstalledProves_next(m, a_epoch, a_rank, a_digest)

GateInstalledProves2 ==
    /\ m.state \in GateInstalledProves2_states
    /\ \E a_epoch \in 0..1, a_rank \in Rank, a_digest \in Digest :
        /\ GateInstalledProves2_when(m, a_epoch, a_rank, a_digest)
        /\ m' = GateInstalledProves2_next(m, a_epoch, a_rank, a_digest)
        /\ (m'.version # <<>> => m'.version[1] <= 1)

GateInstalledProvesOtherwise ==
    /\ m.state \in GateInstalledProvesOtherwise_states
    /\ \E a_epoch \in 0..1, a_rank \in Rank, a_digest \in Digest :
        /\ GateInstalledProvesOtherwise_when(m, a_epoch, a_rank, a_digest)
        /\ m' = GateInstalledProvesOtherwise_next(m, a_epoch, a_rank, a_digest)

GateInstalledIgnore ==
    /\ m.state \in GateInstalledIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstalledIgnore_when(m, a_epoch, 0, 0)
        /\ UNCHANGED m

GateInstallFailedAnswerIgnore ==
    /\ m.state \in GateInstallFailedAnswerIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstallFailedAnswerIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateInstallFailedNotInstalling ==
    /\ m.state \in GateInstallFailedNotInstalling_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstallFailedNotInstalling_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateInstallFailedFails ==
    /\ m.state \in GateInstallFailedFails_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstallFailedFails_when(m, a_epoch, 0)
        /\ m' = GateInstallFailedFails_next(m, a_epoch, 0)

GateInstallFailedIgnore ==
    /\ m.state \in GateInstallFailedIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateInstallFailedIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateReopenControlStaleTerm ==
    /\ m.state \in GateReopenControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateReopenControlStaleTerm_when(m, a_term, 0)
        /\ UNCHANGED m

GateReopenControlUnclaimed ==
    /\ m.state \in GateReopenControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateReopenControlUnclaimed_when(m, a_term, 0)
        /\ UNCHANGED m

GateReopenControlStaleEpoch ==
    /\ m.state \in GateReopenControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenControlStaleEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateReopenStepUnknownEpoch ==
    /\ m.state \in GateReopenStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenStepUnknownEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateReopenIgnore ==
    /\ m.state \in GateReopenIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenIgnore_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateReopenNotVerified ==
    /\ m.state \in GateReopenNotVerified_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenNotVerified_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateReopenReopens ==
    /\ m.state \in GateReopenReopens_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenReopens_when(m, a_term, a_epoch)
        /\ m' = GateReopenReopens_next(m, a_term, a_epoch)

GateReopenReopensNotVerified ==
    /\ m.state \in GateReopenReopensNotVerified_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenReopensNotVerified_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateReopenPoisoned ==
    /\ m.state \in GateReopenPoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateReopenPoisoned_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeControlStaleTerm ==
    /\ m.state \in GateResumeControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateResumeControlStaleTerm_when(m, a_term, 0)
        /\ UNCHANGED m

GateResumeControlUnclaimed ==
    /\ m.state \in GateResumeControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateResumeControlUnclaimed_when(m, a_term, 0)
        /\ UNCHANGED m

GateResumeControlStaleEpoch ==
    /\ m.state \in GateResumeControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeControlStaleEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesOpen ==
    /\ m.state \in GateResumeResumesOpen_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesOpen_when(m, a_term, a_epoch)
        /\ m' = GateResumeResumesOpen_next(m, a_term, a_epoch)
        /\ m'.epoch <= 1

GateResumeResumesOpenIgnore ==
    /\ m.state \in GateResumeResumesOpenIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesOpenIgnore_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumes ==
    /\ m.state \in GateResumeResumes_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumes_when(m, a_term, a_epoch)
        /\ m' = GateResumeResumes_next(m, a_term, a_epoch)

GateResumeResumesUnknownEpoch ==
    /\ m.state \in GateResumeResumesUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesUnknownEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesNotResident ==
    /\ m.state \in GateResumeResumesNotResident_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesNotResident_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesDraining ==
    /\ m.state \in GateResumeResumesDraining_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesDraining_when(m, a_term, a_epoch)
        /\ m' = GateResumeResumesDraining_next(m, a_term, a_epoch)

GateResumeResumesDrainingUnknownEpoch ==
    /\ m.state \in GateResumeResumesDrainingUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesDrainingUnknownEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesDrainingLentOut ==
    /\ m.state \in GateResumeResumesDrainingLentOut_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesDrainingLentOut_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesDrainingNotResident ==
    /\ m.state \in GateResumeResumesDrainingNotResident_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesDrainingNotResident_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeInstalling ==
    /\ m.state \in GateResumeInstalling_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeInstalling_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesAgainUnknownEpoch ==
    /\ m.state \in GateResumeResumesAgainUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesAgainUnknownEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumeResumesAgainIgnore ==
    /\ m.state \in GateResumeResumesAgainIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumeResumesAgainIgnore_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateResumePoisoned ==
    /\ m.state \in GateResumePoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateResumePoisoned_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateCloseControlStaleTerm ==
    /\ m.state \in GateCloseControlStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GateCloseControlStaleTerm_when(m, a_term, 0)
        /\ UNCHANGED m

GateCloseControlUnclaimed ==
    /\ m.state \in GateCloseControlUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GateCloseControlUnclaimed_when(m, a_term, 0)
        /\ UNCHANGED m

GateCloseControlStaleEpoch ==
    /\ m.state \in GateCloseControlStaleEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateCloseControlStaleEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateCloseStepUnknownEpoch ==
    /\ m.state \in GateCloseStepUnknownEpoch_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateCloseStepUnknownEpoch_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateCloseIgnore ==
    /\ m.state \in GateCloseIgnore_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateCloseIgnore_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateCloseNotReopened ==
    /\ m.state \in GateCloseNotReopened_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateCloseNotReopened_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateCloseCloses ==
    /\ m.state \in GateCloseCloses_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateCloseCloses_when(m, a_term, a_epoch)
        /\ m' = GateCloseCloses_next(m, a_term, a_epoch)

GateCloseClosesStillSuspended ==
    /\ m.state \in GateCloseClosesStillSuspended_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateCloseClosesStillSuspended_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateClosePoisoned ==
    /\ m.state \in GateClosePoisoned_states
    /\ \E a_term \in 0..1, a_epoch \in 0..1 :
        /\ GateClosePoisoned_when(m, a_term, a_epoch)
        /\ UNCHANGED m

GateDeadlineAnswerIgnore ==
    /\ m.state \in GateDeadlineAnswerIgnore_states
    /\ \E a_epoch \in 0..1 :
        /\ GateDeadlineAnswerIgnore_when(m, a_epoch, 0)
        /\ UNCHANGED m

GateDeadlineDeadlineIgnore ==
    /\ m.state \in GateDeadlineDeadlineIgnore_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineDeadlineIgnore_when(m, a_epoch, a_timer)
        /\ UNCHANGED m

GateDeadlineIgnore ==
    /\ m.state \in GateDeadlineIgnore_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineIgnore_when(m, a_epoch, a_timer)
        /\ UNCHANGED m

GateDeadlineExpiresSealed ==
    /\ m.state \in GateDeadlineExpiresSealed_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresSealed_when(m, a_epoch, a_timer)
        /\ m' = GateDeadlineExpiresSealed_next(m, a_epoch, a_timer)

GateDeadlineExpiresSealedIgnore ==
    /\ m.state \in GateDeadlineExpiresSealedIgnore_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresSealedIgnore_when(m, a_epoch, a_timer)
        /\ UNCHANGED m

GateDeadlineExpiresDraining ==
    /\ m.state \in GateDeadlineExpiresDraining_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresDraining_when(m, a_epoch, a_timer)
        /\ m' = GateDeadlineExpiresDraining_next(m, a_epoch, a_timer)

GateDeadlineExpiresDraining2 ==
    /\ m.state \in GateDeadlineExpiresDraining2_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresDraining2_when(m, a_epoch, a_timer)
        /\ m' = GateDeadlineExpiresDraining2_next(m, a_epoch, a_timer)

GateDeadlineExpiresDrainingIgnore ==
    /\ m.state \in GateDeadlineExpiresDrainingIgnore_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresDrainingIgnore_when(m, a_epoch, a_timer)
        /\ UNCHANGED m

GateDeadlineExpiresInstalling ==
    /\ m.state \in GateDeadlineExpiresInstalling_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresInstalling_when(m, a_epoch, a_timer)
        /\ m' = GateDeadlineExpiresInstalling_next(m, a_epoch, a_timer)

GateDeadlineExpiresInstallingOtherwise ==
    /\ m.state \in GateDeadlineExpiresInstallingOtherwise_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresInstallingOtherwise_when(m, a_epoch, a_timer)
        /\ m' = GateDeadlineExpiresInstallingOtherwise_next(m, a_epoch, a_timer)

GateDeadlineExpiresReopened ==
    /\ m.state \in GateDeadlineExpiresReopened_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresReopened_when(m, a_epoch, a_timer)
        /\ m' = GateDeadlineExpiresReopened_next(m, a_epoch, a_timer)

GateDeadlineExpiresReopenedIgnore ==
    /\ m.state \in GateDeadlineExpiresReopenedIgnore_states
    /\ \E a_epoch \in 0..1, a_timer \in 0..0 :
        /\ GateDeadlineExpiresReopenedIgnore_when(m, a_epoch, a_timer)
        /\ UNCHANGED m

GatePoisonPoisonStaleTerm ==
    /\ m.state \in GatePoisonPoisonStaleTerm_states
    /\ \E a_term \in 0..1 :
        /\ GatePoisonPoisonStaleTerm_when(m, a_term)
        /\ UNCHANGED m

GatePoisonPoisonUnclaimed ==
    /\ m.state \in GatePoisonPoisonUnclaimed_states
    /\ \E a_term \in 0..1 :
        /\ GatePoisonPoisonUnclaimed_when(m, a_term)
        /\ UNCHANGED m

GatePoisonPoisons ==
    /\ m.state \in GatePoisonPoisons_states
    /\ \E a_term \in 0..1 :
        /\ GatePoisonPoisons_when(m, a_term)
        /\ m' = GatePoisonPoisons_next(m, a_term)

GatePoisonIgnore ==
    /\ m.state \in GatePoisonIgnore_states
    /\ \E a_term \in 0..1 :
        /\ GatePoisonIgnore_when(m, a_term)
        /\ UNCHANGED m

GateFaultPoisons ==
    /\ m.state \in GateFaultPoisons_states
    /\ GateFaultPoisons_when(m)
    /\ m' = GateFaultPoisons_next(m)

GateFaultIgnore ==
    /\ m.state \in GateFaultIgnore_states
    /\ GateFaultIgnore_when(m)
    /\ UNCHANGED m

Changes ==
    \/ GateClaimClaims
    \/ GateAdmitAdmits
    \/ GateSettleSettles
    \/ GateSettleSettlesDraining
    \/ GateSettleSettlesDraining2
    \/ GateOrphanOrphans
    \/ GateOrphanOrphansInstalling
    \/ GateOrphanDrops
    \/ GateGiveUpGivesUp
    \/ GateFrozenSuspends
    \/ GateFrozenSuspends2
    \/ GateFrozenAbortsLate
    \/ GateThawedContinues
    \/ GateSealSeals
    \/ GateSealReseals
    \/ GateSealResealsBare
    \/ GateEscalateEscalates
    \/ GateEscalateEscalatesDraining
    \/ GateDrainDrains
    \/ GateDrainDrains2
    \/ GateQuiescedQuiets
    \/ GateLendLends
    \/ GateReturnedReturns
    \/ GateRenewRenews
    \/ GateInstallInstalls
    \/ GateInstalledProves
    \/ GateInstalledProves2
    \/ GateInstalledProvesOtherwise
    \/ GateInstallFailedFails
    \/ GateReopenReopens
    \/ GateResumeResumesOpen
    \/ GateResumeResumes
    \/ GateResumeResumesDraining
    \/ GateCloseCloses
    \/ GateDeadlineExpiresSealed
    \/ GateDeadlineExpiresDraining
    \/ GateDeadlineExpiresDraining2
    \/ GateDeadlineExpiresInstalling
    \/ GateDeadlineExpiresInstallingOtherwise
    \/ GateDeadlineExpiresReopened
    \/ GatePoisonPoisons
    \/ GateFaultPoisons

Next ==
    \/ Changes
    \/ GateClaimClaimStaleTerm
    \/ GateClaimClaimsIgnore
    \/ GateAdmitAdmitsOtherVersion
    \/ GateAdmitAdmitsReused
    \/ GateAdmitClosed
    \/ GateAdmitPoisoned
    \/ GateSettleSettlesIgnore
    \/ GateSettleSettlesDrainingIgnore
    \/ GateOrphanOrphansIgnore
    \/ GateOrphanOrphansInstallingIgnore
    \/ GateGiveUpGivesUpIgnore
    \/ GateGiveUpIgnore
    \/ GateFrozenThaws
    \/ GateFrozenThawsOlder
    \/ GateFrozenThawsOlderNotKeeping
    \/ GateFrozenSuspends3
    \/ GateFrozenSuspendsNotKeeping
    \/ GateThawedAnswerIgnore
    \/ GateThawedIgnore
    \/ GateThawedContinuesIgnore
    \/ GateSealControlStaleTerm
    \/ GateSealControlUnclaimed
    \/ GateSealControlStaleEpoch
    \/ GateSealSealsIgnore
    \/ GateSealResealsIgnore
    \/ GateSealResealsBareIgnore
    \/ GateSealResealsBareBusy
    \/ GateSealInstalling
    \/ GateSealNotClosed
    \/ GateSealPoisoned
    \/ GateEscalateControlStaleTerm
    \/ GateEscalateControlUnclaimed
    \/ GateEscalateControlStaleEpoch
    \/ GateEscalateStepUnknownEpoch
    \/ GateEscalateIgnore
    \/ GateEscalateEscalatesIgnore
    \/ GateEscalateEscalatesDrainingIgnore
    \/ GateEscalatePoisoned
    \/ GateDrainControlStaleTerm
    \/ GateDrainControlUnclaimed
    \/ GateDrainControlStaleEpoch
    \/ GateDrainStepUnknownEpoch
    \/ GateDrainNotSealed
    \/ GateDrainDrainsIgnore
    \/ GateDrainIgnore
    \/ GateDrainInstalling
    \/ GateDrainPoisoned
    \/ GateQuiescedAnswerIgnore
    \/ GateQuiescedIgnore
    \/ GateQuiescedQuietsIgnore
    \/ GateLendControlStaleTerm
    \/ GateLendControlUnclaimed
    \/ GateLendControlStaleEpoch
    \/ GateLendStepUnknownEpoch
    \/ GateLendNotDraining
    \/ GateLendLendsLentOut
    \/ GateLendLendsNotDrained
    \/ GateLendInstalling
    \/ GateLendPoisoned
    \/ GateReturnedControlStaleTerm
    \/ GateReturnedControlUnclaimed
    \/ GateReturnedControlStaleEpoch
    \/ GateReturnedStepUnknownEpoch
    \/ GateReturnedIgnore
    \/ GateReturnedReturnsIgnore
    \/ GateRenewControlStaleTerm
    \/ GateRenewControlUnclaimed
    \/ GateRenewControlStaleEpoch
    \/ GateRenewStepUnknownEpoch
    \/ GateRenewIgnore
    \/ GateInstallControlStaleTerm
    \/ GateInstallControlUnclaimed
    \/ GateInstallControlStaleEpoch
    \/ GateInstallStepUnknownEpoch
    \/ GateInstallNotDrained
    \/ GateInstallInstallsNotNewer
    \/ GateInstallInstallsIncomplete
    \/ GateInstallInstallsLentOut
    \/ GateInstallInstallsNotDrained
    \/ GateInstallSameTargetIgnore
    \/ GateInstallSameTargetInstalling
    \/ GateInstallPoisoned
    \/ GateInstalledAnswerIgnore
    \/ GateInstalledNotInstalling
    \/ GateInstalledIgnore
    \/ GateInstallFailedAnswerIgnore
    \/ GateInstallFailedNotInstalling
    \/ GateInstallFailedIgnore
    \/ GateReopenControlStaleTerm
    \/ GateReopenControlUnclaimed
    \/ GateReopenControlStaleEpoch
    \/ GateReopenStepUnknownEpoch
    \/ GateReopenIgnore
    \/ GateReopenNotVerified
    \/ GateReopenReopensNotVerified
    \/ GateReopenPoisoned
    \/ GateResumeControlStaleTerm
    \/ GateResumeControlUnclaimed
    \/ GateResumeControlStaleEpoch
    \/ GateResumeResumesOpenIgnore
    \/ GateResumeResumesUnknownEpoch
    \/ GateResumeResumesNotResident
    \/ GateResumeResumesDrainingUnknownEpoch
    \/ GateResumeResumesDrainingLentOut
    \/ GateResumeResumesDrainingNotResident
    \/ GateResumeInstalling
    \/ GateResumeResumesAgainUnknownEpoch
    \/ GateResumeResumesAgainIgnore
    \/ GateResumePoisoned
    \/ GateCloseControlStaleTerm
    \/ GateCloseControlUnclaimed
    \/ GateCloseControlStaleEpoch
    \/ GateCloseStepUnknownEpoch
    \/ GateCloseIgnore
    \/ GateCloseNotReopened
    \/ GateCloseClosesStillSuspended
    \/ GateClosePoisoned
    \/ GateDeadlineAnswerIgnore
    \/ GateDeadlineDeadlineIgnore
    \/ GateDeadlineIgnore
    \/ GateDeadlineExpiresSealedIgnore
    \/ GateDeadlineExpiresDrainingIgnore
    \/ GateDeadlineExpiresReopenedIgnore
    \/ GatePoisonPoisonStaleTerm
    \/ GatePoisonPoisonUnclaimed
    \/ GatePoisonIgnore
    \/ GateFaultIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in GateStates
    /\ (\A bound41 \in m.ranks : bound41 \in Rank)
    /\ m.term \in Nat
    /\ m.epoch \in Nat
    /\ (m.version # <<>> => m.version[1] \in Nat)
    /\ (m.target # <<>> => m.target[1] \in Nat)
    /\ (\A bound42 \in DOMAIN m.digests : bound42 \in Rank /\ m.digests[bound42] \in Digest)
    /\ m.mode \in {"wait", "abort", "keep"}
    /\ m.timer \in Nat
    /\ m.window \in Nat
    /\ (\A bound43 \in m.active : bound43 \in LeaseId)
    /\ (\A bound44 \in m.suspended : bound44 \in LeaseId)
    /\ (\A bound45 \in m.orphaned : bound45 \in LeaseId)
    /\ (\A bound46 \in m.quiet : bound46 \in Rank)
    /\ (\A bound47 \in m.verified : bound47 \in Rank)
    /\ m.resident \in BOOLEAN
    /\ (m.lent # <<>> => m.lent[1] \in OperationId)

================================================================================
