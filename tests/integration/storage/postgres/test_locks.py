"""Who waits for whom where several requests count, and then write, at the same time."""

import asyncio
from dataclasses import replace

import asyncpg

from antiphon.ids import new_id
from antiphon.storage.contract import WebhookEndpoint
from antiphon.storage.postgres.store import PostgresStore
from tests.support.postgres import Postgres
from tests.support.waiting import PATIENCE, eventually

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

COPY = """
INSERT INTO webhook_endpoints (id, tenant, name, url, event_types, created_at, updated_at, secret, old_secret_until)
SELECT id || '_copy', tenant, name, url, event_types, created_at, updated_at, secret, 0
FROM webhook_endpoints WHERE tenant = $1
"""


def endpoint(tenant: str) -> WebhookEndpoint:
    return WebhookEndpoint(new_id("we"), tenant, "n", "https://a.b", ["response.completed"], 1, 1, "whsec_x")


async def test_requests_of_one_tenant_for_endpoints_count_one_after_the_other(postgres: Postgres) -> None:
    """So that a tenant has no more than it may; those of another tenant do not wait for them."""
    async with postgres.store() as url:
        store = await PostgresStore.open(url)
        mine = endpoint("acme")
        await store.put_endpoint(mine)
        await store.put_endpoint(endpoint("other"))
        connection = await asyncpg.connect(url)
        async with connection.transaction():
            await connection.execute("SELECT id FROM webhook_endpoints WHERE tenant = 'acme' FOR UPDATE")
            await connection.execute(COPY, "acme")
            second = asyncio.create_task(store.put_endpoint(endpoint("acme"), most=2))
            await eventually(lambda: connection.fetchval(WAITING), lambda count: count or second.done())
            assert not second.done()
            assert await asyncio.wait_for(store.put_endpoint(endpoint("other"), most=2), PATIENCE)
        await connection.close()

        assert not await second
        assert await store.put_endpoint(replace(mine, name="renamed"), most=2)
        assert [len(await store.endpoints(tenant)) for tenant in ("acme", "other")] == [2, 2]
        await store.close()
