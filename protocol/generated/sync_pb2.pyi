# Made by `sluicegate generate` from Sync; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SyncState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SYNC_STATE_UNSPECIFIED: _ClassVar[SyncState]
    SYNC_STATE_IDLE: _ClassVar[SyncState]
    SYNC_STATE_SEALING: _ClassVar[SyncState]
    SYNC_STATE_DRAINING: _ClassVar[SyncState]
    SYNC_STATE_LENT: _ClassVar[SyncState]
    SYNC_STATE_INSTALLING: _ClassVar[SyncState]
    SYNC_STATE_RECORDING: _ClassVar[SyncState]
    SYNC_STATE_REOPENING: _ClassVar[SyncState]
    SYNC_STATE_ROLLING_BACK: _ClassVar[SyncState]
    SYNC_STATE_FAILED: _ClassVar[SyncState]

class SyncMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SYNC_MODE_UNSPECIFIED: _ClassVar[SyncMode]
    SYNC_MODE_WAIT: _ClassVar[SyncMode]
    SYNC_MODE_ABORT: _ClassVar[SyncMode]
    SYNC_MODE_KEEP: _ClassVar[SyncMode]
SYNC_STATE_UNSPECIFIED: SyncState
SYNC_STATE_IDLE: SyncState
SYNC_STATE_SEALING: SyncState
SYNC_STATE_DRAINING: SyncState
SYNC_STATE_LENT: SyncState
SYNC_STATE_INSTALLING: SyncState
SYNC_STATE_RECORDING: SyncState
SYNC_STATE_REOPENING: SyncState
SYNC_STATE_ROLLING_BACK: SyncState
SYNC_STATE_FAILED: SyncState
SYNC_MODE_UNSPECIFIED: SyncMode
SYNC_MODE_WAIT: SyncMode
SYNC_MODE_ABORT: SyncMode
SYNC_MODE_KEEP: SyncMode

class SyncSnapshot(_message.Message):
    __slots__ = ("state", "term", "minimum", "epoch", "published", "version", "mode", "lend", "members", "answered", "refusing")
    STATE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    LEND_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    REFUSING_FIELD_NUMBER: _ClassVar[int]
    state: SyncState
    term: int
    minimum: int
    epoch: int
    published: int
    version: int
    mode: SyncMode
    lend: bool
    members: _containers.RepeatedScalarFieldContainer[str]
    answered: _containers.RepeatedScalarFieldContainer[str]
    refusing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, state: _Optional[_Union[SyncState, str]] = ..., term: _Optional[int] = ..., minimum: _Optional[int] = ..., epoch: _Optional[int] = ..., published: _Optional[int] = ..., version: _Optional[int] = ..., mode: _Optional[_Union[SyncMode, str]] = ..., lend: _Optional[bool] = ..., members: _Optional[_Iterable[str]] = ..., answered: _Optional[_Iterable[str]] = ..., refusing: _Optional[_Iterable[str]] = ...) -> None: ...

class SyncReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[SyncReply.Kind]
        KIND_GO: _ClassVar[SyncReply.Kind]
        KIND_STAY: _ClassVar[SyncReply.Kind]
        KIND_IGNORE: _ClassVar[SyncReply.Kind]
        KIND_REFUSE: _ClassVar[SyncReply.Kind]
    KIND_UNSPECIFIED: SyncReply.Kind
    KIND_GO: SyncReply.Kind
    KIND_STAY: SyncReply.Kind
    KIND_IGNORE: SyncReply.Kind
    KIND_REFUSE: SyncReply.Kind
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
    snapshot: SyncSnapshot
    replayed: bool
    kind: SyncReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[SyncSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[SyncReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class SyncGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class SyncWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class SyncTransition(_message.Message):
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
    snapshot: SyncSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[SyncSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
