"""The config of a session server."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ...protocol.access import Access
from ...protocol.store import Durability
from ..sessions import SessionSettings
from ..watching.settings import Watching
from ..workers.config import require_names, require_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """What clients may do. Times are in seconds.

    `address`, `port`: where the server listens, 0 for a port from the system. `tokens`: source of the bearer tokens of
    agents (data: generates, and reads and changes its own sessions) and trainers (control: takes any trace, retires any
    session), as for gRPC; none: whoever reaches the server may do everything. `certificate`, `key`: paths of the PEM
    files for TLS. `i_accept_plaintext_beyond_loopback`: listen where others reach it without TLS and tokens.
    `body_bytes`: the largest body; `read`: how long a head, and then a body, may take to come, and an answer wait to be
    read. `grace`: how long a call goes on for which nobody listens; `remember`: how long one that is over can be asked
    for again. `rate`: calls a second of one token, 0 for any number; `burst`: how many of them at once;
    `sessions_per_token`: of one token at the same time. `hook`: how long a hook may take, before a call or after it.
    """

    address: str = "127.0.0.1"
    port: int = 0
    tokens: str = ""
    certificate: str = ""
    key: str = ""
    i_accept_plaintext_beyond_loopback: bool = False
    body_bytes: int = 16 * 1024 * 1024
    read: float = 30.0
    grace: float = 10.0
    remember: float = 60.0
    rate: float = 0.0
    burst: int = 100
    sessions_per_token: int = 100_000
    hook: float = 10.0

    def __post_init__(self) -> None:
        require_positive(
            body_bytes=self.body_bytes, read=self.read, burst=self.burst, sessions=self.sessions_per_token,
            hook=self.hook,
        )  # fmt: skip
        if min(self.grace, self.remember, self.rate) < 0:
            raise ValueError("grace, remember and rate are at least 0")
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key are given together, or not at all")
        if not 0 <= self.port < 65536:
            raise ValueError(f"port is {self.port}: give one from 1 to 65535, or 0 for one from the system")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """What every session server has. Times end in their unit, or are in seconds.

    `name` is the server's; its next life goes on with its sessions. `run`, `trace`, `incarnation`, `stop_ms`,
    `watching`, `access`: as for a rollout worker; `access` is that of its calls. `register` is the register of the
    run; `store` the SQLite file that all session servers of the host share; `durability` what may be lost of it.
    `hooks` names an object `module:name`, see `hooks.py`.
    """

    name: str
    run: str
    register: Path
    store: Path
    trace: Path | None = None
    incarnation: str = ""
    durability: Durability = Durability.STRICT
    hooks: str = ""
    stop_ms: int = 5_000
    sessions: SessionSettings = field(default_factory=SessionSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    watching: Watching = field(default_factory=Watching)
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require_names(name=self.name, run=self.run, incarnation=self.incarnation or "drawn")
        require_positive(stop_ms=self.stop_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsConfig(ServerConfig):
    """One session server of a run of rollout workers.

    `model` is a Hugging Face folder with tokenizer and chat template; `context`: the most tokens of a prompt and its
    answer, what the model's config says if it is 0. For the rest see `ServerConfig`.
    """

    model: Path
    context: int = 0

    def __post_init__(self) -> None:
        ServerConfig.__post_init__(self)
        if self.context < 0:
            raise ValueError("context is at least 0")
