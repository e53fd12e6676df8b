"""A backend that is nothing but a TCP server: what it says is bytes, and it may end as no HTTP
server would.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def speaking(speak: Speak, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that says what it is told, byte for byte; its base URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await speak(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, ssl=tls, backlog=512)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def received(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read a request: its head and its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [
        int(line[15:])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    return head, await reader.readexactly(lengths[0] if lengths else 0)


def chunked(*parts: bytes) -> bytes:
    """A body in chunks, without its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection as one whose process was killed does: by a reset, and not by an end."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
