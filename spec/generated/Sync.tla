\* Made by `sluicegate generate` from the machine Sync; do not edit.
--------------------------------- MODULE Sync ----------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* The controller's operation: a sync of a cohort of replicas, with barriers over its members.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* SyncER_states: the states in which R can apply; SyncER_when: R applies; SyncER_next: the record after it
\* (absent where R leaves it as it is); SyncER_out: what is to be done then, in order (absent where that is
\* nothing).
\*
\* For the event as a whole: SyncE_states: the states in which it can change or emit something; SyncE_acts: it
\* does so now; SyncE_step: then the record after it and what is to be done, a pair, else the empty sequence;
\* SyncE: the record after it in any case; SyncE_out: what is to be done; SyncE_rule: the name of the rule
\* that applies; SyncE_refused: whether it is refused.

SyncStates == {"IDLE", "SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}

\* The record of an instance that was just born.
SyncInit(sInit_term, sInit_minimum) ==
    [state |-> "IDLE",
     term |-> sInit_term,
     minimum |-> sInit_minimum,
     epoch |-> 0,
     published |-> <<>>,
     version |-> <<>>,
     mode |-> "wait",
     lend |-> FALSE,
     members |-> {},
     answered |-> {},
     refusing |-> {}]


\* Restore(epoch, published) ---------------------------------------------------------------------------------
\* What the durable counter and register say when the controller begins.

\* restores: stays
SyncRestoreRestores_states == {"IDLE"}
SyncRestoreRestores_when(sRestore, sRestore_epoch, sRestore_published) ==
    /\ sRestore.state = "IDLE"
    /\ sRestore.epoch <= sRestore_epoch
SyncRestoreRestores_next(sRestore, sRestore_epoch, sRestore_published) ==
    [sRestore EXCEPT !.epoch = sRestore_epoch, !.published = sRestore_published]

\* restores_ignore: ignored
SyncRestoreRestoresIgnore_states == {"IDLE"}
SyncRestoreRestoresIgnore_when(sRestore, sRestore_epoch, sRestore_published) ==
    /\ sRestore.state = "IDLE"
    /\ sRestore.epoch > sRestore_epoch

\* busy: refused busy, may be tried again
SyncRestoreBusy_states == {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}
SyncRestoreBusy_when(sRestore, sRestore_epoch, sRestore_published) ==
    sRestore.state \in {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}

\* failed: refused failed
SyncRestoreFailed_states == {"FAILED"}
SyncRestoreFailed_when(sRestore, sRestore_epoch, sRestore_published) == sRestore.state = "FAILED"

\* the event as a whole
SyncRestore_states == {"IDLE"}
SyncRestore_acts(sRestore, sRestore_epoch, sRestore_published) ==
    SyncRestoreRestores_when(sRestore, sRestore_epoch, sRestore_published)
SyncRestore_step(sRestore, sRestore_epoch, sRestore_published) ==
    CASE SyncRestoreRestores_when(sRestore, sRestore_epoch, sRestore_published) -> <<SyncRestoreRestores_next(sRestore, sRestore_epoch, sRestore_published), <<>>>>
      [] OTHER -> <<>>
SyncRestore(sRestore, sRestore_epoch, sRestore_published) ==
    CASE SyncRestoreRestores_when(sRestore, sRestore_epoch, sRestore_published) -> SyncRestoreRestores_next(sRestore, sRestore_epoch, sRestore_published)
      [] OTHER -> sRestore
SyncRestore_rule(sRestore, sRestore_epoch, sRestore_published) ==
    CASE SyncRestoreRestores_when(sRestore, sRestore_epoch, sRestore_published) -> "restores"
      [] SyncRestoreRestoresIgnore_when(sRestore, sRestore_epoch, sRestore_published) -> "restores_ignore"
      [] SyncRestoreBusy_when(sRestore, sRestore_epoch, sRestore_published) -> "busy"
      [] SyncRestoreFailed_when(sRestore, sRestore_epoch, sRestore_published) -> "failed"
SyncRestore_out(sRestore, sRestore_epoch, sRestore_published) == <<>>
SyncRestore_refused(sRestore, sRestore_epoch, sRestore_published) ==
    \/ SyncRestoreBusy_when(sRestore, sRestore_epoch, sRestore_published)
    \/ SyncRestoreFailed_when(sRestore, sRestore_epoch, sRestore_published)


\* Begin(epoch, version, members, mode, lend) ----------------------------------------------------------------
\* Start an operation: install `version` on `members`; with `lend`, lend them out first.

\* begins: goes to SEALING
SyncBeginBegins_states == {"IDLE"}
SyncBeginBegins_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    /\ sBegin.state = "IDLE"
    /\ sBegin.epoch < sBegin_epoch
    /\ sBegin.minimum <= Cardinality(sBegin_members)
    /\ sBegin_members # {}
    /\ ((sBegin.published = <<>>) \/ ((IF sBegin.published = <<>> THEN 0 ELSE sBegin.published[1]) < sBegin_version) \/ (sBegin_lend /\ (sBegin.published = <<sBegin_version>>)))
SyncBeginBegins_next(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    [sBegin EXCEPT
        !.state = "SEALING",
        !.epoch = sBegin_epoch,
        !.version = <<sBegin_version>>,
        !.mode = sBegin_mode,
        !.lend = sBegin_lend,
        !.members = sBegin_members,
        !.answered = {},
        !.refusing = {}]
SyncBeginBegins_out(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    <<[out |-> "SendSeal", epoch |-> sBegin_epoch, members |-> sBegin_members, mode |-> sBegin_mode]>>

\* begins_not_later: refused not_later
SyncBeginBeginsNotLater_states == {"IDLE"}
SyncBeginBeginsNotLater_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    /\ sBegin.state = "IDLE"
    /\ sBegin.epoch >= sBegin_epoch

\* begins_too_few: refused too_few, may be tried again
SyncBeginBeginsTooFew_states == {"IDLE"}
SyncBeginBeginsTooFew_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    /\ sBegin.state = "IDLE"
    /\ sBegin.epoch < sBegin_epoch
    /\ ~((sBegin.minimum <= Cardinality(sBegin_members)) /\ (sBegin_members # {}))

\* begins_not_newer: refused not_newer
SyncBeginBeginsNotNewer_states == {"IDLE"}
SyncBeginBeginsNotNewer_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    /\ sBegin.state = "IDLE"
    /\ (~((sBegin.epoch < sBegin_epoch) /\ (sBegin.minimum <= Cardinality(sBegin_members)) /\ (sBegin_members # {}) /\ ((sBegin.published = <<>>) \/ ((IF sBegin.published = <<>> THEN 0 ELSE sBegin.published[1]) < sBegin_version) \/ (sBegin_lend /\ (sBegin.published = <<sBegin_version>>)))))
    /\ sBegin.epoch < sBegin_epoch
    /\ ~((sBegin.epoch < sBegin_epoch) /\ (~((sBegin.minimum <= Cardinality(sBegin_members)) /\ (sBegin_members # {}))))

\* busy: refused busy, may be tried again
SyncBeginBusy_states == {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}
SyncBeginBusy_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    sBegin.state \in {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}

\* failed: refused failed
SyncBeginFailed_states == {"FAILED"}
SyncBeginFailed_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    sBegin.state = "FAILED"

\* the event as a whole
SyncBegin_states == {"IDLE"}
SyncBegin_acts(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    SyncBeginBegins_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
SyncBegin_step(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    CASE SyncBeginBegins_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> <<SyncBeginBegins_next(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend), SyncBeginBegins_out(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)>>
      [] OTHER -> <<>>
SyncBegin(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    CASE SyncBeginBegins_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> SyncBeginBegins_next(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
      [] OTHER -> sBegin
SyncBegin_rule(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    CASE SyncBeginBegins_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> "begins"
      [] SyncBeginBeginsNotLater_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> "begins_not_later"
      [] SyncBeginBeginsTooFew_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> "begins_too_few"
      [] SyncBeginBeginsNotNewer_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> "begins_not_newer"
      [] SyncBeginBusy_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> "busy"
      [] SyncBeginFailed_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> "failed"
SyncBegin_out(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    CASE SyncBeginBegins_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) -> SyncBeginBegins_out(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
      [] OTHER -> <<>>
SyncBegin_refused(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend) ==
    \/ SyncBeginBeginsNotLater_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
    \/ SyncBeginBeginsTooFew_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
    \/ SyncBeginBeginsNotNewer_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
    \/ SyncBeginBusy_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)
    \/ SyncBeginFailed_when(sBegin, sBegin_epoch, sBegin_version, sBegin_members, sBegin_mode, sBegin_lend)


\* Sealed(replica) -------------------------------------------------------------------------------------------
\* The member has acknowledged the seal.

\* ignore: ignored
SyncSealedIgnore_states == {"IDLE", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}
SyncSealedIgnore_when(sSealed, sSealed_replica) ==
    sSealed.state \in {"IDLE", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}

\* seals: stays
SyncSealedSeals_states == {"SEALING"}
SyncSealedSeals_when(sSealed, sSealed_replica) ==
    /\ sSealed.state = "SEALING"
    /\ sSealed_replica \in sSealed.members
    /\ ~(sSealed.members \subseteq (sSealed.answered \cup {sSealed_replica}))
SyncSealedSeals_next(sSealed, sSealed_replica) ==
    [sSealed EXCEPT !.answered = sSealed.answered \cup {sSealed_replica}]

\* seals_2: goes to DRAINING
SyncSealedSeals2_states == {"SEALING"}
SyncSealedSeals2_when(sSealed, sSealed_replica) ==
    /\ sSealed.state = "SEALING"
    /\ sSealed_replica \in sSealed.members
    /\ sSealed.members \subseteq (sSealed.answered \cup {sSealed_replica})
SyncSealedSeals2_next(sSealed, sSealed_replica) == [sSealed EXCEPT !.state = "DRAINING", !.answered = {}]
SyncSealedSeals2_out(sSealed, sSealed_replica) ==
    <<[out |-> "SendDrain", epoch |-> sSealed.epoch, members |-> sSealed.members]>>

\* seals_ignore: ignored
SyncSealedSealsIgnore_states == {"SEALING"}
SyncSealedSealsIgnore_when(sSealed, sSealed_replica) ==
    /\ sSealed.state = "SEALING"
    /\ ~((sSealed_replica \in sSealed.members) /\ (~(sSealed.members \subseteq (sSealed.answered \cup {sSealed_replica}))))
    /\ ~((sSealed_replica \in sSealed.members) /\ (sSealed.members \subseteq (sSealed.answered \cup {sSealed_replica})))

\* the event as a whole
SyncSealed_states == {"SEALING"}
SyncSealed_acts(sSealed, sSealed_replica) ==
    \/ SyncSealedSeals_when(sSealed, sSealed_replica)
    \/ SyncSealedSeals2_when(sSealed, sSealed_replica)
SyncSealed_step(sSealed, sSealed_replica) ==
    CASE SyncSealedSeals_when(sSealed, sSealed_replica) -> <<SyncSealedSeals_next(sSealed, sSealed_replica), <<>>>>
      [] SyncSealedSeals2_when(sSealed, sSealed_replica) -> <<SyncSealedSeals2_next(sSealed, sSealed_replica), SyncSealedSeals2_out(sSealed, sSealed_replica)>>
      [] OTHER -> <<>>
SyncSealed(sSealed, sSealed_replica) ==
    CASE SyncSealedSeals_when(sSealed, sSealed_replica) -> SyncSealedSeals_next(sSealed, sSealed_replica)
      [] SyncSealedSeals2_when(sSealed, sSealed_replica) -> SyncSealedSeals2_next(sSealed, sSealed_replica)
      [] OTHER -> sSealed
SyncSealed_rule(sSealed, sSealed_replica) ==
    CASE SyncSealedIgnore_when(sSealed, sSealed_replica) -> "ignore"
      [] SyncSealedSeals_when(sSealed, sSealed_replica) -> "seals"
      [] SyncSealedSeals2_when(sSealed, sSealed_replica) -> "seals_2"
      [] SyncSealedSealsIgnore_when(sSealed, sSealed_replica) -> "seals_ignore"
SyncSealed_out(sSealed, sSealed_replica) ==
    CASE SyncSealedSeals2_when(sSealed, sSealed_replica) -> SyncSealedSeals2_out(sSealed, sSealed_replica)
      [] OTHER -> <<>>
SyncSealed_refused(sSealed, sSealed_replica) == FALSE


\* Drained(replica) ------------------------------------------------------------------------------------------
\* The member's gate is drained.

\* ignore: ignored
SyncDrainedIgnore_states == {"IDLE", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}
SyncDrainedIgnore_when(sDrained, sDrained_replica) ==
    sDrained.state \in {"IDLE", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}

\* out_of_step: refused out_of_step
SyncDrainedOutOfStep_states == {"SEALING"}
SyncDrainedOutOfStep_when(sDrained, sDrained_replica) == sDrained.state = "SEALING"

\* drains: stays
SyncDrainedDrains_states == {"DRAINING"}
SyncDrainedDrains_when(sDrained, sDrained_replica) ==
    /\ sDrained.state = "DRAINING"
    /\ sDrained_replica \in sDrained.members
    /\ ~(sDrained.members \subseteq (sDrained.answered \cup {sDrained_replica}))
SyncDrainedDrains_next(sDrained, sDrained_replica) ==
    [sDrained EXCEPT !.answered = sDrained.answered \cup {sDrained_replica}]

\* drains_2: goes to INSTALLING
SyncDrainedDrains2_states == {"DRAINING"}
SyncDrainedDrains2_when(sDrained, sDrained_replica) ==
    /\ sDrained.state = "DRAINING"
    /\ sDrained_replica \in sDrained.members
    /\ sDrained.members \subseteq (sDrained.answered \cup {sDrained_replica})
    /\ ~sDrained.lend
SyncDrainedDrains2_next(sDrained, sDrained_replica) ==
    [sDrained EXCEPT !.state = "INSTALLING", !.answered = {}]
SyncDrainedDrains2_out(sDrained, sDrained_replica) ==
    <<[out |-> "SendInstall", epoch |-> sDrained.epoch, members |-> sDrained.members, version |-> IF sDrained.version = <<>> THEN 0 ELSE sDrained.version[1]]>>

\* drains_3: goes to LENT
SyncDrainedDrains3_states == {"DRAINING"}
SyncDrainedDrains3_when(sDrained, sDrained_replica) ==
    /\ sDrained.state = "DRAINING"
    /\ sDrained_replica \in sDrained.members
    /\ sDrained.members \subseteq (sDrained.answered \cup {sDrained_replica})
    /\ sDrained.lend
SyncDrainedDrains3_next(sDrained, sDrained_replica) == [sDrained EXCEPT !.state = "LENT", !.answered = {}]
SyncDrainedDrains3_out(sDrained, sDrained_replica) ==
    <<[out |-> "SendLend", epoch |-> sDrained.epoch, members |-> sDrained.members]>>

\* drains_ignore: ignored
SyncDrainedDrainsIgnore_states == {"DRAINING"}
SyncDrainedDrainsIgnore_when(sDrained, sDrained_replica) ==
    /\ sDrained.state = "DRAINING"
    /\ ~((sDrained_replica \in sDrained.members) /\ (~(sDrained.members \subseteq (sDrained.answered \cup {sDrained_replica}))))
    /\ ~((sDrained_replica \in sDrained.members) /\ (sDrained.members \subseteq (sDrained.answered \cup {sDrained_replica})) /\ (~sDrained.lend))
    /\ ~((sDrained_replica \in sDrained.members) /\ (sDrained.members \subseteq (sDrained.answered \cup {sDrained_replica})) /\ sDrained.lend)

\* the event as a whole
SyncDrained_states == {"DRAINING"}
SyncDrained_acts(sDrained, sDrained_replica) ==
    \/ SyncDrainedDrains_when(sDrained, sDrained_replica)
    \/ SyncDrainedDrains2_when(sDrained, sDrained_replica)
    \/ SyncDrainedDrains3_when(sDrained, sDrained_replica)
SyncDrained_step(sDrained, sDrained_replica) ==
    CASE SyncDrainedDrains_when(sDrained, sDrained_replica) -> <<SyncDrainedDrains_next(sDrained, sDrained_replica), <<>>>>
      [] SyncDrainedDrains2_when(sDrained, sDrained_replica) -> <<SyncDrainedDrains2_next(sDrained, sDrained_replica), SyncDrainedDrains2_out(sDrained, sDrained_replica)>>
      [] SyncDrainedDrains3_when(sDrained, sDrained_replica) -> <<SyncDrainedDrains3_next(sDrained, sDrained_replica), SyncDrainedDrains3_out(sDrained, sDrained_replica)>>
      [] OTHER -> <<>>
SyncDrained(sDrained, sDrained_replica) ==
    CASE SyncDrainedDrains_when(sDrained, sDrained_replica) -> SyncDrainedDrains_next(sDrained, sDrained_replica)
      [] SyncDrainedDrains2_when(sDrained, sDrained_replica) -> SyncDrainedDrains2_next(sDrained, sDrained_replica)
      [] SyncDrainedDrains3_when(sDrained, sDrained_replica) -> SyncDrainedDrains3_next(sDrained, sDrained_replica)
      [] OTHER -> sDrained
SyncDrained_rule(sDrained, sDrained_replica) ==
    CASE SyncDrainedIgnore_when(sDrained, sDrained_replica) -> "ignore"
      [] SyncDrainedOutOfStep_when(sDrained, sDrained_replica) -> "out_of_step"
      [] SyncDrainedDrains_when(sDrained, sDrained_replica) -> "drains"
      [] SyncDrainedDrains2_when(sDrained, sDrained_replica) -> "drains_2"
      [] SyncDrainedDrains3_when(sDrained, sDrained_replica) -> "drains_3"
      [] SyncDrainedDrainsIgnore_when(sDrained, sDrained_replica) -> "drains_ignore"
SyncDrained_out(sDrained, sDrained_replica) ==
    CASE SyncDrainedDrains2_when(sDrained, sDrained_replica) -> SyncDrainedDrains2_out(sDrained, sDrained_replica)
      [] SyncDrainedDrains3_when(sDrained, sDrained_replica) -> SyncDrainedDrains3_out(sDrained, sDrained_replica)
      [] OTHER -> <<>>
SyncDrained_refused(sDrained, sDrained_replica) == SyncDrainedOutOfStep_when(sDrained, sDrained_replica)


\* Trained() -------------------------------------------------------------------------------------------------
\* The trainer no longer uses the lent devices.

\* ignore: ignored
SyncTrainedIgnore_states == {"IDLE", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}
SyncTrainedIgnore_when(sTrained) ==
    sTrained.state \in {"IDLE", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}

\* out_of_step: refused out_of_step
SyncTrainedOutOfStep_states == {"SEALING", "DRAINING"}
SyncTrainedOutOfStep_when(sTrained) == sTrained.state \in {"SEALING", "DRAINING"}

\* trains: goes to INSTALLING
SyncTrainedTrains_states == {"LENT"}
SyncTrainedTrains_when(sTrained) == sTrained.state = "LENT"
SyncTrainedTrains_next(sTrained) == [sTrained EXCEPT !.state = "INSTALLING"]
SyncTrainedTrains_out(sTrained) ==
    <<[out |-> "SendInstall", epoch |-> sTrained.epoch, members |-> sTrained.members, version |-> IF sTrained.version = <<>> THEN 0 ELSE sTrained.version[1]]>>

\* the event as a whole
SyncTrained_states == {"LENT"}
SyncTrained_acts(sTrained) == SyncTrainedTrains_when(sTrained)
SyncTrained_step(sTrained) ==
    CASE SyncTrainedTrains_when(sTrained) -> <<SyncTrainedTrains_next(sTrained), SyncTrainedTrains_out(sTrained)>>
      [] OTHER -> <<>>
SyncTrained(sTrained) ==
    CASE SyncTrainedTrains_when(sTrained) -> SyncTrainedTrains_next(sTrained)
      [] OTHER -> sTrained
SyncTrained_rule(sTrained) ==
    CASE SyncTrainedIgnore_when(sTrained) -> "ignore"
      [] SyncTrainedOutOfStep_when(sTrained) -> "out_of_step"
      [] SyncTrainedTrains_when(sTrained) -> "trains"
SyncTrained_out(sTrained) ==
    CASE SyncTrainedTrains_when(sTrained) -> SyncTrainedTrains_out(sTrained)
      [] OTHER -> <<>>
SyncTrained_refused(sTrained) == SyncTrainedOutOfStep_when(sTrained)


\* Installed(replica) ----------------------------------------------------------------------------------------
\* Every rank of the member has proved the version.

\* ignore: ignored
SyncInstalledIgnore_states == {"IDLE", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}
SyncInstalledIgnore_when(sInstalled, sInstalled_replica) ==
    sInstalled.state \in {"IDLE", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}

\* out_of_step: refused out_of_step
SyncInstalledOutOfStep_states == {"SEALING", "DRAINING", "LENT"}
SyncInstalledOutOfStep_when(sInstalled, sInstalled_replica) ==
    sInstalled.state \in {"SEALING", "DRAINING", "LENT"}

\* installs: stays
SyncInstalledInstalls_states == {"INSTALLING"}
SyncInstalledInstalls_when(sInstalled, sInstalled_replica) ==
    /\ sInstalled.state = "INSTALLING"
    /\ sInstalled_replica \in sInstalled.members
    /\ ~(sInstalled.members \subseteq ((sInstalled.answered \cup {sInstalled_replica}) \cup sInstalled.refusing))
SyncInstalledInstalls_next(sInstalled, sInstalled_replica) ==
    [sInstalled EXCEPT !.answered = sInstalled.answered \cup {sInstalled_replica}]

\* installs_2: goes to RECORDING
SyncInstalledInstalls2_states == {"INSTALLING"}
SyncInstalledInstalls2_when(sInstalled, sInstalled_replica) ==
    /\ sInstalled.state = "INSTALLING"
    /\ sInstalled_replica \in sInstalled.members
    /\ sInstalled.members \subseteq ((sInstalled.answered \cup {sInstalled_replica}) \cup sInstalled.refusing)
SyncInstalledInstalls2_next(sInstalled, sInstalled_replica) ==
    [sInstalled EXCEPT
        !.state = "RECORDING",
        !.members = sInstalled.answered \cup {sInstalled_replica},
        !.answered = {},
        !.refusing = {}]
SyncInstalledInstalls2_out(sInstalled, sInstalled_replica) ==
    <<[out |-> "Record", version |-> IF sInstalled.version = <<>> THEN 0 ELSE sInstalled.version[1]]>>

\* installs_ignore: ignored
SyncInstalledInstallsIgnore_states == {"INSTALLING"}
SyncInstalledInstallsIgnore_when(sInstalled, sInstalled_replica) ==
    /\ sInstalled.state = "INSTALLING"
    /\ ~((sInstalled_replica \in sInstalled.members) /\ (~(sInstalled.members \subseteq ((sInstalled.answered \cup {sInstalled_replica}) \cup sInstalled.refusing))))
    /\ ~((sInstalled_replica \in sInstalled.members) /\ (sInstalled.members \subseteq ((sInstalled.answered \cup {sInstalled_replica}) \cup sInstalled.refusing)))

\* the event as a whole
SyncInstalled_states == {"INSTALLING"}
SyncInstalled_acts(sInstalled, sInstalled_replica) ==
    \/ SyncInstalledInstalls_when(sInstalled, sInstalled_replica)
    \/ SyncInstalledInstalls2_when(sInstalled, sInstalled_replica)
SyncInstalled_step(sInstalled, sInstalled_replica) ==
    CASE SyncInstalledInstalls_when(sInstalled, sInstalled_replica) -> <<SyncInstalledInstalls_next(sInstalled, sInstalled_replica), <<>>>>
      [] SyncInstalledInstalls2_when(sInstalled, sInstalled_replica) -> <<SyncInstalledInstalls2_next(sInstalled, sInstalled_replica), SyncInstalledInstalls2_out(sInstalled, sInstalled_replica)>>
      [] OTHER -> <<>>
SyncInstalled(sInstalled, sInstalled_replica) ==
    CASE SyncInstalledInstalls_when(sInstalled, sInstalled_replica) -> SyncInstalledInstalls_next(sInstalled, sInstalled_replica)
      [] SyncInstalledInstalls2_when(sInstalled, sInstalled_replica) -> SyncInstalledInstalls2_next(sInstalled, sInstalled_replica)
      [] OTHER -> sInstalled
SyncInstalled_rule(sInstalled, sInstalled_replica) ==
    CASE SyncInstalledIgnore_when(sInstalled, sInstalled_replica) -> "ignore"
      [] SyncInstalledOutOfStep_when(sInstalled, sInstalled_replica) -> "out_of_step"
      [] SyncInstalledInstalls_when(sInstalled, sInstalled_replica) -> "installs"
      [] SyncInstalledInstalls2_when(sInstalled, sInstalled_replica) -> "installs_2"
      [] SyncInstalledInstallsIgnore_when(sInstalled, sInstalled_replica) -> "installs_ignore"
SyncInstalled_out(sInstalled, sInstalled_replica) ==
    CASE SyncInstalledInstalls2_when(sInstalled, sInstalled_replica) -> SyncInstalledInstalls2_out(sInstalled, sInstalled_replica)
      [] OTHER -> <<>>
SyncInstalled_refused(sInstalled, sInstalled_replica) ==
    SyncInstalledOutOfStep_when(sInstalled, sInstalled_replica)


\* Declined(replica) -----------------------------------------------------------------------------------------
\* The member's gate refused the install: it still holds what it held.

\* ignore: ignored
SyncDeclinedIgnore_states == {"IDLE", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}
SyncDeclinedIgnore_when(sDeclined, sDeclined_replica) ==
    sDeclined.state \in {"IDLE", "RECORDING", "REOPENING", "ROLLING_BACK", "FAILED"}

\* out_of_step: refused out_of_step
SyncDeclinedOutOfStep_states == {"SEALING", "DRAINING", "LENT"}
SyncDeclinedOutOfStep_when(sDeclined, sDeclined_replica) ==
    sDeclined.state \in {"SEALING", "DRAINING", "LENT"}

\* declines: stays
SyncDeclinedDeclines_states == {"INSTALLING"}
SyncDeclinedDeclines_when(sDeclined, sDeclined_replica) ==
    /\ sDeclined.state = "INSTALLING"
    /\ sDeclined_replica \in sDeclined.members
    /\ ~(sDeclined.members \subseteq ((sDeclined.refusing \cup {sDeclined_replica}) \cup sDeclined.answered))
SyncDeclinedDeclines_next(sDeclined, sDeclined_replica) ==
    [sDeclined EXCEPT !.refusing = sDeclined.refusing \cup {sDeclined_replica}]

\* declines_2: goes to RECORDING
SyncDeclinedDeclines2_states == {"INSTALLING"}
SyncDeclinedDeclines2_when(sDeclined, sDeclined_replica) ==
    /\ sDeclined.state = "INSTALLING"
    /\ sDeclined_replica \in sDeclined.members
    /\ sDeclined.members \subseteq ((sDeclined.refusing \cup {sDeclined_replica}) \cup sDeclined.answered)
    /\ sDeclined.answered # {}
SyncDeclinedDeclines2_next(sDeclined, sDeclined_replica) ==
    [sDeclined EXCEPT
        !.state = "RECORDING",
        !.members = sDeclined.answered,
        !.answered = {},
        !.refusing = {}]
SyncDeclinedDeclines2_out(sDeclined, sDeclined_replica) ==
    <<[out |-> "Record", version |-> IF sDeclined.version = <<>> THEN 0 ELSE sDeclined.version[1]]>>

\* declines_3: goes to ROLLING_BACK
SyncDeclinedDeclines3_states == {"INSTALLING"}
SyncDeclinedDeclines3_when(sDeclined, sDeclined_replica) ==
    /\ sDeclined.state = "INSTALLING"
    /\ sDeclined_replica \in sDeclined.members
    /\ sDeclined.members \subseteq ((sDeclined.refusing \cup {sDeclined_replica}) \cup sDeclined.answered)
    /\ sDeclined.answered = {}
SyncDeclinedDeclines3_next(sDeclined, sDeclined_replica) ==
    [sDeclined EXCEPT !.state = "ROLLING_BACK", !.refusing = {}]
SyncDeclinedDeclines3_out(sDeclined, sDeclined_replica) ==
    <<[out |-> "SendResume", epoch |-> sDeclined.epoch, members |-> sDeclined.members]>>

\* declines_ignore: ignored
SyncDeclinedDeclinesIgnore_states == {"INSTALLING"}
SyncDeclinedDeclinesIgnore_when(sDeclined, sDeclined_replica) ==
    /\ sDeclined.state = "INSTALLING"
    /\ ~((sDeclined_replica \in sDeclined.members) /\ (~(sDeclined.members \subseteq ((sDeclined.refusing \cup {sDeclined_replica}) \cup sDeclined.answered))))
    /\ ~((sDeclined_replica \in sDeclined.members) /\ (sDeclined.members \subseteq ((sDeclined.refusing \cup {sDeclined_replica}) \cup sDeclined.answered)) /\ (sDeclined.answered # {}))
    /\ ~((sDeclined_replica \in sDeclined.members) /\ (sDeclined.members \subseteq ((sDeclined.refusing \cup {sDeclined_replica}) \cup sDeclined.answered)) /\ (sDeclined.answered = {}))

\* the event as a whole
SyncDeclined_states == {"INSTALLING"}
SyncDeclined_acts(sDeclined, sDeclined_replica) ==
    \/ SyncDeclinedDeclines_when(sDeclined, sDeclined_replica)
    \/ SyncDeclinedDeclines2_when(sDeclined, sDeclined_replica)
    \/ SyncDeclinedDeclines3_when(sDeclined, sDeclined_replica)
SyncDeclined_step(sDeclined, sDeclined_replica) ==
    CASE SyncDeclinedDeclines_when(sDeclined, sDeclined_replica) -> <<SyncDeclinedDeclines_next(sDeclined, sDeclined_replica), <<>>>>
      [] SyncDeclinedDeclines2_when(sDeclined, sDeclined_replica) -> <<SyncDeclinedDeclines2_next(sDeclined, sDeclined_replica), SyncDeclinedDeclines2_out(sDeclined, sDeclined_replica)>>
      [] SyncDeclinedDeclines3_when(sDeclined, sDeclined_replica) -> <<SyncDeclinedDeclines3_next(sDeclined, sDeclined_replica), SyncDeclinedDeclines3_out(sDeclined, sDeclined_replica)>>
      [] OTHER -> <<>>
SyncDeclined(sDeclined, sDeclined_replica) ==
    CASE SyncDeclinedDeclines_when(sDeclined, sDeclined_replica) -> SyncDeclinedDeclines_next(sDeclined, sDeclined_replica)
      [] SyncDeclinedDeclines2_when(sDeclined, sDeclined_replica) -> SyncDeclinedDeclines2_next(sDeclined, sDeclined_replica)
      [] SyncDeclinedDeclines3_when(sDeclined, sDeclined_replica) -> SyncDeclinedDeclines3_next(sDeclined, sDeclined_replica)
      [] OTHER -> sDeclined
SyncDeclined_rule(sDeclined, sDeclined_replica) ==
    CASE SyncDeclinedIgnore_when(sDeclined, sDeclined_replica) -> "ignore"
      [] SyncDeclinedOutOfStep_when(sDeclined, sDeclined_replica) -> "out_of_step"
      [] SyncDeclinedDeclines_when(sDeclined, sDeclined_replica) -> "declines"
      [] SyncDeclinedDeclines2_when(sDeclined, sDeclined_replica) -> "declines_2"
      [] SyncDeclinedDeclines3_when(sDeclined, sDeclined_replica) -> "declines_3"
      [] SyncDeclinedDeclinesIgnore_when(sDeclined, sDeclined_replica) -> "declines_ignore"
SyncDeclined_out(sDeclined, sDeclined_replica) ==
    CASE SyncDeclinedDeclines2_when(sDeclined, sDeclined_replica) -> SyncDeclinedDeclines2_out(sDeclined, sDeclined_replica)
      [] SyncDeclinedDeclines3_when(sDeclined, sDeclined_replica) -> SyncDeclinedDeclines3_out(sDeclined, sDeclined_replica)
      [] OTHER -> <<>>
SyncDeclined_refused(sDeclined, sDeclined_replica) == SyncDeclinedOutOfStep_when(sDeclined, sDeclined_replica)


\* Recorded() ------------------------------------------------------------------------------------------------
\* The register says `published = version`, durably.

\* ignore: ignored
SyncRecordedIgnore_states == {"IDLE", "REOPENING", "ROLLING_BACK", "FAILED"}
SyncRecordedIgnore_when(sRecorded) == sRecorded.state \in {"IDLE", "REOPENING", "ROLLING_BACK", "FAILED"}

\* out_of_step: refused out_of_step
SyncRecordedOutOfStep_states == {"SEALING", "DRAINING", "LENT", "INSTALLING"}
SyncRecordedOutOfStep_when(sRecorded) == sRecorded.state \in {"SEALING", "DRAINING", "LENT", "INSTALLING"}

\* records: goes to REOPENING
SyncRecordedRecords_states == {"RECORDING"}
SyncRecordedRecords_when(sRecorded) ==
    /\ sRecorded.state = "RECORDING"
    /\ sRecorded.members # {}
SyncRecordedRecords_next(sRecorded) ==
    [sRecorded EXCEPT !.state = "REOPENING", !.published = sRecorded.version]
SyncRecordedRecords_out(sRecorded) ==
    <<[out |-> "SendReopen", epoch |-> sRecorded.epoch, members |-> sRecorded.members]>>

\* records_otherwise: goes to IDLE
SyncRecordedRecordsOtherwise_states == {"RECORDING"}
SyncRecordedRecordsOtherwise_when(sRecorded) ==
    /\ sRecorded.state = "RECORDING"
    /\ sRecorded.members = {}
SyncRecordedRecordsOtherwise_next(sRecorded) ==
    [sRecorded EXCEPT !.state = "IDLE", !.published = sRecorded.version]
SyncRecordedRecordsOtherwise_out(sRecorded) ==
    <<[out |-> "Announce", version |-> IF sRecorded.version = <<>> THEN 0 ELSE sRecorded.version[1]]>>

\* the event as a whole
SyncRecorded_states == {"RECORDING"}
SyncRecorded_acts(sRecorded) ==
    \/ SyncRecordedRecords_when(sRecorded)
    \/ SyncRecordedRecordsOtherwise_when(sRecorded)
SyncRecorded_step(sRecorded) ==
    CASE SyncRecordedRecords_when(sRecorded) -> <<SyncRecordedRecords_next(sRecorded), SyncRecordedRecords_out(sRecorded)>>
      [] SyncRecordedRecordsOtherwise_when(sRecorded) -> <<SyncRecordedRecordsOtherwise_next(sRecorded), SyncRecordedRecordsOtherwise_out(sRecorded)>>
      [] OTHER -> <<>>
SyncRecorded(sRecorded) ==
    CASE SyncRecordedRecords_when(sRecorded) -> SyncRecordedRecords_next(sRecorded)
      [] SyncRecordedRecordsOtherwise_when(sRecorded) -> SyncRecordedRecordsOtherwise_next(sRecorded)
      [] OTHER -> sRecorded
SyncRecorded_rule(sRecorded) ==
    CASE SyncRecordedIgnore_when(sRecorded) -> "ignore"
      [] SyncRecordedOutOfStep_when(sRecorded) -> "out_of_step"
      [] SyncRecordedRecords_when(sRecorded) -> "records"
      [] SyncRecordedRecordsOtherwise_when(sRecorded) -> "records_otherwise"
SyncRecorded_out(sRecorded) ==
    CASE SyncRecordedRecords_when(sRecorded) -> SyncRecordedRecords_out(sRecorded)
      [] SyncRecordedRecordsOtherwise_when(sRecorded) -> SyncRecordedRecordsOtherwise_out(sRecorded)
      [] OTHER -> <<>>
SyncRecorded_refused(sRecorded) == SyncRecordedOutOfStep_when(sRecorded)


\* Overruled() -----------------------------------------------------------------------------------------------
\* A controller of a higher term rules.

\* overruled: goes to FAILED
SyncOverruledOverruled_states == {"IDLE", "SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}
SyncOverruledOverruled_when(sOverruled) ==
    sOverruled.state \in {"IDLE", "SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}
SyncOverruledOverruled_next(sOverruled) == [sOverruled EXCEPT !.state = "FAILED"]

\* ignore: ignored
SyncOverruledIgnore_states == {"FAILED"}
SyncOverruledIgnore_when(sOverruled) == sOverruled.state = "FAILED"

\* the event as a whole
SyncOverruled_states == {"IDLE", "SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}
SyncOverruled_acts(sOverruled) == SyncOverruledOverruled_when(sOverruled)
SyncOverruled_step(sOverruled) ==
    CASE SyncOverruledOverruled_when(sOverruled) -> <<SyncOverruledOverruled_next(sOverruled), <<>>>>
      [] OTHER -> <<>>
SyncOverruled(sOverruled) ==
    CASE SyncOverruledOverruled_when(sOverruled) -> SyncOverruledOverruled_next(sOverruled)
      [] OTHER -> sOverruled
SyncOverruled_rule(sOverruled) ==
    CASE SyncOverruledOverruled_when(sOverruled) -> "overruled"
      [] SyncOverruledIgnore_when(sOverruled) -> "ignore"
SyncOverruled_out(sOverruled) == <<>>
SyncOverruled_refused(sOverruled) == FALSE


\* Closed(replica) -------------------------------------------------------------------------------------------
\* The member's gate is open again.

\* ignore: ignored
SyncClosedIgnore_states == {"IDLE", "FAILED"}
SyncClosedIgnore_when(sClosed, sClosed_replica) == sClosed.state \in {"IDLE", "FAILED"}

\* out_of_step: refused out_of_step
SyncClosedOutOfStep_states == {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING"}
SyncClosedOutOfStep_when(sClosed, sClosed_replica) ==
    sClosed.state \in {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING"}

\* closes: stays
SyncClosedCloses_states == {"REOPENING"}
SyncClosedCloses_when(sClosed, sClosed_replica) ==
    /\ sClosed.state = "REOPENING"
    /\ sClosed_replica \in sClosed.members
    /\ ~(sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica}))
SyncClosedCloses_next(sClosed, sClosed_replica) ==
    [sClosed EXCEPT !.answered = sClosed.answered \cup {sClosed_replica}]

\* closes_2: goes to IDLE
SyncClosedCloses2_states == {"REOPENING"}
SyncClosedCloses2_when(sClosed, sClosed_replica) ==
    /\ sClosed.state = "REOPENING"
    /\ sClosed_replica \in sClosed.members
    /\ sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica})
SyncClosedCloses2_next(sClosed, sClosed_replica) ==
    [sClosed EXCEPT
        !.state = "IDLE",
        !.answered = {},
        !.members = {}]
SyncClosedCloses2_out(sClosed, sClosed_replica) ==
    <<[out |-> "Announce", version |-> IF sClosed.version = <<>> THEN 0 ELSE sClosed.version[1]]>>

\* closes_ignore: ignored
SyncClosedClosesIgnore_states == {"REOPENING"}
SyncClosedClosesIgnore_when(sClosed, sClosed_replica) ==
    /\ sClosed.state = "REOPENING"
    /\ ~((sClosed_replica \in sClosed.members) /\ (~(sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica}))))
    /\ ~((sClosed_replica \in sClosed.members) /\ (sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica})))

\* closes_old: stays
SyncClosedClosesOld_states == {"ROLLING_BACK"}
SyncClosedClosesOld_when(sClosed, sClosed_replica) ==
    /\ sClosed.state = "ROLLING_BACK"
    /\ sClosed_replica \in sClosed.members
    /\ ~(sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica}))
SyncClosedClosesOld_next(sClosed, sClosed_replica) ==
    [sClosed EXCEPT !.answered = sClosed.answered \cup {sClosed_replica}]

\* closes_old_2: goes to IDLE
SyncClosedClosesOld2_states == {"ROLLING_BACK"}
SyncClosedClosesOld2_when(sClosed, sClosed_replica) ==
    /\ sClosed.state = "ROLLING_BACK"
    /\ sClosed_replica \in sClosed.members
    /\ sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica})
SyncClosedClosesOld2_next(sClosed, sClosed_replica) ==
    [sClosed EXCEPT
        !.state = "IDLE",
        !.answered = {},
        !.members = {}]
SyncClosedClosesOld2_out(sClosed, sClosed_replica) == <<[out |-> "Report", epoch |-> sClosed.epoch]>>

\* closes_old_ignore: ignored
SyncClosedClosesOldIgnore_states == {"ROLLING_BACK"}
SyncClosedClosesOldIgnore_when(sClosed, sClosed_replica) ==
    /\ sClosed.state = "ROLLING_BACK"
    /\ ~((sClosed_replica \in sClosed.members) /\ (~(sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica}))))
    /\ ~((sClosed_replica \in sClosed.members) /\ (sClosed.members \subseteq (sClosed.answered \cup {sClosed_replica})))

\* the event as a whole
SyncClosed_states == {"REOPENING", "ROLLING_BACK"}
SyncClosed_acts(sClosed, sClosed_replica) ==
    \/ SyncClosedCloses_when(sClosed, sClosed_replica)
    \/ SyncClosedCloses2_when(sClosed, sClosed_replica)
    \/ SyncClosedClosesOld_when(sClosed, sClosed_replica)
    \/ SyncClosedClosesOld2_when(sClosed, sClosed_replica)
SyncClosed_step(sClosed, sClosed_replica) ==
    CASE SyncClosedCloses_when(sClosed, sClosed_replica) -> <<SyncClosedCloses_next(sClosed, sClosed_replica), <<>>>>
      [] SyncClosedCloses2_when(sClosed, sClosed_replica) -> <<SyncClosedCloses2_next(sClosed, sClosed_replica), SyncClosedCloses2_out(sClosed, sClosed_replica)>>
      [] SyncClosedClosesOld_when(sClosed, sClosed_replica) -> <<SyncClosedClosesOld_next(sClosed, sClosed_replica), <<>>>>
      [] SyncClosedClosesOld2_when(sClosed, sClosed_replica) -> <<SyncClosedClosesOld2_next(sClosed, sClosed_replica), SyncClosedClosesOld2_out(sClosed, sClosed_replica)>>
      [] OTHER -> <<>>
SyncClosed(sClosed, sClosed_replica) ==
    CASE SyncClosedCloses_when(sClosed, sClosed_replica) -> SyncClosedCloses_next(sClosed, sClosed_replica)
      [] SyncClosedCloses2_when(sClosed, sClosed_replica) -> SyncClosedCloses2_next(sClosed, sClosed_replica)
      [] SyncClosedClosesOld_when(sClosed, sClosed_replica) -> SyncClosedClosesOld_next(sClosed, sClosed_replica)
      [] SyncClosedClosesOld2_when(sClosed, sClosed_replica) -> SyncClosedClosesOld2_next(sClosed, sClosed_replica)
      [] OTHER -> sClosed
SyncClosed_rule(sClosed, sClosed_replica) ==
    CASE SyncClosedIgnore_when(sClosed, sClosed_replica) -> "ignore"
      [] SyncClosedOutOfStep_when(sClosed, sClosed_replica) -> "out_of_step"
      [] SyncClosedCloses_when(sClosed, sClosed_replica) -> "closes"
      [] SyncClosedCloses2_when(sClosed, sClosed_replica) -> "closes_2"
      [] SyncClosedClosesIgnore_when(sClosed, sClosed_replica) -> "closes_ignore"
      [] SyncClosedClosesOld_when(sClosed, sClosed_replica) -> "closes_old"
      [] SyncClosedClosesOld2_when(sClosed, sClosed_replica) -> "closes_old_2"
      [] SyncClosedClosesOldIgnore_when(sClosed, sClosed_replica) -> "closes_old_ignore"
SyncClosed_out(sClosed, sClosed_replica) ==
    CASE SyncClosedCloses2_when(sClosed, sClosed_replica) -> SyncClosedCloses2_out(sClosed, sClosed_replica)
      [] SyncClosedClosesOld2_when(sClosed, sClosed_replica) -> SyncClosedClosesOld2_out(sClosed, sClosed_replica)
      [] OTHER -> <<>>
SyncClosed_refused(sClosed, sClosed_replica) == SyncClosedOutOfStep_when(sClosed, sClosed_replica)


\* Drop(replica, why) ----------------------------------------------------------------------------------------
\* The member failed or did not answer in time: it leaves the cohort.

\* ignore: ignored
SyncDropIgnore_states == {"IDLE", "FAILED"}
SyncDropIgnore_when(sDrop, sDrop_replica) == sDrop.state \in {"IDLE", "FAILED"}

\* drops_sealing_leaves: stays
SyncDropDropsSealingLeaves_states == {"SEALING"}
SyncDropDropsSealingLeaves_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "SEALING"
    /\ sDrop_replica \in sDrop.members
    /\ sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
    /\ ~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))
SyncDropDropsSealingLeaves_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT !.members = sDrop.members \ {sDrop_replica}, !.answered = sDrop.answered \ {sDrop_replica}]

\* drops_sealing_2: goes to DRAINING
SyncDropDropsSealing2_states == {"SEALING"}
SyncDropDropsSealing2_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "SEALING"
    /\ sDrop_replica \in sDrop.members
    /\ sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
    /\ (sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})
SyncDropDropsSealing2_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "DRAINING",
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = {}]
SyncDropDropsSealing2_out(sDrop, sDrop_replica) ==
    <<[out |-> "SendDrain", epoch |-> sDrop.epoch, members |-> sDrop.members \ {sDrop_replica}]>>

\* drops_sealing_gives_up: goes to ROLLING_BACK
SyncDropDropsSealingGivesUp_states == {"SEALING"}
SyncDropDropsSealingGivesUp_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "SEALING"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
SyncDropDropsSealingGivesUp_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "ROLLING_BACK",
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = {}]
SyncDropDropsSealingGivesUp_out(sDrop, sDrop_replica) ==
    <<[out |-> "SendResume", epoch |-> sDrop.epoch, members |-> sDrop.members \ {sDrop_replica}]>>

\* drops_sealing_nobody_left: goes to IDLE
SyncDropDropsSealingNobodyLeft_states == {"SEALING"}
SyncDropDropsSealingNobodyLeft_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "SEALING"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ (sDrop.members \ {sDrop_replica}) = {}
SyncDropDropsSealingNobodyLeft_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "IDLE",
        !.members = {},
        !.answered = {},
        !.refusing = {}]
SyncDropDropsSealingNobodyLeft_out(sDrop, sDrop_replica) == <<[out |-> "Report", epoch |-> sDrop.epoch]>>

\* drops_sealing_ignore: ignored
SyncDropDropsSealingIgnore_states == {"SEALING"}
SyncDropDropsSealingIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "SEALING"
    /\ ~((sDrop_replica \in sDrop.members) /\ (sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}) /\ (~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))))
    /\ ~((sDrop_replica \in sDrop.members) /\ (sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}) /\ ((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})))
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))) /\ ((sDrop.members \ {sDrop_replica}) = {}))

