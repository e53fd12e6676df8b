"""Vector stores over HTTP and with the official SDK, on both stores."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest

from antiphon.documents.reader import DocumentReader
from antiphon.ids import new_id
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import StoredVectorStore
from tests.support.server import RunningServer
from tests.support.waiting import eventually

ROME = "Rome is the capital of Italy, a city of seven hills."
PARIS = "Paris is the capital of France. It is known for the Eiffel Tower."


async def store_file(server: RunningServer, content: str | bytes, filename: str = "a.txt") -> str:
    body = content.encode() if isinstance(content, str) else content
    return (await server.sdk.files.create(file=(filename, body), purpose="assistants")).id


async def created(server: RunningServer, **fields: Any) -> str:
    return (await server.sdk.vector_stores.create(name="notes", **fields)).id


async def test_the_sdk_makes_reads_changes_and_deletes_a_store(stateful: RunningServer) -> None:
    stores = stateful.sdk.vector_stores
    one = await stores.create(
        name="notes", metadata={"a": "b"}, expires_after={"anchor": "last_active_at", "days": 7}
    )
    assert one.id.startswith("vs_")
    assert (one.name, one.metadata, one.status, one.usage_bytes) == (
        "notes",
        {"a": "b"},
        "completed",
        0,
    )
    assert one.expires_at == one.created_at + 7 * 86_400
    assert one.file_counts.total == 0
    assert await stores.retrieve(one.id) == one
    changed = await stores.update(one.id, name=None, expires_after=None, metadata={"c": "d"})
    assert (changed.name, changed.metadata, changed.expires_at, changed.expires_after) == (
        None,
        {"c": "d"},
        None,
        None,
    )
    deleted = await stores.delete(one.id)
    assert (deleted.id, deleted.deleted, deleted.object) == (one.id, True, "vector_store.deleted")
    with pytest.raises(openai.NotFoundError, match=f"No vector store found with id '{one.id}'"):
        await stores.retrieve(one.id)


async def test_a_change_leaves_what_it_does_not_name(stateful: RunningServer) -> None:
    stores = stateful.sdk.vector_stores
    one = await stores.create(
        name="notes", metadata={"a": "b"}, expires_after={"anchor": "last_active_at", "days": 1}
    )
    changed = await stores.update(one.id, name="n\0tes")
    assert (changed.name, changed.metadata, changed.expires_at) == (
        "n\0tes",
        {"a": "b"},
        one.expires_at,
    )


async def test_stores_are_listed_in_pages_in_both_directions(stateful: RunningServer) -> None:
    stores = stateful.sdk.vector_stores
    ids = [(await stores.create(name=f"{i}")).id for i in range(5)]
    assert [one.id async for one in stores.list(limit=2)] == ids[::-1]
    assert [one.id async for one in stores.list(limit=2, order="asc")] == ids
    before = await stores.list(before=ids[1], limit=2)
    assert ([one.id for one in before.data], before.has_more) == ([ids[3], ids[2]], True)
    rest = await stores.list(before=ids[3], limit=2)
    assert ([one.id for one in rest.data], rest.has_more) == ([ids[4]], False)
    with pytest.raises(openai.BadRequestError, match="Invalid 'after'"):
        await stores.list(after="vs_none")


async def test_a_response_in_progress_has_its_poll_interval(stateful: RunningServer) -> None:
    store = await created(stateful)
    file = await store_file(stateful, PARIS)
    stores = stateful.sdk.vector_stores

    async def poll_after(batch_id: str) -> set[str | None]:
        one = await stores.files.with_raw_response.retrieve(file, vector_store_id=store)
        several = await stores.file_batches.with_raw_response.retrieve(
            batch_id, vector_store_id=store
        )
        return {reply.headers.get("openai-poll-after-ms") for reply in (one, several)}

    with blocked_reader() as reading:
        batch = await stores.file_batches.create(store, file_ids=[file])
        await asyncio.wait_for(reading.wait(), 30)
        assert await poll_after(batch.id) == {"250"}
    await finished(stateful, store)
    assert await poll_after(batch.id) == {None}


async def test_the_sdk_attaches_polls_changes_and_detaches_a_file(stateful: RunningServer) -> None:
    files = stateful.sdk.vector_stores.files
    store = await created(stateful)
    file = await store_file(stateful, PARIS)
    begun = await files.create(store, file_id=file)
    assert (begun.id, begun.status, begun.last_error, begun.usage_bytes) == (
        file,
        "in_progress",
        None,
        0,
    )
    done = await files.poll(file, vector_store_id=store, poll_interval_ms=20)
    assert (done.status, done.attributes, done.vector_store_id) == ("completed", {}, store)
    assert done.usage_bytes > 0
    whole = await stateful.sdk.vector_stores.retrieve(store)
    assert (whole.file_counts.completed, whole.file_counts.total, whole.usage_bytes) == (
        1,
        1,
        done.usage_bytes,
    )

    changed = await files.update(
        file, vector_store_id=store, attributes={"year": 2026, "draft": False, "by": "x"}
    )
    assert changed.attributes == {"year": 2026, "draft": False, "by": "x"}
    assert [part.text async for part in files.content(file, vector_store_id=store)] == [PARIS]
    deleted = await files.delete(file, vector_store_id=store)
    assert (deleted.id, deleted.deleted, deleted.object) == (
        file,
        True,
        "vector_store.file.deleted",
    )
    with pytest.raises(
        openai.NotFoundError, match=f"No file found with id '{file}' in vector store '{store}'"
    ):
        await files.retrieve(file, vector_store_id=store)
    assert (await stateful.sdk.vector_stores.retrieve(store)).usage_bytes == 0


@pytest.mark.wide
async def test_the_sdk_uploads_and_polls_files(stateful: RunningServer) -> None:
    stores = stateful.sdk.vector_stores
    store = await created(stateful)
    done = await stores.files.upload_and_poll(
        vector_store_id=store, file=("a.md", PARIS.encode()), poll_interval_ms=20
    )
    assert (done.status, done.last_error) == ("completed", None)
    batch = await stores.file_batches.upload_and_poll(
        store,
        files=[("b.md", b"# Two"), ("c.html", b"<p>Three</p>")],
        file_ids=[done.id],
        poll_interval_ms=20,
    )
    assert (batch.status, batch.file_counts.completed, batch.file_counts.total) == (
        "completed",
        3,
        3,
    )
    assert (await stores.retrieve(store)).file_counts.total == 3


@pytest.mark.wide
async def test_a_store_is_created_with_its_first_files(stateful: RunningServer) -> None:
    ids = [await store_file(stateful, f"{PARIS} {i}") for i in range(3)]
    store = await created(stateful, file_ids=[*ids, ids[0]])
    await finished(stateful, store)
    listed = [
        one.id async for one in stateful.sdk.vector_stores.files.list(store, limit=2, order="asc")
    ]
    assert listed == ids


@pytest.mark.wide
async def test_files_are_listed_by_their_status(stateful: RunningServer) -> None:
    good = await store_file(stateful, PARIS)
    bad = await store_file(stateful, b"\xff\xfe\xff", "a.txt")
    store = await created(stateful, file_ids=[good, bad])
    await finished(stateful, store)
    files = stateful.sdk.vector_stores.files
    assert [one.id async for one in files.list(store, filter="completed")] == [good]
    (failed,) = [one async for one in files.list(store, filter="failed")]
    assert failed.id == bad
    assert failed.last_error is not None
    assert failed.last_error.code in ("invalid_file", "unsupported_file")
    assert failed.last_error.message


async def finished(server: RunningServer, store: str) -> Any:
    """Return a store once none of its files is in progress."""
    stores = server.sdk.vector_stores
    return await eventually(
        lambda: stores.retrieve(store), lambda found: not found.file_counts.in_progress
    )


@pytest.mark.wide
async def test_the_sdk_attaches_a_batch_and_polls_it(stateful: RunningServer) -> None:
    batches = stateful.sdk.vector_stores.file_batches
    store = await created(stateful)
    ids = [await store_file(stateful, f"{PARIS} {i}") for i in range(4)]
    done = await batches.create_and_poll(
        store, file_ids=ids, attributes={"a": 1}, poll_interval_ms=20
    )
    assert (done.status, done.file_counts.completed, done.file_counts.total) == ("completed", 4, 4)
    assert done.id.startswith("vsfb_")
    assert done.object == "vector_store.files_batch"
    listed = [
        one
        async for one in batches.list_files(done.id, vector_store_id=store, order="asc", limit=3)
    ]
    assert [one.id for one in listed] == ids
    assert all(one.attributes == {"a": 1} for one in listed)
    unchanged = await batches.cancel(done.id, vector_store_id=store)
    assert unchanged.status == "completed"


async def test_files_of_a_batch_have_attributes_and_sizes_of_their_own(
    stateful: RunningServer,
) -> None:
    batches = stateful.sdk.vector_stores.file_batches
    store = await created(stateful)
    ids = [await store_file(stateful, f"{PARIS} {i}") for i in range(2)]
    static: Any = {
        "type": "static",
        "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 0},
    }
    created_of: Any = [
        {"file_id": ids[0], "attributes": {"n": 1}, "chunking_strategy": static},
        {"file_id": ids[1], "chunking_strategy": {"type": "auto"}},
    ]
    done = await batches.create_and_poll(store, files=created_of, poll_interval_ms=20)
    first, second = [
        one async for one in batches.list_files(done.id, vector_store_id=store, order="asc")
    ]
    assert first.attributes == {"n": 1}
    assert first.chunking_strategy is not None
    assert first.chunking_strategy.model_dump() == static
    assert second.chunking_strategy is not None
    assert second.chunking_strategy.model_dump()["static"] == {
        "max_chunk_size_tokens": 800,
        "chunk_overlap_tokens": 400,
    }


async def test_a_batch_with_one_unknown_file_attaches_none(stateful: RunningServer) -> None:
    store = await created(stateful)
    file = await store_file(stateful, PARIS)
    with pytest.raises(openai.NotFoundError, match="No such File object: file-none"):
        await stateful.sdk.vector_stores.file_batches.create(store, file_ids=[file, "file-none"])
    assert [one async for one in stateful.sdk.vector_stores.files.list(store)] == []


async def test_a_file_that_is_attached_again_keeps_one_row_with_new_attributes(
    stateful: RunningServer,
) -> None:
    store = await created(stateful)
    file = await store_file(stateful, PARIS)
    files = stateful.sdk.vector_stores.files
    await files.create_and_poll(
        file, vector_store_id=store, attributes={"a": 1}, poll_interval_ms=20
    )
    again = await files.create(store, file_id=file, attributes={"b": "2"})
    assert (again.status, again.attributes) == ("completed", {"b": "2"})
    assert (await stateful.sdk.vector_stores.retrieve(store)).file_counts.total == 1


@pytest.mark.wide
async def test_one_file_may_be_in_many_stores_and_leaves_all_when_it_is_deleted(
    stateful: RunningServer,
) -> None:
    file = await store_file(stateful, PARIS)
    stores = [await created(stateful, file_ids=[file]) for _ in range(3)]
    for store in stores:
        assert (await finished(stateful, store)).file_counts.completed == 1
    await stateful.sdk.files.delete(file)
    for store in stores:
        found = await stateful.sdk.vector_stores.retrieve(store)
        assert (found.file_counts.total, found.usage_bytes) == (0, 0)


async def test_a_search_finds_chunks_by_words_and_filters(stateful: RunningServer) -> None:
    store = await created(stateful)
    paris = await store_file(stateful, PARIS, "paris.txt")
    rome = await store_file(stateful, ROME, "rome.txt")
    files = stateful.sdk.vector_stores.files
    await files.create_and_poll(
        paris, vector_store_id=store, attributes={"year": 2025}, poll_interval_ms=20
    )
    await files.create_and_poll(
        rome, vector_store_id=store, attributes={"year": 2026}, poll_interval_ms=20
    )
    search = stateful.sdk.vector_stores.search
    found = await search(
        store, query="Which capital has the Eiffel Tower?", max_num_results=1, rewrite_query=True
    )
    (hit,) = found.data
    assert (hit.file_id, hit.filename, hit.attributes) == (paris, "paris.txt", {"year": 2025})
    assert 0 < hit.score <= 1
    assert [part.text for part in hit.content] == [PARIS]
    newer = await search(
        store, query=["capital", "city"], filters={"type": "gte", "key": "year", "value": 2026}
    )
    assert [one.file_id for one in newer.data] == [rome]
    status, raw = await stateful.post(f"/vector_stores/{store}/search", json={"query": "capital"})
    assert (status, raw["object"], raw["search_query"], raw["has_more"], raw["next_page"]) == (
        200,
        "vector_store.search_results.page",
        ["capital"],
        False,
        None,
    )
    await files.delete(paris, vector_store_id=store)
    assert [one.file_id for one in (await search(store, query="capital")).data] == [rome]


async def test_an_expired_store_is_readable_and_neither_searched_nor_filled(
    stateful: RunningServer,
) -> None:
    old = StoredVectorStore(new_id("vs"), "", int(time.time()) - 2 * 86_400, days=1)
    await stateful.parts.store.write(vector_stores.create, old)
    assert (await stateful.sdk.vector_stores.retrieve(old.id)).status == "expired"
    file = await store_file(stateful, PARIS)
    with pytest.raises(openai.BadRequestError, match=f"Vector store '{old.id}' has expired"):
        await stateful.sdk.vector_stores.files.create(old.id, file_id=file)
    with pytest.raises(openai.BadRequestError, match=f"Vector store '{old.id}' has expired"):
        await stateful.sdk.vector_stores.search(old.id, query="x")
    status, body = await stateful.post(f"/vector_stores/{old.id}/reindex", json={})
    assert (status, body["error"]["message"]) == (400, f"Vector store '{old.id}' has expired")


@pytest.mark.wide
async def test_reindexing_has_all_files_ingested_again(stateful: RunningServer) -> None:
    file = await store_file(stateful, PARIS)
    store = await created(stateful, file_ids=[file])
    await finished(stateful, store)
    status, displayed = await stateful.post(f"/vector_stores/{store}/reindex")
    assert (status, displayed["id"], displayed["status"]) == (200, store, "in_progress")
    assert [
        one.file_id for one in (await stateful.sdk.vector_stores.search(store, query="Paris")).data
    ] == [file]
    assert (await finished(stateful, store)).file_counts.completed == 1


async def test_a_cancelled_batch_ingests_no_more(stateful: RunningServer) -> None:
    store = await created(stateful)
    file = await store_file(stateful, PARIS)
    with blocked_reader() as reading:
        batches = stateful.sdk.vector_stores.file_batches
        batch = await batches.create(store, file_ids=[file])
        await asyncio.wait_for(reading.wait(), 30)
        cancelled = await batches.cancel(batch.id, vector_store_id=store)
        assert (cancelled.status, cancelled.file_counts.cancelled) == ("cancelled", 1)
    assert (
        await stateful.sdk.vector_stores.files.retrieve(file, vector_store_id=store)
    ).status == "cancelled"
    assert (await stateful.sdk.vector_stores.search(store, query="Paris")).data == []


async def test_a_file_deleted_during_a_read_is_removed_everywhere(stateful: RunningServer) -> None:
    file = await store_file(stateful, PARIS)
    with blocked_reader() as reading:
        store = await created(stateful, file_ids=[file])
        await asyncio.wait_for(reading.wait(), 30)
        await stateful.sdk.files.delete(file)
    assert (await finished(stateful, store)).file_counts.total == 0
    assert (await stateful.sdk.vector_stores.search(store, query="Paris")).data == []


@contextmanager
def blocked_reader() -> Iterator[asyncio.Event]:
    """Have documents read only after the block; the event is set once one is to be read."""
    read = DocumentReader.read
    begun = asyncio.Event()
    may_go = asyncio.Event()

    async def retained(*value: Any) -> Any:
        begun.set()
        await may_go.wait()
        return await read(*value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DocumentReader, "read", retained)
        yield begun
        may_go.set()


async def test_a_reader_that_fails_makes_the_file_fail_and_not_the_batch(
    stateful: RunningServer,
) -> None:
    good = await store_file(stateful, PARIS)
    bad = await store_file(stateful, b"\x89PNG\r\n\x1a\n...", "a.png")
    store = await created(stateful)
    done = await stateful.sdk.vector_stores.file_batches.create_and_poll(
        store, file_ids=[good, bad], poll_interval_ms=20
    )
    assert (done.status, done.file_counts.completed, done.file_counts.failed) == ("completed", 1, 1)
    failed = await stateful.sdk.vector_stores.files.retrieve(bad, vector_store_id=store)
    assert failed.last_error is not None
    assert failed.last_error.code == "unsupported_file"


BAD: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "",
        "expires_after",
        {"expires_after": {"anchor": "created_at", "days": 1}},
        "expires_after.anchor",
    ),
    (
        "",
        "days",
        {"expires_after": {"anchor": "last_active_at", "days": 366}},
        "expires_after.days",
    ),
    ("", "files", {"file_ids": ["file-x"] * 501}, "file_ids"),
    ("/{}/files", "file id", {}, "file_id"),
    ("/{}/files", "list", {"file_id": "file-x", "attributes": {"a": ["b"]}}, "attributes.a"),
    ("/{}/files", "null", {"file_id": "file-x", "attributes": {"a": None}}, "attributes.a"),
    (
        "/{}/files",
        "keys",
        {"file_id": "file-x", "attributes": {f"{i}": 1 for i in range(17)}},
        "attributes",
    ),
    (
        "/{}/files",
        "overlap",
        {
            "file_id": "file-x",
            "chunking_strategy": {
                "type": "static",
                "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 51},
            },
        },
        "chunking_strategy.static.chunk_overlap_tokens",
    ),
    ("/{}/file_batches", "nothing", {}, "file_ids"),
    (
        "/{}/file_batches",
        "both",
        {"file_ids": ["file-x"], "files": [{"file_id": "file-x"}]},
        "files",
    ),
    (
        "/{}/file_batches",
        "keys",
        {"files": [{"file_id": "f", "attributes": {"a": []}}]},
        "files[0].attributes.a",
    ),
    ("/{}/search", "query", {}, "query"),
    ("/{}/search", "blank", {"query": " "}, "query"),
    ("/{}/search", "empty", {"query": []}, "query"),
    ("/{}/search", "results", {"query": "x", "max_num_results": 51}, "max_num_results"),
    (
        "/{}/search",
        "filter",
        {"query": "x", "filters": {"type": "is", "key": "a", "value": 1}},
        "filters.type",
    ),
    (
        "/{}/search",
        "weights",
        {
            "query": "x",
            "ranking_options": {"hybrid_search": {"embedding_weight": 0, "text_weight": 0}},
        },
        "ranking_options.hybrid_search",
    ),
]


@pytest.mark.parametrize(
    ("path", "what", "body", "param"), BAD, ids=[f"{path}-{what}" for path, what, *_ in BAD]
)
async def test_a_wrong_body_is_refused_with_its_place(
    server: RunningServer, path: str, what: str, body: dict[str, Any], param: str
) -> None:
    store = await created(server)
    status, answer = await server.post(f"/vector_stores{path.format(store)}", json=body)
    assert (status, answer["error"]["param"]) == (400, param)  # type: ignore[index]


async def test_an_id_of_another_form_is_refused(server: RunningServer) -> None:
    status, answer = await server.get("/vector_stores/x")
    assert status == 400
    assert answer["error"]["message"].startswith("Invalid 'vector_store_id': 'x'.")  # type: ignore[index]
    status, answer = await server.get("/vector_stores/vs_a%20b")
    assert status == 400
    assert "underscores, or dashes" in answer["error"]["message"]  # type: ignore[index]
