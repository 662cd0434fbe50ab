"""The configs of worker processes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...protocol.access import Access
from ...protocol.store import Durability
from ..config import require
from ..naming import RULE, is_name
from ..training.config import TrainingConfig
from ..watching.settings import Watching
from ..weights.config import WeightsConfig
from ..weights.layout import Layout
from ..weights.manifest import FLOATING

NAME_LIMIT = 64
"""The longest name of a replica or a run, in characters."""
LIFE_LIMIT = NAME_LIMIT + 16
"""The longest incarnation: a name, and what tells its lives apart. An operation id has one, with numbers and a word."""


def require_positive(**numbers: float) -> None:
    """Raises ValueError naming those that are not above 0."""
    low = [f"{name} is {value}" for name, value in numbers.items() if not value > 0]
    if low:
        raise ValueError(f"{', '.join(low)}: give a number above 0")


def require_names(**names: str) -> None:
    """Raises ValueError naming those that cannot be part of a file name, or are too long for an operation id."""
    for name, value in names.items():
        longest = LIFE_LIMIT if name == "incarnation" else NAME_LIMIT
        if len(value) > longest:
            raise ValueError(f"{name} has {len(value)} characters, and operation ids have it: give at most {longest}")
        if not is_name(value):
            raise ValueError(f"{name} is {value!r}: {RULE}")


def require_dtype(dtype: str) -> None:
    """Raises ConfigError for what is no name of a floating dtype of torch's."""
    near = difflib.get_close_matches(dtype, sorted(FLOATING), n=1) or ["bfloat16"]
    require((dtype in FLOATING, f"dtype is {dtype!r}: give the name of a floating dtype of torch's, such as {near[0]}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutConfig:
    """One rollout worker. Times end in their unit.

    `replica` names the gate, `run` the weights' segments in shared memory; `weights` says on which road
    they come here. `model` is a Hugging Face folder, of which the weights are not served: the gate starts
    sealed. `state` is a folder of this replica alone; its next life starts from it. `manifests` is the
    folder of the run's manifests. `trace` is the folder of trace logs, none if not given; `incarnation` is
    drawn if not given.

    `closed` says what becomes of requests while the gate is closed: `hold` holds at most `hold_limit` of
    them, each no longer than it asks for and than `hold_ms`; `refuse` refuses them at once.
    `per_client`: the most requests that one certificate, token, or else connection has waiting and running;
    `longest_prompt`: the most tokens of a prompt. `proceed_ms`: how long a request that was admitted and waits
    for its client's Proceed may do so before it is cancelled.
    `lease_ms`: how long a lease may be unsettled before its outcome counts as unknown; `reconcile_ms`: how
    long it may take to find out, before the replica is poisoned; `remember_ms`: how long a settled one can
    still be asked for; `stop_ms`: how long a graceful end may take. `watching`: what it shows of itself.
    `access`: how it is known to others, and who may call it.
    `durability` says what may be lost of the records of leases: `strict` nothing, `process` the last moments
    when the host loses power, `off` all of them with the process; `keep_leases` and `keep_s`: the most closed
    ones that are kept, and how long.
    `in_place`: an install writes over the weights that are resident, and no second copy is kept beside them; one that
    breaks off then costs the replica. `verify_ms`: how often what is resident is read and compared with what the
    last install proved, 0 for never.
    """

    replica: str
    run: str
    model: Path
    state: Path
    manifests: Path
    trace: Path | None = None
    incarnation: str = ""
    device: str = "cpu"
    dtype: str = "float32"
    threads: int = 1
    max_batch: int = 32
    max_prefill_tokens: int = 8192
    join_every: int = 4
    deliver_ms: int = 20
    closed: Literal["hold", "refuse"] = "hold"
    hold_limit: int = 1024
    hold_ms: int = 60_000
    per_client: int = 4096
    longest_prompt: int = 1024 * 1024
    proceed_ms: int = 30_000
    lease_ms: int = 600_000
    reconcile_ms: int = 30_000
    remember_ms: int = 60_000
    stop_ms: int = 5_000
    durability: Durability = Durability.STRICT
    in_place: bool = False
    verify_ms: int = 0
    keep_leases: int = 100_000
    keep_s: int = 7 * 24 * 3600
    shm_root: Path | None = None
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    watching: Watching = field(default_factory=Watching)
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require_names(replica=self.replica, run=self.run, incarnation=self.incarnation or "drawn")
        require_positive(
            threads=self.threads, hold_limit=self.hold_limit, hold_ms=self.hold_ms, per_client=self.per_client,
            longest_prompt=self.longest_prompt, proceed_ms=self.proceed_ms, lease_ms=self.lease_ms,
            reconcile_ms=self.reconcile_ms, remember_ms=self.remember_ms, stop_ms=self.stop_ms,
            keep_leases=self.keep_leases, keep_s=self.keep_s,
        )  # fmt: skip
        require_dtype(self.dtype)
        if self.verify_ms < 0:
            raise ValueError(f"verify_ms is {self.verify_ms}: give milliseconds, 0 for never")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerConfig:
    """The trainer worker. Times end in their unit.

    `run`, `model`, `manifests`, `trace`, `incarnation`, `threads`, `stop_ms`, `shm_root`, `weights`, `watching`,
    `access`: as for a rollout worker; here the model's weights are where training begins. `state` is the
    trainer's own folder: relative paths of checkpoints lie in it. `dtype` is what weights are published in: that of the
    replicas; `layouts`: on which tensor-parallel ranks a replica may hold them, each with the digests that its
    ranks must answer in the manifest. `keep_versions`: of how many versions the buckets are kept for replicas.
    `bucket_bytes`: the most that one bucket holds; `max_batch_bytes`: the most that one batch has.
    `ranks`: how many processes train together; with more than one, the worker becomes torchrun on this host,
    or is started by torchrun. `answer_ms`: how long a rank may leave the first one, or the others, without an
    answer; `job_ms`: how long a step, a publication, a save or a load may take, before the trainer has failed.
    """

    run: str
    model: Path
    state: Path
    manifests: Path
    training: TrainingConfig
    trace: Path | None = None
    incarnation: str = ""
    dtype: str = "float32"
    layouts: tuple[Layout, ...] = ()
    threads: int = 1
    keep_versions: int = 2
    bucket_bytes: int = 32 * 1024 * 1024
    max_batch_bytes: int = 256 * 1024 * 1024
    ranks: int = 1
    answer_ms: int = 30_000
    job_ms: int = 3_600_000
    stop_ms: int = 5_000
    shm_root: Path | None = None
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    watching: Watching = field(default_factory=Watching)
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require_names(run=self.run, incarnation=self.incarnation or "drawn")
        require_positive(
            threads=self.threads, keep_versions=self.keep_versions, bucket_bytes=self.bucket_bytes,
            max_batch_bytes=self.max_batch_bytes, ranks=self.ranks, answer_ms=self.answer_ms, job_ms=self.job_ms,
            stop_ms=self.stop_ms,
        )  # fmt: skip
        require_dtype(self.dtype)
