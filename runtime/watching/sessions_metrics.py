"""Counts of one life of a session server: its sessions, turns and calls."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...statemachines.session import Session
from ..chat.form import End
from . import metrics as m
from .metrics import Histogram, Metric, Samples

if TYPE_CHECKING:
    from ..serving.answering import Answering
    from ..serving.calls import Call, Watched

_MADE = ("go", "stay")


class SessionsMetrics:
    """Counts what one session server does. Nothing is counted by session: there are too many."""

    def __init__(self, watched: Watched) -> None:
        self._sessions, self._exchanges = watched.sessions, watched.exchanges
        self.incarnation = watched.sessions.host.incarnation
        self._states = dict.fromkeys(Session.ir.states, 0)
        self._counts: Counter[Metric] = Counter()
        self._answers: Counter[str] = Counter()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._first, self._turn = Histogram(), Histogram()
        watched.sessions.host.observe(self._session, self._life)
        watched.exchanges.over.append(self._answered)
        watched.calls.append(self._call)

    # -- what is told ----------------------------------------------------------------------------

    def _life(self, session: str, live: Any, goes_on: bool) -> None:
        if live is not None:
            self._states[live.state] += 1
        else:
            self._states["RETIRED"] -= 1
            self._counts[m.SESSIONS_BURIED] += 1

    def _session(
        self, session: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str
    ) -> None:
        if before != after:
            self._states[before] -= 1
            self._states[after] += 1
        if outcome.kind in _MADE and (metric := _STEPS.get(type(event))) is not None:
            self._counts[metric] += 1

    def _answered(self, answering: Answering) -> None:
        if answering.error is not None:
            self._answers[answering.error.code] += 1
        else:
            ends = [delta.finish.value for delta in answering.deltas if isinstance(delta, End)]
            self._answers[ends[0] if ends else "passed_on"] += 1
            self._turn.observe(time.monotonic() - answering.began)
        if answering.first_at is not None:
            self._first.observe(answering.first_at - answering.began)

    def _call(self, call: Call) -> None:
        def end() -> None:
            self._calls[call.api, str(call.status)] += 1

        call.ended.append(end)

    # -- what is asked ---------------------------------------------------------------------------

    def samples(self) -> Iterator[tuple[Metric, Samples]]:
        kept, host = self._sessions.kept, self._sessions.host
        yield m.SESSIONS, [((state,), n) for state, n in self._states.items()]
        for metric in (*_STEPS.values(), m.SESSIONS_BURIED):
            yield metric, [((), self._counts[metric])]
        yield m.ANSWERS, [((ending,), n) for ending, n in dict(self._answers).items()]
        yield m.ANSWERING, [((), self._exchanges.running)]
        yield m.FIRST_TOKEN_SECONDS, [((), self._first)]
        yield m.ANSWER_SECONDS, [((), self._turn)]
        yield m.CALLS, [(how, n) for how, n in dict(self._calls).items()]
        yield m.CALLS_JOINED, [((), self._exchanges.joined)]
        yield m.TRACES_HELD, [((), kept.held)]
        yield m.CHOSEN_IDS, [((), kept.chosen)]
        yield m.STORE_FAILURES, [((), host.journal.figures.failures)]


_STEPS: dict[type[Any], Metric] = {
    Session.Bound: m.BINDINGS, Session.Rebind: m.REBINDINGS, Session.BeginTurn: m.TURNS, Session.EndTurn: m.TURNS_ENDED,
}  # fmt: skip
"""What is counted of steps that were made."""
