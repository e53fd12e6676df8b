"""Answers to agents name what they answer, and equal ones have one digest."""

from typing import Any

import msgspec

from antiphon.jobs.agent_answers import (
    ClientAnswer,
    answers_in,
    call_id_of,
    digest_of,
    item_answered,
)
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request


def request(*items: dict[str, Any]) -> CreateResponse:
    return decode_request(msgspec.json.encode({"model": "m", "input": [*items]}))


def approval(item_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "mcp_approval_response",
        "approval_request_id": item_id,
        "approve": True,
        **fields,
    }


def output(call_id: str, value: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def test_answers_are_found_by_the_items_that_they_answer() -> None:
    text = {"type": "input_text", "text": "rain"}
    image = {"type": "input_image", "image_url": "https://example.com/a.png"}
    found = answers_in(
        request(
            {"role": "user", "content": "Hello"},
            approval("mcpr_1", approve=False, reason="no"),
            output("call_2", "sun"),
            output("call_3", [text, text]),
            output("call_4", [text, image]),
        )
    )

    assert found == {
        "mcpr_1": ClientAnswer(False, "no"),
        "fc_2": ClientAnswer(output="sun"),
        "fc_3": ClientAnswer(output="rainrain"),
        "fc_4": ClientAnswer(output=None),
    }
    assert call_id_of("fc_2") == "call_2"


def test_other_items_are_no_answers() -> None:
    items = request(
        {"role": "user", "content": "Hello"}, output("toolu_1", "sun"), approval("fc_1")
    ).input

    assert isinstance(items, list)
    assert [item_answered(item) for item in items] == ["", "", ""]
    assert answers_in(decode_request(b'{"model": "m", "input": "Hello"}')) == {}


def test_equal_answers_have_one_digest_in_any_order() -> None:
    one, two = approval("mcpr_1"), approval("mcpr_2", approve=False)
    digest = digest_of(answers_in(request(one, two)))

    assert digest == digest_of(answers_in(request({**two, "id": "mcpa_9"}, one)))
    for other in (
        [one],
        [one, approval("mcpr_2")],
        [one, approval("mcpr_2", approve=False, reason="no")],
        [approval("mcpr_3"), two],
    ):
        assert digest != digest_of(answers_in(request(*other)))
