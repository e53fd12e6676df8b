"""One field that finds anything: IDs lead to their pages, filters are completed while they are
typed, and an invalid form is an error.
"""

from typing import Any

import aiohttp
import pytest

from antiphon.ids import new_id
from antiphon.storage.records.tenants import Role
from tests.support.browser import needs_browser
from tests.support.console.containers import CONTAINER
from tests.support.console.real import RealConsole
from tests.support.console.visitor import Visitor
from tests.support.parts import called as called_by_model
from tests.support.replay import Answer, sse
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120), pytest.mark.rotating]

FIELD = "[aria-label=Filter]"
LINE = "(new URLSearchParams(location.search).get('q') ?? '')"
OPTIONS = "[...document.querySelectorAll('[role=option]')].map(each => each.innerText)"
ACTIVE = (
    f"document.getElementById(document.querySelector({FIELD!r}).ariaActiveDescendantElement?.id)"
)
ALERTS = "[...document.querySelectorAll('[role=alert]')].map(each => each.innerText)"


async def paste(visitor: Visitor, text: str) -> None:
    """Put a text in the field, and press Enter."""
    await visitor.write(FIELD, text)
    await visitor.page.press("Enter")


async def opened(visitor: Visitor, path: str) -> None:
    """Wait until the page of a path is open."""
    await visitor.page.wait_for(f"(location.pathname + location.search).endsWith('console/{path}')")


async def test_an_id_of_any_kind_opens_its_page(real: RealConsole) -> None:
    headers = await real.headers()

    async def post(path: str, **body: Any) -> tuple[dict[str, Any], str]:
        url = f"{real.server.url}/{path}"
        async with real.server.http.post(url, headers=headers, **body) as reply:
            assert reply.status == 200, await reply.text()
            return await reply.json(), reply.headers["x-request-id"]

    conversation, _ = await post("conversations", json={})
    body = {"model": "m", "input": "Where is it?", "conversation": conversation["id"]}
    created, request_id = await post("responses", json=body)
    calls = called_by_model(call_id="call_8fVz1aBcD")
    real.a.script = real.b.script = lambda _: Answer([sse(*calls)])
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
    called, _ = await post("responses", json={"model": "m", "input": "Look", "tools": tools})
    form = aiohttp.FormData({"purpose": "assistants"})
    form.add_field("file", b"Rome", filename="rome.txt")
    file, _ = await post("files", data=form)
    store, _ = await post("vector_stores", json={"name": "Cities"})
    message = created["output"][0]["id"]
    await real.sign_in(Role.READ)
    for pasted, path, shows in (
        (created["id"], f"r/{created['id']}", "Where is it?"),
        (request_id, f"r/{created['id']}", "Where is it?"),
        (f'"request_id":"{request_id}",', f"r/{created['id']}", "Where is it?"),
        (message, f"r/{created['id']}", "Where is it?"),
        (called["output"][0]["call_id"], f"r/{called['id']}", "Look"),
        (conversation["id"], f"conversations/{conversation['id']}", "Where is it?"),
        (store["id"], f"files/{store['id']}", "Cities"),
        (file["id"], f"files?id={file['id']}", "rome.txt"),
    ):
        await real.open("", shows="2 responses shown")
        await paste(real, pasted)
        await opened(real, path)
        await real.page.see(shows)
    await real.choose("All files")
    await opened(real, "files")
    real.check()


async def test_an_administrator_opens_objects_of_other_tenants(real: RealConsole) -> None:
    headers = await real.headers("other")
    form = aiohttp.FormData({"purpose": "assistants"})
    form.add_field("file", b"Rome", filename="of-others.txt")
    async with real.server.http.post(
        f"{real.server.url}/files", headers=headers, data=form
    ) as reply:
        file = (await reply.json())["id"]
    await real.sign_in()
    await paste(real, file)
    await opened(real, f"files?id={file}&tenant=other")
    await real.page.see("of-others.txt")
    assert "Download" not in await real.page.evaluate("document.querySelector('main').innerText")
    real.check()


async def test_an_id_of_another_tenant_shows_nothing_of_it(real: RealConsole) -> None:
    other = await real.create("other", input="A secret of others")
    await real.sign_in(Role.READ)
    await paste(real, other["id"])
    await real.page.see("Nothing with this ID was found")
    assert "secret" not in await real.page.evaluate("document.body.innerText")
    real.check()


async def test_an_unknown_id_leads_to_its_time(real: RealConsole) -> None:
    await real.create(input="What happened then")
    await real.sign_in()
    await real.page.see("1 response shown")
    unknown = new_id("req")
    await paste(real, unknown)
    await real.page.see("Nothing with this ID was found")
    assert await real.page.evaluate(LINE) == unknown
    assert await real.findings() == []
    await real.click(".empty .btn")
    await real.page.see("What happened then")
    assert await real.page.wait_for(f"/since:.* until:/.test({LINE})")
    real.check()


