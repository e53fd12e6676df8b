"""The MCP server that a run brings along."""

from typing import Any

import aiohttp
import pytest

from antiphon_verify.judging import is_here
from antiphon_verify.mcp import LOST, TOOLS, answer, row, shelf
from antiphon_verify.tool_server import ToolServer


def requested(method: str, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def answered(message: dict[str, Any]) -> dict[str, Any]:
    stated = answer(message)
    assert stated is not None
    return stated


def test_it_lists_its_tools_and_calls_them() -> None:
    resolved = answered(requested("tools/call", name="lookup", arguments={"word": "antiphon"}))

    assert answered(requested("tools/list"))["result"]["tools"] == TOOLS
    assert resolved == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {
            "content": [{"type": "text", "text": shelf("antiphon")}],
            "structuredContent": {"row": row("antiphon")},
            "isError": False,
        },
    }


def test_a_tool_fails_in_its_own_words() -> None:
    result = answered(requested("tools/call", name="lose", arguments={}))["result"]

    assert result == {"content": [{"type": "text", "text": LOST}], "isError": True}


@pytest.mark.parametrize(
    "message",
    [requested("tools/dig"), requested("tools/call", name="dig"), requested("tools/call")],
)
def test_what_it_does_not_know_is_an_error_of_the_protocol(message: dict[str, Any]) -> None:
    assert answered(message)["error"]["code"] in (-32601, -32602)


def test_it_uses_the_requested_version() -> None:
    assert (
        answered(requested("initialize", protocolVersion="2026-01-01"))["result"]["protocolVersion"]
        == "2026-01-01"
    )
    assert answered(requested("initialize"))["result"]["capabilities"] == {"tools": {}}


def test_a_notification_wants_no_answer() -> None:
    assert answer({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None


async def test_requests_are_remembered_by_their_path() -> None:
    async with ToolServer() as server, aiohttp.ClientSession(headers={"X-Shelf": "1"}) as session:
        async with session.post(f"{server.url}/one", json=requested("ping")) as response:
            assert (response.status, (await response.json())["result"]) == (200, {})
        async with session.post(
            f"{server.url}/two", json={"method": "notifications/initialized"}
        ) as response:
            assert response.status == 202
        async with session.post(f"{server.url}/two", data=b"[]") as response:
            assert response.status == 400
        async with session.get(f"{server.url}/one") as response:
            assert response.status == 405
        received = server.received("/one").decode()

    assert '"ping"' in received and '"x-shelf": "1"' in received
    assert server.received("/three") == b"[]"


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8321/v1", True),
        ("http://localhost:8321/v1", True),
        ("http://[::1]:8321/v1", True),
        ("https://api.example/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://127.0.0.1.example/v1", False),
    ],
)
def test_only_a_server_on_this_machine_can_reach_it(url: str, here: bool) -> None:
    assert is_here(url) is here
