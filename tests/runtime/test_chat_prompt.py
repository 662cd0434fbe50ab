"""Prompts of later turns: they go on behind the very tokens of the turns before, and say what the template writes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from chat_kit import END, END_OF_TEXT, FORGETFUL, PLAIN, START, TRIMMING, change_tokenizer, make_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.runtime.chat.form import Ask, Finish, Message, Role, Token, Tool, ToolCall
from sluicegate.runtime.chat.prompt import FIRST, REWRITTEN, UNLOCATED, UNSPELLED, Memory, Prompt, Turn, build, keys
from sluicegate.runtime.chat.reading import Reader
from sluicegate.runtime.chat.template import ChatError, Template

TOOLS = (Tool("f", "Does it", {"type": "object"}),)
CALL = '<tool_call>{"name": "f",   "arguments": {"a":1}}</tool_call>'
TEMPLATES = {"plain": PLAIN, "trimming": TRIMMING, "forgetful": FORGETFUL}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    folder = tmp_path_factory.mktemp("models")
    return {name: loaded(folder / name, text) for name, text in TEMPLATES.items()}


@pytest.fixture(scope="module")
def plain(templates: dict[str, Template]) -> Template:
    return templates["plain"]


def loaded(folder: Path, template: str) -> Template:
    """Of a model that ends answers with either of two tokens."""
    make_tokenizer(folder, template)
    ids = [token["id"] for token in json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
           if token["content"] in (END, END_OF_TEXT)]  # fmt: skip
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ids}))
    return Template.load(folder)


def user(text: str) -> Message:
    return Message(Role.USER, text)


def in_bytes(template: Template, text: str) -> list[int]:
    ids = {template.piece(id): id for id in range(template.vocab_size)}
    return [ids[bytes([byte])] for byte in text.encode()]


@dataclass
class Told:
    """A turn, and of what its prompt is made: runs of tokens that were given, and before each but the first, the
    turn whose own tokens stand there."""

    prompt: Prompt
    made: list[int]
    answer: Message
    runs: list[tuple[Told | None, list[int]]]


@dataclass
class Session:
    """A session that remembers its turns, and the client of it."""

    template: Template
    tools: tuple[Tool, ...] = ()
    memory: Memory[int] = field(default_factory=Memory)
    turns: list[Told] = field(default_factory=list)

    def turn(self, index: int) -> Turn:
        return Turn(self.turns[index].prompt.ids, self.turns[index].made)

    def ask(self, messages: list[Message]) -> Prompt:
        return build(self.template, messages, self.tools, self.memory, self.turn)

    def say(self, messages: list[Message], made: list[int], *, stop: str = "") -> Told:
        """A turn in which the model makes these tokens."""
        prompt = self.ask(messages)
        ask = Ask(messages=tuple(messages), tools=self.tools, stop=(stop,))
        calls = count(len(self.turns))
        reader = Reader(self.template, ask, 0, lambda _: f"call-{next(calls)}")
        reader.feed(Token(id, 0.0, 1) for id in made)
        reader.end(Finish.STOP)
        runs: list[tuple[Told | None, list[int]]] = [(None, prompt.ids)]
        if prompt.reused:
            known = next(t for t in reversed(self.turns) if t.prompt.ids + t.made == prompt.ids[: prompt.reused])
            runs = [*known.runs, (known, prompt.ids[prompt.reused :])]
        self.memory.add(prompt.told(reader.message), len(self.turns))
        self.turns.append(Told(prompt, made[: reader.used], reader.message, runs))
        return self.turns[-1]

    def written(self, told: Told) -> str:
        """What the template writes of an answer, up to where the model ended it."""
        said = self.template.render([user(""), told.answer], self.tools, asks=False)
        said = said.removeprefix(self.template.render([user("")], self.tools, asks=True))
        ended = told.made[-1:] if told.made and told.made[-1] in self.template.stop_ids else []
        return said.removesuffix(self.template.turn_end) + self.template.decode(ended)

    def reads(self, told: Told) -> str:
        """What a prompt says, each of the model's own turns as the template writes it."""
        return "".join(
            ("" if known is None else self.written(known)) + self.template.decode(given) for known, given in told.runs
        )


