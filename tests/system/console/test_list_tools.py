"""The list as a whole: its order, saved views, its export, and two of its rows side by side."""

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pytest

from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.records.facts import HAS_MESSAGE, STORED
from antiphon.storage.records.tenants import Role
from tests.store.facts import new_facts
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120), pytest.mark.rotating]

FIELD = "[aria-label=Filter]"
LINE = "(new URLSearchParams(location.search).get('q') ?? '')"
DURATIONS = (
    "[...document.querySelectorAll('td.column-duration')].map(each => each.innerText.trim())"
)
MENU = "[...document.querySelectorAll('[role=menuitem]')].map(each => each.innerText)"
ANNOUNCED = "document.querySelector('[aria-live]').innerText"
NAME = "dialog[open] .field input"


async def store(real: RealConsole, *durations: int, **fields: object) -> None:
    """Store responses that took these milliseconds, the first one earliest."""
    began = 1_795_842_240_000
    values = {"tenant": "acme", "flags": STORED} | fields
    rows = [
        new_facts(began=began + at, ended=began + at + took, **values)
        for at, took in enumerate(durations)
    ]
    await real.server.parts.store.write(stored_facts.put_new, rows)


async def test_the_list_is_sorted_by_the_menu(real: RealConsole) -> None:
    page = real.page
    await store(real, 2_000, 90_000, 400)
    await real.sign_in()
    await page.wait_for(f"{DURATIONS}.join() === '400 ms,1 min 30 s,2.00 s'")
    await real.click("[aria-label='Order: Newest first']")
    await real.choose("Slowest first")
    await page.wait_for(f"{DURATIONS}.join() === '1 min 30 s,2.00 s,400 ms'")
    assert await page.evaluate(LINE) == "sort:slowest"
    assert await real.findings() == []
    await page.evaluate("history.back()")
    await page.wait_for(f"{DURATIONS}.join() === '400 ms,1 min 30 s,2.00 s'")
    await page.see("Newest first")
    for order, word in (("dearest", "Highest cost first"), ("tokens", "Most tokens first")):
        await real.open(f"?q=sort:{order}", shows=word)
        await page.see("3 responses shown")
    await real.click("[aria-label='Order: Most tokens first']")
    await real.choose("Newest first")
    await page.wait_for(f"{LINE} === ''")
    real.check()


async def test_a_view_is_saved_opened_replaced_and_deleted(real: RealConsole) -> None:
    page = real.page
    await real.create(input="About lamps")
    await real.sign_in(Role.READ)
    await real.open("?q=status:completed lamps sort:slowest", shows="1 response shown")
    for _ in range(2):  # the second one replaces the first
        await real.click("[aria-label=Views]")
        await real.choose("Save this view…")
        await real.write(NAME, "Slow lamps")
        assert await real.findings() == []
        await page.press("Enter")
        await page.wait_for("!document.querySelector('dialog')")
    await real.open("", shows="Newest first")
    await real.click("[aria-label=Views]")
    await page.wait_for(f"{MENU}.join() === 'Slow lamps,Save this view…,Delete a view…'")
    assert await real.findings() == []
    await real.choose("Slow lamps")
    await page.wait_for(f"{LINE} === 'status:completed lamps sort:slowest'")
    await page.see("1 response shown")
    await real.click("[aria-label=Views]")
    await real.choose("Delete a view…")
    await page.see("status:completed lamps sort:slowest")
    assert await real.findings() == []
    await real.click("[aria-label='Delete Slow lamps']")
    await page.wait_for("!document.querySelector('dialog')")
    await real.click("[aria-label=Views]")
    await page.wait_for(f"{MENU}.join() === 'Save this view…'")
    real.check()


@pytest.mark.parametrize(
    ("page", "query", "other"),
    [("usage", "by=key&days=30", "by=backend"), ("conversations", "tenant=acme", "")],
)
async def test_other_pages_have_views_of_their_own(
    real: RealConsole, page: str, query: str, other: str
) -> None:
    await real.sign_in(Role.ADMIN)
    await real.open(f"{page}?{query}", shows="Views")
    await real.click("[aria-label=Views]")
    await real.choose("Save this view…")
    await real.write(NAME, "Weekly")
    await real.page.press("Enter")
    await real.page.wait_for("!document.querySelector('dialog')")
    await real.open(f"{page}?{other}", shows="Views")
    await real.click("[aria-label=Views]")
    await real.choose("Weekly")
    await real.page.wait_for(f"location.search === '?{query}'")
    await real.open("", shows="Views")
    await real.click("[aria-label=Views]")
    await real.page.wait_for(f"{MENU}.join() === 'Save this view…'")
    await real.page.resize(390)
    await real.open(f"{page}?{query}", shows="Views")
    assert await real.findings() == []
    assert await real.fits()
    real.check()


