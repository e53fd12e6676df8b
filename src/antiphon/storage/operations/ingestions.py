"""The queue of files that are to be ingested: who works on which, and how that ends."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from antiphon.storage.operations.jobs import QUEUE
from antiphon.storage.operations.step import Operation, Query, ask, first
from antiphon.storage.operations.vector_stores import chunks_of_files, drop_unfinished, file_of
from antiphon.storage.records import Ingestion, StoreFile

if TYPE_CHECKING:
    from antiphon.storage.records.chunks import ChunkRow, IndexedFile

CHUNKS = 11
"""The column of a store's row that counts its chunks."""

TOO_MANY = "The vector store would have more than {most:,} chunks. Put the file into another vector store."


def is_waiting() -> Operation[bool]:
    """Whether something waits to be ingested."""
    return bool((yield Query("waiting_ingestion", ())))


def claim(worker: str, per_tenant: int) -> Operation[Ingestion | None]:
    """Take the next file; see `VectorStores.claim_ingestion`."""
    yield Query("lock_worker", (QUEUE,))
    row = yield from first("next_ingestion", worker, per_tenant)
    if row is None:
        return None
    seq, is_lost = row
    claimed = yield from first("claim_ingestion", seq, worker, is_lost)
    if claimed is None:  # its worker is alive after all, or it was cancelled
        return None
    lost, is_expired = claimed
    if is_expired:
        yield from ask("revive", worker)
    row = yield from first("claimed_ingestion", seq)
    if row is None:
        return None
    return Ingestion(seq, file_of(row), lost, row[-1], row[-2])


def write_chunks(ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> Operation[bool]:
    """Add a part of a file's chunks, unless another worker writes them."""
    if not (yield from ask("fence_ingestion", ingestion.seq, ingestion.file.version)):
        return False
    return bool((yield from chunks_of_files().put(_indexed(ingestion), rows)))


def complete(ingestion: Ingestion, count: int, most: int) -> Operation[bool]:
    """Have a search find the new chunks; see `VectorStores.complete_ingestion`."""
    file = ingestion.file
    row = yield from first("lock_vector_store", file.store_id, file.tenant)
    known = (yield from first("store_file", row[-1], file.file_id)) if row else None
    if row is None or known is None or not _is_newest(file, file_of(known)):
        return False
    if row[CHUNKS] - file_of(known).chunks + count > most:
        return (yield from fail(ingestion, "invalid_file", TOO_MANY.format(most=most)))
    chunks, attributes = chunks_of_files(), msgspec.json.decode(file_of(known).attributes)
    usage_bytes = yield from chunks.publish(_indexed(ingestion))
    if usage_bytes is None:
        return False
    yield from chunks.set_attributes(file.tenant, file.store_id, file.file_id, attributes)
    yield from ask("complete_ingestion", ingestion.seq, file.version, usage_bytes, count)
    return True


def fail(ingestion: Ingestion, code: str, message: str) -> Operation[bool]:
    """End an ingestion without chunks; those that a search finds stay."""
    file = ingestion.file
    yield from ask("lock_vector_store", file.store_id, file.tenant)
    if not (yield from ask("fail_ingestion", ingestion.seq, file.version, code, message)):
        return False
    yield from drop_unfinished(file.tenant, file.store_id, file.file_id, file.live_version)
    return True


def _is_newest(file: StoreFile, known: StoreFile) -> bool:
    return known.version == file.version and known.status == "in_progress"


def _indexed(ingestion: Ingestion) -> "IndexedFile":
    from antiphon.storage.records.chunks import IndexedFile  # noqa: PLC0415 - for servers with vector stores alone

    file = ingestion.file
    return IndexedFile(file.tenant, file.store_id, file.file_id, file.version, file.filename)


def release(worker: str, seq: int) -> Operation[bool]:
    """Have a worker's file wait again; what was written for it is never found."""
    return bool((yield from ask("release_ingestion", seq, worker)))


def release_all(worker: str) -> Operation[bool]:
    """Have all of a worker's files wait again."""
    return bool((yield from ask("release_ingestions", worker)))


def owned(worker: str) -> Operation[Mapping[int, int]]:
    """Get the versions of a worker's files by their numbers."""
    return {row[0]: row[1] for row in (yield from ask("owned_ingestions", worker))}
