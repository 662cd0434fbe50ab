"""What single entries mean to the rules between machines: keys, and relations that need more than a key.

Rules of this file:

- No rule is stated here; `rules.py` states them and says why.
- A replica is named by its Gate's instance, a life of it by the Gate's incarnation; a Replica's
  instance is such an incarnation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from operator import attrgetter
from typing import Any

from ...statemachines.compiler import predicate
from ...statemachines.gate import Gate
from ...statemachines.lease import Lease
from ...statemachines.names import snake
from ...statemachines.replica import Replica
from ...statemachines.sync import Sync
from .judging import Run
from .reading import Birth, Entry, Step, Track

is_drained = predicate(Gate, "drained")
is_verified = predicate(Gate, "all_verified")

CONTROL = tuple(e.name for e in Gate.ir.events if e.outside)
"""The events with which a controller changes a gate."""
WITHIN = tuple(e.name for e in Gate.ir.events if "Control" in e.bases)
"""Those of a gate that belong to an operation."""

ANSWERS = ("Deadline", "Quiesced", "Installed", "InstallFailed", "Thawed", "Frozen")
"""What the engine and the timer say of an epoch."""

OVER = ("SETTLED", "LOST")
"""The states in which a lease has ended."""

Keys = list[Hashable]

Getter = Callable[[Any], Any]
life: Getter = attrgetter("incarnation", "instance")
"""An instance in one life of its process."""
lease_here: Getter = attrgetter("incarnation", "event.lease")
"""The lease that an event of a gate names, in the gate's own process: the `life` of that Lease."""
turn: Getter = attrgetter("instance", "event.lease")
"""A session and the lease of its turn."""
lease_named: Getter = attrgetter("event.lease")


# -- operations ------------------------------------------------------------------------------------


def operation_named(run: Run, step: Step) -> str:
    """Operation ids are `term.epoch.incarnation.event.number`; the epoch binds events of an operation."""
    event = step.event
    term, epoch, rest = [*step.cause.split(".", 2), "", ""][:3]
    start = f"{step.incarnation}.{snake(step.name)}."
    is_named = term == str(event.term) and epoch == str(getattr(event, "epoch", epoch)) and epoch.isdecimal()
    if is_named and rest.startswith(start) and rest.removeprefix(start).isdecimal():
        return ""
    wanted = f"{event.term}.{getattr(event, 'epoch', '<epoch>')}.{start}<number>"
    return f"its cause is {step.cause!r}, and no operation {wanted}"


def trainer_operation_named(run: Run, step: Step) -> str:
    """Operation ids of the trainer begin `term.incarnation.event.`."""
    start = f"{step.event.term}.{step.incarnation}.{snake(step.name)}."
    return "" if step.cause.startswith(start) else f"its cause is {step.cause!r}, and no operation {start}"


def asked_for(step: Step) -> Keys:
    """What may have asked a gate for this: the operation of its epoch, or a catch-up of its replica."""
    event, replica = step.event, step.instance
    detail: Any = {"Seal": getattr(event, "mode", None), "Install": getattr(event, "version", None)}.get(step.name)
    catch_up = ("catch_up", event.term, replica)
    late: dict[str, Keys] = {
        "Seal": [(*catch_up, "epoch", event.epoch)],
        "Install": [(*catch_up, "version", detail)],
    }
    return [(event.term, event.epoch, step.name, replica, detail), *late.get(step.name, [catch_up])]


def asks(entry: Entry) -> Keys:
    """What a step or a fact of Sync asks of which gate."""
    if isinstance(entry, Step):
        term, epoch = entry.post.term, entry.post.epoch
        return [
            (term, epoch, name, replica, detail)
            for output in entry.outcome.outputs
            for name, detail in _requests(entry, output)
            for replica in output.members
        ]
    values: dict[str, Any] = getattr(entry, "values", {})
    catch_up = ("catch_up", entry.post.term, values["replica"])
    return [catch_up, (*catch_up, "epoch", values["epoch"]), (*catch_up, "version", values["version"])]


