"""Keyword scores."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.bm25 import MOST_READ, MOST_TERMS, Corpus, query_terms, scores
from tests.support.chance import examples


def corpus(chunks: int = 1000, **counts: int) -> Corpus:
    return Corpus(chunks, 10 * chunks, counts)


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=30).map(" ".join), max_size=5),
    st.fixed_dictionaries({term: st.integers(0, 2000) for term in "abx"}),
)
@examples(200)
def test_scores_lie_between_0_and_1(texts: list[str], counts: dict[str, int]) -> None:
    found = scores([(text, len(text.split())) for text in texts], Corpus(1000, 10_000, counts))
    assert all(0 <= score <= 1 for score in found)


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    rare, frequent, both = scores(
        [("rare x", 2), ("the x", 2), ("the rare", 2)], corpus(rare=3, the=900)
    )
    assert both > rare > 5 * frequent > 0


def test_more_occurrences_count_more_and_less_each_time() -> None:
    one, two, three = scores([("a x x", 3), ("a a x", 3), ("a a a", 3)], corpus(a=10))
    assert one < two < three and two - one > three - two


def test_a_short_text_counts_more_than_a_long_one() -> None:
    short, long = scores([("a", 10), ("a", 100)], corpus(a=10))
    assert short > long


def test_a_word_that_no_chunk_has_lowers_every_score() -> None:
    (known,) = scores([("a", 10)], corpus(a=10))
    (unknown,) = scores([("a", 10)], corpus(a=10, nowhere=0))
    assert unknown < known


def test_the_rarest_words_are_searched_until_they_match_many() -> None:
    frequent = corpus(100_000, the=90_000, a=5, b=MOST_READ - 10, c=MOST_READ, none=0)
    assert query_terms(frequent) == ["a", "b"]


def test_a_query_of_frequent_words_is_searched_by_the_rarest() -> None:
    assert query_terms(corpus(100_000, the=90_000, of=80_000)) == ["of"]
    assert query_terms(corpus(10, the=9, of=8)) == ["of", "the"]


def test_a_long_query_counts_by_its_rarest_words() -> None:
    counts = {f"w{number:03}": number for number in range(1, 100)}
    assert list(Corpus(1000, 1000, counts).weights()) == [
        f"w{number:03}" for number in range(1, MOST_TERMS + 1)
    ]


def test_nothing_is_found_in_nothing() -> None:
    assert scores([], corpus()) == [] and scores([("a", 1)], corpus()) == [0.0]
    assert query_terms(corpus(0, a=0)) == []
