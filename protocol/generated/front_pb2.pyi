# Made by `sluicegate generate` from controller.proto, front.proto, rollout.proto, training.proto, weights.proto, window.proto; change those, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReleasedRequest(_message.Message):
    __slots__ = ("lend",)
    LEND_FIELD_NUMBER: _ClassVar[int]
    lend: str
    def __init__(self, lend: _Optional[str] = ...) -> None: ...

class ReleasedAnswer(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DigestsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HeldDigests(_message.Message):
    __slots__ = ("replica", "incarnation", "version", "digests", "why")
    class DigestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    replica: str
    incarnation: str
    version: int
    digests: _containers.ScalarMap[str, str]
    why: str
    def __init__(self, replica: _Optional[str] = ..., incarnation: _Optional[str] = ..., version: _Optional[int] = ..., digests: _Optional[_Mapping[str, str]] = ..., why: _Optional[str] = ...) -> None: ...

class ShowRequest(_message.Message):
    __slots__ = ("leases",)
    LEASES_FIELD_NUMBER: _ClassVar[int]
    leases: int
    def __init__(self, leases: _Optional[int] = ...) -> None: ...

class OpenLease(_message.Message):
    __slots__ = ("lease", "session", "client", "state", "age", "epoch", "version", "tokens")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    lease: str
    session: str
    client: str
    state: str
    age: float
    epoch: int
    version: int
    tokens: int
    def __init__(self, lease: _Optional[str] = ..., session: _Optional[str] = ..., client: _Optional[str] = ..., state: _Optional[str] = ..., age: _Optional[float] = ..., epoch: _Optional[int] = ..., version: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class Standing(_message.Message):
    __slots__ = ("replica", "incarnation", "state", "why", "waiting", "open", "admitted", "held", "left", "refused", "storage", "engine_ok", "engine_why", "engine_running", "engine_waiting", "frozen_epoch", "leases")
    class RefusedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    ENGINE_OK_FIELD_NUMBER: _ClassVar[int]
    ENGINE_WHY_FIELD_NUMBER: _ClassVar[int]
    ENGINE_RUNNING_FIELD_NUMBER: _ClassVar[int]
    ENGINE_WAITING_FIELD_NUMBER: _ClassVar[int]
    FROZEN_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    replica: str
    incarnation: str
    state: str
    why: str
    waiting: int
    open: int
    admitted: int
    held: int
    left: int
    refused: _containers.ScalarMap[str, int]
    storage: str
    engine_ok: bool
    engine_why: str
    engine_running: int
    engine_waiting: int
    frozen_epoch: int
    leases: _containers.RepeatedCompositeFieldContainer[OpenLease]
    def __init__(self, replica: _Optional[str] = ..., incarnation: _Optional[str] = ..., state: _Optional[str] = ..., why: _Optional[str] = ..., waiting: _Optional[int] = ..., open: _Optional[int] = ..., admitted: _Optional[int] = ..., held: _Optional[int] = ..., left: _Optional[int] = ..., refused: _Optional[_Mapping[str, int]] = ..., storage: _Optional[str] = ..., engine_ok: _Optional[bool] = ..., engine_why: _Optional[str] = ..., engine_running: _Optional[int] = ..., engine_waiting: _Optional[int] = ..., frozen_epoch: _Optional[int] = ..., leases: _Optional[_Iterable[_Union[OpenLease, _Mapping]]] = ...) -> None: ...
