"""Layout, lock and generated files: numbers never move, names never clash, a failure leaves what was there."""

from __future__ import annotations

import argparse
import copy
import json
import keyword
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.cli import generate
from sluicegate.generation import GenerationError, house, own
from sluicegate.protocol.emitter import LayoutError, LockError, allocate, layout, read_lock, write_lock
from sluicegate.protocol.emitter.proto import proto
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import NAT, Event, Field, Ir, Type
from sluicegate.statemachines.machines import MACHINES


def numbers(lock: Any, message: str) -> dict[str, int]:
    return {name: at[0] for name, at in lock["Gate"][message]["fields"].items()}


def with_fields(*fields: Field) -> Ir:
    return replace(Gate.ir, fields=fields)


def test_reordering_fields_keeps_every_number() -> None:
    lock = allocate({}, layout(Gate.ir))
    turned = allocate(lock, layout(replace(Gate.ir, fields=Gate.ir.fields[::-1], states=Gate.ir.states[::-1])))
    assert turned == lock


def test_a_new_field_gets_the_next_number_wherever_it_stands() -> None:
    lock = allocate({}, layout(Gate.ir))
    grown = allocate(lock, layout(with_fields(Field("fresh", NAT, 0), *Gate.ir.fields)))
    before, after = numbers(lock, "GateSnapshot"), numbers(grown, "GateSnapshot")
    assert after.pop("fresh") == max(before.values()) + 1
    assert after == before


def test_a_removed_field_stays_reserved_and_a_returned_one_gets_a_new_number() -> None:
    first = Gate.ir.fields[0]
    lock = allocate({}, layout(Gate.ir))
    old = numbers(lock, "GateSnapshot")[first.name]
    gone = allocate(lock, layout(with_fields(*Gate.ir.fields[1:])))
    assert [old, first.name] in gone["Gate"]["GateSnapshot"]["reserved"]
    text = proto(layout(with_fields(*Gate.ir.fields[1:])), gone["Gate"], "test")
    assert f'  reserved {old};\n  reserved "{first.name}";' in text
    back = allocate(gone, layout(Gate.ir))
    assert numbers(back, "GateSnapshot")[first.name] == max(numbers(lock, "GateSnapshot").values()) + 1
    assert [old, first.name] in back["Gate"]["GateSnapshot"]["reserved"]


def test_a_field_of_another_type_gets_another_number() -> None:
    lock = allocate({}, layout(Gate.ir))
    fields = tuple(replace(f, type=Type("opt", args=(NAT,))) if f.name == "epoch" else f for f in Gate.ir.fields)
    retyped = allocate(lock, layout(with_fields(*fields)))
    assert numbers(retyped, "GateSnapshot")["epoch"] == max(numbers(lock, "GateSnapshot").values()) + 1
    assert [numbers(lock, "GateSnapshot")["epoch"], "epoch"] in retyped["Gate"]["GateSnapshot"]["reserved"]


def test_allocating_leaves_the_given_lock_as_it_was() -> None:
    lock = allocate({}, layout(Gate.ir))
    before = copy.deepcopy(lock)
    allocate(lock, layout(with_fields(*Gate.ir.fields[1:])))
    assert lock == before


def test_the_lock_reads_back_as_it_was_written(tmp_path: Path) -> None:
    lock = allocate({}, layout(Gate.ir))
    path = tmp_path / "lock.json"
    path.write_text(write_lock(lock))
    assert read_lock(path) == lock


def test_a_lock_that_uses_a_number_twice_is_refused_with_its_place(tmp_path: Path) -> None:
    lock = allocate({}, layout(Gate.ir))
    lock["Gate"]["GateSnapshot"]["fields"]["epoch"][0] = lock["Gate"]["GateSnapshot"]["fields"]["term"][0]
    path = tmp_path / "lock.json"
    path.write_text(json.dumps(lock))
    with pytest.raises(LockError, match=r"lock\.json.*Gate\.GateSnapshot.*twice.*restore it"):
        read_lock(path)


@pytest.mark.parametrize("text", ["{", "[]", '{"Gate": {"GateReply": {}}}', '{"Gate": 1}'])
def test_what_is_no_lock_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lock.json"
    path.write_text(text)
    with pytest.raises(LockError, match="not a lock"):
        read_lock(path)


