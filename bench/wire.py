"""HTTP/1.1 as thin as a bench may have it: it reads only what the other programs of this folder
write.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import uvloop

EVENT_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def chunked(part: bytes) -> bytes:
    """Return a part of a body as one chunk on the wire."""
    return b"%x\r\n%b\r\n" % (len(part), part)


def whole(content_type: bytes, body: bytes) -> bytes:
    """Return a whole answer."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    return head % (content_type, len(body)) + body


def request(
    method: str, path: str, content: bytes = b"", content_type: str = "application/json"
) -> bytes:
    """Return a request with this body."""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {content_type}\r\n"
    return b"%bcontent-length: %d\r\n\r\n%b" % (head.encode(), len(content), content)


def id_in(answer: bytes) -> str:
    """Return the id of the response in the body of an answer, whole or streamed: it comes before
    all other ids.
    """
    return answer.partition(b'"id":"')[2].partition(b'"')[0].decode()


def content_length(head: bytes) -> int:
    """Return the length of the body behind this head, 0 where it names none."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


class Requests(asyncio.Protocol):
    """A server's side of a connection; requests come one after the other."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed = 0
        """Bytes of the request, 0 until its head has come."""

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._buffer += data
        if not self._needed and (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            self._needed = end + 4 + content_length(bytes(self._buffer[:end]))
        if self._needed and len(self._buffer) >= self._needed:
            head, _, body = bytes(self._buffer).partition(b"\r\n\r\n")
            self._buffer.clear()
            self._needed = 0
            self.answer(head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        """Answer a request."""
        raise NotImplementedError


def serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    """Listen on a free port of the loopback, print the port, serve until the process is ended."""
    uvloop.run(_serve(protocol))


async def _serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
