"""What the replicas of a run hold, read from their memory now and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from grpc import aio

from ...protocol.client import dial
from ...protocol.generated import front_pb2 as pb
from ...protocol.generated import front_pb2_grpc as rpc


async def held_by(controls: Mapping[str, str], within: float) -> dict[str, pb.HeldDigests]:
    """By incarnation, what each says that it holds; `controls` are their control addresses.

    One that did not answer within so many seconds says why.
    """

    async def ask(incarnation: str, control: str) -> pb.HeldDigests:
        channel = dial(control)
        try:
            stub: Any = rpc.FrontStub(channel)
            return await stub.Digests(pb.DigestsRequest(), timeout=within)
        except aio.AioRpcError as error:
            return pb.HeldDigests(incarnation=incarnation, why=f"no answer: {error.details()}")
        finally:
            await channel.close()

    found = await asyncio.gather(*(ask(*pair) for pair in controls.items()))
    return dict(zip(controls, found, strict=True))


def differing(held: Iterable[pb.HeldDigests]) -> list[str]:
    """In words, each two replicas that say that they hold the same version on the same ranks, and do not."""
    first: dict[tuple[int, frozenset[str]], pb.HeldDigests] = {}
    found: list[str] = []
    for said in held:
        if said.why or not said.HasField("version"):
            continue
        other = first.setdefault((said.version, frozenset(said.digests)), said)
        ranks = sorted(rank for rank, digest in said.digests.items() if other.digests[rank] != digest)
        if ranks:
            found.append(
                f"{said.incarnation} and {other.incarnation} hold different weights under version {said.version}, "
                f"on ranks {', '.join(ranks)}"
            )
    return found
