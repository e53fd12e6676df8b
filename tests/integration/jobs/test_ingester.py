"""Ingestion of files: its bounds, what fails it, who works on what, and that nothing is lost."""

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from typing import Any

import pytest

from antiphon.documents.reader import Document, DocumentError, DocumentReader
from antiphon.errors import BackendError, StoreError
from antiphon.gateway.parts import Parts
from antiphon.ids import new_id
from antiphon.jobs import ingester as ingesters
from antiphon.jobs import ingestion
from antiphon.jobs.ingester import Ingester
from antiphon.jobs.parts import IngestionParts
from antiphon.search.fitting import EmbeddedPart
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.changes import INGESTIONS
from antiphon.storage.chunk_writer import sweep_chunks
from antiphon.storage.operations import chunks, ingestions, vector_stores
from antiphon.storage.operations import files as stored_files
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.vector_stores import (
    Ingestion,
    NewAttachment,
    StoredVectorStore,
    StoreFile,
)
from antiphon.telemetry.context import About, about, begin
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.permitted import is_permitted, permit
from tests.store.files import AMPLE, new_file
from tests.support.changed_stores import ChangedStore, replace_operation
from tests.support.parts import scripted_parts
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually, until

TEXT = "A line that says nothing but this.\n" * 40


async def attached(server: RunningServer, content: str = TEXT, model: str = "") -> tuple[str, str]:
    """Attach a file to a new store; return the ids of both."""
    file = (
        await server.sdk.files.create(file=("a.txt", content.encode()), purpose="assistants")
    ).id
    store = StoredVectorStore(new_id("vs"), "", int(server.parts.run.now()), embedding_model=model)
    await server.parts.store.write(
        vector_stores.create, store, [NewAttachment(file, b"{}", 100, 0)]
    )
    return store.id, file


async def ended(server: RunningServer, store: str, file: str) -> StoreFile:
    found = await eventually(
        lambda: server.parts.store.read(vector_stores.file, "", store, file),
        lambda one: one and one.status != "in_progress",
    )
    assert found is not None
    return found


@pytest.mark.wide("postgres")
@pytest.mark.parametrize(
    ("bound", "value", "code", "words"),
    [
        ("MOST_TOKENS", 10, "invalid_file", "at most 10 are allowed"),
        ("MOST_CHUNKS", 2, "invalid_file", "more than 2 chunks"),
        ("SECONDS", 0.0, "server_error", "longer than 0 seconds"),
        ("MOST_CRASHES", 0, "server_error", "stopped 0 times"),
    ],
)
async def test_a_file_beyond_a_limit_fails_with_a_message(
    stateful: RunningServer,
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
    value: float,
    code: str,
    words: str,
) -> None:
    monkeypatch.setattr(ingestion, bound, value)
    store, file = await attached(stateful)
    found = await ended(stateful, store, file)
    assert (found.status, found.error_code) == ("failed", code)
    assert words in str(found.error_message)
    assert await stateful.parts.store.read(chunks.searched_store, "", store) in (
        None,
        await searched_nothing(stateful, store),
    )


async def searched_nothing(server: RunningServer, store: str) -> Any:
    found = await server.parts.store.read(chunks.searched_store, "", store)
    assert found is None or found.chunks == 0
    return found


@pytest.mark.wide("postgres")
async def test_a_tenant_without_room_has_its_file_fail(stateful: RunningServer) -> None:
    store, file = await attached(stateful)
    await ended(stateful, store, file)
    stateful.parts.run.history.bounds.stored_bytes = 1
    await stateful.parts.store.write(vector_stores.reindex, "", store, "")
    found = await ended(stateful, store, file)
    assert (found.status, found.error_code) == ("failed", "invalid_file")
    assert "storage quota" in str(found.error_message)


class Embeddings:
    """Embeds every text alike, or fails."""

    def __init__(self, model: str) -> None:
        self.model = model

    async def embed_parts(
        self, texts: Sequence[str], tenant: str
    ) -> Sequence[Sequence[EmbeddedPart]]:
        if self.model == "broken":
            raise BackendError("The backend has no such model.")
        return [[EmbeddedPart(text, b"\0\x3c" + b"\0" * 62)] for text in texts]

    async def embed(self, texts: Sequence[str], tenant: str) -> Sequence[bytes]:
        return [parts[0].vector for parts in await self.embed_parts(texts, tenant)]


