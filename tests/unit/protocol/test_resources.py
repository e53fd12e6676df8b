"""The body of a request for a count."""

import json
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import UNSET
from msgspec.structs import fields
from openai.types.responses.input_token_count_params import InputTokenCountParams

from antiphon.errors import ClientError
from antiphon.protocol.resources import CountInputTokens
from antiphon.protocol.validation.validate import decode_count, decode_request

GOOD = {"model": "m", "input": "hello"}


def decoded(**body: Any) -> Any:
    return decode_count(json.dumps(body).encode())


def refusal(**body: Any) -> tuple[str | None, str | None]:
    with pytest.raises(ClientError) as caught:
        decoded(**body)
    assert caught.value.status == 400
    return caught.value.code, caught.value.param


def test_it_has_the_fields_of_the_sdk() -> None:
    own = {"prompt"}  # what a prompt adds is counted too
    assert {field.name for field in fields(CountInputTokens)} - own == get_type_hints(
        InputTokenCountParams
    ).keys()


def test_it_is_read_as_the_response_that_is_to_be_counted() -> None:
    body = {
        **GOOD,
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "look"}],
        "truncation": "auto",
    }

    assert decoded(**body) == decode_request(json.dumps(body).encode())


@pytest.mark.parametrize("personality", ["friendly", "pragmatic", "gruff", "x" * 64, None])
def test_any_personality_is_taken_and_changes_nothing(personality: str | None) -> None:
    assert decoded(**GOOD, personality=personality) == decoded(**GOOD)


def test_whatever_the_sdk_lets_be_null_may_be() -> None:
    nullable = [
        name for name, hint in get_type_hints(InputTokenCountParams).items() if is_optional(hint)
    ]
    provided = {name: None for name in nullable if name not in ("model", "previous_response_id")}

    request = decoded(**provided, model="m", previous_response_id="resp_1")

    assert "input" in provided and request.input is UNSET


def is_optional(hint: Any) -> bool:
    return hint is type(None) or (
        get_origin(hint) is not None and any(map(is_optional, get_args(hint)))
    )


REFUSED: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "no model": ({"input": "x"}, ("missing_required_parameter", "model")),
    "a null model": ({"input": "x", "model": None}, ("missing_required_parameter", "model")),
    "no input": ({"model": "m"}, ("missing_required_parameter", "input")),
    "a number as input": ({**GOOD, "input": 7}, ("invalid_type", "input")),
    "what the API does not know": ({**GOOD, "inptu": 1}, ("unknown_parameter", "inptu")),
    "what only a response has": ({**GOOD, "temperature": 1}, ("unknown_parameter", "temperature")),
    "a long personality": (
        {**GOOD, "personality": "x" * 65},
        ("string_above_max_length", "personality"),
    ),
    "two histories": (
        {**GOOD, "conversation": "conv_1", "previous_response_id": "resp_1"},
        ("mutually_exclusive_parameters", "previous_response_id"),
    ),
    "a wrong part": (
        {**GOOD, "input": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]},
        ("invalid_value", "input[0].content[0].type"),
    ),
}


@pytest.mark.parametrize(("body", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_refused_as_for_a_response(
    body: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert refusal(**body) == expected
