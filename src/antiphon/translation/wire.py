"""Bytes on both sides: a backend's answer arrives, the events of a response are sent.

An answer is a stream of server-sent events or one JSON object, fed in any split; a response is
written as server-sent events (specification section 7; the WHATWG's event stream format). An
`AnswerStream`, one for each API of backends, reads the data of an event.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, repeat
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import AntiphonError, BackendError
from antiphon.protocol.events import WITH_RESPONSE, Event
from antiphon.protocol.response import Usage
from antiphon.protocol.tool_lists import EchoedTools
from antiphon.translation.items import StreamingMessage
from antiphon.translation.tool_items import StreamingCall
from antiphon.translation.writer import Note, ResponseWriter

COMMENT = b": keep-alive\n\n"

_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_heads: dict[type[Event], bytes] = {}


def encode(events: Sequence[Event]) -> bytes:
    """Return the events as bytes: for each `event: <type>`, `data: <json>` and an empty line.

    JSON has no line feed in it, so consecutive events of the same type are encoded in one go.

    >>> from antiphon import types
    >>> from antiphon.translation import encode
    >>> encode([types.Keepalive(sequence_number=3)])
    b'event: keepalive\\ndata: {"type":"keepalive","sequence_number":3}\\n\\n'
    """
    if len(events) == 1:  # the result of most reads of a backend's stream
        kind = type(events[0])
        return (_heads.get(kind) or _head(kind)) + _encode(events[0]) + END
    frames: list[bytes | memoryview] = []
    for kind, same in groupby(events, type):
        head = _heads.get(kind) or _head(kind)
        of_kind: list[Any] = list(same)
        if kind in WITH_RESPONSE:
            for place, event in enumerate(of_kind):
                if type(event.response.tools) is EchoedTools:
                    response = replace(event.response, tools=event.response.tools.json)
                    of_kind[place] = replace(event, response=response)
        lines = _encode_lines(of_kind).replace(b"\n", b"\n\n" + head)
        frames += head, memoryview(lines)[: -len(head)]
    return b"".join(frames)


def _head(kind: type[Event]) -> bytes:
    head = _heads[kind] = b"event: " + str(kind.__struct_config__.tag).encode() + b"\ndata: "
    return head


# Bytes to events.

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event; a backend that sends a longer one is broken or hostile."""

DONE = b"[DONE]"
"""How Chat Completions streams end."""

END = b"\n\n"
"""Ends an event if the backend omitted its empty line, and adds nothing to others."""


_LINE_FEEDS = repeat(b"\n")

STREAM_STARTS = b"deir:"
"""How lines of an event stream begin: with `data`, `event`, `id`, `retry` or a comment."""


