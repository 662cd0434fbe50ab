"""The replica's side of a call to the trainer's process: where it is, who asks, and for how long.

Rules of this file:

- A road is read in a thread, without an event loop: the calls block, and each of their waits is bounded.
- The address is read from the disk at each call, so that a trainer that was started anew is found.
- What the trainer refuses is told at once; what brought no answer may be asked again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from ...protocol.access import ACCESS, channel_credentials
from ...protocol.client import CHANNEL_OPTIONS
from ...protocol.generated import weights_pb2 as pb
from ...protocol.generated import weights_pb2_grpc as rpc
from ...protocol.sources import AccessError
from ...protocol.tokens import read_token
from ..files import write_durably
from .manifest import Manifest
from .mapping import OutOfReach, WeightsError

SOURCE = "source.json"
"""In the folder of manifests: where the trainer's process answers."""
PAUSE_S = 0.2
_REFUSED = frozenset(
    {
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class Lost(Exception):
    """The call broke off; nothing says that another one would."""


def write_source(manifests: Path, address: str, life: str) -> None:
    """Say durably where this life of the trainer answers. Raises OSError."""
    write_durably(Path(manifests) / SOURCE, json.dumps({"address": address, "incarnation": life}).encode())


def read_source(manifests: Path) -> str:
    """Where the trainer answers. Raises OutOfReach while nobody has said it, WeightsError when it says no address."""
    path = Path(manifests) / SOURCE
    try:
        address = json.loads(path.read_bytes())["address"]
    except FileNotFoundError:
        text = f"{path} does not exist: start the trainer of the run, with the same folder of manifests"
        raise OutOfReach(text) from None
    except OSError as error:
        raise OutOfReach(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WeightsError(f"{path} does not say where the trainer answers ({error})") from error
    return str(address)


class Patience:
    """Cancels what it watches when a wait takes longer than `within` seconds, or at most twice that."""

    def __init__(self, within: float) -> None:
        self.within, self.is_over = within, False
        self._until, self._cancel = float("inf"), lambda: None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="patience", daemon=True)

    def __enter__(self) -> Patience:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        self._thread.join()

    def over(self, cancel: Callable[[], Any]) -> None:
        """What is called when a wait is over."""
        self._cancel = cancel

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside, time counts."""
        self._until = time.monotonic() + self.within
        try:
            yield
        finally:
            self._until = float("inf")

    def _watch(self) -> None:
        while not self._ending.wait(min(self.within, max(0.0, self._until - time.monotonic()))):
            if self._until <= time.monotonic():
                self.is_over = True
                self._cancel()
                return


class Call:
    """One call of the trainer, as `Caller.calling` gives it."""

    def __init__(self, stub: rpc.WeightsStub, address: str, metadata: Any, patience: Patience) -> None:
        self.stub, self.address, self.metadata, self._patience = stub, address, metadata, patience

    def answers(self, call: Any) -> Iterator[Any]:
        """What a call with a stream of answers brings, each within the bound. Raises Lost, WeightsError."""
        self._patience.over(call.cancel)
        try:
            while True:
                with self._patience.waiting():
                    answer = next(call, None)
                if answer is None:
                    return
                yield answer
        except grpc.RpcError as error:
            raise self.failure(error) from error
        finally:
            call.cancel()

    def failure(self, error: grpc.RpcError) -> Exception:
        """What to raise for it: WeightsError where the trainer refused, else Lost."""
        code, details = error.code(), error.details()  # pyright: ignore[reportAttributeAccessIssue]
        if code in _REFUSED:
            return WeightsError(f"the trainer at {self.address} refused: {details}")
        if self._patience.is_over:
            return Lost(f"the trainer at {self.address} sent nothing for {self._patience.within:g} s")
        return Lost(f"the trainer at {self.address} is lost ({code.name}: {details})")


class Caller:
    """Calls the trainer of a run by the access that held when this was made. `within`: seconds of one wait."""

    def __init__(self, manifests: Path, receiver: str, within: float) -> None:
        self.manifests, self.receiver, self.within = Path(manifests), receiver, within
        self.access = ACCESS.get()

    def wanted(self, manifest: Manifest, start: int) -> pb.Wanted:
        """What is asked for."""
        return pb.Wanted(version=manifest.version, digest=manifest.digest, start=start, receiver=self.receiver)

    @contextlib.contextmanager
    def calling(self, within: float = 0.0) -> Iterator[Call]:
        """A connection for one call. Raises WeightsError where there is nobody to call, or no way to be known."""
        address, access = read_source(self.manifests), self.access
        try:
            credentials = channel_credentials(access)
            sent = (("authorization", f"Bearer {read_token(access.token).reveal().decode()}"),) if access.token else ()
        except AccessError as error:
            raise WeightsError(str(error)) from error
        options = {**dict(CHANNEL_OPTIONS), "grpc.max_receive_message_length": access.message_bytes}
        made = tuple(options.items())
        channel = (
            grpc.insecure_channel(address, made)
            if credentials is None
            else grpc.secure_channel(address, credentials, made)
        )
        with channel, Patience(within or self.within) as patience:
            yield Call(rpc.WeightsStub(channel), address, sent, patience)

    def has(self, version: int) -> bool:
        """Whether the trainer answers within a second that it has the version."""
        try:
            with self.calling() as call:
                answer = call.stub.Has(pb.HasRequest(version=version), timeout=1.0, metadata=call.metadata)
                return bool(answer.here)
        except (WeightsError, grpc.RpcError):
            return False


def retried(caller: Caller, manifest: Manifest, fetch: Callable[[int], Iterator[tuple[int, Any]]]) -> Iterator[Any]:
    """The buckets that `fetch` gives, begun again from the first that is missing while the road is lost.

    It is tried again until nothing has come for the caller's bound, and once at least: who has rested for long may
    have been given up. Raises OutOfReach after that.
    """
    start, since, losses = 0, time.monotonic(), 0
    while start < len(manifest.buckets):
        try:
            for number, content in fetch(start):
                yield number, content
                start, since, losses = number + 1, time.monotonic(), 0
            if start < len(manifest.buckets):
                raise Lost(f"the trainer ended after {start} of {len(manifest.buckets)} buckets")
        except Lost as lost:
            losses, waited = losses + 1, time.monotonic() - since
            if losses > 1 and waited + PAUSE_S > caller.within:
                text = f"version {manifest.version}: bucket {start} did not come in {waited:.1f} s: {lost}"
                raise OutOfReach(text) from lost
            time.sleep(PAUSE_S)
