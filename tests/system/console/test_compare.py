"""Two responses side by side."""

import asyncio
from typing import Any

import pytest

from antiphon.storage.records.tenants import Role
from tests.support.browser import needs_browser
from tests.support.console.real import RealConsole
from tests.support.replay import Answer, delta, sse, text
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300), pytest.mark.rotating]

COMPARE = "compare?a=resp_7e08&b=resp_0004"


async def test_a_fork_is_compared_with_its_original(real: RealConsole) -> None:
    page = real.page
    await real.sign_in()
    root = await real.create(input="Hello")
    tool = {"type": "function", "name": "weather", "parameters": {}, "strict": False}
    common = {"previous_response_id": root["id"], "tools": [tool]}
    original = await real.create(
        input="How is it?\nBe brief.", instructions="You are a helper.\nSpeak English.", **common
    )
    fork = await real.create(
        input="How is it there?\nBe brief.",
        instructions="You are a careful helper.\nSpeak English.",
        temperature=0.5,
        **common,
    )
    await real.open(f"r/{fork['id']}", shows="Compare with the original")
    await real.choose("Compare with the original")
    await page.wait_for(f"location.search === '?a={original['id']}&b={fork['id']}'")
    await page.see("Timeline of B")
    await page.wait_for("document.querySelectorAll('.compare-part').length === 6")
    parts = await page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.compare-part > summary')].map("
        "e => e.innerText.split('\\n').map(t => t.trim()).filter(Boolean)))"
    )
    assert parts["Tools"] == "equal"
    assert parts["Instructions"] == parts["Input"] == parts["Settings"] == "1 difference"
    assert parts["Output"] == "1 difference"
    marked = await page.evaluate("[...document.querySelectorAll('ins')].map(e => e.innerText)")
    assert "careful " in marked
    paths = await page.evaluate(
        "[...document.querySelectorAll('.compare-path code')].map(e => e.innerText)"
    )
    assert paths[:2] == ["instructions", "input[0].content"]
    assert "temperature" in paths
    for width in (1280, 390):
        await page.resize(width)
        assert await real.fits(), width
        assert await real.findings() == [], width
    real.check()


async def test_what_the_prompt_changed_is_found_in_three_clicks(real: RealConsole) -> None:
    page = real.page
    await real.sign_in()
    root = await real.create(input="Hello")
    common = {"input": "How is it?", "previous_response_id": root["id"]}
    await real.create(instructions="You are a helper.\nSpeak English.", **common)
    await real.create(instructions="You are a careful helper.\nSpeak English.", **common)
    changed = "[...document.querySelectorAll('.compare-part[open] ins')].map(e => e.innerText)"
    box = "document.querySelector('ins').getBoundingClientRect()"
    for width in (1440, 390):
        await page.resize(width)
        await real.open("", shows="How is it?")
        await page.evaluate("window.clicks = 0; addEventListener('click', () => window.clicks++)")
        await real.click("main a[href*='/r/']")
        if width > 1000:
            await real.choose("Compare with the original")
        else:
            await real.click(".chain .fork .chain-compare")
        await page.see("Timeline of B")
        await real.click("[aria-label='Parts of the comparison'] button")
        await page.wait_for("document.activeElement.tagName === 'SUMMARY'")
        assert await page.evaluate(changed) == ["careful "]
        await page.wait_for(f"{box}.top > 0 && {box}.bottom < innerHeight")
        assert await page.evaluate(f"{box}.right < innerWidth")
        assert await page.evaluate("window.clicks") == 3
    real.check()


async def test_a_response_that_runs_is_compared_when_it_ends(real: RealConsole) -> None:
    go = asyncio.Event()
    before = real.a.script
    await real.sign_in()
    ended = await real.create(input="Hello")
    real.a.script = real.b.script = lambda request: Answer(
        [sse(delta(content="Late"), done=False)], wait=go, rest=[text(" words")]
    )
    running = await real.create(input="Hello", background=True)
    await real.open(f"compare?a={ended['id']}&b={running['id']}", shows="Timeline of A")
    assert "Late words" not in await real.page.evaluate("document.body.innerText")
    go.set()
    real.a.script = before
    await real.page.see("Late words")
    assert await real.findings() == []
    real.check()


