"""MCP calls of A that never return take no session from B."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.tools.mcp.raw import Content, Raw, raw
from tests.support.callers import calling, mcp
from tests.support.replay import Answer, ReplayBackend
from tests.support.rivals import rivals

SLOTS = 32
SHARE = 26
CALLS = 40
LIMITS = f"""
import antiphon.tools.mcp.servers as servers
import antiphon.tools.mcp.sessions as sessions
servers.AT_ONCE = sessions.MOST_SESSIONS = {SLOTS}
"""
"""What each Python process of the test loads. A session costs 50 ms of CPU, so there are fewer than
the usual 256.
"""
SETTINGS = 'outgoing_networks = ["127.0.0.0/8"]\ncheck_interval = 0\nconnect_timeout = 30\n'
LIST = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}


def call_it(request: dict[str, Any]) -> Answer:
    """Call the one tool, if there is one."""
    return calling(request, *((tool["function"]["name"], {}) for tool in request.get("tools", ())))


def never(method: str, params: Mapping[str, Any]) -> Content:
    return LIST if method == "tools/list" else None


def at_once(method: str, params: Mapping[str, Any]) -> Content:
    return LIST if method == "tools/list" else {"content": [{"type": "text", "text": "found it"}]}


async def until_called(server: Raw, count: int) -> None:
    async with asyncio.timeout(60):
        while server.requested.count("tools/call") < count:
            await asyncio.sleep(0.02)


async def test_calls_that_never_return_take_no_session_from_another_tenant(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "antiphon.toml").write_text(SETTINGS)
    paths = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    (tmp_path / "sitecustomize.py").write_text(LIMITS)
    backend.script = call_it
    store = f"sqlite://{tmp_path}/antiphon.db"
    async with (
        raw(never) as silent,
        raw(at_once) as quick,
        rivals(tmp_path, store, backend.url, PYTHONPATH=paths) as two,
    ):
        hung = [
            asyncio.create_task(two.a.respond(tools=[mcp(f"{silent.url}?number={number}")]))
            for number in range(CALLS)
        ]
        await until_called(silent, SHARE)
        status, response = await two.b.respond(tools=[mcp(quick.url)])
        assert status == 200, response
        kinds = [(item["type"], item.get("error")) for item in response["output"]]
        assert kinds == [("mcp_list_tools", None), ("mcp_call", None), ("message", None)]
        assert response["output"][-1]["content"][0]["text"] == "found it"
        assert silent.requested.count("tools/call") == SHARE
        for task in hung:
            task.cancel()
        await asyncio.wait(hung)
