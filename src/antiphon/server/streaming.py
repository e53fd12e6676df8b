"""A response's events to the client as they come (specification section 7)."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from antiphon.gateway import COMMENT, Run, encode
from antiphon.protocol.events import Event
from antiphon.server.exchange import LATE, DisconnectWatch, Sink, run_headers

GRACE = 0.5
"""Seconds that a backend has to refuse a request by a plain HTTP error before the stream begins without it."""

COMMENT_AFTER = 15.0
"""Seconds of silence after which a comment goes out, for proxies."""

KEEPALIVE_AFTER = 60.0
"""Seconds of silence after which a `keepalive` event goes out, for clients whose timer counts events (Codex)."""

SSE = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class FrameStream:
    """What is server-sent events already: what the log holds and nothing else, but for comments in its silence."""

    def __init__(self, frames: AsyncGenerator[bytes, None], headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._frames = frames
        self._headers = [*SSE, *headers]

    async def send(self, sink: Sink) -> None:
        """See `ReplyStream`."""
        self._sink = sink
        await sink.start(200, self._headers)
        async with DisconnectWatch(sink.receive, self._tick, COMMENT_AFTER), aclosing(self._frames) as frames:
            async for body in frames:
                await sink.write(body)
            await sink.write(b"", more_body=False)

    async def _tick(self) -> float:
        await self._sink.write(COMMENT)
        return COMMENT_AFTER


class WholeStream:
    """A stream that is over."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def send(self, sink: Sink) -> None:
        """See `ReplyStream`."""
        await sink.start(200, SSE)
        await sink.write(self._body, more_body=False)


class EventStream:
    """The events of a run as they come. Raises `AntiphonError` before anything was sent."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_open = False
        self._is_sending = False
        """Events are being sent: there is no silence to break."""
        self._filling: asyncio.Event | None = None
        """Set once what breaks a silence was sent, while it is being sent."""
        self._loop = asyncio.get_running_loop()
        self._last_sent = self._last_event = self._loop.time()

    async def send(self, sink: Sink) -> None:
        """See `ReplyStream`."""
        self._sink = sink
        async with DisconnectWatch(sink.receive, self._tick, GRACE - LATE), aclosing(self._run.events()) as batches:
            async for batch in batches:
                if self._filling is not None:
                    await self._filling.wait()
                self._is_sending = True
                await self._send_events(batch)
                self._is_sending = False
            if self._filling is not None:
                await self._filling.wait()
            if not self._is_open:
                await self._open()
            await sink.write(b"", more_body=False)

    async def _tick(self) -> float:
        """Break the silence where there is one; return the seconds until it should be looked at again."""
        if not self._is_sending:
            filling = self._filling = asyncio.Event()
            try:
                await self._break_silence()
            finally:
                self._filling = None
                filling.set()
        until_comment = self._last_sent + COMMENT_AFTER - self._loop.time()
        return max(until_comment, 0.1)

    async def _break_silence(self) -> None:
        now = self._loop.time()
        if not self._is_open or now - self._last_event >= KEEPALIVE_AFTER:
            await self._send_events(self._run.heartbeat())
        elif now - self._last_sent >= COMMENT_AFTER:
            self._last_sent = now
            await self._sink.write(COMMENT)

    async def _send_events(self, batch: Sequence[Event]) -> None:
        if batch:
            if not self._is_open:
                await self._open()
            self._last_event = self._last_sent = self._loop.time()
            await self._sink.send({"type": "http.response.body", "body": encode(batch), "more_body": True})

    async def _open(self) -> None:
        self._is_open = True
        await self._sink.start(200, [*SSE, *run_headers(self._run)])