\* drops_draining_leaves: stays
SyncDropDropsDrainingLeaves_states == {"DRAINING"}
SyncDropDropsDrainingLeaves_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "DRAINING"
    /\ sDrop_replica \in sDrop.members
    /\ sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
    /\ ~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))
SyncDropDropsDrainingLeaves_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT !.members = sDrop.members \ {sDrop_replica}, !.answered = sDrop.answered \ {sDrop_replica}]

\* drops_draining_2: goes to INSTALLING
SyncDropDropsDraining2_states == {"DRAINING"}
SyncDropDropsDraining2_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "DRAINING"
    /\ sDrop_replica \in sDrop.members
    /\ sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
    /\ (sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})
    /\ ~sDrop.lend
SyncDropDropsDraining2_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "INSTALLING",
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = {}]
SyncDropDropsDraining2_out(sDrop, sDrop_replica) ==
    <<[out |-> "SendInstall", epoch |-> sDrop.epoch, members |-> sDrop.members \ {sDrop_replica}, version |-> IF sDrop.version = <<>> THEN 0 ELSE sDrop.version[1]]>>

\* drops_draining_3: goes to LENT
SyncDropDropsDraining3_states == {"DRAINING"}
SyncDropDropsDraining3_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "DRAINING"
    /\ sDrop_replica \in sDrop.members
    /\ sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
    /\ (sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})
    /\ sDrop.lend
