"""Responses with much content: the page stays small and quick, and leads to all of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import needs_browser
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300)]

NODES = "document.querySelectorAll('*').length"
HEIGHT = "document.documentElement.scrollHeight"
PAGE = "r/resp_7e08"


def message(number: int, text: str = "") -> dict[str, Any]:
    """Return a message of a user."""
    content = [{"type": "input_text", "text": text or f"Message number {number}."}]
    return {"type": "message", "id": f"msg_{number}", "role": "user", "content": content}


def is_visible(text: str) -> str:
    """Return the expression that says whether a message is in the window."""
    return (
        "[...document.querySelectorAll('.stretch p')].some(p => "
        f"p.textContent === {text!r} && p.getBoundingClientRect().bottom > 0 && "
        "p.getBoundingClientRect().top < innerHeight)"
    )


async def test_a_response_with_501_items_opens_at_its_end_and_leads_to_its_start(
    console: Console,
) -> None:
    console.server.input = [message(at) for at in range(496)]
    await console.open(PAGE, shows="Message number 495.")
    page = console.page
    assert await page.evaluate(NODES) < 3_000
    assert await page.evaluate(HEIGHT) < 7_000
    await console.choose("Go to the end")
    await page.wait_for(
        "document.querySelector('.stretch > :last-child').getBoundingClientRect().top < innerHeight"
    )
    await console.choose("Show earlier items")
    await page.see("Message number 441.")
    await console.choose("Go to the start")
    await page.wait_for(is_visible("Message number 0."))
    await page.see("1 to 30 of 501 items")
    await console.choose("Show later items")
    await page.see("1 to 60 of 501 items")
    assert await page.evaluate(NODES) < 3_500
    for width in (1280, 390):
        await page.resize(width)
        assert await console.fits(), width
        assert await console.findings() == [], width
    console.check()


async def test_long_texts_and_base64_are_folded(console: Console) -> None:
    image = "iVBORw0KGgo" + "A" * 2_000_000
    console.server.input = [
        message(0, "word " * 400_000),
        message(1) | {"content": [{"type": "input_file", "file_data": image}]},
    ]
    await console.open(PAGE, shows="Show 100,000 of 1,992,000 more characters")
    page = console.page
    assert await page.evaluate(HEIGHT) < 6_000
    await console.choose("Show 100,000 of 1,992,000 more characters")
    await page.see("Show 100,000 of 1,892,000 more characters")
    assert await page.evaluate(HEIGHT) < 6_000
    await console.choose("Fold")
    await page.see("Show 100,000 of 1,992,000 more characters")
    console.check()


async def test_a_pane_of_json_folds_searches_and_takes_the_full_width(console: Console) -> None:
    await console.open(PAGE, shows="Upstream requests")
    page = console.page
    pane = "document.querySelector('.json-lines[aria-label=Request]')"
    await console.click("[aria-label='Full width: Request']")
    await page.wait_for(f"{pane}.clientWidth > innerWidth * 0.6")
    await console.click("[aria-label='Fold Request']")
    await page.wait_for(f"!{pane}.innerText.includes('tracker')")
    await console.click("[aria-label='Search Request']")
    await page.wait_for("document.activeElement?.type === 'search'")
    await page.type("Tracker.Example")
    await page.see("1 of 1")
    await page.wait_for(f"{pane}.querySelector('mark')?.textContent === 'tracker.example'")
    for width in (1280, 390):
        await page.resize(width)
        assert await console.fits(), width
        assert await console.findings() == [], width
    console.check()


async def test_a_response_of_30_mb_is_offered_as_a_download(
    console: Console, tmp_path: Path
) -> None:
    console.server.output = [message(0, "x" * 30_000_000) | {"role": "assistant"}]
    await console.save_to(tmp_path)
    await console.open(PAGE, shows="This is too large to show (30.0 MB).")
    assert await console.page.evaluate(NODES) < 3_000
    await console.choose("Download it")
    assert len(await console.saved(tmp_path / "resp_7e08-body.json")) > 30_000_000
    assert await console.findings() == []
    console.check()


async def test_a_conversation_of_505_items_opens_at_the_newest_and_leads_to_each_response(
    console: Console,
) -> None:
    console.server.input = [message(at) for at in range(500)]
    await console.open("conversations/conv_1", shows="Two issues block 2.4")
    page = console.page
    last = "document.querySelector('.stretch > :last-child').getBoundingClientRect()"
    await page.wait_for(f"{last}.bottom > 0 && {last}.bottom <= innerHeight")
    await page.see("Message number 499.")
    assert await page.evaluate("document.querySelectorAll('.transcript-item').length") == 30
    for first in (445, 415, 385):
        await console.choose("Show earlier items")
        await page.see(f"Message number {first}.")
    assert await page.evaluate("document.querySelectorAll('.transcript-item').length") == 90
    await console.choose("Show later items")
    await page.see("Two issues block 2.4")
    await console.choose("Go to the start")
    await page.wait_for(is_visible("Message number 0."))
    assert await page.evaluate(NODES) < 3_000
    for width in (1280, 390):
        await page.resize(width)
        assert await console.fits(), width
        assert await console.findings() == [], width
    await console.click("[aria-label='Open the response of item msg_0']")
    await page.wait_for("location.pathname.endsWith('/r/resp_7e08')")
    console.check()
