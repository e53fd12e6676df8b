"""What a reader does in the console of the real server, whose backends follow a script."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from antiphon.access.sessions import ConsoleSessions
from antiphon.console import changes
from antiphon.ids import now
from antiphon.server.admin import responses
from antiphon.storage.records.tenants import Role
from tests.support.browser import a_page, needs_browser
from tests.support.command import antiphon, serving
from tests.support.console.bundle import perform
from tests.support.console.real import BODY, RealConsole
from tests.support.console.visitor import Visitor
from tests.support.pair import error
from tests.support.receiver import receiving
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.tools import MCP

pytestmark = [needs_browser, pytest.mark.timeout(120)]

ROWS = "document.querySelectorAll('tbody tr').length"
RUNNING = "tbody [aria-label='in progress']"


class Slow:
    """A script: half of an answer, and the rest once `go` is set."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    def __call__(self, request: dict[str, Any]) -> Answer:
        rest = text("keeper", " sleeps.")
        return Answer([sse(delta(content="The "), done=False)], wait=self.go, rest=[rest])


async def test_a_response_appears_while_it_streams_fails_over_and_ends(real: RealConsole) -> None:
    await real.sign_in()
    await real.page.see("No responses yet")
    slow = Slow()
    real.a.script = error(503)
    real.b.script = slow
    creating = asyncio.create_task(stream(real, input="A lighthouse"))
    await real.page.see("A lighthouse")
    await real.page.wait_for(f"document.querySelector({RUNNING!r}) !== null")
    slow.go.set()
    await creating
    await real.page.see("The keeper sleeps.")
    await real.page.wait_for(f"!document.querySelector({RUNNING!r})")
    await real.page.press("j")
    await real.page.press("Enter")
    await real.page.see("Backend 'b' was called instead.")
    await real.page.see("Call 1, again")
    real.check()


async def test_a_running_response_is_open_until_it_ends(real: RealConsole) -> None:
    await real.sign_in()
    slow = Slow()
    real.a.script = slow
    creating = asyncio.create_task(stream(real, input="A lighthouse"))
    await real.page.see("A lighthouse")
    await real.choose("A lighthouse")
    await real.page.see("Timeline")
    await real.page.see("This response is in progress")
    slow.go.set()
    await creating
    await real.page.see("The keeper sleeps.")
    await real.page.see("Upstream requests")
    real.check()


