"""Who may do what, on real servers over TLS: a call that may not be made changes nothing and is told why."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import string
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from certificates import CONTROL_TOKEN, DATA_TOKEN, ROLES, Parties
from google.protobuf.descriptor import ServiceDescriptor
from grpc import StatusCode, aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sluicegate.protocol.generated as generated
from sluicegate.protocol.access import Access, channel_credentials
from sluicegate.protocol.client import Rejected, Retry, Unreachable, dial
from sluicegate.protocol.generated import gate_pb2
from sluicegate.protocol.generated.gate_service import GATE, GateClient, GateServicer
from sluicegate.protocol.guard import CALLER, Callers, Unknown
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.refusals import CALLS, FORBIDDEN, UNAUTHENTICATED, detail
from sluicegate.protocol.roles import ROLES as DECLARED
from sluicegate.protocol.roles import Role, methods_of, needs_of
from sluicegate.protocol.server import Server, ServerError
from sluicegate.protocol.servicer import Servicer

FEW = Retry(tries=6)


def content(path: str | Path) -> str:
    return Path(path).read_text()


def put(path: str | Path, text: str) -> None:
    Path(path).write_text(text)


async def check_health(channel: aio.Channel) -> health_pb2.HealthCheckResponse:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    return await stub.Check(health_pb2.HealthCheckRequest(), timeout=20)


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Parties:
    return Parties(tmp_path_factory.mktemp("parties"))


# -- every method of every service -------------------------------------------------------------------


def all_services() -> dict[str, tuple[ServiceDescriptor, Any]]:
    """The generated services, each with its generated servicer where it is a machine's."""
    found: dict[str, tuple[ServiceDescriptor, Any]] = {}
    machines: dict[str, Any] = {}
    for module in pkgutil.iter_modules(generated.__path__):
        made = importlib.import_module(f"{generated.__name__}.{module.name}")
        if module.name.endswith("_pb2"):
            for service in made.DESCRIPTOR.services_by_name.values():
                found[service.full_name] = (service, None)
        for value in vars(made).values():
            if isinstance(value, type) and issubclass(value, Servicer) and value is not Servicer:
                machines[value.SERVICE] = value
    return {name: (service, machines.get(name)) for name, (service, _) in found.items()}


SERVICES = all_services()


@dataclass
class Entered:
    """Serves a generated service; every method writes down who entered it, and answers with nothing in it."""

    SERVICE: str
    ROLES: Any
    entered: list[tuple[str, str]] = field(default_factory=list)

    def add_to(self, server: aio.Server) -> None:
        handlers: dict[str, grpc.RpcMethodHandler] = {}
        for method in SERVICES[self.SERVICE][0].methods:
            make = (
                grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
            )
            handlers[method.name] = make(self._of(method.name, method.server_streaming))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(self.SERVICE, handlers),))

    def _of(self, name: str, streams: bool) -> Any:
        def note() -> None:
            caller = CALLER.get()
            assert caller is not None
            self.entered.append((name, caller.name))

        async def answer(request: bytes, context: Any) -> bytes:
            note()
            return b""

        async def stream(request: bytes, context: Any) -> AsyncIterator[bytes]:
            note()
            yield b""

        return stream if streams else answer


async def ask(channel: aio.Channel, path: str, streams: bool) -> StatusCode:
    """The status of a call without a content."""
    try:
        if streams:
            async for _ in channel.unary_stream(path)(b"", timeout=20):
                pass
        else:
            await channel.unary_unary(path)(b"", timeout=20)
    except aio.AioRpcError as error:
        return error.code()
    return StatusCode.OK


