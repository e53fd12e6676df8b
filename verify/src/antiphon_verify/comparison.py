"""Reports compared, as data: servers side by side, and what changed between two reports of a
server.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from antiphon_verify.report import Report, Result
from antiphon_verify.requirement import Kind
from antiphon_verify.wording import LEVELS, server, state, tally

Column = Result | None
"""The outcome at one server; None if its report does not have the requirement."""


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement, as the first report that has it describes it."""

    requirement: Result
    results: tuple[Column, ...]
    """One outcome for each report, in their order."""

    @property
    def name(self) -> str:
        """`item-done-once` for `responses:stream:item-done-once`."""
        return self.requirement.id.rpartition(":")[2]

    @property
    def states(self) -> list[str]:
        """The outcome at each server, in words."""
        return [state(one) for one in self.results]

    @property
    def is_same(self) -> bool:
        """Whether all servers have the same outcome."""
        return len(set(self.states)) == 1


@dataclass(frozen=True, slots=True)
class Group:
    """The requirements of one area and kind."""

    area: str
    kind: Kind
    rows: list[Row] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The area's name, with the kind unless it is `protocol`."""
        return self.area if self.kind == "protocol" else f"{self.area} (capability)"


def groups(reports: Sequence[Report]) -> list[Group]:
    """Return every requirement of any report, by area; capabilities come last."""
    found: dict[tuple[str, str], Group] = {}
    for row in _rows(reports):
        group = Group(row.requirement.area, row.requirement.kind)
        found.setdefault((group.kind, group.area), group).rows.append(row)
    return sorted(found.values(), key=lambda group: group.kind == "capability")


def rows(reports: Sequence[Report]) -> list[tuple[str, ...]]:
    """Return the matrix as rows of words: a header, areas with their totals, requirements, and
    totals by level.
    """
    head = ("requirement", "level", *(f"{server(one)} {one.model}".rstrip() for one in reports))
    lines = [line for group in groups(reports) for line in _lines(group, len(reports))]
    totals = [(title, "", *scores(found, len(reports))) for title, found in levels(groups(reports))]
    return [head, *lines, *totals]


def _lines(group: Group, width: int) -> list[tuple[str, ...]]:
    area = (group.title, "", *scores(group.rows, width))
    return [area, *((f"  {row.name}", row.requirement.level, *row.states) for row in group.rows)]


def levels(found: Iterable[Group]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each level of the protocol, and those of all capabilities, each under a
    title.
    """
    listed = list(found)
    protocol = [row for group in listed if group.kind == "protocol" for row in group.rows]
    capable = [row for group in listed if group.kind == "capability" for row in group.rows]
    by_level = [
        (level, [row for row in protocol if row.requirement.level == level]) for level in LEVELS
    ]
    return [(title, rows) for title, rows in (*by_level, ("capability", capable)) if rows]


def scores(found: Sequence[Row], width: int) -> list[str]:
    """Return `passed/judged` for each server; `-` if nothing was judged."""
    tallies = [tally(row.results[column] for row in found) for column in range(width)]
    return [f"{passed}/{judged}" if judged else "-" for passed, judged in tallies]


def _rows(reports: Sequence[Report]) -> list[Row]:
    by_id = [{one.id: one for one in report.results} for report in reports]
    described = {one.id: one for report in reversed(reports) for one in report.results}
    order = dict.fromkeys(one.id for report in reports for one in report.results)
    return [Row(described[each], tuple(results.get(each) for results in by_id)) for each in order]


@dataclass(frozen=True, slots=True)
class Change:
    """A requirement with a different outcome than before; None if a report does not have it."""

    old: Result | None
    new: Result | None

    @property
    def id(self) -> str:
        """The requirement's id."""
        known = self.new or self.old
        return known.id if known else ""

    @property
    def states(self) -> tuple[str, str]:
        """The outcomes before and now, in words."""
        return state(self.old), state(self.new)

    @property
    def is_worse(self) -> bool:
        """Whether it passed before and no longer does, or fails now and did not before."""
        before, now = self.states
        return now == "failed" or (
            before == "passed" and now in ("blocked", "not offered", "known")
        )


def changes(old: Report, new: Report) -> list[Change]:
    """Return the differences between two reports, those that got worse first."""
    before, now = ({one.id: one for one in report.results} for report in (old, new))
    pairs = [Change(before.get(each), now.get(each)) for each in dict.fromkeys([*now, *before])]
    differing = [pair for pair in pairs if pair.states[0] != pair.states[1]]
    return sorted(differing, key=lambda pair: not pair.is_worse)
