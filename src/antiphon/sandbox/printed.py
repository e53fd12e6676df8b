"""Reads the output of a machine at the server's pace.

The pipe is the limit: code with endless output waits for the server, which reads the first bytes as
they arrive, and the others slowly. Between two calls nothing is read.
"""

import asyncio
import os
from contextlib import suppress

from antiphon.sandbox.kernel import CapturedOutput

PART = 65536
"""The capacity of a pipe."""
PAUSE = 0.005
"""Seconds between two reads, once the retained part has arrived."""
LAST = 16
"""Maximum parts that are read at the end of a call."""


class Printed:
    """The output of one call of a machine: the read end of its pipe, which does not block, and the
    retained output.
    """

    def __init__(self, pipe: int, limit: int) -> None:
        self._pipe = pipe
        self._saved = CapturedOutput(limit)
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._loop.add_reader(pipe, self._read)

    def end(self) -> str:
        """Stop reading, and return the output so far."""
        self._loop.remove_reader(self._pipe)
        if self._pause is not None:
            self._pause.cancel()
        for _ in range(LAST):
            if not self._part():
                break
        return self._saved.text()

    def _read(self) -> None:
        if not self._part():
            self._loop.remove_reader(self._pipe)  # the machine ended, and closed the pipe
        elif self._saved.is_full:
            self._loop.remove_reader(self._pipe)
            self._pause = self._loop.call_later(
                PAUSE, self._loop.add_reader, self._pipe, self._read
            )

    def _part(self) -> bytes:
        part = b""
        with suppress(BlockingIOError):
            part = os.read(self._pipe, PART)
        self._saved.add(part)
        return part
