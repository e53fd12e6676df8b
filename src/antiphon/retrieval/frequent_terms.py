"""A cache of how many chunks contain the frequent terms of recently searched stores.

Counting a word that is in most of 100,000 chunks takes 6 ms, longer than the rest of a search by
keywords. Queries share such words. A count is valid for one revision of its store, so the scores
equal those of a new count.
"""

from collections import OrderedDict

from antiphon.storage.records.chunks import KeywordMatches, TermCounts

LEAST = 2_000
"""Chunks with a term above which its count is cached: counting fewer takes less than 0.2 ms."""

MOST_TERMS, MOST_STORES = 500, 1_000
"""Cached terms of a store, and stores; the least recently used stores are evicted."""

NONE = TermCounts(-1, {})


class FrequentTerms:
    """Caches counts of terms."""

    def __init__(self) -> None:
        self._stores: OrderedDict[tuple[str, str], TermCounts] = OrderedDict()

    def known(self, tenant: str, store_id: str) -> TermCounts:
        """Return the cached counts for a store."""
        return self._stores.get((tenant, store_id), NONE)

    def note(self, tenant: str, store_id: str, found: KeywordMatches) -> None:
        """Cache the counts of the frequent terms of a search."""
        counts = {term: count for term, count in found.corpus.counts.items() if count >= LEAST}
        key = tenant, store_id
        known = self._stores.get(key)
        if known is not None and known.revision == found.revision:
            counts = known.counts | counts
        if not counts:
            return
        self._stores[key] = TermCounts(found.revision, dict(list(counts.items())[-MOST_TERMS:]))
        self._stores.move_to_end(key)
        if len(self._stores) > MOST_STORES:
            self._stores.popitem(last=False)
