"""The area `agents`: judged with the agent of `antiphon.testing`, and not offered without it."""

from antiphon.testing.verify_agent import verify_agent
from antiphon.upstream.demo.backend import DemoBackend
from antiphon_verify.choice import chosen
from antiphon_verify.judging import Plan, judge
from antiphon_verify.report import Report
from tests.integration.agents.test_front import known
from tests.support.server import RunningServer, serve


async def judged(server: RunningServer) -> Report:
    requirements = chosen(only=["responses:agents"])
    return await judge(Plan(base_url=server.url, requirements=requirements))


async def test_antiphon_meets_each_requirement_on_agents() -> None:
    async with serve(DemoBackend(), agents=[verify_agent]) as server:
        await known(server, "verify-agent")
        report = await judged(server)

    assert report.model == "demo", "an agent is no model to test with"
    assert [(one.id, one.came) for one in report.results if one.outcome != "passed"] == []
    assert report.conforms


async def test_a_server_without_the_agent_does_not_offer_it() -> None:
    async with serve(DemoBackend()) as server:
        report = await judged(server)

    assert {one.outcome for one in report.results} == {"not offered"}