def test_an_event_named_like_a_method_of_the_service_is_refused() -> None:
    event = Event("Watch", (), (), True, (), "")
    with pytest.raises(LayoutError, match=r"Gate\.Watch: .*rename the event"):
        layout(replace(Gate.ir, events=(event,)))


@pytest.mark.parametrize("name", ["instance", "fence", "operation_id", "deadline"])
def test_an_event_field_that_the_wire_needs_for_itself_is_refused(name: str) -> None:
    event = Event("Ask", (Field(name, NAT),), (), True, (), "")
    with pytest.raises(LayoutError, match=rf"Gate\.Ask\.{name}: .*rename the field"):
        layout(replace(Gate.ir, events=(event,)))


def test_a_record_named_like_a_message_of_the_machine_is_refused() -> None:
    event = Event("Ask", (Field("what", Type("record", "Reply", (NAT,), ("n",))),), (), True, (), "")
    with pytest.raises(LayoutError, match="two messages would be named GateReply"):
        layout(replace(Gate.ir, events=(event,)))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.ir.name)
def test_names_on_the_wire_clash_with_nothing(machine: Any) -> None:
    laid = layout(machine.ir)
    methods = {m.event.name for m in laid.methods}
    assert not methods & laid.messages.keys()
    assert not [f.name for m in laid.messages.values() for f in m.fields if keyword.iskeyword(f.name)]
    values = [v for e in laid.enums.values() for v in e.values]
    assert len(values) == len(set(values))
    assert all(v.startswith(machine.ir.name.upper() + "_") for v in values)


def test_a_fence_has_only_the_fields_that_the_table_fences() -> None:
    messages = layout(Gate.ir).messages
    fences = {name: [f.name for f in m.fields[2:]] for name, m in messages.items() if name.endswith("Fence")}
    wanted = {m.fenced for e in Gate.ir.events if e.outside for m in [e]}
    assert sorted(map(tuple, fences.values())) == sorted(wanted)
    assert all([f.name for f in messages[name].fields[:2]] == ["incarnation", "operation_id"] for name in fences)


def test_drift_names_the_file_and_the_first_line_that_differs(kinds: Any, tmp_path: Path) -> None:
    files = own([kinds.Kettle], tmp_path / "p")
    files.write()
    assert own([kinds.Kettle], tmp_path / "p").drift() == []
    path = tmp_path / "p" / "kettle.proto"
    lines = path.read_text().splitlines()
    lines[2] = "package other;"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "p" / "kettle_pb2.pyi").unlink()
    found = own([kinds.Kettle], tmp_path / "p").drift()
    assert (
        found
        == [
            f"{path}:3: has 'package other;', the machines give ''",
            f"{tmp_path / 'p' / 'kettle_pb2.pyi'}: is missing",
        ]
        or "kettle.proto:3" in found[0]
    )
    assert len(found) == 2


def test_check_writes_nothing_and_its_status_tells(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, made: Any
) -> None:
    def run(*argv: str) -> int:
        parser = argparse.ArgumentParser()
        generate.add_arguments(parser)
        return generate.run(parser.parse_args(argv))

    machine, out = "wire_test_kinds:Kettle", tmp_path / "p"
    assert run(machine, "--out", str(out), "--check") == 1
    assert not out.exists()
    assert run(machine, "--out", str(out)) == 0
    assert run(machine, "--out", str(out), "--check") == 0
    assert run("wire_test_kinds:Kettle") == 2
    assert run("wire_test_kinds:Nobody", "--out", str(out)) == 2
    assert "wire_test_kinds has no Nobody" in capsys.readouterr().err


def test_a_write_that_fails_leaves_every_file_as_it_was(kinds: Any, tmp_path: Path) -> None:
    out = tmp_path / "p"
    own([kinds.Kettle], out).write()
    before = {p: p.read_text() for p in out.iterdir()}
    files = own([kinds.Kinds], out)
    # A folder where the last file would be staged makes the last write fail.
    last = list(files.texts)[-1]
    last.with_name(f".{last.name}.new").mkdir()
    with pytest.raises(GenerationError, match="cannot write"):
        files.write()
    assert {p: p.read_text() for p in out.iterdir() if p.is_file()} == before


def test_the_house_files_are_what_the_machines_give() -> None:
    assert house().drift() == []
