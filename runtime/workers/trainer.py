"""The trainer worker: one process is one life of the trainer, with its machine, DeepSpeed and weights.

Rules of this file:

- One thread makes and uses everything of torch; the event loop only hears of results.
- Buckets in shared memory do not outlive this process: what was published before stays in manifests.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import torch

from ...protocol.generated.trainer_service import TRAINER, TrainerServicer
from ...protocol.host import MachineHost
from ...protocol.server import Server
from ..training.deepspeed_trainer import TrainerCore
from ..weights import ManifestStore, ShmPublisher
from .config import TrainerConfig
from .process import log_path, open_log, stop_signals
from .trainer_actions import INSTANCE, TrainerActions
from .trainer_data import TrainerControl, TrainerDataServicer

_log = logging.getLogger(__name__)
QUICK_S = 0.5
"""How long calls may go on at the end: control's only watch, and data's are short."""
_ENVELOPE = 64 * 1024


async def run(config: TrainerConfig, announce: Callable[[dict[str, Any]], None]) -> None:
    """Serve until this process is told to end; `announce` is given the facts of the ready line.

    Raises TrainerError, ServerError when it cannot start.
    """
    with stop_signals() as stop:
        async with trainer(config) as facts:
            announce(facts)
            await stop.wait()


@asynccontextmanager
async def trainer(config: TrainerConfig) -> AsyncIterator[dict[str, Any]]:
    """A trainer that serves, as the facts of its ready line; leaving ends it gracefully."""
    life = config.incarnation or f"{INSTANCE}.{uuid.uuid4().hex[:12]}"
    grace = config.stop_ms / 1000
    async with AsyncExitStack() as stack:
        log = open_log(config.trace, INSTANCE, life, run=config.run, process="trainer")
        trace = None if log is None else stack.enter_context(log)
        config.state.mkdir(parents=True, exist_ok=True)
        publisher = ShmPublisher(config.run, root=config.shm_root, bucket_bytes=config.bucket_bytes)
        stack.callback(publisher.close)
        thread = ThreadPoolExecutor(1, "torch")
        stack.callback(thread.shutdown, wait=False, cancel_futures=True)
        core = await asyncio.get_running_loop().run_in_executor(thread, _make_core, config)
        stack.push_async_callback(_close_core, core, thread, grace)
        actions = TrainerActions(
            core, thread, ManifestStore(config.manifests), publisher, trace,
            dtype=getattr(torch, config.dtype), keep=config.keep_versions, folder=config.state,
        )  # fmt: skip
        host = MachineHost(
            TRAINER, actions, incarnation=life, grace=grace, observer=actions.log,
            lives=actions.log and actions.log.lives,
        )  # fmt: skip
        options = (("grpc.max_receive_message_length", config.max_batch_bytes + _ENVELOPE),)
        control_server = Server([TrainerControl(host, actions)], grace=QUICK_S)
        data_server = Server(
            [TrainerDataServicer(actions, limit=config.max_batch_bytes)], grace=QUICK_S, options=options
        )

        async def failed() -> None:
            await control_server.set_serving(False, TrainerServicer.SERVICE)

        actions.host, actions.failed = host, failed
        await stack.enter_async_context(host)
        host.create(INSTANCE)
        await stack.enter_async_context(control_server)
        await stack.enter_async_context(data_server)
        yield {
            "kind": "trainer",
            "replica": INSTANCE,
            "incarnation": life,
            "control": control_server.target,
            "data": data_server.target,
            "trace": "" if config.trace is None else str(log_path(config.trace, INSTANCE, life)),
        }


def _make_core(config: TrainerConfig) -> TrainerCore:
    torch.set_num_threads(config.threads)
    return TrainerCore(config.training, config.model)


async def _close_core(core: TrainerCore, thread: ThreadPoolExecutor, grace: float) -> None:
    """A step that still runs is not waited for beyond the bound; it ends with the process."""
    closing = asyncio.get_running_loop().run_in_executor(thread, core.close)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace):
            await closing
