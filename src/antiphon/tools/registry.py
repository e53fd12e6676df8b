"""The server-side tools, and the limits of a response with them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_bindings import Kind
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import (
    CodeInterpreterTool,
    FileSearchTool,
    ImageGenerationTool,
    McpTool,
    ShellTool,
    Tool,
    WebSearchTool,
)
from antiphon.tools.base import ContainerTools, FileSearches, HostedTool, ToolServers

KINDS: Mapping[Kind, type[Tool]] = {
    "mcp": McpTool,
    "web_search": WebSearchTool,
    "file_search": FileSearchTool,
    "code_interpreter": CodeInterpreterTool,
    "shell": ShellTool,
    "image_generation": ImageGenerationTool,
}
"""The API's tool for each kind of call."""


@dataclass(slots=True)
class Toolset:
    """The implementation of each kind of hosted tool, and the limits of one response."""

    web_search: HostedTool | None = None
    mcp: ToolServers | None = None
    rounds: int = 64
    """How often the model can call server-side tools."""
    seconds: float = 1800.0
    """The time limit in seconds."""
    needs_lists: bool = True
    """A response fails if the tools of a server cannot be listed; otherwise it continues without
    them.
    """
    file_search: FileSearches | None = None
    code: ContainerTools | None = None
    images: HostedTool | None = None
    supported: frozenset[type[Tool]] = field(init=False)
    """The tools of the API that this server runs."""
    _behind: dict[Kind, HostedTool] = field(init=False)

    def __post_init__(self) -> None:
        provided: dict[Kind, HostedTool | None] = {
            "mcp": self.mcp,
            "web_search": self.web_search,
            "file_search": self.file_search,
            "code_interpreter": self.code,
            "shell": self.code,
            "image_generation": self.images,
        }
        self._behind = {kind: behind for kind, behind in provided.items() if behind is not None}
        self.supported = frozenset(KINDS[kind] for kind in self._behind)

    def of(self, kind: Kind) -> HostedTool | None:
        """Return the implementation for calls of this kind."""
        return self._behind.get(kind)

    def runs(self, tool: Tool) -> bool:
        """Whether calls of the tool are executed here."""
        return type(tool) in self.supported and _is_server_side(tool)

    def runs_none(self, tools: Iterable[Tool]) -> bool:
        """Whether the types of the tools show that calls of none are executed here."""
        return isinstance(tools, ToolList) and tools.kinds.isdisjoint(self.supported)

    def check(self, tools: Iterable[Tool]) -> None:
        """Raise `ClientError` (400) for the first invalid tool."""
        for number, tool in enumerate(tools):
            for kind, behind in self._behind.items():
                if is_of(kind, tool):
                    behind.check(tool, f"tools[{number}]")

    async def check_stores(self, tools: Iterable[Tool], tenant: str) -> None:
        """Raise `ClientError` for a vector store that cannot be searched: 404 if it is unknown, 400
        if expired.
        """
        if self.file_search is not None:
            for tool in tools:
                if isinstance(tool, FileSearchTool):
                    await self.file_search.check_stores(tool, tenant)

    def described(self, request: CreateResponse) -> CreateResponse:
        """Return the request with the settings' descriptions of its servers, if it has none
        itself.
        """
        mcp = self.mcp
        tools = request.tools or ()
        if mcp is None or (isinstance(tools, ToolList) and McpTool not in tools.kinds):
            return request
        if not any(isinstance(tool, McpTool) for tool in tools):
            return request
        described = [
            replace(tool, server_description=tool.server_description or mcp.description(tool))
            if isinstance(tool, McpTool)
            else tool
            for tool in tools
        ]
        return replace(request, tools=described)

    async def close(self) -> None:
        """Release all resources."""
        for behind in {id(each): each for each in self._behind.values()}.values():
            await behind.close()


def is_of(kind: Kind, tool: Tool) -> bool:
    """Whether calls of this kind are calls of the tool."""
    return isinstance(tool, KINDS[kind]) and _is_server_side(tool)


def _is_server_side(tool: Tool) -> bool:
    """Whether the tool is none that the client runs: a shell can be."""
    return not isinstance(tool, ShellTool) or tool.is_hosted