SyncDropDropsDraining3_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "LENT",
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = {}]
SyncDropDropsDraining3_out(sDrop, sDrop_replica) ==
    <<[out |-> "SendLend", epoch |-> sDrop.epoch, members |-> sDrop.members \ {sDrop_replica}]>>

\* drops_draining_gives_up: goes to ROLLING_BACK
SyncDropDropsDrainingGivesUp_states == {"DRAINING"}
SyncDropDropsDrainingGivesUp_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "DRAINING"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ (sDrop.members \ {sDrop_replica}) # {}
SyncDropDropsDrainingGivesUp_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "ROLLING_BACK",
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = {}]
SyncDropDropsDrainingGivesUp_out(sDrop, sDrop_replica) ==
    <<[out |-> "SendResume", epoch |-> sDrop.epoch, members |-> sDrop.members \ {sDrop_replica}]>>

\* drops_draining_nobody_left: goes to IDLE
SyncDropDropsDrainingNobodyLeft_states == {"DRAINING"}
SyncDropDropsDrainingNobodyLeft_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "DRAINING"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ (sDrop.members \ {sDrop_replica}) = {}
SyncDropDropsDrainingNobodyLeft_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "IDLE",
        !.members = {},
        !.answered = {},
        !.refusing = {}]
SyncDropDropsDrainingNobodyLeft_out(sDrop, sDrop_replica) == <<[out |-> "Report", epoch |-> sDrop.epoch]>>

