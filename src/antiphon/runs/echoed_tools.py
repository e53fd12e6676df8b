"""The tools of a request as its response echoes them: with defaults, and without credentials."""

from typing import Any

from msgspec import to_builtins

from antiphon.protocol.tool_lists import EchoedTools, ToolList
from antiphon.protocol.tools import (
    AnyTool,
    CustomTool,
    FileSearchTool,
    FunctionTool,
    ImageGenerationTool,
    McpTool,
    NamespaceTool,
    Tool,
    WebSearchTool,
)

MCP_DEFAULTS = {"allowed_tools": None, "require_approval": "always", "server_description": None}

WEB_SEARCH_DEFAULTS: dict[str, Any] = {
    "filters": None,
    "search_context_size": "medium",
    "user_location": {
        "type": "approximate",
        "city": None,
        "country": None,
        "region": None,
        "timezone": None,
    },
}
"""The echo of these tools if the request sets nothing (recorded; OpenAI looks the country up)."""

FILE_SEARCH_DEFAULTS: dict[str, Any] = {
    "filters": None,
    "max_num_results": 20,
    "ranking_options": {"ranker": "auto", "score_threshold": 0.0},
}
"""The same for file search (recorded)."""

IMAGE_DEFAULTS: dict[str, Any] = {
    "background": "auto",
    "moderation": "auto",
    "n": 1,
    "output_compression": 100,
    "output_format": "png",
    "quality": "auto",
    "size": "auto",
}
"""The same for image generation (recorded)."""


def echoed_tools(tools: list[AnyTool]) -> list[dict[str, Any]]:
    """Return the tools of a response; of a list that others share, they are computed once."""
    if isinstance(tools, ToolList):
        return tools.fact("echoed", (), lambda: EchoedTools(map(_echoed_tool, tools)))
    return [_echoed_tool(tool) for tool in tools]


def _echoed_tool(tool: Tool) -> dict[str, Any]:
    """Echo a tool with its defaults filled in (specification section 3); credentials
    are not echoed.
    """
    requested: dict[str, Any] = to_builtins(tool)
    if isinstance(tool, FunctionTool):
        # `strict` is false if the request does not set it (specification section 6).
        return {"output_schema": None, **requested, "strict": bool(tool.strict)}
    if isinstance(tool, CustomTool):
        return {**requested, "format": requested["format"] or {"type": "text"}}
    if isinstance(tool, NamespaceTool):
        return {**requested, "tools": [_echoed_tool(inner) for inner in tool.tools]}
    if isinstance(tool, McpTool):
        # A response can be retrieved by others of the tenant: it must not contain credentials.
        requested.pop("authorization", None)
        return {**MCP_DEFAULTS, **requested, "headers": None}
    if isinstance(tool, FileSearchTool):
        set_fields = {name: value for name, value in requested.items() if value is not None}
        ranking = FILE_SEARCH_DEFAULTS["ranking_options"] | (requested.get("ranking_options") or {})
        return {**FILE_SEARCH_DEFAULTS, **set_fields, "ranking_options": ranking}
    if isinstance(tool, ImageGenerationTool):
        return {
            **IMAGE_DEFAULTS,
            **{name: value for name, value in requested.items() if value is not None},
        }
    if isinstance(tool, WebSearchTool):
        place = WEB_SEARCH_DEFAULTS["user_location"] | (requested.get("user_location") or {})
        return {**WEB_SEARCH_DEFAULTS, **requested, "user_location": place}
    return requested
