"""Sessions: shared, closed once nobody uses them, opened anew where a server has forgotten them or was restarted."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.protocol.tools import McpTool
from tests.support.mcp_server import TOOLS, McpServer, mcp_serving
from tests.tools.mcp.support import at, call, program, using

WAYS: dict[str, Callable[[McpServer], str]] = {
    "streamable http": lambda server: server.url,
    "events beside posts": lambda server: server.sse_url,
}


def begun(server: McpServer) -> int:
    """How many sessions began."""
    return server.times("initialize")


async def test_a_session_is_shared_by_the_same_server_credentials_and_tenant_and_by_nobody_else() -> None:
    async with mcp_serving(is_old=True) as server, using() as servers:
        for _ in range(2):
            await asyncio.gather(*(call(servers, at(server.url), "add", a=1, b=number) for number in range(5)))
        assert begun(server) == 1
        await call(servers, at(server.url), "add", "another", a=1, b=1)
        assert begun(server) == 2
        await call(servers, at(server.url, authorization="token"), "add", a=1, b=1)
        assert begun(server) == 3


async def test_a_session_that_nobody_uses_is_closed() -> None:
    async with mcp_serving(is_old=True) as server, using(idle=0.05) as servers:
        await call(servers, at(server.url), "add", a=1, b=1)
        async with asyncio.timeout(10):
            while not any(headers[":method"] == "DELETE" for headers in server.headers):
                await asyncio.sleep(0.01)
        outcome = await call(servers, at(server.url), "add", a=1, b=1)
    assert outcome.fields["output"] == "2"
    assert begun(server) == 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_server_that_was_restarted_is_used_again(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using(list_ttl=0) as servers:
        asked = at(WAYS[way](server))
        assert len((await servers.list(asked)).tools) == len(TOOLS)
        await server.stop()
        await server.start()
        assert len((await servers.list(asked)).tools) == len(TOOLS)
        await server.stop()
        await server.start()
        outcome = await call(servers, asked, "count")
    assert outcome.fields == {"output": "1", "error": None}
    assert server.counted == 1


async def test_a_session_that_the_server_has_forgotten_is_opened_anew_and_the_call_made_once() -> None:
    async with mcp_serving(is_old=True) as server, using(list_ttl=0) as servers:
        asked = at(server.url)
        await servers.list(asked)
        server.drop_sessions()
        outcome = await call(servers, asked, "count")
        server.drop_sessions()
        listing = await servers.list(asked)
    assert outcome.fields == {"output": "1", "error": None}
    assert server.counted == 1
    assert len(listing.tools) == len(TOOLS)
    assert begun(server) == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_call_that_may_have_been_carried_out_is_not_made_again(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        asked = at(WAYS[way](server))
        calling = asyncio.create_task(call(servers, asked, "slow"))
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
async def test_a_caller_who_goes_away_takes_only_their_own_call_along(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        asked = at(WAYS[way](server))
        staying = asyncio.create_task(call(servers, asked, "slow"))
        await server.reached.wait()
        server.reached.clear()
        going = asyncio.create_task(call(servers, asked, "slow"))
        await server.reached.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert (await call(servers, asked, "add", a=1, b=1)).fields["output"] == "2"
        server.release.set()
        assert (await staying).fields["output"] == "at last"
    assert server.asked.count("server/discover") == {"streamable http": 1, "events beside posts": 2}[way]


async def test_a_program_that_died_is_started_anew_and_a_call_under_way_is_not_repeated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "antiphon")
    async with using(program(), list_ttl=0) as servers:
        asked = McpTool(server_label="program")
        await servers.list(asked)
        calling = asyncio.create_task(call(servers, asked, "slow"))
        # What a program says on its standard error is a line of the debug log.
        async with asyncio.timeout(20):
            while "MCP server 'program': slow was called" not in caplog.text:
                await asyncio.sleep(0.01)
        for child in children():
            os.kill(child, signal.SIGKILL)
        outcome = await calling
        again = await call(servers, asked, "count")
    assert outcome.fields["error"] == {
        "type": "http_error",
        "code": 0,
        "message": "The MCP server 'program' failed: its program has ended.",
    }
    assert again.fields["output"] == "1"


async def test_closing_ends_every_program_and_every_call() -> None:
    async with using(program()) as servers:
        calling = asyncio.create_task(call(servers, McpTool(server_label="program"), "slow"))
        async with asyncio.timeout(20):
            while not children():
                await asyncio.sleep(0.01)
        await servers.close()
        assert children() == []
        assert (await calling).is_failed


def children() -> list[int]:
    """Programs that this process started and that are still there."""
    return [int(one) for one in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
