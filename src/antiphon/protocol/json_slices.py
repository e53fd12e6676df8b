"""Large JSON, decoded in slices: the same data and the same errors as in one step, without one long
step.

`msgspec` holds Python's lock while it decodes, so a large body would stop every other thread, the
event loop among them. Here a fast scan finds commas outside strings. The text between two of them
becomes a small document, with the brackets that were open before it and those that are open after
it. `msgspec` decodes each document, and its members join the containers that are still open. So
there is one parser for all JSON, small or large. A long string is decoded separately
(`json_texts.py`), and a short one replaces it meanwhile.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from antiphon.protocol.json_members import NO_READERS, SLICE, Readers, decode_members, decode_value
from antiphon.protocol.json_texts import (
    LONG,
    decode_text,
    end_of_string,
    is_escaped,
    moved,
    place_of,
)
from antiphon.sizes import LARGE

WINDOW = 8 * 1024
"""Bytes that the scan reads in one step."""

LONGEST_WORD = len(b"false")

DEEPEST = 2_000
"""Levels that no decoder reads, because its stack is not as deep."""

# No group is possessive: Python before 3.11.5 matches too little with one (CPython's issue 106052).
# The groups need no backtracking either way, because each alternative begins with another byte.
_STRING = rb'"(?:[^"\\]++|\\.)*"'
_RUN = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*", re.DOTALL)
_TO_COMMA = re.compile(rb'(?:[^",\[\]{}]++|' + _STRING + rb")*,", re.DOTALL)

_ENDING = b']}"'
_OPEN = b"[{"
_CLOSING = b"]}"
_CLOSED = {ord("["): b"]", ord("{"): b"}"}

_RETAINED = f"\0 {hash('held')}"
"""A key that replaces earlier members. No client knows it: Python's hashes differ by process."""

_HOLDER = {ord("["): b"[", ord("{"): b"{" + msgspec.json.encode(_RETAINED) + b":"}


def runs(body: bytes) -> Iterator[tuple[int, int, int]]:
    """Return the stretches between brackets, without those in strings: the beginning and the end of
    each.

    At the end is a bracket, or nothing, or a long stretch continues there. The last of the three is
    where the string begins that ends a stretch, or its end if no string does: a string that is not
    short ends its stretch.
    """
    position = 0
    size = len(body)
    while position < size:
        run = _RUN.match(body, position, position + WINDOW)
        string = end = position if run is None else run.end()
        if end < size and body[end] == ord('"'):
            end = end_of_string(body, end)
        yield position, end, string
        position = end + 1 if end < size and body[end] in b"[]{}" else end


def holds_more(body: bytes, most: int) -> bool:
    """Whether there are more than this many arrays and objects."""
    found = 0
    for _, end, _ in runs(body):
        found += end < len(body) and body[end] in _OPEN
        if found > most:
            return True
    return False


def count_openings(body: bytes, most: int) -> int:
    """Count the opening brackets, including those in strings, up to one more than `most`.

    Most are rare, and CPython searches a byte 20 times as fast as it counts them.
    """
    found = 0
    for mark in (b"[", b"{"):
        at = body.find(mark)
        while at >= 0 and found <= most:
            found += 1
            at = body.find(mark, at + 1)
    return found


def decoded(body: bytes) -> Any:
    """Return decoded JSON that was checked before; a large body is decoded in slices."""
    return decode_value(body) if len(body) <= LARGE else decode_in_slices(body)


def decode_in_slices(body: bytes, readers: Readers = NO_READERS) -> Any:
    """Return the decoded JSON. Raises what `msgspec.json.decode` raises, with the same messages.

    `readers`: see `decode_members`.
    """
    try:
        return decode_members(body, readers)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _Slices(body).decode()


