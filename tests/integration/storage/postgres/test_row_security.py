"""The second wall in PostgreSQL: a statement without any condition of its own sees one tenant's
rows, or none.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from antiphon.ids import new_id
from antiphon.protocol.saved_views import SaveView
from antiphon.storage.chunk_writer import put_chunks
from antiphon.storage.operations import (
    answers,
    api_keys,
    budgets,
    chat_completions,
    containers,
    conversations,
    facts,
    file_texts,
    files,
    idempotency,
    jobs,
    lessons,
    prompts,
    reports,
    responses,
    saved_views,
    sessions,
    uploads,
    vector_stores,
    webhooks,
)
from antiphon.storage.operations import chunks as stored_chunks
from antiphon.storage.postgres.link import migrate
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.chat_completions import StoredCompletion
from antiphon.storage.records.chunks import ChunkRow, IndexedFile
from antiphon.storage.records.containers import ContainerQuota
from antiphon.storage.records.files import FileText, StoredPart, StoredUpload
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.records.money import Budget, MoneyClaim, TenantBudget
from antiphon.storage.records.reports import StoredReport
from antiphon.storage.records.responses import StoredConversation, StoredItem, StoredResponse
from antiphon.storage.records.sessions import ConsoleSession
from antiphon.storage.records.tenants import ApiKey, StoredAnswer, UsageRecord, WebhookEndpoint
from antiphon.storage.records.vector_stores import NewAttachment, StoredVectorStore
from antiphon.storage.sql import QUERIES, migrations
from tests.store.check import check_store
from tests.store.containers import new_container, new_container_file
from tests.store.facts import new_facts
from tests.store.files import AMPLE, new_file, put
from tests.support.postgres import Postgres, owned_by_a_role

WITHOUT = {
    "items": "found by their response's number",
    "events": "found by their response's number",
    "steps": "found by their response's number",
    "vector_store_batch_files": "found by their batch's number",
    "blob_parts": "found by the name of the blob of a file",
    "chat_completion_messages": "found by their completion's number",
    "file_attributes": "found by their store's number",
    "chunks": "found by their file's number",
    "chunk_signatures": "found by their file's number",
    "chunk_words": "found by terms that begin with their store's number",
    "api_key_levels": "say how far limits are used up",
    "workers": "are nobody's",
    "secrets": "are the server's",
    "model_profiles": "are the server's",
    "summed": "is a time",
    "antiphon_migrations": "is a number",
}
"""Tables without row security, with the reason. No other table may lack it."""


@pytest.fixture
async def connection(url: str) -> AsyncIterator[Any]:
    """The role's own connection, to a database where two tenants have something in every table."""
    store = await PostgresStore.open(url)
    for tenant in ("one", "other"):
        await fill(store, tenant)
    await store.close()
    opened = await asyncpg.connect(url)
    yield opened
    await opened.close()


