"""The template and the tokenizer of a folder: exact in both directions, and clear about what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_kit import END, END_OF_TEXT, PLAIN, START, change_tokenizer, make_model, make_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.runtime.chat.form import Message, Role, Tool, ToolCall
from sluicegate.runtime.chat.template import ChatError, Template

WEATHER = Tool("weather", "Tells the weather", {"type": "object", "properties": {"city": {"type": "string"}}})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = tmp_path_factory.mktemp("model")
    make_tokenizer(folder)
    return Template.load(folder)


def user(text: str) -> Message:
    return Message(Role.USER, text)


def test_messages_are_written_as_the_template_says(template: Template) -> None:
    call = ToolCall("c1", "weather", '{"city":  "Zürich"}')
    messages = [
        Message(Role.SYSTEM, "Be short."),
        user("Weather?"),
        Message(Role.ASSISTANT, "Let me look.", (call,)),
        Message(Role.TOOL, "sunny", tool_call_id="c1"),
    ]
    assert template.render(messages, [], asks=True) == (
        "<|im_start|>system\nBe short.<|im_end|>\n"
        "<|im_start|>user\nWeather?<|im_end|>\n"
        '<|im_start|>assistant\nLet me look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Zürich"}}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nsunny\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_tools_are_given_in_the_form_of_hugging_face(template: Template) -> None:
    text = template.render([user("Hi")], [WEATHER], asks=False)
    said = next(line for line in text.splitlines() if line.startswith("{")).removesuffix(END)
    assert json.loads(said) == {
        "type": "function",
        "function": {"name": "weather", "description": "Tells the weather", "parameters": WEATHER.parameters},
    }


@pytest.mark.parametrize("arguments", ["not JSON", "[1]", "NaN", '{"a": 1e999}', '{"a": "\\ud800"}', "[" * 100_000])
def test_arguments_that_are_no_object_are_given_as_their_text(template: Template, arguments: str) -> None:
    asks = Message(Role.ASSISTANT, "", (ToolCall("c1", "weather", arguments),))
    text = template.render([user("Hi"), asks], [], asks=False)
    assert json.dumps(arguments) in text
    assert template.decode(template.encode(text)) == text


def test_a_refusal_of_the_template_is_told_in_its_words(template: Template) -> None:
    with pytest.raises(ChatError, match="a tool answers before anybody asked"):
        template.render([Message(Role.TOOL, "sunny", tool_call_id="c1")], [], asks=True)


def test_an_error_of_the_template_is_a_refusal_too(tmp_path: Path) -> None:
    broken = "{% if messages[0].content == 'x' %}{{ 1 + 'x' }}{% endif %}{{ messages[-1].content }}"
    make_tokenizer(tmp_path, broken)
    with pytest.raises(ChatError, match="does not take these messages"):
        Template.load(tmp_path).render([user("x")], [], asks=True)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from([START, END, END_OF_TEXT, "<tool_call>", ""]))
def test_the_tokens_of_a_text_say_that_text(template: Template, text: str, special: str) -> None:
    text = text + special + text
    ids = template.encode(text)
    assert template.decode(ids) == text
    assert b"".join(map(template.piece, ids)) == text.encode()


def test_special_tokens_in_a_text_are_read_as_such_and_none_are_added(template: Template) -> None:
    ids = template.encode(f"{START}{END}{END_OF_TEXT}")
    assert len(ids) == 3
    assert template.special_ids == frozenset(ids)
    assert template.encode("") == []


def test_half_of_a_surrogate_pair_is_refused(template: Template) -> None:
    with pytest.raises(ChatError, match="not Unicode"):
        template.encode("a\ud800b")


@given(st.data())
def test_any_tokens_are_decoded_as_the_library_does(template: Template, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, template.vocab_size - 1)))
    library = template._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    assert template.decode(ids) == library


def test_settings_of_a_tokenizer_that_change_texts_are_not_applied(tmp_path: Path) -> None:
    make_tokenizer(tmp_path)
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    fill = {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
            "pad_token": END_OF_TEXT}  # fmt: skip
    change_tokenizer(tmp_path, truncation=cut, padding=fill)
    template = Template.load(tmp_path)
    assert template.decode(template.encode("the weather is fine")) == "the weather is fine"


def test_an_added_token_says_its_own_text(tmp_path: Path) -> None:
    make_tokenizer(tmp_path)
    change_tokenizer(tmp_path, added_tokens={"<tool_call>": {"content": "éà"}})
    template = Template.load(tmp_path)
    (id,) = template.encode("éà")
    assert template.piece(id) == "éà".encode()


def test_an_id_that_only_the_model_has_says_nothing(template: Template) -> None:
    assert template.piece(template.vocab_size) == b""
    assert template.decode([template.vocab_size, *template.encode("ok")]) == "ok"


def test_what_ends_an_answer_is_known_from_the_tokenizer_the_settings_and_the_template(tmp_path: Path) -> None:
    make_tokenizer(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"eos_token": END_OF_TEXT}))
    template = Template.load(tmp_path)
    end_of_text, end, start = template.encode(END_OF_TEXT + END + START)
    assert template.stop_ids == {end_of_text, end}
    assert template.turn_end == END + "\n"
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [start, end]}))
    assert Template.load(tmp_path).stop_ids == {end_of_text, end, start}
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": start}))
    assert Template.load(tmp_path).stop_ids == {end_of_text, end, start}


def test_equal_folders_have_equal_digests_and_others_have_others(tmp_path: Path) -> None:
    for name, text in {"one": PLAIN, "same": PLAIN, "other": PLAIN.replace("Functions", "Tools")}.items():
        make_tokenizer(tmp_path / name, text)
    one, same, other = (Template.load(tmp_path / name).digest for name in ("one", "same", "other"))
    assert one == same != other


def spoilt(folder: Path, name: str, content: str | None) -> None:
    make_tokenizer(folder)
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("tokenizer.json", None, "has no tokenizer.json"),
        ("tokenizer.json", "{", "cannot be read"),
        ("chat_template.jinja", None, "has no chat template"),
        ("chat_template.jinja", "{% if %}", "chat_template.jinja"),
        ("chat_template.jinja", "nothing of it", "does not write what the assistant said"),
        ("generation_config.json", "{", "generation_config.json"),
        ("generation_config.json", '{"eos_token_id": ["x"]}', "generation_config.json"),
        ("generation_config.json", "[]", "generation_config.json"),
    ],
)
def test_a_folder_without_what_is_needed_is_refused_with_its_file(
    tmp_path: Path, name: str, content: str | None, says: str
) -> None:
    spoilt(tmp_path, name, content)
    with pytest.raises(ChatError) as refused:
        Template.load(tmp_path)
    assert says in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_the_date_of_a_template_is_that_of_its_loading(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, "{{ strftime_now('%f') }}" + PLAIN)
    template = Template.load(tmp_path)
    assert template.render([user("Hi")], [], asks=True) == template.render([user("Hi")], [], asks=True)


def test_a_tiny_model_has_room_for_the_vocabulary(tmp_path: Path) -> None:
    make_model(tmp_path)
    template = Template.load(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["vocab_size"] == template.vocab_size
    assert template.stop_ids == set(template.encode(END))
