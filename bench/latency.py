"""How long a request takes where requests come at a steady rate that no server is busy with."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import quantiles

import aiohttp

from bench.load import Load

RATE = 50
"""Requests a second."""

ALONGSIDE = 47
"""Requests a second of a second load: at every distance from those of the first."""


async def percentiles(
    load: Load, seconds: float, alongside: Load | None = None
) -> tuple[float, float]:
    """Return p50 and p99 of the seconds that a request takes.

    Requests come on time, whatever those before do.

    The requests of a second load come `alongside` them.
    """
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{load.port}", connector=connector, headers=headers
    ) as session:

        async def request(load: Load) -> float:
            began = time.perf_counter()
            async with session.post(load.path, data=load.body) as reply:
                await reply.read()
                reply.raise_for_status()
            return time.perf_counter() - began

        for _ in range(RATE):
            await request(load)
        requested = _due(RATE, seconds, partial(request, load))
        others = list[Requested]()
        if alongside is not None:
            others = _due(ALONGSIDE, seconds, partial(request, alongside))
        cuts = quantiles(await asyncio.gather(*requested), n=100)
        await asyncio.gather(*others)
    return cuts[49], cuts[98]


Requested = asyncio.Task[float]


def _due(rate: int, seconds: float, request: Callable[[], Awaitable[float]]) -> list[Requested]:
    return [
        asyncio.create_task(_later(number / rate, request))
        for number in range(max(rate, int(rate * seconds)))
    ]


async def _later(delay: float, request: Callable[[], Awaitable[float]]) -> float:
    await asyncio.sleep(delay)
    return await request()
