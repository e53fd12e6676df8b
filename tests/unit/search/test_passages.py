"""Hits as a model reads them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.chunking import chunks_of, estimate_tokens
from antiphon.search.contract import ChunkHit
from antiphon.search.passages import fitting, merged
from tests.support.chance import examples

TEXT = "".join(
    f"This is line {number} of a text with many different lines in it, so that it has chunks.\n"
    for number in range(80)
)
HITS = [
    ChunkHit("file-1", "a.txt", "vs_1", 1 - chunk.position / 100, {}, chunk.text, chunk.position)
    for chunk in chunks_of(TEXT, 200, 100)
]


@given(st.permutations(range(len(HITS))))
@examples(50)
def test_neighbours_become_one_text_that_repeats_nothing(order: list[int]) -> None:
    (hit,) = merged([HITS[place] for place in order])
    assert (hit.text, hit.position, hit.score) == (TEXT, 0, 1.0)


def test_what_is_between_two_chunks_keeps_them_apart() -> None:
    found = merged([HITS[3], HITS[0], HITS[4]])
    assert [hit.position for hit in found] == [3, 0]
    assert found[0].text.startswith(HITS[3].text) and found[0].text.endswith(HITS[4].text[-50:])


def test_passages_of_different_files_and_stores_are_not_merged() -> None:
    other = replace(HITS[1], file_id="file-2")
    elsewhere = replace(HITS[1], store_id="vs_2")
    assert merged([HITS[0], other, elsewhere]) == [HITS[0], other, elsewhere]


def test_neighbours_without_an_overlap_stay_as_they_are() -> None:
    first = replace(HITS[0], text="One text.")
    second = replace(HITS[1], text="Another text.")
    assert merged([first, second]) == [first, second]


def test_hits_are_included_until_the_budget_is_spent() -> None:
    sizes = [estimate_tokens(hit.text) for hit in HITS]
    assert fitting(HITS, sum(sizes[:3])) == HITS[:3]
    assert fitting(HITS, sum(sizes[:3]) - 1) == HITS[:2]
    assert fitting(HITS, 0) == []
