"""Several tabs that show one list read one live stream together."""

import time
from typing import Any

import pytest

from tests.support.browser import needs_browser
from tests.support.console.rows import summary
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300)]


async def add(console: Console, name: str) -> None:
    """Report a new response to each stream that is open, or was."""
    row: dict[str, Any] = summary(name, started_ms=int(time.time() * 1000), input=f"Row {name}.")
    for _ in range(console.server.streams):
        await console.server.live.put(("row", row))


async def test_tabs_share_a_stream_and_another_takes_over(console: Console) -> None:
    page = console.page
    await console.open("", shows="Live")
    opened = f"globalThis.other = open({console.url!r}); true"
    await page.send("Runtime.evaluate", expression=opened, userGesture=True)
    await page.wait_for("other.document.querySelector('.live')?.innerText === 'Live'")
    assert console.server.streams == 1
    await add(console, "one")
    await page.see("Row one.")
    await page.wait_for("other.document.body.innerText.includes('Row one.')")

    await page.press("g")
    await page.press("k")
    await page.see("help-desk")
    while console.server.streams < 2:
        await page.evaluate("new Promise(done => setTimeout(done, 20))")
    await add(console, "two")
    await page.wait_for("other.document.body.innerText.includes('Row two.')")
    await page.evaluate("other.close()")
    console.check()


async def test_lists_with_other_filters_have_streams_of_their_own(console: Console) -> None:
    await console.open("", shows="Live")
    opened = f"globalThis.other = open({console.url + '?q=lighthouse'!r}); true"
    await console.page.send("Runtime.evaluate", expression=opened, userGesture=True)
    await console.page.wait_for("other.document.querySelector('.live')?.innerText === 'Live'")
    assert console.server.streams == 2
    await console.page.evaluate("other.close()")
