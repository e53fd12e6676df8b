"""Turning pages into text: each in a process of its own, so few at once, and never for long."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.documents.reader import PROGRAM
from antiphon.sharing.child import Child, ChildError, child_turns
from antiphon.sharing.scheduler import FairScheduler

LONGEST = 500_000
"""Characters of a page's text that are kept."""
MEMORY = 768 * 1024 * 1024
"""Bytes of address space that reading a page may take. Of pages of 5 MiB, those with many tiny elements take 373 MiB of
memory and fail with 384 MiB of address space; the others fail with 256. So a smaller limit would only lose pages."""
CPU = 10
"""Seconds of CPU time for one page."""
SECONDS = 15.0
"""For one page, once it has its turn."""
MOST_OUTPUT = 8 * LONGEST
"""Bytes of what is read of a page: a character takes four at most."""
COST = 1_000_000
"""Bytes of a page that count as much as reading a page at all."""

REASONS = {
    "busy": "too many pages are being read at once; try again later",
    "slow": "it took too long to read",
    "broken": "it cannot be turned into text",
}


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

    def __init__(
        self,
        turns: FairScheduler | None = None,
        *,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._limits = {"task": "page", "longest": LONGEST, "memory": memory, "cpu": CPU}
        self._child = Child(program, turns or child_turns(), seconds=seconds, most_output=MOST_OUTPUT)

    async def read(self, body: bytes, *, url: str, charset: str, is_html: bool, tenant: str = "") -> Text:
        """Return the text of a page that was found at `url`, where its links lead from. Raises `ReadingError`.

        The wait for the tenant's turn is not counted.
        """
        asked = json.dumps(self._limits | {"url": url, "charset": charset, "is_html": is_html}).encode() + b"\n"
        try:
            answer = await self._child.run(asked, body, tenant=tenant, cost=1 + len(body) / COST)
            head, _, text = answer.partition(b"\n")
            return Text(**json.loads(head), text=text.decode())
        except ChildError as error:
            raise ReadingError(REASONS[error.reason]) from error
        except (TypeError, ValueError) as error:
            raise ReadingError(REASONS["broken"]) from error
