"""Promises about vector stores, the files in them, batches, and the queue of ingestion."""

import time
from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.chunk_writer import write_chunks
from antiphon.storage.operations import chunks as stored_chunks
from antiphon.storage.operations import files as file_rows
from antiphon.storage.operations import ingestions, leases, sizes, vector_stores
from antiphon.storage.records.chunks import ChunkRow
from antiphon.storage.records.vector_stores import (
    Attached,
    AttachResult,
    Ingestion,
    NewAttachment,
    StoredVectorStore,
    StoreFile,
    StorePageQuery,
)
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.files import new_file, put
from tests.store.making import T, hold

OTHER = T + "2"
DONE = Attached(AttachResult.DONE)
MOST = 1000
ALL = StorePageQuery(100, descending=False)


async def new_store(
    store: Store, tenant: str = T, files: Sequence[str] = (), days: int | None = None
) -> str:
    """Store a new vector store with these files; return its id."""
    one = StoredVectorStore(new_id("vs"), tenant, int(time.time()), "n\0", None, b"{}", days)
    outcome = await store.write(vector_stores.create, one, [NewAttachment(file) for file in files])
    hold(outcome == DONE, f"it is not stored: {outcome}")
    return one.id


async def stored_files(store: Store, tenant: str = T, count: int = 1) -> list[str]:
    """Store files; return their ids."""
    files = [new_file(tenant, new_id("content").encode()) for _ in range(count)]
    for file in files:
        await put(store, file)
    return [file.id for file in files]


async def claimed(store: Store, worker: str) -> Ingestion:
    """Claim the waiting work, which must exist."""
    found = await store.write(ingestions.claim, worker, 100)
    if found is None:
        raise AssertionError("a file that waits is not claimed")
    return found


async def ingested(store: Store, ingestion: Ingestion, text: str = "words") -> bool:
    """Ingest a claimed file with one chunk."""
    await write_chunks(store, ingestion, [ChunkRow(0, text, 1)])
    return await store.write(ingestions.complete, ingestion, 1, MOST)


async def entry(store: Store, store_id: str, file_id: str, tenant: str = T) -> StoreFile:
    """Return a file in a store, which must exist."""
    found = await store.read(vector_stores.file, tenant, store_id, file_id)
    if found is None:
        raise AssertionError("a file in a store is unknown")
    return found


async def chunks(store: Store, store_id: str, tenant: str = T) -> int:
    """Return how many chunks a search would cover."""
    found = await store.read(stored_chunks.searched_store, tenant, store_id)
    return found.chunks if found else 0


async def _is_stored(store: Store) -> None:
    """A vector store is returned as it was stored and changed, until it is deleted, to its own
    tenant.
    """
    store_id = await new_store(store, days=2)
    found = await store.read(vector_stores.find, T, store_id)
    if found is None:
        raise AssertionError("it is unknown")
    hold(
        (found.name, found.description, found.metadata) == ("n\0", None, b"{}"),
        f"it is returned as {found}",
    )
    hold(found.expires_at == found.last_active_at + 2 * 86_400, f"it expires at {found.expires_at}")
    changed = await store.write(
        vector_stores.update, T, store_id, {"name": None, "metadata": b'{"a":"b"}', "days": None}
    )
    hold(
        changed == replace(found, name=None, metadata=b'{"a":"b"}', days=None, expires_at=None),
        f"it is {changed}",
    )
    hold(await store.read(vector_stores.find, T, store_id) == changed, "the change is lost")
    hold(await store.read(vector_stores.find, OTHER, store_id) is None, "another tenant sees it")
    hold(
        await store.write(vector_stores.update, OTHER, store_id, {"name": "x"}) is None,
        "another tenant changes it",
    )
    hold(not await store.write(vector_stores.delete, OTHER, store_id), "another tenant deletes it")
    hold(await store.write(vector_stores.delete, T, store_id), "it is not deleted")
    hold(await store.read(vector_stores.find, T, store_id) is None, "it still exists")


