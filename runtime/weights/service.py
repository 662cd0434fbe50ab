"""The Weights service of the trainer's process: what replicas on any road but the direct one ask.

Rules of this file:

- Version and digest are compared before anything is sent.
- The store is read in threads; the event loop only passes on. Nothing here uses the thread that trains.
- A replica that does not take what it is sent is given up after the bound.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing
from typing import Any, NoReturn, TypeVar

from grpc import StatusCode, aio

from ...protocol.access import ACCESS
from ...protocol.generated import weights_pb2 as pb
from ...protocol.generated import weights_pb2_grpc as rpc
from ...protocol.refusals import MALFORMED, refuse
from ...protocol.tasks import Tasks
from .calling import write_source
from .config import WeightsConfig
from .lending import Lender
from .manifest import Manifest, ManifestError, ManifestStore
from .mapping import OutOfReach, WeightsError
from .opening import WeightStore
from .sending import Broadcasts, Receiver, pass_on
from .slots import boot, own_device
from .stream import CHUNK_BYTES

_log = logging.getLogger(__name__)
Context = aio.ServicerContext[Any, Any]
T = TypeVar("T")
WEIGHTS = "WEIGHTS"
"""Reason of refusals: the weights that are asked for are not here, or cannot be had so."""
_READERS = 8


class Unwanted(Exception):
    """What a receiver asks for cannot be had here."""

    def __init__(self, code: StatusCode, text: str, reason: str = WEIGHTS) -> None:
        super().__init__(text)
        self.code, self.reason = code, reason


class WeightsServicer(rpc.WeightsServicer):
    """Serves what `store` has and `manifests` describe; used as `async with` around the server that serves it."""

    SERVICE = "sluicegate.v1.Weights"

    def __init__(
        self, weights: WeightsConfig, store: WeightStore, manifests: ManifestStore, *, life: str, device: str = ""
    ) -> None:
        """`life`: the incarnation of the trainer; `device`: where it sends from to receivers on devices, if not given
        the one that its rank trains on."""
        self._weights, self._store, self._manifests, self._life = weights, store, manifests, life
        self._device, self._host = device or own_device(), ACCESS.get().address

    async def __aenter__(self) -> WeightsServicer:
        async with AsyncExitStack() as stack:
            self._readers = ThreadPoolExecutor(_READERS, "weights")
            stack.callback(self._readers.shutdown, wait=False, cancel_futures=True)
            tasks = await stack.enter_async_context(Tasks())
            self._broadcasts = Broadcasts(
                self._weights, self._store, tasks, host=self._host, device=self._device
            )  # fmt: skip
            stack.callback(self._broadcasts.close)
            self._lender = Lender(self._store, self._readers, device=self._device)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.__aexit__(*error)

    def add_to(self, server: aio.Server) -> None:
        rpc.add_WeightsServicer_to_server(self, server)

    async def announce(self, address: str) -> None:
        """Tell replicas where this service answers, once it does. Raises OSError."""
        await asyncio.to_thread(write_source, self._manifests.folder, address, self._life)

    async def Has(self, request: pb.HasRequest, context: Context) -> pb.HasAnswer:
        return pb.HasAnswer(here=await asyncio.to_thread(self._store.has, request.version))

    async def Fetch(self, request: pb.FetchRequest, context: Context) -> None:
        try:
            manifest = await self._wanted(request.wanted)
            size = min(request.chunk_bytes, CHUNK_BYTES)
            if size < 1:
                raise Unwanted(StatusCode.INVALID_ARGUMENT, "chunk_bytes is 0: give at least 1", MALFORMED)
            async with aclosing(drawn(self._readers, self._store.buckets(manifest, request.wanted.start))) as buckets:
                async for number, content in buckets:
                    for offset in range(0, len(content), size):
                        part = bytes(content[offset : offset + size])
                        async with asyncio.timeout(self._weights.within):
                            await context.write(pb.FetchChunk(bucket=number, offset=offset, content=part))
        except Unwanted as unwanted:
            await _refuse(context, unwanted)
        except WeightsError as error:
            await _refuse(context, _lacking(error))
        except TimeoutError:
            _log.warning(
                "%s took nothing of version %d for %g s", request.wanted.receiver, request.wanted.version,
                self._weights.within,
            )  # fmt: skip
            # An answer would wait behind what is not taken. Cancelled, the call is over at once.
            raise asyncio.CancelledError from None
        except Exception as error:
            await _refuse(context, _unforeseen(request.wanted.version, error))

    async def Join(self, request_iterator: Any, context: Context) -> None:
        try:
            begin = await self._first(request_iterator, "begin")
            manifest = await self._wanted(begin.wanted)
        except Unwanted as unwanted:
            await _refuse(context, unwanted)
        receiver = Receiver(begin.wanted.receiver, begin.wanted.start, begin.nccl)
        self._broadcasts.enlist(receiver, manifest)
        await pass_on(receiver, request_iterator, context, self._weights.within)

    async def Lend(self, request_iterator: Any, context: Context) -> None:
        try:
            begin: pb.LendBegin = await self._first(request_iterator, "begin")
            manifest = await self._wanted(begin.wanted)
            if begin.boot != boot():
                text = "ipc is for processes of one host, and the receiver is on another: take another road"
                raise Unwanted(StatusCode.FAILED_PRECONDITION, text)
        except Unwanted as unwanted:
            await _refuse(context, unwanted)
        try:
            lent = self._lender.lend(manifest, begin, request_iterator, self._weights.within)
            async with aclosing(lent) as answers:
                async for answer in answers:
                    await context.write(answer)
        except TimeoutError:
            text = f"a slot was not given back for {self._weights.within:g} s"
            await _refuse(context, Unwanted(StatusCode.ABORTED, text))
        except WeightsError as error:
            await _refuse(context, _lacking(error))
        except Exception as error:
            await _refuse(context, _unforeseen(manifest.version, error))

    async def _first(self, requests: Any, kind: str) -> Any:
        """What a call of the receiver begins with. Raises Unwanted for anything else, or nothing."""
        try:
            async with asyncio.timeout(self._weights.within):
                request = await anext(aiter(requests), None)
        except TimeoutError:
            request = None
        if request is None or request.WhichOneof("said") != kind:
            raise Unwanted(StatusCode.INVALID_ARGUMENT, f"a call begins with {kind}", MALFORMED)
        return getattr(request, kind)

    async def _wanted(self, wanted: pb.Wanted) -> Manifest:
        """The manifest that a receiver asks by. Raises Unwanted."""
        try:
            manifest = await asyncio.to_thread(self._manifests.get, wanted.version)
        except (FileNotFoundError, ManifestError) as error:
            raise Unwanted(StatusCode.NOT_FOUND, str(error)) from error
        except Exception as error:
            raise _unforeseen(wanted.version, error) from error
        if manifest.digest != wanted.digest:
            raise Unwanted(
                StatusCode.FAILED_PRECONDITION,
                f"version {wanted.version} has the digest {manifest.digest} here, {wanted.digest!r} was asked for: the "
                "receiver reads manifests of another run, or from another folder",
            )
        if wanted.start > len(manifest.buckets):
            text = f"version {wanted.version} has {len(manifest.buckets)} buckets, {wanted.start} was asked for"
            raise Unwanted(StatusCode.INVALID_ARGUMENT, text, MALFORMED)
        if not await asyncio.to_thread(self._store.has, wanted.version):
            raise Unwanted(StatusCode.NOT_FOUND, f"version {wanted.version} is published, and its bytes are gone here")
        return manifest


async def drawn(readers: ThreadPoolExecutor, items: Generator[T, None, None]) -> AsyncGenerator[T, None]:
    """The items, each drawn in a thread; what is left of them is closed, whoever leaves."""
    drawing = readers.submit(next, items, None)
    try:
        while (item := await asyncio.wrap_future(drawing)) is not None:
            yield item
            drawing = readers.submit(next, items, None)
    finally:
        # A thread may be in the middle of drawing: the items are closed after it.
        drawing.add_done_callback(lambda _: items.close())


def _lacking(error: WeightsError) -> Unwanted:
    """The store does not give it: for good, or it cannot now, and then the receiver comes again within its bound."""
    return Unwanted(StatusCode.UNAVAILABLE if isinstance(error, OutOfReach) else StatusCode.NOT_FOUND, str(error))


def _unforeseen(version: int, error: Exception) -> Unwanted:
    _log.error("version %d could not be sent", version, exc_info=error)
    text = f"version {version} could not be sent: {error!r}. The trainer's log says where"
    return Unwanted(StatusCode.FAILED_PRECONDITION, text)


async def _refuse(context: Context, unwanted: Unwanted) -> NoReturn:
    facts = {"machine": "Trainer", "event": "Fetch", "retry": "false", "fence": "false", "state": ""}
    await refuse(context, unwanted.code, unwanted.reason, str(unwanted), facts, None)
