"""Long chains in PostgreSQL: walked up once, then counted by their rows, and never longer than they are."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from antiphon.storage.contract import ItemPage, PageQuery, StoredItem, StoredResponse
from antiphon.storage.postgres import chains
from antiphon.storage.postgres.chains import SHORT, LongChains
from antiphon.storage.postgres.store import PostgresStore
from tests.support.postgres import Postgres

LENGTH = SHORT + 10
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


@pytest.fixture
async def stores(postgres: Postgres, clock: Clock) -> AsyncIterator[Sequence[PostgresStore]]:
    """Two stores in one database, with a long chain in it."""
    url = await postgres.database()
    opened = [await PostgresStore.open(url, connections=2, now=clock) for _ in range(2)]
    await asyncio.gather(*(opened[0].save(turn(number)) for number in range(LENGTH)))
    yield opened
    for store in opened:
        await store.close()


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each walk up found."""
    found: list[int] = []
    taken = LongChains._taken

    def counted(self: LongChains, key: tuple[str, str], rows: Sequence[Any]) -> Any:
        found.append(len(rows))
        return taken(self, key, rows)

    monkeypatch.setattr(LongChains, "_taken", counted)
    return found


async def length(store: PostgresStore, response: StoredResponse, most: int = MOST) -> int:
    return (await store.measure_chain("", response.id, most, response.previous_response_id)).length


async def test_the_items_and_bytes_of_a_chain_that_grows_are_exact(stores: Sequence[PostgresStore]) -> None:
    store = stores[0]
    for number in range(LENGTH, LENGTH + 3):
        await store.save(turn(number, input=[StoredItem(f"msg_{number}", b"x" * number)]))
        extent = await store.measure_chain("", f"resp_{number}", MOST, f"resp_{number - 1}")
        sizes = range(LENGTH, number + 1)
        assert (extent.items, extent.size) == (len(sizes), sum(sizes))


async def test_a_chain_that_grows_is_walked_up_once(stores: Sequence[PostgresStore], walks: list[int]) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 20):
        await store.save(turn(number))
        assert await length(store, turn(number)) == number + 1
    assert await length(store, turn(LENGTH + 10)) == LENGTH + 11
    assert walks == [LENGTH]


async def test_a_list_does_not_walk_up_a_chain_that_is_known(stores: Sequence[PostgresStore], walks: list[int]) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 2):
        await store.save(turn(number))
    assert await store.input_page("", f"resp_{LENGTH + 1}", PageQuery(9)) == ItemPage([])
    assert walks == [LENGTH]


async def test_a_chain_that_is_followed_twice_is_two(stores: Sequence[PostgresStore], walks: list[int]) -> None:
    store = stores[0]
    for number in range(LENGTH, LENGTH + 3):
        await store.save(turn(number))
        await store.save(turn(number, "other", "resp" if number == LENGTH else "other"))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    for number in range(LENGTH, LENGTH + 3):
        assert await length(store, turn(number)) == number + 1
        assert await length(store, turn(number, "other", "resp" if number == LENGTH else "other")) == number + 1
    await store.delete("", f"resp_{LENGTH}")
    assert await length(store, turn(LENGTH + 2)) == 2
    assert await length(store, turn(LENGTH + 2, "other", "other")) == LENGTH + 3
    assert walks[0] == LENGTH


async def test_what_another_process_deletes_is_missed(stores: Sequence[PostgresStore]) -> None:
    store, other = stores
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await other.delete("", "resp_7")

    assert await length(store, turn(LENGTH - 1)) == LENGTH - 8


async def test_what_expires_is_missed(stores: Sequence[PostgresStore], clock: Clock) -> None:
    store = stores[0]
    await store.save(turn(7, expires_at=NOW + 10))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    clock.now += 10

    assert await length(store, turn(LENGTH - 1)) == LENGTH - 8


async def test_a_response_that_was_saved_anew_is_found_again(stores: Sequence[PostgresStore], walks: list[int]) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await store.save(turn(7))
    assert await length(store, turn(LENGTH - 1)) == LENGTH
    await store.save(replace(turn(LENGTH - 1), previous_response_id="resp_1"))
    assert await length(store, turn(LENGTH - 1)) == 3
    assert walks == [LENGTH, LENGTH, 3]


async def test_it_is_another_tenants_secret(stores: Sequence[PostgresStore]) -> None:
    store, parent = stores[0], f"resp_{LENGTH - 2}"
    assert await length(store, turn(LENGTH - 1)) == LENGTH

    assert (await store.measure_chain("another", f"resp_{LENGTH - 1}", MOST, parent)).length == 0


async def test_no_more_are_counted_than_asked(stores: Sequence[PostgresStore]) -> None:
    store = stores[0]
    assert await length(store, turn(LENGTH - 1)) == LENGTH

    assert [await length(store, turn(LENGTH - 1), most) for most in (3, LENGTH - 1, LENGTH)] == [3, LENGTH - 1, LENGTH]


async def test_a_wrong_parent_misleads_nobody(stores: Sequence[PostgresStore]) -> None:
    store = stores[0]
    await store.save(turn(LENGTH - 4, "other"))
    assert await length(store, turn(LENGTH - 1)) == LENGTH

    assert (await store.measure_chain("", f"other_{LENGTH - 4}", MOST, f"resp_{LENGTH - 1}")).length == LENGTH - 3


@pytest.mark.parametrize(("rows", "count", "remembered"), [(3 * LENGTH, 1000, 3), (100 * LENGTH, 5, 5)])
async def test_what_is_remembered_is_bounded(
    stores: Sequence[PostgresStore], monkeypatch: pytest.MonkeyPatch, rows: int, count: int, remembered: int
) -> None:
    monkeypatch.setattr(chains, "MOST_ROWS", rows)
    monkeypatch.setattr(chains, "MOST_CHAINS", count)
    store, most = stores[0], 0
    for number in range(12):
        await store.save(turn(LENGTH, f"other_{number}"))
        assert await length(store, turn(LENGTH - 1)) == LENGTH
        assert await length(store, turn(LENGTH, f"other_{number}")) == LENGTH + 1
        known = store._chains._known.values()
        assert sum(len(numbers) for numbers in {id(one.numbers): one.numbers for one in known}.values()) <= rows
        most = max(most, len(known))
    assert most == remembered
