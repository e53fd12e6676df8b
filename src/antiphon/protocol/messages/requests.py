"""The bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`.

An unknown parameter is rejected by name, because clients react to that. Inside a parameter, a field
that is not declared here is ignored: clients send new ones with each release. Some parameters have
no effect here, and are accepted, because an answer without them is as good.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from antiphon.protocol.messages.blocks import RequestBlock, TextBlock

ModelName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=512,
        pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)",
        title="a name of at most 512 characters, none of them a control character",
    ),
]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class JsonSchema(Struct, kw_only=True, tag_field="type", tag="json_schema"):
    """The answer is JSON that matches `schema`."""

    schema: dict[str, Any]


class OutputConfig(Struct, kw_only=True):
    """The format of the answer, and how much effort the model spends on it."""

    effort: Effort | None = None
    format: JsonSchema | None = None


class MessageParam(Struct, kw_only=True):
    """One message of the conversation. The last two fields are for role `system` alone.

    `output_config` is in force from there on. With `clear_at: next_user_message` the message is
    dropped once a user message follows it.
    """

    role: Literal["user", "assistant", "system"]
    content: str | list[RequestBlock]
    output_config: OutputConfig | None = None
    clear_at: str | None = None


class ToolParam(Struct, kw_only=True):
    """A tool of any kind: without `type`, or with the type `custom`, the client runs it and
    describes its input.

    `from_messages.catalogue` decides by the type which of the fields count.
    """

    type: str | None = None
    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    input_examples: list[Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: list[str] | None = None
    max_uses: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: dict[str, Any] | None = None
    mcp_server_name: str | None = None
    default_config: dict[str, Any] | None = None
    configs: dict[str, dict[str, Any]] | None = None


class ToolChoice(Struct, kw_only=True, tag_field="type"):
    """Whether and which tool the model calls, and whether it can call several at once."""

    disable_parallel_tool_use: bool | None = None


class AutoChoice(ToolChoice, kw_only=True, tag="auto"):
    """The model decides."""


class AnyChoice(ToolChoice, kw_only=True, tag="any"):
    """The model calls a tool."""


class NoChoice(ToolChoice, kw_only=True, tag="none"):
    """The model calls no tool."""


class NamedChoice(ToolChoice, kw_only=True, tag="tool"):
    """The model calls this tool."""

    name: str


class Thinking(Struct, kw_only=True, tag_field="type"):
    """Whether the model thinks.

    `display` says whether its thinking is shown: `omitted` leaves only the signature.
    """

    display: str | None = None


class EnabledThinking(Thinking, kw_only=True, tag="enabled"):
    """The model thinks for at most this many tokens."""

    budget_tokens: Annotated[int, Meta(ge=1024, le=2**31 - 1)]


class AdaptiveThinking(Thinking, kw_only=True, tag="adaptive"):
    """The model decides how much it thinks."""


class DisabledThinking(Thinking, kw_only=True, tag="disabled"):
    """The model does not think."""


class BetweenTools(Thinking, kw_only=True, tag="between_tools"):
    """The model thinks only between calls."""


class Metadata(Struct, kw_only=True):
    """`user_id` identifies the end user; Claude Code puts a JSON object with a `session_id`
    there.
    """

    user_id: str | None = None


class ContextManagement(Struct, kw_only=True):
    """What is removed of a long conversation; each edit has a dated `type`."""

    edits: list[dict[str, Any]] | None = None


class McpServer(Struct, kw_only=True, tag_field="type", tag="url"):
    """A remote MCP server. `tool_configuration` is the older form of a toolset in `tools`."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    url: str
    authorization_token: str | None = None
    tool_configuration: dict[str, Any] | None = None


class ContainerParam(Struct, kw_only=True):
    """The container of an earlier answer. Skills are not supported."""

    id: str | None = None
    skills: list[Any] | None = None


class Conversation(Struct, kw_only=True, forbid_unknown_fields=True):
    """What both endpoints read."""

    model: ModelName
    messages: Annotated[list[MessageParam], Meta(max_length=100_000, title="array of messages")]
    system: str | list[TextBlock] | None = None
    tools: Annotated[list[ToolParam], Meta(max_length=1000)] | None = None
    tool_choice: AutoChoice | AnyChoice | NoChoice | NamedChoice | None = None
    thinking: EnabledThinking | AdaptiveThinking | DisabledThinking | BetweenTools | None = None
    output_config: OutputConfig | None = None
    output_format: JsonSchema | None = None
    stream: bool | None = None
    stop_sequences: Annotated[list[str], Meta(max_length=8192)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Count | None = None
    metadata: Metadata | None = None
    cache_control: dict[str, Any] | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    speed: Literal["standard", "fast"] | None = None
    container: str | ContainerParam | None = None
    context_management: ContextManagement | None = None
    compaction: dict[str, Any] | None = None
    mcp_servers: Annotated[list[McpServer], Meta(max_length=128)] | None = None
    diagnostics: dict[str, Any] | None = None
    thread: dict[str, Any] | None = None
    inference_geo: Any = None
    fallbacks: Any = None
    fallback_credit_token: Any = None
    billing_policy: Any = None
    user_profile_id: Any = None
    workspace_id: Any = None


class CreateMessage(Conversation, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /v1/messages`.

    With `max_tokens: 0` the prompt is cached, and nothing is generated.
    """

    max_tokens: Count


class CountTokens(Conversation, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /v1/messages/count_tokens`: what concerns the answer alone has no
    effect.
    """

    max_tokens: Count | None = None
