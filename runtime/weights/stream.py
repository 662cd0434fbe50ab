"""The stream road: buckets over gRPC from the trainer's process, in chunks that fit a message.

Rules of this file:

- Buckets come whole and in order. One that broke off is asked for again, from its beginning.
- Chunks that do not follow each other are an error, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...protocol.generated import weights_pb2 as pb
from .calling import Caller, retried
from .manifest import Manifest
from .mapping import WeightsError

CHUNK_BYTES = 1024 * 1024
ENVELOPE_BYTES = 1024
"""The most that a message has beside its content."""


class StreamSource:
    """Fetches from the trainer that `manifests` names; a WeightSource. `within`: seconds that one wait may take."""

    def __init__(self, manifests: Path, *, receiver: str = "", within: float = 60.0) -> None:
        self._caller = Caller(manifests, receiver, within)

    def has(self, version: int) -> bool:
        """Whether the trainer answers within a second that it has the version."""
        return self._caller.has(version)

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        """Each bucket's number and bytes, in order; the bytes are valid until the next is asked for.

        Raises WeightsError for what the trainer refuses, what it sends in another order, and when nothing comes
        within the bound.
        """
        longest = max((bucket.length for bucket in manifest.buckets), default=0)
        memory = memoryview(bytearray(longest))
        return retried(self._caller, manifest, lambda start: self._fetch(manifest, start, memory))

    def _fetch(self, manifest: Manifest, start: int, memory: memoryview) -> Iterator[tuple[int, memoryview]]:
        chunk_bytes = max(1, min(CHUNK_BYTES, self._caller.access.message_bytes - ENVELOPE_BYTES))
        request = pb.FetchRequest(wanted=self._caller.wanted(manifest, start), chunk_bytes=chunk_bytes)
        with self._caller.calling() as call:
            number, filled = start, 0
            for chunk in call.answers(call.stub.Fetch(request, metadata=call.metadata)):
                where = f"bucket {number} of version {manifest.version}"
                if number == len(manifest.buckets):
                    raise WeightsError(f"version {manifest.version}: the trainer sent more than the manifest has")
                length, content = manifest.buckets[number].length, chunk.content
                if (chunk.bucket, chunk.offset) != (number, filled):
                    raise WeightsError(
                        f"{where}: byte {filled} was expected, byte {chunk.offset} of bucket {chunk.bucket} came"
                    )
                if not content or filled + len(content) > length:
                    raise WeightsError(f"{where}: {len(content)} bytes came at byte {filled} of {length}")
                memory[filled : filled + len(content)] = content
                filled += len(content)
                if filled == length:
                    yield number, memory[:length]
                    number, filled = number + 1, 0
