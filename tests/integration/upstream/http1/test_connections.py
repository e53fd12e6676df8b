"""Connections: which serve again, which are closed, when a request is sent twice, how much is held,
how long.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from antiphon.upstream.http1.connect import ConnectError, Connector, ConnectTimeoutError
from antiphon.upstream.http1.connection import MAX_BUFFERED, BackendConnection
from antiphon.upstream.http1.filters import Inflate
from antiphon.upstream.http1.pool import BackendExchange, ConnectionPool
from antiphon.upstream.http1.response import BrokenError, ProtocolError, SilenceError
from tests.support.raw_http import Speak, chunked, received, reset, speaking
from tests.support.waiting import let_others_run, until
from tests.unit.upstream.http1.cases import EVIL, OK
from tests.unit.upstream.http1.wire import pool_at, request, requested

STREAM = OK + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def whole(body: bytes, *fields: bytes) -> bytes:
    """A response with a length."""
    lines = b"".join(field + b"\r\n" for field in fields)
    return OK + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Line:
    """What a server saw: `connections` holds the number of requests that came on each, `left` which
    are over.
    """

    def __init__(self) -> None:
        self.connections: list[int] = []
        self.left = 0

    def serving(self, answer: Callable[[int, int], bytes | None]) -> Speak:
        """Answer each request by the numbers of its connection and of itself on it; None breaks
        off.
        """

        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            number = len(self.connections)
            self.connections.append(0)
            try:
                while True:
                    await received(reader)
                    self.connections[number] += 1
                    stated = answer(number, self.connections[number])
                    if stated is None:
                        reset(writer)
                        return
                    writer.write(stated)
            finally:
                self.left += 1

        return speak


@asynccontextmanager
async def lined(
    answer: Callable[[int, int], bytes | None],
) -> AsyncIterator[tuple[Line, str, ConnectionPool]]:
    line = Line()
    async with speaking(line.serving(answer)) as url, pool_at(url) as pool:
        yield line, url, pool


async def begin(
    pool: ConnectionPool, url: str, limit: float = 5.0, body: bytes = b"{}"
) -> BackendExchange:
    return await pool.send(request(url, "/x", body), limit)


# Which connection serves.


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with lined(lambda *_: whole(b"hi")) as (line, url, pool):
        for _ in range(5):
            assert await requested(pool, url, "/x") == (200, b"hi")

    assert line.connections == [5]


async def test_of_idle_connections_the_newest_serves() -> None:
    async with lined(lambda number, _: whole(b"%d" % number)) as (_, url, pool):
        first = await begin(pool, url)
        second = await begin(pool, url)
        await first.aclose()
        await second.aclose()

        assert await requested(pool, url, "/x") == (200, b"1")


async def test_an_unsolicited_response_closes_its_connection_and_reaches_no_request() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(whole(b"mine"))
        await received_or_pushed.wait()
        writer.write(EVIL)
        await reader.read()

    received_or_pushed = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        assert await requested(pool, url, "/x") == (200, b"mine")
        assert pool.idle == 1
        received_or_pushed.set()
        await until(lambda: pool.idle == 0)
        assert await requested(pool, url, "/x") == (200, b"mine")


async def test_bytes_behind_a_response_that_is_still_read_close_its_connection() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(whole(b"mine"))
        await pushed.wait()
        writer.write(EVIL)
        await writer.drain()
        sent.set()
        await reader.read()

    pushed = asyncio.Event()
    sent = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url)
        pushed.set()
        await sent.wait()
        await until(lambda: not exchange.response.keeps_alive)
        assert await exchange.read(100) == b"mine"
        await exchange.aclose()
        assert pool.idle == 0


@pytest.mark.parametrize("states_why", [False, True], ids=["silently", "with a 408"])
async def test_a_connection_that_the_server_closes_while_it_is_idle_serves_no_more(
    states_why: bool,
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(whole(b"hi"))
        await closes.wait()
        if states_why:
            writer.write(
                b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )

    closes = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        await requested(pool, url, "/x")
        closes.set()
        await until(lambda: pool.idle == 0)
        assert await requested(pool, url, "/x") == (200, b"hi")


async def test_a_connection_serves_no_longer_than_its_backend_promises() -> None:
    async with lined(lambda *_: whole(b"hi", b"Keep-Alive: timeout=1")) as (line, url, pool):
        await requested(pool, url, "/x")
        await requested(pool, url, "/x")

    assert line.connections == [1, 1]


async def test_connections_that_are_idle_for_too_long_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.upstream.http1.pool.IDLE", 0.05)
    async with lined(lambda *_: whole(b"hi")) as (line, url, pool):
        await requested(pool, url, "/x")
        await until(lambda: pool.idle == 0)
        await until(lambda: line.left == 1)


async def test_closing_the_pool_closes_every_connection_and_fails_what_is_under_way() -> None:
    async with lined(lambda *_: STREAM) as (line, url, pool):
        exchange = await begin(pool, url)
        await pool.close()
        with pytest.raises(BrokenError):
            await exchange.read(100)
        await exchange.aclose()
        await until(lambda: line.left == 1)


async def test_a_request_that_is_under_way_when_the_pool_is_closed_is_not_sent_again() -> None:
    async with lined(lambda _, time: b"" if time == 2 else whole(b"hi")) as (line, url, pool):
        await requested(pool, url, "/x")
        pending = asyncio.create_task(requested(pool, url, "/x"))
        await until(lambda: line.connections == [2])
        await pool.close()
        with pytest.raises(BrokenError):
            await pending

    assert line.connections == [2]


async def test_a_closed_pool_sends_nothing() -> None:
    async with lined(lambda *_: whole(b"hi")) as (line, url, pool):
        await pool.close()
        with pytest.raises(ConnectError, match="closed"):
            await requested(pool, url, "/x")

    assert line.connections == []


async def test_a_connection_opened_while_the_pool_closes_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialed = asyncio.Event()
    proceed = asyncio.Event()
    connect = Connector.connect

    async def connect_slowly(
        self: Connector, make: Callable[[], BackendConnection]
    ) -> BackendConnection:
        created = await connect(self, make)
        dialed.set()
        await proceed.wait()
        return created

    monkeypatch.setattr(Connector, "connect", connect_slowly)
    async with lined(lambda *_: whole(b"hi")) as (line, url, pool):
        pending = asyncio.create_task(requested(pool, url, "/x"))
        await dialed.wait()
        await pool.close()
        proceed.set()
        with pytest.raises(ConnectError, match="closed"):
            await pending

    assert line.connections in ([], [0])


# Sending a request again.


async def test_a_request_is_sent_again_if_its_used_connection_ended_before_any_byte() -> None:
    async with lined(lambda number, time: None if (number, time) == (0, 2) else whole(b"hi")) as (
        line,
        url,
        pool,
    ):
        for _ in range(3):
            assert await requested(pool, url, "/x") == (200, b"hi")

    assert line.connections == [2, 2]


async def test_a_request_is_sent_at_most_twice() -> None:
    async with lined(lambda number, time: whole(b"hi") if (number, time) == (0, 1) else None) as (
        line,
        url,
        pool,
    ):
        await requested(pool, url, "/x")
        with pytest.raises(BrokenError):
            await requested(pool, url, "/x")

    assert line.connections == [2, 1]


async def test_a_request_on_a_new_connection_is_sent_once() -> None:
    async with lined(lambda *_: None) as (line, url, pool):
        with pytest.raises(BrokenError):
            await requested(pool, url, "/x")

    assert line.connections == [1]


@pytest.mark.parametrize("stated", [b"H", b"HTTP/1.1 200 O", b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_a_request_is_sent_once_if_any_byte_of_an_answer_came(stated: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        times.append(0)
        await received(reader)
        writer.write(whole(b"hi"))
        await received(reader)
        times.append(1)
        writer.write(stated)

    times: list[int] = []
    async with speaking(speak) as url, pool_at(url) as pool:
        await requested(pool, url, "/x")
        with pytest.raises(BrokenError):
            await requested(pool, url, "/x")

    assert times == [0, 1]


async def test_a_request_is_sent_once_if_its_connection_ends_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.upstream.http1.connection.RACE", 0.0)
    async with lined(lambda _, time: None if time == 2 else whole(b"hi")) as (line, url, pool):
        await requested(pool, url, "/x")
        with pytest.raises(BrokenError):
            await requested(pool, url, "/x")

    assert line.connections == [2]


async def test_a_request_is_sent_once_if_its_used_connection_falls_silent() -> None:
    async with lined(lambda _, time: b"" if time == 2 else whole(b"hi")) as (line, url, pool):
        await requested(pool, url, "/x")
        with pytest.raises(SilenceError):
            await requested(pool, url, "/x", limit=0.05)

    assert line.connections == [2]


# Large requests, early answers.


@pytest.mark.parametrize("resets", [False, True], ids=["an end", "a reset"])
async def test_an_answer_before_the_request_was_read_is_sent_and_closes_the_connection(
    resets: bool,
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge")
        await writer.drain()
        if not resets:
            await left.wait()

    left = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url, body=b"x" * 8_000_000)
        assert (exchange.response.status, await exchange.read(100)) == (413, b"large")
        await exchange.aclose()
        left.set()
        assert pool.idle == 0


async def test_a_connection_with_an_incomplete_request_is_not_reused() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(whole(b"early"))
        await left.wait()

    left = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url, body=b"x" * 30_000_000)
        assert await exchange.read(100) == b"early"
        await exchange.aclose()
        assert pool.idle == 0
        left.set()


# How much is held, and for how long.


async def test_a_reader_that_stalls_stops_the_backend() -> None:
    written = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await received(reader)
        writer.write(STREAM)
        block = chunked(b"x" * 65_536)
        for _ in range(1600):
            writer.write(block)
            await writer.drain()
            written += 1
        writer.write(END)
        await reader.read()

    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url)
        connection = exchange.connection
        assert connection is not None
        await until(lambda: connection.is_paused)
        retained = sum(map(len, exchange.response.parts))
        assert MAX_BUFFERED <= retained < 4 * MAX_BUFFERED
        size = 0
        async for part in exchange:
            size += len(part)
        await exchange.aclose()

        assert size == 1600 * 65_536
        assert pool.idle == 1


async def test_a_body_larger_than_wanted_is_not_read_to_its_end() -> None:
    async with lined(lambda *_: STREAM + chunked(b"x" * 60, b"y" * 60)) as (line, url, pool):
        exchange = await begin(pool, url)
        assert await exchange.read(100) is None
        await exchange.aclose()
        await until(lambda: line.left == 1)


async def test_a_request_that_is_cancelled_closes_its_connection_before_and_in_its_response() -> (
    None
):
    async with lined(lambda _, __: b"") as (line, url, pool):
        waiting = asyncio.create_task(begin(pool, url))
        await until(lambda: line.connections == [1])
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(lambda: line.left == 1)

    async with lined(lambda _, __: STREAM + chunked(b"half")) as (line, url, pool):
        reading = asyncio.create_task(requested(pool, url, "/x"))
        await until(lambda: line.connections == [1])
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await until(lambda: line.left == 1)
        assert pool.idle == 0


async def test_a_response_that_is_left_behind_its_done_frees_its_connection_when_its_end_comes() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(STREAM + chunked(b"data: [DONE]\n\n"))
        for part in (chunked(b"more"), chunked(b"yet more"), END):
            await proceed.wait()
            proceed.clear()
            writer.write(part)
        await reader.read()

    proceed = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url)
        assert await anext(exchange) == b"data: [DONE]\n\n"
        await exchange.aclose()
        await exchange.aclose()
        assert pool.idle == 0
        for _ in range(3):
            proceed.set()
            await until(lambda: not proceed.is_set())
        await until(lambda: pool.idle == 1)


@pytest.mark.parametrize(
    "parts", [[b"data: [DONE]", b"\n\n"], [b"data: [DO", b"NE]", b"\r\n", b"\r\n"]]
)
async def test_a_done_that_comes_in_several_parts_frees_its_connection_too(
    parts: list[bytes],
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(STREAM)
        for part in parts:
            await proceed.wait()
            proceed.clear()
            writer.write(chunked(part))
        await proceed.wait()
        writer.write(END)
        await reader.read()

    proceed = asyncio.Event()
    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url)
        for part in parts:
            proceed.set()
            assert await anext(exchange) == part
        await exchange.aclose()
        proceed.set()
        await until(lambda: pool.idle == 1)


@pytest.mark.parametrize("drips", [False, True], ids=["silence", "a drip"])
async def test_a_response_without_an_end_behind_its_done_is_closed_soon(
    drips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.upstream.http1.pool.LEAVE_TIMEOUT", 0.05)
    left = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await received(reader)
            writer.write(STREAM + chunked(b"data: [DONE]\n\n"))
            while drips:
                writer.write(chunked(b"x"))
                await writer.drain()
                await let_others_run()
            await reader.read()
        finally:
            left.set()

    async with speaking(speak) as url, pool_at(url) as pool:
        exchange = await begin(pool, url)
        assert (await anext(exchange)).startswith(b"data: [DONE]")
        await exchange.aclose()
        await asyncio.wait_for(left.wait(), 5)
        assert pool.idle == 0


class Watch:
    """An answer that has begun or not."""

    def __init__(self, has_begun: bool) -> None:
        self.has_begun = lambda: has_begun


@pytest.mark.parametrize("has_begun", [False, True])
async def test_silence_is_counted_from_the_start_or_from_the_last_byte(has_begun: bool) -> None:
    async with lined(lambda *_: STREAM + chunked(b"half")) as (line, url, pool):
        limit, idle = (10.0, 0.3) if has_begun else (1.0, 10.0)  # a loaded machine answers late
        exchange = await begin(pool, url, limit)
        exchange.read_as(b"", Watch(has_begun), idle, lambda error: error)
        assert await anext(exchange) == b"half"
        async with asyncio.timeout(4):
            with pytest.raises(SilenceError):
                await anext(exchange)
        await exchange.aclose()
        await until(lambda: line.left == 1)


async def test_a_reader_that_takes_its_time_is_no_silence() -> None:
    async with lined(lambda *_: STREAM + chunked(b"half")) as (_, url, pool):
        exchange = await begin(pool, url, 1.0)
        loop = asyncio.get_running_loop()
        later = loop.time() + 1.1
        await until(lambda: loop.time() > later)
        assert exchange.error is None
        assert await anext(exchange) == b"half"
        await exchange.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(exchange)


# No connection.


async def test_a_port_without_a_listener_is_a_connection_failure() -> None:
    async with pool_at("http://127.0.0.1:9/v1") as pool:
        with pytest.raises(ConnectError):
            await requested(pool, "http://127.0.0.1:9/v1", "/x")


async def test_of_several_addresses_each_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    monkeypatch.setattr("antiphon.upstream.http1.connect.resolve", resolve)
    async with lined(lambda *_: whole(b"hi")) as (_, url, _pool):
        named = url.replace("127.0.0.1", "two.test")
        async with pool_at(named) as pool:
            assert await requested(pool, named, "/x") == (200, b"hi")


async def test_an_unanswered_name_lookup_times_out_and_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = []

    async def resolve(*_: object) -> list[str]:
        times.append(1)
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr("antiphon.upstream.http1.connect.resolve", resolve)
    async with pool_at("http://slow.test/v1", connect_timeout=0.05) as pool:
        requesting = [requested(pool, "http://slow.test/v1", "/x") for _ in range(5)]
        failed = await asyncio.gather(*requesting, return_exceptions=True)

    assert [type(error) for error in failed] == [ConnectTimeoutError] * 5
    assert len(times) == 1


async def test_closing_the_pool_during_a_lookup_is_an_error_and_cancels_no_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polling = asyncio.Event()

    async def resolve(*_: object) -> list[str]:
        polling.set()
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr("antiphon.upstream.http1.connect.resolve", resolve)
    async with pool_at("http://slow.test/v1") as pool:
        pending = [
            asyncio.create_task(requested(pool, "http://slow.test/v1", "/x")) for _ in range(3)
        ]
        await polling.wait()
        await pool.close()
        failed = await asyncio.gather(*pending, return_exceptions=True)

    assert [type(error) for error in failed] == [ConnectError] * 3


# What a body may be encoded in.


@pytest.mark.wide
async def test_a_compressed_body_is_read_no_faster_than_it_is_inflated() -> None:
    zeros = gzip.compress(bytes(200_000_000))
    taken: list[int] = []

    class Noted(Inflate):
        def feed(self, part: bytes) -> bytes:
            taken.append(len(part))
            return super().feed(part)

    async with lined(lambda *_: whole(zeros * 10, b"Content-Encoding: gzip")) as (_, url, pool):
        exchange = await begin(pool, url)
        exchange.read_as(b"", None, 5.0, lambda error: error)
        exchange._inflate = Noted()
        connection = exchange.connection
        assert connection is not None
        await until(lambda: connection.is_paused)
        await anext(exchange)
        await until(lambda: connection.is_paused)
        for _ in range(100):
            await anext(exchange)
            await let_others_run()  # whatever the loop has to read comes now

        assert connection.is_paused
        assert sum(taken) < 4 * MAX_BUFFERED
        await exchange.aclose()


async def test_a_compressed_body_is_inflated_in_bounded_pieces_and_an_unknown_coding_refused() -> (
    None
):
    zeros = gzip.compress(bytes(10_000_000))
    stated = {1: whole(zeros, b"Content-Encoding: gzip"), 2: whole(b"hi", b"Content-Encoding: br")}
    stated[3] = whole(b"hi", b"Content-Encoding: gzip")
    stated[4] = whole(zeros[:-100], b"Content-Encoding: gzip")
    number = 0

    def answer(*_: int) -> bytes:
        nonlocal number
        number += 1
        return stated[number]

    async with lined(answer) as (_, url, pool):
        exchange = await begin(pool, url)
        exchange.read_as(b"", None, 1.0, lambda error: error)
        sizes = [len(part) async for part in exchange]
        await exchange.aclose()
        assert sum(sizes) == 10_000_000
        assert max(sizes) <= MAX_BUFFERED

        exchange = await begin(pool, url)
        with pytest.raises(ProtocolError):
            exchange.read_as(b"", None, 1.0, lambda error: error)
        for _ in range(2):
            exchange = await begin(pool, url)
            exchange.read_as(b"", None, 1.0, lambda error: error)
            with pytest.raises(ProtocolError):
                await exchange.read(20_000_000)
            await exchange.aclose()
