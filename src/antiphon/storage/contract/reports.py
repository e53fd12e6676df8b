"""The part of the contract that keeps reports of `antiphon verify`. They belong to the server, and to no tenant."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import StoredReport

MOST_OF_ONE, MOST_REPORTS = 20, 200
"""Reports that are kept of one model of a server, and of all together: those that started last."""


class Reports(Protocol):
    """Reports, in the order in which their runs started."""

    async def put_report(self, report: StoredReport) -> None:
        """Keep a report in place of any with its id, and delete the oldest beyond `MOST_OF_ONE` and `MOST_REPORTS`."""
        ...

    async def reports(self) -> Sequence[StoredReport]:
        """Return all reports without their bodies, newest first."""
        ...

    async def find_report(self, report_id: str) -> StoredReport | None:
        """Return a report with its body; None if it is unknown."""
        ...

    async def delete_report(self, report_id: str) -> bool:
        """Delete a report; False if it is unknown."""
        ...
