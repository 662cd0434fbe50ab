"""The one function that brings a gate to a version: rollback, joining, catching up, takeover.

Rules of this file:

- `converge` looks at one snapshot and says the next event; it remembers nothing.
- Events carry the snapshot's epoch; seal, and resume of an open gate, carry the operation's.
- It never says that an event is legal: the gate's table does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...statemachines.compiler import predicate
from ...statemachines.gate import Gate

is_drained = predicate(Gate, "drained")
"""Whether a gate's snapshot is drained, by the expression that its table uses."""
is_verified = predicate(Gate, "all_verified")
"""Whether every rank of a gate's snapshot has proved what it holds."""


class Next(StrEnum):
    """What a gate needs next."""

    DONE = "done"
    WAIT = "wait"
    REPLACE = "replace"
    RAISE_TARGET = "raise_target"
    POISON = "poison"
    RESUME = "resume"
    SEAL = "seal"
    DRAIN = "drain"
    RENEW = "renew"
    RETURN = "return"
    INSTALL = "install"
    REOPEN = "reopen"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Advice:
    """The next event and the epoch that it carries; `new_epoch`: a seal needs a fresh one."""

    next: Next
    epoch: int
    new_epoch: bool = False


def reaches(gate: Any) -> int | None:
    """The newest version that the gate (a snapshot) holds or installs."""
    return gate.target if gate.state == "INSTALLING" else gate.version


def converge(gate: Any, version: int, epoch: int, *, is_durable: bool, trainer_uses_device: bool = False) -> Advice:
    """What brings `gate` (a snapshot) to `version` in the operation `epoch`.

    `is_durable` says whether manifest and bytes of the version that the gate `reaches` are durable, where it
    is above; `trainer_uses_device` whether the trainer that borrowed the device may still train on it.
    """
    own, held, newest = gate.epoch, gate.version, reaches(gate)
    if gate.state == "POISONED":
        return Advice(Next.REPLACE, own)
    if newest is not None and newest > version and is_durable:
        return Advice(Next.RAISE_TARGET, own)
    if held is not None and held > version:
        return Advice(Next.POISON, own)
    at_version = held == version
    match gate.state:
        case "OPEN" if at_version:
            return Advice(Next.DONE, own) if own >= epoch else Advice(Next.RESUME, epoch)
        case "OPEN":
            return Advice(Next.SEAL, max(epoch, own + 1), new_epoch=own >= epoch)
        case "SEALED" if at_version and gate.resident:
            return Advice(Next.RESUME, own)
        case "SEALED" if own < epoch:
            return Advice(Next.SEAL, epoch)
        case "SEALED":
            return Advice(Next.DRAIN, own)
        case "DRAINING" if gate.lent is not None:
            return Advice(Next.RENEW if trainer_uses_device else Next.RETURN, own)
        case "DRAINING" if not is_drained(gate):
            return Advice(Next.WAIT, own)
        case "DRAINING" if at_version and gate.resident:
            return Advice(Next.RESUME, own)
        case "DRAINING":
            return Advice(Next.INSTALL, own)
        case "INSTALLING":
            return Advice(Next.REOPEN if is_verified(gate) else Next.WAIT, own)
        case _:
            return Advice(Next.CLOSE, own)
