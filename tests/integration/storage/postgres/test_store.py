"""The PostgreSQL store: the contract, what it makes of trouble, and what others do to its
database.
"""

import asyncio
import re
import socket
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from antiphon.errors import ConfigError, StoreError
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.open import schema_of
from antiphon.storage.operations import jobs, leases
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.operations.step import FEW_BYTES
from antiphon.storage.postgres import store as stores
from antiphon.storage.postgres.link import migrate, version
from antiphon.storage.postgres.saving import save_together
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.schema import EARLIER_STORE
from antiphon.storage.sql import QUERIES, migrations
from tests.store.check import check_store
from tests.support.postgres import Postgres
from tests.support.waiting import eventually, let_others_run


def response(id: str, **fields: object) -> StoredResponse:
    provided = {
        "created_at": 1,
        "status": "completed",
        "previous_response_id": None,
        "body": b"{}",
    } | fields
    return StoredResponse(id=id, **provided)  # type: ignore[arg-type]


@pytest.mark.wide
async def test_it_keeps_every_promise(postgres: Postgres) -> None:
    url = await postgres.database()

    await check_store(lambda: PostgresStore.open(url))


@pytest.mark.wide
async def test_two_stores_notify_each_other(postgres: Postgres) -> None:
    url = await postgres.database()
    one = await PostgresStore.open(url)
    other = await PostgresStore.open(url)
    received: asyncio.Queue[str] = asyncio.Queue()
    other.on_change(received.put_nowait)
    one.on_change(lambda _: None)
    assert await asyncio.wait_for(received.get(), 30) == ""  # it listens from now on
    await one.write(jobs.enqueue, response("resp_1", status="queued"), b"", [])

    while await asyncio.wait_for(received.get(), 30) != "resp_1":
        pass
    assert await other.read(stored_responses.load, "", "resp_1") is not None
    for store in (one, other):
        await store.close()


async def test_a_save_that_fails_fails_alone(postgres: Postgres) -> None:
    store = await PostgresStore.open(await postgres.database())
    good = [response(f"resp_{i}", output=(StoredItem(f"msg_{i}", b"{}"),)) for i in range(20)]
    bad = [
        response("resp_bad_1", created_at=2**70),
        response("resp_bad_2", body=None),
        response("resp_bad_3", output=(StoredItem("msg_bad", b"{}", "\ud800"),)),
    ]
    results = await asyncio.gather(
        *map(store.save, [*good[:10], *bad, *good[10:]]), return_exceptions=True
    )

    assert [type(result) for result in results] == [bool] * 10 + [StoreError] * 3 + [bool] * 10
    assert [await store.read(stored_responses.load, "", one.id) for one in good] == good
    await store.close()


