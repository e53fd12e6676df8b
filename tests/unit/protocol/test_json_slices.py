"""Large JSON, decoded in slices: as in one step, whatever it says and wherever it is cut."""

import json
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.protocol import json_members, json_slices, json_texts
from antiphon.protocol.json_slices import count_openings, decode_in_slices, holds_more
from tests.support.profiled import calls_in

NAMES = st.sampled_from(["a", "b", 'a"', "\\", "é", "[", "{,"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.lists(st.tuples(NAMES, inner)),
    max_leaves=40,
)
"""Objects are lists of pairs: a name may stand twice."""

LONG = 24
"""Bytes of a string that is decoded in pieces here."""

CHARACTERS = st.sampled_from(["a", "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "é", "€", "😀"])
BROKEN = st.sampled_from(
    [b"\\ud83d", b"\\ude00", b"\\u00", b"\\x", b"\\", b"\xff", b"\xc3", b"\x01", b'"', b'": 1,']
)
TEXTS = st.lists(CHARACTERS, min_size=20, max_size=60).map("".join).map(str.encode)

FRAGMENTS = st.lists(
    st.sampled_from([*'[]{},:"\\ ', "true", "nul", "1", "-", "e", '"a"', '"a":', "\n"]), max_size=30
)


def written(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
        return (
            "{ "
            + " ,".join(f"{json.dumps(name)}: {written(member)}" for name, member in value)
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + " ]"
    return json.dumps(value, ensure_ascii=False)


def outcome(body: bytes, *, in_slices: bool) -> str:
    """What comes of a body: its data with the order of names, or the words of the error."""
    try:
        return json.dumps(decode_in_slices(body) if in_slices else msgspec.json.decode(body))
    except UnicodeDecodeError:
        return "UTF-8"
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error).partition(" - at ")[0]


def check(body: bytes, size: int, window: int) -> None:
    """Whichever way it is read: by members or in slices."""
    slices: dict[str, Any] = {"SLICE": size, "WINDOW": window, "LONG": LONG}
    members: dict[str, Any] = {"LONG": LONG, "SLICE": size}
    ways: list[dict[str, Any]] = [{"SMALL": 0}, {"FEW": 1, "SMALL": 1000}]
    expected = outcome(body, in_slices=False)
    with (
        patch.multiple(json_slices, **slices),
        patch.multiple(json_texts, LONG=LONG, STRING_WINDOW=window),
    ):
        for way in ways:
            with patch.multiple(json_members, **(members | way)):
                assert outcome(body, in_slices=True) == expected


@pytest.mark.wide
@given(JSON, st.integers(1, 40), st.integers(2, 20))
@example([("a", [1, 2, 3]), ("a", [4, ("b", 5)])], 1, 2)
def test_the_data_are_the_same(data: object, size: int, window: int) -> None:
    check(written(data).encode(), size, window)


@given(FRAGMENTS.map("".join).map(str.encode) | st.binary(), st.integers(1, 40), st.integers(2, 20))
@example(b"[1,tr,ue]", 1, 2)
@example(b'{"a":[,1]}', 1, 2)
@example(b"[1,]", 1, 2)
@example(b'[1,{"a":2],3]', 1, 2)
@example(b"[1,2]]", 1, 2)
@example(b'[1,"ab\\', 1, 2)
@example(b'"', 1, 2)
@example(b'{"', 3, 2)
def test_the_errors_are_the_same(body: bytes, size: int, window: int) -> None:
    check(body, size, window)


@pytest.mark.wide
@given(JSON, st.data())
def test_what_is_cut_off_has_the_same_error(data: object, chance: st.DataObject) -> None:
    body = written(data).encode()
    check(body[: chance.draw(st.integers(0, len(body)))], 4, 4)


PARTS = st.recursive(
    st.sampled_from([1, "a", "},{", '},{"', "]", '"}]'])
    | st.dictionaries(st.sampled_from(["a", "},{"]), st.integers(0, 9)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "b"]), inner)
    ),
    max_leaves=12,
)
"""What has in it what is between two objects, at any depth and in strings."""


@given(st.lists(PARTS, max_size=8), PARTS, st.integers(1, 120), st.integers(0, 400))
@example([{"a": 1}, {"a": 2}], [{"a": 3}, {"a": 4}], 24, 400)
def test_objects_that_are_decoded_together_are_the_same(
    items: object, behind: object, size: int, cut: int
) -> None:
    body = json.dumps({"input": items, "tools": behind}, separators=(",", ":")).encode()
    check(body, size, 4)
    check(body[:cut], size, 4)
    check(body[:cut] + b"}" + body[cut:], size, 4)


PART = {"type": "input_text", "text": "x" * 100}
HARD: dict[str, list[Any]] = {
    "arrays of objects": [[{"a": 1}, {"b": "x" * 20}]] * 3_000,
    "strings that end like objects": [{"a": "x" * 30 + "},{"}] * 3_000,
    "objects of objects": [{"a": [{"b": "x"}] * 9}] * 1_000,
    "messages of two parts": [{"type": "message", "role": "user", "content": [PART, PART]}] * 600,
    "small objects before a large one": [{"a": 1}] * 3_000
    + [{"a": [{"b": "x" * 9_000}, {"b": "x" * 9_000}]}],
}


@pytest.mark.parametrize("items", HARD.values(), ids=HARD.keys())
def test_little_is_decoded_for_nothing(items: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"input": items}, separators=(",", ":")).encode()
    decoded = list[int]()
    decode = json_members.decode_value

    def noted(part: bytes) -> Any:
        decoded.append(len(part))
        return decode(part)

    monkeypatch.setattr(json_members, "SLICE", 8 * 1024)
    monkeypatch.setattr(json_members, "decode_value", noted)

    assert json_members.decode_members(body) == {"input": items}
    assert sum(decoded) < len(body) + (json_members.TRIED + 1) ** 2 * json_members.SLICE


