"""Logs the standard error of a server's program: a bounded number of bounded lines at debug
level.
"""

import asyncio
import os
from collections.abc import Sequence
from threading import Thread
from types import TracebackType

from antiphon.errors import log
from antiphon.tools.mcp.result import without

MAX_LINES = 1_000
"""Lines of one run of a program that are logged; later ones are read and dropped."""

MAX_LINE = 500
"""Characters of a line that are logged."""

MAX_READ = 64 * 1024
"""Bytes of a line that are read at once; a secret must not be split before it is removed."""


class Spoken:
    """The end of a pipe to pass to a program as `file`; a thread logs the output.

    `last` is the last line that was not empty, as it is logged.
    """

    def __init__(self, label: str, secrets: Sequence[str] = ()) -> None:
        self._label = label
        self._secrets = secrets
        reading, writing = os.pipe()
        self.file = os.fdopen(writing, "w")
        self.last = ""
        # Event loops on Windows cannot wait for a pipe, and there are few programs.
        self._thread = Thread(
            target=self._log, args=(reading,), name=f"mcp {label} stderr", daemon=True
        )
        self._thread.start()

    async def end(self, seconds: float) -> None:
        """Wait until everything was read, for at most this many seconds: child processes can keep
        the pipe open.
        """
        await asyncio.to_thread(self._thread.join, seconds)

    def __enter__(self) -> "Spoken":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.file.close()

    def _log(self, reading: int) -> None:
        lines = 0
        with os.fdopen(reading, "rb") as pipe:
            while line := pipe.readline(MAX_READ):
                lines += 1
                stated = self._sound(line)
                self.last = stated or self.last
                if lines <= MAX_LINES:
                    log.debug("MCP server '%s': %s", self._label, stated)

    def _sound(self, line: bytes) -> str:
        text = without(self._secrets, line.decode(errors="replace"))
        return "".join(one if one.isprintable() else " " for one in text).rstrip()[:MAX_LINE]
