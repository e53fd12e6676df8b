"""Reports of `antiphon verify`, ordered by the start of their runs. They belong to the server, not
to a tenant.
"""

from antiphon.storage.operations.step import Operation, first, query_rows, reads, writes
from antiphon.storage.records.reports import StoredReport

MOST_OF_ONE, MOST_REPORTS = 20, 200
"""Maximum number of stored reports of one model of a server, and of all reports. The oldest runs
are deleted first.
"""


@writes("put_report", is_of_all=True)
def put(report: StoredReport) -> Operation[None]:
    """Store or replace a report, and delete the oldest reports beyond `MOST_OF_ONE` and
    `MOST_REPORTS`.
    """
    place = (report.server, report.model)
    yield from query_rows(
        "put_report", report.id, *place, report.started_at, report.summary, report.body
    )
    yield from query_rows("trim_reports_of", *place, MOST_OF_ONE)
    yield from query_rows("trim_reports", MOST_REPORTS)


@reads("reports", is_of_all=True)
def every() -> Operation[list[StoredReport]]:
    """Return all reports without their bodies, newest first."""
    rows = yield from query_rows("reports")
    return [
        StoredReport(id_, server, model, at, bytes(summary))
        for id_, server, model, at, summary in rows
    ]


@reads("find_report", is_of_all=True)
def find(report_id: str) -> Operation[StoredReport | None]:
    """Return a report with its body, or None if it is unknown."""
    row = yield from first("find_report", report_id)
    if row is None:
        return None
    id_, server, model, started_at, summary, body = row
    return StoredReport(id_, server, model, started_at, bytes(summary), bytes(body))


@writes("delete_report", is_of_all=True, frees=True)
def delete(report_id: str) -> Operation[bool]:
    """Delete a report; return False if it is unknown."""
    return bool((yield from query_rows("delete_report", report_id)))