\* drops_draining_ignore: ignored
SyncDropDropsDrainingIgnore_states == {"DRAINING"}
SyncDropDropsDrainingIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "DRAINING"
    /\ ~((sDrop_replica \in sDrop.members) /\ (sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}) /\ (~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))))
    /\ ~((sDrop_replica \in sDrop.members) /\ (sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}) /\ ((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})) /\ (~sDrop.lend))
    /\ ~((sDrop_replica \in sDrop.members) /\ (sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}) /\ ((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})) /\ sDrop.lend)
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.minimum <= Cardinality((sDrop.members \ {sDrop_replica}))) /\ ((sDrop.members \ {sDrop_replica}) # {}))) /\ ((sDrop.members \ {sDrop_replica}) = {}))

\* drops_lent: stays
SyncDropDropsLent_states == {"LENT"}
SyncDropDropsLent_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "LENT"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) # {}
SyncDropDropsLent_next(sDrop, sDrop_replica) == [sDrop EXCEPT !.members = sDrop.members \ {sDrop_replica}]

\* drops_lent_2: goes to IDLE
SyncDropDropsLent2_states == {"LENT"}
SyncDropDropsLent2_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "LENT"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) = {}
SyncDropDropsLent2_next(sDrop, sDrop_replica) == [sDrop EXCEPT !.state = "IDLE", !.members = {}]
SyncDropDropsLent2_out(sDrop, sDrop_replica) == <<[out |-> "Report", epoch |-> sDrop.epoch]>>

