"""Each format, as models write it: the same calls come of it, however it is cut."""

import pytest

from antiphon.translation.from_chat.text_calls.formats import FORMATS, LONGEST_CLOSING
from tests.unit.translation.from_chat.text_calls.samples import (
    CALL,
    LIST,
    MENTIONS,
    SAMPLES,
    Sample,
)
from tests.unit.translation.from_chat.text_calls.support import found_in, halves, raw_of

MARKED = [
    each for each in SAMPLES if {row.name: row for row in FORMATS}[each.format].stand != "answer"
]

each_sample = pytest.mark.parametrize(
    "sample", SAMPLES, ids=[f"{each.format}: {each.about}" for each in SAMPLES]
)
each_mention = pytest.mark.parametrize("text", MENTIONS.values(), ids=MENTIONS.keys())


def test_every_format_has_a_sample() -> None:
    assert {each.format for each in SAMPLES} == {each.name for each in FORMATS}


@each_sample
def test_a_call_is_found(sample: Sample) -> None:
    assert found_in(sample.text) == sample.found


@each_sample
def test_a_call_is_found_in_two_parts_cut_anywhere(sample: Sample) -> None:
    assert {found_in(*parts) == sample.found for parts in halves(sample.text)} == {True}


@each_sample
def test_a_call_is_found_letter_by_letter(sample: Sample) -> None:
    assert found_in(*sample.text) == sample.found


@pytest.mark.parametrize("sample", MARKED, ids=[f"{each.format}: {each.about}" for each in MARKED])
def test_a_call_is_found_behind_code_and_another_call(sample: Sample) -> None:
    before = "A `word`, and\n```py\nx\n```\n"
    first, *rest = sample.found
    expected = (f"\n{first}", *rest) if isinstance(first, str) else ("\n", first, *rest)
    assert found_in(f"{before}{CALL}\n{sample.text}") == (before, LIST, *expected)


@each_sample
def test_nothing_is_lost_where_an_answer_breaks_off(sample: Sample) -> None:
    for at in range(len(sample.text)):
        assert raw_of(sample.text[:at]) == sample.text[:at]


@each_mention
def test_a_mention_stays_text_byte_for_byte(text: str) -> None:
    assert found_in(text) == (text,)


@each_mention
def test_a_mention_stays_text_in_two_parts_cut_anywhere(text: str) -> None:
    assert {found_in(*parts) for parts in halves(text)} == {(text,)}


@each_mention
def test_a_mention_stays_text_letter_by_letter(text: str) -> None:
    assert found_in(*text) == (text,)


def test_no_closing_mark_is_longer_than_the_text_buffered_to_find_it() -> None:
    patterns = [each.closing.pattern for each in FORMATS if each.closing]
    assert max(map(len, patterns)) < 2 * LONGEST_CLOSING
