"""`sluicegate status`: gates, leases, epochs, the operation that runs, and who waits for what."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ._controller import Place, PlaceError, add_where, known_by, place_of, say, seconds

HELP = "how a run stands: gates, leases, epochs, the operation that runs, who waits for what"
EXAMPLE = "sluicegate status runs/mine --watch"
_CLEAR = "\x1b[H\x1b[2J"
_COLUMNS = (
    "life", "replica", "gate", "term", "epoch", "version", "active", "suspended", "orphaned", "at door", "waits for",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_where(parser)
    parser.add_argument("--watch", action="store_true", help="look again and again, until Ctrl-C")
    parser.add_argument("--every", type=seconds, default=1.0, metavar="SECONDS", help="how often with --watch")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: one object a line")
    parser.add_argument(
        "--digests", action="store_true", help="have each replica read its weights, and compare them"
    )
    parser.add_argument("--within", type=seconds, default=5.0, metavar="SECONDS", help="how long an answer may take")


def run(args: argparse.Namespace) -> int:
    from ..protocol.store import StoreError

    try:
        place = place_of(args.where)
        while True:
            with known_by(args.access):
                found = asyncio.run(look(place, args.within, digests=args.digests))
            text = json.dumps(found) if args.format == "json" else as_text(found)
            clear = args.watch and args.format == "text" and sys.stdout.isatty()
            print(_CLEAR + text if clear else text, flush=True)
            if not args.watch:
                return 0 if is_well(found) else 1
            time.sleep(args.every)
    except (PlaceError, StoreError) as error:
        say(str(error))
        return 2


def is_well(found: Mapping[str, Any]) -> bool:
    """Whether a controller rules, every gate answers and none is poisoned, no name is held, and no two replicas are
    known to hold different weights under one version."""
    replicas = found["replicas"]
    trouble = any(r["unanswered"] or r["gate"] == "POISONED" for r in replicas)
    return found["controller"]["answers"] and not (trouble or found["held"] or found.get("differing"))


async def look(place: Place, within: float, *, digests: bool = False) -> dict[str, Any]:
    """How a run stands, as JSON; with `digests` also what the replicas hold. Raises PlaceError, StoreError."""
    from ..protocol.client import CallError, Rejected

    if place.register is None:
        async with place.client(within) as client:
            try:
                return _of_answer(await client.status())
            except CallError as error:
                raise PlaceError(f"{error}: give the run's folder, and its gates are asked instead") from error
    if not is_ruled(place):
        found = await _without(place, within, "no controller has ruled this run yet")
    else:
        async with place.client(within) as client:
            try:
                found = _of_answer(await client.status())
            except CallError as error:
                if isinstance(error, Rejected) and error.is_turned_away:
                    raise PlaceError(f"the controller rules, and does not let you look: {error}") from error
                found = await _without(place, within, str(error))
    await _ask_doors(place, found["replicas"], within)
    if digests:
        await _ask_digests(place, found, within)
    return found


def is_ruled(place: Place) -> bool:
    from ..runtime.controller.roster import Roster

    assert place.register is not None
    with Roster(place.register, looks=True) as roster:
        return roster.ruler() is not None


def _of_answer(answer: Any) -> dict[str, Any]:
    operation = None
    if answer.HasField("operation"):
        said = answer.operation
        operation = {
            "epoch": said.epoch, "version": said.version, "phase": said.phase, "members": list(said.members),
            "awaited": list(said.awaited), "left": round(said.left, 1), "left_behind": dict(said.left_behind),
        }  # fmt: skip
    return {
        "controller": {"answers": True, "term": answer.term, "incarnation": answer.incarnation, "why": ""},
        "taking_over": answer.taking_over, "published": _opt(answer, "published"), "paused": answer.paused,
        "operation": operation, "replicas": [_replica(r) for r in answer.replicas], "held": dict(answer.held),
    }  # fmt: skip


def _replica(said: Any) -> dict[str, Any]:
    return {
        "replica": said.replica, "incarnation": said.incarnation, "state": said.state, "gate": said.gate,
        "unanswered": said.unanswered, "epoch": said.epoch, "term": said.term, "version": _opt(said, "version"),
        "target": _opt(said, "target"), "active": said.active, "suspended": said.suspended,
        "orphaned": said.orphaned, "waits_for": said.waits_for, "why_behind": said.why_behind,
        "at_door": None, "why_poisoned": "", "storage": "",
    }  # fmt: skip


def _opt(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


async def _without(place: Place, within: float, why: str) -> dict[str, Any]:
    """What the register and the gates themselves say, where no controller does."""
    from ..runtime.controller.register import Register
    from ..runtime.controller.roster import Roster

    assert place.register is not None
    with Register(place.register, looks=True) as register, Roster(place.register, looks=True) as roster:
        ruler, published, held = roster.ruler(), register.published, roster.holds()
        term, lives = roster.ruling(), roster.living("rollout")
    replicas = await asyncio.gather(*(_ask_gate(life, within) for life in lives))
    return {
        "controller": {
            "answers": False, "term": term, "incarnation": ruler.incarnation if ruler else "", "why": why,
        },
        "taking_over": False, "published": published, "paused": False, "operation": None,
        "replicas": list(replicas), "held": held,
    }  # fmt: skip


async def _ask_gate(life: Any, within: float) -> dict[str, Any]:
    from ..protocol.client import CallError, dial
    from ..protocol.generated import controller_pb2 as pb
    from ..protocol.generated.gate_service import GateClient
    from ..runtime.controller.status import with_gate

    said = pb.ReplicaStatus(replica=life.name, incarnation=life.incarnation)
    if not life.control:
        said.unanswered = "its process is not ready yet"
        return _replica(said)
    channel = dial(life.control)
    try:
        gate = (await GateClient(channel, life.name, incarnation=life.incarnation).get(deadline=within)).snapshot
        with_gate(said, gate)
    except CallError as error:
        said.unanswered = str(error)
    finally:
        await channel.close()
    return _replica(said)


async def _ask_doors(place: Place, replicas: Sequence[dict[str, Any]], within: float) -> None:
    """Add what the gates do not show: who waits at the door, why a gate is poisoned, what keeps records out."""
    from grpc import aio

    from ..protocol.client import dial
    from ..protocol.generated import front_pb2, front_pb2_grpc
    from ..runtime.controller.roster import Roster

    assert place.register is not None
    with Roster(place.register, looks=True) as roster:
        controls = {life.incarnation: life.control for life in roster.living("rollout")}

    async def ask(replica: dict[str, Any]) -> None:
        channel = dial(controls[replica["incarnation"]])
        try:
            stub: Any = front_pb2_grpc.FrontStub(channel)
            said = await stub.Show(front_pb2.ShowRequest(), timeout=within)
            replica.update(at_door=said.waiting, why_poisoned=said.why, storage=said.storage)
        except aio.AioRpcError:
            # A gate that answers and no door: it is not a front of ours.
            pass
        finally:
            await channel.close()

    await asyncio.gather(*(ask(r) for r in replicas if not r["unanswered"] and controls.get(r["incarnation"])))


async def _ask_digests(place: Place, found: dict[str, Any], within: float) -> None:
    """Add what each replica holds, and which hold different weights under one version."""
    from ..runtime.controller.digests import differing, held_by
    from ..runtime.controller.roster import Roster

    assert place.register is not None
    with Roster(place.register, looks=True) as roster:
        held = await held_by(
            {life.incarnation: life.control for life in roster.living("rollout") if life.control}, within
        )
    found["differing"] = differing(held.values())
    for replica in found["replicas"]:
        said = held.get(replica["incarnation"])
        replica["digests"] = {} if said is None else dict(said.digests)
        replica["why_no_digests"] = "" if said is None else said.why


# -- as text -------------------------------------------------------------------------------------------


def as_text(found: Mapping[str, Any]) -> str:
    """For people."""
    return "\n".join([*_head(found), "", *_table([_row(r) for r in found["replicas"]]), *_foot(found)])


def _head(found: Mapping[str, Any]) -> list[str]:
    controller, published = found["controller"], found["published"]
    what = "nothing is published" if published is None else f"version {published} is published"
    if not controller["answers"]:
        last = f", the last was {controller['incarnation']}" if controller["incarnation"] else ""
        return [
            f"no controller answers: term {controller['term']}{last}; {what}",
            f"  {controller['why']}",
            "  the gates were asked themselves; each reopens or is poisoned when its window ends",
        ]
    lines = [f"{controller['incarnation']} rules, term {controller['term']}; {what}"]
    if found["taking_over"]:
        lines.append("it takes over: operations wait until every gate that it found has come home")
    if found["paused"]:
        lines.append("paused: every gate stays drained until resume")
    operation = found["operation"]
    if operation is None:
        return [*lines, "no operation runs"]
    lines.append(
        f"operation of epoch {operation['epoch']}: {operation['phase']}, version {operation['version']}, "
        f"{operation['left']:g} s left"
    )
    if operation["awaited"]:
        lines.append(f"  waits for {', '.join(operation['awaited'])}")
    return lines + [f"  without {replica}: {why}" for replica, why in sorted(operation["left_behind"].items())]


def _row(replica: Mapping[str, Any]) -> list[str]:
    version, target = replica["version"], replica["target"]
    at = "-" if version is None else str(version)
    moves = target is not None and target != version
    numbers = [str(replica[name]) for name in ("active", "suspended", "orphaned")]
    at_door = "-" if replica["at_door"] is None else str(replica["at_door"])
    if replica["unanswered"]:
        return [replica["incarnation"], replica["state"] or "-", "?", *"-------", f"no answer: {replica['unanswered']}"]
    waits_for = replica["waits_for"] or "-"
    if replica["why_poisoned"]:
        waits_for += f": {replica['why_poisoned']}"
    return [
        replica["incarnation"], replica["state"] or "-", replica["gate"], str(replica["term"]), str(replica["epoch"]),
        f"{at} -> {target}" if moves else at, *numbers, at_door, waits_for,
    ]  # fmt: skip


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return ["no replica lives"]
    lines = [list(_COLUMNS), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _foot(found: Mapping[str, Any]) -> list[str]:
    lines = [f"{r['incarnation']} is behind: {r['why_behind']}" for r in found["replicas"] if r["why_behind"]]
    lines += [f"{r['incarnation']} admits nothing: {r['storage']}" for r in found["replicas"] if r["storage"]]
    lines += [f"{name} is held, no new life is started: {why}" for name, why in sorted(found["held"].items())]
    lines += found.get("differing", [])
    for replica in found["replicas"]:
        told = [f"{rank} {digest}" for rank, digest in sorted(replica.get("digests", {}).items())]
        told += [replica["why_no_digests"]] if replica.get("why_no_digests") else []
        lines += [f"{replica['incarnation']} holds: {'; '.join(told)}"] if told else []
    return ["", *lines] if lines else []
