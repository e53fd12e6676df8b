"""The run's MCP server, on this machine's loopback: Streamable HTTP without sessions.

It records the messages that it receives, by path, so that a case sees what reached it.
"""

import asyncio
import json
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from antiphon_verify.exchange import parsed
from antiphon_verify.mcp import SILENT, answer

HERE = "127.0.0.1"

MAX_RECEIVED = 1000
"""Messages that are recorded of each path."""


class ToolServer:
    """An asynchronous context manager; `url` is where it listens."""

    def __init__(self) -> None:
        self.url = ""
        self._received: dict[str, list[dict[str, Any]]] = {}

    def received(self, path: str) -> bytes:
        """Return the messages received under a path: a JSON list, each message with the `headers`
        of its request.
        """
        return json.dumps(self._received.get(path, [])).encode()

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/{path:.*}", self._take)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HERE, 0).start()
        self.url = f"http://{HERE}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.StreamResponse:
        message = parsed(await request.read())
        if not isinstance(message, dict):
            return web.json_response(
                {"error": {"code": -32700, "message": "Parse error"}}, status=400
            )
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = self._received.setdefault(request.path, [])
        received += [message | {"headers": headers}][: MAX_RECEIVED - len(received)]
        if request.path == SILENT and message.get("method") == "tools/call":
            await asyncio.Event().wait()
        reply = answer(message)
        return web.Response(status=202) if reply is None else web.json_response(reply)
