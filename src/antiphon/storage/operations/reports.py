"""Reports of `antiphon verify`."""

from antiphon.storage.contract.reports import MOST_OF_ONE, MOST_REPORTS
from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import StoredReport


def put(report: StoredReport) -> Operation[None]:
    """Store a report, and delete the oldest beyond the limits."""
    place = (report.server, report.model)
    yield from ask("put_report", report.id, *place, report.started_at, report.summary, report.body)
    yield from ask("trim_reports_of", *place, MOST_OF_ONE)
    yield from ask("trim_reports", MOST_REPORTS)


def every() -> Operation[list[StoredReport]]:
    """Return all reports without their bodies."""
    rows = yield from ask("reports")
    return [StoredReport(id_, server, model, at, bytes(summary)) for id_, server, model, at, summary in rows]


def find(report_id: str) -> Operation[StoredReport | None]:
    """Return one report."""
    row = yield from first("find_report", report_id)
    if row is None:
        return None
    id_, server, model, started_at, summary, body = row
    return StoredReport(id_, server, model, started_at, bytes(summary), bytes(body))


def delete(report_id: str) -> Operation[bool]:
    """Delete a report."""
    return bool((yield from ask("delete_report", report_id)))