def _requests(step: Step, output: Any) -> list[tuple[str, Any]]:
    match type(output).__name__:
        case "SendSeal":
            return [("Seal", output.mode)]
        case "SendDrain":
            return [("Drain", None), ("Escalate", None)]
        case "SendLend":
            return [("Lend", None), ("Returned", None), ("Renew", None)]
        case "SendInstall":
            return [("Install", output.version)]
        case "SendReopen":
            return [("Reopen", None), ("Close", None)]
        case "SendResume":
            # Back to the old version: whatever the gate still needs for that.
            old = [("Seal", step.post.mode), ("Drain", None), ("Install", step.post.published), ("Reopen", None)]
            return [*old, ("Resume", None), ("Close", None)]
        case _:
            return []


def proof(step: Step) -> Keys | None:
    """What a gate must have been, for Sync to take a member's answer."""
    if step.outcome.kind not in ("go", "stay"):
        return None
    replica, now, then = step.event.replica, step.post, step.before_it
    match step.name:
        case "Installed":
            return [(replica, then.epoch, step.name, then.version)]
        case "Closed":
            version = then.version if then.state == "REOPENING" else then.published
            return [(replica, then.epoch if then.state == "REOPENING" else None, step.name, version)]
        case _:
            return [(replica, now.epoch, step.name, None)]


def proves(entry: Any) -> Keys:
    """What a gate is after an entry, as Sync hears it."""
    gate, replica = entry.post, entry.instance
    found: Keys = []
    if entry.name == "Seal" and not entry.outcome.refused:
        found.append((replica, gate.epoch, "Sealed", None))
    if entry.name == "Install" and entry.outcome.refused:
        found.append((replica, entry.event.epoch, "Declined", None))
    state = gate.state
    if state == "OPEN":
        found += [(replica, gate.epoch, "Closed", gate.version), (replica, None, "Closed", gate.version)]
    elif state == "DRAINING" and is_drained(gate):
        found.append((replica, gate.epoch, "Drained", None))
    elif state in ("INSTALLING", "REOPENED") and is_verified(gate):
        found.append((replica, gate.epoch, "Installed", gate.version))
    return found


def epochs_of_one_term(run: Run) -> Iterator[tuple[Entry, None, str]]:
    """Each begin and catch-up, and whether another operation had its epoch before."""
    taken: dict[int, Entry] = {}
    entries = [*(s for s in run.named("Sync", "Begin") if s.outcome.kind == "go"), *run.named("Sync", "catch_up")]
    for entry in sorted(entries, key=lambda e: e.line):
        is_begin = isinstance(entry, Step)
        epoch = entry.event.epoch if is_begin else entry.values["epoch"]
        other = taken.setdefault(epoch, entry)
        shared = other is entry or (not is_begin and not isinstance(other, Step) and other.track is entry.track)
        yield entry, None, "" if shared else f"epoch {epoch} was that of line {other.line}"


def published_grows(run: Run) -> Iterator[tuple[Entry, Entry | None, str]]:
    """Each change of a controller's `published`, in the order of terms."""
    last, at = -1, None
    for track in sorted(run.of("Sync"), key=lambda t: (t.entries[0].post.term, t.incarnation)):
        before: Any = None
        for entry in track.entries:
            now = entry.post.published
            if now != before:
                before = now
                fell = now is None or now < last
                yield entry, at, f"published = {now} after it was {last} in line {at.line}" if fell and at else ""
                if not fell:
                    last, at = now, entry


# -- answers within a gate -------------------------------------------------------------------------


def answers(step: Step) -> Hashable:
    """The question that an answer of the engine or the timer must have had."""
    event = step.event
    match step.name:
        case "Deadline":
            return step.track, "StartTimer", event.epoch, event.timer
        case "Quiesced":
            return step.track, "AskQuiesce", event.epoch
        case "Installed" | "InstallFailed":
            return step.track, "StartInstall", event.epoch
        case "Thawed":
            return step.track, "Thaw", event.epoch, event.lease
        case _:
            return step.track, "StartDrain", event.epoch


