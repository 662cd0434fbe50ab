"""A whole run in one process: its cast, its clock, and the judgement over its trace at the end.

Rules of this file:

- `play` runs a scenario from an empty folder to a judged trace: what the devices say is wrong, what a
  servicer raised, and what the tables and the rules between machines refuse is an error.
- Nothing waits in real time, and the same scenario goes the same way each time.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ...protocol.client import Reply, dial
from ...protocol.generated.gate_service import GateClient
from ...protocol.host import MachineHost
from ...spec.traces import Verdict, validate
from ...statemachines.compiler import Outcome
from ...statemachines.replica import Replica
from ...statemachines.sorts import Mode
from .. import tracelog
from ..controller.controller import ReplicaActions
from ..controller.member import MemberError
from ..controller.sync import Operation, SyncSettings
from .clients import Answer, Clients, clients
from .clock import VirtualLoop
from .engine import ScriptedEngine
from .lives import ControllerLife, Layout, ReplicaLife, TrainerLife
from .network import SimNetwork
from .process import Process

T = TypeVar("T")
MEDDLED = 10_000
"""Numbers of operations above this are nobody's."""
WITHIN = 120.0
"""Virtual seconds that something is waited for."""


class Step(NamedTuple):
    """A step of some machine, as it was made."""

    at: float
    incarnation: str
    machine: str
    instance: str
    event: Any
    before: str
    after: str
    outcome: Outcome
    cause: str

    @property
    def name(self) -> str:
        return type(self.event).__name__


class Judged(AssertionError):
    """A run that must not be; the text says what is wrong with it."""


