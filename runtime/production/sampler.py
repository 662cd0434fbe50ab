"""Which prompt a group is of: a pure function of the seed and the group's number.

Rules of this file:

- Each pass over the prompts (an epoch) has every prompt once, in an order of its own that the seed gives.
- Nothing is drawn and nothing is counted here: a run that goes on from a number repeats and skips no prompt.
"""

from __future__ import annotations

import random
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_KEPT = 2
"""How many epochs' orders are kept: groups in flight lie in the present one and the one before."""


class SamplerMismatch(ValueError):
    """A checkpoint is of other prompts or another seed: the same number would name another prompt."""


@dataclass(frozen=True, slots=True)
class Place:
    """The prompt `index`, in the pass `epoch` over the prompts."""

    epoch: int
    index: int


class Sampler:
    """Places of group numbers among `prompts` prompts, None for a task without end, of which each comes once.

    Raises ValueError for less than one prompt.
    """

    def __init__(self, seed: int, prompts: int | None) -> None:
        if prompts is not None and prompts < 1:
            raise ValueError(f"prompts: {prompts} must be at least 1, or none for a task without end")
        self.seed, self.prompts = seed, prompts
        self._orders: OrderedDict[int, array[int]] = OrderedDict()

    def place(self, number: int) -> Place:
        """The prompt of the group with this number, and its epoch. Raises ValueError for a negative number."""
        if number < 0:
            raise ValueError(f"group {number}: numbers begin at 0")
        if self.prompts is None:
            return Place(0, number)
        epoch, at = divmod(number, self.prompts)
        return Place(epoch, self._order(epoch)[at])

    def epoch(self, number: int) -> int:
        """The pass over the prompts that the group with this number is of."""
        return 0 if self.prompts is None else number // self.prompts

    def state(self) -> Mapping[str, Any]:
        """What the meaning of a number hangs on, for a checkpoint."""
        return {"seed": self.seed, "prompts": self.prompts}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint. Raises SamplerMismatch; one that did not keep this is taken as it is."""
        for name, here in self.state().items():
            if (there := state.get(name, here)) != here:
                raise SamplerMismatch(
                    f"the checkpoint was made with {name} {there}, and this run has {here}: numbers of groups would "
                    f"name other prompts; resume with {name} {there}, or begin a run elsewhere"
                )

    def _order(self, epoch: int) -> array[int]:
        order = self._orders.get(epoch)
        if order is None:
            assert self.prompts is not None
            order = array("Q", range(self.prompts))
            random.Random(f"{self.seed} {epoch}").shuffle(order)
            self._orders[epoch] = order
            while len(self._orders) > _KEPT:
                self._orders.popitem(last=False)
        else:
            self._orders.move_to_end(epoch)
        return order
