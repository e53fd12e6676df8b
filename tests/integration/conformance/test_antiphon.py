"""Antiphon itself, with its scripted model, judged by everything."""

import pytest
import pytest_asyncio

from antiphon.application import toolset_of
from antiphon.config import Settings
from antiphon.conformance.areas import REQUIREMENTS
from antiphon.conformance.choice import chosen
from antiphon.conformance.judging import Plan, judge
from antiphon.conformance.report import Report
from antiphon.upstream.demo.weak import WeakDemoBackend
from tests.support.server import serve
from tests.support.small_web import small_web

LATER = {
    *(f"responses:hosted:{name}" for name in ("code-item", "code-order", "code-told", "code-used")),
    *(f"responses:hosted:image-{name}" for name in ("item", "order", "told")),
}
"""What is asked of hosted tools that later issues run; today the server says that it lacks them."""

LACKING = {"chat:parameters:n"}
"""What it says that it lacks elsewhere: `demo` gives one choice, and calls functions only."""

UNSHOWN = {
    *("responses:headers:challenge", "responses:websocket:refused-well", "responses:limits:too-long-named"),
    *(f"{api}:{name}" for api in ("chat:tools", "responses:calls") for name in ("chosen", "argued")),
    *(one for one in REQUIREMENTS if one.startswith("chat:embeddings:")),
}
"""What nothing can show: no key is asked for, WebSockets are taken, `demo` reads any length, chooses no tool, and makes
no embeddings."""

BY_CHANCE = {"responses:cancel:no-usage", "responses:websocket:steer-accepted", "responses:websocket:steered"}
"""What is shown only if `demo` is cancelled, or steered, before it has answered."""

UNSHOWN_RULES = {"command", "error", "failed", "image", "mcp"}
"""First words of the rules that no stream shows, such as those of a request for approval."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def report() -> Report:
    async with small_web() as web, serve(WeakDemoBackend()) as served:
        settings = Settings(web_search=web.searxng, outgoing_networks=["127.0.0.0/8"])
        served.engine.toolset = toolset_of(settings, search=lambda: served.engine.search)
        return await judge(Plan(base_url=served.url, model="demo", requirements=chosen()))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_nothing_of_the_protocol_is_broken(report: Report) -> None:
    broken = [f"{one.id}: {one.came}" for one in report.results if one.outcome == "failed" and one.kind == "protocol"]

    assert broken == []
    assert report.conforms


async def test_what_later_issues_add_is_not_offered_and_nothing_else(report: Report) -> None:
    assert {one.id for one in report.results if one.outcome == "not offered"} == LACKING | LATER


async def test_everything_else_is_judged_but_for_what_no_stream_of_functions_shows(report: Report) -> None:
    skipped = {one.id for one in report.results if one.outcome == "skipped"}
    rules = {one for one in skipped if one.startswith("responses:stream:")}

    assert skipped - rules - BY_CHANCE == UNSHOWN
    assert {one.split(":")[2].split("-")[0] for one in rules} == UNSHOWN_RULES


async def test_it_takes_a_few_hundred_requests(report: Report) -> None:
    assert report.requests < 800
