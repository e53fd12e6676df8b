"""How long a connection lasts: until a reply is out, a client has had its time, or nothing more
comes of it.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState
from websockets.asyncio.client import connect

from antiphon.http_server.closing import ConnectionLimits
from antiphon.http_server.http_limits import MAX_PIPELINED, HttpConnection
from tests.support.raw import PATIENCE, connected, state, status_of
from tests.support.server import RunningServer
from tests.support.waiting import until

GET = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"
LAST = GET[:-2] + b"connection: close\r\n\r\n"
UNFINISHED = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n1"
CLOSING = [(b"connection", b"close")]


@dataclass
class Listening:
    """A port with nothing behind our connection class but a function."""

    url: str
    state: ServerState
    limits: ConnectionLimits

    async def is_empty(self) -> None:
        """Wait until no connection is left, and no application runs."""
        await until(lambda: not self.state.connections and not self.state.tasks)


@asynccontextmanager
async def listening(
    app: Any, keep_alive: Any = 30, listener: socket.socket | None = None
) -> AsyncIterator[Listening]:
    """Have this application answer; an idle connection lasts `keep_alive` seconds."""
    loop = asyncio.get_running_loop()
    config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_keep_alive=keep_alive)
    config.load()
    state = ServerState()
    limits = ConnectionLimits(100, 1_000_000)
    listener = listener or socket.create_server(("127.0.0.1", 0))
    server = await loop.create_server(
        lambda: HttpConnection(config, state, {}, limits=limits), sock=listener
    )
    try:
        yield Listening(f"http://127.0.0.1:{listener.getsockname()[1]}", state, limits)
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


async def reply(send: Any, body: bytes = b"ok", headers: Any = ()) -> None:
    """Answer with a body of known length."""
    headers = [(b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """An application that looks at nothing."""
    await reply(send)


class BlockedBackend:
    """An application that answers `/1` when it may, and everything else at once."""

    def __init__(self) -> None:
        self.reached, self.watch, self.may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer; once `watch` is set, look at the same time whether the client leaves."""
        if scope["path"] == "/1":
            self.reached.set()
            watching = asyncio.create_task(self._watch(receive))
            await self.may_end.wait()
            watching.cancel()
        await reply(send, scope["path"].encode())

    async def _watch(self, receive: Any) -> None:
        await self.watch.wait()
        while (await receive())["type"] != "http.disconnect":
            pass


# An idle connection.


@pytest.mark.parametrize(
    ("requested", "more"),
    [(GET, b"\r\n"), (UNFINISHED, b"2")],
    ids=["an empty line", "a part of a body"],
)
async def test_what_is_no_request_keeps_no_connection_open(requested: bytes, more: bytes) -> None:
    async with (
        listening(answer, keep_alive=0.1) as server,
        connected(server.url) as (reader, writer),
    ):
        writer.write(requested)
        await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE)
        writer.write(more)

        assert await asyncio.wait_for(reader.read(), 10) == b""


async def test_a_request_begun_before_the_last_reply_has_its_full_time() -> None:
    app = BlockedBackend()
    async with listening(app, keep_alive=0.1) as server, connected(server.url) as (reader, writer):
        writer.write(b"GET /0 HTTP/1.1\r\nhost: x\r\n\r\nGET /1 HT")
        await asyncio.wait_for(reader.readuntil(b"/0"), PATIENCE)
        writer.write(b"TP/1.1\r\nhost: x\r\n\r\n")
        await app.reached.wait()
        async with connected(server.url) as (idle, other):  # its end comes later
            other.write(GET)
            await asyncio.wait_for(idle.read(), PATIENCE)
        app.may_end.set()

        assert (await asyncio.wait_for(reader.read(), PATIENCE)).endswith(b"/1")


async def test_a_websocket_outlives_the_time_of_an_idle_connection(server: RunningServer) -> None:
    server.host.config.timeout_keep_alive = 0.1  # type: ignore[assignment]
    place = server.url.removeprefix("http://").removesuffix("/v1").split(":")
    with socket.create_connection((place[0], int(place[1]))) as used:
        used.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(used, GET)
        while not (await loop.sock_recv(used, 65536)).endswith(b"}"):
            pass
        async with connect(
            server.url.replace("http://", "ws://") + "/responses", sock=used
        ) as websocket:
            async with connected(server.url) as (reader, writer):  # its end comes later
                writer.write(GET)
                await asyncio.wait_for(reader.read(), PATIENCE)

            await asyncio.wait_for(await websocket.ping(), PATIENCE)


# Requests that come before the reply to an earlier one.


