"""tla-checker: a wasm file from npm that wasmtime runs, in a process for each check.

Rules of this file:

- Judges safety only: with properties in the configuration it refuses, since this version passes a
  leads-to wrongly where a run ends or loops after its left side.
- Bounds are always given: the checker's own default stops at depth 100.
- Every named invariant must be in the checker's own answer before its verdict counts: a definition
  that did not parse can vanish without a word.
- The process never outlives the call: it is killed at the time limit, at an interrupt, and at any
  other way out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import queue
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import tla_values
from .child import Child
from .dot import TLA_CHECKER, read_graph
from .ending import endable
from .flatten import FlattenError, flatten
from .model import DEADLOCK, CheckerMissing, CheckResult, Graph, Model, Step, Verdict

NAME = "tla-checker"
WASM = Path(__file__).parent / "npm" / "node_modules" / "tla-checker" / "tla_checker_bg.wasm"
_HOST = Path(__file__).parent / "wasm_host.py"
MAX_STATES = 2_000_000_000
MAX_DEPTH = 1_000_000

_VERDICTS: dict[str, Verdict] = {
    "InvariantViolation": "violated",
    "Deadlock": "violated",
    "MaxStatesExceeded": "incomplete",
    "MaxDepthExceeded": "incomplete",
    "OutOfMemory": "incomplete",
}


class Interrupted(Exception):
    """A call was ended at its time limit."""


def check(
    model: Model,
    *,
    max_states: int = MAX_STATES,
    max_depth: int = MAX_DEPTH,
    timeout: float = 600.0,
    memory_gib: float = 4.0,
    name_actions: bool = True,
) -> CheckResult:
    """Check the invariants of a model, and deadlock where its configuration asks for it.

    `timeout` is in seconds; `memory_gib` bounds the checker's memory, which a wasm module cannot have
    more than 4 GiB of. With `name_actions` a counterexample's steps are named, at the price of
    one more call for each. Raises CheckerMissing where wasmtime or the wasm file is not there.
    """
    started = time.monotonic()

    def result(verdict: Verdict, detail: str = "", distinct: int = 0, **found: Any) -> CheckResult:
        seconds = time.monotonic() - started
        return CheckResult(NAME, model.name, verdict, distinct, seconds, detail=detail, **found)

    if model.config.properties:
        return result("error", f"{NAME} judges safety only; give {', '.join(model.config.properties)} to TLC")
    try:
        source = flatten(model.lean())
        with session(timeout, memory_gib) as host:
            answer, names = host.check(source, model, max_states, max_depth)
            trace = _trace(answer["trace"] or ())
            if name_actions and answer["error_type"] in _VERDICTS:
                trace = host.name_actions(source, model, trace)
    except FlattenError as error:
        return result("error", str(error))
    except Interrupted:
        return result("incomplete", f"stopped at its time limit of {timeout:g} s")
    missing = [name for name in model.config.invariants if name not in names]
    message = _told(str(answer["error_message"] or ""), model)
    if answer["success"] and missing:
        return result("error", f"invariants that did not reach the checker: {', '.join(missing)}")
    distinct = int(answer["states_explored"])
    if answer["success"]:
        return result("ok", distinct=distinct)
    verdict = _VERDICTS.get(answer["error_type"], "error")
    if verdict != "violated":
        return result(verdict, f"{answer['error_type']}: {message}".removeprefix(": "), distinct)
    violated = DEADLOCK
    if answer["error_type"] == "InvariantViolation":
        violated = names[int(re.findall(r"\d+", message)[0])]
    return result(verdict, distinct=distinct, violated=violated, trace=trace)


def _told(message: str, model: Model) -> str:
    """The checker's words; of a definition that is there and that it does not read, what to write."""
    if message.startswith("SPECIFICATION definition") and model.config.spec in model.defined():
        mend = "a subscript must be a name for it: define vars == <<...>>, and write [][Next]_vars and WF_vars(Next)"
        return f"{NAME} does not read {model.config.spec}: {mend}"
    return message


def graph(model: Model, *, max_states: int = 200_000, timeout: float = 600.0) -> Graph:
    """The whole reached state graph. An action that the checker cannot tell is called like `next`.

    Raises RuntimeError with the checker's words if the model cannot be explored to its end.
    """
    source = flatten(model.safety_only().lean())
    options = {
        "cfg_source": model.config.text(),
        "max_states": max_states,
        "max_depth": MAX_DEPTH,
        "allow_deadlock": True,
        "export_dot": True,
        "dot_mode": "full",
    }
    with session(timeout) as host:
        answer = host.call("check_spec_with_options", source, json.dumps(options))
        if not answer["success"]:
            raise RuntimeError(f"{model.name}: {answer['error_type']}: {answer['error_message']}")
        first = host.call("explore_init", source, model.config.text(), "{}")
    initial = {
        frozenset((name, tla_values.parse(text)) for name, text in state["display"].items())
        for state in first["states"]
    }
    states, edges = read_graph(answer["dot"], TLA_CHECKER)
    return Graph(frozenset(initial), frozenset(states.values()), frozenset(edges))


