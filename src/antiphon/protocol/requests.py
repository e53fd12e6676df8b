"""The body of `POST /responses` (specification section 2).

The fields are in the order in which the API checks them (specification section 13, validation
order), and `validate.py` checks them in this order. `null` means "as if absent" wherever it is
accepted.

A `title` describes in an error message what the API expects there. A pattern ends in `$(?!\\n)`
because Python's `$` alone accepts a trailing newline; in the other regular expressions in use it
means the same.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import asdict

from antiphon.protocol.formats import Effort, Format, JsonObjectFormat, JsonSchemaFormat
from antiphon.protocol.items.content import InputFile, InputImage, InputText, Text, Unsupported
from antiphon.protocol.items.messages import InputItem, Message
from antiphon.protocol.tools import AnyTool, ToolChoice

MOST_ITEMS = 100_000
"""Items of an input."""

Include = Literal[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
]
ModelName = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f]{0,512}$(?!\n)",
        title="a name of at most 512 characters, none of them a control character",
    ),
]
ResponseId = Annotated[
    str,
    Meta(
        max_length=512,
        pattern=r"^[a-zA-Z0-9_-]+$(?!\n)",
        title="an ID that contains letters, numbers, underscores, or dashes, "
        "but this value contained additional characters",
    ),
]
ConversationId = Annotated[
    str,
    Meta(
        max_length=512,
        pattern=r"^[a-zA-Z0-9_-]+$(?!\n)",
        title="an ID that contains letters, numbers, underscores, or dashes",
    ),
]
ServiceTier = Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]
Metadata = Annotated[
    dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=512)]],
    Meta(max_length=16),
]


class TextConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """The format of the answer."""

    format: Format | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """The reasoning effort, and which reasoning to show.

    `summary` turns raw reasoning text into summary parts.
    """

    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    mode: Literal["standard", "pro"] | None = None


class StreamOptions(Struct, kw_only=True, forbid_unknown_fields=True):
    """`include_obfuscation` pads each delta event, so that its size reveals nothing about its
    text.
    """

    include_obfuscation: bool | None = None


class ContextManagement(
    Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="compaction"
):
    """Compact the context once it has this many tokens (specification section 11)."""

    compact_threshold: Annotated[int, Meta(ge=1000, le=2**31 - 1)] | None = None


class ConversationParam(Struct, kw_only=True, forbid_unknown_fields=True):
    """The conversation that the response is part of."""

    id: ConversationId


PromptId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        pattern=r"^[a-zA-Z0-9_-]+$(?!\n)",
        title="an ID that contains letters, numbers, underscores, or dashes",
    ),
]
PromptVariable = Text | InputText | InputImage | InputFile


class PromptParam(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The prompt of the request: its default version unless one is named, and the values of its
    variables.
    """

    id: PromptId
    version: Annotated[str, Meta(max_length=64)] | None = None
    variables: (
        Annotated[dict[Annotated[str, Meta(max_length=64)], PromptVariable], Meta(max_length=256)]
        | None
    ) = None


class CacheParam(Struct, kw_only=True, forbid_unknown_fields=True):
    """How to use the cache: store the answer for this many seconds, or call the model even if an
    answer is cached.
    """

    ttl: Annotated[int, Meta(ge=1, le=365 * 86_400)] | None = None
    refresh: bool | None = None


class Extensions(Struct, kw_only=True, forbid_unknown_fields=True):
    """Parameters of ours, which no other server has."""

    cache: bool | CacheParam | None = None


class BackgroundOptions(Struct, kw_only=True, forbid_unknown_fields=True):
    """When a background response is needed, and which requests belong together (specification
    section 24).
    """

    completion_window: Literal["soonest", "2h", "8h"] | None = None
    continuation_id: Annotated[str, Meta(max_length=512)] | None = None


