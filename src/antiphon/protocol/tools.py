"""Tools and the choice among them (specification section 6)."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

ToolName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[a-zA-Z0-9_-]+$(?!\n)")]
Mode = Literal["none", "auto", "required"]
Caller = Literal["direct", "programmatic"]
ContextSize = Literal["low", "medium", "high"]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Tool(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """A tool that a model can use. `chat.offering` determines what becomes of it here."""


class FunctionTool(Tool, kw_only=True, tag="function"):
    """A function of the client's. `parameters` is a JSON Schema of its arguments."""

    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    output_schema: dict[str, Any] | UnsetType | None = UNSET
    allowed_callers: list[Caller] | UnsetType | None = UNSET
    async_: bool | UnsetType | None = field(default=UNSET, name="async")
    defer_loading: bool | UnsetType | None = UNSET


class TextSyntax(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="text"):
    """A custom tool's input is free text."""


class Grammar(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="grammar"):
    """A custom tool's input matches this grammar."""

    syntax: Literal["lark", "regex"]
    definition: Annotated[str, Meta(min_length=1, max_length=100_000)]


class CustomTool(Tool, kw_only=True, tag="custom"):
    """A tool of the client's with text input, in any form or matching a grammar."""

    name: ToolName
    description: str | None = None
    format: TextSyntax | Grammar | None = None
    allowed_callers: list[Caller] | UnsetType | None = UNSET
    async_: bool | UnsetType | None = field(default=UNSET, name="async")
    defer_loading: bool | UnsetType | None = UNSET


class NamespaceTool(Tool, kw_only=True, tag="namespace"):
    """Tools under a common name: a call's name is the tool's, its `namespace` this one's."""

    name: Annotated[str, Meta(min_length=1, max_length=128)]
    description: str
    tools: Annotated[list[FunctionTool | CustomTool], Meta(max_length=1024)]


class ToolSearchTool(Tool, kw_only=True, tag="tool_search"):
    """The model searches for deferred tools: here, or at the client (`execution: "client"`)."""

    description: str | UnsetType | None = UNSET
    execution: Literal["server", "client"] | UnsetType | None = UNSET
    parameters: dict[str, Any] | UnsetType | None = UNSET


class LocalShellTool(Tool, kw_only=True, tag="local_shell"):
    """The client runs a command."""


class ShellTool(Tool, kw_only=True, tag="shell"):
    """The client runs commands (`environment.type` is `local`), or a container of the server
    does.
    """

    allowed_callers: list[Caller] | UnsetType | None = UNSET
    environment: dict[str, Any] | UnsetType | None = UNSET

    @property
    def is_hosted(self) -> bool:
        """Whether it runs in a container of the server."""
        return bool((self.environment or {}).get("type", "local") != "local")


class ApplyPatchTool(Tool, kw_only=True, tag="apply_patch"):
    """The client changes a file."""

    allowed_callers: list[Caller] | UnsetType | None = UNSET


class ComputerTool(Tool, kw_only=True, tag="computer"):
    """The client acts on a screen, and returns the result."""


class ComputerUsePreviewTool(Tool, kw_only=True, tag="computer_use_preview"):
    """The client acts on a screen of this size, in pixels."""

    display_height: Count
    display_width: Count
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser"]


class WebSearchTool(Tool, kw_only=True, tag="web_search"):
    """The server searches the web."""

    external_web_access: bool | UnsetType | None = UNSET
    filters: dict[str, Any] | UnsetType | None = UNSET
    search_context_size: ContextSize | UnsetType | None = UNSET
    search_content_types: list[str] | UnsetType | None = UNSET
    return_token_budget: Any = UNSET
    max_results: Count | UnsetType | None = UNSET
    user_location: dict[str, Any] | UnsetType | None = UNSET


class DatedWebSearchTool(WebSearchTool, kw_only=True, tag="web_search_2025_08_26"):
    """`web_search` by an older name."""


class WebSearchPreviewTool(WebSearchTool, kw_only=True, tag="web_search_preview"):
    """`web_search` by an older name."""


class DatedWebSearchPreviewTool(WebSearchTool, kw_only=True, tag="web_search_preview_2025_03_11"):
    """`web_search` by an older name."""


class FileSearchTool(Tool, kw_only=True, tag="file_search"):
    """The server searches stored files."""

    vector_store_ids: list[str]
    filters: dict[str, Any] | UnsetType | None = UNSET
    max_num_results: Count | UnsetType | None = UNSET
    ranking_options: dict[str, Any] | UnsetType | None = UNSET


class ToolFilter(Struct, kw_only=True, forbid_unknown_fields=True):
    """The tools of a server that have one of these names, or that are or are not read-only."""

    tool_names: list[str] | UnsetType | None = UNSET
    read_only: bool | UnsetType | None = UNSET


class ApprovalRule(Struct, kw_only=True, forbid_unknown_fields=True):
    """The tools that need the client's approval, and those that never do."""

    always: ToolFilter | UnsetType | None = UNSET
    never: ToolFilter | UnsetType | None = UNSET


class McpTool(Tool, kw_only=True, tag="mcp"):
    """The server uses another server's tools, by the Model Context Protocol."""

    server_label: Annotated[str, Meta(min_length=1, max_length=256)]
    server_url: str | UnsetType | None = UNSET
    connector_id: str | UnsetType | None = UNSET
    tunnel_id: str | UnsetType | None = UNSET
    server_description: str | UnsetType | None = UNSET
    authorization: str | UnsetType | None = UNSET
    headers: dict[str, str] | UnsetType | None = UNSET
    allowed_tools: list[str] | ToolFilter | UnsetType | None = UNSET
    require_approval: Literal["always", "never"] | ApprovalRule | UnsetType | None = UNSET
    allowed_callers: list[Caller] | UnsetType | None = UNSET
    defer_loading: bool | UnsetType | None = UNSET


