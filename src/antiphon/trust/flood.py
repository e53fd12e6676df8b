"""A tenant that floods a server: `python -m antiphon.trust.flood URL`, with its key in the
environment.
"""

import asyncio
import os
import sys
from contextlib import suppress

from aiohttp import ClientError, ClientSession, TCPConnector

from antiphon.trust.model import FLOODED, SLOW, STEADY

REQUESTS = 100
"""At the same time: half are streams, half have large bodies."""

LARGE = "x" * 1_000_000

KEY = "OPENAI_API_KEY"

REST = 0.1
"""Seconds after a refusal."""


async def flood(url: str) -> None:
    """Send requests until the process is ended."""
    headers = {"authorization": f"Bearer {os.environ[KEY]}"}
    async with ClientSession(connector=TCPConnector(limit=0), headers=headers) as clients:
        await asyncio.gather(*(_repeat(clients, url, number) for number in range(REQUESTS)))


async def _repeat(clients: ClientSession, url: str, number: int) -> None:
    is_stream = number % 2 == 0
    body = {
        "model": FLOODED + (SLOW if is_stream else STEADY),
        "input": "Hello" if is_stream else LARGE,
        "stream": is_stream,
    }
    while True:
        with suppress(ClientError, OSError):
            async with clients.post(f"{url}/responses", json=body) as reply:
                await reply.read()
                if reply.status != 200:
                    await asyncio.sleep(REST)


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1]))
