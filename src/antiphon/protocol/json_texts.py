"""Long strings of JSON, decoded in pieces: the same text and the same errors as in one step.

A piece is short, and CPython appends it in place to a text without other references, so no step
copies all of the text.
"""

import re

import msgspec

LONG = 512 * 1024
"""Bytes from which a string is decoded in pieces, and bytes of a piece."""

MOST_WIDE = 10_485_760
"""Characters of a long non-ASCII text, as many as the API allows: a single character can make all
of it four times as large, in one step.
"""

STRING_WINDOW = 256 * 1024
"""Bytes of a string in which its end is searched in one step."""

AHEAD = 12
"""Bytes after a piece that can determine its error: the longest escape, a pair of surrogates."""

_TEXT = re.compile(rb'(?:[^"\\]++|\\.)*', re.DOTALL)
_HIGH = re.compile(rb"\\u[dD][89abAB]")
_ESCAPE = len(rb"\u0000")


def decode_text(body: bytes, begin: int, end: int) -> str:
    """Return the string between two quotes: the first is at `begin`, and `end` is after the last.

    Raises `msgspec.DecodeError` and `UnicodeDecodeError` as for the whole, and `DecodeError` if it
    is too wide.
    """
    text = ""
    at = begin + 1
    error = None
    while at < end:
        stop = end if end - at <= LONG else _boundary(body, at, at + LONG)
        try:
            piece = _decode_piece(body, at, stop, is_last=stop == end)
        except (
            UnicodeDecodeError
        ) as broken:  # the decoder checks escapes first, in the whole string
            piece = ""
            error = broken
        if len(text) + len(piece) > MOST_WIDE and not (text.isascii() and piece.isascii()):
            raise msgspec.DecodeError(
                f"a string that is not ASCII is longer than {MOST_WIDE} characters"
            )
        text += piece
        at = stop
    if error is not None:
        raise error
    return text


def end_of_string(body: bytes, begin: int) -> int:
    """Return where the string ends that begins there; the end of the body if it does not end."""
    position = begin + 1
    size = len(body)
    while position < size:
        limit = min(size, position + STRING_WINDOW)
        quote = body.find(b'"', position, limit)
        if body.find(b"\\", position, limit if quote < 0 else quote) < 0:
            if quote >= 0:
                return quote + 1
            position = limit
            continue
        text = _TEXT.match(body, position, position + STRING_WINDOW)
        end = position if text is None else text.end()
        if end >= size:
            return size
        if body[end] == ord('"'):
            return end + 1
        if end == position:  # the body ends after a backslash
            return size
        position = end
    return size


def _decode_piece(body: bytes, begin: int, end: int, *, is_last: bool) -> str:
    try:
        piece: str = msgspec.json.decode(b'"' + body[begin:end] + (b"" if is_last else b'"'))
    except msgspec.DecodeError:
        raise _error_of(body, begin, end) from None
    return piece


def _error_of(body: bytes, begin: int, end: int) -> msgspec.DecodeError:
    """Return the error of a piece: for half an escape, the bytes after it matter too."""
    try:
        msgspec.json.decode(b'"' + body[begin : end + AHEAD])
    except msgspec.DecodeError as error:
        return moved(error, begin - 1)
    return msgspec.DecodeError("Input data was truncated")


def _boundary(body: bytes, begin: int, end: int) -> int:
    """Return a position near the end at which no escape, pair of surrogates or character is
    split.
    """
    at = body.rfind(b"\\", end - AHEAD, end)
    if at < 0:
        while end - begin > LONG - 3 and body[end] & 0xC0 == 0x80:
            end -= 1
        return end
    at -= is_escaped(body, at, begin)
    before = at - _ESCAPE
    return before if _HIGH.match(body, before) and not is_escaped(body, before, begin) else at


def is_escaped(body: bytes, at: int, begin: int = 0) -> bool:
    """Whether the byte there is part of an escape that begins just before it.

    None continues at `begin`.
    """
    before = body[max(begin, at - 64) : at]
    if len(before) == 64 and not before.strip(b"\\"):
        before = body[begin:at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


_AT = re.compile(r"\(byte (\d+)\)")


def place_of(error: msgspec.DecodeError) -> int | None:
    """Return the position that an error names."""
    found = _AT.search(str(error))
    return int(found[1]) if found else None


def moved(error: msgspec.DecodeError, by: int) -> msgspec.DecodeError:
    """Return an error with another position."""
    return msgspec.DecodeError(_AT.sub(lambda at: f"(byte {int(at[1]) + by})", str(error)))
