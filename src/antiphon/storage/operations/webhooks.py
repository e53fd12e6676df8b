"""Webhook endpoints, and the outbox."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from antiphon.storage.operations.step import UNKNOWN_ITEMS, Operation, Row, announce_read, ask, ask_many, first
from antiphon.storage.records import Announcement, Delivery, DueDelivery, WebhookEndpoint


def put(endpoint: WebhookEndpoint, most: int) -> Operation[bool]:
    """Store or replace an endpoint, unless the tenant has `most` others; 0 means no limit."""
    if most:
        yield from ask("lock_endpoints", endpoint.tenant)
        ((others,),) = yield from ask("count_endpoints", endpoint.tenant, endpoint.id)
        if others >= most:
            return False
    yield from ask(
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
        endpoint.old_secret_until,
    )
    return True


def load(tenant: str, endpoint_id: str) -> Operation[WebhookEndpoint | None]:
    """Return an endpoint."""
    row = yield from first("load_endpoint", endpoint_id, tenant)
    return _endpoint(row) if row else None


def endpoints(tenant: str) -> Operation[list[WebhookEndpoint]]:
    """Return a tenant's endpoints, newest first."""
    return [_endpoint(row) for row in (yield from ask("endpoints", tenant))]


def delete(tenant: str, endpoint_id: str) -> Operation[bool]:
    """Delete an endpoint with its deliveries."""
    return bool((yield from ask("delete_endpoint", endpoint_id, tenant)))


def announce(tenant: str, event: Announcement) -> Operation[None]:
    """Add a delivery to the outbox for each endpoint that subscribes to the event."""
    wanting = [one for one in (yield from endpoints(tenant)) if event.type in one.event_types]
    rows = [
        (f"wh_{event.id.partition('_')[2]}_{number}", one.id, event.type, event.body, event.created_at)
        for number, one in enumerate(wanting)
    ]
    yield from ask_many("announce", rows)


def due(limit: int, now: int) -> Operation[list[DueDelivery]]:
    """Return the due deliveries, in turns by tenant."""
    ((count,),) = yield from ask("count_due", now, 2 * limit + 1)
    if count <= 2 * limit:
        return [DueDelivery(*row) for row in (yield from ask("due", now, limit))]
    return (yield from _due_of_many(limit, now))


def _due_of_many(limit: int, now: int) -> Operation[list[DueDelivery]]:
    """Return the same if very many are due, by reading only a few of each endpoint."""
    endpoints: dict[str, list[str]] = {}
    for endpoint, tenant in (yield from ask("due_endpoints", now)):
        endpoints.setdefault(tenant, []).append(endpoint)
    chosen = in_turns(endpoints)[:limit]
    each = Counter(tenant for tenant, _ in chosen)
    found: dict[str, list[str]] = {}
    for tenant, endpoint in chosen:
        most = -(-limit // (len(each) * each[tenant]))
        rows = yield from ask("due_of_endpoint", endpoint, now, most)
        found.setdefault(tenant, []).extend(row[0] for row in rows)
    return [DueDelivery(one, tenant) for tenant, one in in_turns(found)][:limit]


def in_turns(things: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the things with their tenants: the first of every tenant, then the second of every tenant, and so on."""
    rounds = zip_longest(*([(tenant, one) for one in own] for tenant, own in things.items()))
    return [pair for one in rounds for pair in one if pair is not None]


def claim(delivery_id: str, hold: int, now: int) -> Operation[Delivery | None]:
    """Claim a delivery for a while, if it is due."""
    if not (yield from ask("claim_delivery", delivery_id, now, now + hold)):
        return None
    row = yield from first("delivery", delivery_id)
    return _delivery(row) if row else None


def delivered(delivery_id: str) -> Operation[None]:
    """Delete a delivery."""
    yield from ask("delivered", delivery_id)


def postpone(delivery_id: str, due_at: int | None, error: str, now: int) -> Operation[None]:
    """Schedule the next attempt of a delivery, or mark it as failed."""
    if due_at is None:
        yield from ask("give_up", delivery_id, now, error)
    else:
        yield from ask("postpone", delivery_id, due_at, error)


def retry(delivery_id: str, now: int) -> Operation[bool]:
    """Schedule a delivery for now."""
    return bool((yield from ask("retry_delivery", delivery_id, now)))


def retry_failed(now: int) -> Operation[int]:
    """Schedule all failed deliveries for now."""
    return len((yield from ask("retry_failed_deliveries", now)))


def deliveries() -> Operation[list[Delivery]]:
    """Return the outbox."""
    return [_delivery(row) for row in (yield from ask("deliveries"))]


LAST = "wh_z"
"""Sorts after every delivery id."""


def page(tenant: str | None, is_failed: bool | None, limit: int, after: str) -> Operation[list[Delivery]]:
    """Return one page of the outbox, newest first."""
    yield from announce_read(UNKNOWN_ITEMS)  # the number of rows that the conditions exclude is unknown
    state = 2 if is_failed is None else int(is_failed)
    own = int(tenant is not None), tenant or ""
    return [_delivery(row) for row in (yield from ask("delivery_page", after or LAST, state, limit, *own))]


def _endpoint(row: Row) -> WebhookEndpoint:
    key, tenant, name, url, event_types, *rest = row
    return WebhookEndpoint(key, tenant, name, url, event_types.split(), *rest)


def _delivery(row: Row) -> Delivery:
    return Delivery(row[0], _endpoint(row[8:]), *row[1:8])
