"""What a checker is given and what it answers: one form for both checkers.

A model is a value: its modules as text and its configuration, so that a changed rule or a mutant is
another value and no file is touched. Values in traces are TLA+ text, normalised by
`tla_values.show`, so that the two checkers' traces can be compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from .source import constants, definitions, extended, imports, instantiated, used_only, without_comments

Verdict = Literal["ok", "violated", "error", "incomplete"]

DEADLOCK = "deadlock"
"""The name under which a deadlock is reported as violated."""


class CheckerMissing(RuntimeError):
    """A checker, or a part that it needs, is not installed; the message names the mend."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a cfg file says.

    `constants` maps a name to TLA+ text: `"3"`, `'{"a", "b"}'` (strings), `"{r1, r2}"` (model values).
    `spec` names a specification with fairness and replaces `init` and `next`. `properties` are
    temporal and for TLC alone. Raises ValueError for symmetry or constraints together with properties,
    which is unsound, and for an empty value of a constant.
    """

    constants: Mapping[str, str] = field(default_factory=dict)
    init: str = "Init"
    next: str = "Next"
    spec: str = ""
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    symmetry: str = ""
    check_deadlock: bool = False

    def __post_init__(self) -> None:
        if self.symmetry and self.properties:
            raise ValueError(
                f"symmetry {self.symmetry} with properties {', '.join(self.properties)}: symmetry "
                "reduction is unsound for temporal properties; check them in a configuration without it"
            )
        if self.constraints and self.properties:
            raise ValueError(
                f"constraint {', '.join(self.constraints)} with properties {', '.join(self.properties)}: a run that "
                "a constraint cuts off breaks no promise; bound the model itself, or check them without it"
            )
        empty = [name for name, value in self.constants.items() if not value.strip()]
        if empty:
            raise ValueError(f"constants without a value: {', '.join(empty)}")

    def text(self) -> str:
        """The cfg file, which both checkers read; whether a deadlock is an error is told to each apart."""
        lines = [f"SPECIFICATION {self.spec}"] if self.spec else [f"INIT {self.init}", f"NEXT {self.next}"]
        lines += [f"CONSTANT {name} = {value}" for name, value in self.constants.items()]
        lines += [f"INVARIANT {name}" for name in self.invariants]
        lines += [f"PROPERTY {name}" for name in self.properties]
        lines += [f"CONSTRAINT {name}" for name in self.constraints]
        lines += [f"SYMMETRY {self.symmetry}"] if self.symmetry else []
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Model:
    """A root module, the text of every module of ours by name (the root's too), and a configuration.

    Raises ValueError where the configuration has a value for what is no constant of the root or of what it
    extends: both checkers read that without a word, and go on without it.
    """

    name: str
    modules: Mapping[str, str]
    config: Config

    def __post_init__(self) -> None:
        if not self.config.constants:
            return
        declared = [name for text in self.extended() for name in constants(text)]
        if unknown := [name for name in self.config.constants if name not in declared]:
            there = f"it has {', '.join(declared)}" if declared else "it has none"
            raise ValueError(f"{', '.join(unknown)} is no constant of {self.name}: {there}; take it out of the Config")

    def extended(self) -> list[str]:
        """The root's text and those of all that it extends, without comments; not of what is only instantiated."""
        names = [self.name]
        for name in names:
            names += [n for n in extended(self.modules[name]) if n not in names and n in self.modules]
        return [without_comments(self.modules[name]) for name in names]

    def defined(self) -> set[str]:
        """The names that the root knows: its own, and those of what it extends or instantiates without a name."""
        names, known = [self.name], set[str]()
        for name in names:
            text = self.modules[name]
            names += [n for n in (*extended(text), *instantiated(text)) if n not in names and n in self.modules]
            known.update(definitions(without_comments(text)))
        return known

    @classmethod
    def load(
        cls, path: Path, config: Config, library: Sequence[Path] = (), made: Mapping[str, str] | None = None
    ) -> Model:
        """Read a module and all that it extends or instantiates: out of `made`, from its folder, from `library`.

        `made` holds the text of modules that need not be in any folder, by name.

        Raises FileNotFoundError naming the module that is in none of the folders, and who wants it.
        """
        folders = [path.parent, *library]
        modules = {path.stem: path.read_text(encoding="utf-8")}
        wanted = [(name, path.stem) for name in imports(modules[path.stem])]
        while wanted:
            name, by = wanted.pop()
            if name in modules:
                continue
            if made and name in made:
                modules[name] = made[name]
                wanted += [(inner, name) for inner in imports(made[name])]
                continue
            found = next((f for folder in folders if (f := folder / f"{name}.tla").is_file()), None)
            if found is None:
                looked = ", ".join(map(str, folders))
                raise FileNotFoundError(f"module {name}, wanted by {by}, is in none of: {looked}")
            modules[name] = found.read_text(encoding="utf-8")
            wanted += [(inner, name) for inner in imports(modules[name])]
        return cls(path.stem, modules, config)

    def lean(self) -> Model:
        """The same without what is generated and not used."""
        return replace(self, modules=used_only(self.modules, self.name, self.config.text()))

    def safety_only(self) -> Model:
        """The same without temporal properties, which tla-checker does not judge."""
        return replace(self, config=replace(self.config, properties=()))


@dataclass(frozen=True, slots=True)
class Step:
    """A state of a trace and the action that led to it (`Init` for the first)."""

    action: str
    state: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one checker found.

    `distinct`: distinct states found. `violated`: the name of an invariant or property, or
    "deadlock". `detail`: the checker's own words where the verdict is error or incomplete, and how a
    temporal counterexample ends. A parse or evaluation error is "error", a bound or a time limit
    reached is "incomplete": neither says anything about the model.
    """

    checker: str
    model: str
    verdict: Verdict
    distinct: int
    seconds: float
    violated: str | None = None
    trace: tuple[Step, ...] = ()
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"


@dataclass(frozen=True, slots=True)
class Graph:
    """A reached state graph by content. A state is the frozen set of its (variable, value) pairs.

    Edges are (state, action, state), with steps that change nothing where the checker tells them.
    """

    initial: frozenset[GraphState]
    states: frozenset[GraphState]
    edges: frozenset[tuple[GraphState, str, GraphState]]


GraphState = frozenset[tuple[str, object]]
