"""The bytes of one backend answer, streamed or plain, into a response."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.errors import BackendError
from antiphon.translation.from_chat.reader import Finish
from antiphon.translation.sse import DONE, END, EventDecoder
from antiphon.translation.writer import ResponseWriter

MAX_PLAIN_ANSWER = 64 * 1024 * 1024
"""Bytes of a plain answer; a backend that sends more is broken or hostile."""


class AnswerStream(Protocol):
    """What makes events of one backend answer, whichever API the backend speaks."""

    error: BackendError | None

    @property
    def is_over(self) -> bool:
        """Whether the answer said that it has ended, or failed."""

    @property
    def has_calls(self) -> bool:
        """Whether a call began."""

    @property
    def preopened(self) -> bool:
        """Whether the model's template opens `<think>`, as far as is known now."""

    def read(self, data: bytes) -> None:
        """Take the data of one event, or a plain answer. Raises `BackendError` for what cannot be read."""

    def read_run(self, events: Sequence[bytes], start: int) -> int:
        """Take the event at `start`, with those that follow where they can be read together; return how many."""

    def take_text(self, data: bytes) -> Finish | None:
        """Take a plain answer that nobody hears being told, where that is a text; return how it ended.

        None: it is one to `read`.
        """

    def finish(self, done: bool = False) -> Finish:
        """Say that no more comes, `done` if the backend said `[DONE]`; return how the answer ended."""


class AnswerReader:
    """Feeds a backend's bytes to an `AnswerStream`: an event stream, or one JSON object (`is_json`).

    `feed` the bytes as they come, until `is_over` or there are no more; then `finish`. What cannot be read becomes
    the answer's error, never an exception.
    """

    def __init__(self, stream: AnswerStream, is_json: bool = False) -> None:
        self._stream = stream
        self._decoder = None if is_json else EventDecoder()
        self._parts: list[bytes] = []
        self._size = 0
        self._done = False
        self.chunks = 0
        """Events of the stream that were read so far."""
        self.is_over = False
        """Whether the backend said `[DONE]` or failed: what may still come is of no interest."""

    def feed(self, part: bytes) -> None:
        """Take bytes."""
        try:
            if self._decoder is None:
                self._parts.append(part)
                self._size += len(part)
                if self._size > MAX_PLAIN_ANSWER:
                    raise BackendError(f"The backend's answer is larger than {MAX_PLAIN_ANSWER} bytes.")
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
            if self._done or self._stream.is_over:
                self.is_over = True
        except BackendError as error:
            self.fail(error)

    def fail(self, error: BackendError) -> None:
        """Say that no more bytes come because of this error."""
        self._stream.error = self._stream.error or error
        self.is_over = True

    def finish(self) -> Finish:
        """Say that no more bytes come; return how the answer ended."""
        try:
            if self._decoder is None:
                self._done = True
                body = b"".join(self._parts)
                if (ending := self._stream.take_text(body)) is not None:
                    return ending
                self._stream.read(body)
            elif not self.is_over:
                self.feed(END)
        except BackendError as error:
            self.fail(error)
        return self._stream.finish(self._done)


def conclude(writer: ResponseWriter, ending: Finish) -> None:
    """Set how a response ended from how its last answer did; `ResponseWriter.end` then tells it."""
    if ending.error is not None:
        writer.fail(ending.error, ending.usage)
    elif ending.outcome == "completed":
        writer.complete(ending.usage)
    else:
        writer.stop_short(ending.outcome, ending.usage)