class CodeInterpreterTool(Tool, kw_only=True, tag="code_interpreter"):
    """The server runs Python."""

    container: str | dict[str, Any]
    allowed_callers: list[Caller] | UnsetType | None = UNSET


class ImageGenerationTool(Tool, kw_only=True, tag="image_generation"):
    """The server generates images."""

    action: str | UnsetType | None = UNSET
    background: str | UnsetType | None = UNSET
    complexity: str | UnsetType | None = UNSET
    frame_count: Count | UnsetType | None = UNSET
    frame_duration_ms: Count | UnsetType | None = UNSET
    input_fidelity: str | UnsetType | None = UNSET
    input_image_mask: dict[str, Any] | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET
    moderation: str | UnsetType | None = UNSET
    output_compression: Count | UnsetType | None = UNSET
    output_format: str | UnsetType | None = UNSET
    partial_images: Count | UnsetType | None = UNSET
    quality: str | UnsetType | None = UNSET
    size: str | UnsetType | None = UNSET
    svg: dict[str, Any] | UnsetType | None = UNSET


class ProgrammaticToolCallingTool(Tool, kw_only=True, tag="programmatic_tool_calling"):
    """The server runs programs that call tools."""


HOSTED_TOOLS = (
    WebSearchTool,
    FileSearchTool,
    McpTool,
    CodeInterpreterTool,
    ImageGenerationTool,
    ProgrammaticToolCallingTool,
)
"""Tools that only a server can run, subclasses included."""

AnyTool = (
    FunctionTool
    | CustomTool
    | NamespaceTool
    | ToolSearchTool
    | LocalShellTool
    | ShellTool
    | ApplyPatchTool
    | ComputerTool
    | ComputerUsePreviewTool
    | WebSearchTool
    | DatedWebSearchTool
    | WebSearchPreviewTool
    | DatedWebSearchPreviewTool
    | FileSearchTool
    | McpTool
    | CodeInterpreterTool
    | ImageGenerationTool
    | ProgrammaticToolCallingTool
)
"""Every tool of the API."""


class Choice(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """The model must call this tool."""


class FunctionChoice(Choice, kw_only=True, tag="function"):
    """The model must call this function."""

    name: str


class CustomChoice(Choice, kw_only=True, tag="custom"):
    """The model must call this custom tool."""

    name: str


class ShellChoice(Choice, kw_only=True, tag="shell"):
    """The model must call the shell."""


class LocalShellChoice(Choice, kw_only=True, tag="local_shell"):
    """The model must call the local shell."""


class ApplyPatchChoice(Choice, kw_only=True, tag="apply_patch"):
    """The model must change a file."""


class ComputerChoice(Choice, kw_only=True, tag="computer"):
    """The model must act on the screen."""


class ComputerUseChoice(Choice, kw_only=True, tag="computer_use"):
    """The model must act on the screen."""


class ComputerUsePreviewChoice(Choice, kw_only=True, tag="computer_use_preview"):
    """The model must act on the screen."""


class ToolSearchChoice(Choice, kw_only=True, tag="tool_search"):
    """The model must search for tools."""


class NamespaceChoice(Choice, kw_only=True, tag="namespace"):
    """Any tool of this namespace."""

    name: str


class HostedChoice(Choice, kw_only=True, tag="web_search"):
    """A tool that only a server can run."""

    name: str | UnsetType | None = UNSET
    server_label: str | UnsetType | None = UNSET


class WebSearchPreviewChoice(HostedChoice, kw_only=True, tag="web_search_preview"):
    """A tool that only a server can run."""


class DatedWebSearchPreviewChoice(HostedChoice, kw_only=True, tag="web_search_preview_2025_03_11"):
    """A tool that only a server can run."""


class DatedWebSearchChoice(HostedChoice, kw_only=True, tag="web_search_2025_08_26"):
    """A tool that only a server can run."""


class FileSearchChoice(HostedChoice, kw_only=True, tag="file_search"):
    """A tool that only a server can run."""


class McpChoice(HostedChoice, kw_only=True, tag="mcp"):
    """A tool that only a server can run."""


class CodeInterpreterChoice(HostedChoice, kw_only=True, tag="code_interpreter"):
    """A tool that only a server can run."""


class ImageGenerationChoice(HostedChoice, kw_only=True, tag="image_generation"):
    """A tool that only a server can run."""


class ProgrammaticChoice(HostedChoice, kw_only=True, tag="programmatic_tool_calling"):
    """A tool that only a server can run."""


ClientChoice = (
    FunctionChoice
    | CustomChoice
    | ShellChoice
    | LocalShellChoice
    | ApplyPatchChoice
    | ComputerChoice
    | ComputerUseChoice
    | ComputerUsePreviewChoice
)
OtherChoice = (
    HostedChoice
    | WebSearchPreviewChoice
    | DatedWebSearchPreviewChoice
    | DatedWebSearchChoice
    | FileSearchChoice
    | McpChoice
    | CodeInterpreterChoice
    | ImageGenerationChoice
    | ProgrammaticChoice
)
AllowedChoice = ClientChoice | ToolSearchChoice | NamespaceChoice | OtherChoice


class AllowedTools(Choice, kw_only=True, tag="allowed_tools"):
    """The model can (`auto`) or must (`required`) call one of these, and no other of `tools`."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[AllowedChoice], Meta(min_length=1)]


ToolChoice = Mode | ClientChoice | OtherChoice | AllowedTools
