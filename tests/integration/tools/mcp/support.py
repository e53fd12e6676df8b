"""What the tests of MCP servers share."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from antiphon.config import McpServerConfig
from antiphon.outbound.ssrf import Reach, read_networks
from antiphon.protocol.tools import McpTool
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.mcp.servers import McpServers

ROOT = Path(__file__).parents[4]
STDIO = """
import sys; sys.path[:0] = ["{root}", "{root}/src"]
import asyncio; from tests.support.mcp_server import McpServer; asyncio.run(McpServer().serve_stdio())
"""  # noqa: E501 - the lines of a text

HERE = Reach(read_networks(["127.0.0.0/8", "::1"]))
"""A reach to servers on this machine."""


@asynccontextmanager
async def using(
    *configured: McpServerConfig, reach: Reach = HERE, **options: Any
) -> AsyncIterator[McpServers]:
    """Servers that may be on this machine; everything of theirs is closed at the end."""
    servers = McpServers(configured, reach, **{"environment": {}, **options})
    try:
        yield servers
    finally:
        await servers.close()


def at(url: str, **fields: Any) -> McpTool:
    """A request's tool that names a server."""
    return McpTool(server_label="tests", server_url=url, **fields)


async def call(
    servers: McpServers, tool: McpTool, name: str, tenant: str = "", **arguments: Any
) -> ToolOutcome:
    """What comes of a call."""
    return await servers.run(Use(tool, name, arguments, tenant))


def names(tools: Sequence[Any]) -> list[str]:
    """The names of listed tools."""
    return [tool["name"] for tool in tools]


def program(label: str = "program") -> McpServerConfig:
    """The tests' server as a program of the settings."""
    return McpServerConfig(
        label=label, command=sys.executable, args=["-c", STDIO.format(root=str(ROOT))]
    )
