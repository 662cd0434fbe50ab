"""What a gate asks of an engine, and what the engine tells back.

Rules of this file
- Every request that was accepted ends in exactly one `Finish`; every token comes before it, once. Only where a
  connection carries them they may be `lost` instead: whoever asked then finds out what became of the request.
- A command is answered when it is done: an aborted request is out of the batch, a quiesced device is idle. One
  that was not answered (EngineError from an engine that is well) may have been done, and is given again.
- Commands are taken in the order in which they were given, also one whose answer nobody waits for any more.
- An engine never decides whether a command is legal now: that is the gate's table. It refuses only what
  it cannot do without lying (install under running requests, generate without weights).
- A rank is named by a string; an engine of one device has the rank "0".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..weights import BucketSource, Manifest


class EngineError(Exception):
    """An engine could not do what was asked; the message says what and how to mend it."""


class InvalidRequest(EngineError, ValueError):
    """A request that the engine could never run; it was not taken."""


class EngineBusy(EngineError):
    """Asked for what needs an idle engine while requests run."""


class NotStaged(EngineError):
    """A commit of a version that is not staged."""


class NoStaging(NotStaged):
    """Nothing can ever be staged here: the engine finds the weights that it commits by itself."""


class InstallFailed(EngineError):
    """A commit stopped half-way: the resident weights are in doubt, the engine must be replaced."""


class FinishReason(StrEnum):
    """Why a request ended."""

    STOP = "stop"
    LENGTH = "length"
    ABORTED = "aborted"
    FAILED = "failed"


class AbortOutcome(StrEnum):
    """What an abort found: a request that it stopped, one that had ended, one that never came.

    After any of these the request does not run and never will.
    """

    STOPPED = "stopped"
    FINISHED = "finished"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Request:
    """One generation. `request_id` is the lease's id and is never used again.

    `temperature` 0 is greedy. `stop_ids` end the generation and are delivered as its last token. `seed`
    alone decides the random numbers, whatever else is in the batch.
    """

    request_id: str
    prompt_ids: Sequence[int]
    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    stop_ids: Sequence[int] = ()
    seed: int = 0


class Token(NamedTuple):
    """One generated token. `logprob` (natural logarithm) is that of `id` under the distribution that it was
    drawn from: at the request's temperature, cut by its top_p and normalised; greedy: at temperature 1.
    `version` is that of the weights which made it."""

    id: int
    logprob: float
    version: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a request; `why` is empty unless it was aborted or failed."""

    reason: FinishReason
    why: str = ""


class Sink(Protocol):
    """Where one request's output goes. All methods are called on the event loop, in order."""

    def tokens(self, tokens: Sequence[Token]) -> None:
        """The next tokens, at least one."""
        ...

    def suspended(self, epoch: int) -> None:
        """The request is frozen by `epoch`; every token made before has been given."""
        ...

    def continued(self, epoch: int) -> None:
        """The request runs again, by the continue of `epoch`."""
        ...

    def finished(self, finish: Finish) -> None:
        """The request has ended; nothing follows."""
        ...

    def lost(self, why: str) -> None:
        """What carried the output of the request is gone: it may run or not, and nothing more is heard of it."""
        ...


@dataclass(frozen=True, slots=True)
class Resident:
    """What the ranks hold: `version` is none before the first install, `digests` is per rank."""

    version: int | None
    digests: dict[str, str]


@dataclass(frozen=True, slots=True)
class Health:
    """`ok` is false for ever once the engine failed, and `why` says how. `resident`: weights of `version`
    are in device memory. `step_age_s`: seconds that the step now running has taken, none between steps."""

    ok: bool
    why: str
    version: int | None
    resident: bool
    running: int
    waiting: int
    frozen_epoch: int | None
    step_age_s: float | None
    steps: int
    tokens: int


class Engine(Protocol):
    """One data-parallel replica's engine. Methods are called on one event loop."""

    @property
    def ranks(self) -> tuple[str, ...]:
        """The names of its ranks."""
        ...

    @property
    def caches(self) -> tuple[str, ...]:
        """The names of every cache that holds something computed from weights."""
        ...

    def check(self, request: Request) -> None:
        """Raises InvalidRequest for a request that could never run."""
        ...

    def generate(self, request: Request, sink: Sink) -> None:
        """Takes a request; its end, a failure included, comes through `sink`.

        Raises InvalidRequest for one that could never run, EngineError when the engine does not run.
        """
        ...

    async def abort(self, request_id: str) -> AbortOutcome:
        """Ends a request wherever it is; an unknown one is remembered and refused if it still comes."""
        ...

    async def running(self) -> list[str]:
        """Every request that the engine holds, waiting, running or frozen, or that is still on its way to it.

        One that was given to it and is not listed does not run and never will: an engine behind a connection
        leaves a request out only once what carried it is proven closed.
        """
        ...

    async def freeze(self, epoch: int) -> list[str]:
        """Stops every request where it is, and those that arrive from now on; gives their ids.

        They keep tokens, budget and sampling state. A freeze that a continue of its epoch or a later one
        has overtaken does nothing and gives none.
        """
        ...

    async def continue_(self, epoch: int) -> bool:
        """Lets frozen requests run on; false, and nothing done, when `epoch` is below that of the freeze."""
        ...

    async def quiesce(self) -> tuple[str, ...]:
        """Waits until no request runs and the device is idle; gives the ranks that answered."""
        ...

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        """Receives and verifies weights beside the resident ones, so that `commit` only has to change them; requests
        run on meanwhile. One that installs in place only judges whether they fit. A version that is staged or
        resident already is not received again; another one that was staged is given up.

        Raises WeightsError, EngineError while memory is released, NoStaging; the resident weights are untouched.
        """
        ...

    async def commit(self, version: int) -> dict[str, str]:
        """Makes the staged `version` resident, resets all caches, and gives the digest that each rank holds.

        A repeat for the resident version gives the digests again. Raises NotStaged, EngineBusy while a
        request runs (frozen ones may wait), InstallFailed when the weights are in doubt, any other EngineError
        when it was not answered. One that installs in place raises WeightsError where it failed before it had put a
        byte: what is resident stays, and it may be given again.
        """
        ...

    async def resident_digest(self) -> Resident:
        """Digests computed now from the parameters that the ranks hold."""
        ...

    async def reset_caches(self) -> dict[str, bool]:
        """Empties every cache; the answer of each of `caches`. Raises EngineBusy while a request runs."""
        ...

    async def release_memory(self) -> None:
        """Frees the memory of weights and caches. Raises EngineBusy while a request is held."""
        ...

    async def restore_memory(self) -> None:
        """Takes the memory back; no version is resident until the next commit."""
        ...

    def health(self) -> Health:
        """Answers at once, whatever the engine does."""
        ...

    async def close(self) -> None:
        """Ends every request as failed and stops the engine."""
        ...


def require_caches_reset(caches: Sequence[str], answers: dict[str, bool]) -> None:
    """Raises EngineError when a cache did not answer or was not reset: it would mix two versions."""
    silent = [cache for cache in caches if not answers.get(cache, False)]
    if silent:
        raise EngineError(f"caches {silent} were not reset: answers of an older version may be in them")
