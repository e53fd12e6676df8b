"""A list of 1,000 responses: rows far from the window are not rendered, and the keyboard reaches
all of them.
"""

import time

import pytest

from tests.support.browser import needs_browser
from tests.support.console.rows import summary
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300)]

ROWS = "document.querySelectorAll('tbody tr:not(.gap)').length"


@pytest.fixture
def long(console: Console) -> Console:
    now = int(time.time() * 1000)
    console.server.rows = [
        summary(f"{at:04}", started_ms=now - at * 1000, input=f"Row {at}.") for at in range(1000)
    ]
    return console


@pytest.mark.parametrize("width", [390, 1440])
async def test_rows_far_from_the_window_are_not_rendered(long: Console, width: int) -> None:
    page = long.page
    await page.resize(width)
    await long.open("", shows="Row 0.")
    assert await page.evaluate(ROWS) <= 150
    height = await page.evaluate("document.body.scrollHeight")
    assert height > 1000 * 50
    await page.evaluate("scrollTo(0, document.body.scrollHeight)")
    await page.see("Row 999.")
    await page.wait_for(f"{ROWS} <= 200 && !document.body.innerText.includes('Row 0.')")
    await page.evaluate("scrollTo(0, 0)")
    await page.see("Row 0.")
    long.check()


async def test_the_keyboard_goes_through_all_rows(long: Console) -> None:
    page = long.page
    await long.open("", shows="Row 0.")
    for _ in range(130):
        await page.press("j")
    await page.wait_for("document.querySelector('tr.here')?.ariaRowIndex === '131'")
    here = "document.querySelector('tr.here').getBoundingClientRect()"
    await page.wait_for(f"{here}.top >= 0 && {here}.bottom <= innerHeight")
    assert await page.evaluate("document.querySelector('table').ariaRowCount") == "1001"
    assert await long.findings() == []
    long.check()