async def test_a_container_is_opened_by_its_id(console: Console) -> None:
    console.server.finding.put(CONTAINER, "container", CONTAINER)
    await console.open("", shows="Draft the release notes")
    await paste(console, CONTAINER)
    await console.page.wait_for(f"location.pathname.endsWith('containers/{CONTAINER}')")
    console.check()


async def test_an_incomplete_search_for_a_call_is_reported(
    console: Console,
) -> None:
    console.server.finding.searched_since_ms = 1_795_842_240_000
    await console.open("", shows="Draft the release notes")
    await paste(console, "call_8fVz1aBcD")
    await console.page.see("were searched for a call")
    console.check()


async def test_filters_are_completed_with_the_keyboard_alone(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.evaluate("document.activeElement.blur()")
    await page.press("/")
    await page.type("lighthouse -st")
    await page.wait_for(f"{OPTIONS}.join() === '-status:'")
    assert await page.evaluate(f"document.querySelector({FIELD!r}).ariaExpanded") == "true"
    assert await console.findings() == []
    await page.press("ArrowDown")
    await page.press("Enter")  # a name: now its values
    await page.wait_for(f"{OPTIONS}.length === 4")
    assert (await page.evaluate(OPTIONS))[0].split() == ["-status:failed", "33"]
    for key in ("ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"):
        await page.press(key)
    assert (await page.evaluate(f"{ACTIVE}.innerText")).split() == ["-status:failed", "33"]
    await page.press("Enter")  # a value: filters
    await page.wait_for(f"{LINE} === 'lighthouse -status:failed'")
    assert await page.evaluate(f"document.activeElement.matches({FIELD!r})")
    assert await page.evaluate(OPTIONS) == []
    console.check()


async def test_escape_closes_the_suggestions_and_keeps_what_is_typed(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await console.write(FIELD, "mod")
    await page.wait_for(f"{OPTIONS}.join() === 'model:'")
    await page.press("Escape")
    await page.wait_for(f"{OPTIONS}.length === 0")
    assert await page.evaluate("document.activeElement.value") == "mod"
    await page.press("ArrowDown")  # asks again
    await page.wait_for(f"{OPTIONS}.join() === 'model:'")
    await page.press("Enter")  # nothing is chosen: what is typed counts
    await page.wait_for(f"{LINE} === 'mod'")
    console.check()


async def test_a_suggestion_and_a_value_of_a_row_filter_by_a_click(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await console.write(FIELD, "model:qwen3-c")
    await page.wait_for(f"{OPTIONS}.length === 1")
    await console.click("[role=option]")
    await page.wait_for(f"{LINE} === 'model:qwen3-coder'")
    await page.evaluate("history.back()")
    await page.wait_for(f"{LINE} === ''")
    key = await page.wait_for("document.querySelector('.column-key .row-value')?.innerText")
    await console.click(".column-key .row-value")
    await page.wait_for(f"{LINE} === 'key:{key}'")
    assert "/r/" not in await page.evaluate("location.pathname")
    await console.click("[aria-label^='Remove the filter key']")
    await page.wait_for(f"{LINE} === ''")
    console.check()


async def test_without_suggestions_the_field_works(console: Console) -> None:
    await console.block("/admin/v1/suggestions*")
    await console.open("", shows="Draft the release notes")
    await paste(console, "status:failed")
    await console.page.wait_for(f"{LINE} === 'status:failed'")
    console.check("net::ERR")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("status:", "status"),
        ("-status:nonsense", "completed"),
        ("colour:red", "model"),
        ("took:fast", "took"),
        ("a OR", "OR"),
        ("x" * 10_000, "4,096"),
    ],
)
async def test_an_invalid_form_is_an_error_with_the_valid_forms(
    real: RealConsole, line: str, named: str
) -> None:
    page = real.page
    await real.create(input="Hello")
    await real.sign_in()
    await page.see("1 response shown")
    await paste(real, line)
    await page.wait_for(f"{ALERTS}.length === 1")
    (alert,) = await page.evaluate(ALERTS)
    assert named in alert
    await page.wait_for(f"document.querySelector({FIELD!r}).ariaInvalid === 'true'")
    assert await page.evaluate(f"document.querySelector({FIELD!r}).value") == line
    assert await real.findings() == []
    await paste(real, "Hello")
    await page.see("1 response shown")
    real.check("400")


async def test_a_hostile_value_is_suggested_as_text(console: Console, monkeypatch: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    monkeypatch.setattr(
        "tests.support.console.finding.VALUES", {"model": ((hostile, 1), ("\u202emodel", 2))}
    )
    await console.open("", shows="Draft the release notes")
    await console.write(FIELD, "model:")
    await console.page.wait_for(f"{OPTIONS}.length === 2")
    assert not await console.page.evaluate("document.querySelector('[role=option] img')")
    assert await console.fits()
    console.check()
