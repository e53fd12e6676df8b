"""The live list of responses: what is new, what is lost and read again, and what waits while it is
paused.
"""

import time
from typing import Any

import pytest

from antiphon.storage.operations import facts as stored_facts
from tests.store.facts import new_facts
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.console.rows import summary
from tests.support.waiting import eventually, until
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120)]

MAIN = "document.querySelector('main').innerText"
FIGURE = "document.querySelector('.figures dd').innerText"

COUNTING = """
globalThis.drawn = 0;
new MutationObserver(all => {
  for (const { addedNodes, removedNodes } of all) drawn += addedNodes.length + removedNodes.length;
}).observe(document.querySelector('main'), { childList: true, subtree: true });
"""
"""Counts the nodes that come and go in `drawn`."""


def new_row(name: str, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Return the event of a response that begins now."""
    changes = {"started_ms": int(time.time() * 1000), "input": f"Row {name}."} | changes
    return "row", summary(name, **changes)


async def test_nothing_is_new_on_a_page_just_loaded(real: RealConsole) -> None:
    now = int(time.time() * 1000) - 60_000
    earlier = [new_facts(tenant="acme", began=now, ended=now, model="m") for _ in range(300)]
    await real.server.parts.store.write(stored_facts.put_new, earlier)
    await real.sign_in()
    await real.page.see("50 responses shown")
    await real.page.see("Live")
    await real.create(input="The only new one")
    await real.page.see("The only new one")
    assert not await real.page.evaluate("document.querySelector('.waiting-rows')")
    real.check()


async def test_rows_that_the_stream_skipped_are_read(console: Console) -> None:
    await console.open("", shows="Live")
    console.server.rows.insert(
        0, summary("skipped", started_ms=int(time.time() * 1000), input="A skipped response")
    )
    await console.server.live.put(("skipped", {"count": 188}))
    await console.page.see("A skipped response")
    assert not await console.page.evaluate("document.querySelector('.waiting-rows')")
    console.check()


async def test_what_happens_between_the_list_and_its_stream_is_not_missed(
    console: Console,
) -> None:
    await console.block("/responses/stream*")
    await console.open("", shows="Draft the release notes")  # read without a stream
    await console.page.see("Reconnecting")
    console.server.rows.insert(
        0, summary("between", started_ms=int(time.time() * 1000), input="Between the two")
    )
    await console.block()
    await console.page.see("Between the two")
    console.check("net::ERR")


async def test_a_first_load_that_fails_once_is_repeated(console: Console) -> None:
    await console.block("/admin/v1/responses?*")
    await console.open("", shows="The server is unreachable.")
    await console.page.see("The page tries again automatically.")
    assert await console.findings() == []
    await console.block()
    await console.page.see("Draft the release notes")
    await console.page.wait_for("!document.querySelector('[role=alert]')")
    console.check("net::ERR")


async def test_a_failed_load_is_repeated_at_once_by_its_button(console: Console) -> None:
    console.server.is_down = True
    await console.open("", shows="The page tries again automatically.")
    console.server.is_down = False
    await console.choose("Try again")
    await console.page.see("Draft the release notes")
    console.check("net::ERR")


async def test_a_list_that_is_being_read_is_marked(console: Console) -> None:
    page = console.page
    console.server.answers.clear()
    await page.goto(console.url)
    await page.see("Loading…")
    assert "0 responses shown" not in await page.evaluate(MAIN)
    console.server.answers.set()
    await page.see("12 responses shown")
    await page.wait_for(f"{FIGURE} !== '—'")
    console.server.answers.clear()
    await console.write("[aria-label=Filter]", "lighthouse")
    await page.press("Enter")
    await page.see("Loading…")
    await page.wait_for(f"{FIGURE} === '—'")
    assert "Draft the release notes" not in await page.evaluate(MAIN)
    console.server.answers.set()
    await page.see("1 response shown")
    console.check()


async def test_a_server_that_is_down_is_reported_once(console: Console) -> None:
    page = console.page
    await console.open("", shows="Live")
    console.server.is_down = True
    await console.server.live.put(("end", None))
    await page.see("Reconnecting")
    assert "when you reload" not in await page.evaluate(MAIN)
    assert await page.evaluate("document.querySelectorAll('[role=alert]').length") == 0
    console.server.is_down = False
    await page.see("Live")
    console.check("net::ERR")


async def test_a_paused_list_keeps_a_bounded_number_of_new_rows(console: Console) -> None:
    page = console.page
    await console.open("", shows="Live")
    await console.click("[aria-label='Pause live updates']")
    await console.server.live.put(new_row("first"))
    await page.see("1 new")
    before = await heap(console)
    text = "A long text of a response. " * 40
    for number in range(4_000):
        await console.server.live.put(new_row(f"{number:05}", input=text, output=text))
    await page.see("1,000+ new")
    await until(console.server.live.empty)
    # The page has the rows that it received since its last batch for up to a second.
    await eventually(lambda: heap(console), lambda used: used - before < 2_000_000)
    assert await page.evaluate("document.querySelectorAll('tbody tr').length") == 12
    console.check()


async def test_a_paused_list_draws_no_row(console: Console) -> None:
    page = console.page
    await console.open("", shows="Live")
    await page.evaluate(COUNTING)
    for number in range(40):
        await console.server.live.put(new_row(f"live{number}"))
    await page.see("Row live39.")
    live = await page.evaluate("globalThis.drawn")
    await console.click("[aria-label='Pause live updates']")
    await page.see("Paused")
    await page.evaluate("globalThis.drawn = 0")
    for number in range(40):
        await console.server.live.put(new_row(f"paused{number}"))
    await page.see("40 new")
    assert await page.evaluate("globalThis.drawn") < 10 < 40 <= live
    console.check()


async def heap(console: Console) -> int:
    """Return the bytes of the page's heap, without garbage."""
    await console.page.send("HeapProfiler.collectGarbage")
    return int((await console.page.send("Runtime.getHeapUsage"))["usedSize"])
