"""The steps of an agent's response in a browser."""

import re

import pytest

from tests.support.browser import needs_browser
from tests.support.console import steps
from tests.support.console.bundle import perform
from tests.support.console.real import real_console
from tests.support.waiting import until

pytestmark = [needs_browser, pytest.mark.timeout(120)]

STEPS = ".response-steps"


async def test_steps_lead_to_what_they_stored_and_name_what_is_unknown() -> None:
    perform("build")
    async with real_console(steps.refunds) as real:
        await until(lambda: "refunds" in real.server.parts.jobs.agents.names)
        created = await real.create(model="refunds", input="Refund order 17")
        await real.server.parts.store.write(steps.interrupt, created["id"], 7)
        await real.sign_in()
        await real.open(f"r/{created['id']}", shows="look up/0")
        text = await real.page.evaluate(f"document.querySelector('{STEPS}').innerText")
        words = ["done", "done", "done", "failed", "output item", "unknown"]
        tags = f"[...document.querySelectorAll('{STEPS} .tag')].map(each => each.innerText)"

        assert await real.page.evaluate(tags) == words, text
        assert not any("/steps/" in url for url in real.page.requests), "a body was loaded unasked"
        await real.click(f"{STEPS} li:nth-child(3) summary")
        await real.page.see('"order": 17')
        await real.click(f"{STEPS} li:nth-child(6) summary")
        await real.page.see("whether it took effect is unknown")
        assert steps.SECRET not in await real.page.evaluate("document.body.innerText")
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                await real.page.prefer(scheme)
                await real.page.resize(width)
                assert await real.findings() == []
                assert await real.fits()
        real.check()


async def test_a_question_that_was_answered_shows_its_time() -> None:
    perform("build")
    async with real_console(steps.approvals) as real:
        await until(lambda: "approvals" in real.server.parts.jobs.agents.names)
        waiting = await real.create(model="approvals", input="Refund order 17")
        question = waiting["output"][-1]
        answer = {"type": "mcp_approval_response", "approval_request_id": question["id"]}
        answered = await real.create(
            model="approvals",
            input=[answer | {"approve": True}],
            previous_response_id=waiting["id"],
        )
        await real.sign_in()
        await real.open(f"r/{waiting['id']}", shows="was answered")
        await real.open(f"r/{answered['id']}", shows="answered after")
        text = await real.page.evaluate(f"document.querySelector('{STEPS}').innerText")
        assert re.search(r"requested \d\d:\d\d:\d\d, answered after \d", text), text
        await real.page.see("mcp_approval_response")
        assert "calls of models" not in await real.page.evaluate("document.body.innerText")
        real.check()


async def test_a_response_of_a_model_loads_no_steps() -> None:
    perform("build")
    async with real_console() as real:
        created = await real.create()
        await real.sign_in()
        await real.open(f"r/{created['id']}", shows="Hello")

        assert not await real.page.evaluate(f"document.querySelector('{STEPS}')")
        assert not any("/steps" in url for url in real.page.requests)
