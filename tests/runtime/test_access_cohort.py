"""A cohort of real processes over mutual TLS, and those who may not: told why, and nothing has changed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from certificates import CONTROL_TOKEN, DATA_TOKEN, Parties
from grpc import StatusCode, aio
from rollout_kit import Weights

from sluicegate.protocol.access import Access, acting_as
from sluicegate.protocol.client import Rejected, Retry, Unreachable, dial
from sluicegate.protocol.generated import rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.generated.gate_service import GATE, GateClient
from sluicegate.protocol.refusals import detail
from sluicegate.runtime.config import as_json, write_config
from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.controller import always_there
from sluicegate.runtime.controller.member import Member
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.demo.config import AgentsConfig, DemoConfig, TaskConfig
from sluicegate.runtime.demo.loop import run as play
from sluicegate.runtime.launcher import Launcher, Worker
from sluicegate.runtime.supervisor import Charge, Supervisor
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.statemachines.sorts import Mode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
START_S, WITHIN_S = 150.0, 90.0
KEY_OF_WORKER = "WORKER_KEY_FOR_TESTS"
"""The environment variable by which workers get their key."""


@dataclass
class Secured:
    """A rollout worker behind TLS, by a key from the environment and tokens from a file."""

    parties: Parties
    weights: Weights
    folder: Path
    worker: Worker

    def callers(self, name: str, token: str = "") -> Access:
        return self.parties.caller(name, token)

    async def gate(self) -> Any:
        """The gate now, with its number."""
        ready = self.worker.ready
        async with dial(ready["control"], self.callers("controller")) as channel:
            return await GateClient(channel, "r0", incarnation=ready["incarnation"]).get()


@asynccontextmanager
async def secured(folder: Path, **settings: Any) -> AsyncIterator[Secured]:
    (folder / "secrets").mkdir(parents=True)
    parties, weights = Parties(folder / "secrets"), Weights("access", folder)
    access = parties.server(key=f"env:{KEY_OF_WORKER}", **settings)
    environment = {KEY_OF_WORKER: content(parties.pairs["worker"].key), "OMP_NUM_THREADS": "1"}
    (folder / "processes").mkdir()
    async with Launcher(folder / "processes", environment=environment) as launcher:
        config = as_json(weights.config("r0", incarnation="r0.1", access=access, per_client=2))
        worker = await launcher.start("rollout", "r0", "r0.1", config, within=START_S)
        yield Secured(parties, weights, folder, worker)
        await worker.stop(15.0)
    weights.publisher.close()


def shown_below(folder: Path) -> dict[str, bytes]:
    """All that processes wrote, but for the secrets themselves and the weights."""
    left_out = ("secrets", "shm", "model")
    files = [p for p in folder.rglob("*") if p.is_file() and p.relative_to(folder).parts[0] not in left_out]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def bodies(parties: Parties) -> list[bytes]:
    """What no file and no output may hold: each token, and a line of each private key."""
    keys = [Path(pair.key).read_text().splitlines()[1] for pair in parties.pairs.values()]
    return [text.encode() for text in (CONTROL_TOKEN, DATA_TOKEN, *keys)]


async def update(member: Member, weights: Weights, version: int) -> Any:
    """A whole operation, as the controller does it."""
    digests = weights.publish(version).rank_digests(["0"])
    return await member.converge(
        version, version, digests, mode=Mode.WAIT, window_ms=60_000, within=WITHIN_S, is_durable=always_there
    )


async def generate(channel: aio.Channel, **given: Any) -> list[Any]:
    stub: Any = rollout_pb2_grpc.RolloutStub(channel)
    sampling = rollout_pb2.SamplingParams(max_tokens=given.pop("max_tokens", 4), temperature=1.0, top_p=1.0)
    request = rollout_pb2.GenerateRequest(prompt_token_ids=given.pop("prompt", (3, 1, 4)), sampling=sampling, **given)
    return [chunk async for chunk in stub.Generate(request, timeout=WITHIN_S)]


async def test_a_worker_over_mutual_tls_serves_its_roles_and_changes_nothing_for_others(tmp_path: Path) -> None:
    async with secured(tmp_path) as made:
        ready, parties = made.worker.ready, made.parties
        with acting_as(made.callers("controller")):
            member = Member("r0", "r0.1", ready["control"], ready["data"], term=1, call=20.0)
        try:
            await member.claim()
            gate = await update(member, made.weights, 1)
            assert (gate.state, gate.version) == ("OPEN", 1)
            await agents_generate_and_do_no_more(made)
            before = await made.gate()
            texts = await those_who_may_not(made)
            texts += await what_is_sent_wrong(made)
            await as_many_leases_as_one_client_may_have(made, member)
            after = await made.gate()
            assert (after.snapshot.state, after.snapshot.version, after.snapshot.term) == ("OPEN", 1, 1)
            assert before.snapshot.epoch == after.snapshot.epoch
            gate = await update(member, made.weights, 2)
            assert (gate.state, gate.version) == ("OPEN", 2)
        finally:
            await member.close()
    written = shown_below(tmp_path)
    assert "processes/r0.1.json" in written
    assert any(name.startswith("trace/") for name in written)
    assert any(name.endswith(".log") for name in written)
    for secret in bodies(parties):
        assert [name for name, content in written.items() if secret in content] == []
        assert not any(secret.decode() in text for text in [*texts, json.dumps(ready)])


async def agents_generate_and_do_no_more(made: Secured) -> None:
    """By certificate and by token, on the data port; nothing on the control port, and no staging."""
    ready = made.worker.ready
    for access in (made.callers("agents"), made.callers("nobody", DATA_TOKEN)):
        async with dial(ready["data"], access) as channel, dial(ready["control"], access) as control:
            chunks = await generate(channel)
            assert [s.version for c in chunks for s in c.spans] == [1] * len([c for c in chunks if c.spans])
            stub: Any = rollout_pb2_grpc.RolloutStub(channel)
            assert not (await stub.Abort(rollout_pb2.AbortRequest(request_id="none"), timeout=WITHIN_S)).running
            with pytest.raises(aio.AioRpcError) as staging:
                await stub.Stage(rollout_pb2.StageRequest(version=1), timeout=WITHIN_S)
            assert staging.value.code() is StatusCode.PERMISSION_DENIED
            for call in (lambda c: c.get(), lambda c: c.claim(term=9), lambda c: anext(c.watch())):
                with pytest.raises(Rejected, match="needs the role control") as found:
                    await call(GateClient(control, "r0", incarnation="r0.1"))
                assert found.value.code is StatusCode.PERMISSION_DENIED
    async with dial(ready["data"], made.callers("controller")) as channel:
        with pytest.raises(aio.AioRpcError, match="needs the role data"):
            await generate(channel)


async def those_who_may_not(made: Secured) -> list[str]:
    """Each is refused on the way, clearly, and the gate's number stays; what they were told."""
    parties, control = made.parties, made.worker.ready["control"]
    stranger = parties.other.issue("controller", file="impostor")
    both = parties.folder / "two-authorities.pem"
    put(both, content(parties.authority.path) + content(parties.other.path))
    foreign = Access(**pair(stranger), authorities=str(both))
    cases: list[tuple[str, Access]] = [
        ("unable to get local issuer", replace(foreign, authorities=parties.other.path)),
        ("it may want TLS, or another certificate", foreign),
        ("it may want TLS, or another certificate", made.callers("")),
        ("it may want TLS", Access()),
        ("certificate nobody has none", made.callers("nobody")),
        ("token agents has data", made.callers("both", DATA_TOKEN)),
        ("this token is not known here", made.callers("controller", "never-given-out-0123456789")),
    ]  # fmt: skip
    number, texts = (await made.gate()).number, []
    for said, access in cases:
        async with dial(control, access) as channel:
            client = GateClient(channel, "r0", incarnation="r0.1", deadline=20.0, retry=Retry(tries=6))
            with pytest.raises((Rejected, Unreachable)) as found:
                await client.poison(term=99, why="should never happen")
        assert said in str(found.value)
        texts.append(str(found.value))
    assert (await made.gate()).number == number
    return texts


