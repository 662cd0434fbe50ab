"""Memory of one bucket that a process lends to another of the same host: on a CUDA device, or of the host.

Rules of this file:

- What is told of a slot is what the other side needs to open it; nothing is pickled.
- A copy into or out of a slot is over, on the device too, before the other side hears of it.
- Memory of a device is told of once and kept for the lender's life: what a killed borrower held of it is counted
  by torch for ever, and would never be given back. Host memory has no name, and goes with its last user.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

from ...protocol.generated import weights_pb2 as pb
from .mapping import WeightsError

if TYPE_CHECKING:
    import torch

HOST = "cpu"
_BOOT = "/proc/sys/kernel/random/boot_id"


def boot() -> str:
    """What the kernel calls this start of this host; processes that share memory have the same."""
    with open(_BOOT) as file:
        return file.read().strip()


def own_device() -> str:
    """The device that a rank trains on: that of its local number, or the CPU."""
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else HOST


def device_name(device: str) -> str:
    """How both sides know a device: `cpu`, or the UUID of a CUDA device, whatever its number is here."""
    import torch

    if not device.startswith("cuda"):
        return HOST
    return str(torch.cuda.get_device_properties(torch.device(device)).uuid)


def named_device(name: str) -> torch.device | None:
    """The device of that name, if this process sees it."""
    import torch

    if name == HOST:
        return torch.device(HOST)
    seen = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    return next((device for device in seen if device_name(str(device)) == name), None)


class Slot:
    """One slot of the lender, `nbytes` long."""

    def __init__(self, nbytes: int, device: torch.device) -> None:
        import torch

        self.nbytes, self.device, self._file = nbytes, device, -1
        if device.type == "cuda":
            self._tensor = torch.empty(nbytes, dtype=torch.uint8, device=device)
            # A stream of its own: what the device computes meanwhile goes on.
            self._stream: Any = torch.cuda.Stream(device)
            self.told = pb.LendSlot(nbytes=nbytes, cuda=_tell_cuda(self._tensor, device))
        else:
            self._file = os.memfd_create("slot", os.MFD_CLOEXEC)
            os.ftruncate(self._file, nbytes)
            self._tensor = torch.frombuffer(mmap.mmap(self._file, nbytes), dtype=torch.uint8)
            shared = pb.LendShared(process=os.getpid(), file=self._file)
            self.told = pb.LendSlot(nbytes=nbytes, shared=shared)

    def fill(self, content: memoryview) -> None:
        """Returns once it is there for every process."""
        import torch

        received = torch.frombuffer(content, dtype=torch.uint8)
        if self.device.type != "cuda":
            self._tensor[: len(content)].copy_(received)
            return
        with torch.cuda.stream(self._stream):
            self._tensor[: len(content)].copy_(received)
        self._stream.synchronize()

    def close(self) -> None:
        """Host memory is let go; a borrower that still has it keeps it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Slots:
    """The slots of a lender."""

    def __init__(self) -> None:
        self._kept: list[Slot] = []

    def take(self, nbytes: int, device: torch.device) -> Slot:
        """A slot of at least that length. Raises OSError, RuntimeError where there is no memory."""
        for slot in self._kept:
            if slot.device == device and slot.nbytes >= nbytes:
                self._kept.remove(slot)
                return slot
        return Slot(nbytes, device)

    def give_back(self, slot: Slot) -> None:
        if slot.device.type == "cuda":
            self._kept.append(slot)
        else:
            slot.close()


class Borrowed:
    """A slot as its borrower sees it."""

    def __init__(self, told: pb.LendSlot) -> None:
        """Raises WeightsError where it cannot be opened from this process."""
        import torch

        self.nbytes = int(told.nbytes)
        if told.WhichOneof("kind") == "cuda":
            self.tensor = _open_cuda(told.cuda, self.nbytes)
            return
        path = f"/proc/{told.shared.process}/fd/{told.shared.file}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                self.tensor = torch.frombuffer(mmap.mmap(file, self.nbytes), dtype=torch.uint8)
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            raise WeightsError(
                f"memory of process {told.shared.process} cannot be opened ({error}): ipc is for processes of one user "
                "that see each other; take another road between containers"
            ) from error


def _tell_cuda(tensor: torch.Tensor, device: torch.device) -> pb.LendCuda:
    # What torch.multiprocessing tells of a tensor, in the same order.
    _, handle, size, offset, counter, counter_offset, event, event_needed = tensor.untyped_storage()._share_cuda_()
    return pb.LendCuda(
        device=device_name(str(device)), handle=handle, storage_bytes=size, storage_offset=offset, counter=counter,
        counter_offset=counter_offset, event=event, event_needed=event_needed,
    )  # fmt: skip


def _open_cuda(told: pb.LendCuda, nbytes: int) -> torch.Tensor:
    import torch

    device = named_device(told.device)
    if device is None:
        raise WeightsError(
            f"the trainer lends memory of device {told.device}, which this process does not see: show it both devices, "
            "or take another road"
        )
    torch.cuda.init()
    try:
        storage: Any = torch.UntypedStorage._new_shared_cuda(
            device.index, told.handle, told.storage_bytes, told.storage_offset, told.counter, told.counter_offset,
            told.event, told.event_needed,
        )  # fmt: skip
    except RuntimeError as error:
        raise WeightsError(f"memory of device {told.device} cannot be opened: {error}") from error
    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage)[:nbytes]
