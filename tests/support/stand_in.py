"""A small stand-in for an inference server that speaks OpenAI's API, over real HTTP: it says which weights it holds.

Every word of an answer is made by the weights that are there at that moment, so that an answer under which weights
changed shows it. What the last message says makes it misbehave: `fail 429`, `break`, `slow`, `endless`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.serving.process import listening

WORDS = ("the", "gate", "is", "open", "and", "it", "holds")


class StandIn:
    """`asked` are the bodies and headers that came, `weights` what it holds; `pause` seconds before each word."""

    def __init__(self, weights: str = "base", *, tells_metrics: bool = True) -> None:
        self.weights, self.pause = weights, 0.0
        self.asked: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.loads: list[str] = []
        self.running = 0
        self.cancelled: Counter[str] = Counter()
        """How many were hung up on, by their first word."""
        self.started = time.time()
        self.goes = asyncio.Event()
        self.goes.set()
        self._tells_metrics = tells_metrics

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/metrics", self.metrics),
                Route("/load", self.load, methods=["POST"]),
                Route("/shutdown", self.load, methods=["POST"]),
            ]
        )

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "stand-in", "object": "model", "root": self.weights}]})

    async def metrics(self, request: Request) -> Response:
        if not self._tells_metrics:
            return Response(status_code=404)
        busy = f'standin:num_requests_running{{model="x"}} {float(self.running)}'
        return PlainTextResponse(f"# HELP x y\nprocess_start_time_seconds {self.started}\n{busy}\n")

    async def load(self, request: Request) -> Response:
        assert not self.running, "weights are loaded while answers run"
        self.weights = (await request.json())["weights"]
        self.loads.append(self.weights)
        return JSONResponse({"weights": self.weights})

    async def complete(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append((body, dict(request.headers)))
        said = body["messages"][-1]["content"]
        words = said.split() if isinstance(said, str) else ["image"]
        if words[0] == "fail":
            content = b'{"error":  {"message": "as you wish", "type": "its_own", "code": 77}}'
            return Response(content, int(words[1]), {"retry-after": "7"}, "application/json; charset=x")
        text = self._answer(body, words)
        if body.get("stream"):
            return StreamingResponse(self._stream(body, words, text), media_type="text/event-stream")
        choices, count = list[dict[str, Any]](), 0
        for index in range(body.get("n", 1)):
            made = [word async for word in self._words(text, words)]
            count += len(made)
            choices.append({"index": index, "message": self._message(body, "".join(made)), "finish_reason": "stop",
                            **self._tokens(body, made)})  # fmt: skip
        usage = {"prompt_tokens": 5, "completion_tokens": count, "total_tokens": 5 + count}
        return JSONResponse(self._head(body, "chat.completion") | {"choices": choices, "usage": usage})

    def _head(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        head = {"id": "its-own-id", "object": kind, "created": 1, "model": "stand-in", "system_fingerprint": "fp_own"}
        return head | ({"prompt_token_ids": [1, 2, 3, 4, 5]} if body.get("return_token_ids") else {})

    def _answer(self, body: dict[str, Any], words: list[str]) -> list[str]:
        if body.get("response_format"):
            return [json.dumps({"format": body["response_format"]["type"]})]
        return [f"{word} " for word in WORDS[: body.get("max_tokens") or 4]]

    def _message(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        if not body.get("tools"):
            return {"role": "assistant", "content": text, "reasoning_content": "hm"}
        name = body["tools"][0]["function"]["name"]
        call = {"id": "call_7", "type": "function", "function": {"name": name, "arguments": '{"x": 1}'}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _tokens(self, body: dict[str, Any], made: list[str]) -> dict[str, Any]:
        if not body.get("return_token_ids"):
            return {}
        content = [{"token": word, "logprob": -0.5, "bytes": None, "top_logprobs": []} for word in made]
        return {"token_ids": [100 + len(word) for word in made], "logprobs": {"content": content}}

    async def _words(self, text: list[str], words: list[str]) -> AsyncIterator[str]:
        before = self.weights
        self.running += 1
        try:
            for word in [f"[{before}] ", *text]:
                await asyncio.sleep(self.pause)
                await self.goes.wait()
                assert self.weights == before, "the weights changed under an answer"
                yield word
            while words[0] == "endless":
                await asyncio.sleep(0.05)
                yield "more "
            if words[0] == "slow":
                await asyncio.sleep(60)
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled[words[0]] += 1
            raise
        finally:
            self.running -= 1

    async def _stream(self, body: dict[str, Any], words: list[str], text: list[str]) -> AsyncIterator[bytes]:
        head = self._head(body, "chat.completion.chunk")

        def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
            return b"data: " + json.dumps(head | {"choices": choices} | more).encode() + b"\n\n"

        count = 0
        for index in range(body.get("n", 1)):
            yield event([{"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
            async for word in self._words(text, words):
                count += 1
                delta = {"content": word, "reasoning_content": "h"}
                yield event([{"index": index, "delta": delta, "finish_reason": None, **self._tokens(body, [word])}])
                if words[0] == "break" and count == 2:
                    return
            yield event([{"index": index, "delta": {}, "finish_reason": "stop", "stop_reason": None}])
        if (body.get("stream_options") or {}).get("include_usage"):
            yield event([], usage={"prompt_tokens": 5, "completion_tokens": count, "total_tokens": 5 + count})
        yield b"data: [DONE]\n\n"

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Serve in this event loop; the URL."""
        async with listening(self.app(), HttpSettings(port=port), 1) as address:
            yield f"http://{address}"


if __name__ == "__main__":
    uvicorn.run(StandIn().app(), port=int(sys.argv[1]), log_level="warning")
