"""The SQLite store: the contract, and what it makes of trouble."""

import asyncio
import re
import resource
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.storage.operations import clock, jobs, responses
from antiphon.storage.operations.step import FEW_BYTES, FEW_ITEMS, Operation, query_rows
from antiphon.storage.records.jobs import SOONEST, Deferral, Reservation
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.sql import QUERIES
from antiphon.storage.sqlite import rows
from antiphon.storage.sqlite.file import blobs_next_to, open_memory
from antiphon.storage.sqlite.marks import bound
from antiphon.storage.sqlite.rows import perform_alone, statement
from antiphon.storage.sqlite.store import POLL_INTERVAL, SqliteStore
from antiphon.storage.upkeep import purge
from tests.store.check import check_store
from tests.support.acts import act_of
from tests.support.waiting import LoopClock, let_others_run, until

OF_THE_SECOND_FILE = {"put_blob_part", "blob_part", "delete_blob_parts"}
"""Queries of the file with the content of files."""

SELECT_EVERYTHING = {"counts"}
SORT = {
    "next_waiting",
    "beats",
    "held",
    "jobs_of",
    "endpoints",
    "deliveries",
    "counts",
    "api_keys",
    "walk_up",
}
SORT |= {"due", "due_endpoints", "steps_up", "storage_use", "usage", "usage_of_all"}
SORT |= {
    "next_ingestion",
    "batch_counts",
    "batch_files_up",
    "batch_files_down",
    "lock_stores_of_file",
}
SORT |= {"expired_attached_files", "lessons", "trim_lessons", "deferred_page"}
SORT |= {"claimed_of_agents"}
"""Queries whose rows are few whatever is stored: of what is being worked on, webhooks, API keys,
tenants, a block, a batch of files, the stores of one file, lessons of a day.
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db", busy_timeout=0.05)
    yield store
    await store.close()


def response(id: str, **fields: object) -> StoredResponse:
    provided = {
        "created_at": 1,
        "status": "completed",
        "previous_response_id": None,
        "body": b"{}",
    } | fields
    return StoredResponse(id=id, **provided)  # type: ignore[arg-type]


@contextmanager
def another_program(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@pytest.mark.wide
async def test_a_store_in_a_file_keeps_every_promise(tmp_path: Path) -> None:
    await check_store(lambda: SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db"))


@pytest.mark.wide
async def test_a_store_in_memory_keeps_every_promise_but_to_outlive_its_closing() -> None:
    await check_store(lambda: SqliteStore.open("sqlite://"), durable=False)


async def test_two_stores_in_memory_know_nothing_of_each_other() -> None:
    one = SqliteStore.open("sqlite://")
    other = SqliteStore.open("sqlite:///:memory:")
    await one.save(response("resp_1"))

    assert await other.read(responses.load, "", "resp_1") is None
    await one.close()
    await other.close()


async def test_two_stores_on_one_file_see_what_the_other_saved(store: SqliteStore) -> None:
    other = SqliteStore.open(store.url)
    await asyncio.gather(
        *(one.save(response(f"resp_{i}")) for i in range(64) for one in (store, other))
    )
    await store.save(response("resp_last", body=b"whole"))

    assert (await other.read(responses.load, "", "resp_last")) == response(
        "resp_last", body=b"whole"
    )
    assert (await other.inspect())["responses"] == 65
    await other.close()


async def test_sixty_four_creates_at_once_are_all_there_when_the_file_is_opened_again(
    tmp_path: Path,
) -> None:
    url = f"sqlite://{tmp_path}/antiphon.db"
    store = SqliteStore.open(url)
    saved = [response(f"resp_{i}", input=(StoredItem(f"msg_{i}", b"{}"),)) for i in range(64)]
    await asyncio.gather(*map(store.save, saved))
    await store.close()

    store = SqliteStore.open(url)
    assert [await store.read(responses.load, "", one.id) for one in saved] == saved
    await store.close()


async def test_saves_that_come_together_share_a_commit(store: SqliteStore, tmp_path: Path) -> None:
    saved = [response(f"resp_{i}") for i in range(200)]
    log = tmp_path / "antiphon.db-wal"
    before = log.stat().st_size
    await store.save(saved[0])
    alone = log.stat().st_size - before
    await asyncio.gather(*map(store.save, saved[1:]))

    assert log.stat().st_size - before < 20 * alone


async def test_a_save_that_fails_fails_alone(store: SqliteStore) -> None:
    good = [response(f"resp_{i}", output=(StoredItem(f"msg_{i}", b"{}"),)) for i in range(20)]
    bad = [
        response("resp_bad_1", created_at=2**70),
        response(
            "resp_bad_2",
            output=(StoredItem("msg_good", b"{}"), StoredItem("msg_bad", b"{}", "\ud800")),
        ),
        response("resp_bad_3", body=None),
    ]
    results = await asyncio.gather(
        *map(store.save, [*good[:10], *bad, *good[10:]]), return_exceptions=True
    )

    assert [type(result) for result in results] == [bool] * 10 + [StoreError] * 3 + [bool] * 10
    assert [await store.read(responses.load, "", one.id) for one in good] == good
    assert [await store.read(responses.load, "", one.id) for one in bad] == [None] * 3
    assert await store.read(responses.find_item, "", "msg_good") is None


async def test_an_error_keeps_its_cause_and_shows_neither_path_nor_sql(
    store: SqliteStore, tmp_path: Path
) -> None:
    with pytest.raises(StoreError) as caught:
        await store.save(response("resp_bad", body=None))

    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)
    assert caught.value.message == "The store operation failed."
    assert (caught.value.status, caught.value.headers) == (503, {"retry-after": "1"})


async def test_another_program_that_goes_on_writing_makes_saves_fail_and_holds_up_no_read(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.save(response("resp_before"))
    with another_program(tmp_path / "antiphon.db") as other:
        other.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(
            *(store.save(response(f"resp_{i}")) for i in range(8)), return_exceptions=True
        )

        assert all("another program is writing" in str(result) for result in results)
        assert {type(result) for result in results} == {StoreError}
        assert await store.read(responses.load, "", "resp_before") is not None

    await store.save(response("resp_after"))
    assert await store.read(responses.load, "", "resp_after") is not None


async def test_a_save_waits_for_another_program_to_finish(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db", busy_timeout=30)
    with another_program(tmp_path / "antiphon.db") as other:
        other.execute("BEGIN IMMEDIATE")
        save = asyncio.create_task(store.save(response("resp_1")))
        done, _ = await asyncio.wait({save}, timeout=0.05)
        assert done == set()
        other.execute("COMMIT")
    await save

    assert await store.read(responses.load, "", "resp_1") is not None
    await store.close()


async def test_a_disk_that_takes_no_more_fails_saves_keeps_reads_and_recovers(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.save(response("resp_before"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(StoreError, match=r"^The store's disk "):
            await store.save(response("resp_big", body=b"x" * 1_000_000))
        assert await store.read(responses.load, "", "resp_before") is not None
        assert await store.read(responses.load, "", "resp_big") is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    await store.save(response("resp_big", body=b"x" * 1_000_000))
    assert await store.read(responses.load, "", "resp_big") is not None


async def test_a_file_that_is_damaged_meanwhile_gives_errors_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    store = SqliteStore.open(f"sqlite://{path}")
    await store.save(response("resp_1", body=b"x" * 100_000))
    await store.save(response("resp_large", input=[StoredItem("msg_1", b"x" * (FEW_BYTES + 1))]))
    with another_program(path) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))

    for name in ("resp_1", "resp_large"):
        with pytest.raises(StoreError, match=r"^The store's file is damaged\.$"):
            await store.read(responses.load, "", name)
    with pytest.raises(StoreError, match=r"^The store's file is damaged\.$"):
        await store.save(response("resp_2"))
    await store.close()


async def test_more_responses_expire_than_one_transaction_takes(store: SqliteStore) -> None:
    await asyncio.gather(
        *(
            store.save(response(f"resp_{i}", expires_at=10 if i < 1200 else None))
            for i in range(1300)
        )
    )

    assert (await purge(store))["responses"] == 1200
    assert await store.read(responses.load, "", "resp_1199") is None
    assert await store.read(responses.load, "", "resp_1200") is not None


async def test_one_save_may_hold_thousands_of_items(store: SqliteStore) -> None:
    items = tuple(StoredItem(f"msg_{i}", b"%d" % i) for i in range(5000))
    await store.save(response("resp_1", input=items[:2500], output=items[2500:]))

    assert await store.read(responses.load, "", "resp_1") == response(
        "resp_1", input=items[:2500], output=items[2500:]
    )
    assert await store.read(responses.history, "", "resp_1") == list(items)


async def test_a_store_serves_one_event_loop_after_the_other(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db")
    await asyncio.to_thread(asyncio.run, store.save(response("resp_1")))

    assert await store.read(responses.load, "", "resp_1") is not None
    await store.close()


async def test_many_listeners_share_one_check_of_the_file(
    store: SqliteStore, tmp_path: Path
) -> None:
    before = asyncio.all_tasks()
    received = asyncio.Event()
    for _ in range(3):
        store.on_change(lambda _: received.set())
    assert len(asyncio.all_tasks() - before) == 1
    with another_program(tmp_path / "antiphon.db") as connection:

        def has_reader() -> bool:
            connection.execute("UPDATE clock SET asked = asked + 1")
            return received.is_set()

        await until(has_reader)
    await store.close()
    await let_others_run()
    assert asyncio.all_tasks() == before


async def test_each_write_of_another_program_is_reported_once_and_no_own_write(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = LoopClock(monkeypatch)
    reported = list[str]()
    store.on_change(reported.append)

    async def poll_again() -> None:
        for _ in range(3):
            clock.advance(POLL_INTERVAL)
            await let_others_run(3)
            await store.save(response("resp_own"))  # done after the look

    await poll_again()
    assert "" not in reported
    with another_program(tmp_path / "antiphon.db") as connection:
        connection.execute("UPDATE clock SET asked = asked + 1")
    await poll_again()
    assert reported.count("") == 1


async def test_memory_stores_are_not_polled_because_no_other_program_writes_them() -> None:
    store = SqliteStore.open("sqlite://")
    before = asyncio.all_tasks()
    store.on_change(lambda _: None)
    assert asyncio.all_tasks() == before
    await store.close()


async def test_no_query_reads_a_table_from_end_to_end(tmp_path: Path, store: SqliteStore) -> None:
    with another_program(tmp_path / "antiphon.db") as connection:
        for name in QUERIES.keys() - SELECT_EVERYTHING - OF_THE_SECOND_FILE:
            query = statement(name).replace("{where}", "")
            parameters = dict.fromkeys(re.findall(r"\$(\d+)", query))
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", parameters)]
            big = (
                "responses",
                "items",
                "events",
                "conversations",
                "conversation_items",
                "idempotency_keys",
            )
            assert [step for step in plan if step in [f"SCAN {table}" for table in big]] == [], name
            assert [step for step in plan if "TEMP B-TREE" in step and name not in SORT] == [], name


@pytest.mark.parametrize("name", ["queues_of_agents", "claimed_of_agents", "waiting_in"])
async def test_the_queues_of_agents_are_read_without_the_jobs_of_models(
    tmp_path: Path, store: SqliteStore, name: str
) -> None:
    query = statement(name)
    with another_program(tmp_path / "antiphon.db") as connection:
        parameters = dict.fromkeys(re.findall(r"\$(\d+)", query))
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", parameters)]

    (used,) = [step for step in plan if " jobs " in step]
    assert used.startswith("SEARCH jobs USING INDEX jobs_of_agents ")


async def test_twice_the_turns_take_twice_the_steps(store: SqliteStore, tmp_path: Path) -> None:
    def turn(number: int) -> StoredResponse:
        parent = f"resp_{number - 1}" if number else None
        return response(
            f"resp_{number}",
            previous_response_id=parent,
            input=(StoredItem(f"msg_{number}", b"{}"),),
        )

    await asyncio.gather(*(store.save(turn(number)) for number in range(400)))

    def steps(turns: int) -> int:
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        with another_program(tmp_path / "antiphon.db") as connection:
            connection.set_progress_handler(count, 1)
            rows = connection.execute(
                *bound(statement("history"), (f"resp_{turns - 1}", "", 0))
            ).fetchall()
        assert len(rows) == turns
        return taken

    assert steps(400) < 2.1 * steps(200)


@pytest.mark.parametrize(
    ("items", "size", "rows"), [(2, 1, 2), (FEW_ITEMS + 1, 1, 1), (2, FEW_BYTES, 1)]
)
async def test_many_or_large_items_are_not_read_with_their_response(
    store: SqliteStore, tmp_path: Path, items: int, size: int, rows: int
) -> None:
    await store.save(
        response(
            "resp_1", input=[StoredItem(f"msg_{place}", b"x" * size) for place in range(items)]
        )
    )
    with another_program(tmp_path / "antiphon.db") as connection:
        found = perform_alone(
            connection, act_of(query_rows, "load", "resp_1", "", 0, FEW_ITEMS, FEW_BYTES, FEW_BYTES)
        )

    assert len(found) == rows


async def test_all_statements_of_a_read_see_the_same_moment(
    store: SqliteStore, tmp_path: Path
) -> None:
    path = tmp_path / "antiphon.db"
    with another_program(path) as reader, another_program(path) as writer:

        def twice() -> Operation[list[tuple[float, str, int]]]:
            before = yield from clock.read()
            writer.execute("UPDATE clock SET asked = asked + 1")
            return [before, (yield from clock.read())]

        before, after = perform_alone(reader, act_of(twice))
        assert before == after
        assert perform_alone(reader, act_of(clock.read)) != before


async def test_a_longer_queue_takes_no_more_steps_to_find_the_next_job(
    store: SqliteStore, tmp_path: Path
) -> None:
    async def queue(count: int) -> None:
        for tenant in ("a", "b", "c"):
            for key in ("", "key"):
                for deferral, agent in (
                    (SOONEST, ""),
                    (Deferral(2**40, "continued"), ""),
                    (SOONEST, "agent"),
                ):
                    created = [
                        response(new_id("resp"), status="queued", tenant=tenant)
                        for _ in range(count)
                    ]
                    owner = Reservation(key)
                    await asyncio.gather(
                        *(
                            store.write(
                                jobs.enqueue,
                                *(one, b"", [], None, owner),
                                deferral=deferral,
                                queue=agent,
                            )
                            for one in created
                        )
                    )

    def steps() -> int:
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        with another_program(tmp_path / "antiphon.db") as connection:
            connection.set_progress_handler(count, 1)
            assert (
                len(
                    connection.execute(
                        *bound(statement("next_waiting"), (100, "w", 100, 1, 1, 1, 100, ""))
                    ).fetchall()
                )
                == 1
            )
        return taken

    await queue(2)
    few = steps()
    await queue(200)
    assert steps() < 1.1 * few


DAY = 86_400


@pytest.mark.parametrize(("ahead", "sees_expired"), [(DAY, False), (-DAY, True)])
async def test_a_wrong_server_clock_is_corrected_by_those_of_the_others(
    tmp_path: Path, ahead: int, sees_expired: bool
) -> None:
    """Nobody knows which clock is right, so nothing expires before both agree that it has."""
    right = SqliteStore.open(f"sqlite://{tmp_path}/a.db")
    wrong = SqliteStore.open(f"sqlite://{tmp_path}/a.db", now=lambda: time.time() + ahead)
    assert await right.clock_skew() == 0.0
    assert await wrong.clock_skew() is None  # until the other has said its time again
    assert await right.clock_skew() == pytest.approx(0.0, abs=1)
    assert await wrong.clock_skew() == pytest.approx(ahead, abs=5)
    now = int(time.time())
    await wrong.save(response("resp_wrong", expires_at=now + ahead + 600))
    await right.save(response("resp_right", expires_at=now + 600))
    await right.save(response("resp_old", expires_at=now - 60))
    found = await right.read(responses.load, "", "resp_wrong")

    assert found is not None
    assert found.expires_at == pytest.approx(now + 600, abs=5)
    assert await wrong.read(responses.load, "", "resp_right") is not None
    assert await right.read(responses.load, "", "resp_old") is None
    assert (await wrong.read(responses.load, "", "resp_old") is not None) is sees_expired
    for store in (right, wrong):
        await store.close()


async def test_a_file_that_was_deleted_or_replaced_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    store = SqliteStore.open(f"sqlite://{path}")
    await store.check_writable()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StoreError, match="deleted or replaced"):
        await store.check_writable()
    path.touch()
    with pytest.raises(StoreError, match="deleted or replaced"):
        await store.check_writable()
    await store.close()


async def test_both_files_are_inspected_whole(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    store = SqliteStore.open(f"sqlite://{path}")
    await store.save(response("resp_1"))
    assert (await store.inspect())["responses"] == 1
    await store.put_blob_part("row_1", 0, bytes(500_000), is_last=True)
    assert (await store.inspect())["responses"] == 1
    await store.close()
    damage(blobs_next_to(path))
    store = SqliteStore.open(f"sqlite://{path}")
    with pytest.raises(StoreError, match="content of files"):
        await store.inspect()
    await store.close()
    path.write_bytes(
        path.read_bytes().replace(b"resp_1", b"resp_2", 1)
    )  # in the row, and not in the index
    store = SqliteStore.open(f"sqlite://{path}")
    with pytest.raises(StoreError, match=r"^The store's file is damaged: .*missing from index"):
        await store.inspect()
    await store.close()


def damage(path: Path) -> None:
    """Overwrite the middle of a file."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 16_384)


@pytest.mark.parametrize(
    ("limit", "most", "parts"),
    [
        ("SAVES_AT_ONCE", 4, [4, 4, 1]),
        ("ITEMS_AT_ONCE", 10, [2, 2, 1, 2, 2]),
        ("BYTES_AT_ONCE", 100, [2, 2, 1, 2, 2]),
    ],
)
def test_a_transaction_can_end_before_all_large_responses_are_stored(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, parts: list[int]
) -> None:
    monkeypatch.setattr(rows, limit, most)
    saved = [
        response(
            f"resp_{name}",
            output=tuple(StoredItem(f"msg_{name}_{i}", b"0123456789") for i in range(size)),
        )
        for name, size in enumerate((3, 4, 4, 5, 12, 9, 1, 10, 0))
    ]
    connection = open_memory()
    assert list(map(len, rows.save(connection, saved))) == parts
    stored = connection.execute("SELECT id FROM responses ORDER BY seq").fetchall()
    assert stored == [(one.id,) for one in saved]
    connection.close()
