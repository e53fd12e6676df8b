"""The response object (specification section 3)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, UnsetType, field

from antiphon.protocol.items.hosted import ImageGenerationCall, WebSearchCall
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.objects import ApiObject, UnknownItem

OutputItem = InputItem | UnknownItem
"""An item of a response's output."""

if TYPE_CHECKING:
    OutputItems = list[OutputItem]
    TextOfMessages = str
else:
    # msgspec does not check the items of a response that it reads, so items of unknown types survive.
    OutputItems = list[Any]
    TextOfMessages = str | UnsetType

Status = Literal["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"]


class InputTokensDetails(ApiObject, kw_only=True):
    """Of the input tokens, how many the backend read from and wrote to its cache."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputTokensDetails(ApiObject, kw_only=True):
    """Of the output tokens, how many were reasoning."""

    reasoning_tokens: int = 0


class Usage(ApiObject, kw_only=True):
    """Tokens, as the backend counted them."""

    input_tokens: int = 0
    input_tokens_details: InputTokensDetails = field(default_factory=InputTokensDetails)
    output_tokens: int = 0
    output_tokens_details: OutputTokensDetails = field(default_factory=OutputTokensDetails)
    total_tokens: int = 0


class ResponseError(ApiObject, kw_only=True):
    """Why a response failed."""

    code: str
    message: str
    param: str | UnsetType | None = UNSET
    type: str | UnsetType = UNSET


class IncompleteDetails(ApiObject, kw_only=True):
    """Why a response ended early."""

    reason: Literal["max_output_tokens", "content_filter", "max_messages", "steered"]


class ConversationRef(ApiObject, kw_only=True):
    """The conversation that a response is part of."""

    id: str


class Response(ApiObject, kw_only=True):
    """A response. Every key is always on the wire, null when unset; times are whole seconds since the epoch.

    `output_text`, the text of all messages, is on the wire in plain JSON replies only: clients of other servers read
    it. Every response that the library returns has it.

    >>> from antiphon import Antiphon
    >>> with Antiphon() as client:
    ...     response = client.responses.create(model="demo", input="My name is Ada.")
    >>> response.output[0].type, response.to_dict()["status"]
    ('message', 'completed')
    """

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Status = "in_progress"
    background: bool = False
    completed_at: int | None = None
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | list[InputItem] | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    model: str
    output: OutputItems = field(default_factory=list)
    parallel_tool_calls: bool = True
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    prompt_cache_retention: str | None = None
    reasoning: dict[str, Any] | None = None
    safety_identifier: str | None = None
    service_tier: str = "default"
    store: bool = True
    temperature: float = 1.0
    text: dict[str, Any] = field(default_factory=dict)
    tool_choice: Any = "auto"
    tools: list[Any] = field(default_factory=list)
    top_logprobs: int = 0
    top_p: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    truncation: str = "disabled"
    usage: Usage | None = None
    user: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    conversation: ConversationRef | None = None
    prompt: dict[str, Any] | None = None
    moderation: None = None
    image: None = None
    access_programs: None = None
    input_transformations: None = None
    prompt_cache_diagnostics: None = None
    tool_usage: dict[str, Any] | None = None
    output_text: TextOfMessages = field(default=UNSET)  # type: ignore[assignment]


def tool_usage(output: Sequence[Any]) -> dict[str, Any] | None:
    """Return `tool_usage` (specification section 3): how often the web was searched, and the tokens of images.

    None without a search and an image that this server made. A search without a query was not made, so it does not
    count.
    """
    used = [item for item in output if isinstance(item, WebSearchCall)]
    images = None
    if ImageGenerationCall in map(type, output):
        from antiphon.protocol.kept_images import usage_of  # noqa: PLC0415 - few responses make images

        images = usage_of(output)
    if not used and images is None:
        return None
    searches = sum(_is_made(item.action or {}) for item in used)
    none = {"image_tokens": 0, "text_tokens": 0}
    zeros = {"input_tokens": 0, "input_tokens_details": none, "output_tokens": 0, "total_tokens": 0}
    return {
        "image_gen": images or {**zeros, "output_tokens_details": none},
        "web_search": {"num_requests": searches},
    }


def _is_made(action: dict[str, Any]) -> bool:
    return action.get("type") == "search" and bool(action.get("query") or action.get("queries"))
