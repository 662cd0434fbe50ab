"""What the documents show works when it is pasted."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sluicegate.runtime.config import from_mapping

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_in_a_page_runs_from_top_to_bottom(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__docs__"}
    runner = doctest.DocTestRunner(verbose=False)
    for code in blocks(page, "python"):
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
            runner.run(test, clear_globs=False)
            names = test.globs
        else:
            exec(compile(code, str(page), "exec"), names)
    assert runner.failures == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    assert [link for link in links if not (page.parent / link).exists() and not link.endswith(".png")] == []


def test_the_config_that_the_demo_page_shows_is_the_default() -> None:
    from sluicegate.runtime.demo.config import DemoConfig

    (text,) = blocks(ROOT / "docs" / "demo.md", "yaml")
    assert from_mapping(DemoConfig, yaml.safe_load(text), "docs/demo.md") == DemoConfig()


def test_the_machine_of_the_readme_is_checked_when_it_is_pasted(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    (tmp_path / "turnstile.py").write_text(code)
    words = [sys.executable, "-m", "sluicegate", "check", "turnstile:Turnstile"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Turnstile" in done.stdout
    (tmp_path / "turnstile.py").write_text(code.replace("row(Push, locked, passes))", ")"))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "event Push: has no row" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_readme_shows_what_its_machine_says_once_it_is_broken(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text()
    (code,) = blocks(ROOT / "README.md", "python")
    (tmp_path / "turnstile.py").write_text(code.replace("go(LOCKED)", "stay()"))
    words = [sys.executable, "-m", "sluicegate", "check", "turnstile"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    (shown,) = re.findall(r"^```\n(  FAILED: .*?)^```", page, re.MULTILINE | re.DOTALL)
    assert timeless(shown) in timeless(done.stdout)


def timeless(text: str) -> str:
    return re.sub(r"\b[\d.]+ s\b", "T", text)


def test_the_broken_machine_of_the_check_page_is_told_as_the_page_shows(tmp_path: Path) -> None:
    page = ROOT / "docs" / "check.md"
    (tmp_path / "turnstile.py").write_text(blocks(page, "python")[0])
    words = [sys.executable, "-m", "sluicegate", "check", "turnstile"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    (shown,) = re.findall(r"^\$ sluicegate check turnstile\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    without_times = [re.sub(r"\b[\d.]+ s\b|\d+\.\d+", "T", text) for text in (done.stdout, shown)]
    said, told = ([" ".join(line.split()) for line in text.splitlines()] for text in without_times)
    assert said == told


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_commands_of_the_counterexample_page_work_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sluicegate.cli import main, replay

    (commands,) = blocks(ROOT / "docs" / "counterexamples.md", "sh")
    lines = [line.partition("#")[0].split() for line in commands.splitlines()]
    assert " && ".join(" ".join(line) for line in lines[-2:]) == replay.EXAMPLE
    monkeypatch.chdir(tmp_path)
    for line in lines:
        assert (line[0], main(line[1:])) == ("sluicegate", 0)
        assert capsys.readouterr().out
    kept = sorted(path.name for path in (tmp_path / "found").iterdir())
    assert kept == ["orphaned-NeverOrphans.json", "test_found_orphaned_neverorphans.py"]
    assert kept[1] in (ROOT / "docs" / "counterexamples.md").read_text()
