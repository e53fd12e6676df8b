"""The migration that counts items and bytes counts what is there already."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg

from antiphon.storage.contract import Reply, StorageUse, Store, TenantSize
from antiphon.storage.open import open_store
from antiphon.storage.operations.idempotency import KEPT
from antiphon.storage.postgres import link
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite.file import migrate
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing.store.making import new_items, new_response
from tests.support.postgres import Postgres

BEFORE = next(number for number, script in enumerate(migrations("sqlite")) if "tenant_sizes" in script)
"""Migrations before the one that counts."""

LATE = 4_000_000_000

OLD = f"""
INSERT INTO responses (seq, id, created_at, status, body, tenant, expires_at, is_stored, is_streamed)
VALUES (1, 'resp_1', 1, 'completed', 'body', 'a', {LATE}, 1, 0), (2, 'resp_2', 1, 'completed', 'b', 'a', {LATE}, 1, 0);
INSERT INTO items (response, position, is_output, id, sealed, body)
VALUES (1, 0, 0, 'msg_1', NULL, 'twelve bytes'), (1, 1, 1, 'msg_2', 'sealed', 'five5');
INSERT INTO responses (seq, id, created_at, status, body, tenant, expires_at, is_stored, is_streamed)
VALUES (3, 'resp_3', 1, 'completed', 'b', 'd', {LATE}, 1, 1), (4, 'resp_4', 1, 'in_progress', 'b', 'd', {LATE}, 1, 1);
INSERT INTO items (response, position, is_output, id, body) VALUES (4, 0, 0, 'msg_4', 'in'), (4, 1, 1, 'msg_5', 'made');
INSERT INTO jobs (response, tenant, owner, version, next_number, kept_number, attempt, lost, request, called)
VALUES (4, 'd', 'worker', 1, 3, 2, 1, 0, 'request', 'notes');
INSERT INTO events (response, number, last, body)
VALUES (3, 0, 2, 'logged'), (4, 0, 1, 'kept'), (4, 2, 2, 'half-made');
INSERT INTO idempotency_keys (tenant, key, fingerprint, response_id, owner, created_at, is_stream, reply)
VALUES ('c', 'k', 'print', 'resp_0', NULL, {LATE}, 0, 'a reply'), ('d', 'k', 'same', 'resp_5', 'w', {LATE}, NULL, NULL);
INSERT INTO conversations (id, tenant, created_at, metadata, next_position) VALUES ('conv_1', 'b', 1, 'three', 2);
INSERT INTO conversation_items (conversation, position, id, body) VALUES ('conv_1', 1, 'msg_3', 'four');
"""


async def check(url: str) -> None:
    store = await open_store(url)
    extents = [await store.measure_chain("a", name, 9) for name in ("resp_1", "resp_2")]
    conversation = await store.load_conversation("b", "conv_1")
    assert [(extent.items, extent.size) for extent in extents] == [(2, 12 + 6 + 5), (0, 0)]
    assert conversation is not None and (conversation.items, conversation.size) == (1, 4)
    sizes = [await store.stored_bytes(tenant) for tenant in "abcde"]
    assert sizes == [4 + 1 + 23, 5 + 4, 7, (1 + 6) + (1 + 2 + 4 + 7 + 5 + 4 + 9), 0]
    await store.delete("a", "resp_1")
    await store.add_items("b", "conv_1", new_items("more"))
    await store.release_job("worker", "resp_4")
    await store.delete("d", "resp_3")
    assert [await store.stored_bytes(tenant) for tenant in "abd"] == [1, 5 + 4 + 4, 1 + 2 + 4 + 7 + 5 + 4]
    await store.delete("d", "resp_4")
    assert await store.stored_bytes("d") == 0
    await store.close()


async def test_what_is_there_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, migrations("sqlite")[:BEFORE])
        connection.executescript(OLD)
    await check(f"sqlite://{path}")


async def test_what_is_there_is_counted_in_postgresql(postgres: Postgres) -> None:
    url = await postgres.database()
    async with asyncpg.create_pool(url, min_size=1, max_size=1, connection_class=link.Session) as pool:
        connection: Any
        async with pool.acquire() as connection:
            scripts = migrations("postgres")
            before = next(number for number, script in enumerate(scripts) if "tenant_sizes" in script)
            await link.migrate(connection, scripts[:before])
            await connection.execute(OLD)
    await check(url)


async def opened(url: str, now: Callable[[], float]) -> Store:
    return SqliteStore.open(url, now=now) if url.startswith("sqlite") else await PostgresStore.open(url, now=now)


async def test_replies_count_until_their_keys_are_purged(store_url: str) -> None:
    now = [time.time()]
    store = await opened(store_url, lambda: now[0])
    for tenant, reply in (("a", b"first"), ("b", b"second")):
        made = replace(new_response(), tenant=tenant, is_stored=False)
        await store.reserve(tenant, "key", b"print", made.id, "w")
        await store.save(made, reply=Reply(tenant, "key", False, reply))
    assert [await store.stored_bytes(tenant) for tenant in "ab"] == [5, 6]
    now[0] += KEPT + 1
    await store.reserve("a", "key", b"print", "resp_1", "w")
    assert [await store.stored_bytes(tenant) for tenant in "ab"] == [0, 6]
    await store.purge()
    assert [await store.stored_bytes(tenant) for tenant in "ab"] == [0, 0]
    await store.close()


async def test_sums_of_many_writers_are_exact(store_url: str) -> None:
    first, second = await open_store(store_url), await open_store(store_url)
    for store in (first, second):
        await store.stored_bytes("a")
    made = [replace(new_response(new_items("ten bytes!")), tenant=tenant) for tenant in "ab" * 40]
    await asyncio.gather(*((first, second)[number % 3 % 2].save(one) for number, one in enumerate(made)))
    await asyncio.gather(
        *((first, second)[number % 2].delete(one.tenant, one.id) for number, one in enumerate(made[20:]))
    )
    assert [await first.stored_bytes(tenant) for tenant in "ab"] == [10 * (2 + 10)] * 2
    assert [(one.tenant, one.stored_bytes) for one in (await first.storage_use(5)).largest] == [("a", 120), ("b", 120)]
    for store in (first, second):
        await store.close()


async def test_tenants_that_have_deleted_everything_are_not_listed(store_url: str) -> None:
    store = await open_store(store_url)
    assert await store.storage_use(10) == StorageUse([], 0, 0)
    made = [replace(new_response(new_items("a" * 10 * number)), tenant=f"t{number}") for number in range(4)]
    for one in made:
        await store.save(one)
    await store.delete("t3", made[3].id)
    assert await store.storage_use(2) == StorageUse([TenantSize("t2", 22), TenantSize("t1", 12)], 3, 2 + 12 + 22)
    await store.close()
