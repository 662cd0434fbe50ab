# Made by `sluicegate generate` from Replica; change the declaration, not this file.
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReplicaState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLICA_STATE_UNSPECIFIED: _ClassVar[ReplicaState]
    REPLICA_STATE_STARTING: _ClassVar[ReplicaState]
    REPLICA_STATE_SYNCING: _ClassVar[ReplicaState]
    REPLICA_STATE_SERVING: _ClassVar[ReplicaState]
    REPLICA_STATE_SUSPECT: _ClassVar[ReplicaState]
    REPLICA_STATE_LEAVING: _ClassVar[ReplicaState]
    REPLICA_STATE_DEAD: _ClassVar[ReplicaState]
REPLICA_STATE_UNSPECIFIED: ReplicaState
REPLICA_STATE_STARTING: ReplicaState
REPLICA_STATE_SYNCING: ReplicaState
REPLICA_STATE_SERVING: ReplicaState
REPLICA_STATE_SUSPECT: ReplicaState
REPLICA_STATE_LEAVING: ReplicaState
REPLICA_STATE_DEAD: ReplicaState

class ReplicaSnapshot(_message.Message):
    __slots__ = ("state", "patience", "version", "missed_probes", "installing")
    STATE_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MISSED_PROBES_FIELD_NUMBER: _ClassVar[int]
    INSTALLING_FIELD_NUMBER: _ClassVar[int]
    state: ReplicaState
    patience: int
    version: int
    missed_probes: int
    installing: bool
    def __init__(self, state: _Optional[_Union[ReplicaState, str]] = ..., patience: _Optional[int] = ..., version: _Optional[int] = ..., missed_probes: _Optional[int] = ..., installing: _Optional[bool] = ...) -> None: ...

class ReplicaFence(_message.Message):
    __slots__ = ("incarnation", "operation_id")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    operation_id: str
    def __init__(self, incarnation: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class ReplicaLeaveRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: ReplicaFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[ReplicaFence, _Mapping]] = ...) -> None: ...

class ReplicaReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[ReplicaReply.Kind]
        KIND_GO: _ClassVar[ReplicaReply.Kind]
        KIND_STAY: _ClassVar[ReplicaReply.Kind]
        KIND_IGNORE: _ClassVar[ReplicaReply.Kind]
        KIND_REFUSE: _ClassVar[ReplicaReply.Kind]
    KIND_UNSPECIFIED: ReplicaReply.Kind
    KIND_GO: ReplicaReply.Kind
    KIND_STAY: ReplicaReply.Kind
    KIND_IGNORE: ReplicaReply.Kind
    KIND_REFUSE: ReplicaReply.Kind
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    instance: str
    incarnation: str
    number: int
    snapshot: ReplicaSnapshot
    replayed: bool
    kind: ReplicaReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[ReplicaSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[ReplicaReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class ReplicaGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class ReplicaWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class ReplicaTransition(_message.Message):
    __slots__ = ("incarnation", "number", "snapshot", "fresh", "event", "rule", "cause")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    number: int
    snapshot: ReplicaSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[ReplicaSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
