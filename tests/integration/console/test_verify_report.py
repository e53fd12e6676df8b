"""What the server reads in the JSON of a report, compared with what the checker says of the same
report.
"""

from itertools import pairwise
from pathlib import Path

import pytest

from antiphon.console.verify_report import FORMAT, areas_of, changes_between, decode_report
from antiphon.errors import ConfigError
from antiphon_verify import comparison, report, wording
from tests.support.cases import each

FILES = sorted((Path(__file__).parents[3] / "reports").glob("*.json"))


@each("path", FILES)
def test_the_figures_of_a_report_are_those_of_the_checker(path: Path) -> None:
    body = path.read_bytes()
    ours = decode_report(path.name, body)
    (theirs,) = report.decode_reports([(path.name, body)])
    assert (ours.server, ours.conforms) == (wording.server(theirs), theirs.conforms)
    assert (ours.musts, ours.outcomes) == (wording.musts(theirs), theirs.counted())
    assert [one.state for one in ours.results] == [wording.state(one) for one in theirs.results]
    for area, group in zip(areas_of([ours]), comparison.groups([theirs]), strict=True):
        assert (area.area, area.kind) == (group.area, group.kind)
        assert area.tally(0) == wording.tally(row.requirement for row in group.rows)


def test_reports_side_by_side_are_those_of_the_checker() -> None:
    bodies = [(path.name, path.read_bytes()) for path in FILES]
    ours = areas_of([decode_report(*each_body) for each_body in bodies])
    theirs = comparison.groups(report.decode_reports(bodies))
    assert [(one.area, one.kind) for one in ours] == [(one.area, one.kind) for one in theirs]
    for area, group in zip(ours, theirs, strict=True):
        assert [row.requirement.sentence for row in area.rows] == [
            row.requirement.sentence for row in group.rows
        ]
        assert [row.states for row in area.rows] == [row.states for row in group.rows]


def test_the_changes_between_two_reports_are_those_of_the_checker() -> None:
    bodies = [(path.name, path.read_bytes()) for path in FILES]
    for old, new in pairwise(bodies):
        ours = changes_between(decode_report(*old), decode_report(*new))
        theirs = comparison.changes(*report.decode_reports([old, new]))
        assert [(one.id, (one.before, one.now), one.is_worse) for one in ours] == [
            (one.id, one.states, one.is_worse) for one in theirs
        ]
        assert [one.came for one in ours] == [one.new.came if one.new else "" for one in theirs]


def test_the_server_reads_the_format_that_the_checker_writes() -> None:
    assert FORMAT == report.FORMAT


def test_a_report_of_a_newer_format_is_rejected() -> None:
    body = FILES[0].read_bytes().replace(b'"format": 1', b'"format": 99', 1)
    with pytest.raises(ConfigError, match="format 99"):
        decode_report("x", body)
