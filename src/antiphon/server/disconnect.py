"""Watches the connection while a request is worked on: notices a disconnect, and keeps a silent stream alive."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Self

from antiphon.server.reply import ClientGone, Receive

LATE = 0.2
"""Seconds after which the watch begins: most work is over before, and need not pay for a task beside it."""

Tick = Callable[[], Awaitable[float]]
"""Called when its time has come; returns in how many seconds to call again."""


class DisconnectWatch:
    """`async with` around the work: raises `ClientGone` out of it when the client leaves, within `LATE` seconds.

    With a `tick`, calls it `delay` seconds after the watch began and again whenever it asks for it.
    """

    def __init__(self, receive: Receive, tick: Tick | None = None, delay: float | None = None) -> None:
        self._receive = receive
        self._tick = tick
        self._delay = delay
        self._gone = False

    async def __aenter__(self) -> Self:
        self._work = asyncio.current_task()
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(LATE, self._begin)
        return self

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._gone and isinstance(error, asyncio.CancelledError) and self._work is not None:
            self._work.uncancel()
            raise ClientGone from error

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        if self._tick is None:
            await self._wait_for_leave()
        else:
            leave = asyncio.ensure_future(self._wait_for_leave())
            try:
                await self._keep_time(leave)
            finally:
                leave.cancel()
        self._gone = True
        if self._work is not None:
            self._work.cancel()

    async def _keep_time(self, leave: asyncio.Future[None]) -> None:
        while not (await asyncio.wait({leave}, timeout=self._delay))[0]:
            if self._tick is not None:
                self._delay = await self._tick()

    async def _wait_for_leave(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
