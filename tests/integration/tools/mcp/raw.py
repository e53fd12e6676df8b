"""A server that is written by hand, to say what the SDK's would not: it knows the handshake, and
what a test adds.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.web_app import serving_app

Content = Mapping[str, Any] | web.StreamResponse | BaseException | None
"""A result, or a whole answer; None for no answer at all."""

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}


@dataclass
class Raw:
    """`say` is asked for the answer to each request but those of the handshake, by method and
    parameters.
    """

    send_text: Callable[[str, Mapping[str, Any]], Content]
    url: str = ""
    requests: list[web.Request] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    """Of every result."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        self.requests.append(request)
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        method = message["method"]
        self.requested.append(method)
        if "id" not in message:
            return web.Response(status=202)
        if method == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        stated = (
            HELLO if method == "initialize" else self.send_text(method, message.get("params") or {})
        )
        if stated is None:
            await asyncio.Event().wait()
        if isinstance(stated, web.StreamResponse):
            return stated
        return web.json_response(
            {"jsonrpc": "2.0", "id": message["id"], "result": stated}, headers=self.headers
        )


@asynccontextmanager
async def raw(
    state: Callable[[str, Mapping[str, Any]], Content], tls: ssl.SSLContext | None = None
) -> AsyncIterator[Raw]:
    """Run such a server on a port of its own."""
    server = Raw(state)
    async with serving(server.answer, tls) as host:
        server.url = f"{host}/mcp"
        yield server


def serving(
    answer: Callable[[web.Request], Any], tls: ssl.SSLContext | None = None
) -> AbstractAsyncContextManager[str]:
    """Answer every request to a port of its own; gives the origin."""
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", answer)
    return serving_app(app, tls)