async def _is_paged(store: Store) -> None:
    """Vector stores are listed in both directions, directly after or before any of them."""
    tenant = new_id("tenant")
    ids = [await new_store(store, tenant) for _ in range(5)]
    for query, numbers, has_more in (
        (StorePageQuery(10), [4, 3, 2, 1, 0], False),
        (StorePageQuery(2, ids[3]), [2, 1], True),
        (StorePageQuery(2, before=ids[1]), [3, 2], True),
        (StorePageQuery(2, before=ids[3]), [4], False),
        (StorePageQuery(2, descending=False), [0, 1], True),
        (StorePageQuery(2, before=ids[3], descending=False), [1, 2], True),
        (StorePageQuery(5, ids[0], ids[3], descending=False), [1, 2], False),
    ):
        page = await store.read(vector_stores.page, tenant, query)
        found = [ids.index(one.id) for one in page.data]
        hold(
            (found, page.has_more) == (numbers, has_more),
            f"{query} returns {found}, more: {page.has_more}",
        )
    unknown = [
        await store.read(vector_stores.page, OTHER, query) for query in (StorePageQuery(1, ids[0]),)
    ]
    hold(unknown[0].unknown == "after", "another tenant can list what follows it")
    mixed = [*ids, await new_store(store, OTHER)]
    behind = await store.read(vector_stores.page, None, StorePageQuery(2, mixed[-1]))
    hold(
        [one.id for one in behind.data] == [ids[4], ids[3]],
        "a page of the list of all tenants is wrong",
    )
    everything = [
        one.id for one in (await store.read(vector_stores.page, None, StorePageQuery(10_000))).data
    ]
    hold(
        [one for one in everything if one in mixed] == mixed[::-1],
        "the list of all tenants lacks some",
    )
    hold(
        (await store.read(vector_stores.page, None, StorePageQuery(1, new_id("vs")))).unknown
        == "after",
        "an unknown id",
    )


async def _attaching_is_whole(store: Store) -> None:
    """Files are attached all or none: none if one of them, or the store, is unknown to the
    tenant.
    """
    store_id = await new_store(store)
    (file,) = await stored_files(store)
    (foreign,) = await stored_files(store, OTHER)
    for bad in ("file-none", foreign):
        outcome = await store.write(
            vector_stores.attach,
            T,
            store_id,
            [NewAttachment(file), NewAttachment(bad)],
            new_id("vsfb"),
        )
        hold(
            outcome == Attached(AttachResult.UNKNOWN_FILE, bad),
            f"attaching {bad} returns {outcome}",
        )
    hold(
        not (await store.read(vector_stores.files, T, store_id, ALL)).data,
        "one of them is attached",
    )
    outcome = await store.write(vector_stores.attach, OTHER, store_id, [NewAttachment(foreign)])
    hold(
        outcome.result is AttachResult.UNKNOWN_STORE,
        f"another tenant's store accepts a file: {outcome}",
    )


async def _counts_are_exact(store: Store) -> None:
    """The counts and bytes of a store, and the tenant's stored bytes, follow its files exactly."""
    tenant = new_id("tenant")
    files = await stored_files(store, tenant, 3)
    before = await store.read(sizes.stored_bytes, tenant)
    store_id = await new_store(store, tenant, files)
    one = await _claim_of(store, store_id)
    hold(await ingested(store, one, "12345"), "an ingestion does not end")
    two = await _claim_of(store, store_id)
    hold(
        await store.write(ingestions.fail, two, "invalid_file", "broken"),
        "an ingestion does not fail",
    )
    found = await store.read(vector_stores.find, tenant, store_id)
    counts = found.counts if found else None
    hold(
        str(counts)
        == "StoreFileCounts(in_progress=1, completed=1, failed=1, cancelled=0, total=3)",
        f"it has {counts}",
    )
    hold(
        found is not None and (found.usage_bytes, found.chunks) == (5, 1),
        f"its bytes and chunks are {found}",
    )
    stored = await store.read(sizes.stored_bytes, tenant) - before
    hold(stored == 5 + 3 * len(b"{}"), f"the tenant has {stored} bytes more")
    await store.write(vector_stores.delete, tenant, store_id)
    hold(
        await store.read(sizes.stored_bytes, tenant) == before,
        "bytes of a deleted store still count",
    )