async def test_each_side_reports_what_is_missing(real: RealConsole) -> None:
    page = real.page
    theirs = await real.create("other", input="Secret of others")
    await real.sign_in()  # a reader of the tenant acme
    mine = await real.create(input="Hello")
    unstored = await real.create(input="Hello", store=False)
    deleted = await real.create(input="Hello")
    await page.evaluate(
        f"fetch('/v1/responses/{deleted['id']}', "
        "{method: 'DELETE', headers: {'antiphon-console': '1'}}).then(r => r.status)"
    )
    await real.open(f"compare?a={mine['id']}&b={deleted['id']}", shows="Response B was not found.")
    await page.wait_for(  # facts of what is not stored are written a little later
        f"fetch('/admin/v1/responses/{unstored['id']}', "
        "{headers: {'antiphon-console': '1'}}).then(r => r.ok)"
    )
    await real.write(".compare-chooser input", unstored["id"])
    await page.press("Enter")
    await page.see("store: false")
    await page.see("Timeline of B")
    await real.choose("Swap A and B")
    await page.wait_for(f"location.search === '?a={unstored['id']}&b={mine['id']}'")
    await real.open(f"compare?a={theirs['id']}", shows="Secret of others")  # an administrator
    real.check("404")


async def test_a_reader_cannot_compare_with_another_tenant(real: RealConsole) -> None:
    theirs = await real.create("other", input="Secret of others")
    mine = await real.create(input="Hello")
    await real.sign_in(Role.READ)
    await real.open(f"compare?a={theirs['id']}&b={mine['id']}", shows="Response A was not found.")
    assert "Secret" not in await real.page.evaluate("document.body.innerText")
    assert await real.findings() == []
    real.check("404")


async def test_an_ended_session_requires_a_sign_in_and_shows_the_same_comparison(
    console: Console,
) -> None:
    await console.open(COMPARE, shows="Timeline of B")
    console.server.is_signed_in = False
    await console.choose("Swap A and B")
    await console.page.see("Your session has ended.")
    console.server.is_signed_in = True
    await console.page.evaluate("location.reload()")
    await console.page.see("Timeline of B")
    assert await console.page.evaluate("location.search") == "?a=resp_0004&b=resp_7e08"
    console.check("401")


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"text": text}]}


async def test_large_contents_are_compared_within_bounds(console: Console) -> None:
    def output(word: str) -> list[dict[str, Any]]:
        return [message("\n".join(f"{word} {at}" for at in range(100_000)))]

    console.server.outputs = {"resp_7e08": output("left"), "resp_0004": output("right")}
    await console.open(COMPARE, shows="These texts differ too much")
    assert await console.page.evaluate("document.querySelectorAll('*').length") < 4_000
    await console.page.see("more lines")
    console.check()


async def test_many_large_differences_are_displayed_a_few_at_a_time(console: Console) -> None:
    def output(first: int) -> list[dict[str, Any]]:
        return [{"type": "odd", "values": [first + at] * 5_000} for at in range(150)]

    console.server.outputs = {"resp_7e08": output(0), "resp_0004": []}
    await console.open(COMPARE, shows="130 more differences")
    assert await console.page.evaluate("document.querySelectorAll('*').length") < 30_000
    await console.choose("Show 130 more differences")
    await console.page.wait_for("document.querySelectorAll('.compare-change').length >= 150")
    console.check()


async def test_of_a_response_of_30_mb_the_rest_is_compared(console: Console) -> None:
    console.server.outputs = {"resp_7e08": [message("x" * 30_000_000)]}
    await console.open(COMPARE, shows="This is too large to show (30.0 MB).")
    await console.page.see("Settings")
    await console.page.see("Timeline of B")
    assert await console.page.evaluate("document.querySelectorAll('*').length") < 3_000
    for width in (1280, 390):
        await console.page.resize(width)
        assert await console.fits(), width
        assert await console.findings() == [], width
    console.check()
