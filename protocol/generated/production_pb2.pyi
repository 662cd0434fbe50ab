# Made by `sluicegate generate` from Production; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProductionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRODUCTION_STATE_UNSPECIFIED: _ClassVar[ProductionState]
    PRODUCTION_STATE_STOPPED: _ClassVar[ProductionState]
    PRODUCTION_STATE_RUNNING: _ClassVar[ProductionState]
    PRODUCTION_STATE_CLOSED: _ClassVar[ProductionState]
PRODUCTION_STATE_UNSPECIFIED: ProductionState
PRODUCTION_STATE_STOPPED: ProductionState
PRODUCTION_STATE_RUNNING: ProductionState
PRODUCTION_STATE_CLOSED: ProductionState

class ProductionSnapshot(_message.Message):
    __slots__ = ("state", "next_group", "again", "in_flight", "ready", "claimed")
    STATE_FIELD_NUMBER: _ClassVar[int]
    NEXT_GROUP_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_FIELD_NUMBER: _ClassVar[int]
    state: ProductionState
    next_group: int
    again: _containers.RepeatedScalarFieldContainer[int]
    in_flight: _containers.RepeatedScalarFieldContainer[int]
    ready: _containers.RepeatedScalarFieldContainer[int]
    claimed: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, state: _Optional[_Union[ProductionState, str]] = ..., next_group: _Optional[int] = ..., again: _Optional[_Iterable[int]] = ..., in_flight: _Optional[_Iterable[int]] = ..., ready: _Optional[_Iterable[int]] = ..., claimed: _Optional[_Iterable[int]] = ...) -> None: ...

class ProductionReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[ProductionReply.Kind]
        KIND_GO: _ClassVar[ProductionReply.Kind]
        KIND_STAY: _ClassVar[ProductionReply.Kind]
        KIND_IGNORE: _ClassVar[ProductionReply.Kind]
        KIND_REFUSE: _ClassVar[ProductionReply.Kind]
    KIND_UNSPECIFIED: ProductionReply.Kind
    KIND_GO: ProductionReply.Kind
    KIND_STAY: ProductionReply.Kind
    KIND_IGNORE: ProductionReply.Kind
    KIND_REFUSE: ProductionReply.Kind
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
    snapshot: ProductionSnapshot
    replayed: bool
    kind: ProductionReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[ProductionSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[ProductionReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class ProductionGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class ProductionWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class ProductionTransition(_message.Message):
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
    snapshot: ProductionSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[ProductionSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
