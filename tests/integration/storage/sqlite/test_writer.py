"""The thread that writes: how much may wait for it."""

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
    with pytest.raises(StoreError, match=r"^The store is overloaded: too much waits to be written\.$"):
        writer.submit(act, 4)
    go.set()
    assert await asyncio.gather(*doing) == [0, 1, 2, 3]
    assert await writer.submit(act, 5) == 5
    await writer.close()
