"""Tools of real MCP servers: listed, and called."""

from collections.abc import Callable

import pytest

from tests.support.mcp_server import McpServer, mcp_serving
from tests.tools.mcp.support import at, call, names, using

WAYS: dict[str, Callable[[McpServer], str]] = {
    "streamable http": lambda server: server.url,
    "events beside posts": lambda server: server.sse_url,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_tools_are_listed_and_called(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old, page=4) as server, using() as servers:
        tool = at(WAYS[way](server))
        servers.check(tool)
        listing = await servers.list(tool)
        outcome = await call(servers, tool, "add", a=1, b=2)
    assert listing.error == ""
    assert names(listing.tools) == [one.name for one in server.tools]
    assert listing.tools[0] == {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        "annotations": {"readOnlyHint": True},
    }
    assert (outcome.said, outcome.fields, outcome.is_failed) == ("3", {"output": "3", "error": None}, False)