class EventDecoder:
    """Turns bytes into the data of server-sent events.

    It accepts any line ending, comments, data over several lines, a byte order mark, and bytes split anywhere.
    Events without data are ignored. `feed` and `finish` raise `BackendError` if an event exceeds `MAX_EVENT` bytes.
    The work is linear in the bytes, however they are split.

    >>> from antiphon.translation import EventDecoder
    >>> decoder = EventDecoder()
    >>> decoder.feed(b'data: {"a"'), decoder.feed(b": 1}\\n\\n")
    ([], [b'{"a": 1}'])
    """  # noqa: E501 - a table, a diagram or an example

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """Pieces of the line that has not ended."""
        self._line_size = 0
        self._data: list[bytes] = []
        """Data lines of the event that has not ended."""
        self._is_bare = False
        """Whether they are lines of JSON without the form of an event."""
        self._data_size = 0
        self._started = False
        self._ended_in_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; return the data of each event that they complete."""
        # `find`, because `in` raises and clears an error internally for bytes:
        # it takes twice the time.
        has_return = data.find(b"\r") >= 0 or self._ended_in_return
        line_feed = data.find(b"\n")
        size = len(data)
        is_line = (
            line_feed == size - 2
            and data[:6] == b"data: "
            and data[-1:] == b"\n"
            and 8 < size <= MAX_EVENT
        )
        if is_line and not (has_return or self._line_size or self._data):
            self._started = True
            return [data[6:-2]]  # one event with one line, as in most reads of a backend's stream
        if has_return:
            data = self._plain_line_ends(data)
            line_feed = data.find(b"\n")
        if line_feed >= 0:
            if self._line_size:
                data = b"".join([*self._line, data])
            end = data.rfind(b"\n\n")
            if end > 0 and data[:6] == b"data: " and not self._data and len(data) <= MAX_EVENT:
                # Each event has one line in nearly all streams: the text between the line ends.
                events = data[6:end].split(b"\n\ndata: ")
                # Counting all line feeds would take twice the time: `count` looks at each byte.
                has_others = data.find(b"\n", end + 2) >= 0 or sum(
                    map(bytes.find, events, _LINE_FEEDS)
                ) != -len(events)
                if not has_others and b"" not in events:
                    rest = data[end + 2 :]
                    self._started, self._line, self._line_size = True, [rest], len(rest)
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
        """End the stream; return the data of an event if the backend omitted its empty line."""
        return self.feed(END)

    def _read(self, lines: list[bytes]) -> list[bytes]:
        if not self._started:
            self._started = True
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        events = []
        data = self._data
        size = self._data_size
        for line in lines:
            if self._is_bare and line and (line[:1] in STREAM_STARTS or _are_objects(data, line)):
                events.append(b"\n".join(data))
                data = []
                size = 0
                self._is_bare = False
            if line[:6] == b"data: ":  # nearly all
                data.append(line[6:])
                size += len(line)
            elif not line:
                if event := data[0] if len(data) == 1 else b"\n".join(data):
                    _check(size)
                    events.append(event)
                data = []
                size = 0
                self._is_bare = False
            elif line[:5] == b"data:":
                data.append(line[5:])
                size += len(line)
            elif self._is_bare:
                data.append(line)
                size += len(line)
            elif (
                line[:1] == b"{"
            ):  # an error after the beginning of a stream, without the form of an event
                if data:
                    events.append(b"\n".join(data))
                data = [line]
                size = len(line)
                self._is_bare = True
        self._data = data
        self._data_size = size
        return events

    def _plain_line_ends(self, data: bytes) -> bytes:
        """Return the data with line feeds only. One that follows a carriage return in the bytes
        before is half a line end.
        """
        if not data:
            return data
        if self._ended_in_return:
            data = data.removeprefix(b"\n")
        self._ended_in_return = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _are_objects(data: list[bytes], line: bytes) -> bool:
    """Return whether each line is an object of its own, without an empty line between them."""
    return len(data) == 1 and data[0].rstrip()[-1:] == b"}" and line[:1] == b"{"


def _check(size: int) -> None:
    if size > MAX_EVENT:
        raise BackendError(f"The backend sent an event of more than {MAX_EVENT} bytes.")


# A backend's answer.

MAX_PLAIN_ANSWER = 64 * 1024 * 1024
"""Bytes of a non-streamed answer; a backend that sends more is broken or hostile."""

FinishReason = Literal[
    "completed", "max_output_tokens", "content_filter", "steered", "max_messages"
]


class Finish(Struct):
    """How a backend's answer ended: complete, truncated, or with an error."""

    outcome: FinishReason
    usage: Usage | None
    error: AntiphonError | None = None
    retained: Sequence[StreamingCall | StreamingMessage] = ()
    """Items that are still open: calls that this server runs, and items to correct."""
    are_used_up: bool = False
    """Whether calls that this server would have run were dropped because the limit was reached."""
    note: Note | None = None
    """What was done about a model that repeats itself."""
    removed: Sequence[Mapping[str, Any]] = ()
    """The `input_transformations` of a backend with a Responses API."""


class AnswerStream(Protocol):
    """Creates events from one backend answer, whichever API the backend implements."""

    error: BackendError | None

    @property
    def is_over(self) -> bool:
        """Whether the answer reported its end, or failed."""

    @property
    def has_calls(self) -> bool:
        """Whether a call began."""

    @property
    def preopened(self) -> bool:
        """Whether the model's template opens `<think>`, as far as known."""

    def read(self, data: bytes) -> None:
        """Read the data of one event, or a non-streamed answer.

        Raises `BackendError` for unreadable data.
        """

    def read_run(self, events: Sequence[bytes], start: int) -> int:
        """Read the event at `start`, with those that follow if they can be read together; return
        how many.
        """

    def take_text(self, data: bytes) -> Finish | None:
        """Read a non-streamed answer without events, if it is only a text; return how it ended.

        None: it must be passed to `read`.
        """

    def finish(self, done: bool = False) -> Finish:
        """End the answer, `done` if the backend sent `[DONE]`; return how the answer ended."""


