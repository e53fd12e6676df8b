"""Connections to PostgreSQL: the tenant that one works for, and the statements that it keeps
prepared.
"""

import asyncpg

from antiphon.storage.postgres.link import TenantConnection, connect
from tests.support.postgres import Postgres


async def test_a_tenant_is_seen_from_now_on_or_until_the_end_of_a_transaction(
    postgres: Postgres,
) -> None:
    """Behind a pooler, the next transaction of the connection is somebody else's."""
    connection = await asyncpg.connect(postgres.url(), connection_class=TenantConnection)

    async def seen() -> str:
        return str(
            await connection.fetchval(
                "SELECT coalesce(current_setting('antiphon.tenant', true), '')"
            )
        )

    async with connection.transaction():
        await connection.see_here("a")
        assert await seen() == "=a"
    assert await seen() == ""
    for tenant, setting in (("a", "=a"), ("a", "=a"), (None, "*"), ("*", "=*"), ("", "=")):
        async with connection.transaction():
            await connection.see(tenant)
        assert await seen() == setting
    await connection.close()


async def test_a_connection_keeps_statements_prepared_and_none_behind_a_pooler(
    postgres: Postgres,
) -> None:
    """Such a pooler may hand the next transaction to a connection that does not know them."""
    for parameter, stored in (("", 100), ("&pooler=transaction", 0)):
        _, pool = await connect(f"{postgres.url()}{parameter}", 1)
        async with pool.acquire() as connection:
            for number in range(stored):
                await connection.fetch(f"SELECT {number}")
            assert (
                await connection.fetchval("SELECT count(*) FROM pg_prepared_statements") == stored
            )
        await pool.close()
