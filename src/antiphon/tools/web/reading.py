"""Turning pages into text: each in a process of its own, so few at once, and never for long."""

import asyncio
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

PROGRAM = Path(__file__).with_name("extract.py")
"""Not imported here: what it needs is large, and few servers need it."""
LONGEST = 500_000
"""Characters of a page's text that are kept."""
MEMORY = 768 * 1024 * 1024
"""Bytes of address space that reading a page may take."""
AT_ONCE = 2
SECONDS = 15.0
"""For one page, with the wait for its turn."""

_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
"""What the process is told of the environment: what Python needs to start, and no key."""


class ReadingError(Exception):
    """A page could not be turned into text; the message says why."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a page says."""

    title: str
    text: str
    is_cut: bool
    """Whether there was more than is kept."""


class Reader:
    """Reads the pages of this process."""

    def __init__(self, *, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds = seconds
        self._memory = memory
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def read(self, body: bytes, *, url: str, charset: str, is_html: bool) -> Text:
        """Return the text of a page that was found at `url`, where its links lead from. Raises `ReadingError`."""
        asked = {"url": url, "charset": charset, "is_html": is_html, "longest": LONGEST, "memory": self._memory}
        try:
            async with asyncio.timeout(self._seconds), self._turns:
                said = await _told(msgspec.json.encode(asked) + b"\n" + body)
            return msgspec.json.decode(said, type=Text)
        except TimeoutError as error:
            raise ReadingError("it took too long to read") from error
        except (OSError, msgspec.DecodeError) as error:
            raise ReadingError("it cannot be turned into text") from error


async def _told(given: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
    )
    try:
        said, _ = await process.communicate(given)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())
    return said
