"""Several processes that serve one port, as a client reaches and sees them."""

import aiohttp

from tests.support.waiting import eventually


def requesting() -> aiohttp.ClientSession:
    """A client with a connection for each request, so that all workers are asked."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))


async def until_both_report(url: str, http: aiohttp.ClientSession) -> None:
    """Wait until the status at `url` is that of two workers.

    A server is announced by its first worker, and the second may begin to serve much later.
    """

    async def count() -> int:
        async with http.get(f"{url.removesuffix('/v1')}/status") as response:
            workers: int = (await response.json())["workers"]
            return workers

    await eventually(count, lambda workers: workers == 2)
