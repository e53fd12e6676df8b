"""How an answer to a probe is read."""

from typing import Any

import pytest

from antiphon.upstream.probing.answers import ProbeAnswer


def answer(finish: str = "stop", **message: Any) -> ProbeAnswer:
    return ProbeAnswer(
        200,
        {"choices": [{"message": message, "finish_reason": finish}], "usage": {"prompt_tokens": 9}},
    )


@pytest.mark.parametrize(
    ("message", "style"),
    [
        ({"content": "Yes.", "reasoning_content": "Hm."}, "field"),
        ({"content": "Yes.", "reasoning": "Hm."}, "field"),
        ({"content": "Yes.", "reasoning_content": ""}, "none"),
        ({"content": "<think>Hm.</think>Yes."}, "tags"),
        ({"content": "\n<think>\nHm."}, "tags"),
        ({"content": "Hm.</think>Yes."}, "preopened"),
        (
            {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Yes."}]},
            "field",
        ),
        ({"content": "Yes."}, "none"),
        ({"content": None}, "none"),
    ],
)
def test_the_style_of_thinking(message: dict[str, Any], style: str) -> None:
    assert answer(**message).thinking == style


def test_a_text_that_was_cut_may_still_turn_out_to_be_thinking() -> None:
    assert answer("length", content="Seven is").thinking is None


def test_a_probe_answer_has_the_text_after_the_thinking() -> None:
    assert answer(content="<think>No?</think>\n\nYes.").stated == "Yes."
    assert answer(content="Yes.").stated == "Yes."


# One line of each format, as models write it: the threads that issue 18 lists, and the models' own
# cards.
@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
            "hermes",
        ),
        (
            "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
            "</tool_call>",
            "glm",
        ),
        (
            "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>",
            "qwen-coder",
        ),
        ('[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}}]', "mistral"),
        ('<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}', "llama"),
        (
            "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function",
            "deepseek",
        ),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0", "kimi"),
        ('```tool_code\nget_weather(city="Paris")\n```', "tool-code"),
        ('{"name": "get_weather", "parameters": {"city": "Paris"}}', "json"),
        ('```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```', "json-block"),
        ('{"name": "Paris", "weather": "mild"}', ""),
        ("The weather in Paris is mild.", ""),
        ("<think>I call <tool_call>{ now.</think>It is mild.", ""),
    ],
)
def test_the_format_of_a_call_in_the_text(text: str, form: str) -> None:
    assert answer(content=text).text_call == form


def test_calls_with_their_arguments() -> None:
    call = {"function": {"name": "f", "arguments": '{"a": 1}'}}
    broken = {"function": {"name": "g", "arguments": '{"a": '}}

    assert answer(tool_calls=[call, broken]).calls == [("f", {"a": 1}), ("g", None)]


@pytest.mark.parametrize("text", ['{"a": 1}', '```json\n{"a": 1}\n```', '<think>x</think>{"a": 1}'])
def test_json_stands_in_a_text_with_or_without_a_fence(text: str) -> None:
    assert answer(content=text).json == {"a": 1}


@pytest.mark.parametrize(
    "body", [None, [], "x", {"choices": []}, {"choices": [None]}, {"choices": "x"}, {"usage": 3}]
)
def test_an_answer_of_another_shape_is_no_good_answer(body: Any) -> None:
    one = ProbeAnswer(200, body)

    assert not one.is_good
    assert (one.calls, one.content, one.prompt_tokens, one.answer_tokens) == ([], "", 0, 0)


@pytest.mark.parametrize(
    ("status", "is_it"), [(400, True), (422, True), (500, True), (401, False), (429, False)]
)
def test_only_some_statuses_mean_that_a_backend_cannot_do_something(
    status: int, is_it: bool
) -> None:
    assert ProbeAnswer(status).is_refusal is is_it
