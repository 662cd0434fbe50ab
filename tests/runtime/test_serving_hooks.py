"""Code of somebody before each call and after each answer: it may change and refuse, and fails alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hooks_kit import Recording
from serving_kit import chatting, until

from sluicegate.runtime.config import ConfigError
from sluicegate.runtime.serving.hooks import NoHooks, load

pytestmark = pytest.mark.timeout(120)


@pytest.mark.slow
async def test_hooks_change_refuse_and_hear_and_their_failures_are_told(tmp_path: Path) -> None:
    Recording.answers.clear()
    async with (
        chatting(tmp_path) as chat,
        chat.server(hooks="hooks_kit:recording"),
        chat.http() as http,
    ):

        async def ask(session: str, do: str = "", **more: Any) -> Any:
            body = {"model": "m", "messages": [{"role": "user", "content": "ok"}], "max_tokens": 6, "temperature": 2,
                    "seed": 3, "metadata": {"do": do}, "session_id": session, **more}  # fmt: skip
            return await http.post("/v1/chat/completions", json=body)

        assert (await ask("plain")).status_code == 200
        assert (await ask("changed", "change")).json()["usage"]["completion_tokens"] <= 2
        told = {do: (await ask("x", do)) for do in ("refuse", "fail", "break")}
        codes = {do: (a.status_code, a.json()["error"]["code"]) for do, a in told.items()}
        assert codes == {"refuse": (403, "not_today"), "fail": (502, "hook_failed"), "break": (400, "malformed")}
        streamed = await ask("fails-after", stream=True)
        assert streamed.text.endswith("data: [DONE]\n\n")

        async def have_heard() -> bool:
            return [session for session, _, _ in Recording.answers] == ["plain", "changed", "fails-after"]

        await until(have_heard)
        answer = Recording.answers[-1][2]
        assert answer["choices"][0]["message"]["role"] == "assistant"
        assert (await ask("fails-after-2")).status_code == 200
        # A call that a hook refuses begins no session.
        assert (await http.get("/v1/sessions/x")).status_code == 404


@pytest.mark.parametrize("name", ["hooks_kit:nothing", "hooks_kit:missing", "no_such_module:x", "hooks_kit", ":x"])
def test_what_is_no_hooks_is_refused_with_its_name(name: str) -> None:
    with pytest.raises(ConfigError, match="hooks: "):
        load(name)


def test_hooks_are_an_object_or_a_class_and_none_do_nothing() -> None:
    assert isinstance(load("hooks_kit:Recording"), Recording)
    assert isinstance(load("hooks_kit:recording"), Recording)
    assert isinstance(load(""), NoHooks)
