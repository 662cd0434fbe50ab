"""The broadcast road at a replica: it joins, confirms, and receives together with all that want the same version.

Rules of this file:

- A group is entered only when the trainer has said so, which it does once every member has confirmed.
- Where the group is lost the replica asks for the rest in another one; each bucket is given on once.
- The next bucket is received while the one before is used.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...protocol.generated import weights_pb2 as pb
from .calling import Caller, Lost, retried
from .groups import Group, GroupLost, nccl_device, own_host, reach_store
from .manifest import Manifest
from .mapping import OutOfReach, WeightsError

ATTEMPTS = 8
"""How many groups a replica enters for one version before it gives up."""


class BroadcastSource:
    """Receives from the trainer that `manifests` names; a WeightSource. `within`: seconds that one wait may take."""

    def __init__(self, manifests: Path, *, receiver: str = "", device: str = "cpu", within: float = 60.0) -> None:
        self._caller, self._device, self._within = Caller(manifests, receiver, within), device, within

    def has(self, version: int) -> bool:
        """Whether the trainer answers within a second that it has the version."""
        return self._caller.has(version)

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, Any]]:
        """Each bucket's number and bytes, in order; the bytes are valid until the next is asked for.

        Raises WeightsError for what the trainer refuses, where its group cannot be reached, and when nothing comes
        within the bound.
        """
        return retried(self._caller, manifest, lambda start: self._join(manifest, start))

    def _join(self, manifest: Manifest, start: int) -> Iterator[tuple[int, Any]]:
        said: queue.SimpleQueue[pb.JoinRequest | None] = queue.SimpleQueue()
        is_nccl = nccl_device(self._device)
        begin = pb.JoinBegin(wanted=self._caller.wanted(manifest, start), nccl=is_nccl)
        said.put(pb.JoinRequest(begin=begin))
        try:
            with self._caller.calling() as call:
                answers = call.answers(call.stub.Join(iter(said.get, None), metadata=call.metadata))
                why = ""
                for _ in range(ATTEMPTS):
                    proposal, store = self._agreed(answers, said)
                    try:
                        for number, content in self._receive(manifest, proposal, store, start):
                            if number + 1 == len(manifest.buckets):
                                said.put(pb.JoinRequest(received=pb.JoinReceived()))
                            yield number, content
                            start = number + 1
                        return
                    except GroupLost as lost:
                        why = str(lost)
                        said.put(pb.JoinRequest(again=pb.JoinAgain(group=proposal.group, start=start)))
                raise OutOfReach(f"version {manifest.version}: {ATTEMPTS} broadcasts in a row were lost: {why}")
        finally:
            said.put(None)

    def _agreed(
        self, answers: Iterator[pb.JoinAnswer], said: queue.SimpleQueue[pb.JoinRequest | None]
    ) -> tuple[pb.JoinProposal, Any]:
        """The group that all have confirmed, and the store by which it is made."""
        proposal, store = pb.JoinProposal(), None
        for answer in answers:
            match answer.WhichOneof("said"):
                case "failed":
                    raise WeightsError(f"the trainer gave up the broadcast: {answer.failed.text}")
                case "proposal":
                    proposal = answer.proposal
                    host, _, port = proposal.store.rpartition(":")
                    try:
                        store = reach_store(host, int(port), self._within)
                    except GroupLost as lost:
                        raise OutOfReach(f"{lost}: open the way to the trainer's host for it") from lost
                    said.put(pb.JoinRequest(confirmed=pb.JoinConfirmed(group=proposal.group)))
                case "enter" if answer.enter.group == proposal.group:
                    return proposal, store
                case _:
                    continue
        raise Lost("the trainer ended the call before there was a group")

    def _receive(
        self, manifest: Manifest, proposal: pb.JoinProposal, store: Any, start: int
    ) -> Iterator[tuple[int, Any]]:
        """The buckets from `start`; those before, which others lack, are received and dropped. Raises GroupLost."""
        import torch

        is_nccl, count = proposal.backend == "nccl", len(manifest.buckets)
        longest = max(bucket.length for bucket in manifest.buckets[proposal.start :])
        device = self._device if is_nccl else "cpu"
        two = [torch.empty(longest, dtype=torch.uint8, device=device) for _ in range(2)]
        host, _, port = proposal.store.rpartition(":")
        group = Group(
            store, proposal.group, proposal.rank, proposal.world, backend=proposal.backend,
            host=own_host(host, int(port)), device=device, within=self._within,
        )  # fmt: skip

        def begun(number: int) -> Any:
            return group.begin(two[number % 2][: manifest.buckets[number].length])

        pending = None
        try:
            pending = begun(proposal.start)
            for number in range(proposal.start, count):
                group.finish(pending)
                pending = begun(number + 1) if number + 1 < count else None
                if number >= start:
                    content = two[number % 2][: manifest.buckets[number].length]
                    yield number, content if is_nccl else content.numpy().data
        finally:
            group.close(pending)
