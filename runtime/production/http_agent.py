"""An agent that is a plain client of OpenAI's API, over HTTP: it says and hears text, and knows nothing of a trainer.

Rules of this file:

- The session of a call is named by a header; what the call makes is recorded there, and nothing is taken from here.
- A turn may have several generations: calls of tools, then the reply. Each is graded as its turn is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..chat.form import Tool
from ..chat.template import given_tool
from ..config import ConfigError
from ..tasks import Episode, ToolEpisode
from .agent import AttemptFailed, Conversation, Pausing

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessage

CALLS = 8
"""How many generations of a turn may call tools before its reply is taken as it is."""
_AGAIN = frozenset({408, 409, 410, 429})
"""Besides 5xx: the session, or the moment, was the reason."""


class HttpAgent:
    """Converses with the session server at `url`; use it as an async context manager.

    `token` is sent as the API key; `turns` holds it at turn boundaries; a call may take `within` seconds, waiting at
    closed gates included. Raises ConfigError where the openai package is not installed.
    """

    def __init__(
        self, url: str, *, token: str = "none", temperature: float = 1.0, turns: Pausing | None = None,
        within: float = 300.0,
    ) -> None:  # fmt: skip
        try:
            import openai
        except ImportError as error:
            raise ConfigError("agents.kind: http needs the openai package: pip install 'sluicegate[http]'") from error
        self._openai = openai
        self._client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=token, timeout=within, max_retries=2)
        self._temperature, self._turns = temperature, turns

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def converse(self, session: str, episode: Episode, seed: int) -> Conversation:
        """See `Agent`. Raises AttemptFailed, and the client's own error for a call that is refused as wrong."""
        messages: list[Any] = []
        generations: list[int] = []
        text: str | None = episode.first()
        while text is not None:
            messages.append({"role": "user", "content": text})
            made = len(messages)
            reply = await self._turn(session, episode, messages, seed * 64 + sum(generations))
            generations.append(sum(message["role"] == "assistant" for message in messages[made:]))
            text = episode.observe(reply)
        pairs = zip(episode.rewards, generations, strict=True)
        return Conversation(session, [reward for reward, count in pairs for _ in range(count)])

    async def _turn(self, session: str, episode: Episode, messages: list[Any], seed: int) -> str:
        """Play a turn, whose messages are added; the reply."""
        tools = episode.tools if isinstance(episode, ToolEpisode) else ()
        for number in range(CALLS):
            said = await self._say(session, episode.reply_tokens, messages, tools, seed + number)
            messages.append(said.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            messages[-1].setdefault("content", "")
            calls = [call for call in said.tool_calls or () if call.type == "function"]
            if not calls or not isinstance(episode, ToolEpisode):
                break
            for call in calls:
                result = episode.call(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""

    async def _say(
        self, session: str, tokens: int, messages: list[Any], tools: Sequence[Tool], seed: int
    ) -> ChatCompletionMessage:
        asked: dict[str, Any] = {"tools": [given_tool(tool) for tool in tools]} if tools else {}
        try:
            async with nullcontext() if self._turns is None else self._turns.turn(session):
                answer = await self._client.chat.completions.create(
                    model="policy", messages=messages, max_tokens=tokens, temperature=self._temperature, seed=seed,
                    extra_headers={"x-session-id": session}, **asked,
                )  # fmt: skip
        except self._openai.APIStatusError as error:
            if error.status_code in _AGAIN or error.status_code >= 500:
                raise AttemptFailed(f"{session}: {error}") from error
            raise
        except self._openai.APIConnectionError as error:
            raise AttemptFailed(f"{session}: {error}") from error
        return answer.choices[0].message
