"""Filters and attributes: what is accepted, what each means, and what is refused with which
path.
"""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.search.filters import matches, read_attributes, read_filter


def comparison(kind: str, value: Any, key: str = "k") -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


def passes(wanted: Any, **attributes: Any) -> bool:
    return matches(read_filter(wanted, "filters"), attributes)


@pytest.mark.parametrize(
    ("kind", "value", "passing"),
    [
        ("eq", 2, [2, 2.0]),
        ("ne", 2, [1, 3, "2", True, None]),
        ("gt", 1, [2, 2.0, 3]),
        ("gte", 2, [2, 2.0, 3]),
        ("lt", 2, [1]),
        ("lte", 2, [1, 2, 2.0]),
        ("in", [1, "2"], [1, "2"]),
        ("nin", [1, "2"], [2, 2.0, 3, True, None]),
        ("in", [], []),
        ("nin", [], [1, 2, 2.0, 3, "2", True, None]),
        ("eq", True, [True]),
        ("gte", True, []),
        ("eq", 1, [1]),
    ],
)
def test_a_comparison_means_the_same_for_each_kind_of_value(
    kind: str, value: Any, passing: list[Any]
) -> None:
    values = [1, 2, 2.0, 3, "2", True, None]
    found = [
        one
        for one in values
        if passes(comparison(kind, value), **({} if one is None else {"k": one}))
    ]

    assert [(type(one), one) for one in found] == [(type(one), one) for one in passing]


def test_texts_are_ordered_by_code_point() -> None:
    ordered = ["", "A", "B", "a", "ä", "机", "\U0001f600"]
    for bound in ordered:
        wanted = {"type": "lt", "key": "k", "value": bound}
        assert [text for text in ordered if passes(wanted, k=text)] == ordered[
            : ordered.index(bound)
        ]


def test_compounds_nest_and_may_be_empty() -> None:
    both = {
        "type": "and",
        "filters": [comparison("eq", 1), {"type": "or", "filters": [comparison("eq", 2, "o")]}],
    }

    assert passes(both, k=1, o=2) and not passes(both, k=1)
    assert passes({"type": "and", "filters": []}) and not passes({"type": "or", "filters": []})
    assert passes(None) and read_filter(None, "filters") is None


def nested(levels: int) -> Any:
    return comparison("eq", 1) if levels == 1 else {"type": "and", "filters": [nested(levels - 1)]}


def test_a_filter_is_as_deep_and_large_as_its_bounds() -> None:
    assert passes(nested(8), k=1)
    assert passes({"type": "or", "filters": [comparison("eq", 1)] * 63}, k=1)


@pytest.mark.parametrize(
    ("value", "param", "code"),
    [
        ([], "f", "invalid_type"),
        ({}, "f.type", "missing_required_parameter"),
        ({"type": 1}, "f.type", "invalid_type"),
        ({"type": "like", "key": "k", "value": 1}, "f.type", "invalid_value"),
        ({"type": "eq", "value": 1}, "f.key", "missing_required_parameter"),
        ({"type": "eq", "key": "k"}, "f.value", "missing_required_parameter"),
        (comparison("eq", None), "f.value", "invalid_type"),
        (comparison("eq", [1]), "f.value", "invalid_type"),
        (comparison("eq", 10**400), "f.value", "invalid_value"),
        (comparison("eq", "\0"), "f.value", "invalid_value"),
        (comparison("eq", 1, ""), "f.key", "empty_string"),
        (comparison("eq", 1, "k" * 65), "f.key", "string_above_max_length"),
        (comparison("in", 1), "f.value", "invalid_type"),
        (comparison("in", [1, None]), "f.value[1]", "invalid_type"),
        (comparison("in", [1] * 257), "f.value", "array_above_max_length"),
        ({"type": "and"}, "f.filters", "missing_required_parameter"),
        ({"type": "or", "filters": {}}, "f.filters", "invalid_type"),
        ({"type": "or", "filters": [comparison("eq", 1), 1]}, "f.filters[1]", "invalid_type"),
        ({"type": "or", "filters": [comparison("eq", 1)] * 64}, "f.filters[63]", "invalid_value"),
        (nested(9), "f" + ".filters[0]" * 8, None),
    ],
)
def test_a_wrong_filter_is_refused_with_its_place(value: Any, param: str, code: str | None) -> None:
    with pytest.raises(ClientError) as caught:
        read_filter(value, "f")

    assert (caught.value.status, caught.value.param, caught.value.code) == (400, param, code)


def test_attributes_come_as_they_are() -> None:
    provided = {"a": "text", "b": 1, "c": 1.5, "d": True, "e" * 64: "x" * 512}
    assert read_attributes(provided, "attributes") == provided
    assert read_attributes(None, "attributes") == {}


@pytest.mark.parametrize(
    ("value", "param"),
    [
        ([], "attributes"),
        ({str(number): 1 for number in range(17)}, "attributes"),
        ({"k": []}, "attributes.k"),
        ({"k": None}, "attributes.k"),
        ({"k": "x" * 513}, "attributes.k"),
        ({"k" * 65: 1}, "attributes"),
        ({"": 1}, "attributes"),
        ({"k": float("inf")}, "attributes.k"),
    ],
)
def test_wrong_attributes_are_refused_with_their_place(value: Any, param: str) -> None:
    with pytest.raises(ClientError) as caught:
        read_attributes(value, "attributes")

    assert (caught.value.status, caught.value.param) == (400, param)
