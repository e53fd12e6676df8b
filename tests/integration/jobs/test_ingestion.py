"""Files wait for an embedding server that is busy or away, are never blamed for it, and survive
restarts.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.ids import new_id
from antiphon.jobs import ingestion
from antiphon.retrieval import embeddings
from antiphon.storage.operations import ingestions, vector_stores
from antiphon.storage.records.vector_stores import NewAttachment, StoredVectorStore, StoreFile
from antiphon.telemetry.metrics import Measures
from antiphon.upstream.http import HttpBackend
from tests.support.embedding_server import (
    BUSY,
    MODEL,
    OLLAMA_LENGTH,
    EmbeddingServer,
    embedding_server,
)
from tests.support.server import RunningServer, serve
from tests.support.waiting import LoopClock, let_others_run

LINES = [f"Line {number} says when high water is in Brest, at nine or so." for number in range(300)]
TEXT = "\n".join(LINES)


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    """The clock of all pauses. The time for which a file keeps its slot is short."""
    monkeypatch.setattr(embeddings, "PATIENCE", 2.0)
    return LoopClock(monkeypatch)


@asynccontextmanager
async def serving(
    server: EmbeddingServer, store: str = "sqlite://", **more: Any
) -> AsyncIterator[RunningServer]:
    async with serve(
        HttpBackend("tei", server.url, connect_timeout=60), store=store, **more
    ) as running:
        running.parts.run.rules.embedding_model = MODEL
        running.parts.models.clock = asyncio.get_running_loop().time
        yield running


async def attached(
    server: RunningServer, text: str = TEXT, model: str = MODEL, tokens: int = 100
) -> tuple[str, str]:
    """Attach a file to a new store; return the ids of both."""
    file = (await server.sdk.files.create(file=("a.txt", text.encode()), purpose="assistants")).id
    store = StoredVectorStore(new_id("vs"), "", int(server.parts.run.now()), embedding_model=model)
    await server.parts.store.write(
        vector_stores.create, store, [NewAttachment(file, b"{}", tokens, 0)]
    )
    return store.id, file


async def found(server: RunningServer, place: tuple[str, str]) -> StoreFile:
    one = await server.parts.store.read(vector_stores.file, "", *place)
    assert one is not None
    return one


async def ended(server: RunningServer, place: tuple[str, str], clock: LoopClock) -> StoreFile:
    return await clock.eventually(
        lambda: found(server, place), lambda one: one.status != "in_progress"
    )


@pytest.mark.wide
async def test_a_file_is_whole_behind_a_server_with_small_limits(
    store_url: str, clock: LoopClock
) -> None:
    async with (
        embedding_server(most_texts=10, most_tokens=60, too_long=OLLAMA_LENGTH) as server,
        serving(server, store_url) as running,
    ):
        place = await attached(running)
        assert (await ended(running, place, clock)).status == "completed"
        assert "".join(server.accepted).replace("text", "").split() == TEXT.split()
        words: Any = {
            "ranking_options": {"hybrid_search": {"embedding_weight": 0, "text_weight": 1}}
        }
        for number in (0, 77, 299):
            hits = (
                await running.sdk.vector_stores.search(
                    place[0], query=f"{number}", extra_body=words
                )
            ).data
            assert f" {number} " in hits[0].content[0].text


@pytest.mark.wide("postgres")
async def test_a_file_waits_for_a_server_that_is_busy(store_url: str, clock: LoopClock) -> None:
    busy: Any = [(BUSY, {})] * 4
    async with embedding_server(busy=busy) as server, serving(server, store_url) as running:
        place = await attached(running)
        one = await ended(running, place, clock)
        assert (one.status, one.error_code) == ("completed", None)
        assert server.busy == []


@pytest.mark.wide
async def test_a_file_waits_in_the_queue_while_the_server_is_away_and_others_do_not_wait_behind_it(
    store_url: str, clock: LoopClock
) -> None:
    async with embedding_server() as server, serving(server, store_url) as running:
        first = await attached(running, "One line.")
        assert (await ended(running, first, clock)).status == "completed"
        await server.leave()
        waiting = [await attached(running, f"{TEXT}{number}") for number in range(3)]
        await clock.until(lambda: running.parts.ingestion.outages.paused())
        plain = await attached(running, model="")
        assert (await ended(running, plain, clock)).status == "completed"
        assert {(await found(running, one)).status for one in waiting} == {"in_progress"}
        await server.begin()
        assert [(await ended(running, one, clock)).status for one in waiting] == ["completed"] * 3
        assert running.parts.ingestion.outages.lasts(MODEL) is None


@pytest.mark.wide("postgres")
async def test_a_file_that_waits_for_a_server_survives_a_restart(
    store_url: str, tmp_path: Any, clock: LoopClock
) -> None:
    store = f"sqlite://{tmp_path}/antiphon.db" if store_url == "sqlite://" else store_url
    async with embedding_server() as server:
        async with serving(server, store) as running:
            await server.leave()
            place = await attached(running)
            await clock.until(lambda: running.parts.ingestion.outages.paused())
        async with serving(server, store) as running:
            await clock.until(lambda: running.parts.ingestion.outages.paused())
            one = await found(running, place)
            assert (one.status, one.error_code) == ("in_progress", None)
            await server.begin()
            assert (await ended(running, place, clock)).status == "completed"


async def test_files_fail_with_the_fault_of_the_server_after_a_day(clock: LoopClock) -> None:
    async with embedding_server() as server, serving(server) as running:
        await server.leave()
        place = await attached(running)
        await clock.until(lambda: running.parts.ingestion.outages.paused())
        clock.advance(ingestion.ABANDONED_AFTER)
        one = await ended(running, place, clock)
        assert (one.status, one.error_code) == ("failed", "server_error")
        assert "tei" in str(one.error_message)


async def test_a_model_that_no_backend_has_is_no_fault_of_the_file(clock: LoopClock) -> None:
    async with embedding_server() as server, serving(server) as running:
        one = await ended(running, await attached(running, model="nobody"), clock)
        assert (one.status, one.error_code) == ("failed", "server_error")
        assert "nobody" in str(one.error_message)
        assert f"'{MODEL}'" not in str(one.error_message), "a key may not know the other models"


async def test_the_time_of_the_embedding_server_does_not_count_for_the_limit_of_a_file(
    monkeypatch: pytest.MonkeyPatch, clock: LoopClock
) -> None:
    async with embedding_server() as server, serving(server) as running:
        created = running.parts.ingestion.embeddings(MODEL)
        whole = created.embed_parts

        async def slow(texts: Any, tenant: str) -> Any:
            clock.advance(ingestion.SECONDS + 1)
            await let_others_run(5)
            return await whole(texts, tenant)

        monkeypatch.setattr(created, "embed_parts", slow)
        await running.application.ingester.close()
        place = await attached(running)
        claimed = await running.parts.store.write(
            ingestions.claim, running.parts.process.worker, 10
        )
        assert claimed is not None
        await ingestion.ingest(running.parts.ingestion, claimed)
        assert (await found(running, place)).status == "completed"


@pytest.mark.wide("postgres")
async def test_a_search_uses_keywords_during_an_outage_and_reports_it(
    store_url: str, clock: LoopClock
) -> None:
    measures = Measures()
    async with (
        embedding_server() as server,
        serving(server, store_url, measures=measures) as running,
    ):
        place = await attached(running, "The feline sleeps.\nThe bill is due in March.")
        await ended(running, place, clock)

        async def search(query: str, **options: Any) -> tuple[str | None, list[str]]:
            stores = running.sdk.vector_stores.with_raw_response
            reply = await stores.search(place[0], query=query, **options)
            return reply.headers.get("antiphon-search"), [
                one.filename for one in reply.parse().data
            ]

        assert await search("feline") == (None, ["a.txt"])
        await server.leave()
        assert await search("feline") == ("keywords", ["a.txt"])
        assert await search("nothing of this") == ("keywords", [])
        assert measures.searches_by_keywords.values == {(MODEL,): 2}
        only_meaning: Any = {
            "ranking_options": {"hybrid_search": {"embedding_weight": 1, "text_weight": 0}}
        }
        status, _ = await running.post(
            f"/vector_stores/{place[0]}/search", json={"query": "feline", **only_meaning}
        )
        assert status in (502, 503)
        await server.begin()
        running.parts.ingestion.outages.succeeded(MODEL)
        assert await search("feline") == (None, ["a.txt"])


async def sizes(server: RunningServer, file: str, store: str) -> tuple[int, int]:
    """Return the size and overlap of a file's chunks, in tokens."""
    chunking: Any = (
        await server.sdk.vector_stores.files.retrieve(file, vector_store_id=store)
    ).chunking_strategy
    return chunking.static.max_chunk_size_tokens, chunking.static.chunk_overlap_tokens


