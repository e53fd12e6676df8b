"""HTTP as bytes, for what no client would send."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 30.0
"""Seconds that a server has to answer."""

BODY = b'{"model":"m","input":"x"}'


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def state(url: str, *data: bytes) -> bytes:
    """Send bytes and return all that comes until the server closes the connection."""
    async with connected(url) as (reader, writer):
        for part in data:
            writer.write(part)
        async with asyncio.timeout(PATIENCE):
            return await reader.read()


def post(
    body: bytes = BODY, *headers: bytes, path: bytes = b"/v1/responses", length: int | None = None
) -> bytes:
    """A request, after which the server is to close the connection."""
    size = len(body) if length is None else length
    lines = [
        b"POST %s HTTP/1.1" % path,
        b"host: x",
        b"connection: close",
        b"content-length: %d" % size,
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def status_of(reply: bytes) -> int:
    """The status of the first reply."""
    return int(reply.split(b" ", 2)[1]) if reply else 0


def error_of(reply: bytes) -> dict[str, Any]:
    """The error of the first reply, which is in the envelope."""
    error = json.loads(reply.partition(b"\r\n\r\n")[2])["error"]
    assert list(error) == ["message", "type", "param", "code"]
    return dict(error)
