"""Items of tools that a server ran (specification section 5): a history from another server is
accepted.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from antiphon.protocol.items.content import CallId, Item

CallStatus = (
    Literal[
        "in_progress",
        "searching",
        "generating",
        "interpreting",
        "calling",
        "completed",
        "incomplete",
        "failed",
    ]
    | UnsetType
    | None
)


Content = str | UnsetType | None
"""The output that the model received from a call of this server, and how it wrote the call, sealed:
for later turns.

An extension: a client that stores the items itself receives it under the same conditions as
encrypted reasoning (specification section 10.4).
"""


class WebSearchCall(Item, kw_only=True, tag="web_search_call"):
    """A web search, or a page that was opened."""

    status: CallStatus = UNSET
    action: dict[str, Any] | UnsetType | None = UNSET
    results: list[Any] | UnsetType | None = UNSET
    encrypted_content: Content = UNSET


class FileSearchCall(Item, kw_only=True, tag="file_search_call"):
    """A search of stored files."""

    status: CallStatus = UNSET
    queries: list[str]
    results: list[dict[str, Any]] | UnsetType | None = UNSET
    encrypted_content: Content = UNSET


class CodeInterpreterCall(Item, kw_only=True, tag="code_interpreter_call"):
    """Python code that was run."""

    status: CallStatus = UNSET
    container_id: str
    code: str | UnsetType | None = UNSET
    outputs: list[dict[str, Any]] | UnsetType | None = UNSET
    encrypted_content: Content = UNSET


STORED_FIELDS = "kept:"
"""The prefix of a `result` that says where the image is stored; base64 has no colon."""


class ImageGenerationCall(Item, kw_only=True, tag="image_generation_call", dict=True):
    """A generated image; `result` is base64, or where it is stored
    (`protocol/stored_images.py`).
    """

    status: CallStatus = UNSET
    result: str | UnsetType | None = UNSET
    action: str | UnsetType | None = UNSET
    background: str | UnsetType | None = UNSET
    error: Any = UNSET
    output_format: str | UnsetType | None = UNSET
    quality: str | UnsetType | None = UNSET
    revised_prompt: str | UnsetType | None = UNSET
    size: str | UnsetType | None = UNSET
    svg_usage: Any = UNSET
    encrypted_content: Content = UNSET


class McpListTools(Item, kw_only=True, tag="mcp_list_tools"):
    """The tools of a server, each `{name, description, input_schema, annotations}`; or the error in
    listing them.

    `error` and a tool's `description` are absent if unset, never null; `annotations` is always an
    object (specification section 23). SDKs reject the whole response otherwise.
    """

    server_label: str
    tools: list[dict[str, Any]]
    error: Any = UNSET

    def __post_init__(self) -> None:
        self.error = self.error or UNSET
        self.tools = [tool_listed(tool) for tool in self.tools]


def tool_listed(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return one tool of a list as the API shows it; its `annotations` keep the hints that the
    server sent.
    """
    listed = {name: value for name, value in tool.items() if value is not None}
    hints = listed.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    listed["annotations"] = {"read_only": is_read_only(hints), **hints}
    return listed


def is_read_only(annotations: Mapping[str, Any]) -> bool:
    """Whether a tool changes nothing: MCP says so as `readOnlyHint`, OpenAI as `read_only`."""
    return annotations.get("readOnlyHint") is True or annotations.get("read_only") is True


class McpApprovalRequest(Item, kw_only=True, tag="mcp_approval_request"):
    """A request for approval of this call."""

    arguments: str
    name: str
    server_label: str
    encrypted_content: Content = UNSET


class McpApprovalResponse(Item, kw_only=True, tag="mcp_approval_response"):
    """The approval or denial."""

    approval_request_id: str
    approve: bool
    reason: str | UnsetType | None = UNSET


class McpCall(Item, kw_only=True, tag="mcp_call"):
    """A call of another server's tool."""

    status: CallStatus = UNSET
    arguments: str
    name: str
    server_label: str
    approval_request_id: str | UnsetType | None = UNSET
    error: Any = UNSET
    output: str | UnsetType | None = UNSET
    encrypted_content: Content = UNSET


class Program(Item, kw_only=True, tag="program"):
    """A program that calls tools."""

    call_id: CallId
    code: str
    fingerprint: str


class ProgramOutput(Item, kw_only=True, tag="program_output"):
    """The result of a program."""

    call_id: CallId
    result: str
    status: Literal["completed", "incomplete"] | UnsetType | None = UNSET


HostedItem = (
    WebSearchCall
    | FileSearchCall
    | CodeInterpreterCall
    | ImageGenerationCall
    | McpListTools
    | McpApprovalRequest
    | McpApprovalResponse
    | McpCall
    | Program
    | ProgramOutput
)
