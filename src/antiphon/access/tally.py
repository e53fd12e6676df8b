"""Counts the tokens of a forwarded answer of Chat Completions or embeddings."""

import json
import re
from typing import Any

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChunk
from antiphon.protocol.response import Usage
from antiphon.translation.from_chat.decode import decode_chunk
from antiphon.translation.from_chat.reader import larger, read_usage
from antiphon.translation.to_chat_completions.tokens import by_size, request_tokens
from antiphon.translation.wire import DONE, EventDecoder

MAX_PLAIN = 64 * 1024 * 1024
"""Bytes of a plain answer that are looked through."""


USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
"""The start of the usage in an answer with images; inside a string its quotes would be escaped."""

MOST_USAGE = 4_096
"""Bytes of it that are read."""


class ImagesTally:
    """Finds the tokens in a forwarded answer with images; the rest, dozens of megabytes, is not
    read.
    """

    def __init__(self) -> None:
        self._end = self._found = b""

    def feed(self, part: bytes) -> None:
        """Take bytes as they are passed on."""
        text = self._end + part
        self._end = text[-16:]
        if (place := text.rfind(b'"usage"')) >= 0:
            self._found = text[place : place + MOST_USAGE]
        elif self._found:
            self._found += part[: MOST_USAGE - len(self._found)]

    def usage(self) -> Usage | None:
        """Return the tokens that were reported last, or None."""
        mark = USAGE.match(self._found)
        try:
            reported, _ = (
                json.JSONDecoder().raw_decode(self._found[mark.end() :].decode())
                if mark
                else ({}, 0)
            )
        except (ValueError, RecursionError):
            return None
        found = [reported.get(name) for name in ("input_tokens", "output_tokens")]
        counts = [count if isinstance(count, int) and 0 <= count < 2**53 else 0 for count in found]
        return Usage(input_tokens=counts[0], output_tokens=counts[1]) if any(counts) else None


class Tally:
    """Reads an answer of Chat Completions or embeddings as it passes, and returns its tokens."""

    def __init__(self, *, is_stream: bool) -> None:
        self._usage: Any = None
        self._stated = 0
        self._events = EventDecoder() if is_stream else None
        self._plain: list[bytes] = []
        self._size = 0

    def feed(self, part: bytes) -> None:
        """Take bytes as they are passed on."""
        if self._events is None:
            self._size += len(part)
            if self._size <= MAX_PLAIN:
                self._plain.append(part)
            return
        try:
            for data in self._events.feed(part):
                if data != DONE:
                    self._see(decode_chunk(data))
        except BackendError:
            self._events = EventDecoder()  # the client will see that the answer is broken

    def usage(self, request: dict[str, Any]) -> Usage:
        """Return the reported tokens, else an estimate from the texts. No bytes follow."""
        self._finish()
        return read_usage(self._usage) or Usage(
            input_tokens=request_tokens(request), output_tokens=self._stated
        )

    def _finish(self) -> None:
        if self._plain and self._size <= MAX_PLAIN:
            try:
                self._see(decode_chunk(b"".join(self._plain)))
            except BackendError:
                self._stated += by_size(b"".join(self._plain).decode("utf-8", "replace"))

    def _see(self, chunk: ChatChunk) -> None:
        self._usage = larger(self._usage, chunk.usage)
        for choice in chunk.choices or ():
            self._usage = larger(choice.usage, self._usage)
            message = choice.delta or choice.message
            texts = (
                (message.content, message.reasoning_content, message.reasoning) if message else ()
            )
            self._stated += sum(by_size(text) for text in texts if isinstance(text, str))
            self._stated += sum(
                by_size(str(call)) for call in (message.tool_calls if message else None) or ()
            )
