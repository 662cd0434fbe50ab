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
    """`events` that the action may be, and `says` what happens besides; `{actor}` is whom it concerns.

    `begins`: a process ended, or goes on from what is stored: its machines change without an event.
    """

    events: tuple[str, ...] = ()
    says: str = ""
    begins: bool = False


def _of(machine: str, *names: str) -> dict[str, Meaning]:
    """Actions that are the events of their own names."""
    return {name: Meaning((f"{machine}.{name}",)) for name in names}


ACTIONS: dict[str, dict[str, Meaning]] = {
    "WeightSync": {
        **_of("Gate", "Claim", "Poison", "Seal", "Drain", "Lend", "Returned", "Renew"),
        **_of("Gate", "Install", "Reopen", "Resume", "Close", "Deadline"),
        **_of("Gate", "Admit", "Settle", "Orphan", "GiveUp", "Frozen", "Thawed"),
        **_of("Gate", "Quiesced", "Installed", "InstallFailed"),
        **_of("Sync", "Begin", "Sealed", "Drained", "Trained", "Declined", "Closed", "Drop", "Overruled"),
        "Proved": Meaning(("Sync.Installed",)),
        "Record": Meaning(("Sync.Recorded", "Sync.Overruled"), "the register answers"),
        "Raise": Meaning(("Sync.Restore", "Sync.Overruled"), "a gate is above what is published, and it is published"),
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
    "Trainer.Failed": "device",
}
"""From whom a machine hears of an event; what is not here comes from within (`{actor}` is the machine's own)."""

ACTORS: dict[str, str] = {"ctl": "controller", "sync": "controller", "server": "session", "msgs": "network"}
"""How what stands in a variable is called, where another name says more; with the key, if it holds several."""

STORED = frozenset({"disk", "saved", "stored"})
"""Fields that hold a machine as it is on the disk: a copy, which no event reaches."""


def meaning(module: str, action: str) -> Meaning:
    """What an action of a module is, empty for one that the table does not name."""
    return ACTIONS.get(module, {}).get(action, Meaning())