async def test_another_key_sees_no_view_of_this_one(real: RealConsole) -> None:
    await real.sign_in(Role.READ)
    await real.click("[aria-label=Views]")
    await real.choose("Save this view…")
    await real.write(NAME, "Mine alone")
    await real.page.press("Enter")
    await real.page.wait_for("!document.querySelector('dialog')")
    await real.choose("Sign out")
    await real.sign_in(Role.ADMIN)
    await real.click("[aria-label=Views]")
    await real.page.wait_for(f"{MENU}.join() === 'Save this view…'")
    real.check()


@pytest.mark.parametrize(
    ("path", "menu", "button", "field"),
    [
        ("", "[aria-label=Views]", "Save this view…", "Name"),
        ("", "[aria-label^='Time:']", "From … to …", "From"),
        ("keys", "", "Create a key", "Name"),
        ("webhooks", "", "Add an endpoint", "Name"),
    ],
)
async def test_the_first_field_of_a_dialog_takes_what_is_typed(
    console: Console, path: str, menu: str, button: str, field: str
) -> None:
    await console.open(path)
    if menu:
        await console.click(menu)
    await console.choose(button)
    focused = "document.activeElement.closest('dialog[open] label, dialog[open] .field')"
    await console.page.wait_for(f"{focused}?.innerText.trim().startsWith({field!r})")
    console.check()


async def test_a_row_of_another_day_shows_its_time_and_an_administrator_its_tenant(
    real: RealConsole,
) -> None:
    message = "Backend 'gpu-b' answered with status 503."
    flags = STORED | HAS_MESSAGE
    fields = {"status": "failed", "error": "server_error", "output": message, "flags": flags}
    await store(real, 400, **fields)
    await real.sign_in(Role.ADMIN)
    await real.page.see("1 response shown")
    text = await real.page.evaluate("document.querySelector('tbody tr').innerText")
    assert re.search(r"\b\d\d:\d\d:\d\d\s+\w+ \w+", text), text
    cut = (
        "[...document.querySelectorAll('.column-started div, .column-text .cut')].some(each => "
        "each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight)"
    )
    assert not await real.page.evaluate(cut)
    assert "status 503. · server_error" in text
    assert "acme" in text
    await real.page.see("Key and tenant")
    await real.page.resize(390)
    assert await real.findings() == []
    assert await real.fits()
    real.check()


