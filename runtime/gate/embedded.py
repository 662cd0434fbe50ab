"""A gate in front of a server that is somebody else's: `async with gate.admit(session)` around any code.

Rules of this file:

- It is the gate of a rollout worker, with the same leases, door, records and control server; its engine is
  made of the blocks that it lets in (`blocks.py`).
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from ...protocol.access import Access
from ...statemachines.sorts import Mode
from ..engines import Request
from ..workers.config import require_names
from ..workers.door import Call
from ..workers.front import Bounds, Front
from ..workers.process import open_log
from .blocks import BlockEngine, Hooks, Install
from .lease import Admission, Begins

ID_LIMIT = 256
"""The longest lease, session or client id, in characters."""


class EmbeddedGate:
    """One life of a replica's gate. Use as `async with EmbeddedGate(...) as gate`, once, on one event loop.

    `install(version, manifest)` makes the server serve that version and returns the digest of what it then
    holds, or one for each rank; what the controller named must come back, else the gate is poisoned. It is
    called only while no block runs and the server rests. `manifest` is read from the folder `manifests`,
    None without one. `state` is a folder of this replica alone: its next life starts from it.

    What only the server can do is given as hooks, none of which it needs at first: `freeze(epoch)` and
    `continue_(epoch)` stop and let go what runs, for mode keep; `quiesce()` waits until the device is idle
    and returns the ranks that are, all if it returns None; `release()` and `restore()` give device memory away
    and take it back; `caches` empties, after each install, every cache that holds something computed from
    weights: each must return True.

    `modes` are those that the server is made for. A drain in mode abort cancels the blocks; one in mode keep
    freezes them, or waits for them where there are no hooks for it. `trace` is the folder of trace logs,
    `run` names the run in them; `incarnation` is drawn if not given. The control server listens on `address`
    and `port`, 0 for one from the system; `access` says who may call it, the process's own if not given.

    Raises ValueError for settings that cannot be; on entering, StoreError and ServerError.
    """

    def __init__(
        self,
        replica: str,
        *,
        install: Install,
        state: Path,
        ranks: Iterable[str] = ("0",),
        modes: Collection[Mode] = (Mode.WAIT, Mode.ABORT),
        freeze: Callable[[int], Awaitable[None]] | None = None,
        continue_: Callable[[int], Awaitable[None]] | None = None,
        quiesce: Callable[[], Awaitable[Iterable[str] | None]] | None = None,
        release: Callable[[], Awaitable[None]] | None = None,
        restore: Callable[[], Awaitable[None]] | None = None,
        caches: Mapping[str, Callable[[], Awaitable[bool]]] | None = None,
        manifests: Path | None = None,
        bounds: Bounds | None = None,
        trace: Path | None = None,
        run: str = "gate",
        incarnation: str = "",
        address: str | None = None,
        port: int = 0,
        access: Access | None = None,
    ) -> None:
        require_names(replica=replica, run=run, incarnation=incarnation or "drawn")
        if (freeze is None) != (continue_ is None):
            raise ValueError("freeze and continue_ belong together: give both or none")
        if isinstance(modes, str) or not set(modes) <= set(Mode):
            raise ValueError(f"modes are {modes!r}: give a list of {', '.join(map(str, Mode))}")
        if Mode.KEEP in modes and freeze is None:
            raise ValueError("mode keep needs freeze and continue_: give both, or leave keep out of modes")
        self.ranks = tuple(ranks)
        is_named = all(isinstance(rank, str) and rank for rank in self.ranks)
        if not self.ranks or not is_named or len(set(self.ranks)) != len(self.ranks):
            raise ValueError(f"ranks are {self.ranks}: give at least one name, each once")
        self.replica = replica
        self.incarnation = incarnation or f"{replica}.{uuid.uuid4().hex[:12]}"
        self.bounds = bounds or Bounds()
        self._hooks = Hooks(
            install=install, freeze=freeze, continue_=continue_, quiesce=quiesce, release=release, restore=restore,
            caches=dict(caches or {}),
        )  # fmt: skip
        self._state, self._run = Path(state), run
        self._manifests, self._trace = (None if folder is None else Path(folder) for folder in (manifests, trace))
        self._server = {"address": address, "port": port, "access": access}
        self._stack = AsyncExitStack()
        self._engine: BlockEngine
        self._front: Front | None = None

    async def __aenter__(self) -> Self:
        manifests = None
        if self._manifests is not None:
            # Only now: weights bring torch in.
            from ..weights import ManifestStore

            manifests = ManifestStore(self._manifests)
        async with AsyncExitStack() as stack:
            log = open_log(self._trace, self.replica, self.incarnation, run=self._run, process="gate")
            trace = None if log is None else stack.enter_context(log)
            self._engine = BlockEngine(self.ranks, self._hooks, manifests)
            self._front = await stack.enter_async_context(
                Front(
                    self.replica, self.incarnation, self._engine, self._state, self.bounds, trace=trace, **self._server
                )
            )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        """Nobody is let in any more; blocks get their time, then they are cancelled and settled."""
        return await self._stack.__aexit__(*error)

    def admit(
        self, session: str = "", *, pin: int | None = None, hold: float | None = None, client: str = "",
        labels: Mapping[str, str] | None = None, lease: str = "", begins: Begins | None = None,
    ) -> Admission:  # fmt: skip
        """`async with gate.admit(session) as lease:` runs the block once the gate lets it in.

        It waits at a closed gate for at most `hold` seconds, the bounds' if not given. A `pin` names the one
        version that it accepts; `client` is whose limit it counts for; `labels` are carried into its record;
        the id of the lease is drawn if not given. `begins(version)` is awaited once the block is admitted, and it runs
        when that has returned, which is to be within the bounds' `proceed`. Raises Refusal, which says whether to come
        again, and LeaseEnded if the gate ends the block; and here, before anything is asked, TypeError and ValueError
        for ids that are too long or no text, labels that are no texts, a `pin` or `hold` that is no number.
        """
        for name, value in {"session": session, "client": client, "lease": lease}.items():
            # Whether it is a text at all is judged with the call.
            if isinstance(value, str) and len(value) > ID_LIMIT:
                raise ValueError(f"{name} has {len(value)} characters: at most {ID_LIMIT}")
        if labels is not None and not isinstance(labels, Mapping):
            raise TypeError(f"labels are {labels!r}: give names with their texts")
        if pin is not None and not isinstance(pin, int):
            raise TypeError(f"pin is {pin!r}: give the number of a version")
        longest = self.bounds.hold if hold is None else hold
        if math.isnan(longest) or longest < 0:
            raise ValueError(f"hold is {hold!r}: give seconds, at least 0")
        request = Request(lease or uuid.uuid4().hex, (), 0)
        call = Call(request, session, pin, longest, dict(labels or {}), bool(lease), client)
        if begins is not None:
            call = replace(call, waits=True)
        return Admission(self._running(), self._engine, call, begins)

    def is_over(self, lease: str) -> bool:
        """Whether no block is under this lease any more, and its record and receipt are stored."""
        run = self._running().leases.runs.get(lease)
        return run is None or bool(run.ending)

    # -- what it is now --------------------------------------------------------------------------

    @property
    def control(self) -> str:
        """Where the control server listens, `host:port`."""
        return self._running().server.target

    @property
    def snapshot(self) -> Any:
        """The gate as it is now, see `statemachines/gate.py`."""
        return self._running().gate.live.snapshot()

    @property
    def version(self) -> int | None:
        """What the server serves, or would if the gate were open; none before the first install."""
        return self._running().gate.live.version

    @property
    def is_poisoned(self) -> bool:
        """Whether the server must be replaced; `why` says for what."""
        return self._running().gate.live.state == "POISONED"

    @property
    def why(self) -> str:
        """Why the gate is poisoned, empty while it is not."""
        return self._running().gate.why

    @property
    def counts(self) -> dict[str, int]:
        """How many, by name.

        So far: `admitted`, `held`, `left` (while they waited), `refused.<reason>`; now: `waiting`, `open`, `running`.
        """
        front = self._running()
        door = front.door
        refused = {f"refused.{reason}": number for reason, number in sorted(door.refused.items())}
        now = {"waiting": len(door), "open": front.leases.open, "running": self._engine.health().running}
        return {"admitted": door.admitted, "held": door.held, "left": door.left, **refused, **now}

    @property
    def records(self) -> Any:
        """The store of leases and receipts, to be read."""
        return self._running().records

    def _running(self) -> Front:
        if self._front is None:
            raise RuntimeError("the gate is not open yet: use it inside `async with gate`")
        return self._front