def questions(step: Step) -> Keys:
    found: Keys = []
    for output in step.outcome.outputs:
        name, epoch = type(output).__name__, getattr(output, "epoch", None)
        if name == "StartTimer":
            found.append((step.track, name, epoch, output.timer))
        elif name == "Thaw":
            found.append((step.track, name, epoch, output.lease))
        elif name == "ThawAll":
            found += [(step.track, "Thaw", epoch, lease) for lease in output.leases]
        else:
            found.append((step.track, name, epoch))
    return found


# -- leases and sessions ---------------------------------------------------------------------------


def end_of(track: Track) -> Any:
    """The entry by which a lease has ended; None if it has not. Nothing leaves a state in which it has."""
    end: Entry | None = None
    for entry in reversed(track.entries):
        if entry.post.state not in OVER:
            break
        end = entry
    return end


def all_ends(run: Run) -> list[Any]:
    """The entries by which leases have ended."""
    return [end for t in run.of("Lease") if (end := end_of(t)) is not None]


def ends(run: Run) -> list[Any]:
    """The steps by which leases have ended."""
    return [end for end in run.made(all_ends) if type(end) is Step]


def receipts_and_losses(run: Run) -> list[Any]:
    return [*run.named("Lease", "receipt"), *(end for end in run.made(all_ends) if end.post.state == "LOST")]


def is_receipt_true(run: Run, fact: Any) -> str:
    lease, said = fact.post, fact.values
    if lease.state != "SETTLED":
        return f"the lease is {lease.state}, not SETTLED"
    if said["session"] == lease.session and said["ending"] == lease.ending and said["spans"] == lease.spans:
        return ""
    true = {"session": lease.session, "ending": lease.ending, "spans": lease.spans}
    return next(f"{n} is {v!r}" for n, v in true.items() if said[n] != v)


def labels(run: Run) -> Iterator[tuple[Entry, Entry | None, str]]:
    """Each progress of a lease: the gate's entry that gave the lease the version of the label."""
    versions: dict[str, dict[str, dict[int | None, Entry]]] = {}
    cut: set[str] = set()
    entry: Any
    for track in run.of("Gate"):
        of_leases = versions.setdefault(track.incarnation, {})
        version = track.entries[0].post.version
        if track.killed:
            cut.add(track.incarnation)
        for entry in track.entries:
            gate = entry.post
            if entry.name == "Admit" and entry.outcome.kind == "stay":
                of_leases.setdefault(entry.event.lease, {}).setdefault(gate.version, entry)
            if gate.version != version:
                version = gate.version
                for lease in gate.active | gate.suspended | gate.orphaned:
                    of_leases.setdefault(lease, {}).setdefault(version, entry)
    for step in run.named("Lease", "Progress"):
        if step.outcome.kind != "stay":
            continue
        version = step.event.version
        held = versions.get(step.incarnation, {}).get(step.instance, {})
        spans = step.before_it.spans
        if spans and version < max(spans):
            yield step, None, f"tokens of version {version} after tokens of version {max(spans)}"
        elif version in held or step.incarnation in cut:
            yield step, held.get(version), ""
        else:
            shown = ", ".join(map(str, held)) or "none"
            yield step, None, f"tokens of version {version}, while its gate had {shown} for it"


def bound_at_published(run: Run) -> Iterator[tuple[Entry, Entry | None, str]]:
    """Each binding: the version that the first lease was admitted at, and who had published it."""
    published: dict[int, Entry] = {}
    for track in run.of("Sync"):
        for entry in track.entries:
            if entry.post.published is not None:
                published.setdefault(entry.post.published, entry)
    admitted = {(s.incarnation, s.event.lease): s for s in run.named("Gate", "Admit") if s.outcome.kind == "stay"}
    for step in run.named("Session", "Bound"):
        for lease in step.post.leases if step.outcome.kind == "go" else ():
            admit = admitted.get((step.event.incarnation, lease))
            if admit is None:
                continue
            source = published.get(admit.post.version)
            missing = source is None and not run.cut("Sync")
            yield step, source, f"bound at version {admit.post.version}, which nobody published" if missing else ""


