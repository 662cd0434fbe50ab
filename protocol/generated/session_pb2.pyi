# Made by `sluicegate generate` from Session; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_NEW: _ClassVar[SessionState]
    SESSION_STATE_BINDING: _ClassVar[SessionState]
    SESSION_STATE_BOUND: _ClassVar[SessionState]
    SESSION_STATE_TURN: _ClassVar[SessionState]
    SESSION_STATE_FINISHED: _ClassVar[SessionState]
    SESSION_STATE_TRAINING: _ClassVar[SessionState]
    SESSION_STATE_RETIRING: _ClassVar[SessionState]
    SESSION_STATE_RETIRED: _ClassVar[SessionState]
    SESSION_STATE_LOST: _ClassVar[SessionState]

class SessionRebinding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_REBINDING_UNSPECIFIED: _ClassVar[SessionRebinding]
    SESSION_REBINDING_NEVER: _ClassVar[SessionRebinding]
    SESSION_REBINDING_ON_LOSS: _ClassVar[SessionRebinding]
    SESSION_REBINDING_ON_EVACUATION: _ClassVar[SessionRebinding]
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_NEW: SessionState
SESSION_STATE_BINDING: SessionState
SESSION_STATE_BOUND: SessionState
SESSION_STATE_TURN: SessionState
SESSION_STATE_FINISHED: SessionState
SESSION_STATE_TRAINING: SessionState
SESSION_STATE_RETIRING: SessionState
SESSION_STATE_RETIRED: SessionState
SESSION_STATE_LOST: SessionState
SESSION_REBINDING_UNSPECIFIED: SessionRebinding
SESSION_REBINDING_NEVER: SessionRebinding
SESSION_REBINDING_ON_LOSS: SessionRebinding
SESSION_REBINDING_ON_EVACUATION: SessionRebinding

class SessionSnapshot(_message.Message):
    __slots__ = ("state", "policy", "leases", "replica", "incarnation", "binding", "consumer")
    STATE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    state: SessionState
    policy: SessionRebinding
    leases: _containers.RepeatedScalarFieldContainer[str]
    replica: str
    incarnation: str
    binding: int
    consumer: str
    def __init__(self, state: _Optional[_Union[SessionState, str]] = ..., policy: _Optional[_Union[SessionRebinding, str]] = ..., leases: _Optional[_Iterable[str]] = ..., replica: _Optional[str] = ..., incarnation: _Optional[str] = ..., binding: _Optional[int] = ..., consumer: _Optional[str] = ...) -> None: ...

class SessionFence(_message.Message):
    __slots__ = ("incarnation", "operation_id")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    operation_id: str
    def __init__(self, incarnation: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class SessionFinishRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: SessionFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[SessionFence, _Mapping]] = ...) -> None: ...

class SessionTakeRequest(_message.Message):
    __slots__ = ("instance", "fence", "consumer")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: SessionFence
    consumer: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[SessionFence, _Mapping]] = ..., consumer: _Optional[str] = ...) -> None: ...

class SessionReleaseRequest(_message.Message):
    __slots__ = ("instance", "fence", "consumer")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: SessionFence
    consumer: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[SessionFence, _Mapping]] = ..., consumer: _Optional[str] = ...) -> None: ...

class SessionRetireRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: SessionFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[SessionFence, _Mapping]] = ...) -> None: ...

class SessionRebindRequest(_message.Message):
    __slots__ = ("instance", "fence", "replica", "incarnation")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: SessionFence
    replica: str
    incarnation: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[SessionFence, _Mapping]] = ..., replica: _Optional[str] = ..., incarnation: _Optional[str] = ...) -> None: ...

class SessionReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[SessionReply.Kind]
        KIND_GO: _ClassVar[SessionReply.Kind]
        KIND_STAY: _ClassVar[SessionReply.Kind]
        KIND_IGNORE: _ClassVar[SessionReply.Kind]
        KIND_REFUSE: _ClassVar[SessionReply.Kind]
    KIND_UNSPECIFIED: SessionReply.Kind
    KIND_GO: SessionReply.Kind
    KIND_STAY: SessionReply.Kind
    KIND_IGNORE: SessionReply.Kind
    KIND_REFUSE: SessionReply.Kind
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
    snapshot: SessionSnapshot
    replayed: bool
    kind: SessionReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[SessionSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[SessionReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class SessionGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class SessionWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class SessionTransition(_message.Message):
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
    snapshot: SessionSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[SessionSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
