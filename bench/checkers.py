"""States per second of both checkers, on the same models in one run.

Three shapes: flat variables, the same system as one record, and the generated module of the Gate.
The checkers run in turn, several times; a figure is the median, the ratio the median of the ratios
of neighbouring runs. TLC's time includes the start of Java, which is told apart beside it. The
counts of distinct states must agree, or nothing is printed for that model.

    python -m bench.checkers [rounds]
"""

from __future__ import annotations

import statistics
import sys

from sluicegate.spec.checkers import Config, Model, tla_checker, tlc
from sluicegate.spec.emitter import constants, emit, emit_alone
from sluicegate.statemachines.gate import Gate

FLAT = """
EXTENDS Naturals
CONSTANTS N, R
VARIABLES x, y, at
vars == <<x, y, at>>
Init == x = 0 /\\ y = 0 /\\ at = [k \\in R |-> 0]
Right == x < N /\\ x' = x + 1 /\\ UNCHANGED <<y, at>>
Up == y < x /\\ y' = y + 1 /\\ UNCHANGED <<x, at>>
Move(k) == at[k] < 3 /\\ at' = [at EXCEPT ![k] = @ + 1] /\\ UNCHANGED <<x, y>>
Next == Right \\/ Up \\/ \\E k \\in R : Move(k)
Ordered == y <= x
"""

RECORD = """
EXTENDS Naturals
CONSTANTS N, R
VARIABLE m
Init == m = [x |-> 0, y |-> 0, at |-> [k \\in R |-> 0]]
RightNext(right) == [right EXCEPT !.x = @ + 1]
UpNext(up) == [up EXCEPT !.y = @ + 1]
MoveNext(move, move_k) == [move EXCEPT !.at[move_k] = @ + 1]
Right == m.x < N /\\ m' = RightNext(m)
Up == m.y < m.x /\\ m' = UpNext(m)
Move == \\E k \\in R : m.at[k] < 3 /\\ m' = MoveNext(m, k)
Next == Right \\/ Up \\/ Move
Ordered == m.y <= m.x
"""

NOTHING = "EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nNext == x < 1 /\\ x' = x + 1"


def models() -> list[Model]:
    def module(name: str, body: str, **config: object) -> Model:
        text = f"---- MODULE {name} ----\n{body}\n====\n"
        return Model(name, {name: text}, Config(**config))  # pyright: ignore[reportArgumentType]

    size = {"N": "40", "R": '{"r1", "r2", "r3"}'}
    ids = {sort: "{" + ", ".join(f'"{m}"' for m in members) + "}" for sort, members in constants(Gate.ir).items()}
    gate = {Gate.ir.name: emit(Gate.ir), f"MC{Gate.ir.name}": emit_alone(Gate.ir)}
    return [
        module("Flat", FLAT, constants=size, invariants=("Ordered",)),
        module("Record", RECORD, constants=size, invariants=("Ordered",)),
        Model(f"MC{Gate.ir.name}", gate, Config(constants=ids, invariants=("TypeOK",))),
    ]


def main(rounds: int = 3) -> None:
    nothing = Model("Nothing", {"Nothing": f"---- MODULE Nothing ----\n{NOTHING}\n====\n"}, Config())
    tla_checker.check(nothing)
    start = statistics.median(tlc.check(nothing).seconds for _ in range(rounds))
    print(f"start of TLC: {start:.1f} s")
    print(f"{'model':10} {'states':>8} {'tla-checker/s':>14} {'TLC/s':>10} {'ratio':>6}")
    for model in models():
        pairs = [(tla_checker.check(model), tlc.check(model)) for _ in range(rounds)]
        counts = {result.distinct for pair in pairs for result in pair}
        if len(counts) != 1 or not all(result.ok for pair in pairs for result in pair):
            raise SystemExit(f"{model.name}: the checkers disagree: {pairs[0]}")
        ours = statistics.median(a.distinct / a.seconds for a, _ in pairs)
        theirs = statistics.median(b.distinct / b.seconds for _, b in pairs)
        ratio = statistics.median(b.seconds / a.seconds for a, b in pairs)
        print(f"{model.name:10} {counts.pop():8} {ours:14.0f} {theirs:10.0f} {ratio:6.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
