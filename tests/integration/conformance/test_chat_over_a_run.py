"""Chat completions of a model that is reached by runs, with the scripted model, judged."""

from collections.abc import Set

import pytest

from antiphon.build.models import options_of
from antiphon.config.models import ModelConfig
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.weak import WeakDemoBackend
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from antiphon_verify.choice import chosen
from antiphon_verify.judging import Plan, judge
from antiphon_verify.report import Report
from tests.support.server import RunningServer, serve

RUN = ModelConfig(name="demo", chat_completions="run")

UNEXERCISED = {f"chat:tools:{name}" for name in ("chosen", "argued")}
"""What `demo` does not show: it chooses no tool."""


LIFTED = {"chat:parameters:max-tokens", "chat:parameters:max-completion-tokens"}
"""A Responses backend takes no limit below 16 tokens, so that the limit of 8 is 16 there."""


async def judged(server: RunningServer) -> Report:
    return await judge(Plan(base_url=server.url, model="demo", requirements=chosen("chat")))


def expect_no_loss(report: Report, known: Set[str] = frozenset()) -> None:
    failed = [one for one in report.results if one.outcome == "failed" and one.kind == "protocol"]
    skipped = {one.id for one in report.results if one.outcome in ("skipped", "blocked")}

    assert [f"{one.id}: {one.came}" for one in failed if one.id not in known] == []
    assert {one.id for one in report.results if one.outcome == "not offered"} == set()
    assert {one for one in skipped if "embeddings" not in one} == UNEXERCISED


async def test_nothing_is_lost_by_a_run_on_a_chat_backend() -> None:
    shares = {"demo": BackendOptions(configured=options_of([RUN], "demo"))}
    async with serve(WeakDemoBackend(), shares=shares) as server:
        expect_no_loss(await judged(server))


@pytest.mark.wide
async def test_nothing_is_lost_by_a_run_on_a_responses_backend() -> None:
    shares = {"inner": BackendOptions(api="responses", configured=options_of([RUN], "inner"))}
    async with (
        serve(DemoBackend()) as inner,
        serve(HttpBackend("inner", inner.url), shares=shares) as outer,
    ):
        expect_no_loss(await judged(outer), LIFTED)
