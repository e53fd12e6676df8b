"""What of a JSON object may go out while it is written: a prefix that any repair keeps."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.json_guard import LONGEST_BUFFERED, JsonGuard

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(), values, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.data(),
)
def test_sound_json_goes_out_whole_in_any_cut(
    value: Any, is_ascii: bool, indent: int | None, data: Any
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    guard = JsonGuard()
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(map(guard.feed, pieces)) == text
    assert not guard.is_broken


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('{"cmd": "echo "hi""}', '{"cmd": "echo '),
        ('{"a": 1,}', '{"a": 1'),
        ('{"a": True}', '{"a":'),
        ('{"a": 01}', '{"a":'),
        ('{"a": "x" "b": 2}', '{"a": "x'),
        ('{"a": "x\ny"}', '{"a": "x'),
        ('{"p": "C:\\dir"}', '{"p": "C:'),
        ('{"a": "\\u12g4"}', '{"a": "'),
        ('{"a": 1}}', '{"a": 1}'),
        ('{"a": [1}', '{"a": ['),
        ("{'a': 1}", "{"),
        ("```json\n{}", ""),
        ("[1]", ""),
        ('"text"', ""),
    ],
)
def test_broken_json_goes_out_as_far_as_a_repair_keeps_it(text: str, sent: str) -> None:
    guard = JsonGuard()
    got = "".join(map(guard.feed, text))
    assert guard.is_broken
    assert got == sent or sent.startswith(got.rstrip())


def test_nothing_goes_out_after_an_error() -> None:
    guard = JsonGuard()
    assert (guard.feed('{"a": }'), guard.feed('"b": 1}')) == ('{"a":', "")


def test_what_waits_has_a_bound() -> None:
    guard = JsonGuard()
    guard.feed('{"a":')
    for _ in range(LONGEST_BUFFERED + 1):
        guard.feed(" ")
    assert guard.is_broken