\* drops_lent_ignore: ignored
SyncDropDropsLentIgnore_states == {"LENT"}
SyncDropDropsLentIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "LENT"
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) = {}))

\* drops_installing: stays
SyncDropDropsInstalling_states == {"INSTALLING"}
SyncDropDropsInstalling_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "INSTALLING"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing))
SyncDropDropsInstalling_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = sDrop.answered \ {sDrop_replica},
        !.refusing = sDrop.refusing \ {sDrop_replica}]

\* drops_installing_2: goes to RECORDING
SyncDropDropsInstalling2_states == {"INSTALLING"}
SyncDropDropsInstalling2_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "INSTALLING"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing)
    /\ (sDrop.answered \ {sDrop_replica}) # {}
SyncDropDropsInstalling2_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "RECORDING",
        !.members = sDrop.answered \ {sDrop_replica},
        !.answered = {},
        !.refusing = {}]
SyncDropDropsInstalling2_out(sDrop, sDrop_replica) ==
    <<[out |-> "Record", version |-> IF sDrop.version = <<>> THEN 0 ELSE sDrop.version[1]]>>

\* drops_installing_3: goes to ROLLING_BACK
SyncDropDropsInstalling3_states == {"INSTALLING"}
SyncDropDropsInstalling3_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "INSTALLING"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing)
    /\ (sDrop.answered \ {sDrop_replica}) = {}
    /\ (sDrop.members \ {sDrop_replica}) # {}
