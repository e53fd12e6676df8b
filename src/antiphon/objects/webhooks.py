"""Webhook endpoints (specification section 12), and the deliveries to them that wait or have
failed.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.extras import missing
from antiphon.ids import Clock, NewId
from antiphon.objects.pages import JsonObject, not_found, page_of
from antiphon.outbound.ssrf import Reach, check_url
from antiphon.protocol.resources import CreateWebhookEndpoint, EndpointsQuery, UpdateWebhookEndpoint
from antiphon.sharing.scheduler import NoRoomError
from antiphon.storage.operations import webhooks
from antiphon.storage.records.tenants import Delivery, WebhookEndpoint
from antiphon.storage.store import Store
from antiphon.webhooks.announcement import announcement
from antiphon.webhooks.courier import FEATURE, Courier
from antiphon.webhooks.sign import hint, new_secret

OVERLAP = 24 * 3600
"""Seconds for which the old secret also signs after a rotation, if requested."""

SECRET_BYTES = 32

MOST = 20
"""Default number of endpoints of a tenant: each event is delivered to all of them."""


@dataclass(slots=True)
class Webhooks:
    """The webhook endpoints of one store."""

    store: Store
    courier: Courier
    new_id: NewId
    now: Clock
    reach: Reach
    most: int = MOST
    """Maximum number of endpoints of a tenant."""

    async def create(self, tenant: str, request: CreateWebhookEndpoint) -> JsonObject:
        """Create an endpoint; its secret is shown now and never again.

        Raises `ClientError` (400) for an invalid URL, if the tenant has reached its maximum of
        endpoints, and if this server cannot deliver.
        """
        if error := missing("webhooks", FEATURE):
            raise error
        check_url(request.url, self.reach)
        now = int(self.now())
        endpoint = WebhookEndpoint(
            id=self.new_id("we"),
            tenant=tenant,
            name=request.name,
            url=request.url,
            event_types=list(dict.fromkeys(request.event_types)),
            created_at=now,
            updated_at=now,
            secret=new_secret(os.urandom(SECRET_BYTES)),
        )
        if not await self.store.write(webhooks.put, endpoint, self.most):
            raise ClientError(
                f"You have {self.most} webhook endpoints, which is the maximum on this server. "
                "Delete one first.",
                code="webhook_endpoint_limit_reached",
            )
        return displayed(endpoint, with_secret=True)

    async def list(self, tenant: str, query: EndpointsQuery) -> JsonObject:
        """Return a page, newest first. Raises `ClientError` (400) if `after` is not an endpoint."""
        found = await self.store.read(webhooks.endpoints, tenant)
        if query.after is not None:
            ids = [one.id for one in found]
            if query.after not in ids:
                raise ClientError(
                    "Invalid 'after': no such webhook endpoint.",
                    code="invalid_value",
                    param="after",
                )
            found = found[ids.index(query.after) + 1 :]
        data = [displayed(one) for one in found[: query.limit]]
        return page_of(data, has_more=len(found) > query.limit)

    async def retrieve(self, tenant: str, endpoint_id: str) -> JsonObject:
        """Return an endpoint. Raises `ClientError` (404)."""
        return displayed(await self._load(tenant, endpoint_id))

    async def update(
        self, tenant: str, endpoint_id: str, request: UpdateWebhookEndpoint
    ) -> JsonObject:
        """Change the fields that are set. Raises `ClientError`: 404, 400 for an invalid URL."""
        endpoint = await self._load(tenant, endpoint_id)
        if request.url is not None:
            check_url(request.url, self.reach)
        endpoint = replace(
            endpoint,
            name=request.name or endpoint.name,
            url=request.url or endpoint.url,
            event_types=request.event_types or endpoint.event_types,
            updated_at=int(self.now()),
        )
        await self.store.write(webhooks.put, endpoint)
        return displayed(endpoint)

    async def delete(self, tenant: str, endpoint_id: str) -> JsonObject:
        """Delete an endpoint and its pending deliveries. Raises `ClientError` (404)."""
        if not await self.store.write(webhooks.delete, tenant, endpoint_id):
            raise not_found("Webhook endpoint", endpoint_id)
        return {"id": endpoint_id, "object": "webhook_endpoint.deleted", "deleted": True}

    async def rotate(self, tenant: str, endpoint_id: str, *, keeps_old: bool) -> JsonObject:
        """Rotate the secret of an endpoint; the new one is shown now and never again.

        Raises `ClientError` (404).
        """
        endpoint = await self._load(tenant, endpoint_id)
        now = int(self.now())
        endpoint = replace(
            endpoint,
            secret=new_secret(os.urandom(SECRET_BYTES)),
            old_secret=endpoint.secret if keeps_old else None,
            old_secret_until=now + OVERLAP if keeps_old else 0,
            updated_at=now,
        )
        await self.store.write(webhooks.put, endpoint)
        return displayed(endpoint, with_secret=True)

    async def test(self, tenant: str, endpoint_id: str, event_type: str) -> JsonObject:
        """Send a sample event now; return the status of the response.

        Raises `ClientError`: 404, 400 if it does not answer or the address is not permitted, 429 if
        the queue is full.
        """
        endpoint = await self._load(tenant, endpoint_id)
        status = event_type.rpartition(".")[2]
        event = announcement(self.new_id, self.now, self.new_id("resp"), status)
        try:
            answered = await self.courier.test(endpoint, self.new_id("wh"), event.body)
        except NoRoomError as error:
            raise ClientError(
                "Too many of your webhook deliveries are waiting. "
                "Try again after they have been sent.",
                status=429,
                type="requests",
                code="rate_limit_exceeded",
                headers={"retry-after": str(max(1, math.ceil(error.wait)))},
            ) from error
        except OSError as error:
            raise ClientError(
                f"Cannot call the webhook endpoint: {error}.", code="webhook_unreachable"
            ) from error
        return {
            "object": "webhook_endpoint.test",
            "success": True,
            "status_code": answered,
            "event_type": event_type,
            "webhook_endpoint_id": endpoint_id,
        }

    async def _load(self, tenant: str, endpoint_id: str) -> WebhookEndpoint:
        endpoint = await self.store.read(webhooks.load, tenant, endpoint_id)
        if endpoint is None:
            raise not_found("Webhook endpoint", endpoint_id)
        return endpoint


class WebhookDeliveries:
    """The deliveries of one store, as its operator sees them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(
        self, tenant: str | None, limit: int, after: str, *, is_failed: bool | None
    ) -> Sequence[JsonObject]:
        """Return deliveries, newest first; without a `tenant`, of all tenants.

        `is_failed` of None includes both.
        """
        found = await self._store.read(webhooks.page, tenant, limit, after, is_failed=is_failed)
        return [delivery_object(one) for one in found]

    async def retry(self, delivery_id: str) -> JsonObject:
        """Attempt a delivery now; return it as waiting.

        Raises `ClientError` (404) if it is unknown.
        """
        if not await self._store.write(webhooks.retry, delivery_id):
            raise not_found("Webhook delivery", delivery_id)
        return {"object": "webhook_delivery", "id": delivery_id, "status": "pending"}


