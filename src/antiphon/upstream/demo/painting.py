"""Simple pictures as PNG, drawn from a description: the same words draw the same picture."""

import math
import struct
import zlib
from collections.abc import Sequence
from hashlib import sha256

COLOURS = {
    "black": (20, 20, 20),
    "blue": (40, 90, 220),
    "brown": (130, 80, 40),
    "green": (40, 160, 70),
    "grey": (128, 128, 128),
    "orange": (245, 140, 30),
    "pink": (240, 130, 180),
    "purple": (140, 60, 180),
    "red": (220, 40, 40),
    "white": (250, 250, 250),
    "yellow": (245, 210, 40),
}
SIDE = 256
"""Side length in pixels if the request names no size."""

MOST = 1024
"""Maximum side length in pixels: a larger picture is drawn at this size."""

Colour = tuple[int, int, int]


def paint(prompt: str, width: int = SIDE, height: int = SIDE, part: float = 1.0) -> bytes:
    """Return a picture of the shape in a prompt: a circle, a triangle, a line or a square, in its
    colors.

    Below 1, only the upper `part` of it is drawn: the rest is gray.
    """
    words = prompt.lower().split()
    named = [colour for word in words if (colour := COLOURS.get(word.strip(".,;:!?")))]
    shade = sha256(prompt.encode()).digest()
    shape = (named or [(shade[0], shade[1], shade[2])])[0]
    ground: Colour = named[1] if len(named) > 1 else (235, 235, 225)
    form = next((one for one in ("circle", "triangle", "line") if one in prompt.lower()), "square")
    rows = [
        _row(form, y, width, height, shape, ground)
        if y < part * height
        else bytes(COLOURS["grey"]) * width
        for y in range(height)
    ]
    return png(rows, width, height)


def png(rows: Sequence[bytes], width: int, height: int) -> bytes:
    """Return rows of red, green and blue as a PNG."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _row(form: str, y: int, width: int, height: int, shape: Colour, ground: Colour) -> bytes:
    """Return a row: a section of the shape, with background on both sides."""
    half = max(0.0, _half(form, (y + 0.5) / height * 2 - 1))
    begin, end = (round(width * (1 + side * half) / 2) for side in (-1, 1))
    return bytes(ground) * begin + bytes(shape) * (end - begin) + bytes(ground) * (width - end)


def _half(form: str, y: float) -> float:
    """Return half the width of a shape at a height from -1 to 1."""
    if form == "circle":
        return math.sqrt(max(0.0, 0.49 - y * y))
    if form == "triangle":
        return (y + 0.7) / 2 if -0.7 <= y <= 0.7 else 0.0
    if form == "line":
        return 0.8 if abs(y) < 0.05 else 0.0
    return 0.6 if abs(y) <= 0.6 else 0.0
