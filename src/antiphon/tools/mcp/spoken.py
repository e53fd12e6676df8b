"""What a server's program says on its standard error: lines of the debug log, a bounded number of bounded ones."""

import logging
import os
from collections.abc import Sequence
from threading import Thread
from types import TracebackType

from antiphon.errors import log
from antiphon.tools.mcp.secrets import without

MAX_LINES = 1_000
"""Lines of one run of a program that are logged; what comes then is read and forgotten."""

MAX_LINE = 500
"""Characters."""


class Spoken:
    """The end of a pipe to hand to a program as `file`; what comes out of the other is logged by a thread."""

    def __init__(self, label: str, secrets: Sequence[str] = ()) -> None:
        reading, writing = os.pipe()
        self.file = os.fdopen(writing, "w")
        # A pipe can be waited for by no event loop of Windows, and programs are few.
        Thread(target=_log, args=(label, reading, secrets), name=f"mcp {label} stderr", daemon=True).start()

    def __enter__(self) -> "Spoken":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.file.close()


def _log(label: str, reading: int, secrets: Sequence[str]) -> None:
    lines = 0
    with os.fdopen(reading, "rb") as pipe:
        while line := pipe.readline(MAX_LINE):
            lines += 1
            if lines <= MAX_LINES and log.isEnabledFor(logging.DEBUG):
                log.debug("MCP server '%s': %s", label, without(secrets, line.decode(errors="replace").rstrip()))
