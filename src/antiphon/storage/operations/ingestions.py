"""The ingestion queue: which worker owns which file, and the results."""

from collections.abc import Mapping, Sequence

import msgspec

from antiphon.storage.changes import INGESTIONS
from antiphon.storage.operations.leases import QUEUE
from antiphon.storage.operations.step import (
    Changed,
    Operation,
    Query,
    first,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.operations.vector_stores import chunks_of_files, drop_unfinished, file_of
from antiphon.storage.records.vector_stores import Ingestion, StoreFile

CHUNKS = 11
"""The column of a store's row with the number of its chunks."""

TOO_MANY = (
    "The vector store would have more than {most:,} chunks. Put the file into another vector store."
)


@reads("has_ingestions", is_of_all=True)
def is_waiting() -> Operation[bool]:
    """Return whether a file of any tenant waits for ingestion: it has no owner, or its owner has
    expired.
    """
    return bool((yield Query("waiting_ingestion", ())))


@writes("claim_ingestion", is_of_all=True)
def claim(worker: str, per_tenant: int, paused: Sequence[str] = ()) -> Operation[Ingestion | None]:
    """Assign the next waiting file to the worker; return None if no file waits.

    A file waits if it has no owner or its owner has expired. The next file is the oldest one of the
    tenant with the fewest files in progress. Tenants with `per_tenant` files in progress at this
    worker are skipped, and so are released files of stores with an embedding model in `paused`.
    """
    yield Query("lock_worker", (QUEUE,))
    row = yield from first(
        "next_ingestion", worker, per_tenant, "\n".join(["", *paused, ""]) if paused else ""
    )
    if row is None:
        return None
    seq, is_takeover = row
    claimed = yield from first("claim_ingestion", seq, worker, is_takeover)
    if claimed is None:  # its worker is alive after all, or the ingestion was cancelled
        return None
    crashes, is_expired = claimed
    if is_expired:
        yield from query_rows("revive", worker)
    row = yield from first("claimed_ingestion", seq)
    if row is None:
        return None
    return Ingestion(seq, file_of(row), crashes, row[-1], row[-2])


@writes("complete_ingestion")
def complete(ingestion: Ingestion, count: int, most: int) -> Operation[bool]:
    """Publish the `count` new chunks in place of the old ones; return False if the version is
    outdated.

    If the store would then have more than `most` chunks, the ingestion fails instead, in the same
    transaction.
    """
    file = ingestion.file
    row = yield from first("lock_vector_store", file.store_id, file.tenant)
    known = (yield from first("store_file", row[-1], file.file_id)) if row else None
    if row is None or known is None or not _is_newest(file, file_of(known)):
        return False
    if row[CHUNKS] - file_of(known).chunks + count > most:
        return (yield from fail(ingestion, "invalid_file", TOO_MANY.format(most=most)))
    chunks = chunks_of_files()
    attributes = msgspec.json.decode(file_of(known).attributes)
    usage_bytes = yield from chunks.publish(chunks.indexed_file(file))
    if usage_bytes is None:
        return False
    yield from chunks.set_attributes(file.tenant, file.store_id, file.file_id, attributes)
    yield from query_rows("complete_ingestion", ingestion.seq, file.version, usage_bytes, count)
    return True


@writes("fail_ingestion")
def fail(ingestion: Ingestion, code: str, message: str) -> Operation[bool]:
    """Mark an ingestion as failed; return False if the version is outdated.

    Older chunks are kept.
    """
    file = ingestion.file
    yield from query_rows("lock_vector_store", file.store_id, file.tenant)
    if not (yield from query_rows("fail_ingestion", ingestion.seq, file.version, code, message)):
        return False
    yield from drop_unfinished(file.tenant, file.store_id, file.file_id, file.live_version)
    return True


def _is_newest(file: StoreFile, known: StoreFile) -> bool:
    return known.version == file.version and known.status == "in_progress"


@writes("release_ingestion", is_of_all=True)
def release(worker: str, seq: int) -> Operation[None]:
    """Return one of the worker's files to the queue.

    The chunks that were written for it are never published.
    """
    if (yield from query_rows("release_ingestion", seq, worker)):
        yield Changed([INGESTIONS])


def release_all(worker: str) -> Operation[bool]:
    """Return all of a worker's files to the queue."""
    return bool((yield from query_rows("release_ingestions", worker)))


@reads("owned_ingestions", is_of_all=True)
def owned(worker: str) -> Operation[Mapping[int, int]]:
    """Return the worker's files as a mapping from file number to version."""
    return {row[0]: row[1] for row in (yield from query_rows("owned_ingestions", worker))}
