"""A log for who operates a run: each thing worth attention is one line, with its names as fields.

Rules of this file:

- Logged are changes of gates, replicas and operations, leases whose outcome became unknown or that are lost, calls of
  a session server whose turn failed, and refusals and lost sessions, summed up over a while. Nothing is logged of a
  request that goes its way.
- A message says it to people; `facts` of its record have the same for programs. What other modules log has no
  facts but those of the process.
- Whatever an id or a reason holds, it begins no line: what cannot be printed is escaped, and what was raised is
  indented.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ...statemachines.replica import Replica
from .context import End, Watchers

if TYPE_CHECKING:
    from ..controller.controller import Controller
    from ..serving.answering import Answering
    from ..serving.calls import Call, Watched
    from ..workers.front import Front

Form = Literal["text", "json"]
_LOST = frozenset({"lost", "turn_lost"})
"""Codes of calls whose turn was begun, and has no answer."""
SUMMARY_S = 10.0
"""How often refusals are summed up."""
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_log = logging.getLogger(__name__)


class TextFormatter(logging.Formatter):
    """One line for people, and under it what was raised."""

    def __init__(self) -> None:
        super().__init__(TEXT)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return "\n".join(f"  {escaped(line)}" for line in super().formatException(ei).splitlines())


def escaped(text: str) -> str:
    """The text with what cannot be printed, line ends too, as Python writes it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class JsonFormatter(logging.Formatter):
    """One JSON object a line; `facts` are those of the process."""

    def __init__(self, facts: dict[str, str]) -> None:
        super().__init__()
        self._facts = facts

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **self._facts,
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)


