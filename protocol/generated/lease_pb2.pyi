# Made by `sluicegate generate` from Lease; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LeaseState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEASE_STATE_UNSPECIFIED: _ClassVar[LeaseState]
    LEASE_STATE_ADMITTED: _ClassVar[LeaseState]
    LEASE_STATE_FORWARDED: _ClassVar[LeaseState]
    LEASE_STATE_SUSPENDED: _ClassVar[LeaseState]
    LEASE_STATE_ENDED: _ClassVar[LeaseState]
    LEASE_STATE_ORPHANED: _ClassVar[LeaseState]
    LEASE_STATE_SETTLED: _ClassVar[LeaseState]
    LEASE_STATE_LOST: _ClassVar[LeaseState]

class LeaseEnding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEASE_ENDING_UNSPECIFIED: _ClassVar[LeaseEnding]
    LEASE_ENDING_COMPLETED: _ClassVar[LeaseEnding]
    LEASE_ENDING_FAILED: _ClassVar[LeaseEnding]
    LEASE_ENDING_ABORTED: _ClassVar[LeaseEnding]
    LEASE_ENDING_NOT_SENT: _ClassVar[LeaseEnding]
    LEASE_ENDING_DISCARDED: _ClassVar[LeaseEnding]
LEASE_STATE_UNSPECIFIED: LeaseState
LEASE_STATE_ADMITTED: LeaseState
LEASE_STATE_FORWARDED: LeaseState
LEASE_STATE_SUSPENDED: LeaseState
LEASE_STATE_ENDED: LeaseState
LEASE_STATE_ORPHANED: LeaseState
LEASE_STATE_SETTLED: LeaseState
LEASE_STATE_LOST: LeaseState
LEASE_ENDING_UNSPECIFIED: LeaseEnding
LEASE_ENDING_COMPLETED: LeaseEnding
LEASE_ENDING_FAILED: LeaseEnding
LEASE_ENDING_ABORTED: LeaseEnding
LEASE_ENDING_NOT_SENT: LeaseEnding
LEASE_ENDING_DISCARDED: LeaseEnding

class LeaseSnapshot(_message.Message):
    __slots__ = ("state", "session", "spans", "ending")
    class SpansEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    STATE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    state: LeaseState
    session: str
    spans: _containers.ScalarMap[int, int]
    ending: LeaseEnding
    def __init__(self, state: _Optional[_Union[LeaseState, str]] = ..., session: _Optional[str] = ..., spans: _Optional[_Mapping[int, int]] = ..., ending: _Optional[_Union[LeaseEnding, str]] = ...) -> None: ...

class LeaseFence(_message.Message):
    __slots__ = ("incarnation", "operation_id")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    operation_id: str
    def __init__(self, incarnation: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class LeaseCancelRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: LeaseFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[LeaseFence, _Mapping]] = ...) -> None: ...

class LeaseReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[LeaseReply.Kind]
        KIND_GO: _ClassVar[LeaseReply.Kind]
        KIND_STAY: _ClassVar[LeaseReply.Kind]
        KIND_IGNORE: _ClassVar[LeaseReply.Kind]
        KIND_REFUSE: _ClassVar[LeaseReply.Kind]
    KIND_UNSPECIFIED: LeaseReply.Kind
    KIND_GO: LeaseReply.Kind
    KIND_STAY: LeaseReply.Kind
    KIND_IGNORE: LeaseReply.Kind
    KIND_REFUSE: LeaseReply.Kind
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
    snapshot: LeaseSnapshot
    replayed: bool
    kind: LeaseReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[LeaseSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[LeaseReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class LeaseGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class LeaseWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class LeaseTransition(_message.Message):
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
    snapshot: LeaseSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[LeaseSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
