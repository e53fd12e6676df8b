"""Long chains on both stores: walked up once, and never longer than they are, whichever process
changes them.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import chains, jobs, responses
from antiphon.storage.operations.step import query_rows
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredItem, StoredResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.upkeep import purge
from tests.support.postgres import Postgres

SqlStore = SqliteStore | PostgresStore

LENGTH = chains.STEPS[-1] + 10
MOST = 1000
NOW = 1_700_000_000


def turn(number: int, name: str = "resp", follows: str = "resp", **fields: Any) -> StoredResponse:
    parent = f"{follows}_{number - 1}" if number else None
    return StoredResponse(f"{name}_{number}", NOW, "completed", parent, b"{}", **fields)


class Clock:
    now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def opened(url: str, clock: Clock) -> SqlStore:
    if url.startswith("sqlite"):
        return SqliteStore.open(url, now=clock)
    return await PostgresStore.open(url, connections=2, now=clock)


@pytest.fixture
async def stores(store_url: str, clock: Clock) -> AsyncIterator[Sequence[SqlStore]]:
    """Two stores in one database, with a long chain in it."""
    both = [await opened(store_url, clock) for _ in range(2)]
    await asyncio.gather(*(both[0].save(turn(number)) for number in range(LENGTH)))
    yield both
    for store in both:
        await store.close()


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many responses each walk up a chain could find at most."""
    found: list[int] = []

    def counted(query: str, *values: Any) -> Any:
        found.extend([values[-1]] if query == "measure_chain" else [])
        return query_rows(query, *values)

    monkeypatch.setattr(chains, "query_rows", counted)
    return found


async def length(store: SqlStore, response: StoredResponse, most: int = MOST) -> int:
    return (await store.measure_chain("", response.id, most)).length


async def test_the_items_and_bytes_of_a_chain_that_grows_are_exact(
    stores: Sequence[SqlStore],
) -> None:
    store = stores[0]
    for number in range(LENGTH, LENGTH + 3):
        await store.save(turn(number, input=[StoredItem(f"msg_{number}", b"x" * number)]))
        extent = await store.measure_chain("", f"resp_{number}", MOST)
        sizes = range(LENGTH, number + 1)
        assert (extent.items, extent.size) == (len(sizes), sum(sizes))


async def test_a_chain_that_grows_is_walked_up_once(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 20):
        await store.save(turn(number))
        assert await length(store, turn(number)) == number + 1
    assert await length(store, turn(LENGTH + 10)) == LENGTH + 11
    assert len(walks) == 1


async def test_a_list_does_not_walk_up_a_chain_that_is_known(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 2):
        await store.save(turn(number))
    assert await input_page(store, "", f"resp_{LENGTH + 1}", PageQuery(9)) == Page([])
    assert len(walks) == 1


async def test_a_chain_that_is_followed_twice_is_two(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    store = stores[0]
    for number in range(LENGTH, LENGTH + 3):
        await store.save(turn(number))
        await store.save(turn(number, "other", "resp" if number == LENGTH else "other"))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 3):
        assert await length(store, turn(number)) == number + 1
        assert (
            await length(store, turn(number, "other", "resp" if number == LENGTH else "other"))
            == number + 1
        )
    await store.write(responses.delete, "", f"resp_{LENGTH}")
    assert await length(store, turn(LENGTH + 2)) == 2
    assert await length(store, turn(LENGTH + 2, "other", "other")) == LENGTH + 3


async def test_what_another_process_deletes_is_missed(stores: Sequence[SqlStore]) -> None:
    store, other = stores
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await other.write(responses.delete, "", "resp_7")

    assert await length(store, turn(LENGTH - 1)) == LENGTH - 8


async def test_what_expires_is_missed(stores: Sequence[SqlStore], clock: Clock) -> None:
    store = stores[0]
    await store.save(turn(7, expires_at=NOW + 10))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    clock.now += 10

    assert await length(store, turn(LENGTH - 1)) == LENGTH - 8


async def test_what_expires_of_the_turns_that_were_added_is_missed(
    stores: Sequence[SqlStore], clock: Clock
) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await store.save(turn(LENGTH, expires_at=NOW + 10))
    await store.save(turn(LENGTH + 1))
    assert await length(store, turn(LENGTH + 1)) == LENGTH + 2
    clock.now += 10

    assert await length(store, turn(LENGTH + 1)) == 1


