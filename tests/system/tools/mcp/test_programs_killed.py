"""Programs that serve MCP, killed."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from antiphon.protocol.tools import McpTool
from tests.integration.tools.mcp.support import call, program, using


async def test_a_dead_program_is_restarted_and_a_call_in_progress_is_not_repeated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "antiphon")
    others = children()  # what other tests share
    async with using(program(), list_ttl=0) as servers:
        requested = McpTool(server_label="program")
        await servers.list(requested)
        calling = asyncio.create_task(call(servers, requested, "slow"))
        # What a program says on its standard error is a line of the debug log.
        async with asyncio.timeout(20):
            while "MCP server 'program': slow was called" not in caplog.text:
                await asyncio.sleep(0.01)
        for child in children() - others:
            os.kill(child, signal.SIGKILL)
        outcome = await calling
        again = await call(servers, requested, "count")
    assert outcome.fields["error"] == {
        "type": "http_error",
        "code": 0,
        "message": "The MCP server 'program' failed: its program exited with status -9.",
    }
    assert again.fields["output"] == "1"


def children() -> set[int]:
    """The processes that this one has started, in any of its threads."""
    return {
        int(one)
        for path in Path("/proc/self/task").glob("*/children")
        for one in path.read_text().split()
    }
