"""Broadcasts at the trainer: who wants the same version is gathered, agrees on a group, and is sent to.

Rules of this file:

- Two phases: members are proposed a group, and nobody enters it before all of them have confirmed. Who leaves, or
  does not confirm in time, is left out of the next proposal; so nobody enters with a ghost.
- A member that goes while buckets are sent costs the others one bounded wait; they are proposed another group, for
  what they still lack.
- One broadcast runs at a time, in a thread of its own; the thread that trains and its group are not touched.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...protocol.generated import weights_pb2 as pb
from .config import WeightsConfig
from .groups import Group, GroupLost, nccl_device, open_store
from .manifest import Manifest
from .opening import WeightStore

_log = logging.getLogger(__name__)


class Receiver:
    """One replica's call of Join, as broadcasts see it."""

    def __init__(self, name: str, start: int, has_nccl: bool) -> None:
        self.name, self.start, self.has_nccl = name or "a replica without a name", start, has_nccl
        self.is_there = True
        self.answers: asyncio.Queue[pb.JoinAnswer | None] = asyncio.Queue()
        self._said: asyncio.Queue[pb.JoinRequest | None] = asyncio.Queue()

    def say(self, **answer: Any) -> None:
        self.answers.put_nowait(pb.JoinAnswer(**answer))

    def heard(self, request: pb.JoinRequest) -> None:
        self._said.put_nowait(request)

    def leave(self) -> None:
        """Its call is over."""
        self.is_there = False
        self._said.put_nowait(None)

    def dismiss(self, why: str = "") -> None:
        """It takes part no longer; `why` it failed, empty once it has all."""
        if why and self.is_there:
            self.say(failed=pb.JoinFailed(text=why))
        self.is_there = False
        self.answers.put_nowait(None)

    async def said(self, group: str) -> str:
        """What it says next of this group: confirmed, again, or received; empty once it has left."""
        while (request := await self._said.get()) is not None:
            kind = request.WhichOneof("said")
            if kind == "received" or (kind == "confirmed" and request.confirmed.group == group):
                return str(kind)
            if kind == "again" and request.again.group == group:
                self.start = request.again.start
                return kind
        return ""


