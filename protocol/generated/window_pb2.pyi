# Made by `sluicegate generate` from controller.proto, front.proto, rollout.proto, training.proto, weights.proto, window.proto; change those, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WindowRequest(_message.Message):
    __slots__ = ("begin", "loaded", "leave")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    begin: WindowBegin
    loaded: WindowLoaded
    leave: WindowLeave
    def __init__(self, begin: _Optional[_Union[WindowBegin, _Mapping]] = ..., loaded: _Optional[_Union[WindowLoaded, _Mapping]] = ..., leave: _Optional[_Union[WindowLeave, _Mapping]] = ...) -> None: ...

class WindowAnswer(_message.Message):
    __slots__ = ("entered", "taken", "closed")
    ENTERED_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    entered: WindowEntered
    taken: WindowTaken
    closed: WindowClosed
    def __init__(self, entered: _Optional[_Union[WindowEntered, _Mapping]] = ..., taken: _Optional[_Union[WindowTaken, _Mapping]] = ..., closed: _Optional[_Union[WindowClosed, _Mapping]] = ...) -> None: ...

class WindowBegin(_message.Message):
    __slots__ = ("operation_id", "step", "digest")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    step: int
    digest: str
    def __init__(self, operation_id: _Optional[str] = ..., step: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class WindowLoaded(_message.Message):
    __slots__ = ("upstream", "digest")
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    upstream: str
    digest: str
    def __init__(self, upstream: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class WindowLeave(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WindowEntered(_message.Message):
    __slots__ = ("version", "upstreams")
    class UpstreamsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPSTREAMS_FIELD_NUMBER: _ClassVar[int]
    version: int
    upstreams: _containers.ScalarMap[str, str]
    def __init__(self, version: _Optional[int] = ..., upstreams: _Optional[_Mapping[str, str]] = ...) -> None: ...

class WindowTaken(_message.Message):
    __slots__ = ("upstream", "refused")
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    upstream: str
    refused: str
    def __init__(self, upstream: _Optional[str] = ..., refused: _Optional[str] = ...) -> None: ...

class WindowClosed(_message.Message):
    __slots__ = ("published", "reason", "text", "retry", "version", "left_behind", "replayed")
    class LeftBehindEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEFT_BEHIND_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    published: bool
    reason: str
    text: str
    retry: bool
    version: int
    left_behind: _containers.ScalarMap[str, str]
    replayed: bool
    def __init__(self, published: _Optional[bool] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., retry: _Optional[bool] = ..., version: _Optional[int] = ..., left_behind: _Optional[_Mapping[str, str]] = ..., replayed: _Optional[bool] = ...) -> None: ...
