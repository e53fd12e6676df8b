"""The table of filters in the reference has exactly the filters that the grammar has."""

import re

from antiphon.query.filter_values import MOST_VALUES, STATUSES
from antiphon.query.response_filters import FILTERS, MOST, MOST_TERMS, SORTS, parse_filters
from antiphon.storage.operations.facts_values import MOST_COUNTED
from antiphon.storage.operations.finding import MOST_CALLING
from antiphon.storage.records.facts import MOST_READ
from tests.support.pages import REFERENCE, table

ROWS = dict(table("endpoints", "Filter", "Matches"))
PAGE = (REFERENCE / "endpoints.md").read_text("utf-8")
SECTION = PAGE.split("`q` is one line of filters")[1].split("\n### ")[0]


def test_every_filter_has_its_row_and_every_row_its_filter() -> None:
    listed = {name for names in ROWS for name in re.findall(r"([A-Za-z_.]+):", names)}
    assert listed == {*FILTERS}


def test_the_values_of_a_filter_are_listed() -> None:
    for name, values in (("status:", STATUSES), ("sort:", SORTS)):
        listed = re.findall(r"`([a-z_]+)`", ROWS[name])
        assert [one for one in listed if one in values] == [*values]


def test_the_examples_are_valid() -> None:
    examples = re.findall(r"```text\n(.*?)\n```", SECTION)
    examples += re.findall(r"`(-?[a-z]+:[^`…]+)`", SECTION)
    assert len(examples) > 5
    for line in examples:
        assert parse_filters(line, 0)


def test_the_limits_are_those_of_the_server() -> None:
    for limit in (MOST, MOST_READ, MOST_CALLING):
        assert f"{limit:,}" in SECTION
    assert f"{MOST_TERMS} filters and words" in SECTION
    assert f"at most {MOST_VALUES} values" in FILTERS["model"].forms
    assert f"{MOST_COUNTED:,}" in PAGE.split("### Complete a filter")[1]
