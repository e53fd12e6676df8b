"""The report as a page: one file, readable on a phone, on a desktop, in dark mode and on paper."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from antiphon_verify.html.elements import (
    Markup,
    joined,
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
from antiphon_verify.report import Cause, Report, Result, Shown
from antiphon_verify.requirement import Kind, explained
from antiphon_verify.wording import (
    APIS,
    LEVELS,
    MEANINGS,
    consequences,
    cut,
    day,
    headline,
    server,
    state,
    took,
)

LONGEST = 600
"""Characters of the response that are shown; the exchange has the rest."""


def report_page(report: Report) -> str:
    """Return the report as a page in one file."""
    _, verdict = headline(report)
    sections = _sections(report)
    main = tag(
        "main", _glance(report), _jumps(sections), _summary(report), *map(_section, sections)
    )
    return page("report", f"{verdict} - {server(report)}", _head(report), main, _foot(report))


# The head: whether the server conforms, and what was judged


def _head(report: Report) -> Markup:
    word, verdict = headline(report)
    judgement, _, detail = verdict.partition(": ")
    return tag(
        "header",
        tag("p", "Antiphon verify", class_="kicker"),
        tag("h1", sign(word), " ", tag("span", judgement), class_=kebab(word)),
        tag("p", f"{detail[:1].upper()}{detail[1:]}.", class_="lead"),
        _facts(report),
    )


def _facts(report: Report) -> Markup:
    facts = {
        **({"Server": report.name} if report.name else {}),
        "Base URL": tag("code", report.base_url),
        "Model": tag("code", report.model or "-"),
        "Profile": report.profile or "none",
        "Date": day(report.started_at),
        "Took": took(report),
        "Judged by": f"Antiphon {report.version}",
        **{key.capitalize(): value for key, value in report.about.items()},
    }
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()),
        class_="facts",
    )


def _glance(report: Report) -> Markup:
    protocol = [one for one in report.results if one.kind == "protocol"]
    rows = [_gauge(level, [one for one in protocol if one.level == level]) for level in LEVELS]
    return tag("ul", *rows, class_="gauges")


def _gauge(level: str, results: Sequence[Result]) -> Markup:
    states = [state(one) for one in results]
    passed = states.count("passed")
    judged = states.count("passed") + states.count("failed")
    rest = [
        f"{states.count(word)} {word}" for word in MEANINGS if word != "passed" and word in states
    ]
    return tag(
        "li",
        tag("b", level),
        tag("span", f"{passed} of {judged} pass", class_="count"),
        _bar(states),
        tag("span", " · ".join(rest), class_="rest"),
    )


def _bar(states: Sequence[str]) -> Markup:
    parts = []
    x = 0
    for word in MEANINGS:
        if width := states.count(word):
            parts.append(tag("rect", x=x, y=0, width=width, height=1, class_=kebab(word)))
            x += width
    return tag(
        "svg", *parts, viewBox=f"0 0 {max(x, 1)} 1", preserveAspectRatio="none", aria_hidden="true"
    )


# The table by area


def _summary(report: Report) -> Markup:
    if not report.by_area():
        return Markup()
    return tag("section", tag("h2", "By area"), _areas(report, "protocol"))


def _areas(report: Report, kind: Kind) -> Markup:
    areas = report.by_area(kind)
    rest = [
        word
        for word in ("known", "blocked", "not offered", "skipped")
        if _any(areas.values(), word)
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("area", *LEVELS, *rest)))
    bodies = [
        _api(api, {area: areas[area] for area in names}, rest)
        for api, names in groupby(areas, key=lambda area: area.partition(":")[0])
    ]
    return scrolled(f"By area: {kind}", tag("table", tag("thead", head), *bodies, class_="areas"))


def _any(areas: Iterable[Sequence[Result]], word: str) -> bool:
    return any(state(one) == word for results in areas for one in results)


def _api(api: str, areas: dict[str, list[Result]], rest: Sequence[str]) -> Markup:
    head = tag(
        "tr", tag("th", APIS.get(api, api), scope="rowgroup", colspan=1 + len(LEVELS) + len(rest))
    )
    return tag("tbody", head, *(_area(area, results, rest) for area, results in areas.items()))


def _area(area: str, results: Sequence[Result], rest: Sequence[str]) -> Markup:
    levels = [
        score([one for one in results if one.level == level and state(one) != "known"])
        for level in LEVELS
    ]
    numbers = [sum(state(one) == word for one in results) for word in rest]
    name = area.partition(":")[2] or area
    return tag(
        "tr",
        tag("th", name, scope="row"),
        *levels,
        *(tag("td", number or "-", class_="none" if not number else None) for number in numbers),
    )


# The sections below the table


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, how many results are below it, and its content."""

    title: str
    number: int
    content: Markup

    @property
    def anchor(self) -> str:
        """`not-offered` for `Not offered`."""
        return kebab(self.title.lower())