SyncDropDropsInstalling3_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "ROLLING_BACK",
        !.members = sDrop.members \ {sDrop_replica},
        !.answered = {},
        !.refusing = {}]
SyncDropDropsInstalling3_out(sDrop, sDrop_replica) ==
    <<[out |-> "SendResume", epoch |-> sDrop.epoch, members |-> sDrop.members \ {sDrop_replica}]>>

\* drops_installing_4: goes to IDLE
SyncDropDropsInstalling4_states == {"INSTALLING"}
SyncDropDropsInstalling4_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "INSTALLING"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing)
    /\ (sDrop.answered \ {sDrop_replica}) = {}
    /\ (sDrop.members \ {sDrop_replica}) = {}
SyncDropDropsInstalling4_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "IDLE",
        !.members = {},
        !.answered = {},
        !.refusing = {}]
SyncDropDropsInstalling4_out(sDrop, sDrop_replica) == <<[out |-> "Report", epoch |-> sDrop.epoch]>>

\* drops_installing_ignore: ignored
SyncDropDropsInstallingIgnore_states == {"INSTALLING"}
SyncDropDropsInstallingIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "INSTALLING"
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing))))
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing)) /\ ((sDrop.answered \ {sDrop_replica}) # {}))
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing)) /\ ((sDrop.answered \ {sDrop_replica}) = {}) /\ ((sDrop.members \ {sDrop_replica}) # {}))
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) \subseteq ((sDrop.answered \ {sDrop_replica}) \cup sDrop.refusing)) /\ ((sDrop.answered \ {sDrop_replica}) = {}) /\ ((sDrop.members \ {sDrop_replica}) = {}))

