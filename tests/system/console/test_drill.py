"""The questions of an operator: what a response waits for, which calls of a backend failed, what
happened since a time, and the way back to the list.
"""

import asyncio

import pytest

from antiphon.storage.operations import facts_page
from antiphon.storage.records.facts import FactsQuery
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.replay import STREAM, Answer, completion, text
from tests.support.waiting import eventually
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120)]

CRUMB = "document.querySelector('h1.crumb a').getAttribute('href')"
TO = "document.querySelectorAll('dialog input')[1]"
LINE = "(new URLSearchParams(location.search).get('q') ?? '')"


async def test_a_hanging_background_response_states_what_it_waits_for(real: RealConsole) -> None:
    go = asyncio.Event()
    real.a.script = real.b.script = lambda _: Answer([], wait=go, rest=[completion("Done")])
    await real.sign_in()
    created = await real.create(input="Hang", background=True)
    await real.open(f"r/{created['id']}", shows="which has not sent anything yet")
    await real.page.see("It waits for backend 'a'")
    await real.page.see("Call 1")
    await real.page.see("on a")
    await real.page.see("not reported")
    assert await real.findings() == []
    go.set()
    await real.page.wait_for("!document.body.innerText.includes('It waits for')")
    real.check()


async def test_a_failed_call_before_a_failover_is_counted_at_its_backend(
    real: RealConsole,
) -> None:
    real.a.script = lambda _: Answer([b"{}"], STREAM, 500)
    real.b.script = lambda _: Answer([text("Hello")])
    await real.sign_in()
    created = await real.create(stream=False)
    assert created["status"] == "completed"
    await real.open(f"r/{created['id']}", shows="Backend 'b' was called instead")
    notes = "document.querySelectorAll('.notes p').length"
    assert await real.page.evaluate(notes) == 1
    await real.open("backends", shows="Calls since the start")
    card = "document.querySelector(\"[aria-label='Backend a']\").innerText"
    found = await real.page.wait_for(
        f"{card}.includes('1 failed') && {card}.includes('ended here') && {card}"
    )
    assert "ended here: 0" in found  # the response is one of the other backend
    assert "another backend" in found
    real.check()


async def test_a_time_without_an_end_lasts_until_now(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await console.click("[aria-label^='Time:']")
    await console.choose("From … to …")
    await page.see("To (empty: now)")
    assert await page.evaluate(f"{TO}.value") == ""
    await console.choose("Show")
    await page.wait_for(f"({LINE}).startsWith('since:') && !({LINE}).includes('until:')")
    await page.see("Since ")

    await console.open("usage", shows="Last 7 days")
    await console.choose("Last 7 days")
    await console.choose("From … to …")
    await page.see("To (empty: now)")
    await console.choose("Show")
    await page.wait_for("/since=/.test(location.search) && !/until=/.test(location.search)")
    console.check()


async def test_the_way_back_to_the_list_has_its_filters(console: Console) -> None:
    await console.open("?q=status%3Afailed")
    await console.click(".column-text a.first-line")
    await console.page.wait_for(
        "location.pathname.includes('/r/') && document.querySelector('.crumb') !== null"
    )
    assert (await console.page.evaluate(CRUMB)).endswith("/console/?q=status%3Afailed")
    await console.click("h1.crumb a")
    await console.page.wait_for(f"{LINE} === 'status:failed'")

    await console.open("r/resp_7e08")
    assert (await console.page.evaluate(CRUMB)).endswith("/console/")
    console.check()


@pytest.mark.parametrize("address", ["from={}", "after={}", "from={}&run=1"])
async def test_the_playground_states_that_a_response_was_not_stored(
    real: RealConsole, address: str
) -> None:
    await real.sign_in()
    created = await real.create(store=False)

    store = real.server.parts.store
    await eventually(
        lambda: store.read(facts_page.page, "acme", FactsQuery(9)), lambda one: bool(one.facts)
    )
    await real.open(f"play?{address.format(created['id'])}", shows="Nothing was filled in")
    displayed = await real.page.evaluate("document.querySelector('main').innerText")
    assert "fork of" not in displayed
    assert "Try again" not in displayed
    assert "Fill in again" not in displayed
    real.check("404")


@pytest.mark.parametrize("path", ["usage?by=backend&measure=speed", "keys", "containers"])
async def test_a_table_fits_into_a_window_of_1280_pixels(console: Console, path: str) -> None:
    await console.page.resize(1280)
    await console.open(path)
    await console.page.wait_for("document.querySelector('.scroll-x tbody tr') !== null")
    assert await console.page.evaluate(
        "[...document.querySelectorAll('.scroll-x')].every(each => "
        "each.scrollWidth <= each.clientWidth)"
    )
