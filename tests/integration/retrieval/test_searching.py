"""Vector stores are searched by keywords and by vectors, through the backends of this server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.errors import AntiphonError, BackendError, ClientError, StoreError
from antiphon.retrieval.embeddings import MOST_TEXTS, Embedder
from antiphon.retrieval.nearest import Nearest
from antiphon.retrieval.searching import Searching
from antiphon.search.contract import ChunkHit, Ranking, SearchRequest
from antiphon.search.filters import Comparison
from antiphon.search.fitting import MOST_CHARACTERS
from antiphon.search.vectors import floats, unit
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.chunk_writer import put_chunks, sweep_chunks
from antiphon.storage.open import open_store
from antiphon.storage.operations import chunks
from antiphon.storage.records.chunks import ChunkRow, IndexedFile, Signatures
from antiphon.storage.records.vector_stores import StoredVectorStore
from antiphon.storage.store import Store
from antiphon.upstream.outages import Outages
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.changed_stores import Methods, replace_operation
from tests.support.parts import scripted_parts
from tests.support.waiting import let_others_run

T = "tenant"
ANIMALS = {
    "cat": [1.0, 0.0, 0.1],
    "kitten": [0.9, 0.3, 0.1],
    "dog": [0.3, 0.9, 0.1],
    "car": [0.0, 0.1, 1.0],
}
"""What the embedding model says of texts that name one of these."""


def direction(text: str) -> list[float]:
    return next((numbers for name, numbers in ANIMALS.items() if name in text), [0.1, 0.1, 0.1])


def embedded(request: dict[str, Any]) -> Any:
    texts = request["input"]
    data = [{"index": place, "embedding": direction(text)} for place, text in enumerate(texts)]
    return {"object": "list", "data": data[::-1]}


def embedder(
    script: Callable[[dict[str, Any]], Any] = embedded,
) -> tuple[Embedder, ScriptedBackend]:
    backend = ScriptedBackend(script, models=["e"])
    created, _ = scripted_parts()
    created.models.assign([backend], {backend.name: "generic"})
    return Embedder(
        "e", created.run.router, created.run.observers, Outages(), pause=lambda _: let_others_run()
    ), backend


class Known(Methods):
    """Vector stores that are known, by their ids."""

    def __init__(self, **models: str) -> None:
        self.models = models
        self.used: list[str] = []
        self.expired: set[str] = set()
        self.used_at = 1

    async def find_vector_store(self, tenant: str, store_id: str) -> StoredVectorStore | None:
        if tenant != T or store_id not in self.models:
            return None
        is_expired = store_id in self.expired
        used_at = int(time.time()) if store_id in self.used else self.used_at
        return StoredVectorStore(
            store_id,
            T,
            1,
            last_active_at=used_at,
            embedding_model=self.models[store_id],
            is_expired=is_expired,
        )

    async def use_vector_stores(self, tenant: str, store_ids: Sequence[str]) -> None:
        self.used += store_ids


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


@pytest.fixture
async def offload() -> AsyncIterator[Offload]:
    created = Offload(thread_turns())
    yield created
    created.close()


async def put(store: Store, store_id: str, *texts: str, with_vectors: bool = True) -> IndexedFile:
    file = IndexedFile(T, store_id, f"file-{texts[0]}", 1, f"{texts[0]}.txt")
    rows = [
        ChunkRow(n, text, 1, unit(direction(text)) if with_vectors else None)
        for n, text in enumerate(texts)
    ]
    await put_chunks(store, file, rows)
    await store.write(chunks.publish, file)
    return file


def searching(
    store: Store, offload: Offload, known: Known, turns: FairScheduler | None = None
) -> Searching:
    return Searching(
        store,
        known,
        lambda _: embedder()[0],
        turns or FairScheduler(4, 100),
        offload,
    )


def requested(
    *queries: str, stores: tuple[str, ...] = ("vs_1",), most: int = 10, **more: Any
) -> SearchRequest:
    return SearchRequest(T, stores, queries, most, **more)


async def texts(searching: Searching, request: SearchRequest) -> list[str]:
    return [hit.text for hit in (await searching.search(request)).hits]


async def test_keywords_find_what_has_them_and_vectors_what_means_the_same(
    store: Store, offload: Offload
) -> None:
    await put(store, "vs_1", "a cat sleeps", "the kitten plays", "a dog barks", "the car is red")
    search = searching(store, offload, Known(vs_1="e"))
    words = Ranking(embedding_weight=0)
    meaning = Ranking(text_weight=0)

    assert await texts(search, requested("kitten", ranking=words)) == ["the kitten plays"]
    assert (await texts(search, requested("cat", ranking=meaning)))[:3] == [
        "a cat sleeps",
        "the kitten plays",
        "a dog barks",
    ]
    both = await search.search(requested("cat barks"))
    assert {hit.text for hit in both.hits[:2]} == {"a cat sleeps", "a dog barks"}
    assert all(0 <= hit.score <= 1 for hit in both.hits)
    assert [hit.score for hit in both.hits] == sorted(
        (hit.score for hit in both.hits), reverse=True
    )


async def test_a_cache_hit_names_its_origin(store: Store, offload: Offload) -> None:
    file = await put(store, "vs_1", "first", "second cat")
    await store.write(chunks.set_attributes, T, "vs_1", file.file_id, {"year": 2026})
    (hit,) = (await searching(store, offload, Known(vs_1="")).search(requested("cat"))).hits

    assert hit == ChunkHit(
        file.file_id, file.filename, "vs_1", hit.score, {"year": 2026}, "second cat", 1
    )


async def test_queries_and_stores_are_ranked_together_and_each_chunk_comes_once(
    store: Store, offload: Offload
) -> None:
    await put(store, "vs_1", "a cat and a dog", "other words")
    await put(store, "vs_2", "a dog barks")
    known = Known(vs_1="", vs_2="", vs_3="")
    search = searching(store, offload, known)
    found = await search.search(requested("cat", "dog", stores=("vs_1", "vs_2", "vs_3", "vs_1")))
    await search.search(requested("cat"))  # within a minute

    assert sorted(hit.text for hit in found.hits) == ["a cat and a dog", "a dog barks"]
    assert found.queries == ("cat", "dog") and not found.failures
    assert known.used == ["vs_1", "vs_2", "vs_3"]


async def test_a_search_counts_as_a_use_by_the_clock_of_the_store(
    store: Store, offload: Offload
) -> None:
    """The clock of this process is a day behind that of the store."""
    day = 86_400
    store.clock.correct(-day, day)
    known = Known(vs_1="")
    await put(store, "vs_1", "a cat")
    for seconds, used in ((30, []), (90, ["vs_1"])):
        known.used_at = int(time.time()) + day - seconds
        await searching(store, offload, known).search(requested("cat"))
        assert known.used == used


async def test_the_threshold_applies_once_to_the_returned_score(
    store: Store, offload: Offload
) -> None:
    await put(store, "vs_1", "cat cat cat", "a cat among many other words that say nothing", "dog")
    search = searching(store, offload, Known(vs_1=""))
    hits = (await search.search(requested("cat"))).hits
    bound = hits[0].score
    stored = (await search.search(requested("cat", ranking=Ranking(threshold=bound)))).hits

    assert len(hits) == 2 and list(stored) == [hits[0]]
    assert (await search.search(requested("cat", most=1))).hits == [hits[0]]


async def test_a_filter_holds_for_keywords_and_for_vectors(store: Store, offload: Offload) -> None:
    for name in ("cat one", "cat two", "dog three"):
        file = await put(store, "vs_1", name)
        await store.write(chunks.set_attributes, T, "vs_1", file.file_id, {"name": name[-3:]})
    search = searching(store, offload, Known(vs_1="e"))
    for ranking in (Ranking(), Ranking(text_weight=0), Ranking(embedding_weight=0)):
        wanted = requested("cat", filters=Comparison("ne", "name", "one"), ranking=ranking)
        assert "cat one" not in await texts(search, wanted)
        assert "cat two" in await texts(search, wanted)


async def test_what_is_published_or_dropped_counts_from_the_next_search_on(
    store: Store, offload: Offload
) -> None:
    search = searching(store, offload, Known(vs_1="e"))
    assert await texts(search, requested("cat")) == []
    first = await put(store, "vs_1", "a cat")
    assert await texts(search, requested("cat")) == ["a cat"]
    await put(store, "vs_1", "a kitten")
    assert await texts(search, requested("cat")) == ["a cat", "a kitten"]
    newer = replace(first, version=2)
    await put_chunks(store, newer, [ChunkRow(0, "a newer cat", 1, unit(direction("cat")))])
    assert await texts(search, requested("cat")) == ["a cat", "a kitten"]
    await store.write(chunks.publish, newer)
    assert await texts(search, requested("cat")) == ["a newer cat", "a kitten"]
    await store.write(chunks.drop, T, "vs_1", first.file_id)
    assert await texts(search, requested("cat")) == ["a kitten"]


@pytest.mark.parametrize("is_dropped", [False, True])
async def test_what_is_found_does_not_depend_on_versions_that_are_not(
    store: Store, offload: Offload, monkeypatch: pytest.MonkeyPatch, is_dropped: bool
) -> None:
    """Neither the leftovers of an ingestion that died, nor what is dropped and waits to be
    swept.
    """
    monkeypatch.setattr("antiphon.search.bm25.MOST_READ", 60)
    found = await put(store, "vs_1", "a rare cat", *[f"cat number {n}" for n in range(40)])
    request = requested("rare cat", most=50)
    before = (await searching(store, offload, Known(vs_1="")).search(request)).hits
    rows = [ChunkRow(n, "a cat that nobody finds", 1) for n in range(100)]
    if is_dropped:
        other = await put(store, "vs_1", *[row.text for row in rows])
        await store.write(chunks.drop, T, "vs_1", other.file_id)
    else:
        await put_chunks(store, replace(found, version=2), rows)
    for filters in (None, Comparison("ne", "name", "other")):
        after = await searching(store, offload, Known(vs_1="")).search(
            replace_fields(request, filters=filters)
        )
        assert len(before) == 41 and after.hits == before


async def test_a_word_that_most_chunks_have_is_ranked_in_some_of_them(
    store: Store, offload: Offload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.storage.operations.chunks.MOST_READ", 20)
    await put(store, "vs_1", *[f"the {n}" for n in range(100)], with_vectors=False)
    await put(store, "vs_1", *[f"{n} the" for n in range(100)], with_vectors=False)
    found = await texts(searching(store, offload, Known(vs_1="")), requested("the", most=50))
    assert len(found) == 20
    assert await texts(searching(store, offload, Known(vs_1="")), requested("the 70", most=50))


async def test_concurrent_queries_load_the_signatures_of_a_store_once(
    store: Store, offload: Offload
) -> None:
    await put(store, "vs_1", "cat", "dog")
    loads = 0

    async def counted(*requested: Any) -> Signatures:
        nonlocal loads
        loads += 1
        found: Signatures = await whole(*requested)
        return found

    whole = replace_operation(store, chunks.signatures, counted)
    nearest = Nearest(store, offload)
    wanted = unit(direction("cat")) or b""
    found = await asyncio.gather(*(nearest.find(T, "vs_1", wanted, None, 10) for _ in range(5)))

    assert [len(one) for one in found] == [2] * 5
    assert loads == 1


async def test_a_store_that_was_emptied_and_filled_is_loaded_again(
    store: Store, offload: Offload
) -> None:
    search = searching(store, offload, Known(vs_1="e"))
    for name in ("cat", "kitten"):
        file = await put(store, "vs_1", name)
        assert await texts(search, requested("cat")) == [name]
        await store.write(chunks.drop, T, "vs_1", file.file_id)
        await sweep_chunks(store)


async def test_unknown_and_expired_stores_are_refused(store: Store, offload: Offload) -> None:
    known = Known(vs_1="", vs_2="")
    known.expired.add("vs_2")
    search = searching(store, offload, known)
    await search.check(T, ["vs_1"])
    for tenant, store_id, status, message in (
        (T, "vs_0", 404, "No vector store found with id 'vs_0'."),
        ("other", "vs_1", 404, "No vector store found with id 'vs_1'."),
        (T, "vs_2", 400, "Vector store 'vs_2' has expired"),
    ):
        for refused in (
            search.check(tenant, ["vs_1", store_id]),
            search.search(SearchRequest(tenant, (store_id,), ("q",), 1)),
        ):
            with pytest.raises(ClientError) as caught:
                await refused
            assert (caught.value.status, caught.value.message) == (status, message)


class Broken:
    """A store that cannot be read where it is named."""

    def __init__(self, store: Store, *broken: str) -> None:
        self._store = store
        self._broken = broken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, operation: Any, *value: Any) -> Any:
        if operation is chunks.match_keywords and value[1] in self._broken:
            raise StoreError("The store is unreachable.")
        return await self._store.read(operation, *value)


async def test_a_store_that_fails_is_named_and_the_others_are_searched(
    store: Store, offload: Offload
) -> None:
    await put(store, "vs_1", "a cat")
    known = Known(vs_1="", vs_2="")
    broken: Any = Broken(store, "vs_2")
    found = await searching(broken, offload, known).search(
        requested("cat", stores=("vs_1", "vs_2"))
    )

    assert [hit.text for hit in found.hits] == ["a cat"]
    assert found.failures == {"vs_2": "The store is unreachable."}
    with pytest.raises(StoreError):
        await searching(Broken(store, "vs_1", "vs_2"), offload, known).search(
            requested("cat", stores=("vs_1", "vs_2"))
        )  # type: ignore[arg-type]


async def test_a_model_that_makes_no_vectors_fails_only_searches_without_keywords(
    store: Store, offload: Offload
) -> None:
    def no_vectors(request: dict[str, Any]) -> Any:
        return {"object": "list", "data": []}

    await put(store, "vs_1", "a cat")
    await put(store, "vs_2", "a cat")
    created = Searching(
        store,
        Known(vs_1="e", vs_2=""),
        lambda _: embedder(no_vectors)[0],
        FairScheduler(4, 9),
        offload,
    )
    found = await created.search(
        requested("cat", stores=("vs_1", "vs_2"), ranking=Ranking(text_weight=0))
    )
    assert [hit.store_id for hit in found.hits] == ["vs_2"]
    assert "returned 0 vectors for 1 texts" in found.failures["vs_1"]
    assert not found.by_keywords

    found = await created.search(requested("cat", stores=("vs_1", "vs_2")))
    assert {hit.store_id for hit in found.hits} == {"vs_1", "vs_2"}
    assert not found.failures
    assert list(found.by_keywords) == ["vs_1"]
    assert "returned 0 vectors for 1 texts" in found.by_keywords["vs_1"]


async def test_a_full_queue_refuses_a_search_for_a_moment(store: Store, offload: Offload) -> None:
    turns = FairScheduler(1, 0)
    await turns.enter("other")
    with pytest.raises(AntiphonError) as caught:
        await searching(store, offload, Known(vs_1=""), turns).search(requested("cat"))
    turns.leave("other")

    assert (caught.value.status, caught.value.headers) == (503, {"retry-after": "1"})


async def test_texts_are_embedded_in_batches_and_come_back_in_order() -> None:
    created, backend = embedder()
    names = ["cat", "dog", "car", "kitten"] * 40
    vectors = await created.embed(names, T)

    assert [floats(vector)[0] for vector in vectors[:4]] == pytest.approx(
        [0.995, 0.315, 0.0, 0.943], abs=0.002
    )
    assert vectors == vectors[:4] * 40
    assert [len(request["input"]) for request in backend.requests] == [
        MOST_TEXTS,
        MOST_TEXTS,
        160 - 2 * MOST_TEXTS,
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"data": "none"}, "did not return embeddings"),
        ({"data": []}, "returned 0 vectors for 1 texts"),
        ({"data": [{"index": 1, "embedding": [1.0]}]}, "returned 1 vectors for 1 texts"),
        ({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, "returned a vector of length 0"),
    ],
)
async def test_an_answer_without_vectors_is_requested_again_and_then_an_error(
    answer: Mapping[str, Any], reason: str
) -> None:
    created, backend = embedder(lambda _: answer)
    with pytest.raises(BackendError, match=f"The embedding model 'e' {reason}"):
        await created.embed(["cat"], T)

    assert len(backend.requests) == 3


async def test_vectors_of_different_sizes_are_an_error() -> None:
    sizes = iter([2, 3])
    created, _ = embedder(lambda _: {"data": [{"index": 0, "embedding": [1.0] * next(sizes)}]})
    with pytest.raises(BackendError, match="different sizes"):
        await created.embed(["x" * MOST_CHARACTERS, "y"], T)


async def test_an_unknown_model_is_an_error_at_once() -> None:
    created, _ = scripted_parts()
    with pytest.raises(AntiphonError):
        await Embedder("nobody", created.run.router, created.run.observers, Outages()).embed(
            ["cat"], T
        )


@pytest.mark.wide("postgres")
async def test_a_large_store_is_searched_outside_of_the_event_loop(
    store: Store, offload: Offload
) -> None:
    words = [f"cat number{n}" for n in range(2100)]
    file = IndexedFile(T, "vs_1", "file-1", 1, "a.txt")
    for start in range(0, len(words), 300):
        rows = [
            ChunkRow(start + n, text, 1, unit([1.0, n / 300, start / 2100]))
            for n, text in enumerate(words[start : start + 300])
        ]
        await put_chunks(store, file, rows)
    await store.write(chunks.publish, file)
    search = searching(store, offload, Known(vs_1="e"))
    found = await asyncio.gather(
        *(
            texts(search, requested(f"number{n}", ranking=Ranking(embedding_weight=0)))
            for n in (1, 2000)
        )
    )
    near = (await search.search(requested("cat", ranking=Ranking(text_weight=0)))).hits

    assert found == [["cat number1"], ["cat number2000"]]
    assert len(near) == 10 and near[0].score > 0.99