async def _claim_of(store: Store, store_id: str) -> Ingestion:
    """Claim the next file of this store; other stores have files that no test ended."""
    while True:
        found = await claimed(store, "worker")
        if found.file.store_id == store_id:
            return found


async def _attached_again(store: Store) -> None:
    """A file that is attached again keeps its row, and is ingested again only if that changes
    anything.
    """
    (file,) = await stored_files(store)
    store_id = await new_store(store, files=[file])
    await ingested(store, await _claim_of(store, store_id))
    await store.write(vector_stores.attach, T, store_id, [NewAttachment(file, b'{"a":1}')])
    found = await entry(store, store_id, file)
    hold((found.status, found.attributes) == ("completed", b'{"a":1}'), f"it is {found}")
    hold(
        await store.write(vector_stores.set_attributes, T, store_id, file, b"{}")
        == replace(found, attributes=b"{}"),
        "it is changed",
    )
    hold(
        await store.write(vector_stores.set_attributes, OTHER, store_id, file, b"[]") is None,
        "another tenant changes its attributes",
    )
    await store.write(vector_stores.attach, T, store_id, [NewAttachment(file, b"{}", 100, 0)])
    found = await entry(store, store_id, file)
    hold(
        (found.status, found.chunk_tokens) == ("in_progress", 100),
        f"with other chunk sizes it is {found}",
    )
    hold(await chunks(store, store_id) == 1, "its old chunks are not found meanwhile")
    await store.write(ingestions.fail, await _claim_of(store, store_id), "invalid_file", "broken")
    hold(await chunks(store, store_id) == 1, "its old chunks are missing after a failure")
    await store.write(vector_stores.attach, T, store_id, [NewAttachment(file, b"{}", 100, 0)])
    hold(
        (await entry(store, store_id, file)).status == "in_progress", "a failed one is not retried"
    )
    await store.write(vector_stores.delete, T, store_id)


async def _work_is_fenced(store: Store) -> None:
    """Only the owner of a file's newest version writes chunks: a later claim, cancellation or
    deletion ends it.
    """
    files = await stored_files(store, count=4)
    store_id = await new_store(store)
    await store.write(
        vector_stores.attach,
        T,
        store_id,
        [NewAttachment(file) for file in files],
        batch := new_id("vsfb"),
    )
    old = [await _claim_of(store, store_id) for _ in files]
    hold([one.file.file_id for one in old] == files, "they are not claimed in order")
    await store.write(ingestions.release, "worker", old[0].seq)
    new = await _claim_of(store, store_id)
    hold(new.file.version > old[0].file.version, "a later claim has no newer version")
    await store.write(vector_stores.detach, T, store_id, files[1])
    await store.write(file_rows.delete, T, files[2])
    late = [await write_chunks(store, one, [ChunkRow(0, "late", 1)]) for one in old[:3]]
    late += [await store.write(ingestions.complete, one, 1, MOST) for one in old[:3]]
    hold(not any(late), f"late writes are accepted: {late}")
    hold(await ingested(store, new), "the newest version cannot write")
    cancelled = await store.write(vector_stores.cancel_batch, T, store_id, batch)
    counts = cancelled.counts if cancelled else None
    hold(
        str(counts)
        == "StoreFileCounts(in_progress=0, completed=1, failed=0, cancelled=3, total=4)",
        f"it has {counts}",
    )
    hold(
        await store.read(vector_stores.batch, T, store_id, batch) == cancelled,
        "the batch is not returned as it is",
    )
    hold(
        await store.read(vector_stores.batch, OTHER, store_id, batch) is None,
        "another tenant sees the batch",
    )
    hold(not await ingested(store, old[3]), "a cancelled file is ingested")
    hold(await chunks(store, store_id) == 1, "chunks of late writes are found")
    await store.write(vector_stores.delete, T, store_id)


