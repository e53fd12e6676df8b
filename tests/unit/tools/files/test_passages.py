"""What a search found, as passages for the model."""

import pytest

from antiphon.search.chunking import estimate_tokens
from antiphon.tools.files.passages import MOST_TOKENS, key_of, passages_of
from tests.support.shelves import hit

SHARED = "The tide turns at nine o'clock. "


def test_adjacent_hits_are_one_passage_with_their_overlap_once() -> None:
    hits = [
        hit(SHARED + "Then it falls.", position=5),
        hit("x", "x.md"),
        hit("Brest. " + SHARED, position=4),
    ]

    (passage, other), left = passages_of(hits, None)

    assert (passage.text, key_of(passage), left) == (
        "Brest. " + SHARED + "Then it falls.",
        "file-tides#4",
        0,
    )
    assert other.text == "x"


def test_the_same_chunk_of_two_stores_comes_once() -> None:
    passages, left = passages_of([hit("a"), hit("a", store_id="vs_2")], None)

    assert ([one.text for one in passages], left) == (["a"], 0)


@pytest.mark.parametrize(
    ("window", "tokens"), [(None, MOST_TOKENS), (3_000, 1_000), (10**6, MOST_TOKENS)]
)
def test_passages_take_a_third_of_the_window_and_no_more_than_the_limit(
    window: int | None, tokens: int
) -> None:
    hits = [hit("x" * 400, f"{number}.md") for number in range(300)]  # of 100 tokens each

    passages, left = passages_of(hits, window)

    assert (len(passages), left) == (tokens // 100, 300 - tokens // 100)


def test_passages_end_at_what_does_not_fit_so_that_the_best_are_included() -> None:
    passages, left = passages_of(
        [hit("a", "a.md"), hit("b" * 4_000, "b.md"), hit("c", "c.md")], 1_500
    )

    assert ([one.text for one in passages], left) == (["a"], 2)


@pytest.mark.parametrize("character", ["x", "é", "潮"])
def test_of_a_chunk_that_does_not_fit_the_model_reads_the_beginning(character: str) -> None:
    (passage,), left = passages_of([hit(character * 4_000), hit("b", "b.md")], 300)

    assert 80 <= estimate_tokens(passage.text) <= 100
    assert left == 1


def test_a_full_window_is_reported_with_what_was_omitted() -> None:
    (passage,), left = passages_of([hit("a" * 400), hit("b", "b.md")], 0)

    assert (passage.text, left) == ("", 1)
