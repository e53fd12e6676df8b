"""Upkeep of a store: it deletes expired data in small steps, so that saves can run between them."""

from collections.abc import Awaitable, Callable, Mapping

from antiphon.storage.operations import answers, expiry, idempotency, vector_stores
from antiphon.storage.store import Store

RETENTION = 30 * 86_400
"""Seconds after which facts expire by default."""

STORED_FAILURES = 30 * 86_400
"""Seconds for which failed deliveries are listed."""

AGES = {
    "responses": 0,
    "keys": idempotency.RETAINED,
    "deliveries": STORED_FAILURES,
    "answers": 0,
    "chat_completions": 0,
    "files": 0,
    "file_texts": 0,
    "pending_uploads": 0,
    "uploads": 86_400,
    "minutes": 7 * 86_400,
    "hours": 400 * 86_400,
    "four_hours": 400 * 86_400,
    "sessions": 0,
    "codes": 0,
    "usage_batches": 86_400,
}
"""Seconds that a row of a table outlives its end. The retention decides for facts and
containers.
"""

AT_ONCE = 500
"""Rows that one step deletes."""

FILES_AT_ONCE = 10
"""Files that one step removes from their vector stores. Each can have thousands of chunks."""

EMPTIED_AT_ONCE = 10
"""Containers that one step empties."""


async def purge(
    store: Store, retention: int = RETENTION, *, dry_run: bool = False
) -> Mapping[str, int]:
    """Permanently delete expired data, in small steps; return the number of deleted rows of each
    table.

    Files are removed from expired vector stores, and expired files from all vector stores.
    Responses, chat completions and answers expire at their `expires_at`, facts and expired
    containers after `retention` seconds, keys and batches of usage after a day, failed deliveries
    after a month, sums of minutes after a week and of hours after 400 days. With `dry_run`, the
    rows are counted, and nothing is deleted.
    """
    ages = {**AGES, "facts": retention, "containers": retention}
    if dry_run:
        return {
            table: await store.read(expiry.count, table, age)
            for table, age in {**ages, "vector_stores": 0}.items()
        }

    emptied = await _empty_vector_stores(store)
    deleted = {table: await _purge_table(store, table, age) for table, age in ages.items()}
    return {**deleted, "vector_stores": emptied}


async def trim_answers(store: Store, most_bytes: int) -> int:
    """Delete the least recently used answers until the rest uses at most `most_bytes`; return how
    many.
    """
    return await _in_steps(lambda: store.write(answers.trim, most_bytes, AT_ONCE), AT_ONCE)


async def expire_containers(store: Store, limit: int) -> int:
    """Delete the files of at most `limit` expired containers and mark these containers; return
    their number.

    Writes nothing if no container has expired.
    """
    emptied = 0
    while emptied < limit and await store.read(expiry.has_expired_container):
        from antiphon.storage.operations import containers  # noqa: PLC0415 - only for servers with containers

        step = await store.write(containers.empty_expired, min(EMPTIED_AT_ONCE, limit - emptied))
        if not step:  # another process deletes them
            break
        emptied += step
    return emptied


async def _purge_table(store: Store, table: str, age: int) -> int:
    return await _in_steps(lambda: store.write(expiry.purge, table, age, AT_ONCE), AT_ONCE)


async def _empty_vector_stores(store: Store) -> int:
    """Empty expired vector stores, one at a time; return their number.

    Expired files are removed from all of them.
    """
    emptied = await _in_steps(lambda: store.write(vector_stores.empty_expired), 1)
    while await store.write(vector_stores.forget_expired, FILES_AT_ONCE):
        pass
    if await store.read(vector_stores.has_dropped_chunks):
        from antiphon.storage.chunk_writer import sweep_chunks  # noqa: PLC0415 - only for servers with vector stores

        await sweep_chunks(store)
    return emptied


async def _in_steps(delete: Callable[[], Awaitable[int]], most: int) -> int:
    """Delete up to `most` rows at a time, until a step finds fewer; return their number."""
    deleted = 0
    step = most
    while step == most:
        step = await delete()
        deleted += step
    return deleted
