"""The official clients of both APIs, as they are, against a session server with real replicas and engines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import pytest_asyncio
from serving_kit import Chat, chatting, taught, until

from sluicegate.runtime.chat.form import Message, Role, Tool, ToolCall
from sluicegate.runtime.config import from_mapping
from sluicegate.runtime.serving.config import SessionsConfig

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

QUESTION, ANSWER, MORE, LAST = "What is the weather?", "It is sunny, 21 degrees.", "And tomorrow?", "The same."
RESULT = '{"sky": "sunny"}'
CALL = ToolCall("", "look_up", '{"city": "Bern"}')
LOOK_UP = Tool("look_up", "The weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
CONVERSATION = [
    Message(Role.USER, QUESTION),
    Message(Role.ASSISTANT, "", (CALL,)),
    Message(Role.TOOL, RESULT),
    Message(Role.ASSISTANT, ANSWER),
    Message(Role.USER, MORE),
    Message(Role.ASSISTANT, LAST),
]
TAUGHT = 2
"""The version that was taught the conversation."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chat]:
    async with chatting(tmp_path_factory.mktemp("chat"), "rollout-0", "rollout-1", version=None) as made:
        made.weights.models[TAUGHT] = await asyncio.to_thread(taught, made.weights, CONVERSATION, [LOOK_UP])
        await made.update(TAUGHT)
        async with made.server():
            yield made
    verdict = made.judged()
    assert verdict.valid, verdict.refusal


def openai_client(chat: Chat, session: str, **settings: Any) -> openai.AsyncOpenAI:
    headers = {"x-session-id": session} if session else {}
    return openai.AsyncOpenAI(base_url=f"{chat.url}/v1", api_key="any", default_headers=headers, **settings)


def anthropic_client(chat: Chat, session: str, **settings: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        base_url=chat.url, api_key="any", default_headers={"x-session-id": session}, **settings
    )


OPENAI_TOOL: Any = {
    "type": "function",
    "function": {"name": LOOK_UP.name, "description": LOOK_UP.description, "parameters": LOOK_UP.parameters},
}
ANTHROPIC_TOOL: Any = {
    "name": LOOK_UP.name, "description": LOOK_UP.description, "input_schema": LOOK_UP.parameters
}  # fmt: skip


async def ask_openai(client: openai.AsyncOpenAI, messages: list[Any], *, stream: bool) -> Any:
    """The message of one answer, in the form in which it is sent back."""
    asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": [OPENAI_TOOL], "temperature": 0}
    if not stream:
        answer = await client.chat.completions.create(**asked)
        choice = answer.choices[0]
        assert choice.finish_reason == ("tool_calls" if choice.message.tool_calls else "stop")
        return choice.message.model_dump(exclude_none=True)
    async with client.chat.completions.stream(**asked) as events:
        async for _ in events:
            pass
        final = await events.get_final_completion()
    message = final.choices[0].message.model_dump(exclude_none=True)
    for call in message.get("tool_calls") or []:
        call["function"].pop("parsed_arguments", None)
        call.pop("index", None)
    message.pop("parsed", None)
    return message


@pytest.mark.parametrize("stream", [False, True])
async def test_the_openai_client_converses_with_tools_and_every_token_is_kept(chat: Chat, stream: bool) -> None:
    session = f"openai-{stream}"
    async with openai_client(chat, session) as client:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        called = await ask_openai(client, messages, stream=stream)
        (call,) = called["tool_calls"]
        assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("look_up", {"city": "Bern"})
        messages += [called, {"role": "tool", "tool_call_id": call["id"], "content": RESULT}]
        answer = await ask_openai(client, messages, stream=stream)
        assert answer["content"] == ANSWER
        messages += [answer, {"role": "user", "content": MORE}]
        last = await ask_openai(client, messages, stream=stream)
        assert last["content"] == LAST
    (sample,) = await chat.export(session)
    assert len(sample["requests"]) == 3
    assert set(sample["versions"]) == {0, TAUGHT}


@pytest.mark.parametrize("stream", [False, True])
async def test_the_anthropic_client_converses_with_tools_and_every_token_is_kept(chat: Chat, stream: bool) -> None:
    session = f"anthropic-{stream}"
    async with anthropic_client(chat, session) as client:

        async def ask(messages: list[Any]) -> Any:
            asked: Any = {"model": "m", "max_tokens": 200, "messages": messages, "tools": [ANTHROPIC_TOOL]}
            # This client has no word for it any more; servers of open models do.
            asked["extra_body"] = {"temperature": 0}
            if not stream:
                return await client.messages.create(**asked)
            async with client.messages.stream(**asked) as events:
                async for _ in events:
                    pass
                return await events.get_final_message()

        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        called = await ask(messages)
        assert called.stop_reason == "tool_use"
        (use,) = called.content
        assert (use.type, use.name, use.input) == ("tool_use", "look_up", {"city": "Bern"})
        result = {"type": "tool_result", "tool_use_id": use.id, "content": RESULT}
        used = {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}
        messages += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]
        answer = await ask(messages)
        assert (answer.stop_reason, answer.content[0].text) == ("end_turn", ANSWER)
        messages += [{"role": "assistant", "content": ANSWER}, {"role": "user", "content": MORE}]
        last = await ask(messages)
        assert last.content[0].text == LAST
    (sample,) = await chat.export(session)
    assert len(sample["requests"]) == 3


