"""Chunks are written and deleted in several transactions, on both stores."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.storage.chunk_writer import put_chunks, sweep_chunks
from antiphon.storage.open import open_store
from antiphon.storage.operations import chunks
from antiphon.storage.records.chunks import ChunkRow, IndexedFile
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.sqlite.words import MOST_STEPS
from antiphon.storage.store import Store

FILE = IndexedFile("t", "vs_1", "file_1", 1, "a.txt")


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


def _rows(count: int, words: int = 300) -> Sequence[ChunkRow]:
    return [ChunkRow(number, f"one{number} " + "more " * words, 1) for number in range(count)]


async def test_two_sweeps_at_once_delete_each_chunk_once(store: Store) -> None:
    assert await put_chunks(store, FILE, _rows(100))
    await store.write(chunks.publish, FILE)
    await store.write(chunks.drop, "t", "vs_1", None)
    assert sum(await asyncio.gather(sweep_chunks(store), sweep_chunks(store))) == 100
    assert await sweep_chunks(store) == 0
    await store.inspect()  # the index is whole


async def test_parts_after_the_first_are_refused_once_the_file_has_a_newer_version(
    store: Store,
) -> None:
    writing = asyncio.ensure_future(put_chunks(store, FILE, _rows(400)))
    newer = IndexedFile("t", "vs_1", "file_1", 2, "a.txt")
    while not await put_chunks(store, newer, _rows(1)):
        pass
    assert not await writing
    await store.write(chunks.publish, newer)
    found = await store.read(chunks.searched_store, "t", "vs_1")
    assert found is not None and found.chunks == 1


async def test_the_index_is_merged_in_small_steps(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    store = SqliteStore.open(f"sqlite://{path}")
    for version in range(1, 40):
        await put_chunks(
            store, IndexedFile("t", "vs_1", "file_1", version, "a.txt"), _rows(3, 2000)
        )
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        settings = dict(connection.execute("SELECT k, v FROM chunk_words_config"))
        connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")
    assert _parts_of_index(path) <= 2 * MOST_STEPS
    assert settings["automerge"] == 0


async def test_the_index_is_merged_also_where_chunks_are_only_deleted(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.db"
    store = SqliteStore.open(f"sqlite://{path}")
    for number in range(40):
        file = IndexedFile("t", "vs_1", f"file_{number}", 1, "a.txt")
        await put_chunks(store, file, _rows(3, 500))
        await store.write(chunks.publish, file)
    for number in range(40):
        await store.write(chunks.drop, "t", "vs_1", f"file_{number}")
        assert await sweep_chunks(store) == 3
    await store.close()
    assert _parts_of_index(path) <= 2 * MOST_STEPS


def _parts_of_index(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(
            connection.execute("SELECT count(DISTINCT segid) FROM chunk_words_idx").fetchone()[0]
        )
