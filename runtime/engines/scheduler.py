"""Where every request is: waiting, in the batch, or over; and what is owed to its sink.

Rules of this file
- Used by the worker thread only, between steps; so a command sees no request half-way through a step.
- A request is in exactly one place; ids of finished and aborted ones are remembered, so that a repeat or
  a late arrival is refused.
- Frozen requests stay where they are; nothing steps. After an install their keys and values are gone, and
  they are computed again from prompt and tokens by the new weights.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from .base import AbortOutcome, Finish, FinishReason, Request, Sink, Token
from .batch import Batch
from .torch_model import TorchModel

Delivery = tuple["Generation", list[Token], Finish | None]
Change = Literal["suspended", "continued"]
# Ids are unique for ever; the oldest are forgotten, long after their calls' deadlines have passed.
_REMEMBERED = 200_000


class Generation:
    """One request on its way: its sampling state, what it made, what its sink has not got yet."""

    __slots__ = ("made", "owed", "request", "rng", "sampling", "sink", "stops")

    def __init__(self, request: Request, sink: Sink) -> None:
        self.request = request
        self.sink = sink
        self.rng = random.Random(request.seed)
        self.sampling = (float(request.temperature), float(request.top_p))
        self.stops = frozenset(request.stop_ids)
        self.made: list[int] = []
        self.owed: list[Token] = []

    def uniform(self) -> float:
        """The next random number; a greedy request draws none."""
        return self.rng.random() if self.sampling[0] else 0.0


class Scheduler:
    """Continuous batching: requests join and leave between any two steps."""

    def __init__(
        self,
        model: TorchModel,
        *,
        max_batch: int,
        max_prefill_tokens: int,
        join_every: int,
        deliver_every_s: float,
        deliver: Callable[[list[Delivery]], None],
        notify: Callable[[list[Generation], Change, int], None],
    ) -> None:
        self.waiting: deque[Generation] = deque()
        self.running: list[Generation] = []
        self.held: dict[str, Generation] = {}
        self.frozen_epoch: int | None = None
        self.steps = self.tokens = 0
        self._continued_epoch = -1
        # None: aborted before it came.
        self._over: OrderedDict[str, FinishReason | None] = OrderedDict()
        self._batch = Batch(model)
        self._max_batch = max_batch
        self._max_prefill_tokens = max_prefill_tokens
        self._join_every = join_every
        self._since_join = 0
        self._deliver_every_s = deliver_every_s
        self._delivered_at = 0.0
        self._deliver = deliver
        self._notify = notify

    @property
    def runnable(self) -> bool:
        """Whether a step would do something."""
        return self.frozen_epoch is None and bool(self.held)

    def add(self, request: Request, sink: Sink, refuse: str) -> None:
        """Takes a request, or ends it at once: for the reason `refuse`, or as a repeat or an aborted one."""
        generation = Generation(request, sink)
        request_id = request.request_id
        if request_id in self.held or self._over.get(request_id) is not None:
            refused = Finish(FinishReason.FAILED, f"request id {request_id!r} is already used")
        elif request_id in self._over:
            refused = Finish(FinishReason.ABORTED, "it was aborted before it arrived")
            self._remember(request_id, FinishReason.ABORTED)
        elif refuse:
            refused = Finish(FinishReason.FAILED, refuse)
            self._remember(request_id, FinishReason.FAILED)
        else:
            self.held[request_id] = generation
            self.waiting.append(generation)
            if self.frozen_epoch is not None:
                self._notify([generation], "suspended", self.frozen_epoch)
            return
        self._deliver([(generation, [], refused)])

    def abort(self, request_id: str) -> AbortOutcome:
        """Ends a held request; remembers an unknown one."""
        generation = self.held.get(request_id)
        if generation is None:
            over = self._over.get(request_id)
            self._remember(request_id, over)
            return AbortOutcome.UNKNOWN if over is None else AbortOutcome.FINISHED
        if generation in self.waiting:
            self.waiting.remove(generation)
        else:
            self._leave({generation})
        self._deliver([self._end(generation, Finish(FinishReason.ABORTED, "aborted"))])
        return AbortOutcome.STOPPED

    def fail_all(self, why: str) -> None:
        """Ends every held request as failed."""
        self._batch.clear()
        self.running.clear()
        self.waiting.clear()
        self._deliver([self._end(g, Finish(FinishReason.FAILED, why)) for g in list(self.held.values())])

    def freeze(self, epoch: int) -> list[str]:
        """Stops stepping; a freeze that was overtaken by its continue, or a later one, does nothing."""
        if epoch <= self._continued_epoch:
            return []
        first = self.frozen_epoch is None or epoch > self.frozen_epoch
        self.frozen_epoch = epoch if first else self.frozen_epoch
        if first:
            self.flush()
            self._notify(list(self.held.values()), "suspended", epoch)
        return list(self.held)

    def continue_(self, epoch: int) -> bool:
        """Steps again; one whose epoch is below that of the freeze is not obeyed."""
        if self.frozen_epoch is not None and epoch < self.frozen_epoch:
            return False
        self._continued_epoch = max(self._continued_epoch, epoch)
        if self.frozen_epoch is not None:
            self.frozen_epoch = None
            self._notify(list(self.held.values()), "continued", epoch)
        return True

    def drop_cache(self) -> None:
        """Forgets keys and values; the rows are computed again when they next run."""
        self._batch.clear()
        self.waiting.extendleft(reversed(self.running))
        self.running.clear()

    def step(self, version: int) -> None:
        """One token for every running request, labelled `version`; lets waiting ones join first."""
        self.steps += 1
        room = self._max_batch - len(self.running)
        self._since_join += 1
        if self.waiting and room and (not self.running or self._since_join >= self._join_every):
            self._join(room, version)
            self._since_join = 0
        if self.running:
            ids, logprobs = self._batch.step([g.uniform() for g in self.running])
            self._settle(self.running, ids, logprobs, version)
        if time.monotonic() - self._delivered_at >= self._deliver_every_s:
            self.flush()

    def flush(self) -> None:
        """Gives every sink what it is owed."""
        self._delivered_at = time.monotonic()
        owed: list[Delivery] = []
        for generation in self.running:
            if generation.owed:
                owed.append((generation, generation.owed, None))
                generation.owed = []
        if owed:
            self._deliver(owed)

    def _join(self, room: int, version: int) -> None:
        joining: list[Generation] = []
        longest = 0
        while self.waiting and len(joining) < room:
            first = self.waiting[0]
            longest = max(longest, len(first.request.prompt_ids) + len(first.made))
            if joining and longest * (len(joining) + 1) > self._max_prefill_tokens:
                break
            joining.append(self.waiting.popleft())
        # Listed before the pass: if it fails, they are found among the running ones.
        self.running.extend(joining)
        ids, logprobs = self._batch.prefill(
            [[*g.request.prompt_ids, *g.made] for g in joining],
            [g.sampling for g in joining],
            [g.uniform() for g in joining],
        )
        self._settle(joining, ids, logprobs, version)

    def _settle(self, rows: Sequence[Generation], ids: list[int], logprobs: list[float], version: int) -> None:
        self.tokens += len(ids)
        ended: dict[Generation, Finish] = {}
        for generation, token, logprob in zip(rows, ids, logprobs, strict=True):
            generation.made.append(token)
            generation.owed.append(Token(token, logprob, version))
            if token in generation.stops:
                ended[generation] = Finish(FinishReason.STOP)
            elif len(generation.made) >= generation.request.max_new_tokens:
                ended[generation] = Finish(FinishReason.LENGTH)
        if ended:
            self._leave(ended.keys())
            self._deliver([self._end(generation, finish) for generation, finish in ended.items()])

    def _leave(self, leaving: Collection[Generation]) -> None:
        kept = [row for row, generation in enumerate(self.running) if generation not in leaving]
        self.running = [self.running[row] for row in kept]
        self._batch.keep(kept)

    def _end(self, generation: Generation, finish: Finish) -> Delivery:
        request_id = generation.request.request_id
        del self.held[request_id]
        self._remember(request_id, finish.reason)
        owed, generation.owed = generation.owed, []
        return generation, owed, finish

    def _remember(self, request_id: str, reason: FinishReason | None) -> None:
        self._over[request_id] = reason
        self._over.move_to_end(request_id)
        if len(self._over) > _REMEMBERED:
            self._over.popitem(last=False)
