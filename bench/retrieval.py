"""How well searches find the passage that answers a query: the mean reciprocal rank of the first
ten (MRR@10).

The vectors are those of `Spelling`, an embedder that every run repeats exactly: it knows how words
are spelled, and nothing of what they mean. So the figures of vectors compare versions of this code;
a model finds more than it does.
"""

import asyncio
import math
from collections.abc import Iterator, Sequence
from zlib import crc32

from antiphon.retrieval.searching import Searching
from antiphon.search.contract import Ranking, SearchRequest
from antiphon.search.terms import terms_of
from antiphon.search.vectors import unit
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.storage.chunk_writer import put_chunks
from antiphon.storage.open import open_store
from antiphon.storage.operations import chunks
from antiphon.storage.records.chunks import ChunkRow, IndexedFile
from bench.report import OURS, Reading
from bench.retrieval_texts import PASSAGES
from bench.searched import STORE, TENANT, searching_of

MODES = {
    "keywords": Ranking(embedding_weight=0),
    "vectors of spelling": Ranking(text_weight=0),
    "both": Ranking(),
}


class Spelling:
    """Embeds a text by its terms and their trigrams, hashed into 512 numbers."""

    model = "spelling"
    dimensions = 512

    async def embed(self, texts: Sequence[str], tenant: str) -> Sequence[bytes]:
        """Return the vectors of the texts."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        numbers = [0.0] * self.dimensions
        for term in terms_of(text):
            framed = f"_{term}_"
            parts = [framed, *(framed[place : place + 3] for place in range(len(framed) - 2))]
            for part in parts:
                digest = crc32(part.encode())
                numbers[digest % self.dimensions] += (1 if digest & 1 << 31 else -1) / math.sqrt(
                    len(parts)
                )
        return unit(numbers) or unit([1.0] * self.dimensions) or b""


def reading(url: str = "sqlite://") -> Iterator[Reading]:
    """Give the mean reciprocal rank of each way to search, from 0 to 1, in an empty store."""
    for mode, rank in asyncio.run(ranks(url)).items():
        yield f"MRR@10 of {mode}, {_count()} queries of {len(PASSAGES)} passages", OURS, rank


def _count() -> int:
    return sum(map(len, PASSAGES.values()))


async def ranks(url: str) -> dict[str, float]:
    """Return the mean reciprocal rank by each way to search."""
    store = await open_store(url)
    offload = Offload(thread_turns())
    spelling = Spelling()
    try:
        for place, (passage, vector) in enumerate(
            zip(PASSAGES, await spelling.embed(list(PASSAGES), TENANT), strict=True)
        ):
            file = IndexedFile(TENANT, STORE, f"file-{place}", 1, "passage.txt")
            await put_chunks(store, file, [ChunkRow(0, passage, 1, vector)])
            await store.write(chunks.publish, file)
        searching = searching_of(store, spelling, offload)
        return {mode: await _mean_rank(searching, ranking) for mode, ranking in MODES.items()}
    finally:
        offload.close()
        await store.close()


async def _mean_rank(searching: Searching, ranking: Ranking) -> float:
    total = 0.0
    for passage, queries in PASSAGES.items():
        for query in queries:
            request = SearchRequest(TENANT, (STORE,), (query,), 10, None, ranking)
            found = [hit.text for hit in (await searching.search(request)).hits]
            total += 1 / (found.index(passage) + 1) if passage in found else 0
    return total / _count()
