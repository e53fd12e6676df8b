"""A session that ends, and a store or server that stops, on every page: nothing is lost."""

import pytest

from tests.support.browser import needs_browser
from tests.support.console.server import KEY, OTHER_KEY
from tests.system.console.conftest import Console
from tests.system.console.test_pages import PAGES

pytestmark = [needs_browser, pytest.mark.timeout(120)]

ENDED = "Your session has ended."
STOPPED = "The store is unavailable: connection refused."
UNREACHABLE = "The server is unreachable."


async def show(console: Console, path: str) -> None:
    """Open a page as a link inside the console does."""
    await console.page.evaluate(
        f"history.pushState({{inside: true}}, '', {console.url + path!r}); "
        "dispatchEvent(new PopStateEvent('popstate'))"
    )


async def try_again(console: Console) -> None:
    """Click the button of each part of a page that failed."""
    await console.page.wait_for(
        "(found => (found.forEach(each => each.click()), found.length))"
        "([...document.querySelectorAll('button')].filter(each => each.innerText === 'Try again'))"
    )


async def write_name_of_key(console: Console) -> None:
    """Fill in the form of a new key, and have the session end when it is sent."""
    await console.open("keys", shows="2,000,000 tokens/day")
    await console.choose("Create a key")
    await console.write("dialog[open] input", "nightly build")
    console.server.is_signed_in = False
    await console.click("dialog .btn.first")


@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_of_a_session_that_ended_is_displayed_after_the_sign_in(
    console: Console, path: str
) -> None:
    start = "keys" if path == "" else ""
    await console.open(start, shows=PAGES[start])
    console.server.is_signed_in = False
    await show(console, path)
    await console.present(KEY, shows=ENDED)
    await console.page.see(PAGES[path])
    assert await console.page.evaluate("document.querySelector('[type=password]')") is None
    assert await console.page.evaluate("location.href") == console.url + path
    console.check("401")


@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_reports_a_stopped_store_and_recovers(console: Console, path: str) -> None:
    console.server.trouble = 503, "store_unavailable", STOPPED
    await console.page.goto(console.url + path)
    await console.page.see(STOPPED)
    assert await console.findings() == []
    console.server.trouble = None
    await try_again(console)
    await console.page.see(PAGES[path])
    await console.page.wait_for(f"!document.body.innerText.includes({STOPPED!r})")
    console.check("503")


@pytest.mark.rotating
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_reports_a_first_load_that_fails_and_recovers(
    console: Console, path: str
) -> None:
    console.server.is_down = True
    await console.page.goto(console.url + path)
    await console.page.see(UNREACHABLE)
    assert await console.findings() == []
    console.server.is_down = False
    await try_again(console)
    await console.page.see(PAGES[path])
    await console.page.wait_for(f"!document.body.innerText.includes({UNREACHABLE!r})")
    console.check("ERR_EMPTY_RESPONSE", "ERR_CONNECTION")


async def test_what_a_reader_wrote_is_there_after_the_sign_in(console: Console) -> None:
    page = console.page
    await write_name_of_key(console)
    await page.see(ENDED)
    assert "nightly build" not in await page.evaluate("document.body.innerText")
    assert await console.findings() == []
    await page.wait_for("document.activeElement.type === 'password'")
    await console.present(KEY)
    await page.wait_for("document.querySelector('dialog input')?.checkVisibility()")
    assert await page.evaluate("document.querySelector('dialog input').value") == "nightly build"
    await console.click("dialog .btn.first")
    await page.see("shown")
    assert console.server.bodies[-1]["name"] == "nightly build"
    console.check("401")


async def test_another_reader_sees_nothing_of_the_page_before(console: Console) -> None:
    await write_name_of_key(console)
    await console.present(OTHER_KEY, shows=ENDED)
    await console.page.see("2,000,000 tokens/day")
    assert await console.page.evaluate("document.querySelector('dialog')") is None
    console.check("401")