class Stage:
    """The cast of one run. `replicas`, `clients` and `controller` are the present lives."""

    def __init__(
        self, folder: Path, *, replicas: Sequence[str] = ("a",), ranks: int = 1, pace: float = 0.01,
        settings: SyncSettings | None = None, probes: bool = True, **config: Any,
    ) -> None:  # fmt: skip
        self.layout, self.network = Layout(folder), SimNetwork()
        self.settings = settings or SyncSettings(mode=Mode.WAIT)
        self.names, self.ranks, self.pace = tuple(replicas), tuple(map(str, range(ranks))), pace
        self.replicas: dict[str, ReplicaLife] = {}
        self.lives: list[ReplicaLife] = []
        self.controllers: list[ControllerLife] = []
        self.steps: list[Step] = []
        self.verdict: Verdict | None = None
        self._config, self._probes = config, probes
        self._killed: dict[str, str] = {}
        self._meddled = 0
        self._is_replacing = True
        self._background: list[asyncio.Task[Any]] = []

    # -- the cast ------------------------------------------------------------------------------------

    @property
    def controller(self) -> ControllerLife:
        """The latest one."""
        return self.controllers[-1]

    @property
    def now(self) -> float:
        """Virtual seconds since the run began."""
        return self.loop.time()

    async def begin(self) -> None:
        """Trainer, clients, a controller and the replicas, claimed and without weights."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.layout.make()
        self.trainer = TrainerLife(self.layout, self.network)
        await self.trainer.start()
        log = self.layout.log("agents.1")
        self._log = log
        self._agents: Process[Clients] = Process("agents.1", self.network, lambda: clients(log, "agents.1"))
        self.clients = await self._agents.start()
        self.watch("agents.1", self.clients.sessions)
        await self.take_over()
        for name in self.names:
            await self.start(name)

    async def take_over(self) -> ControllerLife:
        """A new controller of a higher term, which claims the trainer and every replica that lives."""
        actions = ReplicaActions(self._stop, self._replace, _nothing)
        life = ControllerLife(
            f"controller.{len(self.controllers) + 1}", self.layout, self.network, self.settings, actions
        )
        self.controllers.append(life)
        await life.start()
        self.watch(life.incarnation, life.controller.syncs)
        self.watch(life.incarnation, life.controller.replicas)
        await life.reach_trainer(self.trainer)
        for replica in self.replicas.values():
            if replica.process.is_running:
                await self._join(life, replica)
        return life

    async def start(self, replica: str, engine: ScriptedEngine | None = None) -> ReplicaLife:
        """The next life of a replica, which joins the latest controller."""
        life = await self.launch(replica, engine)
        await self.join(life)
        return life

    async def join(self, life: ReplicaLife) -> None:
        """A life that is there joins the latest controller."""
        await self._join(self.controller, life)

    async def launch(self, replica: str, engine: ScriptedEngine | None = None) -> ReplicaLife:
        """The next life of a replica, which no controller knows."""
        number = 1 + sum(life.replica == replica for life in self.lives)
        made = engine or ScriptedEngine(self.ranks, pace=self.pace)
        life = ReplicaLife(replica, number, made, self.layout, self.network, **self._config)
        self.lives.append(life)
        await life.start()
        self.watch(life.incarnation, life.gates)
        self.watch(life.incarnation, life.leases)
        self.replicas[replica] = life
        return life

    def kill(self, life: ReplicaLife | ControllerLife) -> None:
        """SIGKILL."""
        life.process.kill()
        self._killed[life.incarnation] = "killed"

    def tell_end(self, life: ReplicaLife, *, replace: bool = True) -> None:
        """Tell the controller that a process has ended; it is started anew if the controller asks for that."""
        self._is_replacing = replace
        self.controller.controller.tell(life.incarnation, Replica.Exited(why="killed"))

    def replica_state(self, replica: str) -> Any:
        """The live Replica of the present life, as the latest controller sees it."""
        return self.controller.controller.replicas.live(self.replicas[replica].incarnation)

    async def _join(self, ruler: ControllerLife, life: ReplicaLife) -> None:
        controller, facts = ruler.controller, life.facts
        with suppress(MemberError):
            await ruler.run(controller.join(life.replica, life.incarnation, facts["control"], facts["data"]))
        if self._probes:
            self._background.append(ruler.spawn(controller.probe(life.replica, life.incarnation)))

    async def _stop(self, incarnation: str) -> None:
        for life in self.lives:
            if life.incarnation == incarnation and life.process.is_running:
                self.kill(life)

    async def _replace(self, incarnation: str) -> None:
        if self._is_replacing:
            self._background.append(self.controller.spawn(self._begin_anew(incarnation.rpartition(".")[0])))

    async def _begin_anew(self, replica: str) -> None:
        await self.start(replica)

    def watch(self, incarnation: str, host: MachineHost) -> None:
        """Keep each step of a host."""
        machine = host.wire.name

        def observe(
            instance: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
        ) -> None:
            self.steps.append(Step(self.now, incarnation, machine, instance, event, before, after, outcome, cause))

        host.observe(observe)

    # -- what happens --------------------------------------------------------------------------------

    async def publish(self) -> int:
        """The trainer publishes the next version; its number."""
        return await self.controller.publish()

    async def update(self) -> Operation:
        """Publish a version and bring it to every member."""
        version = await self.publish()
        return await self.controller.run(self.controller.controller.sync(version))

    def begin_update(self, version: int) -> asyncio.Task[Operation]:
        """Bring a published version to every member, while the scenario goes on."""
        task = self.controller.spawn(self.controller.controller.sync(version))
        self._background.append(task)
        return task

    def ask(
        self, replica: str, *, tokens: int = 4, session: str = "", lease: str = "", pin: int | None = None,
        hold: float = 0.0, life: str = "", within: float | None = None,
    ) -> Answer:  # fmt: skip
        """A request, on its way to the present life of a replica; `life` is the one that it is meant for."""
        asked = self.replicas[replica]
        return self._agents.call(
            lambda: self.clients.ask(
                asked, tokens=tokens, session=session, lease=lease, pin=pin, hold=hold, incarnation=life, within=within
            )
        )

    async def abort(self, replica: str, lease: str) -> bool:
        """Abort a request by its id; whether it was running."""
        return await self._agents.spawn(self.clients.abort(self.replicas[replica], lease))

    async def cancel(self, replica: str, lease: str) -> Reply[Any]:
        """Cancel a lease by its machine."""
        return await self._agents.spawn(self.clients.cancel(self.replicas[replica], lease))

    def background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Something that goes on beside the scenario, until it ends or the run does."""
        task = asyncio.create_task(work)
        self._background.append(task)
        return task

    async def meddle(self, replica: str, command: str, **fields: Any) -> Reply[Any]:
        """A command to a gate, in its own term and epoch, that no operation has asked for. Raises CallError.

        What the judge then asks of controllers is excused: they are killed at the end of the run.
        """
        life = self.replicas[replica]
        self._meddled += 1
        number = MEDDLED + self._meddled

        async def call() -> Reply[Any]:
            gate = life.gate
            client = GateClient(dial(life.facts["control"]), replica, incarnation=life.incarnation)
            given: dict[str, Any] = {"term": gate.term, "epoch": gate.epoch, **fields}
            operation = f"{given['term']}.{given['epoch']}.{life.incarnation}.{command}.{number}"
            return await getattr(client, command)(**given, operation_id=operation)

        return await self._agents.spawn(call())

    async def until(self, holds: Callable[[], object], what: str = "", within: float = WITHIN) -> None:
        """Wait for the first moment at which nothing runs and it holds."""
        await self.loop.until(holds, within, what)

    async def wait(self, seconds: float) -> None:
        """Let so many virtual seconds go by."""
        await asyncio.sleep(seconds)

    async def ended(self, *answers: Answer) -> None:
        """Wait until these requests have ended."""
        await self.until(lambda: all(a.task is not None and a.task.done() for a in answers), "the end of requests")

    def steps_of(self, machine: str, *events: str, instance: str = "", taken: bool = False) -> list[Step]:
        """The steps so far of a machine's events, of one instance or all; `taken`: those that went through."""
        return [
            s
            for s in self.steps
            if s.machine == machine and (not events or s.name in events) and (not instance or s.instance == instance)
            and (not taken or s.outcome.kind in ("go", "stay"))
        ]  # fmt: skip

    # -- the end -------------------------------------------------------------------------------------

    async def end(self) -> None:
        """End every process as it should, and judge the run. Raises Judged."""
        for task in self._background:
            task.cancel()
        for life in self.controllers:
            if self._meddled:
                self.kill(life)
            await life.process.end()
        for life in self.lives:
            await life.process.end()
        await self._agents.spawn(self.clients.end())
        await self._agents.end()
        self._log.close()
        await self.trainer.process.end()
        trace = tracelog.merge(
            sorted(self.layout.trace.glob("*.ndjson")), self._killed, self.layout.folder / "trace.ndjson"
        )
        self.verdict = validate(trace)
        wrong = [f"{life.incarnation}: {text}" for life in self.lives for text in life.engine.wrong]
        wrong += self.network.unhandled
        wrong += [f"{a.lease}: labels {a.labels} of tokens {a.ids}" for a in self.clients.answers if not a.is_true]
        if self.verdict.refusal is not None:
            wrong.append(f"line {self.verdict.refusal.entry.line}: {self.verdict.refusal}")
        if wrong:
            raise Judged("\n".join(wrong))

    def bury(self) -> None:
        """Let what is left of killed processes be thrown away."""
        for life in (*self.lives, *self.controllers):
            life.process.bury()