async def test_a_response_is_displayed_as_sent_and_answered(real: RealConsole) -> None:
    first = await real.create(input="First")
    created = await real.create(
        input="What is a lamp?",
        instructions="Be brief.",
        previous_response_id=first["id"],
        metadata={"team": "docs"},
        tools=[
            {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
        ],
    )
    await real.sign_in(path=f"r/{created['id']}")
    for displayed in (
        "You said: What is a lamp?",
        "1 earlier response",
        "program of acme",
        "Upstream requests",
    ):
        await real.page.see(displayed)
    await real.page.wait_for("document.querySelectorAll('.wire .json-pane').length === 3")
    await real.page.evaluate(
        "document.querySelectorAll('.wire [aria-label^=Unfold]').forEach(each => each.click())"
    )
    raw = await real.page.wait_for(
        "!document.querySelector('.wire [aria-label^=\"Unfold \"]') && wire.innerText"
    )
    for words in ("Be brief.", '"messages"', '"team"', "look", first["id"]):
        assert words in raw
    assert await real.findings() == []
    real.check()


async def test_a_fork_is_sent_from_the_playground(real: RealConsole) -> None:
    first = await real.create(input="First")
    created = await real.create(
        input="Second", previous_response_id=first["id"], instructions="Be brief."
    )
    await real.sign_in(path=f"r/{created['id']}")
    await real.page.see("You said: Second")
    await real.choose("Fork")
    await real.page.wait_for("document.querySelector('.compose textarea')?.value === 'Second'")
    await real.send_message("Another second")
    await real.page.see("You said: Another second")
    await real.choose("Open this response")
    await real.page.see("1 earlier response")
    sent = json.dumps(real.a.requests[-1]["messages"])
    assert all(words in sent for words in ("Be brief.", "First", "Another second"))
    real.check()


async def test_the_credentials_of_a_fork_are_requested_again(real: RealConsole) -> None:
    tool = {**MCP, "require_approval": "never", "authorization": "of-the-first-request"}
    created = await real.create(input="First", tools=[tool])
    await real.sign_in(path=f"play?from={created['id']}")
    await real.page.see("A secret is missing")
    await real.click("[aria-label='Edit dice']")
    await real.write("dialog textarea", json.dumps(tool | {"authorization": "of-the-fork"}))
    await real.choose("Save")
    await real.page.wait_for("!document.body.innerText.includes('A secret is missing')")
    await real.send_message("Another first")
    await real.page.see("You said: Another first")
    stored = await real.page.evaluate("JSON.stringify(sessionStorage)")
    assert "of-the-fork" not in stored
    await real.page.evaluate("location.reload()")
    await real.page.see("A secret is missing")
    real.check()


async def test_a_call_is_approved_in_the_playground(real: RealConsole) -> None:
    calls = [
        {
            "index": 0,
            "id": "c1",
            "type": "function",
            "function": {"name": "dice__roll", "arguments": "{}"},
        }
    ]
    answers = [
        Answer([sse(delta(tool_calls=calls), delta("tool_calls"))]),
        Answer([text("It is 5.")]),
    ]
    real.a.script = lambda _: answers.pop(0)
    tool = {**MCP, "require_approval": "always"}
    await real.sign_in(path=f"play{shared(tools=[{'isOn': True, 'tool': tool}])}")
    await real.page.see("dice")
    await real.page.wait_for("document.querySelector('.panel select')?.value === 'm'")
    await real.send_message("Roll the dice.")
    await real.page.see("Allow this call?")
    assert await real.findings() == []
    await real.choose("Approve")
    await real.page.see("It is 5.")
    assert [use.name for use in real.tools.used] == ["roll"]
    real.check()


async def test_a_background_response_is_cancelled(real: RealConsole) -> None:
    real.a.script = Slow()
    created = await real.create(input="Long", background=True)
    await real.sign_in(path=f"r/{created['id']}")
    await real.click("[aria-label='More actions']")
    await real.choose("Cancel")
    await real.page.see("cancelled")
    real.check()


async def test_a_response_is_deleted_after_a_confirmation(real: RealConsole) -> None:
    created = await real.create(input="Delete me")
    await real.sign_in(path=f"r/{created['id']}")
    await real.page.see("You said: Delete me")
    await real.click("[aria-label='More actions']")
    await real.choose("Delete…")
    await real.page.see("This permanently deletes")
    await real.click(".btn.danger")
    await real.page.wait_for("document.querySelector('h1').innerText === 'Responses'")
    await real.page.see("No responses yet")
    assert "Delete me" not in await real.page.evaluate("document.body.innerText")
    async with real.server.http.get(
        f"{real.server.url}/responses/{created['id']}", headers=await real.headers()
    ) as reply:
        assert reply.status == 404
    real.check()


async def test_a_link_signs_in_and_signing_out_ends_the_session(real: RealConsole) -> None:
    await real.create(input="Hello")
    code = await ConsoleSessions(real.server.parts.store, now).issue_code()
    await real.open(f"#code={code}", shows="You said: Hello")
    assert await real.page.evaluate("location.hash + history.length") == "2"
    stored = await real.page.evaluate("document.cookie + JSON.stringify(localStorage)")
    assert not any(word in stored for word in (code, "antiphon=", "sk-"))
    await real.choose("Sign out")
    await real.page.see("Sign in to Antiphon")
    assert await status(real, "/admin/v1/responses") == 401
    await real.open(f"#code={code}", shows="This link has expired or was used.")
    real.check("401")


async def test_the_link_of_the_command_signs_in_to_a_server_of_its_own(
    backend: ReplayBackend, tmp_path: Path
) -> None:
    perform("build")
    store = ("--store", f"sqlite:///{tmp_path}/antiphon.db")
    async with (
        serving(tmp_path, "--port", "0", "--backend", backend.url, *store) as server,
        a_page() as page,
    ):
        issued = await antiphon(tmp_path, "console", "--no-open", "--url", server.url, *store)
        link = issued.out.strip()
        visitor = Visitor(page, link)
        await visitor.open(shows="No responses yet")
        assert await page.evaluate("location.hash") == ""
        async with (
            ClientSession() as http,
            http.post(f"{server.url}/responses", json=BODY) as reply,
        ):
            assert reply.status == 200
        await page.see("You said: Hello")
        visitor.check()


async def test_a_delivery_is_retried(real: RealConsole) -> None:
    async with receiving() as receiver:
        receiver.statuses = [500]
        hook = {"name": "billing", "url": receiver.url, "event_types": ["response.completed"]}
        url = f"{real.server.url}/webhook_endpoints"
        headers = await real.headers()
        async with real.server.http.post(url, json=hook, headers=headers) as reply:
            assert reply.status == 200
        await real.create(input="In the background", background=True)
        await receiver.wait_for(1)
        await real.sign_in(path="webhooks")
        await real.page.see("pending")
        await real.choose("Retry now")
        await receiver.wait_for(2)
        await real.open("webhooks", shows="Nothing waits and nothing failed")
        real.check()


async def test_a_wrong_key_is_rejected_and_a_key_without_the_role_too(real: RealConsole) -> None:
    await real.headers()
    await real.open("", shows="Sign in to Antiphon")
    await real.present("sk-antiphon-wrong")
    await real.page.see("Incorrect API key provided.")
    await real.present(real.keys["acme"])
    await real.page.see("needs an API key with the role")
    assert await real.findings() == []
    real.check("401", "403")


async def test_a_revoked_key_ends_its_session(
    real: RealConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((responses, "CHECK_AFTER"), (changes, "PING_AFTER")):
        monkeypatch.setattr(module, name, 0.1)
    key = await real.sign_in()
    await real.page.see(
        "Live"
    )  # all requests of the page are answered: only the open list can notice
    other, _ = await real.key("acme", Role.ADMIN)
    url = f"{real.server.url.removesuffix('/v1')}/admin/v1/keys/{key.id}"
    async with real.server.http.delete(url, headers={"authorization": f"Bearer {other}"}) as reply:
        assert reply.status == 200
    await real.page.see("Your session has ended.")


async def test_a_reader_sees_its_tenant_and_changes_no_settings(real: RealConsole) -> None:
    await real.create("acme", input="Ours")
    await real.create("other", input="Theirs")
    await real.sign_in(Role.READ)
    await real.page.see("You said: Ours")
    await real.page.wait_for(f"{ROWS} === 1")
    for path, absent in (
        ("keys", "Create a key"),
        ("webhooks", "Retry now"),
        ("backends", "sk-"),
        ("usage", "other"),
    ):
        await real.open(path)
        assert absent not in await real.page.evaluate("document.querySelector('main').innerText")
        assert await real.findings() == []
    assert await status(real, "/admin/v1/keys", "POST") == 403
    real.check("403")


async def test_a_key_is_created_displayed_once_used_and_revoked(real: RealConsole) -> None:
    await real.sign_in(path="keys")
    await real.choose("Create a key")
    await real.page.see("Cannot sign in to the console.")
    await real.write("dialog input:not([type=radio])", "nightly")
    await real.page.press("Enter")
    secret = await real.page.wait_for(
        "document.querySelector('dialog:modal [data-secret]').textContent"
    )
    await real.page.press("Escape")
    await real.page.wait_for("!document.querySelector('[data-secret]')")
    await real.page.see("nightly")
    assert secret not in await real.page.evaluate("document.documentElement.outerHTML")
    models = f"{real.server.url}/models"
    async with real.server.http.get(models, headers={"authorization": f"Bearer {secret}"}) as reply:
        assert reply.status == 200
    await real.click("[aria-label='Actions for nightly']")
    await real.choose("Revoke…")
    await real.click(".btn.danger")
    await real.page.see("revoked")
    async with real.server.http.get(models, headers={"authorization": f"Bearer {secret}"}) as reply:
        assert reply.status == 401
    real.check()


async def test_filters_are_typed_and_stand_in_the_address(real: RealConsole) -> None:
    await real.create(input="A lighthouse")
    await real.create(input="A harbour")
    await real.sign_in()
    await real.page.wait_for(f"{ROWS} === 2")
    await real.page.press("/")
    await real.page.type("model:m lighthouse")
    await real.page.press("Enter")
    await real.page.wait_for(f"{ROWS} === 1")
    assert (
        await real.page.evaluate("new URLSearchParams(location.search).get('q')")
        == "model:m lighthouse"
    )
    await real.open("?q=harbour", shows="You said: A harbour")
    await real.page.wait_for(f"{ROWS} === 1")
    for span in ("15m", "90m", "24h", "7d", "30d"):
        await real.open(f"?q=since:{span}", shows="You said: A harbour")
        await real.page.wait_for("document.querySelector('.histogram svg') !== null")
    real.check()


async def test_a_wrong_filter_displays_the_servers_message(real: RealConsole) -> None:
    await real.sign_in()
    await real.open("?q=colour:red", shows="colour")
    displayed = await real.page.evaluate("document.querySelector('main').innerText")
    assert "Invalid 'q'" in displayed
    assert "status" in displayed
    assert await real.findings() == []
    real.check("400")


async def test_more_responses_are_loaded(real: RealConsole) -> None:
    for number in range(55):
        await real.create(input=f"Number {number}")
    await real.sign_in()
    await real.page.see("50 responses shown")
    await real.choose("Load more")
    await real.page.see("55 responses shown")
    await real.page.wait_for(
        "![...document.querySelectorAll('button')].some(each => each.innerText === 'Load more')"
    )
    real.check()


def shared(**settings: Any) -> str:
    """Return the fragment of a link to the playground with these settings."""
    packed = base64.urlsafe_b64encode(json.dumps({"settings": settings}).encode())
    return f"#s={packed.decode().rstrip('=')}"


async def stream(real: RealConsole, **body: Any) -> None:
    """Create a streamed response and read it to its end."""
    url = f"{real.server.url}/responses"
    headers = await real.headers()
    async with real.server.http.post(
        url, json={"model": "m", "stream": True} | body, headers=headers
    ) as reply:
        assert b"response.completed" in await reply.read()


async def status(real: RealConsole, path: str, method: str = "GET") -> int:
    """Return the status of a request that the page sends with its cookie."""
    options = {
        "method": method,
        "headers": {"antiphon-console": "1", "content-type": "application/json"},
    }
    if method == "POST":
        options["body"] = "{}"
    found: int = await real.page.evaluate(
        f"fetch({path!r}, {json.dumps(options)}).then(reply => reply.status)"
    )
    return found
