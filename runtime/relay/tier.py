"""A tier that passes calls on to upstreams: text, or exact where they tell the ids of their tokens.

Rules of this file:

- Who speaks the upstream's API has the call passed on as it came, and the answer as it comes. Of the call is judged
  what this server needs; the rest is the upstream's to judge.
- Who speaks the other API has both translated.
- A generation is stored with the messages that were asked and the answer, which is enough to tell it again.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..chat.form import Ask, Delta, End, Labels, Usage
from ..serving.answering import Answering, Repeat, may_be_told_again
from ..serving.answers import dumped, label_fields
from ..serving.errors import refusal
from ..serving.openai_upstream import OpenAIAnswers, to_openai
from ..serving.reading import CHOICE_LIMIT, NAME_LIMIT, parsed
from ..serving.refusing import http_error
from ..serving.tiers import OPENAI, Api, Stream
from ..sessions import Router, SessionError, Told
from ..sessions.backend import Word
from ..sessions.router import Turn
from ..sessions.traces import Segment
from .answers import Assembled, Chunk, Passing, again
from .backend import Job, Responded, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayAsk(Ask):
    """A call for an upstream: `body` asks it in its API. `passes`: the client speaks that API too."""

    body: Mapping[str, Any] = field(default_factory=dict)
    passes: bool = False


class Relay:
    """A `Tier` over `router`. `token_ids`: upstreams are asked for them, and what they answer is exact; `list_models`
    asks one of them."""

    def __init__(self, router: Router[Job], *, token_ids: bool, list_models: Callable[[], Awaitable[bytes]]) -> None:
        self.router, self._exact, self._models = router, token_ids, list_models
        self.tier = "exact" if token_ids else "text"

    def read(self, api: Api, body: Mapping[str, Any]) -> Ask:
        """See `Tier.read`."""
        if api is not OPENAI:
            ask = api.read(body)
            said = {f.name: getattr(ask, f.name) for f in fields(Ask)}
            return RelayAsk(**said, body=to_openai(ask, exact=self._exact))
        at = parsed(body)
        at["messages"].list(1)
        choices = at["n"].whole(1, CHOICE_LIMIT) if at["n"].is_given else 1
        options = at["stream_options"]
        if self._exact and choices > 1:
            text = "n: this server tells tokens, of one choice a call: leave it out, or call again"
            raise refusal("unsupported", text, param="n")
        return RelayAsk(
            messages=(), choices=choices, stream=at["stream"].flag(),
            model=at["model"].text(0, NAME_LIMIT) if at["model"].is_given else "",
            usage=options.is_given and options["include_usage"].flag(),
            body={**body, "logprobs": True, "return_token_ids": True} if self._exact else body, passes=True,
        )  # fmt: skip

    def whole(self, api: Api, answering: Answering) -> dict[str, Any]:
        """See `Tier.whole`."""
        assert answering.labels is not None
        if _of(answering).passes:
            return answering.raw | label_fields(answering.labels)
        return api.whole(answering.ask, answering.deltas, answering.usage, answering.labels, answering.created)

    def stream(self, api: Api, answering: Answering) -> Stream:
        """See `Tier.stream`."""
        assert answering.first_labels is not None
        if _of(answering).passes:
            return Passing(answering.ask.choices, answering.first_labels)
        return api.stream(answering.ask, answering.first_labels, answering.created)

    async def models(self) -> bytes:
        """See `Tier.models`."""
        return await self._models()

    # -- answers ---------------------------------------------------------------------------------

    async def answer(self, answering: Answering) -> None:
        """See `Tier.answer`."""
        ask, session = _of(answering), answering.repeat.session
        assembled, last = Assembled(ask.choices), list[Delta]()
        if (begun := self.router.sessions.facts[session].tier) != self.tier:
            text = f"session {session} was begun where traces are {begun}, and here they are {self.tier}: begin another"
            raise refusal("malformed", text)

        def word(turn: Turn, word: Word) -> bool:
            if isinstance(word, Responded):
                answering.begin(self._labels(session, turn), Usage(0, 0))
            elif isinstance(word, Said):
                turn.prompt_ids = word.prompt_ids or turn.prompt_ids if self._exact else ()
                if ask.stream:
                    assembled.add(word.body)
                else:
                    assembled.whole(word.body)
                if not ask.passes:
                    # What ends an answer is told once it is stored.
                    last.extend(word.deltas)
                    while last and not isinstance(last[0], End):
                        answering.tell([last.pop(0)])
                elif ask.stream:
                    answering.tell([Chunk(word.body)])
            return False

        def note(turn: Turn) -> bytes:
            return dumped(
                {
                    "ask": answering.repeat.digest, "idempotency": answering.repeat.key, "version": turn.version,
                    "created": answering.created, "messages": ask.body["messages"], "answer": assembled.body,
                }
            )  # fmt: skip

        job = Job(ask.body, ask, reads=self._exact or not ask.passes, exact=self._exact)
        try:
            turn = await self.router.turn(session, job, Told(word=word, note=note))
        except SessionError as error:
            raise http_error(error) from error
        answering.tell(last)
        answering.raw = assembled.body
        answering.done(self._labels(session, turn), assembled.usage)

    def _labels(self, session: str, turn: Turn) -> Labels:
        versions = tuple(sorted(set(turn.versions))) or (() if turn.version is None else (turn.version,))
        return Labels(session, turn.lease, turn.version, versions, turn.replica, turn.binding, self.tier)

    # -- what was told before --------------------------------------------------------------------

    def retold(self, repeat: Repeat, ask: Ask, since: int | None) -> Answering | None:
        """See `Tier.retold`: this life of the server may not have given the answer."""
        tree = self.router.sessions.kept.tree(repeat.session)
        # All choices of a call are one generation here.
        for segment in may_be_told_again(tree, repeat, 1, since):
            held = json.loads(segment.note or b"{}")
            is_it = held.get("idempotency") == repeat.key if repeat.key else held.get("ask") == repeat.digest
            if is_it and held["ask"] != repeat.digest:
                raise refusal("malformed", "header Idempotency-Key: it was used for another request, take a new one")
            if is_it:
                return self._tell_again(repeat, ask, segment, held)
        return None

    def _tell_again(self, repeat: Repeat, ask: Ask, segment: Segment, held: Mapping[str, Any]) -> Answering:
        answering = Answering(repeat, ask, held["created"])
        answering.raw, whole = held["answer"], Assembled(ask.choices)
        whole.whole(answering.raw)
        if not _of(answering).passes:
            answering.tell(OpenAIAnswers(ask).whole(dumped(answering.raw)))
        elif ask.stream:
            answering.tell(again(answering.raw, usage=ask.usage))
        version = held["version"]
        labels = Labels(
            repeat.session, segment.request, version, () if version is None else (version,),
            segment.incarnation.rpartition(".")[0], segment.binding, self.tier,
        )  # fmt: skip
        answering.done(labels, whole.usage)
        return answering


def _of(answering: Answering) -> RelayAsk:
    assert isinstance(answering.ask, RelayAsk)
    return answering.ask
