"""Large JSON, encoded in pieces: the same bytes as in one step."""

import json
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol import json_pieces
from antiphon.protocol.json_pieces import pieces

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.wide
@given(JSON, st.integers(1, 20))
def test_the_bytes_are_those_of_pythons_encoder(data: object, long: int) -> None:
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    with patch.multiple(json_pieces, LONG=long, LEAF=1, DEEPEST=3):
        joined = b"".join(
            pieces(data, lambda one: encoder.encode(one).encode("utf-8", "surrogatepass"))
        )
    assert joined == encoder.encode(data).encode("utf-8", "surrogatepass")


@pytest.mark.wide
@given(JSON.filter(lambda data: all(abs(one) < 2**63 for one in numbers(data))), st.integers(1, 20))
def test_sorted_bytes_are_those_of_the_sorting_encoder(data: object, long: int) -> None:
    encode = msgspec.json.Encoder(order="sorted").encode
    with patch.multiple(json_pieces, LONG=long, LEAF=1, DEEPEST=3):
        assert b"".join(pieces(data, encode, is_sorted=True)) == encode(data)


def numbers(data: object) -> list[int]:
    if isinstance(data, int):
        return [data]
    members = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [number for member in members for number in numbers(member)]
