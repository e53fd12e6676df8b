"""Answers that a schema holds to JSON are the text inside it, or a call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.from_chat.text_calls.reader import Piece
from antiphon.translation.from_chat.text_calls.wrapped import WrappedReader
from tests.support.replay import text
from tests.support.translate import translate
from tests.unit.translation.from_chat.text_calls.samples import CALL, LIST, OFFERS
from tests.unit.translation.from_chat.text_calls.support import Found, halves, joined

BARE = '{"name": "list_files", "arguments": {}}'

ANSWERS: list[tuple[str, Found]] = [
    ('{"answer": "Hello"}', ("Hello",)),
    (' {"answer":"a \\"b\\" \\u00e9\\n\\ud83c\\udf0a"} ', ('a "b" é\n🌊',)),
    ('{"answer": "Write ' + json.dumps(CALL)[1:-1] + '"}', (f"Write {CALL}",)),
    ('{"answer": ""}', ()),
    ('{"answer": "Broken off', ("Broken off",)),
    (BARE, (LIST,)),
    ('{"arguments": {"path": "a.py"}, "name": "read_file"}', (("read_file", {"path": "a.py"}),)),
    (f"I look.\n{CALL}", ("I look.\n", LIST)),
    ("Hello", ("Hello",)),
    ("5 apples", ("5 apples",)),
    ('["answer"]', ('["answer"]',)),
    ('{"result": "x"}', ('{"result": "x"}',)),
    ('{"result": {"answer": "x"}}', ('{"result": {"answer": "x"}}',)),
    ('{"answer": 5}', ('{"answer": 5}',)),
    ("{never", ("{never",)),
    ("", ()),
]


def found_in(*parts: str) -> Found:
    reader = WrappedReader(OFFERS)
    pieces: list[Piece] = [piece for part in parts for piece in reader.feed(part)]
    return joined([*pieces, *reader.flush(is_answer=True)])


@pytest.mark.parametrize(("stated", "found"), ANSWERS)
def test_calls_are_found_in_an_answer_however_it_is_split(stated: str, found: Found) -> None:
    assert found_in(stated) == found_in(*stated) == found
    assert {found_in(*parts) == found for parts in halves(stated)} == {True}


def test_an_answer_is_emitted_as_received() -> None:
    reader = WrappedReader(OFFERS)
    assert [reader.feed(part) for part in ('{"ans', 'wer": "Hel', "lo", ' you"}')] == [
        [],
        ["Hel"],
        ["lo"],
        [" you"],
    ]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_any_text_comes_out_as_it_was_written(stated: str, is_ascii: bool) -> None:
    assert (
        "".join(map(str, found_in(*json.dumps({"answer": stated}, ensure_ascii=is_ascii))))
        == stated
    )


def test_a_response_holds_the_answer_or_the_call() -> None:
    answer = translate(text(*'{"answer": "Hello"}'), offers=OFFERS, text_calls="wrapped")
    call = translate(text(*BARE), offers=OFFERS, text_calls="wrapped")
    assert (answer.text, answer.calls, call.text, call.calls) == (
        "Hello",
        [],
        "",
        [("list_files", "{}")],
    )
