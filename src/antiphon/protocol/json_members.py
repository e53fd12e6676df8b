"""Large JSON of many values, decoded value by value: the usual form of a large request, and the
quick way to read it.

`msgspec` skips a value much faster than it decodes one, and no value makes it slow. Given a window
of the body from the beginning of a value on, it skips the value and says where the next character
after it is. So a value that ends within the window is decoded in one step, and the members of a
larger object or array are read one by one. The objects of an array are decoded together, as many as
a window has, if what looks like the end of the last one is its end.

Very many small members are read in slices (`json_slices.py`), and so is all that is malformed, for
its error.
"""

import re
from collections.abc import Callable, Mapping
from math import isinf
from typing import Any

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import Decoder

from antiphon.protocol.json_texts import LONG, decode_text, end_of_string, place_of

SLICE = 128 * 1024
"""Bytes that are decoded in one step. The slowest JSON, empty arrays and short numbers, takes 75 ns
a byte.

The end of a value is searched in as many: it is skipped at 5 ns a byte at most.
"""

SMALL, FEW = 32, 1000
"""Members of fewer bytes on average are read in slices, once there are more than a few of them."""


def decode_number(text: str) -> float:
    """Return the number that a text is. Raises `ValidationError` for one outside of a double."""
    value = float(text)
    if isinf(value):
        raise ValidationError("Number out of range")
    return value


decode_value = Decoder(float_hook=decode_number).decode
"""Returns the decoded JSON as `msgspec.json.decode` does, with the same errors.

Python reads a number at the edge of what a double holds in 0.4 µs, msgspec itself in 20 µs.
"""

skip = Decoder(Raw).decode

BETWEEN = b'},{"'
"""The bytes between two objects of an array. They also occur between objects that are nested in
one, and at the end of a string that ends with `},{`.
"""

TRIED = 2
"""How many places are tried as the end of a window; and in how many windows all of them can be
wrong before the other values are read one by one.
"""

BLANKS = b" \t\r\n"
_BLANK = re.compile(rb"[%b]*" % BLANKS)


Reader = Callable[[bytes, int], tuple[Any, int] | None]
"""Reads a member of the whole. Its value begins at a place. Returns the value, and where the next
character after it is; None to have it decoded. Raises `DecodeError` or `ValueError` if it is
malformed.
"""

Readers = Mapping[str, Reader]
"""By the name of the member."""

NO_READERS: Readers = {}


def decode_members(body: bytes, readers: Readers = NO_READERS) -> Any:
    """Return the decoded JSON. Raises `DecodeError` or `ValueError` for what must be read in slices
    instead.
    """
    begin = next_place(body, 0)
    if readers and body[begin : begin + 1] == b"{":
        value, end = _object(body, begin, readers)
    else:
        value, end = read_value(body, begin)
    if end != len(body):
        raise DecodeError("Something follows the value.")
    return value


def read_value(body: bytes, begin: int) -> tuple[Any, int]:
    """Return the value that begins there, and where the next character after it is."""
    end = end_of_value(body, begin)
    if end is not None:
        return decode_value(memoryview(body)[begin:end]), end
    mark = body[begin : begin + 1]
    if mark == b'"':
        end = end_of_string(body, begin)
        return decode_text(body, begin, end), next_place(body, end)
    if mark == b"[":
        return read_list(body, begin)
    if mark == b"{":
        return _object(body, begin)
    raise DecodeError("No large value begins so.")


