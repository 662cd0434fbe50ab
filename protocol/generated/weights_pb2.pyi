# Made by `sluicegate generate` from controller.proto, front.proto, rollout.proto, training.proto, weights.proto, window.proto; change those, not this file.
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Wanted(_message.Message):
    __slots__ = ("version", "digest", "start", "receiver")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_FIELD_NUMBER: _ClassVar[int]
    version: int
    digest: str
    start: int
    receiver: str
    def __init__(self, version: _Optional[int] = ..., digest: _Optional[str] = ..., start: _Optional[int] = ..., receiver: _Optional[str] = ...) -> None: ...

class HasRequest(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class HasAnswer(_message.Message):
    __slots__ = ("here",)
    HERE_FIELD_NUMBER: _ClassVar[int]
    here: bool
    def __init__(self, here: _Optional[bool] = ...) -> None: ...

class FetchRequest(_message.Message):
    __slots__ = ("wanted", "chunk_bytes")
    WANTED_FIELD_NUMBER: _ClassVar[int]
    CHUNK_BYTES_FIELD_NUMBER: _ClassVar[int]
    wanted: Wanted
    chunk_bytes: int
    def __init__(self, wanted: _Optional[_Union[Wanted, _Mapping]] = ..., chunk_bytes: _Optional[int] = ...) -> None: ...

class FetchChunk(_message.Message):
    __slots__ = ("bucket", "offset", "content")
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    bucket: int
    offset: int
    content: bytes
    def __init__(self, bucket: _Optional[int] = ..., offset: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class JoinRequest(_message.Message):
    __slots__ = ("begin", "confirmed", "again", "received")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    begin: JoinBegin
    confirmed: JoinConfirmed
    again: JoinAgain
    received: JoinReceived
    def __init__(self, begin: _Optional[_Union[JoinBegin, _Mapping]] = ..., confirmed: _Optional[_Union[JoinConfirmed, _Mapping]] = ..., again: _Optional[_Union[JoinAgain, _Mapping]] = ..., received: _Optional[_Union[JoinReceived, _Mapping]] = ...) -> None: ...

class JoinBegin(_message.Message):
    __slots__ = ("wanted", "nccl")
    WANTED_FIELD_NUMBER: _ClassVar[int]
    NCCL_FIELD_NUMBER: _ClassVar[int]
    wanted: Wanted
    nccl: bool
    def __init__(self, wanted: _Optional[_Union[Wanted, _Mapping]] = ..., nccl: _Optional[bool] = ...) -> None: ...

class JoinConfirmed(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class JoinAgain(_message.Message):
    __slots__ = ("group", "start")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    group: str
    start: int
    def __init__(self, group: _Optional[str] = ..., start: _Optional[int] = ...) -> None: ...

class JoinReceived(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class JoinAnswer(_message.Message):
    __slots__ = ("wait", "proposal", "enter", "failed")
    WAIT_FIELD_NUMBER: _ClassVar[int]
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    ENTER_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    wait: JoinWait
    proposal: JoinProposal
    enter: JoinEnter
    failed: JoinFailed
    def __init__(self, wait: _Optional[_Union[JoinWait, _Mapping]] = ..., proposal: _Optional[_Union[JoinProposal, _Mapping]] = ..., enter: _Optional[_Union[JoinEnter, _Mapping]] = ..., failed: _Optional[_Union[JoinFailed, _Mapping]] = ...) -> None: ...

class JoinWait(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class JoinProposal(_message.Message):
    __slots__ = ("group", "world", "rank", "store", "backend", "start")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    WORLD_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    group: str
    world: int
    rank: int
    store: str
    backend: str
    start: int
    def __init__(self, group: _Optional[str] = ..., world: _Optional[int] = ..., rank: _Optional[int] = ..., store: _Optional[str] = ..., backend: _Optional[str] = ..., start: _Optional[int] = ...) -> None: ...

class JoinEnter(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class JoinFailed(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class LendRequest(_message.Message):
    __slots__ = ("begin", "free")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    FREE_FIELD_NUMBER: _ClassVar[int]
    begin: LendBegin
    free: LendFree
    def __init__(self, begin: _Optional[_Union[LendBegin, _Mapping]] = ..., free: _Optional[_Union[LendFree, _Mapping]] = ...) -> None: ...

class LendBegin(_message.Message):
    __slots__ = ("wanted", "boot", "device")
    WANTED_FIELD_NUMBER: _ClassVar[int]
    BOOT_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    wanted: Wanted
    boot: str
    device: str
    def __init__(self, wanted: _Optional[_Union[Wanted, _Mapping]] = ..., boot: _Optional[str] = ..., device: _Optional[str] = ...) -> None: ...

class LendFree(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class LendAnswer(_message.Message):
    __slots__ = ("slots", "filled")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    FILLED_FIELD_NUMBER: _ClassVar[int]
    slots: LendSlots
    filled: LendFilled
    def __init__(self, slots: _Optional[_Union[LendSlots, _Mapping]] = ..., filled: _Optional[_Union[LendFilled, _Mapping]] = ...) -> None: ...

class LendSlots(_message.Message):
    __slots__ = ("slots",)
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedCompositeFieldContainer[LendSlot]
    def __init__(self, slots: _Optional[_Iterable[_Union[LendSlot, _Mapping]]] = ...) -> None: ...

class LendSlot(_message.Message):
    __slots__ = ("nbytes", "shared", "cuda")
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    CUDA_FIELD_NUMBER: _ClassVar[int]
    nbytes: int
    shared: LendShared
    cuda: LendCuda
    def __init__(self, nbytes: _Optional[int] = ..., shared: _Optional[_Union[LendShared, _Mapping]] = ..., cuda: _Optional[_Union[LendCuda, _Mapping]] = ...) -> None: ...

class LendShared(_message.Message):
    __slots__ = ("process", "file")
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    process: int
    file: int
    def __init__(self, process: _Optional[int] = ..., file: _Optional[int] = ...) -> None: ...

class LendCuda(_message.Message):
    __slots__ = ("device", "handle", "storage_bytes", "storage_offset", "counter", "counter_offset", "event", "event_needed")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    STORAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STORAGE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    COUNTER_OFFSET_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    EVENT_NEEDED_FIELD_NUMBER: _ClassVar[int]
    device: str
    handle: bytes
    storage_bytes: int
    storage_offset: int
    counter: bytes
    counter_offset: int
    event: bytes
    event_needed: bool
    def __init__(self, device: _Optional[str] = ..., handle: _Optional[bytes] = ..., storage_bytes: _Optional[int] = ..., storage_offset: _Optional[int] = ..., counter: _Optional[bytes] = ..., counter_offset: _Optional[int] = ..., event: _Optional[bytes] = ..., event_needed: _Optional[bool] = ...) -> None: ...

class LendFilled(_message.Message):
    __slots__ = ("slot", "bucket", "length")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    slot: int
    bucket: int
    length: int
    def __init__(self, slot: _Optional[int] = ..., bucket: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...
