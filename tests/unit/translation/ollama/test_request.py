"""What a Chat request becomes in Ollama's native API."""

from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.translation.ollama.request import (
    NativeOptions,
    native_messages,
    native_request,
    requested_window,
)

HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}}
PNG = "data:image/png;base64,iVBORw0KGgo="


def sent(own: NativeOptions = NativeOptions(), /, **body: Any) -> dict[str, Any]:  # noqa: B008 - it is frozen
    """The native request as the server reads it."""
    native = native_request({"model": "m", "messages": HELLO, **body}, own)
    return msgspec.json.decode(msgspec.json.encode(native))  # type: ignore[no-any-return]


def test_neither_the_prompt_nor_the_window_may_be_cut_silently() -> None:
    assert sent() == {
        "model": "m",
        "messages": HELLO,
        "stream": False,
        "truncate": False,
        "shift": False,
    }


def test_streaming_is_requested_by_name_because_it_is_the_native_default() -> None:
    assert sent(stream=True, stream_options={"include_usage": True})["stream"] is True


@pytest.mark.parametrize(
    ("body", "native"),
    [
        ({"temperature": 0.2}, {"temperature": 0.2}),
        ({"top_p": 0.9, "top_k": 20, "min_p": 0.1}, {"top_p": 0.9, "top_k": 20, "min_p": 0.1}),
        ({"seed": 7}, {"seed": 7}),
        ({"stop": "END"}, {"stop": ["END"]}),
        ({"stop": ["A", "B"]}, {"stop": ["A", "B"]}),
        ({"max_tokens": 9}, {"num_predict": 9}),
        ({"max_completion_tokens": 9}, {"num_predict": 9}),
        (
            {"presence_penalty": 1, "frequency_penalty": 0.5},
            {"presence_penalty": 1, "frequency_penalty": 0.5},
        ),
        (
            {"repeat_penalty": 1.1, "repeat_last_n": 64},
            {"repeat_penalty": 1.1, "repeat_last_n": 64},
        ),
        (
            {"options": {"mirostat": 1, "temperature": 1}, "temperature": 0.1},
            {"mirostat": 1, "temperature": 0.1},
        ),
    ],
)
def test_sampling_goes_into_the_options(body: dict[str, Any], native: dict[str, Any]) -> None:
    assert sent(**body)["options"] == native


@pytest.mark.parametrize(
    ("body", "think"),
    [
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "low"}, "low"),
        ({"reasoning_effort": "high"}, "high"),
        ({"reasoning": {"effort": "medium"}}, "medium"),
        ({"think": True, "reasoning_effort": "none"}, True),
    ],
)
def test_the_effort_controls_how_much_to_think(body: dict[str, Any], think: Any) -> None:
    assert sent(NativeOptions(thinks=True), **body)["think"] == think
    assert sent(**body)["think"] == think  # whether the model can is unknown
    assert "think" not in sent(NativeOptions(thinks=False), **body)


def test_without_an_effort_the_model_decides_how_much_to_think() -> None:
    assert "think" not in sent(NativeOptions(thinks=True))


@pytest.mark.parametrize(
    ("form", "native"),
    [
        (
            {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
            {"type": "object"},
        ),
        ({"type": "json_object"}, "json"),
        ({"type": "json_object", "schema": {"type": "array"}}, {"type": "array"}),
    ],
)
def test_the_form_of_the_answer_is_a_schema_or_any_json(form: dict[str, Any], native: Any) -> None:
    assert sent(response_format=form)["format"] == native


def test_free_text_has_no_format() -> None:
    assert "format" not in sent(response_format={"type": "text"})


def test_the_window_and_the_time_in_memory_are_those_of_the_server() -> None:
    native = sent(NativeOptions(num_ctx=16_384, keep_alive="30m"), options={"num_ctx": 512})

    assert (native["options"]["num_ctx"], native["keep_alive"]) == (16_384, "30m")
    assert sent(NativeOptions(keep_alive=0))["keep_alive"] == 0


@pytest.mark.parametrize(
    ("options", "window"), [({"num_ctx": 512}, 512), ({}, 0), ({"num_ctx": "x"}, 0), (None, 0)]
)
def test_a_client_can_request_a_window(options: Any, window: int) -> None:
    assert requested_window({"options": options}) == window


@pytest.mark.parametrize(
    ("choice", "tools"),
    [
        (None, [TOOL, OTHER]),
        ("auto", [TOOL, OTHER]),
        ("required", [TOOL, OTHER]),
        ("none", None),
        ({"type": "function", "function": {"name": "other"}}, [OTHER]),
    ],
)
def test_a_choice_of_tools_limits_what_is_offered(choice: Any, tools: Any) -> None:
    assert sent(tools=[TOOL, OTHER], tool_choice=choice).get("tools") == tools


def test_log_probabilities_have_the_same_names() -> None:
    assert {"logprobs": True, "top_logprobs": 2}.items() <= sent(
        logprobs=True, top_logprobs=2
    ).items()


def test_what_the_native_api_does_not_have_is_left_out() -> None:
    native = sent(user="u", parallel_tool_calls=True, stream_options={"include_usage": True})

    assert native.keys() == {"model", "messages", "stream", "truncate", "shift"}


@pytest.mark.parametrize(
    ("message", "native"),
    [
        ({"role": "system", "content": "Be brief."}, {"role": "system", "content": "Be brief."}),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}],
            },
            {"role": "user", "content": "A\n\nB"},
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "?"},
                    {"type": "image_url", "image_url": {"url": PNG}},
                ],
            },
            {"role": "user", "content": "?", "images": ["iVBORw0KGgo="]},
        ),
        (
            {"role": "assistant", "content": None, "refusal": "I cannot."},
            {"role": "assistant", "content": "I cannot."},
        ),
        (
            {"role": "assistant", "content": "Yes.", "reasoning": "Hm."},
            {"role": "assistant", "content": "Yes.", "thinking": "Hm."},
        ),
    ],
)
def test_a_message_is_text_with_images_and_separate_thinking(
    message: dict[str, Any], native: dict[str, Any]
) -> None:
    assert native_messages([message]) == [native]


def test_a_call_has_its_arguments_as_an_object_and_its_output_the_name_of_the_tool() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"b": 1, "a": 1.0}'},
    }
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Nothing."},
    ]

    encoded = msgspec.json.encode(native_messages(messages))

    assert b'"arguments":{"b": 1, "a": 1.0}' in encoded  # as they were: the prompt keeps its prefix
    assert msgspec.json.decode(encoded)[1] == {
        "role": "tool",
        "content": "Nothing.",
        "tool_call_id": "call_1",
        "tool_name": "look",
    }


@pytest.mark.parametrize("arguments", ["", None, "{}"])
def test_a_call_without_arguments_has_an_empty_object(arguments: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}

    assert sent(messages=[{"role": "assistant", "tool_calls": [call]}])["messages"][0][
        "tool_calls"
    ] == [{"id": "c", "function": {"name": "look", "arguments": {}}}]


def test_arguments_that_are_no_object_go_inside_one() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "[1"}}

    native = sent(messages=[{"role": "assistant", "tool_calls": [call]}])

    assert native["messages"][0]["tool_calls"][0]["function"]["arguments"] == {"arguments": "[1"}


@pytest.mark.parametrize("url", ["https://example.com/cat.png", "data:image/png,raw", None])
def test_an_image_that_is_not_in_the_request_is_refused(url: Any) -> None:
    part = {"type": "image_url", "image_url": {"url": url}}

    with pytest.raises(ClientError, match="does not fetch images"):
        native_messages([{"role": "user", "content": [part]}])
