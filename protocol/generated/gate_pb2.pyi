# Made by `sluicegate generate` from Gate; change the declaration, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GateState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GATE_STATE_UNSPECIFIED: _ClassVar[GateState]
    GATE_STATE_SEALED: _ClassVar[GateState]
    GATE_STATE_DRAINING: _ClassVar[GateState]
    GATE_STATE_INSTALLING: _ClassVar[GateState]
    GATE_STATE_REOPENED: _ClassVar[GateState]
    GATE_STATE_OPEN: _ClassVar[GateState]
    GATE_STATE_POISONED: _ClassVar[GateState]

class GateMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GATE_MODE_UNSPECIFIED: _ClassVar[GateMode]
    GATE_MODE_WAIT: _ClassVar[GateMode]
    GATE_MODE_ABORT: _ClassVar[GateMode]
    GATE_MODE_KEEP: _ClassVar[GateMode]
GATE_STATE_UNSPECIFIED: GateState
GATE_STATE_SEALED: GateState
GATE_STATE_DRAINING: GateState
GATE_STATE_INSTALLING: GateState
GATE_STATE_REOPENED: GateState
GATE_STATE_OPEN: GateState
GATE_STATE_POISONED: GateState
GATE_MODE_UNSPECIFIED: GateMode
GATE_MODE_WAIT: GateMode
GATE_MODE_ABORT: GateMode
GATE_MODE_KEEP: GateMode

class GateSnapshot(_message.Message):
    __slots__ = ("state", "ranks", "term", "epoch", "version", "target", "digests", "mode", "timer", "window", "active", "suspended", "orphaned", "quiet", "verified", "resident", "lent")
    class DigestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STATE_FIELD_NUMBER: _ClassVar[int]
    RANKS_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TIMER_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    ORPHANED_FIELD_NUMBER: _ClassVar[int]
    QUIET_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_FIELD_NUMBER: _ClassVar[int]
    LENT_FIELD_NUMBER: _ClassVar[int]
    state: GateState
    ranks: _containers.RepeatedScalarFieldContainer[str]
    term: int
    epoch: int
    version: int
    target: int
    digests: _containers.ScalarMap[str, str]
    mode: GateMode
    timer: int
    window: int
    active: _containers.RepeatedScalarFieldContainer[str]
    suspended: _containers.RepeatedScalarFieldContainer[str]
    orphaned: _containers.RepeatedScalarFieldContainer[str]
    quiet: _containers.RepeatedScalarFieldContainer[str]
    verified: _containers.RepeatedScalarFieldContainer[str]
    resident: bool
    lent: str
    def __init__(self, state: _Optional[_Union[GateState, str]] = ..., ranks: _Optional[_Iterable[str]] = ..., term: _Optional[int] = ..., epoch: _Optional[int] = ..., version: _Optional[int] = ..., target: _Optional[int] = ..., digests: _Optional[_Mapping[str, str]] = ..., mode: _Optional[_Union[GateMode, str]] = ..., timer: _Optional[int] = ..., window: _Optional[int] = ..., active: _Optional[_Iterable[str]] = ..., suspended: _Optional[_Iterable[str]] = ..., orphaned: _Optional[_Iterable[str]] = ..., quiet: _Optional[_Iterable[str]] = ..., verified: _Optional[_Iterable[str]] = ..., resident: _Optional[bool] = ..., lent: _Optional[str] = ...) -> None: ...

class GateTermFence(_message.Message):
    __slots__ = ("incarnation", "operation_id", "term")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    operation_id: str
    term: int
    def __init__(self, incarnation: _Optional[str] = ..., operation_id: _Optional[str] = ..., term: _Optional[int] = ...) -> None: ...

class GateClaimRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermFence, _Mapping]] = ...) -> None: ...

class GateTermEpochFence(_message.Message):
    __slots__ = ("incarnation", "operation_id", "term", "epoch")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    operation_id: str
    term: int
    epoch: int
    def __init__(self, incarnation: _Optional[str] = ..., operation_id: _Optional[str] = ..., term: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class GateSealRequest(_message.Message):
    __slots__ = ("instance", "fence", "mode", "window")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    mode: GateMode
    window: int
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ..., mode: _Optional[_Union[GateMode, str]] = ..., window: _Optional[int] = ...) -> None: ...

class GateEscalateRequest(_message.Message):
    __slots__ = ("instance", "fence", "mode")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    mode: GateMode
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ..., mode: _Optional[_Union[GateMode, str]] = ...) -> None: ...

class GateDrainRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ...) -> None: ...

class GateLendRequest(_message.Message):
    __slots__ = ("instance", "fence", "lend")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    LEND_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    lend: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ..., lend: _Optional[str] = ...) -> None: ...

class GateReturnedRequest(_message.Message):
    __slots__ = ("instance", "fence", "lend")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    LEND_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    lend: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ..., lend: _Optional[str] = ...) -> None: ...

class GateRenewRequest(_message.Message):
    __slots__ = ("instance", "fence", "window")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    window: int
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ..., window: _Optional[int] = ...) -> None: ...

class GateInstallRequest(_message.Message):
    __slots__ = ("instance", "fence", "version", "digests")
    class DigestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    version: int
    digests: _containers.ScalarMap[str, str]
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ..., version: _Optional[int] = ..., digests: _Optional[_Mapping[str, str]] = ...) -> None: ...

class GateReopenRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ...) -> None: ...

class GateResumeRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ...) -> None: ...

class GateCloseRequest(_message.Message):
    __slots__ = ("instance", "fence")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermEpochFence
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermEpochFence, _Mapping]] = ...) -> None: ...

class GatePoisonRequest(_message.Message):
    __slots__ = ("instance", "fence", "why")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    instance: str
    fence: GateTermFence
    why: str
    def __init__(self, instance: _Optional[str] = ..., fence: _Optional[_Union[GateTermFence, _Mapping]] = ..., why: _Optional[str] = ...) -> None: ...

class GateReply(_message.Message):
    __slots__ = ("instance", "incarnation", "number", "snapshot", "replayed", "kind", "rule", "reason", "text", "retry")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[GateReply.Kind]
        KIND_GO: _ClassVar[GateReply.Kind]
        KIND_STAY: _ClassVar[GateReply.Kind]
        KIND_IGNORE: _ClassVar[GateReply.Kind]
        KIND_REFUSE: _ClassVar[GateReply.Kind]
    KIND_UNSPECIFIED: GateReply.Kind
    KIND_GO: GateReply.Kind
    KIND_STAY: GateReply.Kind
    KIND_IGNORE: GateReply.Kind
    KIND_REFUSE: GateReply.Kind
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
    snapshot: GateSnapshot
    replayed: bool
    kind: GateReply.Kind
    rule: str
    reason: str
    text: str
    retry: bool
    def __init__(self, instance: _Optional[str] = ..., incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[GateSnapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., kind: _Optional[_Union[GateReply.Kind, str]] = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ...) -> None: ...

class GateGetRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class GateWatchRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class GateTransition(_message.Message):
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
    snapshot: GateSnapshot
    fresh: bool
    event: str
    rule: str
    cause: str
    def __init__(self, incarnation: _Optional[str] = ..., number: _Optional[int] = ..., snapshot: _Optional[_Union[GateSnapshot, _Mapping]] = ..., fresh: _Optional[bool] = ..., event: _Optional[str] = ..., rule: _Optional[str] = ..., cause: _Optional[str] = ...) -> None: ...
