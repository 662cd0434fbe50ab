"""A process group of its own for one broadcast: gloo on CPUs, NCCL between GPUs.

Rules of this file:

- The group is made beside torch.distributed's default one, which belongs to training: it is neither used nor set.
- Members meet by a store under a name that is used once, so that nothing of an earlier attempt is met.
- Making a group and each of its collectives end within the bound, whoever is missing. Nothing is pending when a
  group is let go: gloo would hold the interpreter until it is over.
"""

from __future__ import annotations

import contextlib
import socket
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

Backend = Literal["gloo", "nccl"]
POLL_S = 0.001


class GroupLost(Exception):
    """The group could not be made, or a member of it has gone."""


def nccl_device(device: str) -> bool:
    """Whether tensors on `device` can be broadcast by NCCL from this process."""
    import torch
    import torch.distributed as dist

    return device.startswith("cuda") and torch.cuda.is_available() and dist.is_nccl_available()


def own_host(host: str, port: int) -> str:
    """The address by which this process is reached by who is at `host`. Raises GroupLost."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as asking:
            # Nothing is sent: the system only chooses the way.
            asking.connect(address)
            return asking.getsockname()[0]
    except OSError as error:
        raise GroupLost(f"there is no way to {host}: {error}") from error


def open_store(host: str, within: float) -> tuple[Any, int]:
    """A store that listens on `host` only, and its port. Raises OSError, GroupLost."""
    import torch.distributed as dist

    family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
    listening = socket.create_server((host, 0), family=family)
    port = listening.getsockname()[1]
    try:
        store = dist.TCPStore(  # pyright: ignore[reportPrivateImportUsage]
            host, port, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=within),
            master_listen_fd=listening.detach(),
        )  # fmt: skip
    except RuntimeError as error:
        raise GroupLost(f"no store on {host}: {error}") from error
    return store, port


def reach_store(host: str, port: int, within: float) -> Any:
    """The store that listens there. Raises GroupLost."""
    import torch.distributed as dist

    try:
        made: Any = dist.TCPStore  # pyright: ignore[reportPrivateImportUsage]
        return made(host, port, is_master=False, timeout=timedelta(seconds=within))
    except RuntimeError as error:
        raise GroupLost(f"the store at {host}:{port} is not reached: {_first(error)}") from error


class Group:
    """Rank `rank` of `world` members that meet in `store` under `name`; rank 0 sends. `within`: seconds of one wait."""

    def __init__(
        self, store: Any, name: str, rank: int, world: int, *, backend: str, host: str, device: str, within: float,
    ) -> None:  # fmt: skip
        """`host`: where this process is reached; `device`: where its buckets are. Raises GroupLost."""
        import torch.distributed as dist

        self._within, self._is_nccl, self._device = within, backend == "nccl", device
        met = dist.PrefixStore(name, store)  # pyright: ignore[reportPrivateImportUsage]
        try:
            self._group: Any = self._nccl(met, rank, world) if self._is_nccl else self._gloo(met, rank, world, host)
        except RuntimeError as error:
            raise GroupLost(f"the group {name} of {world} was not made: {_first(error)}") from error

    def begin(self, content: torch.Tensor) -> Any:
        """Send or receive into `content`, which is left alone until `finish`. Raises GroupLost."""
        import torch.distributed as dist

        options = dist.BroadcastOptions()
        options.rootRank, options.rootTensor = 0, 0
        try:
            return self._group.broadcast([content], options)
        except RuntimeError as error:
            raise GroupLost(_first(error)) from error

    def finish(self, work: Any) -> None:
        """Wait until it is done. Raises GroupLost."""
        try:
            if self._is_nccl:
                # Its own wait only orders streams, and its own bound ends the process.
                until = time.monotonic() + self._within
                while not work.is_completed():
                    if time.monotonic() > until:
                        raise GroupLost(f"a broadcast was not done within {self._within:g} s")
                    time.sleep(POLL_S)
            work.wait()
        except RuntimeError as error:
            raise GroupLost(_first(error)) from error

    def close(self, pending: Any = None) -> None:
        """Let the group go; what is `pending` in it ends within its bound."""
        if pending is not None:
            with contextlib.suppress(GroupLost):
                self.finish(pending)
        with contextlib.suppress(RuntimeError):
            self._group.abort() if self._is_nccl else self._group.shutdown()
        self._group = None

    def _gloo(self, store: Any, rank: int, world: int, host: str) -> Any:
        import torch.distributed as dist

        gloo: Any = dist.ProcessGroupGloo
        options = gloo._Options()
        options._devices = [gloo.create_device(hostname=host, lazy_init=False)]
        options._timeout = timedelta(seconds=self._within)
        options._threads = 1
        return gloo(store, rank, world, options)

    def _nccl(self, store: Any, rank: int, world: int) -> Any:
        import torch
        import torch.distributed as dist

        torch.cuda.set_device(torch.device(self._device))
        nccl: Any = dist.ProcessGroupNCCL  # pyright: ignore[reportAttributeAccessIssue]
        options = nccl.Options()
        # Its watchdog ends the process when this is over: `finish` is long done by then.
        options._timeout = timedelta(seconds=10 * self._within)
        return nccl(store, rank, world, options)


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
