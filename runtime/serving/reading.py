"""Strict reading of JSON bodies: what both APIs share.

Rules of this file:

- Any bytes give a value or an `HttpError` of status 400 that names the place (`messages[2].content`), nothing else.
- null means the same as leaving a member out.
- A member that nobody knows is passed over; one that is known and cannot be said in the neutral form is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Never

from ..chat.form import ToolCall
from .errors import HttpError, refusal

DEPTH_LIMIT = 64
"""Objects and lists within one another."""
TEXT_LIMIT = 4_000_000
"""Characters of one text."""
NAME_LIMIT = 256
"""Characters of the name of a model, and of the id of a call."""
LIST_LIMIT = 10_000
"""Messages of a call, and parts of one."""
TOOL_LIMIT = 1024
CHOICE_LIMIT = 128
STOP_LENGTH_LIMIT = 1000
TOKEN_LIMIT = 2**31 - 1
SEED_LIMIT = 2**63 - 1
SESSION_HEADER = "X-Session-ID"
INTERNAL = frozenset({"session_id", "request_id", "model_version"})
"""Members of a body that are this server's own."""
_SESSION = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PATH_SHOWN, _VALUE_SHOWN = 200, 60


@dataclass(frozen=True, slots=True)
class At:
    """A value of a body and the path to it; a member that is missing has the value None.

    `is_passed_on`: an upstream gets the body as it is, so that what cannot be said here is left to it.
    """

    value: Any
    path: str = ""
    is_passed_on: bool = False

    def __getitem__(self, name: str) -> At:
        return At(self.object().get(name), f"{self.path}.{name}" if self.path else name, self.is_passed_on)

    @property
    def is_given(self) -> bool:
        return self.value is not None

    def wrong(self, expected: str) -> HttpError:
        return malformed(f"expected {expected}, got {_shown(self.value)}", self.path)

    def unsayable(self, text: str) -> HttpError:
        path = self.path[:_PATH_SHOWN]
        return refusal("unsupported", f"{path}: {text}", param=path)

    def object(self) -> Mapping[str, Any]:
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        return self.value

    def list(self, low: int = 0, high: int = LIST_LIMIT) -> list[At]:
        if not isinstance(self.value, list | tuple):
            raise self.wrong("a list")
        if not low <= len(self.value) <= high:
            raise malformed(f"expected {low} to {high} of them, got {len(self.value)}", self.path)
        return [At(value, f"{self.path}[{i}]", self.is_passed_on) for i, value in enumerate(self.value)]

    def text(self, low: int = 0, high: int = TEXT_LIMIT) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("text")
        if not low <= len(self.value) <= high:
            raise malformed(f"expected {low} to {high} characters, got {len(self.value)}", self.path)
        return self.value

    def flag(self) -> bool:
        """Whether it is true; not given is false."""
        if not isinstance(self.value, bool | None):
            raise self.wrong("true or false")
        return bool(self.value)

    def whole(self, low: int, high: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.wrong(f"a whole number from {low} to {high}")
        return self.value

    def number(self, low: float, high: float) -> float:
        value = self.value
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(f"a number from {low:g} to {high:g}")
        return float(value)

    def share(self) -> float:
        """A number above 0, and at most 1."""
        if not (share := self.number(0, 1)):
            raise self.wrong("a number above 0")
        return share

    def tool_name(self) -> str:
        name = self.text()
        if not _TOOL_NAME.fullmatch(name):
            raise self.wrong("1 to 128 of letters, digits and _ . : / -")
        return name


def malformed(text: str, path: str = "") -> HttpError:
    """What stands at this path of a body (the body itself, if none) is wrong."""
    shown = path if len(path) <= _PATH_SHOWN else f"{path[:_PATH_SHOWN]}…"
    return refusal("malformed", f"{shown or 'body'}: {text}", param=shown or None)


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object that the bytes are.

    Raises `HttpError` 400 for what is no JSON in UTF-8 or no object, says a member twice, is nested deeper than
    `DEPTH_LIMIT`, or has numbers or characters that JSON has no word for (NaN, infinity, half a surrogate pair).
    """
    try:
        value = json.loads(body.decode(), object_pairs_hook=_unrepeated, parse_float=_finite, parse_constant=_no_number)
    except UnicodeDecodeError as wrong:
        raise malformed(f"byte {wrong.start} is not UTF-8: send JSON in UTF-8") from None
    except json.JSONDecodeError as wrong:
        raise malformed(f"not JSON: {wrong.msg} at character {wrong.pos}") from None
    except RecursionError:
        raise malformed(f"nested deeper than {DEPTH_LIMIT}") from None
    except ValueError:
        # What is left is Python's own bound.
        raise malformed("a number has too many digits") from None
    if not isinstance(value, dict):
        raise At(value).wrong("an object")
    level: list[Any] = [value]
    for _ in range(DEPTH_LIMIT):
        members = (m for v in level for m in (v.values() if isinstance(v, dict) else v))
        level = [m for m in members if isinstance(m, dict | list)]
    if level:
        raise malformed(f"nested deeper than {DEPTH_LIMIT}")
    # Bytes in UTF-8 have no half of a surrogate pair: only an escape can say one.
    if _SURROGATE.search(body):
        _check_texts(value, ())
    return value


def parsed(body: bytes | Mapping[str, Any], *, passed_on: bool = False) -> At:
    """The body to read: bytes are parsed, a mapping is taken as `parse` gave it."""
    return At(parse(body) if isinstance(body, bytes) else body, is_passed_on=passed_on)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set[str]()
        for name, _ in pairs:
            if name in seen:
                raise malformed(f"member {name[:_VALUE_SHOWN]!a} is given twice in one object")
            seen.add(name)
    return found


def _finite(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise malformed(f"the number {digits[:_VALUE_SHOWN]} is too large")
    return value


def _no_number(name: str) -> Never:
    raise malformed(f"{name} is no number of JSON")


def _check_texts(value: Any, path: tuple[Any, ...]) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            _check_texts(name, path)
            _check_texts(member, (*path, name))
    elif isinstance(value, list):
        for i, member in enumerate(value):
            _check_texts(member, (*path, i))
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise malformed("the text has half a surrogate pair, which is no character", _path(path)) from None


def _path(names: tuple[Any, ...]) -> str:
    return "".join(f"[{n}]" if isinstance(n, int) else f".{n}" for n in names).removeprefix(".")


def _shown(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
    shown = json.dumps(value[:_VALUE_SHOWN] if isinstance(value, str) else value, default=repr)
    return shown if len(shown) <= _VALUE_SHOWN else f"{shown[:_VALUE_SHOWN]}…"


def refuse_unsayable(body: At, neutral: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse each of these members unless it is left out or has one of the values that change nothing."""
    for name, values in neutral.items():
        member = body[name]
        if member.is_given and member.value not in values and not body.is_passed_on:
            mend = f"leave it out, or give {' or '.join(map(json.dumps, values))}" if values else "leave it out"
            raise member.unsayable(f"this server does not do that: {mend}")


def texts(content: At) -> str:
    """The content of a message: text, or a list of parts of text, which are joined as they stand."""
    if isinstance(content.value, str):
        return content.text()
    if not isinstance(content.value, list | tuple):
        raise content.wrong("text or a list of its parts")
    joined = "".join(text_of(part) for part in content.list())
    if len(joined) > TEXT_LIMIT:
        raise malformed(f"expected at most {TEXT_LIMIT} characters, got {len(joined)}", content.path)
    return joined


def text_of(part: At) -> str:
    """The text of one part of a content: that of another kind of part is its JSON, where it is passed on."""
    kind = part["type"].text()
    if kind != "text" and part.is_passed_on:
        return json.dumps(part.value, default=repr)
    if kind != "text":
        raise part["type"].unsayable(f"{kind[:_VALUE_SHOWN]!a} is not taken here: give parts of type 'text'")
    return part["text"].text()


def stops(given: At, high: int) -> tuple[str, ...]:
    """The texts that end an answer, at most `high`."""
    if not given.is_given:
        return ()
    return tuple(stop.text(1, STOP_LENGTH_LIMIT) for stop in given.list(0, high))


class Calls:
    """The tool calls of a conversation that no message has answered yet."""

    def __init__(self) -> None:
        self._open = set[str]()

    def asked(self, calls: tuple[ToolCall, ...], place: At) -> None:
        """The assistant asks for these; ids of calls that were answered may come again."""
        for call in calls:
            if call.id in self._open:
                raise malformed(f"the id {call.id[:_VALUE_SHOWN]!a} is that of another call that waits", place.path)
            self._open.add(call.id)

    def answered(self, given: At) -> str:
        """The id of the call that a message answers."""
        found = given.text(1, NAME_LIMIT)
        if found not in self._open:
            raise malformed(f"{_shown(found)} answers no call of an earlier message of the assistant", given.path)
        self._open.remove(found)
        return found


def distinct(names: Iterator[At]) -> list[str]:
    """Names of tools, each given once."""
    found = dict[str, None]()
    for given in names:
        name = given.tool_name()
        if name in found:
            raise malformed(f"another tool has the name {name!a}", given.path)
        found[name] = None
    return list(found)


def session_of(header: str | None, body: Mapping[str, Any]) -> str:
    """The id of the session that a call belongs to: header `X-Session-ID`, or member `session_id` of the body.

    Raises `HttpError` 400 where there is none, where the two differ, and where it is no id.
    """
    found = list[str]()
    for place, given in ((f"header {SESSION_HEADER}", header), ("session_id", body.get("session_id"))):
        if given is None:
            continue
        if not isinstance(given, str) or not _SESSION.fullmatch(given):
            raise At(given, place).wrong("an id of 1 to 128 of letters, digits and . _ : -")
        found.append(given)
    if not found:
        text = f"send the header {SESSION_HEADER}, or session_id in the body; POST /v1/sessions gives one"
        raise refusal("no_session", f"no session id: {text}", param="session_id")
    if found[0] != found[-1]:
        raise malformed(f"it is not what the header {SESSION_HEADER} says: give one of them", "session_id")
    return found[0]


def stripped(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without the members that are this server's own, as an upstream is to see it."""
    return {name: value for name, value in body.items() if name not in INTERNAL}
