"""The exact tier: an ask answered by rollout workers, token ids in and out.

Rules of this file:

- The tokens of earlier turns are the prompt of a later one, as they were given and made.
- What ends an answer is told once its generation is stored.
- Each choice is a lease and a segment of its own; what stands beside it in the trace is enough to tell it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..chat import prompt as prompts
from ..chat.form import Ask, Delta, Finish, Labels, Token, Usage
from ..chat.prompt import Memory, Turn
from ..chat.reading import Reader
from ..chat.template import ChatError, Template
from ..sessions import Prompt, Router, Sampling, SessionError, Told
from ..sessions.backend import Admitted, Made, Word
from ..sessions.router import Turn as Generated
from ..sessions.traces import Segment, Tree
from .answering import Answering, Repeat, may_be_told_again
from .answers import dumped
from .errors import HttpError, refusal
from .refusing import http_error
from .tiers import Api, Stream

AT_ONCE = 16_384
"""The most characters of a conversation that is read in the event loop: for so little a thread costs more."""
KNOWN = 4096
"""The most sessions of which it is kept in memory which turns were told."""


class Exact:
    """A `Tier` over `router`. `context`: the most tokens of a prompt and its answer together; `model`: its name."""

    tier = "exact"

    def __init__(self, router: Router[Prompt], template: Template, *, context: int, model: str = "") -> None:
        self.router, self.template, self._context, self._model = router, template, context, model
        self._known: OrderedDict[str, tuple[Memory[int], int]] = OrderedDict()

    def read(self, api: Api, body: Mapping[str, Any]) -> Ask:
        """See `Tier.read`: these workers do not force calls."""
        ask = api.read(body)
        if ask.tool_choice not in ("auto", "none"):
            raise refusal("unsupported", "tool_choice: this server cannot force a call, give auto or none")
        return ask

    def whole(self, api: Api, answering: Answering) -> dict[str, Any]:
        """See `Tier.whole`."""
        told = answering.ask, answering.deltas, answering.usage, answering.labels, answering.created
        return api.whole(*told, self.template.piece)

    def stream(self, api: Api, answering: Answering) -> Stream:
        """See `Tier.stream`."""
        assert answering.first_labels is not None
        return api.stream(answering.ask, answering.first_labels, answering.created, self.template.piece)

    async def models(self) -> bytes:
        """See `Tier.models`."""
        model = {"id": self._model, "object": "model", "created": 0, "owned_by": "sluicegate"}
        return dumped({"object": "list", "data": [model]})

    async def answer(self, answering: Answering) -> None:
        """Answer a call. Raises HttpError."""
        ask, session = answering.ask, answering.repeat.session
        prompt = await self._prompt(session, ask)
        room = self._context - len(prompt.ids)
        if room < 1:
            text = f"messages: {len(prompt.ids)} tokens leave no room for an answer, all together are {self._context}"
            raise refusal("malformed", text)
        limit = min(ask.max_tokens or room, room)
        seed = secrets.randbits(48) if ask.seed is None else ask.seed
        work = Prompt(prompt.ids, Sampling(limit, ask.temperature, ask.top_p, tuple(self.template.stop_ids)), seed)
        # Of a call that fails nothing is trained on: no choice is stored before all have been made.
        all_made = asyncio.Barrier(ask.choices)
        try:
            async with asyncio.TaskGroup() as group:
                choices = [
                    group.create_task(self._choose(answering, prompt, work, choice, all_made))
                    for choice in range(ask.choices)
                ]
        except* SessionError as found:
            raise http_error(_first(found)) from found
        except* HttpError as found:
            raise _first(found) from found
        turns = [choice.result() for choice in choices]
        versions = sorted({version for turn in turns for version in turn.versions})
        labels = replace(_labels(session, turns[0]), versions=tuple(versions))
        answering.done(labels, Usage(len(prompt.ids), sum(len(turn.ids) for turn in turns), prompt.reused))

    async def _choose(
        self, answering: Answering, prompt: prompts.Prompt, work: Prompt, choice: int, all_made: asyncio.Barrier
    ) -> Generated:
        """Make one of the answers; what ends it is told once it is stored."""
        session, last = answering.repeat.session, list[Delta]()
        told = _Told(answering.created, work.seed, choice, answering.ask.choices, len(prompt.ids), prompt.reused)
        reader = self._reader(answering, told)

        def word(turn: Generated, word: Word) -> bool:
            if isinstance(word, Admitted) and choice == 0:
                answering.begin(_labels(session, turn), Usage(len(prompt.ids), 0, prompt.reused))
            elif isinstance(word, Made):
                tokens = [Token(*each) for each in zip(word.ids, word.logprobs, word.versions, strict=True)]
                if deltas := reader.feed(tokens):
                    answering.tell(deltas)
            return reader.is_stopped

        def note(turn: Generated) -> bytes:
            last.extend(reader.end(_finish(turn.ending)))
            return told.note(answering.repeat, prompt.told(reader.message), turn.version)

        seeded = replace(work, seed=(work.seed + choice) % (1 << 64))
        calls = Told(word=word, used=lambda: reader.used, note=note, made=all_made.wait)
        turn = await self.router.turn(session, seeded, calls, prompt_ids=work.ids)
        answering.tell(last)
        return turn

    def _reader(self, answering: Answering, told: _Told) -> Reader:
        named = f"{answering.repeat.session} {told.created} {told.seed} {told.choice}"
        return Reader(
            self.template, answering.ask, told.choice,
            lambda index: f"call_{hashlib.blake2b(f'{named} {index}'.encode(), digest_size=12).hexdigest()}",
        )  # fmt: skip

    # -- what was told before --------------------------------------------------------------------

    def retold(self, repeat: Repeat, ask: Ask, since: int | None) -> Answering | None:
        """The answer to a call that this one repeats, from the trace: this life of the server may not have given it."""
        tree = self.router.sessions.kept.tree(repeat.session)
        found: dict[int, tuple[Segment, _Told]] = {}
        for segment in may_be_told_again(tree, repeat, ask.choices, since):
            held = json.loads(segment.note or b"{}")
            is_it = held.get("idempotency") == repeat.key if repeat.key else held.get("ask") == repeat.digest
            if not is_it:
                continue
            if held["ask"] != repeat.digest:
                raise refusal("malformed", "header Idempotency-Key: it was used for another request, take a new one")
            told = _Told(**held["told"])
            if found and told.seed != next(iter(found.values()))[1].seed:
                break
            found.setdefault(told.choice, (segment, told))
        if not found or len(found) < ask.choices:
            return None
        return self._tell_again(repeat, ask, [found[number] for number in range(ask.choices)])

    def _tell_again(self, repeat: Repeat, ask: Ask, choices: list[tuple[Segment, _Told]]) -> Answering:
        (first, told), versions = choices[0], set[int]()
        answering = Answering(repeat, ask, told.created)
        for segment, choice in choices:
            reader = self._reader(answering, choice)
            versions |= {version for version, _ in segment.spans}
            labels = [version for version, count in segment.spans for _ in range(count)]
            answering.tell(reader.feed(map(Token, segment.made, segment.logprobs, labels)))
            answering.tell(reader.end(_finish(segment.ending)))
        held = json.loads(first.note)
        labels = Labels(
            repeat.session, first.request, held["version"], tuple(sorted(versions)),
            first.incarnation.rpartition(".")[0], first.binding,
        )  # fmt: skip
        made = sum(len(segment.made) for segment, _ in choices)
        answering.done(labels, Usage(told.prompt, made, told.reused))
        return answering

    # -- the prompt ------------------------------------------------------------------------------

    async def _prompt(self, session: str, ask: Ask) -> prompts.Prompt:
        memory, tree = self._memory(session), self.router.sessions.kept.tree(session)

        def build() -> prompts.Prompt:
            return prompts.build(
                self.template, ask.messages, ask.tools, memory, lambda number: turn_of(tree, number)
            )

        try:
            if sum(len(message.content) for message in ask.messages) <= AT_ONCE:
                return build()
            return await asyncio.to_thread(build)
        except ChatError as error:
            raise refusal("malformed", f"messages: {error}") from error

    def _memory(self, session: str) -> Memory[int]:
        """Which turns of the session were told."""
        memory, known = self._known.pop(session, (Memory[int](), 0))
        segments = self.router.sessions.kept.tree(session).segments
        for segment in segments[known:]:
            if segment.note:
                memory.add(bytes.fromhex(json.loads(segment.note)["key"]), segment.number)
        self._known[session] = (memory, len(segments))
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return memory


@dataclass(frozen=True, slots=True)
class _Told:
    """What stands beside a generation so that it can be told again: one of `choices`, of a call of `created`, and
    the counts of its prompt."""

    created: int
    seed: int
    choice: int
    choices: int
    prompt: int
    reused: int

    def note(self, repeat: Repeat, key: bytes, version: int | None) -> bytes:
        held = {
            "key": key.hex(), "ask": repeat.digest, "idempotency": repeat.key, "version": version, "told": asdict(self)
        }  # fmt: skip
        return json.dumps(held, separators=(",", ":")).encode()


def turn_of(tree: Tree, number: int) -> Turn:
    """The tokens that a generation was given, and those that it made."""
    prompt = array("I")
    *before, (own, _) = tree.path(number)
    for segment, at in before:
        prompt += segment.given[:at]
        prompt += segment.made[: max(0, at - len(segment.given))]
    return Turn(prompt + own.given, own.made)


def _finish(ending: str) -> Finish:
    return Finish.LENGTH if ending == "length" else Finish.STOP


def _labels(session: str, turn: Generated) -> Labels:
    versions = tuple(sorted(set(turn.versions)))
    return Labels(session, turn.lease, turn.version, versions, turn.replica, turn.binding)


def _first(group: BaseExceptionGroup[Any]) -> Any:
    """The first of what was raised: the others were cancelled for it, or failed as well."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
