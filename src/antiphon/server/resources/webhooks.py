"""`/v1/webhook_endpoints` and `/v1/webhook_event_types` (specification section 12)."""

from collections.abc import Sequence

from antiphon.gateway import Webhooks
from antiphon.protocol.resources import (
    EVENT_TYPES,
    CreateWebhookEndpoint,
    EndpointsQuery,
    RotateSecret,
    SendTest,
    UpdateWebhookEndpoint,
)
from antiphon.protocol.validation.queries import decode_endpoints_query
from antiphon.protocol.validation.validate import decode_body
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(endpoints: Webhooks) -> Resources:
    """Return the endpoints by path."""

    async def create_endpoint(http: HttpRequest) -> Reply:
        request = decode_body(await http.body(), CreateWebhookEndpoint)
        return Reply(await endpoints.create(http.tenant, request))

    async def list_endpoints(http: HttpRequest) -> Reply:
        return Reply(await endpoints.list(http.tenant, decode_endpoints_query(http.query())))

    async def get_endpoint(http: HttpRequest) -> Reply:
        return Reply(await endpoints.retrieve(http.tenant, _id(http)))

    async def update_endpoint(http: HttpRequest) -> Reply:
        request = decode_body(await http.body(), UpdateWebhookEndpoint)
        return Reply(await endpoints.update(http.tenant, _id(http), request))

    async def delete_endpoint(http: HttpRequest) -> Reply:
        return Reply(await endpoints.delete(http.tenant, _id(http)))

    async def rotate_secret(http: HttpRequest) -> Reply:
        request = decode_body(await http.body(), RotateSecret)
        keeps_old = bool(request.keep_old_secret_active_for_24_hours)
        return Reply(await endpoints.rotate(http.tenant, _id(http), keeps_old=keeps_old))

    async def send_test(http: HttpRequest) -> Reply:
        request = decode_body(await http.body(), SendTest)
        return Reply(await endpoints.test(http.tenant, _id(http), request.event_type))

    async def list_event_types(http: HttpRequest) -> Reply:
        return Reply({"object": "list", "data": list(EVENT_TYPES)})

    one = "/v1/webhook_endpoints/{endpoint_id}"
    return {
        "/v1/webhook_endpoints": {"POST": create_endpoint, "GET": list_endpoints},
        one: {"GET": get_endpoint, "POST": update_endpoint, "DELETE": delete_endpoint},
        f"{one}/rotate_secret": {"POST": rotate_secret},
        f"{one}/test": {"POST": send_test},
        "/v1/webhook_event_types": {"GET": list_event_types},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/v1/webhook_endpoints"
    one = f"{path}/{{endpoint_id}}"
    return (
        Described("post", path, "Create a webhook endpoint", CreateWebhookEndpoint),
        Described("get", path, "List webhook endpoints", query=EndpointsQuery),
        Described("get", one, "Get a webhook endpoint"),
        Described("post", one, "Update a webhook endpoint", UpdateWebhookEndpoint),
        Described("delete", one, "Delete a webhook endpoint"),
        Described("post", f"{one}/rotate_secret", "Rotate its secret", RotateSecret),
        Described("post", f"{one}/test", "Send a test event", SendTest),
        Described("get", "/v1/webhook_event_types", "List event types"),
    )


def _id(http: HttpRequest) -> str:
    return http.path_params["endpoint_id"]
