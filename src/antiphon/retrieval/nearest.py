"""The chunks of a store with the vectors nearest to one: signatures in memory select candidates for
exact comparison.

Published data never changes, so the signatures of a file are loaded once. Each search reads the
revision of its store first, and loads new data.
"""

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

from antiphon.retrieval.loaded import MOST, Loaded, LoadedStores
from antiphon.search.filters import Filter
from antiphon.search.vectors import candidates, compared, cosines, integers, signature
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import chunks as stored_chunks
from antiphon.storage.records.chunks import Signatures, file_of
from antiphon.storage.store import Store

SIGNATURE = 32
"""Bytes of JSON that take as long as a signature: 2,000 are compared in 0.4 ms."""


class Nearest:
    """Finds chunks by their vectors."""

    def __init__(self, store: Store, offload: Offload, most: int = MOST) -> None:
        self._store = store
        self._offload = offload
        self.loaded = LoadedStores(most)
        self._loading: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def find(
        self, tenant: str, store_id: str, vector: bytes, filters: Filter | None, most: int
    ) -> list[tuple[int, float]]:
        """Return the numbers of at most this many chunks and their cosines, 0 to 1, best first.

        Raises `StoreError`.
        """
        loaded = await self._fresh(tenant, store_id)
        if loaded is None or not loaded.numbers:
            return []
        passing = (
            None
            if filters is None
            else await self._store.read(stored_chunks.found_files, tenant, store_id, filters)
        )
        wanted = signature(vector)
        size = len(loaded.numbers) * SIGNATURE
        chosen = await self._offload.run(tenant, size, _choose, loaded, wanted, passing)
        vectors = await self._store.read(stored_chunks.vectors, tenant, chosen)
        numbers = len(vectors) * len(vector) // 2  # one takes as long as a byte of JSON
        found = await self._offload.run(tenant, numbers, cosines, vectors, vector)
        return found[:most]

    async def _fresh(self, tenant: str, store_id: str) -> Loaded | None:
        """Return the signatures that a search covers now, if any."""
        now = await self._store.read(stored_chunks.searched_store, tenant, store_id)
        if now is None or not now.chunks:
            self.loaded.drop(tenant, store_id)
            return None
        known = self.loaded.get(tenant, store_id)
        if known is not None and known.revision == now.revision:
            return known
        # The queries of one search run concurrently, and the first loads for all.
        async with self._loading.setdefault((tenant, store_id), asyncio.Lock()):
            known = self.loaded.get(tenant, store_id)
            if known is None or known.revision < now.revision:
                known = await self._load(tenant, store_id, known, now.chunks)
            return known

    async def _load(self, tenant: str, store_id: str, known: Loaded | None, chunks: int) -> Loaded:
        news = await self._store.read(
            stored_chunks.signatures, tenant, store_id, known.files if known else frozenset()
        )
        loaded = await self._offload.run(tenant, chunks * SIGNATURE, _renewed, known, news)
        self.loaded.put(tenant, store_id, loaded)
        return loaded


def _renewed(known: Loaded | None, news: Signatures) -> Loaded:
    """Return the signatures of the files of `news`: known and new ones."""
    numbers: list[int] = []
    signatures: list[int] = []
    if known is not None:
        if known.files <= news.files:
            numbers = known.numbers.copy()
            signatures = known.signatures.copy()
        else:
            stored = [
                place for place, number in enumerate(known.numbers) if file_of(number) in news.files
            ]
            numbers = [known.numbers[place] for place in stored]
            signatures = [known.signatures[place] for place in stored]
    for first, count, packed in news.parts:
        numbers += range(first, first + count)
        signatures += integers(packed, count)
    return Loaded(news.revision, news.files, numbers, signatures)


def _choose(loaded: Loaded, wanted: bytes, passing: frozenset[int] | None) -> list[int]:
    """Return the numbers of the chunks to compare exactly, of the files that pass the filter."""
    numbers: Sequence[int] = loaded.numbers
    signatures: Sequence[int] = loaded.signatures
    if passing is not None:
        places = [place for place, number in enumerate(numbers) if file_of(number) in passing]
        numbers = [numbers[place] for place in places]
        signatures = [signatures[place] for place in places]
    most = compared(len(numbers), 8 * len(wanted))
    return candidates(numbers, signatures, int.from_bytes(wanted, "big"), most)
