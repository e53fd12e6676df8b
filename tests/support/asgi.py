"""The client's side of an application that is called without a server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


def once(body: bytes = b"") -> Callable[[], Awaitable[Any]]:
    """Return the `receive` of a client that sends one body, and stays.

    One that repeats its message at once would keep whoever watches for its leaving busy, and nobody
    else would run.
    """
    parts = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return parts.pop() if parts else await asyncio.Event().wait()

    return receive
