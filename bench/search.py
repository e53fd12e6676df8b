"""What searching a store of 100,000 chunks costs, how many of the nearest it finds, and how quickly
text is indexed.
"""

import asyncio
import random
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate
from operator import itemgetter, mul

from antiphon.retrieval.searching import Searching
from antiphon.search.chunking import chunks_of
from antiphon.search.contract import Ranking, SearchRequest
from antiphon.search.vectors import floats, unit
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.storage.chunk_writer import put_chunks
from antiphon.storage.open import open_store
from antiphon.storage.operations import chunks
from antiphon.storage.records.chunks import ChunkRow, IndexedFile
from antiphon.storage.store import Store
from bench.report import OURS, Reading
from bench.searched import STORE, TENANT, searching_of

MANY, WORDS, IN_A_FILE = 100_000, 300, 500
"""Chunks of the store, words of a chunk, and chunks of a file."""

DIMENSIONS, CENTRES, NOISE = 384, 500, 0.9
"""Vectors lie around so many points; the noise is that of each number; a number has a spread of
1.
"""

QUERIES, COMPARED, QUERY_WORDS = 40, 10, 5
"""Searches; searches with exactly computed nearest chunks; words of a query, all from one chunk."""

AT_ONCE = 64
MODES = {"keywords": Ranking(embedding_weight=0), "keywords and vectors": Ranking()}


def reading(url: str, most: int = MANY) -> Iterator[Reading]:
    """Fill an empty SQLite store with chunks, and give what a search costs: CPU milliseconds of all
    threads.
    """
    yield from asyncio.run(_searched(url, most))


def indexing() -> Iterator[Reading]:
    """Give the megabytes of text that a CPU second cuts and indexes, without embeddings."""
    yield "text cut and indexed in SQLite, MB per CPU second", OURS, asyncio.run(_indexed())


class _Embeddings:
    """Embeds the queries of the bench."""

    model = "bench"

    def __init__(self) -> None:
        self.vectors: dict[str, bytes] = {}

    async def embed(self, texts: Sequence[str], tenant: str) -> Sequence[bytes]:
        return [self.vectors[text] for text in texts]


class _Chance:
    """Texts and vectors that every run makes alike."""

    def __init__(self) -> None:
        self._random = random.Random(20_251_122)
        self._words = [
            "".join(self._random.choices(string.ascii_lowercase, k=3 + n % 8))
            for n in range(50_000)
        ]
        self._weights = list(accumulate(1 / (rank + 1) for rank in range(len(self._words))))
        self._noise = [self._random.gauss(0, NOISE) for _ in range(1 << 16)]
        self._centres = [
            [self._random.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(CENTRES)
        ]

    def text(self) -> str:
        """Return words as often as words are in texts: the second half as often as the first, and
        so on.
        """
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=WORDS))

    def vector(self) -> bytes:
        start = self._random.randrange(len(self._noise) - DIMENSIONS)
        noise = self._noise[start : start + DIMENSIONS]
        near = self._random.choice(self._centres)
        return unit([one + other for one, other in zip(near, noise, strict=True)]) or b""

    def query(self, text: str) -> str:
        return " ".join(self._random.sample(text.split(), QUERY_WORDS))


async def _searched(url: str, most: int) -> list[Reading]:
    store = await open_store(url)
    offload = Offload(thread_turns())
    queries = _Embeddings()
    chance = _Chance()
    vectors = dict[int, bytes]()
    try:
        queries.vectors = await _fill(store, chance, most, vectors)
        searching = searching_of(store, queries, offload)
        readings = []
        for mode, ranking in MODES.items():
            took = [
                await _cost(searching, query, ranking)
                for query in (*queries.vectors, *queries.vectors)
            ]
            each = sum(took[QUERIES:]) / QUERIES * 1000  # the first round loads the signatures
            readings.append((f"search of {most:,} chunks by {mode}, CPU ms", OURS, each))
        recall = await _recall(searching, queries.vectors, vectors)
        readings.append((f"recall of the 10 nearest of {most:,} chunks", OURS, recall))
        return readings
    finally:
        offload.close()
        await store.close()


async def _fill(
    store: Store, chance: _Chance, most: int, vectors: dict[int, bytes]
) -> dict[str, bytes]:
    """Store the chunks, note their vectors in order, and return queries with vectors."""
    queries: dict[str, bytes] = {}
    for start in range(0, most, IN_A_FILE):
        file = IndexedFile(TENANT, STORE, f"file-{start}", 1, "bench.txt")
        for part in range(start, start + IN_A_FILE, AT_ONCE):
            rows = []
            for place in range(part, min(part + AT_ONCE, start + IN_A_FILE)):
                text = chance.text()
                vectors[place] = chance.vector()
                rows.append(ChunkRow(place - start, text, WORDS, vectors[place]))
            await put_chunks(store, file, rows)
        await store.write(chunks.publish, file)
        if len(queries) < QUERIES:
            queries[chance.query(rows[0].text)] = chance.vector()
    while len(queries) < QUERIES:
        queries[chance.query(rows[0].text)] = chance.vector()
    return queries


async def _cost(searching: Searching, query: str, ranking: Ranking) -> float:
    began = time.process_time()
    await searching.search(SearchRequest(TENANT, (STORE,), (query,), 10, None, ranking))
    return time.process_time() - began


async def _recall(
    searching: Searching, queries: Mapping[str, bytes], vectors: Mapping[int, bytes]
) -> float:
    """Return which part of the ten nearest chunks a search by vectors alone finds."""
    found = 0
    for query, vector in list(queries.items())[:COMPARED]:
        numbers = floats(vector)
        exact = nlargest(
            10, ((sum(map(mul, floats(one), numbers)), place) for place, one in vectors.items())
        )
        request = SearchRequest(TENANT, (STORE,), (query,), 10, None, Ranking(text_weight=0))
        hits = (await searching.search(request)).hits
        places = {int(hit.file_id.removeprefix("file-")) + hit.position for hit in hits}
        found += len(places & set(map(itemgetter(1), exact)))
    return found / (10 * COMPARED)


async def _indexed(files: int = 8) -> float:
    """Return the megabytes per CPU second; an overlap of half a chunk has each text indexed
    twice.
    """
    store = await open_store("sqlite://")
    chance = _Chance()
    texts = ["\n".join(chance.text() for _ in range(128)) for _ in range(files)]
    began = time.process_time()
    for place, text in enumerate(texts):
        file = IndexedFile(TENANT, STORE, f"file-{place}", 1, "bench.txt")
        rows = [ChunkRow(chunk.position, chunk.text, chunk.tokens) for chunk in chunks_of(text)]
        for start in range(0, len(rows), AT_ONCE):
            await put_chunks(store, file, rows[start : start + AT_ONCE])
        await store.write(chunks.publish, file)
    took = time.process_time() - began
    await store.close()
    return sum(map(len, texts)) / took / 1e6
