"""The account of a run under load: what clients were told against journals, trace and the weights themselves.

Rules of this file:

- Each source is read by itself: clients' own notes, the stores of the replicas' leases, the trace of all processes,
  and the published tensors. They have to agree; none stands for another.
- What a killed process may not have written any more is excused for that life alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from controller_kit import Run, poisoned_in
from load_kit import Turn, replicas_of
from rollout_kit import make_weights

from sluicegate.runtime.weights import canonical_tensors
from sluicegate.runtime.workers.records import LOST, LeaseStore, StoredAnswer
from sluicegate.spec.traces import judging
from sluicegate.spec.traces.reading import read
from sluicegate.spec.traces.validate import Verdict, judged, uncollected
from sluicegate.statemachines.machines import MACHINES

SAME = 2e-3
"""Two computations of one log-probability differ by less: batches are of other shapes."""
_AT_ONCE = 64


@dataclass
class Account:
    """What became of all leases of a run."""

    verdict: Verdict
    endings: Counter[str] = field(default_factory=Counter)
    """Of the recorded leases, how many ended how."""
    told: int = 0
    """Leases that clients were told were admitted."""
    orphans: int = 0
    frozen: int = 0
    """Leases that were frozen at least once."""
    crossed: int = 0
    """Answers with tokens of more than one version."""
    tokens: int = 0

    @property
    def admissions(self) -> int:
        return sum(self.endings.values())

    @property
    def lost(self) -> int:
        return self.endings[LOST]

    @property
    def receipts(self) -> int:
        return self.admissions - self.lost - self.endings[""]


def account(run: Run, turns: Sequence[Turn], *, may_lose: bool = False) -> Account:
    """Take the account of a run whose processes have ended; fails where sources do not agree.

    `may_lose`: replicas were killed, so that leases of those lives are lost, and those alone.
    """
    path = run.merged()
    with uncollected():
        trace = read(path, MACHINES)
        found = Account(judged(path, trace))
        assert found.verdict.valid, found.verdict.refusal
        steps = judging.Run(trace)
        _journal_agrees(run, turns, steps, trace.killed, found)
        assert may_lose or found.lost == 0
        assert found.receipts + found.lost == found.admissions
    assert poisoned_in(path) == []
    return found


def _journal_agrees(run: Run, turns: Sequence[Turn], steps: Any, killed: set[str], found: Account) -> None:
    """Clients, stores and trace say the same of each lease."""
    admitted = {s.event.lease: s for s in _taken(steps.named("Gate", "Admit"), "stay")}
    receipts: dict[str, Any] = {}
    for fact in steps.named("Lease", "receipt"):
        assert fact.instance not in receipts, f"{fact.instance} has two receipts"
        receipts[fact.instance] = fact
    frozen: dict[str, dict[int, int]] = {}
    for step in _taken(steps.named("Lease", "Frozen"), "go"):
        frozen.setdefault(step.instance, dict(step.post.spans))
    found.orphans = len(_taken(steps.named("Lease", "Unknown"), "go"))
    by_lease = {turn.lease: turn for turn in turns}
    assert len(by_lease) == len(turns)
    found.told = sum(turn.admitted for turn in turns)
    known: set[str] = set()
    for name in replicas_of(run):
        store = LeaseStore(run.folder / f"state-{name}" / "leases.sqlite")
        try:
            assert store.open_leases() == []
            found.endings += Counter(store.counts())
            for lease in (lease for lease in by_lease if store.is_known(lease)):
                known.add(lease)
                stored = store.answer(lease)
                assert stored is not None
                turn = by_lease[lease]
                assert stored.incarnation == turn.incarnation
                _lease_agrees(turn, stored, receipts.get(lease), killed)
                if lease in frozen:
                    found.frozen += 1
                    _prefix_stays(stored, frozen[lease])
                found.crossed += len({v for v, _ in stored.spans}) > 1
                found.tokens += len(stored.tokens)
        finally:
            store.close()
    assert found.admissions == len(known), "nobody else made requests"
    for turn in turns:
        assert not turn.admitted or turn.lease in known, f"{turn.lease} was admitted, and is not in the journal"
    for lease, step in admitted.items():
        assert lease in known or step.incarnation in killed, f"{lease} was let in, and is not in the journal"
    missing = known - admitted.keys()
    assert {by_lease[lease].incarnation for lease in missing} <= killed
    for lease in receipts:
        assert lease in known


def _lease_agrees(turn: Turn, stored: StoredAnswer, receipt: Any, killed: set[str]) -> None:
    """One lease, as its client, the journal and the trace know it."""
    labels = [version for version, count in stored.spans for _ in range(count)]
    heard = len(turn.ids)
    if stored.closure == LOST:
        assert turn.incarnation in killed, f"{turn.lease} is lost, and its replica was not killed"
        assert receipt is None
        assert turn.ended == "broken"
        return
    assert receipt is not None or turn.incarnation in killed, f"{turn.lease} has no receipt"
    if receipt is not None:
        assert receipt.values["ending"].value == stored.closure
        if stored.closure != "discarded":
            assert dict(receipt.values["spans"]) == dict(Counter(labels))
    if stored.closure == "discarded":
        # What its client has heard of it is neither whole nor known: it is told so, and nothing of it is kept.
        assert turn.ended in ("discarded", "broken"), turn
        assert stored.tokens == []
        return
    assert (stored.tokens[:heard], labels[:heard]) == (turn.ids, turn.versions), f"{turn.lease}: other tokens"
    told = {"stop": "completed", "length": "completed"}.get(turn.ended, turn.ended)
    if told != "broken":
        assert (told, heard) == (stored.closure, len(stored.tokens)), turn


def _prefix_stays(stored: StoredAnswer, frozen: Mapping[int, int]) -> None:
    """What was made before the freeze comes first in what there is at the end."""
    if stored.closure not in ("completed", "aborted"):
        return
    labels = [version for version, count in stored.spans for _ in range(count)]
    before = [version for version in sorted(frozen) for _ in range(frozen[version])]
    assert labels[: len(before)] == before, f"{stored.lease}: {before} were made before the freeze, {labels} in all"


def _taken(steps: Sequence[Any], kind: str) -> list[Any]:
    return [step for step in steps if step.outcome.kind == kind]


def check_labels(turns: Sequence[Turn], tensors: Mapping[int, Mapping[str, torch.Tensor]]) -> int:
    """Each token has the log-probability that the weights of its label give it after all that was before it.

    The weights of another version give others. Returns how many tokens were looked at.
    """
    model = make_weights(0)
    resident = canonical_tensors(model)
    looked = 0
    unlike: list[float] = []
    for version in sorted({v for turn in turns for v in turn.versions}):
        of_version = [turn for turn in turns if version in turn.versions]
        other = min((v for v in tensors if v != version), key=lambda v: abs(v - version))
        for begin in range(0, len(of_version), _AT_ONCE):
            batch = of_version[begin : begin + _AT_ONCE]
            said, marks = _said(batch, version)
            true = (_logprobs(model, resident, tensors[version], batch) - said)[marks].abs()
            assert float(true.max()) < SAME, f"tokens labelled {version} were made by other weights"
            looked += int(marks.sum())
            wrong = (_logprobs(model, resident, tensors[other], batch) - said).abs() * marks
            unlike += wrong.max(dim=1).values.tolist()
    unlike.sort()
    assert unlike[len(unlike) // 2] > 10 * SAME, "versions are too much alike to be told apart"
    return looked


def _said(batch: Sequence[Turn], version: int) -> tuple[torch.Tensor, torch.Tensor]:
    """[turns, tokens]: the log-probabilities that clients were told, and which tokens have the label."""
    longest = max(len(turn.ids) for turn in batch)
    said = torch.zeros(len(batch), longest)
    marks = torch.zeros(len(batch), longest, dtype=torch.bool)
    for row, turn in enumerate(batch):
        said[row, : len(turn.ids)] = torch.tensor(turn.logprobs)
        marks[row, : len(turn.ids)] = torch.tensor([v == version for v in turn.versions])
    return said, marks


@torch.inference_mode()
def _logprobs(
    model: Any, resident: Mapping[str, torch.Tensor], weights: Mapping[str, torch.Tensor], batch: Sequence[Turn]
) -> torch.Tensor:
    """[turns, tokens]: the log-probability of each token under these weights; those behind an end mean nothing."""
    for name, tensor in resident.items():
        tensor.copy_(weights[name])
    longest, prompt = max(len(turn.ids) for turn in batch), len(batch[0].prompt)
    ids = torch.zeros(len(batch), prompt + longest, dtype=torch.long)
    for row, turn in enumerate(batch):
        ids[row, : prompt + len(turn.ids)] = torch.tensor([*turn.prompt, *turn.ids])
    # What follows a token takes no part in it: padding behind the end changes nothing.
    logits = model(input_ids=ids).logits[:, prompt - 1 : -1]
    return torch.log_softmax(logits.float(), dim=-1).gather(2, ids[:, prompt:].unsqueeze(2)).squeeze(2)