@pytest.mark.parametrize("is_watched", [False, True])
async def test_a_head_has_its_time_only_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch, is_watched: bool
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.HEAD_TIMEOUT", 0.1)
    app = BlockedBackend()
    async with listening(app) as server, connected(server.url) as (reader, writer):
        writer.write(
            b"GET /1 HTTP/1.1\r\nhost: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\n\r\nGET /3 HT"
        )
        await app.reached.wait()
        writer.write(b"TP/1.1\r\nhost: x\r\n\r\nGET /4 HT")
        if is_watched:
            app.watch.set()
        assert status_of(await state(server.url)) == 408  # so the time is over
        writer.write(b"TP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        app.may_end.set()
        replies = (await asyncio.wait_for(reader.read(), PATIENCE)).split(b"HTTP/1.1 ")[1:]

    assert [(one[:3], one[-2:]) for one in replies] == [(b"200", b"/%d" % i) for i in range(1, 5)]


async def test_requests_that_come_during_a_reply_wait_however_many_they_are() -> None:
    app = BlockedBackend()
    count = 3 * MAX_PIPELINED
    requested = [b"GET /%02d HTTP/1.1\r\nhost: x\r\n\r\n" % i for i in range(10, 10 + count)]
    async with listening(app) as server, connected(server.url) as (reader, writer):
        writer.write(GET.replace(b"/v1/models", b"/1"))
        await app.reached.wait()
        writer.write(b"".join(requested[:5]))
        app.watch.set()
        await state(server.url, LAST)  # what was sent before is read
        writer.write(b"".join(requested[5:]) + LAST)
        await state(server.url, LAST)
        app.may_end.set()
        replies = (await asyncio.wait_for(reader.read(), PATIENCE)).split(b"HTTP/1.1 ")[1:]

    assert {one[:3] for one in replies} == {b"200"}
    assert [one.partition(b"\r\n\r\n")[2] for one in replies[1:-1]] == [
        b"/%02d" % i for i in range(10, 10 + count)
    ]


async def test_a_websocket_is_not_opened_in_the_middle_of_a_reply() -> None:
    app = BlockedBackend()
    upgrade = LAST.replace(b"connection: close", b"connection: upgrade\r\nupgrade: websocket")
    async with listening(app) as server, connected(server.url) as (reader, writer):
        writer.write(GET.replace(b"/v1/models", b"/1"))
        await app.reached.wait()
        writer.write(upgrade + LAST)
        await state(server.url, LAST)
        app.may_end.set()
        replies = (await asyncio.wait_for(reader.read(), PATIENCE)).split(b"HTTP/1.1 ")[1:]

    assert [one[:3] for one in replies] == [b"200"] * 3


# A connection that is closing.


async def test_a_client_that_stops_reading_before_the_end_of_the_last_reply_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.UNREAD", 0.5)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await reply(send, b"x" * 300_000, CLOSING)

    loop = asyncio.get_running_loop()
    async with listening(app, listener=listener) as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            await loop.sock_connect(client, listener.getsockname())
            await loop.sock_sendall(client, GET)
            await loop.sock_recv(client, 1)
            (connection,) = server.state.connections
            assert connection.writable is not None
            while connection.writable is not None:
                await loop.sock_recv(client, 1000)
            assert connection.transport.get_write_buffer_size() > 0

            await server.is_empty()


async def test_a_half_closed_client_that_reads_nothing_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.UNREAD", 0.1)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await reply(send, b"x" * 60_000)

    loop = asyncio.get_running_loop()
    async with listening(app, listener=listener) as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            await loop.sock_connect(client, listener.getsockname())
            await loop.sock_sendall(client, GET)
            await loop.sock_recv(client, 1)
            (connection,) = server.state.connections
            assert connection.writable is None
            assert connection.transport.get_write_buffer_size() > 0
            client.shutdown(socket.SHUT_WR)

            await server.is_empty()


@pytest.mark.parametrize("is_hasty", [False, True])
async def test_a_disconnected_client_is_not_counted_even_if_the_application_fails(
    caplog: pytest.LogCaptureFixture, is_hasty: bool
) -> None:
    caplog.set_level(logging.CRITICAL, "uvicorn.error")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if is_hasty:
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            while (await receive())["type"] != "http.disconnect":
                pass
        else:
            await reply(send, headers=CLOSING)
        raise RuntimeError("late")

    async with listening(app) as server:
        async with connected(server.url) as (reader, writer):
            writer.write(UNFINISHED)
            if not is_hasty:
                await asyncio.wait_for(reader.read(), PATIENCE)
        await server.is_empty()

        assert server.limits.leaving == 0


# HTTP/1.0.


@pytest.mark.parametrize("headers", [[], [(b"transfer-encoding", b"chunked")]])
async def test_a_client_that_knows_no_chunks_has_the_reply_until_the_connection_closes(
    headers: Any,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"some", "more_body": True})
        await send({"type": "http.response.body", "body": b"thing"})

    async with listening(app) as server:
        stated = await state(server.url, b"GET / HTTP/1.0\r\n\r\n")

    assert stated == b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nsomething"
