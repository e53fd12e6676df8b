"""Servers side by side as a Markdown page: how each was run, the results of each area, and every
root cause.
"""

from collections.abc import Iterable, Sequence

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.comparison import groups, levels, scores
from antiphon_verify.report import Cause, Report
from antiphon_verify.wording import consequences, counted, cut, day, server

LONGEST = 220
"""Characters of the response that are shown."""

MOST_CAUSES = 40
"""Root causes that are shown per server; the report has all of them."""

HEAD = """\
# Servers side by side

This page compares how many requirements of Chat Completions and the Responses API each server meets, as tested by
`antiphon verify`. A cell such as 24/26 means that 24 of 26 tested requirements passed. Requirements of features that
the server does not offer, and requirements that another failure blocks, are not counted.
`antiphon verify matrix --markdown` writes this page from the reports in `reports/`.
"""  # noqa: E501 - the lines of a text

RUNS = "## How each server was run\n"

CAUSES = """\
## Root causes

A root cause is a failure that does not follow from another one. Each has the request that shows it; `BASE_URL` ends in
`/v1`.
"""  # noqa: E501 - the lines of a text


def matrix_markdown(reports: Sequence[Report]) -> str:
    """Return the matrix as a page of Markdown."""
    parts = [
        HEAD,
        RUNS,
        *_runs(reports),
        "",
        "## Passed requirements by area\n",
        *_areas(reports),
        "",
        CAUSES,
    ]
    parts += [line for report in reports for line in _causes(report)]
    return "\n".join(parts).rstrip() + "\n"


def _runs(reports: Sequence[Report]) -> list[str]:
    keys = list(dict.fromkeys(key for report in reports for key in report.about))
    rows = [
        (
            server(one),
            day(one.started_at),
            f"{one.version}, `{one.model}`",
            *(one.about.get(key, "-") for key in keys),
        )
        for one in reports
    ]
    return table(("server", "date", "tested by Antiphon, model", *keys), rows)


def _areas(reports: Sequence[Report]) -> list[str]:
    found = groups(reports)
    totals = [(f"**{title}**", *scores(rows, len(reports))) for title, rows in levels(found)]
    areas = [(group.title, *scores(group.rows, len(reports))) for group in found]
    return table(("area", *map(server, reports)), [*totals, *areas])


def _causes(report: Report) -> list[str]:
    causes = [
        one for one in report.causes if one.failed.kind == "protocol" and one.failed.level != "may"
    ]
    lines = [f"### {server(report)}", "", f"{counted(len(causes), 'root cause')}."]
    for one in causes[:MOST_CAUSES]:
        lines += ["", *_cause(one)]
    if len(causes) > MOST_CAUSES:
        lines += ["", f"The report lists {len(causes) - MOST_CAUSES} more."]
    return [*lines, ""]


def _cause(cause: Cause) -> list[str]:
    one = cause.failed
    came = cut(one.came, LONGEST).replace("`", "'")
    sentence = REQUIREMENTS.get(
        one.id, one
    ).sentence  # as it is worded today, also for a report of an older version
    lines = [
        f"- `{one.id}` ({', '.join((one.level, *consequences(cause)))}): {sentence} Received: "
        f"`{came or 'nothing'}`"
    ]
    if one.place:
        lines.append(f"  at `{cut(one.place, LONGEST).replace('`', chr(39))}`")
    return [*lines, "", "  ```sh", f"  {one.curl}", "  ```"] if one.curl else lines


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table of Markdown."""
    columns = tuple(head)
    lines = [_line(columns), _line(("---",) * len(columns))]
    return [*lines, *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
