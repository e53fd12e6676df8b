"""Bytes that are said to be images."""

import struct

import pytest

from antiphon.tools.images.content import MOST_BYTES, NotAnImageError, inspect
from antiphon.upstream.demo.painting import paint

JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 20, 30) + b"\x03" * 10
WEBP = b"RIFF\0\0\0\0WEBP"


@pytest.mark.parametrize(
    ("data", "form", "size"),
    [
        (paint("red", 30, 20), "png", "30x20"),
        (JPEG, "jpeg", "30x20"),
        (b"\xff\xd8\xff" + JPEG[2:], "jpeg", "30x20"),
        (b"GIF89a" + struct.pack("<HH", 30, 20), "gif", "30x20"),
        (WEBP + b"VP8X\0\0\0\0" + b"\0\0\0\0\x1d\0\0\x13\0\0", "webp", "30x20"),
        (
            WEBP + b"VP8L\0\0\0\0\x2f" + struct.pack("<I", 29 | 19 << 14) + b"\0" * 5,
            "webp",
            "30x20",
        ),
        (WEBP + b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 30, 20), "webp", "30x20"),
        (
            b'<?xml version="1.0"?>\n<!-- x -->\n<svg xmlns="http://www.w3.org/2000/svg"/>',
            "svg",
            "auto",
        ),
    ],
)
def test_an_image_is_known_by_its_first_bytes(data: bytes, form: str, size: str) -> None:
    picture = inspect(data)
    assert (picture.format, picture.size) == (form, size)
    assert picture.media_type.startswith("image/")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"GIF89a", b"\xff\xd8", b"\xff\xd8\xff\xd9" * 9, WEBP, WEBP + b"VP8 " + b"\0" * 20),
        *(b"<html><svg>", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n", paint("red", 30, 20)[:20]),
    ],
)
def test_invalid_values_are_refused(data: bytes) -> None:
    with pytest.raises(NotAnImageError, match="is not an image"):
        inspect(data)


def test_an_image_that_is_too_large_is_refused_by_its_head() -> None:
    with pytest.raises(NotAnImageError, match="65535 by 65535 pixels"):
        inspect(b"GIF89a" + b"\xff" * 4)
    with pytest.raises(NotAnImageError, match="without pixels"):
        inspect(b"GIF89a" + b"\0" * 4)
    with pytest.raises(NotAnImageError, match="more than"):
        inspect(paint("red") + b"\0" * MOST_BYTES)


@pytest.mark.parametrize(
    "data",
    [b"<!---->" * 500 + b"x", b" " * 4096, b"\xff\xd8" + b"\xff" * (MOST_BYTES - 100) + JPEG[2:]],
    ids=["comments", "blanks", "markers"],
)
def test_an_input_that_takes_long_to_check_is_refused(data: bytes) -> None:
    """The comments alone would else be tried in more ways than there is time for."""
    with pytest.raises(NotAnImageError):
        inspect(data)
