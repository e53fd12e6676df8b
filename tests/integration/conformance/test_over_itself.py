"""Antiphon in front of Antiphon, asked as one that speaks Responses: judged as one of them is."""

import pytest

from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from antiphon_verify.areas.responses import cancel
from antiphon_verify.choice import chosen
from antiphon_verify.judging import Plan, judge
from tests.support.server import serve


@pytest.mark.wide
async def test_nothing_of_the_protocol_is_broken_by_a_second_server_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancel, "POLLS", 1)  # neither calls the tool that the case waits for
    async with (
        serve(DemoBackend()) as inner,
        serve(
            HttpBackend("inner", inner.url), shares={"inner": BackendOptions(api="responses")}
        ) as outer,
    ):
        report = await judge(Plan(base_url=outer.url, requirements=chosen()))

    broken = [
        f"{one.id}: {one.came}"
        for one in report.results
        if one.outcome == "failed" and one.kind == "protocol"
    ]
    assert broken == []
    assert len([one for one in report.results if one.outcome == "passed"]) > 400
