"""A uvicorn that ends as soon as it has to."""

import asyncio
import socket
from contextlib import suppress
from typing import Any

import uvicorn

from tests.support.waiting import until


class PromptServer(uvicorn.Server):
    """Ends when `should_exit` is set: uvicorn looks every 0.1 s, and then gives connections as long
    to close.

    A thousand tests have a server each.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._end = asyncio.Event()
        super().__init__(*args, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "should_exit" and value:
            self._end.set()

    async def main_loop(self) -> None:
        """Serve until the end; uvicorn's own loop does what it does now and then."""
        ticking = asyncio.create_task(super().main_loop())
        await self._end.wait()
        ticking.cancel()
        await asyncio.wait({ticking})

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets and the connections that are idle, and wait for the others for a
        moment.
        """
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await until(
                    lambda: not self.server_state.connections and not self.server_state.tasks
                )
