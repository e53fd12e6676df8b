"""The line of filters for lists of responses: what it means, and what is wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.query.conditions import (
    AnyOf,
    Between,
    Chain,
    Either,
    Filters,
    Flag,
    HasItem,
    Not,
    Tag,
    Word,
)
from antiphon.query.response_filters import FILTERS, MOST, NAMES, FilterError, parse_filters

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
        ("took:>10s", Between("took", low=10_001)),
        ("took:<=250ms", Between("took", high=250)),
        ("first:>1.5m", Between("first", low=90_001)),
        ("took:<1h", Between("took", high=3_599_999)),
        ("took:500ms..1.5m", Between("took", 500, 90_000)),
        ("tokens:>=20k", Between("tokens", low=20_000)),
        ("tokens:=7", Between("tokens", 7, 7)),
        ("tokens:1k..2M", Between("tokens", 1_000, 2_000_000)),
        ("cost:>0.01", Between("cost", low=10_000_001)),
        ("cost:<=1.5", Between("cost", high=1_500_000_000)),
        ("cost:0.000000001..0.5", Between("cost", 1, 500_000_000)),
        ("cost:<999999999999", Between("cost", high=2**62 - 1)),
        ("tenant:acme", AnyOf("tenant", ("acme",))),
        ('tenant:""', AnyOf("tenant", ("",))),
        ('error:""', AnyOf("error", ("",))),
        ("id:resp_1", AnyOf("id", ("resp_1",))),
        ("id:req_1", AnyOf("id", ("resp_1",))),
        ("id:conv_1", AnyOf("conversation", ("conv_1",))),
        ("id:msg_1", HasItem("msg_1")),
        ("id:functions.roll:0", HasItem("functions.roll:0")),
        ("id:resp_1,fc_2", Either((AnyOf("id", ("resp_1",)), HasItem("fc_2")))),
        ("resp_01a22091857f8793", AnyOf("id", ("resp_01a22091857f8793",))),
        ("req_01a22091857f8793", AnyOf("id", ("resp_01a22091857f8793",))),
        ("call_Ab3dEf6hIj", HasItem("call_Ab3dEf6hIj")),
        ("-status:failed", Not(AnyOf("status", ("failed",)))),
        ("-lighthouse", Not(Word("lighthouse"))),
        ('-"Light house"', Not(Word("light house"))),
        ("a OR b", Either((Word("a"), Word("b")))),
        (
            "status:failed OR -took:<1s OR x",
            Either(
                (AnyOf("status", ("failed",)), Not(Between("took", high=999)), Word("x")),
            ),
        ),
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
    assert parse_filters('Light "the Keeper: one" "" or call_me "OR" "resp_01a22091857f"', NOW) == (
        Filters(
            tuple(
                Word(text)
                for text in ("light", "the keeper: one", "or", "call_me", "or", "resp_01a22091857f")
            )
        )
    )


def test_or_binds_tighter_than_the_space() -> None:
    assert parse_filters("a b OR c d", NOW) == Filters(
        (Word("a"), Either((Word("b"), Word("c"))), Word("d"))
    )


@pytest.mark.parametrize("sort", ["newest", "slowest", "dearest", "tokens"])
def test_a_line_names_its_order(sort: str) -> None:
    assert parse_filters(f"a sort:{sort}", NOW) == Filters((Word("a"),), sort=sort)  # type: ignore[arg-type]


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
        ("2025-11-22T13:00:00+0100", NOW),
        ("2025-11-22T12:00:00.250Z", NOW + 0.25),
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
        ("-colour:red", 'write "colour:red" in double quotes'),
        ("12:30", 'write "12:30" in double quotes'),
        (":failed", "Unknown filter ''."),
        ("status:partial", "'status:partial' is not a valid filter: no response has the status"),
        ("status:partial", "(values: queued, in_progress, completed,"),
        ("cached:true", "'cached:true' is not a valid filter. Write cached:yes or cached:no."),
        ("took:10s", "Write took:>10s, took:<=250ms or took:1s..2m (units: ms, s, m, h)."),
        ("took:>10", "'took:>10' is not a valid filter. Write took:>10s"),
        ("took:2s..1s", "the range ends before it begins"),
        ("tokens:>2K", "Write tokens:>20k, tokens:<=500 or tokens:1k..2M (units: k, M)."),
        ("cost:>-1", "'cost:>-1' is not a valid filter. Write cost:>0.01"),
        ("cost:>NaN", "Write cost:>0.01"),
        ("tokens:>1e9", "Write tokens:>20k"),
        ("tokens:>٣", "Write tokens:>20k"),
        ("since:yesterday", "Write how long ago, such as since:1h"),
        ("until:2025-02-30", "'until:2025-02-30' is not a valid filter"),
        ("until:2025-01-01T24:00", "'until:2025-01-01T24:00' is not a valid filter"),
        ("since:99999-01-01", "'since:99999-01-01' is not a valid filter"),
        ("since:2025-01-01T00:00+99:00", "is not a valid filter"),
        ("-since:1h", "'-since:1h' is not a valid filter"),
        ("since:1h OR a", "'since:1h' holds for the whole line"),
        ("sort:cheapest", "Write sort:newest or sort:slowest or sort:dearest or sort:tokens."),
        ("-sort:slowest", "'-sort:slowest' is not a valid filter"),
        ("sort:slowest sort:dearest", "A line can have one order"),
        ("model:,", "'model:,' is not a valid filter. Write model:VALUE, model:VALUE,OTHER"),
        ("model:*32b", "'model:*32b' is not a valid filter: a '*' can only be at the end."),
        ("id:file-1", "it is the ID of a file, and this list has responses"),
        (
            "vs_01a22091857f8793",
            "it is the ID of a vector store",
        ),
        ("id:cntr_1", "it is the ID of a container"),
        ("a OR", "'OR' needs a filter or word on both sides"),
        ("OR a", "'OR' needs a filter or word on both sides"),
        ("a OR OR b", "'OR' needs a filter or word on both sides"),
        ('a OR ""', "'OR' needs a filter or word on both sides"),
        ("a - b", "'-' negates nothing"),
        ("--a", "'--a' negates nothing"),
        ("(a OR b) c", "'(a' has a parenthesis, and terms cannot be grouped"),
        ("(" * 1000, "has a parenthesis"),
        ('"open', "A double quote has no end"),
        ("x " * 33, "There are 33 filters and words. At most 32 are allowed."),
        ("x" * (MOST + 1), "At most 4,096 are allowed."),
    ],
)
def test_mistakes_are_reported_with_the_valid_values(line: str, part: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filters(line, NOW)
    assert part in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_without_a_value_is_reported_with_its_forms(name: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filters(f"{name}:", NOW)
    assert f"'{name}:' is not a valid filter. Write {FILTERS[name].forms}." == str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_the_suggested_values_of_a_filter_are_valid(name: str) -> None:
    for value in FILTERS[name].values:
        assert parse_filters(f"{name}:{value}", NOW)


@given(st.text(max_size=60) | st.lists(st.sampled_from([*'ab-:*()" .', "OR", "id:"])).map("".join))
def test_any_text_is_a_filter_or_an_error(line: str) -> None:
    try:
        parse_filters(line, NOW)
    except FilterError as error:
        assert str(error)
