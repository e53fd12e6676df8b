"""Methods of the SQL stores for reports of `antiphon verify`."""

from collections.abc import Sequence

from antiphon.storage.operations import reports
from antiphon.storage.records import StoredReport
from antiphon.storage.sql_store.performer import Performer


class SqlReports(Performer):
    """See `Reports`."""

    async def put_report(self, report: StoredReport) -> None:
        """See `Store.put_report`."""
        await self._write(lambda: reports.put(report))

    async def reports(self) -> Sequence[StoredReport]:
        """See `Store.reports`."""
        return await self._read(reports.every)

    async def find_report(self, report_id: str) -> StoredReport | None:
        """See `Store.find_report`."""
        return await self._read(lambda: reports.find(report_id))

    async def delete_report(self, report_id: str) -> bool:
        """See `Store.delete_report`."""
        return await self._free(lambda: reports.delete(report_id))
