"""Reads that announce much run in threads of their own, when it is their tenant's turn."""

import asyncio
import gc
import sqlite3
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import responses
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.operations.step import FEW_BYTES, FEW_ITEMS, Operation, query_rows
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredItem, StoredResponse
from antiphon.storage.sqlite.file import open_reader
from antiphon.storage.sqlite.readers import Readers
from antiphon.storage.sqlite.store import SqliteStore
from tests.store.making import T, new_response
from tests.support.acts import act_of
from tests.support.waiting import let_others_run, until


@pytest.fixture
def reads() -> FairScheduler:
    return FairScheduler(1, 1)


@pytest.fixture
async def store(tmp_path: Path, reads: FairScheduler) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db", reads=reads)
    yield store
    await store.close()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads in which items were made of rows."""
    seen: list[str] = []
    item_of = responses.item_of

    def noted(row: object) -> StoredItem:
        seen.append(threading.current_thread().name)
        return item_of(row)  # type: ignore[arg-type]

    monkeypatch.setattr(responses, "item_of", noted)
    return seen


def large(items: int = FEW_ITEMS + 1, size: int = 2) -> StoredResponse:
    return new_response([StoredItem(new_id("msg"), b"x" * size) for _ in range(items)])


@pytest.mark.parametrize(
    ("items", "size", "place"),
    [
        (3, 2, "MainThread"),
        (2, FEW_BYTES // 2, "MainThread"),
        (FEW_ITEMS + 1, 2, "antiphon-read"),
        (2, FEW_BYTES, "antiphon-read"),
    ],
)
async def test_what_is_large_is_read_in_a_thread(
    store: SqliteStore, threads: list[str], items: int, size: int, place: str
) -> None:
    response = large(items, size)
    await store.save(response)
    for read in (
        store.read(stored_responses.load, T, response.id),
        store.read(stored_responses.history, T, response.id),
    ):
        threads.clear()
        assert await read is not None
        assert {name.partition("_")[0] for name in threads} == {place}


async def test_the_end_of_a_list_of_large_items_is_known(store: SqliteStore) -> None:
    response = large(4, FEW_BYTES // 2)
    await store.save(response)
    first, second, third, last = response.input
    for query, items in (
        (PageQuery(2, second.id), [third, last]),
        (PageQuery(2, before=second.id, descending=True), [last, third]),
        (PageQuery(1, before=second.id), [first]),
        (PageQuery(2, third.id, descending=True), [second, first]),
    ):
        assert await input_page(store, T, response.id, query) == Page(items)


async def test_a_large_read_waits_for_its_turn_and_small_ones_do_not(
    store: SqliteStore, reads: FairScheduler
) -> None:
    big = large()
    small = large(2)
    for response in (big, small):
        await store.save(response)
    await reads.enter("another")
    waiting = asyncio.create_task(store.read(stored_responses.load, T, big.id))
    await let_others_run()
    assert await store.read(stored_responses.load, T, small.id) is not None
    assert await store.read(stored_responses.load, T, big.id, few=True) == replace(
        big, input=(), output=(), is_partial=True
    )
    assert (reads.waiting, waiting.done()) == (1, False)
    with pytest.raises(StoreError, match="overloaded"):
        await store.read(stored_responses.history, T, big.id)
    reads.leave("another")
    assert await waiting is not None
    await let_others_run()
    assert reads.in_use == 0


async def test_a_read_without_waiters_occupies_its_place_until_its_end(
    store: SqliteStore, reads: FairScheduler
) -> None:
    big = large()
    await store.save(big)
    left = asyncio.create_task(store.read(stored_responses.load, T, big.id))
    await until(lambda: reads.in_use)
    left.cancel()
    assert await store.read(stored_responses.load, T, big.id) is not None
    assert left.cancelled()
    await let_others_run()
    assert reads.in_use == 0


async def test_the_connections_are_closed_after_the_last_read(
    store: SqliteStore, tmp_path: Path, reads: FairScheduler
) -> None:
    await store.save(new_response())
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        opened.append(open_reader(tmp_path / "antiphon.db"))
        return opened[-1]

    def count() -> Operation[int]:
        (row,) = yield from query_rows("counts")
        return int(row[0])

    readers = Readers(connect, reads)
    reading = asyncio.create_task(readers.read(act_of(count)))
    await until(lambda: reads.in_use)
    await readers.close()
    assert await reading == 1
    (connection,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


async def test_the_failure_of_a_read_without_waiters_is_not_reported(reads: FairScheduler) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    may_end = threading.Event()

    def fail() -> Operation[None]:
        assert may_end.wait(30)
        yield from query_rows("no query has this name")

    readers = Readers(partial(sqlite3.connect, ":memory:", check_same_thread=False), reads)
    left = asyncio.create_task(readers.read(act_of(fail)))
    await until(lambda: reads.in_use)
    left.cancel()
    await asyncio.wait([left])
    assert (left.cancelled(), reads.in_use) == (True, 1)
    may_end.set()
    await readers.close()
    await until(lambda: not reads.in_use)
    del left
    gc.collect()  # asyncio reports an error that nobody retrieved when the future is deleted
    assert reported == []
