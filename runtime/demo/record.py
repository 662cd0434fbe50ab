"""What a run remembers about itself while it goes on, for its report."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..controller.sync import Operation

PACKAGES = ("torch", "deepspeed", "transformers", "grpcio", "protobuf", "numpy")


@dataclass(frozen=True, slots=True)
class Made:
    """What the run was made by: the project's commit, whether it was dirty, and the versions it ran on."""

    commit: str
    dirty: bool
    python: str
    platform: str
    packages: dict[str, str]

    @classmethod
    def here(cls) -> Made:
        """Of this installation; the commit is `unknown` outside a checkout."""
        root = Path(__file__).resolve().parents[2]
        commit = _git(root, "rev-parse", "HEAD")
        status = _git(root, "status", "--porcelain", "--untracked-files=no")
        packages = {name: importlib.metadata.version(name) for name in PACKAGES}
        return cls(commit or "unknown", bool(status), platform.python_version(), platform.platform(), packages)


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@dataclass(frozen=True, slots=True)
class Update:
    """One step of training and the sync of its weights; times in seconds, `at` since the run's begin.

    `gather_s` is the wait for enough finished groups, `pause_s` from the first seal to the last close.
    `members` began the operation; `left` are those that did not finish it, with the reason.
    """

    version: int
    at: float
    reward: float
    metrics: dict[str, float]
    gather_s: float
    train_s: float
    publish_s: float
    pause_s: float
    drain_s: float
    install_s: float
    reopen_s: float
    members: tuple[str, ...]
    left: dict[str, str]

    @classmethod
    def of(
        cls, operation: Operation, *, at: float, reward: float, metrics: dict[str, float], gather_s: float,
        train_s: float, publish_s: float,
    ) -> Update:  # fmt: skip
        """The pause split at its barriers: sealed and drained, installed and recorded, reopened and closed."""
        marks = operation.marks
        return cls(
            operation.version, at, reward, metrics, gather_s, train_s, publish_s,
            pause_s=marks["end"] - marks.get("staged", 0.0),
            drain_s=marks["drained"] - marks.get("staged", 0.0),
            install_s=marks["recorded"] - marks["drained"],
            reopen_s=marks["end"] - marks["recorded"],
            members=operation.members,
            left={**operation.dropped, **operation.declined},
        )  # fmt: skip


@dataclass(slots=True)
class Record:
    """Everything that is not in the trace."""

    made: Made = field(default_factory=Made.here)
    began: float = field(default_factory=time.monotonic)
    updates: list[Update] = field(default_factory=list)
    rewards_before: list[float] = field(default_factory=list)
    rewards_after: list[float] = field(default_factory=list)
    sessions: int = 0
    turns: int = 0
    tokens: int = 0
    crossings: Counter[int] = field(default_factory=Counter)
    """How many updates a session lived through -> how many sessions."""
    token_versions: list[tuple[float, Counter[int]]] = field(default_factory=list)
    """(seconds since the begin, version -> tokens of a turn that ended then)"""
    stale_groups: int = 0
    """Groups that were left out: a token was older than the training's bound."""
    retries: Counter[str] = field(default_factory=Counter)
    """Why conversations were begun again, under another session id."""

    @property
    def now(self) -> float:
        """Seconds since the begin."""
        return time.monotonic() - self.began

    def took_turn(self, versions: Sequence[int]) -> None:
        self.turns += 1
        self.tokens += len(versions)
        self.token_versions.append((self.now, Counter(versions)))

    def ended_session(self, versions: Sequence[int]) -> None:
        """A complete conversation whose tokens were made by these versions."""
        self.sessions += 1
        self.crossings[max(versions, default=0) - min(versions, default=0)] += 1
