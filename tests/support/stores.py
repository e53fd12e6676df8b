"""Opens a store of either kind with options that only one process of a test has, such as a
clock.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Store]:
    store: Store
    if url.startswith("sqlite:"):
        store = SqliteStore.open(url, **options)
    else:
        store = await PostgresStore.open(url, **options)
    yield store
    await store.close()
