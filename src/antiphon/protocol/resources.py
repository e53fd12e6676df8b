"""Bodies and queries of other endpoints than `/responses`: conversations, token counts, lists,
webhooks.
"""

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct, field

from antiphon.protocol.items.content import ItemId
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse, Include, Metadata, ModelName


class CreateConversation(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /conversations`."""

    items: Annotated[list[InputItem], Meta(max_length=20, title="array of input items")] | None = (
        None
    )
    metadata: Metadata | None = None


class UpdateConversation(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /conversations/{id}`; `null` removes all metadata."""

    metadata: Metadata | None


class AddItems(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /conversations/{id}/items`."""

    items: Annotated[
        list[InputItem], Meta(min_length=1, max_length=20, title="array of input items")
    ]


COUNTED = frozenset(
    {
        "model",
        "input",
        "tools",
        "tool_choice",
        "text",
        "parallel_tool_calls",
        "reasoning",
        "truncation",
    }
    | {"instructions", "previous_response_id", "conversation", "prompt"}
)
"""The fields of `CreateResponse` that it accepts, with the same types."""

Personality = Annotated[str, Meta(max_length=64)]
"""`friendly`, `pragmatic` or any other. A Chat backend does not receive it, so it changes no
count.
"""

CountInputTokens = msgspec.defstruct(
    "CountInputTokens",
    [
        *(
            (field.name, field.type, field.default)
            if not field.required
            else (field.name, field.type)
            for field in msgspec.structs.fields(CreateResponse)
            if field.name in COUNTED
        ),
        ("personality", Personality | None, None),
    ],
    module=__name__,
    kw_only=True,
    forbid_unknown_fields=True,
    namespace={"__doc__": "The body of `POST /responses/input_tokens`."},
)


IncludeList = Annotated[list[Include], Meta(max_length=64)]


class RetrieveQuery(Struct, kw_only=True):
    """`GET /responses/{id}`."""

    include: IncludeList = field(default_factory=list)


class InputItemsQuery(Struct, kw_only=True):
    """`GET /responses/{id}/input_items`: a page of at most `limit` items, newest first by default.

    `after` and `before` are ids of items; the page has the items after or before them in the
    requested order.
    """

    after: ItemId | None = None
    before: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"
    include: IncludeList = field(default_factory=list)


class ResponsesQuery(Struct, kw_only=True):
    """`GET /responses`: a page of at most `limit` responses, newest first by default.

    `after` and `before` are ids of responses. `q` is a line of filters
    (`antiphon.query.response_filters`).
    """

    after: ItemId | None = None
    before: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"
    q: str | None = None


class CompletionMessagesQuery(Struct, kw_only=True):
    """`GET /chat/completions/{id}/messages`: a page of at most `limit`, oldest first by default."""

    after: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "asc"


class CompletionsQuery(CompletionMessagesQuery, kw_only=True):
    """`GET /chat/completions`: those of a model, by the requested name or the name that the backend
    returned, and with this metadata.
    """

    model: ModelName | None = None
    metadata: Metadata | None = None


class UpdateChatCompletion(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /chat/completions/{id}`; `null` removes all metadata."""

    metadata: Metadata | None


class StreamQuery(Struct, kw_only=True):
    """`GET /responses/{id}?stream=true`: the events after `starting_after`, or all of them without
    it.
    """

    starting_after: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    include_obfuscation: bool = True


class UsageQuery(Struct, kw_only=True):
    """`GET /usage`: the days from that of `start_time` to before `end_time`, in seconds since
    1970.
    """

    start_time: Annotated[int, Meta(ge=0, le=2**40)] | None = None
    end_time: Annotated[int, Meta(ge=0, le=2**40)] | None = None
    tenant: str | None = None
    """A tenant, `*` for all of them; by default that of the request."""
    group_by: list[Literal["tenant", "key", "model", "day"]] = field(
        default_factory=lambda: ["key", "day"]
    )
    """The grouping; repeatable, or separated by commas."""


class EndpointsQuery(Struct, kw_only=True):
    """`GET /webhook_endpoints`: a page of at most `limit`, newest first; `after` is an endpoint's
    id.
    """

    after: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


EventType = Literal[
    "response.completed", "response.failed", "response.cancelled", "response.incomplete"
]
"""Events that webhooks can receive: background responses that ended."""

EVENT_TYPES: tuple[str, ...] = get_args(EventType)

EventTypes = Annotated[list[EventType], Meta(min_length=1, max_length=16)]
EndpointName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)",
        title="a name without control characters",
    ),
]
EndpointUrl = Annotated[str, Meta(min_length=1, max_length=2048)]


class CreateWebhookEndpoint(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /webhook_endpoints` (specification section 12)."""

    name: EndpointName
    url: EndpointUrl
    event_types: EventTypes


class UpdateWebhookEndpoint(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /webhook_endpoints/{id}`: omitted fields stay unchanged."""

    name: EndpointName | None = None
    url: EndpointUrl | None = None
    event_types: EventTypes | None = None


class RotateSecret(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /webhook_endpoints/{id}/rotate_secret`."""

    keep_old_secret_active_for_24_hours: bool | None = None


class SendTest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /webhook_endpoints/{id}/test`."""

    event_type: EventType
