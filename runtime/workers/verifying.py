"""Weights that are served are those that were proved: every so often what the ranks hold is read again.

Rules of this file:

- Nothing but an install changes what is resident, and each install proves what it left. A difference that is found
  later means that memory was overwritten or is broken: that is a fault, and nothing more is served.
- Reading holds up no request, and what an install overtakes is no finding.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from ..engines import Engine, EngineError

_log = logging.getLogger(__name__)


class Proof:
    """What the ranks proved at the last install; of nothing while one runs."""

    def __init__(self) -> None:
        self.version: int | None = None
        self.digests: Mapping[str, str] = {}

    def set(self, version: int, digests: Mapping[str, str]) -> None:
        self.version, self.digests = version, dict(digests)

    def clear(self) -> None:
        self.version, self.digests = None, {}


async def verify(engine: Engine, proof: Proof, every: float, fault: Callable[[str], None]) -> None:
    """Compare every `every` seconds, until a difference was told to `fault`."""
    while True:
        await asyncio.sleep(every)
        before = (proof.version, proof.digests)
        if proof.version is None:
            continue
        try:
            held = await engine.resident_digest()
        except EngineError as error:
            # Its memory is lent, or it tells what it holds at installs only.
            _log.debug("what is resident cannot be told now: %s", error)
            continue
        if held.version is None or (proof.version, proof.digests) != before or held.version != proof.version:
            continue
        if held.digests == proof.digests:
            continue
        ranks = sorted(r for r, digest in proof.digests.items() if held.digests.get(r) != digest)
        fault(
            f"version {held.version} is not what was installed any more on ranks {', '.join(ranks)}: "
            "memory was overwritten or is broken; look at the device before the replica is started there again"
        )
        return
