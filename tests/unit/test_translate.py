"""One request and its answer, translated without I/O."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from antiphon import ClientError, ConfigError
from antiphon.testing import assert_event_stream
from antiphon.translation import Translator
from tests.support.replay import completion, delta, sse, text

HI = {"model": "m", "input": "Hi"}


def translate(translator: Translator, parts: Iterable[bytes]) -> list[dict[str, Any]]:
    events = [event for part in parts for event in translator.feed(part)] + translator.finish()
    reported: list[dict[str, Any]] = msgspec.to_builtins(events)
    assert_event_stream(reported)
    return reported


def test_it_gives_the_chat_request_and_takes_the_answers_bytes() -> None:
    translator = Translator({**HI, "instructions": "Be brief.", "stream": True})
    events = translate(translator, [text("Hello", " there")])

    assert translator.chat_request["messages"][0] == {"role": "system", "content": "Be brief."}
    assert translator.chat_request["stream"] is True
    assert translator.response.to_dict() == {**events[-1]["response"], "output_text": "Hello there"}
    assert translator.response.status == "completed"


def test_the_cuts_of_the_bytes_change_nothing() -> None:
    def created(parts: Iterable[bytes]) -> list[dict[str, Any]]:
        numbers = iter(range(100))
        fixed = Translator(HI, new_id=lambda prefix: f"{prefix}_{next(numbers)}", now=lambda: 7.0)
        return translate(fixed, parts)

    data = text("Hëllo", " there")
    assert created([data]) == created(data[start : start + 1] for start in range(len(data)))


def test_a_plain_answer_is_translated_too() -> None:
    translator = Translator(HI, is_json=True)
    assert "stream" not in translator.chat_request or translator.chat_request["stream"] is False
    events = translate(translator, [completion("Hello")])

    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Hello"


@pytest.mark.parametrize(
    "data", [b"", b"data: {broken\n\n", b"\xff\xfe", sse({"error": {"message": "boom"}})]
)
@pytest.mark.parametrize("is_json", [False, True])
def test_nothing_that_a_backend_sends_raises(data: bytes, is_json: bool) -> None:
    events = translate(Translator(HI, is_json=is_json), [data])

    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]


def test_the_dialect_is_a_familys_name() -> None:
    assert (
        Translator({**HI, "max_output_tokens": 16}, dialect="openai").chat_request[
            "max_completion_tokens"
        ]
        == 16
    )
    with pytest.raises(ConfigError, match="Unknown dialect"):
        Translator(HI, dialect="nope")


def test_signatures_go_round() -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    tool = {
        "type": "function",
        "name": "look",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
    body = {**HI, "tools": [tool], "include": ["reasoning.encrypted_content"]}
    first = Translator(body, dialect="openrouter")
    chunks = sse(delta(reasoning_details=[detail]), delta(tool_calls=[call]), delta("tool_calls"))
    output = translate(first, [chunks])[-1]["response"]["output"]

    stated = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "4"}
    second = Translator(
        {**body, "input": [{"role": "user", "content": "Hi"}, *output, stated]},
        dialect="openrouter",
    )
    assert second.chat_request["messages"][1]["reasoning_details"] == [detail]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"model": "m"}, "missing_required_parameter"),
        ({"model": "m", "input": []}, "missing_required_parameter"),
        ({**HI, "previous_response_id": "resp_1"}, "previous_response_not_found"),
        ({**HI, "temperature": 99}, "decimal_above_max_value"),
        ({**HI, "foo": 1}, "unknown_parameter"),
        ({"model": "m", "input": [{"type": "item_reference", "id": "msg_1"}]}, None),
        (
            {
                "model": "m",
                "input": [{"type": "function_call_output", "call_id": "c", "output": "4"}],
            },
            None,
        ),
    ],
)
def test_what_the_api_would_refuse_is_refused(request_: dict[str, Any], code: str | None) -> None:
    with pytest.raises(ClientError) as caught:
        Translator(request_)
    assert caught.value.code == code
