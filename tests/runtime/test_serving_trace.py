"""What a run with a session server leaves as its trace, and what is no longer explained by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from serving_kit import chatting

from sluicegate.spec.traces import validate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def test_r64_a_session_that_is_dropped_between_layers_is_refused_by_the_trace(tmp_path: Path) -> None:
    async with chatting(tmp_path) as chat:
        async with chat.server(), chat.http(**{"x-session-id": "through-all"}) as http:
            body = {"model": "m", "messages": [{"role": "user", "content": "ok"}], "max_tokens": 3}
            request = (await http.post("/v1/chat/completions", json=body)).json()["request_id"]
        assert chat.lease(request).session == "through-all"
    assert chat.judged().valid
    path = tmp_path / "trace.ndjson"
    lines = path.read_text().splitlines()
    of_lease = [number for number, line in enumerate(lines) if '"machine":"Lease"' in line and "through-all" in line]
    assert of_lease
    for number in of_lease:
        lines[number] = lines[number].replace('"session":"through-all"', '"session":"none"')
    path.write_text("\n".join(lines) + "\n")
    verdict = validate(path)
    assert not verdict.valid
    assert verdict.refusal is not None
    assert verdict.refusal.rule == "lease_has_turn"
