"""Compressed bodies, inflated step by step."""

import gzip
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.server.inflate import STEP, Inflater, coding_of
from antiphon.sharing.compression import zstd_library

zstd = zstd_library()

COMPRESS = {"gzip": gzip.compress, "zstd": zstd.compress}


def inflate(coding: str, *parts: bytes) -> bytes:
    inflater = Inflater(coding)
    created = b"".join(piece for part in parts for piece in inflater.feed(part))
    inflater.finish()
    return created


@pytest.mark.parametrize("coding", COMPRESS)
@given(text=st.binary(max_size=2000), times=st.integers(1, 400), cut=st.integers(1, 5000))
def test_what_was_compressed_comes_back_however_it_is_cut(
    coding: str, text: bytes, times: int, cut: int
) -> None:
    packed = COMPRESS[coding](text * times)
    parts = [packed[start : start + cut] for start in range(0, len(packed), cut)]

    assert inflate(coding, *parts, b"") == text * times


@pytest.mark.parametrize("coding", COMPRESS)
@pytest.mark.parametrize("size", [STEP - 1, STEP, STEP + 1, 3 * STEP])
def test_a_body_as_long_as_a_step_is_whole(coding: str, size: int) -> None:
    noise = random.Random(size).randbytes(size)

    assert inflate(coding, COMPRESS[coding](noise)) == noise


@pytest.mark.wide
@pytest.mark.parametrize("coding", COMPRESS)
def test_an_inflater_expands_at_most_a_step(coding: str) -> None:
    pieces = Inflater(coding).feed(COMPRESS[coding](bytes(100_000_000)))

    assert len(next(pieces)) <= STEP


@pytest.mark.parametrize("coding", COMPRESS)
@pytest.mark.parametrize("stored_size", [0, 1, 5, -1])
def test_a_body_that_ends_too_early_is_refused(coding: str, stored_size: int) -> None:
    with pytest.raises(ClientError, match="it ends too early") as caught:
        inflate(coding, COMPRESS[coding](b"hello")[:stored_size])
    assert caught.value.status == 400


@pytest.mark.parametrize("coding", COMPRESS)
@pytest.mark.parametrize("apart", [False, True])
def test_what_follows_the_end_is_refused(coding: str, apart: bool) -> None:
    packed = COMPRESS[coding](b"hello")
    with pytest.raises(ClientError, match="something follows its end"):
        inflate(coding, *([packed, packed] if apart else [packed * 2]))


@pytest.mark.parametrize("coding", COMPRESS)
@pytest.mark.parametrize(
    "body", [b'{"model":"m"}', zlib.compress(b"hello"), b"\x1f\x8b" + bytes(30)], ids=repr
)
def test_what_is_something_else_is_refused(coding: str, body: bytes) -> None:
    with pytest.raises(ClientError, match=f"could not be inflated as {coding}"):
        inflate(coding, body)


def test_a_wrong_checksum_is_found() -> None:
    packed = bytearray(gzip.compress(b"hello"))
    packed[-5] ^= 1
    with pytest.raises(ClientError, match="damaged"):
        inflate("gzip", bytes(packed))


def test_a_frame_that_needs_much_memory_is_refused() -> None:
    wide = zstd.compress(bytes(2**26), options={zstd.CompressionParameter.window_log: 26})
    with pytest.raises(ClientError, match="needs more memory"):
        inflate("zstd", wide)


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        (b"", None),
        (b"identity", None),
        (b"GZIP", "gzip"),
        (b" x-gzip ", "x-gzip"),
        (b"identity, zstd", "zstd"),
    ],
)
def test_a_content_coding_is_reported_by_name(header: bytes, coding: str | None) -> None:
    assert coding_of(header) == coding


@pytest.mark.parametrize(
    "header", [b"br", b"deflate", b"gzip, gzip", b"zstd,gzip", b"\xff", b"gzip;q=1"]
)
def test_another_coding_is_refused_with_those_that_are_known(header: bytes) -> None:
    with pytest.raises(ClientError) as caught:
        coding_of(header)
    assert (caught.value.status, caught.value.code) == (415, "unsupported_media_type")
    assert caught.value.headers == {"accept-encoding": "gzip, zstd"}
