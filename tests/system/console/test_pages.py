"""Every page in a browser: complete, accessible, within its width, and without a request to another
host.
"""

import pytest

from tests.support.browser import needs_browser
from tests.support.console.containers import CONTAINER
from tests.support.console.routes import ROUTES
from tests.system.console import screenshots
from tests.system.console.conftest import Console
from tests.system.console.screenshots import prepare_server, ready

pytestmark = [needs_browser, pytest.mark.timeout(300)]

PAGES = {
    "": "Draft the release notes",
    "r/resp_7e08": "Two issues block 2.4",
    "compare?a=resp_7e08&b=resp_0004": "Timeline of B",
    "play": "Instructions",
    "files": "release-notes-2.4.pdf",
    "files/stores": "Handbook and release notes",
    "files/vs_1": "The PDF has pictures and no text.",
    "containers": "Analysis of the queue",
    f"containers/{CONTAINER}": "/mnt/data/queue.png",
    "conversations": "topic: release",
    "conversations/conv_1": "Two issues block 2.4",
    "backends": "connection refused",
    "deferred": "Sum up the tickets",
    "usage": "qwen3-coder",
    "conformance": "antiphon over gpu-a",
    "conformance/compare": "Only differences",
    "webhooks": "Connection refused",
    "keys": "2,000,000 tokens/day",
}
"""The paths that the tests open, with a text that the page shows."""
STATES = {name: state for name, state in screenshots.PAGES.items() if state[1] is not ready}
"""What pages show after clicks, such as a playground with a conversation."""
WIDTHS = (320, 390, 768, 1440, 3840)
FAINT = """
(() => {
  const parsed = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = each => {
    for (; each; each = each.parentElement) {
      const color = parsed(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255];
  };
  const hasText = each => [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  const shown = [...document.querySelectorAll('body *')].filter(each => hasText(each) && each.checkVisibility());
  return shown.filter(each => {
    const [a, b] = [light(parsed(getComputedStyle(each).color)), light(behind(each))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5 && !each.closest('[disabled], .visually-hidden');
  }).map(each => `${each.className || each.tagName}: ${each.textContent.trim().slice(0, 40)}`);
})()
"""  # noqa: E501 - the lines of a text
"""Gives the texts whose contrast with what is behind them is below 4.5."""


def test_every_page_of_the_navigation_is_opened() -> None:
    opened = {path.partition("?")[0].partition("/")[0] for path in PAGES}
    assert opened == set(ROUTES), "add the path, and a text that the page shows, to PAGES"


@pytest.mark.rotating
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_complete_and_accessible_in_both_schemes(
    console: Console, path: str, width: int
) -> None:
    await console.page.resize(width)
    await console.open(path, shows="" if path == "play" and width < 500 else PAGES[path])
    for scheme in ("light", "dark"):
        await console.page.prefer(scheme)
        assert await console.findings() == [], scheme
    console.check()


@pytest.mark.rotating
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", STATES)
async def test_what_a_page_shows_after_a_click_is_accessible_in_both_schemes(
    console: Console, name: str, width: int
) -> None:
    path, prepare = STATES[name]
    prepare_server(console.server, name)
    await console.page.resize(width)
    await console.page.goto(console.url + path)
    await prepare(console.page)
    for scheme in ("light", "dark"):
        await console.page.prefer(scheme)
        assert await console.findings() == [], scheme
    console.check("404")  # the stream of the image is lost, and the server has no such response


@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_never_scrolls_sideways(console: Console, path: str) -> None:
    await console.open(path, shows=PAGES[path])
    for width in reversed(WIDTHS):
        await console.page.resize(width)
        assert await console.page.wait_for(f"innerWidth === {width}")
        assert await console.fits(), width
    console.check()


@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_at_200_percent_zoom_never_scrolls_sideways(
    console: Console, path: str
) -> None:
    await console.page.resize(1280 // 2, 900 // 2, scale=2)
    await console.open(path, shows="" if path == "play" else PAGES[path])
    assert await console.fits()
    assert await console.findings() == []
    console.check()


@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_the_text_of_a_page_is_visible_in_forced_colours(console: Console, path: str) -> None:
    await console.open(path, shows=PAGES[path])
    for scheme in ("light", "dark"):
        await console.page.prefer(scheme, forced_colors=True)
        assert await console.page.evaluate("matchMedia('(forced-colors: active)').matches")
        assert await console.page.evaluate(FAINT) == [], scheme
    console.check()


@pytest.mark.parametrize("console", [{"prefix": "/llm/api"}], indirect=True)
@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_the_console_works_below_a_prefix(console: Console, path: str) -> None:
    await console.open(path, shows=PAGES[path])
    console.check()


async def test_the_first_page_needs_few_requests(console: Console) -> None:
    await console.open("", shows="Draft the release notes")
    files = [url for url in console.page.requests if "/console/" in url]
    assert len(files) <= 6, files
    data = [url for url in console.page.requests if "/admin/v1/" in url]
    assert len(data) == 4, data  # session, rows, figures, live rows
    assert sum("/stream" in url for url in data) == 1, data


async def test_the_actions_of_every_key_are_in_view_on_a_phone(console: Console) -> None:
    await console.page.resize(390)
    await console.open("keys", shows="2,000,000 tokens/day")
    await console.click("[aria-label='Actions for help-desk']")
    assert await console.page.wait_for("document.querySelectorAll('[role=menuitem]').length === 3")
    beyond = (
        "[...document.querySelectorAll('tbody .btn, [role=menuitem]')].filter(each => "
        "each.getBoundingClientRect().right > 390).length"
    )
    assert await console.page.evaluate(beyond) == 0
    assert await console.findings() == []
    console.check()


async def test_fields_of_a_form_are_as_wide_as_their_place(console: Console) -> None:
    await console.open("keys", shows="2,000,000 tokens/day")
    await console.choose("Create a key")
    await console.page.wait_for("document.querySelector('dialog[open] .field > input') !== null")
    widths = (
        "[...document.querySelectorAll('dialog .field > input')].map(each => "
        "[each.offsetWidth, each.parentElement.offsetWidth])"
    )
    found = await console.page.evaluate(widths)
    assert found
    assert [field for field, _ in found] == [place for _, place in found]
    console.check()


async def test_an_unknown_page_leads_back(console: Console) -> None:
    await console.open("nowhere", shows="This page does not exist")
    await console.choose("Open Responses")
    await console.page.see("Draft the release notes")