ORDINARY = st.sampled_from(["Hello", "  hi ", "ö→\n", "{}", "", END, "a\n\n", f"{START}user\n"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=8
)
ENDS = st.sampled_from([END, END, END_OF_TEXT, "", "<", "lo", " "])
"""Of an answer: a stop token, nothing, or a stop text."""


@st.composite
def answers(draw: st.DrawFn, template: Template) -> tuple[list[int], str]:
    """What a model makes, and the stop text that may cut it."""
    text = draw(st.sampled_from([CALL, f"Look:\n{CALL}\n{CALL}", "hello", f"so {START} on", "hel<", ""]) | ORDINARY)
    made = draw(st.sampled_from([in_bytes(template, text), template.encode(text)]))
    made = made + draw(st.lists(st.integers(0, template.vocab_size - 1), max_size=2))
    end = draw(ENDS)
    made += template.encode(end) if end in (END, END_OF_TEXT) else []
    first = next((at for at, id in enumerate(made) if id in template.stop_ids), len(made))
    return made[: first + 1], end if end not in (END, END_OF_TEXT) else ""


@given(st.data(), st.sampled_from(["plain", "trimming"]), st.booleans())
def test_a_prompt_says_what_the_template_writes_except_inside_of_the_models_own_turns(
    templates: dict[str, Template], data: st.DataObject, which: str, with_tools: bool
) -> None:
    template = templates[which]
    session = Session(template, TOOLS if with_tools else ())
    messages: list[Message] = data.draw(st.sampled_from([[], [Message(Role.SYSTEM, "Be short.")]]))
    for _ in range(data.draw(st.integers(1, 5))):
        match data.draw(st.sampled_from(["go on", "go on", "go back", "edit"])):
            case "go back":
                messages = messages[: data.draw(st.integers(0, len(messages)))]
            case "edit" if messages and messages[-1].role is Role.ASSISTANT:
                messages = [*messages[:-1], Message(Role.ASSISTANT, data.draw(ORDINARY))]
        calls = messages[-1].tool_calls if messages else ()
        replies = [Message(Role.TOOL, data.draw(ORDINARY), tool_call_id=call.id) for call in calls]
        messages = [*messages, *(replies or [user(data.draw(ORDINARY))])]
        made, stop = data.draw(answers(template))
        told = session.say(messages, made, stop=stop)
        assert session.reads(told) == template.render(messages, session.tools, asks=True)
        assert told.prompt.why in ("", FIRST, UNLOCATED)
        assert bool(told.prompt.why) == (told.prompt.reused == 0)
        messages = [*messages, told.answer]


@given(st.data())
def test_every_turn_goes_on_behind_the_tokens_of_the_one_before(plain: Template, data: st.DataObject) -> None:
    session = Session(plain)
    messages = [user("Hi")]
    before: list[int] = []
    for _ in range(4):
        made = data.draw(st.lists(st.integers(0, plain.vocab_size - 1).filter(lambda i: i not in plain.stop_ids)))
        told = session.say(messages, made + data.draw(st.sampled_from([[], plain.encode(END)])))
        assert told.prompt.ids[: told.prompt.reused] == before
        before = told.prompt.ids + told.made
        messages = [*messages, told.answer, user(data.draw(ORDINARY))]


def second(session: Session, made: list[int], *, stop: str = "") -> Prompt:
    """The prompt of the second turn, when the model made this in the first."""
    told = session.say([user("Hi")], made, stop=stop)
    return session.ask([user("Hi"), told.answer, user("So?")])


NEXT = f"{START}user\nSo?{END}\n{START}assistant\n"


def test_what_stands_behind_a_stop_token_is_not_lost(plain: Template) -> None:
    made = plain.encode(f"ok{END}")
    prompt = second(Session(plain), made)
    assert prompt.ids[: prompt.reused][-len(made) :] == made
    assert plain.decode(prompt.ids[prompt.reused :]) == f"\n{NEXT}"


def test_an_answer_without_a_stop_token_is_ended_by_the_prompt(plain: Template) -> None:
    prompt = second(Session(plain), plain.encode("ok"))
    assert plain.decode(prompt.ids[prompt.reused :]) == f"{END}\n{NEXT}"


@pytest.mark.parametrize(("said", "stop"), [("hello", "lo"), ("hel<", "<"), ("hel<|im_end|", "<|im")])
def test_an_answer_cut_at_a_stop_text_is_ended_by_the_prompt(plain: Template, said: str, stop: str) -> None:
    session = Session(plain)
    prompt = second(session, in_bytes(plain, said), stop=stop)
    assert session.turns[0].answer.content == "hel"
    end = plain.encode(END)
    assert prompt.ids[prompt.reused :] == [*end, *plain.encode(f"\n{NEXT}")]


def test_a_call_stays_as_the_model_spelled_it(plain: Template) -> None:
    session = Session(plain, TOOLS)
    made = plain.encode(f"Look:\n {CALL}\n{END}")
    told = session.say([user("Hi")], made)
    assert told.answer.tool_calls == (ToolCall("call-0", "f", '{"a":1}'),)
    prompt = session.ask([user("Hi"), told.answer, Message(Role.TOOL, "3", tool_call_id="call-0")])
    assert prompt.ids[: prompt.reused] == told.prompt.ids + made
    assert plain.decode(prompt.ids[prompt.reused :]).startswith(f"\n{START}user\n<tool_response>\n3\n</tool_response>")


def test_of_turns_with_equal_text_the_newest_is_gone_on_from(plain: Template) -> None:
    session = Session(plain)
    one = session.say([user("Hi")], plain.encode(f"weather{END}"))
    other = session.say([user("Hi")], [*in_bytes(plain, "weather"), *plain.encode(END)])
    assert one.answer == other.answer
    assert one.made != other.made
    prompt = session.ask([user("Hi"), other.answer, user("So?")])
    assert prompt.ids[: prompt.reused] == other.prompt.ids + other.made


def test_an_edited_answer_goes_on_from_the_last_turn_that_was_told(plain: Template) -> None:
    session = Session(plain)
    one = session.say([user("Hi")], plain.encode(f"ok{END}"))
    messages = [user("Hi"), one.answer, user("So?")]
    session.say(messages, plain.encode(f"well{END}"))
    messages += [Message(Role.ASSISTANT, "never said"), user("Go on")]
    prompt = session.ask(messages)
    assert prompt.ids[: prompt.reused] == one.prompt.ids + one.made
    assert plain.decode(prompt.ids) == plain.render(messages, [], asks=True)


@pytest.mark.parametrize(
    "change",
    [
        {"content": "ok "}, {"tool_calls": (ToolCall("c2", "f", '{"a": 1}'),)}, {"role": Role.USER},
        {"tool_calls": (ToolCall("c1", "g", '{"a": 1}'),)}, {"tool_calls": (ToolCall("c1", "f", '{"a": 2}'),)},
        {"tool_calls": ()}, {"tool_call_id": "c1"},
    ],
)  # fmt: skip
def test_an_answer_is_known_by_all_that_a_client_sees_of_it(plain: Template, change: dict[str, Any]) -> None:
    answer = Message(Role.ASSISTANT, "ok", (ToolCall("c1", "f", '{"a": 1}'),))
    known = keys(plain, [answer], ())[-1]
    assert keys(plain, [replace(answer, **change)], ())[-1] != known
    respelled = (ToolCall("c1", "f", '{ "a":1 }'),)
    assert keys(plain, [replace(answer, tool_calls=respelled)], ())[-1] == known


def test_turns_with_other_tools_or_another_template_are_not_gone_on_from(templates: dict[str, Template]) -> None:
    session = Session(templates["plain"])
    told = session.say([user("Hi")], session.template.encode(f"ok{END}"))
    messages = [user("Hi"), told.answer, user("So?")]
    assert session.ask(messages).why == ""
    session.tools = TOOLS
    assert session.ask(messages).why == FIRST
    session.tools, session.template = (), templates["trimming"]
    assert session.ask(messages).why == FIRST


def test_a_memory_made_again_from_keys_finds_the_same_turns(plain: Template, tmp_path: Path) -> None:
    session = Session(loaded(tmp_path, PLAIN))
    told = session.say([user("Hi")], plain.encode(f"ok{END}"))
    stored = [(told.prompt.told(told.answer), 0)]
    memory: Memory[int] = Memory()
    for key, number in stored:
        memory.add(key, number)
    messages = [user("Hi"), told.answer, user("So?")]
    assert build(plain, messages, (), memory, session.turn) == session.ask(messages)
    assert len(memory) == 1


def test_reasoning_that_the_template_forgets_begins_a_new_branch(templates: dict[str, Template]) -> None:
    template = templates["forgetful"]
    session = Session(template)
    told = session.say([user("Hi")], template.encode(f"<think>hm</think>ok{END}"))
    messages = [user("Hi"), told.answer, user("So?")]
    prompt = session.ask(messages)
    assert (prompt.reused, prompt.why) == (0, REWRITTEN)
    assert prompt.ids == template.encode(template.render(messages, (), asks=True))
    assert "hm" not in template.decode(prompt.ids)
    # What was forgotten stays so: the branch is gone on from as long as nothing more is forgotten.
    told = session.say(messages, template.encode(f"well{END}"))
    prompt = session.ask([*messages, told.answer, user("And?")])
    assert prompt.ids[: prompt.reused] == told.prompt.ids + told.made


def test_earlier_turns_that_only_look_as_long_begin_a_new_branch(tmp_path: Path) -> None:
    template = loaded(tmp_path, "{{ messages | length }}" + PLAIN)
    assert second(Session(template), template.encode(f"ok{END}")).why == REWRITTEN


def test_a_beginning_of_answers_that_is_not_kept_begins_a_new_branch(tmp_path: Path) -> None:
    template = loaded(tmp_path, PLAIN + "{%- if add_generation_prompt %}{{- '> ' }}{%- endif %}")
    assert second(Session(template), template.encode(f"ok{END}")).why == REWRITTEN


def test_a_stop_token_that_the_template_does_not_write_begins_a_new_branch(tmp_path: Path, plain: Template) -> None:
    assert second(Session(plain), plain.encode(f"ok{END_OF_TEXT}")).why == UNLOCATED
    (newline,) = plain.encode("\n")
    make_tokenizer(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": newline}))
    assert second(Session(Template.load(tmp_path)), plain.encode("ok\n")).why == UNLOCATED


def test_more_than_one_special_token_may_end_a_turn(tmp_path: Path) -> None:
    template = loaded(tmp_path, TRIMMING.replace("<|im_end|>", "<|im_end|><|endoftext|>"))
    prompt = second(Session(template), template.encode(f" ok {END}"))
    assert template.decode(prompt.ids[prompt.reused :]).startswith(f"{END_OF_TEXT}\n{START}user")


def test_an_end_of_turns_that_differs_begins_a_new_branch_where_the_model_made_none(tmp_path: Path) -> None:
    last = "{{- '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}"
    assert last in TRIMMING
    other = last.replace("'<|im_end|>\\n'", "'<|im_end|>' + ('!' if 'x' in message.content else '\\n')")
    template = loaded(tmp_path, TRIMMING.replace(last, other))
    assert second(Session(template), template.encode(" x ")).why == UNLOCATED
    assert second(Session(template), template.encode(" y ")).why == ""


def test_a_stop_token_that_is_not_read_from_its_text_begins_a_new_branch(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, PLAIN.replace("<|im_end|>\\n", "<|im_end|>n"))
    change_tokenizer(tmp_path, added_tokens={END: {"single_word": True}})
    template = Template.load(tmp_path)
    assert second(Session(template), [*template.encode("ok"), *template.encode(END)]).why == UNSPELLED


def test_a_template_that_takes_no_answer_at_the_end_begins_a_new_branch(tmp_path: Path) -> None:
    refusing = "{% if messages[-1].content == ' ok' %}{{ raise_exception('an answer ends it') }}{% endif %}" + TRIMMING
    template = loaded(tmp_path, refusing)
    prompt = second(Session(template), template.encode(f" ok{END}"))
    assert prompt.reused == 0
    assert "an answer ends it" in prompt.why


def test_white_space_that_the_template_trims_stays_where_the_model_made_it(templates: dict[str, Template]) -> None:
    template = templates["trimming"]
    made = template.encode(f" ok \n{END}")
    prompt = second(Session(template), made)
    assert prompt.ids[: prompt.reused][-len(made) :] == made
    assert template.decode(prompt.ids[prompt.reused :]) == f"\n{NEXT}"


def test_a_conversation_that_the_assistant_cannot_answer_is_refused(plain: Template) -> None:
    session = Session(plain)
    for messages, says in [
        ([], "no messages"),
        ([user("Hi"), Message(Role.ASSISTANT, "I")], "the last message is the assistant's"),
        ([Message(Role.TOOL, "3", tool_call_id="c")], "a tool answers before anybody asked"),
        ([user("\ud800")], "not Unicode"),
    ]:
        with pytest.raises(ChatError, match=says):
            session.ask(messages)


def test_tools_that_are_nested_without_bound_are_refused(plain: Template) -> None:
    deep: dict = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(ChatError, match="bounded depth"):
        build(plain, [user("Hi")], [Tool("f", "", deep)], Memory[int](), lambda _: Turn([], []))


def test_a_thousand_turns_are_found_by_their_last(plain: Template) -> None:
    messages = [message for n in range(1000) for message in (user(f"{n}?"), Message(Role.ASSISTANT, f"{n}!"))]
    chain = keys(plain, messages, ())
    memory: Memory[int] = Memory()
    for number in range(1000):
        memory.add(chain[2 * number + 2], number)
    end = plain.encode(f"!{END}")

    def turn(number: int) -> Turn:
        text = plain.render(messages[: 2 * number + 1], (), asks=True)
        return Turn(plain.encode(text), [*plain.encode(str(number)), *end])

    for number in (0, 500, 999):
        asked = [*messages[: 2 * number + 2], user("So?")]
        prompt = build(plain, asked, (), memory, turn)
        known = turn(number)
        assert prompt.ids[: prompt.reused] == [*known.prompt, *known.made]
        assert plain.decode(prompt.ids) == plain.render(asked, (), asks=True)
