"""Reports compared: what changed between two, and servers as a badge, a chart and a page of
Markdown.
"""

from xml.etree import ElementTree

import msgspec
import pytest

from antiphon_verify.cli.findings import change_lines
from antiphon_verify.comparison import changes
from antiphon_verify.html import badge, chart
from antiphon_verify.markdown import matrix_markdown
from antiphon_verify.report import Report
from tests.unit.conformance.html.test_report import HOSTILE
from tests.unit.conformance.test_report import report, result

NAMED = msgspec.structs.replace(
    report(
        result("a:b:c"),
        result(
            "a:b:root",
            outcome="failed",
            came="status 500, Boom.",
            place="output.0 = null",
            curl="curl -sS /x",
        ),
        result("a:b:like", outcome="failed", level="should", came="status 500, Boom."),
        result("a:d:e", outcome="blocked", blocked_by="a:b:root"),
        result("a:d:f", outcome="failed", level="may", came="null"),
    ),
    name="One",
    about={"version": "1.2", "backend": "demo|x"},
)


def texts(picture: str) -> list[str]:
    return [
        element.text or ""
        for element in ElementTree.fromstring(picture).iter()
        if element.tag.endswith("text")
    ]


def test_causes_come_by_their_weight_and_one_answer_is_one_cause() -> None:
    causes = [
        (one.failed.id, [each.id for each in one.same], len(one.blocked)) for one in NAMED.causes
    ]

    assert causes == [("a:b:root", ["a:b:like"], 1), ("a:d:f", [], 0)]


def test_a_badge_counts_musts_and_a_blocked_requirement_is_not_met() -> None:
    assert texts(badge(NAMED)) == ["One", "1 of 3 musts"]
    assert texts(badge(report(result("a:b:c")))) == ["antiphon verify", "1 of 1 musts"]
    assert texts(badge(report()))[1] == "not judged"


def test_a_chart_has_a_row_for_each_area_and_a_column_for_each_server() -> None:
    found = texts(chart([NAMED, report(result("x:y:z"))]))

    assert found[:2] == ["One", "x"]
    assert {"a:b", "a:d", "x:y"} <= set(found)


@pytest.mark.parametrize("draw", [badge, lambda one: chart([one])])
def test_a_picture_shows_a_hostile_name_as_text_and_loads_nothing(draw: object) -> None:
    picture = draw(msgspec.structs.replace(NAMED, name="".join(HOSTILE)))  # type: ignore[operator]
    names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture).iter()}

    assert names <= {"svg", "title", "rect", "text", "g"}


def test_a_markdown_page_reports_how_each_server_was_run_and_which_request_shows_a_violation() -> (
    None
):
    page = matrix_markdown([NAMED])

    assert "| One | 1970-01-01 00:00 UTC | 1, `m` | 1.2 | demo&#124;x |" in page
    assert (
        "- `a:b:root` (must, blocks 1 requirement, 1 more with the same response): It is so."
        in page
    )
    assert "Received: `status 500, Boom.`" in page
    assert "at `output.0 = null`" in page
    assert "  curl -sS /x" in page
    assert "a:d:f" not in page


def outcomes(**found: str) -> Report:
    return report(
        *(result(f"a:b:{name}", outcome=outcome, came="why") for name, outcome in found.items())
    )


def test_what_got_worse_comes_first_with_what_came() -> None:
    old = outcomes(
        same="passed",
        better="failed",
        worse="passed",
        lost="passed",
        gone="passed",
        hidden="skipped",
    )
    new = outcomes(
        same="passed",
        better="passed",
        worse="failed",
        lost="blocked",
        fresh="failed",
        hidden="not offered",
    )

    assert change_lines(changes(old, new)) == [
        "worse  a:b:worse  passed -> failed: why",
        "worse  a:b:lost  passed -> blocked: why",
        "worse  a:b:fresh  not in report -> failed: why",
        "       a:b:better  failed -> passed",
        "       a:b:hidden  skipped -> not offered",
        "       a:b:gone  passed -> not in report",
    ]


def test_reports_that_agree_differ_in_nothing() -> None:
    assert changes(NAMED, NAMED) == []
