"""What became of the jobs of a trainer's machines, and why: what their tables do not keep.

Rules of this file:

- It watches steps and changes none. Which job runs, and whether it is over, is the machine's state.
- The last jobs of each instance are remembered; of a failure there is only one, which is the last.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal

from ...protocol.host import MachineHost
from ...statemachines.compiler import Outcome

Became = Literal["running", "done", "undone", "failed"]
_REMEMBERED = 64
_WORKING = frozenset({"TRAINING", "PUBLISHING", "SAVING", "LOADING"})
_MIXED = "some ranks have done it and others could not: they are no longer one trainer"
_DIFFER = "its weights have another digest than those of the ranks before it: they are no longer one trainer"


@dataclass(slots=True)
class Job:
    """One job: what became of it, what each rank that did not do it said, and the digest that was published."""

    became: Became = "running"
    why: list[str] = field(default_factory=list)
    digest: str = ""
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Jobs:
    """The jobs of the instances of `host`, which it is set to observe before any of them steps."""

    def __init__(self) -> None:
        self._of: dict[str, OrderedDict[int, Job]] = {}
        self._host: MachineHost | None = None

    def watch(self, host: MachineHost) -> None:
        self._host = host
        host.observe(self)

    def get(self, instance: str, number: int) -> Job | None:
        """The job of this number, if it is remembered."""
        return self._of.get(instance, {}).get(number)

    def __call__(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
    ) -> None:
        if outcome.kind not in ("go", "stay") or self._host is None:
            return
        known = self._of.setdefault(instance, OrderedDict())
        current = self._host.live(instance).job
        if before == "IDLE" and after in _WORKING:
            known[current] = Job()
            while len(known) > _REMEMBERED:
                known.popitem(last=False)
        if (job := known.get(current)) is None:
            return
        name, fields = type(event).__name__, event.__dict__
        rank, digest = fields.get("rank", ""), fields.get("digest", "")
        if name in ("Undone", "Failed"):
            job.why.append(fields["why"] if rank == instance else f"{rank}: {fields['why']}")
        job.digest = job.digest or digest
        if before not in _WORKING or after in _WORKING:
            return
        if after == "FAILED" and name != "Failed":
            job.why.append(f"{rank}: {_DIFFER if digest and digest != job.digest else _MIXED}")
        job.became = "failed" if after == "FAILED" else "undone" if name == "Undone" else "done"
        job.over.set()
