"""What the engine asks of the tools that this server runs itself, whatever is behind them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from antiphon.protocol.items.content import InputImage, InputText
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.sources import MadeFile, Sources
from antiphon.protocol.tools import CodeInterpreterTool, FileSearchTool, McpTool, ShellTool, Tool


@dataclass(frozen=True, slots=True)
class Use:
    """One call that the model made, to be carried out."""

    tool: Tool
    """As the request gives it, with what it lends: `authorization` goes to the tool's own origin, nowhere else."""
    name: str
    """Which function: an MCP server's tool, `web_search`, `open_page`, `find_in_page`, or `file_search`."""
    arguments: Mapping[str, Any]
    tenant: str = ""
    was_provided: Callable[[str], bool] = lambda text: False
    """Whether a text stands word for word in what the model was given, by its user or by tools.

    What it made up itself may carry off what it knows (threat 22).
    """
    sources: Sources = field(default_factory=dict)
    """What the model was given to cite until now, in its order.

    Uses side by side add to it: it is to be read when the outcome is made, with nothing awaited from then on.
    """
    window: int | None = None
    """Tokens of the model's window, None where that is not known."""
    container_id: str = ""
    """The container of the response, for code and shell commands; empty for all other tools."""
    conversation: Callable[[], Sequence[InputItem]] = list
    """Returns the items of the conversation so far, for its images and files.

    For images, those that stand before the call, with calls that are still executed.
    """
    report: Callable[[Mapping[str, Any]], None] = lambda fields: None
    """Shows the client progress of the call, in the fields of an event: a partial image."""
    is_stored: bool = False
    """Whether the response is stored, so that what the call makes can be kept with it."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a use."""

    said: str | Sequence[InputText | InputImage]
    """What the model is told, also of a failure."""
    fields: Mapping[str, Any]
    """What the call's item shows in the end.

    `output` and `error` of an `mcp_call`, `action` (with all its `sources`) and `results` of a `web_search_call`,
    `queries` and `results` of a `file_search_call`, and those of an `image_generation_call`; the engine leaves out what
    the client did not ask for by `include`.
    """
    is_failed: bool = False
    sources: Sources = field(default_factory=dict)
    """What the model may cite from now on, beside what it could before."""
    files: Sequence[MadeFile] = ()
    """Files of a container that the call made or changed, which the model may link to."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server, each `{name, description, input_schema, annotations}`; or why there are none."""

    tools: Sequence[Mapping[str, Any]] = ()
    error: str = ""
    status: int = 0
    """The HTTP status with which the server refused, 0 where it refused in another way."""


class HostedTool(Protocol):
    """One kind of tool, for all requests of this process."""

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) where this tool cannot be used as it is given; nothing is asked for that.

        `path` is the tool's, as errors name it.
        """
        ...

    async def run(self, use: Use) -> ToolResult:
        """Carry out one call. Every failure is an outcome, in bounded time; only a cancellation is raised."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class ToolServers(HostedTool, Protocol):
    """Servers that say themselves which tools they have (specification section 6, `mcp`)."""

    def description(self, tool: McpTool) -> str:
        """Return what the settings say of a server, empty where they say nothing."""
        ...

    async def list(self, tool: McpTool, tenant: str = "") -> Listing:
        """Return the tools of a server, all of them; asked anew only once what is known is old. Raises nothing."""
        ...


class FileSearches(HostedTool, Protocol):
    """Searches of stored files (specification section 6, `file_search`)."""

    async def check_stores(self, tool: FileSearchTool, tenant: str) -> None:
        """Raise `ClientError`: 404 for a store that the tenant does not have, 400 for one that has expired."""
        ...


class ContainerTools(HostedTool, Protocol):
    """Python code and shell commands in containers (specification section 6, `code_interpreter` and `shell`)."""

    async def container_for(self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str) -> str:
        """Return the id of the container in which all calls of a response run.

        That is the container of the request; or `newest`, the one of the newest call in the conversation, if it still
        runs; or a new id, with which the first call creates a container. Raises `ClientError`: 404 for an unknown
        container of the request, 400 for an expired one.
        """
        ...


@dataclass(frozen=True, slots=True)
class CodeState:
    """How the sandbox of this process is, for the status, metrics and the console."""

    sandbox: str
    """What the settings name; empty where they name none."""
    problem: str = ""
    """Why the tools are left out, in a sentence that names the cure; empty where they work."""
    kernels: int = 0
    """Machines that run now, between calls too."""
    running: int = 0
    """Calls that run now."""
    waiting: int = 0
    """Calls that wait for their tenant's turn."""
    memory: int = 0
    """Bytes of memory that the machines use now."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """Calls that ended since the start of the process, by `Ending` of the sandbox, or `failed`."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """Calls that were not run, by their reason."""
