"""What clients send to `/webhook_endpoints` (specification section 12)."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

EventType = Literal["response.completed", "response.failed", "response.cancelled", "response.incomplete"]
"""Events that webhooks can be told of: background responses that ended."""

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
    """The body of `POST /webhook_endpoints/{id}`: what is left out stays."""

    name: EndpointName | None = None
    url: EndpointUrl | None = None
    event_types: EventTypes | None = None


class RotateSecret(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /webhook_endpoints/{id}/rotate_secret`."""

    keep_old_secret_active_for_24_hours: bool | None = None


class SendTest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /webhook_endpoints/{id}/test`."""

    event_type: EventType
