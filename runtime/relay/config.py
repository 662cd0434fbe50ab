"""The config of a server in front of upstreams."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from ...protocol.access import Access
from ...protocol.store import Durability
from ...statemachines.session import Rebinding
from ...statemachines.sorts import Mode
from ..config import require
from ..controller.config import ControllerConfig
from ..gate import Bounds
from ..serving.config import HttpSettings, ServerConfig
from ..sessions import SessionSettings
from ..watching.settings import Watching
from ..workers.config import require_names
from .upstream import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """A server in front of upstreams, with everything of its run below the folder `state`.

    `upstreams` are their URLs; each has a name by its place, `upstream-0` and on. `mode`: what becomes of running
    requests when weights change, `wait` or `abort`. `token_ids`: upstreams tell the ids of their tokens (vLLM does),
    and are asked for them. `injects`: they take the id of a request in its body. `key_env` names the environment
    variable with the bearer token that they are sent. `read`: seconds that may pass between two pieces of an answer.
    `deadline`: seconds that a window may take, from its begin to the last upstream loaded; `takeover`: seconds that a
    gate stays closed beyond. `control_port`: where trainers and `sluicegate status` call, 0 for one from the system.
    `trace`: the folder of trace logs, none if not given. The rest is as for a session server.
    """

    upstreams: tuple[str, ...]
    state: Path
    run: str = "serve"
    name: str = "sessions-0"
    mode: Mode = Mode.WAIT
    token_ids: bool = False
    injects: bool = False
    key_env: str = ""
    read: float = 300.0
    deadline: float = 600.0
    takeover: float = 30.0
    control_port: int = 0
    trace: Path | None = None
    hooks: str = ""
    durability: Durability = Durability.STRICT
    sessions: SessionSettings = field(default_factory=lambda: SessionSettings(policy=Rebinding.ON_LOSS))
    http: HttpSettings = field(default_factory=HttpSettings)
    watching: Watching = field(default_factory=Watching)
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require_names(run=self.run, name=self.name)
        require(
            (bool(self.upstreams), "upstreams: give at least one URL"),
            (all(map(_is_url, self.upstreams)), f"upstreams: {self.upstreams}: give URLs as http://host:port"),
            (len(set(self.upstreams)) == len(self.upstreams), "upstreams: give each once"),
            (self.mode is not Mode.KEEP, "mode: an upstream cannot be frozen in the middle, give wait or abort"),
            (min(self.read, self.deadline, self.takeover) > 0, "read, deadline and takeover are above 0"),
            (not self.key_env or self.key_env in os.environ, f"key_env: there is no variable {self.key_env}: set it"),
        )

    @property
    def reach(self) -> Reach:
        """How upstreams are called."""
        key = os.environ.get(self.key_env, "") if self.key_env else ""
        return Reach(read=self.read, key=key, injects=self.injects)

    @property
    def bounds(self) -> Bounds:
        """Of each gate: what waits there does so as long as a turn may take."""
        return Bounds(hold=self.sessions.call, lease=self.sessions.call + self.read, durability=self.durability)

    @property
    def controller(self) -> ControllerConfig:
        return ControllerConfig(
            run=self.run, register=self.state / "register.db", manifests=self.state / "manifests", trace=self.trace,
            port=self.control_port, mode=self.mode, deadline_ms=round(1000 * self.deadline),
            takeover_ms=round(1000 * self.takeover), access=self.access,
        )  # fmt: skip

    @property
    def server(self) -> ServerConfig:
        return ServerConfig(
            name=self.name, run=self.run, register=self.state / "register.db", store=self.state / "sessions.db",
            trace=self.trace, durability=self.durability, hooks=self.hooks, sessions=self.sessions, http=self.http,
            access=self.access,
        )  # fmt: skip


def _is_url(text: str) -> bool:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host) and not url.query and not url.userinfo