async def test_several_choices_are_leases_and_branches_of_their_own_and_a_seed_makes_them_again(chat: Chat) -> None:
    said: list[list[str | None]] = []
    for session in ("seed-1", "seed-2"):
        async with openai_client(chat, session) as client:
            answer = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "ok"}], n=3, seed=7, max_tokens=12, logprobs=True
            )
        said.append([choice.message.content for choice in answer.choices])
        assert answer.usage is not None
        told = [len(choice.logprobs.content or []) for choice in answer.choices if choice.logprobs]
        assert answer.usage.completion_tokens == sum(told)
        samples = await chat.export(session)
        assert len(samples) == 3
        assert {len(s["requests"]) for s in samples} == {1}
    assert said[0] == said[1]
    assert len(set(said[0])) > 1


async def test_a_stop_text_ends_an_answer_and_its_trace_where_it_is_complete(chat: Chat) -> None:
    async with openai_client(chat, "stop") as client:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        called = await ask_openai(client, messages, stream=False)
        messages += [called, {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": RESULT}]
        answer = await client.chat.completions.create(
            model="m", messages=messages, tools=[OPENAI_TOOL], temperature=0, stop=["21"]
        )
        assert (answer.choices[0].finish_reason, answer.choices[0].message.content) == ("stop", "It is sunny, ")
    (sample,) = await chat.export("stop")
    assert sample["turns"][-1] == 2


async def test_a_retired_session_answers_410_and_a_finished_one_409_and_neither_is_tried_again(chat: Chat) -> None:
    async with openai_client(chat, "over") as client, chat.http() as http:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        await client.chat.completions.create(model="m", messages=messages, max_tokens=2)
        await http.post("/v1/sessions/over/finish")
        with pytest.raises(openai.ConflictError) as finished:
            await client.chat.completions.create(model="m", messages=messages)
        assert finished.value.code == "finished"
        assert (await http.delete("/v1/sessions/over")).json()["state"] == "RETIRED"
        with pytest.raises(openai.APIStatusError) as gone:
            await client.chat.completions.create(model="m", messages=messages)
        assert (gone.value.status_code, gone.value.code) == (410, "retired")
        with pytest.raises(anthropic.APIStatusError) as gone_too:
            async with anthropic_client(chat, "over") as other:
                await other.messages.create(model="m", max_tokens=2, messages=[{"role": "user", "content": QUESTION}])
        assert gone_too.value.status_code == 410


async def test_a_call_that_finds_no_replica_answers_503_with_the_time_to_come_again(chat: Chat) -> None:
    await chat.controller.pause(within=30)
    try:
        async with (
            chat.server("waits", sessions={"patience": 0.5}) as url,
            openai.AsyncOpenAI(
                base_url=f"{url}/v1", api_key="k", default_headers={"x-session-id": "new"}, max_retries=0
            ) as client,
        ):
            with pytest.raises(openai.InternalServerError) as busy:
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}])
            assert (busy.value.status_code, busy.value.code) == (503, "no_replica")
            assert int(busy.value.response.headers["retry-after"]) >= 1
            async with chat.http("waits") as http:
                assert (await http.get("/health")).json()["status"] == "installing"
    finally:
        await chat.controller.resume(within=30)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_times_out_and_tries_again_gets_the_one_answer_of_its_one_generation(
    chat: Chat, stream: bool
) -> None:
    session, messages = f"impatient-{stream}", [{"role": "user", "content": QUESTION}]
    async with openai_client(chat, session) as client:
        await client.chat.completions.create(model="m", messages=messages, max_tokens=3)  # pyright: ignore[reportArgumentType, reportCallIssue]

    async def let_go() -> None:
        await asyncio.sleep(5)
        await chat.controller.resume(within=30)

    await chat.controller.pause(within=30)
    # A gate that is closed for 5 s makes a turn of 5 s.
    opening = asyncio.create_task(let_go())
    async with openai_client(chat, session, timeout=2.0, max_retries=4) as client:
        asked: Any = {"model": "m", "messages": messages, "max_tokens": 200, "temperature": 1.0, "stream": stream}
        answer = await client.chat.completions.create(**asked)
        if stream:
            chunks = [chunk async for chunk in answer]
            text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
            request = chunks[-1].request_id
        else:
            text, request = answer.choices[0].message.content, answer.request_id
    await opening
    async with chat.http() as http:
        assert (await http.get(f"/v1/sessions/{session}")).json()["generations"] == 2
    samples = await chat.export(session)
    assert len(samples) == 2
    template = taught_template(chat)
    (made,) = [sample for sample in samples if sample["requests"] == [request]]
    ids = [i for i, turn in zip(made["token_ids"], made["turns"], strict=True) if turn]
    assert template.decode([i for i in ids if i not in template.special_ids]) == text


