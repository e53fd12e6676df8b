"""A response's events to the client as they come, sent on the ASGI `send` directly (specification section 7)."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.types import Receive, Send

from antiphon.engine.run import Run
from antiphon.protocol.events import Event
from antiphon.server.attendance import LATE, Attendance
from antiphon.server.caching import cache_header
from antiphon.server.http import BACKEND, ignored_header, plain_name
from antiphon.translation.sse import COMMENT, encode

GRACE = 0.5
"""Seconds that a backend has to refuse a request by a plain HTTP error before the stream begins without it."""

COMMENT_AFTER = 15.0
"""Seconds of silence after which a comment goes out, for proxies."""

KEEPALIVE_AFTER = 60.0
"""Seconds of silence after which a `keepalive` event goes out, for clients whose timer counts events (Codex)."""

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


RawHeaders = Sequence[tuple[bytes, bytes]]


async def send_events(run: Run, receive: Receive, send: Send, headers: RawHeaders = ()) -> None:
    """Stream a run. Raises `AntiphonError` before anything was sent, `ClientGone` when the client leaves."""
    await _EventStream(run, send, [*HEADERS, *headers]).serve(receive)


async def send_frames(
    frames: AsyncGenerator[bytes, None], receive: Receive, send: Send, headers: RawHeaders = ()
) -> None:
    """Stream what is server-sent events already. Raises `ClientGone` when the client leaves."""
    await _FrameStream(frames, send, [*HEADERS, *headers]).serve(receive)


async def send_whole(body: bytes, send: Send) -> None:
    """Send a stream that is over."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": body})


class _FrameStream:
    """Comments break its silence; events are what the log holds and nothing else."""

    def __init__(self, frames: AsyncGenerator[bytes, None], send: Send, headers: RawHeaders) -> None:
        self._frames = frames
        self._send = send
        self._headers = headers

    async def serve(self, receive: Receive) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
        async with Attendance(receive, self._tick, COMMENT_AFTER), aclosing(self._frames) as frames:
            async for body in frames:
                await self._send_body(body)
            await self._send_body(b"", more_body=False)

    async def _tick(self) -> float:
        await self._send_body(COMMENT)
        return COMMENT_AFTER

    async def _send_body(self, body: bytes, more_body: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more_body})


class _EventStream:
    def __init__(self, run: Run, send: Send, headers: RawHeaders) -> None:
        self._run = run
        self._send = send
        self._headers = headers
        self._is_open = False
        self._is_sending = False
        """The events that came are being sent: no silence is to be broken."""
        self._filling: asyncio.Event | None = None
        """Set once what breaks a silence was sent, while it is being sent."""
        self._loop = asyncio.get_running_loop()
        self._last_sent = self._last_event = self._loop.time()

    async def serve(self, receive: Receive) -> None:
        async with Attendance(receive, self._tick, GRACE - LATE), aclosing(self._run.events()) as batches:
            async for batch in batches:
                if self._filling is not None:
                    await self._filling.wait()
                self._is_sending = True
                await self._send_events(batch)
                self._is_sending = False
            if self._filling is not None:
                await self._filling.wait()
            await self._send_body(b"", more_body=False)

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
            await self._send_events(self._run.pulse())
        elif now - self._last_sent >= COMMENT_AFTER:
            await self._send_body(COMMENT)

    async def _send_events(self, batch: Sequence[Event]) -> None:
        if batch:
            self._last_event = self._loop.time()
            await self._send_body(encode(batch))

    async def _send_body(self, body: bytes, more_body: bool = True) -> None:
        if not self._is_open:
            self._is_open = True
            said = ignored_header(self._run.ignored_tools)
            said |= {BACKEND: plain_name(self._run.backend), **cache_header(self._run)}
            headers = [*self._headers, *((name.encode(), value.encode()) for name, value in said.items())]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        self._last_sent = self._loop.time()
        await self._send({"type": "http.response.body", "body": body, "more_body": more_body})
