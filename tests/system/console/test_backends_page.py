"""Backends and deferred responses in a browser: figures with their period, checks and lessons."""

import pytest

from tests.support.browser import needs_browser
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(120)]

CARD = "[aria-label='Backend gpu-a']"


async def text_of(console: Console, selector: str) -> str:
    found: str = await console.page.evaluate(f"document.querySelector({selector!r}).innerText")
    return found


async def test_counts_of_a_backend_have_one_period_and_steps_have_values(console: Console) -> None:
    await console.open("backends", shows="Responses that began in this hour")
    card = await text_of(console, CARD)
    assert "Requests" not in card  # they counted from the start of a process
    assert "412 ms" in card
    assert " tokens" in card

    axis = f"{CARD} [role=slider]"
    ends = (await text_of(console, axis)).split()
    assert [len(end) for end in ends] == [5, 5]  # such as 09:04 and 10:04
    await console.page.evaluate(f"document.querySelector({axis!r}).focus()")
    await console.page.press("ArrowRight")
    first = await text_of(console, axis)
    await console.page.press("ArrowRight")
    second = await text_of(console, axis)
    for step in (first, second):
        assert "first token, p50" in step
        assert "tokens, failed" in step
    assert first.partition(":")[2] != second.partition(":")[2]
    console.check()


async def test_the_last_hour_has_the_time_of_the_chosen_zone(console: Console) -> None:
    await console.page.send("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    await console.open("backends", shows="Responses that began in this hour")
    axis = f"{CARD} [role=slider]"
    local = (await text_of(console, axis)).split()[-1]
    await console.page.evaluate("localStorage['antiphon.zone'] = 'UTC'")
    await console.open("backends", shows="Responses that began in this hour")
    utc = (await text_of(console, axis)).split()[-1]
    hours, minutes = (
        int(there) - int(here) for there, here in zip(local.split(":"), utc.split(":"), strict=True)
    )
    assert (60 * hours + minutes) % 1440 in {328, 330, 332}  # a point may have begun in between


async def test_an_administrator_checks_a_backend_and_drops_a_lesson(console: Console) -> None:
    await console.open("backends", shows="next check in 6 s")
    await console.click("[aria-label='Check now: gpu-a']")
    await console.page.wait_for(f"document.querySelector({CARD!r}).innerText.includes('Check now')")
    assert console.server.noted == ["POST /admin/v1/backends/gpu-a/check"]

    await console.page.see("is not supported with this model")
    await console.page.see("tenant acme")
    await console.click("[aria-label='Drop it: top_p of qwen3-coder']")
    await console.page.see("the lesson is learned again")
    assert await console.findings() == []
    await console.click("dialog .btn.danger")
    await console.page.wait_for("document.querySelectorAll('.lessons tbody tr').length === 1")
    assert [one["id"] for one in console.server.lessons] == ["lesson_2"]
    console.check()


async def test_a_deferred_response_states_what_it_waits_for_and_is_cancelled(
    console: Console,
) -> None:
    await console.open("deferred", shows="an idle slot")
    await console.page.see("any free slot")
    await console.click("[aria-label='Cancel resp_late0']")
    assert await console.findings() == []
    await console.click("dialog .btn.danger")
    await console.page.wait_for("document.querySelectorAll('tbody tr').length === 1")
    assert console.server.noted == [
        "POST /admin/v1/deferred_responses/resp_late0/cancel?tenant=acme"
    ]
    console.server.deferred = []
    await console.open("deferred", shows="Nothing waits for its time")
    assert await console.findings() == []
    console.check()
