"""What tenants share of MCP servers: calls, sessions and known lists."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from antiphon.sharing.resources import SharedResources
from antiphon.tools.base import ToolListing
from antiphon.tools.mcp import lists, servers, sessions
from antiphon.tools.mcp.lists import Lists
from tests.integration.tools.mcp.raw import Content, raw
from tests.integration.tools.mcp.support import at, call, using
from tests.support.waiting import LoopClock, let_others_run, until

LIST = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
FOUND = {"content": [{"type": "text", "text": "found it"}]}


def send(method: str, params: Mapping[str, Any]) -> Content:
    """Answer everything but calls of the tool `hang`."""
    if method == "tools/list":
        return LIST
    return None if params["name"] == "hang" else FOUND


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight calls and eight sessions at once."""
    monkeypatch.setattr(servers, "AT_ONCE", 8)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 8)


@pytest.mark.usefixtures("few")
async def test_calls_that_never_return_leave_room_for_another_tenant() -> None:
    shared = SharedResources()
    async with raw(send) as server, using(shared=shared) as mcp:
        hung = [
            asyncio.create_task(call(mcp, at(f"{server.url}?{n}"), "hang", "a")) for n in range(20)
        ]
        await until(lambda: server.requested.count("tools/call") >= 6)
        outcome = await call(mcp, at(f"{server.url}?b"), "look", "b")
        assert outcome.fields == {"output": "found it", "error": None}
        assert shared.usage()["mcp_calls"].waiting > 0
        assert server.requested.count("tools/call") < 20
        for task in hung:
            task.cancel()
        await asyncio.wait(hung)


@pytest.mark.usefixtures("few")
async def test_waiting_for_a_turn_is_not_counted_in_a_calls_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(servers, "AT_ONCE", 1)
    async with raw(send) as server, using(timeout=0.5) as mcp:
        await mcp.list(at(server.url), "a")
        hung = [asyncio.create_task(call(mcp, at(server.url), "hang", "a")) for _ in range(2)]
        last = await call(mcp, at(server.url), "look", "a")
        outcomes = await asyncio.gather(*hung)
    assert [one.is_failed for one in (*outcomes, last)] == [True, True, False]


@pytest.mark.wide
@pytest.mark.usefixtures("few")
async def test_unused_sessions_make_room_for_new_ones() -> None:
    shared = SharedResources()
    async with raw(send) as server, using(shared=shared) as mcp:
        for tenant in ("a", "b"):
            for number in range(12):
                assert not (
                    await call(mcp, at(f"{server.url}?{tenant}{number}"), "look", tenant)
                ).is_failed
        assert 0 < shared.usage()["mcp_sessions"].in_use <= 8
    assert shared.usage()["mcp_sessions"].in_use == 0


async def test_only_a_few_sessions_begin_to_open_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SPAN", 3600.0)
    shared = SharedResources()
    async with raw(send) as server, using(shared=shared) as mcp:
        listed = [asyncio.create_task(mcp.list(at(f"{server.url}?{n}"), "a")) for n in range(20)]
        await until(lambda: sum(task.done() for task in listed) >= sessions.OPENINGS - 1)
        assert (await mcp.list(at(f"{server.url}?b"), "b")).tools
        assert server.requested.count("initialize") == sessions.OPENINGS
        assert shared.usage()["mcp_openings"].waiting == 20 - (sessions.OPENINGS - 1)
        for task in listed:
            task.cancel()
        await asyncio.wait(listed)


async def test_those_that_wait_for_one_session_take_one_turn_to_open_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "SPAN", 3600.0)
    shared = SharedResources()
    async with raw(send) as server, using(shared=shared) as mcp:
        calls = [asyncio.create_task(call(mcp, at(server.url), "look", "a")) for _ in range(20)]
        async with asyncio.timeout(30):
            assert not any(outcome.is_failed for outcome in await asyncio.gather(*calls))
        assert shared.usage()["mcp_openings"].in_use == 1


async def test_those_that_come_one_by_one_take_one_turn_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "SPAN", 3600.0)
    monkeypatch.setattr(servers, "loaded", let_others_run)
    shared = SharedResources()
    calls = []
    async with raw(send) as server, using(shared=shared) as mcp:
        for _ in range(20):  # one of them comes between the turn and the beginning of the session
            calls.append(asyncio.create_task(call(mcp, at(server.url), "look", "a")))
            await let_others_run(2)
        async with asyncio.timeout(30):
            assert not any(outcome.is_failed for outcome in await asyncio.gather(*calls))
        assert shared.usage()["mcp_openings"].in_use == 1


async def test_a_turn_that_no_session_used_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "OPENINGS", 1)
    shared = SharedResources()
    clock = LoopClock(monkeypatch)
    async with raw(send) as server, using(shared=shared) as mcp:
        left = asyncio.create_task(call(mcp, at(server.url), "look", "a"))
        await until(lambda: shared.usage()["mcp_openings"].in_use)
        left.cancel()
        await asyncio.wait({left})
        clock.advance(sessions.SPAN)
        assert not (await call(mcp, at(f"{server.url}?b"), "look", "a")).is_failed
        assert not (await call(mcp, at(server.url), "look", "a")).is_failed


async def test_a_call_that_cannot_even_wait_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "AT_ONCE", 1)
    monkeypatch.setattr(servers, "WAITING", 0)
    async with raw(send) as server, using() as mcp:
        hung = asyncio.create_task(call(mcp, at(server.url), "hang", "a"))
        await until(lambda: "tools/call" in server.requested)
        outcome = await call(mcp, at(server.url), "look", "a")
        hung.cancel()
        await asyncio.wait({hung})
    assert outcome.fields["error"]["message"].startswith("Too many calls of MCP servers")


async def test_lists_of_one_tenant_do_not_make_those_of_another_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lists, "MAX_LISTS", 4)
    known = Lists(60)
    requested = list[str]()

    def request(name: str) -> Callable[[], Awaitable[ToolListing]]:
        async def answer() -> ToolListing:
            requested.append(name)
            return ToolListing([{"name": name}])

        return answer

    await known.get(("mine", "b"), request("mine"))
    for number in range(10):
        await known.get((f"n{number}", "a"), request(f"n{number}"))
    await known.get(("mine", "b"), request("mine"))
    assert requested.count("mine") == 1


async def test_tools_that_are_left_out_are_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "antiphon")
    counted: dict[str, int] = {}
    bad = {
        "tools": [
            7,
            {"name": "a b", "inputSchema": {}},
            {"name": "c d", "inputSchema": {}},
            *LIST["tools"],
        ]
    }

    def count(flaw: str, by: int) -> None:
        counted[flaw] = counted.get(flaw, 0) + by

    async with (
        raw(lambda method, params: bad) as server,
        using(list_ttl=0, count_left_out=count) as mcp,
    ):
        for _ in range(2):
            assert len((await mcp.list(at(server.url))).tools) == 1
    assert counted == {"no_object": 2, "name": 4}
    words = [one.getMessage() for one in caplog.records if "cannot be used" in one.getMessage()]
    reasons = "2 with an invalid name, 1 that are not JSON objects"
    assert words == [f"Tools of the MCP server 'tests' cannot be used: {reasons}."]
