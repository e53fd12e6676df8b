"""Bytes to server-sent events and back, fed in any cut (specification section 7; the WHATWG's event stream format)."""

from collections.abc import Sequence

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.events import Event

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event; a backend that sends a longer one is broken or hostile."""

DONE = b"[DONE]"
"""How Chat Completions streams end."""

COMMENT = b": keep-alive\n\n"

_encode = msgspec.json.Encoder().encode
_heads: dict[type[Event], bytes] = {}


def encode(events: Sequence[Event]) -> bytes:
    """Return the events as bytes: for each `event: <type>`, `data: <json>` and an empty line."""
    return b"".join([_head(type(event)) + _encode(event) + b"\n\n" for event in events])


def _head(kind: type[Event]) -> bytes:
    head = _heads.get(kind)
    if head is None:
        head = _heads[kind] = b"event: " + str(kind.__struct_config__.tag).encode() + b"\ndata: "
    return head


class EventDecoder:
    """Turns bytes into the data of server-sent events.

    Any line ending, comments, data over several lines, a byte order mark and any cut of the bytes are understood. An
    event without data is none. `feed` and `finish` raise `BackendError` where an event exceeds `MAX_EVENT` bytes.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._started = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes; return the data of each event that they complete."""
        self._parts.append(data)
        self._size += len(data)
        if b"\n" not in data and b"\r" not in data:
            self._check_size()
            return []
        return self._split()

    def finish(self) -> list[bytes]:
        """Say that no more bytes come; return the data of an event whose empty line the backend left out."""
        self._parts.append(b"\n\n")
        return self._split()

    def _split(self) -> list[bytes]:
        buffer = b"".join(self._parts)
        if not self._started:
            self._started = True
            buffer = buffer.removeprefix(b"\xef\xbb\xbf")
        held = b""
        if b"\r" in buffer:
            # A carriage return at the very end may be the first half of a CRLF.
            if buffer.endswith(b"\r"):
                buffer, held = buffer[:-1], b"\r"
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        blocks = buffer.split(b"\n\n")
        rest = blocks.pop() + held
        self._parts, self._size = [rest], len(rest)
        self._check_size()
        return [data for block in blocks if (data := _data(block))]

    def _check_size(self) -> None:
        if self._size > MAX_EVENT:
            raise BackendError(f"The backend sent an event of more than {MAX_EVENT} bytes.")


def _data(block: bytes) -> bytes:
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:]
    values = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(values)
