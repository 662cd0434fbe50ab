"""What the actions of the system models are to the real machines: the one table.

Rules of this file:

- An action that is an event of a machine names it as `Machine.Event`; the rest is said in words, and
  no machine sees it: the network, a device, a clock, a process that ends.
- An action that is not here is taken for the event of its own name, and where there is none, for
  whatever event of the machine that it changed leads to what it became.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """`events` of which the action may be one, for each machine, and `says` what happens besides.

    `in_order`: it is all of them, one after another. `begins`: a process ended, or goes on from what is
    stored: its machines change without an event.
    """

    events: tuple[str, ...] = ()
    says: str = ""
    in_order: bool = False
    begins: bool = False


def _of(machine: str, *names: str) -> dict[str, Meaning]:
    """Actions that are the events of their own names."""
    return {name: Meaning((f"{machine}.{name}",)) for name in names}


_HEARD = ("Lease.Progress", "Lease.Frozen", "Lease.Thawed", "Lease.Reconciled", "Lease.Ended")

ACTIONS: dict[str, dict[str, Meaning]] = {
    "GateSteps": {
        **_of("Gate", "Claim", "Poison", "Seal", "Resume", "Escalate", "Drain", "Lend", "Returned", "Renew"),
        **_of("Gate", "Install", "Reopen", "Close", "Admit", "Settle", "Orphan", "GiveUp", "Frozen", "Thawed"),
        **_of("Gate", "Quiesced", "Installed", "InstallFailed", "Deadline", "Fault"),
    },
    "SyncSteps": {
        **_of("Sync", "Restore", "Begin", "Sealed", "Drained", "Trained", "Installed", "Declined", "Recorded"),
        **_of("Sync", "Overruled", "Closed", "Drop"),
    },
    "SessionSteps": {
        **_of("Session", "BeginTurn", "Bound", "EndTurn", "Finish", "Take", "Release", "ConsumerLost", "Retire"),
        **_of("Session", "Lose", "Rebind", "Expire"),
    },
    "LeaseSteps": {
        **_of("Lease", "Forward", "Progress", "Frozen", "Thawed", "Cancel", "Ended", "Recorded", "Unknown"),
        **_of("Lease", "Reconciled", "GiveUp", "Gone"),
    },
    "TrainerSteps": {
        **_of("Trainer", "Claim", "Train", "Publish", "Save", "Load", "Trained", "Published", "Saved", "Loaded"),
        **_of("Trainer", "Undone", "Failed"),
    },
    "ReplicaSteps": {
        **_of("Replica", "Started", "Synced", "LeftBehind", "Answered", "Missed", "Overdue", "Poisoned", "Exited"),
        **_of("Replica", "Leave", "Evacuated"),
    },
    "ProductionSteps": {
        **_of("Production", "Restore", "Start", "Stop", "Begin", "Completed", "Failed", "Dropped", "Claim", "Trained"),
        **_of("Production", "GiveBack", "Rewind", "Close"),
    },
    "RunSteps": {
        **_of("Run", "Started", "Gathered", "Lent", "Trained", "Published", "Synced", "Saved", "NotSaved", "Undone"),
        **_of("Run", "TrainerLost", "Restored", "Stop", "Failed", "Ended"),
    },
    "AgentsSteps": _of("Agents", "TurnBegins", "TurnEnds", "Pause", "Resume", "Close"),
    "WeightSync": {
        **_of("Gate", "Claim", "Poison", "Seal", "Drain", "Lend", "Returned", "Renew"),
        **_of("Gate", "Install", "Reopen", "Resume", "Close", "Deadline"),
        **_of("Gate", "Admit", "Settle", "Orphan", "GiveUp", "Frozen", "Thawed"),
        **_of("Gate", "Quiesced", "Installed", "InstallFailed"),
        **_of("Sync", "Begin", "Sealed", "Drained", "Trained", "Declined", "Closed", "Drop", "Overruled"),
        "Proved": Meaning(("Sync.Installed",)),
        "Record": Meaning(("Sync.Recorded", "Sync.Overruled"), "the register answers"),
        "Raise": Meaning(("Sync.Restore", "Sync.Overruled"), "a gate is above what is published, and it is published"),
        "Arrive": Meaning((), "a request reaches the engine"),
        "Freeze": Meaning((), "the engine freezes a request, and has not said so yet"),
        "Rest": Meaning((), "a device ends the pass that it was in"),
        "Drive": Meaning((), "the controller sends a gate what its snapshot calls for"),
        "Again": Meaning((), "the controller takes a new epoch from the durable counter"),
        "Settled": Meaning((), "the controller has seen every live gate open at what is published"),
        "Train": Meaning((), "the trainer begins on the devices that were lent"),
        "TrainingEnds": Meaning((), "the trainer no longer uses the devices"),
        "TrainerCrash": Meaning((), "the trainer's process ends"),
        "Store": Meaning((), "the bytes of a version are durable"),
        "Replace": Meaning((), "a replica's process has ended, and another incarnation begins", begins=True),
        "Takeover": Meaning((), "a controller of a higher term begins", begins=True),
    },
    "SessionAffinity": {
        **_of("Session", "BeginTurn", "Bound", "EndTurn", "Finish", "Retire", "Expire", "Lose", "Rebind"),
        **_of("Session", "Take", "Release", "ConsumerLost"),
        "Admit": Meaning((), "a gate admits the request, and the news is on its way"),
        "Forward": Meaning((), "the request goes to the engine"),
        "LeaseEnds": Meaning((), "the request is over"),
        "HasRead": Meaning((), "the consumer has read the trace"),
        "Replace": Meaning((), "a replica's process has ended, and another incarnation begins"),
        "Restart": Meaning((), "the session's server has ended, and another goes on from its disk", begins=True),
    },
    "RequestPath": {
        **_of("Gate", "Seal", "Escalate", "Drain", "Install", "Reopen", "Resume", "Close", "Lend", "Returned"),
        **_of("Gate", "Poison", "Quiesced", "Installed", "InstallFailed", "Fault", "Deadline"),
        "Arrive": Meaning(("Gate.Admit",), "a request arrives: it is let in, waits or is refused"),
        "ArrivePinned": Meaning(("Gate.Admit",), "a request arrives that accepts one version alone"),
        "LetIn": Meaning(("Gate.Admit",), "the first of those who wait"),
        "Repeat": Meaning((), "a request that is in comes again, under its id"),
        "HoldExpires": Meaning((), "a request has waited for as long as it may"),
        "Leave": Meaning(("Lease.Cancel",), "a client leaves, or a session server with all its connections"),
        "Forward": Meaning(("Lease.Forward",)),
        "Doubt": Meaning(("Lease.Unknown", "Gate.Orphan"), "nobody can tell what became of the request"),
        "GiveUp": Meaning(("Lease.GiveUp", "Gate.GiveUp")),
        "Record": Meaning(("Lease.Recorded",), "the record of the end is stored"),
        "Conclude": Meaning(("Gate.Settle",), "the receipt is stored and told"),
        "Hear": Meaning((*_HEARD, "Gate.Frozen", "Gate.Thawed"), "what the engine told is heard"),
        "Takes": Meaning((), "the request reaches the engine"),
        "Aborts": Meaning((), "an abort reaches the engine"),
        "Reconcile": Meaning((), "the engine is asked what became of the request"),
        "Lost": Meaning((), "what was on its way to the engine is lost"),
        "Token": Meaning((), "the engine makes a token"),
        "Finish": Meaning((), "the engine ends the request"),
        "Obey": Meaning((), "a freeze or a continue reaches the engine"),
        "Rest": Meaning((), "a device ends the pass that it was in"),
        "StoreFails": Meaning((), "nothing can be stored"),
        "StoreMended": Meaning((), "the store works again"),
        "Crash": Meaning((), "the replica's process ends", begins=True),
        "Serve": Meaning((), "the next life has accounted for the leases of the last one"),
    },
    "Training": {
        **_of("Gate", "Deadline", "Admit", "Settle", "Quiesced", "Fault", "Lend", "Returned"),
        **_of("Trainer", "Trained", "Loaded", "Undone", "Failed"),
        "Claim": Meaning(("Trainer.Claim", "Gate.Claim"), "the run takes over whom it will command"),
        "Arrive": Meaning(("Trainer.Train", "Trainer.Publish", "Trainer.Save", "Trainer.Load")),
        "Written": Meaning(("Trainer.Published", "Trainer.Saved")),
        "SealDrain": Meaning(("Gate.Seal", "Gate.Drain"), in_order=True),
        "Resume": Meaning(("Gate.Resume", "Gate.Close"), in_order=True),
        "Deadline": Meaning(("Gate.Deadline", "Gate.Close"), in_order=True),
        "Swap": Meaning(("Gate.Install", "Gate.Installed", "Gate.Reopen", "Gate.Close"), in_order=True),
        "Issue": Meaning((), "the run issues a group"),
        "SendTrain": Meaning((), "the run asks for a training step"),
        "SendPublish": Meaning((), "the run asks for a publication"),
        "SendSave": Meaning((), "the run asks for a checkpoint"),
        "SendLoad": Meaning((), "the run asks for a checkpoint to be loaded"),
        "SendReturned": Meaning((), "the run gives a device back"),
        "Restart": Meaning((), "the run begins anew, from no checkpoint"),
        "Agree": Meaning((), "the ranks begin: all of them are there"),
        "Abandon": Meaning((), "one rank cannot, so none of them does"),
        "Draw": Meaning((), "a rank's part is there"),
        "Write": Meaning((), "what is written is durable"),
        "Rest": Meaning((), "a device ends the pass that it was in"),
        "RankDies": Meaning((), "one rank's process ends"),
        "Drift": Meaning((), "weights of one rank are no longer those of the others"),
        "TrainerDies": Meaning((), "the processes of all ranks end, and others begin", begins=True),
        "RunDies": Meaning((), "the run's process ends, and another begins"),
        "Replace": Meaning((), "a replica's process has ended, and another incarnation begins", begins=True),
    },
    "Runs": {
        **_of("Run", "Gathered", "Lent", "Published", "Synced", "Saved", "NotSaved", "Undone", "Restored"),
        **_of("Run", "Stop", "Failed"),
        **_of("Production", "Claim", "GiveBack"),
        "Start": Meaning(("Run.Started", "Production.Restore", "Production.Start"), in_order=True),
        "Trained": Meaning(("Run.Trained", "Production.Trained")),
        "GroupBegins": Meaning(("Production.Begin",)),
        "GroupCompletes": Meaning(("Production.Completed",)),
        "GroupFails": Meaning(("Production.Failed",)),
        "GroupDropped": Meaning(("Production.Dropped",), "it is too old for what is trained now"),
        "Rest": Meaning(("Production.Stop", "Production.Start")),
        "LendDone": Meaning((), "the devices are lent"),
        "TrainBegins": Meaning((), "the trainer begins the step"),
        "TrainDone": Meaning((), "the trainer's weights have the step"),
        "PublishDone": Meaning((), "a version is written under the next number"),
        "PublishAgain": Meaning((), "the answer was lost, and it is asked for again"),
        "SyncDone": Meaning((), "what is lent is returned, and every gate opens with the version"),
        "SaveBegins": Meaning((), "a checkpoint of the present groups is begun"),
        "SaveDone": Meaning((), "the checkpoint is complete"),
        "RestoreDone": Meaning(("Production.Rewind",), "another trainer goes on from a checkpoint"),
        "TrainerDies": Meaning(("Run.TrainerLost",), "the trainer's process has ended"),
        "RunDies": Meaning((), "the run's process ends, and another begins", begins=True),
        "Ended": Meaning(("Run.Ended", "Production.Close"), "every process has ended"),
    },
}

SENDERS: dict[str, str] = {
    "Gate.Claim": "controller",
    "Gate.Poison": "controller",
    "Gate.Seal": "controller",
    "Gate.Resume": "controller",
    "Gate.Escalate": "controller",
    "Gate.Drain": "controller",
    "Gate.Lend": "controller",
    "Gate.Returned": "controller",
    "Gate.Renew": "controller",
    "Gate.Install": "controller",
    "Gate.Reopen": "controller",
    "Gate.Close": "controller",
    "Gate.Admit": "request {lease}",
    "Gate.Settle": "request {lease}",
    "Gate.Orphan": "request {lease}",
    "Gate.Frozen": "{actor} engine",
    "Gate.Thawed": "{actor} engine",
    "Gate.Quiesced": "{actor} engine",
    "Gate.Installed": "{actor} engine",
    "Gate.InstallFailed": "{actor} engine",
    "Lease.Cancel": "client",
    "Lease.Progress": "engine",
    "Lease.Frozen": "engine",
    "Lease.Thawed": "engine",
    "Lease.Ended": "engine",
    "Session.BeginTurn": "request {lease}",
    "Session.EndTurn": "request {lease}",
    "Session.Bound": "{incarnation}",
    "Session.Take": "consumer {consumer}",
    "Session.Release": "consumer {consumer}",
    "Session.Finish": "agent",
    "Session.Retire": "agent",
    "Sync.Sealed": "{replica}",
    "Sync.Drained": "{replica}",
    "Sync.Installed": "{replica}",
    "Sync.Declined": "{replica}",
    "Sync.Closed": "{replica}",
    "Trainer.Trained": "rank {rank}",
    "Trainer.Published": "rank {rank}",
    "Trainer.Saved": "rank {rank}",
    "Trainer.Loaded": "rank {rank}",
    "Trainer.Undone": "rank {rank}",
    "Trainer.Failed": "rank {rank}",
}
"""From whom a machine hears of an event; what is not here comes from within (`{actor}` is the machine's own)."""

ACTORS: dict[str, str] = {"ctl": "controller", "sync": "controller", "server": "session", "msgs": "network"}
"""How what stands in a variable is called, where another name says more; with the key, if it holds several."""

STORED = frozenset({"disk", "saved", "stored"})
"""Fields that hold a machine as it is on the disk: a copy, which no event reaches."""


def meaning(module: str, action: str) -> Meaning:
    """What an action of a module is, empty for one that the table does not name."""
    return ACTIONS.get(module, {}).get(action, Meaning())
