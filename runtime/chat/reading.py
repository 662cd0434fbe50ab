"""One answer, as it is made: tokens in, what a client is told out.

Rules of this file:

- What is told is the same however the tokens are dealt out over the calls of `feed`.
- Text is told once it is certain: half of a character, what may become a stop text, and what may become a tool call
  are held back.
- Each token is told once, in order, with the first delta that is told when all of its text is certain.
- Nothing of an answer is lost: what looks like a tool call and is none is text. Only white space directly before a
  call, or between the last call and the end, belongs to the form of calls and is not told.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from .calls import CLOSE, OPEN, call_of
from .form import Ask, Call, Delta, End, Finish, Message, Role, Text, Token, ToolCall
from .template import Template

_MARKS = (OPEN.encode(), CLOSE.encode())


class Reader:
    """Reads one answer to an ask: its text, its tool calls, and where a stop text ends it."""

    def __init__(self, template: Template, ask: Ask, choice: int, call_id: Callable[[int], str]) -> None:
        """`choice` is the number of the answer; `call_id` names its calls, from 0 in their order."""
        self._template = template
        self._choice = choice
        self._call_id = call_id
        self._has_calls = bool(ask.tools) and ask.tool_choice != "none"
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops = _Stops(ask.stop)
        self._tokens: deque[tuple[int, Token]] = deque()
        """Tokens that are not told yet, each with the number of characters after which it is."""
        self._read = 0
        """Characters that were read; those before `_settled` are told, or never will be."""
        self._settled = 0
        self._held = ""
        """Characters from `_settled` on that the stop texts have let by."""
        self._come: list[str] = []
        """Those that follow and were not looked at yet."""
        self._tail: str | None = None
        """Within a call: the end of both, so that a long call is not searched, or copied, at each of its tokens."""
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._follows_call = False
        self.used = 0
        """Tokens that belong to the answer. Once `is_stopped`, those up to the one that completed the stop text."""

    @property
    def stopped_by(self) -> str | None:
        """The stop text that ended the answer."""
        return self._stops.found

    @property
    def is_stopped(self) -> bool:
        """Whether a stop text was found: what is fed from now on is not read."""
        return self._stops.found is not None

    @property
    def message(self) -> Message:
        """The answer, after its end, as a client that was told it sends it back."""
        return Message(Role.ASSISTANT, "".join(self._texts), tuple(self._calls))

    def feed(self, tokens: Iterable[Token]) -> list[Text | Call]:
        """Read more tokens of the answer."""
        for token in tokens:
            if self.is_stopped:
                break
            self.used += 1
            self._let_by(self._characters.decode(self._shown(token.id)))
            half, _ = self._characters.getstate()
            self._tokens.append((self._read + bool(half), token))
        return self._told(is_end=False)

    def end(self, reason: Finish) -> list[Delta]:
        """The answer has ended: what was held back, and its end. `reason` is why the model stopped."""
        if not self.is_stopped:
            self._let_by(self._characters.decode(b"", final=True))
            if not self.is_stopped:
                self._come.append(self._stops.rest())
        told = self._told(is_end=True)
        finish = Finish.TOOL_CALLS if self._calls else Finish.STOP if self.is_stopped else reason
        return [*told, End(self._choice, finish, self.stopped_by, self._take(None))]

    def _shown(self, id: int) -> bytes:
        piece = self._template.piece(id)
        if piece in _MARKS:
            return piece
        return b"" if id in self._template.special_ids or id in self._template.stop_ids else piece

    def _let_by(self, text: str) -> None:
        self._read += len(text)
        certain = self._stops.certain(text)
        self._come.append(certain)
        if self._tail is not None:
            self._tail += certain

    def _told(self, *, is_end: bool) -> list[Text | Call]:
        if self._tail is not None and not is_end and CLOSE not in self._tail:
            self._tail = self._tail[1 - len(CLOSE) :]
            return []
        self._held += "".join(self._come)
        self._come.clear()
        self._tail = None
        deltas: list[Text | Call] = []
        while self._held:
            if not self._has_calls:
                deltas += self._text(len(self._held))
                continue
            at = self._held.find(OPEN)
            if at < 0:
                deltas += self._last_text(is_end=is_end)
                break
            text = len(self._held[:at].rstrip())
            if text:
                deltas += self._text(text)
                continue
            begin = at + len(OPEN)
            close = self._held.find(CLOSE, begin)
            if close >= 0:
                deltas += self._call(begin, close)
            elif is_end:
                deltas += self._text(len(self._held))
            else:
                self._tail = self._held[1 - len(CLOSE) :]
                break
        return deltas

    def _last_text(self, *, is_end: bool) -> list[Text | Call]:
        """Text that no mark is in, up to where one, or the white space before it, may begin."""
        if not is_end:
            mark = _begins(self._held, OPEN)
            return self._text(len(self._held[: len(self._held) - mark].rstrip()))
        if self._follows_call and not self._held.strip():
            self._settle(len(self._held))
            return []
        return self._text(len(self._held))

    def _call(self, begin: int, close: int) -> list[Text | Call]:
        """What stands between two marks: a call, or text up to where the next one may begin."""
        found = call_of(self._held[begin:close])
        if found is None:
            again = self._held.find(OPEN, begin, close)
            return self._text(len(self._held[:again].rstrip()) if again >= 0 else close + len(CLOSE))
        self._settle(close + len(CLOSE))
        call = ToolCall(self._call_id(len(self._calls)), *found)
        self._calls.append(call)
        self._follows_call = True
        return [Call(self._choice, call, self._take(self._settled))]

    def _text(self, count: int) -> list[Text | Call]:
        if not count:
            return []
        text = self._held[:count]
        self._settle(count)
        self._texts.append(text)
        self._follows_call = False
        return [Text(self._choice, text, self._take(self._settled))]

    def _settle(self, count: int) -> None:
        self._held = self._held[count:]
        self._settled += count

    def _take(self, upto: int | None) -> Sequence[Token]:
        taken: list[Token] = []
        while self._tokens and (upto is None or self._tokens[0][0] <= upto):
            taken.append(self._tokens.popleft()[1])
        return taken


class _Stops:
    """Lets text by until one of the stop texts is complete; of those complete at once, the longest."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.found: str | None = None

    def certain(self, text: str) -> str:
        """The text that is certain to stand before any stop text, once `text` has come."""
        text = self._held + text
        complete = [(at + len(stop), at, stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if complete:
            _, at, self.found = min(complete)
            self._held = ""
            return text[:at]
        held = max((_begins(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """What was held back, when no more comes."""
        held, self._held = self._held, ""
        return held


def _begins(text: str, whole: str) -> int:
    """How many characters at the end of `text` may be the beginning of `whole`, and not yet all of it."""
    longest = min(len(text), len(whole) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(whole[:n])), 0)
