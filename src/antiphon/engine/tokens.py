"""Notices a backend that sends bytes and says nothing: comments, or a byte now and then (cases/faults.md, row 17)."""

import asyncio

from antiphon.errors import BackendError
from antiphon.translation.from_chat.answer import AnswerReader
from antiphon.upstream.backend import Reply


class Tokens:
    """When the last one came. Of complete silence, and of what comes before the first one, the backend takes care."""

    def __init__(self, reply: Reply, answer: AnswerReader) -> None:
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._timeout = reply.idle_timeout
        self._seen, self._last = 0, self._loop.time()

    def look(self) -> None:
        """Bytes came of an answer that has begun. Raises `BackendError` where no token was among them for too long."""
        now = self._loop.time()
        if self._answer.chunks != self._seen:
            self._seen, self._last = self._answer.chunks, now
        elif now - self._last > self._timeout:
            raise BackendError("The backend keeps the connection and says nothing.")
