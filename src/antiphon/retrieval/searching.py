"""Searches vector stores: every query in every store at once, by keywords and by vectors, ranked
together.

query ── embed (once for each model) ─┐ store ── keywords ──> BM25 ───────────┼──> fused ──> best of
all queries and stores ──> threshold ──> chunks
      └─ signatures ──> cosines ──────┘
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from antiphon.errors import AntiphonError, log
from antiphon.retrieval.frequent_terms import FrequentTerms
from antiphon.retrieval.nearest import Nearest
from antiphon.search.bm25 import scores
from antiphon.search.contract import (
    ChunkHit,
    QueryEmbeddings,
    Ranking,
    SearchRequest,
    SearchResults,
    expired_store,
    unknown_store,
)
from antiphon.search.fusion import LONGEST, above, best_of, fuse
from antiphon.search.terms import terms_of
from antiphon.sharing.offload import Offload
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.storage.operations import chunks, vector_stores
from antiphon.storage.records.chunks import KeywordMatches
from antiphon.storage.records.vector_stores import StoredVectorStore
from antiphon.storage.store import Store

SEARCHES = 5
"""Stores that a process searches at once; four for one tenant alone."""

WAITING = 1_000
"""Searches of stores that can wait; more are rejected at once."""

USED_EVERY = 60
"""Seconds within which a second use of a store is not recorded."""

CHARACTERS = 4
"""Characters of chunks in which terms are counted in the time of a byte of JSON: 256 Ki in 4 ms."""

OVERLOADED = "The server is overloaded: too many searches are waiting."

Scores = Mapping[int, float]
"""Scores of chunks of one store by their numbers, best first."""


def search_turns() -> FairScheduler:
    """Return the queue for searches, which tenants share."""
    return FairScheduler(SEARCHES, WAITING, leaves_room=True)


class Searching:
    """See `StoreSearch`. `embeddings` returns the embeddings client for a model.

    `degraded` is called with each model that a search has to do without. `check_model` raises
    `ClientError` for a model that the key of the current request does not allow.
    """

    def __init__(
        self,
        store: Store,
        known: Store,
        embeddings: Callable[[str], QueryEmbeddings],
        turns: FairScheduler,
        offload: Offload,
        degraded: Callable[[str], None] = lambda model: None,
        check_model: Callable[[str], None] = lambda model: None,
    ) -> None:
        self._store = store
        self._known = known
        self._embeddings = embeddings
        self._turns = turns
        self._offload = offload
        self._degraded = degraded
        self._check_model = check_model
        self.nearest = Nearest(store, offload)
        self._frequent = FrequentTerms()

    async def check(self, tenant: str, store_ids: Sequence[str]) -> None:
        """See `StoreSearch.check`."""
        for store_id in store_ids:
            await self._find(tenant, store_id)

    async def search(self, request: SearchRequest) -> SearchResults:
        """See `StoreSearch.search`. Each store waits for its tenant's turn."""
        store_ids = tuple(dict.fromkeys(request.store_ids))
        found = {store_id: await self._find(request.tenant, store_id) for store_id in store_ids}
        models = _models(found.values(), request.ranking)
        for model in models:
            self._check_model(model)
        await self._mark_used(request.tenant, found.values())
        vectors = {model: self._embed(model, request) for model in models}
        embedded = dict(
            zip(
                vectors,
                await asyncio.gather(*vectors.values(), return_exceptions=True),
                strict=True,
            )
        )
        by_keywords = self._by_keywords_only(request, found.values(), embedded)
        searches = [self._search_in(store, request, embedded) for store in found.values()]
        answers = dict(
            zip(found, await asyncio.gather(*searches, return_exceptions=True), strict=True)
        )
        ranked, failures = _parted(answers)
        if failures and not ranked:
            raise next(iter(failures.values()))
        for store_id, error in failures.items():
            log.warning("Cannot search the vector store '%s': %s", store_id, error.gist)
        hits = await self._hits(request, ranked)
        failed = {store_id: error.message for store_id, error in failures.items()}
        return SearchResults(hits, request.queries, failed, by_keywords)

    async def _find(self, tenant: str, store_id: str) -> StoredVectorStore:
        store = await self._known.read(vector_stores.find, tenant, store_id)
        if store is None:
            raise unknown_store(store_id)
        if store.is_expired:
            raise expired_store(store_id)
        return store

    async def _mark_used(self, tenant: str, stores: Iterable[StoredVectorStore]) -> None:
        """Extend the expiry of the stores.

        It is written once a minute, so that most searches only read.
        """
        since = self._store.clock.now() - USED_EVERY
        if used := [store.id for store in stores if store.last_active_at <= since]:
            await self._known.write(vector_stores.use, tenant, used)

    async def _embed(self, model: str, request: SearchRequest) -> Sequence[bytes]:
        return await self._embeddings(model).embed(request.queries, request.tenant)

    def _by_keywords_only(
        self,
        request: SearchRequest,
        stores: Iterable[StoredVectorStore],
        embedded: Mapping[str, Sequence[bytes] | BaseException],
    ) -> Mapping[str, str]:
        """Return the reason for each store that is searched without the vectors that the request
        asks for.
        """
        reasons: dict[str, str] = {}
        for model, error in embedded.items():
            if isinstance(error, AntiphonError) and _can_do_without(request.ranking, error):
                self._degraded(model)
                reasons |= {
                    store.id: error.message for store in stores if store.embedding_model == model
                }
        return reasons

    async def _search_in(
        self,
        store: StoredVectorStore,
        request: SearchRequest,
        embedded: Mapping[str, Sequence[bytes] | BaseException],
    ) -> Scores:
        """Return the scores of the chunks of one store: the best of all queries."""
        vectors = embedded.get(store.embedding_model)
        if isinstance(vectors, BaseException):
            if not _can_do_without(request.ranking, vectors):
                raise vectors
            vectors = None
        try:
            async with self._turns.slot(request.tenant):
                requested = [
                    self._send_request(
                        store.id, query, vectors[place] if vectors else None, request
                    )
                    for place, query in enumerate(request.queries)
                ]
                return best_of(await asyncio.gather(*requested))
        except NoRoomError as error:
            raise AntiphonError.overloaded(OVERLOADED) from error

    async def _send_request(
        self, store_id: str, query: str, vector: bytes | None, request: SearchRequest
    ) -> Scores:
        """Return the scores of the chunks of one store for one query."""
        ranking = request.ranking
        lists: list[tuple[float, Scores]] = []
        if vector is not None:
            near = await self.nearest.find(
                request.tenant, store_id, vector, request.filters, LONGEST
            )
            lists.append((ranking.embedding_weight, dict(near)))
        if vector is None or ranking.text_weight > 0:
            lists.append((ranking.text_weight, await self._by_keywords(store_id, query, request)))
        if len(lists) == 1:
            return lists[0][1]
        return fuse([(weight, list(scored)) for weight, scored in lists])

    async def _by_keywords(self, store_id: str, query: str, request: SearchRequest) -> Scores:
        terms = terms_of(query, is_query=True)
        known = self._frequent.known(request.tenant, store_id)
        found = await self._store.read(
            chunks.match_keywords, request.tenant, store_id, terms, request.filters, LONGEST, known
        )
        self._frequent.note(request.tenant, store_id, found)
        characters = sum(len(text) for _, text, _ in found.chunks)
        return await self._offload.run(request.tenant, characters // CHARACTERS, _scored, found)

    async def _hits(self, request: SearchRequest, ranked: Mapping[str, Scores]) -> list[ChunkHit]:
        """Read the best chunks of all stores; the threshold applies here, once."""
        final = best_of(
            {(store_id, number): score for number, score in one.items()}
            for store_id, one in ranked.items()
        )
        best = dict(islice(above(final, request.ranking.threshold).items(), request.most))
        hits: dict[tuple[str, int], ChunkHit] = {}
        for store_id in ranked:
            numbers = [number for place, number in best if place == store_id]
            for chunk in await self._store.read(chunks.found_chunks, request.tenant, numbers):
                place = store_id, chunk.number
                attributes = chunk.attributes
                text = chunk.text
                hits[place] = ChunkHit(
                    chunk.file_id,
                    chunk.filename,
                    store_id,
                    best[place],
                    attributes,
                    text,
                    chunk.position,
                )
        return [hits[place] for place in best if place in hits]


def _models(stores: Iterable[StoredVectorStore], ranking: Ranking) -> set[str]:
    """Return the models that embed the queries."""
    if ranking.embedding_weight <= 0:
        return set()
    return {store.embedding_model for store in stores if store.embedding_model}


def _can_do_without(ranking: Ranking, error: BaseException) -> bool:
    """Whether a search without embeddings of its queries can use keywords: unless the request
    excludes them.
    """
    return isinstance(error, AntiphonError) and ranking.text_weight > 0


def _parted(
    answers: Mapping[str, Scores | BaseException],
) -> tuple[dict[str, Scores], dict[str, AntiphonError]]:
    """Return the results by store, and the failed stores.

    Raises errors that do not concern a store.
    """
    found: dict[str, Scores] = {}
    failures: dict[str, AntiphonError] = {}
    for store_id, answer in answers.items():
        if isinstance(answer, AntiphonError):
            failures[store_id] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found[store_id] = answer
    return found, failures


def _scored(found: KeywordMatches) -> Scores:
    """Return the scores of chunks that contain terms of a query."""
    texts = [(text, length) for _, text, length in found.chunks]
    scored = zip(
        (number for number, _, _ in found.chunks), scores(texts, found.corpus), strict=True
    )
    return best_of([{number: score for number, score in scored if score > 0}])
