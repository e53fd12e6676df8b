import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.from_chat.text_filters import SurrogateJoiner, repaired

HIGH = "\ud83c"
LOW = "\udf0a"
WAVE = "\U0001f30a"


def joined(*deltas: str) -> str:
    joiner = SurrogateJoiner()
    return "".join(joiner.whole("text", delta) for delta in deltas) + joiner.rest("text")


@pytest.mark.parametrize(
    ("deltas", "text"),
    [
        (["a", "b"], "ab"),
        ([f"a{WAVE}", "b"], f"a{WAVE}b"),
        ([HIGH, LOW], WAVE),
        ([f"a{HIGH}", f"{LOW}b"], f"a{WAVE}b"),
        ([HIGH, "", LOW], WAVE),
        ([HIGH + LOW], WAVE),
        ([HIGH, "a"], "\ufffda"),
        ([HIGH, "é"], "\ufffdé"),
        ([HIGH, HIGH, LOW], f"\ufffd{WAVE}"),
        ([LOW], "\ufffd"),
        ([LOW, HIGH], "\ufffd\ufffd"),
        ([HIGH], "\ufffd"),
    ],
)
def test_halves_are_joined_and_single_ones_replaced_where_they_stood(
    deltas: list[str], text: str
) -> None:
    assert joined(*deltas) == text


def test_a_half_waits_for_the_other_of_its_own_field() -> None:
    joiner = SurrogateJoiner()
    assert joiner.whole("text", HIGH) == ""
    assert joiner.whole("reasoning", LOW) == "\ufffd"
    assert joiner.whole("text", LOW) == WAVE


def test_a_field_with_whole_characters_leaves_no_rest() -> None:
    joiner = SurrogateJoiner()
    joiner.whole("text", HIGH + LOW)
    assert joiner.rest("text") == ""
    assert joiner.halves == {}


@pytest.mark.wide
@given(st.text(), st.lists(st.integers(0, 30)))
def test_any_text_comes_through_however_its_halves_are_cut(text: str, cuts: list[int]) -> None:
    halves = text.encode("utf-16-le", "surrogatepass")
    bounds = [0, *sorted({min(2 * cut, len(halves)) for cut in cuts}), len(halves)]
    pieces = [halves[start:stop] for start, stop in itertools.pairwise(bounds)]
    deltas = [piece.decode("utf-16-le", "surrogatepass") for piece in pieces]
    assert joined(*deltas) == text


@given(st.lists(st.sampled_from([HIGH, LOW, "a", "é"])))
def test_what_comes_out_can_always_be_encoded(deltas: list[str]) -> None:
    joined(*deltas).encode()


def test_data_is_repaired_however_deep() -> None:
    value: Any = {"a" + HIGH: [LOW, {"b": HIGH + LOW, "c": 1.5}], "d": None, "e": True}
    assert repaired(value) == {"a\ufffd": ["\ufffd", {"b": WAVE, "c": 1.5}], "d": None, "e": True}
