"""The key is masked and a compressed body inflated, in whatever cuts the bytes come."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.http1.filters import PIECE, Inflate, Mask, inflate_of
from antiphon.upstream.http1.response import ProtocolError


def pieces(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes, cut at these places."""
    places = sorted(places)
    return [
        data[start:stop] for start, stop in zip([0, *places], [*places, len(data)], strict=True)
    ]


@given(
    st.lists(st.sampled_from([b"a", b"ab", b"aab", b"b", b"\n", b"aabaab"]), max_size=12), st.data()
)
def test_masking_is_the_same_for_every_cut(parts: list[bytes], data: Any) -> None:
    text = b"".join(parts)
    cut = pieces(text, data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    mask = Mask(b"aab")

    masked = b"".join([*map(mask.feed, cut), mask.rest()])
    assert masked == text.replace(b"aab", b"***")


@pytest.mark.parametrize(
    "data", [gzip.compress(b"hello" * 99), zlib.compress(b"hello" * 99)], ids=["gzip", "deflate"]
)
@given(st.data())
def test_inflating_is_the_same_for_every_cut(data: bytes, draws: Any) -> None:
    inflate = Inflate()
    cut = pieces(data, draws.draw(st.lists(st.integers(0, len(data)), max_size=6)))

    assert b"".join(map(inflate.feed, cut)) == b"hello" * 99
    inflate.check_end()


@given(st.data())
def test_a_gzip_body_of_several_members_is_inflated_whole_for_every_cut(draws: Any) -> None:
    data = b"".join(map(gzip.compress, [b"hello", b"", b" ", b"world" * 99_999]))
    cut = pieces(data, draws.draw(st.lists(st.integers(0, len(data)), max_size=6)))
    inflate = Inflate()
    inflated = b""
    for part in cut:
        inflated += inflate.feed(part)
        while inflate.has_more:
            inflated += inflate.feed(b"")

    assert inflated + inflate.feed(b"") == b"hello " + b"world" * 99_999
    inflate.check_end()


def test_members_are_inflated_a_bounded_piece_at_a_time() -> None:
    member = b"hello" * 9_999
    inflate = Inflate()
    inflated = []
    inflated.append(inflate.feed(gzip.compress(member) * 20))
    while inflate.has_more or inflated[-1]:
        inflated.append(inflate.feed(b""))

    assert b"".join(inflated) == member * 20
    assert max(map(len, inflated)) <= PIECE
    inflate.check_end()


@pytest.mark.parametrize("garbage", [b"garbage", b"\n", b"{}", zlib.compress(b"hello")[:-1]])
@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
@pytest.mark.parametrize("is_apart", [False, True], ids=["at once", "apart"])
def test_garbage_behind_a_compressed_body_is_refused(
    compress: Callable[[bytes], bytes], garbage: bytes, is_apart: bool
) -> None:
    inflate = Inflate()
    data = compress(b"hello")
    with pytest.raises(ProtocolError):
        for part in [data, garbage] if is_apart else [data + garbage]:
            inflate.feed(part)
        inflate.check_end()


def test_what_is_cut_or_not_compressed_is_refused() -> None:
    cut = Inflate()
    cut.feed(gzip.compress(b"hello")[:-3])
    with pytest.raises(ProtocolError):
        cut.check_end()
    with pytest.raises(ProtocolError):
        Inflate().feed(b"hello")


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_what_is_not_encoded_is_left_as_it_is(encoding: str) -> None:
    assert inflate_of(encoding) is None


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_an_unrequested_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(ProtocolError, match="did not accept"):
        inflate_of(encoding)
