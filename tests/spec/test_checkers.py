"""Both checkers, on models whose answers are known; wrong answers of theirs are guarded against."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from sluicegate.spec.checkers import DEADLOCK, CheckerMissing, Config, Model, tla_checker, tlc

BOTH = pytest.mark.parametrize("checker", [tla_checker, tlc], ids=["tla-checker", "TLC"])

COUNTER = """
EXTENDS Naturals, Sequences, FiniteSets, TLC
CONSTANTS R, N
VARIABLES x, r, msgs
vars == <<x, r, msgs>>
Init == x = 0 /\\ r = [seen |-> {}, log |-> <<>>, at |-> [k \\in R |-> 0]] /\\ msgs = {}
Inc(k) ==
  /\\ x < N
  /\\ x' = x + 1
  /\\ r' = [r EXCEPT !.at[k] = @ + 1, !.seen = @ \\cup {k}, !.log = Append(@, k)]
  /\\ UNCHANGED msgs
Send(k) == msgs' = msgs \\cup {[type |-> "hello", to |-> k]} /\\ UNCHANGED <<x, r>>
Next == \\E k \\in R : Inc(k) \\/ Send(k)
Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next)
TypeOK == x \\in 0..N /\\ r.seen \\subseteq R
Few == x < 2
Unsent == Cardinality(msgs) < 2
Reaches == <>(x = N)
Never == <>(x = N + 1)
Symmetry == Permutations(R)
"""

RING = """
EXTENDS Naturals
CONSTANT N
VARIABLES token, done
Init == token = 0 /\\ done = [i \\in 0..(N - 1) |-> FALSE]
Pass == token' = (token + 1) % N /\\ done' = [done EXCEPT ![token] = ~@]
Next == Pass
"""


def counter(**config: object) -> Model:
    settings = {"constants": {"R": "{r1, r2}", "N": "3"}, **config}
    return model("Counter", COUNTER, **settings)


def model(name: str, body: str, **config: object) -> Model:
    text = f"---- MODULE {name} ----\n{body}\n====\n"
    return Model(name, {name: text}, Config(**config))  # pyright: ignore[reportArgumentType]


# --- agreement


@pytest.mark.parametrize(
    "subject",
    [
        counter(invariants=("TypeOK",)),
        counter(constants={"R": '{"r1", "r2"}', "N": "2"}, invariants=("TypeOK",)),
        counter(invariants=("TypeOK",), constraints=("Few",)),
        counter(invariants=("TypeOK",), spec="Spec", init="", next=""),
        model("Ring", RING, constants={"N": "4"}, check_deadlock=True),
    ],
    ids=["model values", "strings", "constraint", "spec", "ring"],
)
def test_both_checkers_find_equally_many_states(subject: Model) -> None:
    ours, theirs = tla_checker.check(subject), tlc.check(subject)
    assert (ours.verdict, theirs.verdict) == ("ok", "ok"), (ours.detail, theirs.detail)
    assert ours.distinct == theirs.distinct > 1


def test_symmetry_reduces_in_both_and_fully_in_tlc_only() -> None:
    """60 states are 31 up to a swap of r1 and r2; so counts are compared without symmetry."""
    subject = counter(invariants=("TypeOK",), symmetry="Symmetry")
    assert tlc.check(subject).distinct == 31
    assert 31 <= tla_checker.check(subject).distinct < 60


@pytest.mark.parametrize("violated", ["Few", "Unsent"])
def test_both_checkers_name_the_violated_invariant_and_find_a_shortest_trace(violated: str) -> None:
    subject = counter(invariants=("TypeOK", violated))
    ours, theirs = tla_checker.check(subject), tlc.check(subject)
    for result in (ours, theirs):
        assert (result.verdict, result.violated) == ("violated", violated)
        assert result.trace[0].action == "Init"
        assert set(result.trace[0].state) == {"x", "r", "msgs"}
    assert len(ours.trace) == len(theirs.trace) == 3
    assert ours.trace[0].state == theirs.trace[0].state
    assert {step.action for step in theirs.trace[1:]} == {"Inc" if violated == "Few" else "Send"}


@BOTH
def test_an_invariant_that_an_initial_state_violates_has_a_trace_of_one(checker: ModuleType) -> None:
    born = "EXTENDS Naturals\nVARIABLE x\nInit == x = 7\nNext == x' = x\nSmall == x < 7"
    result = checker.check(model("Born", born, invariants=("Small",)))
    assert (result.verdict, result.violated) == ("violated", "Small")
    assert [dict(step.state) for step in result.trace] == [{"x": "7"}]


@BOTH
def test_a_deadlock_is_found_where_it_is_asked_for(checker: ModuleType) -> None:
    ends = model("Ends", "EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nNext == x < 2 /\\ x' = x + 1")
    assert checker.check(ends).ok
    result = checker.check(replace(ends, config=replace(ends.config, check_deadlock=True)))
    assert (result.verdict, result.violated, len(result.trace)) == ("violated", DEADLOCK, 3)


def test_both_checkers_reach_the_same_graph() -> None:
    ours, theirs = tla_checker.graph(counter()), tlc.graph(counter())
    assert ours.initial == theirs.initial
    assert ours.states == theirs.states
    assert {(a, b) for a, _, b in ours.edges} == {(a, b) for a, _, b in theirs.edges}
    assert {action for _, action, _ in theirs.edges} == {"Inc", "Send"}
    assert any(a == b for a, _, b in theirs.edges)


def test_values_longer_than_a_line_are_read_whole() -> None:
    wide = ", ".join(f'"{"v" * 20}{i}"' for i in range(9))
    subject = model("Wide", f"VARIABLE x\nInit == x = {{{wide}}}\nNext == x' = x\nNo == x = {{}}",
                    invariants=("No",))  # fmt: skip
    ours, theirs = tla_checker.check(subject), tlc.check(subject)
    assert ours.trace[0].state == theirs.trace[0].state
    assert theirs.trace[0].state["x"].count("v" * 20) == 9


# --- temporal properties


def test_tlc_judges_temporal_properties_and_names_the_violated_one() -> None:
    assert tlc.check(counter(spec="Spec", properties=("Reaches",))).ok
    result = tlc.check(counter(spec="Spec", properties=("Reaches", "Never")))
    assert (result.verdict, result.violated) == ("violated", "Never")
    assert result.trace


LEADS_TO = """
EXTENDS Naturals
VARIABLE x
Init == x = 0
{steps}
Spec == Init /\\ [][Next]_x /\\ WF_x(Next)
Answered == ({left}) ~> ({right})
"""
THE_RUN_ENDS = "Next == x < 2 /\\ x' = x + 1"
ONE_BRANCH_ENDS = """
Next ==
  \\/ x = 0 /\\ x' \\in {1, 2}
  \\/ x = 1 /\\ x' = 0