class CreateResponse(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /responses`.

    >>> from antiphon.translation import decode_request
    >>> request = decode_request(b'{"model": "m", "input": "Hi", "temperature": 0.5}')
    >>> request.model, request.temperature
    ('m', 0.5)
    """

    model: ModelName
    input: (
        Text
        | Annotated[list[InputItem], Meta(max_length=MOST_ITEMS, title="array of input items")]
        | UnsetType
    ) = UNSET
    moderation: Unsupported = UNSET
    include: Annotated[list[Include], Meta(max_length=64)] | None = None
    tools: Annotated[list[AnyTool], Meta(max_length=128)] | None = None
    tool_choice: ToolChoice | None = None
    metadata: Metadata | None = None
    text: TextConfig | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    background: bool | None = None
    background_options: BackgroundOptions | None = None
    max_output_tokens: Annotated[int, Meta(ge=16, le=2**31 - 1)] | None = None
    max_tool_calls: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    reasoning: ReasoningConfig | None = None
    user: Annotated[str, Meta(max_length=512)] | None = None
    safety_identifier: Annotated[str, Meta(max_length=128)] | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=64)] | None = None
    prompt_cache_options: dict[str, Any] | None = None
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    instructions: Text | None = None
    store: bool | None = None
    service_tier: ServiceTier | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    context_management: Annotated[list[ContextManagement], Meta(min_length=1)] | None = None
    previous_response_id: ResponseId | None = None
    conversation: ConversationId | ConversationParam | None = None
    prompt: PromptParam | None = None
    image: Unsupported = UNSET
    access_programs: Unsupported = UNSET
    client_metadata: dict[str, Any] | None = None
    antiphon: Extensions | None = None

    @property
    def conversation_id(self) -> str | None:
        """The id in `conversation`, however it is written."""
        return (
            self.conversation.id
            if isinstance(self.conversation, ConversationParam)
            else self.conversation
        )

    @property
    def requests_json(self) -> bool:
        """Whether the answer's text must be JSON."""
        return self.text is not None and isinstance(
            self.text.format, JsonSchemaFormat | JsonObjectFormat
        )


SOONEST = "soonest"
"""The `completion_window` of a request that names none."""


def background_window(request: CreateResponse) -> str:
    """Return the `completion_window` of a request."""
    options = request.background_options
    return SOONEST if options is None else options.completion_window or SOONEST


class LocalRequest(CreateResponse, kw_only=True, forbid_unknown_fields=True):
    """A request with parameters outside the API, such as `top_k`, which are forwarded to its
    backend.

    Clients cannot send `parameters` themselves: only `read_request` creates such a request.
    """

    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, request: CreateResponse, parameters: dict[str, Any]) -> "LocalRequest":
        """Return the request with these parameters."""
        return cls(**asdict(request), parameters=parameters)


class PromptedRequest(LocalRequest, kw_only=True, forbid_unknown_fields=True):
    """A request with the fields of its prompt for those that it does not set
    (`antiphon.history.prompted`).
    """

    opening: list[Message] = field(default_factory=list)
    """The messages of the prompt: the model sees them before the conversation, and they are not
    stored with it.
    """


class TranslatedRequest(LocalRequest, kw_only=True, forbid_unknown_fields=True):
    """A request that a client made in another API, with what the Responses API does not have.

    It is never refused because of sealed content that cannot be opened: its client could not
    continue.
    """

    stop: list[str] = field(default_factory=list)
    """The text of the answer ends before the first of these."""
    optional: dict[str, Any] = field(default_factory=dict)
    """Parameters such as `top_k`, for a backend that takes them; another one is as good."""
    is_compared: bool = False
    """Whether the prompt is compared with those of other requests of the client."""
    is_prefilled: bool = False
    """Whether the last message of the input is the beginning of the answer."""
    is_part: bool = False
    """Whether the input can be any part of a conversation, of which only the tokens are counted:
    with calls without outputs, and outputs without calls.
    """


def opening_of(request: CreateResponse) -> Sequence[Message]:
    """Return the messages of a request's prompt."""
    return request.opening if isinstance(request, PromptedRequest) else ()


class CompactRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /responses/compact` (specification section 11)."""

    model: ModelName
    input: (
        Text
        | Annotated[list[InputItem], Meta(max_length=MOST_ITEMS, title="array of input items")]
        | UnsetType
        | None
    ) = UNSET
    instructions: Text | None = None
    previous_response_id: ResponseId | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=64)] | None = None
    prompt_cache_options: dict[str, Any] | None = None
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None = None
    service_tier: ServiceTier | None = None
    image: Unsupported = UNSET
