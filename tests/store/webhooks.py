"""Promises about webhook endpoints and the outbox."""

import asyncio
import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import jobs, responses, webhooks
from antiphon.storage.records.tenants import Announcement, Delivery, WebhookEndpoint
from antiphon.storage.store import Store
from tests.store.making import T, hold, new_items, new_response


def _endpoint(tenant: str, *event_types: str, created_at: int = 1000) -> WebhookEndpoint:
    return WebhookEndpoint(
        new_id("we"),
        tenant,
        "näme",
        "https://example.com/hook",
        list(event_types),
        created_at,
        created_at,
        "whsec_x",
    )


async def _announce(store: Store, tenant: str, event: Announcement) -> None:
    queued = replace(new_response(new_items("q"), status="queued"), tenant=tenant)
    await store.write(jobs.enqueue, queued, b"", [])
    job = await store.read(jobs.find_job, tenant, queued.id)
    if job is None or not await store.write(
        jobs.finish, job, replace(queued, status="completed"), announcement=event
    ):
        raise AssertionError("a job cannot be finished")
    await store.write(responses.delete, tenant, queued.id)


async def _mine(store: Store, endpoint: WebhookEndpoint) -> list[Delivery]:
    return [one for one in await store.read(webhooks.deliveries) if one.endpoint.id == endpoint.id]


async def _claimed(store: Store, endpoint: WebhookEndpoint) -> list[Delivery]:
    """Claim every delivery to this endpoint that is due."""
    found = [
        await store.write(webhooks.claim, one.id, 600)
        for one in await store.write(webhooks.due, 10_000)
        if one.tenant == endpoint.tenant
    ]
    return [one for one in found if one is not None and one.endpoint.id == endpoint.id]


async def _endpoints_are_stored(store: Store) -> None:
    """Endpoints are returned whole, the newest first; the same id again replaces one."""
    tenant = new_id("tenant")
    old, new = (
        _endpoint(tenant, "response.completed", "response.failed", created_at=at) for at in (1, 2)
    )
    for one in (old, new):
        await store.write(webhooks.put, one)
    hold(
        await store.read(webhooks.endpoints, tenant) == [new, old],
        "they are not listed as they are, newest first",
    )
    changed = replace(old, name="other", old_secret="whsec_old", old_secret_until=9)
    await store.write(webhooks.put, changed)
    hold(
        await store.read(webhooks.load, tenant, old.id) == changed,
        "an endpoint that was stored again is not the new one",
    )
    hold(await store.read(webhooks.load, T, old.id) is None, "another tenant found one")
    hold(await store.write(webhooks.delete, T, old.id) is False, "another tenant deleted one")
    for one in (old, new):
        hold(await store.write(webhooks.delete, tenant, one.id) is True, "one was not deleted")
    hold(await store.read(webhooks.endpoints, tenant) == [], "deleted endpoints are listed")


async def _outbox_delivers(store: Store) -> None:
    """An event waits once for each subscribed endpoint of its tenant, until it is delivered or
    abandoned.
    """
    tenant = new_id("tenant")
    now = int(time.time())
    wanting = _endpoint(tenant, "response.completed")
    other = _endpoint(tenant, "response.failed")
    stranger = _endpoint(new_id("tenant"), "response.completed")
    for one in (wanting, other, stranger):
        await store.write(webhooks.put, one)
    for _ in range(3):
        await _announce(
            store, tenant, Announcement(new_id("evt"), "response.completed", now, b'{"a":1}')
        )
    waiting = await _mine(store, wanting)
    hold(len(waiting) == 3, f"3 events are {len(waiting)} deliveries")
    hold(
        not await _mine(store, other) and not await _mine(store, stranger),
        "an endpoint receives events without a subscription",
    )
    taken = await _claimed(store, wanting)
    hold([one.attempts for one in taken] == [1, 1, 1], f"3 that are due are claimed as {taken}")
    hold(taken[0].body == b'{"a":1}' and taken[0].endpoint == wanting, f"a delivery is {taken[0]}")
    hold(not await _claimed(store, wanting), "deliveries that are claimed are due")
    hold(await store.write(webhooks.claim, taken[0].id, 600) is None, "a delivery is claimed twice")
    await store.write(webhooks.delivered, taken[0].id)
    await store.write(webhooks.postpone, taken[1].id, now - 1, "later")
    await store.write(webhooks.postpone, taken[2].id, None, "never")
    left = {one.id: one for one in await _mine(store, wanting)}
    hold(left.keys() == {taken[1].id, taken[2].id}, "a received delivery still exists")
    hold(left[taken[2].id].failed_at is not None, "an abandoned delivery does not say so")
    hold(
        await store.write(webhooks.claim, taken[2].id, 600) is None,
        "an abandoned delivery is claimed",
    )
    due = await _claimed(store, wanting)
    hold(
        [(one.id, one.attempts, one.last_error) for one in due] == [(taken[1].id, 2, "later")],
        f"due is {due}",
    )
    for one in (wanting, other, stranger):
        await store.write(webhooks.delete, one.tenant, one.id)
    hold(not await _mine(store, wanting), "deliveries outlive their endpoint")


