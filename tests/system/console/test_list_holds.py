"""What the page of responses keeps: on a phone, when a session ends, and after many live rows."""

import time

import pytest

from tests.support.browser import needs_browser
from tests.support.console.rows import summary
from tests.support.console.server import KEY
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120)]

FIELD = "[aria-label=Filter]"
MOST_ROWS = 1_000
NODES = "document.querySelectorAll('.list *').length"


async def test_a_card_on_a_phone_has_time_key_and_tokens(console: Console) -> None:
    await console.page.resize(390)
    await console.open("", shows="Draft the release notes")
    for name in ("started", "key", "tokens", "model", "duration"):
        assert await console.page.evaluate(
            f"document.querySelector('td.column-{name}').getBoundingClientRect().height > 10"
        ), name
    for label in ("Time: Any time", "Order: Newest first", "Views", "Export"):
        assert await console.page.evaluate(
            f"document.querySelector({f'[aria-label={label!r}]'!r}).checkVisibility()"
        ), label
    assert await console.fits()
    assert await console.findings() == []
    console.check()


async def test_an_ended_session_keeps_what_was_typed(console: Console) -> None:
    page = console.page
    await console.open("?q=lighthouse", shows="1 response shown")
    await console.write(FIELD, "lighthouse status:incomplete")
    console.server.is_signed_in = False
    await page.press("Enter")
    await page.see("Your session has ended.")
    await console.present(KEY)
    await page.wait_for(f"document.querySelector({FIELD!r})?.value.includes('status:incomplete')")
    assert "q=lighthouse" in await page.evaluate("location.search")
    console.check("401")


async def test_signing_out_forgets_what_was_typed(console: Console) -> None:
    page = console.page
    await console.open("?q=lighthouse", shows="1 response shown")
    await console.write(FIELD, "lighthouse status:incomplete")
    await console.choose("Sign out")
    await console.present(KEY)
    await page.see("1 response shown")
    assert await page.evaluate(f"document.querySelector({FIELD!r}).value") == "lighthouse"


async def test_a_live_list_keeps_a_bounded_number_of_rows(console: Console) -> None:
    page = console.page
    await console.open("", shows="Live")
    for number in range(2 * MOST_ROWS):
        row = summary(f"{number:05}", started_ms=int(time.time() * 1000) + number)
        await console.server.live.put(("row", row | {"input": f"Row {number}."}))
        if number == MOST_ROWS:
            await page.see(f"Row {number}.")
            before = await page.evaluate(NODES)
    await page.see(f"Row {2 * MOST_ROWS - 1}.")
    await page.see("1,000 responses shown")
    assert await page.evaluate(NODES) < 1.2 * before
    console.check()