\* drops_recording: stays
SyncDropDropsRecording_states == {"RECORDING"}
SyncDropDropsRecording_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "RECORDING"
    /\ sDrop_replica \in sDrop.members
SyncDropDropsRecording_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT !.members = sDrop.members \ {sDrop_replica}]

\* drops_recording_ignore: ignored
SyncDropDropsRecordingIgnore_states == {"RECORDING"}
SyncDropDropsRecordingIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "RECORDING"
    /\ sDrop_replica \notin sDrop.members

\* drops_reopening_still_closing: stays
SyncDropDropsReopeningStillClosing_states == {"REOPENING"}
SyncDropDropsReopeningStillClosing_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "REOPENING"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))
SyncDropDropsReopeningStillClosing_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT !.members = sDrop.members \ {sDrop_replica}, !.answered = sDrop.answered \ {sDrop_replica}]

\* drops_reopening_2: goes to IDLE
SyncDropDropsReopening2_states == {"REOPENING"}
SyncDropDropsReopening2_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "REOPENING"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})
SyncDropDropsReopening2_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "IDLE",
        !.members = {},
        !.answered = {}]
SyncDropDropsReopening2_out(sDrop, sDrop_replica) ==
    <<[out |-> "Announce", version |-> IF sDrop.version = <<>> THEN 0 ELSE sDrop.version[1]]>>

\* drops_reopening_ignore: ignored
SyncDropDropsReopeningIgnore_states == {"REOPENING"}
SyncDropDropsReopeningIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "REOPENING"
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))))
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})))

\* drops_back_still_closing: stays
SyncDropDropsBackStillClosing_states == {"ROLLING_BACK"}
SyncDropDropsBackStillClosing_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "ROLLING_BACK"
    /\ sDrop_replica \in sDrop.members
    /\ ~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))
SyncDropDropsBackStillClosing_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT !.members = sDrop.members \ {sDrop_replica}, !.answered = sDrop.answered \ {sDrop_replica}]

\* drops_back_2: goes to IDLE
SyncDropDropsBack2_states == {"ROLLING_BACK"}
SyncDropDropsBack2_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "ROLLING_BACK"
    /\ sDrop_replica \in sDrop.members
    /\ (sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})
SyncDropDropsBack2_next(sDrop, sDrop_replica) ==
    [sDrop EXCEPT
        !.state = "IDLE",
        !.members = {},
        !.answered = {}]
SyncDropDropsBack2_out(sDrop, sDrop_replica) == <<[out |-> "Report", epoch |-> sDrop.epoch]>>

\* drops_back_ignore: ignored
SyncDropDropsBackIgnore_states == {"ROLLING_BACK"}
SyncDropDropsBackIgnore_when(sDrop, sDrop_replica) ==
    /\ sDrop.state = "ROLLING_BACK"
    /\ ~((sDrop_replica \in sDrop.members) /\ (~((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica}))))
    /\ ~((sDrop_replica \in sDrop.members) /\ ((sDrop.members \ {sDrop_replica}) \subseteq (sDrop.answered \ {sDrop_replica})))

\* the event as a whole
SyncDrop_states == {"SEALING", "DRAINING", "LENT", "INSTALLING", "RECORDING", "REOPENING", "ROLLING_BACK"}
SyncDrop_acts(sDrop, sDrop_replica) ==
    \/ SyncDropDropsSealingLeaves_when(sDrop, sDrop_replica)
    \/ SyncDropDropsSealing2_when(sDrop, sDrop_replica)
    \/ SyncDropDropsSealingGivesUp_when(sDrop, sDrop_replica)
    \/ SyncDropDropsSealingNobodyLeft_when(sDrop, sDrop_replica)
    \/ SyncDropDropsDrainingLeaves_when(sDrop, sDrop_replica)
    \/ SyncDropDropsDraining2_when(sDrop, sDrop_replica)
    \/ SyncDropDropsDraining3_when(sDrop, sDrop_replica)
    \/ SyncDropDropsDrainingGivesUp_when(sDrop, sDrop_replica)
    \/ SyncDropDropsDrainingNobodyLeft_when(sDrop, sDrop_replica)
    \/ SyncDropDropsLent_when(sDrop, sDrop_replica)
    \/ SyncDropDropsLent2_when(sDrop, sDrop_replica)
    \/ SyncDropDropsInstalling_when(sDrop, sDrop_replica)
    \/ SyncDropDropsInstalling2_when(sDrop, sDrop_replica)
    \/ SyncDropDropsInstalling3_when(sDrop, sDrop_replica)
    \/ SyncDropDropsInstalling4_when(sDrop, sDrop_replica)
    \/ SyncDropDropsRecording_when(sDrop, sDrop_replica)
    \/ SyncDropDropsReopeningStillClosing_when(sDrop, sDrop_replica)
    \/ SyncDropDropsReopening2_when(sDrop, sDrop_replica)
    \/ SyncDropDropsBackStillClosing_when(sDrop, sDrop_replica)
    \/ SyncDropDropsBack2_when(sDrop, sDrop_replica)
SyncDrop_step(sDrop, sDrop_replica) ==
    CASE SyncDropDropsSealingLeaves_when(sDrop, sDrop_replica) -> <<SyncDropDropsSealingLeaves_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsSealing2_when(sDrop, sDrop_replica) -> <<SyncDropDropsSealing2_next(sDrop, sDrop_replica), SyncDropDropsSealing2_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsSealingGivesUp_when(sDrop, sDrop_replica) -> <<SyncDropDropsSealingGivesUp_next(sDrop, sDrop_replica), SyncDropDropsSealingGivesUp_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsSealingNobodyLeft_when(sDrop, sDrop_replica) -> <<SyncDropDropsSealingNobodyLeft_next(sDrop, sDrop_replica), SyncDropDropsSealingNobodyLeft_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsDrainingLeaves_when(sDrop, sDrop_replica) -> <<SyncDropDropsDrainingLeaves_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsDraining2_when(sDrop, sDrop_replica) -> <<SyncDropDropsDraining2_next(sDrop, sDrop_replica), SyncDropDropsDraining2_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsDraining3_when(sDrop, sDrop_replica) -> <<SyncDropDropsDraining3_next(sDrop, sDrop_replica), SyncDropDropsDraining3_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsDrainingGivesUp_when(sDrop, sDrop_replica) -> <<SyncDropDropsDrainingGivesUp_next(sDrop, sDrop_replica), SyncDropDropsDrainingGivesUp_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsDrainingNobodyLeft_when(sDrop, sDrop_replica) -> <<SyncDropDropsDrainingNobodyLeft_next(sDrop, sDrop_replica), SyncDropDropsDrainingNobodyLeft_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsLent_when(sDrop, sDrop_replica) -> <<SyncDropDropsLent_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsLent2_when(sDrop, sDrop_replica) -> <<SyncDropDropsLent2_next(sDrop, sDrop_replica), SyncDropDropsLent2_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsInstalling_when(sDrop, sDrop_replica) -> <<SyncDropDropsInstalling_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsInstalling2_when(sDrop, sDrop_replica) -> <<SyncDropDropsInstalling2_next(sDrop, sDrop_replica), SyncDropDropsInstalling2_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsInstalling3_when(sDrop, sDrop_replica) -> <<SyncDropDropsInstalling3_next(sDrop, sDrop_replica), SyncDropDropsInstalling3_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsInstalling4_when(sDrop, sDrop_replica) -> <<SyncDropDropsInstalling4_next(sDrop, sDrop_replica), SyncDropDropsInstalling4_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsRecording_when(sDrop, sDrop_replica) -> <<SyncDropDropsRecording_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsReopeningStillClosing_when(sDrop, sDrop_replica) -> <<SyncDropDropsReopeningStillClosing_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsReopening2_when(sDrop, sDrop_replica) -> <<SyncDropDropsReopening2_next(sDrop, sDrop_replica), SyncDropDropsReopening2_out(sDrop, sDrop_replica)>>
      [] SyncDropDropsBackStillClosing_when(sDrop, sDrop_replica) -> <<SyncDropDropsBackStillClosing_next(sDrop, sDrop_replica), <<>>>>
      [] SyncDropDropsBack2_when(sDrop, sDrop_replica) -> <<SyncDropDropsBack2_next(sDrop, sDrop_replica), SyncDropDropsBack2_out(sDrop, sDrop_replica)>>
      [] OTHER -> <<>>