"""
ONE_BRANCH_LOOPS = """
Next ==
  \\/ x = 0 /\\ x' \\in {1, 4}
  \\/ x = 1 /\\ x' = 2
  \\/ x = 2 /\\ x' = 1
  \\/ x = 4 /\\ x' = 5
  \\/ x = 5 /\\ x' = 5
"""


@pytest.mark.parametrize(
    ("steps", "left", "right"),
    [
        (THE_RUN_ENDS, "x = 1", "x = 0"),
        (ONE_BRANCH_ENDS, "x = 0", "x = 1"),
        (ONE_BRANCH_LOOPS, "x = 0", "x = 2"),
    ],
    ids=["the run ends", "one branch ends", "one branch loops"],
)
def test_m21_a_leads_to_that_fails_is_not_passed(steps: str, left: str, right: str) -> None:
    """tla-checker by itself passes each of these."""
    body = LEADS_TO.format(steps=steps, left=left, right=right)
    subject = model("Leads", body, spec="Spec", properties=("Answered",))
    refused = tla_checker.check(subject)
    assert refused.verdict == "error"
    assert "safety only" in refused.detail
    result = tlc.check(subject, workers=2)
    assert (result.verdict, result.violated) == ("violated", "Answered")


def test_symmetry_with_a_property_is_refused() -> None:
    with pytest.raises(ValueError, match="unsound"):
        counter(symmetry="Symmetry", properties=("Reaches",))


# --- what did not parse, or means something else than it says


VANISHING = "VARIABLE x\nInit == x = 0\nNext == x' = 1 - x\n{broken}\nZero == x = 0\n"


@BOTH
@pytest.mark.parametrize("broken", ["Half == IF x = 0 THEN 1", "Half == (x", "Half == <<x"])
def test_m22_an_invariant_that_an_unfinished_definition_swallows_is_an_error(checker: ModuleType, broken: str) -> None:
    result = checker.check(model("Half", "EXTENDS Naturals\n" + VANISHING.format(broken=broken), invariants=("Zero",)))
    assert result.verdict == "error"
    assert result.detail


@BOTH
def test_m22_an_invariant_that_is_not_defined_is_an_error(checker: ModuleType) -> None:
    result = checker.check(counter(invariants=("TypeOK", "Absent")))
    assert result.verdict == "error"
    assert "Absent" in result.detail


def test_a_property_that_is_not_defined_is_an_error_also_beside_one_that_is() -> None:
    result = tlc.check(counter(spec="Spec", properties=("Reaches", "Nowhere")))
    assert result.verdict == "error"
    assert "Nowhere" in result.detail


@BOTH
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x < N", "x < msgs"),
        ("x < N", "x < unknown"),
        ("Init == x = 0", "Init == FALSE /\\ x = 0"),
        ("CONSTANTS R, N", "CONSTANTS R, N, M"),
    ],
    ids=["wrong type", "unknown name", "no initial state", "constant without a value"],
)
def test_an_error_in_the_model_is_an_error_and_no_verdict(checker: ModuleType, old: str, new: str) -> None:
    subject = counter(invariants=("TypeOK", "Few"))
    text = subject.modules["Counter"].replace(old, new)
    result = checker.check(replace(subject, modules={"Counter": text}))
    assert (result.verdict, result.violated) == ("error", None)
    assert result.detail


@pytest.mark.parametrize("spec", ["[][Next]_<<x, s>>", "[][Next]_vars /\\ WF_<<x, s>>(Next)"])
def test_a_specification_that_tla_checker_does_not_read_is_told_with_what_to_write(spec: str) -> None:
    body = "VARIABLES x, s\nvars == <<x, s>>\n  Init == x = 0 /\\ s = 1\nNext == x' = 1 - s /\\ s' = s\n"
    subject = model("Pair", f"EXTENDS Naturals\n{body}  Spec ==\n    /\\ Init\n    /\\ {spec}\n", spec="Spec")
    result = tla_checker.check(subject)
    assert result.verdict == "error"
    assert result.detail == (
        "tla-checker does not read Spec: a subscript must be a name for it: "
        "define vars == <<...>>, and write [][Next]_vars and WF_vars(Next)"
    )
    named = {"Pair": subject.modules["Pair"].replace("_<<x, s>>", "_vars")}
    assert tla_checker.check(replace(subject, modules=named)).ok


BIG = "EXTENDS Naturals\nVARIABLE x\nInit == x = {start}\nNext == x' = x + x\nSome == x >= {least}\n"


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (
            model("Big", BIG.format(start=2_000_000_000, least=0), invariants=("Some",)),
            "Overflow when computing 2000000000+2000000000: 2147483647 is the most that TLC counts to, bound the model "
            "below it, at line 5, column 14 to line 5, column 18 in Big",
        ),
        (
            model("Big", BIG.format(start=0, least=3_000_000_000), invariants=("Some",)),
            "TLC can't handle a number this big.\n3000000000: 2147483647 is the most that TLC counts to",
        ),
        (
            counter(constants={"R": '{"r1", "r2"}', "N": "2"}, invariants=("TypeOK",), symmetry="Symmetry"),
            'symmetry Symmetry permutes texts (R = {"r1", "r2"}): write its members without quotes',
        ),
    ],
    ids=["overflow", "number", "symmetry"],
)
def test_what_tlc_cannot_do_is_told_in_its_words_for_the_cause_without_its_frames(subject: Model, said: str) -> None:
    result = tlc.check(subject)
    assert result.verdict == "error"
    assert result.detail.startswith(said)
    assert "@!@!@" not in result.detail
    assert result.detail.count("\n") < 2


CAPTURED = """
EXTENDS Integers
VARIABLE x
Init == x = 0
{op}
Next == \\E a \\in {{5}}, b \\in {{3}} : x' = Less(b, a) + 10
Right == x \\in {{0, 8}}
"""


def test_parameters_named_like_what_the_caller_binds_are_captured_and_own_names_are_not() -> None:
    """Why every emitted parameter has a unique name: tla-checker binds arguments one after another.

    The first assertion fails once it no longer does, and then the rule can go.
    """
    same = model("Same", CAPTURED.format(op="Less(a, b) == a - b"), invariants=("Right",))
    own = model("Own", CAPTURED.format(op="Less(less_1, less_2) == less_1 - less_2"), invariants=("Right",))
    assert (tla_checker.check(same).verdict, tlc.check(same).verdict) == ("violated", "ok")
    assert tla_checker.check(own).distinct == tlc.check(own).distinct == 2


# --- bounds


def test_a_deep_model_is_explored_to_its_end() -> None:
    """tla-checker's own default stops at depth 100."""
    deep = model("Deep", "EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nNext == x < 300 /\\ x' = x + 1\nLow == x < 300",
                 invariants=("Low",))  # fmt: skip
    result = tla_checker.check(deep, name_actions=False)
    assert (result.verdict, len(result.trace)) == ("violated", 301)
    assert tla_checker.check(deep, max_depth=10).verdict == "incomplete"
    assert tla_checker.check(deep, max_states=10).verdict == "incomplete"


