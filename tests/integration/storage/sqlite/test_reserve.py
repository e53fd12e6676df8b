"""The reserve for deletions: when it is taken from the disk, released, and taken again."""

import asyncio
import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.storage.operations import responses
from antiphon.storage.sqlite import reserve as reserves
from antiphon.storage.sqlite.reserve import Reserve, reserve_next_to
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.sqlite.writer import Writer
from tests.store.making import T, new_response
from tests.support.waiting import until


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The bytes that are free on the disk, as the file system says; the last one counts."""
    reported = [10**12]

    class Found:
        f_frsize = 1

        @property
        def f_bavail(self) -> int:
            return reported[-1]

    monkeypatch.setattr(os, "statvfs", lambda path: Found())
    monkeypatch.setattr(reserves, "SIZE", 1024 * 1024)
    yield reported


def full(connection: sqlite3.Connection, provided: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Fail as long as the reserve, which is the argument, has its space."""
    for path in provided:
        if path.stat().st_size:
            error = sqlite3.OperationalError()
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        yield ["done"]


async def test_only_what_frees_space_uses_the_reserve(tmp_path: Path, free: list[int]) -> None:
    path = tmp_path / "reserve"
    reserve = Reserve(path)
    assert reserve.save() and path.stat().st_size == reserves.SIZE
    writer = Writer(
        sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False),
        None,
        reserve,
    )

    free.append(0)
    with pytest.raises(StoreError) as refused:
        await writer.submit(full, path)
    assert refused.value.is_disk_full
    assert path.stat().st_size == reserves.SIZE
    assert await writer.submit(full, path, frees=True) == "done"
    assert path.stat().st_size == 0
    mixed = [writer.submit(full, path, frees=frees) for frees in (False, True, False, True)]
    outcomes = await asyncio.gather(*mixed, return_exceptions=True)
    refusals = [isinstance(outcome, StoreError) and outcome.is_disk_full for outcome in outcomes]
    assert (refusals, outcomes[1::2]) == ([True, False, True, False], ["done", "done"])

    free.append(10**12)
    assert await writer.submit(lambda _, provided: [provided], "any") == "any"
    assert path.stat().st_size == reserves.SIZE
    await writer.close()


async def test_a_store_without_its_reserve_can_be_read_inspected_and_emptied_and_receives_notifications(  # noqa: E501 - one text, or a row of a table
    tmp_path: Path, free: list[int]
) -> None:
    path = tmp_path / "a.db"
    store = SqliteStore.open(f"sqlite://{path}")
    response = new_response()
    await store.save(response)
    await store.put_blob_part("row_1", 0, b"content", is_last=True)
    reserve_next_to(path).touch()  # another process released it
    free.append(0)

    for refused in (
        store.save(new_response()),
        store.put_blob_part("row_1", 1, b"more", is_last=True),
    ):
        with pytest.raises(StoreError) as caught:
            await refused
        assert caught.value.is_disk_full
    assert await store.read(responses.load, T, response.id) == response
    assert await store.blob_part("row_1", 0) == b"content"
    assert (await store.inspect())["responses"] == 1
    assert await store.clock_skew() == 0.0
    await store.delete_blob_parts("row_1")
    assert await store.write(responses.delete, T, response.id)
    await learn_of_another_process(store, path)
    await store.close()


async def learn_of_another_process(store: SqliteStore, path: Path) -> None:
    received: list[str] = []
    store.on_change(received.append)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:

        def has_reader() -> bool:
            connection.execute("UPDATE clock SET asked = asked + 1")
            return bool(received)

        await until(has_reader)


FULL = """
CREATE TABLE rows_of_a_full_disk (id INTEGER PRIMARY KEY AUTOINCREMENT);
INSERT INTO rows_of_a_full_disk VALUES (9223372036854775807);
CREATE TRIGGER full_disk BEFORE INSERT ON secrets BEGIN INSERT INTO rows_of_a_full_disk VALUES (NULL); END;
"""  # noqa: E501 - the lines of a text
"""Makes a check of the store fail with the code of a full disk, which SQLite also uses for a table
that is full.
"""


async def test_a_store_has_room_if_the_disk_has_space_for_its_reserve_and_writes_succeed(
    tmp_path: Path, free: list[int]
) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/a.db")
    free.append(0)
    assert not await store.has_room()
    free.append(10**12)
    assert await store.has_room()
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.executescript(FULL)
        with pytest.raises(StoreError) as refused:
            await store.check_writable()
        assert refused.value.is_disk_full
        assert not await store.has_room()
        connection.execute("DROP TRIGGER full_disk")
        assert await store.has_room()
        seen = connection.execute("PRAGMA data_version").fetchone()
        assert await store.has_room()
        assert (
            connection.execute("PRAGMA data_version").fetchone() == seen
        )  # it writes only after a failure
    await store.close()


def test_a_disk_with_little_space_has_no_reserve(tmp_path: Path, free: list[int]) -> None:
    free.append(reserves.SIZE + reserves.ROOM - 1)
    reserve = Reserve(tmp_path / "reserve")
    assert not reserve.save()
    assert list(tmp_path.iterdir()) == []
    assert reserve.refill() and not reserve.release()
    free.append(reserves.SIZE + reserves.ROOM)
    assert reserve.save() and reserve.release()


def test_a_store_in_memory_has_no_reserve(free: list[int]) -> None:
    reserve = Reserve(None)
    assert reserve.save() and reserve.refill() and not reserve.release()


def test_a_quota_leaves_no_room_although_the_disk_has_space(
    tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EDQUOT, "")

    reserve = Reserve(tmp_path / "reserve")
    assert reserve.save() and reserve.release()
    for name in ("write", "posix_fallocate"):
        monkeypatch.setattr(os, name, refuse)
    assert (reserve.save(), reserve.refill()) == (False, False)
    monkeypatch.undo()
    assert reserve.refill()
    assert [path.name for path in tmp_path.iterdir()] == ["reserve"]
