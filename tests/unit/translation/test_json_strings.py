"""The strings inside a JSON text come out as they grow, whatever way the text is cut."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.json_strings import JsonStrings, Path

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The strings in a value and where they stand."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strings(inner, (*path, index))


def read(parts: list[str]) -> tuple[dict[Path, str], set[Path]]:
    """What was read, and which strings ended."""
    reader = JsonStrings()
    reported: dict[Path, str] = {}
    ended = set()
    for part in parts:
        for path, piece, is_end in reader.feed(part):
            reported[path] = reported.get(path, "") + piece
            if is_end:
                ended.add(path)
    assert not reader.is_broken
    return reported, ended


def cut(text: str, places: list[int]) -> list[str]:
    bounds = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(bounds)]


@given(VALUES, st.lists(st.integers(0, 10_000)), st.booleans(), st.sampled_from([None, 2]))
def test_every_string_comes_whole_in_any_cut(
    value: Any, places: list[int], ascii: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    reported, ended = read(cut(text, places))

    assert reported == dict(strings(value))
    assert ended == set(reported)


def test_a_string_is_emitted_as_far_as_it_was_received() -> None:
    reader = JsonStrings()

    assert reader.feed('{"input": "*** Beg') == [(("input",), "*** Beg", False)]
    assert reader.feed("in\\") == [(("input",), "in", False)]
    assert reader.feed("n") == [(("input",), "\n", False)]
    assert reader.feed("\\ud83") == []
    assert reader.feed("d\\ude00") == [(("input",), "😀", False)]
    assert reader.feed('"') == [(("input",), "", True)]


@pytest.mark.parametrize(
    ("text", "reported"),
    [(r'"\ud83d!"', "\ufffd!"), (r'"\ude00"', "\ufffd"), (r'"\ud83d"', "\ufffd")],
)
def test_half_of_a_pair_is_no_character(text: str, reported: str) -> None:
    assert "".join(piece for _, piece, _ in JsonStrings().feed(text)) == reported


@given(st.text(), st.lists(st.integers(0, 1000)))
def test_no_text_makes_it_raise(text: str, places: list[int]) -> None:
    reader = JsonStrings()
    for part in cut(text, places):
        reader.feed(part)


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_backslash_that_begins_no_escape_is_literal(cut: int) -> None:
    text = r'{"input":"a\usepackage{x} \u12"}'
    reader = JsonStrings()
    pieces = reader.feed(text[:cut]) + reader.feed(text[cut:])

    assert "".join(piece for _, piece, _ in pieces) == r"a\usepackage{x} \u12"
    assert not reader.is_broken