async def test_a_response_saved_again_is_found_again(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await store.save(turn(7))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await store.save(replace(turn(LENGTH - 1), previous_response_id="resp_1"))
    assert await length(store, turn(LENGTH - 1)) == 3
    assert len(walks) == 2


async def test_it_is_another_tenants_secret(stores: Sequence[SqlStore]) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH

    assert (await store.measure_chain("another", f"resp_{LENGTH - 1}", MOST)).length == 0


async def test_another_tenants_deletions_cost_no_walk(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    store, other = stores
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await other.save(turn(0, "other", tenant="another"))
    await other.write(responses.delete, "another", "other_0")

    assert await length(store, turn(LENGTH - 1)) == LENGTH
    assert len(walks) == 1


async def test_turns_of_another_process_need_no_walk(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    for store in stores:
        assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 40):
        store = stores[number % 2]
        await store.save(turn(number))
        assert await length(store, turn(number)) == number + 1
    assert len(walks) == 2


async def test_what_a_purge_deletes_is_missed(stores: Sequence[SqlStore], clock: Clock) -> None:
    store, other = stores
    await other.save(turn(7, expires_at=NOW + 10))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    clock.now += 10
    assert (await purge(other))["responses"] == 1
    clock.now -= 10

    assert await length(store, turn(LENGTH - 1)) == LENGTH - 8


async def test_no_more_than_requested_are_counted(stores: Sequence[SqlStore]) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH

    assert [await length(store, turn(LENGTH - 1), most) for most in (3, LENGTH - 1, LENGTH)] == [
        3,
        LENGTH - 1,
        LENGTH,
    ]


async def test_a_chain_longer_than_requested_is_incomplete(stores: Sequence[SqlStore]) -> None:
    extents = [
        await stores[0].measure_chain("", f"resp_{LENGTH - 1}", most)
        for most in (LENGTH - 1, LENGTH, 1, 2)
    ]

    assert [(one.length, one.is_whole) for one in extents] == [
        (LENGTH - 1, False),
        (LENGTH, True),
        (1, False),
        (2, False),
    ]


async def test_a_chain_that_is_too_long_is_walked_up_once_as_far_as_it_is_counted(
    stores: Sequence[SqlStore], walks: list[int]
) -> None:
    store = stores[0]
    most = LENGTH - 3
    for number in range(LENGTH, LENGTH + 5):
        await store.save(turn(number))
        assert await length(store, turn(number), most) == most
    assert walks == [most - 1]
    await store.write(responses.delete, "", f"resp_{LENGTH - 1}")
    assert await length(store, turn(LENGTH + 4), most) == 5


async def test_what_a_job_stored_at_its_end_is_counted(stores: Sequence[SqlStore]) -> None:
    """Its length was asked for while it ran."""
    store = stores[0]
    running = replace(turn(LENGTH), status="queued")
    await store.write(jobs.enqueue, running, b"{}", [])
    assert await length(store, running) == LENGTH + 1
    job = await store.read(jobs.find_job, "", running.id)
    assert job is not None
    ended = replace(
        running, status="completed", output=[StoredItem("msg_ended", b"x" * 7)], expires_at=NOW + 10
    )
    await store.write(jobs.finish, job, ended)
    await store.save(turn(LENGTH + 1))

    extents = [
        await store.measure_chain("", f"resp_{number}", MOST) for number in (LENGTH, LENGTH + 1)
    ]
    assert [(one.items, one.size) for one in extents] == [(1, 7)] * 2


async def test_what_is_remembered_is_bounded(
    stores: Sequence[SqlStore], walks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chains, "MOST_KNOWN", 5)
    store = stores[0]
    ends = [turn(LENGTH, f"other_{number}") for number in range(12)]
    for end in ends:
        await store.save(end)
        assert await length(store, end) == LENGTH + 1
    walks.clear()
    for end in reversed(ends):
        assert await length(store, end) == LENGTH + 1
    assert len(ends) - 5 <= len(walks) < len(ends)


@pytest.mark.wide
async def test_a_deletion_that_a_failover_lost_hides_no_other(
    postgres: Postgres, clock: Clock
) -> None:
    """A standby takes over without the last commit, and then as much is deleted there as before."""
    url = await postgres.database()
    store = await opened(url, clock)
    await asyncio.gather(
        *(store.save(turn(number)) for number in range(LENGTH)), store.save(turn(0, "other"))
    )
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE TABLE before AS TABLE tenant_sizes")
        await store.write(responses.delete, "", "other_0")
        assert await length(store, turn(LENGTH - 1)) == LENGTH
        await connection.execute(
            "DELETE FROM tenant_sizes; INSERT INTO tenant_sizes SELECT * FROM before"
        )
        await store.write(responses.delete, "", "resp_7")

        assert await length(store, turn(LENGTH - 1)) == LENGTH - 8
    finally:
        await connection.close()
        await store.close()
