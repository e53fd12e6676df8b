"""The thread that writes: how much may wait for it, and what it does after an error."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from antiphon.errors import StoreError
from antiphon.storage.sqlite import writer as writers
from antiphon.storage.sqlite.rows import Doing
from antiphon.storage.sqlite.writer import Writer


async def test_no_more_waits_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MOST_WAITING", 3)
    begun = threading.Event()
    go = threading.Event()

    def act(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        begun.set()
        assert go.wait(30)
        return [provided]

    writer = Writer(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
    doing = [writer.submit(act, 0)]
    assert await asyncio.to_thread(begun.wait, 30)
    doing += [writer.submit(act, number) for number in (1, 2, 3)]
    with pytest.raises(StoreError, match=r"overloaded: too many writes "):
        writer.submit(act, 4)
    go.set()
    assert await asyncio.gather(*doing) == [0, 1, 2, 3]
    assert await writer.submit(act, 5) == 5
    await writer.close()


async def test_an_operation_that_fails_leaves_nothing_and_a_full_disk_fails_all_that_share_its_commit() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.execute("CREATE TABLE seen (number INTEGER)")
    begun = threading.Event()
    go = threading.Event()

    def wait(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        begun.set()
        assert go.wait(30)
        return [provided]

    def act(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        for number in provided:
            connection.execute("INSERT INTO seen VALUES (?)", (number,))
            if number < 0:
                raise ValueError
        return [provided]

    def fill(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        error = sqlite3.OperationalError()
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    async def together(*operations: tuple[Doing[int, int], int]) -> list[int | BaseException]:
        begun.clear()
        go.clear()
        first = writer.submit(wait, 0)
        assert await asyncio.to_thread(begun.wait, 30)
        rest = [writer.submit(*one) for one in operations]
        go.set()
        await first
        return await asyncio.gather(*rest, return_exceptions=True)

    writer = Writer(database)
    good, bad, good_too = await together((act, 1), (act, -2), (act, 3))
    full = await together((act, 4), (act, -5), (fill, 6), (act, 7))
    rows = await writer.submit(
        lambda connection, _: [[connection.execute("SELECT number FROM seen").fetchall()]], None
    )
    await writer.close()

    assert (good, str(bad), good_too) == (1, "The store operation failed.", 3)
    assert list(map(str, full)) == ["The store's disk is full."] * 4
    assert rows == [(1,), (3,)]


@pytest.mark.parametrize(
    ("code", "is_of_the_disk"),
    [(sqlite3.SQLITE_IOERR_WRITE, True), (sqlite3.SQLITE_FULL, False), (0, False)],
)
async def test_only_an_error_of_the_disk_renews_the_connection(
    code: int, is_of_the_disk: bool
) -> None:
    first, second = (
        sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False) for _ in range(2)
    )
    writer = Writer(first, lambda: second)

    def fail(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        error = sqlite3.OperationalError()
        error.sqlite_errorcode = code
        raise error

    def poll(
        connection: sqlite3.Connection, provided: Sequence[int]
    ) -> Sequence[Sequence[sqlite3.Connection]]:
        return [[connection] * len(provided)]

    assert await writer.submit(poll, 0) is first
    with pytest.raises(StoreError):
        await writer.submit(fail, 0)
    assert await writer.submit(poll, 0) is (second if is_of_the_disk else first)
    if is_of_the_disk:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            first.execute("SELECT 1")
    await writer.close()
    for connection in (first, second):
        connection.close()


async def test_a_transaction_that_takes_long_ends_before_the_next_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    writer = Writer(database)
    begun = threading.Event()
    go = threading.Event()

    def wait(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        begun.set()
        assert go.wait(30)
        return [provided]

    commits: list[None] = []

    def perform(connection: sqlite3.Connection, provided: Sequence[int]) -> Iterator[Sequence[int]]:
        return ([len(commits)] for _ in provided)

    async def in_how_many(longest: float) -> int:
        """Return how many transactions five operations take that wait together."""
        monkeypatch.setattr(writers, "LONGEST", longest)
        for event in (begun, go):
            event.clear()
        waiting = writer.submit(wait, 0)
        assert await asyncio.to_thread(begun.wait, 30)
        doing = [writer.submit(perform, 0) for _ in range(5)]
        go.set()
        await waiting
        return len(set(await asyncio.gather(*doing)))

    database.set_trace_callback(lambda text: commits.append(None) if text == "COMMIT" else None)
    assert await in_how_many(30.0) == 1
    assert await in_how_many(-1.0) == 5
    await writer.close()


async def test_operations_that_are_done_together_are_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writers, "LONGEST", -1.0)
    writer = Writer(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
    begun = threading.Event()
    go = threading.Event()
    done: list[int] = []

    def act(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        done.extend(provided)
        begun.set()
        assert go.wait(30)
        return [provided]

    doing = [writer.submit(act, 0)]
    assert await asyncio.to_thread(begun.wait, 30)
    doing += [writer.submit(act, number) for number in range(1, 200)]
    go.set()
    assert await asyncio.gather(*doing) == done == list(range(200))
    await writer.close()


class Owned(NamedTuple):
    """An argument that says whose it is."""

    tenant: str
    number: int


async def test_tenants_take_turns_in_what_waits_for_the_next_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writers, "LONGEST", -1.0)
    writer = Writer(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
    begun = threading.Event()
    go = threading.Event()
    done: list[Owned] = []

    def act(connection: sqlite3.Connection, provided: Sequence[Owned]) -> Iterator[Sequence[Owned]]:
        for one in provided:
            begun.set()
            assert go.wait(30)
            done.append(one)
            yield [one]

    first = writer.submit(act, Owned("a", 0))
    assert await asyncio.to_thread(begun.wait, 30)
    waiting = [Owned("a", number) for number in range(1, 300)]
    waiting += [Owned("b", 0), Owned("b", 1), Owned("c", 0)]
    doing = [writer.submit(act, one) for one in waiting]
    go.set()
    assert await first == Owned("a", 0)
    assert await asyncio.gather(*doing) == waiting
    await writer.close()
    assert "".join(one.tenant for one in done[:9]) == "aaabcabaa"
    for tenant in "abc":
        numbers = [one.number for one in done if one.tenant == tenant]
        assert numbers == sorted(numbers)
