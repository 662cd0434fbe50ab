"""The page about access says what the code does: its roles, its settings, and its certificates work as pasted."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from pathlib import Path

import pytest

from sluicegate.protocol.access import Access, check
from sluicegate.protocol.client import Rejected, dial
from sluicegate.protocol.generated.gate_service import GateClient
from sluicegate.protocol.roles import OPEN_SERVICES, ROLES, Role
from sluicegate.protocol.server import Server
from sluicegate.protocol.servicer import Servicer
from sluicegate.runtime.config import from_mapping

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "access.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_roles_is_that_of_the_code() -> None:
    said: dict[str, dict[str, Role]] = {}
    for role, what in rows("Roles"):
        service, _, methods = what.partition(":")
        if role.strip("`") in set(Role) and not service.startswith("every machine"):
            names = re.findall(r"`(\w+)`", methods)
            said.setdefault("sluicegate.v1." + service.strip("`"), {}).update(
                dict.fromkeys(names, Role(role.strip("`")))
            )
    assert said == ROLES
    others = {what: role for role, what in rows("Roles")}
    assert (others["reflection"], others["health"]) == ("either", "nobody needs one")
    assert [len(roles) for roles in OPEN_SERVICES.values()] == [0, len(Role)]
    (machines,) = [(role, what) for role, what in rows("Roles") if what.startswith("every machine")]
    assert machines[0].strip("`") == Servicer.ROLES


def test_the_machines_that_are_named_are_all() -> None:
    import sluicegate.protocol.generated as generated

    (machines,) = [what for _, what in rows("Roles") if what.startswith("every machine")]
    named = {name.lower() for name in re.findall(r"`(\w+)`", machines.split(":")[0])}
    made = {p.name.removesuffix("_service.py") for p in Path(generated.__path__[0]).glob("*_service.py")}
    assert named == made


def test_the_settings_that_are_listed_are_all_with_their_defaults() -> None:
    shown = {
        name: default.strip("`") for names, default, _ in rows("Settings") for name in re.findall(r"`(\w+)`", names)
    }
    assert shown == {field.name: as_shown(getattr(Access(), field.name)) for field in dataclasses.fields(Access)}


def as_shown(default: object) -> str:
    return str(default).lower() if default or default is False else "none"


@pytest.fixture(scope="module")
def pasted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the shell lines of the page were run."""
    folder = tmp_path_factory.mktemp("pasted")
    (lines,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(lines.splitlines()) == 5
    subprocess.run(["bash", "-ec", lines], cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


async def test_the_certificates_and_settings_of_the_page_work_as_pasted(
    pasted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pasted)
    worker, caller = (json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    serving = from_mapping(Access, worker["access"], "docs/access.md")
    calling = from_mapping(Access, caller, "docs/access.md")
    for access in (serving, calling):
        check(access)
    async with Server([], access=serving, grace=0.1) as server, dial(server.target, calling) as channel:
        with pytest.raises(Rejected, match="UNIMPLEMENTED"):
            await GateClient(channel, "g").get()
