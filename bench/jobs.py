"""Background responses: put into the queue as fast as they are taken, and waited for."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

POLL_INTERVAL = 0.02
"""Seconds between looks whether one has got so far."""

PATIENCE = 60.0
"""Seconds until it must have."""


@dataclass(slots=True)
class Client:
    """What is asked of one server."""

    _session: aiohttp.ClientSession

    async def lists(self, model: str) -> bool:
        """Return whether the server has a model."""
        async with self._session.get("/v1/models") as reply:
            return any(each["id"] == model for each in (await reply.json())["data"])

    async def first_event(self, model: str, text: str) -> float:
        """Return the seconds from a request to the first event of its stream, which is read to its
        end.
        """
        body = {"model": model, "input": text, "stream": True}
        began = time.perf_counter()
        async with self._session.post("/v1/responses", json=body) as reply:
            reply.raise_for_status()
            await reply.content.readline()
            seconds = time.perf_counter() - began
            await reply.read()
        return seconds

    async def begin(self, model: str, *, stream: bool, text: str = "Hello!") -> str:
        """Put a background response into the queue; return its id.

        Of a stream only the first event is read.
        """
        body = {"model": model, "input": text, "background": True, "stream": stream}
        async with self._session.post("/v1/responses", json=body) as reply:
            reply.raise_for_status()
            if not stream:
                return str((await reply.json())["id"])
            await reply.content.readline()
            created = (await reply.content.readline()).partition(b"data: ")[2]
            reply.close()
            return str(json.loads(created)["response"]["id"])

    async def get(self, response_id: str) -> dict[str, Any]:
        """Return a response as it stands."""
        async with self._session.get(f"/v1/responses/{response_id}") as reply:
            reply.raise_for_status()
            response: dict[str, Any] = await reply.json()
            return response

    async def wait_for(self, response_id: str, status: str) -> None:
        """Return once a response has this status. Raises `TimeoutError`."""
        async with asyncio.timeout(PATIENCE):
            while (await self.get(response_id))["status"] != status:  # noqa: ASYNC110 - it must be asked for
                await asyncio.sleep(POLL_INTERVAL)

    async def cancel(self, response_id: str) -> None:
        """End a response."""
        async with self._session.post(f"/v1/responses/{response_id}/cancel") as reply:
            reply.raise_for_status()


@asynccontextmanager
async def client(port: int, connections: int = 32) -> AsyncIterator[Client]:
    """Open connections to a server."""
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector) as session:
        yield Client(session)


async def run(port: int, count: int) -> float:
    """Have so many background responses made; return the seconds from the first request to the last
    completion.
    """
    async with client(port) as ours:
        began = time.perf_counter()
        ids = await asyncio.gather(*(ours.begin("burst", stream=False) for _ in range(count)))
        # The queue is in order: once its last is made, no more than the few made beside it can be
        # missing.
        await ours.wait_for(ids[-1], "completed")
        seconds = time.perf_counter() - began
        await asyncio.gather(*(ours.wait_for(response_id, "completed") for response_id in ids))
        return seconds
