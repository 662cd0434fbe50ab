"""Whether a run is legal, said once more: by walking expressions, and by the contract's rules over plain lines.

Nothing here knows the compiled step or `spec/traces`: a track is walked by the interpreter of
expressions, cell by cell, and what machines owe each other is asked of the lines as JSON gave them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from trace_lines import track_of

from sluicegate.statemachines.interpreter import evaluate
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.values import decode, encode

Line = dict[str, Any]
Node = int
EMPTY: dict[str, Any] = {"set": frozenset(), "map": {}, "seq": ()}
BY_NAME = {m.ir.name: m for m in MACHINES}
STARTS: dict[str, tuple[str, ...]] = {
    "SEALING": ("Seal",), "DRAINING": ("Drain",), "LENT": ("Lend", "Returned", "Renew"), "INSTALLING": ("Install",),
    "REOPENING": ("Reopen", "Close"), "ROLLING_BACK": ("Seal", "Drain", "Install", "Reopen", "Resume", "Close"),
}  # fmt: skip
"""The state that an operation comes to, and what it then asks of its members' gates."""


class Illegal(Exception):
    """What no run of the declared machines could have done."""


def refusal(lines: list[Line]) -> str:
    """Why the run is illegal; nothing if it is legal. Killed processes are not known here."""
    try:
        Judge(lines).judge()
    except Illegal as why:
        return str(why)
    return ""


def need(holds: object, why: str, line: Line) -> None:
    if not holds:
        raise Illegal(f"{why}: {line}")


