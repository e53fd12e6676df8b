"""Webhook endpoints, and the outbox.

Callers pass and receive times of this process's clock; those that decide something are stored as
times of the store's clock.
"""

from collections import Counter
from operator import attrgetter, itemgetter

from msgspec.structs import replace

from antiphon.sharing.turns import in_turns
from antiphon.storage.operations.step import (
    NOW,
    SHIFT,
    UNKNOWN_ITEMS,
    Operation,
    Row,
    announce_read,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.tenants import Announcement, Delivery, DueDelivery, WebhookEndpoint


@writes("put_endpoint")
def put(endpoint: WebhookEndpoint, most: int = 0) -> Operation[bool]:
    """Store or replace an endpoint.

    Return False, and store nothing, if the tenant has `most` other endpoints; 0 means no limit.
    """
    if most:
        yield from query_rows("lock_endpoints", endpoint.tenant)
        ((others,),) = yield from query_rows("count_endpoints", endpoint.tenant, endpoint.id)
        if others >= most:
            return False
    shift: int = yield SHIFT
    yield from query_rows(
        "put_endpoint",
        endpoint.id,
        endpoint.tenant,
        endpoint.name,
        endpoint.url,
        " ".join(endpoint.event_types),
        endpoint.created_at,
        endpoint.updated_at,
        endpoint.secret,
        endpoint.old_secret,
        endpoint.old_secret_until and endpoint.old_secret_until + shift,
    )
    return True


@reads("load_endpoint")
def load(tenant: str, endpoint_id: str) -> Operation[WebhookEndpoint | None]:
    """Return an endpoint, or None."""
    shift: int = yield SHIFT
    row = yield from first("load_endpoint", endpoint_id, tenant)
    return _endpoint(row, shift) if row else None


@reads("endpoints")
def endpoints(tenant: str) -> Operation[list[WebhookEndpoint]]:
    """Return the tenant's endpoints, newest first."""
    shift: int = yield SHIFT
    return [_endpoint(row, shift) for row in (yield from query_rows("endpoints", tenant))]


@writes("delete_endpoint", frees=True)
def delete(tenant: str, endpoint_id: str) -> Operation[bool]:
    """Delete an endpoint and its pending deliveries; return False if it is unknown."""
    return bool((yield from query_rows("delete_endpoint", endpoint_id, tenant)))


def announce(tenant: str, event: Announcement) -> Operation[None]:
    """Add a delivery to the outbox for each endpoint that subscribes to the event."""
    wanting = [one for one in (yield from endpoints(tenant)) if event.type in one.event_types]
    rows = [
        (
            f"wh_{event.id.partition('_')[2]}_{number}",
            one.id,
            event.type,
            event.body,
            event.created_at,
        )
        for number, one in enumerate(wanting)
    ]
    yield from query_many("announce", rows)


@writes("due", is_of_all=True)
def due(limit: int) -> Operation[list[DueDelivery]]:
    """Return due deliveries: the first of each tenant, then the second of each, and so on.

    So one tenant with many deliveries cannot delay the deliveries of other tenants.
    """
    now: int = yield NOW
    ((count,),) = yield from query_rows("count_due", now, 2 * limit + 1)
    if count <= 2 * limit:
        return [DueDelivery(*row) for row in (yield from query_rows("due", now, limit))]
    return (yield from _due_of_many(limit, now))


def _due_of_many(limit: int, now: int) -> Operation[list[DueDelivery]]:
    """Return the same if very many are due, by reading only a few of each endpoint."""
    endpoints = yield from query_rows("due_endpoints", now)
    chosen = in_turns(endpoints, itemgetter(1))[:limit]
    each = Counter(tenant for _, tenant in chosen)
    found: list[DueDelivery] = []
    for endpoint, tenant in chosen:
        most = -(-limit // (len(each) * each[tenant]))
        rows = yield from query_rows("due_of_endpoint", endpoint, now, most)
        found += (DueDelivery(row[0], tenant) for row in rows)
    return in_turns(found, attrgetter("tenant"))[:limit]


@writes("claim_delivery", is_of_all=True)
def claim(delivery_id: str, hold: int) -> Operation[Delivery | None]:
    """Claim a delivery exclusively for `hold` seconds, or return None if it is not due."""
    now: int = yield NOW
    if not (yield from query_rows("claim_delivery", delivery_id, now, now + hold)):
        return None
    shift: int = yield SHIFT
    row = yield from first("delivery", delivery_id)
    return _delivery(row, shift) if row else None


@writes("delivered", is_of_all=True)
def delivered(delivery_id: str) -> Operation[None]:
    """Delete a delivery that was received."""
    yield from query_rows("delivered", delivery_id)


@writes("postpone", is_of_all=True)
def postpone(delivery_id: str, due_at: int | None, error: str) -> Operation[None]:
    """Schedule the next attempt for `due_at`; None marks the delivery as failed.

    `error` describes the failure.
    """
    if due_at is None:
        yield from query_rows("give_up", delivery_id, (yield NOW), error)
    else:
        yield from query_rows("postpone", delivery_id, due_at + (yield SHIFT), error)


@writes("retry_delivery", is_of_all=True)
def retry(delivery_id: str) -> Operation[bool]:
    """Schedule a waiting or failed delivery for now, and restart its attempts.

    Return False if the delivery is unknown.
    """
    now: int = yield NOW
    return bool((yield from query_rows("retry_delivery", delivery_id, now)))


@writes("retry_failed_deliveries", is_of_all=True)
def retry_failed() -> Operation[int]:
    """Schedule every failed delivery for now, and restart its attempts; return their number."""
    now: int = yield NOW
    return len((yield from query_rows("retry_failed_deliveries", now)))


@reads("deliveries", is_of_all=True)
def deliveries() -> Operation[list[Delivery]]:
    """Return all waiting and failed deliveries, oldest first."""
    shift: int = yield SHIFT
    return [_delivery(row, shift) for row in (yield from query_rows("deliveries"))]


LAST = "wh_z"
"""Sorts after every delivery id."""


@reads("list_deliveries")
def page(
    tenant: str | None, limit: int, after: str = "", *, is_failed: bool | None = None
) -> Operation[list[Delivery]]:
    """Return up to `limit` deliveries of one tenant, or of all tenants, newest first, starting
    after `after`.

    `is_failed` selects either the failed or the waiting deliveries. `after` is the id of a
    delivery, which may have been deleted.
    """
    yield from announce_read(
        UNKNOWN_ITEMS
    )  # the number of rows that the conditions exclude is unknown
    shift: int = yield SHIFT
    state = 2 if is_failed is None else int(is_failed)
    own = int(tenant is not None), tenant or ""
    return [
        _delivery(row, shift)
        for row in (yield from query_rows("delivery_page", after or LAST, state, limit, *own))
    ]


def _endpoint(row: Row, shift: int) -> WebhookEndpoint:
    key, tenant, name, url, event_types, *rest = row
    endpoint = WebhookEndpoint(key, tenant, name, url, event_types.split(), *rest)
    until = endpoint.old_secret_until
    return replace(endpoint, old_secret_until=until - shift) if until and shift else endpoint


def _delivery(row: Row, shift: int) -> Delivery:
    key, kind, body, created_at, due_at, attempts, failed_at, error = row[:8]
    return Delivery(
        key,
        _endpoint(row[8:], shift),
        kind,
        body,
        created_at - shift,
        due_at - shift,
        attempts,
        None if failed_at is None else failed_at - shift,
        error,
    )