async def _outbox_retries(store: Store) -> None:
    """A waiting or abandoned delivery can be attempted now, and so can all abandoned ones."""
    now = int(time.time())
    endpoint = _endpoint(new_id("tenant"), "response.completed")
    await store.write(webhooks.put, endpoint)
    for _ in range(4):
        await _announce(
            store, endpoint.tenant, Announcement(new_id("evt"), "response.completed", now, b"{}")
        )
    waiting, first, *others = await _claimed(store, endpoint)
    await store.write(webhooks.postpone, waiting.id, now + 600, "later")
    for one in (first, *others):
        await store.write(webhooks.postpone, one.id, None, "never")
    hold(
        await store.write(webhooks.retry, "wh_unknown") is False, "an unknown delivery is attempted"
    )
    hold(
        await store.write(webhooks.retry, waiting.id)
        and await store.write(webhooks.retry, first.id),
        "a delivery is unknown",
    )
    again = [(one.id, one.attempts, one.failed_at) for one in await _claimed(store, endpoint)]
    hold(
        sorted(again) == sorted((one.id, 1, None) for one in (waiting, first)),
        f"attempted again are {again}",
    )
    hold(
        await store.write(webhooks.retry_failed) >= len(others),
        "the abandoned ones are not counted",
    )
    rest = {one.id for one in await _claimed(store, endpoint)}
    hold(rest == {one.id for one in others}, f"of all abandoned ones {rest} are attempted again")
    hold(
        all(one.last_error for one in await _mine(store, endpoint)),
        "the reason of the last failure is missing",
    )
    await store.write(webhooks.delete, endpoint.tenant, endpoint.id)


async def _endpoints_are_limited(store: Store) -> None:
    """A tenant has at most the allowed number of endpoints, not counting other tenants'; changes
    are free.
    """
    tenant = new_id("tenant")
    other = new_id("tenant")
    mine = [_endpoint(tenant, "response.completed") for _ in range(3)]
    theirs = _endpoint(other, "response.completed")
    stored = [await store.write(webhooks.put, one, 2) for one in (theirs, *mine)]
    hold(stored == [True, True, True, False], f"of 3 with 2 allowed it keeps {stored[1:]}")
    hold(len(await store.read(webhooks.endpoints, tenant)) == 2, "a rejected endpoint is stored")
    hold(
        await store.write(webhooks.put, replace(mine[0], name="new"), 2) is True,
        "one of 2 cannot be changed",
    )
    for one in (mine[0], mine[1], theirs):
        await store.write(webhooks.delete, one.tenant, one.id)
    several = [_endpoint(tenant, "response.completed") for _ in range(8)]
    accepted = await asyncio.gather(*(store.write(webhooks.put, one, 2) for one in several))
    count = sum(accepted)
    hold(count == 2, f"{count} concurrent endpoints were stored where 2 are allowed")
    for one in several:
        await store.write(webhooks.delete, tenant, one.id)


async def _outbox_is_fair(store: Store) -> None:
    """However many deliveries of one tenant are due, the first of another tenant is among the
    first.
    """
    many, few = (_endpoint(new_id("tenant"), "response.completed") for _ in range(2))
    for endpoint, count in ((many, 12), (few, 1)):
        await store.write(webhooks.put, endpoint)
        for _ in range(count):
            now = int(time.time())
            await _announce(
                store,
                endpoint.tenant,
                Announcement(new_id("evt"), "response.completed", now, b"{}"),
            )
    tenants = [one.tenant for one in await store.write(webhooks.due, 10_000)]
    last_first = max(tenants.index(many.tenant), tenants.index(few.tenant))
    second = tenants.index(many.tenant, tenants.index(many.tenant) + 1)
    hold(tenants.count(many.tenant) == 12, "deliveries that are due are missing")
    hold(last_first < second, "a tenant's second delivery comes before another tenant's first")
    first = [one.id for one in await store.write(webhooks.due, 4)]
    hold(len(set(first)) == len(first) > 2, f"of many that are due, the first 4 are {first}")
    for one in (many, few):
        await store.write(webhooks.delete, one.tenant, one.id)


async def _outbox_is_listed(store: Store) -> None:
    """Deliveries are listed newest first, a page at a time, by tenant and by whether they have
    failed.
    """
    mine, theirs = (_endpoint(new_id("tenant"), "response.completed") for _ in range(2))
    for endpoint in (mine, theirs, mine, mine):
        await store.write(webhooks.put, endpoint)
        await _announce(
            store,
            endpoint.tenant,
            Announcement(new_id("evt"), "response.completed", int(time.time()), b"{}"),
        )
    own = sorted(
        (one.id for one in await store.read(webhooks.deliveries) if one.endpoint.id == mine.id),
        reverse=True,
    )
    await store.write(webhooks.postpone, own[1], None, "refused")
    listed = await store.read(webhooks.page, mine.tenant, 10)
    hold([one.id for one in listed] == own, "a tenant's deliveries are not listed newest first")
    failed = await store.read(webhooks.page, mine.tenant, 10, is_failed=True)
    hold(
        [(one.id, one.last_error) for one in failed] == [(own[1], "refused")],
        f"{failed} have failed",
    )
    waiting = [one.id for one in await store.read(webhooks.page, mine.tenant, 10, is_failed=False)]
    hold(waiting == [own[0], own[2]], f"{waiting} wait")
    first = [one.id for one in await store.read(webhooks.page, mine.tenant, 2)]
    rest = [one.id for one in await store.read(webhooks.page, mine.tenant, 2, first[-1])]
    hold(first + rest == own, f"in pages of two there are {first} and {rest} of {own}")
    tenants = {one.endpoint.tenant for one in await store.read(webhooks.page, None, 10_000)}
    hold({mine.tenant, theirs.tenant} <= tenants, "the list of all tenants lacks some")
    for one in (mine, theirs):
        await store.write(webhooks.delete, one.tenant, one.id)
