"""The layout holds: which room imports which, a light core, a wheel that carries everything."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from sluicegate import cli

ROOT = Path(__file__).resolve().parent.parent
ARROWS = {
    "statemachines": set[str](),
    "spec": {"statemachines"},
    "protocol": {"statemachines"},
    "runtime": {"statemachines", "protocol", "spec"},
}


def modules(room: str) -> list[Path]:
    return [p for p in sorted((ROOT / room).rglob("*.py")) if "node_modules" not in p.parts]


def imported_by(file: Path) -> list[tuple[int, str]]:
    """Every import of a file, with its line; what is imported from our own package is named in full."""
    package = ("sluicegate", *file.relative_to(ROOT).parent.parts)
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join([*base, *filter(None, [node.module])])
            found += [(node.lineno, f"{source}.{alias.name}") for alias in node.names]
    return found


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_only_the_rooms_its_arrows_point_to(room: str) -> None:
    wrong: list[str] = []
    for file in modules(room):
        for line, name in imported_by(file):
            top, _, rest = name.partition(".")
            inner = rest.partition(".")[0]
            if top in ARROWS or (top == "sluicegate" and inner not in ARROWS[room] | {room}):
                wrong.append(f"{file.relative_to(ROOT)}:{line} imports {name}")
            if room == "runtime" and inner == "spec" and not rest.startswith("spec.traces"):
                wrong.append(f"{file.relative_to(ROOT)}:{line} imports {name}, and not for traces")
    assert wrong == []


@pytest.mark.parametrize("room", ARROWS)
def test_imports_inside_the_package_are_relative(room: str) -> None:
    absolute = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in modules(room)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if line.lstrip().startswith(("from sluicegate", "import sluicegate"))
    ]
    assert absolute == []


def test_the_door_links_to_every_room() -> None:
    for room in ARROWS:
        link = ROOT / "sluicegate" / room
        assert link.is_symlink()
        assert link.readlink() == Path("..") / room


def run_bare(code: str) -> subprocess.CompletedProcess[str]:
    """Run code that begins with our package importable, in an interpreter without third-party packages."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from sluicegate import cli\n"
    return subprocess.run([sys.executable, "-S", "-c", start + code], capture_output=True, text=True, timeout=60)


def test_the_core_and_the_command_line_need_no_extra() -> None:
    done = run_bare("cli.main(['--help'])")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in cli.names())


def test_the_command_line_tells_its_version() -> None:
    said = subprocess.run([sys.executable, "-m", "sluicegate", "--version"], capture_output=True, text=True, timeout=60)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert said.stdout.strip() == f"sluicegate {declared}"


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text(
        "HELP = EXAMPLE = 'needs a checker'\n"
        "def add_arguments(parser): pass\n"
        "def run(args):\n    import wasmtime\n    return 0\n"
    )
    done = run_bare(f"cli.__path__.append({str(tmp_path)!r}); sys.exit(cli.main(['needy']))")
    assert done.returncode == 2
    assert done.stderr == ("sluicegate: wasmtime is not installed; it comes with: pip install 'sluicegate[check]'\n")


def test_every_pinned_requirement_agrees_with_the_constraints() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = dict(
        line.lower().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            if requirement.startswith("sluicegate["):
                continue
            name, _, version = requirement.lower().partition("==")
            assert pins[name.partition("[")[0]] == version, f"{requirement} of [{extra}]"


@pytest.mark.slow
def test_the_wheel_carries_every_room_and_the_checker(tmp_path: Path) -> None:
    """Built from a copy, so that no build folder stays behind and none is reused."""
    source = tmp_path / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    wasm_part = (ROOT / "spec/checkers/npm/node_modules/tla-checker").rglob("*")
    for name in [*filter(None, tracked), *(str(p.relative_to(ROOT)) for p in wasm_part)]:
        origin, copy = ROOT / name, source / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_symlink():
            copy.symlink_to(origin.readlink())
        elif origin.exists():
            copy.write_bytes(origin.read_bytes())
    pip_wheel = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), "."]
    built = subprocess.run([sys.executable, *pip_wheel], cwd=source, capture_output=True, text=True, timeout=100)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"sluicegate/{path.relative_to(ROOT)}"
        for room in ARROWS
        for pattern in ("*.py", "*.pyi", "*.proto", "*.tla", "*.cfg")
        for path in (ROOT / room).rglob(pattern)
        if "node_modules" not in path.parts
    }
    checker = "sluicegate/spec/checkers/npm/node_modules/tla-checker/"
    wanted |= {checker + "tla_checker_bg.wasm", checker + "package.json", "sluicegate/py.typed"}
    assert wanted - inside == set()
