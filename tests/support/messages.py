"""Messages to a rollout worker: what is drawn, as plain values that are made into bytes once it is their turn.

Rules of this file:

- Numbers are drawn as offsets from what the gate has, so that a case means the same on every life of a worker.
- Most of a message is as it should be, and each part is wrong at times; what is right leads deep into the table.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from grpc import aio
from hypothesis import strategies as st

HUGE = (2**63, 2**64 - 1)
MODES = (1, 2, 3)
"""By number: wait, abort, keep."""
COMMANDS = (
    "Claim", "Seal", "Escalate", "Drain", "Lend", "Returned", "Renew", "Install", "Reopen", "Resume", "Close", "Poison",
)  # fmt: skip
NO_FIELDS = (b"", b"\xf8\xff\xff\xff\x0f\x01", b"\x22\x01\x00")
"""What may follow a message: nothing, a field that nobody has declared, a field that may not be of this type."""
SERVICES = {
    "control": ("sluicegate.v1.Gate", "sluicegate.v1.Lease", "sluicegate.v1.Front", "grpc.health.v1.Health"),
    "data": ("sluicegate.v1.Rollout", "grpc.reflection.v1alpha.ServerReflection"),
}


def mostly(usual: Any, *others: Any, of: int = 8) -> st.SearchStrategy[Any]:
    """The usual value, and each of the others about once in `of` times."""
    return st.sampled_from([usual] * max(1, of - len(others)) + list(others))


def weighted(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Each of the choices as often as its number says; `one_of` would count one that it has twice once."""
    places = [place for place, (weight, _) in enumerate(choices) for _ in range(weight)]
    return st.sampled_from(places).flatmap(lambda place: choices[place][1])


@dataclass(frozen=True)
class Damage:
    """What becomes of the bytes on their way: cut at a place, a byte changed, something behind them."""

    cut: int | None = None
    change: tuple[int, int] | None = None
    tail: bytes = b""

    def of(self, content: bytes) -> bytes:
        if self.cut is not None:
            content = content[: self.cut % (len(content) + 1)]
        if self.change is not None and content:
            at = self.change[0] % len(content)
            content = content[:at] + bytes([self.change[1]]) + content[at + 1 :]
        return content + self.tail


WHOLE = Damage()
damages = st.builds(
    Damage,
    st.none() | st.integers(0, 200),
    st.none() | st.tuples(st.integers(0, 200), st.integers(0, 255)),
    st.sampled_from(NO_FIELDS),
)


