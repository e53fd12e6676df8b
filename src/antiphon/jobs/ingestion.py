"""Ingests one file into a vector store: cuts its text into chunks, which become searchable
all at once.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from antiphon.documents.reader import DocumentError
from antiphon.errors import AntiphonError, ClientError, StoreError, log, reportable
from antiphon.jobs.parts import IngestionParts
from antiphon.objects.file_text import weight_of_file
from antiphon.search.chunking import Chunk, chunks_of, estimate_tokens
from antiphon.search.contract import UnavailableError
from antiphon.sharing.memory import Account
from antiphon.storage.chunk_writer import write_chunks
from antiphon.storage.operations import ingestions
from antiphon.storage.records.chunks import ChunkRow
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.vector_stores import Ingestion

if TYPE_CHECKING:
    from antiphon.search.fitting import EmbeddedPart

SECONDS = 600.0
"""Time limit of one file in seconds."""

BUSY = 1.0
"""Seconds before a file waits again if the document readers have no capacity for it."""

PAUSES = (1.0, 5.0, 25.0)
"""Seconds before unavailable content is read again: a bucket can fail for a while.
Then the file fails.
"""

MOST_CRASHES = 3
"""Workers that can crash on one file; then it fails."""

MOST_TOKENS = 5_000_000
"""Estimated tokens of one file."""

MOST_CHUNKS = 500_000
"""Chunks of one vector store."""

AT_ONCE = 128
"""Chunks that are cut, embedded and written at once: some hundred kilobytes of text."""

ABANDONED_AFTER = 24 * 3600.0
"""Seconds of an outage of the embedding model after which its files fail. Until then they wait."""

TRIED = "text"
"""Shows whether an embedding model answers again."""


class OutdatedIngestionError(Exception):
    """The file was deleted, cancelled, or is ingested again as a newer version."""


async def ingest(parts: IngestionParts, ingestion: Ingestion) -> None:
    """Ingest a file to its end, which the file in the store shows: `completed`, or `failed`
    with the reason.

    Nothing is written once another worker owns the file. Raises `StoreError`.
    """
    # A file on which workers crash would otherwise take down one worker after the other.
    if ingestion.crashes >= MOST_CRASHES:
        text = (
            f"The server stopped {ingestion.crashes} times while it read this file. Attach it "
            "again to retry."
        )
        await parts.store.write(ingestions.fail, ingestion, "server_error", text)
        return
    try:
        # Before the time limit starts, and before a large file is read in vain.
        await _try_model(parts, ingestion)
        async with asyncio.timeout(SECONDS) as limit:
            await _ingest(parts, ingestion, limit)
    except OutdatedIngestionError:  # another worker records the end
        return
    except UnavailableError as error:
        # An outage of the model is not the file's fault: it waits, for a day if necessary.
        await _wait(parts, ingestion, error)
    except StoreError:
        # Nothing can be recorded now: the caller waits, and returns the file to the queue.
        raise
    except DocumentError as error:
        if error.reason == "busy":
            # Other files have all the readers: that says nothing about this one.
            await asyncio.sleep(BUSY)
            await parts.store.write(ingestions.release, parts.process.worker, ingestion.seq)
            return
        await parts.store.write(ingestions.fail, ingestion, error.code, error.message)
    except TimeoutError:
        text = f"Reading the file took longer than {SECONDS:.0f} seconds. Attach a smaller file."
        await parts.store.write(ingestions.fail, ingestion, "server_error", text)
    except ClientError as error:  # its tenant's storage quota is exhausted
        await parts.store.write(ingestions.fail, ingestion, "invalid_file", error.message)
    except Exception as error:
        await parts.store.write(
            ingestions.fail, ingestion, "server_error", reportable(error).message
        )


async def _try_model(parts: IngestionParts, ingestion: Ingestion) -> None:
    """Call a model that did not answer recently, before the file is read for it.

    Raises `UnavailableError`.
    """
    model = ingestion.embedding_model
    if model and parts.outages.lasts(model) is not None:
        await _embedded(parts, ingestion, [TRIED])


async def _wait(parts: IngestionParts, ingestion: Ingestion, error: UnavailableError) -> None:
    """Return the file to the queue: no worker of this process claims it before
    the model's pause ends.
    """
    lasted = parts.outages.lasts(ingestion.embedding_model) or 0.0
    if lasted > ABANDONED_AFTER:
        await parts.store.write(ingestions.fail, ingestion, "server_error", error.message)
        return
    log.warning("The file %s waits for the embedding model: %s", ingestion.file.file_id, error.gist)
    await parts.store.write(ingestions.release, parts.process.worker, ingestion.seq)


async def _ingest(parts: IngestionParts, ingestion: Ingestion, limit: asyncio.Timeout) -> None:
    entry = ingestion.file
    file = await parts.files.get().find(entry.tenant, entry.file_id)
    if file is None:
        raise DocumentError("invalid_file", "The file was deleted or has expired.")
    memory = Account(parts.memory, entry.tenant, is_patient=True)
    try:
        count = await _write(parts, ingestion, file, memory, limit)
    finally:
        memory.close()
    await parts.store.write(ingestions.complete, ingestion, count, MOST_CHUNKS)


async def _write(
    parts: IngestionParts,
    ingestion: Ingestion,
    file: StoredFile,
    memory: Account,
    limit: asyncio.Timeout,
) -> int:
    """Write all chunks of a file; return how many.

    The time of the embedding server does not count for the limit.
    """
    # Before the content is read. It waits as long as necessary: no client waits for this.
    await memory.obtain(weight_of_file(file, parts.memory.most(file.tenant)))
    text = await _text(parts, file)
    # A limit on the work, and so on the cost, of embedding: checked before the first request.
    tokens = await parts.offload.in_thread(file.tenant, estimate_tokens, text)
    if tokens > MOST_TOKENS:
        raise DocumentError(
            "invalid_file",
            f"The file has about {tokens:,} tokens, and at most {MOST_TOKENS:,} are allowed. "
            "Split the file.",
        )
    count = 0
    with await parts.quota.reserve(file.tenant, len(text)):
        # Part by part, so that neither all chunks nor all vectors of a large file are
        # in memory at once.
        async for part in _parts(parts, ingestion, text):
            # A slow embedding server must not make a large file fail.
            with _untimed(limit):
                rows = await _rows(parts, ingestion, part, count)
            if (count := count + len(rows)) > MOST_CHUNKS:
                raise DocumentError(
                    "invalid_file",
                    f"The file has more than {MOST_CHUNKS:,} chunks. Split the file.",
                )
            for start in range(0, len(rows), AT_ONCE):
                # Chunks of an unfinished version are invisible to searches: `complete` shows all of
                # them at once.
                if not await write_chunks(parts.store, ingestion, rows[start : start + AT_ONCE]):
                    raise OutdatedIngestionError
    return count


@contextmanager
def _untimed(limit: asyncio.Timeout) -> Iterator[None]:
    """Stop the clock of a time limit."""
    clock = asyncio.get_running_loop().time
    end = limit.when()
    began = clock()
    limit.reschedule(None)
    try:
        yield
    finally:
        if end is not None:
            limit.reschedule(end + clock() - began)


async def _text(parts: IngestionParts, file: StoredFile) -> str:
    """Return the text of a file.

    Raises `DocumentError`, and `AntiphonError` if its content stays unavailable.
    """
    for pause in (*PAUSES, None):
        try:
            return await parts.texts.get().load(file)
        except StoreError as error:
            if pause is None:  # not a `StoreError`, which would make the file wait forever
                raise AntiphonError(error.message, code="server_error") from error
            log.warning("Cannot read the content of a file; retrying in %g s: %s", pause, error)
            await asyncio.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


async def _parts(
    parts: IngestionParts, ingestion: Ingestion, text: str
) -> AsyncIterator[Sequence[Chunk]]:
    """Cut a text in threads, some chunks at a time."""
    entry = ingestion.file
    chunks = chunks_of(text, entry.chunk_tokens, entry.overlap_tokens)
    while part := await parts.offload.in_thread(entry.tenant, _some, chunks):
        yield part


def _some(chunks: Iterator[Chunk]) -> Sequence[Chunk]:
    return list(islice(chunks, AT_ONCE))


async def _rows(
    parts: IngestionParts, ingestion: Ingestion, part: Sequence[Chunk], first: int
) -> Sequence[ChunkRow]:
    """Return chunks with their vectors, numbered from `first`.

    One that is too long for the model becomes several.
    """
    if not ingestion.embedding_model:
        return [
            ChunkRow(first + place, chunk.text, chunk.tokens) for place, chunk in enumerate(part)
        ]
    found = await _embedded(parts, ingestion, [chunk.text for chunk in part])
    rows: list[ChunkRow] = []
    for chunk, fitted in zip(part, found, strict=True):
        for one in fitted:
            tokens = chunk.tokens if len(fitted) == 1 else estimate_tokens(one.text)
            rows.append(ChunkRow(first + len(rows), one.text, tokens, one.vector))
    return rows


async def _embedded(
    parts: IngestionParts, ingestion: Ingestion, texts: Sequence[str]
) -> "Sequence[Sequence[EmbeddedPart]]":
    """Return the parts of texts with their vectors.

    Raises `AntiphonError`, but not `ClientError`.
    """
    try:
        return await parts.embeddings(ingestion.embedding_model).embed_parts(
            texts, ingestion.file.tenant
        )
    except (
        ClientError
    ) as error:  # a model that no backend has: the error names others, which a key may not know
        text = f"No backend has the embedding model '{ingestion.embedding_model}'."
        text = text if error.code == "model_not_found" else error.message
        raise AntiphonError(
            text, code="server_error", gist=error.gist, detail=str(error)
        ) from error
