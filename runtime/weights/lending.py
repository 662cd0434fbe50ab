"""The ipc road at the trainer: buckets of the store are put into slots, which a replica reads and gives back.

Rules of this file:

- There are two slots for each call: one is filled while the other is read.
- A slot that is not given back within the bound ends the call; its memory is used again only by later calls, whose
  borrowers verify what they read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ...protocol.generated import weights_pb2 as pb
from .manifest import Manifest
from .opening import WeightStore
from .slots import HOST, Slot, Slots, named_device

SLOTS = 2


class Lender:
    """Lends to replicas of this host. `device`: what is lent to those whose own device this process does not see."""

    def __init__(self, store: WeightStore, readers: ThreadPoolExecutor, *, device: str) -> None:
        self._store, self._readers, self._device = store, readers, device
        self._slots = Slots()

    async def lend(
        self, manifest: Manifest, begin: pb.LendBegin, requests: Any, within: float
    ) -> AsyncGenerator[pb.LendAnswer, None]:
        """The answers of one call. Raises TimeoutError where a slot is not given back, WeightsError of the store."""
        start = begin.wanted.start
        longest = max((bucket.length for bucket in manifest.buckets[start:]), default=1)
        free: asyncio.Queue[int] = asyncio.Queue()
        buckets = self._store.buckets(manifest, start)
        drawing: Future[Any] = self._readers.submit(self._take, begin.device, max(longest, self._store.bucket_bytes))
        slots: list[Slot] = await asyncio.wrap_future(drawing)
        listening = asyncio.ensure_future(_listen(requests, free))
        try:
            yield pb.LendAnswer(slots=pb.LendSlots(slots=[slot.told for slot in slots]))
            for number in range(SLOTS):
                free.put_nowait(number)
            while True:
                async with asyncio.timeout(within):
                    slot = await free.get()
                drawing = self._readers.submit(_fill, buckets, slots[slot])
                filled = await asyncio.wrap_future(drawing)
                if filled is None:
                    return
                number, length = filled
                yield pb.LendAnswer(filled=pb.LendFilled(slot=slot, bucket=number, length=length))
        finally:
            listening.cancel()
            # A thread may be in the middle of filling: all is given back after it.
            drawing.add_done_callback(lambda _: self._end(buckets, slots))

    def _take(self, name: str, nbytes: int) -> list[Slot]:
        import torch

        device = named_device(name) if name == HOST or torch.cuda.is_available() else torch.device(HOST)
        if device is None:
            device = torch.device(self._device)
        return [self._slots.take(nbytes, device) for _ in range(SLOTS)]

    def _end(self, buckets: Generator[tuple[int, memoryview], None, None], slots: list[Slot]) -> None:
        buckets.close()
        for slot in slots:
            self._slots.give_back(slot)


def _fill(buckets: Generator[tuple[int, memoryview], None, None], slot: Slot) -> tuple[int, int] | None:
    """The next bucket into the slot: its number and length, or nothing after the last."""
    drawn = next(buckets, None)
    if drawn is None:
        return None
    number, content = drawn
    slot.fill(content)
    return number, len(content)


async def _listen(requests: Any, free: asyncio.Queue[int]) -> None:
    async for request in requests:
        if request.WhichOneof("said") == "free" and request.free.slot < SLOTS:
            free.put_nowait(request.free.slot)
