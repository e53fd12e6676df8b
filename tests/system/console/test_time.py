"""One model of time on the page of responses: what is typed, shown, chosen, linked and gone back to
means the same time, in every zone.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.records.facts import STORED
from tests.store.facts import new_facts
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120)]

ROWS = "document.querySelectorAll('.list tbody tr').length"
RESPONSES = "document.querySelector('.figures dd').firstChild?.data"
HISTOGRAM = "document.querySelector('[role=slider]')"
LINE = "(new URLSearchParams(location.search).get('q') ?? '')"
CLOCK_OFF = """
(() => {
  const Real = Date;
  const off = 3 * 3600 * 1000;
  globalThis.Date = class extends Real {
    constructor(...parts) { if (parts.length) super(...parts); else super(Real.now() + off); }
    static now() { return Real.now() + off; }
  };
})()
"""


async def in_berlin(page: Any) -> None:
    """Give the browser a time zone that is never UTC."""
    await page.send("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")


async def store(real: RealConsole, began: datetime, number: int) -> None:
    """Store responses that began and ended at a time."""
    at = int(began.timestamp() * 1000)
    rows = [new_facts(tenant="acme", began=at, ended=at + 500, model="m") for _ in range(number)]
    await real.server.parts.store.write(stored_facts.put_new, rows)


async def test_list_figures_and_histogram_agree_in_another_zone(real: RealConsole) -> None:
    page = real.page
    await in_berlin(page)
    began = datetime.now(UTC).replace(microsecond=0, second=30) - timedelta(hours=2)
    await store(real, began, 3)
    await store(real, began - timedelta(hours=1), 4)  # an hour earlier: where a wrong zone looks
    await real.sign_in()
    await page.see("7 responses shown")
    started = await page.wait_for("document.querySelector('.column-started .two-lines')?.innerText")
    hour_and_minute = ":".join(started.split(", ")[-1].split(":")[:2])
    date = started.rpartition(", ")[0]
    typed = f'since:"{date}, {hour_and_minute}"' if date else f"since:{hour_and_minute}"
    await real.write("[aria-label=Filter]", typed)
    await page.press("Enter")
    await page.see("3 responses shown")
    await page.wait_for(f"{RESPONSES} === '3'")
    assert "+0" in await page.evaluate(LINE)  # +01:00 or +02:00
    label = await page.evaluate(f"{HISTOGRAM}.ariaLabel")
    assert f"from {hour_and_minute}" in label or f", {hour_and_minute} to" in label
    assert (await page.evaluate(f"{HISTOGRAM}.ariaValueText")).startswith("3 responses")

    await real.choose("Times\nlocal")
    utc = f"{began:%H:%M}"
    await page.wait_for(
        f"document.querySelector('.column-started .two-lines').innerText.includes({utc!r})"
    )
    await page.see("3 responses shown")
    assert f"{utc}" in await page.evaluate(f"{HISTOGRAM}.ariaLabel")
    assert await page.evaluate("localStorage['antiphon.zone']") == "UTC"
    real.check()


async def test_an_address_without_an_offset_means_utc_everywhere(real: RealConsole) -> None:
    page = real.page
    await in_berlin(page)
    began = datetime.now(UTC).replace(microsecond=0, second=30) - timedelta(hours=3)
    await store(real, began, 5)
    minute = began.replace(second=0)
    line = f"since:{minute:%Y-%m-%dT%H:%M} until:{minute + timedelta(minutes=1):%Y-%m-%dT%H:%M}"
    await real.sign_in()
    await real.open(f"?q={line}", shows="5 responses shown")
    await page.wait_for(f"{RESPONSES} === '5'")
    await page.evaluate(f"{HISTOGRAM}.focus()")
    await page.press("Home")
    assert "5 completed" in await page.evaluate(f"{HISTOGRAM}.ariaValueText")
    real.check()


async def test_a_shared_link_shows_the_same_data_later(real: RealConsole) -> None:
    page = real.page
    await store(real, datetime.now(UTC) - timedelta(minutes=3), 2)
    await real.sign_in()
    await page.evaluate("navigator.clipboard.writeText = text => (globalThis.copied = text, null)")
    await real.click("[aria-label^='Time:']")
    await real.choose("Last 15 minutes")
    await page.wait_for(f"{LINE} === 'since:15m'")
    await page.see("2 responses shown")
    await real.click("[aria-label^='Time: Last 15']")
    await real.choose("Copy a link to this time")
    link = await page.wait_for("globalThis.copied")
    (line,) = parse_qs(urlsplit(link).query)["q"]
    assert "15m" not in line and "since:20" in line and "until:20" in line
    await store(real, datetime.now(UTC) + timedelta(seconds=1), 1)  # since then
    await page.goto("about:blank")
    await page.goto(link)
    await page.see("2 responses shown")
    await page.wait_for(f"{RESPONSES} === '2'")
    real.check()


async def test_an_exact_time_is_chosen_in_the_displayed_zone(console: Console) -> None:
    page = console.page
    await in_berlin(page)
    await console.open("", shows="Draft the release notes")
    await console.click("[aria-label^='Time:']")
    await console.choose("From … to …")
    await page.see("Times of Europe/Berlin")
    assert await console.findings() == []
    for index, value in enumerate(("2026-07-01T09:00", "2026-07-01T08:00")):
        await page.evaluate(
            f"(field => (field.value = {value!r}, field.dispatchEvent(new Event('input'))))"
            f"(document.querySelectorAll('dialog input')[{index}])"
        )
    await page.see("must be before")
    await page.evaluate(
        "(field => (field.value = '2026-07-01T10:30', field.dispatchEvent(new Event('input'))))"
        "(document.querySelectorAll('dialog input')[1])"
    )
    await console.choose("Show")
    await page.wait_for(
        f"{LINE} === 'since:2026-07-01T09:00:00+02:00 until:2026-07-01T10:30:00+02:00'"
    )
    console.check()


async def test_back_undoes_a_brush_and_a_filter(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await console.choose("Failed")
    await page.wait_for(f"{LINE} === 'status:failed'")
    x, y, width = await page.wait_for(
        f"(box => [box.x, box.y + 30, box.width])({HISTOGRAM}.getBoundingClientRect())"
    )
    for kind, share in (("mousePressed", 0.25), ("mouseMoved", 0.4), ("mouseReleased", 0.5)):
        await page.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x + share * width,
            y=y,
            button="left",
            clickCount=1,
        )
    await page.wait_for(f"/since:.* until:/.test({LINE})")
    await page.evaluate("history.back()")
    await page.wait_for(f"{LINE} === 'status:failed'")
    await page.evaluate("history.back()")
    await page.wait_for(f"{LINE} === ''")
    await page.see("Draft the release notes")
    assert await page.evaluate("document.querySelector('[aria-label=Filter]').value") == ""
    console.check()


async def test_the_histogram_has_its_values_in_words_and_is_used_by_keyboard(
    console: Console,
) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.wait_for(f"{HISTOGRAM} !== null")
    x, y, width = await page.evaluate(
        f"(box => [box.x, box.y + 30, box.width])({HISTOGRAM}.getBoundingClientRect())"
    )
    await page.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + width / 2, y=y)
    await page.wait_for(r"/\d\d:\d\d . \d\d:\d\d · \d+ completed/.test(document.body.innerText)")
    await page.evaluate(f"{HISTOGRAM}.focus()")
    for key in ("End", "ArrowLeft"):
        await page.press(key)
    await page.press("ArrowLeft", shift=True)
    words = await page.evaluate(f"{HISTOGRAM}.ariaValueText")
    assert "completed" in words
    assert await console.findings() == []
    await page.press("Enter")
    await page.wait_for(f"/since:.* until:/.test({LINE})")
    console.check()


async def test_a_clock_of_the_reader_that_is_off_is_harmless(real: RealConsole) -> None:
    page = real.page
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=CLOCK_OFF)
    await store(real, datetime.now(UTC) - timedelta(minutes=2), 6)
    await real.sign_in()
    await page.see("6 responses shown")
    assert await page.evaluate("new Date().getTime() - performance.timeOrigin > 3.5e6")
    await page.wait_for(f"{RESPONSES} === '6'")
    real.check()


async def test_the_age_of_a_running_response_is_that_of_the_server_and_its_chain_has_minutes(
    real: RealConsole,
) -> None:
    page = real.page
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=CLOCK_OFF)
    began = int((datetime.now(UTC) - timedelta(minutes=2, seconds=5)).timestamp() * 1000)
    earlier = began - 40 * 86_400_000
    before = new_facts(tenant="acme", began=earlier, ended=earlier + 500, model="m")
    running = new_facts(
        *("resp_running", "acme"),
        status="in_progress",
        began=began,
        model="m",
        flags=STORED,
        previous_response_id=before.id,
    )
    await real.server.parts.store.write(stored_facts.put_new, [before, running])
    await real.sign_in()
    await real.open("r/resp_running", shows="This response is in progress")
    facts = await page.evaluate("document.querySelector('.facts').innerText")
    times = await page.evaluate(
        "[...document.querySelectorAll('.chain small')].map(each => each.innerText)"
    )

    assert "2 min" in facts, facts
    assert [time.count(":") for time in times] == [1, 2], times  # 22 Oct, 14:05 and 14:05:33
    real.check()
