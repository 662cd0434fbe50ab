"""The generated modules mean what the compiled step does: the graphs are equal, by content.

`sluicegate check` holds the same for the declared machines.
"""

from dataclasses import replace

from sluicegate.spec import graph
from sluicegate.spec.checkers import tlc
from sluicegate.spec.checkers.tla_values import Function


def test_graphs_of_python_and_both_checkers_are_equal(machine):
    report = graph.compare(machine)
    assert report.difference == ""
    assert report.states == report.checker_distinct > 1
    assert report.edges > report.states


def test_an_effect_that_only_the_module_has_is_named(turnstile):
    ir = turnstile.ir
    cells = tuple(
        replace(c, otherwise=replace(c.otherwise, updates=())) if (c.event, c.state) == ("Coin", "LOCKED") else c
        for c in ir.cells
    )
    theirs = tlc.graph(graph.alone(replace(ir, cells=cells)))
    assert graph.differ(graph.explore(turnstile), theirs).startswith("state in Python only: m = ")


def test_a_rule_that_only_the_module_has_is_named(turnstile):
    ir = turnstile.ir
    cells = tuple(
        replace(c, otherwise=replace(c.otherwise, rule="no_change")) if c.otherwise.kind == "ignore" else c
        for c in ir.cells
    )
    theirs = tlc.graph(graph.alone(replace(ir, cells=cells)))
    found = graph.differ(graph.explore(turnstile), theirs)
    assert found.startswith("step in Python only: TurnstileCoinIgnore from m = ")


def test_a_step_beyond_a_bound_is_not_taken(turnstile):
    records = [value for state in graph.explore(turnstile).states for _, value in state]
    coins = {record["coins"] for record in records if isinstance(record, Function)}
    assert coins == set(range(turnstile.ir.scope.bound("coins") + 1))
