"""Servers side by side as a page: the totals, and the outcome of each requirement."""

from collections.abc import Sequence
from itertools import groupby

from antiphon_verify.comparison import Column, Group, Row, groups, levels
from antiphon_verify.html.elements import (
    Markup,
    breakable,
    kebab,
    legend,
    page,
    prose,
    score,
    scrolled,
    sign,
    signed,
    tag,
)
from antiphon_verify.report import Report
from antiphon_verify.requirement import Kind
from antiphon_verify.wording import APIS, MEANINGS, counted, cut, day, server, state, tally, took

LONGEST = 300
"""Characters of the response that are shown."""


def matrix_page(reports: Sequence[Report]) -> str:
    """Return the matrix as a page in one file."""
    found = groups(reports)
    main = tag("main", _overview(reports, found), _filter(reports), _every(reports, found))
    return page(
        "matrix",
        f"Servers side by side: {', '.join(map(server, reports))}",
        _head(reports),
        main,
        _foot(found),
    )


def _head(reports: Sequence[Report]) -> Markup:
    lead = f"{counted(len(reports), 'server')} with the same requirements. "
    lead += "A total is the number that passed of those judged, including known deviations."
    return tag(
        "header",
        tag("p", "Antiphon verify", class_="kicker"),
        tag("h1", "Servers side by side"),
        tag("p", lead, class_="lead"),
    )


def _overview(reports: Sequence[Report], found: Sequence[Group]) -> Markup:
    totals = [
        _totals(tag("th", title, scope="row"), rows, len(reports)) for title, rows in levels(found)
    ]
    parts = groupby(found, key=lambda group: (group.kind, group.area.partition(":")[0]))
    areas = [_api(_part(*key), list(some), len(reports)) for key, some in parts]
    table = tag("table", _columns(reports, "totals"), tag("tbody", *totals), *areas)
    return tag("section", tag("h2", "Totals"), scrolled("Totals", table), _servers(reports))


def _part(kind: Kind, api: str) -> str:
    name = APIS.get(api, api)
    return name if kind == "protocol" else f"{name}, capabilities"


def _api(name: str, found: Sequence[Group], width: int) -> Markup:
    head = tag("tr", tag("th", name, scope="rowgroup"), tag("td", "", colspan=width), class_="area")
    return tag(
        "tbody",
        head,
        *(_totals(tag("th", _jump(group), scope="row"), group.rows, width) for group in found),
    )


def _every(reports: Sequence[Report], found: Sequence[Group]) -> Markup:
    bodies = [_body(group, len(reports)) for group in found]
    table = tag("table", _columns(reports, "requirement"), *bodies)
    return tag(
        "section",
        tag("h2", "Every requirement"),
        scrolled("Every requirement", table),
        class_="every",
    )


def _columns(reports: Sequence[Report], corner: str) -> Markup:
    heads = [
        tag(
            "th",
            tag("b", breakable(server(one))),
            tag("code", one.model),
            _verdict(one),
            scope="col",
        )
        for one in reports
    ]
    return tag("thead", tag("tr", tag("th", corner, scope="col"), *heads))


def _verdict(report: Report) -> Markup:
    passed, judged = tally(
        one for one in report.results if one.level == "must" and one.kind == "protocol"
    )
    if not judged:
        return _worded("skipped", "not judged")
    if passed < judged:
        return _worded("failed", f"{counted(judged - passed, 'must')} failed")
    return _worded("passed", "conforms")


def _worded(word: str, text: str) -> Markup:
    return tag("span", sign(word), " ", text, class_=f"state {kebab(word)}")


def _jump(group: Group) -> Markup:
    return tag("a", group.area.partition(":")[2] or group.area, href=f"#{_anchor(group)}")


def _anchor(group: Group) -> str:
    return group.area if group.kind == "protocol" else f"capability:{group.area}"


def _totals(title: Markup, found: Sequence[Row], width: int) -> Markup:
    return tag("tr", title, *_scores(found, width))


def _scores(found: Sequence[Row], width: int) -> list[Markup]:
    return [score(row.results[column] for row in found) for column in range(width)]


def _body(group: Group, width: int) -> Markup:
    title = tag("th", breakable(group.title), scope="rowgroup", id=_anchor(group))
    return tag(
        "tbody",
        tag("tr", title, *_scores(group.rows, width), class_="area"),
        *map(_row, group.rows),
    )


def _row(row: Row) -> Markup:
    title = tag(
        "th",
        tag("code", row.name),
        " ",
        tag("span", row.requirement.level, class_=f"level {row.requirement.level}"),
        tag("small", prose(row.requirement.sentence)),
        scope="row",
    )
    return tag(
        "tr",
        title,
        *map(_cell, row.results),
        id=row.requirement.id,
        class_="same" if row.is_same else None,
    )


def _cell(one: Column) -> Markup:
    came = cut(one.came, LONGEST) if one else ""
    return tag("td", signed(state(one)), title=came or None)


def _filter(reports: Sequence[Report]) -> Markup:
    if len(reports) < 2:
        return Markup()
    box = tag("input", type="checkbox", id="differ")
    return tag(
        "p", tag("label", box, " Only requirements in which the servers differ"), class_="filter"
    )


def _servers(reports: Sequence[Report]) -> Markup:
    return tag("ul", *map(_server, reports), class_="servers")


def _server(report: Report) -> Markup:
    profile = f", profile {report.profile}" if report.profile else ""
    words = f"{profile}; {day(report.started_at)}, {took(report)}, Antiphon {report.version}"
    return tag(
        "li", tag("code", report.base_url), " with ", tag("code", report.model or "-"), words
    )


def _foot(found: Sequence[Group]) -> Markup:
    seen = {word for group in found for row in group.rows for word in row.states}
    return tag(
        "footer", tag("h2", "Signs and words"), legend([word for word in MEANINGS if word in seen])
    )