class _Gathering:
    """Receivers of one publication that wait for its next broadcast."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.receivers: list[Receiver] = []
        self.changed = asyncio.Event()

    async def complete(self, within: float, most: int) -> None:
        """Until there are `most` of them, if that is known, or `within` seconds are over."""
        try:
            async with asyncio.timeout(within):
                while not most or len(self.receivers) < most:
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            pass


class Broadcasts:
    """All broadcasts of one trainer. `host`: where its stores listen; `device`: what NCCL sends from."""

    def __init__(self, weights: WeightsConfig, store: WeightStore, tasks: asyncio.TaskGroup, *, host: str, device: str):
        self._weights, self._store, self._tasks, self._host, self._device = weights, store, tasks, host, device
        self._gatherings: dict[tuple[int, str], _Gathering] = {}
        self._one = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "broadcast")
        self._serving: set[asyncio.Task[None]] = set()
        self._is_closing = False

    def close(self) -> None:
        """Nobody is waited for any more; a broadcast that runs ends before its next bucket."""
        self._is_closing = True
        for task in self._serving:
            task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def enlist(self, receiver: Receiver, manifest: Manifest) -> None:
        """Have it take part in the next broadcast of this publication."""
        key = (manifest.version, manifest.digest)
        gathering = self._gatherings.get(key)
        if gathering is None:
            gathering = self._gatherings[key] = _Gathering(manifest)
            task = self._tasks.create_task(self._serve(key, gathering))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        gathering.receivers.append(receiver)
        gathering.changed.set()

    async def _serve(self, key: tuple[int, str], gathering: _Gathering) -> None:
        async with self._one:
            await gathering.complete(self._weights.gather_ms / 1000, self._weights.receivers)
            del self._gatherings[key]
            why = "it ended before all had it"
            try:
                await self._attempts(gathering.manifest, gathering.receivers)
            except Exception as error:
                why = str(error)
                _log.warning("the broadcast of version %d failed: %s", gathering.manifest.version, why)
            finally:
                for receiver in gathering.receivers:
                    receiver.dismiss(why)

    async def _attempts(self, manifest: Manifest, receivers: Sequence[Receiver]) -> None:
        """Groups one after another, each of those who are left and lack something.

        Raises WeightsError for what the store cannot give, GroupLost and OSError where no group can be made at all.
        """
        store, port = await self._in_thread(open_store, self._host, self._weights.within)
        members = list(receivers)
        for attempt in itertools.count(1):
            members = [member for member in members if member.is_there]
            if not members or attempt > 2 * len(receivers) + 1:
                return
            has_nccl = attempt == 1 and all(member.has_nccl for member in members) and nccl_device(self._device)
            proposal = pb.JoinProposal(
                group=f"{manifest.version}.{uuid.uuid4().hex}", world=len(members) + 1,
                store=f"{self._host}:{port}", backend="nccl" if has_nccl else "gloo",
                start=min(member.start for member in members),
            )  # fmt: skip
            if await self._agree(proposal, members):
                lost = await self._in_thread(self._send, manifest, proposal, store)
                if lost:
                    _log.warning("a broadcast of version %d lost a member: %s", manifest.version, lost)
                await self._hear(proposal.group, members)

    async def _agree(self, proposal: pb.JoinProposal, members: Sequence[Receiver]) -> bool:
        """Propose, and have everybody enter once all have confirmed; who has not is dismissed."""
        for rank, member in enumerate(members, 1):
            own = pb.JoinProposal()
            own.CopyFrom(proposal)
            own.rank = rank
            member.say(proposal=own)
        said = await self._each(members, lambda member: member.said(proposal.group))
        for member, word in zip(members, said, strict=True):
            if word != "confirmed":
                member.dismiss(f"{member.name} did not confirm its group within {self._weights.within:g} s")
        # From here to the first collective nothing is waited for: who leaves now is met with the group's bound.
        if not all(member.is_there for member in members):
            return False
        for member in members:
            member.say(enter=pb.JoinEnter(group=proposal.group))
        return True

    async def _hear(self, group: str, members: Sequence[Receiver]) -> None:
        """What became of it at each member: who has all is done, who says nothing is given up."""
        for member, word in zip(members, await self._each(members, lambda m: m.said(group)), strict=True):
            if word == "received":
                member.dismiss()
            elif word != "again":
                member.dismiss(f"{member.name} did not say what it received within {self._weights.within:g} s")

    async def _each(self, members: Sequence[Receiver], ask: Callable[[Receiver], Awaitable[str]]) -> list[str]:
        """What each says within the bound; empty for who says nothing."""

        async def bounded(member: Receiver) -> str:
            try:
                async with asyncio.timeout(self._weights.within):
                    return await ask(member)
            except TimeoutError:
                return ""

        return await asyncio.gather(*(bounded(member) for member in members))

    def _send(self, manifest: Manifest, proposal: pb.JoinProposal, store: Any) -> str:
        """Every bucket from the first that a member lacks; why the group was lost, empty if it was not."""
        import torch

        is_nccl = proposal.backend == "nccl"
        try:
            group = Group(
                store, proposal.group, 0, proposal.world, backend=proposal.backend, host=self._host,
                device=self._device, within=self._weights.within,
            )  # fmt: skip
        except GroupLost as lost:
            return str(lost)
        try:
            for _, content in self._store.buckets(manifest, proposal.start):
                if self._is_closing:
                    return "the trainer ends"
                tensor = torch.frombuffer(content, dtype=torch.uint8)
                group.finish(group.begin(tensor.to(self._device) if is_nccl else tensor))
        except GroupLost as lost:
            return str(lost)
        finally:
            group.close()
        return ""

    async def _in_thread(self, do: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, do, *arguments)


async def pass_on(receiver: Receiver, requests: Any, context: Any, within: float) -> None:
    """Pass on what is said on both sides until the receiver is dismissed, or leaves."""

    async def listen() -> None:
        async for request in requests:
            receiver.heard(request)
        receiver.leave()

    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(listen())
        try:
            async for message in _answers(receiver, within / 4):
                await context.write(message)
        finally:
            receiver.leave()
            listening.cancel()


async def _answers(receiver: Receiver, every: float) -> AsyncIterator[pb.JoinAnswer]:
    """What is to be told, and a sign of life between."""
    while True:
        try:
            async with asyncio.timeout(every):
                message = await receiver.answers.get()
        except TimeoutError:
            message = pb.JoinAnswer(wait=pb.JoinWait())
        if message is None:
            return
        yield message
