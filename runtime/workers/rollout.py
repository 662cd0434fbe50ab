"""The rollout worker: one process is one life of a replica, with its gate, leases and engine.

Rules of this file:

- Nothing is served before every lease that an earlier life left open is accounted for.
- It ends in this order: calls are let run for a while, what still runs is aborted and settled, then
  machines, engine, stores and trace are closed. Every wait is bounded.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import torch

from ...protocol.generated.gate_service import GATE, GateServicer
from ...protocol.generated.lease_service import LEASE, LeaseServicer
from ...protocol.host import MachineHost
from ...protocol.server import Server
from ..engines import Engine, TorchEngine
from ..weights import ManifestStore, ShmReader
from .config import RolloutConfig
from .gate import GateActions
from .leases import Leases
from .process import log_path, open_log, stop_signals
from .records import LeaseStore
from .rollout_data import RolloutServicer

_log = logging.getLogger(__name__)
QUICK_S = 0.5
"""How long control calls may go on at the end: those that are left only watch."""


async def run(config: RolloutConfig, announce: Callable[[dict[str, Any]], None]) -> None:
    """Serve until this process is told to end; `announce` is given the facts of the ready line.

    Raises EngineError, StoreError, ServerError when it cannot start.
    """
    torch.set_num_threads(config.threads)
    with stop_signals() as stop:
        engine = TorchEngine(
            config.model,
            device=config.device,
            dtype=getattr(torch, config.dtype),
            max_batch=config.max_batch,
            max_prefill_tokens=config.max_prefill_tokens,
            join_every=config.join_every,
            deliver_every_s=config.deliver_ms / 1000,
        )
        async with replica(config, engine) as facts:
            announce(facts)
            await stop.wait()


@asynccontextmanager
async def replica(config: RolloutConfig, engine: TorchEngine) -> AsyncIterator[dict[str, Any]]:
    """A replica that serves, as the facts of its ready line; leaving ends it gracefully."""
    life = config.incarnation or f"{config.replica}.{uuid.uuid4().hex[:12]}"
    grace = config.stop_ms / 1000
    async with AsyncExitStack() as stack:
        log = open_log(config.trace, config.replica, life, run=config.run, process="rollout")
        trace = None if log is None else stack.enter_context(log)
        records = stack.enter_context(contextlib.closing(LeaseStore(config.state / "leases.sqlite")))
        source, manifests = ShmReader(config.run, root=config.shm_root), ManifestStore(config.manifests)
        gate = GateActions(config.replica, engine, manifests, source, trace)
        leases = Leases(
            engine, records, gate, trace,
            unsettled=config.lease_ms / 1000, reconcile=config.reconcile_ms / 1000, remember=config.remember_ms / 1000,
        )  # fmt: skip
        stack.push_async_callback(leases.close)
        gates = MachineHost(
            GATE, gate, incarnation=life, grace=grace, observer=gate.log, lives=gate.log and gate.log.lives,
            on_failure=lambda _, output, error: gate.fault(f"{output} failed: {error!r}"),
        )  # fmt: skip
        lease_host = MachineHost(
            LEASE, leases, incarnation=life, grace=grace, observer=leases.log, lives=leases.log and leases.log.lives,
            on_failure=lambda lease, output, error: gate.fault(f"lease {lease}: {output} failed: {error!r}"),
        )  # fmt: skip
        data = RolloutServicer(
            engine, gate, leases, life,
            limit=config.hold_limit, longest=0.0 if config.closed == "refuse" else config.hold_ms / 1000,
        )  # fmt: skip
        control_server = Server([GateServicer(gates), LeaseServicer(lease_host)], grace=QUICK_S)
        data_server = Server([data], grace=grace)

        async def poisoned() -> None:
            await control_server.set_serving(False, GateServicer.SERVICE)

        gate.host, gate.leases, gate.let_in, gate.poisoned = gates, leases, data.door.let_in, poisoned
        leases.host = lease_host
        await stack.enter_async_context(gate)
        await stack.enter_async_context(gates)
        await stack.enter_async_context(lease_host)
        await stack.enter_async_context(engine)
        stack.push_async_callback(_rest, engine, gate, leases, grace)
        gate.begin()
        await leases.account_for(records.open_leases())
        await stack.enter_async_context(control_server)
        await stack.enter_async_context(data_server)
        stack.callback(data.door.shut)
        yield {
            "kind": "rollout",
            "replica": config.replica,
            "incarnation": life,
            "control": control_server.target,
            "data": data_server.target,
            "trace": "" if config.trace is None else str(log_path(config.trace, config.replica, life)),
        }


async def _rest(engine: Engine, gate: GateActions, leases: Leases, grace: float) -> None:
    """Nobody calls any more: let leases close, then end the engine, which ends what is left."""
    await leases.all_closed(grace)
    gate.rest()
    await engine.close()
    if not await leases.all_closed(grace):
        _log.error("leases are still open: the next life of this replica accounts for them")
