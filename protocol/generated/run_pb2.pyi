# Made by `sluicegate generate` from Run; change the declaration, not this file.
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_STARTING: _ClassVar[RunState]
    RUN_STATE_PRODUCING: _ClassVar[RunState]
    RUN_STATE_LENDING: _ClassVar[RunState]
    RUN_STATE_TRAINING: _ClassVar[RunState]
    RUN_STATE_PUBLISHING: _ClassVar[RunState]
    RUN_STATE_SYNCING: _ClassVar[RunState]
    RUN_STATE_SAVING: _ClassVar[RunState]
    RUN_STATE_RESTORING: _ClassVar[RunState]
    RUN_STATE_ENDING: _ClassVar[RunState]
    RUN_STATE_ENDED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]

class RunStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STAGE_UNSPECIFIED: _ClassVar[RunStage]
    RUN_STAGE_WHOLE: _ClassVar[RunStage]
    RUN_STAGE_ROLLOUT_ONLY: _ClassVar[RunStage]
    RUN_STAGE_TRAIN_ONLY: _ClassVar[RunStage]
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_STARTING: RunState
RUN_STATE_PRODUCING: RunState
RUN_STATE_LENDING: RunState
RUN_STATE_TRAINING: RunState
RUN_STATE_PUBLISHING: RunState
RUN_STATE_SYNCING: RunState
RUN_STATE_SAVING: RunState
RUN_STATE_RESTORING: RunState
RUN_STATE_ENDING: RunState
RUN_STATE_ENDED: RunState
RUN_STATE_FAILED: RunState
RUN_STAGE_UNSPECIFIED: RunStage
RUN_STAGE_WHOLE: RunStage
RUN_STAGE_ROLLOUT_ONLY: RunStage
RUN_STAGE_TRAIN_ONLY: RunStage

class RunSnapshot(_message.Message):
    __slots__ = ("state", "colocated", "stage", "goal", "save_every", "sync_every", "update", "kept", "renewed", "version", "due", "reason")
    STATE_FIELD_NUMBER: _ClassVar[int]
    COLOCATED_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    SAVE_EVERY_FIELD_NUMBER: _ClassVar[int]
    SYNC_EVERY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    RENEWED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    state: RunState
    colocated: bool
    stage: RunStage
    goal: int
    save_every: int
    sync_every: int
    update: int
    kept: int
    renewed: int
    version: int
    due: bool
    reason: str
    def __init__(self, state: _Optional[_Union[RunState, str]] = ..., colocated: _Optional[bool] = ..., stage: _Optional[_Union[RunStage, str]] = ..., goal: _Optional[int] = ..., save_every: _Optional[int] = ..., sync_every: _Optional[int] = ..., update: _Optional[int] = ..., kept: _Optional[int] = ..., renewed: _Optional[int] = ..., version: _Optional[int] = ..., due: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class RunReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[RunReply.Kind]
        KIND_GO: _ClassVar[RunReply.Kind]
        KIND_STAY: _ClassVar[RunReply.Kind]
        KIND_IGNORE: _ClassVar[RunReply.Kind]
        KIND_REFUSE: _ClassVar[RunReply.Kind]
    KIND_UNSPECIFIED: RunReply.Kind
    KIND_GO: RunReply.Kind
    KIND_STAY: RunReply.Kind
    KIND_IGNORE: RunReply.Kind
    KIND_REFUSE: RunReply.Kind
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
    snapshot: RunSnapshot
    replayed: bool
    kind: RunReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[RunSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[RunReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class RunGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class RunWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class RunTransition(_message.Message):
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
    snapshot: RunSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[RunSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
