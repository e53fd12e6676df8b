"""Completions of a term of a line of filters."""

import pytest

from antiphon.query.completion import counted_words, names, read_prefix, values
from antiphon.query.conditions import AnyOf
from antiphon.query.response_filters import NAMES, parse_filters


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("st", ["status:", "stored:", "stream:"]),
        ("-sta", ["-status:"]),
        ("S", ["served:", "since:", "sort:", "status:", "stored:", "stream:"]),
        ("-s", ["-served:", "-status:", "-stored:", "-stream:"]),
        ("meta", ["metadata."]),
        ("zebra", []),
        ('"st', ["status:", "stored:", "stream:"]),
    ],
)
def test_names_of_filters_are_completed(term: str, expected: list[str]) -> None:
    assert names(read_prefix(term)) == [(text, None) for text in expected]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("model:", [("model:qwen3:32b", 9), ("model:llama-4", 5), ('model:"my model"', 1)]),
        ("model:LL", [("model:llama-4", 5)]),
        ("model:32b", [("model:qwen3:32b", 9)]),
        ("-model:x,my", [('-model:"x,my model"', 1)]),
        ('model:"my model,ll', [('model:"my model,llama-4"', 5)]),
        ('model:"my', [('model:"my model"', 1)]),
        ('model:x,"my', [('model:"x,my model"', 1)]),
        ('model:"ll', [("model:llama-4", 5)]),
        ("model:nothing", []),
        ("colour:r", []),
        ("metadata.a:b", []),
    ],
)
def test_values_are_completed_with_their_counts(term: str, expected: list[tuple[str, int]]) -> None:
    counts = {"llama-4": 5, "qwen3:32b": 9, "my model": 1, "": 3, "a,b": 7, 'q"': 8, "*x": 9}
    assert values(read_prefix(term), counts) == expected


def test_known_values_are_suggested_without_counts() -> None:
    found = values(read_prefix("status:"), {"failed": 2, "completed": 9})
    assert found[:2] == [("status:completed", 9), ("status:failed", 2)]
    assert ("status:queued", None) in found


@pytest.mark.parametrize("before", ["x", "my model", '"my model', "x,y"])
def test_a_completed_list_of_values_is_read_as_one_filter(before: str) -> None:
    counts = {"llama-4": 5, "my model": 1, "qwen3:32b": 9}
    wanted = (*before.lstrip('"').split(","),)
    for text, _ in values(read_prefix(f"model:{before},"), counts):
        (found,) = parse_filters(text, 0).conditions
        assert isinstance(found, AnyOf)
        assert (found.values[:-1], found.values[-1] in counts) == (wanted, True)


@pytest.mark.parametrize("term", ["took:>1s,", "cached:yes,", "sort:newest,", "since:1h,"])
def test_no_second_value_is_suggested_for_a_filter_with_one(term: str) -> None:
    assert values(read_prefix(term), {}) == []


def test_what_is_suggested_is_valid() -> None:
    for name in NAMES:
        for text, _ in values(read_prefix(f"{name}:"), {"a b": 1} if name == "model" else {}):
            assert parse_filters(text, 0)


def test_the_words_of_texts_are_counted() -> None:
    assert counted_words([(" mcp a.b ", 2), (" function ", 1), (" mcp ", 3), ("", 9)]) == {
        "mcp": 5,
        "a.b": 2,
        "function": 1,
    }
