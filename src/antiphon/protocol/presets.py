"""Presets: a model name with instructions and tools of the server, for clients that cannot request
them.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import (
    AnyTool,
    CodeInterpreterTool,
    FileSearchTool,
    ImageGenerationTool,
    McpTool,
    ShellTool,
    WebSearchTool,
)

HOSTED = (
    WebSearchTool,
    FileSearchTool,
    McpTool,
    CodeInterpreterTool,
    ImageGenerationTool,
    ShellTool,
)
"""The tools that a preset can have; a shell only in a container of the server."""


class Preset(Struct, frozen=True, kw_only=True):
    """What a preset adds to requests for its name."""

    base: str
    """The model that answers."""
    instructions: str = ""
    """Instructions for requests that have none."""
    tools: ToolList | None = None
    """Tools that each request has in addition to its own."""
    max_tool_calls: int | None = None
    """The value for requests that set none."""

    def applied_to(self, request: CreateResponse) -> CreateResponse:
        """Return the request with the values of the preset where it has none itself.

        A tool of the request replaces the same tool of the preset.
        """
        tools = request.tools if self.tools is None else self._tools_with(request.tools or ())
        return replace(
            request,
            instructions=request.instructions or self.instructions or None,
            tools=tools,
            max_tool_calls=request.max_tool_calls or self.max_tool_calls,
        )

    def _tools_with(self, own: Sequence[AnyTool]) -> ToolList | None:
        if not own or self.tools is None:
            return self.tools
        known = {_identity(tool) for tool in own}
        return ToolList([*own, *(tool for tool in self.tools if _identity(tool) not in known)])


def _identity(tool: AnyTool) -> tuple[type, str]:
    """Return what two tools have in common that are the same tool with other options."""
    kind = WebSearchTool if isinstance(tool, WebSearchTool) else type(tool)
    return kind, tool.server_label if isinstance(tool, McpTool) else ""
