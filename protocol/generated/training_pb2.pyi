# Made by `sluicegate generate` from controller.proto, front.proto, rollout.proto, training.proto, weights.proto, window.proto; change those, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Array(_message.Message):
    __slots__ = ("name", "dtype", "shape", "content")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    content: bytes
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., content: _Optional[bytes] = ...) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("batch", "arrays")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    ARRAYS_FIELD_NUMBER: _ClassVar[int]
    batch: str
    arrays: _containers.RepeatedCompositeFieldContainer[Array]
    def __init__(self, batch: _Optional[str] = ..., arrays: _Optional[_Iterable[_Union[Array, _Mapping]]] = ...) -> None: ...

class SubmitAnswer(_message.Message):
    __slots__ = ("batch", "waiting_bytes")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    WAITING_BYTES_FIELD_NUMBER: _ClassVar[int]
    batch: str
    waiting_bytes: int
    def __init__(self, batch: _Optional[str] = ..., waiting_bytes: _Optional[int] = ...) -> None: ...

class ResultRequest(_message.Message):
    __slots__ = ("batch",)
    BATCH_FIELD_NUMBER: _ClassVar[int]
    batch: str
    def __init__(self, batch: _Optional[str] = ...) -> None: ...

class ResultAnswer(_message.Message):
    __slots__ = ("batch", "step", "metrics")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    BATCH_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    batch: str
    step: int
    metrics: _containers.ScalarMap[str, float]
    def __init__(self, batch: _Optional[str] = ..., step: _Optional[int] = ..., metrics: _Optional[_Mapping[str, float]] = ...) -> None: ...

class OutcomeRequest(_message.Message):
    __slots__ = ("instance", "job", "wait_ms")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    instance: str
    job: int
    wait_ms: int
    def __init__(self, instance: _Optional[str] = ..., job: _Optional[int] = ..., wait_ms: _Optional[int] = ...) -> None: ...

class OutcomeAnswer(_message.Message):
    __slots__ = ("became", "why", "digest")
    BECAME_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    became: str
    why: str
    digest: str
    def __init__(self, became: _Optional[str] = ..., why: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...