async def what_is_sent_wrong(made: Secured) -> list[str]:
    """Too large a message, and headers that are no token: refused, and no lease is left."""
    ready, texts = made.worker.ready, []
    async with dial(ready["data"], made.callers("agents")) as channel:
        with pytest.raises(aio.AioRpcError, match="Received message larger than max") as large:
            await generate(channel, labels={"a": "x" * (5 * 1024 * 1024)})
        assert large.value.code() is StatusCode.RESOURCE_EXHAUSTED
        stub: Any = rollout_pb2_grpc.RolloutStub(channel)
        for value in ("Bearer", "~ !\"#$%&'()", f"bearer {DATA_TOKEN[:-1]}", "Basic YTpi", " " * 9):
            with pytest.raises(aio.AioRpcError) as odd:
                async for _ in stub.Generate(rollout_pb2.GenerateRequest(), metadata=[("authorization", value)]):
                    pass
            assert odd.value.code() is StatusCode.UNAUTHENTICATED
            told = detail(odd.value, GATE.reply)
            assert told is not None
            assert told.reason == "UNAUTHENTICATED"
            texts.append(str(odd.value))
        await generate(channel)
    gate = (await made.gate()).snapshot
    assert not gate.active | gate.suspended | gate.orphaned
    return texts


async def as_many_leases_as_one_client_may_have(made: Secured, member: Member) -> None:
    """`per_client` counts what a certificate has, over all its connections; a token's holder is another client."""
    ready = made.worker.ready
    async with (
        dial(ready["data"], made.callers("agents")) as one,
        dial(ready["data"], made.callers("agents")) as two,
        dial(ready["data"], made.callers("nobody", DATA_TOKEN)) as other,
    ):
        running = [asyncio.create_task(generate(channel, max_tokens=2000)) for channel in (one, two)]
        await member.until(lambda gate, _: len(gate.active) == 2, WITHIN_S)
        with pytest.raises(aio.AioRpcError, match="this client has 2 requests here"):
            await generate(two)
        assert await generate(other)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await member.until(lambda gate, _: not gate.active, WITHIN_S)


