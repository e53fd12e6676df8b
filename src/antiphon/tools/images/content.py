"""Detects the format and size of image bytes. Nothing is decoded, so decompression bombs have no
effect.
"""

import re
from dataclasses import dataclass

MOST_BYTES = 30 * 1024 * 1024
"""Bytes of an image."""

MOST_PIXELS = 64 * 1024 * 1024
"""Pixels of an image."""

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG before its size."""

_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers without a length."""

_MOST_MARKERS = 4096
"""Markers of a JPEG that are examined; images have a few dozen before their size."""

_COMMENT = rb"<!--(?:[^-]|-(?!->)){0,2000}-->"
_SVG = re.compile(
    rb"\A(\xef\xbb\xbf)?\s*+(<\?xml[^>]{0,200}\?>\s*+)?(" + _COMMENT + rb"\s*+)*<svg[\s>]",
    re.DOTALL,
)
"""Comments end at their first end marker: otherwise the regex would try all combinations of many
comments.
"""


class NotAnImageError(ValueError):
    """The bytes are not an image, or one that is too large; the message is the reason, a predicate
    after "it".
    """


@dataclass(frozen=True, slots=True)
class Picture:
    """An image after detection."""

    data: bytes
    format: str
    """`png`, `jpeg`, `gif`, `webp` or `svg`."""
    width: int
    height: int
    """0 for an SVG, which has no size of its own."""

    @property
    def media_type(self) -> str:
        """The media type."""
        return "image/svg+xml" if self.format == "svg" else f"image/{self.format}"

    @property
    def size(self) -> str:
        """Width and height in the API's format."""
        return f"{self.width}x{self.height}" if self.width else "auto"


def inspect(data: bytes) -> Picture:
    """Return the format and size of an image. Raises `NotAnImageError`."""
    if len(data) > MOST_BYTES:
        raise NotAnImageError(f"has more than {MOST_BYTES} bytes")
    form, size = _known(data)
    if size is None:
        raise NotAnImageError("is not an image in PNG, JPEG, GIF, WebP or SVG")
    width, height = size
    if form != "svg" and not (width and height):
        raise NotAnImageError("is an image without pixels")
    if width * height > MOST_PIXELS:
        raise NotAnImageError(
            f"is an image of {width} by {height} pixels, more than the limit "
            f"of {MOST_PIXELS} pixels"
        )
    return Picture(data, form, width, height)


def _known(data: bytes) -> tuple[str, tuple[int, int] | None]:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        return "png", (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    if data.startswith(b"\xff\xd8"):
        return "jpeg", _jpeg(data)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return "gif", (int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp", _webp(data)
    return "svg", (0, 0) if _SVG.match(data[:4096]) else None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(_MOST_MARKERS):
        if place + 9 > len(data) or data[place] != 0xFF:
            break
        marker = data[place + 1]
        if marker in _JPEG_SIZES:
            height, width = (
                int.from_bytes(data[place + at : place + at + 2], "big") for at in (5, 7)
            )
            return width, height
        length = (
            0
            if marker in _JPEG_BARE or marker == 0xFF
            else int.from_bytes(data[place + 2 : place + 4], "big")
        )
        place += 1 if marker == 0xFF else 2 + length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    head = data[20:30]
    if len(head) < 10:
        return None
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[4:7], "little"), 1 + int.from_bytes(head[7:10], "little")
    if kind == b"VP8L" and head[0] == 0x2F:
        bits = int.from_bytes(head[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and head[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(head[6:8], "little") & 0x3FFF, int.from_bytes(
            head[8:10], "little"
        ) & 0x3FFF
    return None
