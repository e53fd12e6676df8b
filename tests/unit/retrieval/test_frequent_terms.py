"""Counts of frequent terms are kept for one revision of a store."""

from antiphon.retrieval.frequent_terms import LEAST, MOST_STORES, MOST_TERMS, NONE, FrequentTerms
from antiphon.search.bm25 import Corpus
from antiphon.storage.records.chunks import KeywordMatches, TermCounts


def found(revision: int, **counts: int) -> KeywordMatches:
    return KeywordMatches(Corpus(100_000, 1, counts), revision)


def test_counts_of_frequent_terms_gather_until_the_store_changes() -> None:
    stored = FrequentTerms()
    stored.note("t", "vs", found(1, the=LEAST, rare=LEAST - 1))
    stored.note("t", "vs", found(1, of=90_000))

    assert stored.known("t", "vs") == TermCounts(1, {"the": LEAST, "of": 90_000})
    assert stored.known("other", "vs") == NONE
    stored.note("t", "vs", found(2, a=5000))
    assert stored.known("t", "vs") == TermCounts(2, {"a": 5000})


def test_a_search_without_frequent_terms_notes_nothing() -> None:
    stored = FrequentTerms()
    stored.note("t", "vs", found(1, rare=1))
    assert stored.known("t", "vs") == NONE


def test_terms_and_stores_are_bounded() -> None:
    stored = FrequentTerms()
    for number in range(MOST_TERMS + 10):
        stored.note("t", "vs", found(1, **{f"w{number}": LEAST}))
    for number in range(MOST_STORES):
        stored.note("t", f"vs_{number}", found(1, the=LEAST))

    assert len(stored.known("t", "vs_0").counts) == 1
    assert stored.known("t", "vs") == NONE
    stored.note("t", "vs", found(1, **{f"w{number}": LEAST for number in range(MOST_TERMS + 10)}))
    assert len(stored.known("t", "vs").counts) == MOST_TERMS
