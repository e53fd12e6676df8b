"""The steps of agents' responses, for the console."""

from collections.abc import AsyncIterator

import pytest

from antiphon.storage.records.tenants import Role
from tests.support.console import steps
from tests.support.server import RunningServer, serve
from tests.support.signed_in import Browser, signed_in
from tests.support.waiting import until

RESPONSES = "/admin/v1/responses"


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with serve(agents=[steps.refunds]) as one:
        yield one


async def answered(server: RunningServer, browser: Browser) -> str:
    """Return the path of a response of the agent."""
    await until(lambda: "refunds" in server.parts.jobs.agents.names)
    body = {"model": "refunds", "input": "Refund order 17"}
    return f"{RESPONSES}/{(await browser.send_request('POST', '/v1/responses', body)).json['id']}"


async def test_steps_are_listed_in_pages_with_their_states(server: RunningServer) -> None:
    browser = await signed_in(server)
    path = await answered(server, browser)
    found = (await browser.send_request("GET", f"{path}/steps")).json
    details = (await browser.send_request("GET", path)).json
    after = found["data"][1]["id"]
    rest = (await browser.send_request("GET", f"{path}/steps?after={after}&limit=1")).json
    calls = (await browser.send_request("GET", f"{path}/calls")).json

    assert details["has_steps"] is True
    assert details["summary"]["background"] is False
    assert (calls["data"], calls["has_more"]) == ([], False)
    assert [(one["key"], one["state"]) for one in found["data"]] == [
        ("state", "done"),
        ("begin", "done"),
        ("look up/0", "done"),
        ("refund/0", "failed"),
        ("answer/0", "item"),
    ]
    assert {(one["attempt"], one["version"], one["is_unknown"]) for one in found["data"]} == {
        (1, "3", False)
    }
    assert (rest["data"], rest["has_more"]) == ([found["data"][2]], True)


async def test_the_body_of_a_step_is_read_alone_and_without_secrets(server: RunningServer) -> None:
    browser = await signed_in(server)
    path = await answered(server, browser)
    bodies = [
        (await browser.send_request("GET", f"{path}/steps/{place}")).json["body"]
        for place in (0, 1, 2)
    ]

    assert bodies == [
        None,
        {"order": 17, "authorization": "••••••"},
        {"type": "ValueError", "message": "no such order"},
    ]
    for place in ("9", "-9", "x", "1" * 40, "²"):
        reply = await browser.send_request("GET", f"{path}/steps/{place}")
        assert reply.status == 404, place
    for query in ("limit=201", "after=x", "after=-3"):
        reply = await browser.send_request("GET", f"{path}/steps?{query}")
        assert reply.status == 400, query


async def test_a_step_that_runs_once_and_did_not_end_is_unknown(server: RunningServer) -> None:
    browser = await signed_in(server)
    path = await answered(server, browser)
    await server.parts.store.write(steps.interrupt, path.removeprefix(f"{RESPONSES}/"), 7)
    found = (await browser.send_request("GET", f"{path}/steps?after=5")).json

    (step,) = found["data"]
    assert (step["state"], step["ended_ms"], step["is_unknown"]) == ("begun", None, True)


async def test_another_tenant_sees_no_steps(server: RunningServer) -> None:
    path = await answered(server, await signed_in(server))
    other = await signed_in(server, Role.READ, tenant="other")
    for rest in ("steps", "steps/1"):
        assert (await other.send_request("GET", f"{path}/{rest}")).status == 404


async def test_a_response_of_a_model_has_none(stateful: RunningServer) -> None:
    browser = await signed_in(stateful)
    created = await browser.send_request("POST", "/v1/responses", {"model": "m", "input": "Hi"})
    path = f"{RESPONSES}/{created.json['id']}"
    details = (await browser.send_request("GET", path)).json

    assert details["has_steps"] is False
    assert (await browser.send_request("GET", f"{path}/steps")).json["data"] == []
