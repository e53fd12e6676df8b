"""Bytes to server-sent events and back, fed in any cut (specification section 7; the WHATWG's event stream format)."""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.events import Event

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event; a backend that sends a longer one is broken or hostile."""

DONE = b"[DONE]"
"""How Chat Completions streams end."""

END = b"\n\n"
"""What ends an event whose empty line the backend left out, and adds nothing to others."""

COMMENT = b": keep-alive\n\n"

_encode_lines = msgspec.json.Encoder().encode_lines
_heads: dict[type[Event], bytes] = {}


def encode(events: Sequence[Event]) -> bytes:
    """Return the events as bytes: for each `event: <type>`, `data: <json>` and an empty line.

    JSON has no line feed in it, so those that follow one another with the same type are encoded in one go.
    """
    frames: list[bytes] = []
    for kind, same in groupby(events, type):
        head = _heads.get(kind) or _head(kind)
        frames += head, _encode_lines(list(same))[:-1].replace(b"\n", b"\n\n" + head), b"\n\n"
    return b"".join(frames)


def _head(kind: type[Event]) -> bytes:
    head = _heads[kind] = b"event: " + str(kind.__struct_config__.tag).encode() + b"\ndata: "
    return head


class EventDecoder:
    """Turns bytes into the data of server-sent events.

    Any line ending, comments, data over several lines, a byte order mark and any cut of the bytes are understood. An
    event without data is none. `feed` and `finish` raise `BackendError` where an event exceeds `MAX_EVENT` bytes.
    The work is linear in the bytes, however they are cut.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """Pieces of the line that has not ended."""
        self._line_size = 0
        self._data: list[bytes] = []
        """Data lines of the event that has not ended."""
        self._data_size = 0
        self._started = False
        self._ended_in_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes; return the data of each event that they complete."""
        if b"\r" in data or self._ended_in_return:
            data = self._plain_line_ends(data)
        if b"\n" in data:
            data = b"".join([*self._line, data])
            whole, end, rest = data.rpartition(b"\n\n")
            if end and not self._data and whole[:6] == b"data: " and b"\n" not in rest and len(data) <= MAX_EVENT:
                # Each event has one line in all but a few streams: it is what stands between the line ends.
                events = whole[6:].split(b"\n\ndata: ")
                if whole.count(b"\n") == 2 * len(events) - 2 and b"" not in events:
                    self._started = True
                    self._line, self._line_size = [rest], len(rest)
                    return events
            lines = data.split(b"\n")
            rest = lines.pop()
            self._line, self._line_size = [rest], len(rest)
            events = self._read(lines)
        else:
            self._line.append(data)
            self._line_size += len(data)
            events = []
        _check(self._data_size + self._line_size)
        return events

    def finish(self) -> list[bytes]:
        """Say that no more bytes come; return the data of an event whose empty line the backend left out."""
        return self.feed(END)

    def _read(self, lines: list[bytes]) -> list[bytes]:
        if not self._started:
            self._started = True
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        events, data, size = [], self._data, self._data_size
        for line in lines:
            if line[:6] == b"data: ":  # what all but a few send
                data.append(line[6:])
                size += len(line)
            elif not line:
                if event := data[0] if len(data) == 1 else b"\n".join(data):
                    _check(size)
                    events.append(event)
                data, size = [], 0
            elif line[:5] == b"data:":
                data.append(line[5:])
                size += len(line)
        self._data, self._data_size = data, size
        return events

    def _plain_line_ends(self, data: bytes) -> bytes:
        """Return the data with line feeds only. One that follows a return in the bytes before is half a line end."""
        if not data:
            return data
        if self._ended_in_return:
            data = data.removeprefix(b"\n")
        self._ended_in_return = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _check(size: int) -> None:
    if size > MAX_EVENT:
        raise BackendError(f"The backend sent an event of more than {MAX_EVENT} bytes.")
