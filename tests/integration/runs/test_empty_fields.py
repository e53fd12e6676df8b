"""Each event, response, item and part has the fields that OpenAI's have: absent or null where they are empty.

Clients reject a whole response for one null too many. Every difference stands in a table with its reason.
"""

import json
from typing import Any

import pytest

from antiphon.tools.base import Listing
from antiphon.tools.registry import Toolset
from antiphon.translation.writer import View
from tests.support.engine import ask, engine, said, stream
from tests.support.fields import TABLE, faults, recorded
from tests.support.recordings import FOLDER, MISSING
from tests.support.recordings import recorded as recordings
from tests.support.replay import delta, sse
from tests.support.tools import MCP, Servers, Web, output
from tests.support.translate import translate
from tests.unit.translation.from_chat.test_recorded_shapes import CALLS, offers

SEEN_IN_NO_RECORDING = "no recording has one"
LATER_FIELD = "a field of OpenAI's schema that is newer than the recordings; null where it is empty, as others are"
FLAT_ERROR = "the specification's event is flat, and SDKs read that; the two that were recorded are nested"

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
    ("item reasoning", "status", "unknown"): "every item has a status (Open Responses), and clients look for one",
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

ROLLS = delta(
    "tool_calls",
    tool_calls=[
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "dice__roll", "arguments": "{}"}}
    ],
)
SEARCHES = delta(
    "tool_calls",
    tool_calls=[
        {
            "index": 0,
            "id": "call_2",
            "type": "function",
            "function": {"name": "web_search", "arguments": '{"query": "x"}'},
        }
    ],
)


def made_by_a_model() -> list[dict[str, Any]]:
    """Events with every item that a chat model makes."""
    calls = [
        delta(tool_calls=[{"index": i, "id": f"call_{i}", "function": {"name": name, "arguments": arguments}}])
        for i, (name, arguments) in enumerate(CALLS.items())
    ]
    chunks = sse(delta(reasoning_content="Hm."), delta(content="Hello"), *calls, delta("tool_calls"))
    views = [View(summary=summary, encrypted=True, obfuscation=True) for summary in (False, True)]
    return [event for view in views for event in translate(chunks, view=view, offers=offers()).events]


async def made_by_this_server() -> list[Any]:
    """Events and plain responses with every item of this server's tools: listed, called, failed, awaiting approval."""
    found: list[Any] = []
    scripts = [
        ([[ROLLS], said("5")], {}, None),
        ([[ROLLS]], {"require_approval": "always"}, None),
        ([said("None.")], {}, Listing(error="gone")),
        ([[SEARCHES], said("Found.")], {}, None),
    ]
    for answers, changes, listing in scripts:
        for send in (stream, ask):
            made, _ = engine(*answers)
            servers, web = Servers(), Web()
            servers.answers["roll"] = output("5")
            made.toolset = Toolset(web_search=web, mcp=servers, needs_lists=False)
            if listing:
                servers.lists["dice"] = listing
            tools = [{**MCP, **changes}, {"type": "web_search"}]
            came = await send(made, tools=tools)
            found += came if isinstance(came, list) else [came]
    return found


async def test_every_field_is_absent_or_null_as_openai_s_is() -> None:
    events = [*made_by_a_model(), *await made_by_this_server()]
    found = set().union(*map(faults, events))

    assert found - DIFFERENCES.keys() == set()


def test_whatever_a_backend_says_no_field_differs() -> None:
    events = [event for path in recordings("*.sse") for event in translate(path.read_bytes()).events]

    assert set().union(*map(faults, events)) - DIFFERENCES.keys() == set()


@pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)
def test_the_table_is_what_the_recordings_say() -> None:
    assert recorded() == TABLE


def test_a_null_that_openai_never_sends_is_found() -> None:
    item = {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": [], "error": None}

    assert faults(item, "item") == {("item mcp_list_tools", "error", "unknown")}
    assert faults(json.loads('{"type": "response.output_item.done"}')) == {
        ("event response.output_item.done", field, "absent") for field in ("item", "output_index")
    }
