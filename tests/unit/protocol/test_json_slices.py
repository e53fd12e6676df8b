"""Large JSON, decoded in slices: as in one step, whatever it says and wherever it is cut."""

import json
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.protocol import json_slices, json_texts
from antiphon.protocol.json_slices import decode_in_slices, holds_more

NAMES = st.sampled_from(["a", "b", 'a"', "\\", "é", "[", "{,"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.lists(st.tuples(NAMES, inner)),
    max_leaves=40,
)
"""Objects are lists of pairs: a name may stand twice."""

LONG = 24
"""Bytes of a string that is decoded in pieces here."""

CHARACTERS = st.sampled_from(["a", "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "é", "€", "😀"])
BROKEN = st.sampled_from([b"\\ud83d", b"\\ude00", b"\\u00", b"\\x", b"\\", b"\xff", b"\xc3", b"\x01", b'"', b'": 1,'])
TEXTS = st.lists(CHARACTERS, min_size=20, max_size=60).map("".join).map(str.encode)

FRAGMENTS = st.lists(st.sampled_from([*'[]{},:"\\ ', "true", "nul", "1", "-", "e", '"a"', '"a":', "\n"]), max_size=30)


def written(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
        return "{ " + " ,".join(f"{json.dumps(name)}: {written(member)}" for name, member in value) + "}"
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
    sizes: dict[str, Any] = {"SLICE": size, "WINDOW": window, "STRING_WINDOW": window, "LONG": LONG}
    with patch.multiple(json_slices, **sizes), patch.object(json_texts, "LONG", LONG):
        assert outcome(body, in_slices=True) == outcome(body, in_slices=False)


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
def test_the_errors_are_the_same(body: bytes, size: int, window: int) -> None:
    check(body, size, window)


@pytest.mark.wide
@given(JSON, st.data())
def test_what_is_cut_off_has_the_same_error(data: object, chance: st.DataObject) -> None:
    body = written(data).encode()
    check(body[: chance.draw(st.integers(0, len(body)))], 4, 4)


@given(TEXTS, TEXTS)
def test_long_strings_are_the_same(first: bytes, second: bytes) -> None:
    check(b'{"a": [1, "%b", {"b" : "%b"} ], "c": ["%b"]}' % (first, second, first), 8, 4)
    check(b'"%b"' % first, 8, 4)


@given(TEXTS, BROKEN, TEXTS)
def test_the_errors_of_long_strings_are_the_same(first: bytes, broken: bytes, second: bytes) -> None:
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


def test_no_slice_is_much_larger_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    decode = msgspec.json.decode
    monkeypatch.setattr(json_slices.msgspec.json, "decode", lambda body: sizes.append(len(body)) or decode(body))
    decode_in_slices(b'{"a":{"input":[' + b",".join([b'{"b":[1.25,{"c":"d"}]}'] * 20_000) + b"]}}")

    assert len(sizes) > 10
    assert max(sizes) < json_slices.SLICE + 2 * json_slices.WINDOW


def test_arrays_and_objects_are_counted_outside_of_strings() -> None:
    body = b'[{"a": "[{\\"[", "b": []}, []]'
    assert holds_more(body, 3)
    assert not holds_more(body, 4)