async def test_a_store_with_a_model_has_vectors_and_a_failure_of_it_fails_the_file(
    stateful: RunningServer,
) -> None:
    stateful.parts.ingestion.embeddings = Embeddings
    store, file = await attached(stateful, model="m")
    done = await ended(stateful, store, file)
    assert (done.status, done.usage_bytes) == ("completed", len(TEXT) + 64 * done.chunks)
    store, file = await attached(stateful, model="broken")
    failed = await ended(stateful, store, file)
    assert (failed.status, failed.error_code, failed.error_message) == (
        "failed",
        "server_error",
        "The backend has no such model.",
    )


@pytest.mark.wide("postgres")
async def test_a_file_is_embedded_no_further_once_it_has_too_many_chunks(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "AT_ONCE", 1)
    monkeypatch.setattr(ingestion, "MOST_CHUNKS", 2)
    embedded = list[str]()

    class Notes(Embeddings):
        async def embed_parts(
            self, texts: Sequence[str], tenant: str
        ) -> Sequence[Sequence[EmbeddedPart]]:
            embedded.extend(texts)
            return await super().embed_parts(texts, tenant)

    stateful.parts.ingestion.embeddings = Notes
    store, file = await attached(stateful, model="m")
    found = await ended(stateful, store, file)
    assert (found.status, found.error_code) == ("failed", "invalid_file")
    assert len(embedded) == 3


@pytest.mark.wide("postgres")
async def test_a_new_version_that_fails_in_the_middle_leaves_no_chunks_and_the_old_one_stays(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "AT_ONCE", 2)
    store, file = await attached(stateful)
    old = await ended(stateful, store, file)
    parts = list[Sequence[str]]()

    class Breaks(Embeddings):
        async def embed_parts(
            self, texts: Sequence[str], tenant: str
        ) -> Sequence[Sequence[EmbeddedPart]]:
            parts.append(texts)
            if len(parts) > 1:
                raise BackendError("The backend has no such model.")
            return await super().embed_parts(texts, tenant)

    stateful.parts.ingestion.embeddings = Breaks
    await stateful.parts.store.write(vector_stores.reindex, "", store, "m")
    failed = await ended(stateful, store, file)
    assert (failed.status, failed.chunks, old.chunks > 2) == ("failed", old.chunks, True)
    assert await sweep_chunks(stateful.parts.store) == 2
    stored = await stateful.parts.store.read(chunks.searched_store, "", store)
    assert stored is not None
    assert stored.chunks == old.chunks


@pytest.mark.wide("postgres")
async def test_a_file_that_the_worker_owns_and_does_not_know_of_waits_again(
    stateful: RunningServer,
) -> None:
    other = await attached(stateful)  # it is loaded and looks every second from now on
    await ended(stateful, *other)
    application = stateful.application
    await application.ingester.close()
    store, file = await attached(stateful)
    assert (
        await stateful.parts.store.write(ingestions.claim, stateful.parts.process.worker, 10)
        is not None
    )
    application.ingester.start()
    stateful.parts.process.wakes.wake("")
    assert (await ended(stateful, store, file)).status == "completed"


