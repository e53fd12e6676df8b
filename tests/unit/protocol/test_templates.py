"""What becomes of a prompt's placeholders."""

from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.protocol.prompts import PromptTemplate
from antiphon.protocol.requests import PromptParam
from antiphon.protocol.templates import MOST_GROWTH, fill, variables_of
from antiphon.protocol.validation.prompts import read_template

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
FILE = {"type": "input_file", "filename": "a.txt", "file_data": "aGk="}


def template(**fields: Any) -> PromptTemplate:
    return read_template(fields, PromptTemplate)


def naming(**variables: Any) -> PromptParam:
    return msgspec.convert({"id": "pmpt_1", "variables": variables}, PromptParam)


def refusal(one: PromptTemplate, prompt: PromptParam) -> tuple[str | None, str | None, str]:
    with pytest.raises(ClientError) as caught:
        fill(one, prompt)
    return caught.value.code, caught.value.param, caught.value.message


def stated(role: str, *content: Any) -> list[Any]:
    """A message of these parts, filled with an image, a file and a text, as plain data."""
    messages = [
        {"role": role, "content": content[0] if isinstance(content[0], str) else list(content)}
    ]
    one = template(messages=messages)
    values = {
        "photo": IMAGE,
        "notes": FILE,
        "who": "Ada",
        "words": {"type": "input_text", "text": "{{who}}"},
    }
    _, (message,) = fill(one, naming(**{name: values[name] for name in variables_of(one)}))
    return list(msgspec.to_builtins(message.content))


def text(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("{{a}} {{ b }} {{\tc\n}} {{a}}", ["a", "b", "c"]),
        ("{a} {{}} {{ }} {{a b}} {{1a}} {{a-b}} { {a}} {{a} }", []),
        ("{{{a}}}", ["a"]),
        ("{{a}}{{a_1}}", ["a", "a_1"]),
        ("{{" + "x" * 64 + "}} {{" + "y" * 65 + "}}", ["x" * 64]),
    ],
)
def test_placeholders_are_names_in_two_braces_with_or_without_spaces(
    words: str, names: list[str]
) -> None:
    assert variables_of(template(instructions=words)) == names


def test_variables_are_listed_once_in_the_order_in_which_they_stand() -> None:
    messages = [
        {"role": "user", "content": [text("{{b}} {{a}}"), IMAGE]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "{{c}}"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "{{d}}"}]},
    ]
    assert variables_of(template(instructions="{{a}}", messages=messages)) == ["a", "b", "c"]


def test_a_text_is_inserted_as_it_is() -> None:
    one = template(instructions="<{{a}}> {{b}}")
    assert fill(one, naming(a="{{b}} \\g<0> $1", b=""))[0] == "<{{b}} \\g<0> $1> "


def test_texts_of_a_message_stay_one_part() -> None:
    assert stated("user", "For {{who}}: {{words}}.") == [text("For Ada: {{who}}.")]
    assert stated("developer", text("For {{who}}"), text("{{words}}")) == [
        text("For Ada"),
        text("{{who}}"),
    ]


def test_images_and_files_become_parts_between_the_texts() -> None:
    assert stated("user", "{{photo}} of {{who}}{{notes}}{{photo}}") == [
        IMAGE,
        text(" of Ada"),
        FILE,
        IMAGE,
    ]
    assert stated("system", IMAGE, text("{{photo}}")) == [IMAGE, IMAGE]


def test_a_message_of_the_assistant_has_an_id_that_is_always_the_same() -> None:
    one = template(
        messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "{{a}}"}]
    )
    first, again = [fill(one, naming(a="Ho"))[1][1] for _ in range(2)]
    assert msgspec.to_builtins(first) == msgspec.to_builtins(again)
    assert (first.id, first.status, first.content[0].type) == (
        "msg_1_pmpt_1",
        "completed",
        "output_text",
    )


def test_missing_variables_are_named() -> None:
    one = template(instructions="{{a}} {{b}} {{c}}")
    expected = "Missing prompt variables: 'a' and 'c'. Set them in 'prompt.variables'."
    assert refusal(one, naming(b="x")) == (
        "missing_required_parameter",
        "prompt.variables",
        expected,
    )
    assert refusal(one, PromptParam(id="pmpt_1"))[2].startswith(
        "Missing prompt variables: 'a', 'b', and 'c'."
    )


def test_unknown_variables_are_named() -> None:
    code, param, message = refusal(template(instructions="{{a}}"), naming(a="x", tone="y"))
    assert (code, param) == ("unknown_parameter", "prompt.variables")
    assert "variables: 'tone'." in message and message.endswith(" It has 'a'.")
    assert refusal(template(instructions="Hi"), naming(a="x"))[2].endswith("It has no variables.")


@pytest.mark.parametrize(
    "fields",
    [
        {"instructions": "{{a}}"},
        {"messages": [{"role": "assistant", "content": "{{a}}"}]},
        {
            "messages": [
                {"role": "user", "content": [{**text("{{a}}"), "prompt_cache_breakpoint": {}}]}
            ]
        },
    ],
)
@pytest.mark.parametrize("value", [IMAGE, FILE])
def test_where_only_text_can_stand_an_image_and_a_file_are_rejected(
    fields: Any, value: Any
) -> None:
    code, param, message = refusal(template(**fields), naming(a=value))
    assert (code, param) == ("invalid_value", "prompt.variables.a")
    assert f"can contain only text, and this is an '{value['type']}'." in message


def test_a_variable_may_be_long_and_cannot_multiply_without_bound() -> None:
    once = template(instructions="{{a}}")
    often = template(instructions="{{a}}" * 3)
    assert fill(once, naming(a="x" * 3 * MOST_GROWTH))[0] == "x" * 3 * MOST_GROWTH
    assert len(str(fill(often, naming(a="x" * (MOST_GROWTH // 2)))[0])) == 3 * (MOST_GROWTH // 2)
    for value in (
        "x" * MOST_GROWTH,
        {**IMAGE, "image_url": "data:image/png;base64," + "aGk=" * (MOST_GROWTH // 4)},
    ):
        one = (
            often
            if isinstance(value, str)
            else template(messages=[{"role": "user", "content": "{{a}}" * 3}])
        )
        assert refusal(one, naming(a=value))[:2] == ("invalid_value", "prompt.variables")
