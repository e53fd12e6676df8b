"""Vector stores, the files in them, and batches of files. Their ingestion queue is in
`ingestions.py`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.storage.changes import INGESTIONS
from antiphon.storage.operations.lists import part
from antiphon.storage.operations.step import (
    NOW,
    SHIFT,
    Changed,
    Operation,
    Row,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.pages import Page
from antiphon.storage.records.vector_stores import (
    Attached,
    AttachResult,
    NewAttachment,
    StoreBatch,
    StoredVectorStore,
    StoreFile,
    StoreFileCounts,
    StorePageQuery,
)

DAY = 86_400

UNKNOWN_STORE = Attached(AttachResult.UNKNOWN_STORE)
DONE = Attached(AttachResult.DONE)


@writes("create_vector_store")
def create(store: StoredVectorStore, files: Sequence[NewAttachment] = ()) -> Operation[Attached]:
    """Store a new vector store with its first files, which wait for ingestion."""
    now: int = yield NOW
    store = replace(store, created_at=store.created_at + (yield SHIFT))
    names, unknown = yield from _names(store.tenant, files, now)
    if unknown:
        return Attached(AttachResult.UNKNOWN_FILE, unknown)
    values = store.id, store.tenant, store.created_at, store.created_at, store.days, _expiry(store)
    texts = _bytes(store.name), _bytes(store.description), store.metadata, store.embedding_model
    ((seq,),) = yield from query_rows("put_vector_store", *values, *texts)
    yield from query_many(
        "put_store_file", [_new(seq, store.tenant, one, names, store.created_at) for one in files]
    )
    if files:
        yield Changed([INGESTIONS])
    return DONE


@reads("find_vector_store")
def find(tenant: str, store_id: str) -> Operation[StoredVectorStore | None]:
    """Return a vector store, or None."""
    now: int = yield NOW
    row = yield from first("find_vector_store", store_id, tenant)
    return store_of(row, now) if row else None


@reads("vector_store_page")
def page(tenant: str | None, query: StorePageQuery) -> Operation[Page[StoredVectorStore]]:
    """Return one page of the tenant's vector stores, or of all tenants' if `tenant` is None.

    `status` of the query is ignored.
    """
    now: int = yield NOW
    name, own = ("vector_stores_of_all", ()) if tenant is None else ("vector_stores", (tenant,))
    place = "vector_store_place" if tenant is None else "find_vector_store"
    places: dict[str, int] = {}
    for bound, store_id in (("after", query.after), ("before", query.before)):
        if store_id is not None:
            row = yield from first(place, store_id, *own)
            if row is None:
                return Page(unknown=bound)
            places[bound] = row[-1]
    rows, has_more = yield from part(name, own, (), query, places)
    return Page([store_of(row, now) for row in rows], has_more)


@writes("update_vector_store")
def update(
    tenant: str, store_id: str, changes: Mapping[str, Any]
) -> Operation[StoredVectorStore | None]:
    """Change `name`, `metadata` or `days`; return the store, or None.

    New `days` count from the last activity.
    """
    now: int = yield NOW
    row = yield from first("lock_vector_store", store_id, tenant)
    if row is None:
        return None
    store = store_of(row, now)
    if store.is_expired:
        changes = {name: value for name, value in changes.items() if name != "days"}
    store = replace(store, **changes)
    if not store.is_expired:
        store = replace(store, expires_at=_expiry(store))
    texts = _bytes(store.name), _bytes(store.description), store.metadata
    yield from query_rows("update_vector_store", row[-1], *texts, store.days, store.expires_at)
    return store


@writes("use_vector_stores")
def use(tenant: str, store_ids: Sequence[str]) -> Operation[None]:
    """Record activity of stores, which postpones their expiry. Written once a minute at most."""
    now: int = yield NOW
    for store_id in sorted(store_ids):
        yield from query_rows("use_vector_store", store_id, tenant, now)


@writes("delete_vector_store", frees=True)
def delete(tenant: str, store_id: str) -> Operation[bool]:
    """Delete a vector store with its chunks; return False if it is unknown.

    The files themselves are kept.
    """
    row = yield from first("lock_vector_store", store_id, tenant)
    if row is None:
        return False
    yield from drop_chunks(tenant, store_id, None)
    yield from query_rows("delete_vector_store", row[-1])
    return True


@writes("attach_files")
def attach(
    tenant: str, store_id: str, files: Sequence[NewAttachment], batch_id: str | None = None
) -> Operation[Attached]:
    """Attach all of these files or none of them, as a batch if `batch` has an id.

    A file that is already in the store keeps its row and receives the new attributes. It is
    ingested again if its chunking differs, or if it failed or was cancelled.
    """
    now: int = yield NOW
    row = yield from first("lock_vector_store", store_id, tenant)
    if row is None:
        return UNKNOWN_STORE
    if store_of(row, now).is_expired:
        return Attached(AttachResult.EXPIRED)
    names, unknown = yield from _names(tenant, files, now)
    if unknown:
        return Attached(AttachResult.UNKNOWN_FILE, unknown)
    seq = row[-1]
    new = []
    for one in files:
        known = yield from first("store_file", seq, one.file_id)
        if known is None:
            new.append(_new(seq, tenant, one, names, now))
        else:
            yield from _attach_again(seq, file_of(known), one)
    yield from query_many("put_store_file", new)
    if batch_id is not None:
        ((batch,),) = yield from query_rows(
            "put_store_batch", batch_id, seq, tenant, now, len(files)
        )
        yield from query_many("put_batch_file", [(batch, one.file_id) for one in files])
    yield from query_rows("use_vector_store", store_id, tenant, now)
    if files:
        yield Changed([INGESTIONS])
    return DONE


def _attach_again(seq: int, known: StoreFile, new: NewAttachment) -> Operation[None]:
    yield from _set_attributes(seq, known, new.attributes)
    cut = new.chunk_tokens, new.overlap_tokens
    if known.status in ("failed", "cancelled") or cut != (known.chunk_tokens, known.overlap_tokens):
        yield from query_rows("ingest_again", seq, known.file_id, *cut)


@reads("find_store_file")
def file(tenant: str, store_id: str, file_id: str) -> Operation[StoreFile | None]:
    """Return a file in a vector store, or None."""
    row = yield from first("find_vector_store", store_id, tenant)
    found = (yield from first("store_file", row[-1], file_id)) if row else None
    return file_of(found) if found else None


@reads("store_file_page")
def files(
    tenant: str, store_id: str, query: StorePageQuery, batch_id: str | None = None
) -> Operation[Page[StoreFile]]:
    """Return one page of the files of a vector store, or of a batch."""
    row = yield from first("find_vector_store", store_id, tenant)
    if row is None:
        return Page()
    store = row[-1]
    places: dict[str, int] = {}
    for name, file_id in (("after", query.after), ("before", query.before)):
        if file_id is not None:
            found = yield from first("store_file", store, file_id)
            if found is None:
                return Page(unknown=name)
            places[name] = found[-1]
    table = "store_files"
    key = store
    if batch_id is not None:
        batch = yield from first("store_batch", batch_id, store)
        if batch is None:
            return Page()
        table = "batch_files"
        key = batch[-1]
    rows, has_more = yield from part(table, (key,), (query.status,), query, places)
    return Page([file_of(row) for row in rows], has_more)


@writes("update_store_file")
def set_attributes(
    tenant: str, store_id: str, file_id: str, attributes: bytes
) -> Operation[StoreFile | None]:
    """Replace the attributes of a file in a store, even during its ingestion; return it, or
    None.
    """
    row = yield from first("lock_vector_store", store_id, tenant)
    found = (yield from first("store_file", row[-1], file_id)) if row else None
    if row is None or found is None:
        return None
    yield from _set_attributes(row[-1], file_of(found), attributes)
    return replace(file_of(found), attributes=attributes)


def _set_attributes(seq: int, file: StoreFile, attributes: bytes) -> Operation[None]:
    if attributes == file.attributes:
        return
    yield from query_rows("set_file_attributes", seq, file.file_id, attributes)
    if file.live_version is not None:
        decoded = msgspec.json.decode(attributes)
        yield from chunks_of_files().set_attributes(
            file.tenant, file.store_id, file.file_id, decoded
        )


@writes("detach_file", frees=True)
def detach(tenant: str, store_id: str, file_id: str) -> Operation[bool]:
    """Remove a file from a store with its chunks; return False if it is unknown.

    The file itself is kept.
    """
    row = yield from first("lock_vector_store", store_id, tenant)
    if row is None or not (yield from first("store_file", row[-1], file_id)):
        return False
    yield from drop_chunks(tenant, store_id, file_id)
    yield from query_rows("delete_store_file", row[-1], file_id)
    return True


def forget_file(file_id: str) -> Operation[None]:
    """Remove a file from all stores, with its chunks, in the transaction that deletes the file."""
    for seq, store_id, tenant in (yield from query_rows("lock_stores_of_file", file_id)):
        yield from drop_chunks(tenant, store_id, file_id)
        yield from query_rows("delete_store_file", seq, file_id)


@writes("forget_expired_files", is_of_all=True, frees=True)
def forget_expired(limit: int) -> Operation[int]:
    """Remove up to `limit` expired files from all stores; return the number of removed files."""
    now: int = yield NOW
    expired = yield from query_rows("expired_attached_files", now, limit)
    for (file_id,) in expired:
        yield from forget_file(file_id)
    return len(expired)


@reads("find_store_batch")
def batch(tenant: str, store_id: str, batch_id: str) -> Operation[StoreBatch | None]:
    """Return a batch of a vector store, or None."""
    row = yield from first("find_vector_store", store_id, tenant)
    return (yield from _batch(store_id, row[-1], batch_id)) if row else None


@writes("cancel_store_batch", frees=True)
def cancel_batch(tenant: str, store_id: str, batch_id: str) -> Operation[StoreBatch | None]:
    """Cancel the unfinished files of a batch; return the batch, or None.

    Finished files are unchanged.
    """
    row = yield from first("lock_vector_store", store_id, tenant)
    found = (yield from first("store_batch", batch_id, row[-1])) if row else None
    if row is None or found is None:
        return None
    cancelled = yield from query_rows("cancel_batch_files", row[-1], found[-1])
    for file_id, live_version in cancelled:
        yield from drop_unfinished(tenant, store_id, file_id, live_version)
    if cancelled:
        yield from query_rows("mark_batch_cancelled", found[-1])
    return (yield from _batch(store_id, row[-1], batch_id))


def _batch(store_id: str, store: int, batch_id: str) -> Operation[StoreBatch | None]:
    row = yield from first("store_batch", batch_id, store)
    if row is None:
        return None
    _, created_at, total, is_cancelled, seq = row
    counted: dict[str, int] = {
        row[0]: row[1] for row in (yield from query_rows("batch_counts", seq))
    }
    left = total - sum(counted.values())
    counted["cancelled"] = (
        counted.get("cancelled", 0) + left
    )  # files that were removed from the store
    return StoreBatch(
        batch_id, store_id, created_at, bool(is_cancelled), StoreFileCounts(**counted, total=total)
    )


@writes("reindex_vector_store")
def reindex(tenant: str, store_id: str, embedding_model: str) -> Operation[int | None]:
    """Ingest all files of a store again, with vectors of this model; return their number, or None
    if it is unknown.

    Searches see the old chunks of each file until the new ones are complete.
    """
    now: int = yield NOW
    row = yield from first("lock_vector_store", store_id, tenant)
    if row is None or store_of(row, now).is_expired:
        return None
    yield from query_rows("set_embedding_model", row[-1], embedding_model)
    if count := len((yield from query_rows("ingest_all_again", row[-1]))):
        yield Changed([INGESTIONS])
    return count


@writes("empty_expired_store", is_of_all=True, frees=True)
def empty_expired() -> Operation[int]:
    """Delete the files and chunks of one expired store; return 0 if no store has expired."""
    now: int = yield NOW
    row = yield from first("expired_vector_store", now)
    if row is None:
        return 0
    store_id, tenant, seq = row
    yield from drop_chunks(tenant, store_id, None)
    yield from query_rows("empty_vector_store", seq)
    return 1


@reads("has_dropped_chunks", is_of_all=True)
def has_dropped_chunks() -> Operation[bool]:
    """Return whether dropped chunks remain to be deleted."""
    return bool((yield from query_rows("dropped_file")))


def drop_chunks(tenant: str, store_id: str, file_id: str | None) -> Operation[None]:
    """Hide a file of a store, or all its files, from searches."""
    yield from chunks_of_files().drop(tenant, store_id, file_id)


def drop_unfinished(
    tenant: str, store_id: str, file_id: str, live_version: int | None
) -> Operation[None]:
    """Drop the chunks that an ended ingestion wrote for a file.

    Searches still see its live version.
    """
    if live_version is None:
        yield from drop_chunks(tenant, store_id, file_id)
    else:
        yield from chunks_of_files().drop_unfinished(tenant, store_id, file_id)


def chunks_of_files() -> Any:
    """Return the module with the operations on chunks.

    It is only loaded by servers with vector stores.
    """
    return import_module("antiphon.storage.operations.chunks")


def _names(
    tenant: str, files: Sequence[NewAttachment], now: int
) -> Operation[tuple[Mapping[str, str], str]]:
    """Return the filenames by id, and the first unknown id.

    The files cannot be deleted until the transaction ends.
    """
    names: dict[str, str] = {}
    for file_id in sorted({one.file_id for one in files}):
        row = yield from first("attachable_file", file_id, tenant, now)
        if row is not None:
            names[file_id] = row[0]
    return names, next((one.file_id for one in files if one.file_id not in names), "")


def _new(
    seq: int, tenant: str, new: NewAttachment, names: Mapping[str, str], now: int
) -> tuple[Any, ...]:
    cut = new.attributes, new.chunk_tokens, new.overlap_tokens, new.key_id
    return seq, new.file_id, tenant, names[new.file_id], now, *cut


def store_of(row: Row, now: int) -> StoredVectorStore:
    """Create a store from its row."""
    (
        store_id,
        tenant,
        created_at,
        name,
        description,
        metadata,
        days,
        last_active_at,
        expires_at,
        model,
    ) = row[:10]
    usage_bytes, chunk_count, in_progress, completed, failed, cancelled, _ = row[10:]
    total = in_progress + completed + failed + cancelled
    return StoredVectorStore(
        store_id,
        tenant,
        created_at,
        _text(name),
        _text(description),
        metadata,
        days,
        last_active_at,
        expires_at,
        expires_at is not None and expires_at <= now,
        model,
        usage_bytes,
        chunk_count,
        StoreFileCounts(in_progress, completed, failed, cancelled, total),
    )


def file_of(row: Row) -> StoreFile:
    """Create a file in a store from its row."""
    return StoreFile(*row[:15])


def _expiry(store: StoredVectorStore) -> int | None:
    active = store.last_active_at or store.created_at
    return None if store.days is None else active + store.days * DAY


def _bytes(text: str | None) -> bytes | None:
    """Remove NULs, which a client may have sent but PostgreSQL's text does not accept."""
    return None if text is None else text.encode()


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()
