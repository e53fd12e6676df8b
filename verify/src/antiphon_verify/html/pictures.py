"""A report as SVG: a badge with the number of passing `must` requirements, and a chart of the
areas.
"""

from collections.abc import Sequence

from antiphon_verify.html.elements import Markup, tag
from antiphon_verify.report import Report, Result
from antiphon_verify.wording import MEANINGS, musts, server, state

COLOURS = {
    "passed": "#3f9a66",
    "failed": "#d2453b",
    "known": "#d8a53f",
    "blocked": "#8a4b46",
    "not offered": "#c9c6bb",
    "skipped": "#e3e1d9",
    "not in report": "#ffffff",
}

NAMESPACE = "http://www.w3.org/2000/svg"

FONT = "Verdana, DejaVu Sans, sans-serif"

LETTER = 6.6
"""Width of a letter of the badge, in pixels."""

ROW, LABEL, BAR, GAP = 18, 190, 220, 20
"""Pixels of the chart: the height of a row, the widths of a label and of a bar, and the gap between
servers.
"""


def badge(report: Report) -> str:
    """Return a badge: the server, and how many of the judged `must` requirements of the protocol
    pass.
    """
    passed, broken = musts(report)
    protocol = [one for one in report.results if one.level == "must" and one.kind == "protocol"]
    blocked = sum(one.outcome == "blocked" for one in protocol)
    words = (
        f"{passed} of {passed + broken + blocked} musts"
        if passed + broken + blocked
        else "not judged"
    )
    colour = COLOURS["passed" if report.conforms else "failed" if broken else "not offered"]
    title = report.name or "antiphon verify"
    left, right = (int(len(text) * LETTER) + 12 for text in (title, words))
    return _svg(
        left + right,
        20,
        f"{title}: {words}",
        _rect(0, 0, left, 20, "#555"),
        _rect(left, 0, right, 20, colour),
        _text(6, 14, title, "#fff"),
        _text(left + 6, 14, words, "#fff"),
    )


def chart(reports: Sequence[Report]) -> str:
    """Return a chart: a row for each area, and for each server a column with a bar of the
    outcomes.
    """
    areas = list(dict.fromkeys(area for report in reports for area in report.by_area()))
    width = LABEL + len(reports) * (BAR + GAP)
    heads = [
        _text(LABEL + column * (BAR + GAP), 14, server(one), "#222")
        for column, one in enumerate(reports)
    ]
    rows = [
        part for number, area in enumerate(areas) for part in _row(area, 24 + number * ROW, reports)
    ]
    below = 24 + len(areas) * ROW
    words = [word for word in MEANINGS if word != "not in report"]
    legend = [
        part
        for number, word in enumerate(words)
        for part in _key(word, 6 + number * 100, below + 8)
    ]
    title = f"Outcomes of the requirements of each area: {', '.join(map(server, reports))}"
    return _svg(max(width, 6 + len(words) * 100), below + 30, title, *heads, *rows, *legend)


def _row(area: str, y: int, reports: Sequence[Report]) -> list[Markup]:
    parts = [_text(6, y + 12, area, "#222")]
    for column, report in enumerate(reports):
        parts += _bar(report.by_area().get(area, []), LABEL + column * (BAR + GAP), y)
    return parts


def _bar(results: Sequence[Result], x: float, y: int) -> list[Markup]:
    states = [state(one) for one in results]
    parts = []
    for word, colour in COLOURS.items():
        if number := states.count(word):
            width = BAR * number / len(states)
            parts.append(_rect(x, y, width, ROW - 4, colour, f"{word}: {number} of {len(states)}"))
            x += width
    return parts


def _key(word: str, x: int, y: int) -> list[Markup]:
    return [_rect(x, y, 12, 12, COLOURS[word]), _text(x + 16, y + 10, word, "#222")]


def _svg(width: int, height: int, title: str, *parts: Markup) -> str:
    back = _rect(0, 0, width, height, "#fff")
    box = f"0 0 {width} {height}"
    inner = (tag("title", title), back, *parts)
    return (
        tag("svg", *inner, xmlns=NAMESPACE, viewBox=box, width=width, height=height, role="img")
        + "\n"
    )


def _rect(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> Markup:
    sizes = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:.1f}", "height": f"{height:g}"}
    if not title:
        return tag("rect", **sizes, fill=fill)
    return tag("g", tag("title", title), tag("rect", **sizes, fill=fill))


def _text(x: float, y: float, text: str, fill: str) -> Markup:
    return tag("text", text, x=f"{x:g}", y=f"{y:g}", fill=fill, font_size="11", font_family=FONT)
