"""Antiphon itself, with its scripted model, judged by everything."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from antiphon.config import Settings
from antiphon.testing.verify_agent import verify_agent
from antiphon.upstream.demo.weak import WeakDemoBackend
from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.choice import chosen
from antiphon_verify.judging import Plan, judge
from antiphon_verify.report import Report
from tests.integration.agents.test_front import known
from tests.support.code import problem
from tests.support.server import serve
from tests.support.small_web import small_web

IN_A_SANDBOX = {
    *(
        one
        for one in REQUIREMENTS
        if one.startswith(("responses:code-interpreter:", "responses:hosted:code-"))
    ),
} - {"responses:hosted:code-container"}
"""What needs a sandbox: it is not offered where bubblewrap does not work."""

LACKING = {"chat:parameters:n", "chat:conversion:custom", "chat:conversion:functions"}
"""What it says that it lacks elsewhere: `demo` gives one choice, and calls functions
only, and none in their legacy form."""

UNSHOWN = {
    *(
        "responses:headers:challenge",
        "responses:websocket:refused-well",
        "responses:limits:too-long-named",
    ),
    "responses:prompt-cache:miss",
    *(
        f"{api}:{name}"
        for api in ("chat:tools", "responses:calls")
        for name in ("chosen", "argued")
    ),
    *(one for one in REQUIREMENTS if one.startswith("chat:embeddings:")),
}
"""What nothing can show: no key is asked for, WebSockets are taken, `demo` reads any length, keeps
no prompt, chooses no tool, and makes no embeddings.
"""

FIGURES = {"responses:code-interpreter:figure", "responses:code-interpreter:figure-cited"}
"""What only a Python with Matplotlib shows; `make test-system` has one."""

BY_CHANCE = {
    "responses:cancel:no-usage",
    "responses:websocket:steer-accepted",
    "responses:websocket:steered",
}
"""What is shown only if `demo` is cancelled, or steered, before it has answered."""

UNSHOWN_RULES = {"command", "failed", "image"}
"""First words of the rules that no stream shows, such as those of a partial image."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def report() -> AsyncIterator[Report]:
    async with small_web() as web:
        settings = Settings(
            web_search=web.searxng,
            outgoing_networks=["127.0.0.0/8"],
            code_sandbox="bubblewrap",
            images_model="demo",
        )
        async with serve(
            WeakDemoBackend(), settings=settings, has_tools=True, agents=[verify_agent]
        ) as server:
            await known(server, verify_agent.name)
            yield await judge(Plan(base_url=server.url, model="demo", requirements=chosen()))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_nothing_of_the_protocol_is_broken(report: Report) -> None:
    broken = [
        f"{one.id}: {one.came}"
        for one in report.results
        if one.outcome == "failed" and one.kind == "protocol"
    ]

    assert broken == []
    assert report.conforms


async def test_only_choices_and_code_without_a_sandbox_are_not_offered(report: Report) -> None:
    lacking = LACKING | IN_A_SANDBOX if problem() else LACKING

    assert {one.id for one in report.results if one.outcome == "not offered"} == lacking


async def test_everything_else_is_judged_but_for_what_no_stream_of_functions_shows(
    report: Report,
) -> None:
    skipped = {one.id for one in report.results if one.outcome == "skipped"}
    rules = {one for one in skipped if one.startswith("responses:stream:")}

    assert skipped - rules - BY_CHANCE == (UNSHOWN if problem() else UNSHOWN | FIGURES)
    assert {one.split(":")[2].split("-")[0] for one in rules} == UNSHOWN_RULES


async def test_it_takes_about_nine_hundred_requests(report: Report) -> None:
    assert report.requests < 1_200  # on a busy machine, background work is polled more often
