"""The output of the command: each failure, a table by area, then the requirements that were not
judged.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from antiphon_verify.comparison import Change, rows
from antiphon_verify.reading import legible
from antiphon_verify.report import Cause, Report, Result
from antiphon_verify.requirement import LEVELS, CaseOutcome, Kind, Requirement, explained

REST: tuple[CaseOutcome, ...] = ("blocked", "not offered", "skipped")
"""Outcomes with their own columns."""


def print_report(console: Console, report: Report, *, is_verbose: bool = False) -> None:
    """Print a report."""
    _print_causes(
        console,
        [one for one in report.causes if one.failed.kind == "protocol"],
        is_verbose=is_verbose,
    )
    _print_table(console, report, "protocol", "area")
    if report.by_area("capability"):
        console.print(
            "Capabilities, which depend on the model and do not affect conformance:", style="bold"
        )
        _print_table(console, report, "capability", "area")
        _print_causes(
            console,
            [one for one in report.causes if one.failed.kind == "capability"],
            is_verbose=is_verbose,
        )
    _print_known(console, [one for one in report.results if one.known])
    _print_unjudged(console, report, "not offered")
    _print_unjudged(console, report, "skipped")
    console.print(
        _conclusion(report),
        soft_wrap=True,
        markup=False,
        highlight=False,
        style="bold green" if report.conforms else "bold red",
    )


def print_requirements(console: Console, requirements: Sequence[Requirement]) -> None:
    """Print requirements, a line each."""
    widest = max(len(one.id) for one in requirements)
    sources = max(len(one.source) for one in requirements)
    for one in requirements:
        kind = " (capability)" if one.kind == "capability" else ""
        line = f"{one.id:<{widest}}  {one.level:<6}  {one.source:<{sources}}  {one.sentence}{kind}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_table(console: Console, report: Report, kind: Kind, title: str) -> None:
    table = Table(title, *LEVELS, *REST, box=None, pad_edge=False)
    for area, results in report.by_area(kind).items():
        levels = [_passed([one for one in results if one.level == level]) for level in LEVELS]
        counts = report.counted(results)
        table.add_row(area, *levels, *(_number(counts[word]) for word in REST))
    console.print(table)
    console.print()


def _passed(results: Sequence[Result]) -> Text:
    passed = sum(one.outcome == "passed" for one in results)
    judged = passed + sum(one.outcome == "failed" for one in results)
    style = "red" if passed < judged else "green"
    return Text(f"{passed} of {judged}", style) if judged else Text("-", "dim")


def _number(count: int) -> Text:
    return Text(str(count)) if count else Text("-", "dim")


def _print_causes(console: Console, causes: Sequence[Cause], *, is_verbose: bool) -> None:
    for one, same, blocked in causes:
        _print_line(
            console,
            f"{one.level:<6} ",
            f"{one.id}: {one.sentence} [{explained(one.source)}]",
            "red",
        )
        _print_line(console, "came   ", one.came)
        for label, words in (
            ("at     ", one.place),
            ("try    ", one.curl),
            ("same   ", _ids(same)),
        ):
            if words:
                _print_line(console, label, words)
        if blocked:
            _print_line(console, "blocks ", f"{len(blocked)} requirements of {_areas(blocked)}")
        for exchange in one.exchanges if is_verbose else ():
            console.print(
                legible(f"{exchange.request}\n\n{exchange.answer}\n"),
                style="dim",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    if causes:
        console.print()


def _ids(results: Sequence[Result]) -> str:
    return ", ".join(one.id for one in results)


def _areas(results: Sequence[Result]) -> str:
    return ", ".join(dict.fromkeys(one.area for one in results))


def _print_known(console: Console, results: Sequence[Result]) -> None:
    for one in results:
        is_news = one.outcome == "passed"
        _print_line(console, "known  ", f"{one.id}: {one.known}", "yellow")
        _print_line(
            console,
            "came   ",
            "It holds now: the profile can be corrected." if is_news else one.came,
        )


def _print_unjudged(console: Console, report: Report, outcome: str) -> None:
    reasons: dict[str, list[Result]] = {}
    for one in report.results:
        if one.outcome == outcome and not one.known:
            reasons.setdefault(f"{one.area}: {one.came}", []).append(one)
    for reason, results in reasons.items():
        _print_line(console, f"{outcome}: ", f"{len(results)} of {reason}", "dim")
    if reasons:
        console.print()


def _print_line(console: Console, label: str, words: str, style: str = "") -> None:
    line = Text(label, style or "bold")
    line.append(legible(" ".join(words.split())), "dim" if style == "dim" else "")
    console.print(line, soft_wrap=True)


def _conclusion(report: Report) -> str:
    musts = [one for one in report.results if one.level == "must" and one.kind == "protocol"]
    counts = report.counted(musts)
    judged = counts["passed"] + counts["failed"]
    rest = f"{counts['not offered']} are not offered, {counts['skipped']} were skipped"
    if counts["blocked"]:
        rest = f"{counts['blocked']} more are blocked by failures, {rest}"
    effort = f"{report.requests} requests in {report.seconds:g} s"
    if report.conforms:
        return f"{report.base_url} meets every must that was judged: {judged}; {rest}. {effort}."
    if not judged:
        return f"No requirement could be judged at {report.base_url}; {rest}. {effort}."
    return f"{report.base_url} violates {counts['failed']} of {judged} musts; {rest}. {effort}."


def print_matrix(console: Console, reports: Sequence[Report]) -> None:
    """Print servers side by side: the score of each area, and the requirements with different
    outcomes.
    """
    head, *lines = rows(reports)
    table = Table(*(Column(_cell(cell)) for cell in head), box=None, pad_edge=False)
    for title, level, *cells in lines:
        if not title.startswith(" ") or len(set(cells)) > 1:
            table.add_row(*map(_cell, (title, level, *cells)))
    console.print(table)


def _cell(text: str) -> Text:
    return Text(legible(text))


def change_lines(found: Sequence[Change]) -> list[str]:
    """Return a line for each change, with the server's response if it got worse."""
    lines = []
    for one in found:
        before, now = one.states
        came = f": {one.new.came}" if one.is_worse and one.new else ""
        lines.append(f"{'worse' if one.is_worse else '     '}  {one.id}  {before} -> {now}{came}")
    return lines