@pytest.mark.wide("postgres")
async def test_a_file_that_expires_before_it_is_read_fails(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, file = await attached(stateful)
    await ended(stateful, store, file)
    found = asyncio.Event()

    async def find(tenant: str, file_id: str) -> None:
        found.set()

    with monkeypatch.context() as expired:
        expired.setattr(stateful.parts.objects.files.get(), "find", find)
        await stateful.parts.store.write(vector_stores.reindex, "", store, "")
        failed = await ended(stateful, store, file)
    assert (failed.status, failed.error_code, found.is_set()) == ("failed", "invalid_file", True)
    assert (await stateful.sdk.vector_stores.search(store, query="nothing")).data, (
        "its old content is lost"
    )


@pytest.mark.wide("postgres")
async def test_a_file_waits_again_where_the_readers_are_busy(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "BUSY", 0.0)
    read = DocumentReader.read
    requested = []

    async def busy(*value: Any) -> Any:
        requested.append(value)
        if len(requested) < 3:
            raise DocumentError("invalid_file", "Too many files are being read.", "busy")
        return await read(*value)

    monkeypatch.setattr(DocumentReader, "read", busy)
    store, file = await attached(stateful)
    assert (await ended(stateful, store, file)).status == "completed"
    assert len(requested) == 3


async def test_a_server_that_ends_gives_back_what_it_reads(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = asyncio.Event()

    async def slow(*value: Any) -> Any:
        reading.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(DocumentReader, "read", slow)
    store, file = await attached(stateful)
    await asyncio.wait_for(reading.wait(), 30)
    application = stateful.application
    await application.ingester.close()
    assert await stateful.parts.store.read(ingestions.owned, stateful.parts.process.worker) == {}
    claimed = await stateful.parts.store.write(ingestions.claim, "other", 10)
    assert claimed is not None
    assert (claimed.file.store_id, claimed.file.file_id, claimed.crashes) == (store, file, 0)


async def test_a_tenant_with_one_file_does_not_wait_for_the_crowd_of_another(
    stateful: RunningServer,
) -> None:
    application = stateful.application
    await application.ingester.close()
    keeper = stateful.parts.store
    order = []
    for tenant, count in (("crowd", 20), ("late", 1)):
        files = [new_file(tenant, f"{i}".encode()) for i in range(count)]
        for file in files:
            await keeper.write(stored_files.begin, tenant, file.blob, 600)
            await keeper.write(stored_files.put, file, AMPLE)
        store = StoredVectorStore(new_id("vs"), tenant, int(stateful.parts.run.now()))
        await keeper.write(vector_stores.create, store, [NewAttachment(file.id) for file in files])
    while (one := await keeper.write(ingestions.claim, "w", 4)) is not None:
        order.append(one.file.tenant)
    assert order[:2] == ["crowd", "late"]
    assert order.count("crowd") == 4


@pytest.mark.parametrize(("times", "status"), [(2, "completed"), (1000, "failed")])
async def test_content_that_stays_unavailable_fails_the_file_after_some_attempts(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch, times: int, status: str
) -> None:
    monkeypatch.setattr(ingestion, "PAUSES", (0.0, 0.0, 0.0))
    files = stateful.parts.objects.files.get()
    attempts = list[StoredFile]()
    read = files.read

    def unavailable(file: StoredFile) -> Any:
        attempts.append(file)
        if len(attempts) <= times:
            raise StoreError("The bucket of file_storage failed: GenericError.")
        return read(file)

    monkeypatch.setattr(files, "read", unavailable)
    store, file = await attached(stateful)
    found = await ended(stateful, store, file)
    assert found.status == status
    if status == "failed":
        assert (found.error_code, str(found.error_message)[:10]) == ("server_error", "The bucket")


@pytest.mark.wide("postgres")
async def test_the_text_of_a_file_in_two_stores_is_read_once(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, file = await attached(stateful)
    await ended(stateful, store, file)
    monkeypatch.setattr(DocumentReader, "read", None)  # another file could not be read now
    second = StoredVectorStore(new_id("vs"), "", int(stateful.parts.run.now()))
    await stateful.parts.store.write(vector_stores.create, second, [NewAttachment(file)])
    assert (await ended(stateful, second.id, file)).status == "completed"
    page = await stateful.sdk.vector_stores.files.content(file, vector_store_id=store)
    assert "".join(part.text or "" for part in page.data) == TEXT


async def test_work_that_ends_after_a_newer_version_of_its_file_frees_its_place(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = DocumentReader.read
    first = asyncio.Event()
    may_end = asyncio.Event()

    async def stubborn(*value: Any) -> Any:
        if not first.is_set():
            first.set()
            try:
                await asyncio.Event().wait()
            finally:  # as a child process that takes long to end
                await may_end.wait()
        return await read(*value)

    monkeypatch.setattr(DocumentReader, "read", stubborn)
    store, file = await attached(stateful)
    await asyncio.wait_for(first.wait(), 30)
    await stateful.parts.store.write(vector_stores.reindex, "", store, "")
    assert (await ended(stateful, store, file)).status == "completed"
    shared = stateful.parts.shared
    await until(lambda: shared.usage()["ingestion"].in_use == 1)  # the newer version has ended
    may_end.set()
    await until(
        lambda: not shared.usage()["ingestion"].in_use and not stateful.parts.process.leases
    )


async def test_a_tenant_alone_has_several_files_read_at_once(
    backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(HttpBackend("r", backend.url, "")) as server:
        read = DocumentReader.read
        may_end = asyncio.Event()
        reading = list[Any]()

        async def slow(*value: Any) -> Any:
            reading.append(value)
            await may_end.wait()
            return await read(*value)

        monkeypatch.setattr(DocumentReader, "read", slow)
        files = [await attached(server, f"{TEXT}{number}") for number in range(2)]
        await until(lambda: len(reading) == 2)
        may_end.set()
        assert [(await ended(server, *one)).status for one in files] == ["completed"] * 2


async def test_a_file_larger_than_the_memory_for_requests_is_ingested(
    backend: ReplayBackend,
) -> None:
    """Its content passes in parts; it waits for all that its tenant may hold, and no longer."""
    async with serve(HttpBackend("r", backend.url, ""), memory=8 * 1024 * 1024) as server:
        left: list[int] = []

        async def note(*value: Any) -> bool:
            left.append(server.parts.run.history.memory.left)
            return bool(await complete(*value))

        complete = replace_operation(server.parts.store, ingestions.complete, note)
        store, file = await attached(server, TEXT * 200)
        assert (await ended(server, store, file)).status == "completed"
        assert left == [server.parts.run.history.memory.size]


@pytest.mark.wide("postgres")
async def test_the_same_content_in_many_stores_is_read_once(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is kept by the digest of the content, unless the name of another file says that it
    is something else.
    """
    names = []
    real = DocumentReader.read

    async def read(
        self: DocumentReader, content: Any, filename: str, tenant: str = "", *limits: Any
    ) -> Document:
        names.append(filename)
        return await real(self, content, filename, tenant, *limits)

    monkeypatch.setattr(DocumentReader, "read", read)
    for _ in range(3):
        store, file = await attached(stateful)
        assert (await ended(stateful, store, file)).status == "completed"
        assert (await stateful.get(f"/vector_stores/{store}/files/{file}/content"))[0] == 200
    assert names == ["a.txt"]
    other = await stateful.sdk.files.create(file=("a.csv", TEXT.encode()), purpose="assistants")
    await stateful.sdk.vector_stores.files.create_and_poll(other.id, vector_store_id=store)
    assert names == ["a.txt", "a.csv"]


class Watched(ChangedStore):
    """Counts claims; with `forgets`, it does not tell a worker which files it owns, and none is
    known as a stray.
    """

    claims = 0
    forgets = False

    async def claim_ingestion(
        self, worker: str, per_tenant: int, paused: Sequence[str] = ()
    ) -> Ingestion | None:
        claimed: Ingestion | None = await self.original.claim_ingestion(worker, per_tenant, paused)
        self.claims += 1
        return claimed

    async def owned_ingestions(self, worker: str) -> Mapping[int, int]:
        if self.forgets:
            raise StoreError("The store is unreachable.")
        owned: Mapping[int, int] = await self.original.owned_ingestions(worker)
        return owned


async def waiting() -> tuple[Parts, Watched, NewAttachment]:
    """Parts without a server, and a file that waits in its store."""
    store = Watched.open("sqlite://")
    assert isinstance(store, Watched)
    created, _ = scripted_parts(store=store)
    file = new_file("", TEXT.encode())
    await store.write(stored_files.begin, "", file.blob, 600)
    await store.write(stored_files.put, file, AMPLE)
    new = NewAttachment(file.id, b"{}", 100, 0)
    await store.write(vector_stores.create, StoredVectorStore("vs_1", "", 1), [new])
    return created, store, new


async def claimed_by_another(store: Watched) -> Ingestion:
    claimed = await eventually(lambda: store.write(ingestions.claim, "other", 10))
    assert claimed is not None
    return claimed


async def test_a_process_that_reads_the_file_sends_a_heartbeat_and_needs_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it holds makes its worker send heartbeats; without them another would read the file
    too.
    """
    created, _, _ = await waiting()
    may_end = asyncio.Event()
    retained = list[int]()

    async def slow(parts: IngestionParts, ingestion: Ingestion) -> None:
        retained.append(len(parts.process.leases))
        await may_end.wait()

    monkeypatch.setattr(ingestion, "ingest", slow)
    ingester = Ingester(created.ingestion)
    ingester.start()
    await until(lambda: retained)
    assert retained == [1]
    may_end.set()
    await until(lambda: not created.process.leases)
    await ingester.close()


async def test_a_file_is_ingested_outside_of_the_request_in_which_the_work_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the models of that request's key nor its id apply."""
    created, _, _ = await waiting()
    found = list[tuple[bool, About]]()

    async def poll(parts: IngestionParts, ingestion: Ingestion) -> None:
        found.append((is_permitted("any"), about()))

    def start_within_a_request() -> None:
        begin(About("req_1", api_key_id="key_other"))
        permit(["other"])
        ingester.start()

    monkeypatch.setattr(ingestion, "ingest", poll)
    ingester = Ingester(created.ingestion)
    copy_context().run(start_within_a_request)
    await until(lambda: found)
    assert found == [(True, About())]
    await ingester.close()


async def test_a_file_for_which_a_process_has_no_place_waits_for_others() -> None:
    created, store, file = await waiting()
    slots = FairScheduler(10, leaves_room=True)
    assert all(
        slots.take("") for _ in range(8)
    )  # by files that it lost, and whose work has not ended yet
    ingester = Ingester(created.ingestion, slots)
    ingester.start()
    await until(lambda: store.claims)

    assert (await claimed_by_another(store)).file.file_id == file.file_id
    await ingester.close()


async def test_a_file_waits_again_after_the_store_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    created, store, file = await waiting()
    store.forgets = True
    monkeypatch.setattr(ingesters, "POLL_INTERVAL", 0.0)

    async def fails(parts: IngestionParts, ingestion: Ingestion) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(ingestion, "ingest", fails)
    ingester = Ingester(created.ingestion)
    ingester.start()
    await until(lambda: store.claims)

    assert (await claimed_by_another(store)).file.file_id == file.file_id
    await ingester.close()


async def test_work_on_an_older_version_of_a_file_is_stopped_by_the_newer_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the change came between the look at what it owns and the claim."""
    created, store, _ = await waiting()
    begun = list[int]()
    stopped = list[int]()

    async def slow(parts: IngestionParts, ingestion: Ingestion) -> None:
        begun.append(ingestion.file.version)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(ingestion.file.version)

    monkeypatch.setattr(ingestion, "ingest", slow)
    ingester = Ingester(created.ingestion)
    ingester.start()
    await until(lambda: begun)
    (owned,) = [dict(await store.read(ingestions.owned, created.process.worker))]

    async def as_before(worker: str) -> Mapping[int, int]:
        return owned

    replace_operation(store, ingestions.owned, as_before)
    await store.write(vector_stores.reindex, "", "vs_1", "")
    created.process.wakes.wake(INGESTIONS)
    await until(lambda: len(begun) == 2)
    await until(lambda: stopped)
    assert stopped[0] == begun[0]
    await ingester.close()


@pytest.mark.parametrize(
    "is_busy", [True, False], ids=["the readers are busy", "another has the file"]
)
async def test_a_file_that_cannot_be_ingested_now_is_left_as_it_is(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, is_busy: bool
) -> None:
    monkeypatch.setattr(ingestion, "AT_ONCE", 2)
    monkeypatch.setattr(ingestion, "BUSY", 0.0)
    await server.application.ingester.close()
    parts = server.parts
    written = list[Any]()
    store, file = await attached(server)
    claimed = await parts.store.write(ingestions.claim, parts.process.worker, 10)
    assert claimed is not None

    async def busy(*value: Any) -> Any:
        raise DocumentError("invalid_file", "Too many files are being read.", "busy")

    async def refuse(*value: Any) -> bool:
        written.append(value)
        return False

    if is_busy:
        monkeypatch.setattr(DocumentReader, "read", busy)
    else:
        replace_operation(parts.store, chunks.write, refuse)
    await ingestion.ingest(server.parts.ingestion, claimed)

    found = await parts.store.read(vector_stores.file, "", store, file)
    assert found is not None
    assert (found.status, len(written)) == ("in_progress", 0 if is_busy else 1)
    assert (await parts.store.write(ingestions.claim, "other", 10) is not None) is is_busy


async def test_a_store_that_fails_is_reported_and_fails_no_file(server: RunningServer) -> None:
    await server.application.ingester.close()
    store, file = await attached(server)
    claimed = await server.parts.store.write(ingestions.claim, server.parts.process.worker, 10)
    assert claimed is not None

    async def fail(*value: Any) -> bool:
        raise StoreError("The disk is full.")

    replace_operation(server.parts.store, chunks.write, fail)
    with pytest.raises(StoreError, match="full"):
        await ingestion.ingest(server.parts.ingestion, claimed)

    found = await server.parts.store.read(vector_stores.file, "", store, file)
    assert found is not None
    assert found.status == "in_progress"
