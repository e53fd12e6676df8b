"""Texts are cut into chunks: whole, bounded, overlapping, and in a time that grows with the
text.
"""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.chunking import LARGE, Chunk, chunks_of, estimate_tokens
from tests.support.chance import examples

PIECES = [
    *(
        "a word ",
        "A sentence. ",
        "One! Two? ",
        "\n",
        "\n\n",
        "x" * 700,
        "word " * 150,
        "    ",
        "\t",
    ),
    *(
        "机器学习是人工智能。",
        "机" * 200,
        "è",
        "e\u0301",
        "👩\u200d👩\u200d👧",
        "اللغة العربية. ",
        "\ud800",
        "\r\n",
        "naïve café ",
    ),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=40), max_size=60).map("".join)
sizes = st.integers(100, 400).flatmap(
    lambda most: st.tuples(st.just(most), st.integers(0, most // 2))
)


def cut(text: str, most: int = 800, overlap: int = 400) -> list[Chunk]:
    return list(chunks_of(text, most, overlap))


def are_whole(text: str, chunks: list[Chunk]) -> bool:
    """Whether the chunks can be parts of a text, in order, with only blanks before, between and
    behind them.

    In a text that repeats itself a chunk has several places, and only one of these can lead on: all
    are followed.
    """
    nexts = [len(text)] * (len(text) + 1)
    """Where the next character that is not blank is, from each place."""
    for place in reversed(range(len(text))):
        nexts[place] = nexts[place + 1] if text[place].isspace() else place

    places = [-1]
    size = 1
    for chunk in chunks:
        found = list[int]()
        limit = nexts[places[-1] + size] + len(chunk.text)
        before = 0
        place = text.find(chunk.text, places[0] + 1, limit)
        while place >= 0:
            while before + 1 < len(places) and places[before + 1] < place:
                before += 1
            if place <= nexts[places[before] + size]:
                found.append(place)
            place = text.find(chunk.text, place + 1, limit)
        if not found:
            return False
        places = found
        size = len(chunk.text)
    return nexts[places[-1] + size] == len(text)


@given(texts, sizes)
@examples(200)
def test_every_character_but_blanks_is_in_a_chunk_of_a_bounded_size(
    text: str, size: tuple[int, int]
) -> None:
    chunks = cut(text, *size)

    assert all(chunk.tokens <= size[0] for chunk in chunks)
    assert all(estimate_tokens(chunk.text) <= chunk.tokens for chunk in chunks)
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert not any(chunk.text.isspace() for chunk in chunks)
    assert are_whole(text, chunks)


@given(texts, sizes)
@examples(100)
def test_without_an_overlap_the_chunks_are_the_text(text: str, size: tuple[int, int]) -> None:
    chunks = cut(text, size[0], 0)

    assert are_whole(text, chunks)
    assert sum(len(chunk.text) for chunk in chunks) <= len(text)


@given(texts, sizes)
@examples(100)
def test_neighbours_share_at_most_the_overlap(text: str, size: tuple[int, int]) -> None:
    chunks = cut(text, *size)
    assert sum(chunk.tokens for chunk in chunks) <= estimate_tokens(text) + len(chunks) * (
        size[1] + 1
    )


REPEATING = "a word " + "word " * 750
"""A text in which the first place of a chunk is not its own."""


@pytest.mark.parametrize("size", [(100, 0), (100, 48), (100, 50)])
def test_every_character_of_a_text_that_repeats_itself_is_in_a_chunk(size: tuple[int, int]) -> None:
    chunks = cut(REPEATING, *size)

    assert are_whole(REPEATING, chunks)
    assert not are_whole("another " + REPEATING, chunks)
    assert not are_whole(REPEATING + "another", chunks)


@pytest.mark.parametrize("left", range(1, 6))
def test_a_text_with_incomplete_chunks_is_not_whole(left: int) -> None:
    text = " ".join(f"word{number}" for number in range(600))
    chunks = cut(text, 100, 0)

    assert len(chunks) > 6
    assert not are_whole(text, chunks[:left] + chunks[left + 1 :])


def test_neighbours_share_whole_lines() -> None:
    lines = [
        f"Line {number} has some more words so that it is long enough to be a unit alone.\n"
        for number in range(60)
    ]
    first, second, *_ = cut("".join(lines), 200, 100)
    shared = [line for line in lines if line in first.text and line in second.text]

    assert len(shared) == 5
    assert first.text.endswith("".join(shared)) and second.text.startswith("".join(shared))


def test_a_long_line_is_cut_behind_its_sentences() -> None:
    text = " ".join(f"This is the sentence of number {number}." for number in range(200))
    for chunk in cut(text, 100, 0)[:-1]:
        assert chunk.text.endswith(". ")


def test_a_long_sentence_is_cut_behind_a_word() -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    assert " ".join(chunk.text.strip() for chunk in cut(words, 100, 0)) == words


@pytest.mark.parametrize("character", ["e\u0301", "👩\u200d👩\u200d👧\u200d👦", "क्षि"])
def test_no_cut_is_inside_a_character(character: str) -> None:
    for chunk in cut(character * 3000, 100, 0):
        assert not unicodedata.category(chunk.text[0]).startswith("M")
        assert chunk.text[0] != "\u200d" != chunk.text[-1]


def test_tokens_are_quarters_of_bytes_and_characters_of_chinese() -> None:
    assert [
        estimate_tokens(text) for text in ("", "a", "word", "words", "机器学习", "über", "한국어")
    ] == [
        0,
        1,
        1,
        2,
        4,
        2,
        3,
    ]


def test_a_large_text_has_the_tokens_of_its_parts() -> None:
    assert estimate_tokens("aé机" * LARGE) == LARGE * 7 // 4
    assert estimate_tokens("a" * (4 * LARGE + 1)) == LARGE + 1


@pytest.mark.parametrize(("most", "overlap"), [(99, 0), (4097, 0), (100, 51), (800, -1)])
def test_bounds_beyond_those_of_the_api_are_refused(most: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="tokens must be"):
        chunks_of("text", most, overlap)


@pytest.mark.parametrize("part", ["word and word. ", "\n", "a", "机器学习。", "x\n", "é"])
def test_two_megabytes_take_well_under_a_second(part: str) -> None:
    text = part * (1_800_000 // len(part.encode()))
    begun = time.process_time()
    count = sum(1 for _ in chunks_of(text))

    assert time.process_time() - begun < 1.0
    assert count < 10_000


@pytest.mark.parametrize("unit", [".", ".'", "a.", "! ", "…”"])
def test_a_line_of_punctuation_takes_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    began = time.process_time()
    assert "".join(chunk.text for chunk in chunks_of(text, overlap_tokens=0)) == text
    assert time.process_time() - began < 2, "quadratic time takes a minute"
