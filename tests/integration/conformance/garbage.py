"""Servers that answer garbage, each in its way."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from tests.support.waiting import drip

Kind = Callable[[asyncio.StreamWriter], Awaitable[None]]


def whole(
    body: bytes, content_type: str = "application/json", status: str = "200 OK", more: str = ""
) -> Kind:
    """Answer everything with one body."""
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: "
        f"{len(body)}\r\n{more}\r\n"
    )

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode("latin-1") + body)
        await writer.drain()

    return send


def streamed(*frames: bytes) -> Kind:
    """Answer everything with a stream of events."""
    return whole(b"".join(b"data: " + frame + b"\n\n" for frame in frames), "text/event-stream")


def unheard(raw: bytes) -> Kind:
    """Send these bytes, whatever HTTP says, and close."""

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        writer.close()

    return send


def endless(head: str, piece: bytes, pause: float = 0.0) -> Kind:
    """Never come to an end; `pause` is in seconds."""

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode())
        while not writer.is_closing():
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await drip(pause)

    return send


async def silent(writer: asyncio.StreamWriter) -> None:
    """Take the request, and say nothing."""
    await asyncio.Event().wait()


CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: {}\r\n\r\n"

WRONG = {
    "id": 1,
    "object": [],
    "output": "x",
    "choices": {"0": None},
    "usage": [],
    "data": {"a": 1},
    "error": True,
}

EVENTS = [
    {"type": ["response.created"], "sequence_number": "0"},
    {
        "type": "response.created",
        "sequence_number": None,
        "response": {"id": {}, "output": [1, None, {}]},
    },
    {"type": "response.output_item.added", "output_index": "0", "item": {"type": {}, "id": []}},
    {"type": "response.output_text.delta", "output_index": 10**30, "delta": {}, "logprobs": "x"},
    {"type": "response.completed", "response": []},
    {
        "object": "chat.completion.chunk",
        "choices": [None, 1, {"delta": [], "index": {}}],
        "usage": "many",
    },
]

GARBAGE: dict[str, Kind] = {
    "a web page": whole(b"<!doctype html><title>Hello</title>", "text/html"),
    "a web page that is not found": whole(b"<h1>404</h1>", "text/html", "404 Not Found"),
    "nothing at all": unheard(b""),
    "no word": silent,
    "an empty body": whole(b""),
    "an empty object": whole(b"{}"),
    "an empty list": whole(b"[]"),
    "null": whole(b"null"),
    "a number of 5,000 digits": whole(b"1" * 5000),
    "wrong types": whole(json.dumps(WRONG).encode()),
    "wrong types in a list": whole(
        json.dumps({"data": [WRONG, [WRONG], None], "output": [WRONG, 1]}).encode()
    ),
    "deep nesting": whole(b"[" * 100_000 + b"]" * 100_000),
    "no UTF-8": whole(b'{"id": "\xff\xfe\xc0\x80"}'),
    "not a number": whole(
        b'{"id": NaN, "created_at": Infinity, "usage": {"total_tokens": -Infinity}}'
    ),
    "an answer cut short": unheard(b'HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"id": "resp_'),
    "no HTTP": unheard(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "a wrong chunk size": unheard(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n"
    ),
    "a header of a megabyte": unheard(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 1_000_000 + b"\r\n\r\n"),
    "a body without end": endless(CHUNKED.format("application/json"), b" " * 65536),
    "events without end": endless(
        CHUNKED.format("text/event-stream"), b'data: {"type": "response.created"}\n\n' * 99, 0.01
    ),
    "one byte now and then": endless(CHUNKED.format("application/json"), b" ", 0.05),
    "events of wrong types": streamed(*(json.dumps(event).encode() for event in EVENTS)),
    "events that are no JSON": streamed(b"[DONE", b"", b"{", b"\xff"),
    "events of one value": streamed(b"null", b"1", b'"x"', b"[]"),
    "an internal error": whole(b"Internal Server Error", "text/plain", "500 Internal Server Error"),
    "errors of wrong types": whole(
        b'{"error": {"message": {}, "code": [], "param": 1}}', status="400 Bad Request"
    ),
    "a redirect to itself": whole(b"", status="302 Found", more="location: /v1/models\r\n"),
    "compression nobody asked for": whole(gzip.compress(b"{}"), more="content-encoding: gzip\r\n"),
    "always busy": whole(b"{}", status="429 Too Many Requests", more="retry-after: 0\r\n"),
    "another protocol": unheard(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: tea\r\nconnection: upgrade\r\n\r\n"
    ),
}


@asynccontextmanager
async def answering(kind: Kind) -> AsyncIterator[str]:
    """Serve garbage of one kind; give the base URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())  # type: ignore[arg-type]
        with suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError
        ):
            while not writer.is_closing():
                await read_request(reader)
                await kind(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**20)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"transfer-encoding: chunked" in head:
        await reader.readuntil(b"0\r\n\r\n")
    elif b"content-length:" in head:
        await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
