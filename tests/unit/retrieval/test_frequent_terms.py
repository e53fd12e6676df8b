"""Counts of frequent terms are kept for one revision of a store."""

from antiphon.retrieval.frequent_terms import LEAST, MOST_STORES, MOST_TERMS, NONE, FrequentTerms
from antiphon.search.bm25 import Corpus
from antiphon.storage.records.chunks import KeywordMatches, TermCounts


def found(revision: int, **counts: int) -> KeywordMatches:
    return KeywordMatches(Corpus(100_000, 1, counts), revision)


def test_counts_of_frequent_terms_gather_until_the_store_changes() -> None:
    kept = FrequentTerms()
    kept.note("t", "vs", found(1, the=LEAST, rare=LEAST - 1))
    kept.note("t", "vs", found(1, of=90_000))

    assert kept.known("t", "vs") == TermCounts(1, {"the": LEAST, "of": 90_000})
    assert kept.known("other", "vs") == NONE
    kept.note("t", "vs", found(2, a=5000))
    assert kept.known("t", "vs") == TermCounts(2, {"a": 5000})


def test_a_search_without_frequent_terms_notes_nothing() -> None:
    kept = FrequentTerms()
    kept.note("t", "vs", found(1, rare=1))
    assert kept.known("t", "vs") == NONE


def test_terms_and_stores_are_bounded() -> None:
    kept = FrequentTerms()
    for number in range(MOST_TERMS + 10):
        kept.note("t", "vs", found(1, **{f"w{number}": LEAST}))
    for number in range(MOST_STORES):
        kept.note("t", f"vs_{number}", found(1, the=LEAST))

    assert len(kept.known("t", "vs_0").counts) == 1
    assert kept.known("t", "vs") == NONE
    kept.note("t", "vs", found(1, **{f"w{number}": LEAST for number in range(MOST_TERMS + 10)}))
    assert len(kept.known("t", "vs").counts) == MOST_TERMS
