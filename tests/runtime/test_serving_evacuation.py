"""Sessions leave a replica that leaves as planned, and its controller is told once nobody needs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from serving_kit import Chat, chatting, until

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated.replica_service import ReplicaClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def say(chat: Chat, session: str, messages: int) -> dict[str, object]:
    async with chat.http() as http:
        told = [{"role": "user", "content": str(n)} for n in range(messages)]
        body = {"model": "m", "messages": told, "max_tokens": 2, "session_id": session}
        answer = await http.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        return (await http.get(f"/v1/sessions/{session}")).json()


async def test_sessions_that_may_move_do_and_the_others_are_waited_for(tmp_path: Path) -> None:
    async with (
        chatting(tmp_path, "rollout-0", "rollout-1") as chat,
        chat.server("a"),
        chat.server("b"),
        chat.http("a") as http,
        chat.http("b") as other,
    ):
        moves = (await http.post("/v1/sessions", json={"policy": "on_evacuation"})).json()["id"]
        first = await say(chat, moves, 1)
        leaves = str(first["incarnation"])
        stays = await _bound_to(chat, leaves)
        ruler = chat.roster.ruler()
        assert ruler is not None
        channel = dial(ruler.control)
        await ReplicaClient(channel, leaves, incarnation=ruler.incarnation).leave()

        async def has_moved() -> bool:
            return (await http.get(f"/v1/sessions/{moves}")).json()["incarnation"] != leaves

        await until(has_moved)
        moved = (await http.get(f"/v1/sessions/{moves}")).json()
        assert (moved["binding"], moved["state"]) == (2, "BOUND")
        assert (await say(chat, moves, 2))["binding"] == 2
        # A session that may not move goes on where it is, and holds the life up.
        assert (await say(chat, stays, 2))["incarnation"] == leaves
        assert leaves not in chat.roster.ends_ordered()
        assert (await other.post("/v1/sessions", json={})).status_code == 201
        await http.delete(f"/v1/sessions/{stays}")

        async def is_over() -> bool:
            return leaves in chat.roster.ends_ordered()

        await until(is_over)
        chat.roster.end(leaves, "stopped")
        await channel.close()


async def _bound_to(chat: Chat, incarnation: str) -> str:
    """A session that is bound to this life, and may not move."""
    for number in range(20):
        if (await say(chat, f"stays-{number}", 1))["incarnation"] == incarnation:
            return f"stays-{number}"
    raise AssertionError("none was bound there")