def displayed(endpoint: WebhookEndpoint, *, with_secret: bool = False) -> JsonObject:
    """Return an endpoint as its JSON object; with the secret only if it is new."""
    value = {
        "id": endpoint.id,
        "object": "webhook_endpoint",
        "name": endpoint.name,
        "url": endpoint.url,
        "event_types": list(endpoint.event_types),
        "created_at": endpoint.created_at,
        "updated_at": endpoint.updated_at,
        "signing_secret_hint": hint(endpoint.secret),
    }
    return {**value, "signing_secret": endpoint.secret} if with_secret else value


def delivery_object(delivery: Delivery) -> JsonObject:
    """Return a delivery as its JSON object, without its event."""
    endpoint = delivery.endpoint
    is_failed = delivery.failed_at is not None
    return {
        "object": "webhook_delivery",
        "id": delivery.id,
        "tenant": endpoint.tenant or None,
        "endpoint_id": endpoint.id,
        "endpoint_name": endpoint.name,
        "url": endpoint.url,
        "event_type": delivery.type,
        "status": "failed" if is_failed else "pending",
        "created_at": delivery.created_at,
        "attempts": delivery.attempts,
        "next_attempt_at": None if is_failed else delivery.due_at,
        "failed_at": delivery.failed_at,
        "last_error": delivery.last_error or None,
    }
