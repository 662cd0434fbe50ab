"""The pytest plugin, in runs of its own: items for what a project names, and coverage of what it tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from sluicegate.spec import alone, judge

pytest_plugins = ["pytester"]

SHOP = '''
from sluicegate import Event, Machine, Nat, Refuse, Scope, State, Table, always, columns, go, leads_to, never, row

class Order(Machine):
    """An order is paid once, and then sent."""

    NEW, PAID, SENT = State(), State(), State()
    paid = Nat(0)

    class Pay(Event): ...
    class Send(Event): ...

    not_paid = Refuse("it is not paid")
    over = Refuse("it was sent")
    pays = go(PAID).do(paid.set(paid + 1))
    table = Table(
        columns(   NEW,      PAID, SENT),
        row(Pay,   pays,     {second}, over),
        row(Send,  not_paid, SENT, over),
    )
    once = always(paid <= 1)
    sent_unpaid = never(SENT & (paid == 0))
    gets_sent = leads_to(PAID, SENT, fair=(Send,))
    scope = Scope(nat=3)
'''
GOOD, TWICE = SHOP.format(second="PAID"), SHOP.format(second="pays")
MODELS = """
from pathlib import Path
from sluicegate.spec.checkers import Config
from sluicegate.spec.models import SystemModel

clock = SystemModel(
    "clock", "a clock of two hours", "Clock", Config(invariants=("Early", "Late")),
    folder=Path(__file__).parent, machines=(),
)
"""
CLOCK = """---- MODULE Clock ----
EXTENDS Naturals
VARIABLE hour
Init == hour = 0
Next == hour' = 1 - hour
\\* It is early.
Early == hour < 2
\\* It is late.
Late == hour < {late}
====
"""
PROJECT = '[tool.sluicegate]\nmachines = ["shop:Order"]\nmodels = ["clocks:clock"]\n'


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """A run of its own, outside this repository: there the installed entry point counts."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio", *words, timeout=90)


def quick(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """A run in this process, of what takes nothing along: nothing is tested and nothing is counted."""
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio", *words)


def project(pytester: pytest.Pytester, shop: str, late: int) -> None:
    pytester.makepyprojecttoml(PROJECT)
    pytester.makepyfile(shop=shop, clocks=MODELS, test_other="def test_it(): pass")
    (pytester.path / "Clock.tla").write_text(CLOCK.format(late=late))


@pytest.mark.slow
def test_each_property_is_an_item_and_what_they_explore_is_not_what_the_tests_take(pytester: pytest.Pytester) -> None:
    project(pytester, GOOD, late=2)
    done = run(pytester, "-v", "--sluicegate-coverage", "shop:Order", "--sluicegate-coverage-min", "1")
    done.assert_outcomes(passed=9)
    for name in ("table", "graph", "once", "sent_unpaid", "gets_sent"):
        done.stdout.fnmatch_lines(f"pyproject.toml::Order::{name} PASSED*")
    for name in ("Early", "Late", "checkers"):
        done.stdout.fnmatch_lines(f"pyproject.toml::clock::{name} PASSED*")
    done.stdout.fnmatch_lines("shop:Order: 0 of 6 places of the table taken (0 %), and 1 % are wanted")
    assert done.ret == 1


@pytest.mark.slow
def test_a_property_that_fails_is_one_item_and_tells_a_run(pytester: pytest.Pytester) -> None:
    project(pytester, TWICE, late=1)
    done = run(pytester, "-v", "pyproject.toml")
    assert done.ret == 1
    outcomes = dict(line.split(" ")[:2] for line in done.outlines if line.startswith("pyproject.toml::"))
    failed = {name.partition("::")[2] for name, outcome in outcomes.items() if outcome == "FAILED"}
    assert failed == {"Order::once", "clock::Early", "clock::Late"}
    said = done.stdout.str()
    assert "once fails: always paid ≤ 1" in said
    assert "Pay" in said.partition("once fails")[2]
    assert "Late fails: It is late." in said
    assert "Early not proven" in said
    assert "Traceback" not in said


def test_an_item_can_be_chosen_and_paths_leave_them_out(pytester: pytest.Pytester) -> None:
    project(pytester, GOOD, late=2)
    for words, names in (
        (["pyproject.toml::Order::table"], ["pyproject.toml::Order::table"]),
        (["test_other.py"], ["test_other.py::test_it"]),
        (["-k", "clock and Late"], ["pyproject.toml::clock::Late"]),
    ):
        done = quick(pytester, "--collect-only", "-q", *words)
        assert [line for line in done.outlines if "::" in line] == names


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Order::nope", "Order has no item nope: it has table, graph, once, sent_unpaid, gets_sent"),
        ("Ordr", "pyproject.toml has no Ordr: it has Order, clock"),
    ],
)
def test_an_item_that_is_not_there_is_told_with_those_that_are(
    pytester: pytest.Pytester, asked: str, said: str
) -> None:
    project(pytester, GOOD, late=2)
    done = quick(pytester, f"pyproject.toml::{asked}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr.str()


@pytest.mark.slow
def test_of_what_no_chosen_item_asks_for_nothing_is_done(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(pytester, TWICE, late=2)
    asked: list[object] = []
    monkeypatch.setattr("sluicegate.spec.judge.compare", lambda *_: asked.append("graph"))
    judged = alone.judge_properties
    monkeypatch.setattr(judge, "judge_properties", lambda *a: asked.append(a[-1]) or judged(*a))
    for item, passed in (("table", True), ("sent_unpaid", True), ("once", False)):
        done = quick(pytester, f"pyproject.toml::Order::{item}")
        done.assert_outcomes(passed=int(passed), failed=int(not passed))
    assert asked == [set(), {"sent_unpaid"}, {"once"}]
    assert "once fails: always paid ≤ 1" in done.stdout.str()
    assert "TLC fails" in done.stdout.str()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('machines = ["shop:Absent"]', "shop has no Absent"),
        ('machines = "shop:Order"', "machines: write a list of names"),
        ('machine = ["shop:Order"]', "has no machine: it has machines and models"),
    ],
)
def test_what_is_named_wrongly_is_told(pytester: pytest.Pytester, text: str, said: str) -> None:
    pytester.makepyprojecttoml(f"[tool.sluicegate]\n{text}\n")
    pytester.makepyfile(shop=GOOD)
    done = quick(pytester)
    assert done.ret != 0
    assert said in done.stdout.str() + done.stderr.str()


