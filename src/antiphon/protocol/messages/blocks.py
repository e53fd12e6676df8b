"""Content blocks in requests of the Messages API.

A field that a block does not declare is ignored, as `cache_control` is: clients send new ones with
each release. An unknown `type` is rejected by name.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

BlockId = Annotated[str, Meta(min_length=1, max_length=32_768, title="an ID")]
"""The id of a call. Ids of this server can contain a sealed signature, and are longer than
others.
"""


class Block(Struct, kw_only=True, tag_field="type"):
    """One block of a message's content."""

    @property
    def type(self) -> str:
        """The type's name, such as `tool_use`."""
        return str(self.__struct_config__.tag)


class Source(Struct, kw_only=True, tag_field="type"):
    """The place of an image's or a document's data."""


class Base64Source(Source, kw_only=True, tag="base64"):
    """Data in base64."""

    data: str
    media_type: str


class UrlSource(Source, kw_only=True, tag="url"):
    """A URL."""

    url: str


class FileSource(Source, kw_only=True, tag="file"):
    """A file of this server."""

    file_id: str


class TextSource(Source, kw_only=True, tag="text"):
    """Plain text."""

    data: str


class TextBlock(Block, kw_only=True, tag="text"):
    """Text, with the citations of an earlier answer."""

    text: str
    citations: list[dict[str, Any]] | None = None


class ImageBlock(Block, kw_only=True, tag="image"):
    """An image."""

    source: Base64Source | UrlSource | FileSource


class ContentSource(Source, kw_only=True, tag="content"):
    """The blocks of a document."""

    content: str | list[TextBlock | ImageBlock]


class DocumentBlock(Block, kw_only=True, tag="document"):
    """A document. `context` is a description that is not cited."""

    source: Base64Source | UrlSource | FileSource | TextSource | ContentSource
    title: str | None = None
    context: str | None = None


class SearchResultBlock(Block, kw_only=True, tag="search_result"):
    """A result of a client's own search. `source` is usually its URL."""

    source: str
    title: str
    content: list[TextBlock]


class ToolReference(Block, kw_only=True, tag="tool_reference"):
    """Loads the deferred tool of this name."""

    tool_name: str


class ToolUseBlock(Block, kw_only=True, tag="tool_use"):
    """A call of a tool that the client runs."""

    id: BlockId
    name: Annotated[str, Meta(min_length=1)]
    input: Any


ResultPart = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReference


class ToolResultBlock(Block, kw_only=True, tag="tool_result"):
    """The result of such a call."""

    tool_use_id: BlockId
    content: str | list[ResultPart] | None = None
    is_error: bool | None = None


class ThinkingBlock(Block, kw_only=True, tag="thinking"):
    """Reasoning of an earlier answer; `signature` is the sealed state of the server that created
    it.
    """

    thinking: str = ""
    signature: str | None = None


class RedactedThinkingBlock(Block, kw_only=True, tag="redacted_thinking"):
    """Reasoning that the client cannot read."""

    data: str


class CompactionBlock(Block, kw_only=True, tag="compaction"):
    """Replaces the content before it.

    Without content the compaction failed, and the block has no effect.
    """

    content: str | None = None
    encrypted_content: str | None = None


class ServerToolUseBlock(Block, kw_only=True, tag="server_tool_use"):
    """A call of a tool that a server runs."""

    id: BlockId
    name: str
    input: Any


class ServerToolResult(Block, kw_only=True):
    """The result of such a call.

    `content` depends on the tool, and can come from another server.
    """

    tool_use_id: BlockId
    content: Any = None


class WebSearchResult(ServerToolResult, kw_only=True, tag="web_search_tool_result"):
    """What a web search found."""


class WebFetchResult(ServerToolResult, kw_only=True, tag="web_fetch_tool_result"):
    """A page that was opened."""


class CodeResult(ServerToolResult, kw_only=True, tag="code_execution_tool_result"):
    """The output of Python code."""


class BashResult(ServerToolResult, kw_only=True, tag="bash_code_execution_tool_result"):
    """The output of a command line in a container."""


class TextEditorResult(
    ServerToolResult, kw_only=True, tag="text_editor_code_execution_tool_result"
):
    """What became of a file in a container."""


class ToolSearchResult(ServerToolResult, kw_only=True, tag="tool_search_tool_result"):
    """The deferred tools that a search found."""


class AdvisorResult(ServerToolResult, kw_only=True, tag="advisor_tool_result"):
    """The advice of another model."""


class McpToolUseBlock(Block, kw_only=True, tag="mcp_tool_use"):
    """A call of an MCP server's tool."""

    id: BlockId
    name: str
    server_name: str
    input: Any


class McpToolResultBlock(Block, kw_only=True, tag="mcp_tool_result"):
    """The result of such a call: text, or blocks."""

    tool_use_id: BlockId
    content: Any = None
    is_error: bool | None = None


class McpToolListing(Block, kw_only=True, tag="mcp_tool_listing"):
    """The tools of an MCP server."""

    mcp_server_name: str
    tools: list[dict[str, Any]]


class ContainerUpload(Block, kw_only=True, tag="container_upload"):
    """A file for the container in which code runs."""

    file_id: str


class ToolAddition(Block, kw_only=True, tag="tool_addition"):
    """The model can use this tool from here on: `tool` is a reference to it, or its definition."""

    tool: dict[str, Any]


class ToolRemoval(Block, kw_only=True, tag="tool_removal"):
    """The model can no longer use this tool."""

    tool: dict[str, Any]


class FallbackBlock(Block, kw_only=True, tag="fallback"):
    """Another model continued the answer."""


RequestBlock = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ToolUseBlock
    | ToolResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | CompactionBlock
    | ServerToolUseBlock
    | WebSearchResult
    | WebFetchResult
    | CodeResult
    | BashResult
    | TextEditorResult
    | ToolSearchResult
    | AdvisorResult
    | McpToolUseBlock
    | McpToolResultBlock
    | McpToolListing
    | ContainerUpload
    | ToolAddition
    | ToolRemoval
    | FallbackBlock
)
"""Every block that a message can contain; which of them a role can have, `from_messages`
decides.
"""