@pytest.mark.parametrize("name", SERVICES)
async def test_each_method_is_entered_with_its_role_alone_by_certificate_and_by_token(
    name: str, parties: Parties
) -> None:
    service, machine = SERVICES[name]
    served = Entered(name, Role.CONTROL if machine is None and name not in DECLARED else roles_of(name, machine))
    callers: Mapping[str, tuple[Access, frozenset[Role]]] = {
        "certificate controller": (parties.caller("controller"), frozenset({Role.CONTROL})),
        "certificate agents": (parties.caller("agents"), frozenset({Role.DATA})),
        "certificate both": (parties.caller("both"), frozenset(Role)),
        "certificate nobody": (parties.caller("nobody"), frozenset()),
        "token ruler": (parties.caller("nobody", CONTROL_TOKEN), frozenset({Role.CONTROL})),
        # A token decides alone, also against a certificate that has more.
        "token agents": (parties.caller("both", DATA_TOKEN), frozenset({Role.DATA})),
    }
    async with Server([served], access=parties.server(), grace=0.1) as server:
        for caller, (access, held) in callers.items():
            async with dial(server.target, access) as channel:
                for method in service.methods:
                    (needed,) = needs_of(served)[f"/{name}/{method.name}"]
                    served.entered.clear()
                    code = await ask(channel, f"/{name}/{method.name}", method.server_streaming)
                    if needed in held:
                        assert (code, served.entered) == (StatusCode.OK, [(method.name, caller)])
                    else:
                        assert (code, served.entered) == (StatusCode.PERMISSION_DENIED, [])


def roles_of(name: str, machine: Any) -> Any:
    return DECLARED[name] if machine is None else machine.ROLES


def test_every_generated_service_says_what_its_methods_need() -> None:
    said = {name for name, (_, machine) in SERVICES.items() if machine is not None} | set(DECLARED)
    assert said == set(SERVICES)


def test_all_of_a_machine_needs_control_and_only_generation_and_what_its_clients_do_about_it_need_data() -> None:
    data = {
        path
        for name, (_, machine) in SERVICES.items()
        for path, roles in needs_of(Entered(name, roles_of(name, machine))).items()
        if roles != {Role.CONTROL}
    }
    generation = {f"/sluicegate.v1.Rollout/{method}" for method in ("Generate", "Proceed", "Abort")}
    # Replicas fetch weights, and command nobody.
    assert data == generation | {f"/sluicegate.v1.Weights/{method}" for method in ("Fetch", "Join", "Lend")}


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        (None, "does not say which role its methods need: give its class ROLES"),
        ({"Submit": Role.DATA, "Outcome": Role.DATA}, "needs a role: see Result"),
        (dict.fromkeys(("Submit", "Result", "Outcome", "Other"), Role.DATA), "needs a role: see Other"),
    ],
)
def test_a_service_or_method_of_which_nobody_says_what_it_needs_is_not_served(
    roles: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "sluicegate.v1.TrainerData"
    assert methods_of(name) == {"Submit", "Result", "Outcome"}
    monkeypatch.delitem(DECLARED, name)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ServerError, match=said):
        Server([Entered(name, roles)])


# -- a gate, and those who may not -------------------------------------------------------------------


@dataclass
class Guarded:
    """A gate behind a server that knows its callers, and what its handlers were asked."""

    host: MachineHost
    server: Server
    done: list[Any]

    def is_untouched(self) -> bool:
        return self.host.present("g")[0].number == 0 and not self.done and self.host.live("g").term == 0


@pytest.fixture
async def guarded(parties: Parties, handlers: Any) -> AsyncIterator[Guarded]:
    async with MachineHost(GATE, handlers, incarnation="life-1") as host:
        host.create("g", ranks=frozenset({"0"}))
        access = parties.server(message_bytes=4096, streams=4, calls_per_client=3)
        async with Server([GateServicer(host)], access=access, grace=0.2) as server:
            yield Guarded(host, server, handlers.done)


async def failure_of(guarded: Guarded, access: Access) -> Exception:
    """What a claim of the gate came to."""
    async with dial(guarded.server.target, access) as channel:
        client = GateClient(channel, "g", incarnation="life-1", deadline=15.0, retry=FEW)
        with pytest.raises((Rejected, Unreachable)) as found:
            await client.claim(term=1, operation_id="o")
    return found.value


async def test_a_caller_of_another_role_is_told_which_it_needs(guarded: Guarded, parties: Parties) -> None:
    for access in (parties.caller("agents"), parties.caller("nobody"), parties.caller("both", DATA_TOKEN)):
        failure = await failure_of(guarded, access)
        assert isinstance(failure, Rejected)
        assert (failure.code, failure.reason) == (StatusCode.PERMISSION_DENIED, FORBIDDEN.lower())
        assert "/sluicegate.v1.Gate/Claim needs the role control" in str(failure)
        assert "add it to the server's roles or tokens" in str(failure)
    assert guarded.is_untouched()


