"""Mutants of the hand-written models: one rule of a model broken, by a list.

Rules of this file:

- A mutant is a replacement in a module's text. The text must be there exactly once: a model that was
  rewritten shows here, and not as a mutant that is judged for nothing.
- Broken are rules that people rely on, not the history that the properties read.
"""

from __future__ import annotations

from dataclasses import dataclass


class TextMissing(ValueError):
    """A mutant's text is not in the module, or more than once; the message names both."""


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """A hand-written module with one text replaced by another."""

    name: str
    module: str
    old: str
    new: str

    def text(self, module: str) -> str:
        """The module's text with the replacement. Raises TextMissing."""
        if module.count(self.old) != 1:
            raise TextMissing(
                f"{self.name}: {self.module}.tla has its text {module.count(self.old)} times, not once: "
                f"{self.old!r}; write the mutant for the rule as it is now in spec/mutants/rules.py"
            )
        return module.replace(self.old, self.new)


RULES: tuple[RuleMutant, ...] = (
    RuleMutant(
        "Controllers: one that rules no more publishes", "Controllers",
        "IF t = Ruler /\\ (durable.published = <<>>", "IF (durable.published = <<>>",
    ),
    RuleMutant(
        "Controllers: the register takes a lower version", "Controllers",
        "(durable.published = <<>> \\/ v >= durable.published[1])", "TRUE",
    ),
    RuleMutant(
        "Controllers: what is above the published version is poisoned though its bytes are durable", "Controllers",
        "  /\\ Above(t, g.version) => g.version[1] \\in trainer.lost\n", "",
    ),
    RuleMutant(
        "Controllers: a gate that installs above the published version is reopened", "Controllers",
        "  /\\ g.state = \"INSTALLING\" => ~Above(t, g.target) \\/ Above(t, g.version)\n", "",
    ),
    RuleMutant(
        "Controllers: at rest with a gate that an older operation may still close", "Controllers",
        "g.version = ctl[t].sync.published /\\ g.epoch >= ctl[t].epoch", "g.version = ctl[t].sync.published",
    ),
    RuleMutant(
        "Controllers: the trainer begins on devices that were not all lent", "Controllers",
        "~ctl[y].trains /\\ \\A r \\in ctl[y].sync.members : IsLent(y, r)", "~ctl[y].trains",
    ),
    RuleMutant(
        "Replicas: a rank says that it is idle while it works", "Replicas",
        "k \\in Rank \\ (node[r].busy \\cup node[r].gate.quiet)", "k \\in Rank \\ node[r].gate.quiet",
    ),
    RuleMutant(
        "SessionAffinity: a turn has begun before it is on the disk", "SessionAffinity",
        "Durable == {\"BeginTurn\", ", "Durable == {",
    ),
    RuleMutant(
        "SessionAffinity: a binding is told before it is on the disk", "SessionAffinity",
        "\"Bound\", \"Finish\"", "\"Finish\"",
    ),
    RuleMutant(
        "SessionAffinity: a session was retired before that is on the disk", "SessionAffinity",
        "\"Retire\", \"Rebind\"", "\"Rebind\"",
    ),
    RuleMutant(
        "SessionAffinity: another incarnation admits the request", "SessionAffinity",
        "l \\in {k \\in Doing(\"asked\") : Lives(lease[k].at)}", "l \\in Doing(\"asked\")",
    ),
    RuleMutant(
        "SessionAffinity: a request is forwarded before its session is bound", "SessionAffinity",
        "l \\in {k \\in Doing(\"admitted\") : lease[k].number > 0}", "l \\in Doing(\"admitted\")",
    ),
    RuleMutant(
        "SessionAffinity: a request that may still run is told to be over", "SessionAffinity",
        "lease[l].does = \"asked\" /\\ ~Lives(lease[l].at)", "lease[l].does = \"asked\"",
    ),
    RuleMutant(
        "RequestPath: the engine forgets what it was told to abort", "RequestPath",
        "CASE c.does = \"barred\" -> Tells([c EXCEPT !.does = \"over\"], \"aborted\", 0)",
        "CASE c.does = \"barred\" -> [c EXCEPT !.does = \"runs\"]",
    ),
    RuleMutant(
        "RequestPath: a receipt is told without a record of the end", "RequestPath",
        "Open(call[q]) /\\ call[q].lease.state = \"ENDED\"", "Open(call[q])",
    ),
    RuleMutant(
        "Runs: a checkpoint does not record what is ready", "Runs",
        "again |-> InFlight, gone", "again |-> prod.again \\cup prod.in_flight, gone",
    ),
    RuleMutant(
        "Runs: who goes back begins nothing again of what was trained since", "Runs",
        "save.again \\cup {g \\in Groups : save.next <= g /\\ g < prod.next_group}", "save.again",
    ),
    RuleMutant(
        "Runs: a checkpoint is told before it is durable", "Runs",
        "run.state = \"SAVING\" /\\ does.at = \"done\"", "run.state = \"SAVING\"",
    ),
    RuleMutant(
        "Runs: the trainer begins on devices that were not lent", "Runs", "!.gate = \"lent\"]", "!.gate = @]",
    ),
)  # fmt: skip
