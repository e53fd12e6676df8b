"""Each event, response, item and part has the fields that OpenAI's have: absent or null where they
are empty.

Clients reject a whole response for one null too many. Every difference stands in a table with its
reason.
"""

import json
from itertools import chain
from typing import Any

import pytest

from antiphon.tools.base import ToolListing
from antiphon.tools.registry import Toolset
from tests.support.fields import TABLE, faults, recorded
from tests.support.parts import called, query, scripted_parts, stated, stream
from tests.support.recordings import FOLDER, MISSING
from tests.support.recordings import recorded as recordings
from tests.support.tools import MCP, Servers, Web, boom
from tests.support.translate import translate
from tests.unit.translation.from_chat.test_recorded_shapes import created_by_a_model

SEEN_IN_NO_RECORDING = "no recording has one"
LATER_FIELD = (
    "a field of OpenAI's schema that is newer than the recordings; null where it is empty, "
    "as others are"
)
FLAT_ERROR = (
    "the specification's event is flat, and SDKs read that; the two that were recorded are nested"
)

DIFFERENCES = {
    ("event response.mcp_call.failed", "", "unknown"): SEEN_IN_NO_RECORDING,
    ("event response.mcp_list_tools.failed", "", "unknown"): SEEN_IN_NO_RECORDING,
    ("item mcp_list_tools", "error", "unknown"): SEEN_IN_NO_RECORDING,
    ("logprob", "", "unknown"): SEEN_IN_NO_RECORDING,
    ("event error", "code", "unknown"): FLAT_ERROR,
    ("event error", "message", "unknown"): FLAT_ERROR,
    ("event error", "param", "unknown"): FLAT_ERROR,
    ("event error", "error", "absent"): FLAT_ERROR,
    ("event response.reasoning_text.delta", "", "unknown"): "OpenAI shows no raw reasoning",
    ("event response.reasoning_text.done", "", "unknown"): "the same",
    ("part reasoning_text", "", "unknown"): "the same",
    (
        "item reasoning",
        "status",
        "unknown",
    ): "every item has a status (Open Responses), and clients look for one",
    ("response", "access_programs", "unknown"): LATER_FIELD,
    ("response", "conversation", "null"): LATER_FIELD,
    ("response", "image", "unknown"): LATER_FIELD,
    ("response", "input_transformations", "unknown"): LATER_FIELD,
    ("response", "prompt", "unknown"): LATER_FIELD,
    ("response", "prompt_cache_diagnostics", "unknown"): LATER_FIELD,
    ("response", "prompt_cache_options", "unknown"): LATER_FIELD,
    ("response", "tool_usage", "null"): LATER_FIELD,
    ("response", "output_text", "unknown"): "plain answers have it for clients of other servers",
}
"""(kind, field, how it differs) -> why."""

ROLLS = called("dice__roll")
SEARCHES = called("web_search", '{"query": "x"}')


async def created_by_this_server() -> list[Any]:
    """Events and plain responses with every item of this server's tools: listed, called, failed,
    awaiting approval.
    """
    found: list[Any] = []
    scripts: list[tuple[list[Any], dict[str, Any], Any, ToolListing | None]] = [
        ([ROLLS, stated("5")], {}, "5", None),
        ([ROLLS, stated("It failed.")], {}, boom, None),
        ([ROLLS], {"require_approval": "always"}, "5", None),
        ([stated("None.")], {}, "5", ToolListing(error="gone")),
        ([SEARCHES, stated("Found.")], {}, "5", None),
    ]
    for answers, changes, answer, listing in scripts:
        for send in (stream, query):
            created, _ = scripted_parts(*answers)
            servers = Servers(roll=answer)
            created.run.toolset = Toolset(web_search=Web(), mcp=servers, needs_lists=False)
            if listing:
                servers.lists["dice"] = listing
            tools = [{**MCP, **changes}, {"type": "web_search"}]
            came = await send(created, tools=tools)
            found += came if isinstance(came, list) else [came]
    return found


async def test_every_field_is_absent_or_null_as_openai_s_is() -> None:
    events = [*chain(*created_by_a_model()), *await created_by_this_server()]
    found = set().union(*map(faults, events))

    assert found - DIFFERENCES.keys() == set()


@pytest.mark.wide
def test_no_field_differs_whatever_a_backend_sends() -> None:
    events = [
        event for path in recordings("*.sse") for event in translate(path.read_bytes()).events
    ]

    assert set().union(*map(faults, events)) - DIFFERENCES.keys() == set()


@pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)
def test_the_table_matches_the_recordings() -> None:
    assert recorded() == TABLE


def test_a_null_that_openai_never_sends_is_found() -> None:
    item = {
        "id": "mcpl_1",
        "type": "mcp_list_tools",
        "server_label": "s",
        "tools": [],
        "error": None,
    }

    assert faults(item, "item") == {("item mcp_list_tools", "error", "unknown")}
    assert faults(json.loads('{"type": "response.output_item.done"}')) == {
        ("event response.output_item.done", field, "absent") for field in ("item", "output_index")
    }