def pair(own: Any) -> dict[str, Any]:
    return {"certificate": own.certificate, "key": own.key}


def content(path: str) -> str:
    return Path(path).read_text()


def put(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": "env:NOT_SET_ANYWHERE"}, "key env:NOT_SET_ANYWHERE: is empty: set that variable"),
        ({"certificate": "late"}, "certificate has expired"),
        ({"tokens": "bad"}, "line 1: expected a name, roles"),
        ({"address": "0.0.0.0", "roles": {}, "tokens": "", "certificate": "", "key": ""}, "i_accept_plaintext_beyond"),
    ],
)
def test_a_worker_whose_access_cannot_be_used_does_not_start(tmp_path: Path, changes: Any, said: str) -> None:
    parties = Parties(tmp_path)
    late = parties.authority.issue("worker", file="late", days=0)
    (tmp_path / "bad").write_text(f"{CONTROL_TOKEN} control ruler\n")
    given = {**changes, **({"tokens": str(tmp_path / "bad")} if changes.get("tokens") else {})}
    access = parties.server(**{**given, **(pair(late) if changes.get("certificate") else {})})
    weights = Weights("access", tmp_path)
    write_config(tmp_path / "r0.json", weights.config("r0", access=access))
    words = [sys.executable, "-m", "sluicegate", "worker", "rollout", str(tmp_path / "r0.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=START_S, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert CONTROL_TOKEN not in done.stderr
    assert done.stdout == ""


async def test_a_whole_cohort_publishes_and_pauses_over_mutual_tls(tmp_path: Path) -> None:
    """Launcher, supervisor, a controller and a replica as processes, and the command line with an access file."""
    parties, weights = Parties(tmp_path / "secrets"), Weights("access", tmp_path)
    register, processes = tmp_path / "register.db", tmp_path / "processes"
    processes.mkdir()
    controller = parties.pairs["controller"]
    rules = parties.server(**pair(controller))
    operator = tmp_path / "operator.json"
    write_config(operator, parties.caller("controller"))

    async def sluicegate(*words: str) -> tuple[int, str]:
        done = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sluicegate", *words, env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(done.communicate(), START_S)
        return done.returncode or 0, out.decode()

    with Roster(register) as roster, acting_as(parties.caller("controller")):
        async with (
            Launcher(processes, environment={"OMP_NUM_THREADS": "1"}) as launcher,
            Supervisor(roster, launcher) as supervisor,
        ):
            replica = partial(weights.config, "r0", access=parties.server())
            supervisor.keep(Charge("r0", "rollout", lambda life: as_json(replica(incarnation=life)), START_S))
            ruling = ControllerConfig(
                run="access", register=register, manifests=tmp_path / "manifests", trace=tmp_path / "trace",
                shm_root=tmp_path / "shm", access=rules, call_ms=20_000,
            )  # fmt: skip
            supervisor.keep(
                Charge("controller", "controller", lambda life: as_json(replace(ruling, incarnation=life)), START_S)
            )
            async with asyncio.timeout(START_S):
                while not (supervisor.present("r0") and supervisor.present("controller")):  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            async with ControllerClient.of_register(register, within=WITHIN_S) as client:
                async with asyncio.timeout(START_S):
                    while [r.state for r in (await client.status()).replicas] != ["SYNCING"]:  # noqa: ASYNC110
                        await asyncio.sleep(0.2)
                for version in (1, 2):
                    weights.publish(version)
                    assert (await client.sync(version)).version == version
            place = roster.ruler()
            assert place is not None
            with_access = ("--access", str(operator))
            code, said = await sluicegate("pause", str(register), *with_access)
            assert (code, "paused by" in said) == (0, True), said
            code, said = await sluicegate("resume", place.control, *with_access)
            assert (code, "resumed by" in said) == (0, True), said
            code, said = await sluicegate("status", str(register), *with_access)
            assert (code, "OPEN" in said) == (0, True), said
            agent = tmp_path / "agent.json"
            write_config(agent, parties.caller("agents"))
            code, said = await sluicegate("status", str(register), "--access", str(agent))
            assert (code, "rules, and does not let you look" in said) == (2, True), said
            code, said = await sluicegate("poison", place.control, "r0", "--why", "x", "--within", "5")
            assert (code, "it may want TLS" in said) == (1, True), said
            with acting_as(parties.caller("agents")):
                async with ControllerClient(place.control, within=20.0) as client:
                    with pytest.raises(Rejected, match="needs the role control"):
                        await client.poison("r0", "x")
            worker = supervisor.present("r0")
            assert worker is not None
            assert worker.incarnation == "r0.1"
    weights.publisher.close()
    written = shown_below(tmp_path)
    for secret in bodies(parties):
        assert [name for name, found in written.items() if secret in found] == []


@pytest.mark.timeout(600)
@pytest.mark.soak
def test_a_run_with_its_trainer_and_sessions_goes_over_mutual_tls_and_loses_nothing(tmp_path: Path) -> None:
    """Everything is in one setting: all processes have one certificate, which has both roles."""
    parties = Parties(tmp_path / "secrets")
    access = parties.server(**pair(parties.pairs["both"]), tokens="")
    config = DemoConfig(
        updates=2, replicas=1, evaluate=False, task=TaskConfig(held_out_prompts=4),
        agents=AgentsConfig(in_flight=2, slow_share=0.0), training=TrainingConfig(groups=2, group_size=2),
        access=access,
    )  # fmt: skip
    report = asyncio.run(play(config, tmp_path / "run", cast(Any, Unseen())))
    told = report.as_json()
    assert (told["versions"], told["lost"], told["trace_valid"], told["incidents"]) == ([0, 1, 2], 0, True, [])
    assert told["config"]["access"]["key"] == parties.pairs["both"].key
    written = shown_below(tmp_path)
    for secret in bodies(parties):
        assert [name for name, found in written.items() if secret in found] == []


class Unseen:
    """A screen that nobody looks at."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given: None