class _Slices:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._begin = 0
        """Where the next slice to decode begins."""
        self._open: list[int] = []
        """Where each container began that is open at this position of the scan."""
        self._live: list[Any] = []
        """The containers that were open when the last slice ended, the outermost first."""
        self._saved = 0
        """How many of them have remained open since."""
        self._root: Any = None
        self._long: list[tuple[int, int]] = []
        """Where the long strings of this slice begin and end."""

    def decode(self) -> Any:
        body = self._body
        opened = self._open
        for begin, end, string in runs(body):
            if opened and end - self._begin >= SLICE:
                comma = _TO_COMMA.match(body, begin, string if end - string > LONG else end)
                # If only whitespace precedes it in this stretch, a member ends there
                # or the comma is wrong.
                if comma is not None and (comma[0][:-1].strip() or body[begin - 1] in _ENDING):
                    self._take(comma.end() - 1)
            if end - string > LONG:
                self._long.append((string, end))
            if end == len(body):
                break
            if body[end] in _OPEN:
                opened.append(end)
                if len(opened) > DEEPEST:  # the decoder stops here too
                    break
            elif body[end] in _CLOSING:
                if len(opened) <= 1:  # the end of the document, or one bracket too many
                    break
                opened.pop()
                self._saved = min(self._saved, len(opened))
        self._decode(len(body), b"")
        return self._root

    def _take(self, end: int) -> None:
        """Decode up to a comma, and record what is open there."""
        self._decode(end, b"".join(_CLOSED[self._body[at]] for at in reversed(self._open)))
        live = self._live[: self._saved]
        for at in self._open[len(live) :]:
            live.append(self._newest(live[-1], at) if live else self._root)
        self._live, self._saved, self._begin = live, len(live), end

    def _decode(self, end: int, closed: bytes) -> None:
        """Decode the slice up to `end`, and add its members to the containers."""
        retained = b"".join(
            _HOLDER[ord("[") if type(one) is list else ord("{")] for one in self._live
        )
        if self._live:
            retained += b"0"
        try:
            data = decode_value(b"".join((retained, self._part(end), closed)))
        except msgspec.DecodeError:
            raise self._error(retained, end) from None
        if self._long:
            data = _filled(
                data, {_stand_in(begin): self._text(begin, end) for begin, end in self._long}
            )
            self._long = []
        if not self._live:
            self._root = data
        for container in self._live:
            if type(container) is list:
                container.extend(islice(data, 1, None))
                data = data[0]
            else:
                earlier = data.pop(_RETAINED)
                container.update(data)
                data = earlier

    def _part(self, end: int) -> bytes:
        """Return the slice up to `end`, with long strings replaced by short ones."""
        parts = list[bytes]()
        at = self._begin
        for begin, behind in self._long:
            parts += self._body[at:begin], msgspec.json.encode(_stand_in(begin))
            at = behind
        return b"".join((*parts, self._body[at:end]))

    def _text(self, begin: int, end: int) -> str:
        return decode_text(self._body, begin, end)

    def _error(self, retained: bytes, end: int) -> msgspec.DecodeError:
        """Return the error of a slice in the words of the whole: for an invalid word, the text
        after it matters too.

        Raises the error of a long string before it.
        """
        error = msgspec.DecodeError("Input data was truncated")
        place = len(self._body)
        try:
            decode_value(retained + self._part(end + LONGEST_WORD))
        except msgspec.DecodeError as known:
            error = known
            if (at := place_of(known)) is not None:
                place = at - len(retained) + self._begin
                for begin, behind in self._long:
                    if place > begin:
                        place += behind - begin - len(msgspec.json.encode(_stand_in(begin)))
                error = moved(known, place - at)
        for begin, behind in self._long:
            if begin < place:
                self._text(begin, behind)
        return error

    def _newest(self, parent: Any, at: int) -> Any:
        """Return the member of a container that begins at this position."""
        if type(parent) is list:
            return parent[-1]
        end = self._body.rfind(b'"', 0, at)
        begin = self._body.rfind(b'"', 0, end)
        while is_escaped(self._body, begin):
            begin = self._body.rfind(b'"', 0, begin)
        return parent[msgspec.json.decode(self._body[begin : end + 1])]


def _stand_in(place: int) -> str:
    """Return the replacement of the long string that begins there."""
    return f"{_RETAINED} {place}"


def _filled(data: Any, texts: Mapping[str, str]) -> Any:
    """Return the data with the texts put back. Raises `DecodeError` if one is a name."""
    root = [data]
    containers: list[Any] = [root]
    while containers:
        container = containers.pop()
        entries = list(container.items()) if type(container) is dict else enumerate(container)
        for key, value in entries:
            if type(key) is str and key in texts:
                raise msgspec.DecodeError(f"a name in an object is longer than {LONG} bytes")
            if type(value) is str:
                container[key] = texts.get(value, value)
            elif type(value) is dict or type(value) is list:
                containers.append(value)
    return root[0]