SyncDrop(sDrop, sDrop_replica) ==
    CASE SyncDropDropsSealingLeaves_when(sDrop, sDrop_replica) -> SyncDropDropsSealingLeaves_next(sDrop, sDrop_replica)
      [] SyncDropDropsSealing2_when(sDrop, sDrop_replica) -> SyncDropDropsSealing2_next(sDrop, sDrop_replica)
      [] SyncDropDropsSealingGivesUp_when(sDrop, sDrop_replica) -> SyncDropDropsSealingGivesUp_next(sDrop, sDrop_replica)
      [] SyncDropDropsSealingNobodyLeft_when(sDrop, sDrop_replica) -> SyncDropDropsSealingNobodyLeft_next(sDrop, sDrop_replica)
      [] SyncDropDropsDrainingLeaves_when(sDrop, sDrop_replica) -> SyncDropDropsDrainingLeaves_next(sDrop, sDrop_replica)
      [] SyncDropDropsDraining2_when(sDrop, sDrop_replica) -> SyncDropDropsDraining2_next(sDrop, sDrop_replica)
      [] SyncDropDropsDraining3_when(sDrop, sDrop_replica) -> SyncDropDropsDraining3_next(sDrop, sDrop_replica)
      [] SyncDropDropsDrainingGivesUp_when(sDrop, sDrop_replica) -> SyncDropDropsDrainingGivesUp_next(sDrop, sDrop_replica)
      [] SyncDropDropsDrainingNobodyLeft_when(sDrop, sDrop_replica) -> SyncDropDropsDrainingNobodyLeft_next(sDrop, sDrop_replica)
      [] SyncDropDropsLent_when(sDrop, sDrop_replica) -> SyncDropDropsLent_next(sDrop, sDrop_replica)
      [] SyncDropDropsLent2_when(sDrop, sDrop_replica) -> SyncDropDropsLent2_next(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling_next(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling2_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling2_next(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling3_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling3_next(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling4_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling4_next(sDrop, sDrop_replica)
      [] SyncDropDropsRecording_when(sDrop, sDrop_replica) -> SyncDropDropsRecording_next(sDrop, sDrop_replica)
      [] SyncDropDropsReopeningStillClosing_when(sDrop, sDrop_replica) -> SyncDropDropsReopeningStillClosing_next(sDrop, sDrop_replica)
      [] SyncDropDropsReopening2_when(sDrop, sDrop_replica) -> SyncDropDropsReopening2_next(sDrop, sDrop_replica)
      [] SyncDropDropsBackStillClosing_when(sDrop, sDrop_replica) -> SyncDropDropsBackStillClosing_next(sDrop, sDrop_replica)
      [] SyncDropDropsBack2_when(sDrop, sDrop_replica) -> SyncDropDropsBack2_next(sDrop, sDrop_replica)
      [] OTHER -> sDrop
SyncDrop_rule(sDrop, sDrop_replica) ==
    CASE SyncDropIgnore_when(sDrop, sDrop_replica) -> "ignore"
      [] SyncDropDropsSealingLeaves_when(sDrop, sDrop_replica) -> "drops_sealing_leaves"
      [] SyncDropDropsSealing2_when(sDrop, sDrop_replica) -> "drops_sealing_2"
      [] SyncDropDropsSealingGivesUp_when(sDrop, sDrop_replica) -> "drops_sealing_gives_up"
      [] SyncDropDropsSealingNobodyLeft_when(sDrop, sDrop_replica) -> "drops_sealing_nobody_left"
      [] SyncDropDropsSealingIgnore_when(sDrop, sDrop_replica) -> "drops_sealing_ignore"
      [] SyncDropDropsDrainingLeaves_when(sDrop, sDrop_replica) -> "drops_draining_leaves"
      [] SyncDropDropsDraining2_when(sDrop, sDrop_replica) -> "drops_draining_2"
      [] SyncDropDropsDraining3_when(sDrop, sDrop_replica) -> "drops_draining_3"
      [] SyncDropDropsDrainingGivesUp_when(sDrop, sDrop_replica) -> "drops_draining_gives_up"
      [] SyncDropDropsDrainingNobodyLeft_when(sDrop, sDrop_replica) -> "drops_draining_nobody_left"
      [] SyncDropDropsDrainingIgnore_when(sDrop, sDrop_replica) -> "drops_draining_ignore"
      [] SyncDropDropsLent_when(sDrop, sDrop_replica) -> "drops_lent"
      [] SyncDropDropsLent2_when(sDrop, sDrop_replica) -> "drops_lent_2"
      [] SyncDropDropsLentIgnore_when(sDrop, sDrop_replica) -> "drops_lent_ignore"
      [] SyncDropDropsInstalling_when(sDrop, sDrop_replica) -> "drops_installing"
      [] SyncDropDropsInstalling2_when(sDrop, sDrop_replica) -> "drops_installing_2"
      [] SyncDropDropsInstalling3_when(sDrop, sDrop_replica) -> "drops_installing_3"
      [] SyncDropDropsInstalling4_when(sDrop, sDrop_replica) -> "drops_installing_4"
      [] SyncDropDropsInstallingIgnore_when(sDrop, sDrop_replica) -> "drops_installing_ignore"
      [] SyncDropDropsRecording_when(sDrop, sDrop_replica) -> "drops_recording"
      [] SyncDropDropsRecordingIgnore_when(sDrop, sDrop_replica) -> "drops_recording_ignore"
      [] SyncDropDropsReopeningStillClosing_when(sDrop, sDrop_replica) -> "drops_reopening_still_closing"
      [] SyncDropDropsReopening2_when(sDrop, sDrop_replica) -> "drops_reopening_2"
      [] SyncDropDropsReopeningIgnore_when(sDrop, sDrop_replica) -> "drops_reopening_ignore"
      [] SyncDropDropsBackStillClosing_when(sDrop, sDrop_replica) -> "drops_back_still_closing"
      [] SyncDropDropsBack2_when(sDrop, sDrop_replica) -> "drops_back_2"
      [] SyncDropDropsBackIgnore_when(sDrop, sDrop_replica) -> "drops_back_ignore"
SyncDrop_out(sDrop, sDrop_replica) ==
    CASE SyncDropDropsSealing2_when(sDrop, sDrop_replica) -> SyncDropDropsSealing2_out(sDrop, sDrop_replica)
      [] SyncDropDropsSealingGivesUp_when(sDrop, sDrop_replica) -> SyncDropDropsSealingGivesUp_out(sDrop, sDrop_replica)
      [] SyncDropDropsSealingNobodyLeft_when(sDrop, sDrop_replica) -> SyncDropDropsSealingNobodyLeft_out(sDrop, sDrop_replica)
      [] SyncDropDropsDraining2_when(sDrop, sDrop_replica) -> SyncDropDropsDraining2_out(sDrop, sDrop_replica)
      [] SyncDropDropsDraining3_when(sDrop, sDrop_replica) -> SyncDropDropsDraining3_out(sDrop, sDrop_replica)
      [] SyncDropDropsDrainingGivesUp_when(sDrop, sDrop_replica) -> SyncDropDropsDrainingGivesUp_out(sDrop, sDrop_replica)
      [] SyncDropDropsDrainingNobodyLeft_when(sDrop, sDrop_replica) -> SyncDropDropsDrainingNobodyLeft_out(sDrop, sDrop_replica)
      [] SyncDropDropsLent2_when(sDrop, sDrop_replica) -> SyncDropDropsLent2_out(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling2_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling2_out(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling3_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling3_out(sDrop, sDrop_replica)
      [] SyncDropDropsInstalling4_when(sDrop, sDrop_replica) -> SyncDropDropsInstalling4_out(sDrop, sDrop_replica)
      [] SyncDropDropsReopening2_when(sDrop, sDrop_replica) -> SyncDropDropsReopening2_out(sDrop, sDrop_replica)
      [] SyncDropDropsBack2_when(sDrop, sDrop_replica) -> SyncDropDropsBack2_out(sDrop, sDrop_replica)
      [] OTHER -> <<>>
SyncDrop_refused(sDrop, sDrop_replica) == FALSE

================================================================================
