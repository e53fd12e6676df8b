"""Antiphon itself, with its scripted model, judged by everything."""

import pytest
import pytest_asyncio

from antiphon.backends.demo import DemoBackend
from antiphon.verify.choice import chosen
from antiphon.verify.judging import Plan, judge
from antiphon.verify.report import Report
from tests.support.server import serve

LATER = {"responses:hosted", "responses:mcp", "responses:web-search"}
"""Areas that later issues serve; today the server says that it lacks them."""

JUDGED = {
    *(
        f"responses:hosted:{name}"
        for name in ("code-container", "demanded", "file-search-told", "mcp-scheme", "mcp-told")
    ),
    *(f"responses:mcp:{name}" for name in ("no-address", "no-label", "same-label")),
}
"""What of them can be judged all the same: how they are refused, and told back where they are left out."""

LACKING = {"chat:parameters:n"}
"""What it says that it lacks elsewhere: `demo` gives one choice, and calls functions only."""

UNSHOWN = {"responses:headers:challenge", "responses:websocket:refused-well"}
"""What nothing can show: no key is asked for, and WebSockets are taken."""

BY_CHANCE = {"responses:cancel:no-usage", "responses:websocket:steer-accepted", "responses:websocket:steered"}
"""What is shown only if `demo` is cancelled, or steered, before it has answered."""

UNSHOWN_RULES = {"annotation", "command", "error", "failed", "image", "mcp", "tool"}
"""First words of the rules that no stream of texts and functions shows."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def report() -> Report:
    async with serve(DemoBackend()) as served:
        return await judge(Plan(base_url=served.url, requirements=chosen()))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_nothing_of_the_protocol_is_broken(report: Report) -> None:
    broken = [f"{one.id}: {one.came}" for one in report.results if one.outcome == "failed" and one.kind == "protocol"]

    assert broken == []
    assert report.conforms


async def test_what_later_issues_add_is_not_offered_and_nothing_else(report: Report) -> None:
    lacking = {one.id for one in report.results if one.outcome == "not offered"}
    later = {one.id for one in report.results if one.area in LATER}

    assert lacking - later == LACKING
    assert {one.id for one in report.results if one.area in LATER and one.outcome != "not offered"} == JUDGED


async def test_everything_else_is_judged_but_for_what_no_stream_of_functions_shows(report: Report) -> None:
    skipped = {one.id for one in report.results if one.outcome == "skipped"}
    rules = {one for one in skipped if one.startswith("responses:stream:")}

    assert skipped - rules - BY_CHANCE == UNSHOWN
    assert {one.split(":")[2].split("-")[0] for one in rules} == UNSHOWN_RULES


async def test_it_takes_a_few_hundred_requests(report: Report) -> None:
    assert report.requests < 600
