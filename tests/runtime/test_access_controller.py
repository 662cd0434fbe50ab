"""A controller that gates do not know: it ends nothing that is well, and says why it cannot rule."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import pytest
from certificates import CONTROL_TOKEN, DATA_TOKEN, Parties

from sluicegate.protocol.access import acting_as
from sluicegate.protocol.generated.gate_service import GATE, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.controller import Controller
from sluicegate.runtime.controller.health import PROBE_S
from sluicegate.runtime.controller.process import ruling
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.controller.sync import SyncSettings

pytestmark = pytest.mark.slow
LONG_S = (SyncSettings().patience + 3) * PROBE_S
"""Longer than a replica that does not answer is taken for alive."""


class Idle:
    """Handlers that do nothing: no operation runs here."""

    def __getattr__(self, name: str) -> Any:
        async def nothing(*_: object) -> None: ...

        return nothing


async def until(holds: Any, within: float = 60.0) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def stays(controller: Controller, life: str) -> str:
    """The state of the replica after a time in which it would have been ended."""
    await until(lambda: life in controller.replicas)
    await asyncio.sleep(LONG_S)
    return controller.replicas.live(life).state


async def rule(
    parties: Parties, folder: Path, server: Server, as_whom: str, during: Any = stays, token: str = ""
) -> tuple[str, dict[str, str]]:
    """A controller with the certificate of `as_whom`, over one replica that answers there: what `during` gives
    of it, and what was ordered to end.
    """
    own, register = parties.pairs[as_whom], folder / f"{as_whom}.db"
    access = parties.server(certificate=own.certificate, key=own.key, token=token)
    config = ControllerConfig(run="access", register=register, manifests=folder, access=access)
    with Roster(register) as roster:
        life = roster.begin("r0", "rollout")
        roster.enlist(life, server.target, server.target, os.getpid())
        with acting_as(access):
            async with ruling(config) as (controller, _):
                state = await during(controller, life)
        return state, roster.ends_ordered()


async def test_what_does_not_let_a_controller_in_is_not_ended_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parties, handlers = Parties(tmp_path / "secrets"), cast(Any, Idle())
    async with MachineHost(GATE, handlers, incarnation="r0.1") as host:
        host.create("r0", ranks=frozenset({"0"}))
        async with Server([GateServicer(host)], access=parties.server(), grace=0.2) as server:
            state, ended = await rule(parties, tmp_path, server, "nobody")
            assert (state, ended, host.live("r0").term) == ("STARTING", {}, 0)
            assert "r0.1 does not let this controller claim it" in caplog.text
            assert "needs the role control, and certificate nobody has none" in caplog.text
            state, ended = await rule(parties, tmp_path, server, "controller")
            assert (state, ended) == ("SYNCING", {})
            assert host.live("r0").term > 0


async def test_what_no_longer_lets_a_controller_in_is_not_ended_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The controller's token is taken from the tokens file while it rules."""
    parties, handlers = Parties(tmp_path / "secrets"), cast(Any, Idle())

    async def taken_away(controller: Controller, life: str) -> str:
        await until(lambda: "r0" in controller.members)
        put(parties.tokens, f"agents data {DATA_TOKEN}\n")
        return await stays(controller, life)

    async with MachineHost(GATE, handlers, incarnation="r0.1") as host:
        host.create("r0", ranks=frozenset({"0"}))
        async with Server([GateServicer(host)], access=parties.server(), grace=0.2) as server:
            token = parties.caller("nobody", CONTROL_TOKEN).token
            state, ended = await rule(parties, tmp_path, server, "nobody", taken_away, token=token)
    assert (state, ended) == ("SYNCING", {})
    assert "r0.1 does not let this controller look at it" in caplog.text
    assert CONTROL_TOKEN not in caplog.text


def put(path: str, text: str) -> None:
    Path(path).write_text(text)
