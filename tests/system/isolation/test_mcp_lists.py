"""One bad tool in an MCP server's list costs that tool alone, and the words of errors are our
own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.integration.tools.mcp.raw import Content, raw
from tests.support.callers import mcp
from tests.support.replay import ReplayBackend
from tests.support.rivals import rivals

SETTINGS = (
    'outgoing_networks = ["127.0.0.0/8"]\ncheck_interval = 0\nmcp_list_failure = '
    '"continue"\nconnect_timeout = 30\n'
)
GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


BAD: dict[str, Any] = {
    "schema 200 deep": {"name": "bad", "inputSchema": deep(200)},
    "no schema": {"name": "bad", "inputSchema": [1]},
    "bad name": {"name": "two words", "inputSchema": {"type": "object"}},
    "no object": 7,
}


@pytest.mark.parametrize("bad", BAD)
async def test_one_malformed_tool_is_left_out_of_a_list(
    tmp_path: Path, backend: ReplayBackend, bad: str
) -> None:
    item = await listed(tmp_path, backend, lambda method, params: {"tools": [BAD[bad], GOOD]})
    assert "error" not in item
    assert [tool["name"] for tool in item["tools"]] == ["good"]


@pytest.mark.parametrize(
    "body", ["[" * 100_000, "{}", '{"jsonrpc":"2.0","id":3,"result":7}', "no JSON"]
)
async def test_what_is_no_list_is_reported_in_our_own_words(
    tmp_path: Path, backend: ReplayBackend, body: str
) -> None:
    def send(method: str, params: Mapping[str, Any]) -> Content:
        return web.Response(text=body, content_type="application/json")

    item = await listed(tmp_path, backend, send)
    assert item["error"]
    for word in ("pydantic", "http", "validation error", "For further information"):
        assert word not in str(item["error"]).replace("http_error", "")


async def listed(tmp_path: Path, backend: ReplayBackend, state: Any) -> dict[str, Any]:
    """The item of the list that a client gets."""
    (tmp_path / "antiphon.toml").write_text(SETTINGS)
    async with (
        raw(state) as server,
        rivals(tmp_path, f"sqlite://{tmp_path}/antiphon.db", backend.url) as two,
    ):
        status, response = await two.a.respond(tools=[mcp(server.url)])
    assert status == 200, response
    item: dict[str, Any] = next(
        one for one in response["output"] if one["type"] == "mcp_list_tools"
    )
    return item