def configure(form: Form, facts: dict[str, str], stream: TextIO | None = None) -> None:
    """Have this process log to `stream`, standard error if not given: warnings, and what this file logs."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(facts) if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _log.setLevel(logging.INFO)


def watchers() -> Watchers:
    """What has to be told of fronts, controllers and session servers."""
    return Watchers(
        (lambda front: FrontLog(front).end,), (watch_controller,), sessions=(lambda watched: SessionsLog(watched).end,)
    )


class FrontLog:
    """What is worth attention in one life of a replica. Why a gate is poisoned, the gate itself logs."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._whose = {"replica": front.replica, "incarnation": front.incarnation}
        self._told: Counter[str] = Counter()
        front.gate.host.observe(self._gate)
        front.leases.host.observe(self._lease)
        self._timer = asyncio.get_running_loop().call_later(SUMMARY_S, self._again)

    def end(self) -> None:
        """Nothing more comes."""
        self._timer.cancel()
        self._sum_up()

    def _gate(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        if before == after or after == "POISONED":
            return
        live, by = self._front.gate.live, type(event).__name__
        facts = {
            "event": "gate", **self._whose, "before": before, "after": after, "by": by, "cause": cause,
            "term": live.term, "epoch": live.epoch, "version": live.version, "target": live.target,
            "active": len(live.active), "suspended": len(live.suspended), "orphaned": len(live.orphaned),
        }  # fmt: skip
        # Its own deadline, not its controller, has moved it.
        level = logging.WARNING if by == "Deadline" else logging.INFO
        _say(level, facts, f"{instance}: {before} -> {after} by {by}, epoch {live.epoch}, version {live.version}")

    def _lease(self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        if before == after or not (after in ("ORPHANED", "LOST") or before == "ORPHANED"):
            return
        live = self._front.leases.host.live(instance)
        ending = {"ORPHANED": "unknown", "LOST": "lost"}.get(after) or live.ending.value
        why = str(getattr(event, "why", "")) or type(event).__name__
        facts = {
            "event": "lease", **self._whose, "lease": instance, "session": live.session, "outcome": ending, "why": why,
            "epoch": self._front.gate.live.epoch,
        }  # fmt: skip
        level = logging.INFO if ending == "discarded" else logging.WARNING
        _say(level, facts, f"lease {instance}: its outcome is {ending} ({why})")

    def _again(self) -> None:
        self._sum_up()
        self._timer = asyncio.get_running_loop().call_later(SUMMARY_S, self._again)

    def _sum_up(self) -> None:
        now = Counter(self._front.door.refused)
        fresh = now - self._told
        self._told = now
        if not fresh:
            return
        reasons = ", ".join(f"{reason} {count}" for reason, count in fresh.most_common())
        facts = {
            "event": "refusals", **self._whose, "refused": dict(fresh), "waiting": len(self._front.door),
            "epoch": self._front.gate.live.epoch,
        }  # fmt: skip
        text = f"{self._front.replica}: {fresh.total()} requests were refused in the last {SUMMARY_S:g} s: {reasons}"
        _say(logging.INFO, facts, text)


class SessionsLog:
    """What is worth attention in one life of a session server."""

    def __init__(self, watched: Watched) -> None:
        self._host = watched.sessions.host
        self._whose = {"server": watched.sessions.server, "incarnation": self._host.incarnation}
        self._refused: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._host.observe(self._session)
        watched.calls.append(self._call)
        watched.exchanges.over.append(self._answered)
        self._timer = asyncio.get_running_loop().call_later(SUMMARY_S, self._again)

    def end(self) -> None:
        """Nothing more comes."""
        self._timer.cancel()
        self._sum_up()

    def _session(
        self, session: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str
    ) -> None:
        if after == "LOST" and before != after:
            self._lost[str(event.incarnation)] += 1

    def _answered(self, answering: Answering) -> None:
        error, labels = answering.error, answering.first_labels
        if error is None or not (error.status == 502 or error.code in _LOST):
            return
        request = labels.request_id if labels is not None else ""
        facts = {
            "event": "turn", **self._whose, "session": answering.repeat.session, "lease": request, "reason": error.code,
            "status": error.status,
        }  # fmt: skip
        _say(logging.WARNING, facts, f"session {answering.repeat.session}, request {request or 'none'}: {error}")

    def _call(self, call: Call) -> None:
        def end() -> None:
            if call.status >= 400:
                self._refused[str(call.status)] += 1

        call.ended.append(end)

    def _again(self) -> None:
        self._sum_up()
        self._timer = asyncio.get_running_loop().call_later(SUMMARY_S, self._again)

    def _sum_up(self) -> None:
        if self._refused:
            told = ", ".join(f"{status} {count}" for status, count in self._refused.most_common())
            facts = {"event": "refusals", **self._whose, "refused": dict(self._refused)}
            text = f"{self._refused.total()} HTTP calls were answered with an error in the last {SUMMARY_S:g} s: {told}"
            _say(logging.INFO, facts, text)
        for replica, count in self._lost.items():
            facts = {"event": "lost", **self._whose, "replica_incarnation": replica, "sessions": count}
            _say(logging.WARNING, facts, f"{count} sessions are lost: {replica} has ended")
        self._refused.clear()
        self._lost.clear()


def watch_controller(controller: Controller) -> End:
    """Log what is worth attention of one controller."""
    whose = {"incarnation": controller.incarnation, "term": controller.term}

    def sync(instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        name = type(event).__name__
        is_dropped = name == "Drop" and outcome.kind in ("go", "stay")
        is_refused = name == "Begin" and outcome.refused
        if before == after and not (is_dropped or is_refused):
            return
        live = controller.syncs.live(instance)
        facts = {
            "event": "operation", **whose, "epoch": live.epoch, "version": live.version, "before": before,
            "after": after, "by": name, "members": sorted(live.members), "published": live.published,
        }  # fmt: skip
        whole = f"operation of epoch {event.epoch if is_refused else live.epoch}"
        if is_refused:
            facts |= {"epoch": event.epoch, "version": event.version, "reason": outcome.reason}
            _say(logging.WARNING, facts, f"{whole}: refused, {outcome.text}")
            return
        if is_dropped:
            facts |= {"replica": event.replica, "why": event.why}
            _say(logging.WARNING, facts, f"{whole}: goes on without {event.replica}: {event.why}")
        if before != after:
            level = logging.WARNING if after in ("ROLLING_BACK", "FAILED") else logging.INFO
            _say(level, facts, f"{whole}: {before} -> {after}, version {live.version}")

    def replica(instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        if before == after:
            return
        by, why = type(event).__name__, str(getattr(event, "why", ""))
        facts = {
            "event": "replica", **whose, "replica_incarnation": instance, "before": before, "after": after, "by": by,
            "why": why, "epoch": controller.register.epoch,
        }  # fmt: skip
        calm = after in ("SERVING", "LEAVING") or isinstance(event, Replica.Started)
        level = logging.INFO if calm else logging.WARNING
        _say(level, facts, f"{instance}: {before} -> {after} by {by}" + (f" ({why})" if why else ""))

    controller.syncs.observe(sync)
    controller.replicas.observe(replica)
    return lambda: None


def _say(level: int, facts: dict[str, Any], text: str) -> None:
    _log.log(level, "%s", text, extra={"facts": facts})
