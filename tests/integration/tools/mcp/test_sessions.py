"""Sessions: shared, closed once nobody uses them, opened anew where a server has forgotten them or
was restarted.
"""

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest
from starlette.requests import Request
from starlette.responses import Response

from antiphon.protocol.tools import McpTool
from tests.integration.tools.mcp.support import at, call, program, using
from tests.support.mcp_server import TOOLS, McpServer, mcp_serving, tool
from tests.support.waiting import let_others_run, until

WAYS: dict[str, Callable[[McpServer], str]] = {
    "streamable http": lambda server: server.url,
    "events beside posts": lambda server: server.sse_url,
}


def begun(server: McpServer) -> int:
    """How many sessions began."""
    return server.times("initialize")


async def test_a_session_is_shared_only_for_the_same_server_credentials_and_tenant() -> None:
    async with mcp_serving(is_old=True) as server, using() as servers:
        for _ in range(2):
            await asyncio.gather(
                *(call(servers, at(server.url), "add", a=1, b=number) for number in range(5))
            )
        assert begun(server) == 1
        await call(servers, at(server.url), "add", "another", a=1, b=1)
        assert begun(server) == 2
        await call(servers, at(server.url, authorization="token"), "add", a=1, b=1)
        assert begun(server) == 3


async def test_an_unused_session_is_closed() -> None:
    async with mcp_serving(is_old=True) as server, using(idle=0.05) as servers:
        await call(servers, at(server.url), "add", a=1, b=1)
        await until(lambda: any(headers[":method"] == "DELETE" for headers in server.headers))
        outcome = await call(servers, at(server.url), "add", a=1, b=1)
    assert outcome.fields["output"] == "2"
    assert begun(server) == 2


