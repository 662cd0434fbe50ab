"""Parameters that training must not touch: chosen by pattern, and held to the bit.

Rules of this file:

- A frozen parameter has no gradient and is unknown to the optimiser; that nothing else changed it is checked.
- A rank checks what it holds itself (where parameters are sharded, its own shard): no collective is needed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .errors import TrainerError

if TYPE_CHECKING:
    import torch

_CHUNK = 1 << 24


class FrozenError(TrainerError):
    """Parameters that cannot be frozen as asked, or that were changed although they are frozen."""


def freeze(model: torch.nn.Module, patterns: Sequence[str]) -> tuple[str, ...]:
    """Takes the gradients of all parameters that a pattern matches, and gives their names in the model's order.

    A tied parameter is matched by its first name only. Raises FrozenError, before anything has changed, for
    a pattern that matches nothing, and when nothing is left to train.
    """
    from ..weights.digest import canonical_tensors, tied_names

    trainable = {id(parameter) for parameter in model.parameters()}
    tensors = {name: each for name, each in canonical_tensors(model).items() if id(each) in trainable}
    tied = tied_names(model)
    chosen: set[str] = set()
    for pattern in patterns:
        matched = set(fnmatch.filter(tensors, pattern))
        if not matched:
            others = [f"{name} is tied: name {tied[name]}" for name in fnmatch.filter(tied, pattern)]
            say = others[0] if others else f"its names are {', '.join(list(tensors)[:4])}, ..."
            raise FrozenError(f"frozen: {pattern!r} matches no parameter of the model ({say})")
        chosen |= matched
    if len(chosen) == len(tensors):
        raise FrozenError(f"frozen: {', '.join(map(repr, patterns))} match all parameters: nothing is left to train")
    for name in chosen:
        tensors[name].requires_grad_(False)
    return tuple(name for name in tensors if name in chosen)


def frozen_digests(model: torch.nn.Module, names: Sequence[str]) -> dict[str, str]:
    """The digest of each of these parameters, of a model that is not sharded."""
    from ..weights.digest import tensor_digest

    parameters = model.state_dict(keep_vars=True)
    return {name: tensor_digest(parameters[name]) for name in names}


class FrozenGuard:
    """What this rank holds of the frozen parameters `names` of `model`, as it is now."""

    def __init__(self, model: torch.nn.Module, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._model = model
        self._sums = {name: _checksum(held) for name, held in self._held()}
        self._digests = self._digested()

    def check(self) -> None:
        """One pass over the bytes on their device, for every step. Raises FrozenError that names what changed."""
        self._require([name for name, held in self._held() if _checksum(held) != self._sums[name]])

    def verify(self) -> None:
        """As `check`, by digest: about a second for a gigabyte, for when weights leave or come."""
        found = self._digested()
        self._require([name for name in self.names if found[name] != self._digests[name]])

    def _require(self, changed: list[str]) -> None:
        if changed:
            raise FrozenError(
                f"{', '.join(changed)} changed although frozen: something outside of the optimiser writes to it. "
                "Start the trainer again from its last checkpoint"
            )

    def _digested(self) -> dict[str, str]:
        from ..weights.digest import tensor_digest

        return {name: tensor_digest(held) for name, held in self._held()}

    def _held(self) -> list[tuple[str, torch.Tensor]]:
        parameters = self._model.state_dict(keep_vars=True)
        # DeepSpeed keeps a shard beside a parameter, which itself is empty between its uses.
        return [(name, getattr(parameters[name], "ds_tensor", parameters[name])) for name in self.names]


def _checksum(tensor: torch.Tensor) -> int:
    """A sum over the elements' bits, each weighted by its place: another order gives another sum."""
    import torch

    from ..weights.digest import raw_bytes

    flat = raw_bytes(tensor)
    size = tensor.element_size()
    bits = flat.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size])
    total = 0
    for start in range(0, bits.numel(), _CHUNK):
        part = bits[start : start + _CHUNK].to(torch.int64)
        weights = torch.arange(2 * start + 1, 2 * (start + part.numel()), 2, device=part.device)
        total += int((part * weights).sum())
    return total