TESTS = """
from shop import Order

def test_pure():
    snapshot = Order.initial()
    for event in (Order.Send(), Order.Pay(), Order.Pay()):
        snapshot, _ = Order.step(snapshot, event)

def test_live():
    order = Order.Live()
    order.pay()
    order.step(Order.Send())
"""


@pytest.mark.parametrize(("least", "status"), [("60", 0), ("80", 1)])
def test_coverage_of_a_run_is_told_and_can_be_demanded(pytester: pytest.Pytester, least: str, status: int) -> None:
    pytester.makepyfile(shop=GOOD, test_shop=TESTS)
    done = run(pytester, "--sluicegate-coverage", "shop:Order", "--sluicegate-coverage-min", least)
    assert done.ret == status
    done.stdout.fnmatch_lines(
        ["shop:Order: 4 of 6 places of the table taken (67 %)*", "  not taken: Pay in SENT: over (shop.py:*)"]
    )


@pytest.mark.slow
def test_coverage_of_a_run_in_two_processes_is_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=GOOD, test_shop=TESTS)
    done = run(pytester, "-n", "2", "--sluicegate-coverage", "shop:Order")
    assert done.ret == 0
    done.stdout.fnmatch_lines("shop:Order: 4 of 6 places of the table taken*")


EXPLORES = """
from shop import Order
from sluicegate.spec.judge import judge_machine
from sluicegate.statemachines.explore import explore

def test_explored():
    assert len(explore(Order).states) > 2

def test_judged():
    row = judge_machine(Order, checkers=("tla-checker",))
    assert [make() for make in row.examples.values()]
    order = Order.Live()
    order.send()
"""


def test_what_a_test_explores_or_judges_is_not_what_it_takes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=TWICE, test_shop=EXPLORES)
    done = run(pytester, "--sluicegate-coverage", "shop:Order", "--sluicegate-coverage-min", "50")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines("shop:Order: 1 of 6 places of the table taken (17 %), and 50 % are wanted")
    assert done.ret == 1


@pytest.mark.parametrize("least", ["nan", "inf", "-1", "101"])
def test_a_demand_that_is_no_percentage_is_refused(pytester: pytest.Pytester, least: str) -> None:
    done = quick(pytester, f"--sluicegate-coverage-min={least}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert f"invalid percentage from 0 to 100 value: '{least}'" in done.stderr.str()


def test_a_demand_without_a_machine_is_refused(pytester: pytest.Pytester) -> None:
    done = quick(pytester, "--sluicegate-coverage-min", "90")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "name a machine by --sluicegate-coverage" in done.stderr.str()


def test_where_nothing_is_asked_for_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import sys\ndef test_it():\n"
        "    assert 'sluicegate.testing.plugin' in sys.modules\n"
        "    heavy = ('hypothesis', 'grpc', 'wasmtime', 'torch', 'sluicegate.spec', 'sluicegate.testing.items')\n"
        "    assert not [name for name in heavy if name in sys.modules]\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    bare = ["-p", "no:hypothesispytest", "-p", "no:anyio", "--rootdir", str(tmp_path)]
    done = subprocess.run([*words, *bare], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