async def test_chunks_have_the_size_of_the_setting_for_their_model_unless_the_request_has_one() -> (
    None
):
    settings = Settings(search_chunk_tokens={MODEL: 120})
    async with embedding_server() as server, serving(server, settings=settings) as running:
        stores = running.sdk.vector_stores
        file = (
            await running.sdk.files.create(file=("a.txt", TEXT.encode()), purpose="assistants")
        ).id
        own: Any = {
            "type": "static",
            "static": {"max_chunk_size_tokens": 200, "chunk_overlap_tokens": 0},
        }
        created = (await stores.create(file_ids=[file])).id
        assert await sizes(running, file, created) == (120, 60)
        empty = [(await stores.create()).id for _ in range(3)]
        await stores.files.create(empty[0], file_id=file, chunking_strategy={"type": "auto"})
        await stores.files.create(empty[1], file_id=file, chunking_strategy=own)
        await stores.file_batches.create(empty[2], file_ids=[file])
        assert [await sizes(running, file, one) for one in empty] == [
            (120, 60),
            (200, 0),
            (120, 60),
        ]


async def test_chunks_have_the_usual_size_if_the_setting_has_none_for_their_model() -> None:
    settings = Settings(search_chunk_tokens={MODEL: 120})
    async with embedding_server() as server, serving(server, settings=settings) as running:
        running.parts.run.rules.embedding_model = ""
        file = (
            await running.sdk.files.create(file=("a.txt", TEXT.encode()), purpose="assistants")
        ).id
        store = (await running.sdk.vector_stores.create(file_ids=[file])).id
        assert await sizes(running, file, store) == (800, 400)
