"""Writes and deletes the chunks of files in vector stores, in parts, so that other writes run in
between.

A thread of the store computes the terms of a part before the transaction that writes or deletes it.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from antiphon.storage.operations import chunks
from antiphon.storage.operations.chunk_parts import Termed
from antiphon.storage.records.chunks import ChunkRow, IndexedFile, size_of
from antiphon.storage.records.vector_stores import Ingestion
from antiphon.storage.store import Store

SWEPT_AT_ONCE = 64
"""Chunks that a sweep reads at once."""


async def write_chunks(store: Store, ingestion: Ingestion, rows: Sequence[ChunkRow]) -> bool:
    """Add some of a file's chunks, which searches do not see yet; return False if the version is
    outdated.
    """
    return await _put_parts(store, rows, lambda part: store.write(chunks.write, ingestion, part))


async def put_chunks(store: Store, file: IndexedFile, rows: Sequence[ChunkRow]) -> bool:
    """Store some chunks of a version of a file, by ascending position.

    Searches see them once they are published.

    Rows that exist already are kept. Return False, and store nothing more, if this version is
    already published or a newer version exists. Unlike `write_chunks`, this does not check who owns
    the ingestion of the file.
    """
    return await _put_parts(store, rows, lambda part: store.write(chunks.put, file, part))


async def sweep_chunks(store: Store) -> int:
    """Delete all dropped chunks; return their number."""
    removed = 0
    while dropped := await store.write(chunks.dropped, SWEPT_AT_ONCE):
        async for part in store.terms.parts([(number, text, 0) for number, text in dropped.chunks]):
            removed += await store.write(chunks.sweep, dropped, part)
            await store.merge_words()
        if dropped.is_end:
            await store.write(chunks.forget, dropped)
    return removed


async def _put_parts(
    store: Store,
    rows: Sequence[ChunkRow],
    put: Callable[[Sequence[Termed[ChunkRow]]], Coroutine[Any, Any, bool]],
) -> bool:
    """Put chunks in several transactions; return False as soon as one of them does."""
    if not rows:
        return await put(())
    async for part in store.terms.parts((row, row.text, size_of(row)) for row in rows):
        if not await put(part):
            return False
        await store.merge_words()
    return True
