"""The interface between runs and server-side tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from antiphon.protocol.items.content import InputImage, InputText
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.sources import CreatedFile, Sources
from antiphon.protocol.tools import CodeInterpreterTool, FileSearchTool, McpTool, ShellTool, Tool


@dataclass(frozen=True, slots=True)
class Use:
    """One call by the model, to be executed."""

    tool: Tool
    """The tool in the request, with its credentials: `authorization` is sent to the tool's own
    origin only.
    """
    name: str
    """Which function: an MCP server's tool, `web_search`, `open_page`, `find_in_page`, or
    `file_search`.
    """
    arguments: Mapping[str, Any]
    tenant: str = ""
    was_provided: Callable[[str], bool] = lambda text: False
    """Whether a text occurs word for word in the data that the model received, from its user or
    from tools.

    A text that the model invented could leak data that it knows.
    """
    sources: Sources = field(default_factory=dict)
    """The sources that the model can cite so far, in order.

    Parallel calls add to it: read it when the outcome is created, and await nothing after that.
    """
    window: int | None = None
    """Tokens of the model's window, None if unknown."""
    container_id: str = ""
    """The container of the response, for code and shell commands; empty for all other tools."""
    conversation: Callable[[], Sequence[InputItem]] = list
    """Returns the items of the conversation so far, for its images and files.

    For images, those before the call, including calls that are still being executed.
    """
    report: Callable[[Mapping[str, Any]], None] = lambda fields: None
    """Shows the client progress of the call, in the fields of an event: a partial image."""
    is_stored: bool = False
    """Whether the response is stored, so that the results of the call can be stored with it."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a call."""

    stated: str | Sequence[InputText | InputImage]
    """The text that the model receives, also after a failure."""
    fields: Mapping[str, Any]
    """The final fields of the call's item.

    `output` and `error` of an `mcp_call`, `action` (with all its `sources`) and `results` of a
    `web_search_call`, `queries` and `results` of a `file_search_call`, and those of an
    `image_generation_call`; the run omits the fields that the client did not request by `include`.
    """
    is_failed: bool = False
    sources: Sources = field(default_factory=dict)
    """The sources that the model can cite from now on, in addition to the previous ones."""
    files: Sequence[CreatedFile] = ()
    """Files of a container that the call created or changed, which the model can link to."""
    cpu: float = 0.0
    """CPU seconds of the code that the call ran."""
    paused: float = 0.0
    """Seconds for which that code was paused, because its tenant used more than its share of the
    CPU.
    """


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server, each `{name, description, input_schema, annotations}`; or the
    error.
    """

    tools: Sequence[Mapping[str, Any]] = ()
    error: str = ""
    status: int = 0
    """The HTTP status of the error, 0 if it has none."""


class HostedTool(Protocol):
    """One kind of tool, for all requests of this process."""

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) if the tool in the request is invalid; sends no request.

        `path` is the tool's, as errors name it.
        """
        ...

    async def run(self, use: Use) -> ToolOutcome:
        """Execute one call. Every failure is an outcome, in bounded time; only a cancellation is
        raised.
        """
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...


class ToolServers(HostedTool, Protocol):
    """Servers that list their own tools (specification section 6, `mcp`)."""

    def description(self, tool: McpTool) -> str:
        """Return the description of a server in the settings, or an empty text."""
        ...

    async def list(self, tool: McpTool, tenant: str = "") -> ToolListing:
        """Return all tools of a server, from the cache unless that is out of date.

        Raises nothing.
        """
        ...


class FileSearches(HostedTool, Protocol):
    """Searches of stored files (specification section 6, `file_search`)."""

    async def check_stores(self, tool: FileSearchTool, tenant: str) -> None:
        """Raise `ClientError`: 404 for a store that the tenant does not have, 400 for one that has
        expired.
        """
        ...


class ContainerTools(HostedTool, Protocol):
    """Python code and shell commands in containers (specification section 6, `code_interpreter` and
    `shell`).
    """

    async def container_for(
        self, tool: CodeInterpreterTool | ShellTool, tenant: str, newest: str
    ) -> str:
        """Return the id of the container in which all calls of a response run.

        That is the container of the request; or `newest`, the one of the newest call in the
        conversation, if it still runs; or a new id, with which the first call creates a container.
        Raises `ClientError`: 404 for an unknown container of the request, 400 for an expired one.
        """
        ...


@dataclass(frozen=True, slots=True)
class CodeState:
    """The state of this process's sandbox, for the status, metrics and the console."""

    sandbox: str
    """The name in the settings; empty if they configure none."""
    problem: str = ""
    """Why the tools are disabled, in a sentence with the remedy; empty if they work."""
    kernels: int = 0
    """Running machines, including idle ones between calls."""
    running: int = 0
    """Running calls."""
    waiting: int = 0
    """Calls that wait for their tenant's turn."""
    memory: int = 0
    """Bytes of memory that the machines use now."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """Calls that ended since the start of the process, by `Ending` of the sandbox, or `failed`."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """Calls that were not run, by reason."""
