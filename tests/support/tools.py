"""Tools behind the contract of a run that answer from a table: for the loop's own tests, where no
server is needed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from antiphon.protocol.tools import McpTool, Tool
from antiphon.tools.base import ToolListing, ToolOutcome, Use

ROLL = {
    "name": "roll",
    "description": "Rolls dice.",
    "input_schema": {"type": "object"},
    "annotations": None,
}
LISTED_ROLL = {**ROLL, "annotations": {"read_only": False}}
"""The same as an `mcp_list_tools` item shows it."""
MCP = {
    "type": "mcp",
    "server_label": "dice",
    "server_url": "https://dice.example/mcp",
    "require_approval": "never",
}


def output(text: str) -> ToolOutcome:
    """What a tool that worked gives."""
    return ToolOutcome(text, {"output": text, "error": None})


def boom(use: Use) -> ToolOutcome:
    """What a tool that failed gives."""
    error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "boom"}]}
    return ToolOutcome("Error: boom", {"output": None, "error": error}, is_failed=True)


Answer = Callable[[Use], ToolOutcome | Awaitable[ToolOutcome]] | str


class Servers:
    """MCP servers by their label; `answers` says what each tool gives, in whichever way it
    likes.
    """

    def __init__(self, **answers: Answer) -> None:
        self.answers: Mapping[str, Answer] = answers or {"roll": "5"}
        self.lists: dict[str, ToolListing] = {}
        self.listed: list[str] = []
        self.used: list[Use] = []
        self.gate: asyncio.Event | None = None
        """Calls wait for it."""

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Take everything."""

    def description(self, tool: McpTool) -> str:
        return ""

    async def list(self, tool: McpTool, tenant: str = "") -> ToolListing:
        self.listed.append(tool.server_label)
        default = ToolListing([{**ROLL, "name": name} for name in self.answers])
        return self.lists.get(tool.server_label, default)

    async def run(self, use: Use) -> ToolOutcome:
        self.used.append(use)
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers[use.name]
        if isinstance(answer, str):
            return output(answer)
        found = answer(use)
        return found if isinstance(found, ToolOutcome) else await found

    async def close(self) -> None:
        """There is nothing to close."""


class Web:
    """A web of one page, which every search finds."""

    def __init__(self) -> None:
        self.used: list[Use] = []

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Take everything."""

    async def run(self, use: Use) -> ToolOutcome:
        self.used.append(use)
        arguments: dict[str, Any] = dict(use.arguments)
        if use.name != "web_search":
            return ToolOutcome("[1] A page.", {"action": {"type": use.name, **arguments}})
        sources = [{"type": "url", "url": "https://e.x/"}]
        action = {
            "type": "search",
            "query": arguments["query"],
            "queries": [arguments["query"]],
            "sources": sources,
        }
        results = [{"url": "https://e.x/", "title": "E"}]
        return ToolOutcome(
            "[1] E", {"action": action, "results": results}, sources={"https://e.x/": "E"}
        )

    async def close(self) -> None:
        """There is nothing to close."""
