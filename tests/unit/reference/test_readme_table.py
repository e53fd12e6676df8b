"""The table of gateways in the README comes from the reports in `reports/`.

`python -m tests.unit.reference.test_readme_table --update` writes it.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from antiphon_verify.markdown import table
from antiphon_verify.report import Report, Result, decode_reports
from tests.support.pages import REFERENCE

README = REFERENCE.parents[1] / "README.md"
REPORTS = sorted((REFERENCE.parents[1] / "reports").glob("*.json"))
BETWEEN = re.compile(r"(?<=<!-- gateways -->\n).*(?=<!-- /gateways -->)", re.DOTALL)

GATEWAYS = ("Antiphon", "OGX", "agentic-api", "LiteLLM", "SGLang gateway")
FEATURES: dict[str, tuple[str, ...]] = {
    "Events of a stream": (
        "responses:stream",
        "responses:order",
        "responses:replay",
        "transport:sse",
    ),
    "Stored responses": ("responses:store", "responses:chain", "responses:input-items"),
    "Conversations": ("responses:conversations",),
    "Background responses": ("responses:background", "responses:cancel", "responses:resume"),
    "Tools that the client runs": ("responses:tools", "responses:calls"),
    "MCP servers and approvals": ("responses:mcp",),
    "Structured output": ("responses:formats",),
    "Compaction": ("responses:compact",),
    "WebSocket": ("responses:websocket",),
    "Webhooks": ("responses:webhooks",),
    "Invalid requests are rejected": ("responses:errors",),
    "Corrects weak models": ("responses:emulation",),
}


def cell(results: Iterable[Result]) -> str:
    """`passed/judged`, with the total if less than half was judged; or the reason why nothing
    was.
    """
    counts = Counter(one.outcome for one in results)
    if judged := counts["passed"] + counts["failed"]:
        return f"{counts['passed']}/{judged}" + (
            f" (of {counts.total()})" if judged * 2 < counts.total() else ""
        )
    return {"not offered": "not offered", "blocked": "blocked", "skipped": "not tested"}[
        counts.most_common(1)[0][0]
    ]


def of_areas(report: Report, areas: Iterable[str]) -> list[Result]:
    kind = "capability" if "responses:emulation" in areas else "protocol"
    return [one for one in report.results if one.area in areas and one.kind == kind]


def gateways() -> str:
    found = {
        report.name: report
        for report in decode_reports([(path.name, path.read_bytes()) for path in REPORTS])
    }
    reports = [found[name] for name in GATEWAYS]
    must = [
        [one for one in report.results if one.level == "must" and one.kind == "protocol"]
        for report in reports
    ]
    rows = [
        ("Version", *(report.about["version"] for report in reports)),
        (
            "Tested on",
            *(
                datetime.fromtimestamp(report.started_at, UTC).strftime("%Y-%m-%d")
                for report in reports
            ),
        ),
        *(
            (name, *(cell(of_areas(report, areas)) for report in reports))
            for name, areas in FEATURES.items()
        ),
        ("All requirements of the level `must`", *map(cell, must)),
    ]
    return "\n".join(table(("", *GATEWAYS), rows)) + "\n"


def test_the_table_is_fresh() -> None:
    found = BETWEEN.search(README.read_text())
    assert found is not None
    assert found[0] == gateways(), "run: python -m tests.unit.reference.test_readme_table --update"


def test_every_feature_is_judged_in_the_report_of_antiphon() -> None:
    for line in gateways().splitlines()[2:]:
        assert not line.split("|")[2].strip().isalpha()


if __name__ == "__main__" and "--update" in sys.argv:
    README.write_text(BETWEEN.sub(lambda _: gateways(), README.read_text()))
