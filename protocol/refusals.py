"""How a refusal travels: a gRPC status with `google.rpc` details, made on one side and read on the other.

Rules of this file:

- Every refusal of ours carries an `ErrorInfo` of our domain; a status without one is no answer of the
  instance, and its outcome is unknown.
- A refusal that knows the instance carries its reply too, with the numbered snapshot.
- A refusal travels in headers: its text, which may quote what was sent, is cut at `TEXT_LIMIT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode, aio

from .wire import DOMAIN

DETAILS = "grpc-status-details-bin"
TEXT_LIMIT = 1024
"""The longest text of a refusal, in bytes."""

INCARNATION, PAYLOAD, UNKNOWN = "INCARNATION", "PAYLOAD", "UNKNOWN_INSTANCE"
MALFORMED, STORAGE, LATE = "MALFORMED", "STORAGE", "LATE"
UNAUTHENTICATED, FORBIDDEN, CALLS = "UNAUTHENTICATED", "FORBIDDEN", "CALLS"
"""Reasons that are the wire's own; the others are names of refusals in the machine's table."""


def cut(text: str) -> str:
    """The text as far as a refusal may carry it."""
    if len(text) <= TEXT_LIMIT // 4 or len(said := text.encode()) <= TEXT_LIMIT:
        return text
    return said[:TEXT_LIMIT].decode(errors="ignore") + "…"


async def refuse(
    context: aio.ServicerContext[Any, Any],
    code: StatusCode,
    reason: str,
    text: str,
    facts: dict[str, str],
    reply: Any,
) -> NoReturn:
    """End the call with a refusal; `reply` shows the instance, or is None where it is not known."""
    text = cut(text)
    status = status_pb2.Status(code=code.value[0], message=text)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason.upper(), domain=DOMAIN, metadata=facts))
    if reply is not None:
        status.details.add().Pack(reply)
    await context.abort(code, text, ((DETAILS, status.SerializeToString()),))
    raise AssertionError("abort raises")


@dataclass(frozen=True, slots=True)
class Detail:
    """What a refusal says; `reply` is None where the instance is not known."""

    reason: str
    state: str
    retry: bool
    fence: bool
    reply: Any


def detail(error: aio.AioRpcError, reply_type: Any) -> Detail | None:
    """The refusal that a failed call carries; None if it is no answer of an instance."""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS and isinstance(value, bytes):
            break
    else:
        return None
    info, reply = error_details_pb2.ErrorInfo(), None
    for part in status_pb2.Status.FromString(value).details:
        if part.TypeName() == info.DESCRIPTOR.full_name:
            part.Unpack(info)
        elif part.TypeName() == reply_type.DESCRIPTOR.full_name:
            reply = reply_type()
            part.Unpack(reply)
    if info.domain != DOMAIN:
        return None
    facts = info.metadata
    return Detail(info.reason, facts["state"], facts["retry"] == "true", facts["fence"] == "true", reply)
