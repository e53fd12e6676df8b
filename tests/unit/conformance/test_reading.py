"""Looks at JSON that may be anything."""

import re
from typing import Any

import pytest

from antiphon_verify.reading import (
    MISSING,
    at,
    is_integer,
    is_number,
    is_text,
    listed,
    preview,
    unlike,
)
from tests.support.cases import each

VALUE = {"a": [{"b": 1}], "c": None, "d": [1]}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), VALUE),
        (("a", 0, "b"), 1),
        (("a", -1, "b"), 1),
        (("c",), None),
        (("a", 1), MISSING),
        (("a", -2), MISSING),
        (("a", "b"), MISSING),
        (("c", "x"), MISSING),
        ((0,), MISSING),
        (("x", "y", 0), MISSING),
    ],
)
def test_a_path_leads_to_a_value_or_to_nothing(path: tuple[str | int, ...], found: Any) -> None:
    assert at(VALUE, *path) == found


def test_a_list_is_a_list_or_empty() -> None:
    assert [listed(VALUE, "d"), listed(VALUE, "c"), listed(VALUE, "x"), listed([1])] == [
        [1],
        [],
        [],
        [1],
    ]


def test_nothing_is_false_and_no_value() -> None:
    assert not MISSING
    assert MISSING != {}
    assert (is_text(MISSING), is_integer(MISSING), is_number(MISSING)) == (False, False, False)


def test_json_types_are_distinguished() -> None:
    assert [is_integer(one) for one in (1, True, 1.0, "1")] == [True, False, False, False]
    assert [is_number(one) for one in (1, True, 1.5, "1")] == [True, False, True, False]
    assert [is_text(one) for one in ("x", "", 1, None)] == [True, False, False, False]


def test_a_value_is_displayed_as_json_and_cut() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert (preview({"a": None}), preview("é"), preview(MISSING)) == (
        '{"a": null}',
        '"é"',
        '"nothing"',
    )
    assert len(preview("x" * 500)) == 120
    assert preview(deep) == "a value nested too deeply to show"


SHAPES = {
    "conv_0123456789abcdef0123456789abcdef0123456789abcdef": "conv_[0-9a-f]{48}",
    "file-3f2504e0-4f89-41d3-9a0c-0305e82c3301": "file-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "resp_7": "resp_[0-9]",
    "resp_wxyzGHIJwxyz": "resp_[a-z]{4}[A-Z]{4}[a-z]{4}",
    "vs_01ARZ3NDEKTSV4RRFFQ69G5FAV": "vs_[0-9A-HJKMNP-TV-Z]{26}",
}
"""By an id that a server issued: the shape of its ids."""


@each(("issued", "shape"), SHAPES.items())
def test_an_id_that_nothing_has_has_the_shape_of_one_that_was_issued(
    issued: str, shape: str
) -> None:
    assert unlike(issued) != issued
    assert re.fullmatch(shape, unlike(issued))