BIG = """
EXTENDS Naturals
VARIABLES a, b, c
Init == a = 0 /\\ b = 0 /\\ c = 0
Next == a' \\in 0..400 /\\ b' \\in 0..400 /\\ c' \\in 0..400
"""


@BOTH
def test_a_check_ends_at_its_time_limit(checker: ModuleType) -> None:
    started = time.monotonic()
    result = checker.check(model("Big", BIG), timeout=2.5)
    assert result.verdict == "incomplete"
    assert "2.5 s" in result.detail
    assert time.monotonic() - started < 15


def java_processes(name: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if f"{name}.tla" in words and "tlc2.TLC" in words:
                found.append(int(entry.name))
    return found


def test_no_java_is_left_after_the_time_limit() -> None:
    name = f"Left{os.getpid()}"
    seen: list[int] = []
    looks = threading.Timer(1.5, lambda: seen.extend(java_processes(name)))
    looks.start()
    tlc.check(model(name, BIG), timeout=3)
    looks.join()
    assert len(seen) == 1
    assert java_processes(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_no_java_outlives_whoever_asked_and_an_interrupt_leaves_no_folder(
    tmp_path: Path, ending: signal.Signals
) -> None:
    name = f"Interrupted{os.getpid()}{ending.name}"
    (tmp_path / f"{name}.tla").write_text(f"---- MODULE {name} ----\n{BIG}\n====\n")
    code = (
        "from pathlib import Path; from sluicegate.spec.checkers import Config, Model, tlc\n"
        f"tlc.check(Model.load(Path({str(tmp_path)!r}) / '{name}.tla', Config()))"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(temporary)}, stderr=subprocess.PIPE
    )
    try:
        end = time.monotonic() + 60
        while not java_processes(name) and time.monotonic() < end:
            time.sleep(0.1)
        assert java_processes(name)
        child.send_signal(ending)
        _, said = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    end = time.monotonic() + 10
    while java_processes(name) and time.monotonic() < end:
        time.sleep(0.1)
    assert java_processes(name) == []
    if ending is signal.SIGINT:
        assert b"KeyboardInterrupt" in said
        assert list(temporary.iterdir()) == []


def hosts_of(parent: int) -> list[int]:
    """The processes of tla-checker that `parent` has started."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0")
                above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if above == parent and any(word.endswith("wasm_host.py") for word in words):
                found.append(int(entry.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_no_tla_checker_outlives_whoever_asked(tmp_path: Path, ending: signal.Signals) -> None:
    (tmp_path / "Big.tla").write_text(f"---- MODULE Big ----\n{BIG}\n====\n")
    code = (
        "from pathlib import Path; from sluicegate.spec.checkers import Config, Model, tla_checker\n"
        f"tla_checker.check(Model.load(Path({str(tmp_path)!r}) / 'Big.tla', Config()))"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    hosts: list[int] = []
    try:
        end = time.monotonic() + 30
        while not hosts and time.monotonic() < end:
            time.sleep(0.1)
            hosts = hosts_of(child.pid)
        assert len(hosts) == 1
        time.sleep(1)
        child.send_signal(ending)
        child.wait(30)
    finally:
        child.kill()
        child.wait()
    end = time.monotonic() + 10
    while (alive := Path(f"/proc/{hosts[0]}").exists()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not alive


def test_a_tla_checker_that_was_killed_has_proven_nothing() -> None:
    def kill() -> None:
        end = time.monotonic() + 30
        while not (hosts := hosts_of(os.getpid())) and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(hosts[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = tla_checker.check(model("Big", BIG), timeout=60)
    killer.join()
    assert result.verdict == "error"
    assert result.detail == "tla-checker's process ended with status -9"


# --- loading, progress, what is missing


def test_a_model_is_loaded_with_the_modules_that_it_extends(tmp_path: Path) -> None:
    library = tmp_path / "generated"
    library.mkdir()
    (library / "Steps.tla").write_text("---- MODULE Steps ----\nEXTENDS Naturals\nUp(n) == n + 1\n====\n")
    (tmp_path / "Main.tla").write_text(
        "---- MODULE Main ----\nEXTENDS Steps\nVARIABLE x\nInit == x = 0\nNext == x < 3 /\\ x' = Up(x)\n====\n"
    )
    loaded = Model.load(tmp_path / "Main.tla", Config(), [library])
    assert set(loaded.modules) == {"Main", "Steps"}
    assert [c.check(loaded).distinct for c in (tla_checker, tlc)] == [4, 4]
    with pytest.raises(FileNotFoundError, match="module Steps, wanted by Main"):
        Model.load(tmp_path / "Main.tla", Config())


def test_tlc_tells_its_progress() -> None:
    told: list[tuple[int, float]] = []
    result = tlc.check(counter(), progress=lambda distinct, seconds: told.append((distinct, seconds)))
    assert told
    assert told[-1][0] == result.distinct


def test_random_behaviours_find_a_fault_and_are_the_same_for_one_seed() -> None:
    deep = counter(invariants=("TypeOK", "Unsent"))
    found = [tlc.simulate(deep, behaviours=20, depth=30, seed=7) for _ in range(2)]
    assert (found[0].verdict, found[0].violated) == ("violated", "Unsent")
    assert found[0].trace == found[1].trace


def test_random_behaviours_are_counted_and_pass_where_nothing_is_wrong() -> None:
    result = tlc.simulate(counter(), behaviours=5, depth=10, seed=1)
    assert result.ok
    assert 5 < int(result.detail.removesuffix(" states")) <= 5 * 10 + 1


def test_out_of_memory_is_incomplete_and_says_with_how_much() -> None:
    text = (
        "---- MODULE Big ----\nEXTENDS Naturals\nVARIABLE x\n"
        "Init == x = [i \\in 1..1000000 |-> i]\nNext == x' = [i \\in 1..1000000 |-> x[i] + 1]\n===="
    )
    result = tlc.check(Model("Big", {"Big": text}, Config()), heap_gib=0.03125, timeout=100)
    assert result.verdict == "incomplete"
    assert result.detail == "out of memory, with a heap of 0.03125 GiB"


def test_a_check_ends_soon_after_it_is_told_to() -> None:
    name = "Endless"
    stop = threading.Event()
    timer = threading.Timer(2, stop.set)
    timer.start()
    started = time.monotonic()
    result = tlc.check(model(name, BIG), stop=stop)
    timer.join()
    assert (result.verdict, result.detail) == ("incomplete", "stopped from outside")
    assert time.monotonic() - started < 10


def test_a_missing_part_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tla_checker, "WASM", tmp_path / "a" / "b" / "c" / "none.wasm")
    with pytest.raises(CheckerMissing, match="npm ci"):
        tla_checker.check(counter())
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from sluicegate.spec.checkers import CheckerMissing, Config, Model, tla_checker, tlc\n"
        "m = Model('M', {'M': '---- MODULE M ----\\n====\\n'}, Config())\n"
        "for checker in (tla_checker, tlc):\n"
        "    try: checker.check(m)\n"
        "    except CheckerMissing as error: print(error)\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-S", "-c", code, root], capture_output=True, text=True, timeout=60)
    assert done.stdout.count("pip install 'sluicegate[check]'") == 2, done.stderr
