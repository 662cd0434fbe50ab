"""Hooks as somebody writes them, for a session server to load by name."""

from __future__ import annotations

from typing import Any

from sluicegate.runtime.serving.errors import HttpError


class Recording:
    """Says what each body asks for in its `metadata`; keeps the answers, for as long as the process lives."""

    answers: list[tuple[str, str, dict[str, Any]]] = []  # noqa: RUF012 - the test reads it

    async def before(self, session: str, api: str, body: dict[str, Any]) -> dict[str, Any]:
        match body.get("metadata", {}).get("do"):
            case "refuse":
                raise HttpError(403, "not_today", "ask tomorrow")
            case "fail":
                raise RuntimeError("a bug of the hook")
            case "change":
                return {**body, "max_tokens": 2}
            case "break":
                return {**body, "messages": 5}
        return body

    async def after(self, session: str, api: str, answer: dict[str, Any]) -> None:
        self.answers.append((session, api, answer))
        if "fails-after" in session:
            raise RuntimeError("a bug of the hook")


recording = Recording()
nothing = object()
