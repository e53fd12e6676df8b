"""The figures of `make bench-peers` and `bench.agents` that the documentation shows are those that
were kept.
"""

import msgspec
import pytest
from bench.agents.__main__ import IMAGE, RETAINED, Growth, chart
from bench.agents.chart import Panel, drawn
from bench.peers.kinds import KINDS
from bench.peers.page import FULL, SHORT, Run, Server, pages, stored


def test_the_pages_have_the_stored_run() -> None:
    for path, text in pages(stored()).items():
        assert path.read_text() == text, "python -m bench.peers.page writes it"


def test_every_line_of_the_tables_was_measured_of_antiphon() -> None:
    ours = next(server for server in stored().servers if server.name == "antiphon")
    assert all(figure in ours.figures[kind] for _, kind, figure in FULL)
    assert set(SHORT) <= set(FULL)
    assert {kind.name for kind in KINDS} <= {kind for _, kind, _ in FULL}


def test_an_unmeasured_figure_is_a_dash_with_its_reason_on_the_page() -> None:
    run = Run(
        "2026-01-01",
        [Server("antiphon", "1.0, abc", {}), Server("OGX", "1.5", {})],
        ["OGX, plain: it failed"],
    )
    page = next(text for path, text in pages(run).items() if path.name == "speed-of-gateways.md")
    assert "| plain request, CPU µs | - | - |" in page
    assert "- OGX, plain: `it failed`\n" in page
    assert "Measured on 2026-01-01, abc." in page


def test_the_picture_has_the_stored_growth() -> None:
    growth = msgspec.json.decode(RETAINED.read_bytes(), type=Growth)
    assert IMAGE.read_text() == chart(growth)


@pytest.mark.parametrize(
    ("highest", "top"), [(0.9, "1"), (1.1, "2"), (4_300.0, "5,000"), (60.0, "100")]
)
def test_a_panel_reaches_just_above_its_highest_value(highest: float, top: str) -> None:
    svg = drawn("t", "d", [Panel("p", {"now": {1: highest / 2, 100: highest}})], {"now": "now"})
    assert f">{top}</text>" in svg
    heights = [float(part.split('"')[1]) for part in svg.split("cy=")[1:]]
    assert 64 <= min(heights) < max(heights) <= 264
