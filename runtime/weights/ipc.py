"""The ipc road at a replica: it reads each bucket from memory that the trainer's process lends, and gives it back.

Rules of this file:

- A bucket is copied before its slot is given back and before it is verified: what was verified is what is used, and
  a lender that goes takes nothing away from who uses it.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...protocol.generated import weights_pb2 as pb
from .calling import Caller, retried
from .manifest import Manifest
from .mapping import WeightsError
from .slots import Borrowed, boot, device_name


class IpcSource:
    """Borrows from the trainer that `manifests` names; a WeightSource. `within`: seconds that one wait may take.

    `device`: where the buckets are given, as tensors; on the CPU they are host memory.
    """

    def __init__(self, manifests: Path, *, receiver: str = "", device: str = "cpu", within: float = 60.0) -> None:
        self._caller, self._device = Caller(manifests, receiver, within), device

    def has(self, version: int) -> bool:
        """Whether the trainer answers within a second that it has the version."""
        return self._caller.has(version)

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, Any]]:
        """Each bucket's number and bytes, in order; the bytes are valid until the next is asked for.

        Raises WeightsError for what the trainer refuses, memory that cannot be opened, and when nothing comes within
        the bound.
        """
        return retried(self._caller, manifest, lambda start: self._borrow(manifest, start))

    def _borrow(self, manifest: Manifest, start: int) -> Iterator[tuple[int, Any]]:
        import torch

        longest = max(bucket.length for bucket in manifest.buckets[start:])
        own = torch.empty(longest, dtype=torch.uint8, device=self._device)
        said: queue.SimpleQueue[pb.LendRequest | None] = queue.SimpleQueue()
        wanted = self._caller.wanted(manifest, start)
        said.put(pb.LendRequest(begin=pb.LendBegin(wanted=wanted, boot=boot(), device=device_name(self._device))))
        slots: list[Borrowed] = []
        try:
            with self._caller.calling() as call:
                for answer in call.answers(call.stub.Lend(iter(said.get, None), metadata=call.metadata)):
                    if answer.WhichOneof("said") == "slots":
                        slots = [Borrowed(told) for told in answer.slots.slots]
                        continue
                    content = self._copied(manifest, start, answer.filled, slots, own)
                    said.put(pb.LendRequest(free=pb.LendFree(slot=answer.filled.slot)))
                    yield start, content if content.is_cuda else content.numpy().data
                    start += 1
        finally:
            said.put(None)

    def _copied(
        self, manifest: Manifest, number: int, filled: pb.LendFilled, slots: list[Borrowed], own: Any
    ) -> Any:
        """What is in the slot, in memory of this process. Raises WeightsError where it is not what is expected."""
        import torch

        where = f"bucket {number} of version {manifest.version}"
        if number >= len(manifest.buckets):
            raise WeightsError(f"version {manifest.version}: the trainer sent more than the manifest has")
        length = manifest.buckets[number].length
        if (filled.bucket, filled.length) != (number, length):
            raise WeightsError(f"{where}: {length} bytes were expected, bucket {filled.bucket} of {filled.length} came")
        if filled.slot >= len(slots) or slots[filled.slot].nbytes < length:
            raise WeightsError(f"{where}: it came in slot {filled.slot}, which was not lent, or is too short")
        content = own[:length]
        content.copy_(slots[filled.slot].tensor[:length])
        if content.is_cuda:
            torch.cuda.current_stream(content.device).synchronize()
        return content
