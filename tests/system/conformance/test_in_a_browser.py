"""The pages as a browser shows them, where one is installed."""

import html
import re
from pathlib import Path

import msgspec
import pytest

from antiphon_verify.html import matrix_page, report_page
from tests.support.browser import needs_browser
from tests.system.conformance.browser import Browser, browsing
from tests.unit.conformance.html.test_matrix import TWO, at
from tests.unit.conformance.html.test_report import DISPLAYED, HOSTILE, SEVERAL, hostile
from tests.unit.conformance.test_report import result

WIDTHS = """<!DOCTYPE html><body><iframe srcdoc="{page}" style="width:{width}px;height:900px"></iframe><script>
document.querySelector("iframe").onload = event => {{
  const root = event.target.contentDocument.documentElement, style = getComputedStyle(root.lastChild);
  document.body.dataset.seen = [root.scrollWidth - root.clientWidth, style.maxWidth].join(" ");
}}</script>"""  # noqa: E501 - the lines of a text


def seen_at(browser: Browser, page: str, width: int) -> list[str]:
    """Return how far a page overflows a window of this width, and how wide it may be."""
    dom = browser.dom(WIDTHS.format(page=html.escape(page), width=width))
    return re.findall(r'data-seen="([^"]*)"', dom)[0].split(" ")


@needs_browser
def test_a_browser_renders_the_page_without_any_request(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        dom = browser.dom(report_page(hostile("".join(HOSTILE[:6]))))
        assert browser.proxy.hosts == set()
        browser.dom("<img src='http://tracker.example/p.png'>")
        assert browser.proxy.hosts == {"tracker.example"}, "The proxy hears what a page loads."

    assert "<span>Does not conform</span></h1>" in dom
    assert dom.count("</li>") > 8


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_the_page_without_scrolling_sideways(tmp_path: Path, width: int) -> None:
    long = result(
        "a:b:long", outcome="failed", came="z" * 5000, sentence="w" * 500, exchanges=(DISPLAYED,)
    )
    one = msgspec.structs.replace(
        SEVERAL, results=(*SEVERAL.results, long), base_url=f"http://{'u' * 300}/v1"
    )
    with browsing(tmp_path) as browser:
        assert seen_at(browser, report_page(one), width) == ["0", "960px"]


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_scrolls_the_tables_in_their_own_boxes(tmp_path: Path, width: int) -> None:
    long = at("h" * 200, result("a:b:c"), result(f"a:b:{'l' * 200}", outcome="failed"))
    with browsing(tmp_path) as browser:
        assert seen_at(browser, matrix_page([*TWO, long] * 3), width) == ["0", "1440px"]


@needs_browser
def test_a_browser_renders_the_matrix_without_any_request(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        dom = browser.dom(matrix_page([hostile("".join(HOSTILE[:6])), *TWO]))
        assert browser.proxy.hosts == set()

    assert "<h1>Servers side by side</h1>" in dom
