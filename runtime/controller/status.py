"""How a cohort stands: each replica with its gate, the operation that runs, and who waits for what."""

from __future__ import annotations

import asyncio
from typing import Any

from ...protocol.client import CallError
from ...protocol.generated import controller_pb2 as pb
from .cohort import Cohort
from .controller import Controller
from .converge import is_drained, is_verified
from .sync import INSTANCE, now

ASK_S = 2.0
"""How long a gate may take to say how it stands."""


async def status(controller: Controller, cohort: Cohort) -> pb.StatusAnswer:
    """The cohort as it is now; gates are asked at the same time, and one that does not answer is told so."""
    # Before anything else is looked at: what is home stays so.
    is_home = cohort.home.is_set()
    by_incarnation = {m.incarnation: m for m in controller.members.values()}
    living = [life for life in cohort.roster.living("rollout") if life.control]

    async def of(incarnation: str, name: str) -> pb.ReplicaStatus:
        known = incarnation in controller.replicas
        state = controller.replicas.live(incarnation).state if known else "STARTING"
        found = pb.ReplicaStatus(
            replica=name, incarnation=incarnation, state=state,
            why_behind=controller.catching.why_not.get(name, "") if controller.is_behind(name) else "",
        )  # fmt: skip
        member = by_incarnation.get(incarnation)
        if member is None:
            found.unanswered = "its gate is not claimed yet"
            return found
        try:
            gate = (await member.gate.get(deadline=ASK_S)).snapshot
        except CallError as error:
            found.unanswered = str(error)
            return found
        return with_gate(found, gate)

    replicas = await asyncio.gather(*(of(life.incarnation, life.name) for life in living))
    return pb.StatusAnswer(
        term=controller.term, incarnation=controller.incarnation, taking_over=not is_home,
        published=controller.published, paused=controller.is_paused,
        operation=_operation(controller), replicas=replicas, held=cohort.roster.holds(),
    )  # fmt: skip


def waits_for(gate: Any) -> str:
    """What a gate (a snapshot) waits for, in words; empty for one that is open."""
    match gate.state:
        case "OPEN":
            return ""
        case "DRAINING" if gate.lent is not None:
            return "the trainer, to return its device"
        case "DRAINING" if not is_drained(gate):
            parts = [
                f"{len(gate.active)} requests to end" if gate.active else "",
                f"{len(gate.orphaned)} requests of unknown outcome to be found out" if gate.orphaned else "",
                f"ranks {', '.join(sorted(gate.ranks - gate.quiet))} to come to rest"
                if gate.quiet != gate.ranks
                else "",
            ]
            return "; ".join(filter(None, parts))
        case "INSTALLING" if not is_verified(gate):
            return f"ranks {', '.join(sorted(gate.ranks - gate.verified))} to prove version {gate.target}"
        case "REOPENED" if gate.suspended:
            return f"{len(gate.suspended)} requests to continue"
        case "POISONED":
            return "its replacement"
        case _:
            return "its controller"


def with_gate(found: pb.ReplicaStatus, gate: Any) -> pb.ReplicaStatus:
    """What a gate (a snapshot) says, in the status of its replica."""
    found.gate, found.epoch, found.term = gate.state, gate.epoch, gate.term
    if gate.version is not None:
        found.version = gate.version
    if gate.target is not None:
        found.target = gate.target
    found.active, found.suspended, found.orphaned = len(gate.active), len(gate.suspended), len(gate.orphaned)
    found.waits_for = waits_for(gate)
    return found


def _operation(controller: Controller) -> pb.OperationStatus | None:
    sync = controller.syncs.live(INSTANCE)
    if sync.state in ("IDLE", "FAILED") or not controller.operations:
        return None
    operation = controller.operations[-1]
    awaited = frozenset() if sync.state in ("LENT", "RECORDING") else sync.members - sync.answered - sync.refusing
    return pb.OperationStatus(
        epoch=operation.epoch, version=operation.version, phase=sync.state, members=sorted(sync.members),
        awaited=sorted(awaited), left=max(0.0, operation.until - now()),
        left_behind=operation.left_behind(),
    )  # fmt: skip
