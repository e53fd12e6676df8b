"""Bytes to plain data; the refusals are held by `test_validate.py`, row by row."""

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.validation.validate import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    decode_json,
    decode_object,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.wide
@given(JSON)
def test_all_json_is_read_as_python_reads_it(data: object) -> None:
    assert decode_json(json.dumps(data).encode()) == data


@given(st.binary())
def test_other_bytes_are_a_client_error(body: bytes) -> None:
    try:
        decode_json(body)
    except ClientError as error:
        assert (error.status, error.code, error.param) == (400, None, None)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_the_deepest_json_allowed_is_read_and_one_level_more_is_not() -> None:
    decode_json(nested(MAX_DEPTH))
    with pytest.raises(ClientError, match="nested too deeply"):
        decode_json(nested(MAX_DEPTH + 1))


def test_brackets_inside_strings_are_no_levels() -> None:
    assert decode_object(b'{"a": "%s"}' % (b"[" * 5000)) == {"a": "[" * 5000}


def test_many_flat_arrays_are_not_deep() -> None:
    assert len(decode_json(b"[" + b"[]," * 5000 + b"[]]")) == 5001


@pytest.mark.parametrize("wide", [b'{"x": [' + b"[]," * 200_000 + nested(700) + b"]}"])
def test_a_deep_place_in_a_wide_body_is_found_quickly(wide: bytes) -> None:
    start = time.process_time()
    with pytest.raises(ClientError, match="nested too deeply"):
        decode_json(wide)
    assert time.process_time() - start < 2


@pytest.mark.wide
def test_very_many_arrays_are_refused_before_they_are_created() -> None:
    decode_json(b"[" + b",".join([b"[]"] * (MAX_CONTAINERS - 1)) + b"]")
    with pytest.raises(ClientError, match="too many arrays and objects"):
        decode_json(b"[" + b",".join([b"{}"] * MAX_CONTAINERS) + b"]")


@pytest.mark.parametrize(
    "text",
    ["[" * 600_000, '\\"[' * 200_000 + "{" * 400_000, "\\\\" + "{" * 600_000],
    ids=["plain", "after quotes", "after backslashes"],
)
def test_brackets_in_a_text_are_no_arrays(text: str) -> None:
    assert decode_json(msgspec.json.encode({"input": text})) == {"input": text}


@pytest.mark.wide
@pytest.mark.parametrize(
    "rest",
    [b'"\\', b'\\"' * 1_000_000, b'"' * 1_000_001, b'"' + b'\\"' * 1_000_000 + b"\\"],
    ids=["a backslash", "escapes", "quotes", "escapes and a backslash"],
)
def test_a_text_without_end_takes_no_longer(rest: bytes) -> None:
    with pytest.raises(ClientError):
        decode_json(b"[" * 600_000 + rest)