@pytest.mark.wide
@pytest.mark.parametrize(("limit", "most"), [("BATCH_ITEMS", 10), ("BATCH_BYTES", 100)])
async def test_no_statement_has_more_items_than_are_encoded_at_once(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """The driver encodes all of a statement in one step of the event loop."""
    monkeypatch.setattr(stores, limit, most)
    together: list[int] = []
    save = save_together

    async def spied(connection: Any, responses: Sequence[StoredResponse]) -> set[str]:
        together.append(sum(len(one.output) for one in responses))
        return await save(connection, responses)

    monkeypatch.setattr(stores, "save_together", spied)
    store = await PostgresStore.open(await postgres.database())
    sizes = (3, 4, 4, 9, 11, 1, 10, 25, 0, 2)
    saved = [
        response(
            f"resp_{name}",
            output=tuple(StoredItem(f"msg_{name}_{i}", b"0123456789") for i in range(size)),
        )
        for name, size in enumerate(sizes)
    ]
    await asyncio.gather(*map(store.save, saved))

    assert [await store.read(stored_responses.load, "", one.id) for one in saved] == saved
    assert together == [7, 4, 9, 1, 10, 2]
    await store.save(saved[4])
    assert await store.read(stored_responses.load, "", "resp_4") == saved[4]
    await store.close()


async def test_a_tenant_with_many_large_responses_delays_another_by_one_statement(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "BATCH_BYTES", 100)
    statements: list[list[str]] = []
    save = save_together

    async def spied(connection: Any, responses: Sequence[StoredResponse]) -> set[str]:
        statements.append([one.id for one in responses])
        return await save(connection, responses)

    monkeypatch.setattr(stores, "save_together", spied)
    store = await PostgresStore.open(await postgres.database())
    large = [
        replace(
            response(f"resp_{number}", output=(StoredItem(f"msg_{number}", b"x" * 90),)),
            tenant="large",
        )
        for number in range(9)
    ]
    small = replace(response("resp_small"), tenant="small")
    await asyncio.gather(*map(store.save, [*large, small]))
    await store.close()

    assert statements[0] == ["resp_0", "resp_small"]
    assert [id_ for one in statements[1:] for id_ in one] == [one.id for one in large[1:]]


async def test_no_more_saves_wait_than_may(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MOST_WAITING", 3)
    url = await postgres.database()
    store = await PostgresStore.open(url)
    other = await asyncpg.connect(url)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("LOCK TABLE responses")
    saves = [asyncio.create_task(store.save(response("resp_0")))]
    await eventually(lambda: other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    saves += [asyncio.create_task(store.save(response(f"resp_{number}"))) for number in (1, 2, 3)]
    await let_others_run()
    with pytest.raises(StoreError, match=r"overloaded: too many writes "):
        await store.save(response("resp_4"))
    await transaction.rollback()
    assert await asyncio.gather(*saves) == [True] * 4
    assert await store.save(response("resp_5")) is True
    assert await store.read(stored_responses.load, "", "resp_4") is None
    await other.close()
    await store.close()


async def test_a_large_read_that_may_not_wait_is_refused(postgres: Postgres) -> None:
    reads = FairScheduler(1, 0)
    store = await PostgresStore.open(await postgres.database(), reads=reads)
    await store.save(response("resp_1", input=(StoredItem("msg_1", b"x" * (FEW_BYTES + 1)),)))
    assert reads.take("another")
    with pytest.raises(StoreError, match=r"overloaded: too many large reads "):
        await store.read(stored_responses.load, "", "resp_1")
    reads.leave("another")

    assert await store.read(stored_responses.load, "", "resp_1") is not None
    await store.close()


async def test_a_write_that_fails_leaves_no_transaction_behind(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """The pool would end it, and would say in the log what it had found."""
    store = await PostgresStore.open(await postgres.database())
    with pytest.raises(StoreError):
        await store.write(jobs.enqueue, response("resp_1", body=None), b"", [])

    assert caplog.text == ""
    await store.close()


async def test_a_connection_that_is_killed_is_replaced(postgres: Postgres) -> None:
    store = await PostgresStore.open(await postgres.database())
    await store.save(response("resp_1"))
    name = store.url.rpartition("?")[0].rpartition("/")[2]
    await postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
    )

    assert await store.read(stored_responses.load, "", "resp_1") is not None
    await store.close()


@pytest.mark.wide
async def test_a_standby_is_reported_as_read_only(postgres: Postgres) -> None:
    url = await postgres.database()
    store = await PostgresStore.open(url)
    name = url.rpartition("?")[0].rpartition("/")[2]
    await postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
    )
    with pytest.raises(StoreError, match=r"^The store is read-only\.$"):
        await store.save(response("resp_1"))
    await postgres.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

    await store.save(response("resp_1"))
    assert await store.read(stored_responses.load, "", "resp_1") is not None
    await store.close()


async def test_a_newer_schema_is_refused_with_one_line(postgres: Postgres) -> None:
    url = await postgres.database()
    await (await PostgresStore.open(url)).close()
    connection = await asyncpg.connect(url)
    await connection.execute("INSERT INTO antiphon_migrations (number) VALUES (1000)")
    await connection.close()

    with pytest.raises(
        ConfigError, match=r"has schema 1000, newer than this Antiphon's \d+; upgrade Antiphon$"
    ):
        await PostgresStore.open(url)


async def test_a_database_of_before_the_first_release_is_refused_unchanged(
    postgres: Postgres,
) -> None:
    url = await postgres.database()
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE antiphon_schema (version INTEGER NOT NULL)")
    await connection.execute("INSERT INTO antiphon_schema (version) VALUES (24)")

    for use in (PostgresStore.open, schema_of):
        with pytest.raises(ConfigError, match=f"{re.escape(EARLIER_STORE)}$"):
            await use(url)
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert [row["tablename"] for row in tables] == ["antiphon_schema"]
    await connection.close()


async def test_an_empty_database_has_version_0(postgres: Postgres) -> None:
    connection = await asyncpg.connect(await postgres.database())

    assert await version(connection) == 0
    await connection.close()


@pytest.mark.wide
async def test_many_that_open_an_empty_database_at_once_all_can(postgres: Postgres) -> None:
    url = await postgres.database()
    stores = await asyncio.gather(*(PostgresStore.open(url, connections=2) for _ in range(6)))

    await stores[0].save(response("resp_1"))
    assert [
        await store.read(stored_responses.load, "", "resp_1") is not None for store in stores
    ] == [True] * 6
    for store in stores:
        await store.close()


async def test_claims_wait_for_each_other_and_heartbeats_for_none(postgres: Postgres) -> None:
    url = await postgres.database()
    store = await PostgresStore.open(url)
    await store.write(jobs.enqueue, response("resp_1", status="queued"), b"", [])
    await store.write(leases.beat, "w")
    connection = await asyncpg.connect(url)
    async with connection.transaction(), asyncio.timeout(30):
        await connection.execute(
            QUERIES["lock_worker"].replace("$1", "''")
        )  # another server claims
        await store.write(leases.beat, "w")
        claim = asyncio.create_task(store.write(jobs.claim, "w", 10))
        await eventually(
            lambda: connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
        )
        assert not claim.done()
    assert await claim is not None
    await connection.close()
    await store.close()


async def test_a_migration_that_fails_leaves_no_trace(postgres: Postgres) -> None:
    connection = await asyncpg.connect(await postgres.database())
    scripts = [
        *migrations("postgres"),
        "CREATE TABLE half (x INTEGER); INSERT INTO nowhere VALUES (1)",
    ]
    with pytest.raises(asyncpg.PostgresError):
        await migrate(connection, scripts)

    assert await version(connection) == len(scripts) - 1
    assert await connection.fetchval("SELECT to_regclass('half')") is None
    await connection.close()


async def test_a_database_with_another_fourth_migration_is_migrated(
    postgres: Postgres,
) -> None:
    connection = await asyncpg.connect(await postgres.database())
    added = "ALTER TABLE jobs ADD COLUMN models TEXT NOT NULL DEFAULT '[]'"
    await migrate(connection, [*migrations("postgres")[:3], added])
    await migrate(connection, migrations("postgres"))

    assert await version(connection) == len(migrations("postgres"))
    await connection.close()


INVALID = "the URL is invalid; write postgresql://user@host/database"


@pytest.mark.parametrize(
    ("place", "displayed", "reason"),
    [
        ("127.0.0.1:1/d?password=sk-secret", "127.0.0.1:1/d?password=…", "connection refused"),
        ("nowhere.test/d", "nowhere.test/d", "DNS lookup failed (unknown name)"),
        ("127.0.0.1:x/d", "127.0.0.1:x/d", INVALID),
        ("[::1/d", "[::1/d", INVALID),
    ],
)
async def test_an_unusable_database_is_reported_without_its_password(
    monkeypatch: pytest.MonkeyPatch, place: str, displayed: str, reason: str
) -> None:
    def unknown(*name: object, **how: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown name")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigError) as refused:
        await PostgresStore.open(f"postgresql://u:sk-secret@{place}")
    assert refused.value.message == f"store: postgresql://…@{displayed} cannot be used: {reason}"


async def test_an_unknown_database_is_reported(postgres: Postgres) -> None:
    with pytest.raises(ConfigError, match=r'cannot be used: database "nowhere" does not exist$'):
        await PostgresStore.open(postgres.url("nowhere"))


async def test_saves_are_tried_again_where_it_can_help(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of a batch alone if only one of them can be at fault, and all together after a
    conflict.
    """
    tried: list[int] = []
    full = asyncpg.DiskFullError()
    bad = asyncpg.NotNullViolationError()
    deadlock = asyncpg.DeadlockDetectedError()
    async with postgres.store() as url:
        store = await PostgresStore.open(url)
        for error, count, tries in (
            (full, 2, [2]),
            (bad, 1, [1]),
            (bad, 2, [2, 1, 1]),
            (deadlock, 2, [2] * 4),
        ):

            async def fail(
                _: Any, responses: Sequence[StoredResponse], error: Exception = error
            ) -> set[str]:
                tried.append(len(responses))
                raise error

            monkeypatch.setattr(stores, "save_together", fail)
            tried.clear()
            saves = (store.save(response(f"resp_{number}")) for number in range(count))
            failed = await asyncio.gather(*saves, return_exceptions=True)

            assert ([type(one) for one in failed], tried) == ([StoreError] * count, tries)
        await store.close()


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON secrets FOR EACH ROW EXECUTE FUNCTION full_disk();
"""  # noqa: E501 - the lines of a text


async def test_a_full_disk_is_noticed_and_its_end_too(postgres: Postgres) -> None:
    url = await postgres.database()
    store = await PostgresStore.open(url)
    connection = await asyncpg.connect(url)
    assert await store.has_room()
    await connection.execute(FULL)
    with pytest.raises(StoreError) as refused:
        await store.check_writable()
    assert refused.value.is_disk_full
    assert not await store.has_room()
    await connection.execute("DROP TRIGGER full_disk ON secrets")
    assert await store.has_room()
    await connection.close()
    await store.close()
