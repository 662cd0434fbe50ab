"""`sluicegate check` on machines and models of one's own: what is chosen, and one clear line for whatever is wrong."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sluicegate.cli import main
from sluicegate.spec.checkers import Config, Model, tla_checker
from sluicegate.spec.judge import judge_system
from sluicegate.spec.models import SystemModel
from sluicegate.statemachines import problems

LAMP = """
from pathlib import Path

from sluicegate import *
from sluicegate.spec.models import Config, SystemModel

class Lamp(Machine):
    OFF, ON = State(), State()
    flips = Nat(0)
    class Flip(Event): ...
    flips_on = go(ON).do(flips.set(flips + 1))
    table = Table(columns(OFF, ON), row(Flip, flips_on, OFF))
    dark_first = always(ON | (flips > 0) | OFF)
    few = PROPERTY

class Bulb(Machine):
    WHOLE, BROKEN = State(), State()
    class Fall(Event): ...
    table = Table(columns(WHOLE, BROKEN), row(Fall, BROKEN, BROKEN))

FLOW = {"states": ["a", {"name": "b", "final": True}], "initial": "a", "transitions": [["step", "a", "b"]]}
PARALLEL = {"states": [{"name": "a", "parallel": ["x", "y"]}], "initial": "a", "transitions": []}

def model(name, **config):
    return SystemModel(name, "two lamps", module="Lamps", config=Config(**config), folder=Path(__file__).parent,
                       machines=(Lamp,))

MODELS = (model("lamps", constants={"Most": "2"}, invariants=("Dim",)),)
OPEN = model("open", invariants=("Dim",))
EMPTY = model("empty", constants={"Most": "2"}, invariants=("Dimm",))
LOST = SystemModel("lost", "nowhere", module="Nowhere", config=Config(), folder=Path(__file__).parent)
"""

LAMPS = r"""---- MODULE Lamps ----
EXTENDS Lamp, Naturals
CONSTANT Most
VARIABLES a, b
Init == a = LampInit /\ b = LampInit
FlipA == a.flips < Most /\ a' = LampFlip(a) /\ UNCHANGED b
FlipB == b.flips < Most /\ b' = LampFlip(b) /\ UNCHANGED a
Next == FlipA \/ FlipB
\* Neither lamp is flipped too often.
Dim == a.flips + b.flips <= 4
====
"""

Write = Callable[..., str]


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Write:
    """Writes the module, with `few` as given and the TLA+ beside it; gives the module's name."""

    def write(few: str = "always(flips <= 3)", tla: str = LAMPS) -> str:
        name = "lamp_" + "".join(c if c.isalnum() else "_" for c in request.node.name)
        (tmp_path / f"{name}.py").write_text(LAMP.replace("PROPERTY", few))
        (tmp_path / "Lamps.tla").write_text(tla)
        return name

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return write


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["check", *words])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return status, said.out, said.err


def test_a_module_alone_means_all_its_machines_and_models(lamp, capsys):
    status, out, _ = check(capsys, lamp(), "--checker", "tla-checker", "--bound", "flips=2")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines() if line[:1] in "LBl"] == ["Lamp", "Bulb", "lamps"]
    assert "Dim holds: Neither lamp is flipped too often." in out
    assert "few holds: always flips ≤ 3" in out
    assert "  within flips ≤ 2; steps that take flips out of it are not followed" in out
    assert "  note: end: within the scope, no event does anything in WHOLE" not in out


