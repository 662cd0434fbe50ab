"""The gate, cell by cell, as the contract has it: a changed rule changes a row here, or fails.

Each row is one event at one precondition, with what each state does: a state to go to, `stay`,
`ignore`, or the refusal's name with `!` (final) or `?` (the same event may be taken later). The base
is a gate of two ranks at term 3, epoch 5, timer 2, holding version 1; a row says what is different.
"""

# The table is read by its columns.
# ruff: noqa: E501

from typing import Any

import pytest
from names import stable

from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode

RANKS = frozenset({"r1", "r2"})
BASE = Gate.initial(ranks=RANKS).replace(
    term=3, epoch=5, timer=2, window=50, version=1, resident=True, digests={"r1": "d1", "r2": "d2"}
)
NOW: dict[str, Any] = {"term": 3, "epoch": 5}
DRAINED = {"quiet": RANKS}
TARGET = {"target": 2, "digests": {"r1": "d1", "r2": "d2"}}
ACTIVE, SUSPENDED, ORPHANED = ({name: frozenset({"l"})} for name in ("active", "suspended", "orphaned"))
NEW = {"version": 2, "digests": {"r1": "d1", "r2": "d2"}}
COLUMNS = ("OPEN", "SEALED", "DRAINING", "INSTALLING", "REOPENED", "POISONED")

TWO = {"active": frozenset({"l", "m"})}