async def fill(store: PostgresStore, tenant: str) -> None:
    now = int(time.time())
    queued = StoredResponse(
        new_id("resp"), now, "queued", None, b"{}", tenant=tenant, is_streamed=True
    )
    await store.write(facts.put_new, [new_facts(tenant=tenant, spans=b"[]", began=1, ended=1)])
    await store.write(jobs.enqueue, queued, b"", [])
    await store.write(idempotency.reserve, tenant, "key", b"", new_id("resp"), "worker")
    await store.write(
        webhooks.put, WebhookEndpoint(new_id("we"), tenant, "n", "https://x", ("a",), now, now, "s")
    )
    await store.write(answers.put, StoredAnswer(tenant, b"key", b"", now, now + 600))
    await store.write(
        chat_completions.save,
        StoredCompletion(
            new_id("chatcmpl"),
            b"{}",
            ("m", "m"),
            messages=[b"{}"],
            tenant=tenant,
            expires_at=now + 600,
        ),
    )
    file = new_file(tenant)
    await put(store, file)
    image = StoredItem(new_id("ig"), b"{}", None, file.blob, 1)
    await store.write(
        conversations.create, StoredConversation(new_id("conv"), now, b"{}", tenant), [image]
    )
    await store.write(
        file_texts.put,
        FileText(tenant, b"digest", 1, "text", 0, is_cut=False, body=b"", expires_at=now + 600),
    )
    vector_store = StoredVectorStore(new_id("vs"), tenant, now)
    await store.write(vector_stores.create, vector_store)
    await store.write(
        vector_stores.attach, tenant, vector_store.id, [NewAttachment(file.id)], new_id("vsfb")
    )
    await store.write(
        file_texts.put,
        FileText(tenant, b"digest", 1, "text", 0, is_cut=False, body=b"", expires_at=now + 600),
    )
    upload = new_id("upload")
    blob = new_id("row")
    await store.write(
        uploads.create,
        StoredUpload(upload, tenant, "a", "vision", 7, "", now, now + 600, None),
        AMPLE,
    )
    await store.write(files.begin, tenant, blob, 600)
    part = StoredPart(new_id("part"), tenant, upload, 1, blob, now)
    await store.write(uploads.put_part, part, 10)
    container = new_container(tenant)
    await store.write(
        containers.put,
        container,
        [new_container_file(container, blob=file.blob)],
        ContainerQuota(1, 1, 100),
    )
    key = ApiKey(new_id("key"), tenant, "n", tenant.encode() * 8, "sk", now)
    await store.write(api_keys.put, key)
    used = [UsageRecord(tenant, key.id, now, 1, 1, 1)]
    await store.write(api_keys.charge_once, new_id("meter"), 1, used)
    chunks = IndexedFile(tenant, new_id("vs"), new_id("file"), 1, "a.txt")
    await put_chunks(store, chunks, [ChunkRow(0, "words", 1, b"\0\0")])
    await store.write(
        stored_chunks.set_attributes, tenant, chunks.store_id, chunks.file_id, {"a": 1}
    )
    await store.write(prompts.create, tenant, new_id("pmpt"), b"{}", now, 10)
    await store.write(budgets.put_tenant, TenantBudget(tenant, Budget(1)))
    await store.write(lessons.put, [StoredLesson("http://b", "m", tenant, "top_p", "", now)], 0)
    await store.write(reports.put, StoredReport(new_id("report"), tenant, "m", now, b"{}", b""))
    view = SaveView(name="n", page="responses", query="q=a")
    await store.write(saved_views.save, key.id, new_id("view"), view, 1)
    await store.write(
        sessions.put, ConsoleSession(new_id("s").encode(), key.id, key.digest, now, now, now + 600)
    )
    await store.write(sessions.put_code, new_id("c").encode(), now + 600)
    await store.write(
        api_keys.take, key.id, key.limits, 0, MoneyClaim(tenant, key.id, 1, None, Budget(1))
    )


async def rows(connection: Any, table: str) -> int:
    return int(await connection.fetchval(f"SELECT count(*) FROM {table}"))


async def see(connection: Any, text: str) -> None:
    await connection.execute("SELECT set_config('antiphon.tenant', $1, false)", text)


@pytest.fixture
async def url(postgres: Postgres) -> str:
    return await owned_by_a_role(postgres)


@pytest.mark.wide
async def test_an_ordinary_roles_store_keeps_every_promise(url: str) -> None:
    await check_store(lambda: PostgresStore.open(url))


@pytest.mark.wide
async def test_each_transaction_behind_a_pooler_sets_its_tenant(url: str) -> None:
    store = await PostgresStore.open(f"{url}&pooler=transaction")
    await fill(store, "one")
    await fill(store, "other")
    await store.save(StoredResponse("resp_1", 1, "completed", None, b"{}", tenant="one"))

    assert (await store.inspect())["responses"] == 3
    assert [
        (await store.read(api_keys.any_at_all)),
        len(await store.read(webhooks.endpoints, "one")),
    ] == [True, 1]
    await store.close()


async def tables(connection: Any, policy: str) -> list[str]:
    """The tables with this policy: `tenants`, or `server` for those that no tenant's statement
    sees.
    """
    found = await connection.fetch(
        "SELECT tablename FROM pg_policies WHERE policyname = $1 ORDER BY tablename", policy
    )
    return [name for (name,) in found]