async def _dead_workers_lose_files(store: Store) -> None:
    """A file of an expired worker is claimed by another, which sees how many times that
    happened.
    """
    (file,) = await stored_files(store)
    store_id = await new_store(store, files=[file])
    dead = new_id("worker")
    alive = new_id("worker")
    while (one := await claimed(store, dead)).file.store_id != store_id:
        pass
    await write_chunks(store, one, [ChunkRow(0, "half", 1)])
    hold(one.seq in await store.read(ingestions.owned, dead), "the files of a worker are not known")
    hold(dead in await store.read(leases.beats), "a worker that has a file is not watched")
    hold(await store.write(leases.expire_worker, dead, 0), "a silent worker does not expire")
    hold(await store.read(ingestions.is_waiting), "a file of an expired worker does not wait")
    while (two := await claimed(store, alive)).file.store_id != store_id:
        pass
    hold((two.crashes, two.file.version > one.file.version) == (1, True), f"it is claimed as {two}")
    hold(not await ingested(store, one), "a dead worker's writes are accepted")
    hold(await ingested(store, two, "whole"), "the other worker's writes are not accepted")
    hold(await chunks(store, store_id) == 1, "chunks of the dead worker are found")
    for worker in (dead, alive):
        await store.write(leases.expire_worker, worker, None)
    await store.write(vector_stores.delete, T, store_id)


async def _is_fair(store: Store) -> None:
    """The tenant with the fewest files in progress is next, and `per_tenant` limits what one worker
    has of a tenant.
    """
    crowd = new_id("tenant")
    late = new_id("tenant")
    worker = new_id("worker")
    many = await new_store(store, crowd, await stored_files(store, crowd, 5))
    await _drain(store, {many})
    few = await new_store(store, late, await stored_files(store, late, 1))
    order = [(await claimed(store, worker)).file.store_id for _ in range(3)]
    hold(order == [many, few, many], f"of {many} and {few}, the order is {order}")
    hold(
        await store.write(ingestions.claim, worker, 2) is None,
        "a tenant has more than `per_tenant` at one worker",
    )
    await store.write(leases.expire_worker, worker, None)
    for tenant, one in ((crowd, many), (late, few)):
        await store.write(vector_stores.delete, tenant, one)


async def _skips_paused_models(store: Store) -> None:
    """A file of a paused embedding model is claimed once the model is not paused; others of its
    tenant are claimed.
    """
    worker = new_id("worker")
    model = new_id("model")
    waits, plain, other = await stored_files(store, count=3)
    stores = {
        file: StoredVectorStore(new_id("vs"), T, int(time.time()), embedding_model=name)
        for file, name in ((waits, model), (plain, ""), (other, f"{model}-large"))
    }
    for file, one in stores.items():
        await store.write(vector_stores.create, one, [NewAttachment(file)])
    await _drain(store, {one.id for one in stores.values()})
    found = [
        await store.write(ingestions.claim, worker, 100, [new_id("model"), model]) for _ in range(3)
    ]
    hold(
        [one and one.file.file_id for one in found] == [plain, other, None],
        f"with a paused model, {found}",
    )
    hold(await store.read(ingestions.is_waiting), "a file of a paused model does not wait")
    hold(
        (await claimed(store, worker)).file.file_id == waits,
        "a file waits for a model that is not paused",
    )
    await store.write(leases.expire_worker, worker, None)
    for one in stores.values():
        await store.write(vector_stores.delete, T, one.id)