def test_a_bound_takes_the_place_of_the_declared_scope_and_of_a_models_constant(lamp, capsys):
    name = lamp()
    status, out, _ = check(capsys, name, "--checker", "tla-checker", "--bound", "nat=5", "--bound", "Most=3")
    assert status == 1
    assert "FAILED: few fails: always flips ≤ 3" in out
    assert "here not (flips ≤ 3)" in out
    assert "FAILED: Dim fails: Neither lamp is flipped too often." in out
    assert check(capsys, name, "--checker", "tla-checker", "--model", "Bulb")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bound", "flipz=2"], "no bound flipz: there are Most, flips, nat"),
        (["--bound", "flips=many"], "--bound flips=many: write NAME=VALUE with a natural"),
        (["--model", "lamp"], "no model lamp: did you mean Lamp?"),
        (["--model", "Lamb"], "no model Lamb: did you mean Lamp or lamps?"),
        (["--model", "other"], "no model other: there are Lamp, Bulb, lamps"),
    ],
)
def test_what_is_not_there_is_refused_with_what_there_is(lamp, capsys, words, said):
    status, _, err = check(capsys, lamp(), *words)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("few", "status", "said"),
    [
        ("always(flips * 2 < 4)", 2, "flips: has no *"),
        ("always(flips.size() < 4)", 2, "flips: has no .size"),
        ("never(ON and OFF)", 2, "ON: has no truth while a machine is declared"),
        ("always(flipz < 4)", 2, "name 'flipz' is not defined"),
        ("never(ON and OFF)", 2, "write a & b, a | b, ~a instead of and, or, not"),
        ("never(flips in 3)", 2, ""),
        ("never(ON & flips >= 3)", 2, "beside & and | a comparison stands in parentheses"),
        ("always(True)", 2, "property few: 'true' names no state and no field"),
        ("always(flips)", 2, "flips: is a Nat where a Bool is needed"),
    ],
)
def test_an_expression_that_cannot_be_is_told_with_its_line(lamp, capsys, few, status, said):
    name = lamp(few)
    found, _, err = check(capsys, name)
    assert found == status
    assert said in err
    line = LAMP.splitlines().index("    few = PROPERTY") + 1
    assert f"{name}.py:{line}" in err


def test_a_configuration_of_the_library_is_checked_by_its_name(lamp, capsys):
    name = lamp()
    status, out, _ = check(capsys, f"{name}:FLOW", "--checker", "tla-checker")
    assert (status, out.splitlines()[1].split()[0]) == (0, "Flow")
    status, _, err = check(capsys, f"{name}:PARALLEL")
    assert status == 2
    assert "a is parallel, in several states at once" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("OPEN", 'error: constant Most of Lamps has no value: bound it in Config(constants={"Most": ...})'),
        ("EMPTY", "error: Dimm names nothing: Lamps.tla does not define it"),
        ("LOST", "Nowhere.tla"),
    ],
)
def test_a_model_that_no_checker_needs_to_see_fails_in_one_line(lamp, capsys, target, said):
    status, out, _ = check(capsys, f"{lamp()}:{target}")
    assert status == 1
    (line,) = [line for line in out.splitlines() if "FAILED" in line]
    assert said in line


def test_a_spec_that_does_not_parse_says_where(lamp, capsys):
    status, out, _ = check(capsys, f"{lamp(tla=LAMPS.replace('<= 4', '<= <= 4'))}", "--model", "lamps")
    assert status == 1
    (line,) = [line for line in out.splitlines() if "FAILED" in line]
    assert "TLC: error: " in line
    assert "Lamps" in line


def test_a_variable_without_a_bound_is_not_proven_when_the_time_is_over(lamp, capsys):
    endless = LAMPS.replace("a.flips < Most /\\ ", "")
    name = lamp(tla=endless.replace("<= 4", ">= 0"))
    status, out, _ = check(capsys, name, "--model", "lamps", "--checker", "tla-checker", "--timeout", "1")
    assert status == 1
    assert "FAILED: tla-checker: not proven: stopped at its time limit of 1 s" in out


def test_a_machine_that_is_too_large_for_its_time_is_not_proven(lamp, capsys):
    status, out, _ = check(capsys, f"{lamp()}:Lamp", "--bound", "flips=1000000", "--timeout", "1")
    assert status == 1
    assert "FAILED: not proven: stopped at its time limit of 1 s" in out


def test_a_checker_out_of_memory_has_proven_nothing():
    text = (
        "---- MODULE Big ----\nEXTENDS Naturals\nVARIABLES x, y\nInit == x = 0 /\\ y = 0\n"
        "Next == \\/ x' = x + 1 /\\ UNCHANGED y\n        \\/ y' = y + 1 /\\ UNCHANGED x\n"
        "Small == x < 1000000\n====\n"
    )
    result = tla_checker.check(Model("Big", {"Big": text}, Config(invariants=("Small",))), memory_gib=1 / 64)
    assert result.verdict == "incomplete"
    assert "of 0.015625 GiB were in use" in result.detail


def test_a_checker_that_is_missing_says_what_to_install(lamp, capsys, monkeypatch):
    monkeypatch.setattr(tla_checker, "WASM", Path("/nowhere/node_modules/tla-checker/x.wasm"))
    status, _, err = check(capsys, f"{lamp()}:Lamp", "--checker", "tla-checker")
    assert status == 2
    assert "tla-checker's wasm file is not at /nowhere" in err
    assert "make setup" in err


