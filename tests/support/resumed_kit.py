"""A run of `sluicegate train` as somebody runs it: its processes, what it prints, what lies in its folder."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import yaml
from traced_run import Process

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.store import StoreError
from sluicegate.runtime.controller.roster import Life, Roster
from sluicegate.runtime.tracelog import merge_stopped
from sluicegate.runtime.weights import ManifestStore
from sluicegate.runtime.weights.shm import run_folder
from sluicegate.spec.traces import Verdict, validate
from sluicegate.statemachines.session import Rebinding, Session

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 240.0
FROZEN = "model.layers.0.mlp.*"
"""What the run does not train."""
SMALL: dict[str, Any] = {
    "model": {"hidden": 32},
    "agents": {"in_flight": 5, "waiting": 1},
    "training": {
        "groups": 4, "group_size": 4, "epochs": 1, "minibatches": 1, "max_staleness": 4, "frozen": [FROZEN]
    },
}  # fmt: skip
"""A run without an end, small enough to make several steps a second."""


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    parents: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        # One may end while it is looked at.
        with suppress(OSError):
            parents[int(path.read_text().rpartition(")")[2].split()[1])].append(int(path.parent.name))
    found = list(parents[pid])
    for each in found:
        found += parents[each]
    return found


class Playing:
    """One life of the run. What it prints is kept in `said`."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder, self.process = folder, process
        self.said: list[str] = []
        path = folder / "steps.ndjson"
        # What earlier lives made is not read again.
        self.steps = path.open() if path.exists() else None
        if self.steps is not None:
            self.steps.seek(0, os.SEEK_END)

    def step(self, number: int) -> dict[str, Any]:
        """Read on in `steps.ndjson` until the line of this step, which is returned."""
        until = time.monotonic() + WITHIN_S
        while True:
            told = self.steps.readline() if self.steps is not None else ""
            if told.endswith("\n"):
                line = json.loads(told)
                if line["step"] == number:
                    return line
                continue
            if self.steps is None and (path := self.folder / "steps.ndjson").exists():
                self.steps = path.open()
                continue
            if told and self.steps is not None:
                self.steps.seek(self.steps.tell() - len(told))
            assert self.process.poll() is None, f"it ended before step {number}:\n{self.rest()}\n{self.logs()}"
            assert time.monotonic() < until, f"no step {number} within {WITHIN_S:g} s"
            time.sleep(0.02)

    def rest(self) -> str:
        """What it says until it ends."""
        assert self.process.stdout is not None
        self.said += self.process.stdout
        return "".join(self.said)

    def until(self, pattern: str) -> re.Match[str]:
        """Read on until a line that the pattern is found in."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it ended without {pattern!r}:\n{''.join(self.said)}\n{self.logs()}")

    def living(self, role: str | None = None) -> list[Life]:
        with Roster(self.folder / "register.db", looks=True) as roster:
            return [life for life in roster.living(role) if life.pid]

    def first_life(self, role: str) -> Life:
        """The first life of a role that is ready, as soon as it is."""
        until = time.monotonic() + WITHIN_S
        while time.monotonic() < until:
            # Before the run has begun there is no register.
            with suppress(StoreError):
                if found := self.living(role):
                    return found[0]
            time.sleep(0.02)
        raise AssertionError(f"no {role} was ready:\n{''.join(self.said)}\n{self.logs()}")

    def kill(self, life: Life) -> None:
        os.kill(life.pid, signal.SIGKILL)

    def kill_all(self) -> None:
        """End every process at once, by SIGKILL."""
        if self.process.poll() is None:
            # Whoever starts processes again does not see their ends, and they do not see its end first.
            self.process.send_signal(signal.SIGSTOP)
        pids = descendants(self.process.pid)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait(30)
        until = time.monotonic() + 30
        while any(Path(f"/proc/{pid}").exists() for pid in pids):
            assert time.monotonic() < until
            time.sleep(0.05)

    def end(self) -> str:
        """Have it end; what it said since."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.stdout is not None
        said = self.process.stdout.read()
        assert self.process.wait(120) == 130, said
        return said

    def logs(self) -> str:
        return "\n".join(f"{p.name}:\n{p.read_text()[-2000:]}" for p in sorted(self.folder.glob("processes/*.log")))


