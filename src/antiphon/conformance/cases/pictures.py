"""Pictures of one colour, made here."""

import base64
import struct
import zlib

COLOURS = {"red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255)}

SIDE = 32
"""Pixels: some models want at least 28."""


def png(colour: str) -> str:
    """Return a square of the colour as the data URL of a PNG."""
    row = b"\x00" + bytes(COLOURS[colour]) * SIDE
    head = struct.pack(">2I5B", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = (("IHDR", head), ("IDAT", zlib.compress(row * SIDE)), ("IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind.encode(), body) for kind, body in chunks)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
