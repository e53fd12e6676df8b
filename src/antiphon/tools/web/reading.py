"""Turning pages into text: each in a process of its own, so few at once, and never for long."""

import asyncio
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from antiphon.sharing.scheduler import FairScheduler, NoRoomError

PROGRAM = Path(__file__).with_name("extract.py")
"""Not imported here: what it needs is large, and few servers need it."""
LONGEST = 500_000
"""Characters of a page's text that are kept."""
MEMORY = 768 * 1024 * 1024
"""Bytes of address space that reading a page may take. Of pages of 5 MiB, those with many tiny elements take 373 MiB of
memory and fail with 384 MiB of address space; the others fail with 256. So a smaller limit would only lose pages."""
SECONDS = 15.0
"""For one page, once it has its turn."""
WAITING = 32
"""Pages that may wait for a reader; each is up to 5 MiB."""
COST = 1_000_000
"""Bytes of a page that count as much as reading a page at all."""

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


def reader_turns(cpus: int | None = None) -> FairScheduler:
    """Return the scheduler of a process's readers.

    One tenant may have as many readers as there are CPUs, since reading is work of a CPU. One more starts at once for
    another tenant, whatever the first one reads: so few slots leave no room by a fraction.
    """
    cpus = max(2, cpus or os.cpu_count() or 1)
    return FairScheduler(cpus + 1, WAITING, per_tenant=cpus)


class Reader:
    """Reads the pages of this process."""

    def __init__(self, turns: FairScheduler | None = None, *, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds = seconds
        self._memory = memory
        self._turns = turns or reader_turns()

    async def read(self, body: bytes, *, url: str, charset: str, is_html: bool, tenant: str = "") -> Text:
        """Return the text of a page that was found at `url`, where its links lead from. Raises `ReadingError`.

        The wait for the tenant's turn is not counted.
        """
        asked = {"url": url, "charset": charset, "is_html": is_html, "longest": LONGEST, "memory": self._memory}
        try:
            async with self._turns.slot(tenant, cost=1 + len(body) / COST), asyncio.timeout(self._seconds):
                said = await _told(msgspec.json.encode(asked) + b"\n" + body)
            return msgspec.json.decode(said, type=Text)
        except NoRoomError as error:
            raise ReadingError("too many pages are being read at once; try again later") from error
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
