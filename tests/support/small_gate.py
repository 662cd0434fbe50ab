"""A small system model over the Gate's operators: one gate, its engine, and messages; for counterexamples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sluicegate.spec.checkers.model import Config, Model
from sluicegate.spec.emitter import files
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import Branch, Cell, Ir

TEXT = r"""
----------------------------- MODULE Small -----------------------------
EXTENDS Gate, Naturals, Sequences

CONSTANTS Replica, Rank, Slot

VARIABLES node, msgs

vars == <<node, msgs>>

Message(r, name, e, v) == [to |-> r, ev |-> name, epoch |-> e, version |-> v]

Init ==
  /\ node = [r \in Replica |-> [gate |-> [GateInit(Rank) EXCEPT !.state = "OPEN", !.version = <<0>>, !.resident = TRUE],
                                busy |-> {}]]
  /\ msgs = {Message(r, ev, 1, 1) : r \in Replica, ev \in {"Seal", "Drain", "Install", "Reopen"}}

Become(r, g, busy) == node' = [node EXCEPT ![r] = [gate |-> g, busy |-> busy]]

Of(name) == {x \in msgs : x.ev = name}

Seal == \E mes \in Of("Seal") :
  LET t == GateSeal_step(node[mes.to].gate, 0, mes.epoch, "wait", 0)
  IN t # <<>> /\ Become(mes.to, t[1], node[mes.to].busy) /\ msgs' = msgs \ {mes}

Drain == \E mes \in Of("Drain") :
  LET t == GateDrain_step(node[mes.to].gate, 0, mes.epoch)
  IN t # <<>> /\ Become(mes.to, t[1], node[mes.to].busy) /\ msgs' = msgs \ {mes}

Install == \E mes \in Of("Install") :
  LET t == GateInstall_step(node[mes.to].gate, 0, mes.epoch, mes.version, [k \in Rank |-> mes.version])
  IN t # <<>> /\ Become(mes.to, t[1], node[mes.to].busy) /\ msgs' = msgs \ {mes}

Reopen == \E mes \in Of("Reopen") :
  LET t == GateReopen_step(node[mes.to].gate, 0, mes.epoch)
  IN t # <<>> /\ Become(mes.to, t[1], node[mes.to].busy) /\ msgs' = msgs \ {mes}

Admit == \E r \in Replica, s \in Slot :
  LET t == GateAdmit_step(node[r].gate, s, <<>>) IN t # <<>> /\ Become(r, t[1], Rank) /\ UNCHANGED msgs

Settle == \E r \in Replica, s \in Slot :
  LET t == GateSettle_step(node[r].gate, s) IN t # <<>> /\ Become(r, t[1], node[r].busy) /\ UNCHANGED msgs

Rest == \E r \in Replica :
  /\ node[r].busy # {} /\ node[r].gate.active = {}
  /\ Become(r, node[r].gate, {}) /\ UNCHANGED msgs

Quiesced == \E r \in Replica, k \in Rank :
  LET t == GateQuiesced_step(node[r].gate, node[r].gate.epoch, k)
  IN t # <<>> /\ k \notin node[r].busy \cup node[r].gate.quiet /\ Become(r, t[1], node[r].busy) /\ UNCHANGED msgs

Installed == \E r \in Replica, k \in Rank :
  /\ node[r].gate.state = "INSTALLING"
  /\ LET t == GateInstalled_step(node[r].gate, node[r].gate.epoch, k, 1)
     IN t # <<>> /\ Become(r, t[1], node[r].busy) /\ UNCHANGED msgs

Next == Seal \/ Drain \/ Install \/ Reopen \/ Admit \/ Settle \/ Rest \/ Quiesced \/ Installed

Spec == Init /\ [][Next]_vars

Busy == Spec /\ WF_vars(Next)

\* While installing the device is idle,
\* and no request runs.
Idle == \A r \in Replica : node[r].gate.state = "INSTALLING" => node[r].busy = {} /\ node[r].gate.active = {}

NeverNew == \A r \in Replica : node[r].gate.version = <<0>>

NeverOrphaned == \A r \in Replica : node[r].gate.active = {} \/ node[r].gate.state # "DRAINING"

\* The new version arrives.
Arrives == <>(\A r \in Replica : node[r].gate.version = <<1>>)

\* What is admitted is settled.
Ends == \A r \in Replica : node[r].gate.active # {} ~> node[r].gate.active = {}
========================================================================
"""


def model(
    *invariants: str, properties: tuple[str, ...] = (), spec: str = "Spec", gate: Ir = Gate.ir, ranks: int = 1
) -> Model:
    """The model of one replica over a gate, by default as it is declared."""
    members = "{" + ", ".join(f'"k{n + 1}"' for n in range(ranks)) + "}"
    constants = {"Replica": '{"r1"}', "Rank": members, "Slot": '{"s1"}'}
    config = Config(constants, invariants=invariants, properties=properties, spec=spec if properties else "")
    made = files([gate])
    return Model("Small", {"Small": TEXT.lstrip(), "Gate": made["Gate.tla"]}, config)


def changed(event: str, state: str, change: Callable[[Cell, Ir], Cell]) -> Ir:
    """The gate with one cell changed."""
    cells = tuple(change(c, Gate.ir) if (c.event, c.state) == (event, state) else c for c in Gate.ir.cells)
    assert cells != Gate.ir.cells
    return replace(Gate.ir, cells=cells)


def admits_while_draining() -> Ir:
    """A gate that admits while it drains, as if it were open."""

    def change(cell: Cell, ir: Ir) -> Cell:
        opened = ir.cell("Admit", "OPEN")
        moved = tuple(replace(b, target=cell.state) for b in opened.branches)
        return replace(cell, branches=moved, otherwise=replace(opened.otherwise, target=cell.state))

    return changed("Admit", "DRAINING", change)


def installs_at_once() -> Ir:
    """A gate that installs without asking whether it is drained."""

    def change(cell: Cell, ir: Ir) -> Cell:
        return replace(cell, branches=(), otherwise=replace(cell.branches[0], guard=cell.otherwise.guard))

    return changed("Install", "DRAINING", change)


def forgets_the_last_proof() -> Ir:
    """A gate that takes the version with its last rank's proof, and does not note the proof."""

    def forget(branch: Branch) -> Branch:
        taken = any(u.field == "version" for u in branch.updates)
        kept = tuple(u for u in branch.updates if not (taken and u.field == "verified"))
        return replace(branch, updates=kept)

    return changed(
        "Installed", "INSTALLING", lambda cell, ir: replace(cell, branches=tuple(map(forget, cell.branches)))
    )