@pytest.mark.wide
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_server_that_was_restarted_is_used_again(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using(list_ttl=0) as servers:
        requested = at(WAYS[way](server))
        assert len((await servers.list(requested)).tools) == len(TOOLS)
        await server.stop()
        await server.start()
        assert len((await servers.list(requested)).tools) == len(TOOLS)
        await server.stop()
        await server.start()
        outcome = await call(servers, requested, "count")
    assert outcome.fields == {"output": "1", "error": None}
    assert server.counted == 1


@pytest.mark.wide
async def test_an_expired_session_is_opened_again_and_the_call_runs_once() -> None:
    async with mcp_serving(is_old=True) as server, using(list_ttl=0) as servers:
        requested = at(server.url)
        await servers.list(requested)
        server.drop_sessions()
        outcome = await call(servers, requested, "count")
        server.drop_sessions()
        listing = await servers.list(requested)
    assert outcome.fields == {"output": "1", "error": None}
    assert server.counted == 1
    assert len(listing.tools) == len(TOOLS)
    assert begun(server) == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_call_that_may_have_run_is_not_repeated(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        requested = at(WAYS[way](server))
        calling = asyncio.create_task(call(servers, requested, "slow"))
        await server.reached.wait()
        await server.stop()
        await server.start()
        outcome = await calling
    assert outcome.is_failed
    assert outcome.fields["error"]["type"] == "http_error"
    assert outcome.fields["error"]["code"] == 0
    assert server.called == [("slow", {})]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_disconnected_caller_cancels_only_its_own_call(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        requested = at(WAYS[way](server))
        staying = asyncio.create_task(call(servers, requested, "slow"))
        await server.reached.wait()
        server.reached.clear()
        going = asyncio.create_task(call(servers, requested, "slow"))
        await server.reached.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert (await call(servers, requested, "add", a=1, b=1)).fields["output"] == "2"
        server.release.set()
        assert (await staying).fields["output"] == "at last"
    assert (
        server.requested.count("server/discover")
        == {"streamable http": 1, "events beside posts": 2}[way]
    )


@pytest.mark.wide
async def test_closing_ends_every_program_and_every_call() -> None:
    before = children()  # those of other tests, such as a PostgreSQL
    async with using(program()) as servers:
        calling = asyncio.create_task(call(servers, McpTool(server_label="program"), "slow"))
        await until(lambda: children() - before)
        await servers.close()
        assert children() <= before
        assert (await calling).is_failed


def children() -> set[int]:
    """Programs that this process started and that are still there."""
    return {int(one) for one in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


@pytest.mark.wide
async def test_a_session_of_events_carries_more_in_its_life_than_one_answer_may_have() -> None:
    async with mcp_serving() as server, using() as servers:
        requested = at(server.sse_url)
        for _ in range(12):
            outcome = await call(servers, requested, "big", size=900_000)
            assert not outcome.is_failed
    assert server.requested.count("server/discover") == 2


@pytest.mark.wide
@pytest.mark.parametrize("way", WAYS)
async def test_every_caller_receives_its_own_answer_however_many_disconnect(way: str) -> None:
    chance = random.Random(7)
    async with mcp_serving() as server, using() as servers:
        requested = at(WAYS[way](server))
        calls = {f"nonce-{number}": chance.random() < 0.5 for number in range(60)}
        tasks = {
            nonce: asyncio.create_task(call(servers, requested, "echo", text=nonce))
            for nonce in calls
        }
        for nonce, goes in calls.items():
            if goes:
                await let_others_run(chance.randrange(40))
                tasks[nonce].cancel()
        await asyncio.wait(set(tasks.values()))
        answers = {
            nonce: task.result().fields["output"]
            for nonce, task in tasks.items()
            if not task.cancelled()
        }
    assert answers == {nonce: nonce for nonce in answers}
    assert set(answers) >= {nonce for nonce, goes in calls.items() if not goes}


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_behind_once_all_is_closed(way: str) -> None:
    async with mcp_serving(token="right") as server:
        before = asyncio.all_tasks()
        async with using(timeout=0.2) as servers:
            requested = at(WAYS[way](server), authorization="right")
            await servers.list(requested)
            await call(servers, requested, "slow")
            await call(servers, at(WAYS[way](server), authorization="wrong"), "add", a=1, b=1)
            await call(servers, at("http://127.0.0.1:1/mcp"), "add", a=1, b=1)
        left = {task.get_coro().__qualname__ for task in asyncio.all_tasks() - before}  # type: ignore[union-attr]
    assert not {name for name in left if "antiphon" in name or "Session" in name or "mcp" in name}


async def test_arguments_that_a_server_wants_as_headers_are_sent_as_such_also_by_a_new_session() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    routed = tool("route", "Route it.", region="string")
    routed.input_schema["properties"]["region"]["x-mcp-header"] = "Region"
    async with mcp_serving(tools=[routed, *TOOLS]) as server, using(idle=0) as servers:
        await servers.list(at(server.url))
        outcome = await call(servers, at(server.url), "route", region="north")
    assert [name for name, _ in server.called] == ["route"]
    assert [
        headers["mcp-param-region"] for headers in server.headers if "mcp-param-region" in headers
    ] == ["north"]
    assert outcome.fields["error"]["message"] == "There is no working 'route' here."


async def test_an_event_that_is_too_long_ends_the_call_and_not_the_server() -> None:
    async with mcp_serving() as server, using() as servers:
        requested = at(server.sse_url)
        outcome = await call(servers, requested, "big", size=3_000_000)
        after = await call(servers, requested, "add", a=1, b=1)
    assert outcome.fields["error"]["message"].endswith("the connection was closed.")
    assert after.fields["output"] == "2"


async def test_a_server_that_demands_constant_polling_is_polled_at_a_limited_rate() -> None:
    async with mcp_serving(is_old=True) as server, using() as servers:

        async def brief(request: Request) -> Response | None:
            if request.method != "GET":
                return None
            return Response("retry: 0\ndata:\n\n", media_type="text/event-stream")

        server.answer = brief
        began = monotonic()
        await call(servers, at(server.url), "add", a=1, b=1)
        await until(lambda: sum(headers[":method"] == "GET" for headers in server.headers) >= 4)
        took = monotonic() - began
    assert took >= 3 * 0.2


@pytest.mark.parametrize("is_old", [False, True])
async def test_arguments_that_cannot_be_encoded_fail_only_their_own_call(is_old: bool) -> None:
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        requested = at(server.url)
        staying = asyncio.create_task(call(servers, requested, "slow"))
        await server.reached.wait()
        half = await call(servers, requested, "echo", text="a\ud800b")
        odd = await call(servers, requested, "\udfffé\r\nx: y")
        too_deep = await call(servers, requested, "echo", text=deep)
        server.release.set()
        assert (await staying).fields["output"] == "at last"
    assert half.fields["output"] == "ab"
    assert odd.is_failed
    assert too_deep.is_failed