BEFORE = b" \t\r\n\xef\xbb\xbf"
"""Bytes that precede an answer of either form: whitespace and the byte order mark."""

JSON_STARTS = b"{["


class AnswerReader:
    """Feeds a backend's bytes to an `AnswerStream`: an event stream, or one JSON object.

    `is_json` is what the content type says. If the first byte shows the other form, that counts:
    backends label streams as JSON and JSON as a stream, as text or not at all, and some end JSON
    with `data: [DONE]` (nenya#17, 9router#3492, openclaw#96497, sub2api#2826).

    `feed` the bytes as they arrive, until `is_over` or there are no more; then `finish`. Unreadable
    data becomes the answer's error, never an exception.
    """

    def __init__(self, stream: AnswerStream, is_json: bool = False) -> None:
        self._stream = stream
        self._has_begun = False
        self._decoder = None if is_json else EventDecoder()
        self._parts: list[bytes] = []
        self._size = 0
        self._done = False
        self.chunks = 0
        """Events of the stream that were read so far."""
        self.is_over = False
        """Whether the backend sent `[DONE]` or failed: anything after it is ignored."""

    def feed(self, part: bytes) -> None:
        """Add bytes."""
        if not self._has_begun:
            part = part.lstrip(BEFORE)
            if not part:
                return
            self._has_begun = True
            if part[0] in (STREAM_STARTS if self._decoder is None else JSON_STARTS):
                self._decoder = EventDecoder() if self._decoder is None else None
        try:
            if self._decoder is None:
                self._parts.append(part)
                self._size += len(part)
                if self._size > MAX_PLAIN_ANSWER:
                    raise BackendError(
                        f"The backend's answer is larger than {MAX_PLAIN_ANSWER} bytes."
                    )
            else:
                events = self._decoder.feed(part)
                place = 0
                while place < len(events):
                    if events[place].startswith(DONE):
                        self._done = True
                        break
                    count = self._stream.read_run(events, place)
                    self.chunks += count
                    place += count
                    if place < len(events) and self._stream.is_over:
                        break
            if self._done or self._stream.is_over:
                self.is_over = True
        except BackendError as error:
            self.fail(error)

    def fail(self, error: BackendError) -> None:
        """End the answer because of this error."""
        self._stream.error = self._stream.error or error
        self.is_over = True

    def finish(self) -> Finish:
        """End the answer; return how it ended."""
        try:
            if self._decoder is None:
                self._done = True
                body = b"".join(self._parts)
                if DONE in body[-32:]:
                    body = _without_done(body)
                if (ending := self._stream.take_text(body)) is not None:
                    return ending
                self._stream.read(body)
            elif not self.is_over:
                self.feed(END)
        except BackendError as error:
            self.fail(error)
        return self._stream.finish(self._done)


def _without_done(body: bytes) -> bytes:
    """Return JSON without the end of a stream after it."""
    before = body.rstrip().removesuffix(DONE).rstrip()
    return before.removesuffix(b"data:")


def conclude(writer: ResponseWriter, ending: Finish) -> None:
    """Set the status of a response from the end of its last answer; `ResponseWriter.end` then writes the last event.

    >>> from antiphon.translation import ChatStream, ResponseWriter, conclude
    >>> from antiphon.types import Response
    >>> from antiphon.ids import new_id, now
    >>> writer = ResponseWriter(Response(id="resp_1", created_at=0, model="m"), new_id, now, seal=lambda state: "")
    >>> conclude(writer, ChatStream(writer).finish(done=False))
    >>> writer.response.status
    'failed'
    """  # noqa: E501 - a table, a diagram or an example
    if ending.note is not None:
        writer.notes.append(ending.note)
    if ending.error is not None:
        writer.fail(ending.error, ending.usage)
    elif ending.outcome == "completed":
        writer.complete(ending.usage)
    else:
        writer.stop_short(ending.outcome, ending.usage)
