"""What holds for any text in any cut: nothing is lost, and the cut does not matter."""

from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.from_chat.text_calls import reader as text_calls_reader
from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.last_calls import LastCallReader
from antiphon.translation.from_chat.text_calls.reader import MAX_FAILED, TextCallReader, is_text
from tests.support.chance import examples
from tests.support.profiled import calls_in
from tests.unit.translation.from_chat.text_calls.samples import MENTIONS, OFFERS, SAMPLES
from tests.unit.translation.from_chat.text_calls.support import found_in, pieces_of, raw_of

thorough = examples(400)

SHARDS = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<function=shell>",
        "<parameter=note>",
        "</parameter>",
        "</function>",
        "[TOOL_CALLS]",
    ),
    *(
        '{"name": "list_files", "arguments": {}}',
        '{"name": "',
        "list_files",
        "}",
        "]",
        "<arg_key>",
        "`",
        "```",
        "~~~",
        "\n",
    ),
    *(
        "```tool_code\n",
        "list_files()",
        "[list_files()]",
        " ",
        "    ",
        "x",
        ".",
        "<|call|>",
        "<｜tool▁call▁begin｜>",
        "|>",
    ),
    *(
        '<invoke name="list_files">',
        "</invoke>",
        "<|python_tag|>",
        "<|im_end|>",
        "<",
        "<|tool_call>call:list_files{",
    ),
)
texts = st.lists(
    st.one_of(
        st.sampled_from(SHARDS),
        st.sampled_from([each.text for each in SAMPLES]),
        st.sampled_from(list(MENTIONS.values())),
        st.text(max_size=8),
    ),
    max_size=8,
).map("".join)


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    text = draw(texts)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in pairwise([0, *places, len(text)])]


@pytest.mark.wide
@thorough
@given(cut_texts())
def test_the_cut_does_not_matter(parts: list[str]) -> None:
    assert found_in(*parts) == found_in("".join(parts))


@pytest.mark.wide
@thorough
@given(cut_texts())
def test_a_part_without_a_marker_is_emitted_as_if_read_at_once(parts: list[str]) -> None:
    with patch.object(text_calls_reader, "has_sign", bool):
        at_once = pieces_of(*parts)
    assert pieces_of(*parts) == at_once


@pytest.mark.wide
@thorough
@given(texts, st.booleans())
def test_an_answer_that_is_taken_as_a_text_has_no_call(text: str, only_marked: bool) -> None:
    if is_text(text, only_marked=only_marked):
        assert found_in(text, only_marked=only_marked) == ((text,) if text else ())


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("High water at noon.", True),
        (
            "Call `list_files` [here](https://tides.example) if a < "
            "b:\n\n```python\nlist_files()\n```",
            True,
        ),
        ("~~No~~ <b>yes</b>", True),
        ("Now:\n```tool_code\nlist_files()\n```", False),
        ("Now:\n< tool _call>", False),
        ("`` `json", False),
        ('{"name": "list_files"}', False),
        (" [list_files()]", False),
        ("func tools", False),
    ],
)
def test_which_answers_are_taken_as_texts(text: str, is_so: bool) -> None:
    assert is_text(text) == is_so


@pytest.mark.wide
@thorough
@given(cut_texts())
def test_every_character_is_emitted_once_and_in_order(parts: list[str]) -> None:
    assert raw_of(*parts) == "".join(parts)


@pytest.mark.wide
@thorough
@given(cut_texts())
def test_what_is_no_whole_answer_loses_nothing_either(parts: list[str]) -> None:
    pieces = pieces_of(*parts, is_answer=False)
    assert "".join(each.raw if isinstance(each, TextCall) else each for each in pieces) == "".join(
        parts
    )


@thorough
@given(cut_texts(), st.booleans())
def test_reasoning_loses_nothing_but_blanks_around_its_last_calls(
    parts: list[str], is_answer: bool
) -> None:
    reader = LastCallReader(OFFERS)
    whole = "".join(parts)
    reported = "".join(map(reader.feed, parts))
    text, calls = reader.flush(is_answer=is_answer)
    assert whole.startswith(reported + text)
    rest = whole.removeprefix(reported + text)
    for raw in filter(
        None, (call.raw for call in calls)
    ):  # of calls in one block, the first has it all
        blanks, found, rest = rest.partition(raw)
        assert (blanks.strip(), found) == ("", raw)
    assert not rest.strip() if calls else not rest
    assert is_answer or not calls


@pytest.mark.wide
@thorough
@given(cut_texts(), cut_texts())
def test_two_answers_at_once_have_nothing_to_do_with_each_other(
    ones: list[str], others: list[str]
) -> None:
    first = TextCallReader(OFFERS)
    second = TextCallReader(OFFERS)
    alone = pieces_of(*ones)
    pieces: list[Any] = []
    for at in range(max(len(ones), len(others))):
        pieces += first.feed(ones[at]) if at < len(ones) else []
        second.feed(others[at] if at < len(others) else "")
    assert [*pieces, *first.flush(is_answer=True)] == alone


# Long texts.

LONG = {
    "words": "A word. ",
    "less-than signs": "<",
    "lines of tags": "<div>\n",
    "openings": "<tool_call>\n",
    "openings with space": "<tool_call>" + " " * 200 + "\n",
    "heads": '<tool_call>{"name": "list_files", ',
    "heads on lines": '<tool_call>{"name": "list_files", "arguments": {"a": "\n',
    "closing marks in a string": "</tool_call>\n",
    "functions": "<function=shell>\n<parameter=note>\n",
    "closed functions": "<function=shell>\n<parameter=note>\n</function>\n",
    "marks of Mistral": "[TOOL_CALLS]list_files[ARGS]\n",
    "backticks": "`",
    "fences": "```\n",
    "blocks of code": "```tool_code\nlist_files(\n```\n",
    "brackets": "[",
    "blanks": " ",
    "blank lines": "\n",
    "braces": "{",
    "DSML": '<｜DSML｜invoke name="list_files">\n',
    "Gemma's braces": "<|tool_call>call:shell{note:{",
    "calls": '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>\n',
}
BEGINNINGS = (
    "",
    '<tool_call>{"name": "read_file", "arguments": {"path": "',
    "[list_files(",
    '{"name": "list_files", ',
)


def steps(parts: list[str]) -> int:
    """How many calls of functions, Python's and C's, an answer takes."""
    reader = TextCallReader(OFFERS)

    def read() -> None:
        for part in parts:
            reader.feed(part)
        reader.feed("`")  # the position matters here, so what was sent unread is read
        reader.flush(is_answer=True)

    return calls_in(read, in_c=True)


@pytest.mark.wide
@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("unit", LONG.values(), ids=LONG.keys())
def test_twice_the_text_takes_no_more_than_twice_the_steps(unit: str, beginning: str) -> None:
    size = 200 * MAX_FAILED
    for cut in (1, 1000):
        counts = []
        for times in (size, 2 * size):
            text = beginning + (unit * (times // len(unit) + 1))[:times]
            counts.append(steps([text[at : at + cut] for at in range(0, len(text), cut)]))
        assert counts[1] <= 2.6 * counts[0] + 3000
