# Made by `sluicegate generate` from controller.proto, front.proto, rollout.proto, training.proto, weights.proto, window.proto; change those, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Drain(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DRAIN_UNSPECIFIED: _ClassVar[Drain]
    DRAIN_WAIT: _ClassVar[Drain]
    DRAIN_ABORT: _ClassVar[Drain]
    DRAIN_KEEP: _ClassVar[Drain]
DRAIN_UNSPECIFIED: Drain
DRAIN_WAIT: Drain
DRAIN_ABORT: Drain
DRAIN_KEEP: Drain

class SyncVersionRequest(_message.Message):
    __slots__ = ("operation_id", "version")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    version: int
    def __init__(self, operation_id: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class PauseRequest(_message.Message):
    __slots__ = ("operation_id", "mode")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    mode: Drain
    def __init__(self, operation_id: _Optional[str] = ..., mode: _Optional[_Union[Drain, str]] = ...) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = ("operation_id",)
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    def __init__(self, operation_id: _Optional[str] = ...) -> None: ...

class LendDevicesRequest(_message.Message):
    __slots__ = ("operation_id", "version", "mode")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    version: int
    mode: Drain
    def __init__(self, operation_id: _Optional[str] = ..., version: _Optional[int] = ..., mode: _Optional[_Union[Drain, str]] = ...) -> None: ...

class DevicesReturnedRequest(_message.Message):
    __slots__ = ("operation_id", "lend", "version")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    LEND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    lend: str
    version: int
    def __init__(self, operation_id: _Optional[str] = ..., lend: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class PoisonRequest(_message.Message):
    __slots__ = ("operation_id", "replica", "why")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    replica: str
    why: str
    def __init__(self, operation_id: _Optional[str] = ..., replica: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class EvacuatedRequest(_message.Message):
    __slots__ = ("operation_id", "incarnation")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    incarnation: str
    def __init__(self, operation_id: _Optional[str] = ..., incarnation: _Optional[str] = ...) -> None: ...

class OperationAnswer(_message.Message):
    __slots__ = ("operation_id", "replayed", "result", "reason", "text", "retry", "term", "epoch", "version", "left_behind")
    class Result(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RESULT_UNSPECIFIED: _ClassVar[OperationAnswer.Result]
        RESULT_PUBLISHED: _ClassVar[OperationAnswer.Result]
        RESULT_PAUSED: _ClassVar[OperationAnswer.Result]
        RESULT_RESUMED: _ClassVar[OperationAnswer.Result]
        RESULT_POISONED: _ClassVar[OperationAnswer.Result]
        RESULT_EVACUATED: _ClassVar[OperationAnswer.Result]
        RESULT_REFUSED: _ClassVar[OperationAnswer.Result]
        RESULT_FAILED: _ClassVar[OperationAnswer.Result]
        RESULT_LENT: _ClassVar[OperationAnswer.Result]
    RESULT_UNSPECIFIED: OperationAnswer.Result
    RESULT_PUBLISHED: OperationAnswer.Result
    RESULT_PAUSED: OperationAnswer.Result
    RESULT_RESUMED: OperationAnswer.Result
    RESULT_POISONED: OperationAnswer.Result
    RESULT_EVACUATED: OperationAnswer.Result
    RESULT_REFUSED: OperationAnswer.Result
    RESULT_FAILED: OperationAnswer.Result
    RESULT_LENT: OperationAnswer.Result
    class LeftBehindEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEFT_BEHIND_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    replayed: bool
    result: OperationAnswer.Result
    reason: str
    text: str
    retry: bool
    term: int
    epoch: int
    version: int
    left_behind: _containers.ScalarMap[str, str]
    def __init__(self, operation_id: _Optional[str] = ..., replayed: _Optional[bool] = ..., result: _Optional[_Union[OperationAnswer.Result, str]] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ..., term: _Optional[int] = ..., epoch: _Optional[int] = ..., version: _Optional[int] = ..., left_behind: _Optional[_Mapping[str, str]] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusAnswer(_message.Message):
    __slots__ = ("term", "incarnation", "taking_over", "published", "paused", "operation", "replicas", "held")
    class HeldEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TERM_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    TAKING_OVER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    term: int
    incarnation: str
    taking_over: bool
    published: int
    paused: bool
    operation: OperationStatus
    replicas: _containers.RepeatedCompositeFieldContainer[ReplicaStatus]
    held: _containers.ScalarMap[str, str]
    def __init__(self, term: _Optional[int] = ..., incarnation: _Optional[str] = ..., taking_over: _Optional[bool] = ..., published: _Optional[int] = ..., paused: _Optional[bool] = ..., operation: _Optional[_Union[OperationStatus, _Mapping]] = ..., replicas: _Optional[_Iterable[_Union[ReplicaStatus, _Mapping]]] = ..., held: _Optional[_Mapping[str, str]] = ...) -> None: ...

class OperationStatus(_message.Message):
    __slots__ = ("epoch", "version", "phase", "members", "awaited", "left", "left_behind")
    class LeftBehindEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    LEFT_BEHIND_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    version: int
    phase: str
    members: _containers.RepeatedScalarFieldContainer[str]
    awaited: _containers.RepeatedScalarFieldContainer[str]
    left: float
    left_behind: _containers.ScalarMap[str, str]
    def __init__(self, epoch: _Optional[int] = ..., version: _Optional[int] = ..., phase: _Optional[str] = ..., members: _Optional[_Iterable[str]] = ..., awaited: _Optional[_Iterable[str]] = ..., left: _Optional[float] = ..., left_behind: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReplicaStatus(_message.Message):
    __slots__ = ("replica", "incarnation", "state", "gate", "unanswered", "epoch", "term", "version", "target", "active", "suspended", "orphaned", "waits_for", "why_behind")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    ORPHANED_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    WHY_BEHIND_FIELD_NUMBER: _ClassVar[int]
    replica: str
    incarnation: str
    state: str
    gate: str
    unanswered: str
    epoch: int
    term: int
    version: int
    target: int
    active: int
    suspended: int
    orphaned: int
    waits_for: str
    why_behind: str
    def __init__(self, replica: _Optional[str] = ..., incarnation: _Optional[str] = ..., state: _Optional[str] = ..., gate: _Optional[str] = ..., unanswered: _Optional[str] = ..., epoch: _Optional[int] = ..., term: _Optional[int] = ..., version: _Optional[int] = ..., target: _Optional[int] = ..., active: _Optional[int] = ..., suspended: _Optional[int] = ..., orphaned: _Optional[int] = ..., waits_for: _Optional[str] = ..., why_behind: _Optional[str] = ...) -> None: ...