async def test_an_unknown_token_is_told_what_to_give_and_not_repeated(guarded: Guarded, parties: Parties) -> None:
    token = "unknown-" + "1" * 20
    failure = await failure_of(guarded, parties.caller("controller", token))
    assert isinstance(failure, Rejected)
    assert (failure.code, failure.reason) == (StatusCode.UNAUTHENTICATED, UNAUTHENTICATED.lower())
    assert "call with a certificate that has a role here or a token of this server's tokens file" in str(failure)
    assert token not in str(failure)
    assert guarded.is_untouched()


async def test_who_does_not_trust_the_server_or_is_not_trusted_gets_no_connection(
    guarded: Guarded, parties: Parties
) -> None:
    stranger = parties.other.issue("controller", file="impostor")
    distrusts = Access(certificate=stranger.certificate, key=stranger.key, authorities=parties.other.path)
    both = parties.folder / "both-authorities.pem"
    put(both, content(parties.authority.path) + content(parties.other.path))
    foreign = Access(certificate=stranger.certificate, key=stranger.key, authorities=str(both))
    cases = {
        "unable to get local issuer certificate": distrusts,
        "it may want TLS, or another certificate than is given": foreign,
        "ended the connection at once": parties.caller(""),
        "it may want TLS": Access(),
    }
    for said, access in cases.items():
        failure = await failure_of(guarded, access)
        assert isinstance(failure, Unreachable)
        assert said in str(failure)
    assert guarded.is_untouched()


async def test_an_expired_server_is_told_apart_by_its_clients(parties: Parties) -> None:
    late = parties.authority.issue("worker", file="late-server", days=0)
    creds = grpc.ssl_server_credentials([(content(late.key).encode(), content(late.certificate).encode())])
    bare = aio.server()
    port = bare.add_secure_port("127.0.0.1:0", creds)
    await bare.start()
    try:
        async with dial(f"127.0.0.1:{port}", parties.caller("controller")) as channel:
            with pytest.raises(Unreachable, match="certificate has expired"):
                await GateClient(channel, "g", deadline=15.0, retry=FEW).get()
    finally:
        await bare.stop(0)


async def test_a_certificate_of_another_host_is_not_the_servers(parties: Parties) -> None:
    away = parties.authority.issue("worker", file="away", names="DNS:elsewhere.invalid")
    access = parties.server(certificate=away.certificate, key=away.key)
    async with (
        Server([], access=access, grace=0.1) as server,
        dial(server.target, parties.caller("controller")) as channel,
    ):
        with pytest.raises(Unreachable, match="Hostname Verification Check failed"):
            await GateClient(channel, "g", deadline=15.0, retry=FEW).get()


async def test_health_is_for_anybody_and_reflection_for_whoever_has_a_role(guarded: Guarded, parties: Parties) -> None:
    ask = reflection_pb2.ServerReflectionRequest(list_services="")
    seen: dict[str, StatusCode] = {}
    for name, token in (("nobody", ""), ("nobody", "unknown-" + "1" * 20), ("agents", ""), ("controller", "")):
        async with dial(guarded.server.target, parties.caller(name, token)) as channel:
            assert (await check_health(channel)).status == health_pb2.HealthCheckResponse.SERVING
            stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast(Any, channel))
            try:
                async for answer in stub.ServerReflectionInfo(iter([ask]), timeout=20):
                    assert "sluicegate.v1.Gate" in {s.name for s in answer.list_services_response.service}
                seen[name + bool(token) * "+"] = StatusCode.OK
            except aio.AioRpcError as error:
                seen[name + bool(token) * "+"] = error.code()
    assert seen == {
        "nobody": StatusCode.PERMISSION_DENIED,
        "nobody+": StatusCode.UNAUTHENTICATED,
        "agents": StatusCode.OK,
        "controller": StatusCode.OK,
    }


# -- limits ------------------------------------------------------------------------------------------