def test_a_count_is_held_to_only_where_one_stands(tmp_path):
    (tmp_path / "Two.tla").write_text(
        "---- MODULE Two ----\nVARIABLE x\nInit == x = FALSE\nNext == x' = ~x\nFine == x \\in BOOLEAN\n====\n"
    )
    two = SystemModel("two", "", module="Two", config=Config(invariants=("Fine",)), folder=tmp_path, machines=())
    assert judge_system(two, ("tla-checker",)).distinct == 2
    assert judge_system(two, ("tla-checker",)).ok

    assert (
        "2 distinct states where 3 stand with the model"
        in judge_system(replace(two, distinct=3), ("tla-checker",)).trouble
    )


@pytest.mark.parametrize("folder", [Path(problems.__file__).resolve().parent.parent, Path("/")])
def test_the_place_of_an_error_is_the_users_line_in_every_folder(lamp, capsys, monkeypatch, folder):
    line = LAMP.splitlines().index("    few = PROPERTY") + 1
    for few, said in (
        ("always(0 <= flips <= 3)", "write a & b"),
        ("always()", "missing 1 required"),
        ("1 / 0", "zero"),
    ):
        name = lamp(few)
        monkeypatch.chdir(folder)
        sys.modules.pop(name, None)
        status, _, err = check(capsys, name)
        assert status == 2
        assert said in err
        assert f" {name}.py:{line}: " in err


def test_a_file_in_the_place_of_a_module_is_told_how_it_is_named(lamp, capsys):
    status, _, err = check(capsys, f"{lamp()}.py")
    assert status == 2
    assert f"did you mean {lamp()}?" in err


@pytest.mark.parametrize(
    ("few", "said"),
    [
        ("always(flips <= 2)", "only because the scope ends: one step beyond it, it fails: Flip in OFF, OFF -> ON, "),
        ("reachable(flips == 3)", "FAILED: few not reached within the scope: reachable flips = 3"),
        ("reachable(flips == 3)", "one step beyond it, it is reached: Flip in OFF, OFF -> ON, flips 2 -> 3"),
        ("reachable(flips == 9)", "more may be reached beyond the scope; --bound NAME=VALUE goes further"),
    ],
)
def test_what_the_end_of_the_scope_has_to_do_with_a_verdict_is_said(lamp, capsys, few, said):
    _, out, _ = check(capsys, f"{lamp(few)}:Lamp", "--checker", "tla-checker", "--bound", "flips=2")
    assert said in out


def test_a_state_that_nothing_leaves_is_noted(lamp, capsys):
    name = lamp()
    Path(f"{name}.py").write_text(Path(f"{name}.py").read_text().replace("BROKEN, BROKEN))", "BROKEN, ignore))"))
    status, out, _ = check(capsys, f"{name}:Bulb", "--checker", "tla-checker")
    assert status == 0
    assert "note: end: within the scope, no event does anything in BROKEN: good if it is meant as an end" in out
    assert "  nothing in it needs a bound: this is all that it can do" in out


def test_what_one_checker_cannot_judge_is_counted_as_not_judged_and_is_not_good(lamp, capsys):
    name = lamp("leads_to(OFF, ON, fair=Flip)")
    status, out, _ = check(capsys, f"{name}:Lamp", "--checker", "tla-checker")
    assert status == 1
    assert "NOT JUDGED: few not judged: TLC alone judges this: ask it too, or both checkers" in out
    assert "0 good, 0 failed, 1 not judged, in" in out


TWO_WRONG = "always(flips <= 0)\n    dark = never(ON)"