def read_list(
    body: bytes, begin: int, decode: Callable[[bytes], list[Any]] = decode_value
) -> tuple[list[Any], int]:
    """Return the values behind an opening bracket or a comma, and where the next character after
    the array is.

    `decode` decodes an array of several objects, and raises `ValidationError` for an object that it
    does not accept. Values that are read one by one are plain data.
    """
    values: list[Any] = []
    at = begin
    follows = b","
    again = 0
    left = TRIED
    alone = size = 0
    while follows == b",":
        at = next_place(body, at + 1)
        may_be_several = left and at >= again and body[at : at + 1] == b"{"
        several = _several(body, at, decode) if may_be_several else None
        if several is not None:
            found, at = several
            values += found
        else:
            if left and at >= again:
                again = at + SLICE
                left = left - 1
            value, end = read_value(body, at)
            values.append(value)
            alone = alone + 1
            size = size + end - at
            at = end
            if alone % FEW == 0 and size < SMALL * alone:
                raise DecodeError("The members are small.")
        follows = body[at : at + 1]
    return values, _behind(body, at, b"]")


def _several(
    body: bytes, at: int, decode: Callable[[bytes], list[Any]]
) -> tuple[list[Any], int] | None:
    """Return as many objects of an array as end within `SLICE` bytes, and where the next character
    after them is.

    Return None if there is only one, or if none of the last `TRIED` places is the end of an object
    of the array: then so many windows were decoded for nothing.
    """
    end = at + SLICE
    if end >= len(body) and (whole := _end_of_array(body, at)) is not None:
        return decode(_array(body, at, whole)), whole
    for _ in range(TRIED):
        end = body.rfind(BETWEEN, at, end) + 1
        if not end:
            return None
        try:
            return decode(_array(body, at, end)), end
        except ValidationError:
            raise
        except DecodeError as error:
            place = place_of(error) if "trailing" in str(error) else None
        if place is not None:  # the array ends before the window does
            end = body.rindex(b"]", at, at + place - 2)
            return decode(_array(body, at, end)), end
    return None


def _end_of_array(body: bytes, at: int) -> int | None:
    """Return the place of the bracket that ends the array of a value, None if none does.

    Where nothing is known to be between two objects, skipping is quicker than decoding in vain.
    """
    try:
        skip(b"[%b" % body[at:])
    except DecodeError as error:
        place = place_of(error) if "trailing" in str(error) else None
        return None if place is None else body.rindex(b"]", at, at + place - 2)
    return None


def _array(body: bytes, begin: int, end: int) -> bytes:
    return b"".join((b"[", memoryview(body)[begin:end], b"]"))


def _object(body: bytes, begin: int, readers: Readers = NO_READERS) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    at = begin
    follows = b","
    while follows == b",":
        at = next_place(body, at + 1)
        end = end_of_value(body, at)
        if (
            end is None
            or end - at > LONG
            or body[at : at + 1] != b'"'
            or body[end : end + 1] != b":"
        ):
            raise DecodeError("No short name begins here.")
        name = decode_value(memoryview(body)[at:end])
        at = next_place(body, end + 1)
        read = readers.get(name)
        found = None if read is None else read(body, at)
        values[name], at = read_value(body, at) if found is None else found
        follows = body[at : at + 1]
        if len(values) % FEW == 0 and at - begin < SMALL * len(values):
            raise DecodeError("The members are small.")
    return values, _behind(body, at, b"}")


def end_of_value(body: bytes, begin: int) -> int | None:
    """Return where the next character after a value is; None if the value does not end within
    `SLICE` bytes.

    Raises `DecodeError` if it does not end at all.
    """
    try:
        skip(memoryview(body)[begin : begin + SLICE])
    except DecodeError as error:
        place = place_of(error)
        if place is not None and "trailing" in str(error):
            return begin + place - 1
        if begin + SLICE >= len(body):
            raise  # no more of the body can complete it
        return None
    return len(body) if begin + SLICE >= len(body) else None


def _behind(body: bytes, at: int, closing: bytes) -> int:
    if body[at : at + 1] != closing:
        raise DecodeError("The value does not end so.")
    return next_place(body, at + 1)


def next_place(body: bytes, at: int) -> int:
    """Return the place of the next character that is not blank; the end of the body without any."""
    blank = _BLANK.match(body, at)
    return at if blank is None else blank.end()
