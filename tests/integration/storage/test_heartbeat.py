"""A heartbeat over a connection of its own, on both stores: it needs no event loop, and outlives
trouble.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from antiphon.errors import StoreError
from antiphon.storage.open import open_store
from antiphon.storage.operations import idempotency, leases
from antiphon.storage.postgres import link
from antiphon.storage.postgres.heartbeat import PostgresHeartbeat
from antiphon.storage.sql import QUERIES
from antiphon.storage.sqlite import heartbeat as heartbeats
from antiphon.storage.sqlite.file import connect, open_memory
from antiphon.storage.sqlite.heartbeat import SqliteHeartbeat
from antiphon.storage.sqlite.store import SqliteStore
from tests.support.postgres import Postgres


async def test_it_beats_without_the_event_loop(store_url: str) -> None:
    store = await open_store(store_url)
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    heartbeat = store.heartbeat_connection("w")
    assert heartbeat is not None
    thread = threading.Thread(
        target=lambda: [heartbeat.beat(), heartbeat.beat(), heartbeat.close()]
    )
    thread.start()
    thread.join()  # the loop stands still meanwhile
    assert await store.read(leases.beats) == {"w": 2}
    await store.write(leases.beat, "w")
    assert await store.read(leases.beats) == {"w": 3}
    assert await store.write(leases.expire_worker, "w", 3)
    again = store.heartbeat_connection("w")
    assert again is not None
    await asyncio.to_thread(lambda: [again.beat(), again.close()])
    assert await store.read(leases.beats) == {"w": 4}
    await store.close()


async def test_a_store_in_memory_needs_none() -> None:
    store = await open_store("sqlite://")
    assert store.heartbeat_connection("w") is None
    await store.close()


async def test_it_finds_the_moment_between_the_commits_of_a_busy_writer(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/a.db")
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    heartbeat = store.heartbeat_connection("w")
    is_over = threading.Event()
    assert heartbeat is not None

    def act(connection: sqlite3.Connection, provided: Sequence[int]) -> Sequence[Sequence[int]]:
        connection.execute("UPDATE clock SET asked = asked + 1")
        is_over.wait(0.01)  # as a slow disk
        return [provided]

    submit = store._writer.submit
    writes = [submit(act, 0)]

    async def keep_busy() -> None:
        while not is_over.is_set():
            writes.append(submit(act, 0))
            await writes[-2]

    busy = asyncio.create_task(keep_busy())
    for _ in range(3):
        await asyncio.to_thread(heartbeat.beat)
    is_over.set()
    await busy
    await asyncio.gather(*writes)
    assert await store.read(leases.beats) == {"w": 3}
    await asyncio.to_thread(heartbeat.close)
    await store.close()


async def test_a_file_that_is_locked_for_long_fails_the_beat_and_not_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "PATIENCE", 0.02)
    store = SqliteStore.open(f"sqlite://{tmp_path}/a.db")
    heartbeat = store.heartbeat_connection("w")
    assert heartbeat is not None
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="busy"):
        heartbeat.beat()
    other.execute("COMMIT")
    other.close()
    heartbeat.beat()
    heartbeat.close()
    await store.close()


async def test_a_file_that_is_locked_for_a_moment_delays_the_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/a.db")
    heartbeat = store.heartbeat_connection("w")
    assert heartbeat is not None
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(time, "sleep", lambda _: other.execute("COMMIT"))
    heartbeat.beat()
    other.close()
    heartbeat.close()
    await store.close()


def test_a_beat_that_fails_is_followed_by_one_over_a_new_connection() -> None:
    broken = connect(":memory:")
    good = open_memory()
    heartbeat = SqliteHeartbeat(iter([broken, good]).__next__, "w")
    with pytest.raises(StoreError, match=r"^The store operation failed\.$"):
        heartbeat.beat()
    heartbeat.beat()

    assert good.execute("PRAGMA synchronous").fetchone() == (1,)  # it does not wait for the disk
    heartbeat.close()
    for closed in (broken, good):
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            closed.execute("SELECT 1")


async def test_a_process_that_is_stopped_in_the_middle_of_a_beat_can_be_declared_dead(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(await postgres.database())
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    monkeypatch.setattr(link, "STATEMENT_TIMEOUT", 1.0)
    heartbeat = store.heartbeat_connection("w")
    assert isinstance(heartbeat, PostgresHeartbeat)
    await asyncio.to_thread(heartbeat.beat)

    def stop_in_the_middle() -> None:
        loop = heartbeat._loop
        connection = heartbeat._connection
        assert loop is not None
        for statement in ("BEGIN", QUERIES["beat"].replace("$1", "'w'")):
            loop.run_until_complete(connection.execute(statement))

    await asyncio.to_thread(stop_in_the_middle)
    monkeypatch.undo()

    assert await store.write(leases.expire_worker, "w", 1)
    await asyncio.to_thread(heartbeat.close)
    await store.close()


async def test_a_connection_that_is_killed_is_replaced(postgres: Postgres) -> None:
    store = await open_store(await postgres.database())
    await store.write(idempotency.reserve, "", "key", b"print", "resp_1", "w")
    heartbeat = store.heartbeat_connection("w")
    assert heartbeat is not None
    await asyncio.to_thread(heartbeat.beat)
    name = store.url.rpartition("?")[0].rpartition("/")[2]
    await postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
    )
    with pytest.raises(StoreError):
        await asyncio.to_thread(heartbeat.beat)
    await asyncio.to_thread(heartbeat.beat)
    assert await store.read(leases.beats) == {"w": 2}
    await asyncio.to_thread(heartbeat.close)
    await store.close()
