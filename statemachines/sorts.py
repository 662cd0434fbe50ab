"""The names and enumerations that several machines share."""

from enum import StrEnum

from .expressions import Id


class LeaseId(Id):
    """One admitted generation request. Never used twice."""


class SessionId(Id):
    """One agent's conversation."""


class ReplicaId(Id):
    """One rollout engine with one gate in front of it."""


class Incarnation(Id):
    """One life of a process."""


class Rank(Id):
    """One rank of a replica."""


class Digest(Id):
    """The digest of the weights that are resident on a rank."""


class OperationId(Id):
    """One control operation."""


class Consumer(Id):
    """Who reads the trace of a finished session."""


class BatchId(Id):
    """One batch of training samples."""


class Mode(StrEnum):
    """What a drain does with the leases that run."""

    WAIT = "wait"
    ABORT = "abort"
    KEEP = "keep"


class Ending(StrEnum):
    """How a lease ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    NOT_SENT = "not_sent"
    DISCARDED = "discarded"


class TurnId(Id):
    """One turn of an agent: from what it asks of the model to what it makes of the answer."""


class Stage(StrEnum):
    """How much of a training run is done."""

    WHOLE = "whole"
    ROLLOUT_ONLY = "rollout_only"
    TRAIN_ONLY = "train_only"
