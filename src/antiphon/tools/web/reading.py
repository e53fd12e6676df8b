"""Converts pages to text: each in a process of its own, with limits on number and time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.documents.reader import PROGRAM
from antiphon.sharing.child import Child, ChildError, child_turns
from antiphon.sharing.scheduler import FairScheduler

LONGEST = 500_000
"""Characters of a page's text that are retained."""
MEMORY = 768 * 1024 * 1024
"""Bytes of address space for reading a page. Of pages of 5 MiB, those with many tiny elements take
373 MiB of memory and fail with 384 MiB of address space; the others fail with 256. So a smaller
limit would only lose pages.
"""
CPU = 10
"""Seconds of CPU time for one page."""
SECONDS = 15.0
"""Seconds for one page, after its turn has come."""
MOST_OUTPUT = 8 * LONGEST
"""Bytes of the text of a page: a character has at most four."""
COST = 1_000_000
"""Bytes of a page that cost as much as reading any page at all."""

REASONS = {
    "busy": "too many pages are being read at once; try again later",
    "slow": "it took too long to read",
    "broken": "it cannot be turned into text",
}


class ReadingError(Exception):
    """A page could not be converted to text; the message is the reason."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page."""

    title: str
    text: str
    is_cut: bool
    """Whether the page had more text than is retained."""


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
        self._child = Child(
            program, turns or child_turns(), seconds=seconds, most_output=MOST_OUTPUT
        )

    async def read(
        self, body: bytes, *, url: str, charset: str, is_html: bool, tenant: str = ""
    ) -> PageText:
        """Return the text of a page from `url`, which is the base of its links.

        Raises `ReadingError`.

        The wait for the tenant's turn does not count towards the time limit.
        """
        requested = (
            json.dumps(self._limits | {"url": url, "charset": charset, "is_html": is_html}).encode()
            + b"\n"
        )
        try:
            answer = await self._child.run(
                requested, body, tenant=tenant, cost=1 + len(body) / COST
            )
            head, _, text = answer.partition(b"\n")
            return PageText(**json.loads(head), text=text.decode())
        except ChildError as error:
            raise ReadingError(REASONS[error.reason]) from error
        except (TypeError, ValueError) as error:
            raise ReadingError(REASONS["broken"]) from error
