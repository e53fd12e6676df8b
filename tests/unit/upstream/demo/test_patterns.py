import re
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.demo.patterns import texts

ATOMS = st.sampled_from(
    [
        *("a", "Z", "0", " ", "-", "é", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\.", r"\\", r"\(", r"\t"),
        *("[abc]", "[a-z]", "[^a-z]", "[a-z0-9_-]", r"[\d.]", r"[\]x]", "[]x]", "[^]a]", r"\x41", r"\u00e9", "[+-]"),
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{2,}", "{0,3}", "{1,2}", "+?", "*?"])


GROUP_QUANTIFIERS = st.sampled_from(["", "?", "{2}", "{0,1}"])


def grown(inner):
    pieces = st.lists(inner, min_size=1, max_size=3).map("".join)
    alternatives = st.lists(pieces, min_size=1, max_size=3).map("|".join)
    return st.builds("{}{}){}".format, st.sampled_from(["(", "(?:", "(?P<n>"]), alternatives, GROUP_QUANTIFIERS)


def is_tame(pattern):
    """The expression is run here, so it must not be one of those that never end; and names stand once."""
    return sum(map(pattern.count, ("*", "+", ",}"))) < 4 and pattern.count("(?P<n>") < 2


PIECES = st.recursive(st.tuples(ATOMS, QUANTIFIERS).map("".join), grown, max_leaves=6)
PATTERNS = st.lists(PIECES, max_size=3).map("".join).filter(is_tame)


@given(PATTERNS, st.booleans(), st.integers(0, 100))
def test_a_pattern_is_found_in_its_texts(pattern, anchored, vary):
    pattern = f"^(?:{pattern})$" if anchored else pattern

    for text in islice(texts(pattern, vary), 4):
        assert re.search(pattern, text)


def test_texts_grow_as_far_as_the_pattern_lets_them():
    assert [len(text) for text in islice(texts("^x[a-z]{2,5}$"), 6)] == [3, 4, 5, 6, 6, 6]


def test_another_number_chooses_other_characters():
    assert {next(texts("^[A-Z]{2}$", vary)) for vary in range(3)} == {"AA", "BB", "CC"}


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(a", "[a", "[", "*", "a**+*", "a{", "a{x}", "a{,}b{9", "\\", r"\x4", r"\b", r"\1", r"\p{L}"),
        *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?i)a", "(?P=n)", "[^\\w\\W]", "((a{900}){900}){900}"),
    ],
)
def test_what_is_not_understood_is_refused(pattern):
    with pytest.raises(ValueError):
        next(texts(pattern))


@given(st.text(st.sampled_from("ab\\[](){}|?*+^$.,-<>=!:dwx019"), max_size=12))
def test_any_text_is_a_pattern_with_texts_or_is_refused(pattern):
    with suppress(ValueError):
        assert isinstance(next(texts(pattern)), str)