async def test_a_view_that_cannot_be_saved_keeps_its_name(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await console.click("[aria-label=Views]")
    await console.choose("Save this view…")
    await console.write(NAME, "x" * 81)
    await page.see("at most 80 characters")
    assert await page.evaluate("document.querySelector('dialog [type=submit]').disabled")
    await console.write(NAME, "Night shift")
    console.server.is_down = True
    await page.press("Enter")
    await page.see("The server is unreachable.")
    assert await page.evaluate(f"document.querySelector({NAME!r}).value") == "Night shift"
    console.server.is_down = False
    await page.evaluate(f"document.querySelector({NAME!r}).focus()")
    await page.press("Enter")
    await page.wait_for("!document.querySelector('dialog')")
    assert [one["name"] for one in console.server.views.views] == ["Night shift"]
    console.check("net::ERR")


async def test_a_menu_that_cannot_load_states_why(console: Console) -> None:
    await console.open("", shows="Draft the release notes")
    await console.block("/admin/v1/views")
    await console.click("[aria-label=Views]")
    await console.page.see("The server is unreachable.")
    assert "Nothing to choose" not in await console.page.evaluate("document.body.innerText")
    console.check("net::ERR")


@pytest.mark.parametrize("hostile", ["<b onclick=alert(1)>", "\u202eesrever", "n" * 80])
async def test_a_hostile_name_of_a_view_is_text(console: Console, hostile: str) -> None:
    console.server.views.put(hostile, "q=%22%3Cimg%20src%3Dx%3E")
    await console.page.resize(390)
    await console.open("", shows="Draft the release notes")
    await console.click("[aria-label=Views]")
    await console.page.wait_for(f"{MENU}.length === 3")
    assert await console.fits()
    await console.choose("Delete a view…")
    await console.page.see("<img src=x>")
    assert await console.fits()
    assert await console.findings() == []
    console.check()


async def test_the_filtered_list_is_exported(real: RealConsole, tmp_path: Path) -> None:
    await real.create(input="=HYPERLINK(1) about lamps")
    await real.create("other", input="lamps of others")
    await real.create(input="Something else")
    await real.save_to(tmp_path)
    await real.sign_in(Role.READ)
    await real.open("?q=lamps", shows="1 response shown")
    files = []
    for word, ending in (("CSV", ".csv"), ("JSON Lines", ".jsonl")):
        await real.click("[aria-label=Export]")
        await real.choose(f"{word}, at most 100,000 responses")
        announced = await real.page.wait_for(
            f"{ANNOUNCED}.endsWith({ending + ' saved.'!r}) && {ANNOUNCED}"
        )
        files.append(await real.saved(tmp_path / announced.removesuffix(" saved.")))
    table, lines = files
    (row,) = csv.DictReader(StringIO(table.decode(), newline=""))
    assert row["input"] == "'=HYPERLINK(1) about lamps"
    (one,) = [json.loads(line) for line in lines.splitlines()]
    assert one["input"] == "=HYPERLINK(1) about lamps"
    real.check()


async def test_an_export_that_fails_can_be_repeated(real: RealConsole, tmp_path: Path) -> None:
    await real.create(input="About lamps")
    await real.save_to(tmp_path)
    await real.sign_in()
    await real.page.see("1 response shown")
    await real.block("/responses/export*")
    await real.click("[aria-label=Export]")
    await real.choose("CSV, at most 100,000 responses")
    await real.page.see("The server is unreachable.")
    assert await real.findings() == []
    await real.block()
    await real.choose("Try again")
    await real.page.wait_for(f"{ANNOUNCED}.endsWith('.csv saved.')")
    await real.page.wait_for("!document.querySelector('[role=alert]')")
    real.check("net::ERR")


async def test_two_rows_are_compared(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    boxes = "document.querySelectorAll('.row-pick input')"
    await page.evaluate(f"{boxes}[3].click()")
    await page.see("Choose another response to compare")
    await page.evaluate(f"{boxes}[5].click()")
    await page.see("Compare")
    assert await console.findings() == []
    newer, older = (console.server.rows[at] for at in (3, 5))
    assert newer["started_ms"] > older["started_ms"]
    await console.choose("Compare")
    await page.wait_for(f"location.search === '?a={older['id']}&b={newer['id']}'")
    started = "[...document.querySelectorAll('.compare-measures tr')].find(row => "
    started += "row.innerText.startsWith('Started')).innerText"
    await page.wait_for(f"/:\\d\\d:\\d\\d.*:\\d\\d:\\d\\d/s.test({started})")
    console.check()


async def test_figures_name_their_time_and_count_no_rows_of_a_longer_one(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    assert await page.evaluate("document.querySelector('.overview-time').innerText") == (
        "Last 90 minutes"
    )
    segments = "document.querySelector('[aria-label=Status]').innerText.replace(/\\s+/g, ' ')"
    assert (await page.evaluate(segments)).startswith("All Running")
    await console.click("[aria-label='Time: Any time']")
    await console.choose("Today")
    await page.wait_for(f"/^since:\\S+T00:00:00\\S+$/.test({LINE})")
    await page.wait_for(f"/^All ?\\d/.test({segments})")
    await page.see("Since ")
    assert await console.findings() == []
    await page.resize(390)
    assert await console.fits()
    console.check()


async def test_the_next_response_is_one_of_the_filtered_list(real: RealConsole) -> None:
    page = real.page
    for words in ("First lamp", "A chair", "Second lamp"):
        await real.create(input=words)
    await real.sign_in()
    await real.open("?q=lamp sort:slowest", shows="2 responses shown")
    await page.evaluate(
        "[...document.querySelectorAll('main a')].find("
        "each => each.innerText.includes('Second lamp')).click()"
    )
    await real.click("[aria-label='Older response']")
    await page.see("You said: First lamp")
    await real.click("[aria-label='Newer response']")
    await page.see("You said: Second lamp")
    real.check()