@contextlib.contextmanager
def session(timeout: float, memory_gib: float = 4.0) -> Iterator[Session]:
    """A process of the checker whose calls together may take `timeout` seconds and `memory_gib`.

    It is gone at the end of the block. Raises CheckerMissing.
    """
    if importlib.util.find_spec("wasmtime") is None:
        raise CheckerMissing("tla-checker needs wasmtime, which is not installed: pip install 'sluicegate[check]'")
    if not WASM.is_file():
        raise CheckerMissing(
            f"tla-checker's wasm file is not at {WASM}: run 'npm ci' in {WASM.parents[2]}, or 'make setup'"
        )
    # One byte less than what 32 bits can say, which is where 4 GiB end.
    memory = min(int(memory_gib * 2**30), 2**32 - 1)
    command = [sys.executable, "-I", str(_HOST), str(WASM), str(memory)]
    child = Child("tla-checker", command, None, _lines, talks=True)
    try:
        with endable(child.kill):
            child.start()
            yield Session(child, time.monotonic() + timeout, memory)
    finally:
        child.stop()


def _lines(output: Iterator[str]) -> Iterator[str]:
    return (line.rstrip("\n") for line in output)


class Session:
    """Calls to the checker's own functions, one after the other."""

    def __init__(self, child: Child[str], deadline: float, memory: int) -> None:
        self.child, self.deadline, self.memory = child, deadline, memory

    def call(self, function: str, *args: str | int | bool) -> Any:
        """Call an exported function and parse its answer. Raises Interrupted at the deadline."""
        self.child.tell(json.dumps([function, *args]))
        try:
            said = self.child.said.get(timeout=max(0.0, self.deadline - time.monotonic()))
        except queue.Empty:
            raise Interrupted from None
        if isinstance(said, OSError):
            raise said
        if isinstance(said, str) and said.startswith("{"):
            answer = json.loads(said)
            return json.loads(answer["answer"]) if "answer" in answer else self._failed(*self._trapped(**answer))
        return self._failed("Ended", self._last_words(said))

    @staticmethod
    def _failed(kind: str, said: str) -> dict[str, Any]:
        return {"success": False, "ok": False, "error_type": kind, "error_message": said,
                "error": said, "states_explored": 0, "trace": None}  # fmt: skip

    def _trapped(self, trap: str, used: int) -> tuple[str, str]:
        """What ended a call. An allocation that fails is a plain trap: it is told by how full the memory is.

        A table that grows asks for twice its size while it still has the old one.
        """
        if "unreachable" in trap and used > self.memory / 4:
            return "OutOfMemory", f"{used / 2**30:.2g} of {self.memory / 2**30:g} GiB were in use"
        return "Trap", trap

    def _last_words(self, said: str | int | OSError) -> str:
        """What a process that ended by itself said, its last line and status."""
        line = ""
        while isinstance(said, str):
            line = said
            said = self.child.said.get(timeout=max(0.0, self.deadline - time.monotonic()))
        return f"tla-checker's process ended with status {said} {line}".rstrip()

    def check(self, source: str, model: Model, max_states: int, max_depth: int) -> tuple[Any, list[str]]:
        """The checker's answer, and the invariants that it knows, in its own order."""
        cfg = model.config.text()
        first = self.call("explore_init", source, cfg, "{}")
        if first.get("ok") and not first["states"]:
            first = {"ok": False, "error": f"{model.config.spec or model.config.init} holds in no state"}
        if not first.get("ok"):
            answer = {"success": False, "error_type": "", "error_message": first["error"],
                      "states_explored": 0, "trace": None}  # fmt: skip
            return answer, []
        state = json.dumps(first["states"][0]["json"])
        told = self.call("explore_invariants", source, cfg, "{}", state)
        names = [entry["name"] for entry in told.get("invariants", ())]
        allow_deadlock = not model.config.check_deadlock
        answer = self.call("check_spec_with_cfg", source, cfg, "{}", max_states, max_depth, allow_deadlock, False)
        return answer, names

    def name_actions(self, source: str, model: Model, trace: tuple[Step, ...]) -> tuple[Step, ...]:
        """The trace with the name of the action that leads from each state to the next."""
        if not trace:
            return trace
        cfg = model.config.text()
        candidates = self.call("explore_init", source, cfg, "{}").get("states", ())
        named: list[Step] = []
        for step in trace:
            for candidate in candidates:
                if {n: tla_values.normal(t) for n, t in candidate["display"].items()} == step.state:
                    break
            else:
                return trace
            # An action that is written out in the next-state relation has no name: null in its answer.
            unnamed = "" if model.config.spec else model.config.next
            named.append(replace(step, action=candidate.get("action", "Init") or unnamed))
            after = self.call("explore_next", source, cfg, "{}", json.dumps(candidate["json"]))
            candidates = [{**t["state"], "action": t["action"]} for t in after.get("transitions", ())]
        return tuple(named)


def _trace(texts: Sequence[str]) -> tuple[Step, ...]:
    """A counterexample from the checker's text: `State n`, then a line for each variable."""
    steps: list[Step] = []
    state: dict[str, str] = {}
    for line in "\n".join(texts).splitlines():
        if re.fullmatch(r"State \d+", line):
            state = {}
            steps.append(Step("" if steps else "Init", state))
        elif line.strip():
            name, _, value = line.strip().partition(" = ")
            state[name] = tla_values.normal(value)
    return tuple(steps)
