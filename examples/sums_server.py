"""A small MCP server for the examples, on http://127.0.0.1:8100/mcp: one tool reads, the other changes something."""

from itertools import count as counter

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("sums")
numbers = counter(1)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def count() -> int:
    """Add one to the counter, and return it."""
    return next(numbers)


server.run("streamable-http", port=8100)
