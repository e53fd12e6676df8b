"""`/v1/webhook_endpoints` and `/v1/webhook_event_types` (specification section 12)."""

from starlette.types import Receive, Scope, Send

from antiphon.protocol.resources import (
    EVENT_TYPES,
    CreateWebhookEndpoint,
    RotateSecret,
    SendTest,
    UpdateWebhookEndpoint,
)
from antiphon.protocol.validation.validate import decode_body, decode_endpoints_query
from antiphon.server.http import Resources, path_part, read_body, read_query, reply_json, tenant_of
from antiphon.webhooks.endpoints import Endpoints


def resources(endpoints: Endpoints) -> Resources:
    """Return what is served under which path."""

    async def create_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        request = decode_body(await read_body(scope, receive), CreateWebhookEndpoint)
        await reply_json(send, await endpoints.create(tenant_of(scope), request))

    async def list_endpoints(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await endpoints.list(tenant_of(scope), decode_endpoints_query(read_query(scope))))

    async def get_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await endpoints.retrieve(tenant_of(scope), _id(scope)))

    async def update_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        request = decode_body(await read_body(scope, receive), UpdateWebhookEndpoint)
        await reply_json(send, await endpoints.update(tenant_of(scope), _id(scope), request))

    async def delete_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await endpoints.delete(tenant_of(scope), _id(scope)))

    async def rotate_secret(scope: Scope, receive: Receive, send: Send) -> None:
        request = decode_body(await read_body(scope, receive), RotateSecret)
        keeps_old = bool(request.keep_old_secret_active_for_24_hours)
        await reply_json(send, await endpoints.rotate(tenant_of(scope), _id(scope), keeps_old=keeps_old))

    async def send_test(scope: Scope, receive: Receive, send: Send) -> None:
        request = decode_body(await read_body(scope, receive), SendTest)
        await reply_json(send, await endpoints.test(tenant_of(scope), _id(scope), request.event_type))

    async def list_event_types(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, {"object": "list", "data": list(EVENT_TYPES)})

    one = "/v1/webhook_endpoints/{endpoint_id}"
    return {
        "/v1/webhook_endpoints": {"POST": create_endpoint, "GET": list_endpoints},
        one: {"GET": get_endpoint, "POST": update_endpoint, "DELETE": delete_endpoint},
        f"{one}/rotate_secret": {"POST": rotate_secret},
        f"{one}/test": {"POST": send_test},
        "/v1/webhook_event_types": {"GET": list_event_types},
    }


def _id(scope: Scope) -> str:
    return path_part(scope, "endpoint_id")