def test_each_property_that_fails_is_kept_in_a_file_of_its_own(lamp, capsys, tmp_path):
    name = lamp(TWO_WRONG)
    words = (f"{name}:Lamp", "--checker", "tla-checker")
    for folder in ("found", "other/found"):
        status, out, _ = check(capsys, *words, "--save", folder)
        assert status == 1
        assert f"saved {folder}/Lamp-few.json" in out
    names = ["Lamp-dark.json", "Lamp-few.json", "test_other_found_lamp_dark.py", "test_other_found_lamp_few.py"]
    assert sorted(path.name for path in (tmp_path / "other/found").iterdir()) == names
    assert main(["replay", "found/Lamp-dark.json"]) == 0
    cases = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "found", "other"]
    done = subprocess.run(cases, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_machines_of_one_name_are_kept_apart(lamp, capsys, tmp_path):
    name = lamp(TWO_WRONG)
    (tmp_path / f"{name}_2.py").write_text((tmp_path / f"{name}.py").read_text())
    words = ("--checker", "tla-checker", "--save", "found")
    check(capsys, f"{name}:Lamp", f"{name}_2:Lamp", *words)
    kept = {json.loads(p.read_text())["machines"][0] for p in (tmp_path / "found").glob("Lamp-few*.json")}
    assert kept == {f"{name}:Lamp", f"{name}_2:Lamp"}
    assert len([*(tmp_path / "found").glob("test_*.py")]) == 4
    _, out, _ = check(capsys, f"{name}:Bulb", *words[:3], "none")
    assert "nothing is saved in none: no property fails" in out


OFF_THE_PATH = """
from sluicegate import *
from sluicegate.spec.models import Config, SystemModel
from pathlib import Path
WRONG = SystemModel("../../up/" + "x" * 300, "", module="Two", config=Config(invariants=("Fine",)),
                    folder=Path(__file__).parent, machines=())
"""


def test_no_name_leads_out_of_the_folder_where_counterexamples_are_kept(capsys, tmp_path, monkeypatch):
    two = "---- MODULE Two ----\nVARIABLE x\nInit == x = FALSE\nNext == x' = ~x\nFine == ~x\n====\n"
    (tmp_path / "Two.tla").write_text(two)
    (tmp_path / "off_the_path.py").write_text(OFF_THE_PATH)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = {*tmp_path.rglob("*")}
    status, out, err = check(capsys, "off_the_path:WRONG", "--checker", "tla-checker", "--save", "deep/found")
    assert (status, err) == (1, "")
    new = {p.relative_to(tmp_path).parts for p in {*tmp_path.rglob("*")} - before if "__pycache__" not in p.parts}
    (kept,) = (parts for parts in new if len(parts) == 3)
    assert new == {("deep",), ("deep", "found"), kept}
    assert f"saved deep/found/{kept[2]}" in out


@pytest.mark.parametrize("save", ["taken", "taken/inside", "/proc/nowhere"])
def test_a_folder_that_cannot_be_is_told_before_anything_is_judged(lamp, capsys, tmp_path, save):
    (tmp_path / "taken").write_text("mine")
    status, out, err = check(capsys, f"{lamp(TWO_WRONG)}:Lamp", "--save", save)
    assert status == 2
    assert err.startswith(f"sluicegate: cannot write to {save} (")
    assert err.count("\n") == 1
    assert "Lamp" not in out
    assert (tmp_path / "taken").read_text() == "mine"


def test_what_no_run_has_kept_is_left_and_what_one_has_is_replaced_whole(lamp, capsys, tmp_path):
    words = (f"{lamp(TWO_WRONG)}:Lamp", "--checker", "tla-checker", "--save", "found")
    assert check(capsys, *words)[0] == 1
    files = sorted((tmp_path / "found").iterdir())
    (kept,) = [path for path in files if path.name == "Lamp-few.json"]
    text = kept.read_text()
    kept.write_text(text.replace("few", "old"))
    assert check(capsys, *words)[0] == 1
    assert kept.read_text() == text
    for path in (kept, *(path for path in files if path.suffix == ".py")):
        whole = path.read_text()
        path.write_text("mine")
        status, _, err = check(capsys, *words)
        assert (status, path.read_text()) == (2, "mine")
        assert f"there is a file that `check --save` did not write: 'found/{path.name}'" in err
        path.write_text(whole)
    assert sorted((tmp_path / "found").iterdir()) == files


def test_json_is_one_document_on_standard_output(lamp, capsys):
    words = ("--checker", "tla-checker", "--bound", "flips=2", "--format", "json", "--save", "found")
    status, out, err = check(capsys, f"{lamp(TWO_WRONG)}:Lamp", *words)
    assert status == 1
    document = json.loads(out)
    assert (document["format"], document["version"], document["failed"]) == ("sluicegate-check", 1, 1)
    (lamp_,) = document["models"]
    assert [(p["name"], p["verdict"]) for p in lamp_["properties"]][1:] == [("few", "fails"), ("dark", "fails")]
    assert [found["property"] for found in lamp_["counterexamples"]] == ["few", "dark"]
    assert {str(found["constants"]) for found in lamp_["counterexamples"]} == {"{'flips': '2'}"}
    assert "0 good, 1 failed" in err
    assert "saved found/Lamp-few.json" in err


def test_a_declaration_that_is_broken_is_nothing_to_judge(lamp, capsys):
    assert check(capsys, lamp("always(flips)"))[0] == 2
    assert check(capsys, lamp("always(nowhere)"))[0] == 2


@pytest.mark.parametrize(
    ("models", "words", "said"),
    [
        ("OPEN", (), "MODELS is a SystemModel: write MODELS = (one, two) or (one,)"),
        ("(OPEN, 'lamps')", (), "MODELS has 'lamps', which is no SystemModel: take it out"),
        ("(OPEN, model('open', constants={'Most': '1'}, invariants=('Dim',)))", (), "two models are called open"),
        ("(OPEN,)", ("--mutants",), "--mutants is about this project's own tables and models"),
        ("(OPEN,)", ("--coverage",), "--coverage is about this project's own tables and models"),
    ],
)
def test_what_would_be_passed_over_is_refused(lamp, capsys, models, words, said):
    name = lamp()
    with Path(f"{name}.py").open("a") as file:
        file.write(f"\nMODELS = {models}\n")
    status, _, err = check(capsys, name, *words)
    assert status == 2
    assert said in err


MODEL_ALONE = """
from pathlib import Path
from sluicegate.spec.models import Config, SystemModel

ONE = SystemModel("large", "x", "Counts", Config(invariants=("Few",)), profile="full", machines=(),
                  folder=Path(__file__).parent)
MODELS = (ONE,)
"""
COUNTS = r"""---- MODULE Counts ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x < 3 /\ x' = x + 1
Few == x < 2
====
"""


def test_a_profile_that_leaves_nothing_to_judge_is_told_and_what_is_named_is_judged_in_any(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "profiled.py").write_text(MODEL_ALONE)
    (tmp_path / "Counts.tla").write_text(COUNTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    status, _, err = check(capsys, "profiled")
    assert status == 2
    assert "no model of profile small in profiled: give --profile full" in err
    for words in (["profiled:ONE"], ["profiled", "--profile", "full"], ["profiled", "--model", "large"]):
        status, out, _ = check(capsys, *words, "--checker", "tla-checker")
        assert status == 1, words
        assert "FAILED: Few fails" in out


ODD = """
from sluicegate import *

class Idle(Machine):
    A = State()
    n = Nat(0)
    no = Refuse("no")
    class E(Event): ...
    table = Table(columns(A), row(E, no))
    few = always(n <= 1)

class Twofold(Machine):
    A, B, C = State(), State(), State()
    n = Nat(0)
    class Up(Event): ...
    class Go(Event): ...
    ups = stay().do(n.set(n + 1))
    table = Table(columns(A, B, C), row(Up, ups, ignore, ignore),
                  row(Go, choose(go(B).when(n >= 1), go(C).when(n >= 2), orelse=ignore), ignore, ignore))
    wrong = leads_to(A, B, fair=(Go, Up))
    scope = Scope(nat=3)

class Eager(Machine):
    A, B = State(), State()
    n = Nat(0)
    class Go(Event): ...
    counts = stay().do(n.set(n + 1))
    goes = go(B).when(n >= 0).orelse(counts)
    table = Table(columns(A, B), row(Go, goes, ignore))

STILL = {"states": ["a", "b"], "initial": "a", "transitions": []}
"""


@pytest.fixture
def odd(tmp_path, monkeypatch):
    (tmp_path / "odd.py").write_text(ODD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("odd")
def test_a_machine_in_which_nothing_ever_changes_is_judged_by_all(capsys):
    status, out, _ = check(capsys, "odd:Idle")
    assert status == 0, out
    assert "the step holds; tla-checker holds, 1 states" in out
    status, out, _ = check(capsys, "odd:STILL")
    assert status == 1
    assert "FAILED: deadlock: no event does anything in A" in out
    assert "error" not in out


@pytest.mark.usefixtures("odd")
def test_of_rules_that_overlap_the_overlap_alone_is_told(capsys):
    status, out, _ = check(capsys, "odd:Twofold")
    assert status == 1
    assert "FAILED: nondeterminism: in A, Go fits two rules" in out
    assert "unreachable" not in out
    assert "differs" not in out


@pytest.mark.usefixtures("odd")
def test_a_guard_that_always_holds_is_noted_by_what_it_leaves_out(capsys):
    status, out, _ = check(capsys, "odd:Eager", "--checker", "tla-checker")
    assert status == 0
    assert "note: rule never taken: within the scope, goes_counts is never taken (Go in A, odd.py:" in out


@pytest.mark.usefixtures("odd")
def test_a_name_that_is_not_there_is_told_with_what_there_is(capsys):
    status, _, err = check(capsys, "odd:Eagr")
    assert (status, "odd has no Eagr: did you mean Eager?" in err) == (2, True)
    status, _, err = check(capsys, "odd:x")
    assert (status, "odd has no x: it has Idle, Twofold, Eager, STILL" in err) == (2, True)
