"""What `demo` searches files for."""

import time

import pytest

from antiphon.upstream.demo.searches import last_question


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Hello. Who wrote it? And when was it written? Thanks.", "And when was it written?"),
        ("One line\nWhere is Paris?", "Where is Paris?"),
        ("Is it so ? Or not?", "Or not?"),
        ("Why? ?", "Why?"),
        ("No question.", ""),
        ("?", ""),
        ("", ""),
    ],
)
def test_the_last_question_of_a_text_is_searched_for(text: str, question: str) -> None:
    assert last_question(text) == question


@pytest.mark.parametrize("text", ["x" * 2_000_000, "x ?" * 500_000, " ?" * 500_000])
def test_a_long_text_takes_time_that_grows_with_its_length(text: str) -> None:
    begun = time.process_time()
    last_question(text)
    assert time.process_time() - begun < 2