def taught_template(chat: Chat) -> Any:
    from sluicegate.runtime.chat.template import Template

    return Template.load(chat.weights.model)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_nobody_waits_for_is_given_up_after_its_grace_and_leaves_nothing(
    chat: Chat, stream: bool
) -> None:
    session = f"left-{stream}"
    body = {"model": "m", "messages": [{"role": "user", "content": "ok"}], "max_tokens": 3, "session_id": session}
    async with chat.http() as http:
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
        await chat.controller.pause(within=30)
        try:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await http.post("/v1/chat/completions", json={**body, "stream": stream})
            assert (await http.get(f"/v1/sessions/{session}")).json()["state"] == "TURN"

            async def is_idle() -> bool:
                return (await http.get(f"/v1/sessions/{session}")).json()["state"] == "BOUND"

            await until(is_idle)
        finally:
            await chat.controller.resume(within=30)
        assert (await http.get(f"/v1/sessions/{session}")).json()["generations"] == 1
        assert (await http.get("/health")).json()["calls"] == 0


async def test_an_idempotency_key_is_one_call_whoever_repeats_it_also_for_the_next_life_of_the_server(
    chat: Chat,
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "ok"}], "max_tokens": 9, "session_id": "key"}
    headers = {"idempotency-key": "k1"}
    async with chat.server("first"), chat.http("first") as http:
        calls = [http.post("/v1/chat/completions", json=body, headers=headers) for _ in range(3)]
        answers = await asyncio.gather(*calls)
        other = await http.post("/v1/chat/completions", json={**body, "max_tokens": 8}, headers=headers)
        assert (other.status_code, other.json()["error"]["code"]) == (400, "malformed")
    async with chat.server("first"), chat.http("first") as http:
        answers.append(await http.post("/v1/chat/completions", json=body, headers=headers))
        assert (await http.get("/v1/sessions/key")).json()["generations"] == 1
    assert [a.status_code for a in answers] == [200] * 4
    assert len({a.text for a in answers}) == 1


async def test_a_call_for_another_servers_session_is_handed_on_to_it(chat: Chat) -> None:
    async with chat.server("other"), chat.http() as here, chat.http("other") as there:
        body = {"model": "m", "messages": [{"role": "user", "content": "ok"}], "max_tokens": 4, "session_id": "theirs"}
        assert (await there.post("/v1/chat/completions", json=body)).status_code == 200
        told = await here.post("/v1/chat/completions", json={**body, "stream": True})
        assert told.status_code == 200
        assert told.text.endswith("data: [DONE]\n\n")
        assert (await here.get("/v1/sessions/theirs")).json() == (await there.get("/v1/sessions/theirs")).json()
    async with chat.http() as here:
        refused = await here.post("/v1/chat/completions", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "elsewhere")
        assert "retry-after" in refused.headers


async def test_what_is_not_there_is_not_there(chat: Chat) -> None:
    async with openai_client(chat, "x", max_retries=0) as client, chat.http() as http:
        with pytest.raises(openai.InternalServerError) as responses:
            await client.responses.create(model="m", input="hello")
        assert responses.value.status_code == 501
        assert [model.id async for model in client.models.list()] == [chat.weights.model.name]
        for method, path in (("POST", "/pause"), ("POST", "/update_weights"), ("GET", "/v1/nothing"), ("GET", "/")):
            assert (await http.request(method, path)).status_code == 404
        assert (await http.get("/v1/chat/completions")).status_code == 405
        no_session = await http.post("/v1/chat/completions", json={"model": "m", "messages": []})
        assert (no_session.status_code, no_session.json()["error"]["code"]) == (400, "no_session")


async def test_the_examples_of_the_page_about_sessions_work(chat: Chat) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text()
    names: dict[str, Any] = {}
    for code in page.split("```python\n")[1:]:
        exec(code.partition("```")[0], names)
    said = await asyncio.to_thread(names["say"], chat.url, "page", "ok")
    assert isinstance(said, str)
    (sample,) = await asyncio.to_thread(names["samples"], chat.url, "page")
    assert chat.compare(sample) == sum(1 for turn in sample["turns"] if turn)
    config = page.partition("```json\n")[2].partition("```")[0]
    assert from_mapping(SessionsConfig, json.loads(config), "docs/sessions.md").name == "sessions-0"