class Judge:
    """A run as its lines. `then[i]` is the state and fields of line i's instance after it, as it must be."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.tracks: dict[Any, list[int]] = defaultdict(list)
        for i, line in enumerate(lines):
            if (track := track_of(line)) is not None:
                self.tracks[track].append(i)
        self.then: dict[int, tuple[str, dict[str, Any]]] = {}
        self.outputs: dict[int, list[tuple[str, dict[str, Any]]]] = {}
        self.before: dict[Node, set[Node]] = defaultdict(set)

    def judge(self) -> None:
        for numbers in self.tracks.values():
            self.walk(numbers)
        for a, b in self.edges():
            self.before[b].add(a)
        try:
            tuple(TopologicalSorter(self.before).static_order())
        except CycleError as error:
            raise Illegal(f"these can only come after each other: {error.args[1]}") from error

    # -- one track by the words of its table -----------------------------------------------------

    def walk(self, numbers: list[int]) -> None:
        machine = BY_NAME[self.lines[numbers[0]]["machine"]]
        state, fields = "", {}
        for earlier, i in zip([None, *numbers], numbers, strict=False):
            line = self.lines[i]
            if earlier is not None:
                self.before[i].add(earlier)
            if line["line"] == "new":
                need(earlier is None, "born twice", line)
                fields = {f.name: EMPTY[f.type.kind] if f.initial == () else f.initial for f in machine.ir.fields}
                fields |= {n: decode(machine.ir.field(n).type, v) for n, v in line["fields"].items()}
                state = line["state"]
                need(line["restored"] or state == machine.ir.states[0], "born in a later state", line)
            elif line["line"] == "step":
                state, fields = self.step(machine, state, fields, i)
            self.then[i] = state, fields

    def step(self, machine: Any, state: str, fields: dict[str, Any], i: int) -> tuple[str, dict[str, Any]]:
        line = self.lines[i]
        event = machine.ir.event(line["event"])
        arguments = {f.name: decode(f.type, line["fields"][f.name]) for f in event.fields}
        cell = machine.ir.cell(line["event"], state)
        guarded = [*cell.fences, *cell.branches]
        branch = next((b for b in guarded if evaluate(b.guard, fields, arguments)), cell.otherwise)
        then = {**fields, **{u.field: evaluate(u.value, fields, arguments) for u in branch.updates}}
        after = branch.target if branch.kind == "go" else state
        changed = {n: encode(machine.ir.field(n).type, v) for n, v in then.items() if v != fields[n]}
        said = (line["before"], line["after"], line["set"], line["verdict"])
        meant = (state, after, changed, {"kind": branch.kind, "rule": branch.rule, "reason": branch.reason})
        need(said == meant, f"its table says {meant}", line)
        self.outputs[i] = [
            (e.output, {n: evaluate(v, fields, arguments) for n, v in e.args}) for e in branch.outputs
        ]  # fmt: skip
        return after, then

    # -- what machines owe each other ------------------------------------------------------------

    def of(self, machine: str, *names: str, taken: bool = False) -> Iterator[int]:
        for i, line in enumerate(self.lines):
            if line.get("machine") != machine or (line.get("event") or line.get("fact") or "new") not in names:
                continue
            if not taken or line["verdict"]["kind"] in ("go", "stay"):
                yield i

    def one(self, found: list[int], why: str, line: Line) -> int:
        need(len(found) == 1, f"{why}, {len(found)} times", line)
        return found[0]

    def edges(self) -> Iterator[tuple[Node, Node]]:
        yield from self.leases()
        yield from self.sessions()
        yield from self.commands()
        yield from self.answers()
        yield from self.barriers()
        yield from self.weights()
        yield from self.ranks()
        yield from self.replicas()
        self.names()

    def leases(self) -> Iterator[tuple[Node, Node]]:
        admits: dict[Any, list[int]] = defaultdict(list)
        settles: dict[Any, list[int]] = defaultdict(list)
        for i in self.of("Gate", "Admit", taken=True):
            admits[self.lines[i]["incarnation"], self.lines[i]["fields"]["lease"]].append(i)
        for i in self.of("Gate", "Settle", "GiveUp"):
            settles[self.lines[i]["incarnation"], self.lines[i]["fields"]["lease"]].append(i)
        need(len({lease for _, lease in admits}) == sum(map(len, admits.values())), "a lease is admitted twice", {})
        births = {(self.lines[i]["incarnation"], self.lines[i]["instance"]): i for i in self.of("Lease", "new")}
        need(births.keys() == admits.keys(), "not each lease is admitted, and each admitted one there", {})
        for key, birth in births.items():
            line = self.lines[birth]
            track = self.tracks[track_of(line)]
            yield admits[key][0], birth
            over = [i for i in track if self.then[i][0] in ("SETTLED", "LOST")]
            need(over, "the lease does not end", line)
            receipts = [i for i in track if self.lines[i].get("fact") == "receipt"]
            if self.then[over[0]][0] == "SETTLED":
                receipt = self.one(receipts, "a settled lease has one receipt", line)
                state, fields = self.then[receipt]
                lease = BY_NAME["Lease"].ir
                true = {n: encode(lease.field(n).type, fields[n]) for n in ("session", "ending", "spans")}
                need(state == "SETTLED" and self.lines[receipt]["values"] == true, "the receipt is not true", line)
            else:
                need(not receipts, "a lost lease has no receipt", line)
            known = [*receipts, *[i for i in over if self.then[i][0] == "LOST"]]
            need(settles.get(key), "its gate never hears of its end", line)
            yield over[0], settles[key][0]
            yield from ((known[0], i) for i in settles[key] if self.lines[i]["event"] == "Settle")
            yield from self.labels(track, admits[key][0], line)
        for key, found in settles.items():
            need(key in births, "settled and never there", self.lines[found[0]])

    def labels(self, track: list[int], admit: int, lease: Line) -> Iterator[tuple[Node, Node]]:
        """Each token is of a version that the gate had while the lease was in it, and versions only grow."""
        gate = self.tracks[track_of(self.lines[admit])]
        held: dict[int, int] = {}
        for i in gate[gate.index(admit) :]:
            fields = self.then[i][1]
            if lease["instance"] in fields["active"] | fields["suspended"] | fields["orphaned"]:
                held.setdefault(fields["version"], i)
        newest = 0
        for i in track:
            line = self.lines[i]
            if line.get("event") == "Progress" and line["verdict"]["kind"] == "stay":
                version = line["fields"]["version"]
                need(version in held and version >= newest, f"tokens of another version than {[*held]}", line)
                newest = version
                yield held[version], i

    def sessions(self) -> Iterator[tuple[Node, Node]]:
        turns: dict[str, int] = {}
        for i in self.of("Session", "BeginTurn", taken=True):
            lease = self.lines[i]["fields"]["lease"]
            need(lease not in turns, "two turns have one lease", self.lines[i])
            turns[lease] = i
        ended = {(self.lines[i]["instance"], self.lines[i]["fields"]["lease"]): i
                 for i in self.of("Session", "EndTurn", taken=True)}  # fmt: skip
        births = {self.lines[i]["instance"]: i for i in self.of("Lease", "new")}
        for lease, begin in turns.items():
            key = self.lines[begin]["instance"], lease
            need(key in ended, "the turn does not end", self.lines[begin])
            if lease in births:
                track = self.tracks[track_of(self.lines[births[lease]])]
                yield next(i for i in track if self.then[i][0] in ("SETTLED", "LOST")), ended[key]
        for lease, birth in births.items():
            need(lease in turns, "a lease without a turn", self.lines[birth])
            session = self.then[birth][1]["session"]
            need(self.lines[turns[lease]]["instance"] == session, "a lease of another session", self.lines[birth])
            yield turns[lease], birth
            yield from self.forwards(lease, birth, session)
        for i in self.of("Session", "Bound", taken=True):
            line = self.lines[i]
            for lease in self.then[i][1]["leases"]:
                need(lease in births and self.lines[births[lease]]["incarnation"] == line["fields"]["incarnation"],
                     "bound where its lease was not admitted", line)  # fmt: skip
                yield births[lease], i
        for i in self.of("Session", "Lose", taken=True):
            dead = [j for j, line in enumerate(self.lines) if line.get("machine") == "Replica"
                    and line["instance"] == self.lines[i]["fields"]["incarnation"] and j in self.then
                    and self.then[j][0] == "DEAD"]  # fmt: skip
            need(dead, "lost, and its replica lives", self.lines[i])
            yield dead[0], i

    def forwards(self, lease: str, birth: int, session: str) -> Iterator[tuple[Node, Node]]:
        incarnation = self.lines[birth]["incarnation"]
        for i in self.tracks[track_of(self.lines[birth])]:
            if self.lines[i].get("event") == "Forward" and self.lines[i]["verdict"]["kind"] == "go":
                bound = [j for key, track in self.tracks.items() if key[:2] == ("Session", session) for j in track
                         if self.then[j][0] == "TURN" and lease in self.then[j][1]["leases"]
                         and self.then[j][1]["incarnation"] == incarnation]  # fmt: skip
                need(bound, "forwarded where its session is not bound", self.lines[i])
                yield bound[0], i

    def commands(self) -> Iterator[tuple[Node, Node]]:
        """Each command to a gate is of a controller's operation, at its barrier, or of a catching up."""
        asked: dict[Any, int] = {}
        controllers: dict[int, int] = {}
        for key, track in self.tracks.items():
            if key[0] != "Sync":
                continue
            term = self.then[track[0]][1]["term"]
            need(term not in controllers, "two controllers of one term", self.lines[track[0]])
            controllers[term] = track[0]
            former = ""
            for i in track:
                line, (state, fields) = self.lines[i], self.then[i]
                if line.get("fact") == "catch_up":
                    need(line["values"]["version"] == fields["published"], "caught up to what is not published", line)
                    epoch = line["values"]["epoch"]
                    need(("epoch", epoch) not in asked, "an epoch is used twice", line)
                    asked["epoch", epoch] = i
                    asked.setdefault((term, "any", line["values"]["replica"]), i)
                    asked[term, epoch, "Seal", line["values"]["replica"], None] = i
                elif line["line"] == "step" and state != former:
                    if state == "SEALING":
                        need(("epoch", fields["epoch"]) not in asked, "an epoch is used twice", line)
                        asked["epoch", fields["epoch"]] = i
                    for event in STARTS.get(state, ()):
                        for replica in fields["members"]:
                            detail = {"Seal": line["fields"].get("mode"), "Install": fields["version"]}.get(event)
                            asked.setdefault((term, fields["epoch"], event, replica, detail), i)
                former = state
        for i in self.of("Gate", "Claim", "Poison"):
            term = self.lines[i]["fields"]["term"]
            need(term in controllers, "a term is nobody's", self.lines[i])
            yield controllers[term], i
        for i in self.of("Gate", "Seal", "Drain", "Install", "Reopen", "Resume", "Close", "Lend", "Returned", "Renew"):
            line = self.lines[i]
            given = line["fields"]
            detail = given.get("mode") if line["event"] == "Seal" else given.get("version")
            own = (given["term"], given["epoch"], line["event"], line["instance"])
            source = asked.get((*own, detail))
            if source is None and line["event"] == "Seal":
                source = asked.get((*own, None))
            elif source is None:
                source = asked.get((given["term"], "any", line["instance"]))
            need(source is not None, "nobody asked for it", line)
            yield source or 0, i

    def answers(self) -> Iterator[tuple[Node, Node]]:
        """Engine and timer answer what their gate put out before."""
        questions = {"Deadline": "StartTimer", "Quiesced": "AskQuiesce", "Installed": "StartInstall",
                     "InstallFailed": "StartInstall", "Frozen": "StartDrain", "Thawed": "ThawAll"}  # fmt: skip
        for key, track in self.tracks.items():
            for place, i in enumerate(track if key[0] == "Gate" else ()):
                event = self.lines[i].get("event")
                if event in questions:
                    given = self.lines[i]["fields"]
                    put_out = [(n, a) for j in track[:place] for n, a in self.outputs.get(j, ())]
                    found = [a for n, a in put_out if n == questions[event] and a["epoch"] == given["epoch"]
                             and (event != "Thawed" or given["lease"] in a["leases"])
                             and (event != "Deadline" or given["timer"] == a["timer"])]  # fmt: skip
                    late = [a for n, a in put_out if event == "Thawed" and n == "Thaw" and a["lease"] == given["lease"]]
                    need(found or late, "an answer without a question", self.lines[i])
        for event in ("Frozen", "Thawed", "Unknown", "Orphan"):
            other = {"Unknown": "Orphan", "Orphan": "Unknown"}.get(event, event)
            for i in self.of("Gate", event, taken=True) if event != "Unknown" else ():
                lease = self.lines[i]["fields"]["lease"]
                if event == "Thawed" or (event == "Frozen" and lease not in self.then[i][1]["suspended"]):
                    continue
                need(any(self.lines[j]["instance"] == lease for j in self.of("Lease", other)),
                     "its lease knows nothing of it", self.lines[i])  # fmt: skip
        for i in self.of("Lease", "Frozen", taken=True):
            lease = self.lines[i]["instance"]
            need(any(self.lines[j]["fields"]["lease"] == lease for j in self.of("Gate", "Frozen")),
                 "frozen for no gate", self.lines[i])  # fmt: skip
        return iter(())

    def barriers(self) -> Iterator[tuple[Node, Node]]:
        """A controller's step is about a gate that was so in its epoch."""
        for i in self.of("Sync", "Sealed", "Drained", "Installed", "Declined", "Closed", taken=True):
            line, sync = self.lines[i], self.then[i][1]
            replica, event = line["fields"]["replica"], line["event"]

            def holds(j: int, event: str = event, sync: dict[str, Any] = sync) -> bool:
                state, gate = self.then[j]
                if gate["epoch"] != sync["epoch"]:
                    return False
                match event:
                    case "Sealed":
                        return state == "SEALED"
                    case "Drained":
                        idle = not gate["active"] and not gate["orphaned"] and gate["quiet"] == gate["ranks"]
                        return state == "DRAINING" and idle
                    case "Installed":
                        return gate["version"] == sync["version"] and gate["verified"] == gate["ranks"]
                    case "Declined":
                        return self.lines[j].get("event") == "Install" and self.lines[j]["verdict"]["kind"] == "refuse"
                    case _:
                        return state == "OPEN"

            proof = next((j for key, track in self.tracks.items() if key[:2] == ("Gate", replica)
                          for j in track if holds(j)), None)  # fmt: skip
            need(proof is not None, "its gate was never so", line)
            yield proof or 0, i

    def ranks(self) -> Iterator[tuple[Node, Node]]:
        def group(line: Line) -> str:
            return line["incarnation"].removesuffix("." + line["instance"])

        told: dict[Any, int] = {}
        said: dict[Any, int] = {}
        jobs = [i for i in self.of("Trainer", "Train", "Publish", "Save", "Load") if self.goes(i)]
        answers = list(self.of("Trainer", "Trained", "Published", "Saved", "Loaded", "Undone", taken=True))

        def job(i: int) -> Any:
            line = self.lines[i]
            of = line["fields"].get("batch", line["fields"].get("version"))
            return group(line), line["event"], self.then[i][1]["job"], of

        def answer(i: int) -> Any:
            line, fields = self.lines[i], self.lines[i]["fields"]
            return group(line), line["event"], fields["rank"], fields["job"], fields.get("digest")

        for i in reversed(jobs):
            if self.lines[i]["instance"] == "trainer":
                told[job(i)] = i
        for i in reversed(answers):
            if self.lines[i]["instance"] != "trainer":
                said[answer(i)] = i
        for i in jobs:
            if self.lines[i]["instance"] != "trainer":
                need(job(i) in told, "a rank works on what nobody told it", self.lines[i])
                yield told[job(i)], i
        for i in answers:
            if self.lines[i]["instance"] == "trainer" and self.lines[i]["fields"]["rank"] != "trainer":
                need(answer(i) in said, "an answer that the rank did not give", self.lines[i])
                yield said[answer(i)], i

    def goes(self, i: int) -> bool:
        return self.lines[i]["verdict"]["kind"] == "go"

    def weights(self) -> Iterator[tuple[Node, Node]]:
        manifests: dict[int, int] = {}
        published: dict[int, int] = {}
        for i in self.of("Trainer", "manifest"):
            version = self.lines[i]["values"]["version"]
            need(version not in manifests, "a version number is used twice", self.lines[i])
            need(self.then[i][1]["publishing"] == version, "a manifest of what is not being published", self.lines[i])
            manifests[version] = i
        for i in self.of("Trainer", "Published", taken=True):
            # A rank of several has published nothing yet.
            if self.then[i][0] != "IDLE":
                continue
            version = self.then[i][1]["version"]
            need(version in manifests, "published without a manifest", self.lines[i])
            said = self.lines[manifests[version]]["values"]["digest"]
            need(self.lines[i]["fields"]["digest"] == said, "published as other weights", self.lines[i])
            if self.lines[i]["instance"] == "trainer":
                published.setdefault(version, i)
            yield manifests[version], i
        for i in self.of("Gate", "Install"):
            line = self.lines[i]
            if line["verdict"]["kind"] == "go":
                version = line["fields"]["version"]
                need(version in published, "installed before it is durable", line)
                digests = set(line["fields"]["digests"].values())
                true = {self.lines[manifests[version]]["values"]["digest"]}
                need(digests == true, "not the digest of the manifest", line)
                yield published[version], i
        last = -1
        for key in sorted(k for k in self.tracks if k[0] == "Sync"):
            for i in self.tracks[key]:
                now = self.then[i][1]["published"]
                need(now is None or now >= last, "published has fallen", self.lines[i])
                last = max(last, -1 if now is None else now)

    def replicas(self) -> Iterator[tuple[Node, Node]]:
        lives = {key[2]: track for key, track in self.tracks.items() if key[0] == "Gate"}
        for i in self.of("Replica", "Started", "Synced", "Poisoned", taken=True):
            line = self.lines[i]
            gate = lives.get(line["instance"], [])
            match line["event"]:
                case "Started":
                    found = [j for j in gate if self.lines[j].get("event") == "Claim"]
                case "Poisoned":
                    found = [j for j in gate if self.then[j][0] == "POISONED"]
                case _:
                    version = line["fields"]["version"]
                    found = [j for j in gate if self.then[j][0] == "OPEN" and self.then[j][1]["version"] == version]
                    sync = [j for key, track in self.tracks.items() for j in track if key[0] == "Sync"
                            and self.then[j][0] == "IDLE" and self.then[j][1]["published"] == version]  # fmt: skip
                    need(sync, "synced to what is not published", line)
                    yield sync[0], i
                    track = self.tracks[track_of(line)]
                    older = self.then[track[track.index(i) - 1]][1]["version"]
                    need(older is None or version >= older, "synced back", line)
            need(found, "its gate was never so", line)
            yield found[0], i

    def names(self) -> None:
        """What a step says that caused it, where the contract of traces binds it."""
        seen: set[Any] = set()
        operations = {
            line["cause"] for line in self.lines if line.get("machine") == "Gate" and "." in line.get("cause", "")
        }
        for i, line in enumerate(self.lines):
            machine, event = line.get("machine"), line.get("event") or ("new" if line["line"] == "new" else None)
            if event is None:
                continue
            given, cause = line["fields"], line["cause"]
            if machine == "Gate" and "term" in given:
                head, _, number = cause.rpartition(".")
                epoch = given.get("epoch", cause.split(".")[1:2] and cause.split(".")[1])
                need(head == f"{given['term']}.{epoch}.{line['incarnation']}.{event.lower()}" and number.isdecimal()
                     and str(epoch).isdecimal(), "a command of no operation", line)  # fmt: skip
                need((line["incarnation"], cause) not in seen, "an operation that steps twice", line)
                seen.add((line["incarnation"], cause))
            elif machine == "Gate" and event in ("Admit", "Settle", "Orphan", "GiveUp", "Frozen", "Thawed"):
                need(cause == given["lease"], "not caused by its lease", line)
            elif machine == "Gate" and event != "new":
                told = {"Deadline": "timer {epoch}.{timer}", "Quiesced": "quiesce {epoch}", "Fault": line["instance"]}
                need(cause == told.get(event, "install {epoch}").format(**given), "not caused by its question", line)
            elif machine == "Lease" and event == "new":
                need(cause in ("", line["instance"]) or cause in operations, "let in by nobody", line)
            elif machine == "Lease" and event != "Cancel":
                need(cause == line["instance"], "not caused by itself", line)
            elif machine == "Session" and event in ("BeginTurn", "EndTurn"):
                need(cause == given["lease"], "not caused by its lease", line)
            elif machine == "Session" and event == "Bound":
                leases = self.then[i][1]["leases"]
                need(cause in leases or not leases, "not caused by its lease", line)
            elif machine == "Sync" and event != "new":
                sync = self.then[i][1]
                refused = event == "Begin" and line["verdict"]["kind"] == "refuse"
                epoch = given["epoch"] if refused else 0 if event == "Restore" else sync["epoch"]
                need(cause == f"{sync['term']}.{epoch}", "not of its operation", line)
            elif machine == "Replica" and event not in ("new", "Leave"):
                need(cause == line["instance"], "not caused by itself", line)
            elif machine == "Trainer" and "term" in given:
                need(cause.startswith(f"{given['term']}.{line['incarnation']}.{event.lower()}."), "of no command", line)
