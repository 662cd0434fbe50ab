"""An answer as it is made: the same is told however the tokens come, and nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from chat_kit import END, END_OF_TEXT, MARKS, START, change_tokenizer, make_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.runtime.chat.form import Ask, Call, Delta, End, Finish, Message, Role, Text, Token, Tool, ToolCall
from sluicegate.runtime.chat.reading import Reader
from sluicegate.runtime.chat.template import Template

ASKED = (Message(Role.USER, "Hi"),)
TOOLS = (Tool("f"),)
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'

BODY = '{"name": "f", "arguments": {"a": 1}}'
FRAGMENTS = st.sampled_from([*MARKS, CALL, BODY, '{"name": "f"}', " ", "\n", "<tool", "_call>", "</", "a", "ö"])
WITH_CALLS = st.lists(FRAGMENTS, max_size=12).map("".join)
WRITTEN = st.text(st.sampled_from("ab→ö \n"), max_size=20)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = tmp_path_factory.mktemp("model")
    make_tokenizer(folder)
    return Template.load(folder)


def name_of(index: int) -> str:
    return f"call-{index}"


def tokens(ids: Iterable[int]) -> list[Token]:
    return [Token(id, -index / 8, 1) for index, id in enumerate(ids)]


def in_bytes(template: Template, text: str) -> list[int]:
    """The tokens of a text, one for each byte."""
    ids = {template.piece(id): id for id in range(template.vocab_size)}
    return [ids[bytes([byte])] for byte in text.encode()]


def read(
    template: Template, fed: Sequence[Sequence[Token]], *, stop: tuple[str, ...] = (), tools: tuple[Tool, ...] = (),
    tool_choice: str = "auto", reason: Finish = Finish.STOP,
) -> tuple[list[Delta], Reader]:  # fmt: skip
    """All that is told of an answer that comes in these pieces."""
    ask = Ask(messages=ASKED, tools=tools, tool_choice=tool_choice, stop=stop)
    reader = Reader(template, ask, 0, name_of)
    deltas: list[Delta] = [delta for piece in fed for delta in reader.feed(piece)]
    return deltas + reader.end(reason), reader


def joined(deltas: Iterable[Delta]) -> list[Delta]:
    """The same deltas without tokens, text that was told in pieces as one."""
    found: list[Delta] = []
    for delta in deltas:
        match delta, found:
            case Text(text=more), [*_, Text(text=text)]:
                found[-1] = Text(0, text + more)
            case Text(text=text), _:
                found.append(Text(0, text))
            case Call(call=call), _:
                found.append(Call(0, call))
            case End(finish=finish, stopped_by=by), _:
                found.append(End(0, finish, by))
    return found


@st.composite
def cuts(draw: st.DrawFn, whole: Sequence[Token]) -> list[Sequence[Token]]:
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[a:b] for a, b in pairwise([0, *places, len(whole)])]


@given(st.data(), WITH_CALLS | WRITTEN, st.lists(st.text(st.sampled_from("ab<_→ö"), max_size=3), max_size=3))
def test_the_same_is_told_however_the_tokens_are_dealt_out(
    template: Template, data: st.DataObject, text: str, stop: list[str]
) -> None:
    split = data.draw(st.sampled_from([in_bytes(template, text), template.encode(text)]))
    whole = tokens([*split, *template.encode(END)])
    settings = {"stop": tuple(stop), "tools": data.draw(st.sampled_from([(), TOOLS]))}
    at_once, one = read(template, [whole], **settings)
    in_pieces, other = read(template, data.draw(cuts(whole)), **settings)
    singly, _ = read(template, [[token] for token in whole], **settings)
    assert joined(at_once) == joined(in_pieces) == joined(singly)
    assert (one.used, one.message, one.is_stopped) == (other.used, other.message, other.is_stopped)
    for deltas in (at_once, in_pieces, singly):
        assert [token for delta in deltas for token in delta.tokens] == whole[: one.used]


@given(st.data())
def test_any_tokens_are_told_as_the_bytes_that_are_text(template: Template, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, template.vocab_size + 3)))
    _, reader = read(template, data.draw(cuts(tokens(ids))))
    shown = b"".join(template.piece(id) for id in ids if id not in template.special_ids)
    assert reader.message == Message(Role.ASSISTANT, shown.decode("utf-8", "replace"))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd")))
def test_half_of_a_character_is_never_told(template: Template, text: str) -> None:
    deltas, _ = read(template, [[token] for token in tokens(in_bytes(template, text))])
    told = [delta.text for delta in deltas if isinstance(delta, Text)]
    assert told == list(text)


def test_bytes_that_never_become_a_character_are_told_at_the_end(template: Template) -> None:
    ids = in_bytes(template, "a→")[:-1]
    deltas, reader = read(template, [[token] for token in tokens(ids)], reason=Finish.LENGTH)
    assert joined(deltas) == [Text(0, "a\ufffd"), End(0, Finish.LENGTH)]
    assert reader.message.content == template.decode(ids)


@given(st.data(), WRITTEN, st.lists(st.text(st.sampled_from("ab→ö"), min_size=1, max_size=3), min_size=1, max_size=3))
def test_the_text_before_the_first_complete_stop_text_is_told(
    template: Template, data: st.DataObject, text: str, stop: list[str]
) -> None:
    whole = tokens(in_bytes(template, text))
    deltas, reader = read(template, data.draw(cuts(whole)), stop=tuple(stop))
    ends = [end for end in range(len(text) + 1) if text[:end].endswith(tuple(stop))]
    if not ends:
        assert (reader.message.content, reader.used, reader.is_stopped) == (text, len(whole), False)
        return
    stopped_by = max((s for s in stop if text[: ends[0]].endswith(s)), key=len)
    assert reader.message.content == text[: ends[0]].removesuffix(stopped_by)
    assert reader.used == len(text[: ends[0]].encode())
    assert joined(deltas)[-1] == End(0, Finish.STOP, stopped_by)


def test_of_stop_texts_within_one_token_the_first_that_is_complete_counts(template: Template) -> None:
    token = max(range(template.vocab_size), key=lambda id: len(template.piece(id)) * (id not in template.special_ids))
    word = template.decode([token])
    deltas, _ = read(template, [tokens([token])], stop=(word, word[1:3]))
    assert joined(deltas) == [Text(0, word[0]), End(0, Finish.STOP, word[1:3])]


def test_what_may_become_a_stop_text_is_held_back_until_it_does_not(template: Template) -> None:
    reader = Reader(template, Ask(messages=ASKED, stop=("stop!",)), 0, name_of)
    told = [[d.text for d in reader.feed([t]) if isinstance(d, Text)] for t in tokens(in_bytes(template, "a ststop?"))]
    assert told == [["a"], [" "], [], [], ["st"], [], [], [], ["stop?"]]


def test_a_token_is_told_with_the_text_that_it_completes(template: Template) -> None:
    ids = [*in_bytes(template, "→"), *template.encode(START), *in_bytes(template, "ab"), *template.encode(END)]
    deltas, _ = read(template, [[token] for token in tokens(ids)])
    assert [(delta.text if isinstance(delta, Text) else None, len(delta.tokens)) for delta in deltas] == [
        ("→", 3), ("a", 2), ("b", 1), (None, 1)
    ]  # fmt: skip


def test_half_of_a_character_is_not_told_with_the_text_before_it(template: Template) -> None:
    reader = Reader(template, Ask(messages=ASKED), 0, name_of)
    whole = tokens(in_bytes(template, "a→"))
    assert reader.feed(whole[:3]) == [Text(0, "a", whole[:1])]
    assert reader.feed(whole[3:]) == [Text(0, "→", whole[1:])]


def test_what_is_fed_behind_a_stop_text_is_not_read(template: Template) -> None:
    reader = Reader(template, Ask(messages=ASKED, stop=("b",)), 0, name_of)
    whole = tokens(in_bytes(template, "abc"))
    assert reader.feed(whole) == [Text(0, "a", whole[:1])]
    assert (reader.is_stopped, reader.stopped_by, reader.used) == (True, "b", 2)
    assert reader.feed(whole) == []
    assert reader.end(Finish.LENGTH) == [End(0, Finish.STOP, "b", whole[1:2])]


def test_special_tokens_and_those_that_end_an_answer_are_no_text(template: Template) -> None:
    deltas, reader = read(template, [tokens(template.encode(f"{START}a{END_OF_TEXT}b{END}"))])
    assert reader.message.content == "ab"
    assert joined(deltas) == [Text(0, "ab"), End(0, Finish.STOP)]


def test_a_token_that_ends_an_answer_is_no_text_though_it_is_not_special(template: Template, tmp_path: Path) -> None:
    (newline,) = template.encode("\n")
    assert newline not in template.special_ids
    make_tokenizer(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": newline}))
    _, reader = read(Template.load(tmp_path), [tokens([*template.encode("ok"), newline])])
    assert reader.message.content == "ok"


def test_marks_of_calls_are_read_where_they_are_special_tokens(tmp_path: Path) -> None:
    make_tokenizer(tmp_path)
    change_tokenizer(tmp_path, added_tokens={mark: {"special": True} for mark in MARKS})
    template = Template.load(tmp_path)
    deltas, _ = read(template, [tokens(template.encode(f"{CALL}{START}"))], tools=TOOLS)
    assert len(template.special_ids) == 5
    assert joined(deltas) == [Call(0, ToolCall(name_of(0), "f", '{"a": 1}')), End(0, Finish.TOOL_CALLS)]


def test_a_call_is_told_as_soon_as_it_ends(template: Template) -> None:
    reader = Reader(template, Ask(messages=ASKED, tools=TOOLS), 0, name_of)
    whole = tokens(in_bytes(template, CALL))
    assert [delta for token in whole[:-1] for delta in reader.feed([token])] == []
    assert reader.feed(whole[-1:]) == [Call(0, ToolCall(name_of(0), "f", '{"a": 1}'), whole)]


def test_white_space_behind_text_that_follows_a_call_is_told(template: Template) -> None:
    deltas, _ = read(template, [tokens(template.encode(f"{CALL}\nx \n"))], tools=TOOLS)
    assert [delta for delta in joined(deltas) if isinstance(delta, Text)] == [Text(0, "\nx \n")]


def test_calls_are_told_with_their_arguments_as_written_and_named_in_order(template: Template) -> None:
    arguments = ['{"city":  "Zürich", "n": 1.0}', "{ }", '{"x": "</tool_response>"}']
    calls = [f'<tool_call>{{"arguments": {text} ,"name":"f"}}\n</tool_call>' for text in arguments]
    whole = tokens(template.encode("Let me look.\n" + "\n".join(calls) + "\n" + END))
    deltas, reader = read(template, [[token] for token in whole], tools=TOOLS)
    told = [ToolCall(name_of(index), "f", text) for index, text in enumerate(arguments)]
    assert joined(deltas) == [Text(0, "Let me look."), *(Call(0, call) for call in told), End(0, Finish.TOOL_CALLS)]
    assert reader.message == Message(Role.ASSISTANT, "Let me look.", tuple(told))


@given(st.data(), WITH_CALLS)
def test_only_white_space_beside_calls_is_not_told(template: Template, data: st.DataObject, text: str) -> None:
    whole = tokens(in_bytes(template, text))
    deltas, reader = read(template, data.draw(cuts(whole)), tools=TOOLS)
    told, calls = "", 0
    for delta in deltas:
        match delta:
            case Text(text=more):
                told += more
            case Call(call=call):
                told += f'<tool_call>{{"name": "{call.name}", "arguments": {call.arguments}}}</tool_call>'
                calls += 1
    assert "".join(told.split()) == "".join(text.split())
    assert calls == len(reader.message.tool_calls)
    if not calls:
        assert told == text


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[]", '{"name": "f"}', '{"name": "f", "arguments": "x"}', '{"name": "", "arguments": {}}',
        '{"name": 1, "arguments": {}}', '{"name": "f", "arguments": {}, "more": 1}', '{"name": "f", "arguments": {}} x',
        '{"name": "g", "name": "f", "arguments": {}}', '{"name": "f", "arguments": {"a": NaN}}',
        '{"name": "f", "arguments": {"a": "\\ud800"}}', '{"name": "f", "arguments": {"a": 1e999}}',
        '{"name": "f", "arguments": ' + '{"a":' * 5_000,
    ],
)  # fmt: skip
def test_what_is_no_call_is_text(template: Template, body: str) -> None:
    text = f"Well:\n<tool_call>\n{body}\n</tool_call>\nso"
    deltas, _ = read(template, [tokens(template.encode(text + END))], tools=TOOLS)
    assert joined(deltas) == [Text(0, text), End(0, Finish.STOP)]


def test_a_call_behind_a_mark_that_opens_nothing_is_told(template: Template) -> None:
    deltas, _ = read(template, [tokens(template.encode(f"say <tool_call> like {CALL} and go"))], tools=TOOLS)
    called = Call(0, ToolCall(name_of(0), "f", '{"a": 1}'))
    assert joined(deltas) == [Text(0, "say <tool_call> like"), called, Text(0, " and go"), End(0, Finish.TOOL_CALLS)]


def test_a_call_that_does_not_end_is_text(template: Template) -> None:
    whole = tokens(template.encode(CALL)[:-1])
    deltas, _ = read(template, [[token] for token in whole], tools=TOOLS, reason=Finish.LENGTH)
    assert joined(deltas) == [Text(0, CALL.removesuffix("</tool_call>")), End(0, Finish.LENGTH)]


@pytest.mark.parametrize(("tools", "tool_choice"), [((), "auto"), (TOOLS, "none")])
def test_calls_are_text_where_none_are_asked_for(
    template: Template, tools: tuple[Tool, ...], tool_choice: str
) -> None:
    deltas, _ = read(template, [tokens(template.encode(f" {CALL} "))], tools=tools, tool_choice=tool_choice)
    assert joined(deltas) == [Text(0, f" {CALL} "), End(0, Finish.STOP)]


@pytest.mark.parametrize("tool_choice", ["required", "function:f"])
def test_calls_are_read_where_one_must_be_made(template: Template, tool_choice: str) -> None:
    _, reader = read(template, [tokens(template.encode(CALL))], tools=TOOLS, tool_choice=tool_choice)
    assert [json.loads(call.arguments) for call in reader.message.tool_calls] == [{"a": 1}]


def test_a_stop_text_within_a_call_ends_the_answer_and_the_call_is_text(template: Template) -> None:
    deltas, _ = read(template, [tokens(in_bytes(template, CALL))], tools=TOOLS, stop=('"arg',))
    assert joined(deltas) == [Text(0, '<tool_call>\n{"name": "f", '), End(0, Finish.STOP, '"arg')]
