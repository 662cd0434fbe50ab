"""The wire of machines of our own, made anew for these tests, and a gate behind a real server."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sluicegate.generation import own
from sluicegate.protocol.client import dial
from sluicegate.protocol.generated.gate_service import GATE, GateClient, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server


@pytest.fixture(scope="session")
def kinds() -> ModuleType:
    """The module that declares the machines of these tests, under a name that can be imported."""
    name = "wire_test_kinds"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("kinds.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Made:
    """Generated service modules."""

    folder: Path
    kinds: Any
    kettle: Any


@pytest.fixture(scope="session")
def made(kinds: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The wire of those machines, generated into a package of its own and imported from there."""
    folder = tmp_path_factory.mktemp("own") / "wire_test_own"
    own([kinds.Kinds, kinds.Kettle], folder).write()
    sys.path.insert(0, str(folder.parent))
    try:
        modules = [importlib.import_module(f"wire_test_own.{m}_service") for m in ("kinds", "kettle")]
    finally:
        sys.path.remove(str(folder.parent))
    return Made(folder, *modules)


class Recorder:
    """Handlers that write down what they were asked to do."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.more = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        async def handle(*arguments: Any) -> None:
            self.done.append((name, *arguments))
            self.more.set()

        return handle


@dataclass
class Steps:
    """An observer that keeps what it saw: instance, number, event, before, after, kind, cause."""

    seen: list[tuple[Any, ...]] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str
    ) -> None:
        self.seen.append((instance, number, type(event).__name__, before, after, outcome.kind, cause))
        self.more.set()


@dataclass
class Served:
    """A gate named "g" of one rank "0" in life "life-1", behind a server, with a client of it."""

    host: MachineHost
    server: Server
    channel: Any
    client: GateClient
    handlers: Recorder
    steps: Steps


@pytest.fixture
def handlers() -> Recorder:
    return Recorder()


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
async def served(handlers: Any, steps: Steps) -> AsyncIterator[Served]:
    async with MachineHost(GATE, handlers, incarnation="life-1", observer=steps) as host:
        host.create("g", ranks=frozenset({"0"}))
        async with Server([GateServicer(host)], grace=0.2) as server, dial(server.target) as channel:
            yield Served(host, server, channel, GateClient(channel, "g"), handlers, steps)
