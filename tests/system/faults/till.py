"""An MCP server that counts what it is charged with, by the key in each call's arguments, and sees
who calls.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.support.web_app import serving_app

TOOL = {
    "name": "charge",
    "description": "Charge for a key. It is not to be done twice.",
    "inputSchema": {
        "type": "object",
        "properties": {"key": {"type": "string"}},
        "required": ["key"],
    },
}

Hook = Callable[[str, int], Awaitable[None]]
"""Is told the key of a call and the port from which it came."""


async def nothing(key: str, port: int) -> None:
    """Do nothing."""


@dataclass
class Till:
    """`charged` holds how often each key was charged; the hooks run before and after an answer goes
    out.
    """

    url: str = ""
    charged: dict[str, int] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    """Keys whose answer was sent to the last byte."""
    before: Hook = nothing
    after: Hook = nothing

    async def take(self, request: web.Request) -> web.StreamResponse:
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        if message["method"] == "tools/call":
            return await self._charge(request, message)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], **_answer(message)})

    async def _charge(self, request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        key = message["params"]["arguments"]["key"]
        port = request.transport.get_extra_info("peername")[1] if request.transport else 0
        self.charged[key] = self.charged.get(key, 0) + 1
        await self.before(key, port)
        result = {"content": [{"type": "text", "text": receipt(key)}], "isError": False}
        answer = web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})
        with suppress(ConnectionError):  # who asked was killed
            await answer.prepare(request)
            await answer.write_eof()
            self.answered.add(key)
        await self.after(key, port)
        return answer


def receipt(key: str) -> str:
    """What is said of a key that was charged."""
    return f"charged {key}"


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            greeting = {
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "till", "version": "1"},
            }
            return {"result": {"protocolVersion": message["params"]["protocolVersion"], **greeting}}
        case "tools/list":
            return {"result": {"tools": [TOOL]}}
        case "ping":
            return {"result": {}}
        case other:
            return {"error": {"code": -32601, "message": f"Method not found: {other}"}}


def owner_of(port: int, pids: Iterable[int]) -> int | None:
    """Return which of these processes has a connection from this port of 127.0.0.1, None where none
    has.
    """
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {f"socket:[{line[9]}]" for line in lines if line[1] == f"0100007F:{port:04X}"}
    for pid in pids:
        with suppress(OSError):
            if any(
                str(handle.readlink()) in inodes for handle in Path(f"/proc/{pid}/fd").iterdir()
            ):
                return pid
    return None


@asynccontextmanager
async def charging() -> AsyncIterator[Till]:
    """Run the server."""
    till = Till()
    app = web.Application()
    app.router.add_post("/mcp", till.take)
    async with serving_app(app) as origin:
        till.url = f"{origin}/mcp"
        yield till