async def test_a_message_that_is_too_large_is_refused_whole(guarded: Guarded, parties: Parties) -> None:
    async with dial(guarded.server.target, parties.caller("controller")) as channel:
        client = GateClient(channel, "g", incarnation="life-1", deadline=15.0, retry=FEW)
        with pytest.raises(Unreachable, match=r"RESOURCE_EXHAUSTED: SERVER: Received message larger than max"):
            await client.poison(term=1, why="x" * 5000)
    assert guarded.is_untouched()


async def test_calls_beyond_those_of_one_client_are_refused_and_others_are_served(
    guarded: Guarded, parties: Parties
) -> None:
    async with (
        dial(guarded.server.target, parties.caller("controller")) as one,
        dial(guarded.server.target, parties.caller("controller")) as two,
        dial(guarded.server.target, parties.caller("nobody", CONTROL_TOKEN)) as other,
    ):
        watches = [GateClient(channel, "g").watch() for channel in (one, one, two)]
        for watch in watches:
            await anext(watch)
        with pytest.raises(Rejected, match="certificate controller has 3 calls here at once") as found:
            await GateClient(two, "g", incarnation="life-1").claim(term=1)
        assert (found.value.code, found.value.reason) == (StatusCode.RESOURCE_EXHAUSTED, CALLS.lower())
        assert guarded.is_untouched()
        assert (await GateClient(other, "g").get()).number == 0
        await watches[0].aclose()
        async with asyncio.timeout(20):
            while True:
                try:
                    assert (await GateClient(two, "g").claim(term=1)).kind == "stay"
                    break
                except Rejected:
                    await asyncio.sleep(0.05)
        for watch in watches[1:]:
            await watch.aclose()
        async with asyncio.timeout(20):
            while guarded.server.calls:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_calls_beyond_those_of_one_connection_wait_within_their_deadline(parties: Parties, handlers: Any) -> None:
    async with MachineHost(GATE, handlers, incarnation="life-1") as host:
        host.create("g", ranks=frozenset({"0"}))
        async with (
            Server([GateServicer(host)], access=parties.server(streams=2), grace=0.2) as server,
            dial(server.target, parties.caller("controller")) as channel,
        ):
            watches = [GateClient(channel, "g").watch() for _ in range(2)]
            for watch in watches:
                await anext(watch)
            client = GateClient(channel, "g", incarnation="life-1", retry=FEW)
            with pytest.raises(Unreachable, match="DEADLINE_EXCEEDED"):
                await client.claim(term=1, deadline=0.5)
            assert host.live("g").term == 0
            waiting = asyncio.ensure_future(client.claim(term=1, deadline=20.0))
            await watches[0].aclose()
            assert (await waiting).kind == "stay"
            await watches[1].aclose()


async def test_in_plain_text_a_client_is_its_connection(handlers: Any) -> None:
    async with MachineHost(GATE, handlers, incarnation="life-1") as host:
        host.create("g", ranks=frozenset({"0"}))
        async with (
            Server([GateServicer(host)], access=Access(calls_per_client=1), grace=0.2) as server,
            dial(server.target, Access()) as one,
            dial(server.target, Access()) as two,
        ):
            watch = GateClient(one, "g").watch()
            await anext(watch)
            with pytest.raises(Rejected, match=r"ipv4:127.0.0.1:\d+ has 1 calls"):
                await GateClient(one, "g").get()
            assert (await GateClient(two, "g").get()).number == 0
            await watch.aclose()


# -- what changes while a server runs ----------------------------------------------------------------


async def test_a_token_that_is_taken_from_the_file_is_not_taken_any_more(
    guarded: Guarded, parties: Parties, caplog: pytest.LogCaptureFixture
) -> None:
    path, before = parties.tokens, content(parties.tokens)
    async with dial(guarded.server.target, parties.caller("nobody", CONTROL_TOKEN)) as channel:
        client = GateClient(channel, "g")
        await client.get()
        try:
            put(path, f"agents data {DATA_TOKEN}\n")
            with pytest.raises(Rejected, match="this token is not known here"):
                await client.get()
            put(path, f"{before}broken line {'9' * 30}\n")
            with pytest.raises(Rejected, match="this token is not known here"):
                await client.get()
            assert "what was read before stays in use" in caplog.text
            assert "9" * 30 not in caplog.text
        finally:
            put(path, before)
        await client.get()


