"""Who waits for whom where several requests read, and then write, at the same time."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
import pytest
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import api_keys, jobs, leases, webhooks
from antiphon.storage.postgres.performing import QUERIES
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.money import Budget, MoneyClaim
from antiphon.storage.records.tenants import ApiKey, KeyLimits, WebhookEndpoint
from tests.store.making import new_key, new_response
from tests.support.postgres import Postgres
from tests.support.waiting import PATIENCE, eventually

WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock'"
)

R = TypeVar("R")


class Other:
    """A store, and the transaction of another request in its database."""

    def __init__(self, store: PostgresStore, connection: Any) -> None:
        self.store = store
        self.connection = connection

    @asynccontextmanager
    async def leases(self, rows: str) -> AsyncIterator[None]:
        """Hold the locks of these rows."""
        async with self.holds(f"SELECT FROM {rows} FOR UPDATE"):
            yield

    @asynccontextmanager
    async def holds(self, query: str, *values: str) -> AsyncIterator[None]:
        """Hold what a query locks."""
        async with self.connection.transaction():
            await self.connection.execute(query, *values)
            yield

    async def is_waited_for(self, act: Coroutine[Any, Any, R]) -> "asyncio.Task[R]":
        """Begin something that must wait for that transaction; return the task."""
        task = asyncio.create_task(act)
        await eventually(
            lambda: self.connection.fetchval(WAITING), lambda count: count or task.done()
        )
        assert not task.done()
        return task


async def without_waiting(act: Coroutine[Any, Any, R]) -> R:
    return await asyncio.wait_for(act, PATIENCE)


@pytest.fixture
async def other(postgres: Postgres) -> AsyncIterator[Other]:
    async with postgres.store() as url:
        store = await PostgresStore.open(url)
        connection = await asyncpg.connect(url)
        yield Other(store, connection)
        await connection.close()
        await store.close()


COPY = """
INSERT INTO webhook_endpoints (id, tenant, name, url, event_types, created_at, updated_at, secret, old_secret_until)
SELECT id || '_copy', tenant, name, url, event_types, created_at, updated_at, secret, 0
FROM webhook_endpoints WHERE tenant = $1
"""  # noqa: E501 - the lines of a text


def endpoint(tenant: str) -> WebhookEndpoint:
    return WebhookEndpoint(
        new_id("we"), tenant, "n", "https://a.b", ["response.completed"], 1, 1, "whsec_x"
    )


async def test_requests_of_one_tenant_for_endpoints_count_one_after_the_other(other: Other) -> None:
    """So that a tenant has no more than it may; those of another tenant do not wait for them."""
    store = other.store
    mine = endpoint("acme")
    await store.write(webhooks.put, mine)
    await store.write(webhooks.put, endpoint("other"))
    async with other.holds(QUERIES["lock_endpoints"], "acme"):
        await other.connection.execute(COPY, "acme")
        second = await other.is_waited_for(store.write(webhooks.put, endpoint("acme"), most=2))
        assert await without_waiting(store.write(webhooks.put, endpoint("other"), most=2))

    assert not await second
    assert await store.write(webhooks.put, replace(mine, name="renamed"), most=2)
    assert [len(await store.read(webhooks.endpoints, tenant)) for tenant in ("acme", "other")] == [
        2,
        2,
    ]


async def test_requests_for_one_budget_are_decided_one_after_the_other(other: Other) -> None:
    """Those of another key with a budget of its own, or of another tenant, do not wait for them."""
    store = other.store
    own = Budget(per_day=100)
    shared = Budget(per_month=100)
    first, second, stranger = [new_key(tenant) for tenant in ("acme", "acme", "other")]
    for key in (first, second, stranger):
        await store.write(api_keys.put, key)

    async def has_room(
        key: ApiKey, budget: Budget | None = own, of_tenant: Budget | None = None
    ) -> bool:
        claim = MoneyClaim(key.tenant, key.id, 10, budget, of_tenant)
        return (await store.write(api_keys.take, key.id, KeyLimits(), 0, claim)).is_granted

    for key in (first, second, stranger):
        assert await has_room(key)
    async with other.leases(f"budget_levels WHERE api_key = '{first.id}'"):
        waits = await other.is_waited_for(has_room(first))
        assert await without_waiting(has_room(second))
        assert await without_waiting(has_room(stranger))
    assert await waits
    for key in (second, stranger):
        assert await has_room(key, own, shared)
    async with other.leases("budget_levels WHERE api_key = '' AND tenant = 'acme'"):
        waits = await other.is_waited_for(has_room(second, None, shared))
        assert await without_waiting(has_room(stranger, own, shared))
    assert await waits


async def test_workers_choose_the_next_job_one_after_the_other(other: Other) -> None:
    """The choice depends on all jobs in progress; a heartbeat does not wait for it."""
    store = other.store
    queued = new_response(status="queued")
    await store.write(jobs.enqueue, queued, b"", [])
    async with other.leases("workers WHERE id = ''"):
        claim = await other.is_waited_for(store.write(jobs.claim, "worker", 10))
        await without_waiting(store.write(leases.beat, "another"))

    job = await claim
    assert job is not None
    assert job.response.id == queued.id


async def test_unfinished_jobs_of_a_worker_are_returned_one_at_a_time(other: Other) -> None:
    store, mine, theirs = other.store, *(new_response(status="queued") for _ in range(2))
    for worker, response in (("one", mine), ("two", theirs)):
        await store.write(jobs.enqueue, response, b"", [])
        assert await store.write(jobs.claim, worker, 10) is not None
    async with other.leases("jobs WHERE owner = 'one'"):
        waits = await other.is_waited_for(store.write(leases.give_back, "one", mine.id))
        await without_waiting(store.write(leases.give_back, "two", theirs.id))
        assert set(await store.read(leases.owned, "one")) == {mine.id}
    await waits

    assert not await store.read(leases.owned, "one") and not await store.read(leases.owned, "two")