def made(kind: Any, usual: dict[str, tuple[Any, ...]], wrong: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A `kind` of usual parts; half of them with one or two wrong ones."""
    choices = [st.tuples(st.just(part), v if isinstance(v, st.SearchStrategy) else st.sampled_from(v))
               for part, v in wrong.items()]  # fmt: skip
    changes = st.just([]) | st.lists(st.one_of(choices), min_size=1, max_size=2)
    parts = st.fixed_dictionaries({part: st.sampled_from(values) for part, values in usual.items()})
    return st.builds(_fit, st.just(kind), parts, changes)


def _fit(kind: Any, usual: dict[str, Any], changed: list[tuple[str, Any]]) -> Any:
    return kind(**{**usual, **dict(changed)})


@dataclass(frozen=True)
class Command:
    """A command of a controller. Offsets are to what the gate has; HUGE numbers stand for themselves."""

    name: str
    term: int = 0
    epoch: int = 0
    life: str = "ours"
    operation: str = "fresh"
    instance: str = "ours"
    mode: int = 1
    window: int = 60_000
    version: int | str = "next"
    digests: str = "right"
    text: str = "L"
    leave: float | None = None
    """Seconds until the caller leaves; none: it waits for the answer."""
    damage: Damage = WHOLE


windows = mostly(60_000, 0, 1, 20, HUGE[1], of=12)
commands = made(
    Command,
    {
        "name": COMMANDS, "mode": MODES, "window": (60_000, 60_000, 60_000, 0, 1, 20, HUGE[1]),
        "leave": (None,) * 10 + (0.0, 0.001),
    },
    {
        "term": (-1, 1, *HUGE), "epoch": (-1, 1, 1, -1, *HUGE), "life": ("", "other", "long"), "mode": (0, 7),
        "operation": ("again", "again", "again with another request", "again with another request", "empty", "long"),
        "instance": ("unknown", "", "long"), "version": (0, -1, "not published", HUGE[1]),
        "digests": ("wrong", "none", "of another rank", "long"), "text": ("M", "", "x" * 5000, "\0\n"),
        "damage": damages,
    },
)  # fmt: skip


@dataclass(frozen=True)
class Next:
    """The command that leads an operation on: seal, drain, install, reopen, close; lend or resume, if `other`."""

    mode: int
    window: int = 60_000
    other: bool = False


steps = st.builds(Next, st.sampled_from(MODES), windows, mostly(False, True, of=4))


@dataclass(frozen=True)
class Generate:
    """A request, and what its client does: read all, or leave after so many messages or seconds."""

    name: str = "fresh"
    prompt: int = 3
    token: int = 1
    max_tokens: int = 8
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    session: str = "s"
    life: str = ""
    version: int | str | None = None
    hold: float = 0.0
    labels: tuple[tuple[str, int], ...] = ()
    """Each with the length of its value."""
    waits: bool = False
    leave: str = "reads all"
    damage: Damage = WHOLE


requests = made(
    Generate,
    {
        "name": ("fresh", "fresh", "fresh", "", "😀", "\0\n"), "max_tokens": (8, 8, 1, 40, 3000),
        "seed": (0, 7, HUGE[1]), "temperature": (1.0, 0.0, 1e-45, 3e38), "hold": (0.0, 0.05, 30.0, 3e38),
        "labels": ((), (("a", 1),)), "waits": (False, False, True),
        "leave": ("reads all",) * 6 + ("at once", "soon", "first", "second", "cuts the connection"),
    },
    {
        "name": ("again", "long"), "prompt": (0, 1, 30, 4095, 9000), "token": (22, 23, 2**32 - 1),
        "max_tokens": (0, 2**32 - 1), "temperature": (-1.0, float("nan"), float("inf")),
        "top_p": (0.5, 1e-45, 0.0, 2.0, float("nan")), "session": ("", "x" * 300), "life": ("ours", "other", "long"),
        "version": ("held", "held", "next", HUGE[1]), "hold": (-1.0, float("nan"), float("inf")),
        "labels": ((("", 0), ("long", 9000)),), "damage": damages,
    },
)  # fmt: skip


@dataclass(frozen=True)
class Raw:
    """Any bytes to any method."""

    plane: str
    service: str
    method: int
    content: bytes


raws = st.sampled_from([(plane, name) for plane, names in SERVICES.items() for name in names]).flatmap(
    lambda at: st.builds(
        Raw, st.just(at[0]), st.just(at[1]), st.integers(0, 20), st.binary(max_size=40) | st.just(b"\x0a\xff" * 4000)
    )
)


def garbage(draw: random.Random) -> bytes:
    """Bytes of any kind, or fields of any number and type with any content."""
    if draw.random() < 0.4:
        return draw.randbytes(draw.randrange(30))
    made = b""
    for _ in range(draw.randrange(1, 5)):
        number, text = draw.randrange(1, 9), draw.randbytes(draw.randrange(12))
        made += draw.choice([
            bytes([number << 3]) + b"\xff" * 9 + b"\x01",
            bytes([number << 3]) + bytes([draw.randrange(128)]),
            bytes([number << 3 | 2, len(text)]) + text,
            bytes([number << 3 | 2, 5]) + b"\x0a\x03abc",
            bytes([number << 3 | 5]) + draw.randbytes(4),
        ])  # fmt: skip
    return made


async def answered(channel: Any, service: str, method: Any, content: bytes, within: float) -> str:
    """The name of the status that these bytes bring; empty where nothing was said in this time, or a stream goes on."""
    path = f"/{service}/{method.name}"
    ways = {(False, False): channel.unary_unary, (False, True): channel.unary_stream,
            (True, False): channel.stream_unary, (True, True): channel.stream_stream}  # fmt: skip
    sent = iter([content]) if method.client_streaming else content
    call = ways[method.client_streaming, method.server_streaming](path)(sent)
    try:
        async with asyncio.timeout(within):
            if method.server_streaming:
                async for _ in call:
                    pass
            else:
                await call
        return "OK"
    except TimeoutError:
        return ""
    except aio.AioRpcError as error:
        return error.code().name
    finally:
        call.cancel()


@dataclass(frozen=True)
class Socket:
    """Bytes to a port without any gRPC, and then a hang up: with a reset, or an end."""

    plane: str
    content: bytes
    reset: bool


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
sockets = st.builds(
    Socket,
    st.sampled_from(["control", "data"]),
    st.one_of(
        st.binary(max_size=64),
        st.just(b"GET / HTTP/1.1\r\n\r\n"),
        st.binary(max_size=64).map(lambda frames: PREFACE + b"\0\0\0\4\0\0\0\0\0" + frames),
    ),
    st.booleans(),
)


@dataclass(frozen=True)
class Other:
    """Proceed, Abort, Stage, Lease.Cancel, and what only looks; `which` of the leases of the case it names."""

    what: str
    which: int = 0
    name: str = "known"
    number: int | str = 0
    leave: bool = False


others = st.builds(
    Other,
    st.sampled_from(
        ["proceed"] * 4 + ["abort"] * 2 + ["cancel"] * 2 + ["stage", "get", "watch", "show", "watch lease", "health"]
    ),
    st.integers(0, 5),
    mostly("known", "unknown", "", "long", of=8),
    mostly(1, 0, "next", "not published", 2**32 - 1, of=6),
    st.booleans(),
)


@dataclass(frozen=True)
class Pause:
    """Nothing comes for a while, in seconds."""

    seconds: float


pauses = st.builds(Pause, st.sampled_from([0.0, 0.002, 0.01, 0.03]))
single = weighted((4, commands), (8, steps), (5, requests), (1, raws), (4, others), (2, pauses), (1, sockets))
burst = weighted((1, commands), (1, steps), (1, requests), (1, others), (1, raws))
bursts = st.lists(burst, min_size=2, max_size=5).map(tuple)
cases = st.lists(weighted((3, single), (1, bursts)), min_size=5, max_size=18)
"""What one case sends, one after another; the messages of a tuple all at once."""
