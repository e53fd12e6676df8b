"""The events of one response on their way to a WebSocket."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress

from antiphon.gateway import KEEPALIVE_AFTER, Run
from antiphon.http_server.asgi import Message
from antiphon.protocol.events import TERMINAL, Event
from antiphon.server.exchange import GRACE
from antiphon.server.reply import LATE, DisconnectWatch
from antiphon.server.request import ClientDisconnected
from antiphon.server.websocket.channel import EventChannel
from antiphon.server.websocket.session_memory import Lane


class LaneStream:
    """Sends one response in its lane; keepalives cover a silent backend as in a stream of
    server-sent events.
    """

    def __init__(
        self, channel: EventChannel, lane: Lane, run: Run, settle: Callable[[], Awaitable[None]]
    ) -> None:
        self._channel = channel
        self._lane = lane
        self._run = run
        self._settle = settle
        self._loop = asyncio.get_running_loop()
        self._last: float | None = None

    async def serve(self) -> None:
        """Send all events. `settle` is called before the last ones are sent."""
        async with (
            DisconnectWatch(_never, self._tick, GRACE - LATE),
            aclosing(self._run.events()) as batches,
        ):
            async for batch in batches:
                if isinstance(batch[-1], TERMINAL):
                    await self._settle()
                await self._notify(batch)

    async def _tick(self) -> float:
        if self._last is None or self._loop.time() - self._last >= KEEPALIVE_AFTER:
            with suppress(ClientDisconnected):  # the reader notices the disconnect
                await self._notify(self._run.keepalive_events())
        return max(KEEPALIVE_AFTER + (self._last or 0.0) - self._loop.time(), 0.1)

    async def _notify(self, batch: list[Event]) -> None:
        self._last = self._loop.time()
        await self._channel.report(batch, self._lane)


async def _never() -> Message:
    """The disconnect is noticed elsewhere: it ends the task that waits here."""
    await asyncio.Event().wait()
    return {"type": "websocket.disconnect"}
