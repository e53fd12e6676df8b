"""Reports of `antiphon verify` as their JSON describes them: `docs/reference/report.schema.json`.

The server reads the format, and not the classes of `antiphon-verify`: that package need not be
installed here, and a report can come from another version of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from antiphon.errors import ConfigError
from antiphon.version import __version__

FORMAT = 1
"""The newest version of the format that is read."""

Outcome = Literal["passed", "failed", "blocked", "not offered", "skipped"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "blocked", "not offered", "skipped")

Kind = Literal["protocol", "capability"]
"""`protocol` holds whatever the model answers; `capability` depends on the model, and is judged
separately.
"""


class VerifyExchange(msgspec.Struct, frozen=True):
    """A request and its reply."""

    request: str
    answer: str


class VerifyResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one requirement."""

    id: str
    level: Literal["must", "should", "may"]
    kind: Kind
    source: str
    sentence: str
    outcome: Outcome
    came: str = ""
    known: str = ""
    """Why the profile lists this failure; empty if it does not."""
    exchanges: tuple[VerifyExchange, ...] = ()
    place: str = ""
    blocked_by: str = ""
    curl: str = ""

    @property
    def area(self) -> str:
        """`responses:stream` for `responses:stream:item-done-once`."""
        return self.id.rpartition(":")[0]

    @property
    def state(self) -> str:
        """The outcome, or `known` for a failure that the profile lists."""
        return (
            "known" if self.known and self.outcome == "skipped" and self.exchanges else self.outcome
        )

    @property
    def is_must(self) -> bool:
        """Whether the requirement is a `must` of the protocol."""
        return self.level == "must" and self.kind == "protocol"


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run against one server."""

    format: int = FORMAT
    name: str = ""
    """The name of the server, if it has one."""
    about: dict[str, str] = {}
    version: str
    """The version of antiphon-verify."""
    base_url: str
    model: str
    profile: str = ""
    started_at: int
    """Seconds since 1970."""
    seconds: float
    requests: int
    results: tuple[VerifyResult, ...]

    @property
    def server(self) -> str:
        """The name of the server, or its host and port."""
        return self.name or self.base_url.partition("://")[2].removesuffix("/v1") or self.base_url

    @property
    def musts(self) -> tuple[int, int]:
        """How many `must` requirements of the protocol pass, and how many fail."""
        outcomes = [result.outcome for result in self.results if result.is_must]
        return outcomes.count("passed"), outcomes.count("failed")

    @property
    def conforms(self) -> bool:
        """Whether every judged `must` of the protocol passes, and at least one `must` was
        judged.
        """
        _, failed = self.musts
        return not failed and any(
            one.outcome == "passed" and one.level == "must" for one in self.results
        )

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """How many results have each outcome."""
        found = [result.outcome for result in self.results]
        return {outcome: found.count(outcome) for outcome in OUTCOMES}


def decode_report(name: str, body: bytes) -> VerifyReport:
    """Return the report in a body; errors call it by this name.

    Raises `ConfigError` if it is not a report.
    """
    try:
        report = msgspec.json.decode(body, type=VerifyReport)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{name} is not a report. `antiphon verify --json FILE` writes one."
        ) from error
    if report.format > FORMAT:
        raise ConfigError(
            f"{name} has format {report.format}; this Antiphon {__version__} reads up to {FORMAT}."
        )
    return report


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One requirement, as the first report that has it describes it, and its result in each
    report.
    """

    requirement: VerifyResult
    results: tuple[VerifyResult | None, ...]
    """One for each report, in their order; None if a report does not have the requirement."""

    @property
    def states(self) -> list[str]:
        """The state in each report."""
        return [_state(one) for one in self.results]


@dataclass(frozen=True, slots=True)
class RequirementArea:
    """The requirements of one area and kind."""

    area: str
    kind: Kind
    rows: list[RequirementRow] = field(default_factory=list)

    def tally(self, column: int) -> tuple[int, int]:
        """Return how many passed in a report, and how many were judged there, including known
        deviations.
        """
        states = [_state(row.results[column]) for row in self.rows]
        passed = states.count("passed")
        return passed, passed + states.count("failed") + states.count("known")


def areas_of(reports: Sequence[VerifyReport]) -> list[RequirementArea]:
    """Return every requirement of any report, by area; capabilities come last."""
    found: dict[tuple[Kind, str], RequirementArea] = {}
    for row in _rows(reports):
        kind = row.requirement.kind
        area = row.requirement.area
        found.setdefault((kind, area), RequirementArea(area, kind)).rows.append(row)
    return sorted(found.values(), key=lambda one: one.kind == "capability")


def _rows(reports: Sequence[VerifyReport]) -> Iterable[RequirementRow]:
    by_id = [{one.id: one for one in report.results} for report in reports]
    described = {one.id: one for report in reversed(reports) for one in report.results}
    order = dict.fromkeys(one.id for report in reports for one in report.results)
    return [
        RequirementRow(described[each], tuple(results.get(each) for results in by_id))
        for each in order
    ]


@dataclass(frozen=True, slots=True)
class StateChange:
    """A requirement with another state than in an earlier report."""

    id: str
    before: str
    now: str
    came: str
    """What was wrong in the later report, or why the requirement was skipped."""

    @property
    def is_worse(self) -> bool:
        """Whether it passed before and no longer does, or fails now and did not before."""
        return self.now == "failed" or (
            self.before == "passed" and self.now in ("blocked", "not offered", "known")
        )


def changes_between(old: VerifyReport, new: VerifyReport) -> list[StateChange]:
    """Return the differences between two reports, those that got worse first."""
    before, now = ({one.id: one for one in report.results} for report in (old, new))
    found = [
        _change(each, before.get(each), now.get(each)) for each in dict.fromkeys([*now, *before])
    ]
    return sorted((one for one in found if one.before != one.now), key=lambda one: not one.is_worse)


def _change(id: str, before: VerifyResult | None, now: VerifyResult | None) -> StateChange:
    return StateChange(id, _state(before), _state(now), now.came if now else "")


def _state(result: VerifyResult | None) -> str:
    return "not in report" if result is None else result.state