def _sections(report: Report) -> list[Section]:
    protocol = [one for one in report.results if one.kind == "protocol" and not one.known]
    capable = [one for one in report.results if one.kind == "capability" and not one.known]
    known = [one for one in report.results if one.known]
    sections = [
        _causes(report.causes),
        _broken(protocol),
        _capabilities(report, capable),
        _known(known),
        *_quiet(protocol),
    ]
    return [section for section in sections if section.number]


def _section(section: Section) -> Markup:
    heading = tag("h2", section.title, " ", tag("span", section.number, class_="number"))
    return tag("section", heading, section.content, id=section.anchor)


def _jumps(sections: Sequence[Section]) -> Markup:
    links = [
        tag(
            "li",
            tag("a", one.title, href=f"#{one.anchor}"),
            " ",
            tag("span", one.number, class_="number"),
        )
        for one in sections
    ]
    return tag("nav", tag("ul", *links), aria_label="Sections") if links else Markup()


def _causes(causes: Sequence[Cause]) -> Section:
    """Return the failures that block others or represent several with the same response."""
    weighty = [one for one in causes if one.blocked or one.same]
    return Section("Root causes", len(weighty), tag("ol", *map(_cause, weighty), class_="failures"))


def _cause(cause: Cause) -> Markup:
    one = cause.failed
    return tag(
        "li",
        tag(
            "p",
            tag("span", sign("failed"), class_="failed"),
            " ",
            prose(one.sentence),
            class_="expected",
        ),
        tag("p", tag("span", "came", class_="label"), " ", cut(one.came, LONGEST), class_="came"),
        tag("p", _permalink(one), " ", ", ".join(consequences(cause)), class_="where"),
        tag("pre", one.curl) if one.curl else "",
    )


def _broken(results: Sequence[Result]) -> Section:
    failed = [one for one in results if one.outcome == "failed"]
    levels = [
        joined(tag("h3", level, tag("small", meaning)), _failures(found))
        for level, meaning in LEVELS.items()
        if (found := [one for one in failed if one.level == level])
    ]
    return Section("Broken", len(failed), joined(*levels))


def _capabilities(report: Report, results: Sequence[Result]) -> Section:
    note = tag(
        "p",
        "These depend on the abilities of the model. They never make a server non-conformant.",
        class_="note",
    )
    failed = [one for one in results if one.outcome == "failed"]
    missed = Section("Failed", len(failed), _failures(failed))
    parts = [
        joined(tag("h3", f"{part.title} ({part.number})"), part.content)
        for part in (missed, *_quiet(results))
        if part.number
    ]
    return Section("Capabilities", len(results), joined(note, _areas(report, "capability"), *parts))


def _known(results: Sequence[Result]) -> Section:
    note = tag("p", "The profile lists these deviations, so they do not count.", class_="note")
    groups = [
        _group(why, found, _deviation) for why, found in _grouped(results, lambda one: one.known)
    ]
    return Section("Known deviations", len(results), joined(note, *groups))


