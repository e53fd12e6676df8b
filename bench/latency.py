"""How long a request takes where requests come at a steady rate that no server is busy with."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import quantiles

import aiohttp

RATE = 50
"""Requests a second."""


async def percentiles(port: int, path: str, body: str, seconds: float) -> tuple[float, float]:
    """Return p50 and p99 of the seconds that a request takes. Requests come on time, whatever those before do."""
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector, headers=headers) as session:

        async def ask() -> float:
            began = time.perf_counter()
            async with session.post(path, data=body) as reply:
                await reply.read()
                reply.raise_for_status()
            return time.perf_counter() - began

        for _ in range(RATE):
            await ask()
        asked = [asyncio.create_task(_later(number / RATE, ask)) for number in range(max(RATE, int(RATE * seconds)))]
        cuts = quantiles(await asyncio.gather(*asked), n=100)
    return cuts[49], cuts[98]


async def _later(delay: float, ask: Callable[[], Awaitable[float]]) -> float:
    await asyncio.sleep(delay)
    return await ask()