async def test_a_client_sends_the_token_that_its_file_has_by_now(guarded: Guarded, parties: Parties) -> None:
    access = parties.caller("nobody", DATA_TOKEN)
    async with dial(guarded.server.target, access) as channel:
        client = GateClient(channel, "g")
        with pytest.raises(Rejected, match="needs the role control"):
            await client.get()
        put(access.token, CONTROL_TOKEN)
        assert (await client.get()).number == 0


# -- whatever is sent --------------------------------------------------------------------------------

VALUES = st.one_of(
    st.text(max_size=60),
    st.binary(max_size=60),
    st.sampled_from(
        [f"Bearer {CONTROL_TOKEN}"[:-1], f"bearer {DATA_TOKEN}", f"Bearer  {DATA_TOKEN} ", "Bearer", "Bearer "]
    ),
    st.sampled_from([f"Bearer {DATA_TOKEN} {CONTROL_TOKEN}", f"Basic {CONTROL_TOKEN}", CONTROL_TOKEN, ""]),
)
KEYS = st.sampled_from(["authorization", "Authorization", "authorization-bin", "x-other"])


@given(st.lists(st.tuples(KEYS, VALUES), max_size=4), st.sampled_from(["nobody", "agents", ""]))
def test_no_metadata_makes_a_caller_more_than_its_certificate_or_token(
    parties: Parties, metadata: list[tuple[str, str | bytes]], name: str
) -> None:
    callers = Callers(parties.server())
    proven = {"x509_common_name": [name.encode()]} if name else {}
    why = ""
    sent = [value for key, value in metadata if key.lower() == "authorization"]
    try:
        caller = callers.who("peer", metadata, proven)
    except Unknown as error:
        caller, why = None, str(error)
    if caller is None:
        assert not any(token in why for token in (CONTROL_TOKEN, DATA_TOKEN))
        assert sent or not name
    else:
        assert Role.CONTROL not in caller.roles
        assert caller.name == ("token agents" if sent else f"certificate {name}")
        assert caller.roles == (frozenset({Role.DATA}) if sent else frozenset(ROLES.get(name, ())))


@given(st.lists(st.tuples(st.sampled_from(["authorization", "authorization-bin", "x-other"]), st.data()), max_size=3))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_live_server_refuses_all_metadata_without_a_token_of_its_file(
    guarded: Guarded, parties: Parties, pairs: list[tuple[str, Any]]
) -> None:
    visible = st.text(alphabet=string.printable[:95], max_size=40)
    metadata = [(key, data.draw(st.binary(max_size=40) if key.endswith("-bin") else visible)) for key, data in pairs]
    creds = channel_credentials(parties.caller("agents"))
    assert creds is not None
    async with aio.secure_channel(guarded.server.target, creds) as channel:
        method = channel.unary_unary("/sluicegate.v1.Gate/Claim")
        fence = gate_pb2.GateTermFence(incarnation="life-1", operation_id="o", term=1)
        request = gate_pb2.GateClaimRequest(instance="g", fence=fence)
        with pytest.raises(aio.AioRpcError) as found:
            await method(request.SerializeToString(), timeout=20, metadata=metadata)
    sent = any(key == "authorization" for key, _ in metadata)
    assert found.value.code() is (StatusCode.UNAUTHENTICATED if sent else StatusCode.PERMISSION_DENIED)
    told = detail(found.value, GATE.reply)
    assert told is not None
    assert told.reason == (UNAUTHENTICATED if sent else FORBIDDEN)
    assert guarded.is_untouched()


@given(st.binary(max_size=40), st.lists(st.binary(max_size=40), max_size=3))
def test_any_name_in_a_certificate_gives_only_what_it_is_listed_with(
    parties: Parties, common: bytes, others: list[bytes]
) -> None:
    proven = {"x509_common_name": [common], "x509_subject_alternative_name": others}
    try:
        caller = Callers(parties.server()).who("peer", (), proven)
    except Unknown:
        return
    names = {name.encode() for name in ROLES} & {common, *others}
    assert caller.roles == frozenset(role for name in names for role in ROLES[name.decode()])
