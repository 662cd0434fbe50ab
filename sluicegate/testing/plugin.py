"""The pytest plugin: declared machines and models as test items, and transition coverage of a run.

Rules of this file:

- Where nothing is asked for nothing is loaded: pytest imports this file at every start.
- `[tool.sluicegate]` in the pyproject.toml of the root folder names what is collected. The items are
  collected where pytest is told no paths, or that file among them.
- Coverage counts in every process of a run, and is judged in the first.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .coverage import Coverage

FILE = "pyproject.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sluicegate", "declared machines")
    group.addoption(
        "--sluicegate-coverage", action="append", default=[], metavar="MODULE:MACHINE",
        help="tell which rules of this machine the run has taken; may be given several times",
    )  # fmt: skip
    group.addoption(
        "--sluicegate-coverage-min", type=_percent, default=None, metavar="PERCENT",
        help="fail where the run has taken less of a machine",
    )  # fmt: skip


def _percent(text: str) -> float:
    # What is no number is less than nothing, and would demand nothing.
    if not 0 <= (percent := float(text)) <= 100:
        raise ValueError(text)
    return percent


_percent.__name__ = "percentage from 0 to 100"


def pytest_configure(config: pytest.Config) -> None:
    file = config.rootpath / FILE
    if named := _named(file):
        config.pluginmanager.register(_Collecting(file, named), "sluicegate-items")
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args.append(str(file))
    covered, least = config.getoption("--sluicegate-coverage"), config.getoption("--sluicegate-coverage-min")
    if covered:
        config.pluginmanager.register(_Covering(config, covered, least or 0.0), "sluicegate-coverage")
    elif least is not None:
        raise pytest.UsageError("--sluicegate-coverage-min: name a machine by --sluicegate-coverage MODULE:MACHINE")


def _named(file: Path) -> list[str]:
    """The machines and models that the project names. Raises UsageError for a table of another form."""
    if not file.is_file():
        return []
    table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("sluicegate", {})
    names: list[str] = []
    for key, value in table.items():
        if key not in ("machines", "models"):
            raise pytest.UsageError(f"{file}: [tool.sluicegate] has no {key}: it has machines and models")
        if not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
            raise pytest.UsageError(f"{file}: [tool.sluicegate] {key}: write a list of names, MODULE:NAME")
        names += value
    return names


class _Collecting:
    def __init__(self, file: Path, names: list[str]) -> None:
        self.file, self.names = file, names

    def pytest_collection(self, session: pytest.Session) -> None:
        """Raises UsageError for an item of the file that is not there, with those that are."""
        for argument in session.config.args:
            path, *asked = str(argument).split("::")
            if not asked or (session.config.invocation_params.dir / path).resolve() != self.file.resolve():
                continue
            from .items import items_of

            known = items_of(self.names)
            if asked[0] not in known:
                raise pytest.UsageError(f"{FILE} has no {asked[0]}: it has {', '.join(known)}")
            if asked[1:] and asked[1].partition("[")[0] not in known[asked[0]]:
                raise pytest.UsageError(f"{asked[0]} has no item {asked[1]}: it has {', '.join(known[asked[0]])}")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path != self.file:
            return None
        from .items import DeclaredFile

        return DeclaredFile.from_parent(parent, path=file_path, names=self.names)


class _Covering:
    def __init__(self, config: pytest.Config, names: list[str], least: float) -> None:
        from ..cli._machines import UnknownName, load_machine
        from ..statemachines import DeclarationError
        from .coverage import Coverage

        try:
            machines = {name: load_machine(name) for name in names}
        except (UnknownName, DeclarationError) as error:
            raise pytest.UsageError(f"--sluicegate-coverage: {error}") from error
        self.coverage: Coverage = Coverage(machines)
        self.least, self.report = least, list[tuple[str, float, list[str]]]()
        self.coverage.start()
        config.add_cleanup(self.coverage.stop)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process of a distributed run has ended."""
        self.coverage.add(node.workeroutput.get("sluicegate", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.coverage.stop()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["sluicegate"] = self.coverage.plain()
            return
        self.report = list(self.coverage.report())
        if session.exitstatus == pytest.ExitCode.OK and any(percent < self.least for _, percent, _ in self.report):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("transitions taken")
        for said, percent, missing in self.report:
            low = percent < self.least
            text = f"{said}, and {self.least:g} % are wanted" if low else said
            terminalreporter.write_line(text, red=low, green=not low)
            for line in missing:
                terminalreporter.write_line(f"  not taken: {line}")
