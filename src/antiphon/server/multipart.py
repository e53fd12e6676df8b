"""Forms of `multipart/form-data` (RFC 7578), read as they arrive: a part is never held in memory as
a whole.

`FormParser` has no I/O: it accepts the body in pieces of any size and returns their parts.
`parts_of` reads the parts of a request with it.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from antiphon.errors import ClientError

MOST_HEAD = 8 * 1024
"""Bytes of the headers of a part."""

MOST_PARTS = 64
"""Parts of a form."""

MOST_TEXT = 8 * 1024
"""Bytes of a field that is text."""

OVERHEAD = MOST_PARTS * (MOST_HEAD + 1024)
"""Bytes that a form may have in addition to the content of its file."""

BLANKS = 128
"""Bytes that may follow a boundary in its line."""

_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_PARAMETER = re.compile(r';\s*([\w*-]+)=("(?:[^"\\]|\\.)*"|[^;"\s]*)', re.DOTALL)
_QUOTED = {"%22": '"', "%0D": "\r", "%0A": "\n", '\\"': '"'}
_QUOTE = re.compile(r'%22|%0[DdAa]|\\"')


@dataclass(frozen=True, slots=True)
class PartHead:
    """A part begins. `filename` is None for a field without a file."""

    name: str
    filename: str | None


class FormEnd:
    """The form has ended."""


END = FormEnd()

NOTHING = b""

Event = PartHead | bytes | FormEnd
"""The events of a piece of a form: the head of a part, bytes of its content, and the end of the
form.
"""


def boundary_of(content_type: bytes) -> bytes:
    """Return the boundary that a header names.

    Raises `ClientError`: 415 for another type, 400 for no boundary.
    """
    text = content_type.decode("latin-1")
    kind = text.partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise ClientError(
            f"The body's Content-Type '{text[:100]}' is not supported. Send the file as "
            "multipart/form-data.",
            status=415,
            code="unsupported_media_type",
        )
    boundary = _parameters(text).get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise _malformed("its Content-Type names no valid boundary")
    return boundary.encode()


class FormParser:
    """Parses a form in pieces. It holds at most one piece, and the head of one part."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._buffer = bytearray(b"\r\n")  # the first boundary may begin the body
        self._read = self._skip
        self._parts = 0
        self.is_over = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events so far. Raises `ClientError` (400) if the form is malformed."""
        self._buffer += data
        while not self.is_over:
            event = self._read()
            if event is None:
                return
            if event:
                yield event
        self._buffer.clear()  # bytes after the last boundary are ignored

    def finish(self) -> None:
        """Raise `ClientError` (400) if the body ended before its form."""
        if not self.is_over:
            raise _malformed("it ends before its last boundary")

    # Each state returns an event, `NOTHING` after bytes that are no event, or None if it
    # needs more bytes.

    def _skip(self) -> Event | None:
        """Skip the bytes before the first boundary."""
        if self._up_to_boundary() is not None:
            return NOTHING
        if len(self._buffer) > MOST_HEAD:
            raise _malformed("it does not begin with its boundary")
        return None

    def _line(self) -> Event | None:
        """Read the rest of a boundary's line.

        Its line break stays: it begins the head, which may be empty.
        """
        if self._buffer.startswith(b"--"):
            self.is_over = True
            return END
        place = self._buffer.find(b"\r\n")
        rest = self._buffer if place < 0 else self._buffer[:place].strip(b" \t")
        if len(rest) > (BLANKS if place < 0 else 0):
            raise _malformed("something follows a boundary in its line")
        if place < 0:
            return None
        del self._buffer[:place]
        self._read = self._head
        return NOTHING

    def _head(self) -> Event | None:
        place = self._buffer.find(b"\r\n\r\n")
        if max(place, len(self._buffer) if place < 0 else 0) > MOST_HEAD:
            raise _malformed(f"the head of a part has more than {MOST_HEAD} bytes")
        if place < 0:
            return None
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise _malformed(f"it has more than {MOST_PARTS} parts")
        head = bytes(self._buffer[2:place])
        del self._buffer[: place + 4]
        self._read = self._content
        return _head_of(head)

    def _content(self) -> Event | None:
        """Yield content up to the next boundary, or up to the possible beginning of one."""
        content = self._up_to_boundary()
        if content is not None:
            return content
        sure = len(self._buffer) - len(self._delimiter) + 1
        if sure <= 0:
            return None
        content = bytes(self._buffer[:sure])
        del self._buffer[:sure]
        return content

    def _up_to_boundary(self) -> bytes | None:
        """Return the bytes before the next boundary, and skip it; None if it has not arrived."""
        place = self._buffer.find(self._delimiter)
        if place < 0:
            return None
        content = bytes(self._buffer[:place])
        del self._buffer[: place + len(self._delimiter)]
        self._read = self._line
        return content


def _head_of(head: bytes) -> PartHead:
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            parameters = _parameters(value)
            if value.partition(";")[0].strip().lower() == "form-data" and "name" in parameters:
                return PartHead(parameters["name"], _filename_of(parameters))
    raise _malformed("a part has no header Content-Disposition with a name")


def _filename_of(parameters: Mapping[str, str]) -> str | None:
    charset, separator, text = parameters.get("filename*", "").partition("''")
    if separator and charset.lower() in ("utf-8", "iso-8859-1"):
        return unquote(text, charset, "replace")
    return parameters.get("filename")


def _parameters(value: str) -> dict[str, str]:
    """Return the parameters of a header.

    Browsers write a quote in a name as `%22`, other clients as `\\"`.
    """
    found = {}
    for name, text in _PARAMETER.findall(value):
        if text.startswith('"'):
            text = _QUOTE.sub(lambda quote: _QUOTED[quote[0].upper()], text[1:-1])
        found[name.lower()] = text
    return found


class FormPart:
    """One part of a form. Read it before the next one: unread content is skipped."""

    def __init__(self, head: PartHead, events: AsyncIterator[Event]) -> None:
        self.name = head.name
        self.filename = head.filename
        self._events = events
        self.next: Event | None = None
        """The event that ended the part, after it was read."""

    async def content(self) -> AsyncGenerator[bytes, None]:
        """Yield the content as it arrives."""
        while self.next is None:
            event = await anext(self._events)
            if isinstance(event, bytes):
                yield event
            else:
                self.next = event

    async def text(self) -> str:
        """Return the content of a short field. Raises `ClientError` (400)."""
        whole = bytearray()
        async for piece in self.content():
            whole += piece
            if len(whole) > MOST_TEXT:
                raise _malformed(f"the field '{self.name[:100]}' has more than {MOST_TEXT} bytes")
        try:
            return whole.decode()
        except UnicodeDecodeError:
            raise _malformed(f"the field '{self.name[:100]}' is not UTF-8") from None


async def parts_of(body: AsyncIterator[bytes], boundary: bytes) -> AsyncGenerator[FormPart, None]:
    """Yield the parts of a form in turn.

    Raises `ClientError` (400) if it is malformed, and what `body` raises.
    """
    events = _events_of(body, boundary)
    event: Event | None = await anext(events)
    while isinstance(event, PartHead):
        part = FormPart(event, events)
        yield part
        async for _ in part.content():
            pass
        event = part.next
    async for _ in events:  # to the end of the body, so that the connection can be used again
        pass


async def _events_of(body: AsyncIterator[bytes], boundary: bytes) -> AsyncGenerator[Event, None]:
    parser = FormParser(boundary)
    async for piece in body:
        for event in parser.feed(piece):
            yield event
    parser.finish()


def _malformed(reason: str) -> ClientError:
    return ClientError(
        f"The form in the body could not be read: {reason}.", code="invalid_multipart_form"
    )
