"""Which requests are the same for the cache."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.cache.key import MAY_DIFFER, SEEN_AS_ITEMS, cache_key
from antiphon.ids import new_id
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.to_chat_completions.request import normalise_input

SECRET = b"s" * 32
TEXTS = st.text(
    st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), min_size=1, max_size=20
)
MESSAGES = st.builds(
    lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "system"]), TEXTS
)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
FUNCTION = st.fixed_dictionaries(
    {"type": st.just("function"), "name": st.from_regex(r"[a-z]{1,8}", fullmatch=True)},
    optional={
        "description": TEXTS,
        "strict": st.booleans(),
        "parameters": st.just(SCHEMA),
    },
)
FORMAT = {"type": "json_schema", "name": "f", "schema": {"type": "object"}}

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "model": TEXTS,
    "input": TEXTS | st.lists(MESSAGES, min_size=1, max_size=3),
    "include": st.sampled_from([["reasoning.encrypted_content"], ["message.output_text.logprobs"]]),
    "tools": st.lists(FUNCTION, min_size=1, max_size=2, unique_by=lambda tool: tool["name"]),
    "tool_choice": st.sampled_from(["auto", "none"]),
    "metadata": st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=2),
    "text": st.sampled_from(
        [{"verbosity": "low"}, {"format": {"type": "json_object"}}, {"format": FORMAT}]
    ),
    "temperature": st.integers(0, 20).map(lambda tenths: tenths / 10),
    "top_p": st.integers(0, 10).map(lambda tenths: tenths / 10),
    "presence_penalty": st.integers(-2, 2),
    "frequency_penalty": st.integers(-2, 2),
    "parallel_tool_calls": st.booleans(),
    "max_output_tokens": st.integers(16, 10_000),
    "max_tool_calls": st.integers(1, 100),
    "reasoning": st.sampled_from([{"effort": "low"}, {"effort": "high"}, {"summary": "auto"}]),
    "user": TEXTS,
    "safety_identifier": TEXTS,
    "prompt_cache_key": TEXTS,
    "prompt_cache_options": st.sampled_from([{"mode": "a"}, {"mode": "b"}]),
    "prompt_cache_retention": st.sampled_from(["in_memory", "24h"]),
    "truncation": st.sampled_from(["auto", "disabled"]),
    "instructions": TEXTS,
    "store": st.booleans(),
    "service_tier": st.sampled_from(["auto", "default", "flex"]),
    "top_logprobs": st.integers(0, 20),
    "context_management": st.integers(1000, 2000).map(
        lambda n: [{"type": "compaction", "compact_threshold": n}]
    ),
    "client_metadata": st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=2),
}
DELIVERY: dict[str, st.SearchStrategy[Any]] = {
    "stream": st.booleans(),
    "stream_options": st.sampled_from([{}, {"include_obfuscation": False}]),
    "background": st.booleans(),
    "background_options": st.just({"completion_window": "soonest"}),
    "antiphon": st.sampled_from([{"cache": True}, {"cache": {"ttl": 600}}]),
}
UNSUPPORTED = {"moderation", "prompt", "image", "access_programs"}
"""Fields that are refused, so that no two requests differ in them."""


def key_of(body: dict[str, Any], tenant: str = "", secret: bytes = SECRET) -> bytes:
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **body}))
    return cache_key(secret, tenant, request, normalise_input(request.input, new_id))


def bodies(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Bodies with any of these fields, such as the API takes them."""
    created = st.fixed_dictionaries({}, optional=fields)
    return created.map(lambda body: body if "tools" in body else {**body, "tool_choice": "auto"})


def test_every_field_is_either_varied_here_or_declared_irrelevant() -> None:
    known = {field.encode_name for field in msgspec.structs.fields(CreateResponse)}
    assert known == FIELDS.keys() | DELIVERY.keys() | SEEN_AS_ITEMS | UNSUPPORTED
    assert DELIVERY.keys() == MAY_DIFFER.keys()


@pytest.mark.wide
@given(bodies(FIELDS), st.sampled_from(sorted(FIELDS)), st.data())
def test_any_single_field_that_differs_makes_another_key(
    body: dict[str, Any], name: str, data: st.DataObject
) -> None:
    before = {"model": "m", "input": "Hi", **body}
    value = data.draw(FIELDS[name].filter(lambda value: value != before.get(name)))
    is_same = name == "input" and as_items(value) == as_items(before["input"])
    assert (key_of({**before, name: value}) == key_of(before)) is is_same


@given(bodies(FIELDS), st.sampled_from(sorted(FIELDS)))
def test_a_field_more_makes_another_key(body: dict[str, Any], name: str) -> None:
    less = {other: value for other, value in body.items() if other != name}
    if name in body and name not in ("model", "input", "tools", "tool_choice"):
        assert key_of(body) != key_of(less)


@given(bodies(FIELDS), st.fixed_dictionaries({}, optional=DELIVERY))
def test_how_the_answer_is_delivered_makes_no_difference(
    body: dict[str, Any], delivery: dict[str, Any]
) -> None:
    if not delivery.get("stream"):
        delivery.pop("stream_options", None)
    assert key_of(body) == key_of({**body, **delivery})


@given(bodies(FIELDS), TEXTS, TEXTS)
def test_each_tenant_and_each_store_has_keys_of_its_own(
    body: dict[str, Any], one: str, other: str
) -> None:
    assert (key_of(body, one) == key_of(body, other)) is (one == other)
    assert key_of(body, one) != key_of(body, one, b"t" * 32)


def test_the_order_of_a_schemas_properties_counts_since_models_follow_it() -> None:
    one = {"a": {}, "b": {}}
    other = {"b": {}, "a": {}}
    tools = [
        [{"type": "function", "name": "f", "parameters": {"properties": each}}]
        for each in (one, other)
    ]
    assert key_of({"tools": tools[0]}) != key_of({"tools": tools[1]})


def test_what_is_null_is_as_absent() -> None:
    assert key_of({"temperature": None, "tools": None, "metadata": None}) == key_of({})


def test_the_ids_of_items_do_not_count() -> None:
    message = {"role": "user", "content": "Hi"}
    assert key_of({"input": [{**message, "id": "msg_1"}]}) == key_of(
        {"input": [{**message, "id": "msg_2"}]}
    )


def as_items(value: Any) -> list[tuple[str, str]]:
    items = [{"role": "user", "content": value}] if isinstance(value, str) else value
    return [(item["role"], item["content"]) for item in items]
