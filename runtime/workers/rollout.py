"""The rollout worker: one process is one life of a replica, with its gate, leases and engine.

Rules of this file:

- Requests and commands have servers of their own. The order of beginning and end is that of `Front`.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import torch

from ...protocol.store import HOUR, Keep
from ..engines import TorchEngine
from ..weights import ManifestStore, open_source
from .config import RolloutConfig
from .front import Bounds, Front, OpenedEngine
from .process import log_path, open_log, stop_signals
from .rollout_data import RolloutServicer


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
            in_place=config.in_place,
            max_batch=config.max_batch,
            max_prefill_tokens=config.max_prefill_tokens,
            join_every=config.join_every,
            deliver_every_s=config.deliver_ms / 1000,
        )
        async with replica(config, engine) as facts:
            announce(facts)
            await stop.wait()


@asynccontextmanager
async def replica(config: RolloutConfig, engine: OpenedEngine) -> AsyncIterator[dict[str, Any]]:
    """A replica that serves, as the facts of its ready line; leaving ends it gracefully."""
    life = config.incarnation or f"{config.replica}.{uuid.uuid4().hex[:12]}"
    async with AsyncExitStack() as stack:
        log = open_log(config.trace, config.replica, life, run=config.run, process="rollout")
        source = open_source(
            config.weights, config.run, manifests=config.manifests, shm_root=config.shm_root,
            device=config.device, receiver=life,
        )  # fmt: skip
        front = Front(
            config.replica, life, engine, config.state, _bounds(config),
            trace=None if log is None else stack.enter_context(log),
            manifests=ManifestStore(config.manifests), source=source,
        )  # fmt: skip
        await stack.enter_async_context(front)
        requests = RolloutServicer(front, longest_prompt=config.longest_prompt)
        data = await stack.enter_async_context(front.serving(requests))
        yield {
            "kind": "rollout",
            "replica": config.replica,
            "incarnation": life,
            "control": front.server.target,
            "data": data.target,
            "trace": "" if config.trace is None else str(log_path(config.trace, config.replica, life)),
        }


def _bounds(config: RolloutConfig) -> Bounds:
    return Bounds(
        hold_limit=config.hold_limit,
        hold=0.0 if config.closed == "refuse" else config.hold_ms / 1000,
        per_client=config.per_client,
        proceed=config.proceed_ms / 1000,
        lease=config.lease_ms / 1000,
        reconcile=config.reconcile_ms / 1000,
        remember=config.remember_ms / 1000,
        stop=config.stop_ms / 1000,
        verify=config.verify_ms / 1000,
        durability=config.durability,
        keep=Keep(longest=config.keep_s, most=config.keep_leases, least=min(config.keep_s, HOUR)),
    )
