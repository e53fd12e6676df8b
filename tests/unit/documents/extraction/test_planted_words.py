"""A word in every place of a file is in its text; a limit that leaves one out is named in the
text.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.documents.extraction import formats
from antiphon.documents.extraction.output import ExtractionBounds
from tests.support.chance import examples
from tests.support.planted import KINDS, Planted, Size

LONGEST = 20_000_000
SIZES = st.builds(Size, st.integers(2, 30), st.integers(1, 30), st.integers(1, 4))


def missing(file: Planted, bounds: ExtractionBounds) -> tuple[dict[str, int], str, bool]:
    """How many words of each place are not in the text, the text, and whether it is said to be
    cut.
    """
    _, output = formats.read(file.content, file.name, bounds)
    text = output.content().decode()
    seen = set(re.findall(r"\w+", text))
    lost = {place: len(set(words) - seen) for place, words in file.places.items()}
    return {place: number for place, number in lost.items() if number}, text, output.is_cut


@pytest.mark.wide
@examples(5)
@given(st.sampled_from(list(KINDS)), SIZES)
def test_the_whole_text_has_every_word(kind: str, size: Size) -> None:
    lost, _, is_cut = missing(KINDS[kind](size), ExtractionBounds(LONGEST))
    assert (lost, is_cut) == ({}, False)


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_text_of_each_kind_of_file_has_every_word(kind: str) -> None:
    assert (
        missing(KINDS[kind](Size(rows=3, columns=4, pages=2)), ExtractionBounds(LONGEST))[0] == {}
    )


@pytest.mark.wide
@pytest.mark.parametrize(
    ("kind", "size", "notes"),
    [
        ("csv", Size(7, 2, 1), ["5 of 8 rows"]),
        ("by_xlsxwriter", Size(3, 9, 1), ["5 of 6 rows", "4 of 9 columns"]),
        ("by_xlsxwriter", Size(2, 9, 1), ["4 of 9 columns"]),
        ("by_reportlab", Size(1, 1, 9), ["3 of 10 pages"]),
    ],
)
def test_the_text_for_a_request_names_the_omitted_words(
    kind: str, size: Size, notes: list[str]
) -> None:
    lost, text, is_cut = missing(
        KINDS[kind](size), ExtractionBounds(LONGEST, rows=5, columns=4, pages=3)
    )
    assert lost
    assert is_cut
    assert re.findall(r"\[Only the first (.*) are shown\.\]", text) == notes
