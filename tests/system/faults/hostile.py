"""Tenant A, who attacks the servers while they are killed: nothing of B's may be lost for it."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.web_app import serving_app
from tests.system.faults.clients import TROUBLE
from tests.system.faults.cluster import Node

SETTINGS = "webhook_private_addresses = true\n"
"""What the servers' file of settings says, so that A can name a receiver on this machine."""

LARGE = 512 * 1024
"""Bytes of an item or message."""

PATIENCE = aiohttp.ClientTimeout(total=10)

PAUSE = 0.1
"""Seconds between two attempts of one kind."""


@dataclass
class Hostile:
    """`run` attacks until it is cancelled; `done` counts by kind what the servers accepted."""

    http: aiohttp.ClientSession
    nodes: list[Node]
    dice: random.Random
    receiver: str
    done: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        """Attack in every way at once."""
        kinds = [self._jobs, self._jobs, self._webhooks, self._conversation, self._socket]
        await asyncio.gather(*(self._again(kind) for kind in kinds))

    async def _again(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await act()
                name = act.__name__.strip("_")
                self.done[name] = self.done.get(name, 0) + 1
            except TROUBLE:
                pass
            await asyncio.sleep(PAUSE)

    async def _send(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST to any node. Raises one of `TROUBLE` where that is not accepted."""
        url = self.dice.choice(self.nodes).url + path
        async with self.http.post(url, json=body, timeout=PATIENCE, raise_for_status=True) as reply:
            return dict(await reply.json())

    async def _jobs(self) -> None:
        """Background responses, ten at a time."""
        body = {"model": "m", "input": "hostile", "background": True}
        await asyncio.gather(*(self._send("/responses", body) for _ in range(10)))

    async def _webhooks(self) -> None:
        """Endpoints whose receiver never answers."""
        body = {"name": "hostile", "url": self.receiver, "event_types": ["response.completed"]}
        await self._send("/webhook_endpoints", body)

    async def _conversation(self) -> None:
        """A large conversation, which is listed as a whole."""
        created = await self._send("/conversations", {})
        path = f"/conversations/{created['id']}/items"
        item = {"type": "message", "role": "user", "content": "x" * LARGE}
        for _ in range(4):
            await self._send(path, {"items": [item]})
        url = f"{self.dice.choice(self.nodes).url}{path}?limit=100"
        async with self.http.get(url, timeout=PATIENCE, raise_for_status=True) as reply:
            await reply.read()

    async def _socket(self) -> None:
        """A WebSocket on which one response runs and large messages wait."""
        url = f"{self.dice.choice(self.nodes).url}/responses"
        async with asyncio.timeout(10), self.http.ws_connect(url, max_msg_size=0) as socket:
            for blanks in (0, LARGE, LARGE, LARGE):
                body = {
                    "type": "response.create",
                    "model": "m",
                    "input": "hostile" + " " * blanks,
                    "store": False,
                }
                await socket.send_str(json.dumps(body))
            await socket.receive()


@asynccontextmanager
async def attacking(
    nodes: list[Node], headers: dict[str, str], dice: random.Random
) -> AsyncIterator[Hostile]:
    """Attack these nodes until the end of the block."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with (
        serving_app(_silent(), handler_cancellation=True) as origin,
        aiohttp.ClientSession(headers=headers, connector=connector) as http,
    ):
        hostile = Hostile(http, nodes, dice, f"{origin}/")
        running = asyncio.create_task(hostile.run())
        try:
            yield hostile
        finally:
            running.cancel()
            (outcome,) = await asyncio.gather(running, return_exceptions=True)
    if not isinstance(outcome, asyncio.CancelledError) and isinstance(outcome, BaseException):
        raise outcome


def _silent() -> web.Application:
    """A receiver that never answers."""

    async def hang(request: web.Request) -> web.Response:
        await asyncio.sleep(3600)
        return web.Response()

    app = web.Application()
    app.router.add_post("/", hang)
    return app
