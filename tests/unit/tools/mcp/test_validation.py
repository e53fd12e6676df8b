"""Whatever a server answers, what is made of it is what the protocol says, in all its versions."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types.methods import validate_server_result

from antiphon.tools.mcp.result import ServerError, came
from antiphon.tools.mcp.validation import (
    MAX_BLOCKS,
    MAX_NODES,
    MAX_SCHEMA,
    FlawError,
    check_page,
    sound_result,
    sound_tool,
    split_page,
)
from tests.support.chance import examples

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
COMMON = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
WORDS = st.sampled_from(
    [
        *(
            "name",
            "description",
            "inputSchema",
            "annotations",
            "title",
            "readOnlyHint",
            "type",
            "properties",
        ),
        *(
            "text",
            "image",
            "audio",
            "resource",
            "resource_link",
            "data",
            "mimeType",
            "uri",
            "blob",
            "object",
            "$schema",
        ),
        *(
            "content",
            "isError",
            "tools",
            "nextCursor",
            "a",
            "image/png",
            "aGk=",
            "",
            "\0",
            "\ud800",
        ),
        *("$schema", "required", "x-mcp-header", "string", "$ref", "items"),
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=12,
)
QUICK = examples(60)
TOOL = st.fixed_dictionaries(
    {
        "name": JSON | st.just("good"),
        "inputSchema": st.dictionaries(WORDS, JSON, max_size=5) | JSON,
    },
    optional={"description": JSON, "annotations": JSON},
)
BLOCK = st.dictionaries(WORDS, JSON, max_size=5) | st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link"])},
    optional=dict.fromkeys(("text", "data", "mimeType", "resource", "uri", "name"), JSON),
)


def encoded(value: Any) -> bytes:
    """JSON as a server may write it, halves of surrogate pairs included."""
    return json.dumps(value).encode()


def tools_of(page: Any) -> list[dict[str, Any]]:
    """The sound tools of a page."""
    tools = []
    for one in split_page(encoded(page))[0]:
        with suppress(FlawError):
            tools.append(sound_tool(one))
    return tools


@QUICK
@given(
    st.fixed_dictionaries(
        {"tools": st.lists(TOOL | JSON, max_size=5) | JSON}, optional={"nextCursor": JSON}
    )
)
def test_a_page_of_anything_is_a_page(page: dict[str, Any]) -> None:
    try:
        sound = tools_of(page)
    except ValueError:
        assert "\\ud8" in encoded(page).decode()
        return
    listed = {
        **COMMON,
        "tools": [{"name": one["name"], "inputSchema": one["input_schema"]} for one in sound],
    }
    for version in VERSIONS:
        validate_server_result("tools/list", version, listed)
    for tool in sound:
        find_invalid_x_mcp_header(tool["input_schema"])
        x_mcp_header_map(tool["input_schema"])
    json.dumps(sound).encode()


@QUICK
@given(
    st.fixed_dictionaries(
        {"content": st.lists(BLOCK | JSON, max_size=5) | JSON}, optional={"structuredContent": JSON}
    )
)
def test_any_result_can_be_stored_and_displayed(result: dict[str, Any]) -> None:
    try:
        sound = sound_result(encoded(result))
    except ValueError:
        assert "\\ud8" in encoded(result).decode()
        return
    for version in VERSIONS:
        validate_server_result("tools/call", version, {**COMMON, **sound})
    outcome = came(sound)
    reported = outcome.fields["output"]
    assert "\0" not in reported
    reported.encode()


GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("tool", "flaw"),
    [
        (7, "no_object"),
        ({}, "schema"),
        ({**GOOD, "name": "two words"}, "name"),
        ({**GOOD, "name": 7}, "name"),
        ({**GOOD, "inputSchema": []}, "schema"),
        ({**GOOD, "inputSchema": "{}"}, "schema"),
        ({**GOOD, "inputSchema": deep(65)}, "too_deep"),
        ({**GOOD, "inputSchema": deep(200)}, "too_deep"),
        ({**GOOD, "inputSchema": {"title": "x" * (MAX_SCHEMA + 1)}}, "too_large"),
        ({**GOOD, "inputSchema": {"x" * (MAX_SCHEMA + 1): 1}}, "too_large"),
        ({**GOOD, "inputSchema": {"enum": [1] * (MAX_NODES + 1)}}, "too_large"),
        ({**GOOD, "inputSchema": {"enum": [[]] * 50_000}}, "too_large"),
    ],
)
def test_an_unusable_tool_has_its_reason(tool: Any, flaw: str) -> None:
    with pytest.raises(FlawError) as caught:
        sound_tool(encoded(tool))
    assert caught.value.flaw == flaw


def test_the_largest_and_the_deepest_schema_are_remembered() -> None:
    for schema in (deep(60), {"enum": [1] * (MAX_NODES - 2)}, {"title": "é" * (MAX_SCHEMA - 5)}):
        assert sound_tool(encoded({**GOOD, "inputSchema": schema}))["input_schema"] == {
            **schema,
            "type": "object",
        }


def test_secrets_are_removed_from_each_tool() -> None:
    tool = sound_tool(
        encoded({**GOOD, "description": "send s3cret-1", "inputSchema": {"s3cret-1": 1}}),
        ["s3cret-1"],
    )
    assert tool["description"] == "send [removed]"
    assert tool["input_schema"] == {"[removed]": 1, "type": "object"}


@pytest.mark.parametrize("page", [b"[", b'{"tools":[}', b'{"tools":[{]}'])
def test_what_is_no_page_is_an_error(page: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        split_page(page)


@pytest.mark.parametrize("part", [b"1,", b"{},", b'{"a":{}},'])
def test_a_page_of_too_many_values_is_refused_before_it_is_split(part: bytes) -> None:
    with pytest.raises(ServerError, match="more than 250,000 values"):
        check_page(b'{"tools":[' + part * 300_000 + b"{}]}")


def test_a_page_with_one_large_tool_is_split() -> None:
    page = encoded({"tools": [{**GOOD, "inputSchema": {"enum": [1] * 300_000}}, GOOD]})
    check_page(page)
    assert len(split_page(page)[0]) == 2


def test_a_result_of_very_many_parts_is_read_in_part() -> None:
    sound = sound_result(encoded({"content": [{"type": "text", "text": "a"}] * (MAX_BLOCKS + 7)}))
    assert len(sound["content"]) == MAX_BLOCKS + 1
    assert sound["content"][-1]["text"] == "[7 more parts are omitted]"


def test_a_result_of_too_many_values_is_refused() -> None:
    with pytest.raises(ServerError, match="more than 150,000 values"):
        sound_result(b'{"content":[' + b"[]," * 200_000 + b"[]]}")
    with pytest.raises(ValueError, match=r"\w"):
        sound_result(b'{"content":[' + b"1," * 200_000 + b"1]}")


def test_a_result_of_a_large_object_alone_is_its_json() -> None:
    alone = {"rows": [{"a": "é\0"}] * 20_000}
    (block,) = sound_result(encoded({"structuredContent": alone}))["content"]
    assert block["text"].startswith('{"rows": [{"a": ')
