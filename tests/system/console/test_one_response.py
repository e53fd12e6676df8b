"""The page of one response: its request as code, its IDs, a response that is unknown, a failed one,
a store that is stopped or slow, and the timeline on a phone.
"""

import asyncio
from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.storage.records.tenants import Role
from tests.support.browser import needs_browser
from tests.support.console.real import BODY, RealConsole
from tests.support.console.rows import summary
from tests.support.console.server import KEY
from tests.support.replay import Answer, delta, sse
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300)]

OVERLAPPING = """
(() => {
  const boxes = [...document.querySelectorAll('.timeline-mark span')].map(e => e.getBoundingClientRect());
  const cross = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return boxes.filter((a, at) => boxes.slice(at + 1).some(b => cross(a, b))).length;
})()
"""  # noqa: E501 - the lines of a text


async def test_the_copied_code_is_the_request_that_a_client_writes(real: RealConsole) -> None:
    page = real.page
    await real.sign_in()
    tool = {"type": "function", "name": "weather", "parameters": {}, "strict": False}
    created = await real.create(input="How is it?", tools=[tool])
    await real.open(f"r/{created['id']}", shows="How is it?")
    await page.evaluate(
        "navigator.clipboard.writeText = async text => { window.copied = text }, true"
    )
    await real.click("[aria-label='Copy as code']")
    await real.choose("Python")
    await page.wait_for("window.copied !== undefined")
    code = await page.evaluate("window.copied")
    assert '    input="How is it?",\n' in code
    assert "None" not in code and "msg_" not in code
    real.check()


async def test_the_id_of_the_request_is_copied_and_leads_to_the_response(real: RealConsole) -> None:
    page = real.page
    await real.sign_in()
    async with real.server.http.post(
        f"{real.server.url}/responses", json=BODY, headers=await real.headers()
    ) as reply:
        created = await reply.json()
    request_id = reply.headers["x-request-id"]
    await real.open(f"r/{request_id}", shows="You said")
    assert (await page.evaluate("location.pathname")).endswith(f"/r/{created['id']}")
    await page.evaluate(
        "navigator.clipboard.writeText = async text => { window.copied = text }, true"
    )
    await real.click("[aria-label='Copy Request ID']")
    await page.wait_for(f"window.copied === '{request_id}'")
    item = created["output"][0]["id"]
    await real.open(f"r/{item}", shows="You said")
    assert (await page.evaluate("location.pathname")).endswith(f"/r/{created['id']}")
    real.check("404")


async def test_ids_of_requests_in_notes_and_errors_are_links(console: Console) -> None:
    response = "resp_" + "01a2" * 12
    known = {"kind": "response", "id": "resp_0004", "tenant": "", "part": None}
    console.server.finding.objects = {response.replace("resp", "req"): [known]}
    console.server.notes = [
        {"code": "error", "text": f"See {response.replace('resp', 'req')}, not req_of_a_backend."}
    ]
    await console.open("r/resp_7e08", shows="not req_of_a_backend")
    assert await console.page.evaluate("document.querySelectorAll('.notes a').length") == 1
    assert await console.findings() == []
    await console.click(".notes a")
    await console.page.wait_for("location.pathname.endsWith('/r/resp_0004')")
    console.check("404")


async def test_an_id_of_several_objects_lists_them(console: Console) -> None:
    found = [
        {"kind": kind, "id": id_, "tenant": "", "part": "msg_1"}
        for kind, id_ in (("response", "resp_0004"), ("conversation", "conv_1"))
    ]
    console.server.finding.objects = {"msg_1": found}
    await console.open("r/msg_1", shows="This ID leads to 2 objects")
    assert await console.findings() == []
    await console.choose("conv_1")
    await console.page.wait_for("location.pathname.endsWith('/conversations/conv_1')")
    console.check("404")


async def test_a_response_that_was_not_streamed_has_no_first_token(real: RealConsole) -> None:
    await real.sign_in()
    created = await real.create()
    for width in (1440, 390):
        await real.page.resize(width)
        await real.open(f"r/{created['id']}", shows="You said")
        await real.page.see("Timeline")
        marks = "document.querySelectorAll('.timeline-mark').length"
        assert await real.page.evaluate(marks) == 0
        facts = await real.page.evaluate("document.querySelector('.facts').innerText")
        assert "first token" not in facts and "tokens/s" not in facts
        top = "document.querySelector('header.top').getBoundingClientRect().height"
        assert await real.page.evaluate(top) < 70, "the buttons are in the line of the ID"
        assert await real.fits(), width
    real.check()


async def test_an_unknown_response_leads_to_the_list_and_to_a_search(console: Console) -> None:
    await console.open("r/resp_gone", shows="This response was not found")
    assert await console.findings() == []
    for width in (1280, 390):
        await console.page.resize(width)
        assert await console.fits(), width
    await console.choose("Search for this ID")
    await console.page.wait_for("location.search === '?q=resp_gone'")
    console.check("404")


async def test_a_failed_response_without_usage_shows_no_zeros_and_code_as_code(
    console: Console,
) -> None:
    failed = {"status": "failed", "error_code": "server_error", "tokens": (0, 0, 0, 0)}
    now = console.server.rows[0]["started_ms"]
    console.server.rows = [summary("bad", started_ms=now, **failed)]
    console.server.notes = [{"code": "not_stored", "text": "The request had `store: false`."}]
    await console.open("r/resp_bad", shows="not reported")
    page = console.page
    text = await page.evaluate("document.querySelector('main').innerText")
    assert "0 in" not in text and "0 tokens/s" not in text and "`" not in text
    assert await page.evaluate("document.querySelector('.notes code').innerText") == "store: false"
    console.check()


