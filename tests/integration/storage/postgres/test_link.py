"""The tenant that a connection to PostgreSQL works for."""

import asyncpg

from antiphon.storage.postgres.link import Session
from tests.support.postgres import Postgres


async def test_a_tenant_is_seen_from_now_on_or_until_the_end_of_a_transaction(postgres: Postgres) -> None:
    """Behind a pooler, the next transaction of the connection is somebody else's."""
    connection = await asyncpg.connect(postgres.url(), connection_class=Session)

    async def seen() -> str:
        return str(await connection.fetchval("SELECT coalesce(current_setting('antiphon.tenant', true), '')"))

    async with connection.transaction():
        await connection.see_here("a")
        assert await seen() == "=a"
    assert await seen() == ""
    for tenant, setting in (("a", "=a"), ("a", "=a"), (None, "*"), ("*", "=*"), ("", "=")):
        async with connection.transaction():
            await connection.see(tenant)
        assert await seen() == setting
    await connection.close()
