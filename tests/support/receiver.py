"""An HTTP server that receives webhooks, and answers what it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.support.web_app import serving_app


@dataclass
class Receiver:
    """`received` holds headers and body of each delivery; `statuses` are answered one after the
    other, then 200.
    """

    url: str = ""
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for(self, count: int) -> None:
        """Wait until so many deliveries came."""
        async with asyncio.timeout(30):
            while len(self.received) < count:
                self.news.clear()
                await self.news.wait()

    def events_of(self, response_id: str) -> set[tuple[str, str]]:
        """Return ID and type of each event about a response, however often it was delivered."""
        events = [(headers["webhook-id"], json.loads(body)) for headers, body in self.received]
        return {(key, one["type"]) for key, one in events if one["data"]["id"] == response_id}

    async def receive(self, request: web.Request) -> web.Response:
        self.received.append(
            ({name.lower(): value for name, value in request.headers.items()}, await request.read())
        )
        self.news.set()
        status = self.statuses.pop(0) if self.statuses else 200
        return web.Response(
            status=status, headers={"location": "http://127.0.0.1:1/"} if status // 100 == 3 else {}
        )


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Run a receiver on a port of its own."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/hook", receiver.receive)
    async with serving_app(app) as origin:
        receiver.url = f"{origin}/hook"
        yield receiver