# fmt: off
ROWS: list[tuple[Any, dict[str, Any], str]] = [
    # an event, what is different from the base                                OPEN         SEALED        DRAINING       INSTALLING      REOPENED      POISONED
    (Gate.Claim(term=4), {},                                               "stay         stay          stay           stay            stay          stay"),
    (Gate.Claim(term=3), {},                                               "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Claim(term=2), {},                                               "stale_term!  stale_term!   stale_term!    stale_term!     stale_term!   stale_term!"),

    (Gate.Admit(lease="l", pin=None), {},                                  "stay         closed?       closed?        closed?         stay          poisoned!"),
    (Gate.Admit(lease="l", pin=1), {},                                     "stay         closed?       closed?        closed?         stay          poisoned!"),
    (Gate.Admit(lease="l", pin=2), {},                                     "other_version? closed?     closed?        closed?         other_version? poisoned!"),
    (Gate.Admit(lease="l", pin=0), {},                                     "other_version? closed?     closed?        closed?         other_version? poisoned!"),
    (Gate.Admit(lease="l", pin=None), ACTIVE,                              "reused!      closed?       closed?        closed?         reused!       poisoned!"),
    (Gate.Admit(lease="l", pin=None), SUSPENDED,                           "reused!      closed?       closed?        closed?         reused!       poisoned!"),
    (Gate.Admit(lease="l", pin=2), ORPHANED,                               "reused!      closed?       closed?        closed?         reused!       poisoned!"),

    (Gate.Settle(lease="l"), ACTIVE,                                       "stay         stay          stay           stay            stay          stay"),
    (Gate.Settle(lease="l"), SUSPENDED,                                    "stay         stay          stay           stay            stay          stay"),
    (Gate.Settle(lease="l"), ORPHANED,                                     "stay         stay          stay           stay            stay          stay"),
    (Gate.Settle(lease="x"), ACTIVE,                                       "ignore       ignore        ignore         ignore          ignore        ignore"),

    (Gate.Orphan(lease="l", why=""), ACTIVE,                               "stay         stay          stay           ignore          stay          stay"),
    (Gate.Orphan(lease="l", why=""), SUSPENDED,                            "stay         stay          stay           POISONED        stay          stay"),
    (Gate.Orphan(lease="x", why=""), ACTIVE,                               "ignore       ignore        ignore         ignore          ignore        stay"),
    (Gate.GiveUp(lease="l"), ORPHANED,                                     "POISONED     POISONED      POISONED       POISONED        POISONED      ignore"),
    (Gate.GiveUp(lease="l"), ACTIVE,                                       "ignore       ignore        ignore         ignore          ignore        ignore"),

    (Gate.Frozen(lease="l", epoch=5), {**ACTIVE, "mode": Mode.KEEP},       "stay         not_keeping!  stay           not_keeping!    stay          stay"),
    (Gate.Frozen(lease="l", epoch=5), {**TWO, "mode": Mode.KEEP},          "stay         not_keeping!  stay           not_keeping!    stay          stay"),
    (Gate.Frozen(lease="l", epoch=5), {**ACTIVE, "mode": Mode.ABORT},      "stay         not_keeping!  not_keeping!   not_keeping!    stay          stay"),
    (Gate.Frozen(lease="x", epoch=5), {**ACTIVE, "mode": Mode.KEEP},       "stay         not_keeping!  not_keeping!   not_keeping!    stay          stay"),
    (Gate.Frozen(lease="l", epoch=4), {**ACTIVE, "mode": Mode.KEEP},       "stay         stay          stay           stay            stay          stay"),
    (Gate.Frozen(lease="l", epoch=6), {**ACTIVE, "mode": Mode.KEEP},       "stay         not_keeping!  not_keeping!   not_keeping!    stay          stay"),
    (Gate.Thawed(lease="l", epoch=5), SUSPENDED,                           "ignore       ignore        ignore         ignore          stay          ignore"),
    (Gate.Thawed(lease="x", epoch=5), SUSPENDED,                           "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Thawed(lease="l", epoch=4), SUSPENDED,                           "ignore       ignore        ignore         ignore          ignore        ignore"),

    (Gate.Seal(term=3, epoch=6, mode=Mode.WAIT, window=9), {},             "SEALED       stay          busy?          installing?     not_closed?   poisoned!"),
    (Gate.Seal(term=3, epoch=6, mode=Mode.WAIT, window=9), {"resident": False}, "SEALED  stay          SEALED         installing?     not_closed?   poisoned!"),
    (Gate.Seal(term=3, epoch=5, mode=Mode.WAIT, window=9), {},             "ignore       ignore        ignore         installing?     not_closed?   poisoned!"),

    (Gate.Escalate(**NOW, mode=Mode.ABORT), {},                            "ignore       stay          stay           ignore          ignore        poisoned!"),
    (Gate.Escalate(**NOW, mode=Mode.KEEP), {},                             "ignore       stay          stay           ignore          ignore        poisoned!"),
    (Gate.Escalate(**NOW, mode=Mode.WAIT), {},                             "ignore       ignore        ignore         ignore          ignore        poisoned!"),
    (Gate.Escalate(**NOW, mode=Mode.KEEP), {"mode": Mode.ABORT},           "ignore       ignore        ignore         ignore          ignore        poisoned!"),

    (Gate.Drain(**NOW), {},                                                "not_sealed!  DRAINING      ignore         installing?     not_sealed!   poisoned!"),
    (Gate.Drain(**NOW), ACTIVE,                                            "not_sealed!  DRAINING      ignore         installing?     not_sealed!   poisoned!"),

    (Gate.Quiesced(epoch=5, rank="r1"), {},                                "ignore       ignore        stay           ignore          ignore        ignore"),
    (Gate.Quiesced(epoch=5, rank="r1"), SUSPENDED,                         "ignore       ignore        stay           ignore          ignore        ignore"),
    (Gate.Quiesced(epoch=5, rank="r1"), ACTIVE,                            "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Quiesced(epoch=5, rank="r1"), ORPHANED,                          "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Quiesced(epoch=5, rank="r9"), {},                                "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Quiesced(epoch=4, rank="r1"), {},                                "ignore       ignore        ignore         ignore          ignore        ignore"),

    (Gate.Lend(**NOW, lend="o"), DRAINED,                                  "not_draining! not_draining! stay          installing?     not_draining! poisoned!"),
    (Gate.Lend(**NOW, lend="o"), {},                                       "not_draining! not_draining! not_drained?  installing?     not_draining! poisoned!"),
    (Gate.Lend(**NOW, lend="o"), {**DRAINED, **SUSPENDED},                 "not_draining! not_draining! not_drained?  installing?     not_draining! poisoned!"),
    (Gate.Lend(**NOW, lend="o"), {**DRAINED, "lent": "o"},                 "not_draining! not_draining! lent_out?     installing?     not_draining! poisoned!"),
    (Gate.Returned(**NOW, lend="o"), {"lent": "o"},                        "ignore       ignore        stay           ignore          ignore        ignore"),
    (Gate.Returned(**NOW, lend="p"), {"lent": "o"},                        "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Renew(**NOW, window=9), {},                                      "ignore       stay          stay           stay            ignore        ignore"),

    (Gate.Install(**NOW, **NEW), DRAINED,                                  "not_drained? not_drained?  INSTALLING     installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **NEW), {**DRAINED, **SUSPENDED},                 "not_drained? not_drained?  INSTALLING     installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **NEW), {"quiet": frozenset({"r1"})},             "not_drained? not_drained?  not_drained?   installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **NEW), {**DRAINED, **ACTIVE},                    "not_drained? not_drained?  not_drained?   installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **NEW), {**DRAINED, **ORPHANED},                  "not_drained? not_drained?  not_drained?   installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **NEW), {**DRAINED, "lent": "o"},                 "not_drained? not_drained?  lent_out?      installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **{**NEW, "version": 1}), DRAINED,                "not_drained? not_drained?  not_newer!     installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **{**NEW, "version": 0}), DRAINED,                "not_drained? not_drained?  not_newer!     installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **{**NEW, "version": 1}), {**DRAINED, "resident": False}, "not_drained? not_drained? INSTALLING installing? not_drained? poisoned!"),
    (Gate.Install(**NOW, **{**NEW, "version": 0}), {**DRAINED, "resident": False}, "not_drained? not_drained? not_newer!  installing? not_drained? poisoned!"),
    (Gate.Install(**NOW, **NEW), {**DRAINED, "version": None},             "not_drained? not_drained?  INSTALLING     installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **{**NEW, "digests": {"r1": "d1"}}), DRAINED,     "not_drained? not_drained?  incomplete!    installing?     not_drained?  poisoned!"),
    (Gate.Install(**NOW, **NEW), TARGET,                                   "not_drained? not_drained?  not_drained?   ignore          not_drained?  poisoned!"),
    (Gate.Install(**NOW, **{**NEW, "version": 3}), TARGET,                 "not_drained? not_drained?  not_drained?   installing?     not_drained?  poisoned!"),

    (Gate.Installed(epoch=5, rank="r1", digest="d1"), TARGET,              "not_installing! not_installing! not_installing! stay      ignore        ignore"),
    (Gate.Installed(epoch=5, rank="r1", digest="d1"), {**TARGET, "verified": frozenset({"r2"})}, "not_installing! not_installing! not_installing! stay ignore ignore"),
    (Gate.Installed(epoch=5, rank="r1", digest="d2"), TARGET,              "not_installing! not_installing! not_installing! POISONED  ignore        ignore"),
    (Gate.Installed(epoch=5, rank="r9", digest="d1"), TARGET,              "not_installing! not_installing! not_installing! POISONED  ignore        ignore"),
    (Gate.Installed(epoch=4, rank="r1", digest="d2"), TARGET,              "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.InstallFailed(epoch=5, rank="r1", why=""), TARGET,               "not_installing! not_installing! not_installing! POISONED  not_installing! ignore"),
    (Gate.InstallFailed(epoch=4, rank="r1", why=""), TARGET,               "ignore       ignore        ignore         ignore          ignore        ignore"),

    (Gate.Reopen(**NOW), {"verified": RANKS},                              "ignore       not_verified? not_verified?  REOPENED        ignore        poisoned!"),
    (Gate.Reopen(**NOW), {"verified": frozenset({"r1"})},                  "ignore       not_verified? not_verified?  not_verified?   ignore        poisoned!"),

    (Gate.Resume(**NOW), {},                                               "ignore       REOPENED      REOPENED       installing?     ignore        poisoned!"),
    (Gate.Resume(**NOW), {"resident": False},                              "ignore       not_resident! not_resident!  installing?     ignore        poisoned!"),
    (Gate.Resume(**NOW), {"lent": "o"},                                    "ignore       REOPENED      lent_out?      installing?     ignore        poisoned!"),
    (Gate.Resume(term=3, epoch=6), {},                                     "stay         unknown_epoch! unknown_epoch! installing?    unknown_epoch! poisoned!"),

    (Gate.Close(**NOW), {},                                                "ignore       not_reopened! not_reopened!  not_reopened!   OPEN          poisoned!"),
    (Gate.Close(**NOW), SUSPENDED,                                         "ignore       not_reopened! not_reopened!  not_reopened!   still_suspended? poisoned!"),
    (Gate.Close(**NOW), ACTIVE,                                            "ignore       not_reopened! not_reopened!  not_reopened!   OPEN          poisoned!"),

    (Gate.Deadline(epoch=5, timer=2), {},                                  "ignore       REOPENED      REOPENED       POISONED        ignore        ignore"),
    (Gate.Deadline(epoch=5, timer=2), {"resident": False},                 "ignore       ignore        ignore         POISONED        ignore        ignore"),
    (Gate.Deadline(epoch=5, timer=2), {"lent": "o"},                       "ignore       REOPENED      POISONED       POISONED        ignore        ignore"),
    (Gate.Deadline(epoch=5, timer=2), {"lent": "o", "resident": False},    "ignore       ignore        POISONED       POISONED        ignore        ignore"),
    (Gate.Deadline(epoch=5, timer=2), {"verified": RANKS},                 "ignore       REOPENED      REOPENED       REOPENED        ignore        ignore"),
    (Gate.Deadline(epoch=5, timer=2), SUSPENDED,                           "ignore       REOPENED      REOPENED       POISONED        stay          ignore"),
    (Gate.Deadline(epoch=5, timer=1), SUSPENDED,                           "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Deadline(epoch=5, timer=3), SUSPENDED,                           "ignore       ignore        ignore         ignore          ignore        ignore"),
    (Gate.Deadline(epoch=4, timer=2), SUSPENDED,                           "ignore       ignore        ignore         ignore          ignore        ignore"),

    (Gate.Poison(term=3, why=""), {},                                      "POISONED     POISONED      POISONED       POISONED        POISONED      ignore"),
    (Gate.Fault(why=""), {},                                               "POISONED     POISONED      POISONED       POISONED        POISONED      ignore"),
]
# fmt: on


def said(event: Any, state: str, different: dict[str, Any]) -> str:
    """What a gate in `state` says to an event, in the words of the table above."""
    after, outcome = Gate.step(BASE.replace(state=state, **different), event)
    if outcome.kind == "refuse":
        return outcome.reason + ("?" if outcome.retry else "!")
    return after.state if outcome.kind == "go" else outcome.kind


@pytest.mark.parametrize(("event", "different", "cells"), ROWS, ids=lambda v: stable(v) if not isinstance(v, str) else "")
def test_each_state_answers_as_the_contract_says(event: Any, different: dict[str, Any], cells: str) -> None:
    assert dict(zip(COLUMNS, cells.split(), strict=True)) == {s: said(event, s, different) for s in COLUMNS}


def test_the_rows_take_every_rule_of_every_cell() -> None:
    taken = {
        (type(event).__name__, state, Gate.step(BASE.replace(state=state, **different), event)[1].rule)
        for event, different, _cells in ROWS
        for state in COLUMNS
    }
    rules = {(c.event, c.state, b.rule) for c in Gate.ir.cells for b in (*c.branches, c.otherwise)}
    # A gate is idle or it is not, so the otherwise of this cell is never asked.
    assert rules - taken == {("Drain", "SEALED", "drains_ignore")}


CONTROL = [e for e in Gate.ir.events if {"term", "epoch"} <= {f.name for f in e.fields}]


def with_fence(name: str, term: int, epoch: int) -> Any:
    """An event of control with these two, and anything in its other arguments."""
    other = {"mode": Mode.ABORT, "window": 9, "lend": "o", **NEW}
    wanted = {f.name for f in Gate.ir.event(name).fields} - {"term", "epoch"}
    return getattr(Gate, name)(term=term, epoch=epoch, **{k: v for k, v in other.items() if k in wanted})


@pytest.mark.parametrize("name", [e.name for e in CONTROL])
def test_control_of_another_term_or_a_passed_epoch_is_refused_in_every_state(name: str) -> None:
    for state in COLUMNS:
        assert said(with_fence(name, term=2, epoch=5), state, {}) == "stale_term!"
        assert said(with_fence(name, term=2, epoch=9), state, {}) == "stale_term!"
        assert said(with_fence(name, term=4, epoch=5), state, {}) == "unclaimed!"
        assert said(with_fence(name, term=3, epoch=4), state, {}) == "stale_epoch!"


@pytest.mark.parametrize("name", [e.name for e in CONTROL if e.name not in ("Seal", "Resume")])
def test_an_epoch_that_was_not_sealed_is_refused_in_every_state(name: str) -> None:
    for state in COLUMNS:
        assert said(with_fence(name, term=3, epoch=6), state, {}) == "unknown_epoch!"


def test_poison_of_another_term_is_refused_in_every_state() -> None:
    for state in COLUMNS:
        assert said(Gate.Poison(term=2, why=""), state, {}) == "stale_term!"
        assert said(Gate.Poison(term=4, why=""), state, {}) == "unclaimed!"
