"""Promises about API keys, their limits, and their usage."""

import asyncio
import os
import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import api_keys, jobs
from antiphon.storage.records.jobs import Reservation
from antiphon.storage.records.money import Budget
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import KeyLimits, Role, UsageRecord
from antiphon.storage.store import Store
from tests.store.making import hold, new_key

DAY = 86_400


async def _are_stored(store: Store) -> None:
    """A key is found by its digest, with its limits, and by nothing else; the same id again
    replaces it.
    """
    key = new_key(
        limits=KeyLimits(("a", "b c"), 1, 2, 3, 4, Budget(5, 2**60)), caches=True, role=Role.ADMIN
    )
    await store.write(api_keys.put, key)
    hold(
        await store.read(api_keys.find, key.digest) == key,
        f"{key} is returned as {await store.read(api_keys.find, key.digest)}",
    )
    hold(await store.read(api_keys.find, os.urandom(32)) is None, "an unknown digest finds a key")
    hold(
        await store.read(api_keys.find, key.digest[:31]) is None,
        "the beginning of a digest finds a key",
    )
    hold(
        await store.read(api_keys.any_at_all) and key in await store.read(api_keys.every),
        "a key is not listed",
    )
    other = replace(key, digest=os.urandom(32), limits=KeyLimits())
    await store.write(api_keys.put, other)
    hold(await store.read(api_keys.find, key.digest) is None, "a replaced digest is still valid")
    hold(
        await store.read(api_keys.find, other.digest) == other,
        "the digest that replaced it is not valid",
    )
    hold(
        [one for one in await store.read(api_keys.every) if one.id == key.id] == [other],
        "a key that was replaced is listed",
    )


async def _end(store: Store) -> None:
    """A key that is revoked or has expired is not found; an old digest is as valid as the new one
    until its time.
    """
    now = int(time.time())
    old = os.urandom(32)
    revoked = new_key(revoked_at=now)
    expired = new_key(expires_at=now - 1)
    late = new_key(old_digest=old, old_until=now + 600)
    early = new_key(old_digest=os.urandom(32), old_until=now - 1)
    for key in (revoked, expired, late, early):
        await store.write(api_keys.put, key)
    hold(await store.read(api_keys.find, revoked.digest) is None, "a revoked key is found")
    hold(await store.read(api_keys.load, revoked.id) is None, "a revoked key is loaded")
    hold(await store.read(api_keys.load, late.id) == late, "a key is not loaded by its ID")
    hold(await store.read(api_keys.load, "none") is None, "an unknown ID loads a key")
    hold(await store.read(api_keys.find, expired.digest) is None, "a key that has expired is found")
    hold(
        await store.read(api_keys.find, old) == late, "an old digest is not found before its expiry"
    )
    hold(
        await store.read(api_keys.find, early.old_digest or b"") is None,
        "an old digest is found after its expiry",
    )
    hold(
        {revoked, expired} <= set(await store.read(api_keys.every)),
        "keys that have ended are not listed",
    )


async def _are_exact(store: Store) -> None:
    """Of many concurrent claims exactly as many are granted as the limits allow."""
    for limits, tokens in (
        (KeyLimits(requests_per_minute=10), 0),
        (KeyLimits(tokens_per_minute=1000), 100),
    ):
        key = new_key(limits=limits)
        await store.write(api_keys.put, key)
        levels = await asyncio.gather(
            *(store.write(api_keys.take, key.id, limits, tokens) for _ in range(64))
        )
        granted = sum(level.is_granted for level in levels)
        hold(granted == 10, f"{granted} of 64 were granted with room for 10 ({limits})")
        last = await store.write(api_keys.take, key.id, limits, tokens)
        hold(
            50 < max(last.requests_in, last.tokens_in) <= 60,
            f"with nothing left, the level is {last}",
        )


async def _days_are_whole(store: Store) -> None:
    """A day's tokens can be claimed until none are left; a claim above a limit counts as all of
    it.
    """
    limits = KeyLimits(tokens_per_day=250)
    key = new_key(limits=limits)
    await store.write(api_keys.put, key)
    levels = [await store.write(api_keys.take, key.id, limits, 100) for _ in range(3)]
    hold(
        [level.is_granted for level in levels] == [True, True, False],
        f"100 of 250, three times: {levels}",
    )
    hold(levels[-1].tokens_today == 200, f"after 200 tokens the day has {levels[-1].tokens_today}")
    large = KeyLimits(requests_per_minute=5, tokens_per_minute=50)
    other = new_key(limits=large)
    await store.write(api_keys.put, other)
    levels = [await store.write(api_keys.take, other.id, large, 10_000) for _ in range(2)]
    hold(
        [level.is_granted for level in levels] == [True, False],
        f"10,000 of 50 a minute, twice: {levels}",
    )


