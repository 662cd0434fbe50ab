# Made by `sluicegate generate` from Agents; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentsState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENTS_STATE_UNSPECIFIED: _ClassVar[AgentsState]
    AGENTS_STATE_FLOWING: _ClassVar[AgentsState]
    AGENTS_STATE_PAUSING: _ClassVar[AgentsState]
    AGENTS_STATE_QUIET: _ClassVar[AgentsState]
    AGENTS_STATE_CLOSED: _ClassVar[AgentsState]
AGENTS_STATE_UNSPECIFIED: AgentsState
AGENTS_STATE_FLOWING: AgentsState
AGENTS_STATE_PAUSING: AgentsState
AGENTS_STATE_QUIET: AgentsState
AGENTS_STATE_CLOSED: AgentsState

class AgentsSnapshot(_message.Message):
    __slots__ = ("state", "turns")
    STATE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    state: AgentsState
    turns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, state: _Optional[_Union[AgentsState, str]] = ..., turns: _Optional[_Iterable[str]] = ...) -> None: ...

class AgentsReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[AgentsReply.Kind]
        KIND_GO: _ClassVar[AgentsReply.Kind]
        KIND_STAY: _ClassVar[AgentsReply.Kind]
        KIND_IGNORE: _ClassVar[AgentsReply.Kind]
        KIND_REFUSE: _ClassVar[AgentsReply.Kind]
    KIND_UNSPECIFIED: AgentsReply.Kind
    KIND_GO: AgentsReply.Kind
    KIND_STAY: AgentsReply.Kind
    KIND_IGNORE: AgentsReply.Kind
    KIND_REFUSE: AgentsReply.Kind
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
    snapshot: AgentsSnapshot
    replayed: bool
    kind: AgentsReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[AgentsSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[AgentsReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class AgentsGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class AgentsWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class AgentsTransition(_message.Message):
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
    snapshot: AgentsSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[AgentsSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
