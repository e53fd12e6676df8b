"""What the operator learns of servers that fail: once when one begins to, and once when it works
again.
"""

import sys

import pytest
from aiohttp import web

from antiphon.config import McpServerConfig
from antiphon.protocol.tools import McpTool
from tests.integration.tools.mcp.raw import raw
from tests.integration.tools.mcp.support import at, call, using
from tests.support.mcp_server import mcp_serving

OURS = McpTool(server_label="ours")


def reported(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "antiphon"]


async def test_an_outage_of_a_configured_server_is_reported_once_and_its_recovery_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "antiphon")
    async with mcp_serving() as server:
        configured = McpServerConfig(label="ours", url=f"{server.url}?key=hidden")
        async with using(configured, list_ttl=0) as servers:
            await servers.list(OURS)
            await server.stop()
            for _ in range(2):
                await servers.list(OURS)
            await call(servers, OURS, "add", a=1, b=1)
            await server.start()
            for _ in range(2):
                await servers.list(OURS)
    assert reported(caplog) == [
        ("WARNING", "The MCP server 'ours' failed: it is unreachable."),
        ("INFO", "The MCP server 'ours' works again."),
    ]


async def test_a_list_that_fails_is_not_mended_by_calls_that_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "antiphon")

    def send(method: str, params: object) -> dict[str, object] | web.Response:
        if method == "tools/call":
            return {"content": []}
        error = {"code": -32603, "message": "Words of the server."}
        return web.json_response({"jsonrpc": "2.0", "id": None, "error": error}, status=500)

    async with (
        raw(send) as server,
        using(McpServerConfig(label="ours", url=server.url), list_ttl=0) as servers,
    ):
        for _ in range(2):
            listing = await servers.list(OURS)
            assert not (await call(servers, OURS, "good")).is_failed
    assert listing.error == "The MCP server 'ours' returned: Words of the server."
    ((level, message),) = reported(caplog)
    assert level == "WARNING"
    assert "'ours' failed: " in message and message.endswith(" with the code -32603.")


async def test_servers_named_by_requests_or_receiving_credentials_are_logged_at_debug_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "antiphon")
    async with mcp_serving(token="right") as server:
        configured = McpServerConfig(label="ours", url=server.url)
        async with using(configured) as servers:
            assert (await servers.list(at("http://127.0.0.1:1/mcp"))).error
            assert (
                await servers.list(McpTool(server_label="ours", authorization="wrong-token"))
            ).error
    assert reported(caplog) == []


async def test_an_address_without_an_mcp_server_is_reported_with_its_label_and_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        raw(lambda method, params: web.Response(text="<p>", content_type="text/html")) as server,
        using(McpServerConfig(label="ours", url=server.url)) as servers,
    ):
        listing = await servers.list(OURS)
    assert listing.error == "The MCP server 'ours' returned text/html: check the URL."
    assert reported(caplog) == [("WARNING", listing.error)]


async def test_the_exit_status_of_a_program_is_public_and_its_output_is_for_the_operator(
    caplog: pytest.LogCaptureFixture,
) -> None:
    code = (
        "import os, sys; print('one\\n\\x1b[31mNo', os.environ['A_TOKEN'], 'x' * 900, "
        "file=sys.stderr); sys.exit(2)"
    )
    configured = McpServerConfig(
        label="ours", command=sys.executable, args=["-c", code], env=["A_TOKEN"]
    )
    async with using(configured, environment={"A_TOKEN": "secret-token"}) as servers:
        listing = await servers.list(OURS)
    ((level, message),) = reported(caplog)
    assert listing.error == "The MCP server 'ours' failed: its program exited with status 2."
    assert level == "WARNING"
    begin = (
        "The MCP server 'ours' failed: its program exited with status 2; its last output:  "
        "[31mNo [removed] xxx"
    )
    assert message.startswith(begin)
    assert len(message) < 600