@pytest.mark.parametrize("behind", [b"", b',"tools":[{"a":1},{"b":2}]'])
def test_a_comma_before_the_end_of_an_array_is_an_error(behind: bytes) -> None:
    large = b'{"a":"%b"}' % (b"x" * 200_000)
    with pytest.raises(msgspec.DecodeError, match="malformed"):
        decode_in_slices(b'{"input":[%b,%b,]%b}' % (large, large, behind))


@given(TEXTS, TEXTS)
def test_long_strings_are_the_same(first: bytes, second: bytes) -> None:
    check(b'{"a": [1, "%b", {"b" : "%b"} ], "c": ["%b"]}' % (first, second, first), 8, 4)
    check(b'"%b"' % first, 8, 4)


@given(TEXTS, BROKEN, TEXTS)
def test_the_errors_of_long_strings_are_the_same(
    first: bytes, broken: bytes, second: bytes
) -> None:
    check(b'{"a": [1, "%b%b%b", 2]}' % (first, broken, second), 8, 4)
    check(b'{"a": ["%b", %b "%b"]}' % (first, broken, second), 8, 4)
    check(b'["%b%b' % (first, broken), 8, 4)


def test_a_long_string_is_no_name() -> None:
    with pytest.raises(msgspec.DecodeError, match="a name in an object is longer than"):
        decode_in_slices(b'{"%b" : 1}' % (b"a" * 1_000_000))


def test_a_text_that_is_not_ascii_is_bounded() -> None:
    with pytest.raises(msgspec.DecodeError, match="not ASCII is longer than 10485760"):
        decode_in_slices(b'["%b"]' % (b"a" * 10_485_760 + "é".encode()))
    assert decode_in_slices(b'["%b"]' % (b"a" * 5_000_000)) == ["a" * 5_000_000]


@pytest.mark.parametrize("body", [b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 200_000])
def test_what_is_too_deep_is_not_decoded(body: bytes) -> None:
    with pytest.raises(RecursionError):
        decode_in_slices(body)


ITEMS = {
    "items": b",".join([b'{"type":"message","text":"%b"}' % (b"a b\\n" * 500)] * 2000),
    "a long item": b'{"text":"%b"}' % (b"a" * 3_000_000),
    "an item with many members": b'{"numbers":[%b0]}' % (b'{"b":[1.25,{"c":"d"}]},' * 60_000),
    "small items": b'{"b":[1.25,{"c":"d"}]},' * 100_000 + b"0",
    "numbers": b"1.25," * 300_000 + b"0",
}


@pytest.mark.wide
@pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS.keys())
def test_no_step_reads_much_more_than_it_may(monkeypatch: pytest.MonkeyPatch, items: bytes) -> None:
    decoded: list[int] = []
    decode = json_members.decode_value

    def noted(body: bytes) -> Any:
        decoded.append(len(body))
        return decode(body)

    for module in (json_members, json_slices):
        monkeypatch.setattr(module, "decode_value", noted)
    data = decode_in_slices(b'{"a":{"input":[' + items + b"]}}")
    assert data == msgspec.json.decode(b'{"a":{"input":[' + items + b"]}}")
    assert max(decoded) < json_members.SLICE + 2 * json_slices.WINDOW


def test_a_large_request_is_read_with_few_steps() -> None:
    """Each member of an object is an item at most, as clients send them."""
    body = b'{"model":"m","input":[%b]}' % ITEMS["items"]
    assert calls_in(lambda: decode_in_slices(body)) < 6 * 2000


@pytest.mark.parametrize(
    "number",
    [
        b"1.7976931348623157e308",
        b"2.4703282292062327208e-324",
        b"9007199254740993.0",
        b"-0.0",
        b"1E5",
        b"0.1",
        b"5e-324",
    ],
)
def test_a_number_is_what_msgspec_reads(number: bytes) -> None:
    assert json.dumps(json_members.decode_value(number)) == json.dumps(msgspec.json.decode(number))


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
)
def test_any_number_is_what_msgspec_reads(number: object) -> None:
    assert outcome(str(number).encode(), in_slices=True) == outcome(
        str(number).encode(), in_slices=False
    )


def test_brackets_are_counted_up_to_one_more_than_enough() -> None:
    body = b'[{"a": "[{", "b": []}, []]'
    assert [count_openings(body, most) for most in (0, 3, 5, 6, 100)] == [1, 4, 6, 6, 6]


def test_arrays_and_objects_are_counted_outside_of_strings() -> None:
    body = b'[{"a": "[{\\"[", "b": []}, []]'
    assert holds_more(body, 3)
    assert not holds_more(body, 4)
