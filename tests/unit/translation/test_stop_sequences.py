"""Stop sequences are found however a text is cut into pieces, and all before the first remains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.stop_sequences import StopSequences, StopWatch
from tests.support.chance import examples


def watch(sequences: list[str], pieces: list[str]) -> tuple[str, str | None]:
    """The text that remains of these pieces, and the sequence that ended it."""
    watched = StopWatch(StopSequences(sequences))
    certain = [watched.feed(piece) for piece in pieces]
    return "".join(certain) + watched.flush(), watched.found


@pytest.mark.parametrize(
    ("sequences", "text", "expected"),
    [
        (["b"], "abc", ("a", "b")),
        (["abc", "b"], "abc", ("a", "b")),  # the one that is complete first
        (["b", "ab"], "cab", ("c", "ab")),  # of two that end together, the longer one
        (["END"], "the EN", ("the EN", None)),
        (["\n\n"], "a\nb\n\nc", ("a\nb", "\n\n")),
        (["é"], "cafés", ("caf", "é")),
        (["]", "^-"], "a-]", ("a-", "]")),
        (["A"], "banana", ("banana", None)),
    ],
)
def test_a_text_ends_before_the_first_sequence(
    sequences: list[str], text: str, expected: tuple[str, str | None]
) -> None:
    assert watch(sequences, [text]) == expected
    assert watch(sequences, [*text]) == expected


@examples(100)
@given(
    st.lists(st.text("ab\n", min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.text("ab\n", max_size=4), max_size=8),
)
def test_the_pieces_of_a_text_do_not_matter(sequences: list[str], pieces: list[str]) -> None:
    assert watch(sequences, pieces) == watch(sequences, ["".join(pieces)])


def test_nothing_that_can_begin_a_sequence_is_sent_early() -> None:
    watched = StopWatch(StopSequences(["END"]))

    assert [watched.feed(piece) for piece in ("a E", "N", "d E")] == ["a ", "", "ENd "]
