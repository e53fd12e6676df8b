"""Reports of `antiphon verify`: storing, listing and comparing them in `/admin/v1/reports`.

The exchanges are not stored: they are most of a report, and `antiphon verify --replay` shows them
again.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from msgspec import to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from antiphon.console.verify_report import (
    RequirementArea,
    RequirementRow,
    StateChange,
    VerifyExchange,
    VerifyReport,
    VerifyResult,
    areas_of,
    changes_between,
    decode_report,
)
from antiphon.errors import ClientError, ConfigError, redacted
from antiphon.objects.pages import not_found
from antiphon.protocol.json_slices import decoded
from antiphon.sharing.compression import zstd_library
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import reports
from antiphon.storage.records.reports import StoredReport
from antiphon.storage.store import Store

Json = dict[str, Any]

MOST_BYTES = 2 * 1024 * 1024
"""Maximum bytes of a report as JSON, without its exchanges."""

LONGEST_NAME = 200
"""Maximum number of characters of the name of a server or a model."""

MOST_COMPARED = 8
"""Maximum number of reports in one matrix."""

SOME = (VerifyExchange(request="", answer=""),)
"""A placeholder for exchanges that are not stored: a known deviation requires that an exchange
showed it.
"""


class Reports:
    """The reports of one store. `offload` runs slow functions in threads."""

    def __init__(self, store: Store, offload: Offload) -> None:
        self._store = store
        self._offload = offload

    async def save(self, body: bytes) -> Json:
        """Store a report of `antiphon verify --json`; return its summary.

        Raises `ClientError` (400).
        """
        stored = await self._offload.in_thread("", stored_report, body)
        await self._store.write(reports.put, stored)
        return _summary(stored)

    async def list(self) -> list[Json]:
        """Return the summaries of all reports, newest first."""
        return [_summary(one) for one in await self._store.read(reports.every)]

    async def details(self, report_id: str) -> Json:
        """Return a report by area, with the changes since the previous one.

        Raises `ClientError` (404).
        """
        stored = await self._found(report_id)
        earlier = _earlier(stored, await self._store.read(reports.every))
        previous = None if earlier is None else await self._store.read(reports.find, earlier.id)
        return await self._offload.in_thread("", _details, stored, previous)

    async def matrix(self, ids: Sequence[str]) -> Json:
        """Return reports side by side.

        Without `ids`, return the newest report of each model of each server.

        Raises `ClientError`: 404 for an unknown id, 400 for more than `MOST_COMPARED` ids.
        """
        if len(ids) > MOST_COMPARED:
            raise ClientError(
                f"Invalid 'ids': at most {MOST_COMPARED} reports can be compared.", param="ids"
            )
        chosen = ids or _newest(await self._store.read(reports.every))
        return await self._offload.in_thread(
            "", _matrix, [await self._found(each) for each in chosen]
        )

    async def delete(self, report_id: str) -> None:
        """Delete a report. Raises `ClientError` (404)."""
        if not await self._store.write(reports.delete, report_id):
            raise not_found("Report", report_id)

    async def _found(self, report_id: str) -> StoredReport:
        stored = await self._store.read(reports.find, report_id)
        if stored is None:
            raise not_found("Report", report_id)
        return stored


def stored_report(body: bytes) -> StoredReport:
    """Return the JSON of `antiphon verify --json` as a stored report.

    The same report always has the same id.

    Raises `ClientError` (400) for invalid or too large reports.
    """
    try:
        report = decode_report("The body", body)
    except ConfigError as error:
        raise ClientError(str(error)) from None
    results = tuple(replace(one, exchanges=SOME if one.exchanges else ()) for one in report.results)
    report = replace(report, base_url=redacted(report.base_url), results=results)
    text = encode(report)
    if len(text) > MOST_BYTES:
        raise ClientError(
            f"The report has {len(text)} bytes without its exchanges. "
            f"At most {MOST_BYTES} are allowed."
        )
    return StoredReport(
        f"report_{sha256(text).hexdigest()[:32]}",
        _cut(report.server),
        _cut(report.model),
        min(max(report.started_at, 0), 2**53),
        encode(_head(report)),
        zstd_library().compress(text, level=6),
    )


def _head(report: VerifyReport) -> Json:
    """Return the fields of a report that lists show in addition to its id, its server and its
    model.
    """
    passed, broken = report.musts
    return {
        "base_url": _cut(report.base_url),
        "profile": _cut(report.profile),
        "version": _cut(report.version),
        "seconds": report.seconds,
        "requests": report.requests,
        "conforms": report.conforms,
        "musts_passed": passed,
        "musts_broken": broken,
        "outcomes": report.outcomes,
    }


def _cut(text: str) -> str:
    """Return a name on one line, truncated if it is long."""
    words = " ".join(text.split())
    more = len(words) - LONGEST_NAME
    return words if more <= 0 else f"{words[:LONGEST_NAME]}… ({more} more characters)"


def _summary(stored: StoredReport) -> Json:
    place = {"server": stored.server, "model": stored.model, "started_at": stored.started_at}
    return {"object": "verify.report", "id": stored.id, **place, **decoded(stored.summary)}


def _report(stored: StoredReport) -> VerifyReport:
    return decode_report(stored.id, zstd_library().decompress(stored.body))


def _is_of_the_same(one: StoredReport, other: StoredReport) -> bool:
    return (one.server, one.model) == (other.server, other.model)


def _earlier(stored: StoredReport, listed: Sequence[StoredReport]) -> StoredReport | None:
    """Return the previous report of the same model of the same server.

    `listed` has all reports, newest first.
    """
    same = [one for one in listed if _is_of_the_same(one, stored)]
    place = next((at for at, one in enumerate(same) if one.id == stored.id), len(same))
    return next(iter(same[place + 1 :]), None)


def _newest(listed: Sequence[StoredReport]) -> list[str]:
    """Return the ids of the newest reports of different servers and models."""
    found: dict[tuple[str, str], str] = {}
    for one in listed:
        found.setdefault((one.server, one.model), one.id)
    return list(found.values())[:MOST_COMPARED]


def _details(stored: StoredReport, previous: StoredReport | None) -> Json:
    report = _report(stored)
    changed = [] if previous is None else changes_between(_report(previous), report)
    return _summary(stored) | {
        "about": report.about,
        "previous": None if previous is None else _summary(previous),
        "changes": [_change(one) for one in changed],
        "areas": [_area(one) for one in areas_of([report])],
    }


def _change(change: StateChange) -> Json:
    return {
        "id": change.id,
        "before": change.before,
        "now": change.now,
        "is_worse": change.is_worse,
        "came": change.came,
    }


def _area(area: RequirementArea) -> Json:
    passed, judged = area.tally(0)
    results = [_result(row.requirement) for row in area.rows]
    return {
        "area": area.area,
        "kind": area.kind,
        "passed": passed,
        "judged": judged,
        "results": results,
    }


def _result(result: VerifyResult) -> Json:
    displayed: Json = to_builtins(result)
    del displayed["exchanges"], displayed["outcome"], displayed["kind"]
    return displayed | {"state": result.state}


def _matrix(stored: Sequence[StoredReport]) -> Json:
    found = areas_of([_report(one) for one in stored])
    return {
        "object": "verify.matrix",
        "reports": [_summary(one) for one in stored],
        "areas": [
            {
                "area": area.area,
                "kind": area.kind,
                "scores": [_score(*area.tally(column)) for column in range(len(stored))],
                "rows": list(map(_row, area.rows)),
            }
            for area in found
        ],
    }


def _score(passed: int, judged: int) -> str:
    return f"{passed}/{judged}" if judged else "-"


def _row(row: RequirementRow) -> Json:
    described = row.requirement
    return {
        "id": described.id,
        "level": described.level,
        "sentence": described.sentence,
        "states": row.states,
    }
