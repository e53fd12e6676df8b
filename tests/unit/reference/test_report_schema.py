"""The JSON schema of a report, and the page of servers side by side, are made from the data.

`python -m tests.unit.reference.test_report_schema --update` writes both.
"""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.markdown import matrix_markdown
from antiphon_verify.report import FORMAT, Report, decode_reports
from tests.support.pages import REFERENCE

SCHEMA = REFERENCE / "report.schema.json"
MATRIX = REFERENCE / "server-comparison.md"

REPORTS = sorted((REFERENCE.parents[1] / "reports").glob("*.json"))


def schema() -> str:
    found = msgspec.json.schema(Report)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A report of antiphon verify, form {FORMAT}",
    }
    return json.dumps(head | found, indent=2) + "\n"


def matrix() -> str:
    return matrix_markdown(decode_reports([(path.name, path.read_bytes()) for path in REPORTS]))


def test_the_schema_is_fresh() -> None:
    assert SCHEMA.read_text() == schema(), "a change of the form needs another FORMAT, and --update"


def test_the_page_of_servers_is_fresh() -> None:
    assert MATRIX.read_text() == matrix(), (
        "write it again: python -m tests.unit.reference.test_report_schema --update"
    )


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_has_its_date_its_options_and_every_failure_with_its_request(path: Path) -> None:
    [report] = decode_reports([(path.name, path.read_bytes())])
    failed = [one for one in report.results if one.outcome == "failed"]

    assert path.name[:10].replace("-", "").isdecimal()
    assert report.format == FORMAT
    assert report.about.keys() == {"version", "command", "backend", "model profile"}
    assert [one.id for one in failed if not one.came or one.id not in REQUIREMENTS] == []
    assert [one.id for one in failed if not one.curl] == []


if __name__ == "__main__" and "--update" in sys.argv:
    SCHEMA.write_text(schema())
    MATRIX.write_text(matrix())
