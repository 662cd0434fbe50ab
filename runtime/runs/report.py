"""The report of a run: `report.json` with documented keys, and a Markdown page with plots."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..demo.figures import TraceFigures
from ..demo.record import Made
from ..demo.report import Check
from .notes import Noted, StepFigures

SHARE = 5
"""The first and the last fifth of the steps are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What all lives of a run show together. `trace` is counted from the merged trace, None where none was judged;
    `trace_refusal` is empty when it is explained. `config` is the run's, as JSON has it."""

    name: str
    config: Mapping[str, Any]
    noted: Noted
    trace: TraceFigures | None = None
    trace_refusal: str = ""
    made: Made = field(default_factory=Made.here)

    def checks(self) -> list[Check]:
        """What was checked, in the order of the page."""
        steps, wanted, f = self.noted.steps, self.config.get("updates"), self.trace
        last = max(steps, default=0)
        told = [Check("every step was made", len(steps) == last and last >= (wanted or 0),
                      f"{len(steps)} of {last if wanted is None else wanted}")]  # fmt: skip
        groups = [number for figures in steps.values() for number in figures.groups]
        told.append(
            Check("no group was trained on twice", len(groups) == len(set(groups)), f"{len(groups)} groups")
        )
        if f is not None:
            told += [
                Check(
                    "every admission has one end",
                    f.admissions == f.receipts + f.lost + f.unlogged and f.unsettled == 0,
                    f"{f.admissions} admitted, {f.receipts} receipts, {f.lost} lost, {f.unlogged} whose end a killed "
                    f"process did not log, {f.unsettled} open",
                ),
                Check("no gate was poisoned", f.poisoned == 0, f"{f.installs} installs, {f.poisoned} poisoned"),
                Check("the trace is explained", not self.trace_refusal, self.trace_refusal or f"{f.lines} lines"),
            ]  # fmt: skip
        return told

    @property
    def has_passed(self) -> bool:
        """Whether every check has."""
        return all(check.passed for check in self.checks())

    def as_json(self) -> dict[str, Any]:
        """The keys of `report.json`; docs/train.md says what each means."""
        noted, steps = self.noted, list(self.noted.steps.values())
        busy = sum(_took(s, lends=self.config.get("placement") == "colocated") for s in steps)
        return {
            "run": self.name,
            "passed": self.has_passed,
            "checks": [asdict(check) for check in self.checks()],
            "lives": noted.lives,
            "seconds": round(noted.seconds, 3),
            "steps": len(steps),
            "reward_first": _mean([s.reward for s in steps[: _part(steps)]]),
            "reward_last": _mean([s.reward for s in steps[-_part(steps) :]]),
            "held_out": {str(step): rewards for step, rewards in sorted(noted.held_out.items())},
            "held_out_gain": self._gain(),
            "staleness": _mean([s.staleness for s in steps]),
            "tokens": sum(s.tokens for s in steps),
            "tokens_per_second": sum(s.tokens for s in steps) / busy if busy else 0.0,
            # Where nothing is lent, replicas stand still within the window at most.
            "still_share": sum(s.still_s or s.window_s for s in steps) / busy if busy else 0.0,
            "incidents": noted.incidents,
            "trace": None if self.trace is None else {"lines": self.trace.lines, "refusal": self.trace_refusal},
            "figures": [asdict(s) for s in steps],
            "made_by": asdict(self.made),
            "config": dict(self.config),
        }

    def write(self, folder: Path) -> Path:
        """Write `report.json`, the plots and `report.md`; the page's path. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(json.dumps(self.as_json(), indent=1) + "\n")
        _plots(self.noted, folder)
        page = folder / "report.md"
        page.write_text(self._page())
        return page

    def _gain(self) -> dict[str, float] | None:
        """What the same held-out prompts gained from the first time to the last, paired."""
        asked = sorted(self.noted.held_out.items())
        if len(asked) < 2 or len(asked[0][1]) != len(asked[-1][1]):
            return None
        gains = [after - before for before, after in zip(asked[0][1], asked[-1][1], strict=True)]
        error = statistics.stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
        return {"mean": statistics.fmean(gains), "standard_error": error}

    def _page(self) -> str:
        told, steps = self.as_json(), list(self.noted.steps.values())
        gain = told["held_out_gain"]
        lines = [
            f"# Run {self.name}",
            "",
            f"{len(steps)} steps in {self.noted.seconds:.0f} s and {self.noted.lives} "
            f"{'life' if self.noted.lives == 1 else 'lives'}, {self.config.get('placement', '')}.",
            "",
            "| check | | figures |",
            "|---|---|---|",
            *(f"| {c.name} | {'passed' if c.passed else '**failed**'} | {c.said} |" for c in self.checks()),
            "",
            "## Reward",
            "",
            f"Of the batches: {_said(told['reward_first'])} at first, {_said(told['reward_last'])} at last.",
            *(
                f"\nOf {len(rewards)} held-out prompts after step {step}: {_said(_mean(rewards))}."
                for step, rewards in sorted(self.noted.held_out.items())
            ),
            *([f"\nGained on them: {gain['mean']:+.3f}, standard error {gain['standard_error']:.3f}."] if gain else []),
            "",
            "![reward](reward.png)",
            "",
            "## Time",
            "",
            f"{told['tokens_per_second']:.0f} tokens a second were trained on; replicas stood still for at most "
            f"{100 * told['still_share']:.1f} % of the time.",
            "",
            "![time](time.png)",
            "",
            "| | median s | longest s |",
            "|---|---|---|",
            *(_row(name, [getattr(s, key) for s in steps]) for name, key in _SPANS),
            "",
            "## Notes",
            "",
            *([f"- {text}" for text in self.noted.incidents] or ["Nothing went wrong."]),
            "",
            "## Made by",
            "",
            f"Commit `{self.made.commit}`{' with uncommitted changes' if self.made.dirty else ''}, Python "
            f"{self.made.python} on {self.made.platform}; "
            + ", ".join(f"{k} {v}" for k, v in self.made.packages.items())
            + ".",
            "",
        ]
        return "\n".join(lines)


_SPANS = (
    ("waiting for groups", "gather_s"),
    ("training step", "train_s"),
    ("publishing", "publish_s"),
    ("gates not all open", "window_s"),
    ("devices lent", "still_s"),
)


def _took(figures: StepFigures, *, lends: bool) -> float:
    # A window that is lent has training and publishing inside.
    beside = 0.0 if lends else figures.train_s + figures.publish_s
    return figures.gather_s + beside + figures.window_s


def _part(steps: Sequence[Any]) -> int:
    return max(1, len(steps) // SHARE)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _said(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _row(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {statistics.median(values):.3f} | {max(values):.3f} |" if values else f"| {name} | | |"


def _plots(noted: Noted, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    steps = list(noted.steps.values())
    figure, axes = pyplot.subplots(figsize=(8, 3.5))
    axes.plot([s.step for s in steps], [s.reward for s in steps], label="batches")
    asked = sorted(noted.held_out.items())
    axes.plot([s for s, _ in asked], [statistics.fmean(r) for _, r in asked], "o-", color="tab:red", label="held out")
    axes.set(xlabel="step", ylabel="mean reward", ylim=(0, 1))
    _save(figure, axes, folder / "reward.png")
    figure, axes = pyplot.subplots(figsize=(8, 3.5))
    for name, key in _SPANS:
        axes.plot([s.step for s in steps], [getattr(s, key) for s in steps], label=name)
    axes.set(xlabel="step", ylabel="seconds")
    _save(figure, axes, folder / "time.png")


def _save(figure: Any, axes: Any, path: Path) -> None:
    from matplotlib import pyplot

    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
