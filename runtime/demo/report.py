"""The report of a run: `report.json` with documented keys, and a Markdown page with plots."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .cluster import Incident
from .figures import TraceFigures
from .record import Record


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a run must show: whether it did, and the figures."""

    name: str
    passed: bool
    said: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a finished run shows. `trace_refusal` is empty when the trace is explained."""

    record: Record
    figures: TraceFigures
    incidents: tuple[Incident, ...]
    trace_refusal: str
    replicas: int
    turns: int
    expects: Expectations
    config: dict[str, Any]
    duration_s: float

    def checks(self) -> list[Check]:
        """What was checked, in the order of the page."""
        f, e = self.figures, self.expects
        crossing, updates = self.crossing(2), len(f.published) - 1
        missing = [v for v in f.published if len(f.holders.get(v, ())) < self.replicas]
        killed = any("signal" in i.what for i in self.incidents)
        return [
            Check("updates", updates >= e.updates, f"{updates} after version 0, {e.updates} wanted"),
            Check("sessions", self.record.sessions >= e.sessions, f"{self.record.sessions} of {self.turns} turns each"),
            Check("sessions that crossed 2 updates", crossing >= e.crossing, f"{crossing}, {e.crossing} wanted"),
            Check(
                "every admission has one end",
                f.admissions == f.receipts + f.lost + f.unlogged and f.unsettled == 0,
                f"{f.admissions} admitted, {f.receipts} receipts, {f.lost} lost, {f.unsettled} open"
                + (f", {f.unlogged} whose end a killed process did not log" if f.unlogged else ""),
            ),
            Check("nothing lost", f.lost == 0 or killed, f"{f.lost} lost{' with a killed process' if killed else ''}"),
            Check(
                "every replica held every version as the trainer published it",
                f.digest_mismatches == 0 and (not missing or bool(self.incidents)),
                f"{f.installs} installs, {f.digest_mismatches} with another digest, {len(missing)} missing",
            ),
            Check("the trace is explained", not self.trace_refusal, self.trace_refusal or f"{f.lines} lines"),
        ]

    def crossing(self, updates: int) -> int:
        """How many sessions lived through at least so many updates."""
        return sum(n for crossed, n in self.record.crossings.items() if crossed >= updates)

    def status(self) -> int:
        """The exit status: 0 all shown, 1 a check failed, 3 all shown although a process was lost."""
        if not all(c.passed for c in self.checks()):
            return 1
        return 3 if self.incidents else 0

    def as_json(self) -> dict[str, Any]:
        """The keys of `report.json`; docs/demo.md says what each means."""
        record, f = self.record, self.figures
        return {
            "status": self.status(),
            "checks": [asdict(c) for c in self.checks()],
            "versions": f.published,
            "replicas": self.replicas,
            "sessions": record.sessions,
            "turns_per_session": self.turns,
            "sessions_crossing_two_updates": self.crossing(2),
            "turns": record.turns,
            "tokens": record.tokens,
            "admissions": f.admissions,
            "receipts": f.receipts,
            "endings": dict(f.endings),
            "lost": f.lost,
            "unlogged": f.unlogged,
            "installs": f.installs,
            "digest_mismatches": f.digest_mismatches,
            "reward_first": _mean(record.rewards_before),
            "reward_last": _mean(record.rewards_after),
            "rewards_before": record.rewards_before,
            "rewards_after": record.rewards_after,
            "trace_valid": not self.trace_refusal,
            "trace_refusal": self.trace_refusal,
            "trace_lines": f.lines,
            "incidents": [asdict(i) for i in self.incidents],
            "retries": dict(record.retries),
            "stale_groups": record.stale_groups,
            "updates": [asdict(u) for u in record.updates],
            "duration_s": self.duration_s,
            "made_by": asdict(record.made),
            "config": self.config,
        }

    def write(self, folder: Path) -> Path:
        """Write `report.json`, the plots and `report.md`; the page's path."""
        (folder / "report.json").write_text(json.dumps(self.as_json(), indent=1) + "\n")
        _plots(self, folder)
        page = folder / "report.md"
        page.write_text(_page(self))
        return page


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the demo promises at least."""

    updates: int = 20
    sessions: int = 16
    crossing: int = 4


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _page(report: Report) -> str:
    record, made = report.record, report.record.made
    first, last = _mean(record.rewards_before), _mean(record.rewards_after)
    lines = [
        "# A run of Sluicegate",
        "",
        f"{len(report.figures.published) - 1} updates of the weights of {report.replicas} replicas "
        f"under live sessions, in {report.duration_s:.0f} s.",
        "",
        "| check | | figures |",
        "|---|---|---|",
        *(f"| {c.name} | {'passed' if c.passed else '**failed**'} | {c.said} |" for c in report.checks()),
        "",
        "## Reward",
        "",
        f"On {len(record.rewards_before)} held-out prompts: {_said(first)} before, {_said(last)} after.",
        "",
        "![reward](reward.png)",
        "",
        "## Pauses",
        "",
        "How long gates were closed in each sync: until all were drained, until all had installed and the version was "
        "published, until all were open again.",
        "",
        "![pauses](pauses.png)",
        "",
        "| | median s | longest s |",
        "|---|---|---|",
        *(_row(name, [getattr(u, key) for u in record.updates]) for name, key in _SPANS),
        "",
        "## Versions of tokens",
        "",
        "![versions](versions.png)",
        "",
        "| updates that a session lived through | sessions |",
        "|---|---|",
        *(f"| {crossed} | {count} |" for crossed, count in sorted(record.crossings.items())),
        "",
        "## Processes",
        "",
        *(
            [f"- `{i.incarnation}`: {i.what}; {len(i.sessions_lost)} sessions lost" for i in report.incidents]
            or ["No process was lost."]
        ),
        *(
            f"- `{replica}` left the sync of version {u.version}: {why}"
            for u in record.updates
            for replica, why in u.left.items()
        ),
        *(f"- conversations begun again after {why}: {n}" for why, n in record.retries.items()),
        "",
        "## Made by",
        "",
        f"Commit `{made.commit}`{' with uncommitted changes' if made.dirty else ''}, Python {made.python} on "
        f"{made.platform}; " + ", ".join(f"{k} {v}" for k, v in made.packages.items()) + ".",
        "",
    ]
    return "\n".join(lines)


_SPANS = (
    ("pause", "pause_s"),
    ("drain", "drain_s"),
    ("install", "install_s"),
    ("reopen", "reopen_s"),
    ("training step", "train_s"),
    ("publishing", "publish_s"),
    ("waiting for groups", "gather_s"),
)


def _said(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _row(name: str, values: Sequence[float]) -> str:
    if not values:
        return f"| {name} | | |"
    return f"| {name} | {statistics.median(values):.3f} | {max(values):.3f} |"


def _plots(report: Report, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    record = report.record

    figure, axes = pyplot.subplots(figsize=(8, 3.5))
    axes.plot([u.version for u in record.updates], [u.reward for u in record.updates], label="training groups")
    for values, at in ((record.rewards_before, 0), (record.rewards_after, len(record.updates))):
        if values:
            axes.plot([at], [statistics.fmean(values)], "o", color="tab:red", label="held out" if at == 0 else None)
    axes.set(xlabel="version", ylabel="mean reward", ylim=(0, 1))
    axes.legend()
    _save(figure, folder / "reward.png")

    figure, axes = pyplot.subplots(figsize=(8, 3.5))
    below = [0.0] * len(record.updates)
    for name, key in (("drain", "drain_s"), ("install", "install_s"), ("reopen", "reopen_s")):
        heights = [getattr(u, key) for u in record.updates]
        axes.bar([u.version for u in record.updates], heights, bottom=below, label=name)
        below = [b + h for b, h in zip(below, heights, strict=True)]
    axes.set(xlabel="version", ylabel="seconds closed")
    axes.legend()
    _save(figure, folder / "pauses.png")

    figure, axes = pyplot.subplots(figsize=(8, 3.5))
    points: Counter[tuple[int, int]] = Counter()
    for at, versions in record.token_versions:
        for version, count in versions.items():
            points[int(at), version] += count
    axes.scatter(
        [at for at, _ in points], [v for _, v in points], s=[max(2, min(60, n / 4)) for n in points.values()], alpha=0.5
    )
    axes.step(
        [u.at for u in record.updates], [u.version for u in record.updates], where="post", color="tab:red",
        label="published",
    )  # fmt: skip
    axes.set(xlabel="seconds", ylabel="version of tokens")
    axes.legend()
    _save(figure, folder / "versions.png")


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
