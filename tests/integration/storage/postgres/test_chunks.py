"""The keyword index of chunks in PostgreSQL."""

import asyncpg

from antiphon.storage.chunk_writer import put_chunks
from antiphon.storage.operations import chunks
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.chunks import ChunkRow, IndexedFile
from antiphon.storage.sql import queries_of
from tests.support.postgres import Postgres

_SCANS = "SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'chunk_words'"


async def test_a_word_is_found_by_the_index_even_for_few_rows(postgres: Postgres) -> None:
    async with postgres.store() as url:
        store = await PostgresStore.open(url)
        file = IndexedFile("t", "vs_1", "file-1", 1, "a.txt")
        await put_chunks(
            store, file, [ChunkRow(n, f"word {n} " + "more " * 300, 1) for n in range(20)]
        )
        await store.write(chunks.publish, file)
        assert (
            len(
                (
                    await store.read(chunks.match_keywords, "t", "vs_1", ["word", "7"], None, 5)
                ).chunks
            )
            == 5
        )
        connection = await asyncpg.connect(url)
        try:
            async with connection.transaction():
                await connection.fetch(queries_of("postgres")["word_counts"], '["1zword"]', 1)
                scans = await connection.fetchrow(_SCANS)
        finally:
            await connection.close()
            await store.close()

    assert (scans["seq_scan"], scans["idx_scan"] > 0) == (0, True)
