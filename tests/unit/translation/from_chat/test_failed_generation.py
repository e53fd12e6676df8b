"""A refusal that contains the call of the model is its answer."""

import json
from typing import Any

import pytest

from antiphon.ids import new_id
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation import decode_request, normalise_input
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.from_chat.failed_generation import answer_of
from antiphon.translation.tool_mapping.offering import toolbox_of

TOOL = {
    "type": "function",
    "name": "read",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}


def offers() -> dict[str, Offer]:
    request = decode_request(json.dumps({"model": "m", "input": "Hi", "tools": [TOOL]}).encode())
    return dict(
        toolbox_of(request, normalise_input(request.input, new_id), DIALECTS["groq"]).offers
    )


def refusal(written: Any, code: str = "tool_use_failed") -> bytes:
    return json.dumps(
        {"error": {"message": "Failed.", "code": code, "failed_generation": written}}
    ).encode()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('<function=read>{"path": "a.py"}</function>', None),
        ('<function=read{"path": "a.py"}</function>', None),
        ('<function=read({"path": "a.py"})</function>', None),
        ('<function=read>{"path": "a.py"}<function>', None),
        ('<function=read> {"path": "a.py"} </function>', None),
        ('{"name": "read", "arguments": {"path": "a.py"}}', None),
        ('<tool_call>{"name": "read", "arguments": {"path": "a.py"}}</tool_call>', None),
        ('[{"name": "read", "parameters": {"path": "a.py"}}]', None),
        ('I read it.\n<function=read>{"path": "a.py"}</function>', "I read it."),
    ],
)
def test_the_call_is_read_in_any_form_that_models_write(written: str, text: str | None) -> None:
    answer = answer_of(refusal(written), offers())
    assert answer is not None
    (choice,) = json.loads(answer)["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "read",
        {"path": "a.py"},
    )
    assert (choice["message"]["content"], choice["finish_reason"]) == (text, "tool_calls")


@pytest.mark.parametrize(
    "body",
    [
        refusal(""),
        refusal("I cannot do that."),
        refusal('<function=write>{"path": "a.py"}</function>'),
        refusal('<function=read>{"path": "a.p'),
        refusal('<function=read>{"path": "a.py"}</function>', code="invalid_request_error"),
        refusal({"name": "read"}),
        b"tool_use_failed",
        b'{"error": "tool_use_failed"}',
        b'["tool_use_failed"]',
    ],
)
def test_another_refusal_has_no_answer(body: bytes) -> None:
    assert answer_of(body, offers()) is None


def test_two_misspelt_calls_are_both_read() -> None:
    answer = answer_of(
        refusal('<function=read{"path": "a"}</function>\n<function=read{"path": "b"}</function>'),
        offers(),
    )
    assert answer is not None
    calls = json.loads(answer)["choices"][0]["message"]["tool_calls"]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [
        {"path": "a"},
        {"path": "b"},
    ]


@pytest.mark.parametrize(
    "body", [b'{"error": "tool_use_failed", "x": ' + b"[" * 5_000, b'{"tool_use_failed": "\xff"}']
)
def test_a_refusal_that_cannot_be_decoded_has_no_answer(body: bytes) -> None:
    assert answer_of(body, offers()) is None


def test_a_text_of_many_beginnings_is_read_once() -> None:
    assert answer_of(refusal("<function=a{" * 20_000), offers()) is None
