"""The store contract for reports of `antiphon verify`. Reports belong to the server, not to a tenant."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import StoredReport

MOST_OF_ONE, MOST_REPORTS = 20, 200
"""Maximum number of stored reports of one model of a server, and of all reports. The oldest runs are deleted first."""


class Reports(Protocol):
    """Reports, ordered by the start of their runs."""

    async def put_report(self, report: StoredReport) -> None:
        """Store or replace a report, and delete the oldest reports beyond `MOST_OF_ONE` and `MOST_REPORTS`."""
        ...

    async def reports(self) -> Sequence[StoredReport]:
        """Return all reports without their bodies, newest first."""
        ...

    async def find_report(self, report_id: str) -> StoredReport | None:
        """Return a report with its body, or None if it is unknown."""
        ...

    async def delete_report(self, report_id: str) -> bool:
        """Delete a report; return False if it is unknown."""
        ...