async def _are_settled(store: Store) -> None:
    """Unused reserved tokens are returned, in the minute and in the day."""
    limits = KeyLimits(tokens_per_minute=1000, tokens_per_day=1000)
    key = new_key(limits=limits)
    now = int(time.time())
    await store.write(api_keys.put, key)
    await store.write(api_keys.take, key.id, limits, 1000)
    hold(
        not (await store.write(api_keys.take, key.id, limits, 500)).is_granted,
        "more was granted than exists",
    )
    await store.write(api_keys.charge, [UsageRecord(key.tenant, key.id, now, 1, 90, 10, 1000)])
    level = await store.write(api_keys.take, key.id, limits, 500)
    hold(
        level.is_granted and level.tokens_today == 600,
        f"900 tokens that were not used are not available again: {level}",
    )
    hold(
        0 < level.tokens_in <= 36, f"600 of 1000 tokens are available again in {level.tokens_in} s"
    )
    await store.write(api_keys.charge, [UsageRecord(key.tenant, key.id, now, 1, 300, 0, 0)])
    level = await store.write(api_keys.take, key.id, limits, 0)
    hold(
        30 < level.tokens_in <= 54, f"300 tokens above the reservation are not subtracted: {level}"
    )


async def _is_counted_once(store: Store) -> None:
    """A writer can repeat its last batch, and another writer has batches of its own."""
    tenant = new_id("tenant")
    key = new_key(tenant)
    now = int(time.time())
    await store.write(api_keys.put, key)
    uses = [UsageRecord(tenant, key.id, now, 1, 5, 2)]
    one, other = new_id("meter"), new_id("meter")
    for writer, number in ((one, 1), (one, 1), (one, 2), (other, 1), (one, 2), (one, 1)):
        await store.write(api_keys.charge_once, writer, number, uses)
    found = await store.read(api_keys.usage, tenant, now - DAY, now + DAY)
    requests = sum(day.requests for day in found)
    hold(requests == 3, f"3 batches, of which 3 were repeated, are {requests}")


async def _is_counted(store: Store) -> None:
    """Usage is counted by key and day, for its own tenant."""
    tenant = new_id("tenant")
    today = int(time.time()) // DAY * DAY
    one = new_key(tenant)
    other = new_key(tenant)
    stranger = new_key()
    for key in (one, other, stranger):
        await store.write(api_keys.put, key)
    uses = [UsageRecord(tenant, one.id, today + i, 1, 5, i) for i in range(20)]
    uses += [
        UsageRecord(tenant, one.id, today - 1, 1, 7, 0),
        UsageRecord(tenant, other.id, today, 2, 0, 0),
    ]
    uses += [UsageRecord(stranger.tenant, stranger.id, today, 1, 1, 1)]
    await asyncio.gather(*(store.write(api_keys.charge, uses[i::4]) for i in range(4)))
    found = await store.read(api_keys.usage, tenant, today - DAY, today + DAY)
    sums = {
        (day.key_id, day.day): (day.requests, day.input_tokens, day.output_tokens) for day in found
    }
    expected = {
        (one.id, today - DAY): (1, 7, 0),
        (one.id, today): (20, 100, 190),
        (other.id, today): (2, 0, 0),
    }
    hold(sums == expected, f"the days are {found}")
    hold(
        {day.tenant for day in found} == {None},
        "the days of one tenant are grouped by tenant unasked",
    )
    hold(
        [day.day for day in found] == sorted(day.day or 0 for day in found),
        "the days are not in order",
    )
    hold(
        len(await store.read(api_keys.usage, tenant, today, today + DAY)) == 2,
        "a day outside the query is included",
    )
    hold(
        len(await store.read(api_keys.usage, tenant, today - DAY, today)) == 1,
        "the day that ends a range is included",
    )


async def _jobs_report_their_key(store: Store) -> None:
    """A job contains the key of its request, what was reserved, and the models that the key
    allowed.
    """
    response = StoredResponse(new_id("resp"), 1000, "queued", None, b"{}", tenant=new_id("tenant"))
    taken = Reservation("key_1", 2**40, models=("m", "ollama/a:7b"))
    await store.write(jobs.enqueue, response, b"", [], None, taken)
    job = await store.read(jobs.find_job, response.tenant, response.id)
    hold(job is not None and job.taken == taken, f"the job is {job}")
    if job is not None:
        await store.write(jobs.finish, job, replace(response, expires_at=int(time.time()) + 600))
