"""Antiphon in front of Antiphon, asked as one that speaks Responses: judged as one of them is."""

from antiphon.conformance.choice import chosen
from antiphon.conformance.judging import Plan, judge
from antiphon.upstream.backend_state import BackendOptions
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.http import HttpBackend
from tests.support.server import serve


async def test_nothing_of_the_protocol_is_broken_by_a_second_server_between() -> None:
    async with (
        serve(DemoBackend()) as inner,
        serve(HttpBackend("inner", inner.url), shares={"inner": BackendOptions(api="responses")}) as outer,
    ):
        report = await judge(Plan(base_url=outer.url, requirements=chosen()))

    broken = [f"{one.id}: {one.came}" for one in report.results if one.outcome == "failed" and one.kind == "protocol"]
    assert broken == []
    assert len([one for one in report.results if one.outcome == "passed"]) > 400