def play(scenario: Callable[[Stage], Awaitable[None]], folder: Path, **cast: Any) -> Verdict:
    """Run a scenario on a cast (see `Stage`) whose files lie in `folder`; the verdict over its trace.

    Raises Judged for a run that must not be, Stuck for one that does not go on, and what the scenario raises.
    """
    stage = Stage(folder, **cast)

    async def run() -> None:
        await stage.begin()
        await scenario(stage)
        await stage.end()

    with _same_each_time(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        try:
            runner.run(run())
        except BaseException:
            # What is left of a run that was broken off is thrown away here, not within what looks at the error.
            gc.collect()
            raise
        finally:
            loop = runner.get_loop()
            assert isinstance(loop, VirtualLoop)
            loop.extend(10.0)
            stage.bury()
    assert stage.verdict is not None
    return stage.verdict


@contextmanager
def _same_each_time() -> Iterator[None]:
    """Random pauses are the same in each run; a trace is written line by line, so that a kill loses none."""
    state, lines = random.getstate(), tracelog.FLUSH_LINES
    random.seed(0)
    tracelog.FLUSH_LINES = 1
    try:
        yield
    finally:
        random.setstate(state)
        tracelog.FLUSH_LINES = lines


async def _nothing(incarnation: str) -> None: ...
