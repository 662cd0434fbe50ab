# Made by `sluicegate generate` from Trainer; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TrainerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRAINER_STATE_UNSPECIFIED: _ClassVar[TrainerState]
    TRAINER_STATE_IDLE: _ClassVar[TrainerState]
    TRAINER_STATE_TRAINING: _ClassVar[TrainerState]
    TRAINER_STATE_PUBLISHING: _ClassVar[TrainerState]
    TRAINER_STATE_SAVING: _ClassVar[TrainerState]
    TRAINER_STATE_LOADING: _ClassVar[TrainerState]
    TRAINER_STATE_FAILED: _ClassVar[TrainerState]
TRAINER_STATE_UNSPECIFIED: TrainerState
TRAINER_STATE_IDLE: TrainerState
TRAINER_STATE_TRAINING: TrainerState
TRAINER_STATE_PUBLISHING: TrainerState
TRAINER_STATE_SAVING: TrainerState
TRAINER_STATE_LOADING: TrainerState
TRAINER_STATE_FAILED: TrainerState

class TrainerSnapshot(_message.Message):
    __slots__ = ("state", "term", "version", "publishing", "batch", "ranks", "job", "done", "unable", "digest")
    STATE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PUBLISHING_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    RANKS_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    UNABLE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    state: TrainerState
    term: int
    version: int
    publishing: int
    batch: str
    ranks: _containers.RepeatedScalarFieldContainer[str]
    job: int
    done: _containers.RepeatedScalarFieldContainer[str]
    unable: _containers.RepeatedScalarFieldContainer[str]
    digest: str
    def __init__(self, state: _Optional[_Union[TrainerState, str]] = ..., term: _Optional[int] = ..., version: _Optional[int] = ..., publishing: _Optional[int] = ..., batch: _Optional[str] = ..., ranks: _Optional[_Iterable[str]] = ..., job: _Optional[int] = ..., done: _Optional[_Iterable[str]] = ..., unable: _Optional[_Iterable[str]] = ..., digest: _Optional[str] = ...) -> None: ...

class TrainerTermFence(_message.Message):
    __slots__ = ("incarnation", "operation_id", "term")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    operation_id: str
    term: int
    def __init__(self, incarnation: _Optional[str] = ..., operation_id: _Optional[str] = ..., term: _Optional[int] = ...) -> None: ...

class TrainerClaimRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: TrainerTermFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[TrainerTermFence, _Mapping]] = ...) -> None: ...

class TrainerTrainRequest(_message.Message):
    __slots__ = ("instance", "fence", "batch")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: TrainerTermFence
    batch: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[TrainerTermFence, _Mapping]] = ..., batch: _Optional[str] = ...) -> None: ...

class TrainerPublishRequest(_message.Message):
    __slots__ = ("instance", "fence", "version")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: TrainerTermFence
    version: int
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[TrainerTermFence, _Mapping]] = ..., version: _Optional[int] = ...) -> None: ...

class TrainerSaveRequest(_message.Message):
    __slots__ = ("instance", "fence", "path")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: TrainerTermFence
    path: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[TrainerTermFence, _Mapping]] = ..., path: _Optional[str] = ...) -> None: ...

class TrainerLoadRequest(_message.Message):
    __slots__ = ("instance", "fence", "path")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: TrainerTermFence
    path: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[TrainerTermFence, _Mapping]] = ..., path: _Optional[str] = ...) -> None: ...

class TrainerReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[TrainerReply.Kind]
        KIND_GO: _ClassVar[TrainerReply.Kind]
        KIND_STAY: _ClassVar[TrainerReply.Kind]
        KIND_IGNORE: _ClassVar[TrainerReply.Kind]
        KIND_REFUSE: _ClassVar[TrainerReply.Kind]
    KIND_UNSPECIFIED: TrainerReply.Kind
    KIND_GO: TrainerReply.Kind
    KIND_STAY: TrainerReply.Kind
    KIND_IGNORE: TrainerReply.Kind
    KIND_REFUSE: TrainerReply.Kind
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
    snapshot: TrainerSnapshot
    replayed: bool
    kind: TrainerReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[TrainerSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[TrainerReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class TrainerGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class TrainerWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class TrainerTransition(_message.Message):
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
    snapshot: TrainerSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[TrainerSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
