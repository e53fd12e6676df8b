"""Ingests one file into a vector store: cuts its text into chunks, which become searchable all at once."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice

from antiphon.documents.reader import DocumentError
from antiphon.errors import AntiphonError, ClientError, StoreError, log, reportable
from antiphon.runs.engine import Engine
from antiphon.search.chunking import Chunk, chunks_of, estimate_tokens
from antiphon.sharing.memory import Account
from antiphon.storage.contract import Ingestion, StoredFile
from antiphon.storage.records.chunks import ChunkRow
from antiphon.stored.file_text import file_text, weight_of_file

SECONDS = 600.0
"""Time limit of one file in seconds."""

BUSY = 1.0
"""Seconds before a file waits again if the document readers have no capacity for it."""

PAUSES = (1.0, 5.0, 25.0)
"""Seconds before unavailable content is read again: a bucket can fail for a while. Then the file fails."""

MOST_LOST = 3
"""Workers that can crash on one file; then it fails."""

MOST_TOKENS = 5_000_000
"""Estimated tokens of one file."""

MOST_CHUNKS = 500_000
"""Chunks of one vector store."""

AT_ONCE = 128
"""Chunks that are cut, embedded and written at once: some hundred kilobytes of text."""


class LostError(Exception):
    """The file was deleted, cancelled, or is ingested again: this work is obsolete."""


async def ingest(engine: Engine, ingestion: Ingestion) -> None:
    """Ingest a file to its end, which the file in the store shows: `completed`, or `failed` with the reason.

    Nothing is written once another worker owns the file. Raises `StoreError`.
    """
    if ingestion.lost >= MOST_LOST:
        text = f"The server stopped {ingestion.lost} times while it read this file. Attach it again to retry."
        await engine.store.fail_ingestion(ingestion, "server_error", text)
        return
    try:
        async with asyncio.timeout(SECONDS):
            await _ingest(engine, ingestion)
    except LostError:
        return
    except StoreError:
        raise
    except DocumentError as error:
        if error.reason == "busy":
            await asyncio.sleep(BUSY)
            await engine.store.release_ingestion(engine.worker, ingestion.seq)
            return
        await engine.store.fail_ingestion(ingestion, error.code, error.message)
    except TimeoutError:
        text = f"Reading the file took longer than {SECONDS:.0f} seconds. Attach a smaller file."
        await engine.store.fail_ingestion(ingestion, "server_error", text)
    except ClientError as error:  # its tenant's storage quota is exhausted
        await engine.store.fail_ingestion(ingestion, "invalid_file", error.message)
    except Exception as error:
        await engine.store.fail_ingestion(ingestion, "server_error", reportable(error).message)


async def _ingest(engine: Engine, ingestion: Ingestion) -> None:
    entry = ingestion.file
    file = await engine.files.find(entry.tenant, entry.file_id)
    if file is None:
        raise DocumentError("invalid_file", "The file was deleted or has expired.")
    memory = Account(engine.memory, entry.tenant, is_patient=True)
    try:
        count = await _write(engine, ingestion, file, memory)
    finally:
        memory.close()
    await engine.store.complete_ingestion(ingestion, count, MOST_CHUNKS)


async def _write(engine: Engine, ingestion: Ingestion, file: StoredFile, memory: Account) -> int:
    """Write all chunks of a file; return how many."""
    await memory.obtain(weight_of_file(file, engine.memory.most(file.tenant)))
    text = await _text(engine, file)
    tokens = await engine.offload.run(file.tenant, estimate_tokens, text)
    if tokens > MOST_TOKENS:
        raise DocumentError(
            "invalid_file",
            f"The file has about {tokens:,} tokens, and at most {MOST_TOKENS:,} are allowed. Split the file.",
        )
    count = 0
    with await engine.reserve_storage(file.tenant, len(text)):
        async for part in _parts(engine, ingestion, text):
            if not await engine.store.write_chunks(ingestion, await _rows(engine, ingestion, part)):
                raise LostError
            count += len(part)
    return count


async def _text(engine: Engine, file: StoredFile) -> str:
    """Return the text of a file. Raises `DocumentError`, and `AntiphonError` if its content stays unavailable."""
    for pause in (*PAUSES, None):
        try:
            return await file_text(engine, file)
        except StoreError as error:
            if pause is None:  # not a `StoreError`, which would make the file wait forever
                raise AntiphonError(error.message, code="server_error") from error
            log.warning("Cannot read the content of a file; retrying in %g s: %s", pause, error)
            await asyncio.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


async def _parts(engine: Engine, ingestion: Ingestion, text: str) -> AsyncIterator[Sequence[Chunk]]:
    """Cut a text in threads, some chunks at a time."""
    entry = ingestion.file
    chunks = chunks_of(text, entry.chunk_tokens, entry.overlap_tokens)
    while part := await engine.offload.run(entry.tenant, _some, chunks):
        yield part


def _some(chunks: Iterator[Chunk]) -> Sequence[Chunk]:
    return list(islice(chunks, AT_ONCE))


async def _rows(engine: Engine, ingestion: Ingestion, part: Sequence[Chunk]) -> Sequence[ChunkRow]:
    vectors: Sequence[bytes | None] = [None] * len(part)
    if model := ingestion.embedding_model:
        vectors = await engine.embeddings(model).embed([chunk.text for chunk in part], ingestion.file.tenant)
    return [
        ChunkRow(chunk.position, chunk.text, chunk.tokens, vector) for chunk, vector in zip(part, vectors, strict=True)
    ]
