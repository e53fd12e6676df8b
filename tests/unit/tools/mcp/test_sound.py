"""Whatever a server answers, what is made of it is what the protocol says, in all its versions."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types.methods import validate_server_result

from antiphon.tools.mcp.result import came
from antiphon.tools.mcp.sound import sound_page, sound_result
from tests.support.chance import examples

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
WORDS = st.sampled_from(
    [
        *("name", "description", "inputSchema", "annotations", "title", "readOnlyHint", "type", "properties"),
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
        *("content", "isError", "tools", "nextCursor", "a", "image/png", "aGk=", "", "\0", "\ud800"),
        *("$schema", "required", "x-mcp-header", "string", "$ref", "items"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=12,
)
QUICK = examples(60)
TOOL = st.fixed_dictionaries(
    {"name": JSON | st.just("good"), "inputSchema": st.dictionaries(WORDS, JSON, max_size=5) | JSON},
    optional={"description": JSON, "annotations": JSON},
)
BLOCK = st.dictionaries(WORDS, JSON, max_size=5) | st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link"])},
    optional=dict.fromkeys(("text", "data", "mimeType", "resource", "uri", "name"), JSON),
)


@QUICK
@given(st.fixed_dictionaries({"tools": st.lists(TOOL | JSON, max_size=5) | JSON}, optional={"nextCursor": JSON}))
def test_a_page_of_anything_is_a_page(page: dict[str, Any]) -> None:
    sound = sound_page(page)
    for version in VERSIONS:
        validate_server_result("tools/list", version, sound)
    for tool in sound["tools"]:
        find_invalid_x_mcp_header(tool["inputSchema"])
        x_mcp_header_map(tool["inputSchema"])
    json.dumps(sound["tools"]).encode()


@QUICK
@given(
    st.fixed_dictionaries({"content": st.lists(BLOCK | JSON, max_size=5) | JSON}, optional={"structuredContent": JSON})
)
def test_a_result_of_anything_is_a_result_that_can_be_stored_and_shown(result: dict[str, Any]) -> None:
    sound = sound_result(result)
    for version in VERSIONS:
        validate_server_result("tools/call", version, sound)
    outcome = came(sound)
    told = outcome.fields["output"]
    assert "\0" not in told
    told.encode()
