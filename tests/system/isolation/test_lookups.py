"""Names of A whose DNS server never answers take no lookup from B."""

import asyncio
import os
from pathlib import Path

from tests.integration.tools.mcp.raw import raw
from tests.support.callers import mcp
from tests.support.hanging import HERE, HUNG, resolver, wait_for_lookups
from tests.support.receiver import receiving
from tests.support.replay import ReplayBackend
from tests.support.rivals import Tenant, rivals

NAMES = 60
SETTINGS = """
outgoing_networks = ["127.0.0.0/8", "::1"]
webhook_private_addresses = true
check_interval = 0
mcp_list_failure = "continue"
connect_timeout = 30
"""
TOOL = {"name": "look", "inputSchema": {"type": "object"}}


async def listed(tenant: Tenant, url: str) -> object:
    """The error of an MCP server's list, None where it has none."""
    status, response = await tenant.respond(tools=[mcp(url)])
    assert status == 200, response
    (item,) = (one for one in response["output"] if one["type"] == "mcp_list_tools")
    return item.get("error")


async def test_names_that_are_never_resolved_take_no_lookup_from_another_tenant(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "antiphon.toml").write_text(SETTINGS)
    paths = resolver(tmp_path / "resolver", os.environ.get("PYTHONPATH", ""))
    store = f"sqlite://{tmp_path}/antiphon.db"
    async with (
        raw(lambda method, params: {"tools": [TOOL]}) as server,
        receiving() as receiver,
        rivals(tmp_path, store, backend.url, PYTHONPATH=paths) as two,
    ):
        assert await listed(two.b, server.url) is None  # what speaks MCP is loaded
        hung = [
            asyncio.create_task(two.a.respond(tools=[mcp(f"https://a-{number}{HUNG}/mcp")]))
            for number in range(NAMES)
        ]
        await wait_for_lookups(tmp_path / "resolver", 8)
        assert not any(task.done() for task in hung)
        assert await listed(two.b, server.url.replace("127.0.0.1", f"new{HERE}")) is None
        hook = receiver.url.replace("127.0.0.1", f"hook{HERE}")
        events = ["response.completed"]
        status, _ = await two.b.send_request(
            "POST", "/webhook_endpoints", name="n", url=hook, event_types=events
        )
        assert status == 200
        await two.b.respond(background=True)
        await receiver.wait_for(1)
        assert not any(task.done() for task in hung), (
            "A's names were given up before B's were resolved"
        )
        for task in hung:
            task.cancel()
        await asyncio.wait(hung)
