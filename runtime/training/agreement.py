"""What ranks agree on before they enter a collective, in the key-value store of their process group.

Rules of this file:

- Every agreement has a number. All ranks make the same agreements in the same order; one that does
  something else, or comes too late, is named on every rank, and no rank goes on.
- An agreement has one verdict, and the first who writes it decides: the last to come, or whoever gave up
  waiting. So never one rank goes on while another has given up.
- Every wait is bounded, also for a store whose process has stopped.
- What all ranks are done with is deleted: the store of a long run does not grow.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

_T = TypeVar("_T")
_ANSWER_S = 5.0
"""How long the store may take to answer what it need not wait for."""
_ALL_CAME = "all came"


class GroupError(RuntimeError):
    """The ranks are not, or do not stay, one group; the message says which rank and why. Nothing was changed."""


class Agreements:
    """The agreements of one rank of `world`, by way of `store` (torch.distributed.Store)."""

    def __init__(self, store: Any, rank: int, world: int) -> None:
        self._store, self._rank, self._world = store, rank, world
        self._number = 0
        self._kept: list[int] = []

    def agree(self, what: str, within: float) -> None:
        """Returns once all ranks are about to do `what`; waits `within` seconds at most.

        Raises GroupError, on every rank that comes to this agreement, when a rank is about to do something
        else or has not come in time.
        """
        self._require_equal(self._exchange("agree", what, within))

    def agree_outcome(self, problem: str, within: float) -> str:
        """The problems of all ranks, each with its rank; empty when no rank has one. Give an empty one for none.

        Waits `within` seconds at most, and raises GroupError as `agree` does.
        """
        said = self._exchange("outcome", problem, within)
        self._require_equal([(kind, "the outcome of a part") for kind, _ in said])
        return "; ".join(f"rank {rank}: {text}" for rank, (_, text) in enumerate(said) if text)

    def _exchange(self, kind: str, text: str, within: float) -> list[tuple[str, str]]:
        """What each rank says in the next agreement."""
        number, self._number = self._number, self._number + 1
        if self._world == 1:
            return [(kind, text)]
        self._kept.append(number)
        own = f"{number}/{self._rank}"
        keys = [f"{number}/{rank}" for rank in range(self._world)]
        until = time.monotonic() + within

        def exchange() -> list[tuple[str, str]]:
            self._store.set(own, json.dumps([kind, text]))
            verdict = self._verdict(number, keys, max(0.001, until - time.monotonic()), within)
            if verdict != _ALL_CAME:
                raise GroupError(f"{verdict} (here: {text or kind!r}). Nothing was changed: see the log of that rank")
            said = [tuple(json.loads(content)) for content in self._store.multi_get(keys)]
            # Who has come to this agreement has read all of the earlier ones.
            for old in self._kept[:-1]:
                self._store.delete_key(f"{old}/{self._rank}")
                if self._rank == 0:
                    self._store.delete_key(f"{old}/verdict")
            del self._kept[:-1]
            return said

        return _bounded(exchange, within + _ANSWER_S)

    def _verdict(self, number: int, keys: list[str], left: float, within: float) -> str:
        import torch.distributed as dist

        verdict = _ALL_CAME
        try:
            self._store.wait(keys, timedelta(seconds=left))
        except dist.DistStoreError:
            missing = [str(rank) for rank, key in enumerate(keys) if not self._store.check([key])]
            if missing:
                ranks = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(missing)}"
                verdict = f"{ranks} did not come within {within:g} s, so rank {self._rank} gave up agreement {number}"
        # Sets it where there is none, and gives what then is there.
        return self._store.compare_set(f"{number}/verdict", "", verdict).decode()

    def _require_equal(self, said: list[tuple[str, str]]) -> None:
        if len(set(said)) > 1:
            each = "; ".join(f"rank {rank}: {kind} {text!r}" for rank, (kind, text) in enumerate(said))
            raise GroupError(
                f"the ranks are about to do different things, so none does anything ({each}). "
                "Nothing was changed: give all ranks the same command"
            )


def _bounded(do: Callable[[], _T], within: float) -> _T:
    """What `do` gives. A store asks over a connection without a bound: its process may be stopped."""
    results: list[_T] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            results.append(do())
        except Exception as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, name="agreement", daemon=True)
    thread.start()
    thread.join(within)
    if results:
        return results[0]
    if not problems:
        raise GroupError(
            f"the store of the ranks did not answer within {within:g} s: the process that serves it (that of the "
            "launcher, or of rank 0) has stopped. Nothing was changed: start the group again"
        )
    (problem,) = problems
    if isinstance(problem, GroupError):
        raise problem
    raise GroupError(
        f"the store of the ranks cannot be reached: {problem}. The process that serves it (that of the launcher, "
        "or of rank 0) has ended. Nothing was changed: start the group again"
    ) from problem
