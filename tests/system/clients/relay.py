"""A wire between a client and the server that remembers what went over it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Relay:
    """`sent` are the client's bytes and `received` the server's, of all connections."""

    url: str = ""
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)


@asynccontextmanager
async def relay(url: str) -> AsyncIterator[Relay]:
    """Relay to a base URL on this machine, byte for byte."""
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.partition(":")
    wire = Relay()
    connections: set[asyncio.Task[None]] = set()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        there, onward = await asyncio.open_connection(host, int(port))
        with suppress(asyncio.CancelledError):
            await asyncio.gather(
                _pump(reader, onward, wire.sent), _pump(there, writer, wire.received)
            )

    listening = await asyncio.start_server(connect, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/{path}"
    try:
        yield wire
    finally:
        listening.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: bytearray
) -> None:
    try:
        while data := await reader.read(65536):
            seen += data
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
