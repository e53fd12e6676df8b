"""The line of filters for lists of responses: what it means, and what is wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.query.response_filters import (
    MOST,
    NAMES,
    AnyOf,
    Chain,
    Compare,
    FilterError,
    Filters,
    Flag,
    Tag,
    parse_filters,
)

NOW = 1_763_812_800.0
"""2025-11-22 12:00 UTC."""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("status:failed", AnyOf("status", ("failed",))),
        (
            "status:failed,cancelled",
            AnyOf(
                "status",
                (
                    "failed",
                    "cancelled",
                ),
            ),
        ),
        ("model:qwen3*", AnyOf("model", ("qwen3*",))),
        ("served:a/b:7b", AnyOf("served", ("a/b:7b",))),
        ('key:"my build"', AnyOf("key", ("my build",))),
        ("tool:tracker.close_issue", AnyOf("tool", ("tracker.close_issue",))),
        ("took:>10s", Compare("took", ">", 10_000)),
        ("took:<=250ms", Compare("took", "<=", 250)),
        ("first:>1.5m", Compare("first", ">", 90_000)),
        ("tokens:>=20k", Compare("tokens", ">=", 20_000)),
        ("tokens:=7", Compare("tokens", "=", 7)),
        ("cached:yes", Flag("cached", True)),
        ("background:no", Flag("background", False)),
        ("chain:resp_1", Chain("resp_1")),
        ("metadata.team:billing", Tag("team", "billing")),
        ('metadata.a.b:"x y"', Tag("a.b", "x y")),
    ],
)
def test_each_filter_is_a_condition(line: str, expected: object) -> None:
    assert parse_filters(line, NOW) == Filters((expected,))  # type: ignore[arg-type]


def test_words_and_phrases_are_searched_in_lower_case() -> None:
    assert parse_filters('Light "the Keeper: one" ""', NOW) == Filters(
        words=("light", "the keeper: one")
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1h", NOW - 3600),
        ("7d", NOW - 7 * 86_400),
        ("2025-11-22", NOW - 43_200),
        ("2025-11-22T12:00", NOW),
        ("2025-11-22T12:00:30Z", NOW + 30),
        ('"2025-11-22 13:00+01:00"', NOW),
        ("2025-11-22T10:30-01:30", NOW),
    ],
)
def test_times_are_ago_or_absolute(value: str, seconds: float) -> None:
    assert parse_filters(f"since:{value}", NOW) == Filters(since=int(seconds * 1000))
    assert parse_filters(f"until:{value}", NOW) == Filters(until=int(seconds * 1000))


def test_of_several_times_the_narrowest_counts() -> None:
    found = parse_filters("since:2h since:1h until:1m until:5m", NOW)
    assert found == Filters(since=int((NOW - 3600) * 1000), until=int((NOW - 300) * 1000))


def test_an_empty_line_selects_everything() -> None:
    assert parse_filters("  ", NOW).is_empty
    assert not parse_filters("since:1h", NOW).is_empty


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("colour:red", f"Unknown filter 'colour'. The filters are: {', '.join(NAMES)}."),
        ("metadata:x", "Unknown filter 'metadata'."),
        ("status:partial", "'status' cannot be 'partial'. Valid values are: queued,"),
        ("cached:true", "'cached' cannot be 'true'. Valid values are: yes, no."),
        ("took:10s", "Write a comparison such as took:>10s; units are ms, s, m, h."),
        ("took:>10", "Write a comparison such as took:>10s"),
        ("tokens:>2K", "Write a comparison such as tokens:>20k; units are k, M."),
        ("since:yesterday", "Write how long ago, such as since:1h"),
        ("until:2025-02-30", "'until' cannot be '2025-02-30'"),
        ("until:2025-01-01T24:00", "'until' cannot be"),
        ("model:,", "'model' needs 1 to 32 values"),
        ('"open', "A double quote has no end"),
        ("x " * 33, "There are 33 filters and words. At most 32 are allowed."),
        ("x" * (MOST + 1), "At most 4,096 are allowed."),
    ],
)
def test_mistakes_are_reported_with_the_valid_values(line: str, part: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filters(line, NOW)
    assert part in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error(line: str) -> None:
    try:
        parse_filters(line, NOW)
    except FilterError as error:
        assert str(error)