def turns_over(run: Run) -> Iterator[tuple[Entry, Entry | None, str]]:
    """Each end of a turn whose lease was admitted: the end of the lease, in the life that admitted it."""
    leases = {b.instance: b.track for b in run.named("Lease", "new") if not b.restored}
    over = {end.track: end for end in run.made(all_ends)}
    for step in run.named("Session", "EndTurn"):
        if (track := leases.get(step.event.lease)) is not None:
            end = over.get(track)
            missing = end is None and not track.killed
            yield step, end, f"the lease stays {track.entries[-1].post.state}" if missing else ""


def its_gate_is_cut(run: Run, step: Step) -> bool:
    """Of a step of a Replica: whether the log of its own gate ended early."""
    return run.cut("Gate", incarnation=step.instance)


# -- causes ----------------------------------------------------------------------------------------


def causes(run: Run) -> Iterator[tuple[int, list[tuple[Any, str]]]]:
    """The births and steps that no controller commands, by kind: how many, and those with another cause."""
    for (machine, name), of in _CAUSES.items():
        entries = run.named(machine, name)
        wanted = list(map(of, entries))
        if wanted == list(map(_cause, entries)):
            yield len(entries), []
        else:
            pairs = zip(entries, wanted, strict=True)
            yield len(entries), [(e, _other_cause(e, cause)) for e, cause in pairs if e.cause != cause]
    operations: dict[str, set[str]] = {}
    for name in CONTROL:
        for step in run.named("Gate", name):
            operations.setdefault(step.incarnation, set()).add(step.cause)
    births = run.named("Lease", "new")
    strange = [b for b in births if b.cause and b.cause != b.instance]
    unknown = [b for b in strange if b.cause not in operations.get(b.incarnation, ())]
    yield len(births), [(b, _other_cause(b, f"{b.instance} or an operation")) for b in unknown]


def _other_cause(entry: Step | Birth, wanted: str) -> str:
    return f"its cause is {entry.cause!r}, and not {wanted}"


def _of_sync(step: Step) -> str:
    """The operation of a step of Sync; a Begin that is refused is of the operation that it would have begun."""
    refused = step.name == "Begin" and step.outcome.refused
    epoch = step.event.epoch if refused else 0 if step.name == "Restore" else step.post.epoch
    return f"{step.post.term}.{epoch}"


def _of_binding(step: Step) -> str:
    """The lease that a session was bound for; where there is none any more, whatever the step says."""
    leases: frozenset[str] = step.post.leases
    return step.cause if step.cause in leases or not leases else " or ".join(sorted(leases))


_instance: Getter = attrgetter("instance")
_cause: Getter = attrgetter("cause")

_CAUSES: dict[tuple[str, str], Callable[[Any], str]] = {
    **{("Gate", name): lease_named for name in ("Admit", "Settle", "Orphan", "GiveUp", "Frozen", "Thawed")},
    ("Gate", "Deadline"): lambda step: f"timer {step.event.epoch}.{step.event.timer}",
    ("Gate", "Quiesced"): lambda step: f"quiesce {step.event.epoch}",
    **{("Gate", name): lambda step: f"install {step.event.epoch}" for name in ("Installed", "InstallFailed")},
    ("Gate", "Fault"): _instance,
    **{("Lease", e.name): _instance for e in Lease.ir.events if e.name != "Cancel"},
    ("Session", "BeginTurn"): lease_named,
    ("Session", "EndTurn"): lease_named,
    ("Session", "Bound"): _of_binding,
    **{("Sync", e.name): _of_sync for e in Sync.ir.events},
    **{("Replica", e.name): _instance for e in Replica.ir.events if e.name != "Leave"},
}
"""(machine, event) -> the cause that a step must have; others are free, or are operations of a controller."""
