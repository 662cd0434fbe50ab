"""The config of a controller process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ...protocol.access import Access
from ...statemachines.sorts import Mode
from ..watching.settings import Watching
from ..weights.config import WeightsConfig
from ..workers.config import require_names, require_positive
from .sync import SyncSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """One controller of a run. Times end in their unit.

    `register` is the SQLite file that all controllers and launchers of the run share: register, roster and
    ledger. `run`, `manifests`, `trace`, `incarnation`, `shm_root`, `weights`, `stop_ms`, `watching`, `access`: as
    for a rollout worker. `port`: of the control address, 0 for one from the system.

    `mode` is what a drain does with running requests, `escalation` what it does the next time when a drain in
    `wait` did not end; `minimum`: the fewest members that an operation goes on with before it installs.
    `deadline_ms`: how long an operation may take; `takeover_ms`: how long it may take until another controller
    rules; together the longest that a gate stays closed. `call_ms`: how long one call to a gate may take;
    `leave_ms`: how long sessions may take to go from a replica that leaves; `staging_ms`: how long a replica may take
    to receive a version while its gate is still open, 0 to have it receive it while it is closed. `patience`: how
    many probes, one a second, a replica may miss in a row before it is dead and replaced. `lend_ms`: how long devices
    may be lent while the trainer stands idle and nobody gives them back, before it is ended and they are taken back.
    """

    run: str
    register: Path
    manifests: Path
    trace: Path | None = None
    incarnation: str = ""
    port: int = 0
    mode: Mode = Mode.KEEP
    escalation: Mode = Mode.ABORT
    minimum: int = 1
    deadline_ms: int = 30_000
    takeover_ms: int = 15_000
    call_ms: int = 5_000
    leave_ms: int = 60_000
    staging_ms: int = 120_000
    lend_ms: int = 60_000
    stop_ms: int = 5_000
    patience: int = 5
    shm_root: Path | None = None
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    watching: Watching = field(default_factory=Watching)
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require_names(run=self.run, incarnation=self.incarnation or "drawn")
        require_positive(
            minimum=self.minimum, deadline_ms=self.deadline_ms, takeover_ms=self.takeover_ms, call_ms=self.call_ms,
            leave_ms=self.leave_ms, lend_ms=self.lend_ms, stop_ms=self.stop_ms, patience=self.patience,
        )  # fmt: skip
        if self.staging_ms < 0:
            raise ValueError(f"staging_ms is {self.staging_ms}: give milliseconds, 0 to stage nothing before a window")
        if not 0 <= self.port < 65536:
            raise ValueError(f"port is {self.port}: give one from 1 to 65535, or 0 for one from the system")

    @property
    def settings(self) -> SyncSettings:
        """What operations are run by."""
        return SyncSettings(
            mode=self.mode, minimum=self.minimum, deadline=self.deadline_ms / 1000, takeover=self.takeover_ms / 1000,
            call=self.call_ms / 1000, escalation=self.escalation, patience=self.patience,
            staging=self.staging_ms / 1000,
        )  # fmt: skip
