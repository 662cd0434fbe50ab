"""The system models say which faults they have, and no pair of faults is left out."""

from __future__ import annotations

from dataclasses import replace

from sluicegate.spec.models import FAULTS, MODELS
from sluicegate.spec.models.pairs import missing, pairs, table

OURS = [m for m in MODELS if m.module == "WeightSync"]


def test_each_pair_of_faults_is_met_in_some_model() -> None:
    assert missing(MODELS) == ()
    met = {kind for pair in pairs(MODELS) for kind in pair}
    assert {"deadline", "silence", "message", "engine", "unknown", "late", "client", "gate-crash"} <= met
    assert {"controller-crash", "stale-controller", "trainer-crash"} <= met


def test_a_pair_that_no_model_has_is_missing() -> None:
    lone = [replace(m, faults=m.faults - {"late"}) for m in MODELS]
    one = next(m for m in OURS if not m.violates and not m.config.properties and not m.behaviours)
    found = missing([*lone, replace(one, faults=frozenset({"late", "deadline"}))])
    assert ("late", "client") in found
    assert ("deadline", "late") not in found
    assert any(
        "late with client" in line and line.endswith("missing")
        for line in table([*lone, replace(one, faults=frozenset({"late"}))])
    )


def test_every_model_names_known_faults_and_has_a_name_of_its_own() -> None:
    assert all(m.faults <= FAULTS.keys() for m in MODELS)
    names = [m.name for m in MODELS]
    assert len(names) == len(set(names))


def test_the_faults_of_a_weight_sync_model_are_those_of_its_configuration() -> None:
    for model in OURS:
        named = model.config.constants["Faults"]
        assert all(f'"{kind}"' in named for kind in model.faults - {"message", "client", "controller-crash"})


def test_no_symmetry_where_an_order_or_a_progress_is_told() -> None:
    for model in MODELS:
        assert not (model.config.symmetry and (model.config.properties or not model.tlc_only))
