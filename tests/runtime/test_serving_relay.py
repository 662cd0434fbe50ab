"""Calls that are passed on to an inference server of somebody else's, over real HTTP: what it is asked, what its
clients are told, and what is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import pytest_asyncio
from relay_kit import Relayed, judged, relayed
from stand_in import StandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]
TOOL: Any = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}


@dataclass
class Setting:
    server: Relayed
    upstream: StandIn

    def openai(self, session: str, **settings: Any) -> openai.AsyncOpenAI:
        headers = {"x-session-id": session}
        return openai.AsyncOpenAI(
            base_url=f"{self.server.url}/v1", api_key="of-the-client", default_headers=headers, max_retries=0,
            **settings,
        )  # fmt: skip

    def anthropic(self, session: str) -> anthropic.AsyncAnthropic:
        headers = {"x-session-id": session}
        return anthropic.AsyncAnthropic(
            base_url=self.server.url, api_key="of-the-client", default_headers=headers, max_retries=0
        )

    @property
    def asked(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Body and headers of the last call that the upstream had."""
        return self.upstream.asked[-1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def relay(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Setting]:
    folder, upstream = tmp_path_factory.mktemp("relay"), StandIn()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UPSTREAM_KEY", "of-the-server")
        async with relayed(folder, upstream, key_env="UPSTREAM_KEY", read=2.0) as server:
            yield Setting(server, upstream)
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal


def said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


async def test_an_upstream_gets_the_body_without_what_is_ours_its_own_key_and_the_id_of_the_request(
    relay: Setting,
) -> None:
    body = {
        "model": "m", "messages": said("hello"), "response_format": {"type": "json_object"}, "top_logprobs": 3,
        "logprobs": True, "whatever": {"nested": [1.5, None]}, "session_id": "own", "request_id": "mine",
        "model_version": 7,
    }  # fmt: skip
    async with relay.server.http(authorization="Bearer of-the-client", cookie="c=1") as http:
        answer = await http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    asked, headers = relay.asked
    assert asked == {k: v for k, v in body.items() if k not in ("session_id", "request_id", "model_version")}
    assert headers["authorization"] == "Bearer of-the-server"
    assert headers["x-request-id"] == answer.json()["request_id"] == answer.headers["x-request-id"] != "mine"
    assert "cookie" not in headers
    assert "of-the-client" not in json.dumps(headers)


async def test_images_pass(relay: Setting) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    async with relay.openai("image") as client:
        messages: Any = [{"role": "user", "content": [{"type": "text", "text": "what"}, image]}]
        answer = await client.chat.completions.create(model="m", messages=messages)
    assert answer.choices[0].finish_reason == "stop"
    assert relay.asked[0]["messages"][0]["content"][1] == image


async def test_an_answer_has_all_of_the_upstreams_own_and_the_labels(relay: Setting) -> None:
    async with relay.openai("labels") as client:
        answer = await client.chat.completions.with_raw_response.create(model="m", messages=said("hello"), n=2)
    body = json.loads(answer.content)
    assert body["id"] == "its-own-id"
    assert body["system_fingerprint"] == "fp_own"
    assert [choice["message"]["reasoning_content"] for choice in body["choices"]] == ["hm", "hm"]
    assert body["usage"]["prompt_tokens"] == 5
    labels = {"model_version": 1, "session_id": "labels", "binding": 1, "tier": "text"}
    assert labels.items() <= body.items()
    assert answer.headers["x-model-version"] == "1"
    assert answer.headers["x-sluicegate-tier"] == "text"
    assert answer.headers["x-sluicegate-replica"] == "upstream-0"


async def test_a_stream_passes_event_by_event_and_its_end_only_when_it_is_stored(relay: Setting) -> None:
    relay.upstream.goes.clear()
    async with relay.openai("stream") as client:
        options: Any = {"include_usage": True}
        stream = await client.chat.completions.create(
            model="m", messages=said("hello"), stream=True, stream_options=options
        )
        first = await anext(stream)
        # The upstream has not made a word by now.
        assert relay.upstream.running == 1
        relay.upstream.goes.set()
        events = [first, *[event async for event in stream]]
    told: list[Any] = [event.model_dump() for event in events]
    text = "".join(c["delta"]["content"] or "" for event in told for c in event["choices"])
    assert text == "[base] the gate is open "
    assert [bool(event.get("model_version")) for event in told] == [True, *[False] * 5, True, True]
    assert told[-1]["usage"]["completion_tokens"] == 5
    async with relay.server.http() as http:
        assert (await http.get("/v1/sessions/stream")).json()["generations"] == 1


async def test_several_choices_of_a_stream_each_come_to_their_end(relay: Setting) -> None:
    async with relay.openai("choices") as client:
        stream = await client.chat.completions.create(model="m", messages=said("hello"), stream=True, n=2)
        finished = [c.index async for event in stream for c in event.choices if c.finish_reason]
    assert finished == [0, 1]


async def test_tools_pass_both_ways_for_both_clients(relay: Setting) -> None:
    async with relay.openai("tools") as client:
        answer = await client.chat.completions.create(model="m", messages=said("hello"), tools=[TOOL])
    call: Any = (answer.choices[0].message.tool_calls or [])[0]
    assert (call.id, call.function.name, call.function.arguments) == ("call_7", "look_up", '{"x": 1}')
    async with relay.anthropic("tools-2") as other:
        tool: Any = {"name": "look_up", "input_schema": {"type": "object"}}
        message = await other.messages.create(model="m", max_tokens=9, messages=said("hello"), tools=[tool])
    block: Any = message.content[0]
    assert (block.type, block.name, block.input) == ("tool_use", "look_up", {"x": 1})
    assert relay.asked[0]["tools"][0]["function"]["name"] == "look_up"


async def test_a_client_of_the_other_api_is_translated_whole_and_as_a_stream(relay: Setting) -> None:
    async with relay.anthropic("other") as client:
        whole = await client.messages.create(model="m", max_tokens=3, system="be brief", messages=said("hello"))
        async with client.messages.stream(model="m", max_tokens=3, messages=said("hello")) as stream:
            text = "".join([text async for text in stream.text_stream])
            last = await stream.get_final_message()
    block: Any = whole.content[0]
    assert block.text == text == "[base] the gate is "
    assert last.stop_reason == whole.stop_reason == "end_turn"
    assert last.usage.output_tokens == 4
    assert relay.upstream.asked[-2][0]["messages"][0] == {"role": "system", "content": "be brief"}


async def test_an_upstreams_error_is_its_own_to_the_byte_for_who_speaks_its_api(relay: Setting) -> None:
    async with relay.server.http(**{"x-session-id": "error"}) as http:
        for stream in (False, True):
            answer = await http.post("/v1/chat/completions", json={"messages": said("fail 429"), "stream": stream})
            assert answer.status_code == 429
            assert answer.content == b'{"error":  {"message": "as you wish", "type": "its_own", "code": 77}}'
            assert answer.headers["content-type"] == "application/json; charset=x"
            assert answer.headers["retry-after"] == "7"
        shown = (await http.get("/v1/sessions/error")).json()
        assert (shown["generations"], shown["turns"]) == (0, 0)
        assert (await http.post("/v1/chat/completions", json={"messages": said("hello")})).status_code == 200


async def test_an_upstreams_error_is_translated_for_who_does_not(relay: Setting) -> None:
    async with relay.anthropic("error-2") as client:
        with pytest.raises(anthropic.RateLimitError, match="as you wish") as found:
            await client.messages.create(model="m", max_tokens=3, messages=said("fail 429"))
    body: Any = found.value.body
    assert body["error"]["details"]["error_code"] == "upstream_error"


@pytest.mark.parametrize("stream", [False, True])
async def test_an_upstream_that_says_nothing_for_too_long_is_given_up(relay: Setting, stream: bool) -> None:
    async with relay.server.http(**{"x-session-id": f"slow-{stream}"}) as http:
        answer = await http.post("/v1/chat/completions", json={"messages": said("slow"), "stream": stream})
        if stream:
            last = json.loads(answer.text.strip().rpartition("data: ")[2])
            assert last["error"]["code"] == "upstream_broken"
            assert "[DONE]" not in answer.text
        else:
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_broken")


async def test_a_stream_that_breaks_off_ends_as_an_error_and_keeps_nothing(relay: Setting) -> None:
    async with relay.openai("broken") as client:
        stream = await client.chat.completions.create(model="m", messages=said("break"), stream=True)
        with pytest.raises(openai.APIError, match="ends before"):
            async for _ in stream:
                pass
    async with relay.server.http() as http:
        shown = (await http.get("/v1/sessions/broken")).json()
    assert (shown["generations"], shown["turns"]) == (0, 0)


async def test_a_client_that_leaves_ends_the_upstreams_call_after_a_grace(relay: Setting) -> None:
    async with relay.openai("leaves") as client:
        stream = await client.chat.completions.create(model="m", messages=said("endless"), stream=True)
        await anext(stream)
        await stream.close()
    async with asyncio.timeout(30), relay.server.http() as http:
        while not relay.upstream.cancelled["endless"]:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)
        while (await http.get("/v1/sessions/leaves")).json()["turns"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("api", ["openai", "openai stream", "anthropic"])
async def test_a_repeat_with_an_idempotency_key_is_told_what_was_stored(relay: Setting, api: str) -> None:
    name = f"repeat-{api.replace(' ', '-')}"
    body: dict[str, Any] = {"model": "m", "messages": said("hello"), "max_tokens": 3, "stream": "stream" in api}
    path = "/v1/messages" if api == "anthropic" else "/v1/chat/completions"
    async with relay.server.http(**{"x-session-id": name, "idempotency-key": "one"}) as http:
        first = await http.post(path, json=body)
        before = len(relay.upstream.asked)
        second = await http.post(path, json=body)
        assert second.text == first.text
        other = await http.post(path, json={**body, "max_tokens": 2})
        assert (other.status_code, len(relay.upstream.asked)) == (400, before)


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": 1}, {"messages": ["x"], "stream": 1}, [], "x"])
async def test_what_this_server_must_know_is_judged_before_the_upstream_is_asked(relay: Setting, body: Any) -> None:
    before = len(relay.upstream.asked)
    async with relay.server.http(**{"x-session-id": "judged"}) as http:
        answer = await http.post("/v1/chat/completions", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed")
    assert len(relay.upstream.asked) == before


async def test_models_are_the_upstreams_and_nothing_else_of_it_is_there(relay: Setting) -> None:
    async with relay.server.http() as http:
        assert (await http.get("/v1/models")).json()["data"][0]["id"] == "stand-in"
        for method, path in (("GET", "/metrics"), ("POST", "/load"), ("POST", "/v1/load"), ("POST", "/shutdown")):
            assert (await http.request(method, path, json={"weights": "evil"})).status_code == 404
        assert (await http.get("/health")).json()["tier"] == "text"
    assert relay.upstream.loads == []


async def test_text_is_kept_with_what_was_asked_and_is_refused_to_who_trains(relay: Setting) -> None:
    await relay.server.say("kept", "hello")
    async with relay.server.http() as http:
        for path, body in (("finish", None), ("take", {"consumer": "t.1"})):
            answer = await http.post(f"/v1/sessions/kept/{path}", json=body)
            assert answer.status_code == 200, answer.text
        assert answer.json()["tier"] == "text"
        refused = await http.get("/v1/sessions/kept/trace", params={"consumer": "t.1"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "text_only")


async def test_token_ids_make_a_trace_exact(tmp_path: Path) -> None:
    upstream = StandIn()
    async with (
        relayed(tmp_path, upstream, token_ids=True, injects=True) as server,
        server.http(**{"x-session-id": "exact"}) as http,
    ):
        several = await http.post("/v1/chat/completions", json={"messages": said("x"), "n": 2})
        assert (several.status_code, several.json()["error"]["code"]) == (400, "unsupported")
        for stream in (True, False):
            asked = {"messages": said("hello"), "max_tokens": 3, "stream": stream}
            assert (await http.post("/v1/chat/completions", json=asked)).status_code == 200
            assert upstream.asked[-1][0]["return_token_ids"] is True
            assert upstream.asked[-1][0]["request_id"] == upstream.asked[-1][1]["x-request-id"]
        message = {"model": "m", "messages": said("hello"), "max_tokens": 3}
        assert (await http.post("/v1/messages", json=message)).status_code == 200
        await http.post("/v1/sessions/exact/finish")
        await http.post("/v1/sessions/exact/take", json={"consumer": "t.1"})
        told = await http.get("/v1/sessions/exact/trace", params={"consumer": "t.1"})
    head, *samples = map(json.loads, told.text.splitlines())
    assert (head["tier"], head["segments"], len(samples)) == ("exact", 3, 3)
    made = [100 + len(word) for word in ("[base] ", "the ", "gate ", "is ")]
    for sample in samples:
        assert sample["token_ids"] == [1, 2, 3, 4, 5, *made]
        assert sample["turns"] == [0] * 5 + [1] * 4
        assert sample["versions"] == [0] * 5 + [1] * 4
        assert sample["log_probs"] == [0.0] * 5 + [-0.5] * 4
    verdict = judged(tmp_path)
    assert verdict.valid, verdict.refusal


async def test_an_upstream_that_cannot_be_reached_is_told_and_is_there_again_when_it_is(tmp_path: Path) -> None:
    upstream, listening = StandIn(), AsyncExitStack()
    url = await listening.enter_async_context(upstream.serving())
    async with relayed(tmp_path, urls=(url,)) as server:
        await server.say("s", "hello")
        # Only who listens goes: the process that holds the weights is the same.
        await listening.aclose()
        async with server.http(**{"x-session-id": "s"}) as http:
            answer = await http.post("/v1/chat/completions", json={"messages": said("hello")})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "upstream_unreachable")
        assert answer.headers["retry-after"] == "1"
        async with upstream.serving(int(url.rpartition(":")[2])):
            assert (await server.say("s", "hello"))["model_version"] == 1


async def test_a_session_whose_upstream_is_down_goes_on_at_another(tmp_path: Path) -> None:
    first, second, listening = StandIn(), StandIn(), AsyncExitStack()
    url = await listening.enter_async_context(first.serving())
    async with second.serving() as url_2, relayed(tmp_path, urls=(url, url_2)) as server:
        await server.say("a", "hello")
        assert len(first.asked) == 1
        await listening.aclose()
        async with asyncio.timeout(60), server.http(**{"x-session-id": "a"}) as http:
            while (answer := await http.post("/v1/chat/completions", json={"messages": said("x")})).status_code != 200:
                assert answer.status_code == 503, answer.text
                await asyncio.sleep(0.2)
        assert (answer.json()["binding"], answer.headers["x-sluicegate-replica"]) == (2, "upstream-1")
    verdict = judged(tmp_path)
    assert verdict.valid, verdict.refusal


async def test_a_call_that_fails_as_nobody_foresaw_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with relayed(tmp_path, StandIn()) as server, server.http(**{"x-session-id": "s"}) as http:
        body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3}

        def broken(*_: Any) -> None:
            raise RuntimeError("a bug of ours")

        with monkeypatch.context() as bug:
            bug.setattr("sluicegate.runtime.relay.backend.Assembled.whole", broken)
            answer = await http.post("/v1/chat/completions", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "turn_lost")
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
