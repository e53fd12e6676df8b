"""The thread that writes: how much may wait for it, and what it does after an error."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence

import pytest

from antiphon.errors import StoreError
from antiphon.storage.sqlite import writer as writers
from antiphon.storage.sqlite.writer import Writer


async def test_no_more_waits_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MOST_WAITING", 3)
    begun, go = threading.Event(), threading.Event()

    def act(connection: sqlite3.Connection, given: Sequence[int]) -> Sequence[int]:
        begun.set()
        assert go.wait(30)
        return given

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


@pytest.mark.parametrize(
    ("code", "is_of_the_disk"), [(sqlite3.SQLITE_IOERR_WRITE, True), (sqlite3.SQLITE_FULL, False), (0, False)]
)
async def test_only_an_error_of_the_disk_renews_the_connection(code: int, is_of_the_disk: bool) -> None:
    first, second = (sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False) for _ in range(2))
    writer = Writer(first, lambda: second)

    def fail(connection: sqlite3.Connection, given: Sequence[int]) -> Sequence[int]:
        error = sqlite3.OperationalError()
        error.sqlite_errorcode = code
        raise error

    def look(connection: sqlite3.Connection, given: Sequence[int]) -> Sequence[sqlite3.Connection]:
        return [connection] * len(given)

    assert await writer.submit(look, 0) is first
    with pytest.raises(StoreError):
        await writer.submit(fail, 0)
    assert await writer.submit(look, 0) is (second if is_of_the_disk else first)
    await writer.close()
    for connection in (first, second):
        connection.close()