@contextmanager
def playing(folder: Path, **changed: Any) -> Iterator[Playing]:
    """The small run with these parts of its config changed; nothing of it is left when the context is left."""
    folder.mkdir(exist_ok=True)
    config = folder.with_suffix(".yaml")
    config.write_text(yaml.safe_dump({**SMALL, **changed}))
    process = subprocess.Popen(
        [sys.executable, "-m", "sluicegate", "train", str(config), "--folder", str(folder)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    made = Playing(folder, process)
    try:
        yield made
    finally:
        made.kill_all()
        for file in (process.stdout, made.steps):
            if file is not None:
                file.close()


def looked_at(run: Playing) -> dict[str, dict[str, int]]:
    """Resident bytes, open files and threads of every process, and what lies in shared memory, by name."""
    found: dict[str, dict[str, int]] = {}
    pids = {life.name: life.pid for life in run.living()} | {"run": run.process.pid}
    pids |= {f"trainer.{number}": pid for number, pid in enumerate(sorted(descendants(pids["trainer"])))}
    for name, pid in pids.items():
        proc = Path(f"/proc/{pid}")
        status = dict(re.findall(r"^(\w+):\s+(\d+)", (proc / "status").read_text(), re.MULTILINE))
        found[name] = {
            "bytes": int(status["VmRSS"]) * 1024, "files": len(list((proc / "fd").iterdir())),
            "threads": int(status["Threads"]),
        }  # fmt: skip
    segments = run_folder((run.folder / "name").read_text())
    found["shared memory"] = {"files": sum(path.is_file() for path in segments.rglob("*"))}
    return found


def grown(run: Playing, early: range, late: range) -> dict[tuple[str, str], tuple[float, float]]:
    """The medians over early and late steps of whatever is counted, of each process, as the run goes on to the last."""
    seen: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for number in (*early, *late):
        run.step(number)
        for name, counts in looked_at(run).items():
            for what, count in counts.items():
                seen[name, what][number] = count
    medians = {
        key: tuple(statistics.median(counts[n] for n in part if n in counts) for part in (early, late))
        for key, counts in seen.items()
    }
    for (name, what), (before, after) in sorted(medians.items()):
        print(f"{name:14} {what:8} {before:14.1f} {after:14.1f} {after - before:+14.1f}")
    return medians  # pyright: ignore[reportReturnType]


class Asking:
    """Requests to every replica that lives, one after another, as an agent of its own; `answers` has their labels."""

    def __init__(self, playing: Playing) -> None:
        self.answers: list[list[int]] = []
        self._replicas = playing.living("rollout")
        self._log = Process(playing.folder / "trace", "asking.1", (playing.folder / "name").read_text())
        self._is_over = threading.Event()
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._asked = self._thread.submit(lambda: asyncio.run(self._ask()))
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._asked.result(WITHIN_S)
        self._log.log.close()

    async def _ask(self) -> None:
        async with asyncio.TaskGroup() as group:
            for life in self._replicas:
                group.create_task(self._ask_one(life))

    async def _ask_one(self, life: Life) -> None:
        async with dial(life.data) as channel:
            data: Any = rollout_pb2_grpc.RolloutStub(channel)
            for number in itertools.count():
                if self._is_over.is_set():
                    return
                await self._turn(data, life, f"asking-{life.name}-{number}")

    async def _turn(self, data: Any, life: Life, session: str) -> None:
        lease = f"{session}.1"
        self._log.born(Session, session, policy=Rebinding.NEVER)
        self._log.step(session, Session.BeginTurn(lease=lease), lease)
        sampling = rollout_pb2.SamplingParams(max_tokens=40, temperature=1.0, top_p=1.0, seed=1)
        request = rollout_pb2.GenerateRequest(
            request_id=lease, session=session, prompt_token_ids=(3, 4), sampling=sampling, hold=60.0
        )
        labels: list[int] = []
        async for chunk in data.Generate(request, timeout=120.0):
            if chunk.lease:
                bound = Session.Bound(replica=life.name, incarnation=life.incarnation)
                self._log.step(session, bound, lease)
            labels += [span.version for span in chunk.spans for _ in range(span.count)]
        self._log.step(session, Session.EndTurn(lease=lease), lease)
        self.answers.append(labels)


def manifests(folder: Path) -> ManifestStore:
    return ManifestStore(folder / "manifests")


def served(folder: Path, incarnation: str) -> set[int]:
    """The versions that made tokens of the requests that this life of a replica let in, by its receipts."""
    path = folder / "trace" / f"{incarnation.partition('.')[0]}.{incarnation}.ndjson"
    begun, made = set[str](), set[int]()
    for line in map(json.loads, path.read_text().splitlines()):
        if line.get("machine") != "Lease":
            continue
        # What an earlier life let in is accounted for by the next one.
        if line["line"] == "new" and not line["restored"]:
            begun.add(line["instance"])
        elif line.get("fact") == "receipt" and line["instance"] in begun:
            made |= {version for version, _ in line["values"]["spans"]}
    return made


def judged(folder: Path) -> Verdict:
    """The judgement over the logs of all lives, which have ended."""
    merge_stopped(folder / "trace", folder / "trace.ndjson")
    return validate(folder / "trace.ndjson")
