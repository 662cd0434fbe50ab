"""What one life of a run stands on: its name, register, processes and log, before anything serves.

Rules of this file:

- Nothing of the folder is touched before the lock of its supervisor is had: two never go on with one run.
- A run has the seed, task and model that it began with, whatever its config says later.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from ...protocol.sqlite import SqliteStore
from ..checkpoints import Checkpoints, Run, forget_weights
from ..config import ConfigError, as_json
from ..controller.client import ControllerClient
from ..controller.register import Register
from ..controller.roster import Roster
from ..files import write_durably
from ..launcher import Launcher
from ..models import CharTokenizer
from ..production.groups import Groups
from ..production.sampler import Sampler
from ..production.turns import Turns
from ..supervisor import Supervisor
from ..tasks import Task
from ..tracelog import TraceLog
from ..weights import ManifestStore
from ..weights.shm import run_folder
from ..workers.process import log_path, open_log
from .config import RunConfig
from .ending import Ending, sweep
from .keeping import Keeping
from .processes import Places, Processes

NAME = "run"
"""The name of the run's own process in roster and traces."""
WITHIN_S = 120.0
"""How long one call to the controller may take."""
GRACE_S = 6.0
"""How long a process may take to end: a little longer than what it gives itself."""
_KEPT = ("seed", "task", "model")
"""The parts of the config that a run keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """One life of a run that has begun, and of which no process lives yet. `life` names it."""

    name: str
    life: str
    log: TraceLog
    register: Register
    client: ControllerClient
    kept: Run
    keeping: Keeping
    groups: Groups
    sampler: Sampler
    turns: Turns
    tokenizer: CharTokenizer


async def begin(
    config: RunConfig, task: Task, places: Places, outer: Ending, inner: Ending, alarm: Callable[[str, str], None]
) -> Begun:
    """Begin a life of the run. Its processes end with `inner`; the rest is left with `outer`, after that.

    Raises StoreError where another process has this run, ConfigError where it is another run's config, OSError.
    """
    places.make()
    processes = Processes(config, places)
    store = outer.enter_context(contextlib.closing(SqliteStore(places.register)))
    register, roster = Register(store), Roster(store)

    def clear() -> None:
        # What an earlier life published could be served otherwise, before the restored weights are.
        sweep(places.folder)
        forget_weights(processes.weights, processes.name)

    launcher = Launcher(places.processes, grace=GRACE_S, environment={"OMP_NUM_THREADS": "1"})
    await inner.enter_async_context(launcher)
    removes = [run_folder(processes.name)] if processes.weights.store == "shm" else []
    supervisor = await inner.enter_async_context(
        Supervisor(roster, launcher, alarm=alarm, clear=clear, removes=removes)
    )
    _keep_config(config, places)
    tokenizer = await asyncio.to_thread(processes.make_model, task)
    life, log = _life(roster, places, processes.name)
    outer.enter_context(log)
    outer.callback(roster.end, life, "stopped")
    sampler = Sampler(config.seed, None)
    groups = Groups(log=log, epoch_of=sampler.epoch, per_step=config.training.groups)
    client = await inner.enter_async_context(ControllerClient.of_register(places.register, within=WITHIN_S))
    keeping = Keeping(supervisor, client, roster, processes)
    inner.push_async_callback(keeping.close)
    kept = Run(
        name=processes.name, register=register, roster=roster, manifests=ManifestStore(places.manifests),
        checkpoints=Checkpoints(places.checkpoints), max_staleness=config.training.max_staleness, groups=groups,
        sampler=sampler,
    )  # fmt: skip
    return Begun(
        name=processes.name, life=life, log=log, register=register, client=client, kept=kept, keeping=keeping,
        groups=groups, sampler=sampler, turns=Turns(log), tokenizer=tokenizer,
    )  # fmt: skip


def _life(roster: Roster, places: Places, name: str) -> tuple[str, TraceLog]:
    """The next life of the run's own process, and its log; a number that a lost register forgot is passed over."""
    while True:
        life = roster.begin(NAME, NAME)
        if log_path(places.trace, NAME, life).exists():
            roster.end(life, "it had this number before its register was lost")
            continue
        log = open_log(places.trace, NAME, life, run=name, process=NAME)
        assert log is not None
        return life, log


def _keep_config(config: RunConfig, places: Places) -> None:
    """Write down what the run begins with. Raises ConfigError where it began with something else."""
    path = places.folder / "config.json"
    now = as_json(config)
    try:
        first = json.loads(path.read_bytes())
    except FileNotFoundError:
        write_durably(path, json.dumps(now, indent=2).encode())
        return
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON ({error}): mend it, or begin a run in another folder") from error
    if problems := [
        f"{key}: the run in {places.folder} began with {first.get(key)!r}, and this says {now[key]!r}: "
        "give that, or another --folder"
        for key in _KEPT
        if first.get(key) != now[key]
    ]:
        raise ConfigError(problems)
