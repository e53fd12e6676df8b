"""The walk and `msgspec.convert` must agree on what fits: else a request is refused without a
reason, or worse.
"""

import copy
import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from antiphon.errors import ClientError
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.resources import InputItemsQuery
from antiphon.protocol.validation.type_errors import check_fields, nearest
from antiphon.protocol.validation.validate import decode_request, normalize
from tests.support.chance import examples

FULL: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": "hi", "phase": None},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "x",
                    "prompt_cache_breakpoint": {"mode": "explicit"},
                },
                {
                    "type": "input_image",
                    "image_url": "https://example.com/a.png",
                    "file_id": None,
                    "detail": "auto",
                },
                {
                    "type": "input_file",
                    "file_data": "aGk=",
                    "filename": "a.txt",
                    "file_url": None,
                    "detail": "low",
                },
            ],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "x",
                    "annotations": [{"a": 1}],
                    "logprobs": None,
                    "parsed": [1],
                },
                {"type": "refusal", "refusal": "no"},
            ],
            "phase": "commentary",
        },
        {
            "type": "function_call",
            "call_id": "c",
            "name": "f",
            "arguments": "{}",
            "namespace": None,
            "caller": None,
            "async": False,
            "parsed_arguments": {},
            "internal_chat_message_metadata_passthrough": {},
        },
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_text", "text": "x"}],
            "name": "f",
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "x"}],
            "content": [{"type": "reasoning_text", "text": "x"}],
            "encrypted_content": "x",
        },
        {"type": "item_reference", "id": "msg_2"},
    ],
    "include": ["reasoning.encrypted_content"],
    "tools": [
        {
            "type": "function",
            "name": "f",
            "description": "x",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
            "strict": True,
            "output_schema": {},
            "allowed_callers": ["direct"],
            "async": False,
            "defer_loading": None,
        }
    ],
    "tool_choice": {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "f"}],
    },
    "metadata": {"k": "v"},
    "text": {
        "format": {
            "type": "json_schema",
            "name": "n",
            "schema": {},
            "strict": None,
            "description": "x",
        },
        "verbosity": "low",
    },
    "temperature": 1,
    "top_p": 0.5,
    "presence_penalty": -2,
    "parallel_tool_calls": True,
    "stream": True,
    "stream_options": {"include_obfuscation": False},
    "background": False,
    "max_output_tokens": 16,
    "max_tool_calls": 1,
    "reasoning": {"effort": "low", "summary": "auto", "context": "auto", "mode": "standard"},
    "user": "u",
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "implicit"},
    "prompt_cache_retention": "24h",
    "truncation": "auto",
    "instructions": "x",
    "store": False,
    "service_tier": "auto",
    "top_logprobs": 20,
    "previous_response_id": "resp_1",
    "conversation": None,
    "client_metadata": {"x": [1]},
    "antiphon": {},
}
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "text"}]}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 1,
    "max_tokens": 5,
    "n": 1,
    "stop": ["x"],
    "tools": [{}],
    "tool_choice": "auto",
    "response_format": {},
}
CASES: list[tuple[type[Struct], dict[str, Any]]] = [
    (CreateResponse, FULL),
    (ChatCompletionRequest, CHAT),
    (EmbeddingsRequest, {"model": "m", "input": ["x"], "dimensions": 3}),
    (InputItemsQuery, {"limit": 3, "order": "asc", "include": ["reasoning.encrypted_content"]}),
]
VALUES: list[Any] = [
    None, True, False, 0, 1, -3, 15, 16, 21, 1.0, 16.5, -0.5, 10**30, 10**400, 1e300, "", "x", "a b", "a\n", "@",  # noqa: E501 - one text, or a row of a table
    "auto", "message", "function", "custom", "text", "json_object", "reasoning", "input_text", "output_text", "low",  # noqa: E501 - one text, or a row of a table
    "web_search", "é" * 64, "x" * 65, "😀" * 129, "x" * 513, [], [[]], [{}], ["x"], [1], [None], ["x"] * 65, {},  # noqa: E501 - one text, or a row of a table
    {"type": "text"}, {"type": None}, {"type": 1}, {"type": "function", "name": "f"}, {"k": "v"}, {"k": None},  # noqa: E501 - one text, or a row of a table
    {"id": "x"}, {"type": "message", "role": "user", "content": "x"}, {str(i): "" for i in range(17)},  # noqa: E501 - one text, or a row of a table
    [{"type": "function", "name": "f"}] * 129,
]  # fmt: skip
KEYS = ["bogus", "type", "id", "role", "name", "text", "strict", "input"]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of the data with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def mutate(data: Any, draw: Any) -> None:
    container, key = draw(st.sampled_from(places(data)))
    change = draw(st.sampled_from(["replace", "remove", "add"]))
    if change == "replace":
        container[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    elif change == "remove":
        del container[key]
    elif isinstance(container, dict):
        container[draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    else:
        container.append(copy.deepcopy(container[key]))


def converts(cls: type[Struct], data: Any) -> bool:
    try:
        msgspec.convert(data, cls)
    except msgspec.ValidationError:
        return False
    return True


def walks(cls: type[Struct], data: Any) -> bool:
    try:
        check_fields(cls, data)
    except ClientError:
        return False
    return True


@pytest.mark.parametrize(("cls", "data"), CASES)
def test_a_full_request_fits(cls: type[Struct], data: dict[str, Any]) -> None:
    data = copy.deepcopy(data)
    normalize(data)
    assert converts(cls, data)
    assert walks(cls, data)


@pytest.mark.wide
@examples(400)
@given(st.sampled_from(CASES), st.integers(1, 3), st.data())
def test_the_walk_finds_something_wrong_exactly_where_msgspec_does(
    case: tuple[type[Struct], dict[str, Any]], mutations: int, data: st.DataObject
) -> None:
    cls = case[0]
    body = copy.deepcopy(case[1])
    for _ in range(mutations):
        if body:
            mutate(body, data.draw)
    normalize(body)
    assert walks(cls, body) == converts(cls, body)


def test_the_full_request_breaks_no_rule() -> None:
    assert decode_request(json.dumps(FULL).encode()).model == "m"


@pytest.mark.wide
@examples(200)
@given(st.integers(1, 3), st.data())
def test_a_full_request_with_anything_changed_is_taken_or_refused(
    mutations: int, data: st.DataObject
) -> None:
    body = copy.deepcopy(FULL)
    for _ in range(mutations):
        mutate(body, data.draw)
    try:
        decode_request(json.dumps(body).encode())
    except ClientError as error:
        assert not error.message.startswith("Invalid request")


@pytest.mark.wide
@pytest.mark.parametrize(("cls", "data"), CASES)
def test_every_value_in_every_place_is_judged_alike(
    cls: type[Struct], data: dict[str, Any]
) -> None:
    differing = []
    for i in range(len(places(data))):
        for value in VALUES:
            body = copy.deepcopy(data)
            container, key = places(body)[i]
            container[key] = value
            normalize(body)
            if walks(cls, body) != converts(cls, body):
                differing.append((key, value))
    assert differing == []


class Inner(Struct, forbid_unknown_fields=True):
    colour: str = ""


class Outer(Struct, forbid_unknown_fields=True):
    size: Annotated[int, Meta(ge=1)]
    name: str
    inner: Inner | None = None


WRONG = [
    ({"bogus": 1}, "size"),
    ({"size": 0, "bogus": 1}, "name"),
    ({"size": 0, "name": 1, "bogus": 1}, "bogus"),
    ({"name": 1, "size": 0}, "size"),
    ({"size": 1, "name": 1}, "name"),
    ({"size": 1, "name": "", "inner": {"x": 1}}, "inner.x"),
    ({"size": 1, "name": "", "inner": []}, "inner"),
]


@pytest.mark.parametrize(("data", "param"), WRONG)
def test_what_is_missing_comes_before_what_is_unknown_and_that_before_the_fields_in_order(
    data: dict[str, Any], param: str
) -> None:
    with pytest.raises(ClientError) as caught:
        check_fields(Outer, data)
    assert caught.value.param == param


INTENDED = [
    ("sto", "store"), ("stroe", "store"), ("modle", "model"), ("instruction", "instructions"), ("strem", "stream"),  # noqa: E501 - one text, or a row of a table
    ("temprature", "temperature"), ("foo", None), ("x", None), ("", None), ("t" * 100_000, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "intended"), INTENDED)
def test_a_misspelt_name_is_distinguished_from_an_unknown_one(
    name: str, intended: str | None
) -> None:
    assert (
        nearest(name, ["model", "store", "stream", "instructions", "temperature", "top_p"])
        == intended
    )