def _quiet(results: Sequence[Result]) -> list[Section]:
    return [
        _by("Blocked", [one for one in results if one.outcome == "blocked"], lambda one: one.came),
        _by(
            "Not offered",
            [one for one in results if one.outcome == "not offered"],
            lambda one: one.came,
        ),
        _by("Skipped", [one for one in results if one.outcome == "skipped"], lambda one: one.came),
        _by("Passed", [one for one in results if one.outcome == "passed"], lambda one: one.area),
    ]


def _by(title: str, results: Sequence[Result], key: Callable[[Result], str]) -> Section:
    groups = [_group(each, found, _line) for each, found in _grouped(results, key)]
    return Section(title, len(results), joined(*groups))


# Results


def _grouped(
    results: Iterable[Result], key: Callable[[Result], str]
) -> list[tuple[str, list[Result]]]:
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(key(one), []).append(one)
    return list(groups.items())


def _group(why: str, results: Sequence[Result], item: Callable[[Result], Markup]) -> Markup:
    areas = list(dict.fromkeys(one.area for one in results))
    where = "" if areas == [why] else ", ".join(areas[:4]) + (" …" if len(areas) > 4 else "")
    summary = tag(
        "summary",
        tag("span", cut(why, LONGEST) or "No reason was recorded.", class_="why"),
        " ",
        tag("span", len(results), class_="number"),
        tag("small", where),
    )
    return tag(
        "details",
        summary,
        tag("ul", *(item(one) for one in results), class_="lines"),
        class_="group",
    )


def _line(one: Result) -> Markup:
    return tag(
        "li", _permalink(one), " ", tag("span", prose(one.sentence)), " ", _level(one), id=one.id
    )


def _deviation(one: Result) -> Markup:
    words = (
        "The requirement passes now: the profile can be corrected."
        if one.outcome == "passed"
        else cut(one.came, LONGEST)
    )
    exchanges = [_exchange(each) for each in one.exchanges]
    came = tag("p", signed(state(one)), " ", words, class_="came")
    return tag(
        "li",
        _permalink(one),
        " ",
        tag("span", prose(one.sentence)),
        " ",
        _level(one),
        came,
        *exchanges,
        id=one.id,
    )


def _failures(results: Sequence[Result]) -> Markup:
    return tag("ol", *(_failure(one) for one in results), class_="failures")


def _failure(one: Result) -> Markup:
    source = tag("span", explained(one.source), class_="source")
    return tag(
        "li",
        tag(
            "p",
            tag("span", sign("failed"), class_="failed"),
            " ",
            prose(one.sentence),
            class_="expected",
        ),
        tag(
            "p",
            tag("span", "came", class_="label"),
            " ",
            cut(one.came, LONGEST) or "no details",
            class_="came",
        ),
        tag("p", tag("span", "at", class_="label"), " ", cut(one.place, LONGEST), class_="came")
        if one.place
        else "",
        tag("p", _level(one), " ", _permalink(one), " ", source, class_="where"),
        *(_exchange(each) for each in one.exchanges),
        id=one.id,
    )


def _level(one: Result) -> Markup:
    return tag("span", one.level, class_=f"level {one.level}")


def _permalink(one: Result) -> Markup:
    return tag("a", one.id, href=f"#{one.id}", class_="id")


def _exchange(displayed: Shown) -> Markup:
    return tag(
        "details",
        tag("summary", "Request and response"),
        tag("p", "request", class_="label"),
        tag("pre", displayed.request),
        tag("p", "response", class_="label"),
        tag("pre", displayed.answer),
        class_="exchange",
    )


def _foot(report: Report) -> Markup:
    words = [word for word in MEANINGS if any(state(one) == word for one in report.results)]
    return tag(
        "footer",
        tag("h2", "Signs and words"),
        legend(words),
        tag("p", f"Antiphon {report.version}"),
    )
