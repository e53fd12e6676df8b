"""A role that lacks privileges: the store says which ones when it opens."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from antiphon.errors import ConfigError
from antiphon.storage.postgres.rights import needed
from antiphon.storage.postgres.store import PostgresStore
from tests.support.postgres import Postgres


@pytest.fixture
async def place(postgres: Postgres) -> AsyncIterator[tuple[Any, str]]:
    """A connection of the owner of a store, and the store's URL for a role without privileges."""
    async with postgres.store() as url:
        owner = await asyncpg.connect(url)
        await owner.execute("CREATE ROLE guest LOGIN NOSUPERUSER")
        yield owner, url.replace("postgres@", "guest@")
        await owner.execute("DROP OWNED BY guest; DROP ROLE guest")
        await owner.close()


async def test_a_role_has_its_privileges_or_the_missing_ones_are_reported(
    place: tuple[Any, str],
) -> None:
    owner, url = place

    async def refusal(*, is_written: bool) -> str:
        with pytest.raises(ConfigError) as refused:
            await PostgresStore.open(url, is_written=is_written)
        return refused.value.message.partition(" cannot be used: ")[2]

    assert await refusal(is_written=False) == "permission denied for table antiphon_migrations"
    await owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
    lacks = "; ".join(
        f"{right} on {', '.join(sorted(needed()[right]))}"
        for right in ("INSERT", "UPDATE", "DELETE")
    )
    lacking = await refusal(is_written=True)
    assert lacking.startswith(f"the role 'guest' lacks privileges: {lacks}. ")
    await (await PostgresStore.open(url)).close()  # a command that only reads
    for right, tables in needed().items():
        await owner.execute(f"GRANT {right} ON {', '.join(tables)} TO guest")
    store = await PostgresStore.open(url, is_written=True)
    await store.check_writable()
    await store.close()
