"""What a preset adds to a request, and what the request keeps."""

from typing import Any

from antiphon.protocol.presets import Preset
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import FunctionTool, McpTool, WebSearchPreviewTool, WebSearchTool
from antiphon.protocol.validation.validate import read_request

SEARCH = WebSearchTool()
PRESET = Preset(
    base="m", instructions="Search.", tools=ToolList([SEARCH, McpTool(server_label="dice")])
)


def applied(preset: Preset = PRESET, **fields: Any) -> Any:
    return preset.applied_to(read_request({"model": "m-search", "input": "Hi", **fields}))


def test_a_request_without_tools_and_instructions_gets_those_of_the_preset() -> None:
    request = applied()

    assert request.instructions == "Search."
    assert request.tools is PRESET.tools
    assert request.model == "m-search"


def test_a_request_keeps_its_own_instructions_and_bound() -> None:
    request = applied(
        Preset(base="m", instructions="Search.", max_tool_calls=3),
        instructions="Sing.",
        max_tool_calls=1,
    )

    assert (request.instructions, request.max_tool_calls) == ("Sing.", 1)
    assert request.tools is None


def test_the_tools_of_a_request_come_first_and_replace_the_same_ones() -> None:
    function = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    dice = {"type": "mcp", "server_label": "dice", "server_url": "https://dice.example/mcp"}

    kinds = [type(tool) for tool in applied(tools=[function]).tools]
    assert kinds == [FunctionTool, WebSearchTool, McpTool]
    kinds = [type(tool) for tool in applied(tools=[{"type": "web_search_preview"}, dice]).tools]
    assert kinds == [WebSearchPreviewTool, McpTool]
    other = applied(tools=[{**dice, "server_label": "cards"}]).tools
    assert [type(tool) for tool in other] == [McpTool, WebSearchTool, McpTool]
