"""Servers side by side."""

import msgspec
import pytest

from antiphon_verify.comparison import groups, rows
from antiphon_verify.html import matrix_page
from antiphon_verify.report import Report, Result, Shown
from tests.unit.conformance.html.test_report import HOSTILE, full, hostile
from tests.unit.conformance.pages import assert_sound, levels
from tests.unit.conformance.test_report import report, result

DISPLAYED = (Shown(request="GET /models", answer="200"),)


def at(host: str, *results: Result) -> Report:
    return msgspec.structs.replace(report(*results), base_url=f"http://{host}/v1")


TWO = [
    at(
        "one:1",
        result("a:b:c"),
        result("a:b:d", outcome="failed", came="null"),
        result("a:e:f", level="should"),
    ),
    at(
        "two:2",
        result("a:b:c", outcome="not offered"),
        result("a:b:d", outcome="skipped", known="It does not", exchanges=DISPLAYED),
        result("a:b:x", outcome="skipped", kind="capability"),
        result("a:e:g", level="may"),
    ),
]


def test_the_rows_stand_by_area_with_totals() -> None:
    assert rows(TWO) == [
        ("requirement", "level", "one:1 m", "two:2 m"),
        ("a:b", "", "1/2", "0/1"),
        ("  c", "must", "passed", "not offered"),
        ("  d", "must", "failed", "known"),
        ("a:e", "", "1/1", "1/1"),
        ("  f", "should", "passed", "not in report"),
        ("  g", "may", "not in report", "passed"),
        ("a:b (capability)", "", "-", "-"),
        ("  x", "must", "not in report", "skipped"),
        ("must", "", "1/2", "0/1"),
        ("should", "", "1/1", "-"),
        ("may", "", "-", "1/1"),
        ("capability", "", "-", "-"),
    ]


def test_no_reports_have_no_rows() -> None:
    assert rows([]) == [("requirement", "level")]
    assert groups([]) == []


def test_a_server_with_a_profile_is_judged_like_one_without() -> None:
    known = result("a:b:c", outcome="skipped", known="It does not.", exchanges=DISPLAYED)
    page = assert_sound(
        matrix_page([at("one:1", known), at("two:2", result("a:b:c", outcome="failed"))])
    )

    assert [each.text for each in page.classed("state")][:2] == [
        "✕ 1 must failed",
        "✕ 1 must failed",
    ]


def test_every_server_is_a_column_and_every_requirement_a_row() -> None:
    page = assert_sound(matrix_page(TWO))
    heads = [each.text for each in page.named("th") if each.attributes["scope"] == "col"]
    every = [" ".join(each.text.split()) for each in page.named("tr")]

    assert heads[1:3] == ["one:1m✕ 1 must failed", "two:2m✕ 1 must failed"]
    assert {"a:b:c", "a:b:d", "a:e:f", "a:e:g", "a:b:x", "a:b", "a:e"} <= set(page.ids)
    assert "c mustIt is so.✓ passed○ not offered" in every
    assert "d mustIt is so.✕ failed≈ known" in every
    assert "a:b✕ 1/2✕ 0/1" in every


def test_rows_in_which_the_servers_do_the_same_can_be_left_out() -> None:
    both = [
        at("one:1", result("a:b:c"), result("a:b:d")),
        at("two:2", result("a:b:c"), result("a:b:d", outcome="failed")),
    ]
    page = assert_sound(matrix_page(both))

    assert [each.attributes["id"] for each in page.classed("same")] == ["a:b:c"]
    assert page.named("input")[0].attributes["type"] == "checkbox"


@pytest.mark.wide
@pytest.mark.parametrize(
    "reports", [[], [report()], [report(), report()], [full()], [full(), full("failed")] * 4]
)
def test_any_number_of_servers_and_requirements_makes_a_page(reports: list[Report]) -> None:
    page = assert_sound(matrix_page(reports))

    assert {one.id for each in reports for one in each.results} <= set(page.ids)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_server_becomes_markup(text: str) -> None:
    names = {"code", "small", "wbr"}
    page, harmless = (
        assert_sound(matrix_page([hostile(each), hostile(each)])) for each in (text, "x")
    )

    assert [each.name for each in page.elements if each.name not in names] == [
        each.name for each in harmless.elements if each.name not in names
    ]


def test_headings_are_in_order_and_table_heads_have_their_scope() -> None:
    page = assert_sound(matrix_page(TWO))

    assert levels(page) == [1, 2, 2, 2]
    assert all(each.attributes.get("scope") for each in page.named("th"))
