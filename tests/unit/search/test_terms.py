"""Terms of texts in many languages."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.index_terms import expression, indexed, lexemes
from antiphon.search.terms import LONGEST, counter_of, terms_of
from tests.support.chance import examples

WORDS = [
    "straße",
    "STRASSE",
    "GetUserName",
    "user_name",
    "x86",
    "机器学习",
    "哈哈哈",
    "العَرَبِيَّة",
    "naïve",
    "ﬁne",
    "a",
    "art",
    "start",
]
texts = st.lists(
    st.sampled_from([*WORDS, " ", ".", "\n", "-"]) | st.text(max_size=8), max_size=12
).map("".join)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Die Größe der Straße", ["die", "grosse", "der", "strasse"]),
        ("机器学习", ["机", "器", "学", "习", "机器", "器学", "学习"]),
        ("العَرَبِيَّةُ", ["العربية"]),
        ("user_name", ["user", "name"]),
        ("getHTTPServer", ["gethttpserver", "get", "http", "server"]),
        ("don't", ["don", "t"]),
        ("ﬁne Ångström łódź", ["fine", "angstrom", "lodz"]),
        ("iPhone15", ["iphone15", "i", "phone", "15"]),
        ("... --- \n", []),
    ],
)
def test_a_text_has_terms(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_a_query_has_the_fewest_terms_that_find_a_text() -> None:
    assert terms_of("机器学习 猫", is_query=True) == ["机器", "器学", "学习", "猫"]


@given(texts)
@examples(200)
def test_every_term_of_a_query_is_a_term_of_the_same_text(text: str) -> None:
    assert set(terms_of(text, is_query=True)) <= set(terms_of(text))


@given(texts, st.lists(st.sampled_from(WORDS), max_size=3))
@examples(300)
def test_terms_are_counted_as_they_are_found(text: str, words: list[str]) -> None:
    terms = [*terms_of(text), *(term for word in words for term in terms_of(word))]
    counted = Counter(terms_of(text))

    assert counter_of(terms)(text) == [counted[term] for term in terms]


@given(texts)
@examples(200)
def test_terms_pass_through_the_index_of_sqlite_as_they_are(text: str) -> None:
    """Its tokenizer cuts at every ASCII character that is neither letter nor digit, and lowers no
    other letters.
    """
    for term in terms_of(text):
        assert 0 < len(term) <= LONGEST
        assert all(not character.isascii() or character.isalnum() for character in term)
        assert term.lower() == term or not term.isascii()


def test_the_terms_of_a_store_begin_with_its_number() -> None:
    assert indexed(300, ["a", "机"]) == "12cza 12cz机"
    assert expression(1, ["a", "b"]) == '"1za" OR "1zb"'
    assert [one["lexeme"] for one in lexemes(2, {"a": 1.0})] == ["2za", "2za+2", "2za+4"]


def test_a_long_run_of_letters_next_to_an_identifier_takes_linear_time() -> None:
    began = time.process_time()
    assert terms_of("a" * 64_000 + " camelCase")[1:] == ["camelcase", "camel", "case"]
    assert time.process_time() - began < 0.5, "quadratic time takes 15 s"