async def test_a_stream_that_broke_off_shows_what_it_used_and_how_that_was_counted(
    real: RealConsole,
) -> None:
    broken = sse(delta(content="Once upon a time"), done=False)
    real.a.script = real.b.script = lambda _: Answer([broken])
    await real.sign_in()
    async with real.server.http.post(
        f"{real.server.url}/responses", json=BODY | {"stream": True}, headers=await real.headers()
    ) as reply:
        assert "response.failed" in await reply.text()
    request_id = reply.headers["x-request-id"]
    await real.open(f"r/{request_id}", shows="counted in the texts, not reported")
    tokens = (
        "[...document.querySelectorAll('.facts div')].find("
        "e => e.querySelector('dt').innerText === 'Tokens').querySelector('dd').innerText"
    )
    words = await real.page.evaluate(tokens)
    assert words.startswith(tuple("123456789")) and " in, 0 out" not in words
    await real.page.see("usage estimated")
    assert await real.findings() == []
    real.check("404")


async def test_a_stopped_store_is_reported_and_the_page_recovers(
    real: RealConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    await real.sign_in()
    created = await real.create(input="Precious words")
    store = type(real.server.parts.store)
    read = store.read

    async def stopped(self: Any, operation: Any, *values: Any) -> Any:
        if created["id"] in values:  # the session is still known
            raise StoreError("The store is stopped.")
        return await read(self, operation, *values)

    with monkeypatch.context() as patch:
        patch.setattr(store, "read", stopped)
        await real.open(f"r/{created['id']}", shows="The store is stopped.")
        assert await real.findings() == []
        await real.open(f"compare?a={created['id']}&b={created['id']}", shows="The store is stop")
    await real.page.wait_for(
        "[...document.querySelectorAll('.notice button')].map(e => e.click()).length === 2"
    )
    await real.page.see("IDs of items and calls are not compared.")
    await real.open(f"r/{created['id']}", shows="Precious words")
    real.check("503")


async def test_another_response_never_stands_under_an_id_while_the_store_is_slow(
    real: RealConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    await real.sign_in()
    first = await real.create(input="The first of them")
    second = await real.create(input="The second of them")
    await real.open(f"r/{first['id']}", shows="The first of them")
    store = type(real.server.parts.store)
    read, go = store.read, asyncio.Event()

    async def slow(self: Any, operation: Any, *values: Any) -> Any:
        if second["id"] in values:
            await go.wait()
        return await read(self, operation, *values)

    monkeypatch.setattr(store, "read", slow)
    await real.click("[aria-label='Newer response']")
    await real.page.wait_for(f"location.pathname.endsWith('/r/{second['id']}')")
    await real.page.see("Loading…")
    assert "The first of them" not in await real.page.evaluate(
        "document.querySelector('main').innerText"
    )
    go.set()
    await real.page.see("The second of them")
    real.check()


@pytest.mark.parametrize(
    ("path", "shows"),
    [("r/resp_7e08", "Two issues block 2.4"), ("conversations/conv_1", "Two issues block 2.4")],
)
async def test_a_session_that_ends_leads_back_to_the_same_page(
    console: Console, path: str, shows: str
) -> None:
    await console.open(path, shows=shows)
    console.server.is_signed_in = False
    await console.page.evaluate("location.reload()")
    await console.page.see("Sign in to Antiphon")
    assert shows not in await console.page.evaluate("document.body.innerText")
    await console.present(KEY)
    await console.page.see(shows)
    assert (await console.page.evaluate("location.pathname")).endswith(path)
    console.check("401")


async def test_a_reader_finds_no_response_of_another_tenant_by_the_id_of_its_request(
    real: RealConsole,
) -> None:
    theirs = await real.create("other", input="Secret of others")
    await real.sign_in(Role.READ)
    request_id = theirs["id"].replace("resp_", "req_")
    await real.open(f"r/{request_id}", shows="This response was not found")
    assert "Secret" not in await real.page.evaluate("document.body.innerText")
    real.check("404")


async def test_the_labels_of_the_timeline_do_not_cover_each_other(console: Console) -> None:
    await console.open("r/resp_7e08", shows="first word")
    for width in (1440, 768, 390, 320):
        await console.page.resize(width)
        await console.page.wait_for(f"innerWidth === {width}")
        await console.page.wait_for(f"{OVERLAPPING} === 0")
        assert (
            await console.page.evaluate("document.querySelectorAll('.timeline-axis b').length") >= 2
        ), width
    console.check()


async def test_what_failed_before_it_was_stored_shows_its_cause_and_its_input(
    real: RealConsole,
) -> None:
    page = real.page
    refusal = Answer([b'{"error": {"message": "out of memory"}}'], "application/json", 500)
    real.a.script = real.b.script = lambda request: refusal
    await real.create(input="Where is order 17?")
    await real.sign_in()
    await page.see("Where is order 17?")
    await real.click("main a[href*='/r/']")
    await page.see("status 500")
    await page.see("Failed before it was stored")
    alerts = "document.querySelectorAll('[role=alert]').length"
    assert await page.evaluate(alerts) == 1
    text = await page.evaluate("document.querySelector('main').innerText")
    assert "Where is order 17?" in text
    assert "store: false" not in text
    assert "expired" not in text
    assert "Run again" not in text
    assert text.count("status 500") == 2, text  # above the input, and in the notes
    for width in (1280, 390):
        await page.resize(width)
        assert await real.findings() == []
        assert await real.fits()
    real.check()
