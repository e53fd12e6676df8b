"""Servers that hang are left alone for a while, so that they do not cost everybody the whole time
limit.
"""

from threading import Event

import pytest

from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.outbound.ssrf import Reach
from antiphon.tools.mcp import servers as module
from antiphon.tools.mcp.sessions import MOST_PAUSES, Pauses
from tests.integration.tools.mcp.raw import Content, raw
from tests.integration.tools.mcp.support import HERE, at, call, names, using

GOOD = {"tools": [{"name": "good", "inputSchema": {"type": "object"}}]}


def test_pauses_grow_to_a_minute_and_restart_after_an_answer() -> None:
    now = 0.0
    pauses = Pauses(lambda: now)
    lengths = []
    for _ in range(5):
        pauses.begin("a")
        pauses.begin("a")
        began = now
        while pauses.has("a"):
            now += 1
        lengths.append(now - began)
    pauses.end("a")
    pauses.begin("a")
    now += 9.5
    assert lengths == [10, 20, 40, 60, 60]
    assert pauses.has("a")
    now += 0.5
    assert not pauses.has("a")


def test_only_so_many_are_left_alone_at_once() -> None:
    pauses = Pauses(lambda: 0.0)
    for number in range(MOST_PAUSES + 1):
        pauses.begin(str(number))
    assert (pauses.has("0"), pauses.has("1"), pauses.has(str(MOST_PAUSES))) == (False, True, True)


async def test_a_server_that_hangs_costs_the_limit_once_and_not_each_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LIST_TIMEOUT", 0.5)
    async with raw(lambda method, params: None) as server, using(list_ttl=0) as servers:
        first = await servers.list(at(server.url))
        requested = list(server.requested)
        second = await servers.list(at(server.url), "another")
        outcome = await call(servers, at(server.url), "good")
        assert server.requested == requested
    assert first.error == "The MCP server 'tests' did not answer within 0.5 seconds."
    assert "did not answer in time" in second.error
    assert outcome.fields["error"]["message"] == second.error


async def test_a_tool_that_takes_too_long_is_no_server_that_hangs() -> None:
    def send(method: str, params: object) -> Content:
        return GOOD if method == "tools/list" else None

    async with raw(send) as server, using(list_ttl=0, timeout=0.3) as servers:
        await servers.list(at(server.url))
        assert (await call(servers, at(server.url), "good")).is_failed
        assert names((await servers.list(at(server.url))).tools) == ["good"]


async def test_a_server_that_refuses_the_connection_is_retried() -> None:
    async with using(list_ttl=0) as servers:
        for _ in range(2):
            listing = await servers.list(at("http://127.0.0.1:1/mcp"))
            assert listing.error == "The MCP server 'tests' failed: it is unreachable."


async def test_a_name_that_is_never_resolved_costs_the_limit_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.outbound.lookups.SECONDS", 0.05)
    requested = list[str]()
    over = Event()

    def hang(name: str) -> list[str]:
        requested.append(name)
        over.wait(30)
        return []

    reach = Reach(HERE.networks, resolve=Lookups(lookup_turns(), hang))
    async with using(reach=reach, list_ttl=0) as servers:
        errors = [(await servers.list(at("https://hung.example/mcp"))).error for _ in range(2)]
    over.set()
    assert "is unreachable" in errors[0]
    assert "Try again in a moment" in errors[1]
    assert requested == ["hung.example"]