async def _drain(store: Store, but: set[str]) -> None:
    """End all waiting work, except files of these stores."""
    stored = []
    while (one := await store.write(ingestions.claim, "worker", 1000)) is not None:
        if one.file.store_id in but:
            stored.append(one)
        else:
            await store.write(ingestions.fail, one, "server_error", "")
    for one in stored:
        await store.write(ingestions.release, "worker", one.seq)


async def _too_many_chunks_fail(store: Store) -> None:
    """A file that would exceed the chunk limit of its store fails, and none of its chunks is
    found.
    """
    files = await stored_files(store, count=2)
    store_id = await new_store(store, files=files)
    hold(await ingested(store, await _claim_of(store, store_id)), "the first is not ingested")
    late = await _claim_of(store, store_id)
    await write_chunks(store, late, [ChunkRow(0, "more", 1)])
    hold(await store.write(ingestions.complete, late, 1, 1), "the second does not end")
    found = await entry(store, store_id, late.file.file_id)
    hold((found.status, found.error_code) == ("failed", "invalid_file"), f"it is {found}")
    hold(await chunks(store, store_id) == 1, "its chunks are found")
    await store.write(vector_stores.delete, T, store_id)


async def _expires(store: Store) -> None:
    """An expired store remains readable as expired, accepts no files, and `purge` drops its files
    and chunks.
    """
    (file,) = await stored_files(store)
    old = StoredVectorStore(new_id("vs"), T, int(time.time()) - 3 * 86_400, days=2)
    await store.write(vector_stores.create, old, [NewAttachment(file)])
    await ingested(store, await _claim_of(store, old.id))
    outcome = await store.write(vector_stores.attach, T, old.id, [NewAttachment(file)])
    hold(outcome.result is AttachResult.EXPIRED, f"an expired store accepts files: {outcome}")
    hold((await purge(store, dry_run=True))["vector_stores"] >= 1, "it is not counted")
    hold((await purge(store))["vector_stores"] >= 1, "it is not emptied")
    found = await store.read(vector_stores.find, T, old.id)
    hold(found is not None and found.is_expired and found.counts.total == 0, f"it is {found}")
    hold(await chunks(store, old.id) == 0, "its chunks are found")
    await store.write(vector_stores.delete, T, old.id)


async def _use_moves_the_expiry(store: Store) -> None:
    """Using a store extends its expiry, at most once a minute."""
    store_id = StoredVectorStore(new_id("vs"), T, int(time.time()) - 86_400, days=2)
    await store.write(vector_stores.create, store_id)
    await store.write(vector_stores.use, T, [store_id.id, "vs_none"])
    found = await store.read(vector_stores.find, T, store_id.id)
    hold(found is not None and found.last_active_at > store_id.created_at, f"it is {found}")
    await store.write(vector_stores.use, OTHER, [store_id.id])
    hold(
        await store.read(vector_stores.find, T, store_id.id) == found,
        "another tenant's use extends it",
    )
    await store.write(vector_stores.delete, T, store_id.id)


async def _reindexed(store: Store) -> None:
    """Reindexing ingests all files again, with another model, and the old chunks are found
    meanwhile.
    """
    files = await stored_files(store, count=2)
    store_id = await new_store(store, files=files)
    for _ in files:
        await ingested(store, await _claim_of(store, store_id))
    hold(
        await store.write(vector_stores.reindex, OTHER, store_id, "m") is None,
        "another tenant can start it",
    )
    hold(
        await store.write(vector_stores.reindex, T, store_id, "m") == 2,
        "not all are ingested again",
    )
    hold(await chunks(store, store_id) == 2, "the old chunks are not found")
    again = await _claim_of(store, store_id)
    hold(again.embedding_model == "m", f"it is ingested by {again.embedding_model!r}")
    hold(await ingested(store, again), "it cannot be ingested again")
    hold(await chunks(store, store_id) == 2, "old and new chunks are found")
    await store.write(vector_stores.delete, T, store_id)