@pytest.mark.wide
async def test_every_table_has_its_wall_or_its_reason(connection: Any) -> None:
    found = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relkind = 'r' "
        "AND relnamespace = 'public'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    walled = {*await tables(connection, "tenants"), *await tables(connection, "server")}
    open_to_all = {name for (name,) in found}

    assert not open_to_all & walled
    assert open_to_all == WITHOUT.keys(), (
        "enable row security for it in its migration, as migrations/0002_lessons.sql does, with "
        "the policy `tenants` USING (antiphon_sees(tenant)); or give the reason in WITHOUT"
    )


@pytest.mark.wide
async def test_a_statement_sees_one_tenants_rows_whatever_it_contains(connection: Any) -> None:
    walled = [
        table for table in await tables(connection, "tenants") if table != "webhook_deliveries"
    ]
    several = {
        "sums": 6,
        "blobs": 2,
    }  # a minute, an hour and four, by model and by key; a file's, and a part's
    each = [several.get(table, 1) for table in walled]
    assert [await rows(connection, table) for table in walled] == [0] * len(walled)
    await see(connection, "*")
    empty = [table for table in walled if not await rows(connection, table)]
    assert empty == [], "let `fill` store something of each tenant in these tables"
    for reported, count in (
        ("=one", 1),
        ("=other", 1),
        ("=nobody", 0),
        ("=", 0),
        ("", 0),
        ("one", 0),
        ("*", 2),
    ):
        await see(connection, reported)
        assert [await rows(connection, table) for table in walled] == [
            count * one for one in each
        ], reported


@pytest.mark.wide
async def test_a_statement_for_a_tenant_sees_nothing_of_the_server(connection: Any) -> None:
    of_the_server = await tables(connection, "server")
    for reported, count in (("=one", 0), ("=", 0), ("", 0), ("*", 2)):
        await see(connection, reported)
        assert [await rows(connection, table) for table in of_the_server] == [count] * len(
            of_the_server
        ), reported


@pytest.mark.wide
async def test_a_statement_changes_no_foreign_row_and_makes_none(connection: Any) -> None:
    make = (
        "INSERT INTO conversations (id, tenant, created_at, metadata, next_position) VALUES ('c', "
        "'other', 1, '', 0)"
    )
    await see(connection, "=one")
    assert await connection.execute("UPDATE conversations SET metadata = ''") == "UPDATE 1"
    assert await connection.execute("DELETE FROM responses") == "DELETE 1"
    for statement in ("UPDATE answers SET tenant = 'other'", make):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    await see(connection, "*")

    assert await rows(connection, "responses") == 1


@pytest.mark.wide
async def test_a_migration_changes_the_rows_of_all_tenants_and_leaves_none_visible(
    connection: Any,
) -> None:
    await migrate(
        connection, [*migrations("postgres"), "UPDATE conversations SET metadata = 'migrated'"]
    )
    assert await rows(connection, "conversations") == 0
    await see(connection, "*")
    changed = await connection.fetch(
        "SELECT tenant FROM conversations WHERE metadata = 'migrated' ORDER BY tenant"
    )

    assert [tenant for (tenant,) in changed] == ["one", "other"]


@pytest.mark.wide
async def test_the_tenant_is_set_again_for_every_statement_of_a_pooled_connection(url: str) -> None:
    store = await PostgresStore.open(url, connections=2)
    created = [
        StoredResponse(new_id("resp"), 1, "completed", None, b"{}", tenant=f"t{n % 5}")
        for n in range(100)
    ]
    await asyncio.gather(*(store.save(one) for one in created))
    found = await asyncio.gather(
        *(store.read(responses.load, one.tenant, one.id) for one in created * 3)
    )
    foreign = await asyncio.gather(
        *(store.read(responses.load, "t0", one.id) for one in created if one.tenant != "t0")
    )
    await store.close()

    assert [one and one.id for one in found] == [one.id for one in created * 3]
    assert foreign == [None] * 80


def test_rows_without_row_security_are_read_only_by_their_response() -> None:
    for name, statement in QUERIES.items():
        if re.search(r"\b(FROM|JOIN|UPDATE) chat_completion_messages\b", statement):
            assert re.search(r"\bcompletion = \$1", statement), name
        if re.search(r"\b(FROM|JOIN|UPDATE) (items|events)\b", statement) and name != "counts":
            assert re.search(
                r"JOIN responses|responses LEFT JOIN|\bresponse = (\$1|chain\.seq)", statement
            ), name
